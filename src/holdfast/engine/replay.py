"""A recorded conversation, fed turn by turn through the engine: what would it have done?

Before every answer of the log the request is prepared as a host would prepare it; the log's
next messages are then appended. Beside it runs plain trimming over the same log, so that the
two can be compared. Everything is counted from what really happened: the requests are checked
by the validators, coverage is read from the transcript, and originals are asked back.

Promise: figures are counted, never assumed, and a fault of the engine shows in them
(``tests/engine/test_replay.py``). The conversation lives in a home of its own, which the
caller names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from holdfast.context.accounting import Budget, make_budget
from holdfast.context.assembly import Request, WireFormat
from holdfast.context.blocks import Block, is_user
from holdfast.context.flush import COVERING, flush_records
from holdfast.context.pricing import Prices
from holdfast.context.tokens import TokenEstimator, family_of
from holdfast.context.trimming import plain_trim
from holdfast.context.validity.strings import mend_unicode
from holdfast.engine.facade import open_engine
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.session import Session
from holdfast.engine.turn import About, CompactionDone, Prepared, PruneDone
from holdfast.errors import IrreducibleContext
from holdfast.formats.logs import Recorded
from holdfast.models.tokenizers import find_counter
from holdfast.ports import Model
from holdfast.types import Json, Message, ViewItem

__all__ = ["Replayed", "Trimmed", "replay", "total"]

SESSION: Final = "replay"
_ASKED_BACK: Final = 12
"""How many dropped entries are asked back through ``expand``; the others by a reading of all."""
_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """What plain trimming would have done to the same conversation."""

    dropped: int = 0
    task_gone_at: int | None = None
    """The call from which on the task text was no longer sent."""
    tokens_sent: int = 0
    cost_sent: float = 0.0
    over_budget: int = 0
    """Requests above the window: a provider refuses them, so they cost nothing and send nothing."""
    first_dropped: tuple[str, ...] = ()
    """The first few texts it would have dropped, for a person to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What happened to one conversation."""

    id: str
    turns: int = 0
    prunes: int = 0
    flushes: int = 0
    compactions: int = 0
    max_view_tokens: int = 0
    over_budget: int = 0
    invalid_views: int = 0
    uncovered_drops: int = 0
    task_text_kept: bool = True
    expandable: bool = True
    tokens_sent: int = 0
    tokens_full: int = 0
    cost_sent: float = 0.0
    cost_full: float = 0.0
    dropped: int = 0
    """Messages that left the view by a compaction."""
    read_first: int = 0
    """How many of those a flush had read before."""
    came_back: int = 0
    """How many of those came back word for word when they were asked for."""
    repaired: int = 0
    """Messages that a provider would not have taken as they were, and those put between them."""
    shortened: int = 0
    """Messages of which less than the whole was shown: pruned, or set aside when they came."""
    saved_lines: int = 0
    summary: str = ""
    memories: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Every promise that was not kept, and what of the log could not be read."""
    unread: int = 0
    """How many of the problems are the log's own; they come first."""
    trimmed: Trimmed = field(default_factory=Trimmed)

    def to_json(self) -> dict[str, Json]:
        """The line of ``replay --json``: figures only."""
        named = (
            "id turns prunes flushes compactions max_view_tokens over_budget invalid_views "
            "uncovered_drops task_text_kept expandable tokens_sent tokens_full"
        )
        told: dict[str, Json] = {name: getattr(self, name) for name in named.split()}
        told |= {"cost_sent": round(self.cost_sent, 6), "cost_full": round(self.cost_full, 6)}
        if self.problems:
            told["problems"] = list(self.problems)
        return told


def total(all_of: Sequence[Replayed]) -> dict[str, Json]:
    """The sums over several conversations; of yes and no, how many are yes."""
    sums: dict[str, Json] = {"summary": True, "conversations": len(all_of)}
    for each in all_of:
        for name, value in each.to_json().items():
            if name == "max_view_tokens":
                sums[name] = max(sums.get(name, 0), value)
            elif isinstance(value, int | float):
                sums[name] = sums.get(name, 0) + value
    return {
        name: round(value, 6) if isinstance(value, float) else value for name, value in sums.items()
    }


Dump = Callable[[dict[str, Json]], None]


