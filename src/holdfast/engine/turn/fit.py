"""The one function through which context is lost: prune → flush → compact, then the request.

    measure     what the next request would cost, against the marks of the budget
    prune       stale tool results are shown shortened, if that pays or must be
    flush       what a compaction would drop is saved to memory ahead of time
    compact     what leaves is saved first, then a shorter account takes its place
    shorten     if one block alone is too large, the largest are cut, wherever they stand
    assemble    the request, valid for its provider

Each step is planned by a pure function of ``context`` and only carried out here, so ``explain``
gives the plans without acting on them.

Promise: nothing leaves the view that no flush record covers; the request is valid and at most
``compact_at`` tokens, or ``IrreducibleContext`` names what does not fit
(``tests/engine/test_turn.py``, ``tests/engine/test_messy_sequences.py``,
``tests/engine/test_replay.py``).
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from holdfast.context.accounting import Breakdown, Budget, Projection
from holdfast.context.assembly import Desk, Request, WireFormat, assemble
from holdfast.context.blocks import Block, is_system, is_user
from holdfast.context.compaction import CompactionPlan, NoCompaction
from holdfast.context.flush import COVERING, FlushPlan, NoFlush, flush_records
from holdfast.context.pruning import Force, PrunePlan, plan_prune
from holdfast.context.validity import capabilities_of
from holdfast.engine.flush.saving import PASSED_OVER, FlushDone, Saver
from holdfast.engine.rooms import Rooms
from holdfast.engine.turn.asking import About, Ask
from holdfast.engine.turn.compacting import (
    CompactionDone,
    Compactor,
    Why,
    append_unless_edited,
    said_in,
)
from holdfast.engine.turn.helping import help_of
from holdfast.engine.turn.measuring import Measured, Measurer
from holdfast.engine.turn.recording import keep_tasks
from holdfast.engine.turn.warning import command_key, run_hard_command, warn
from holdfast.errors import (
    HoldfastError,
    IrreducibleContext,
    Locked,
    StorageError,
    UsageError,
)
from holdfast.events import (
    CompactionFailed,
    ContextMeasured,
    ContextPressure,
    Event,
    ToolResultsPruned,
)
from holdfast.models.names import split_name
from holdfast.sessions.store import Look
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.types import Json

__all__ = [
    "About",
    "Ask",
    "CompactionDone",
    "Done",
    "Explanation",
    "FlushDone",
    "Prepared",
    "PruneDone",
    "append_saved",
    "ensure_fit",
    "explain",
    "flush_ahead",
    "save_view",
]

_OTHERS: Final = 4
"""How often another process may change the session between a plan and its act."""

_LAST_RESORTS: Final = 3
"""How often shortening and compacting may take turns when nothing else is left."""

_TRIES: Final = 3
"""How often the request may turn out larger than the view it was made from."""

_OPENAI: Final = frozenset({"openai", "openai-chat", "azure"})
_OPENAI_NAME: Final = re.compile(r"gpt-|o\d|chatgpt-")

_USUAL_OUTPUT: Final = 8_192
"""The longest answer where the provider demands to be told one and the host has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneDone:
    entry: str
    shortened: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    reason: str


