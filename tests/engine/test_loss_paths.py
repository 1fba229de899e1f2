"""Every way to lose context, times every way a flush can go: saved first, delivered always.

A cell of the table is one real session on disk. Its path is taken, a scripted model flushes (or
fails to) in its own way, and then the transcript itself is audited: whatever left the view was
covered, with its hash, by a record that stood before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from holdfast.context.flush import covered_by, flush_records
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.engine.turn import CompactionDone, Prepared
from holdfast.events import Event, MemoryFlushStart
from holdfast.ports import ModelReply, ModelRequest
from holdfast.testing import FixedClock, SequentialIds
from holdfast.types import Json, Message, ToolCall
from tests.engine.losing import (
    MARK,
    OUTCOMES,
    Flusher,
    audit,
    check_request,
    check_silence,
    grow,
    leave_a_lease,
    model_flushes,
    records_of,
    turns,
)
from tests.scale import SCALE

WINDOW: Final = 8_000
PER_STAGE: Final = 3
"""Calls of a model in one stage of one flush."""


@dataclass(slots=True)
class Cell:
    """One session on its way to a loss."""

    engine: Engine
    clock: FixedClock
    session: Session
    model: Flusher
    heard: list[Event] = field(default_factory=list)
    prepared: list[Prepared] = field(default_factory=list)
    dead_lease: float | None = None
    """For how long a process that died still holds the lease when the path is taken."""

    def prepare(self, *messages: Any, **about: Any) -> Prepared:
        self.prepared.append(self.session.prepare(*messages, **about))
        return self.prepared[-1]

    def die(self) -> None:
        """Let another process have died while it saved this, if that is the case here."""
        if self.dead_lease is not None:
            leave_a_lease(self.session, seconds=max(self.dead_lease, 0.0))
            if self.dead_lease <= 0:
                self.clock.advance(seconds=1)

    @property
    def names(self) -> list[str]:
        return [event.name for event in self.heard]

    @property
    def compactions(self) -> int:
        return self.names.count("compaction_end")


@contextmanager
def a_cell(home: Path, model: Flusher, **config: Json) -> Iterator[Cell]:
    clock = FixedClock()
    settings = {
        "context.window": WINDOW,
        "flush.inline_seconds": 0.15,
        "flush.total_seconds": 1,
        **config,
    }
    with open_engine(
        home, config=settings, clock=clock, ids=SequentialIds(), background=False
    ) as engine:
        session = engine.session("s", flusher=model, system="You are a helpful assistant.")
        cell = Cell(engine=engine, clock=clock, session=session, model=model)
        engine.subscribe(cell.heard.append)
        engine.subscribe(model.hear)
        yield cell


# ── the paths ───────────────────────────────────────────────────────────────────────────────


def threshold(cell: Cell) -> None:
    """Turn by turn over every mark: the flush is due first, the compaction later."""
    grow(cell.session, 20)
    for number in range(20, 60):
        cell.prepare(turns(1, start=number)[0])
        cell.session.commit({"role": "assistant", "content": "More text follows here. " * 12})
        if number == 26:
            cell.die()
        if cell.compactions:
            return
    raise AssertionError("it never compacted")


def jump(cell: Cell) -> None:
    """One large step over all marks at once."""
    grow(cell.session, 50)
    cell.die()
    cell.prepare("What is next?")


def hard(cell: Cell) -> None:
    """Between the hard mark and the compaction, then over it."""
    explained = cell.session.explain_context
    grow(cell.session, 25)
    for number in range(25, 60):
        grow(cell.session, 1, start=number)
        found = explained()
        if found.projection.tokens >= found.budget.hard_at:
            break
    assert found.projection.tokens < found.budget.compact_at
    cell.die()
    cell.prepare("What is next?")
    grow(cell.session, 6, start=60)
    cell.prepare("And now?")


def overflow(cell: Cell) -> None:
    """The provider says that the request is too large, though all marks were kept."""
    grow(cell.session, 18)
    cell.prepare("What is next?")
    cell.die()
    smaller = cell.session.recover(RuntimeError("prompt is too long: 9000 tokens > 4000 maximum"))
    assert smaller is not None
    cell.prepared.append(smaller)


class _Worker:
    """The conversation's own model: reads file after file, then it is done."""

    name = "worker"

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        self._left -= 1
        if self._left < 0:
            return ModelReply(message=Message.of("assistant", "All files are read."))
        call = ToolCall(id=f"r{self._left}", name="read", arguments={"file": f"{self._left}.py"})
        return ModelReply(message=Message(role="assistant", parts=(call,)))