def replay(
    recorded: Recorded,
    home: Path,
    *,
    window: int,
    strategy: str | None = None,
    format: WireFormat | None = None,
    model: Model | None = None,
    for_model: str | None = None,
    dump: Dump | None = None,
) -> Replayed:
    """Feed one conversation through an engine at ``home``.

    ``model`` writes the summaries; ``for_model`` names the model that the requests are for, which
    decides how tokens are counted and what is valid.
    """
    clock = _LogClock(recorded)
    config: dict[str, Json] = {"context.window": window}
    if strategy is not None:
        config["compaction.strategy"] = strategy
    with open_engine(home, config=config, clock=clock, ids=_Numbers()) as engine:
        budget = make_budget(engine.settings, window=window)
        family = family_of(for_model) if for_model else "default"
        estimator = TokenEstimator(family, counter=find_counter(family))
        others = _Others(budget, estimator, fixed=estimator.tools(recorded.tools))
        run = _Run(engine.session(SESSION), recorded, clock, others, dump)
        about: About = {
            "tools": recorded.tools,
            "format": format or recorded.format,
            "model": for_model,
            "window": window,
            "summariser": model,
        }
        run.go(about)
        memories = _memories(home) if run.saved_lines else ()
        return replace(run.result(), memories=memories)


_NO_TIME: Final = datetime(2025, 1, 1, tzinfo=UTC)


