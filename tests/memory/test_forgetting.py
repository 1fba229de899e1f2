"""Which memories may leave, which never do, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.memory.forgetting import (
    Policy,
    Record,
    Remembered,
    keep_score,
    line_importance,
    plan_forgetting,
    protection,
    remembered_in,
    task_importance,
)
from holdfast.memory.tasks import Lesson, Task
from holdfast.retain import RetainLine, render
from tests.scale import scaled

NOW = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)


def item(line: RetainLine, path: str = "memory/topics/x.md", number: int = 1) -> Remembered:
    return Remembered(path=path, number=number, text=render(line) + "\n", line=line)


def fact(text: str = "The office has 12 rooms.", days: int = 100, **more: object) -> RetainLine:
    seen = (NOW - timedelta(days=days)).date()
    return RetainLine(kind="W", text=text, **({"observed": seen} | more))  # type: ignore[arg-type]


def record(status: str = "done", days: int = 100, **more: object) -> Record:
    closed = NOW - timedelta(days=days)
    task = Task(id="t", title="x", status=status, closed=closed, path="tasks/x.md", **more)  # type: ignore[arg-type]
    return Record(task=task, text="# x\n")


def leaves(thing: Remembered | Record, policy: Policy) -> bool:
    lines = [thing] if isinstance(thing, Remembered) else []
    records = [thing] if isinstance(thing, Record) else []
    return bool(plan_forgetting(lines, records, policy, NOW).items)


@pytest.mark.parametrize("thing", [item(fact()), record()])
def test_age_alone_decides_when_only_age_is_set(thing: Remembered | Record) -> None:
    assert leaves(thing, Policy(after_days=99))
    assert not leaves(thing, Policy(after_days=100))


def test_the_last_time_it_was_seen_counts() -> None:
    seen_again = item(fact(days=400, since=date(2020, 1, 1)), "memory/2020-01-01.md")
    assert leaves(seen_again, Policy(after_days=399))
    assert not leaves(seen_again, Policy(after_days=400))
    by_hand = item(RetainLine(kind="W", text="x"), "memory/2026-03-01.md")
    assert leaves(by_hand, Policy(after_days=12))
    assert not leaves(by_hand, Policy(after_days=13))
    undated = item(RetainLine(kind="W", text="x"))
    assert not leaves(undated, Policy(after_days=1))


def test_age_and_importance_together_must_both_hold() -> None:
    small = item(fact("hm ok", days=100))
    large = item(fact("We decided to use PostgreSQL for billing.", days=100))
    both = Policy(after_days=50, below_importance=0.5)
    assert leaves(small, both)
    assert not leaves(large, both)
    assert not leaves(item(fact("hm ok", days=10)), both)
    assert leaves(item(fact("hm ok", days=10)), Policy(below_importance=0.5))


@pytest.mark.parametrize(
    ("thing", "why"),
    [
        (item(fact(), "MEMORY.md"), "curated file"),
        (item(fact(), "USER.md"), "curated file"),
        (item(fact(), "SOUL.md"), "curated file"),
        (item(fact(), "IDENTITY.md"), "curated file"),
        (item(fact("Never push to main.")), "rule"),
        (item(fact("绝不要在周五发布")), "rule"),
        (item(fact("部署前必须跑测试")), "rule"),
        (item(fact("No, that's wrong: the port is 5433, not 5432.")), "correction"),
        (item(fact("不是周一，是周二开会")), "correction"),
        (item(fact(supersedes=("old",))), "correction"),
        (item(fact(verified=date(2020, 1, 1))), "confirmed"),
        (record("open"), "open task"),
    ],
)
def test_some_memories_stay_whatever_the_policy(thing: Remembered | Record, why: str) -> None:
    everything = Policy(after_days=1, below_importance=1.0, max_bytes=1)
    assert protection(thing, everything) == why
    plan = plan_forgetting(
        [thing] if isinstance(thing, Remembered) else [],
        [thing] if isinstance(thing, Record) else [],
        everything,
        NOW,
    )
    assert plan.items == ()
    assert plan.kept_protected == {why: 1}
    assert plan.over == plan.total_bytes - 1


def test_kinds_that_are_named_stay() -> None:
    assert not leaves(item(fact()), Policy(after_days=1, protect=frozenset({"W"})))
    assert leaves(item(fact()), Policy(after_days=1, protect=frozenset({"O", "task"})))
    assert not leaves(record(), Policy(after_days=1, protect=frozenset({"task"})))
    assert not leaves(record(type="bug_fix"), Policy(after_days=1, protect=frozenset({"bug_fix"})))


def test_what_a_line_is_worth() -> None:
    def worth(text: str, **more: object) -> float:
        return line_importance(fact(text, **more), NOW)  # type: ignore[arg-type]

    plain = "The office has 12 rooms."
    decided = "We decided to move billing to port 5433."
    assert worth("Never push to main.") == worth("不是周一，是周二开会") == 1.0
    assert worth("ok") < worth(plain) < worth(decided) <= 1.0
    assert worth(plain, trust="tool") < worth(plain, trust="agent") < worth(plain)
    assert worth(plain, until=date(2026, 1, 1)) == pytest.approx(worth(plain) / 2)
    assert worth(plain, until=date(2027, 1, 1)) == worth(plain)
    opinion = RetainLine(kind="O", text="Prefers short replies.", confidence=0.9)
    assert line_importance(replace(opinion, confidence=0.2), NOW) < line_importance(opinion, NOW)
    learnt = Task(id="t", title="x", status="failed", patterns=(Lesson(text="y"),))
    assert task_importance(learnt) > task_importance(Task(id="t", title="x", status="cancelled"))


def test_a_limit_of_size_takes_the_oldest_and_least_important_first() -> None:
    lines = [
        item(fact("hm ok", days=5), number=1),
        item(fact("The office has 12 rooms.", days=500), number=2),
        item(fact("The office has 13 rooms.", days=5), number=3),
        item(fact("We decided to use PostgreSQL.", days=5), number=4),
    ]
    total = sum(each.size for each in lines)
    plan = plan_forgetting(lines, [], Policy(max_bytes=total - 1), NOW)
    assert [each.item for each in plan.items] == [lines[0]]
    plan = plan_forgetting(lines, [], Policy(max_bytes=total - lines[0].size - 1), NOW)
    assert [each.item for each in plan.items] == lines[:2]
    assert (
        plan.items[0].reason == f"the files hold {total} bytes, {total - lines[0].size - 1} allowed"
    )
    assert keep_score(0.5, 0) == 2 * keep_score(0.5, 180)


def test_the_diff_shows_what_leaves_and_why() -> None:
    plan = plan_forgetting([item(fact())], [record()], Policy(after_days=30), NOW)
    assert plan.diff() == (
        "--- memory/topics/x.md\n+++ archive/memory/topics/x.md\n"
        "@@ line 1: 100 days old, 30 allowed @@\n"
        '-- W: The office has 12 rooms. <!-- hf {"observed":"2025-12-04"} -->\n'
        "--- tasks/x.md\n+++ archive/tasks/x.md\n"
        "@@ the whole record: 100 days old, 30 allowed @@\n-# x\n"
    )


def test_prose_is_not_a_memory_line() -> None:
    text = (
        "# Day\n\nW: prose\n\n- a list\n\n> - W: quoted\n\n```\n- W: code\n```\n\n- W: this one\n"
    )
    assert [each.number for each in remembered_in("memory/2025-01-01.md", text)] == [13]


LINES = st.builds(
    fact,
    st.sampled_from(
        ["hm ok", "The office has 12 rooms.", "Never push to main.", "我们决定用方案二"]
    ),
    st.integers(-5, 900),
    trust=st.sampled_from(["user", "agent", "tool", "import"]),
    verified=st.sampled_from([None, None, date(2026, 1, 1)]),
)
POLICIES = st.builds(
    Policy,
    after_days=st.none() | st.integers(1, 400),
    below_importance=st.none() | st.floats(0, 1),
    max_bytes=st.none() | st.integers(1, 900),
    protect=st.sampled_from([frozenset[str](), frozenset({"O", "task"})]),
)


@given(st.lists(LINES, max_size=8), st.integers(0, 3), POLICIES)
@settings(max_examples=scaled(100))
def test_every_plan_keeps_its_word(found: list[RetainLine], closed: int, policy: Policy) -> None:
    lines = [item(line, number=number) for number, line in enumerate(found, start=1)]
    records = [record(days=100 * number) for number in range(closed)]
    plan = plan_forgetting(lines, records, policy, NOW)
    assert plan == plan_forgetting(lines, records, policy, NOW)
    left = plan.total_bytes - plan.bytes
    assert all(protection(each.item, policy) is None and each.reason for each in plan.items)
    both: list[Remembered | Record] = [*lines, *records]
    may_leave = [each for each in both if protection(each, policy) is None]
    assert sum(plan.kept_protected.values()) == len(lines) + len(records) - len(may_leave)
    if policy.max_bytes is not None:
        assert left <= policy.max_bytes or len(plan.items) == len(may_leave)
        assert plan.over == max(0, left - policy.max_bytes)
    if policy.is_empty:
        assert plan.items == ()
