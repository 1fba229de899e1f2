"""An index that followed any sequence of edits says what a new one of the same texts says."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holdfast.disk import Directory
from holdfast.search.documents import Chunk, Document, SourceKind
from holdfast.search.index import Index, Snapshot, Stamp, Vector
from holdfast.search.index import planning as index_planning
from tests.scale import scaled
from tests.search.test_index import HOME, READING, STAMP, TEAM, Asked, chunks, document

WORDS = ["tea", "coffee", "milk", "rain", "茶", "水"]
KEYS = ["a.md", "b.md", "sessions/s"]
said = st.lists(st.lists(st.sampled_from(WORDS), min_size=0, max_size=6).map(" ".join), max_size=5)


def shown(snapshot: Snapshot) -> dict[str, Any]:
    """Everything a search can see, by the ids of the chunks: positions mean nothing."""
    rows, count = snapshot.rows, len(snapshot.rows)
    stored = snapshot.chunks(range(count))
    ids = [each.id for each in stored]

    def named(at: int) -> str | None:
        return None if at < 0 else ids[at]

    details = snapshot.details(np.arange(count), ["e"])
    terms = details.terms
    assert terms.counts is not None
    vectors = details.vectors.get("e", np.full((count, 4), np.nan, dtype=np.float32))
    of_rows = {
        each.id: (
            each,
            named(int(rows.before[at])),
            named(int(rows.after[at])),
            int(rows.length[at]),
            int(rows.flags[at]),
            int(rows.form[at]),
            int(rows.source[at]),
            snapshot.documents[rows.document[at]].key,
            snapshot.places[rows.place[at]],
            None if rows.speaker[at] < 0 else rows.speakers[rows.speaker[at]],
            tuple(terms.values[terms.starts[at] : terms.starts[at + 1]].tolist()),
            tuple(terms.counts[terms.starts[at] : terms.starts[at + 1]].tolist()),
            str(np.round(vectors[at], 3)),  # nothing equals NaN
        )
        for at, each in enumerate(stored)
    }
    return {"rows": of_rows, "words": found(snapshot, ids), "documents": set(snapshot.documents)}


def found(snapshot: Snapshot, ids: list[str]) -> Mapping[str, Any]:
    result = {}
    for word in WORDS:
        for places in (None, *(frozenset([each]) for each in range(len(snapshot.places)))):
            hits = snapshot.postings([Asked(word)], places)[0]
            name = None if places is None else snapshot.places[min(places)]
            if len(hits.positions):
                assert (np.diff(hits.positions) > 0).all()
                result[f"{word} {name}"] = {
                    ids[at]: often
                    for at, often in zip(hits.positions.tolist(), hits.counts.tolist(), strict=True)
                }
    return result


def vector_of(text: str) -> Vector:
    """Of the text alone."""
    made = np.array([len(text) + 1, text.count("e"), text.count("a"), 1], dtype=np.float32)
    return Vector(vector=made, tokens=np.full((len(text) % 3, 1), len(text), dtype=np.uint64))


def embed(index: Index) -> None:
    while waiting := index.pending("e", 7):
        index.put_vectors("e", {each.chunk: vector_of(each.text) for each in waiting})


class Edits(RuleBasedStateMachine):
    """One process that searches and writes, another that only looks now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Directory.open(Path(self.temporary.name) / "one")
        self.index = Index.open(self.folder, READING)
        self.other = Index.open(self.folder, READING, read_only=True)
        self.truth: dict[str, tuple[Document, list[Chunk]]] = {}
        self.is_embedded = False
        self.slice_terms = index_planning.SLICE_TERMS
        self.rebuilds = 0

    @initialize(size=st.sampled_from([30, 12_000]))
    def slices(self, size: int) -> None:
        index_planning.SLICE_TERMS = size  # type: ignore[misc]

    def teardown(self) -> None:
        index_planning.SLICE_TERMS = self.slice_terms  # type: ignore[misc]
        self.other.close()
        self.index.close()
        self.temporary.cleanup()

    def _made(self, key: str, texts: list[str], *, is_team: bool, speaker: str) -> None:
        source: SourceKind = "session" if key.startswith("sessions") else "daily"
        owner = document(key, source=source, place=TEAM if is_team else HOME)
        made = chunks(owner, *texts, speaker=speaker)
        self.truth[key] = (owner, made)

    @rule(
        key=st.sampled_from(KEYS),
        texts=said,
        is_team=st.booleans(),
        speaker=st.sampled_from(["ann", "bob"]),
    )
    def put(self, key: str, texts: list[str], is_team: bool, speaker: str) -> None:
        self._made(key, texts, is_team=is_team, speaker=speaker)
        self.index.put(*self.truth[key], STAMP)
        self.is_embedded = False

    @rule(texts=said, speaker=st.sampled_from(["ann", "bob"]))
    def extend(self, texts: list[str], speaker: str) -> None:
        key = "sessions/s"
        owner, known = self.truth.get(key, (document(key, source="session"), []))
        new = [
            replace(each, id=f"{len(known)}.{at}")
            for at, each in enumerate(chunks(owner, *texts, speaker=speaker))
        ]
        self.truth[key] = (owner, known + new)
        self.index.extend(owner, known[-1:] + new, replace(STAMP, entries=len(known)))
        self.is_embedded = False

    @rule(key=st.sampled_from(KEYS))
    def drop(self, key: str) -> None:
        self.index.drop(key)
        self.truth.pop(key, None)

    @rule(key=st.sampled_from(KEYS), size=st.integers(0, 9))
    def touch(self, key: str, size: int) -> None:
        assert self.index.touch(key, Stamp(size=size)) == (key in self.truth)

    @rule()
    def embed(self) -> None:
        embed(self.index)
        self.is_embedded = True

    @rule()
    def tidy(self) -> None:
        self.index.maintain()

    @rule()
    def open_again(self) -> None:
        self.index.close()
        self.index = Index.open(self.folder, READING)

    @precondition(lambda self: self.rebuilds < 2)
    @rule()
    def rebuild(self) -> None:
        self.rebuilds += 1
        with self.index.rebuilding() as beside:
            for owner, made in self.truth.values():
                beside.put(owner, made, STAMP)

    @rule()
    def look(self) -> None:
        """Somebody else follows, from whatever moment it looked at last."""
        with self.index.snapshot() as mine, self.other.snapshot() as theirs:
            assert shown(mine) == shown(theirs)

    @invariant()
    def is_what_a_new_one_would_be(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            folder = Directory.open(Path(place) / "new")
            with Index.open(folder, READING) as new:
                for owner, made in self.truth.values():
                    new.put(owner, made, STAMP)
                if self.is_embedded:
                    embed(new)
                    embed(self.index)
                with new.snapshot() as expected, self.index.snapshot() as snapshot:
                    wanted, here = shown(expected), shown(snapshot)
        if not self.is_embedded:
            wanted, here = _without_vectors(wanted), _without_vectors(here)
        assert here == wanted
        assert self.index.known().keys() == self.truth.keys()
        assert self.index.verify() == []


def _without_vectors(seen: dict[str, Any]) -> dict[str, Any]:
    return seen | {"rows": {uid: row[:-1] for uid, row in seen["rows"].items()}}


TestEdits = Edits.TestCase
TestEdits.settings = settings(
    max_examples=scaled(5), stateful_step_count=12, deadline=None, print_blob=True
)
