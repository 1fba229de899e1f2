"""Shortened JSON still parses, fits, and says what is missing."""

from __future__ import annotations

import json
import math
import re
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text import shorten_json
from tests.scale import scaled

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=80)
    | st.text(st.sampled_from('ab"\\\n\x01漢e\u0301👩\u200d…\ud83d'), max_size=200)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=12)
        | st.dictionaries(st.text(max_size=12) | st.sampled_from(["…", "……"]), inner, max_size=12)
    ),
    max_leaves=40,
)
MORE_ITEMS = re.compile(r"… \+(\d+) items?")
MORE_CHARS = re.compile(r"(?s)(.*)… \+(\d+) chars?")


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@settings(max_examples=scaled(150))
@given(VALUES, st.integers(-1, 400))
def test_shortened_json_parses_and_fits(value: Any, limit: int) -> None:
    text = shorten_json(value, limit)
    assert len(text) <= max(3, limit)
    text.encode("utf-8")
    check_parts(value, json.loads(text))


def check_parts(whole: Any, shown: Any) -> None:
    """Every part that is shown is a part of the whole, and what is missing is counted."""
    if shown == whole or shown == "…":
        return
    if isinstance(whole, str):
        if found := MORE_CHARS.fullmatch(shown):
            assert whole.startswith(found[1])
            assert len(found[1]) + int(found[2]) == len(whole)
        else:  # two lone surrogates in a row come back as the character they spell
            assert shown.encode("utf-16", "surrogatepass") == whole.encode(
                "utf-16", "surrogatepass"
            )
    elif isinstance(whole, list):
        check_list(whole, shown)
    elif isinstance(whole, dict):
        missing = 0
        for key, value in shown.items():
            if key in whole:
                check_parts(whole[key], value)
            elif value.startswith("+"):
                missing = int(value[1:].split()[0])
                assert set(key) == {"…"}
        if "\ud83d" not in compact(whole):
            assert len(whole) == len(shown) - bool(missing) + missing
    else:
        pytest.fail(f"{shown!r} is no part of {whole!r}")


def check_list(whole: list[Any], shown: list[Any]) -> None:
    if shown and isinstance(shown[-1], str) and (found := MORE_ITEMS.fullmatch(shown[-1])):
        assert len(shown) - 1 + int(found[1]) == len(whole)
        shown = shown[:-1]
    else:
        assert len(shown) == len(whole)
    for value, part in zip(whole, shown, strict=False):
        check_parts(value, part)


@given(VALUES)
def test_what_fits_is_not_touched(value: Any) -> None:
    text = compact(value)
    if text.isascii():
        assert shorten_json(value, len(text)) == text


def test_what_is_small_stays_whole_and_what_is_large_gives_way() -> None:
    value = {"status": "failed", "code": 7, "log": "line\n" * 1000, "path": "/srv/app/main.py"}
    shown = json.loads(shorten_json(value, 200))
    assert (shown["status"], shown["code"], shown["path"]) == ("failed", 7, "/srv/app/main.py")
    assert shown["log"].startswith("line\nline\n")
    assert re.search(r"… \+\d+ chars$", shown["log"])


def test_a_long_array_shows_its_beginning_and_how_many_are_missing() -> None:
    shown = json.loads(shorten_json(list(range(100_000)), 60))
    assert shown[:5] == [0, 1, 2, 3, 4]
    assert shown[-1] == f"… +{100_000 - (len(shown) - 1)} items"


def test_a_long_object_keeps_later_keys_that_fit() -> None:
    value = {"k" * 500: 1, "a": 1, "b": 2}
    assert json.loads(shorten_json(value, 60)) == {"a": 1, "b": 2, "…": "+1 key"}


def test_the_mark_of_missing_keys_never_hides_a_key() -> None:
    value: dict[str, Any] = {"…": "mine", **{f"key-{n}": "x" * 30 for n in range(50)}}
    shown = json.loads(shorten_json(value, 200))
    assert shown["…"] == "mine"
    assert shown["……"].startswith("+")


@pytest.mark.parametrize(("limit", "text"), [(-5, '"…"'), (2, '"…"'), (3, '"…"'), (12, '"…"')])
def test_tiny_limits_give_the_smallest_mark(limit: int, text: str) -> None:
    assert shorten_json({"key": "a long value " * 9}, limit) == text


@pytest.mark.parametrize("shape", ["array", "object"])
def test_nesting_deeper_than_python_can_recurse_is_shortened(shape: str) -> None:
    value: Any = "deep"
    for _ in range(100_000):
        value = [value] if shape == "array" else {"k": value}
    text = shorten_json(value, 500)
    json.loads(text)
    assert len(text) <= 500
    assert "+1 " in text
    while isinstance(value, list | dict):  # taken apart by hand: the interpreter would recurse
        value = value[0] if isinstance(value, list) else value["k"]


def test_numbers_json_has_no_word_for_become_null() -> None:
    assert shorten_json([math.nan, math.inf, 1.5], 100) == "[null,null,1.5]"


def test_lone_surrogates_are_escaped_so_that_the_text_can_be_encoded() -> None:
    assert shorten_json(["\ud83d", "漢"], 100) == '["\\ud83d","漢"]'


def test_mappings_of_any_kind_are_objects() -> None:
    assert shorten_json(MappingProxyType({"a": (1, None)}), 100) == '{"a":[1,null]}'


def test_what_is_not_json_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="Circular"):
        shorten_json(circle, 10)
    with pytest.raises(TypeError, match="set"):
        shorten_json({"a": {1, 2}}, 10)


@pytest.mark.timeout(20)
def test_a_large_value_is_shortened_in_time() -> None:
    value = {"rows": [{"id": n, "text": "x" * 50} for n in range(100_000)]}
    assert len(shorten_json(value, 4000)) <= 4000