def mid_turn(cell: Cell) -> None:
    """Inside the tool loop of one turn."""
    grow(cell.session, 12)
    cell.die()
    worker = _Worker(12)
    session = cell.engine.session(
        "s", model=worker, flusher=cell.model, system="You are a helpful assistant.", window=WINDOW
    )

    def read(file: str) -> str:
        return f"# {file}\n" + f"def f_{file[:-3]}(): return {file[:-3]}\n" * 60

    steps = list(session.run("Read all files.", functions={"read": read}))
    assert steps[-1].kind == "end"
    assert steps[-1].message is not None
    assert steps[-1].message.text == "All files are read."
    for request in worker.requests:
        assert MARK not in str(request)
    cell.prepared.append(session.prepare())


def max_messages(cell: Cell) -> None:
    """More messages than a view may have, far below any mark."""
    grow(cell.session, 12)
    cell.die()
    cell.prepare("What is next?")


def compact(cell: Cell) -> None:
    """By hand, with something to keep in mind."""
    grow(cell.session, 14)
    cell.die()
    cell.prepared.append(cell.session.compact("customer 3"))


def tool(cell: Cell) -> None:
    """The agent asks for it, and the next request does it."""
    grow(cell.session, 14)
    cell.die()
    cell.session.call_tool("context_compact", {"focus": "customers"})
    assert not cell.compactions
    cell.prepare("What is next?")


def interval(cell: Cell) -> None:
    """An old, large conversation whose cache is cold: compacted while nobody speaks."""
    grow(cell.session, 23)
    cell.prepare("What is next?")
    cell.session.commit("Let me think. " * 10)
    cell.clock.advance(seconds=4_000)
    cell.die()
    assert cell.engine.upkeep() == ["s: compacted"]
    cell.clock.advance(seconds=cell.dead_lease or 0)
    cell.engine.upkeep()
    assert_all_covered(cell.session)
    assert cell.engine.upkeep() == []


def idle(cell: Cell) -> None:
    """Nobody spoke for long: what was said is saved, nothing leaves."""
    grow(cell.session, 6)
    cell.prepare("What is next?")
    cell.session.commit("Let me think.")
    cell.clock.advance(seconds=4_000)
    cell.die()
    if cell.dead_lease is not None and cell.dead_lease > 0:
        assert cell.engine.upkeep() == []
        cell.clock.advance(seconds=cell.dead_lease + 1)
    (done,) = cell.engine.upkeep()
    assert done.startswith("s: saved")
    assert_all_covered(cell.session)


def reset(cell: Cell) -> None:
    """The view is emptied at once."""
    grow(cell.session, 10)
    cell.die()
    cell.session.append_entry("marker", {"kind": "reset"})


def close(cell: Cell) -> None:
    grow(cell.session, 10)
    cell.prepare("Goodbye.")
    cell.session.commit("Goodbye!")
    cell.die()
    cell.session.close()
    assert cell.session.state()["closed"] is True
    assert_all_covered(cell.session)


def new(cell: Cell) -> None:
    grow(cell.session, 10)
    cell.prepare("What is next?")
    cell.session.commit("A new chat.")
    cell.die()
    following = cell.session.new()
    assert_all_covered(cell.session)
    assert following.name == "s-2"
    cell.prepared.append(following.prepare("Who is customer 4?"))
    check_silence(following, cell.prepared)


