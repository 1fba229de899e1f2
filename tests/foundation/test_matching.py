"""A text is found in every spelling, erased without a trace, and nothing else is touched."""

from __future__ import annotations

import base64
import json
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.errors import UsageError
from holdfast.matching import Match
from holdfast.matching.folding import folded_form, mapped
from holdfast.matching.spelling import letters
from holdfast.text import normalise
from tests.scale import scaled

NASTY = st.sampled_from(
    list("aAbB sSßẞıİiIſKkΩωςσΣé\u0301\u0327\u0308eﬁﬀfi½Å\u212b　\t\n\u200b\u00ad\u200d")
    + list("가\u1100\u1161\u11a8ㄱㅏｶﾞ\u3099你好喜\U0001f468\U0001f3fb\ufe0f\ud83d\udc4d\\%&;u0041#")
    + ["\\u0041", "%41", "&#65;", "\\\\u4f60", "\u0345", "ᾳ", "\u00a8", "\u2028"]
)
TEXTS = st.lists(NASTY, max_size=30).map("".join)


@pytest.mark.parametrize(
    ("wanted", "text", "left"),
    [
        ("Straße 5", "An der STRASSE  5, links", "An der [erased r], links"),
        ("café", "cafe\u0301s", "[erased r]s"),
        ("cafe", "café", "café"),
        ("office", "the oﬃce", "the [erased r]"),
        ("fin", "oﬃng", "o[erased r]g"),
        ("ABC123", "ＡＢＣ１２３!", "[erased r]!"),
        ("ΟΔΟΣ", "οδος", "[erased r]"),
        (
            "한글",
            unicodedata.normalize("NFD", "이 한글 말"),
            unicodedata.normalize("NFD", "이 ")
            + "[erased r]"
            + unicodedata.normalize("NFD", " 말"),
        ),
        ("hunter2", "hun\u200bter\u00ad2\u2060", "[erased r]"),
        ("I live in Paris", "i  live\n\tin　paris now", "[erased r] now"),
        ("喜欢你", "我喜欢你们", "我[erased r]们"),
        ("istanbul", "İstanbul", "İstanbul"),
        ("İstanbul", "i̇stanbul", "[erased r]"),
        ("ok 👍", "ok 👍🏻 ok", "[erased r] ok"),
        ("ax", "ax\u0302y", "[erased r]y"),
        ("日本", "\\u65e5\\u672C 。", "[erased r] 。"),
        ("日本", "\\\\u65e5\\\\u672c", "[erased r]"),
        ("a 👍 b", "a \\ud83d\\udc4d b", "[erased r]"),
        ('say "hi"', 'say \\"hi\\"!', "[erased r]!"),
        ("hunter2", "hun\\bter2", "[erased r]"),
        ("one two", "one\\f\\ttwo", "[erased r]"),
        ("a/b/c", "a\\/b\\/c", "[erased r]"),
        ("two lines", "two\\nlines", "[erased r]"),
        ("Zoë Quinn", "name=Zo%C3%AB%20Quinn&x", "name=[erased r]&x"),
        ("<!-- x", "&lt;!-- x", "[erased r]"),
        (r"C:\new", r"C:\\new\\dir", r"[erased r]\\dir"),
        ("Anna Lee 12", "> Anna\n> Lee\n> 12 b", "> [erased r] b"),
        ("Anna Lee 12", "+> Anna\n+  > > Lee\n+> 12", "+> [erased r]"),
        ("Zoë Lee", r"> Zo\u00eb\n> Lee", "> [erased r]"),
        ("Anna Lee", "Anna > Lee, Anna\nsaid > Lee", "Anna > Lee, Anna\nsaid > Lee"),
        ("Anna Lee", "?q=Anna+Lee&x=1+1", "?q=[erased r]&x=1+1"),
        ("Zoë Lee", "q=Zo%25C3%25AB%2520Lee.", "q=[erased r]."),
        ("one two", "one + two", "one + two"),
        ("Anna Lee", "Anna Lee\u0301 x", "[erased r] x"),
        ("Zoe Lee", "Zoe\u0308 Lee", "Zoe\u0308 Lee"),
    ],
)
def test_it_is_found_however_it_is_written(wanted: str, text: str, left: str) -> None:
    erased, count = Match([wanted], "r").erased(text)
    assert erased == left
    assert count == (erased != text)


@given(text=TEXTS)
@settings(max_examples=scaled(400))
@example(text="\u0345a")
@example(text="ㄱㅏ")
@example(text="\u00a8 a")
def test_the_way_back_leads_through_the_same_normal_form(text: str) -> None:
    found = mapped(letters(text, 0, len(text)))
    assert " ".join(found.text.split()) == normalise(text)
    assert all(
        0 <= start < end <= len(text) for start, end in zip(found.starts, found.ends, strict=True)
    )
    assert " ".join(folded_form(text).split()) == normalise(text)


@given(before=TEXTS, wanted=TEXTS, after=TEXTS)
@settings(max_examples=scaled(500))
def test_nothing_of_it_is_left_and_nothing_else_is_changed(
    before: str, wanted: str, after: str
) -> None:
    try:
        match = Match([wanted], "r7")
    except UsageError:
        assert len(normalise(wanted)) < 2
        return
    text = before + wanted + after
    erased, count = match.erased(text)
    assert not match.is_in(erased)
    spans = match.spans(text)
    assert all(one.end <= two.start for one, two in pairwise(spans))
    if not spans:  # a neighbour joined its first or last character
        return
    assert count >= len(spans)
    kept = text[: spans[0].start]
    assert erased.startswith(kept) or match.is_in(kept + match.mark)
    for span in spans:
        after_it = text[span.end : span.end + 1]
        assert not (after_it and unicodedata.combining(after_it)), "no mark is left behind"


