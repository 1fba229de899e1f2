"""What a search keeps of terms and vectors: always what is stored, however little may be kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.errors import StorageError
from holdfast.search.index import Index, Snapshot, blobs
from holdfast.search.ranking.rows import Ragged
from tests.scale import scaled
from tests.search.test_index import folder, index, number_of, put, terms
from tests.search.test_index_vectors import embed, unit

__all__ = ["folder", "index"]

TEXTS = [" ".join(f"w{one * other % 17}" for other in range(one % 9 + 1)) for one in range(40)]


def parts(ragged: Ragged) -> list[list[int]]:
    return [ragged.values[start:end].tolist() for start, end in pairwise(ragged.starts)]


def check(snapshot: Snapshot, positions: list[int]) -> None:
    details = snapshot.details(np.array(positions, dtype=np.int64), ["e"])
    wanted = [sorted({number_of(term) for term in terms(TEXTS[at])}) for at in positions]
    assert parts(details.terms) == wanted
    assert details.terms.counts is not None
    starts = details.terms.starts
    found = [details.terms.counts[a:b].sum() for a, b in pairwise(starts)]
    assert found == [len(terms(TEXTS[at])) for at in positions]
    assert np.diff(details.tokens["e"].starts).tolist() == [2] * len(positions)


@settings(
    max_examples=scaled(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    asked=st.lists(st.lists(st.integers(0, len(TEXTS) - 1), max_size=12), max_size=8),
    room=st.sampled_from([0, 1 << 14, 1 << 26]),
)
def test_what_is_kept_is_what_is_stored(
    index: Index, asked: list[list[int]], room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(index, "a.md", *TEXTS)
    embed(index)
    monkeypatch.setattr(blobs, "_MOST_BYTES", room)
    with index.snapshot() as snapshot:
        for positions in asked:
            check(snapshot, positions)


def test_what_is_given_may_be_changed(index: Index) -> None:
    put(index, "a.md", *TEXTS)
    embed(index)
    every = np.arange(len(TEXTS))
    with index.snapshot() as snapshot:
        for _ in range(2):
            near = snapshot.similarity("e", unit(1)[0])
            details = snapshot.details(every, ["e"])
            assert not np.isnan(near).any()
            assert not np.isnan(details.vectors["e"]).any()
            near[:] = np.nan
            details.vectors["e"][:] = np.nan
            details.terms.values[:] = 0
        check(snapshot, every.tolist())


def test_threads_that_read_at_once_see_the_same(index: Index) -> None:
    put(index, "a.md", *TEXTS)
    embed(index)

    def look(seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(TEXTS)).tolist()
        with index.snapshot() as snapshot:
            for at in range(0, len(order), 5):
                check(snapshot, order[at : at + 9])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(look, range(scaled(16))))


def test_terms_that_are_missing_are_an_error_that_says_so(index: Index) -> None:
    put(index, "a.md", "one", "two")
    with index._catalogue.writing() as connection:
        connection.execute("DELETE FROM forward WHERE id=2")
    with index.snapshot() as snapshot:
        assert parts(snapshot.details(np.array([0])).terms) == [[number_of("one")]]
        with pytest.raises(StorageError):
            snapshot.details(np.array([0, 1]))
