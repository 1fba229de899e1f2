"""Foreign text is shown on a terminal, never obeyed, and keeps to its columns."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text import columns, display, one_line, strip_hidden
from tests.scale import scaled

NASTY = st.text(
    st.characters() | st.sampled_from("\x1b\r\n\x07\u202e\u200b\ud83d漢👩\u200d❤\ufe0f\t\v\u2028")
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jcleared\x07", "\\x1b[2Jcleared\\x07"),
        ("abc\u202etxt.exe", "abc\\u202etxt.exe"),
        ("two\r\nlines\nhere", "two⏎lines⏎here"),
        ("over\rwritten", "over\\rwritten"),
        ("tab\tstays", "tab\tstays"),
        ("\u200bzero", "\\u200bzero"),
        ("\U000e0041tag", "\\U000e0041tag"),
        ("\x9b31m", "\\x9b31m"),
        ("\ud83d half", "\\ud83d half"),
        ("a\u2028b\x85c\vd", "a\\u2028b\\x85c\\x0bd"),
        ("中文 👩🏽‍💻 ❤️ می‌خواهم", "中文 👩🏽‍💻 ❤️ می‌خواهم"),
    ],
)
def test_what_a_terminal_would_obey_is_spelled_out(text: str, shown: str) -> None:
    assert display(text) == shown


@settings(max_examples=scaled(500))
@given(NASTY)
def test_displayed_text_is_one_harmless_line_that_can_be_encoded(text: str) -> None:
    shown = display(text)
    shown.encode("utf-8")
    assert len(shown.splitlines()) <= 1
    assert not [char for char in shown if unicodedata.category(char) == "Cc" and char != "\t"]
    assert strip_hidden(shown) == (shown, False)


@settings(max_examples=scaled(500))
@given(NASTY, st.integers(-1, 60))
def test_one_line_never_takes_more_columns_than_it_was_given(text: str, width: int) -> None:
    line = one_line(text, width)
    assert columns(line) <= max(0, width)
    assert len(line.splitlines()) <= 1
    if not line.endswith("…") and width > 0:
        assert line == one_line(text, 10_000)


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("exactly ten", 10, "exactly t…"),
        ("  first\n\n   second\tthird  ", 40, "first ⏎ second third"),
        ("中文字符", 8, "中文字符"),
        ("中文字符", 7, "中文字…"),
        ("中文字符", 6, "中文…"),
        ("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 4, "👨‍👩‍👧‍👦👨‍👩‍👧‍👦"),
        ("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 3, "👨‍👩‍👧‍👦…"),
        ("anything", 1, "…"),
        ("anything", 0, ""),
        ("", 5, ""),
    ],
)
def test_one_line_is_cut_by_columns(text: str, width: int, line: str) -> None:
    assert one_line(text, width) == line


def test_a_preview_of_a_large_text_says_that_it_goes_on() -> None:
    assert one_line("\u0301" * 5_000_000, 20).endswith("…")
    assert one_line("a" + " " * 1_000_000 + "b", 20) == "a …"
    assert one_line("word " * 1_000_000, 10) == "word word…"


@pytest.mark.parametrize(
    ("text", "count"),
    [("abc", 3), ("中a", 3), ("e\u0301", 1), ("🇩🇪", 2), ("❤️", 2), ("한글", 4), ("ｱ", 1), ("Ａ", 2)],
)
def test_columns_are_counted_as_a_terminal_draws_them(text: str, count: int) -> None:
    assert columns(text) == count
