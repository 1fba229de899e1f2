"""Contradictions among many statements: few comparisons, stable ids, linear time."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.memory.facts import lexicon
from holdfast.memory.facts.conflicts import compare, conflict_id, find
from holdfast.memory.facts.scanning import plain, scan
from holdfast.memory.facts.statements import Statement, statement
from tests.scale import scaled


def conflict(older: str, newer: str, entity: str | None = "Peter") -> str | None:
    verdict = compare(statement(older, entity=entity), statement(newer, entity=entity))
    if verdict is None:
        return None
    return f"{verdict.kind}?" if verdict.doubtful else verdict.kind


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Likes tea.", "Likes coffee."),
        ("Has a dog.", "Has a cat."),
        ("The staging port is 8080.", "The production port is 9090."),
        ("In 2021 the rent was 900.", "In 2024 the rent was 1100."),
        ("喜欢茶。", "喜欢咖啡。"),
        ("养狗。", "养猫。"),
        ("测试端口是8080。", "生产端口是9090。"),
        ("有时喝茶。", "有时不喝茶，喝水。"),
    ],
)
def test_what_can_both_be_true_is_not_flagged(older: str, newer: str) -> None:
    found = conflict(older, newer)
    assert found is None or found.endswith("?")


def test_a_name_of_the_subject_in_the_text_makes_no_difference() -> None:
    assert conflict("Peter lives in Berlin.", "Lives in Munich.") == "value"
    names = ("Peter", "Pete")
    one = statement("Pete lives in Berlin.", entity="peter", names=names)
    other = statement("Peter's home is in Munich.", entity="peter", names=names)
    verdict = compare(one, other)
    assert verdict is not None
    assert verdict.kind == "value"


def test_without_an_entity_two_people_are_not_mixed_up() -> None:
    assert conflict("Peter lives in Berlin.", "Anna lives in Munich.", None) is None
    assert conflict("Peter lives in Berlin.", "Peter lives in Munich.", None) == "value"
    assert conflict("张三住在北京。", "李四住在上海。", None) is None


def test_the_same_moment_in_two_spellings_is_no_contradiction() -> None:
    assert conflict("Meeting is at 3 pm.", "Meeting is at 15:00.") is None
    assert conflict("Due 2026-05-03.", "Due 3 May 2026.") is None
    assert conflict("会议下午三点半开始。", "会议15:30开始。") is None
    assert conflict("会议在星期天。", "会议在周日。") is None


def test_a_country_and_a_town_are_only_doubtful() -> None:
    assert conflict("Lives in Germany.", "Lives in Berlin.") == "value?"


def test_preferring_one_over_the_other_and_the_reverse_contradict() -> None:
    assert conflict("Prefers tea over coffee.", "Prefers coffee over tea.") == "value"


def test_every_entry_of_the_lexicon_is_in_comparable_form() -> None:
    words = [*lexicon.SIGNED, *lexicon.GROUPS, *lexicon.LIGHT, *lexicon.ATTRIBUTES]
    assert all(word == word.casefold() and word.strip() for word in words)


@pytest.mark.parametrize(
    "forms",
    ["like likes liked liking", "live lives living", "enable enabled enables", "child children",
     "study studies", "plan plans planned planning", "run running ran", "box boxes", "use using"],
)  # fmt: skip
def test_forms_of_one_word_are_equal(forms: str) -> None:
    assert len({lexicon.stem(word) for word in forms.split()}) == 1


# ── many ────────────────────────────────────────────────────────────────────────────────────


def crowd(count: int) -> list[Statement]:
    """Facts as a busy workspace has them, with a known number of contradictions."""
    chance = random.Random(7)
    verbs = ["Likes", "Owns", "Read", "Recommends", "Maintains", "Has seen", "Uses"]
    things = [f"thing{number}" for number in range(count // 3)]
    return [
        statement(
            f"{chance.choice(verbs)} {chance.choice(things)} {chance.choice(things)}.",
            entity=f"person{chance.randrange(20)}",
        )
        for _ in range(count)
    ]


def test_comparisons_grow_with_the_facts_and_not_with_their_pairs() -> None:
    count = scaled(800)
    found = find(crowd(count))
    assert 0 < found.comparisons <= 20 * count


def test_comparisons_stay_few_when_all_say_the_same_of_one_subject() -> None:
    count = scaled(300)
    same = [statement(f"The reading is {number}.", entity="sensor") for number in range(count)]
    found = find(same)
    assert found.comparisons <= 30 * count
    assert len(found.pairs) <= 30, "a series of readings is no heap of contradictions"


def test_a_contradiction_in_a_crowd_is_found() -> None:
    facts = [
        *crowd(300),
        statement("Lives in Berlin.", entity="person3"),
        *crowd(300),
        statement("Lives in Munich.", entity="person3"),
    ]
    sure = [(one, other) for one, other, verdict in find(facts).pairs if not verdict.doubtful]
    assert (300, 601) in sure


def test_only_what_was_asked_for_is_compared() -> None:
    facts = [statement(f"Lives in City{number}.", entity="a") for number in range(20)]
    found = find(facts, among={19})
    assert found.comparisons == 19
    assert all(other == 19 for _, other, _ in found.pairs)


def test_the_id_of_a_conflict_is_the_same_whoever_comes_first() -> None:
    assert conflict_id("a", "b") == conflict_id("b", "a")
    assert conflict_id("a", "b") != conflict_id("a", "c")


# ── hostile input ───────────────────────────────────────────────────────────────────────────


@settings(max_examples=scaled(100))
@given(st.text(max_size=400))
def test_any_text_can_be_taken_apart(text: str) -> None:
    stated = statement(text, entity="x")
    assert compare(stated, stated) is None


def _steps(work: Callable[[], object]) -> int:
    count = 0

    def trace(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(trace)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", ["1,", "/a", "周", "is ", "a@"])
def test_a_megabyte_costs_no_more_than_its_beginning(piece: str) -> None:
    long = piece * (1_000_000 // len(piece))
    assert len(scan(plain(long))) <= 2_100
    assert _steps(lambda: statement(long)) <= 2 * _steps(lambda: statement(long[:2_100])) + 1000


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Please book Tomás a flight to Oslo on 2026-04-23, under 757 euros",
            "Please book Tomás a flight to Oslo on 2026-07-13, under 900 euros",
        ),
        ("帮我订4月3日去成都的机票", "帮我订5月6日去成都的机票"),
    ],
)
def test_two_requests_do_not_deny_each_other(old: str, new: str) -> None:
    assert compare(statement(old, entity="user"), statement(new, entity="user")) is None


@pytest.mark.parametrize("filler", ["其实", "实际上", "真的", "并", "根本", ""])
def test_words_that_only_stress_make_no_difference(filler: str) -> None:
    assert (
        conflict("小李现在住在上海，不吃香菜。", f"小李{filler}不住在上海。", "小李") == "polarity"
    )
    assert conflict("Lives in Oslo.", "Does not actually live in Oslo.") == "polarity"
