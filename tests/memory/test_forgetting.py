"""Which memories may leave, which never do, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engine.facade import Engine, open_engine
from holdfast.errors import UsageError
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
from tests.doors.inside import inside as holdfast
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


# ── what was asked for ──────────────────────────────────────────────────────────────────────

DAY = "memory/2025-01-02.md"
GATE = '- W: The gate code is 1234. <!-- hf {"id":"n111"} -->\n'
WIFI = '- W: The wifi password is tiger. <!-- hf {"id":"n111"} -->\n'


def page(engine: Engine, text: str) -> Path:
    file = engine._rooms.base.path / DAY
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.write_text(text)
    return file


@pytest.mark.parametrize("target", ["gate code", "n111"])
def test_no_line_moves_that_was_not_listed(home: Path, target: str) -> None:
    with open_engine(home) as engine:
        file = page(engine, GATE + WIFI + GATE)
        planned = engine.forget(target, dry_run=True)
        done = engine.forget(target)
        assert planned.items == done.items
        assert [item.where for item in done.items] == [f"{DAY}#L1", f"{DAY}#L3"]
        assert file.read_text() == WIFI
        engine.undo(done.operation)
        assert file.read_text() == GATE + WIFI + GATE


def test_an_edited_copy_can_be_forgotten_by_the_id_that_is_shown(home: Path) -> None:
    with open_engine(home) as engine:
        file = page(engine, GATE + WIFI)
        copy = engine.facts.list()[1].id
        assert [item.where for item in engine.forget(copy).items] == [f"{DAY}#L2"]
        assert file.read_text() == GATE
        engine.archive.restore([copy])
        assert file.read_text() == GATE + WIFI


@pytest.mark.parametrize(("number", "left"), [(0, WIFI), (1, GATE)])
def test_erasing_one_of_two_lines_with_one_id_leaves_the_other(
    home: Path, number: int, left: str
) -> None:
    with open_engine(home) as engine:
        file = page(engine, GATE + WIFI)
        assert engine.forget(engine.facts.list()[number].id, erase=True).is_clean
        assert file.read_text() == left


def test_one_of_two_lines_with_one_id_is_not_erased_everywhere_by_few_words(home: Path) -> None:
    with open_engine(home) as engine:
        text = GATE + WIFI.replace("The wifi password is tiger.", "Tea.")
        file = page(engine, text)
        with pytest.raises(UsageError, match="few"):
            engine.forget(engine.facts.list()[1].id, erase=True)
        assert file.read_text() == text


def test_what_is_for_others_is_neither_listed_nor_moved(home: Path) -> None:
    theirs = '- W: Her salary is 9000 a month. <!-- hf {"id":"n111","user":"alice"} -->\n'
    with open_engine(home, user="bob", chat="team", chat_type="group") as engine:
        file = page(engine, f"# x\n\n{theirs}- W: For all.\n")
        for target in ("salary", "her salary 9000", "n111"):
            found = engine.forget(target)
            assert (found.items, found.near) == ((), ())
        assert theirs in file.read_text()
        planned = engine.forget("salary", erase=True, dry_run=True)
        assert [(item.where[-3:], item.text) for item in planned.items] == [("#L3", "")]
        done = engine.forget("salary", erase=True)
        assert done.items[0].text == ""
        assert done.is_clean
        assert "salary" not in file.read_text()


def test_alice_forgets_what_is_for_alice(home: Path) -> None:
    with open_engine(home, user="alice") as engine:
        file = page(engine, '- W: Her salary is 9000. <!-- hf {"id":"n111","user":"alice"} -->\n')
        (item,) = engine.forget("salary").items
        assert item.text == "Her salary is 9000."
        assert file.read_text() == ""


# ── what people are told ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("- W: Tea.\n- W: Never deploy.\n", ["1 memory ", " 1 rule."]),
        (
            "- W: Tea.\n- W: Jam.\n- W: Never deploy.\n- W: Never ship.\n",
            ["2 memories ", " 2 rules."],
        ),
    ],
)
def test_one_is_told_as_one_and_two_as_two(home: Path, lines: str, told: list[str]) -> None:
    with open_engine(home) as engine:
        page(engine, f"# x\n\n{lines}")
    for last in ("--dry-run", "--yes"):
        run = holdfast(home, "forget", "--stale", "--after-days", "30", last)
        assert run.code == 0
        for words in told:
            assert words in run.out + run.err
