"""An index: what goes in comes out, is found, keeps its number, and stays private."""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from holdfast.disk import Directory
from holdfast.errors import NotFound, StorageError
from holdfast.scope import Place
from holdfast.search.documents import Chunk, Document, SourceKind, identified
from holdfast.search.index import UNFINISHED, Index, Put, Reading, Snapshot, Stamp
from holdfast.search.ranking.rows import Flag, Form
from holdfast.types import LineSpan

HOME = Place(tenant="local", agent="main")
TEAM = Place(tenant="local", agent="main", chat="team")
STAMP = Stamp(size=3, mtime_ns=4, inode=5, content="c", entries=6, extra="x")


def searched(document: Document, chunk: Chunk) -> str:
    return f"{chunk.context} {chunk.text} {' '.join(chunk.entities)}"


def terms(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+|[一-鿿]", text.lower())


def number_of(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big")


READING = Reading(
    searched_text=searched,
    index_terms=terms,
    term_hash=number_of,
    flags_of=lambda text: int(Flag.ASKS) if "?" in text else 0,
    embedded_text=lambda document, chunk: f"{chunk.speaker or ''}: {chunk.text}",
    version="1",
)


@dataclass(frozen=True)
class Asked:
    text: str


def document(key: str, *, source: SourceKind = "daily", place: Place = HOME) -> Document:
    return Document(key=key, source=source, place=place, title=f"title of {key}")


def chunks(owner: Document, *texts: str, speaker: str | None = None) -> list[Chunk]:
    made = [
        Chunk(
            kind="turn" if owner.source == "session" else "text",
            text=text,
            span=LineSpan(start=at + 1, end=at + 1),
            speaker=speaker,
        )
        for at, text in enumerate(texts)
    ]
    return [replace(one, id=uid) for one, uid in zip(made, identified(owner, made), strict=True)]


def texts_with(snapshot: Snapshot, word: str, places: frozenset[int] | None = None) -> list[str]:
    found = snapshot.postings([Asked(word)], places)[0]
    return [each.text for each in snapshot.chunks(found.positions)]


@pytest.fixture
def folder(tmp_path: Path) -> Directory:
    return Directory.open(tmp_path / ".index")


@pytest.fixture
def index(folder: Directory) -> Iterator[Index]:
    with Index.open(folder, READING) as index:
        yield index


def put(index: Index, key: str, *texts: str, place: Place = HOME) -> Put:
    owner = document(key, place=place)
    return index.put(owner, chunks(owner, *texts), STAMP)


# ── in and out ──────────────────────────────────────────────────────────────────────────────


def test_a_chunk_comes_out_as_it_went_in(index: Index) -> None:
    owner = Document(key="bank/a.md", source="bank", place=HOME, title="T\udc80", day=date.max)
    chunk = Chunk(
        kind="fact",
        text="likes 茶 \udcff\0 tea",
        context="Ann › drinks",
        span=LineSpan(start=3, end=9),
        entry="e1",
        part=2,
        speaker="Zoë",
        at=datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC),
        fact_kind="O",
        entities=("Ann", "Böb \ud800"),
        since=date(2026, 1, 2),
        until=datetime(2026, 2, 3, 4, tzinfo=UTC),
        trust="import",
        importance=0.25,
        place=TEAM,
        id="some-id",
    )
    index.put(owner, [chunk], STAMP)
    with index.snapshot() as snapshot:
        (found,) = snapshot.chunks([0])
        row = snapshot.documents[snapshot.rows.document[0]]
        assert (row.key, row.source, row.title, row.day) == (
            owner.key,
            owner.source,
            owner.title,
            owner.day,
        )
        assert found.document == row
        for name in Chunk.__dataclass_fields__:
            assert getattr(found, name) == getattr(chunk, name)
        assert snapshot.places[snapshot.rows.place[0]] == TEAM
        assert snapshot.rows.flags[0] == Flag.FACT
        assert snapshot.rows.at[0] == chunk.at.timestamp() if chunk.at else False
        assert snapshot.fact[0] == 2
        assert snapshot.entity_mask(["ANN"]).tolist() == [True]
        assert snapshot.entity_mask(["An"]).tolist() == [False]
        assert snapshot.chunk("some-id") == found


def test_stamps_come_back_and_can_be_changed_alone(index: Index) -> None:
    put(index, "a.md", "one")
    assert index.known() == {"a.md": STAMP}
    assert index.touch("a.md", replace(STAMP, size=9))
    assert index.known() == {"a.md": replace(STAMP, size=9)}
    assert not index.touch("b.md", STAMP)


def test_every_chunk_that_holds_a_term_is_found_with_how_often(index: Index) -> None:
    put(index, "a.md", "tea", "coffee and tea tea", "tea " * 7, "milk")
    with index.snapshot() as snapshot:
        found, missing = snapshot.postings([Asked("tea"), Asked("gin")])
        assert found.positions.tolist() == [0, 1, 2]
        assert found.counts.tolist() == [1, 2, 4]
        assert not len(missing.positions)
        assert snapshot.rows.length.tolist() == [1, 4, 7, 1]


def test_details_hold_the_exact_terms_of_the_rows_asked_for(index: Index) -> None:
    put(index, "a.md", "tea", "coffee and tea tea", "milk")
    with index.snapshot() as snapshot:
        details = snapshot.details(np.array([1, 0]))
        parts = details.terms
        assert parts.counts is not None
        first = slice(parts.starts[0], parts.starts[1])
        assert dict(
            zip(parts.values[first].tolist(), parts.counts[first].tolist(), strict=True)
        ) == {
            number_of("tea"): 2,
            number_of("coffee"): 1,
            number_of("and"): 1,
        }
        assert parts.values[parts.starts[1] :].tolist() == [number_of("tea")]


@pytest.mark.parametrize("others", [0, 60])
def test_terms_are_found_inside_the_places_asked_for_alone(index: Index, others: int) -> None:
    """In a small part of the index, and in a large one."""
    put(index, "a.md", "tea at home")
    put(index, "chats/team/b.md", "tea in the team", place=TEAM)
    put(index, "c.md", *(f"tea number {each}" for each in range(others)))
    with index.snapshot() as snapshot:
        team = frozenset([snapshot.places.index(TEAM)])
        assert texts_with(snapshot, "tea", team) == ["tea in the team"]
        assert texts_with(snapshot, "tea", frozenset()) == []
        assert len(texts_with(snapshot, "tea")) == 2 + others
        assert texts_with(snapshot, "tea", team) == ["tea in the team"]


def test_neighbours_follow_the_document_and_not_the_order_of_storing(index: Index) -> None:
    put(index, "a.md", "one", "three")
    put(index, "b.md", "other")
    put(index, "a.md", "zero", "one", "two", "three")
    with index.snapshot() as snapshot:
        rows, said = snapshot.rows, [each.text for each in snapshot.chunks(range(5))]
        at = said.index("zero")
        assert rows.before[at] == -1
        way = []
        while at >= 0:
            way.append(said[at])
            at = int(rows.after[at])
        assert way == ["zero", "one", "two", "three"]
        assert rows.before[said.index("three")] == said.index("two")


# ── edits ───────────────────────────────────────────────────────────────────────────────────


def test_an_edit_keeps_the_chunks_that_stayed(index: Index) -> None:
    put(index, "a.md", "one", "two", "three")
    done = put(index, "a.md", "zero", "one", "three", "four")
    assert (done.added, done.kept, done.removed) == (2, 2, 1)
    with index.snapshot() as snapshot:
        found = {each.text: each.span for each in snapshot.chunks(range(4))}
        assert found["three"] == LineSpan(start=3, end=3)
        assert texts_with(snapshot, "two") == []


def test_the_same_words_in_another_place_are_found_there_alone(index: Index) -> None:
    put(index, "a.md", "tea")
    put(index, "a.md", "tea", place=TEAM)
    with index.snapshot() as snapshot:
        assert texts_with(snapshot, "tea", frozenset([snapshot.places.index(HOME)])) == []
        assert texts_with(snapshot, "tea", frozenset([snapshot.places.index(TEAM)])) == ["tea"]
    assert index.verify() == []


def test_a_changed_entity_is_found_by_its_new_name(index: Index) -> None:
    owner = document("a.md")
    (chunk,) = chunks(owner, "likes tea")
    for name in ("Ann", "Bea"):
        index.put(owner, [replace(chunk, entities=(name,))], STAMP)
    with index.snapshot() as snapshot:
        assert snapshot.entity_mask(["ann"]).tolist() == [False]
        assert snapshot.entity_mask(["bea"]).tolist() == [True]
        assert texts_with(snapshot, "ann") == []


def test_nothing_to_do_changes_nothing(index: Index) -> None:
    put(index, "a.md", "one", "two")
    with index.snapshot() as snapshot:
        rows = snapshot.rows
    assert put(index, "a.md", "one", "two") == Put(kept=2)
    with index.snapshot() as snapshot:
        assert snapshot.rows is rows


def test_appending_again_what_was_appended_adds_nothing(index: Index) -> None:
    owner = document("sessions/s", source="session")
    said = chunks(owner, "hello", "how are you?", "fine", speaker="ann")
    index.extend(owner, said[:2], STAMP)
    assert index.extend(owner, said[1:], STAMP) == Put(added=1, kept=1)
    with index.snapshot() as snapshot:
        assert [each.text for each in snapshot.chunks(range(3))] == [
            "hello",
            "how are you?",
            "fine",
        ]
        assert snapshot.rows.after.tolist() == [1, 2, -1]
        assert snapshot.rows.flags.tolist() == [0, Flag.ASKS, 0]


def test_a_second_voice_makes_a_dialogue_of_messages(index: Index) -> None:
    owner = document("sessions/s", source="session")
    index.extend(owner, chunks(owner, "hello", speaker="ann"), STAMP)
    with index.snapshot() as snapshot:
        assert snapshot.rows.form.tolist() == [Form.MESSAGES]
    index.extend(owner, chunks(owner, "hi", speaker="bob"), STAMP)
    put(index, "a.md", "notes")
    with index.snapshot() as snapshot:
        assert snapshot.rows.form.tolist() == [Form.DIALOGUE, Form.DIALOGUE, Form.NOTES]
        assert [snapshot.rows.speakers[each] for each in snapshot.rows.speaker[:2]] == [
            "ann",
            "bob",
        ]
        assert snapshot.rows.speaker[2] == -1


def test_a_dropped_document_is_gone_and_its_neighbours_stay(index: Index) -> None:
    put(index, "a.md", "tea one", "tea two")
    put(index, "b.md", "tea three")
    assert index.drop("a.md").removed == 2
    assert index.drop("a.md").removed == 0
    with index.snapshot() as snapshot:
        assert texts_with(snapshot, "tea") == ["tea three"]
        assert [each.key for each in snapshot.documents] == ["b.md"]
    assert list(index.known()) == ["b.md"]


def test_a_large_document_comes_in_slices_and_goes_in_slices(index: Index) -> None:
    texts = [f"word{each} common" for each in range(1_500)]
    assert put(index, "a.md", *texts).added == 1_500
    assert index.known()["a.md"] == STAMP
    with index.snapshot() as snapshot:
        assert len(snapshot.postings([Asked("common")])[0].positions) == 1_500
    done = put(index, "a.md", *texts[700:])
    assert (done.added, done.kept, done.removed) == (0, 800, 700)
    assert index.drop("a.md").removed == 800
    assert index.verify() == []


# ── moments ─────────────────────────────────────────────────────────────────────────────────


def test_a_snapshot_stays_as_it_was(index: Index) -> None:
    put(index, "a.md", "tea one", "tea two")
    with index.snapshot() as before:
        put(index, "a.md", "tea two", "tea three")
        with index.snapshot() as after:
            assert texts_with(after, "tea") == ["tea two", "tea three"]
        assert texts_with(before, "tea") == ["tea one", "tea two"]
        assert [each.text for each in before.chunks(range(2))] == ["tea one", "tea two"]


def test_asking_again_reads_nothing_again(index: Index) -> None:
    put(index, "a.md", *(f"tea {each}" for each in range(50)))
    with index.snapshot() as snapshot:
        texts_with(snapshot, "tea")
        words, blobs = snapshot._moment.words, snapshot._moment.terms
        snapshot.details(np.arange(50))
        statements, rows = words.statements, blobs.rows_read
    with index.snapshot() as snapshot:
        texts_with(snapshot, "tea")
        snapshot.details(np.arange(50))
        assert (words.statements, blobs.rows_read) == (statements, rows)


def test_opening_again_reads_packed_rows_and_only_what_came_later(folder: Directory) -> None:
    with Index.open(folder, READING) as index:
        put(index, "a.md", *(f"tea {each}" for each in range(30)))
        with index.snapshot() as snapshot:
            before = snapshot.rows
    with Index.open(folder, READING) as index:
        put(index, "b.md", "tea later")
        put(index, "a.md", *(f"tea {each}" for each in range(1, 30)))
    with Index.open(folder, READING) as index, index.snapshot() as snapshot:
        assert len(before) == 30
        assert len(snapshot.rows) == 30
        assert len(texts_with(snapshot, "tea")) == 30


def test_another_index_on_the_same_folder_sees_what_was_put(folder: Directory) -> None:
    with Index.open(folder, READING) as one, Index.open(folder, READING, read_only=True) as two:
        for count in range(1, 4):
            put(one, f"{count}.md", "tea")
            with two.snapshot() as snapshot:
                assert len(texts_with(snapshot, "tea")) == count
        with pytest.raises(StorageError):
            put(two, "x.md", "tea")


def test_there_is_nothing_to_read_where_nothing_was_put(folder: Directory) -> None:
    with pytest.raises(NotFound):
        Index.open(folder, READING, read_only=True)


def test_only_the_owner_can_read_the_files(index: Index, folder: Directory) -> None:
    put(index, "a.md", "tea")
    with index.snapshot():
        for path in folder.path.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_status_counts_what_is_there(index: Index) -> None:
    put(index, "a.md", "one", "two")
    put(index, "b.md", "three")
    index.touch("b.md", UNFINISHED)
    status = index.status()
    assert (status.documents, status.unfinished, status.chunks) == (2, 1, 3)
    assert status.bytes > 0


def test_times_without_zone_and_days_are_numbers_too(index: Index) -> None:
    owner = document("a.md")
    one = chunks(owner, "x")[0]
    later = replace(one, since=date(1970, 1, 2), until=datetime(1970, 1, 1, 1), id="b")  # noqa: DTZ001
    index.put(owner, [one, later], STAMP)
    with index.snapshot() as snapshot:
        assert np.isnan(snapshot.rows.at).all()
        assert snapshot.since[1] == timedelta(days=1).total_seconds()
        assert snapshot.until[1] == 3600


def texts_of(snapshot: Snapshot, positions: Sequence[int]) -> list[str]:
    return [each.text for each in snapshot.chunks(positions)]
