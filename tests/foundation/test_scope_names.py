"""A name that is accepted is one path component that stays in its folder, on every system."""

from __future__ import annotations

import ntpath
import posixpath
import random
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import PolicyRefused
from holdfast.scope import check_name
from holdfast.text import is_hidden, normalise
from tests.scale import scaled

PIECES = [
    *"aZ09éß中あ한अ٣._-",
    *"/\\:*?\"<>|%$~'`;&! \t\n\x00\x7f",
    "..",
    "%2e",
    "%2f",
    "．",
    "／",
    "∕",
    "․",
    "CON",
    "nul",
    "Com1",
    "lpt9.txt",
    "\u0301",
    "\u0903",
    "é",
    "e\u0301",
    "ﬁ",
    "²",
    "\u200d",
    "\u202e",
    "\ufe0f",
    "\u3164",
    "\U000e0041",
    "\ud83d",
    "😀",
    "x" * 30,
    "漢" * 30,
    "𠀀" * 30,
]


def is_accepted(name: str) -> bool:
    try:
        return check_name(name) == name
    except PolicyRefused as refused:
        check_hint(refused)
        return False


def check_hint(refused: PolicyRefused) -> None:
    """What is suggested will not be refused again."""
    suggested = (refused.hint or "").removeprefix("Use for example: ")
    assert check_name(suggested) == suggested


def check_accepted(name: str) -> None:
    """What is promised of every accepted name."""
    assert 1 <= len(name) <= 64
    assert len(name.encode("utf-8")) <= 200
    assert unicodedata.normalize("NFC", name) == unicodedata.normalize("NFKC", name) == name
    assert not any(map(is_hidden, name))
    assert posixpath.normpath(posixpath.join("/home/a", name)) == "/home/a/" + name
    assert posixpath.dirname(posixpath.join("/home/a", name)) == "/home/a"
    joined = ntpath.normpath(ntpath.join("C:\\home\\a", name))
    assert joined == "C:\\home\\a\\" + name
    assert ntpath.splitdrive(name)[0] == ""
    assert name.strip(" .") == name or name[0] not in " ."
    assert not name.endswith((".", " "))
    assert name.isprintable()
    assert not re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", name)


def test_accepted_names_stay_in_their_folder() -> None:
    draw = random.Random(22)
    accepted = 0
    for _ in range(scaled(20_000)):
        name = "".join(draw.choices(PIECES, k=draw.choice([0, 1, 1, 2, 2, 3, 4, 6])))
        if is_accepted(name):
            accepted += 1
            check_accepted(name)
    assert accepted > 300


@settings(max_examples=scaled(300))
@given(st.text(st.characters()) | st.text(st.characters(categories=["L", "N", "Mn", "Mc"])))
def test_any_accepted_text_stays_in_its_folder(name: str) -> None:
    if is_accepted(name):
        check_accepted(name)


def test_accepted_names_can_be_made_and_found_on_this_disk(tmp_path: Path) -> None:
    draw = random.Random(3)
    made: dict[str, str] = {}
    for _ in range(2000):
        name = "".join(draw.choices(PIECES, k=draw.randint(1, 4)))
        if is_accepted(name):
            made.setdefault(normalise(name), name)
    for name in made.values():
        (tmp_path / name).mkdir()
    assert {path.name for path in tmp_path.iterdir()} == set(made.values())


@pytest.mark.parametrize(
    "name",
    [
        "main",
        "a",
        "7",
        "_private",
        "telegram-12345",
        "2025-11-27",
        "notes.v2",
        "a..b",
        "项目-1",
        "プロジェクト",
        "пример",
        "हिन्दी",
        "ไทย",
        "café",
        "console",
        "com10",
        "x" * 64,
        "漢" * 64,
    ],
)
def test_names_people_use_are_accepted(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        (".", "stand"),
        ("..", "stand"),
        ("../x", "stand"),
        ("a/b", "stand"),
        ("a\\b", "stand"),
        ("/abs", "stand"),
        ("C:", "stand"),
        ("a:stream", "stand"),
        (".hidden", "stand"),
        ("-flag", "stand"),
        ("a b", "stand"),
        ("a\x00b", "invisible"),
        ("a\nb", "stand"),
        ("a\u202eb", "invisible"),
        ("a\u200db", "invisible"),
        ("\u0301a", "stand"),
        ("a-\u0301", "stand"),
        ("end.", "dot"),
        ("cafe\u0301", "more than one way"),
        ("ﬁle", "more than one way"),
        ("Ａ", "more than one way"),
        ("CON", "device"),
        ("nul.txt", "device"),
        ("Lpt1", "device"),
        ("x" * 65, "longer"),
        ("𠀀" * 51, "longer"),
        ("%2e%2e", "stand"),
        ("😀", "stand"),
        ("\ud83d", "stand"),
        ("@owner", "stand"),
    ],
)
def test_names_that_could_do_harm_are_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(PolicyRefused, match=reason):
        check_name(name)


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("My Project!", "My-Project"),
        ("项目 1", "项目-1"),
        ("../../etc/passwd", "etc-passwd"),
        ("con", "name-con"),
        ("हिन्दी नाम", "हिन्दी-नाम"),
        ("cafe\u0301", "café"),
    ],
)
def test_a_refusal_suggests_a_name_that_will_do(name: str, suggested: str) -> None:
    with pytest.raises(PolicyRefused) as refused:
        check_name(name)
    assert refused.value.hint == f"Use for example: {suggested}"


def test_a_refusal_of_a_huge_name_is_short_and_harmless() -> None:
    with pytest.raises(PolicyRefused) as refused:
        check_name("\x1b[2J" + "x" * 1_000_000)
    assert len(str(refused.value)) < 300
    assert "\x1b" not in str(refused.value)
