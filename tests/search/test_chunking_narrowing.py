"""A comment that names a reader narrows what stands around it, for search and reading alike."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.markdown import split_lines
from holdfast.retain.narrowing import narrowed_lines
from holdfast.scope import Place
from tests.scale import scaled
from tests.search.test_chunking import TEAM, chunked, generated

COMMENT = ' <!-- hf {"user":"bob"} -->'


def lines_of(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in split_lines(text)]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"> - W: x{COMMENT}\n> more\n\nopen\n", 2),
        (f"1. W: x{COMMENT}\n   more\n\n   - inside\n\nopen\n", 4),
        (f"words:{COMMENT}\n\nopen\n\n- open\n", 1),
        (f"words{COMMENT}\nand these:\n\n- open\n", 2),
        (f"- item\n  - inner{COMMENT}\n    - deeper\n- open\n", 0),
        (f"| a | b |\n|---|---|\n| x | y{COMMENT} |\n\nopen\n", 3),
        (f"# Secret{COMMENT}\n\nwords\n\n## Inner\n\n- item\n\n# Open\n\nopen\n", 7),
        (f"- loose <!-- hf\n\n- W: x{COMMENT}\n\nopen\n", 0),
    ],
)
def test_a_comment_that_names_a_reader_narrows_its_block_whatever_that_is(
    text: str, secret: int
) -> None:
    narrowed = Place(tenant="local", agent="main", user="bob", chat="team")
    by_line = narrowed_lines(text, TEAM)
    assert set(by_line.values()) == {narrowed}
    assert not secret or set(range(1, secret + 1)) >= set(by_line)
    found = chunked(text, place=TEAM)
    for chunk in found:
        assert chunk.span is not None
        numbers = range(chunk.span.start, chunk.span.end + 1)
        places = {by_line.get(number) for number in numbers if lines_of(text)[number - 1].strip()}
        assert places == {chunk.place}
        if chunk.place is None:
            assert "Secret" not in chunk.context
            assert "words" not in chunk.context
    assert any(chunk.place is None and "open" in chunk.text.lower() for chunk in found)


@settings(max_examples=scaled(60))
@given(seed=st.integers(0, 10**9))
def test_no_chunk_is_for_more_readers_than_any_of_its_lines(seed: int) -> None:
    rng = random.Random(seed)
    lines = lines_of(generated(rng))
    lines = [line + COMMENT if rng.random() < 0.1 else line for line in lines]
    text = "\n".join(lines)
    by_line = narrowed_lines(text, TEAM)
    for chunk in chunked(text, place=TEAM):
        if chunk.span is not None and chunk.place is None:
            assert not set(range(chunk.span.start, chunk.span.end + 1)) & set(by_line)
