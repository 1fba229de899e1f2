"""Any conversation → one the provider takes, from left to right, without losing an entry.

    each message   ``messages``: parts, fields, texts, thinking, images
    each group     a call and its results, directly behind it; ids the provider takes
    the ends       first message the user's, last one too where the model asks for it
    the whole      ``whole``: how many images and cache marks

The walk goes from left to right and never back. A call whose results are missing when something
else is said gets them right there, marked as errors, and so do calls open at the very end: the
request is about to be sent. A result that comes late, twice, or for no call is shown as quoted
text where it came, or behind the group if one is still open there.

Promise (``tests/context/test_repair.py``): what ``render`` makes of the items is valid; valid
items come back as the same objects; a second repair changes nothing; every entry the items
stood for is still stood for; and what was repaired once stays as it is when the conversation
goes on, but for what is open at the end and for the images and cache marks above a limit. So
the provider's cache keeps its prefix, and thinking that is bound to its prefix stays valid:
it was written after the repaired one.

``render`` merges neighbours of one role. Here a message stays a message.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Final, TypeAlias

from holdfast.context.validity.capabilities import Capabilities, Format
from holdfast.context.validity.messages import (
    Around,
    is_paused,
    is_system,
    mend_message,
    quoted,
    without_images,
)
from holdfast.context.validity.parts import is_thinking
from holdfast.context.validity.strings import is_unicode
from holdfast.context.validity.target import (
    CONTINUE,
    NO_RESULT,
    OPENAI_CALL,
    START,
    Change,
    ChangeKind,
    Target,
)
from holdfast.context.validity.whole import look_around, within_marks
from holdfast.types import Image, Message, Opaque, Part, Text, ToolCall, ToolResult, ViewItem

__all__ = ["Repaired", "Settled", "repair", "repair_on"]

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What to send. ``thinking_off``: this one request must not ask for thinking (A10).

    A turn that called tools must have begun with thinking if the request asks for it. When
    that thinking is gone or never was, none can be made up; the provider's own advice is to
    let the turn end without.
    """

    items: tuple[ViewItem, ...]
    changes: tuple[Change, ...] = ()
    thinking_off: bool = False


def repair(
    items: Sequence[ViewItem], *, format: Format, caps: Capabilities, strip_thinking: bool = False
) -> Repaired:
    """The items as ``format`` takes them, and what had to be changed for that.

    ``strip_thinking``: leave out all thinking, for requests whose earlier messages were edited
    on a model that binds thinking to them, or after it refused.
    """
    return repair_on(items, None, format=format, caps=caps, strip_thinking=strip_thinking)[0]


def repair_on(
    items: Sequence[ViewItem],
    settled: Settled | None,
    *,
    format: Format,
    caps: Capabilities,
    strip_thinking: bool = False,
) -> tuple[Repaired, Settled]:
    """What ``repair`` gives, and what helps to repair a longer conversation that begins so.

    The walk goes on from where ``settled`` has come, if these items begin with the very objects
    it was given, and if nothing that stands behind them changes what they are.
    """
    items = tuple(items)
    target = Target(format=format, caps=caps, strip_thinking=strip_thinking)
    around = look_around(items, target)
    if settled is not None and settled.is_begun_by(items, target, around):
        walk, start = settled.walk.copy(around), len(settled.items)
    else:
        walk, start = _Walk(target=target, around=around), 0
    end = len(items) - 1
    for index in range(start, end):
        walk.take(index, items[index], last=False)
    settled = Settled(items=items[: max(0, end)], walk=walk.copy(around), taken=len(items) - start)
    if items:
        walk.take(end, items[end], last=True)
    walk.finish()
    out = within_marks(walk.out, target, walk.changes)
    repaired = Repaired(
        items=tuple(out),
        changes=tuple(walk.changes),
        thinking_off=format == "anthropic" and caps.thinking and not _begins_with_thinking(out),
    )
    return repaired, settled


def _begins_with_thinking(items: Sequence[ViewItem]) -> bool:
    """Whether the turn that is going on, if its last word is a result, begins with thinking."""
    if not items or not _is_only_results(items[-1].message):
        return True
    start = None
    for item in reversed(items):
        if item.message.role == "assistant":
            start = item.message
        elif not _is_only_results(item.message):
            break
    return start is None or (bool(start.parts) and is_thinking(start.parts[0]))


