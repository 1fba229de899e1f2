"""Silent replies: nothing of them is ever seen, and nothing else is swallowed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.flush.silence import SilentStream, has_token, is_silent, without_silence
from tests.scale import SCALE, scaled

TOKENS = ("NO_REPLY", "[SILENT]", "_SILENT_")
WRAPS = (
    ("", ""), ("**", "**"), ("__", "__"), ("*", "*"), ("`", "`"), ("``", "``"), ("~~", "~~"),
    ('"', '"'), ("'", "'"), ("“", "”"), ("「", "」"), ("《", "》"), ("(", ")"), ("（", "）"),
    ("> ", ""), ("- ", ""), ("# ", ""), ("***", "***"), ("[", "]"), ("【", "】"),
    ("```\n", "\n```"), ("```text\n", "\n```\n"), ("~~~\n", "\n~~~"), ("```", "```"),
)  # fmt: skip
ENDS = ("", ".", "!", "。", "！", "…", "...", "?", ":", "，", " .", "\n.", "—")
BLANKS = ("", " ", "\n", "\n\n", "\t", "\r\n", "\u3000", "\u200b", "\ufeff", " \n ")
REAL = (
    "NO", "No", "no", "N", "NO PROBLEM", "No_replyable", "NO_REPLYING now", "NO_REPL", "NO REPLY",
    "noreply", "NO-REPLY", "NO_REPLY is what I would say", "Silent.", "**Silent**", "SILENT",
    "[SILENT", "[SILENTLY]", "_SILENT", "_silently_", "No, _silent_ was wrong",
    "NO_REPLY@a.example",
    "Done.", "好的", "不用回复", "---", "***", "...", "```\ncode\n```", "```py\nx = 1\n```\n",
    "1", "🙂", "[1] first", "_emphasis_", "S", "[s", "[S]", "No_reply_to = 3", "x NO_REPLY",
    "The word is NO_REPLY", "NO_REPLY NO_REPLYX", "```\nNO_REPLY_TO=1\n```", "é", "\ud83d",
)  # fmt: skip


def any_case(word: str, draw: random.Random) -> str:
    way = draw.randrange(5)
    if way == 0:
        return word.lower()
    if way == 1:
        return "".join(draw.choice((c.lower(), c.upper())) for c in word)
    if way == 2:  # full-width
        return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in word)
    if way == 3:
        return "".join(c + draw.choice(("", "", "\u200b", "\u2060")) for c in word)
    return word


def silent_text(draw: random.Random) -> str:
    parts = []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        left, right = draw.choice(WRAPS)
        token = any_case(draw.choice(TOKENS), draw)
        parts.append(
            draw.choice(BLANKS) + left + token + right + draw.choice(ENDS) + draw.choice(BLANKS)
        )
    return "\n".join(parts)


def plain_token(draw: random.Random) -> str:
    left, right = draw.choice(WRAPS[:20])
    return left + any_case(draw.choice(TOKENS), draw) + right


def split(text: str, draw: random.Random) -> list[str]:
    if draw.randrange(3) == 0:
        return list(text)
    pieces, at = [], 0
    while at < len(text):
        size = draw.randrange(1, 8)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def shown(pieces: list[str]) -> str:
    stream = SilentStream()
    return "".join([*(stream.feed(piece) for piece in pieces), stream.end()])


def seeds(count: int) -> Iterator[random.Random]:
    fresh = random.Random(7 if SCALE <= 1 else None)
    return (random.Random(fresh.random()) for _ in range(count))


def test_no_byte_of_a_silent_reply_is_shown_however_it_is_written_and_split() -> None:
    for draw in seeds(scaled(11_500)):
        text = silent_text(draw)
        stream = SilentStream()
        for piece in split(text, draw):
            assert stream.feed(piece) == "", text
        assert stream.end() == "", text
        assert stream.is_silent, text


def test_real_text_passes_byte_for_byte_however_it_is_split() -> None:
    for draw in seeds(scaled(4_500)):
        text = draw.choice(("\n", " ", "\n\n")).join(
            draw.choice(REAL) for _ in range(draw.randrange(1, 4))
        )
        text = draw.choice(BLANKS) + text + draw.choice(BLANKS)
        assert shown(split(text, draw)) == text
        assert not is_silent(text)


def test_of_mixed_text_the_token_lines_around_it_go_and_nothing_else() -> None:
    for draw in seeds(scaled(4_500)):
        said = "\n".join(
            draw.choice(("Done.", "好的，记住了", "No problem", "a\n\nb", "x NO_REPLY y"))
            for _ in range(draw.randrange(1, 3))
        )
        gap = draw.choice(("\n", "\n\n", "\n \n"))
        before = plain_token(draw) + gap if draw.randrange(2) else ""
        after = gap + plain_token(draw) if draw.randrange(2) else ""
        text = before + said + after
        assert shown(split(text, draw)) == said, text
        assert without_silence(text) == said


def test_a_real_word_is_held_no_longer_than_it_could_be_a_token() -> None:
    stream = SilentStream()
    assert [stream.feed(char) for char in "NO PE"] == ["", "", "NO ", "P", "E"]
    stream = SilentStream()
    assert stream.feed("Hello\n") == "Hello"
    assert stream.feed("NO_REPLY") == ""
    assert stream.feed("ABLE") == "\nNO_REPLYABLE"
    stream = SilentStream()
    assert stream.feed("Hel") == "Hel"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hi\n```\nNO_REPLY\n```", "Hi"),
        ("```\nNO_REPLY\n```\nHi", "Hi"),
        ("```\nNO_REPLY\nHi\n```", "```\nHi\n```"),
        ("Hi\n```\ncode\n```\nNO_REPLY", "Hi\n```\ncode\n```\n"),
        ("NO_REPLY\n```\ncode\n```", "```\ncode\n```"),
        ("```py\nx\nNO_REPLY\n```", "```py\nx\nNO_REPLY\n```"),
        ("a\nNO_REPLY\nb", "a\nNO_REPLY\nb"),
        ("", ""),
        (" \n", " \n"),
    ],
)
def test_code_blocks_and_the_middle_of_a_text_stay_whole(text: str, left: str) -> None:
    assert without_silence(text) == left
    assert shown(list(text)) == left


@settings(max_examples=scaled(60))
@given(
    st.lists(
        st.sampled_from(
            [*TOKENS, "```", "\n", " ", "NO", "_", "[", "S", "Hi", "。", "\u200b", "好"]
        ),
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
def test_the_split_makes_no_difference(parts: list[str], draw: random.Random) -> None:
    text = "".join(parts)
    assert shown(split(text, draw)) == without_silence(text)
    assert not (is_silent(text) and without_silence(text))


def test_megabytes_of_marks_are_read_once() -> None:
    stream = SilentStream()
    for _ in range(300):
        assert stream.feed("* _ [" * 40) == ""
    assert len(stream.feed("x")) == 60_001
    assert is_silent("\n" * 30_000 + "NO_REPLY")


@pytest.mark.parametrize(
    "text", ["say no_reply", "reply with [silent]", "或 _SILENT_", "ＮＯ＿ＲＥＰＬＹ"]
)
def test_a_prompt_that_names_a_token_is_known_to(text: str) -> None:
    assert has_token(text)


@pytest.mark.parametrize("text", ["be silent", "no reply", "保持安静"])
def test_a_prompt_that_names_none_is_not(text: str) -> None:
    assert not has_token(text)
