"""Untrusted words on a terminal: harmless however they are cut, and lines that fit."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.cli.chat.screen import PlainScreen, TerminalScreen
from holdfast.cli.chat.shown import Cleaner, Wrapper, harmless
from holdfast.cli.terminal import folded, has_colour
from holdfast.text import columns
from tests.scale import scaled

HOSTILE = (
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\r",
    "\r\n",
    "\n",
    "\x9b2J",
    "\u202e",
    "\u200b",
    "👩‍👩‍👧",
    "e\u0301",
    "❤\ufe0f",
    "深圳，",
    "word ",
    "    code",
    "```\n",
    "a" * 50,
    "\ud83d",
    "\t",
)
pieces = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=12), max_size=30)
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@settings(max_examples=scaled(25))
@given(pieces)
def test_an_answer_is_shown_the_same_however_it_was_cut(said: list[str]) -> None:
    cleaner = Cleaner()
    shown = "".join(map(cleaner.feed, said)) + cleaner.end()
    assert shown == harmless("".join(said))
    assert not CONTROLS.search(shown)


def test_a_cluster_without_end_is_not_held_for_ever() -> None:
    cleaner = Cleaner()
    shown = sum(len(cleaner.feed("\u0301" * 10)) for _ in range(100))
    assert shown > 800


@settings(max_examples=scaled(25))
@given(pieces, st.integers(10, 90))
def test_wrapped_lines_fit_and_nothing_but_blanks_at_breaks_is_lost(
    said: list[str], width: int
) -> None:
    text = harmless("".join(said).replace("```", "").replace("    ", "").replace("\t", ""))
    wrapper = Wrapper(lambda: width)
    shown = "".join(wrapper.feed(each) for each in _cut(text)) + wrapper.end()
    assert re.sub(r"[ \n]", "", shown) == re.sub(r"[ \n]", "", text)
    for line in shown.split("\n"):
        if not line.startswith("    "):
            assert columns(line.rstrip()) <= width + 2


def test_only_one_mark_hangs_over_the_edge() -> None:
    wrapper = Wrapper(lambda: 10)
    lines = (wrapper.feed("字" * 5 + "）" * 40) + wrapper.end()).split("\n")
    assert max(map(columns, lines)) == 12
    assert "".join(lines) == "字" * 5 + "）" * 40


def _cut(text: str) -> Sequence[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]


def test_code_is_not_broken_and_words_are() -> None:
    wrapper = Wrapper(lambda: 20)
    text = (
        "a few words that do not fit\n```\n" + "x = 1  # " * 5 + "\n```\nand some more words here"
    )
    shown = wrapper.feed(text) + wrapper.end()
    assert shown.split("\n") == [
        "a few words that do",
        "not fit",
        "```",
        "x = 1  # " * 5,
        "```",
        "and some more words",
        "here",
    ]


@settings(max_examples=scaled(40))
@given(
    st.lists(
        st.sampled_from([*"ab 一深，（“.,)-", "word", "longer-word", "👩‍👩‍👧", "e\u0301"])
    ).map("".join),
    st.integers(4, 60),
    st.sampled_from(["", "  "]),
)
def test_folded_lines_fit_and_lose_nothing_but_blanks(text: str, width: int, indent: str) -> None:
    lines = list(folded(text, width, indent=indent))
    assert all(columns(line) <= width for line in lines)
    assert all(line.startswith(indent) and line[len(indent)] != " " for line in lines[1:])
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_mark_stays_with_the_word_it_belongs_to() -> None:
    assert list(folded("一二三四（五六），七", 10)) == ["一二三四", "（五六），", "七"]
    assert list(folded("   deep and wide", 10, indent="     ")) == [
        "   deep",
        "     and",
        "     wide",
    ]


def test_what_happens_beside_an_answer_waits_until_it_pauses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    screen = TerminalScreen(colour=True)
    screen.wait("thinking")
    screen.speak("Half of a ")
    screen.line("saved 3 memories", "dim")
    screen.speak("sentence\x1b[2J.")
    screen.pause()
    out = capsys.readouterr().out
    before, after = out.split("Half of a sentence")
    assert "saved" not in before
    assert after == "\\x1b[2J.\n\x1b[2msaved 3 memories\x1b[0m\n"
    assert before.endswith("\r\x1b[2K"), "what was waited for is wiped away"


def test_a_pipe_has_the_answer_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    screen = PlainScreen()
    screen.line("recalled", "dim")
    screen.speak("An \x1banswer")
    screen.pause()
    out, err = capsys.readouterr()
    assert out == "An \\x1banswer\n"
    assert err == "recalled\n"


def test_colours_are_off_where_they_are_not_wanted() -> None:
    assert has_colour({"TERM": "xterm"})
    assert not has_colour({"TERM": "xterm", "NO_COLOR": "1"})
    assert not has_colour({"TERM": "dumb"})
    assert not has_colour({})
