"""What is shown of a passage: never longer than asked, never half a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.search.query.packing import Budget, fitted, snippet
from holdfast.text import clusters

FAMILY = "👨‍👩‍👧‍👦"
LONG = (
    "The first paragraph is about the weather in the north. " * 12
    + "The deployment of the billing service failed because the certificate had expired. "
    + "The last paragraph is about lunch. " * 12
)


def words(text: str) -> int:
    return len(text.split())


def a_budget(chars: int | None = None, tokens: int | None = None) -> Budget:
    return Budget(chars=chars, tokens=tokens, count_tokens=words)


def test_a_short_text_is_shown_as_it_is() -> None:
    assert snippet("  Tea at four.\n", {"tea": 1.0}, 100) == "Tea at four."


def test_a_long_text_is_cut_around_the_words_that_match() -> None:
    shown = snippet(LONG, {"certif": 1.0, "expir": 1.0, "bill": 1.0}, 160)
    assert "billing service failed because the certificate had expired" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 160


def test_a_long_chinese_text_is_cut_around_the_words_that_match() -> None:
    text = (
        "今天天气很好，我们去公园散步。" * 40
        + "王芳的生日是五月三日，她喜欢草莓蛋糕。"
        + "晚饭吃了面条。" * 60
    )
    shown = snippet(text, {"草莓": 1.0, "蛋糕": 1.0, "生日": 1.0}, 60)
    assert "生日是五月三日，她喜欢草莓蛋糕" in shown
    assert len(shown) <= 60


def test_the_window_with_the_most_different_words_wins_over_one_word_repeated() -> None:
    text = "tea tea tea tea " + "x " * 300 + "tea with Alice in Kyoto " + "y " * 300
    assert "tea with Alice in Kyoto" in snippet(text, {"tea": 1, "alic": 1, "kyoto": 1}, 80)


def test_without_a_match_the_beginning_is_shown() -> None:
    shown = snippet(LONG, {"zebra": 1.0}, 80)
    assert shown.startswith("The first paragraph")
    assert shown.endswith("…")


def test_a_word_inside_another_is_no_match() -> None:
    text = "a concatenation of things " * 30 + "the cat sat here. " + "nothing else follows " * 30
    assert "the cat sat" in snippet(text, {"cat": 1.0}, 60)


@pytest.mark.parametrize("before", [0, 100, 250, 400, 690, 1000, 5000])
@pytest.mark.parametrize("after", [0, 300, 3000])
def test_what_matches_stands_near_the_beginning(before: int, after: int) -> None:
    text = ("lorem ipsum " * 500)[:before] + " the certificate expired " + "dolor sit " * after
    shown = snippet(text, {"certif": 1.0, "expir": 1.0}, 700)
    assert "certificate expired" in shown
    if len(text.strip()) > 700:
        assert shown.index("certificate") <= 0.42 * 700


def test_a_cut_text_ends_where_a_sentence_does_if_one_is_near() -> None:
    assert snippet(LONG, {"certif": 1.0}, 300).endswith("lunch.…")
    assert snippet("早上好。" + "今天天气很好。" * 60, {"早上": 1.0}, 60).endswith("很好。…")
    late = "x" * 70 + ". Then the tea was served at last to everyone in the house" + " y" * 99
    assert "tea was served" in snippet(late, {"serv": 1.0, "tea": 1.0}, 110)


PIECES = [*"abc tea\n.。", FAMILY, "é", "e\u0301", "茶", "🇩🇪", "\r\n", "ß", "İ"]


@given(st.lists(st.sampled_from(PIECES), max_size=300).map("".join), st.integers(0, 120))
def test_no_cut_is_too_long_or_splits_a_character(text: str, limit: int) -> None:
    shown = snippet(text, {"tea": 1.0, "茶": 1.0}, limit)
    assert len(shown) <= max(limit, 0)
    whole = list(clusters(text))
    inside = "".join(shown.removeprefix("…").removesuffix("…"))
    assert all(one in {*whole, *"\r\n "} or one == "…" for one in clusters(inside))


@given(st.text(max_size=400), st.integers(1, 60), st.one_of(st.none(), st.integers(1, 12)))
def test_the_first_passage_always_fits(text: str, chars: int, tokens: int | None) -> None:
    budget = a_budget(chars, tokens)
    shown = fitted("x" + text, {}, budget, limit=700, first=True)
    assert shown is not None
    assert 1 <= len(shown.text) <= chars
    assert tokens is None or words(shown.text) <= tokens


@given(st.lists(st.text(min_size=1, max_size=300), max_size=8), st.integers(1, 500))
def test_all_passages_together_stay_within_the_budget(texts: list[str], chars: int) -> None:
    budget = a_budget(chars, 40)
    shown = [
        one
        for number, text in enumerate(texts)
        if (one := fitted(text, {}, budget, limit=120, first=number == 0))
    ]
    assert sum(len(one.text) for one in shown) <= chars
    assert sum(words(one.text) for one in shown) <= 40


def test_a_later_passage_is_left_out_rather_than_cut_to_a_few_letters() -> None:
    budget = a_budget(100)
    assert fitted("y" * 60, {}, budget, limit=700, first=True)
    assert fitted("z" * 200, {}, budget, limit=700, first=False) is None
    assert fitted("z" * 30, {}, budget, limit=700, first=False)