@given(
    before=st.text(max_size=200),
    after=st.text(max_size=200),
    wanted=st.sampled_from(["Hunter two", "日本語の秘密", "Größe Ω", "مرحبا بك", "한국어 비밀"]),
    form=st.integers(0, 8),
    cuts=st.lists(st.integers(0, 900), max_size=6),
)
@settings(max_examples=scaled(300))
def test_a_stream_is_searched_across_its_blocks(
    before: str, after: str, wanted: str, form: int, cuts: list[int]
) -> None:
    raw = "utf-8"
    written: Callable[[str], bytes] = {
        0: lambda t: t.encode(raw, "surrogatepass"),
        1: lambda t: json.dumps(t).encode(),
        2: lambda t: json.dumps(json.dumps(t)).encode().upper().replace(b"\\U", b"\\u"),
        3: lambda t: t.encode("utf-16-le", "surrogatepass"),
        4: lambda t: t.encode("utf-16-be", "surrogatepass"),
        5: lambda t: unicodedata.normalize("NFD", t).encode(raw, "surrogatepass"),
        6: lambda t: t.upper().encode(raw, "surrogatepass"),
        7: lambda t: quote(t.encode(raw, "surrogatepass")).encode(),
        8: lambda t: base64.b64encode(t.encode(raw, "surrogatepass")),
    }[form]
    match = Match([wanted], "r")
    data = written(f"{before} {wanted} {after}")
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    blocks = [data[one:two] for one, two in pairwise(places)]
    assert match.is_in_blocks(blocks)
    clean = written(before.replace(wanted, "") + after.replace(wanted, ""))
    assert match.is_in_bytes(clean) == match.is_in_blocks([clean[:7], clean[7:]])


@pytest.mark.parametrize(
    "data",
    [
        base64.encodebytes(b"p" * 50 + b"Anna Zabriskie lives there"),
        json.dumps(base64.encodebytes(b"p" * 50 + b"Anna Zabriskie").decode()).encode(),
        base64.b64encode(b"aNnA zAbRiSkIe"),
        base64.urlsafe_b64encode(b"\xff\xfe?? Anna Zabriskie").rstrip(b"="),
        base64.b64encode("Anna Zabriskie".encode("utf-16-le")),
        base64.b64encode(b"x" + "ANNA Zabriskie".encode("utf-16-be")),
        "aNnA zAbRiSkIe".encode("utf-16-le"),
        b"name=Anna%252520Zabriskie",
        b"+> Anna\n+> Zabriskie",
    ],
)
def test_bytes_that_were_encoded_on_the_way_hold_it(data: bytes) -> None:
    match = Match(["Anna Zabriskie"], "r")
    assert match.is_in_bytes(b"before " + data + b" behind")
    assert all(match.is_in_blocks([data[:at], data[at:]]) for at in range(len(data)))
    other = Match(["Anna Zabriskoe"], "r")
    assert not other.is_in_bytes(b"before " + data + b" behind")


def test_a_long_gap_of_white_space_does_not_hide_it_in_a_stream() -> None:
    match = Match(["one two"], "r")
    blocks = [b"x one", *[b" \n" * 5000] * 12, b"two y"]
    assert match.is_in_blocks(blocks)
    assert not match.is_in_blocks([b"x one", *[b" \n" * 5000] * 12, b"three y"])


def test_json_keeps_its_shape_and_its_words() -> None:
    match = Match(["4155551234", "secret"], "r")
    value = {
        "role": "secret",
        "secret": 1,
        "pin": 4155551234,
        "n": [1.5, True, None, {"deep": "my SECRET!"}],
        "b64": base64.b64encode(b"xx 4155551234 yy").decode(),
    }
    erased, count = match.erased_json(value, keeps=lambda key, value: key == "role")
    assert erased == {
        "role": "secret",
        "[erased r]": 1,
        "pin": "[erased r]",
        "n": [1.5, True, None, {"deep": "my [erased r]!"}],
        "b64": "[erased r]",
    }
    assert count == 4
    again, none = match.erased_json(erased, keeps=lambda key, value: key == "role")
    assert (again, none) == (erased, 0)


def test_keys_that_become_the_same_stay_two() -> None:
    erased, _ = Match(["secret"], "r").erased_json({"secret": 1, "SECRET": 2})
    assert sorted(erased.values()) == [1, 2]


@pytest.mark.parametrize("wanted", ["erased", "[e", "r1", "ed r", "gone", "d r1]"])
def test_a_mark_is_never_found_again(wanted: str) -> None:
    match = Match([wanted], "r1")
    erased, count = match.erased(f"x {wanted} y{wanted}")
    assert count >= 2
    assert not match.is_in(erased)
    assert not match.is_in(match.erased_name(f"a-{wanted.replace(' ', '-')}")[0]) or " " in wanted


@pytest.mark.parametrize("wanted", ["", " ", "x", "你", "\u200b\u200c", "\u200bx "])
def test_a_text_too_short_is_refused(wanted: str) -> None:
    with pytest.raises(UsageError, match="too short"):
        Match([wanted], "r")


def test_what_is_near_is_told_apart_from_what_matches() -> None:
    match = Match(["Peter flies to Lisbon on Monday"], "r")
    assert not match.is_near("peter FLIES to Lisbon on monday")
    assert match.is_near("Peter flies to Lisbon on Tuesday")
    assert not match.is_near("The port is 8080")
    assert match.spans("Peter flies to Lisbon on Tuesday") == ()
