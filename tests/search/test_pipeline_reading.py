"""A search reads little: few statements, no text it does not show, no file it need not check."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import get_ident

import pytest

from holdfast.search.documents import Chunk, Document
from holdfast.search.index.snapshot import Snapshot
from holdfast.search.index.stored import StoredChunk
from holdfast.search.query.deadline import start
from holdfast.types import Citation
from tests.search.small_index import MINE, Small, texts


@pytest.fixture
def small(fast_path: Path) -> Iterator[Small]:
    made = Small.at(fast_path / "index")
    yield made
    made.index.close()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many chunks each reading of texts asked for."""
    counts: list[int] = []
    chunks = Snapshot.chunks

    def counted(snapshot: Snapshot, positions: list[int]) -> list[StoredChunk]:
        found = chunks(snapshot, positions)
        counts.append(len(found))
        return found

    monkeypatch.setattr(Snapshot, "chunks", counted)
    return counts


def notes(count: int) -> list[Chunk]:
    words = ["tea", "cup", "kettle", "honey", "lemon", "sugar"]
    return [
        Chunk(kind="text", text=f"{words[n % 6]} {words[n // 6 % 6]} and a pot of number{n}")
        for n in range(count)
    ]


def test_only_the_few_that_may_be_shown_are_read_in_one_statement(
    small: Small, reads: list[int]
) -> None:
    small.put(Document(key="memory/topics/tea.md", source="topic", place=MINE), notes(2000))
    statements: list[str] = []
    with small.index.snapshot() as snapshot:
        snapshot._connection.set_trace_callback(statements.append)
    assert len(small.find("a pot of tea with honey and lemon").passages) == 6
    assert reads == [13]
    assert sum("FROM chunk c JOIN body" in each for each in statements) == 1


def test_more_are_read_when_those_are_gone(small: Small, reads: list[int]) -> None:
    small.put(Document(key="memory/topics/tea.md", source="topic", place=MINE), notes(2000))
    found = small.find("tea with honey and lemon", content=lambda _: "something else")
    assert found.passages == ()
    assert reads[:2] == [13, 11]


def test_what_is_known_to_be_as_indexed_is_not_read_again(small: Small) -> None:
    small.write("MEMORY.md", "- Alice likes green tea\n")
    small.write("memory/topics/tea.md", "- Bob likes black tea\n")
    asked: list[str] = []

    def content(citation: Citation) -> str | None:
        asked.append(citation.source)
        return small.files[citation.source]

    fresh = {"MEMORY.md"}
    found = small.find("Who likes tea?", content=content, is_fresh=fresh.__contains__)
    assert len(found.passages) == 2
    assert asked == ["memory/topics/tea.md"]
    asked.clear()
    assert len(small.find("Who likes tea?", content=content).passages) == 2
    assert sorted(asked) == ["MEMORY.md", "memory/topics/tea.md"]


def test_a_thread_that_is_free_is_used_again() -> None:
    used = {start(get_ident).result(5) for _ in range(50)}
    assert get_ident() not in used
    assert len(used) < 10


# ── words for a limit of time ───────────────────────────────────────────────────────────────


def test_since_and_before_leave_out_what_is_of_another_time(small: Small) -> None:
    for year in (2022, 2023, 2024):
        small.say(f"s{year}", ("Ann", f"tea and cake {year}"), at=datetime(year, 6, 1, tzinfo=UTC))
    small.write("MEMORY.md", "- tea without a date\n")
    found = small.find("tea and cake since May 2023", explain=True)
    assert set(texts(found)) == {"tea and cake 2023", "tea and cake 2024", "- tea without a date"}
    assert found.trace["time_limit"] == {"left_out": 1}
    assert "tea and cake 2022" in texts(small.find("2023年5月之前的 tea and cake"))
    assert "tea and cake 2024" not in texts(small.find("2023年5月之前的 tea and cake"))
    assert len(small.find("tea and cake in June 2023").passages) == 4


@pytest.mark.parametrize("query", ["cake since May 2025", "scones before May 2023"])
def test_a_limit_that_leaves_nothing_is_only_a_wish(small: Small, query: str) -> None:
    small.say("s1", ("Ann", "tea"), at=datetime(2022, 6, 1, tzinfo=UTC))
    small.say("s2", ("Ann", "scones and cake"), at=datetime(2024, 6, 1, tzinfo=UTC))
    found = small.find(query, explain=True)
    assert texts(found)[0] == "scones and cake"
    assert "limits nothing" in str(found.trace["time_limit"])


def test_of_a_few_days_people_tell_in_the_weeks_after(small: Small) -> None:
    small.say("s1", ("Ann", "we were in Chicago"), at=datetime(2023, 8, 19, tzinfo=UTC))
    small.say("s2", ("Ann", "we were in Rome"), at=datetime(2023, 12, 1, tzinfo=UTC))
    asked = "Where were we between August 11 and August 15 2023?"
    assert texts(small.find(asked)) == ["we were in Chicago"]
