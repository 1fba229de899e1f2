"""What the proofs of the turn share: talks to lose, models that flush in every way there is, an
audit of a transcript.

The audit reads nothing but the transcript, entry by entry, as it stood at each moment at which
something left the view: it believes no receipt and no event.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from holdfast.context.flush import FlushRecord, covered_by, entry_hash, flush_records
from holdfast.engine.session import Session
from holdfast.engine.turn import Prepared
from holdfast.events import Event, MemoryFlushStart
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.sessions.view import compute_view, needed_before
from holdfast.types import Entry, Json, Message, Text, ToolCall, Usage

__all__ = [
    "MARK",
    "OUTCOMES",
    "Flusher",
    "audit",
    "check_request",
    "check_silence",
    "grow",
    "leave_a_lease",
    "model_flushes",
    "records_of",
    "turns",
]

MARK: Final = "ZQX-SILENT-9147"
"""What every scripted flusher says besides: nobody may ever see it."""


# ── something to lose ───────────────────────────────────────────────────────────────────────


def turns(count: int, *, start: int = 0) -> list[dict[str, Json]]:
    """A chat with something to remember in every turn, some 165 tokens each; every third in
    Chinese."""
    said: list[dict[str, Json]] = []
    for number in range(start, start + count):
        if number % 3 == 2:
            fact = f"请记住：客户{number}的编号是 CUST-{number:05d}，套餐是{number % 7}号。"
            said.append({"role": "user", "content": fact + "还有一些别的话要说。" * 12})
        else:
            fact = f"Remember this: customer {number} has id CUST-{number:05d}. "
            said.append({"role": "user", "content": fact + "Some more words about it. " * 13})
        said.append({"role": "assistant", "content": "More text follows here. " * 12})
    return said


def grow(session: Session, count: int, *, start: int = 0) -> list[str]:
    """The ids of so many turns more, written at once."""
    return session.append_all(turns(count, start=start))


# ── models that flush ───────────────────────────────────────────────────────────────────────


class Flusher:
    """A model for flushes with one way to behave; it counts what it is asked per flush and stage.

    A request with tools is a silent turn, one without is an extraction.
    """

    name = "flusher"

    def __init__(self, behave: Callable[[Flusher, ModelRequest], Any], **traits: Any) -> None:
        self.traits = Traits(**traits)
        self._behave = behave
        self.requests: list[ModelRequest] = []
        self.stages: list[Counter[str]] = [Counter()]

    def hear(self, event: Event) -> None:
        """Each flush that starts is counted by itself."""
        if isinstance(event, MemoryFlushStart):
            self.stages.append(Counter())

    async def complete(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        self.stages[-1]["agent" if request.tools else "extract"] += 1
        answer = self._behave(self, request)
        return await answer if asyncio.iscoroutine(answer) else answer


def said(text: str) -> ModelReply:
    return ModelReply(message=Message.of("assistant", text), usage=_USAGE)


def called(*calls: tuple[str, Json], text: str = MARK) -> ModelReply:
    parts = [ToolCall(id=f"f{n}", name=name, arguments=given) for n, (name, given) in _each(calls)]
    return ModelReply(
        message=Message(role="assistant", parts=(Text(text=text), *parts)), usage=_USAGE
    )


def _each(calls: Sequence[tuple[str, Json]]) -> Iterator[tuple[int, tuple[str, Json]]]:
    return enumerate(calls)


_USAGE: Final = Usage(input_tokens=1_000, output_tokens=50)


def _facts_in(request: ModelRequest) -> list[str]:
    """Sentences of the conversation as the request shows it, word for word."""
    text = "\n".join(message.text for message in request.messages)
    found = []
    for number in range(2_000):
        for sentence in (
            f"customer {number} has id CUST-{number:05d}.",
            f"客户{number}的编号是 CUST-{number:05d}",
        ):
            if sentence in text:
                found.append(sentence)
    return found[:40]


def _ok(_: Flusher, request: ModelRequest) -> Any:
    if not request.tools:
        return said(MARK)
    if any(message.role == "tool" for message in request.messages):
        return said("NO_REPLY")
    facts = _facts_in(request)
    return called(
        ("memory_retain", {"memories": [{"text": each} for each in facts]}),
        ("memory_write", {"text": f"The secret word is {MARK}."}),
    )


def _raises(error: BaseException) -> Callable[[Flusher, ModelRequest], Any]:
    def behave(_: Flusher, __: ModelRequest) -> Any:
        raise error

    return behave


async def _for_ever() -> ModelReply:
    await asyncio.sleep(600)
    return said(MARK)


_TOO_LONG: Final = RuntimeError("prompt is too long: 213462 tokens > 200000 maximum")

OUTCOMES: Final[dict[str, Callable[[], Flusher]]] = {
    "ok": lambda: Flusher(_ok, window=32_000),
    "empty": lambda: Flusher(lambda *_: said("NO_REPLY")),
    "fail": lambda: Flusher(_raises(RuntimeError("503 from the provider"))),
    "timeout": lambda: Flusher(lambda *_: _for_ever()),
    "crash": lambda: Flusher(_raises(SystemExit(3))),
    "interrupt": lambda: Flusher(_raises(KeyboardInterrupt())),
    "garbage": lambda: Flusher(lambda *_: said(f'{{"a": [}} <tool_call> {MARK} ]]>')),
    "no reply": lambda: Flusher(lambda *_: {"choices": []}),
    "refusal": lambda: Flusher(lambda *_: said(f"I'm sorry, but I can't help with that. {MARK}")),
    "forbidden": lambda: Flusher(
        lambda *_: called(("bash", {"command": "rm -rf ~"}), ("web_fetch", {"url": MARK}))
    ),
    "overflow": lambda: Flusher(_raises(_TOO_LONG)),
    "no room": lambda: Flusher(_ok, window=2_000),
    "broken text": lambda: Flusher(
        lambda *_: called(
            ("memory_write", '{"text": "\ud800 half'),
            ("memory_retain", {"memories": [{"text": "\udfff\x00" + MARK}]}),
            text=f"\ud83d {MARK} \x00",
        )
    ),
}
"""How a flush by a model can go, by name."""


# ── what the transcript says ────────────────────────────────────────────────────────────────


def records_of(session: Session) -> list[FlushRecord]:
    return flush_records(session.entries())


def model_flushes(session: Session) -> Counter[str]:
    """Flushes that asked a model and covered something, by cycle."""
    return Counter(
        record.cycle
        for record in records_of(session)
        if record.asked_a_model and record.outcome in {"flushed", "empty"}
    )


def leave_a_lease(
    session: Session, *, seconds: float, owner: str = "dead", mode: str = "agent"
) -> str:
    """A lease on everything in the view, as a process leaves it that dies in the midst of it."""
    entries = session.entries()
    cycle = session.view().cycle
    held = [each for each in entries if each.type == "message"]
    here = [record for record in flush_records(entries) if record.cycle == cycle]
    record = FlushRecord(
        outcome="flushing",
        cycle=cycle,
        owner=owner,
        attempt=max((each.attempt for each in here), default=0) + 1,
        mode=mode,
        covers=tuple(each.id for each in held),
        hashes=tuple(map(entry_hash, held)),
        deadline=session._rooms.clock.now() + timedelta(seconds=seconds),
    )
    return session.append_entry("flush", record.entry_data())


@dataclass(slots=True)
class Audit:
    """What left the view of a session, and how often that happened."""

    losses: int = 0
    dropped: set[str] = field(default_factory=set)
    uncovered: list[str] = field(default_factory=list)


def audit(entries: Sequence[Entry]) -> Audit:
    """Everything that ever left the view, checked against the records that stood before it."""
    found = Audit()
    for index, entry in enumerate(entries):
        if entry.type == "compaction" or _is_reset(entry):
            before = entries[:index]
            shown = _shown(entries[: index + 1])
            gone = {each.id for each in before if each.type == "message"} - shown
            safe = covered_by(flush_records(before), before)
            found.losses += 1
            found.dropped |= gone
            found.uncovered += sorted(gone - safe)
    return found


def _is_reset(entry: Entry) -> bool:
    return entry.type == "marker" and entry.data.get("kind") == "reset"


def _shown(entries: Sequence[Entry]) -> set[str]:
    """The entries of which the view shows something; what only a summary tells is not shown."""
    last = max((n for n, each in enumerate(entries) if each.type == "compaction"), default=None)
    reset = max((n for n, each in enumerate(entries) if _is_reset(each)), default=-1)
    if last is None or reset > last:
        view = compute_view(entries[reset + 1 :])
    else:
        compaction = entries[last]
        named = set(needed_before(compaction))
        view = compute_view(
            _tail(entries, compaction),
            compaction=compaction,
            earlier=[each for each in entries if each.id in named],
        )
    return {id for item in view.items if item.kind != "summary" for id in item.stands_for}


def _tail(entries: Sequence[Entry], compaction: Entry) -> list[Entry]:
    first = compaction.data.get("first_kept")
    for index, entry in enumerate(entries):
        if entry.id == first:
            return list(entries[index:])
    return [each for each in entries if each.seq > compaction.data.get("watermark", 0)]


# ── checks ──────────────────────────────────────────────────────────────────────────────────


def check_request(prepared: Prepared) -> None:
    """A request that can be sent: valid, within the budget, with room for an answer."""
    assert prepared.request.violations == ()
    assert prepared.request.tokens <= prepared.budget.compact_at
    assert prepared.max_tokens >= 1
    assert prepared.messages


def check_silence(session: Session, prepared: Sequence[Prepared]) -> None:
    """Nothing of a silent turn is in the conversation, in the view or in a request."""
    for entry in session.entries():
        if entry.type != "flush":
            assert MARK not in str(entry.data), entry.type
    assert MARK not in str([message.text for message in session.view()])
    for each in prepared:
        assert MARK not in str(each.messages)
        assert MARK not in str(each.system)
