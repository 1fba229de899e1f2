"""Statistics and patterns are counted from the records, whatever the wording."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.memory.tasks import Lesson, Mishap, Task, likes
from holdfast.memory.tasks.figures import find_patterns, measure
from holdfast.memory.tasks.likes import cluster
from holdfast.text import likeness
from tests.scale import scaled

START = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)


def task(number: int, status: str = "done", minutes: int | None = 10, **more: object) -> Task:
    closed = START + timedelta(minutes=minutes) if minutes is not None else None
    return Task(
        id=f"t{number}",
        title="x",
        status=status,  # type: ignore[arg-type]
        opened=START,
        closed=closed if status != "open" else None,
        **({"type": "bug_fix"} | more),  # type: ignore[arg-type]
    )


def test_success_and_durations_by_type() -> None:
    tasks = [task(number, minutes=number) for number in range(1, 9)]
    tasks += [task(9, "failed", 90), task(10, "failed", 100), task(11, "cancelled", 999)]
    tasks += [task(12, "open"), task(13, "done", 5, type="booking"), task(14, "open", type="ops")]
    stats = measure(tasks)
    assert [each.type for each in stats.types] == ["bug_fix", "booking", "ops"]
    fixes = stats.types[0]
    assert (fixes.count, fixes.open, fixes.done, fixes.failed, fixes.cancelled) == (12, 1, 8, 2, 1)
    assert fixes.success_rate == 0.8
    assert fixes.median_seconds == 5.5 * 60
    assert fixes.p90_seconds == 90 * 60
    assert stats.types[2].success_rate is None
    assert stats.types[2].median_seconds is None
    assert (stats.totals.type, stats.totals.count, stats.totals.done) == ("all", 14, 9)
    assert measure([]).totals.count == 0


def test_errors_that_say_the_same_are_one() -> None:
    told = [
        ("bash: connection to 10.0.0.1:5432 refused", "start the database"),
        ("bash: Connection to 10.0.0.7:5433 refused.", None),
        ("bash: the connection to db:5432 was refused", "start the database first"),
        ("timeout after 30 s", None),
        ("超时：30 秒后没有响应", None),
        ("超时：45 秒后没有响应", "加大超时"),
    ]
    tasks = [
        task(number, errors=(Mishap(what=what, fix=fix),))
        for number, (what, fix) in enumerate(told)
    ]
    first, second, third = measure(tasks).totals.errors
    assert (first.count, first.tasks) == (3, ("t0", "t1", "t2"))
    assert first.fixes == ("start the database", "start the database first")
    assert (second.text, second.count, second.fixes) == (told[4][0], 2, ("加大超时",))
    assert third.count == 1


def test_patterns_say_what_worked_and_what_failed_how_often_and_where() -> None:
    tasks = [
        task(1, patterns=(Lesson(text="run the failing test first"),)),
        task(2, patterns=(Lesson(text="Run the failing tests first."),)),
        task(3, patterns=(Lesson(text="do not run the failing test first", outcome="failed"),)),
        task(4, patterns=(Lesson(text="先跑失败的测试"),), type="feature"),
        task(5, patterns=(Lesson(text="不要先跑失败的测试"),), type="feature"),
        task(6, errors=(Mishap(what="no module named bcrypt", fix="pip install bcrypt"),)),
        task(7, errors=(Mishap(what="no module named 'bcrypt'", fix="install bcrypt"),)),
        task(8, errors=(Mishap(what="disk full"),)),
    ]
    found = {(each.type, each.outcome, each.text): each for each in find_patterns(tasks)}
    ran = found["bug_fix", "worked", "run the failing test first"]
    assert (ran.count, ran.tasks) == (2, ("t1", "t2"))
    assert found["bug_fix", "failed", "do not run the failing test first"].count == 1
    fixed = found["bug_fix", "worked", "pip install bcrypt"]
    assert (fixed.count, fixed.against) == (2, "no module named bcrypt")
    assert found["bug_fix", "failed", "disk full"].against is None
    assert found["feature", "worked", "先跑失败的测试"].count == 1  # its denial is another one


WORDS = st.lists(
    st.sampled_from(["login", "crash", "timeout", "登录", "超时", "not", "不", "5432", "/a/b"]),
    max_size=6,
).map(" ".join)


@given(st.lists(WORDS, max_size=30))
@settings(max_examples=scaled(60))
def test_every_text_is_in_exactly_one_group(texts: list[str]) -> None:
    groups = cluster(texts)
    assert sorted(place for group in groups for place in group) == list(range(len(texts)))
    assert [len(group) for group in groups] == sorted(map(len, groups), reverse=True)
    by_text: dict[str, int] = {}
    for number, group in enumerate(groups):
        for place in group:
            assert by_text.setdefault(texts[place], number) == number


def test_many_texts_are_not_all_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    real = likeness.similarity

    def counted(one: str, other: str) -> float:
        nonlocal asked
        asked += 1
        return real(one, other)

    monkeypatch.setattr(likes, "similarity", counted)
    names = ["".join(letters) for letters in product("klmnprstvz", "aeiou", "klmnprstvz")]
    texts = [f"{names[n]} {names[-n]} {names[n // 2]} error" for n in range(400)] * 2
    assert len(cluster(texts)) > 200
    assert asked < 800 * 20