class _Numbers:
    """Ids that are the same in every replay of the same log."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, at: datetime) -> str:
        del at
        self._last += 1
        return f"e{self._last:06d}"


class _LogClock:
    """The time of the log, if it tells one; else no time passes that anybody could take for one."""

    def __init__(self, recorded: Recorded) -> None:
        self._times = recorded.at
        known = [at for at in recorded.at if at is not None]
        self._last = known[0] if known else _NO_TIME

    def now(self) -> datetime:
        self._last += timedelta(microseconds=1)
        return self._last

    def reach(self, index: int) -> None:
        """It is the moment of that message."""
        at = self._times[index] if self._times else None
        if at is not None:
            self._last = max(self._last, at)


class _Run:
    def __init__(
        self,
        session: Session,
        recorded: Recorded,
        clock: _LogClock,
        others: _Others,
        dump: Dump | None,
    ) -> None:
        self._session = session
        self._recorded = recorded
        self._clock = clock
        self._dump = dump
        self._said: dict[str, Message] = {}
        self._covered: set[str] = set()
        self._gone: set[str] = set()
        self._uncovered: set[str] = set()
        self._repaired: set[str] = set()
        self._shortened: set[str] = set()
        self._task = next((each.text for each in recorded.messages if is_user(each)), "")
        self._task_as_sent = mend_unicode(self._task) if self._task.strip() else ""
        self._sent = _Meter()
        self._others = others
        self._figures = Replayed(
            id=recorded.id, problems=recorded.problems, unread=len(recorded.problems)
        )
        self.saved_lines = 0

    def go(self, about: About) -> None:
        for index, message in enumerate(self._recorded.messages):
            if message.role == "assistant":
                self._ask(about)
            self._clock.reach(index)
            self._said[self._session.append(message)] = message
            self._others.hear(message)
        if self._recorded.messages and self._recorded.messages[-1].role != "assistant":
            self._ask(about)

    def _ask(self, about: About) -> None:
        """One call of the model: the request is prepared, counted and checked."""
        turn = self._figures.turns + 1
        self._others.ask(turn, self._task)
        self._add(turns=1)
        try:
            prepared = self._session.prepare(**about)
        except IrreducibleContext as error:
            self._add(over_budget=1)
            self._note(f"call {turn}: {error.message} → {error.hint}")
            for record in flush_records(self._session.entries()):
                self._covered |= set(record.covers) if record.outcome in COVERING else set()
            return
        self._take_note(turn, prepared)
        self._check(turn, prepared)

    def _add(self, **counts: int) -> None:
        figures = self._figures
        grown = {name: getattr(figures, name) + count for name, count in counts.items()}
        self._figures = replace(figures, **grown)

    def _note(self, problem: str) -> None:
        self._figures = replace(self._figures, problems=(*self._figures.problems, problem))

    def _take_note(self, turn: int, prepared: Prepared) -> None:
        """Count and dump what was done to make the request fit."""
        for done in prepared.done:
            match done:
                case PruneDone():
                    self._add(prunes=1)
                    self._shortened |= set(done.shortened)
                    self._tell("prune", turn, shortened=list(done.shortened))
                case FlushDone():
                    self._add(flushes=1)
                    self._covered |= set(done.covers)
                    self.saved_lines += done.saved
                    self._tell("flush", turn, outcome=done.outcome, covers=list(done.covers))
                case CompactionDone():
                    self._add(compactions=1)
                    self._gone |= set(done.dropped)
                    self._uncovered |= set(done.dropped) - self._covered
                    self._tell(
                        "compaction", turn, strategy=done.strategy, dropped=list(done.dropped)
                    )

    def _check(self, turn: int, prepared: Prepared) -> None:
        request = prepared.request
        is_edited = any(not isinstance(done, FlushDone) for done in prepared.done)
        shared = self._sent.send(request)
        if not shared and not is_edited:
            self._note(f"call {turn}: the request does not begin with the one before it")
        if request.violations:
            self._add(invalid_views=1)
            self._note(f"call {turn}: {request.violations[0].rule}: {request.violations[0].text}")
        if request.tokens > (most := prepared.budget.compact_at):
            self._add(over_budget=1)
            self._note(f"call {turn}: the request has {request.tokens:,} tokens; {most:,} fit")
        self._uncovered |= self._said.keys() - set(request.stands_for) - self._covered
        self._repaired |= set(_repaired_in(request, turn))
        self._check_task(turn, request)
        largest = max(self._figures.max_view_tokens, request.tokens)
        self._figures = replace(self._figures, max_view_tokens=largest)
        self._tell(
            "request",
            turn,
            format=request.format,
            system=request.system,
            messages=request.messages,
            tools=list(request.tools),
            tokens=request.tokens,
            stands_for=list(request.stands_for),
        )

    def _check_task(self, turn: int, request: Request) -> None:
        """The task text must be in every request; that it is lost is said once."""
        task = self._task_as_sent
        if not task or not self._figures.task_text_kept:
            return
        if not any(task in text for text in _texts(request.messages)):
            self._figures = replace(self._figures, task_text_kept=False)
            self._note(f"call {turn}: the task text is lost")

    def _tell(self, kind: str, turn: int, **told: Json) -> None:
        if self._dump is not None:
            self._dump({"kind": kind, "conversation": self._recorded.id, "turn": turn, **told})

    def result(self) -> Replayed:
        items = self._session.view().items
        summaries = [item for item in items if item.kind == "summary"]
        self._shortened |= {id for item in items if item.shortened for id in item.stands_for}
        lost = self._not_returned()
        if self._uncovered:
            self._note(f"{_messages(self._uncovered)} left the view without being read for memory")
        if lost:
            self._note(f"{_messages(lost)} cannot be expanded word for word")
        return replace(
            self._figures,
            uncovered_drops=len(self._uncovered),
            expandable=not lost,
            tokens_sent=self._sent.tokens,
            cost_sent=self._sent.cost,
            tokens_full=self._others.full.tokens,
            cost_full=self._others.full.cost,
            dropped=len(self._gone),
            read_first=len(self._gone - self._uncovered),
            came_back=len(self._gone - lost),
            repaired=len(self._repaired),
            shortened=len(self._shortened),
            saved_lines=self.saved_lines,
            summary=summaries[-1].message.text if summaries else "",
            trimmed=self._others.trimmed(),
        )

    def _not_returned(self) -> set[str]:
        """What does not come back as it was said; also what left the view is asked for."""
        found = self._session.originals(self._said)
        lost = {id for id, message in self._said.items() if found.get(id) != message}
        for id in sorted(self._gone)[:_ASKED_BACK]:
            if self._session.expand(id).message != self._said[id]:
                lost.add(id)
        return lost


def _repaired_in(request: Request, turn: int) -> Iterator[str]:
    """The entries that repair changed, and a name for each message that it put between them."""
    for change in request.repairs:
        if change.entries:
            yield from change.entries
        else:  # a last word is put behind another message each time, the others stay in place
            yield f"{change.kind} {turn if change.kind == 'end' else change.index}"


def _messages(entries: set[str]) -> str:
    named = ", ".join(sorted(entries)[:_NAMED]) + (", …" if len(entries) > _NAMED else "")
    return f"{len(entries):,} {'message' if len(entries) == 1 else 'messages'} ({named})"


class _Others:
    """The same conversation without us: everything always, and plain trimming."""

    def __init__(self, budget: Budget, estimator: TokenEstimator, *, fixed: int) -> None:
        self._estimator = estimator
        self._budget = budget
        self._fixed = fixed
        self._blocks: list[Block] = []
        self.full = _Prefix(fixed)
        self._trim = _Prefix(fixed)
        self._over = 0
        self._task_gone_at: int | None = None
        self._dropped: dict[int, None] = {}

    def hear(self, message: Message) -> None:
        tokens = self._estimator.message(message)
        item = ViewItem(message=message, stands_for=(str(len(self._blocks)),))
        self._blocks.append(Block(item=item, tokens=tokens))

    def ask(self, turn: int, task: str) -> None:
        self.full.send(self._blocks)
        kept = plain_trim(self._blocks, self._budget.compact_at, fixed=self._fixed)
        if self._fixed + sum(block.tokens for block in kept) > self._budget.window:
            self._over += 1
        else:
            self._trim.send(kept)
        if len(kept) < len(self._blocks):
            stay = {block.entry for block in kept}
            self._dropped |= {
                index: None for index, block in enumerate(self._blocks) if block.entry not in stay
            }
            sent = [block.message.text for block in kept if is_user(block.message)]
            if task and task not in sent and self._task_gone_at is None:
                self._task_gone_at = turn

    def trimmed(self) -> Trimmed:
        lost = [self._blocks[index].message for index in list(self._dropped)]
        texts = [message.text for message in lost if message.role in {"user", "assistant"}]
        return Trimmed(
            dropped=len(self._dropped),
            task_gone_at=self._task_gone_at,
            tokens_sent=self._trim.tokens,
            cost_sent=self._trim.cost,
            over_budget=self._over,
            first_dropped=tuple(text for text in texts if text.strip())[:5],
        )


class _Prefix:
    """Tokens and price of requests that are runs of the same blocks, behind the same tools."""

    def __init__(self, fixed: int) -> None:
        self._fixed = fixed
        self._last: Sequence[Block] | None = None
        self._prices = Prices()
        self.tokens = 0
        self.cost = 0.0

    def send(self, blocks: Sequence[Block]) -> None:
        tokens = self._fixed + sum(block.tokens for block in blocks)
        cached = self._fixed if self._last is not None else 0
        for before, now in zip(self._last or (), blocks, strict=False):
            if before is not now:
                break
            cached += now.tokens
        self._last = tuple(blocks)
        self.tokens += tokens
        self.cost += self._prices.cost(cached, tokens - cached)


class _Meter:
    """Tokens and price of requests as they go over the wire, prompt caching included."""

    def __init__(self) -> None:
        self._last: list[bytes] = []
        self._prices = Prices()
        self.tokens = 0
        self.cost = 0.0

    def send(self, request: Request) -> bool:
        """Whether the request begins with the whole of the one before it."""
        now = [_bytes([request.system, request.tools]), *map(_bytes, request.messages)]
        same = 0
        for before, after in zip(self._last, now, strict=False):
            if before != after:
                break
            same += 1
        is_prefix = same == len(self._last)
        self._last = now
        cached = _tokens_of_first(request, same, now)
        self.tokens += request.tokens
        self.cost += self._prices.cost(cached, request.tokens - cached)
        return is_prefix


def _tokens_of_first(request: Request, same: int, now: Sequence[bytes]) -> int:
    """What of the request was sent before; by length where messages have no size of their own."""
    if not same:
        return 0
    if request.sizes:
        return request.tokens - sum(request.sizes[same - 1 :])
    return request.tokens * sum(map(len, now[:same])) // sum(map(len, now))


def _bytes(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def _texts(messages: Sequence[Json]) -> Iterator[str]:
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            yield "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))


def _memories(home: Path) -> tuple[str, ...]:
    """The lines that were written to memory."""
    files = sorted((home / "agents" / "main" / "memory").glob("*.md"))
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return tuple(line for line in lines if line.startswith("- "))
