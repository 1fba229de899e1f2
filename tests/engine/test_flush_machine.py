"""Random lives of a conversation, step by step, against a small model of what must hold.

Turns, large results, compactions by hand, flushes that go well, fail, hang or die, restarts,
another process at the same session, clocks that jump, new conversations, memory switched off and
on: in whatever order. A step is one call on a session.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from holdfast.context.flush import FlushRecord, covered_by, flush_records
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.engine.turn import Prepared
from holdfast.testing import FixedClock, SequentialIds
from holdfast.types import Entry
from tests.engine.losing import (
    MARK,
    OUTCOMES,
    audit,
    check_request,
    leave_a_lease,
    model_flushes,
)
from tests.scale import scaled

STEPS: Final = scaled(1_500)
SHARDS: Final = 4
WINDOW: Final = 3_000
ATTEMPTS: Final = 2
WAYS: Final = ("ok", "empty", "fail", "timeout", "crash", "garbage", "forbidden", "no room")
AT_ONCE: Final = 12
"""Entries that one call may append, and more than enough: what it was given, a prune, a lease
and its record twice, a compaction, what it recalled and restored, a mark or two."""

FACT: Final = "Remember that customer {n} has id CUST-{n:05d}. "
taken: Counter[str] = Counter()
"""Steps so far, by what was called."""
seen: Counter[str] = Counter()
"""What came of them: records by outcome and way, compactions."""
HAPPENS: Final = (
    "compactions",
    "flushing by agent",
    "flushed by agent",
    "flushed by rules",
    "empty by rules",
)


class Conversation(RuleBasedStateMachine):
    """One home, one or two engines, one conversation after another."""

    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")
        self.folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
        self.clock = FixedClock()
        self.ids = SequentialIds()
        self.model = OUTCOMES["ok"]()
        self.name = "s"
        self.was_seen = False
        self.said: dict[str, list[str]] = {}
        self.number = 0
        self.engine = self.open()
        self.session = self.start()

    @initialize(turns=st.integers(2, 8))
    def begin(self, turns: int) -> None:
        self.grow(count=turns, size=6)

    # ── the world ───────────────────────────────────────────────────────────────────────────

    def open(self) -> Engine:
        config = {
            "context.window": WINDOW,
            "context.reserve_tokens_floor": 600,
            "flush.inline_seconds": 0.02,
            "flush.attempts": ATTEMPTS,
            "recall.mode": "off",
        }
        engine = open_engine(
            Path(self.folder.name) / "home",
            config=config,
            clock=self.clock,
            ids=self.ids,
            background=False,
        )
        vars(engine.settings.flush)["total_seconds"] = 0.02  # less than one may configure
        return engine

    def start(self, engine: Engine | None = None) -> Session:
        return (engine or self.engine).session(self.name, flusher=self.model, system="Be kind.")

    def call(self, what: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        """One step; what it appends is bounded."""
        taken[what] += 1
        if what == "append":
            return call(*args, **kwargs)
        self.was_seen = False
        last = self.session.entries(last=1)[0].seq
        found = call(*args, **kwargs)
        assert self.session.entries(last=1)[0].seq - last <= AT_ONCE, what
        return found

    def text(self, size: int) -> str:
        self.number += 1
        text = FACT.format(n=self.number) + "And so on and so forth. " * size
        self.said.setdefault(self.name, []).append(text)
        return text

    def check(self, prepared: Prepared) -> None:
        check_request(prepared)
        assert MARK not in str(prepared.messages)

    # ── what people and programs do ─────────────────────────────────────────────────────────

    @rule(count=st.integers(1, 5), size=st.integers(1, 8))
    def grow(self, count: int, size: int) -> None:
        for _ in range(count):
            self.call("append", self.session.append, {"role": "user", "content": self.text(size)})
            answer = {"role": "assistant", "content": "I see. " * size}
            self.call("append", self.session.append, answer)

    @rule(count=st.integers(1, 5), size=st.integers(0, 8))
    def talk(self, count: int, size: int) -> None:
        for _ in range(count):
            text = self.text(size)
            prepared = self.call("prepare", self.session.prepare, text)
            self.check(prepared)
            assert text in str(prepared.messages[-1]["content"]), "the user is heard"
            self.call("commit", self.session.commit, "I see. " * size)

    @rule(lines=st.sampled_from((5, 60, 400)), results=st.integers(1, 3))
    def use_tools(self, lines: int, results: int) -> None:
        self.number += 1
        ids = [f"c{self.number}-{n}" for n in range(results)]
        calls = [
            {"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}}
            for id in ids
        ]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        self.call("commit", self.session.commit, message)
        given = [
            {"role": "tool", "tool_call_id": id, "content": f"line {id} of it\n" * lines}
            for id in ids
        ]
        self.check(self.call("prepare", self.session.prepare, *given))
        self.call("commit", self.session.commit, "That was long.")

    @rule()
    def look_again(self) -> None:
        first = self.call("prepare", self.session.prepare)
        self.check(first)
        second = self.call("prepare", self.session.prepare)
        assert second.messages == first.messages, "it settles"

    @rule(focus=st.sampled_from((None, "customers")))
    def compact(self, focus: str | None) -> None:
        self.check(self.call("compact", self.session.compact, focus))

    @rule()
    def flush(self) -> None:
        self.call("flush", self.session.flush)
        entries = self.session.entries()
        shown = {id for item in self.session.view().items for id in item.stands_for}
        said = {each.id for each in entries if each.type == "message"} & shown
        assert said <= covered_by(flush_records(entries), entries)

    @rule()
    def overflow(self) -> None:
        prepared = self.call("prepare", self.session.prepare)
        window = prepared.budget.window
        error = RuntimeError(f"prompt is too long: {window} tokens > {window - 1} maximum")
        if window > 2_500:
            smaller = self.call("recover", self.session.recover, error)
            assert smaller is not None
            self.check(smaller)

    @rule()
    def reset(self) -> None:
        self.call("reset", self.session.append_entry, "marker", {"kind": "reset"})
        self.call("append", self.session.append, {"role": "user", "content": self.text(1)})

    @rule()
    def upkeep(self) -> None:
        self.call("upkeep", self.engine.upkeep)

    @rule(mode=st.sampled_from(("read-write", "read-write", "read", "off")))
    def restrict(self, mode: Any) -> None:
        self.session = self.engine.session(
            self.name, flusher=self.model, system="Be kind.", memory=mode
        )
        assert self.session.memory_mode == mode

    @rule(way=st.sampled_from(WAYS))
    def next_flushes(self, way: str) -> None:
        self.model = OUTCOMES[way]()
        self.session = self.start()

    # ── what goes wrong ─────────────────────────────────────────────────────────────────────

    @rule()
    def restart(self) -> None:
        self.engine.close()
        self.engine = self.open()
        self.session = self.start()

    @rule(seconds=st.sampled_from((0.0, 30.0, 3_600.0)), mode=st.sampled_from(("agent", "rules")))
    def die_while_saving(self, seconds: float, mode: str) -> None:
        if any(item.kind == "message" for item in self.session.view().items):
            self.number += 1
            leave_a_lease(self.session, seconds=seconds, owner=f"dead{self.number}", mode=mode)

    @rule(seconds=st.sampled_from((1.0, 301.0, 4_000.0, 90_000.0, -4_000.0)))
    def jump(self, seconds: float) -> None:
        self.was_seen = False
        self.clock.advance(seconds=seconds)

    @rule(what=st.sampled_from(("prepare", "compact", "flush")))
    def another_process(self, what: str) -> None:
        with self.open() as other:
            found = self.call(what, getattr(self.start(other), what))
            if isinstance(found, Prepared):
                self.check(found)

    @precondition(lambda self: self.number % 4 == 0)
    @rule(what=st.sampled_from(("prepare", "compact", "flush")))
    def at_once(self, what: str) -> None:
        """Two at the same moment, each in an engine of its own."""
        failed: list[BaseException] = []

        def work(session: Session) -> None:
            try:
                getattr(session, what)()
            except BaseException as error:  # noqa: BLE001 - told in the thread of the test
                failed.append(error)

        with self.open() as other:
            sessions = (self.session, self.start(other))
            threads = [Thread(target=work, args=(each,)) for each in sessions]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        taken[what] += 2
        assert failed == []

    @rule()
    def go_on_in_a_new_one(self) -> None:
        before = self.session
        self.session = before.new()
        self.name = self.session.name
        entries = before.entries()
        said = {each.id for each in entries if each.type == "message"}
        assert said == covered_by(flush_records(entries), entries), "all is saved at the end"
        self.grow(count=1, size=2)

    # ── what must hold ──────────────────────────────────────────────────────────────────────

    @invariant()
    def counters_are_those_of_the_transcript(self) -> None:
        if self.was_seen:
            return  # nothing was called since
        self.was_seen = True
        state = self.session.state()
        entries = self.session.entries()
        compactions = [n for n, each in enumerate(entries) if each.type == "compaction"]
        flushes = [(n, r) for n, each in enumerate(entries) for r in flush_records([each])]
        covering = [n for n, record in flushes if record.outcome in {"flushed", "empty"}]
        assert state["compaction_count"] == len(compactions)
        if not covering:
            assert state["memory_flush_compaction_count"] is None, "never is not 0"
        else:
            before = sum(n < covering[-1] for n in compactions)
            assert state["memory_flush_compaction_count"] == before
        last = flushes[-1][1] if flushes else None
        is_begun = last is not None and last.outcome == "flushing"
        assert state["memory_flushing"] is is_begun
        assert not is_begun or (last is not None and last.owner.startswith("dead"))
        now = self.clock.now()
        is_over = all(r.deadline is None or r.deadline <= now for _, r in flushes)
        if is_over or not is_begun:
            assert self.session.phase == "ACTIVE", "nobody alive is at it"

    def teardown(self) -> None:
        try:
            for name in {*self.said, self.name}:
                self.judge(name)
        finally:
            self.engine.close()
            self.folder.cleanup()

    def judge(self, name: str) -> None:
        session = self.engine.session(name)
        entries = session.entries()
        assert audit(entries).uncovered == []
        heard = [each.data.get("text") for each in entries if each.data.get("role") == "user"]
        assert [each for each in heard if each] == self.said.get(name, []), "nothing is lost"
        assert max(model_flushes(session).values(), default=0) <= 1
        judge_attempts(flush_records(entries))
        judge_leases(entries)
        for record in flush_records(entries):
            seen[f"{record.outcome} by {record.mode}"] += 1
        seen["compactions"] += session.state()["compaction_count"]
        assert session.verify().is_intact


def judge_attempts(records: list[FlushRecord]) -> None:
    """No model was asked once too often in any cycle."""
    begun: Counter[str] = Counter()
    for record in records:
        if record.outcome == "flushing" and record.mode != "rules":
            if not record.owner.startswith("dead"):
                assert begun[record.cycle] < ATTEMPTS
            begun[record.cycle] += 1


def judge_leases(entries: list[Entry]) -> None:
    """Whatever a living process began, it ended."""
    held: set[tuple[str, str, int]] = set()
    for record in flush_records(entries):
        key = (record.owner, record.cycle, record.attempt)
        if record.outcome == "flushing":
            assert key not in held
            held.add(key)
        else:
            assert key in held
            held.discard(key)
    assert all(owner.startswith("dead") for owner, _, _ in held)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_conversation_keeps_its_promises_whatever_happens_in_whatever_order(shard: int) -> None:
    taken.clear()
    seen.clear()
    lives = 0
    while taken.total() < STEPS // SHARDS:
        lives += 1  # a class of its own: another name gives other examples
        run_state_machine_as_test(
            type(f"Conversation{shard}x{lives}", (Conversation,), {}),
            settings=settings(
                max_examples=max(4, STEPS // SHARDS // 100),
                stateful_step_count=40,
                phases=(Phase.explicit, Phase.generate),  # each step syncs: shrinking takes hours
                suppress_health_check=list(HealthCheck),
            ),
        )
    assert min(taken[each] for each in ("prepare", "commit", "compact", "flush")) > 0
    assert min(seen[each] for each in HAPPENS) > 0, seen