PATHS: Final[dict[str, Callable[[Cell], None]]] = {
    path.__name__: path
    for path in (
        threshold,
        jump,
        hard,
        overflow,
        mid_turn,
        max_messages,
        compact,
        tool,
        interval,
        idle,
        reset,
        close,
        new,
    )
}
DROPPING: Final = PATHS.keys() - {"idle", "reset", "close", "new"}
CONFIG: Final[dict[str, dict[str, Json]]] = {
    "max_messages": {"compaction.max_messages": 20, "context.window": 200_000},
    "interval": {"context.context_tokens": 3_000},
}


RECALLING: Final = frozenset({"compact", "new"})
"""Where what was saved is looked for again; elsewhere it would only take its time."""


def config_of(path: str) -> dict[str, Json]:
    return {"recall.mode": "auto" if path in RECALLING else "off", **CONFIG.get(path, {})}


# ── the table ───────────────────────────────────────────────────────────────────────────────


def assert_all_covered(session: Session) -> None:
    entries = session.entries()
    said = {each.id for each in entries if each.type == "message"}
    assert said == covered_by(flush_records(entries), entries)


def check_order(cell: Cell, path: str) -> None:
    """A flush that began has ended, and before anything left."""
    names = cell.names
    assert names.count("memory_flush_start") == names.count("memory_flush_end")
    assert names.count("memory_flush_start") >= 1
    depth = 0
    for name in names:
        depth += {"memory_flush_start": 1, "memory_flush_end": -1}.get(name, 0)
        assert 0 <= depth <= 1
        if name in {"compaction_end", "session_closed"}:
            assert depth == 0
    if path in DROPPING:
        last = names.index("compaction_end")
        assert names.index("memory_flush_start") < names.index("memory_flush_end") < last
        assert names.count("compaction_start") == cell.compactions
    if path in {"close", "new"}:
        assert names.index("memory_flush_end") < names.index("session_closed")


def check_loss(cell: Cell, path: str) -> None:
    found = audit(cell.session.entries())
    assert found.uncovered == []
    if path in DROPPING:
        assert cell.compactions == found.losses >= 1
        assert found.dropped
        done = [d for p in cell.prepared for d in p.done if isinstance(d, CompactionDone)]
        assert {id for each in done for id in each.dropped} <= found.dropped
    if path == "reset":
        assert len(found.dropped) == 20


def check_delivered(cell: Cell) -> None:
    for prepared in cell.prepared:
        check_request(prepared)
    again = cell.engine.session("s", system="You are a helpful assistant.")
    cell.prepared.append(again.prepare("Are you still there?", window=WINDOW))
    check_request(cell.prepared[-1])
    assert "Are you still there?" in str(cell.prepared[-1].messages)


def check_cell(cell: Cell, path: str) -> None:
    check_order(cell, path)
    check_loss(cell, path)
    state = cell.session.state()
    assert state["memory_flushing"] is False
    assert state["compaction_count"] == cell.compactions
    for flush in cell.model.stages:
        assert max(flush.values(), default=0) <= PER_STAGE, flush
    assert max(model_flushes(cell.session).values(), default=0) <= 1
    check_delivered(cell)
    check_silence(cell.session, cell.prepared)
    memory = [path.read_text() for path in cell.engine.home.rglob("*.md")]
    assert memory, "something was worth remembering in every one of these talks"
    assert MARK not in "".join(memory)


SIMILAR: Final = {"interrupt": "crash", "no reply": "garbage"}
"""Ways that are much like another: tried on two paths, the others on all."""


def is_tried(path: str, outcome: str) -> bool:
    """Whether a cell of the table is: by default every path by every second way a flush can go,
    in turn, so that each way is met on every second path; in the long run all of them."""
    if outcome in SIMILAR:
        return path in {"threshold", "compact"}
    number = list(PATHS).index(path) + [each for each in OUTCOMES if each not in SIMILAR].index(
        outcome
    )
    return SCALE > 1 or outcome == "ok" or number % 2 == 0


@pytest.mark.parametrize(
    ("path", "outcome"),
    [(path, outcome) for path in PATHS for outcome in OUTCOMES if is_tried(path, outcome)],
)
def test_whatever_a_flush_does_nothing_leaves_unsaved_and_the_turn_goes_on(
    fast_path: Path, path: str, outcome: str
) -> None:
    with a_cell(fast_path / "home", OUTCOMES[outcome](), **config_of(path)) as cell:
        PATHS[path](cell)
        check_cell(cell, path)


