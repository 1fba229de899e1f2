"""A secret with something invisible in it is a secret, and is found where it stands."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.redact import find_secrets, has_secret, redact
from holdfast.redact.hidden import Plain
from holdfast.text import is_hidden

TOKEN = "ghp_" + "a1B2" * 9
HIDDEN = [
    "\ufe0f",
    "\ufe00",
    "\u200b",
    "\u00ad",
    "\U000e0041",
    "\u202e",
    "\u2060",
    "\u200d",
    "\x01",
]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_token_with_hidden_characters_in_it_is_a_token(hidden: str) -> None:
    for at in (2, 4, 5, 13, len(TOKEN) - 1):
        broken = TOKEN[:at] + hidden + TOKEN[at:]
        for context in ("use {} now", "😀{}️ ", "钥匙：{}。", "{}"):
            text = context.replace("{}", broken)
            assert redact(text) == context.replace("{}", "[secret: github token ghp_…]"), (at, text)
            assert has_secret(text)
    assert redact(f"pass{hidden}word=hunter22") == f"pass{hidden}word=[secret: password]"
    assert "hunter22" not in redact(f"密{hidden}码是hunter22。")


def test_every_character_of_a_token_may_be_followed_by_one() -> None:
    text = "\ufe0f".join(TOKEN)
    assert redact(f"see {text}!") == "see [secret: github token ghp_…]!"
    (found,) = find_secrets(f"见️ {text}!")
    assert (found.start, found.end) == (3, 3 + len(text))


def test_what_a_hidden_character_parts_is_found_on_either_side() -> None:
    text = f"seen\0{TOKEN}\0then"
    assert TOKEN[8:] not in redact(text)
    assert redact(text).startswith("seen\0[secret: github token ghp_…]")


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧 and ❤️ at 9️⃣, password: required",
        "naïve\u00adly, the pass\u00adword is required",
        "a\0b\0c",
    ],
)
def test_hidden_characters_alone_are_no_secret(text: str) -> None:
    assert redact(text) == text


def test_hidden_is_what_the_text_room_calls_hidden() -> None:
    for code in range(sys.maxunicode + 1):
        assert (Plain(chr(code)).text == "") == is_hidden(chr(code)), hex(code)
        if code < 0x3000:
            assert Plain.differs(chr(code)) == is_hidden(chr(code))


@given(st.text(st.sampled_from("aé汉😀\u200b\ufe0f\0"), min_size=1))
def test_a_place_in_the_plain_text_leads_back(text: str) -> None:
    plain = Plain(text)
    assert plain.text == "".join(char for char in text if not is_hidden(char))
    for at, char in enumerate(plain.text):
        start, end = plain.span(at, at + 1)
        assert text[start:end] == char
    if plain.text:
        start, end = plain.span(0, len(plain.text))
        assert Plain(text[start:end]).text == plain.text
