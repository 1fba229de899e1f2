"""What is shown may not be what was asked for: then the answer says so, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from holdfast.search.query.telling import NO_WORD
from holdfast.testing.embedders import HashingEmbedder
from tests.search.small_index import Small, citations, texts


@pytest.fixture
def small(fast_path: Path) -> Iterator[Small]:
    made = Small.at(fast_path / "index")
    yield made
    made.index.close()


# ── time ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "when"),
    [
        ("tea between 1 January 2026 and 3 March 2026", "from 2026-01-01 to 2026-03-03"),
        ("tea since May 2025", "from 2025-05-01 or later"),
        ("tea before May 2020", "from 2020-04-30 or before"),
        ("2020年5月之前的 tea", "from 2020-04-30 or before"),
    ],
)
def test_a_limit_in_the_question_that_left_nothing_is_told(
    small: Small, query: str, when: str
) -> None:
    small.say("s1", ("Ann", "tea and cake"), at=datetime(2024, 6, 1, tzinfo=UTC))
    found = small.find(query)
    assert texts(found) == ["tea and cake"]
    assert found.degraded == (f"time: nothing is {when}; shown is what is nearest",)


def test_a_limit_in_the_question_that_holds_is_not_told(small: Small) -> None:
    small.say("s1", ("Ann", "tea and cake"), at=datetime(2024, 6, 1, tzinfo=UTC))
    small.write("MEMORY.md", "- tea without a date\n")
    found = small.find("tea since May 2024")
    assert len(found.passages) == 2
    assert found.degraded == ()


def test_what_a_given_range_leaves_out_for_want_of_a_date_is_counted(small: Small) -> None:
    small.say("s1", ("Ann", "tea and cake"), at=datetime(2024, 6, 1, tzinfo=UTC))
    small.write("MEMORY.md", "- tea without a date\n\n- cake without a date\n")
    for asked in ({"since": date(2024, 1, 1)}, {"until": date(2025, 1, 1)}):
        found = small.find("tea", **asked)
        assert texts(found) == ["tea and cake"]
        assert found.degraded == ("time: 2 passages without a date were left out",)
    found = small.find("tea", since=date(2024, 1, 1), source="session")
    assert found.degraded == ()


# ── words ───────────────────────────────────────────────────────────────────────────────────


def test_that_only_the_meaning_was_near_is_told(small: Small) -> None:
    near = HashingEmbedder(same={"moggie": "cat"})
    small.write("MEMORY.md", "- the cat sleeps\n\n- the dog barks\n")
    small.embed(near)
    found = small.find("moggie", embedders=[near])
    assert "cat sleeps" in texts(found)[0]
    assert found.degraded == (NO_WORD,)
    assert small.find("moggie cat", embedders=[near]).degraded == ()


def test_a_note_in_another_script_has_other_words_and_that_is_not_told(small: Small) -> None:
    near = HashingEmbedder(same={"feline": "猫"})
    small.write("MEMORY.md", "- 那只猫很懒\n")
    small.embed(near)
    found = small.find("feline", embedders=[near])
    assert len(found.passages) == 1
    assert found.degraded == ()


# ── repeats ─────────────────────────────────────────────────────────────────────────────────


def test_repeats_are_named_with_the_place_in_their_document(small: Small) -> None:
    small.write("MEMORY.md", "- Alice likes green tea\n")
    small.write("memory/topics/tea.md", "# Tea\n\n- Alice likes green tea\n")
    found = small.find("Alice green tea")
    assert len(found.passages) == 1
    trace = found.passages[0].trace
    assert trace is not None
    every = {*citations(found), *map(str, trace["also"])}
    assert every == {"MEMORY.md#L1", "memory/topics/tea.md#L3"}