@pytest.mark.parametrize("seconds", [0, 3_600], ids=["expired", "held"])
@pytest.mark.parametrize("path", PATHS)
def test_a_process_that_died_while_it_saved_keeps_nobody_from_it(
    fast_path: Path, path: str, seconds: float
) -> None:
    with a_cell(fast_path / "home", OUTCOMES["ok"](), **config_of(path)) as cell:
        cell.dead_lease = seconds
        PATHS[path](cell)
        check_cell(cell, path)
        assert any(each.owner == "dead" for each in records_of(cell.session))


# ── what the model's part of it is ──────────────────────────────────────────────────────────

ASKING: Final = PATHS.keys() - {"jump", "hard", "overflow", "idle", "reset"}
"""Where a model is asked first: beyond the hard mark, and where nobody waits, rules save."""


@pytest.mark.parametrize("path", sorted(ASKING))
def test_a_model_that_flushes_well_is_the_one_whose_lines_are_kept(
    fast_path: Path, path: str
) -> None:
    patient = {**config_of(path), "flush.inline_seconds": 20, "flush.total_seconds": 60}
    with a_cell(fast_path / "home", OUTCOMES["ok"](), **patient) as cell:
        PATHS[path](cell)
        assert set(model_flushes(cell.session).values()) == {1}
        (first, *_) = [each for each in records_of(cell.session) if each.outcome == "flushed"]
        assert first.mode == "agent"
        assert first.saved == first.verified == len(first.lines) > 0
        assert first.ungrounded >= 1, "what was never said is not kept"
        assert first.cost is not None
        assert first.cost["calls"] == 2


def test_at_the_hard_mark_nobody_waits_for_a_model(fast_path: Path) -> None:
    with a_cell(fast_path / "home", OUTCOMES["timeout"]()) as cell:
        PATHS["hard"](cell)
        first = next(event for event in cell.heard if isinstance(event, MemoryFlushStart))
        assert (first.mode, first.reason) == ("rules", "hard_at is reached")


@pytest.mark.parametrize(("path", "why"), [("jump", "threshold"), ("overflow", "overflow")])
def test_what_leaves_at_once_is_waited_for(fast_path: Path, path: str, why: str) -> None:
    with a_cell(fast_path / "home", OUTCOMES["ok"]()) as cell:
        PATHS[path](cell)
        first = next(event for event in cell.heard if isinstance(event, MemoryFlushStart))
        assert (first.mode, first.reason) == ("agent", why)


def test_a_reset_begins_a_cycle_with_a_flush_of_its_own(fast_path: Path) -> None:
    with a_cell(fast_path / "home", OUTCOMES["ok"]()) as cell:
        grow(cell.session, 4)
        cell.session.flush()
        marker = cell.session.append_entry("marker", {"kind": "reset"})
        assert cell.session.view().cycle == cell.session.state()["cycle"] == marker
        grow(cell.session, 4, start=10)
        cell.session.flush()
        assert model_flushes(cell.session) == {"genesis": 1, marker: 1}
        cell.session.compact()
        assert cell.session.view().cycle == cell.session.state()["cycle"] != marker


def test_a_provider_that_always_says_too_large_is_believed_three_times(fast_path: Path) -> None:
    with a_cell(fast_path / "home", OUTCOMES["fail"]()) as cell:
        grow(cell.session, 25)
        cell.prepare("What is next?")
        sizes = [cell.prepared[-1].projected]
        for _ in range(3):
            smaller = cell.session.recover(RuntimeError("context_length_exceeded"))
            assert smaller is not None
            check_request(smaller)
            sizes.append(smaller.projected)
        assert sizes == sorted(sizes, reverse=True)
        with pytest.raises(Exception, match="3 times"):
            cell.session.recover(RuntimeError("context_length_exceeded"))
        assert audit(cell.session.entries()).uncovered == []
        check_request(cell.prepare("And now?"))
