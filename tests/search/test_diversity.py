"""The same thing is not shown twice, in any script, and exact matches keep their place."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.scope import Place
from holdfast.search.documents import SourceKind
from holdfast.search.query.candidates import Candidate
from holdfast.search.query.diversity import diversified, folded, likeness, with_exact
from holdfast.text.tokens import term_hash

TEA = "Alice asked for green tea with two spoons of honey at the office in Hamburg"
TEA_AGAIN = "Alice asked for green tea with two spoons of honey at the office in Hamburg!"
TEE = "张伟喜欢在杭州的西湖边喝龙井茶，每个周末都去"
TEE_AGAIN = "张伟喜欢在杭州的西湖边喝龙井茶，每个周末都去。"


def bigrams(text: str) -> frozenset[int]:
    letters = [char for char in text.casefold() if char.isalnum()]
    return frozenset(term_hash("".join(pair)) for pair in pairwise(letters))


def a_candidate(
    number: int, text: str, score: float, *, source: SourceKind = "topic", key: str = ""
) -> Candidate:
    return Candidate(
        id=str(number),
        position=number,
        key=key or f"memory/topics/{number}.md",
        source=source,
        place=Place(tenant="local", agent="main"),
        kind="text",
        text=text,
        score=score,
        entry=f"e{number}",
        terms=bigrams(text),
    )


def test_repeats_become_one_that_names_the_others() -> None:
    for text, again in ((TEA, TEA_AGAIN), (TEE, TEE_AGAIN)):
        kept = folded([a_candidate(0, text, 1.0), a_candidate(1, again, 0.9)], wanted=6)
        assert [one.id for one in kept] == ["0"]
        assert kept[0].also == ("memory/topics/1.md#e1",)


def test_texts_that_differ_in_a_number_or_a_name_stay_two() -> None:
    for text, other in (
        (TEA, TEA.replace("two", "three")),
        (TEE + "，门牌42号", TEE + "，门牌43号"),
        (TEA, TEA.replace("Hamburg", "Bremen")),
    ):
        assert len(folded([a_candidate(0, text, 1), a_candidate(1, other, 0.9)], wanted=6)) == 2


def test_the_same_words_by_two_people_or_on_two_days_are_two_things() -> None:
    one = a_candidate(0, TEA, 1.0, source="session")
    other = replace(a_candidate(1, TEA, 0.9, source="session"), speaker="Bob")
    assert len(folded([one, other], wanted=6)) == 2
    monday = replace(one, source="daily", at=datetime(2026, 3, 2, tzinfo=UTC))
    tuesday = replace(monday, id="2", at=datetime(2026, 3, 3, tzinfo=UTC))
    assert len(folded([monday, tuesday], wanted=6)) == 2


def test_the_same_words_in_a_conversation_and_in_memory_are_one() -> None:
    said = replace(a_candidate(0, TEA, 1.0, source="session"), speaker="user")
    assert len(folded([said, a_candidate(1, TEA, 0.9)], wanted=6)) == 1


def test_what_was_said_is_a_repeat_only_in_the_same_words() -> None:
    text, longer = TEA, TEA.replace("asked", "kindly asked")
    near = [a_candidate(0, text, 1.0), a_candidate(1, longer, 0.9)]
    assert len(folded(near, wanted=6)) == 1
    assert len(folded([replace(one, source="session") for one in near], wanted=6)) == 2
    said, noted = a_candidate(0, text, 1.0, source="session"), a_candidate(1, longer, 0.9)
    assert len(folded([said, noted], wanted=6)) == 2
    again = [a_candidate(n, text, 1.0, source="session") for n in range(2)]
    assert len(folded(again, wanted=6)) == 1


def test_notes_to_oneself_keep_their_order_unless_a_weight_is_set() -> None:
    fresh = a_candidate(2, "The tram to the harbour leaves every ten minutes", 0.999)
    last = a_candidate(3, "nothing of interest", 0.0)
    order = [a_candidate(0, TEE, 1.001), a_candidate(1, TEE + "，很开心", 1.0), fresh, last]
    alone = [replace(one, alone=True) for one in order]
    assert [one.id for one in diversified(order, wanted=4)][:3] == ["0", "2", "1"]
    assert diversified(alone, wanted=4) == alone
    assert [one.id for one in diversified(alone, wanted=4, weight=0.7)][:3] == ["0", "2", "1"]


def test_an_exact_match_is_not_folded_into_other_words() -> None:
    other = replace(a_candidate(1, TEA_AGAIN, 0.9), exact=True)
    assert len(folded([a_candidate(0, TEA + " now", 1.0), other], wanted=6)) == 2


def test_a_near_repeat_stands_behind_something_else_about_as_good() -> None:
    for near in (TEA + " on Monday", TEE + "，很开心"):
        first = a_candidate(0, TEA if near.isascii() else TEE, 1.0)
        repeat = a_candidate(1, near, 0.95)
        fresh = a_candidate(2, "The tram to the harbour leaves every ten minutes", 0.9)
        last = a_candidate(3, "nothing of interest", 0.0)
        order = diversified([first, repeat, fresh, last], wanted=4, weight=0.7)
        assert [one.id for one in order][:3] == ["0", "2", "1"]


def test_vectors_show_likeness_that_words_do_not() -> None:
    vector = np.array([1.0, 0.0], dtype=np.float32)
    one = replace(a_candidate(0, "tea", 1.0), vectors=(vector,))
    other = replace(a_candidate(1, "chai", 1.0), vectors=(vector,))
    missing = np.array([np.nan, np.nan], dtype=np.float32)
    unknown = replace(a_candidate(2, "oolong", 1.0), vectors=(missing,))
    assert likeness([one, other, unknown]).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


def test_a_weight_of_one_keeps_the_order() -> None:
    given = [a_candidate(n, TEA, 1.0 - n / 10) for n in range(5)]
    assert diversified(given, wanted=5, weight=1.0) == given


TEXTS = [TEA, TEA_AGAIN, TEE, TEE_AGAIN, "tram", "harbour at night", "龙井", "西湖"]


@given(
    st.lists(st.tuples(st.sampled_from(TEXTS), st.floats(-1, 2), st.booleans()), max_size=24),
    st.integers(1, 8),
    st.one_of(st.none(), st.floats(0, 1)),
)
def test_nothing_is_lost_and_exact_matches_never_fall(
    made: list[tuple[str, float, bool]], wanted: int, weight: float | None
) -> None:
    given = sorted(
        (replace(a_candidate(n, t, s), exact=e) for n, (t, s, e) in enumerate(made)),
        key=lambda one: -one.score,
    )
    order = diversified(given, wanted=wanted, weight=weight)
    assert sorted(one.id for one in order) == sorted(one.id for one in given)
    for place, one in enumerate(given):
        if one.exact:
            assert [other.id for other in order].index(one.id) <= place
    kept = folded(given, wanted=wanted)
    cited = {str(one.citation) for one in kept} | {c for one in kept for c in one.also}
    assert cited == {str(one.citation) for one in given}


def test_an_exact_match_that_a_crowd_keeps_out_takes_the_last_place() -> None:
    crowd = [a_candidate(n, f"{TEA} {n}", 1.0 - n / 100) for n in range(9)]
    match = replace(a_candidate(9, TEE, 0.1), exact=True)
    order = with_exact([*crowd, match], wanted=3)
    assert [one.id for one in order[:4]] == ["0", "1", "9", "2"]
    assert [one.score for one in order] == sorted((one.score for one in order), reverse=True)
    assert with_exact(crowd, wanted=3) == crowd
    assert with_exact([match, *crowd], wanted=3) == [match, *crowd]
