"""A JSON array in pieces: the same elements wherever it is cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidMessage
from holdfast.formats.logs.arrays import elements_of
from holdfast.types import Json
from tests.scale import scaled

TEXTS = st.text(st.sampled_from('ab"\\{}[],: \n号\u2028'), max_size=12)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(
    values=st.lists(VALUES, max_size=6),
    step=st.integers(1, 9),
    indent=st.sampled_from([None, 1]),
    escape=st.booleans(),
)
@settings(max_examples=scaled(150))
def test_the_elements_are_the_same_wherever_the_text_is_cut(
    values: list[Json], step: int, indent: int | None, escape: bool
) -> None:
    text = "\ufeff " + json.dumps(values, indent=indent, ensure_ascii=escape) + "\n"
    pieces = [text[start : start + step] for start in range(0, len(text), step)]
    assert list(elements_of(pieces)) == values


@pytest.mark.parametrize("text", ['[{"a": 1}, {"b"', "[", "[1, 2", '["a', '[{"a": "]}'])
def test_an_array_that_breaks_off_gives_what_is_whole_and_says_so(text: str) -> None:
    given: list[Json] = []
    with pytest.raises(InvalidMessage, match="breaks off"):
        given.extend(elements_of(iter(text)))
    assert len(given) == text.count("}, {") + text.count("1, 2")


def test_what_is_no_array_or_too_long_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="no JSON array"):
        next(elements_of(["{}"]))
    with pytest.raises(InvalidMessage, match="Element 2 is longer than 100"):
        list(elements_of(['["a", "', *["x" * 40] * 9, '"]'], longest=100))
    with pytest.raises(InvalidMessage, match="Element 1 is not usable JSON"):
        list(elements_of(["[" * 100_000 + "]" * 100_000]))
