"""One long entry does not take all places of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.search.documents import Chunk, Document
from holdfast.search.query.candidates import Candidate
from holdfast.search.query.sharing import Taken, apart
from tests.search.small_index import MINE, NOW, Small


@pytest.fixture
def small(fast_path: Path) -> Iterator[Small]:
    made = Small.at(fast_path / "index")
    yield made
    made.index.close()


def a_log(parts: int, *others: str) -> tuple[Document, list[Chunk]]:
    """A conversation with one long answer of a tool, and a few other things that were said."""
    pages = [
        Chunk(
            kind="tool",
            text=f"deploy log page {page}: deploy step {page} deploy deploy",
            entry="tool-1",
            part=page,
            speaker="tool",
            at=NOW,
        )
        for page in range(parts)
    ]
    said = [
        Chunk(kind="turn", text=text, entry=f"turn-{number}", speaker="Ann", at=NOW)
        for number, text in enumerate(others)
    ]
    return Document(key="sessions/s1", source="session", place=MINE), [*pages, *said]


@pytest.mark.parametrize("parts", [5, 90])
def test_an_entry_takes_two_places_while_there_is_anything_else(small: Small, parts: int) -> None:
    others = [f"we want to deploy the {name} on some quiet evening" for name in ("shop", "blog")]
    small.put(*a_log(parts, *others))
    shown = [one.entries[0] for one in small.find("deploy", limit=4).passages]
    assert shown.count("tool-1") == 2
    assert {"turn-0", "turn-1"} <= set(shown)


def test_what_nobody_else_needs_is_given_to_the_entry(small: Small) -> None:
    small.put(*a_log(9))
    shown = [one.entries[0] for one in small.find("deploy", limit=6).passages]
    assert shown == ["tool-1"] * 6


def candidate(number: int, entry: str | None, *, exact: bool = False) -> Candidate:
    return Candidate(
        id=str(number),
        key="sessions/s1",
        source="session",
        place=MINE,
        kind="tool",
        text=f"text {number}",
        score=-float(number),
        entry=entry,
        exact=exact,
    )


def test_an_exact_match_is_one_of_the_two() -> None:
    given_ = [candidate(n, "e", exact=n == 4) for n in range(6)]
    kept, put_off = apart(given_, Taken())
    assert [one.id for one in kept] == ["0", "4"]
    assert [one.id for one in put_off] == ["1", "2", "3", "5"]


@given(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.booleans()), max_size=24))
def test_nothing_is_lost_and_no_entry_has_more_than_two(
    drawn: list[tuple[str | None, bool]],
) -> None:
    every = [candidate(n, entry, exact=exact) for n, (entry, exact) in enumerate(drawn)]
    taken = Taken()
    kept, put_off = apart(every[:12], taken)
    later, put_off_later = apart(every[12:], taken)
    placed = [*kept, *later]
    assert sorted((one.id for one in (*placed, *put_off, *put_off_later)), key=int) == [
        one.id for one in every
    ]
    for entry in ("a", "b"):
        count = sum(one.entry == entry for one in placed)
        assert count == min(2, sum(one.entry == entry for one in every))
