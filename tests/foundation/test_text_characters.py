"""Nothing hides in stripped text; texts that read alike compare equal; slugs are never empty."""

from __future__ import annotations

import re
import unicodedata
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.scope import check_name
from holdfast.text import is_hidden, normalise, slug, strip_hidden, title_slug
from tests.scale import scaled

JOINERS = "\u200c\u200d\ufe0e\ufe0f\ufe00\U000e0100\u180b"
HIDDEN_TEXT = st.text(
    st.sampled_from(JOINERS + "\u200b\u202e\U000e0041\U000e007f\u00ad\x1b\x00 a1漢👩💻❤🏴क्‌ہᠠ")
)


def code_points() -> list[str]:
    """Everything but private use and planes where nothing is defined."""
    return [chr(code) for code in (*range(0x32400), *range(0xE0000, 0xE1000))]


def test_all_that_unicode_calls_ignorable_or_bidi_control_is_hidden() -> None:
    ignorable = import_module("regex").compile(r"[\p{DI}\p{Bidi_C}]")
    missed = [
        ascii(char) for char in code_points() if ignorable.match(char) and not is_hidden(char)
    ]
    assert missed == []


def test_nothing_a_reader_can_see_is_hidden() -> None:
    kinds = {unicodedata.category(char) for char in code_points() if is_hidden(char)}
    assert kinds <= {"Cc", "Cf", "Mn", "Lo", "Cn"}
    letters = [char for char in code_points() if is_hidden(char) and char.isalnum()]
    assert letters == ["\u115f", "\u1160", "\u3164", "\uffa0"]  # the fillers: letters by name only
    assert not any(map(is_hidden, " \t\n\r\f\v\x85\u00a0\u2028\u3000"))


@pytest.mark.parametrize(
    "text",
    [
        "👨‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 ❤️ 1️⃣ ©️ ™️ 🙂‍↔️ ‼️ ℹ️ 👁️‍🗨️ ❤️‍🔥",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "می‌خواهم",
        "क्‍ष और क्‌ष",
        "ශ්‍රී ලංකා",
        "葛\U000e0100飾区",
        "ᠠ᠋",
        "plain\ttext\r\nwith lines\f",
        "naïve e\u0301 ﬁ ２",
        "\ud83d",
    ],
)
def test_what_belongs_to_the_spelling_stays(text: str) -> None:
    assert strip_hidden(text) == (text, False)


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("ignore\U000e0069\U000e0067\U000e006e this", "ignore this"),
        ("🏴\U000e0068\U000e0069\U000e007f", "🏴"),
        ("pass\u200bwo\u00adrd\u2060", "password"),
        ("abc\u202edcba\u202c\u2066x\u2069\u200e", "abcdcbax"),
        ("a\u200db\u200cc\ufe0fd\U000e0101", "abcd"),
        ("😀\ufe0f\ufe01\ufe02\U000e0100\U000e0101", "😀\ufe0f"),
        ("می\u200c\u200d\u200cخواهم", "می\u200cخواهم"),
        ("\u200d\ufe0fstart", "start"),
        ("\x1b[31mred\x1b[0m\x00\x07", "[31mred[0m"),
        ("\ufeffBOM", "BOM"),
        ("\u3164\uffa0x", "x"),
    ],
)
def test_what_hides_is_removed_and_reported(text: str, visible: str) -> None:
    assert strip_hidden(text) == (visible, True)


@settings(max_examples=scaled(500))
@given(HIDDEN_TEXT | st.text())
def test_stripping_twice_is_stripping_once(text: str) -> None:
    visible, removed = strip_hidden(text)
    assert removed == (visible != text)
    assert strip_hidden(visible) == (visible, False)
    assert [char for char in visible if not is_hidden(char)] == [
        char for char in text if not is_hidden(char)
    ]


def test_no_joiner_is_kept_next_to_another() -> None:
    visible, _ = strip_hidden("👩" + JOINERS * 20 + "💻ک" + JOINERS * 20)
    assert not re.search(f"[{JOINERS}]{{3}}", visible)
    assert len(visible) < 8


def test_texts_that_read_alike_are_equal_when_normalised() -> None:
    assert normalise("  Ｈｅｌｌｏ\t\nWORLD ") == normalise("hello world") == "hello world"
    assert normalise("Straße") == normalise("STRASSE")
    assert normalise("e\u0301") == normalise("É")
    assert normalise("pass\u200bword") == "password"
    assert normalise("❤️") == normalise("❤")
    assert normalise("a\u3000b\u2028c") == "a b c"


def test_normalising_any_character_twice_is_normalising_it_once() -> None:
    changed = [ascii(char) for char in code_points() if normalise(once := normalise(char)) != once]
    assert changed == []


@settings(max_examples=scaled(500))
@given(st.text())
def test_normalising_any_text_twice_is_normalising_it_once(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Crème Brûlée, 2 Löffel!", "creme-brulee-2-loffel"),
        ("O'Brien’s notes", "obriens-notes"),
        ("../../etc/passwd", "etc-passwd"),
        ("foo项目bar", "foo-bar"),
        ("Ｆｕｌｌ ｗｉｄｔｈ", "full-width"),
        ("x" * 100, "x" * 48),
    ],
)
def test_a_slug_keeps_the_letters_a_keyboard_has(text: str, expected: str) -> None:
    assert slug(text) == expected


def test_slugs_of_texts_without_such_letters_still_differ() -> None:
    assert re.fullmatch("name-[0-9a-f]{8}", slug("项目"))
    assert slug("项目") != slug("任务")


@given(st.text(st.characters()))
def test_a_slug_is_never_empty_and_always_plain(text: str) -> None:
    assert re.fullmatch("[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", slug(text))
    assert len(slug(text)) <= 48


@given(st.text(max_size=80))
def test_every_title_has_a_name_that_a_file_may_have(title: str) -> None:
    assert check_name(f"2026-03-04-{title_slug(title)}")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fix the café's login!", "fix-the-cafes-login"),
        ("帮我修复 Login 页面的崩溃。", "帮我修复-login-页面的崩溃"),
        ("Оплатить счёт", "оплатить-счёт"),
    ],
)
def test_a_title_stays_in_the_script_of_its_readers(title: str, name: str) -> None:
    assert title_slug(title) == name
