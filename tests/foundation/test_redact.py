"""Secrets do not get through; what only looks like one does."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.redact import find_secrets, has_secret, redact, redact_json
from holdfast.redact.shapes import SHAPES
from holdfast.retain import RetainLine, parse, render
from holdfast.types import Json
from tests.foundation.redact_samples import (
    ALIKE,
    ASSIGNED,
    CONTEXTS,
    PREFIXED,
    STRUCTURED,
    assigned_value,
)
from tests.scale import scaled


def missed(text: str, secret: str) -> bool:
    """Whether any telling part of the secret is still there."""
    shown = redact(text)
    at = len(secret) // 2
    return secret[at : at + 12] in shown or secret[-6:] in shown


def test_credentials_that_name_themselves_are_gone_in_every_context() -> None:
    assert len(PREFIXED) >= 60
    rng = Random(1)
    contexts = CONTEXTS[:: max(1, round(len(CONTEXTS) / min(len(CONTEXTS), scaled(25))))]
    tried = 0
    misses = []
    for name, make in PREFIXED.items():
        for context in contexts:
            for _ in range(scaled(1) if len(contexts) < len(CONTEXTS) else scaled(20) // 10):
                secret = make(rng)
                tried += 1
                if missed(context.replace("{}", secret), secret):
                    misses.append((name, context))
    assert tried >= len(PREFIXED) * len(contexts)
    assert len(misses) <= tried // 100, misses[:20]


def test_secrets_with_a_form_of_their_own_are_gone() -> None:
    rng = Random(2)
    misses = []
    for _ in range(scaled(10)):
        for name, make in STRUCTURED.items():
            text, secret = make(rng)
            if secret and secret in redact(f"before\n{text}\nafter"):
                misses.append((name, text))
    assert misses == []
    assert "3782" not in redact("card 3782 822463 10005")


def test_values_that_are_assigned_are_gone() -> None:
    rng = Random(3)
    tried = 0
    misses = []
    for _ in range(scaled(12)):
        for name, template in ASSIGNED.items():
            value = assigned_value(rng, name)
            text = f"so\n{template.replace('{}', value)}\nthen"
            tried += 1
            if value in redact(text):
                misses.append((name, value))
    assert len(misses) <= tried // 10, misses


def test_what_only_looks_alike_stays() -> None:
    rng = Random(4)
    tried = 0
    wrong = []
    for _ in range(scaled(20)):
        for name, make in ALIKE.items():
            text = make(rng)
            tried += 1
            if redact(text) != text:
                wrong.append((name, redact(text)))
    assert tried >= 1000
    assert len(wrong) <= tried // 1000, wrong[:20]


def test_the_public_start_stays_and_the_kind_is_named() -> None:
    assert redact(f"use ghp_{'a1B2' * 9} now") == "use [secret: github token ghp_…] now"
    assert redact(f"k=sk-ant-api03-{'x9-Y' * 22}AA") == "k=[secret: anthropic key sk-ant-api03-…]"
    assert redact("密码是hunter2。") == "密码是[secret: password]。"
    assert redact("postgres://jo:s3cret99@db/x") == "postgres://jo:[secret: password]@db/x"
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA\n" * 4
    end = "-----END RSA PRIVATE KEY-----"
    assert redact(f"{key}{end}") == f"-----BEGIN RSA PRIVATE KEY-----[secret: private key]{end}"


def test_a_private_key_that_was_cut_off_is_gone_too() -> None:
    lines = "\n".join("MIIEpAIBAAKCAQEA" * 4 for _ in range(5))
    shown = redact(f"-----BEGIN PRIVATE KEY-----\n{lines}\n\nand then we went home")
    assert "MIIE" not in shown
    assert "and then we went home" in shown


def test_where_a_secret_is_is_told_in_characters() -> None:
    text = "😀密码：hunter2 和 密码是abc12345x\n🔑ghp_" + "a1B2" * 9
    found = find_secrets(text)
    assert [text[each.start : each.end] for each in found] == [
        "hunter2",
        "abc12345x",
        "ghp_" + "a1B2" * 9,
    ]
    assert [each.kind for each in found] == ["password", "password", "github token"]


PIECES = st.one_of(
    st.sampled_from(
        [
            "password",
            "password=",
            "token: ",
            "secret",
            "密码是",
            "[secret: password]",
            "[secret: github token ghp_…]",
            "[secret: ",
            "ghp_" + "a1B2" * 9,
            "sk-ant-api03-" + "a1B2" * 9,
            "hunter2",
            "AKIA" + "A2" * 8,
            "eyJ" + "a1" * 10 + ".eyJ" + "b2" * 10 + "." + "c3" * 10,
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "MIIEpAIBAAKCAQEA" * 3,
            "postgres://a:",
            "@host/",
            "Bearer ",
            "Cookie: a=",
            "4111 1111 1111 1111",
            "<!-- hf ",
            " -->",
            "…",
            "]",
            '"',
            "'",
            "=",
            " is ",
            "\\n",
            "\n",
            " ",
            "_",
            "-",
            ".",
        ]
    ),
    st.text(max_size=8),
    st.from_regex(r"[A-Za-z0-9_-]{1,24}", fullmatch=True),
)


@settings(max_examples=scaled(200))
@given(st.lists(PIECES, max_size=14).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once) == once
    assert has_secret(text) == (once != text)
    assert not has_secret(once)


@settings(max_examples=scaled(100))
@given(st.lists(PIECES, max_size=10).map("".join))
def test_only_what_is_found_changes(text: str) -> None:
    found = find_secrets(text)
    ends = [0, *(each.end for each in found)]
    assert all(end <= each.start < each.end for end, each in zip(ends, found, strict=False))
    shown = redact(text)
    at = 0
    for before, each in zip(ends, found, strict=False):
        kept = text[before : each.start]
        assert shown.startswith(kept, at) or "[secret: " in text
        at += len(kept) + len(each.mark)


def test_strings_of_json_are_redacted_and_its_keys_are_not() -> None:
    value = {
        "password=hunter22": [f"ghp_{'a1B2' * 9}", {"n": 1, "t": "password=hunter22"}],
        "x": None,
    }
    assert redact_json(value) == {
        "password=hunter22": [
            "[secret: github token ghp_…]",
            {"n": 1, "t": "password=[secret: password]"},
        ],
        "x": None,
    }


def test_json_text_stays_json() -> None:
    rng = Random(5)
    for _ in range(scaled(100)):
        value = {name: make(rng) for name, make in rng.sample(sorted(PREFIXED.items()), 3)}
        value["password"] = assigned_value(rng, "json")
        redacted = json.loads(redact(json.dumps(value)))
        assert redacted.keys() == value.keys()
        assert redacted["password"] == "[secret: password]"


def test_the_ids_in_our_own_comments_stay() -> None:
    rng = Random(6)
    for _ in range(scaled(100)):
        line = RetainLine(
            kind="W",
            text="Anna likes tea.",
            id=f"{rng.getrandbits(128):032x}",
            sources=(
                f"token-{rng.getrandbits(64):x}#{rng.getrandbits(128):026x}",
                "password=hunter22#e1",
            ),
        )
        assert parse(redact(render(line))) == line


def test_more_than_sixty_kinds_are_told_apart() -> None:
    rng = Random(7)
    kinds = {find_secrets(f"use {make(rng)} now")[0].kind for make in PREFIXED.values()}
    assert len(kinds) >= 60
    assert len(SHAPES) >= 100
    assert kinds >= {"github token", "slack webhook", "age key", "zhipu key", "json web token"}


# ── much text ───────────────────────────────────────────────────────────────────────────────

HOSTILE = [
    "a",
    "sk-",
    "-eyJ",
    "eyJaaaaaaaaaa.",
    "password=",
    "pwd=x ",
    "password=true ",
    "token=aaaaaaaaaaaa1 ",
    "-----BEGIN PRIVATE KEY-----",
    "://",
    "://a:b",
    "://a:b@",
    "密码是",
    "密码：a",
    "AKIA",
    "/s-s",
    "cookie:a=",
    "cookie:aaaa=aaaa;",
    "bearer a",
    "bearer aaaaaaaaaaaaaaaa ",
    "4111 1111 ",
    "4111111111111112 ",
    "seed abandon ",
    "--a-a-a-pass",
    "login a\n",
    "[secret: ",
    "<!-- hf ",
    "\\n",
    "=" * 16,
    "'",
    "password for ",
    "ghp_" + "a" * 36 + " ",
    "0123456789abcdef" * 4 + ".",
    "**password:** `",
    "-----BEGIN PRIVATE KEY-----\n",
    "passphrase is ",
    "passphrase: one two ",
    "| password ",
    "|password|a1b2c3",
    "mysql -p",
    "a:5432:b:c:d",
    "a\ufe0f",
]


def steps_of(text: str) -> int:
    """How much work Python does to redact a text."""
    count = 0

    def trace(*_: object) -> None:
        nonlocal count
        count += 1

    redact(text)
    sys.setprofile(trace)
    try:
        redact(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_is_read_a_bounded_number_of_times(unit: str) -> None:
    """Counted in the work that Python does: it grows with the text, not with its square."""
    texts = [(unit * (size // len(unit) + 1))[:size] for size in (4_000, 8_000)]
    steps = [steps_of(text) for text in texts]
    assert steps[1] <= 2.6 * steps[0] + 200


@pytest.mark.parametrize(
    "unit", ["**password:** `", "-----BEGIN PRIVATE KEY-----\n", "passphrase is "]
)
def test_places_without_a_value_are_passed_over_in_one_search(unit: str) -> None:
    assert steps_of(unit * 2_000) <= 300


def strings_of(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from strings_of(each)
    elif isinstance(value, dict):
        yield from strings_of(list(value.values()))


@pytest.mark.data
def test_real_conversations_are_left_alone(data_dir: Path) -> None:
    """There are no live credentials in public sets: whatever is found is wrong."""
    texts: list[str] = []
    for file in sorted(data_dir.glob("*/*.jsonl.gz")):
        if file.name.startswith("joined"):
            continue
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number % max(1, round(10 / scaled(1))) == 0:
                    texts += strings_of(json.loads(line))
    assert len(texts) > 1000
    wrong = [text for text in texts if has_secret(text)]
    assert len(wrong) <= len(texts) // 1000, wrong[:5]


@pytest.mark.parametrize(
    "told",
    [
        "my password is swordfish",
        "My wifi password is swordfish.",
        "The password for my router is swordfish, by the way.",
        "our admin password is swordfish\nand that is all",
        "我的密码是 swordfish。",
    ],
)
def test_a_plain_word_is_a_password_where_somebody_tells_theirs(told: str) -> None:
    assert "swordfish" not in redact(told)


@pytest.mark.parametrize(
    "told",
    [
        "the password is required",
        "my password is wrong.",
        "my password is safe, I think",
        "my password is stored in the vault",
        "my password was leaked yesterday",
        "我的密码是错的",
        "密码是必填项。",
    ],
)
def test_what_is_said_about_a_password_is_none(told: str) -> None:
    assert redact(told) == told