def _is_only_results(message: Message) -> bool:
    return bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts)


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call of the last assistant message."""

    id: str
    sent: str  # the id it is sent with
    name: str
    legacy: bool
    answered: bool = False


_Accepted: TypeAlias = list[tuple[_Call, ToolResult]]


class _Walk:
    """The walk over the items: what is settled, and what is still open."""

    def __init__(self, *, target: Target, around: Around) -> None:
        self.target = target
        self.around = around
        self.out: list[ViewItem] = []
        self.changes: list[Change] = []
        self._started = False  # has anything but system text been said
        self._group: list[_Call] = []
        self._behind: list[ViewItem] = []  # texts that wait until the group is closed
        self._carried: tuple[str, ...] = ()  # entries of messages left out before the first
        self._names: dict[str, str] = {}  # of all calls so far
        self._taken: set[str] = set()  # ids that must not be used again
        self._results: dict[str, ToolResult | None] = {}  # None: none came in time
        self._index = 0

    def copy(self, around: Around) -> _Walk:
        """The walk as it stands: the copy can be taken further, and this one stays."""
        other = _Walk(target=self.target, around=around)
        other.out, other.changes = [*self.out], [*self.changes]
        other._started, other._index = self._started, self._index
        other._group = [replace(call) for call in self._group]
        other._behind, other._carried = [*self._behind], self._carried
        other._names, other._results = {**self._names}, {**self._results}
        other._taken = {*self._taken}
        return other

    # ── one item ────────────────────────────────────────────────────────────────────────────

    def take(self, index: int, item: ViewItem, *, last: bool) -> None:
        self._index = index
        notes: list[ChangeKind] = []
        message = mend_message(item.message, self.target, notes, self.around, index, last=last)
        for kind in dict.fromkeys(notes):
            self._note(kind, item)
        if message is None:
            if item.message.role == "assistant":
                self._close()  # somebody asked the model: what it was sent stays as it was
            self._leave(item)
            return
        if message is not item.message:
            shortened = item.shortened or "shortened" in notes
            item = replace(item, message=message, shortened=shortened)
        if is_system(message):
            self._take_system(item)
        elif message.role == "assistant":
            self._take_assistant(item)
        else:
            self._take_user(item)

    def _take_system(self, item: ViewItem) -> None:
        self._close()
        first_only = self.target.format == "anthropic" or self.target.caps.system_first
        if first_only and self._started:
            self._note("system", item)
            heading = Text(text="[system]")
            message = Message(role="user", parts=(heading, *item.message.parts), form="parts")
            item = replace(item, message=message)
        self._say(item)

    def _take_assistant(self, item: ViewItem) -> None:
        self._close()
        if self.target.format == "openai":
            self._taken = set()  # an id may come again in a later message
        calls = _calls_of(item.message, self.target, self._taken)
        parts = _with_sent_ids(item.message.parts, calls)
        if parts is not item.message.parts:
            self._note("id", item)
            item = replace(item, message=replace(item.message, parts=parts))
        self._say(item)
        self._group = calls
        for call in calls:
            self._names[call.id] = call.name
            self._results[call.id] = None

    def _take_user(self, item: ViewItem) -> None:
        if not item.message.tool_results:
            if self._is_waiting:  # said while a tool was at work: its result may still come
                self._behind.append(item)
            else:
                self._close()
                self._say(item)
            return
        accepted: _Accepted = []
        strays: list[Part] = []
        for result in item.message.tool_results:
            if (call := self._waiting_for(result)) is not None:
                accepted.append((call, self._accept(call, result, item)))
            else:
                strays += self._stray(result, item)
        rest = [part for part in item.message.parts if not isinstance(part, ToolResult)]
        others = [*strays, *rest]
        if not accepted and not others:
            self._leave(item)
        elif (
            rest
            and not self._is_waiting
            and not self._behind
            and not self._is_split(item, accepted, others)
        ):
            self._say(_with_parts(item, [*(result for _, result in accepted), *others]))
        else:
            self._take_apart(item, accepted, others)

    def _take_apart(self, item: ViewItem, accepted: _Accepted, others: list[Part]) -> None:
        """The results to their group, everything else behind it."""
        if self._is_split(item, accepted, others):
            self._note("role", item)
            for call, result in accepted:
                self._say(replace(item, message=_result_message(call, result)))
        elif accepted:
            self._say(_with_parts(item, [result for _, result in accepted]))
        if others:
            self._behind.append(_with_parts(item, others))
        if all(call.answered for call in self._group):
            self._close()

    def _is_split(self, item: ViewItem, accepted: _Accepted, others: list[Part]) -> bool:
        """Whether results must stand one by one: a legacy function's is of another role."""
        if self.target.format == "anthropic":
            return False
        is_legacy = item.message.role == "function"
        if any(call.legacy != is_legacy for call, _ in accepted):
            return True
        return is_legacy and bool(accepted) and (bool(others) or len(accepted) > 1)

    # ── results ─────────────────────────────────────────────────────────────────────────────

    @property
    def _is_waiting(self) -> bool:
        """Whether a call of the last assistant message has no result yet."""
        return any(not call.answered for call in self._group)

    def _waiting_for(self, result: ToolResult) -> _Call | None:
        return next(
            (call for call in self._group if call.id == result.call_id and not call.answered), None
        )

    def _accept(self, call: _Call, result: ToolResult, item: ViewItem) -> ToolResult:
        call.answered = True
        self._results[call.id] = result
        if call.sent == result.call_id:
            return result
        self._note("id", item)
        return replace(result, call_id=call.sent)

    def _stray(self, result: ToolResult, item: ViewItem) -> list[Part]:
        """A result nothing waits for, as text; nothing if it only repeats what was accepted."""
        kind: ChangeKind = "orphan_result"
        if result.call_id in self._results:
            before = self._results[result.call_id]
            kind = "late_result" if before is None else "second_result"
            if before is not None and before.content == result.content:
                self._note(kind, item)
                return []
            self._results[result.call_id] = result
        self._note(kind, item)
        return list(quoted(result, kind, self._names.get(result.call_id), self.target))

    # ── what is open ────────────────────────────────────────────────────────────────────────

    def _fill(self) -> None:
        """Give every call of the group that has none a result that says so."""
        for call in self._group:
            if call.answered:
                continue
            call.answered = True
            self.changes.append(Change(kind="missing_result", index=self._index))
            content = (Text(text=NO_RESULT),)
            result = ToolResult(call_id=call.sent, content=content, is_error=True)
            message = _result_message(call, result)
            self._say(ViewItem(message=message, stands_for=(), kind="marker"))

    def _close(self) -> None:
        self._fill()
        self._group = []
        behind, self._behind = self._behind, []
        for item in behind:
            self._say(item)

    def _say(self, item: ViewItem) -> None:
        if not is_system(item.message):
            if not self._started and item.message.role == "assistant" and self._user_first:
                self.changes.append(Change(kind="start", index=self._index))
                self.out.append(_added(START))
            self._started = True
        if self._carried:
            item = replace(item, stands_for=(*self._carried, *item.stands_for))
            self._carried = ()
        self.out.append(item)

    def _leave(self, item: ViewItem) -> None:
        """Leave a message out that says nothing; a neighbour stands for its entries."""
        self._note("empty", item)
        if not self.out:
            self._carried += item.stands_for
            return
        last = self.out[-1]
        self.out[-1] = replace(last, stands_for=_joined(last.stands_for, item.stands_for))

    @property
    def _user_first(self) -> bool:
        return self.target.format == "anthropic" or self.target.caps.user_first

    def _note(self, kind: ChangeKind, item: ViewItem) -> None:
        self.changes.append(Change(kind=kind, index=self._index, entries=item.stands_for))

    def finish(self) -> None:
        """Close what is open, and see to the first and the last message."""
        self._close()
        if not self.out or (self._user_first and not self._started):
            self.changes.append(Change(kind="start", index=None))
            self._say(_added(START))
        last = self.out[-1]
        if last.message.role != "assistant" or is_paused(last.message):
            return
        if not self.target.may_end_with_assistant:
            self.changes.append(Change(kind="end", index=None))
            self._say(_added(CONTINUE))
        elif self.target.format == "anthropic":
            self._trim_end(last)

    def _trim_end(self, last: ViewItem) -> None:
        final = last.message.parts[-1]
        if isinstance(final, Text) and final.text != (text := final.text.rstrip()):
            self._note("end", last)
            parts = (*last.message.parts[:-1], replace(final, text=text))
            self.out[-1] = _with_parts(last, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A walk over all items but the last, for whoever has these and more. Never changed."""

    items: tuple[ViewItem, ...]
    walk: _Walk
    taken: int
    """How many items the last repair had to look at."""

    def is_begun_by(self, items: tuple[ViewItem, ...], target: Target, around: Around) -> bool:
        return (
            len(self.items) < len(items)
            and self.walk.target == target
            and self.walk.around.is_as(around, len(self.items))
            and all(map(is_, self.items, items))
        )


def _added(text: str) -> ViewItem:
    return ViewItem(message=Message.of("user", text), stands_for=(), kind="marker")


def _joined(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _with_parts(item: ViewItem, parts: Sequence[Part]) -> ViewItem:
    """The item with these parts; the same object if it had them, in whatever order."""
    message = item.message
    if len(parts) == len(message.parts) and {*map(id, parts)} == {*map(id, message.parts)}:
        return item
    changed = replace(message, parts=tuple(parts))
    if message.role in ("tool", "function") and not changed.tool_results:
        changed = replace(changed, role="user", extra={})
    return replace(item, message=changed)


def _result_message(call: _Call, result: ToolResult) -> Message:
    has_images = any(isinstance(part, Image) for part in result.content)
    if not call.legacy:
        # OpenAI's tool messages hold no images; from a user message they move behind the run.
        return Message(role="user" if has_images else "tool", parts=(result,))
    if has_images:
        result = replace(result, content=without_images(result.content))
    return Message(role="function", parts=(result,), extra={"openai": {"name": call.name}})


# ── ids ─────────────────────────────────────────────────────────────────────────────────────


def _calls_of(message: Message, target: Target, taken: set[str]) -> list[_Call]:
    """The calls of an assistant message, each with the id it is sent with.

    Ids the provider takes stay, the others are derived from what they were and from how many
    like them are ``taken``: the same in every request that begins the same way.
    """
    calls: list[_Call] = []
    repeated: list[_Call] = []
    for part in message.parts:
        if (call := _call_of(part, target)) is None:
            continue
        calls.append(call)
        if call.legacy or (_is_fit(call.id, target.caps) and call.id not in taken):
            taken.add(call.id)
        else:
            repeated.append(call)
    for call in repeated:
        call.sent = _new_id(call.id, target.caps, taken)
        taken.add(call.sent)
    return calls


def _call_of(part: Part, target: Target) -> _Call | None:
    if isinstance(part, ToolCall):
        legacy = target.format == "openai" and part.extra.get("shape") == "function_call"
        return _Call(id=part.id, sent=part.id, name=part.name, legacy=legacy)
    if isinstance(part, Opaque) and part.format == OPENAI_CALL:
        call_id = str(part.data["id"])
        return _Call(id=call_id, sent=call_id, name=str(part.data["type"]), legacy=False)
    return None


def _is_fit(call_id: str, caps: Capabilities) -> bool:
    return (
        0 < len(call_id) <= caps.id_length
        and is_unicode(call_id)
        and re.fullmatch(caps.id_pattern, call_id) is not None
    )


def _new_id(call_id: str, caps: Capabilities, taken: set[str]) -> str:
    tries = 0
    while True:
        seed = f"{tries}:{call_id}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.sha256(seed).digest())
        letters = ""
        while len(letters) < 24:
            number, digit = divmod(number, len(_ALPHABET))
            letters += _ALPHABET[digit]
        for new in (f"call_{letters}", letters[: caps.id_length]):
            if new not in taken and _is_fit(new, caps):
                return new
        tries += 1


def _with_sent_ids(parts: tuple[Part, ...], calls: list[_Call]) -> tuple[Part, ...]:
    """The parts with the ids they are sent with; the same object if those are theirs."""
    if all(call.sent == call.id for call in calls):
        return parts
    waiting = iter(calls)
    renamed: list[Part] = []
    for part in parts:
        if isinstance(part, ToolCall):
            part = replace(part, id=next(waiting).sent)
        elif isinstance(part, Opaque) and part.format == OPENAI_CALL:
            part = replace(part, data={**part.data, "id": next(waiting).sent})
        renamed.append(part)
    return tuple(renamed)