Done: TypeAlias = PruneDone | FlushDone | CompactionDone


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The request that fits, and what was done to make it fit."""

    request: Request
    projected: int
    """Tokens of the request: as the provider counts, if it has said so, else estimated."""
    budget: Budget
    breakdown: Breakdown
    done: tuple[Done, ...] = ()

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The messages as the provider's client takes them."""
        return self.request.messages

    @property
    def system(self) -> Json:
        """The system text, where the provider takes it apart from the messages."""
        return self.request.system

    model: str | None = None
    max_output: int = 0
    last_entry: str | None = None
    """The newest entry the request stands for: what the provider counts is counted up to it."""

    @property
    def max_tokens(self) -> int:
        """The room for the answer: what is left of the window, or less if less was asked for."""
        room = max(1, self.budget.window - self.projected)
        return min(room, self.max_output) if self.max_output else room

    def openai(self) -> dict[str, Json]:
        """The arguments of ``client.chat.completions.create(**…)``; of any server like it."""
        provider, name = split_name(self.model)
        given: dict[str, Json] = {"messages": self._as("openai").messages}
        if name:
            given["model"] = name
        if self.request.tools:
            given["tools"] = [dict(tool) for tool in self.request.tools]
        if self.max_output:
            given[_limit_name(provider, name or "")] = self.max_tokens
        return given

    def anthropic(self) -> dict[str, Json]:
        """The arguments of ``client.messages.create(**…)``."""
        request = self._as("anthropic")
        given: dict[str, Json] = {
            "messages": request.messages,
            "max_tokens": min(self.max_tokens, self.max_output or _USUAL_OUTPUT),
        }
        if name := split_name(self.model)[1]:
            given["model"] = name
        if request.system:
            given["system"] = request.system
        if request.tools:
            given["tools"] = [dict(tool) for tool in request.tools]
        return given

    def _as(self, format: WireFormat) -> Request:
        if self.request.format == format:
            return self.request
        raise UsageError(
            f"This request was made for {self.request.format}, not for {format}.",
            hint=f'Open the session with format="{format}", or with the name of the model: '
            'model="anthropic:…" or model="openai:…".',
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What the next ``ensure_fit`` would do, and why, or why not. Nothing was done."""

    budget: Budget
    projection: Projection
    breakdown: Breakdown
    pressure: str
    messages: int
    prune: PrunePlan
    flush: FlushPlan | NoFlush
    compaction: CompactionPlan | NoCompaction


def ensure_fit(
    rooms: Rooms, transcript: Transcript, ask: Ask, *, why: Why | None = None
) -> Prepared:
    """The request of the session as it stands, made to fit; compacted in any case if one says
    ``why``."""
    return _Turn(rooms, transcript, ask, why=why).run()


def save_view(
    rooms: Rooms, transcript: Transcript, reason: str, ask: Ask | None = None, *, must: bool = True
) -> FlushDone | NoFlush:
    """Save everything in the view that is not covered yet: all of it is about to leave."""
    return _Turn(rooms, transcript, ask or Ask()).save_all(reason, must=must)


def append_saved(rooms: Rooms, transcript: Transcript, draft: Draft) -> str:
    """Append an entry that empties the view or cuts it, once everything in it is saved: also
    what others say in this moment."""
    for _ in range(_OTHERS):
        save_view(rooms, transcript, draft.data.get("kind") or draft.type)
        with transcript.exclusive():
            look = rooms.store.look(transcript)
            shown = [id for item in look.view.items for id in item.stands_for]
            leaving = said_in(look, shown)
            left = Saver(rooms, transcript).plan(look, leaving, reason="", wait=False, must=True)
            if isinstance(left, NoFlush):
                return transcript.append([draft])[0].id
    raise Locked(
        f"The conversation {transcript.name!r} is being written to all the time, so it cannot be "
        "emptied.",
        hint="Try again when it is at rest.",
    )


def flush_ahead(rooms: Rooms, transcript: Transcript, ask: Ask) -> None:
    """Save what the next compaction would drop, if that is due: after the reply, in its time."""
    _Turn(rooms, transcript, ask).flush_if_due()


def explain(rooms: Rooms, transcript: Transcript, ask: Ask) -> Explanation:
    """What ``ensure_fit`` would do now."""
    return _Turn(rooms, transcript, ask).explain()


class _Turn:
    def __init__(
        self, rooms: Rooms, transcript: Transcript, ask: Ask, *, why: Why | None = None
    ) -> None:
        self._rooms = rooms
        self._transcript = transcript
        self._ask = ask
        self._why = why
        self._measurer = Measurer(rooms, transcript, ask)
        self._done: list[Done] = []

    def _saver(self, measured: Measured) -> Saver:
        help = help_of(self._rooms, self._transcript, self._ask, measured, self._measurer)
        return Saver(self._rooms, self._transcript, help)

    def _compactor(self, measured: Measured) -> Compactor:
        saver = self._saver(measured)
        return Compactor(self._rooms, self._transcript, self._ask, self._measurer, saver)

    def run(self) -> Prepared:
        if self._ask.reported is not None:
            self._measurer.learn()
        measured = self._measurer.measure()
        self._tell_measured(measured)
        if min(measured.immovable, measured.projected) > measured.budget.compact_at:
            raise self._irreducible(measured, measured.immovable)  # before anything is shortened
        for _ in range(_TRIES):
            measured = self._fit(measured)
            request = self._request(measured)
            # Repair may have added to what was measured: results that were never recorded.
            inside = sum(block.tokens for block in measured.blocks)
            added = request.tokens - self._measurer.outside - inside
            projected = measured.projected - self._measurer.added + added
            if projected <= measured.budget.compact_at:
                return self._prepared(measured, request, projected)
            self._measurer.added = added
            measured = self._measurer.measure()
        raise self._irreducible(measured, projected)

    def _fit(self, measured: Measured) -> Measured:
        if measured.projected >= measured.budget.prune_at:
            with suppress(StorageError):  # it can wait; ``watching`` tells of the disk
                measured = self._prune(measured, self._plan_prune(measured))
        if measured.projected >= measured.budget.hard_at:
            self._hard(measured)
        elif measured.projected >= measured.budget.flush_at:
            self._flush_ahead(measured)
        if self._reason_to_compact(measured) is not None:
            measured = self._make_room(measured)
        for _ in range(_LAST_RESORTS):
            if measured.projected <= measured.budget.compact_at:
                break
            measured = self._prune(measured, self._plan_shortening(measured))
            if measured.projected > measured.budget.compact_at:
                measured, _ = self._compact(measured, "threshold", even_in_vain=True)
        return measured

    def explain(self) -> Explanation:
        measured = self._measurer.measure()
        why = self._reason_to_compact(measured)
        compactor = self._compactor(measured)
        plan = compactor.plan(measured, why or "threshold")
        if measured.projected >= measured.budget.flush_at:
            leaving = compactor.leaving(measured, plan)
            flush = self._saver(measured).plan(measured.look, leaving, reason=_FLUSH_DUE)
        else:
            flush = NoFlush(reason=measured.below("flush_at"))
        return Explanation(
            budget=measured.budget,
            projection=measured.projection,
            breakdown=self._measurer.break_down(measured),
            pressure=measured.budget.pressure(measured.projected),
            messages=len(measured.blocks),
            prune=self._plan_prune(measured),
            flush=flush,
            compaction=plan if why else NoCompaction(reason=measured.below("compact_at")),
        )

    def _tell_measured(self, measured: Measured) -> None:
        budget, projected = measured.budget, measured.projected
        self._tell(
            ContextMeasured,
            projected=projected,
            source=measured.projection.source,
            messages=len(measured.blocks),
            window=budget.window,
            compact_at=budget.compact_at,
        )
        level = budget.pressure(projected)
        if self._rooms.pressure.get(self._transcript.name, "none") != level:
            self._rooms.pressure[self._transcript.name] = level
            if level != "none":
                mark = getattr(budget, f"{level}_at")
                self._tell(ContextPressure, level=level, projected=projected, mark=mark)
            if level in _NEARLY_FULL:
                warn(self._rooms, self._transcript.name, measured)

    # ── pruning ─────────────────────────────────────────────────────────────────────────────

    def _plan_prune(
        self, measured: Measured, *, force: Force = "no", limit: int | None = None
    ) -> PrunePlan:
        pinned = (block.entry for block in measured.blocks if block.item.kind == "pin")
        return plan_prune(
            measured.blocks,
            measured.budget,
            self._rooms.settings.prune,
            projected=measured.projected,
            price_text=self._measurer.estimator.text,
            cache_is_cold=self._is_cold(measured.look),
            force=force,
            limit=limit,
            protected=frozenset(pinned),
        )

    def _plan_shortening(self, measured: Measured) -> PrunePlan:
        """Cut the largest blocks: to the first mark that can be reached, and no further."""
        marks = (measured.budget.flush_at, measured.budget.hard_at, measured.budget.compact_at)
        for mark in marks:
            plan = self._plan_prune(measured, force="largest", limit=mark)
            if measured.projected - plan.saved <= mark:
                break
        return plan

    def _is_cold(self, look: Look) -> bool:
        """Whether the provider has forgotten the prefix: nothing was asked for longer than ttl."""
        now = self._rooms.clock.now()
        for entry in reversed(look.entries):
            if entry.type == "message" and entry.data.get("role") == "assistant":
                return now - entry.at > self._rooms.settings.prune.ttl
        return True

    def _prune(self, measured: Measured, plan: PrunePlan) -> Measured:
        if not plan.shown:
            return measured
        draft = Draft(type="prune", data=plan.entry_data())
        entry = append_unless_edited(self._rooms, self._transcript, measured, draft)
        if entry is not None:
            done = PruneDone(
                entry=entry,
                shortened=tuple(dict.fromkeys(each.entry for each in plan.shown)),
                tokens_before=plan.tokens_before,
                tokens_after=plan.tokens_after,
                reason=plan.reason,
            )
            self._done.append(done)
            told = asdict(done) | {"shortened": len(plan.shown), "saved_cost": plan.saved_cost}
            self._tell(ToolResultsPruned, **told)
        return self._measurer.measure()

    # ── flush and compaction ────────────────────────────────────────────────────────────────

    def save_all(self, reason: str, *, must: bool) -> FlushDone | NoFlush:
        measured = self._measurer.measure()
        shown = [id for item in measured.look.view.items for id in item.stands_for]
        return self._saver(measured).save(said_in(measured.look, shown), reason=reason, must=must)

    def flush_if_due(self) -> None:
        measured = self._measurer.measure()
        if measured.projected >= measured.budget.flush_at and not _is_flushed(measured.look):
            self._save_ahead(measured)

    def _flush_ahead(self, measured: Measured) -> None:
        """Save what a compaction would drop, while there is still time; once per cycle.

        Not before an answer: after it, or, if nobody said when that was, from the second
        request on that finds it due. Without a thread to do it in, here.
        """
        if _is_flushed(measured.look) or not self._rooms.settings.flush.enabled:
            return
        name = self._transcript.name
        if not self._rooms.has_background:
            self._save_ahead(measured)
        elif name in self._rooms.due:
            job = partial(flush_ahead, self._rooms, self._transcript, self._ask)
            self._rooms.background.submit(f"flush:{name}", job)
        else:
            self._rooms.due.add(name)

    def _save_ahead(self, measured: Measured, *, by_rules: bool = False) -> None:
        self._rooms.due.discard(self._transcript.name)
        compactor = self._compactor(measured)
        leaving = compactor.leaving(measured, compactor.plan(measured, "threshold"))
        reason = _HARD if by_rules else _FLUSH_DUE
        with suppress(HoldfastError):  # told by its event; nothing leaves yet, so it can wait
            done = self._saver(measured).save(leaving, reason=reason, must=False, by_rules=by_rules)
            if isinstance(done, FlushDone):
                self._done.append(done)

    def _hard(self, measured: Measured) -> None:
        """The last mark before something must leave: save it now, without a model, and run the
        command for that, once per cycle."""
        settings = self._rooms.settings.flush
        is_flushed = _is_flushed(measured.look)
        if settings.hard_threshold_command and (settings.hard_when == "always" or not is_flushed):
            run_hard_command(self._rooms, self._transcript, measured)
        # Where something leaves now anyway, that is waited for: with a model, if there is one.
        if not is_flushed and measured.projected < measured.budget.compact_at:
            warn(self._rooms, self._transcript.name, measured, "hard_threshold")
            self._save_ahead(measured, by_rules=True)

    def _reason_to_compact(self, measured: Measured) -> Why | None:
        limit = self._rooms.settings.compaction.max_messages
        if measured.projected >= measured.budget.compact_at:
            return "overflow" if self._why == "overflow" else "threshold"
        if limit and len(measured.blocks) > limit:
            return "messages"
        has_compacted = any(isinstance(done, CompactionDone) for done in self._done)
        return None if has_compacted else self._why

    def _make_room(self, measured: Measured) -> Measured:
        """Prune if that alone gives room for a while, else compact."""
        if self._why is None and self._reason_to_compact(measured) == "threshold":
            plan = self._plan_prune(measured, force="needed")
            comfortable = (measured.budget.target + measured.budget.flush_at) // 2
            if plan.shown and measured.projected - plan.saved <= comfortable:
                return self._prune(measured, plan)
            if _has_a_giant(measured):  # cut it, before everything else leaves because of it
                measured = self._prune(measured, self._plan_shortening(measured))
        for _ in range(_OTHERS):
            why = self._reason_to_compact(measured)
            if why is None:
                break
            # What a provider has proved to be too large is no vain attempt.
            measured, is_settled = self._compact(measured, why, even_in_vain=why == "overflow")
            if is_settled:
                break
        return measured

    def _compact(
        self, measured: Measured, why: Why, *, even_in_vain: bool = False
    ) -> tuple[Measured, bool]:
        """The session after a compaction, and whether another try would be of no use.

        The breaker stops compactions that gain nothing, unless the request would not fit.
        """
        compactor = self._compactor(measured)
        plan = compactor.plan(measured, why, even_in_vain=even_in_vain)
        if isinstance(plan, NoCompaction):
            self._tell(CompactionFailed, reason=plan.reason)
            return measured, True
        keep_tasks(self._rooms, self._transcript.name)  # from the words, while they are here
        # What the command of the hard threshold puts away should be put away before it leaves.
        inline = self._rooms.settings.flush.inline_seconds
        self._rooms.background.wait(command_key(self._transcript.name), seconds=inline)
        with self._rooms.in_phase(self._transcript.name, "COMPACTING"):
            done, is_settled = compactor.run(measured, plan)
        self._done += done
        return self._measurer.measure(), is_settled

    # ── the request ─────────────────────────────────────────────────────────────────────────

    def _request(self, measured: Measured) -> Request:
        return assemble(
            measured.look.view.items,
            format=self._ask.format,
            capabilities=capabilities_of(self._ask.model, self._ask.format),
            estimator=self._measurer.estimator,
            system=self._ask.whole_system,
            tools=self._ask.tools,
            edited=_sent_before_the_last_edit(measured.look),
            desk=measured.look.kept.get(Desk),
        )

    def _prepared(self, measured: Measured, request: Request, projected: int) -> Prepared:
        return Prepared(
            request=request,
            projected=projected,
            budget=measured.budget,
            breakdown=self._measurer.break_down(measured),
            done=tuple(self._done),
            model=self._ask.model,
            max_output=self._ask.max_output,
            last_entry=measured.blocks[-1].entry if measured.blocks else None,
        )

    def _irreducible(self, measured: Measured, needed: int) -> IrreducibleContext:
        parts = [(_name(block), block.tokens) for block in measured.blocks]
        if outside := self._measurer.outside:
            parts.append(("system text and tools given with the request", outside))
        largest = sorted(parts, key=lambda part: -part[1])[:3]
        named = "; ".join(f"{name}: {tokens:,} tokens" for name, tokens in largest)
        return IrreducibleContext(
            f"The request needs {needed:,} tokens, and {measured.budget.compact_at:,} is "
            f"the most that fits in a window of {measured.budget.window:,}. What may not be "
            f"shortened is too large: {named}.",
            blocks=largest,
            hint="Use a model with a larger window (context.window), fewer or smaller tools, "
            "or give the text as a file the agent can read in parts.",
        )

    def _tell(self, event: type[Event], **told: Any) -> None:
        self._rooms.tell(event, session=self._transcript.name, **told)


def _limit_name(provider: str | None, name: str) -> str:
    """What the longest answer is called: OpenAI's models want a newer name than the servers that
    imitate them understand."""
    is_openai = provider in _OPENAI or (provider is None and _OPENAI_NAME.match(name) is not None)
    return "max_completion_tokens" if is_openai else "max_tokens"


_FLUSH_DUE: Final = "flush_at is reached"
_HARD: Final = "hard_at is reached"
_APART: Final = frozenset({"manual", "idle", PASSED_OVER})
_NEARLY_FULL: Final = frozenset({"flush", "hard", "compact"})


def _has_a_giant(measured: Measured) -> bool:
    """Whether one message takes more than half of what all of them may have."""
    room = measured.budget.compact_at - measured.immovable
    return any(block.tokens > room // 2 for block in measured.blocks if not _is_fixed(block))


def _is_fixed(block: Block) -> bool:
    return is_system(block.message) or is_user(block.message)


def _is_flushed(look: Look) -> bool:
    """Whether the cycle has had its flush. One by hand, or while nobody spoke, is none."""
    return any(
        record.cycle == look.view.cycle and record.outcome in COVERING
        for record in flush_records(look.entries)
        if record.why not in _APART
    )


def _sent_before_the_last_edit(look: Look) -> frozenset[str]:
    edits = [each.seq for each in look.entries if each.type in {"prune", "compaction"}]
    if look.compaction is not None:
        edits.append(look.compaction.seq)
    last = max(edits, default=0)
    return frozenset(each.id for each in look.entries if each.seq < last)


def _name(block: Block) -> str:
    if block.item.kind in {"pin", "summary", "recall"}:
        return f"{block.item.kind} {block.entry}"
    who = "user" if is_user(block.message) else block.message.role
    return f"{who} message {block.entry}"
