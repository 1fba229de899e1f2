"""Where a long text is cut: nothing is lost, nothing is too long, sentences stay whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.search.chunking.sizes import Run, pieces, runs, storable
from holdfast.text import clusters
from tests.scale import scaled

WORDS = st.sampled_from(
    [
        *("tea. ", "Was it? ", "word ", "用", "部署。", "吗？", "，", "\n", "\n\n", "  ", "x" * 40),
        *("👩‍👩‍👧", "e\u0301", "🇫🇷", "\u200b", "…", "v1.2.3 ", "\t", "\r"),
    ]
)
TEXTS = st.lists(WORDS, max_size=70).map("".join)
LINES = st.lists(TEXTS.map(lambda text: text.replace("\n", " ")), max_size=25)


@settings(max_examples=scaled(80))
@given(text=TEXTS, limit=st.integers(40, 400), by_line=st.booleans())
def test_pieces_joined_are_the_text_and_none_is_too_long(
    text: str, limit: int, by_line: bool
) -> None:
    found = list(pieces(text, limit, by_line=by_line))
    assert "".join(found) == text
    assert all(0 < len(piece) <= limit for piece in found)


@settings(max_examples=scaled(100))
@given(text=TEXTS, limit=st.integers(40, 200))
def test_no_cut_splits_what_a_reader_takes_for_one_character(text: str, limit: int) -> None:
    apart = [cluster for piece in pieces(text, limit) for cluster in clusters(piece)]
    assert apart == list(clusters(text))


def test_a_sentence_stays_whole_in_english_and_chinese() -> None:
    english = "The ferry leaves at nine from the old harbour. " * 30
    chinese = "渡轮早上九点从老码头出发，大家不要迟到。" * 60
    for piece in pieces(english, 300):
        assert piece.startswith("The ferry")
        assert piece.rstrip().endswith("harbour.")
    for piece in pieces(chinese, 300):
        assert piece.startswith("渡轮")
        assert piece.endswith("。")


def test_the_last_two_pieces_share_what_is_left() -> None:
    first, second = pieces("one two three four. " * 55, 1_000)
    assert len(first) < 2 * len(second)
    assert len(second) < 2 * len(first)


@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, "字" * 1_000_000, "e" + "\u0301" * 200_000, " " * 300_000, "a\n" * 300_000],
)
def test_a_megabyte_without_an_end_is_cut_all_the_same(text: str) -> None:
    found = list(pieces(text, 1_200))
    assert "".join(found) == text
    assert max(map(len, found)) <= 1_200
    assert len(found) <= 3 * len(text) // 1_200 + 2


@settings(max_examples=scaled(80))
@given(lines=LINES, limit=st.integers(40, 400))
def test_runs_hold_every_line_that_says_something_once(lines: list[str], limit: int) -> None:
    found = list(runs(lines, 0, len(lines), limit))
    assert all(len(run.text) <= limit for run in found)
    for number, line in enumerate(lines):
        holding = [run for run in found if run.start <= number < run.end]
        if len(line) > limit:
            assert all((run.start, run.end) == (number, number + 1) for run in holding)
            assert "".join("".join(run.text for run in holding).split()) == "".join(line.split())
        elif line.strip():
            assert len(holding) == 1
    for run in found:
        if run.end - run.start > 1:
            assert run.text == "\n".join(lines[run.start : run.end])


def test_a_run_ends_at_a_blank_line_or_where_a_sentence_does() -> None:
    code = ["a = 1", "b = 2", "c = 3", "", "d = 4", "e = 5"]
    assert [(run.start, run.end) for run in runs(code, 0, 6, 25)] == [(0, 3), (4, 6)]
    prose = ["It rains in May and", "also in June.", "In July it does", "not rain at all."]
    found: list[Run] = list(runs(prose, 0, 4, 50))
    assert [run.text for run in found] == ["\n".join(prose[:2]), "\n".join(prose[2:])]


def test_what_is_no_character_becomes_one_and_lengths_stay() -> None:
    assert storable("a\udcffb\ud83d中") == "a\ufffdb\ufffd中"
    assert storable("plain") == "plain"
