"""Cuts never split what a reader takes for one character, wherever they fall."""

from __future__ import annotations

import random
import subprocess
import sys
from bisect import bisect_left, bisect_right
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text import clusters, cut, cut_bytes, cut_tail, shorten
from tests.scale import scaled

GRAPHEME = import_module("regex").compile(r"\X")  # the oracle reads every text from its start

PIECES = [
    "plain words, 1 2 3.",
    "\r\n",
    "\r",
    "\n",
    "é",
    "e\u0301",
    "e" + "\u0301\u0323" * 9,
    "a\u200db",
    "\u0301",
    "👨‍👩‍👧‍👦",
    "👩🏽‍💻",
    "🏳️‍🌈",
    "❤️",
    "1️⃣",
    "🇩🇪",
    "🇩",
    "🇩🇪🇫🇷🇯🇵",
    "🇩🇪\u0301",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "가나다",
    "\u1100\u1161\u11a8",
    "\u1100\u1100\u1161",
    "각\u11a8",
    "नमस्ते",
    "क्ष्म",
    "कि",
    "กำ",
    "ກຳ",
    "\u0600٣",
    "漢字かなカナ",
    "か\u3099",
    "ｶﾞ",
    "葛\U000e0100",
    "ß—“”…",
    "\ud83d",
    "\ude00",
    "\ud83d\ude00",
    "\ud83d\ude00\u0301",
    "\x00\x1b",
    "\u2028",
    "\ufeff",
    "\U0001f468\u200d" * 12,
    "Z" + "\u0300" * 40,
]

# Everything but private use and planes where nothing is defined.
ASSIGNED = [*range(0x32400), *range(0xE0000, 0xE0200)]


def boundaries_of(text: str) -> list[int]:
    found = [0, *(match.end() for match in GRAPHEME.finditer(text))]
    return [
        index
        for index in found
        if not (
            "\ud800" <= text[index - 1 : index] <= "\udbff"
            and "\udc00" <= text[index : index + 1] <= "\udfff"
        )
    ]


def size_in_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def test_no_cut_splits_a_grapheme_and_every_cut_is_as_long_as_it_may_be() -> None:
    draw = random.Random(13)
    cuts = 0
    while cuts < scaled(150_000):
        text = "".join(draw.choices(PIECES, k=draw.randint(1, 24)))
        boundaries = boundaries_of(text)
        bytes_at = [size_in_bytes(text[:index]) for index in boundaries]
        for limit in range(len(text) + 2):
            end = boundaries[bisect_right(boundaries, limit) - 1]
            assert cut(text, limit) == text[:end]
            start = boundaries[bisect_left(boundaries, max(0, len(text) - limit))]
            assert cut_tail(text, limit) == text[start:]
            cuts += 2
        for limit in range(bytes_at[-1] + 2):
            assert cut_bytes(text, limit) == text[: boundaries[bisect_right(bytes_at, limit) - 1]]
            cuts += 1


@given(st.text(st.characters()), st.integers(-2, 40))
def test_cuts_of_any_text_are_whole_prefixes_and_suffixes(text: str, limit: int) -> None:
    boundaries = boundaries_of(text)
    head, tail = cut(text, limit), cut_tail(text, limit)
    assert text.startswith(head)
    assert len(head) in boundaries
    assert text.endswith(tail)
    assert len(text) - len(tail) in boundaries
    assert max(len(head), len(tail)) <= max(0, limit)
    assert size_in_bytes(cut_bytes(text, limit)) <= max(0, limit)


def test_a_character_larger_than_the_limit_is_left_out_whole() -> None:
    heap = "Z" + "\u0300" * 100
    assert cut(heap + "abc", 50) == ""
    assert cut_tail("abc" + heap, 50) == ""
    assert cut_bytes("👩🏽‍💻", 14) == ""
    assert cut_bytes("👩🏽‍💻", 15) == "👩🏽‍💻"


def test_two_surrogates_that_make_a_pair_are_not_parted() -> None:
    assert cut("\ud83d\ude00", 1) == ""
    assert cut_tail("\ud83d\ude00", 1) == ""
    assert cut("\ud83d\ud83d", 1) == "\ud83d"


def test_where_the_search_for_a_boundary_starts_two_characters_always_part() -> None:
    parting = import_module("holdfast.text.cuts")._parting()
    for char in map(chr, ASSIGNED):
        for pair in ("a" + char, "字" + char, char + "a", char + "字", char + "क", char + "\u11a8"):
            if parting.match(pair):
                assert GRAPHEME.match(pair).end() == 1, ascii(pair)


@pytest.mark.parametrize(
    "text",
    [
        "🇩🇪" * 100_000,
        "e" + "\u0301" * 400_000,
        "👩\u200d" * 100_000,
        "\u1100" * 200_000,
        "क्" * 100_000,
        "\ud83d\ude00" * 100_000,
        "é\r\n" * 100_000,
    ],
    ids=["flags", "marks", "joined", "jamo", "virama", "surrogates", "lines"],
)
@pytest.mark.timeout(20)
def test_a_cut_in_the_middle_of_a_large_hostile_text_does_not_stall(text: str) -> None:
    middle = len(text) // 2
    assert len(cut(text, middle)) <= middle
    assert len(cut_tail(text, middle)) <= middle


@given(
    st.text(st.sampled_from("ab\r\n漢e\u0301👩\u200d🇩"), max_size=60),
    st.integers(0, 20),
    st.integers(0, 20),
    st.sampled_from(["", "…", "[… cut …]"]),
)
def test_shortened_text_is_the_text_or_strictly_less(
    text: str, head: int, tail: int, note: str
) -> None:
    ends = cut(text, head) + note + cut_tail(text, tail)
    assert shorten(text, head, tail, note) == (ends if len(ends) < len(text) else text)


def test_shorten_keeps_both_ends_and_says_so_in_between() -> None:
    text = "begin " + "x" * 1000 + " end"
    assert shorten(text, 6, 4, "[…]") == "begin […] end"
    assert shorten("short", 3, 3, "[…]") == "short"


@given(st.text(st.sampled_from("ab\r\n漢e\u0301👩\u200d🇩\ud83d\ude00")))
def test_clusters_joined_are_the_text(text: str) -> None:
    found = list(clusters(text))
    assert "".join(found) == text
    assert [sum(map(len, found[:n])) for n in range(len(found) + 1)] == boundaries_of(text)


def test_plain_texts_never_load_the_grapheme_tables() -> None:
    code = (
        "import sys, holdfast.text as t\n"
        "text = 'lines of ASCII\\r\\n' * 99\n"
        "t.cut(text, 15), t.cut_tail(text, 16), t.cut_bytes(text, 99), t.shorten(text, 9, 9, '…')\n"
        "t.one_line(text, 40), t.shorten_json([text], 99), t.strip_hidden(text)\n"
        "t.cut('Straße und Übung, 汉字和英文', 18)\n"
        "assert 'regex' not in sys.modules, 'regex was imported'\n"
        "t.cut('👩🏽‍💻👩🏽‍💻', 3)\n"
        "assert 'regex' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
