"""Which entries still have to be saved, and who may save them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from holdfast.context.flush import (
    FlushPlan,
    FlushRecord,
    NoFlush,
    covered_by,
    entry_hash,
    flush_records,
    lease_of,
    plan_flush,
)
from holdfast.types import GENESIS, Entry, Json, Message

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def entry(number: int, text: str = "hello", *, kind: str = "message", data: Json = None) -> Entry:
    return Entry(
        id=f"e{number}",
        parent=None,
        seq=number,
        at=NOW,
        type=kind,
        data=data if data is not None else Message.of("user", f"{text} {number}").to_json(),
    )


def plan(entries: list[Entry], leaving: set[str], **given: Json) -> FlushPlan | NoFlush:
    about: dict[str, Json] = {"cycle": GENESIS, "now": NOW, "reason": "threshold", "seconds": 60}
    return plan_flush(entries, leaving, **about | given)


def ended(made: FlushPlan, number: int, outcome: str = "flushed", **told: Json) -> Entry:
    record = made.record(outcome, owner="me", mode="rules", **told)  # type: ignore[arg-type]
    return entry(number, kind="flush", data=record.entry_data())


def test_what_leaves_is_planned_in_the_order_of_the_transcript() -> None:
    made = plan([entry(1), entry(2), entry(3)], {"e3", "e1"})
    assert isinstance(made, FlushPlan)
    assert made.covers == ("e1", "e3")
    assert made.attempt == 1
    assert made.deadline == NOW + timedelta(seconds=60)


def test_nothing_leaving_is_a_reason() -> None:
    assert plan([entry(1)], set()) == NoFlush(reason="nothing leaves the view")


def test_what_a_record_covers_is_not_saved_again() -> None:
    entries = [entry(1), entry(2)]
    made = plan(entries, {"e1"})
    assert isinstance(made, FlushPlan)
    entries.append(ended(made, 3, saved=2))
    again = plan(entries, {"e1"})
    assert isinstance(again, NoFlush)
    assert "covered" in again.reason
    more = plan(entries, {"e1", "e2"})
    assert isinstance(more, FlushPlan)
    assert more.covers == ("e2",)
    assert more.attempt == 2


def test_an_empty_flush_covers_and_a_failed_one_does_not() -> None:
    entries = [entry(1)]
    made = plan(entries, {"e1"})
    assert isinstance(made, FlushPlan)
    assert isinstance(plan([*entries, ended(made, 2, "empty")], {"e1"}), NoFlush)
    assert isinstance(plan([*entries, ended(made, 2, "failed", reason="x")], {"e1"}), FlushPlan)


def test_a_record_whose_hash_is_not_that_of_the_entries_covers_nothing() -> None:
    entries = [entry(1)]
    made = plan(entries, {"e1"})
    assert isinstance(made, FlushPlan)
    record = ended(made, 2)
    other = [replace(entries[0], data=Message.of("user", "something else").to_json()), record]
    assert isinstance(plan(other, {"e1"}), FlushPlan)
    assert covered_by(flush_records([record]), other) == set()
    assert covered_by(flush_records([record]), entries) == {"e1"}


def test_a_lease_keeps_others_away_until_its_deadline() -> None:
    entries = [entry(1)]
    made = plan(entries, {"e1"})
    assert isinstance(made, FlushPlan)
    entries.append(ended(made, 2, "flushing"))
    busy = plan(entries, {"e1"})
    assert isinstance(busy, NoFlush)
    assert busy.until == made.deadline
    later = plan(entries, {"e1"}, now=made.deadline)
    assert isinstance(later, FlushPlan)
    assert later.attempt == 2
    impatient = plan(entries, {"e1"}, wait_for_others=False)
    assert isinstance(impatient, FlushPlan)


def test_of_two_leases_the_first_holds_and_an_ended_one_does_not() -> None:
    def record(owner: str, outcome: str, attempt: int = 1) -> FlushRecord:
        return FlushRecord(
            outcome=outcome,  # type: ignore[arg-type]
            cycle=GENESIS,
            owner=owner,
            attempt=attempt,
            mode="rules",
            covers=("e1", "e2"),
            hashes=("", ""),
            deadline=NOW + timedelta(seconds=30) if outcome == "flushing" else None,
        )

    both = [record("a", "flushing"), record("b", "flushing")]
    found = lease_of(both, ["e2"], NOW)
    assert found is not None
    assert found.owner == "a"
    over = lease_of([*both, record("a", "failed")], ["e2"], NOW)
    assert over is not None
    assert over.owner == "b"
    assert lease_of(both, ["other entries"], NOW) is None


def test_a_record_comes_back_from_its_entry() -> None:
    made = plan([entry(1)], {"e1"})
    assert isinstance(made, FlushPlan)
    for told in (
        made.record("flushing", owner="me", mode="rules"),
        made.record(
            "flushed", owner="me", mode="rules", saved=3, skipped=1, file="m", lines=("a", "b")
        ),
        made.record("failed", owner="me", mode="agent", reason="timeout"),
    ):
        assert flush_records([entry(9, kind="flush", data=told.entry_data())]) == [told]


def test_a_strange_flush_entry_proves_nothing() -> None:
    strange = [entry(1, kind="flush", data=data) for data in ({}, {"outcome": "flushed"})]
    assert flush_records(strange) == []


def test_the_hash_depends_on_the_entry_and_its_id() -> None:
    one, two = entry(1), entry(2)
    assert len({entry_hash(one), entry_hash(two), entry_hash(replace(one, id="e2"))}) == 3
    assert entry_hash(entry(3, "\ud800"))  # a lone surrogate is no reason to fail


def test_after_so_many_failures_nobody_tries_again_who_need_not() -> None:
    entries = [entry(1)]
    for number in range(2, 5):
        made = plan(entries, {"e1"})
        assert isinstance(made, FlushPlan)
        entries.append(ended(made, number, "failed", reason="x"))
    tired = plan(entries, {"e1"}, attempts=3)
    assert isinstance(tired, NoFlush)
    assert "failed" in tired.reason
    assert isinstance(plan(entries, {"e1"}), FlushPlan), "whoever must, does"
