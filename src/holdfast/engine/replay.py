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

from holdfast.context.accounting import make_budget
from holdfast.context.assembly import Request, WireFormat
from holdfast.context.blocks import Block, is_user
from holdfast.context.flush import COVERING, flush_records
from holdfast.context.pricing import Prices
from holdfast.context.tokens import TokenEstimator
from holdfast.context.trimming import plain_trim
from holdfast.engine.facade import open_engine
from holdfast.engine.saving import FlushDone
from holdfast.engine.session import Session
from holdfast.engine.turn import About, CompactionDone, Prepared, PruneDone
from holdfast.errors import IrreducibleContext
from holdfast.formats.logs import Recorded
from holdfast.ports import Model
from holdfast.types import Json, Message, ViewItem

__all__ = ["Replayed", "Trimmed", "replay", "total"]

SESSION: Final = "replay"
_ASKED_BACK: Final = 12
"""How many dropped entries are asked back through ``expand``; the others by a reading of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """What plain trimming would have done to the same conversation."""

    dropped: int = 0
    task_gone_at: int | None = None
    """The call from which on the task text was no longer sent."""
    tokens_sent: int = 0
    cost_sent: float = 0.0
    over_budget: int = 0
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
    saved_lines: int = 0
    summary: str = ""
    memories: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
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
    dump: Dump | None = None,
) -> Replayed:
    """Feed one conversation through an engine at ``home``."""
    clock = _LogClock(recorded)
    config: dict[str, Json] = {"context.window": window}
    if strategy is not None:
        config["compaction.strategy"] = strategy
    with open_engine(home, config=config, clock=clock, ids=_Numbers()) as engine:
        others = _Others(make_budget(engine.settings, window=window).compact_at)
        run = _Run(engine.session(SESSION), recorded, clock, others, dump)
        about: About = {
            "tools": recorded.tools,
            "format": format or recorded.format,
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
    """The time of the log, if it tells one; else one second passes with each message."""

    def __init__(self, recorded: Recorded) -> None:
        self._times = recorded.at
        known = [at for at in recorded.at if at is not None]
        self._last = known[0] if known else _NO_TIME

    def now(self) -> datetime:
        self._last += timedelta(microseconds=1)
        return self._last

    def reach(self, index: int) -> None:
        """It is the moment of that message."""
        at = self._times[index] if self._times else self._last + timedelta(seconds=1)
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
        self._task = next((each.text for each in recorded.messages if is_user(each)), None)
        self._sent = _Meter()
        self._others = others
        self._figures = Replayed(id=recorded.id, problems=recorded.problems)
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
            self._note(f"call {turn}: {error.message}")
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
        if request.tokens > prepared.budget.compact_at:
            self._add(over_budget=1)
        missing = self._said.keys() - set(request.stands_for) - self._covered
        self._uncovered |= missing
        kept = self._task is None or any(self._task in text for text in _texts(request.messages))
        self._figures = replace(
            self._figures,
            max_view_tokens=max(self._figures.max_view_tokens, request.tokens),
            task_text_kept=self._figures.task_text_kept and kept,
        )
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

    def _tell(self, kind: str, turn: int, **told: Json) -> None:
        if self._dump is not None:
            self._dump({"kind": kind, "conversation": self._recorded.id, "turn": turn, **told})

    def result(self) -> Replayed:
        summaries = [item for item in self._session.view().items if item.kind == "summary"]
        return replace(
            self._figures,
            uncovered_drops=len(self._uncovered),
            expandable=self._can_be_expanded(),
            tokens_sent=self._sent.tokens,
            cost_sent=self._sent.cost,
            tokens_full=self._others.full.tokens,
            cost_full=self._others.full.cost,
            dropped=len(self._gone),
            saved_lines=self.saved_lines,
            summary=summaries[-1].message.text if summaries else "",
            trimmed=self._others.trimmed(),
        )

    def _can_be_expanded(self) -> bool:
        """Whether everything said comes back as it was, also what left the view."""
        for entry in sorted(self._gone)[:_ASKED_BACK]:
            if self._session.expand(entry).message != self._said[entry]:
                return False
        return self._session.originals(self._said) == self._said


class _Others:
    """The same conversation without us: everything always, and plain trimming."""

    def __init__(self, limit: int) -> None:
        self._estimator = TokenEstimator()
        self._limit = limit
        self._blocks: list[Block] = []
        self.full = _Prefix()
        self._trim = _Prefix()
        self._over = 0
        self._task_gone_at: int | None = None
        self._dropped: dict[int, None] = {}

    def hear(self, message: Message) -> None:
        tokens = self._estimator.message(message)
        item = ViewItem(message=message, stands_for=(str(len(self._blocks)),))
        self._blocks.append(Block(item=item, tokens=tokens))

    def ask(self, turn: int, task: str | None) -> None:
        self.full.send(self._blocks)
        kept = plain_trim(self._blocks, self._limit)
        self._trim.send(kept)
        self._over += sum(block.tokens for block in kept) > self._limit
        if len(kept) < len(self._blocks):
            stay = {block.entry for block in kept}
            self._dropped |= {
                index: None for index, block in enumerate(self._blocks) if block.entry not in stay
            }
            if self._task_gone_at is None and not any(
                is_user(block.message) and block.message.text == task for block in kept
            ):
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
    """Tokens and price of requests that are runs of the same blocks."""

    def __init__(self) -> None:
        self._last: Sequence[Block] = ()
        self._prices = Prices()
        self.tokens = 0
        self.cost = 0.0

    def send(self, blocks: Sequence[Block]) -> None:
        tokens = sum(block.tokens for block in blocks)
        cached = 0
        for before, now in zip(self._last, blocks, strict=False):
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
