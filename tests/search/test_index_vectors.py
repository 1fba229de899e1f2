"""Vectors: kept by content, found exactly or nearly, one encoder beside another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.disk import Directory
from holdfast.errors import UsageError
from holdfast.search.index import Index, Vector
from holdfast.search.index import vectors as index_vectors
from holdfast.search.index.vectors import quantised, restored, signs_of
from holdfast.search.ranking.rows import Floats
from tests.scale import scaled
from tests.search.test_index import READING, STAMP, chunks, document, folder, index, put

__all__ = ["folder", "index"]

SIZE = 64


def unit(seed: int, count: int = 1, *, size: int = SIZE) -> Floats:
    rows = np.random.default_rng(seed).standard_normal((count, size))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def embed(index: Index, name: str = "e", *, size: int = SIZE) -> dict[str, Floats]:
    """Embed everything; what each text got."""
    made: dict[str, Floats] = {}
    while waiting := index.pending(name, 100):
        new = {each.text: unit(hash(each.text) % 2**31, size=size)[0] for each in waiting}
        tokens = np.array([[7], [9]], dtype=np.uint64).repeat(-(-size // 64), axis=1)
        index.put_vectors(
            name,
            {each.chunk: Vector(vector=new[each.text], tokens=tokens) for each in waiting},
        )
        made |= new
    return made


def test_a_vector_comes_back_nearly_as_it_was(index: Index) -> None:
    put(index, "a.md", "one", "two")
    made = embed(index)
    with index.snapshot() as snapshot:
        details = snapshot.details(np.array([1, 0]), ["e", "unknown"])
        np.testing.assert_allclose(details.vectors["e"][0], made[": two"], atol=0.01)
        np.testing.assert_allclose(np.linalg.norm(details.vectors["e"], axis=1), 1, atol=1e-5)
        assert details.tokens["e"].starts.tolist() == [0, 2, 4]
        assert details.tokens["e"].values.tolist() == [[7], [9], [7], [9]]
        assert snapshot.similarity("e", made[": one"])[0] == pytest.approx(1, abs=0.01)
        assert np.isnan(snapshot.similarity("unknown", made[": one"])).all()


def test_what_is_not_embedded_yet_is_neither_near_nor_far(index: Index) -> None:
    put(index, "a.md", "one")
    made = embed(index)
    put(index, "b.md", "two")
    with index.snapshot() as snapshot:
        near = snapshot.similarity("e", made[": one"])
        assert near[0] > 0.9
        assert np.isnan(near[1])
        details = snapshot.details(np.array([0, 1]), ["e"])
        assert np.isnan(details.vectors["e"][1]).all()
        assert details.tokens["e"].starts.tolist() == [0, 2, 2]
        (coverage,) = snapshot.coverage()
        assert (coverage.embedded, coverage.missing, coverage.is_complete) == (1, 1, False)
    assert index.missing("e") == 1


def test_a_mask_leaves_out(index: Index) -> None:
    put(index, "a.md", "one", "two")
    made = embed(index)
    with index.snapshot() as snapshot:
        near = snapshot.similarity("e", made[": one"], np.array([False, True]))
        assert np.isnan(near[0])
        assert not np.isnan(near[1])


def test_a_text_is_embedded_once_wherever_it_goes(index: Index) -> None:
    put(index, "a.md", "one", "two", "two")
    assert len(index.pending("e")) == 2
    assert index.missing("e") == 2
    embed(index)
    index.drop("a.md")
    put(index, "b.md", "two", "three")
    assert [each.text for each in index.pending("e")] == [": three"]
    with index.rebuilding() as beside:
        owner = document("c.md")
        beside.put(owner, chunks(owner, "one", "two", "three"), STAMP)
        assert [each.text for each in beside.pending("e")] == [": three"]
    assert [each.text for each in index.pending("e")] == [": three"]
    assert index.verify() == []


def test_what_is_not_for_an_encoder_is_passed_over(index: Index) -> None:
    put(index, "a.md", "one", "two")
    one, two = index.pending("e")
    index.put_vectors("e", {one.chunk: None, two.chunk: Vector(vector=unit(1)[0])})
    assert index.pending("e") == []
    with index.snapshot() as snapshot:
        (coverage,) = snapshot.coverage()
        assert (coverage.embedded, coverage.passed_over, coverage.missing) == (1, 1, 0)
        assert coverage.is_complete
        assert snapshot.embedders() == ["e"]
        assert np.isnan(snapshot.similarity("e", unit(1)[0])).tolist() == [True, False]


def test_a_chunk_that_went_meanwhile_gets_no_vector(index: Index) -> None:
    put(index, "a.md", "one", "two")
    waiting = index.pending("e")
    put(index, "a.md", "two")
    given = {each.chunk: Vector(vector=unit(1)[0]) for each in waiting}
    assert index.put_vectors("e", given) == 1
    assert index.verify() == []


def test_a_new_encoder_grows_beside_the_old_one_and_takes_its_place(index: Index) -> None:
    put(index, "a.md", "one", "two")
    old = embed(index, "old")
    assert len(index.pending("new")) == 2
    index.put_vectors("new", {index.pending("new")[0].chunk: Vector(vector=unit(1, size=9)[0])})
    with index.snapshot() as snapshot:
        assert [each.is_complete for each in snapshot.coverage()] == [True, False]
        assert snapshot.similarity("old", old[": two"])[1] > 0.9
    embed(index, "new", size=9)
    assert index.retire("old") == 2
    assert index.retire("old") == 0
    with index.snapshot() as snapshot:
        assert snapshot.embedders() == ["new"]
        assert np.isnan(snapshot.similarity("old", old[": two"])).all()
        assert not np.isnan(snapshot.similarity("new", unit(3, size=9)[0])).any()
    assert len(index.pending("old")) == 2
    assert index.verify() == []


def test_vectors_of_another_length_are_refused(index: Index) -> None:
    put(index, "a.md", "one", "two")
    one, two = index.pending("e")
    index.put_vectors("e", {one.chunk: Vector(vector=unit(1)[0])})
    with pytest.raises(UsageError):
        index.put_vectors("e", {two.chunk: Vector(vector=unit(1, size=9)[0])})
    tokens = np.zeros((1, 2), dtype=np.uint64)
    with pytest.raises(UsageError):
        index.put_vectors("e", {two.chunk: Vector(vector=unit(1)[0], tokens=tokens)})


@given(seed=st.integers(0, 1000), size=st.integers(1, 130))
@settings(max_examples=scaled(40), deadline=None)
def test_bytes_keep_the_direction_of_a_vector(seed: int, size: int) -> None:
    (row,) = unit(seed, size=size)
    codes, scale = quantised(row * 3)
    (back,) = restored([codes], [scale], size)
    assert float(back @ row) > 0.999
    assert quantised(np.zeros(size, dtype=np.float32))[0] == bytes(size)


def test_signs_stand_where_they_are_looked_for() -> None:
    row = np.full(70, -1, dtype=np.float32)
    row[[0, 63, 64, 69]] = 1
    assert signs_of(row).tolist() == [[1 | 1 << 63, 1 | 1 << 5]]


@pytest.mark.parametrize("is_spread", [True, False])
def test_bits_find_nearly_always_what_exact_products_find(
    folder: Directory, monkeypatch: pytest.MonkeyPatch, is_spread: bool
) -> None:
    """In clusters, all over the place or in one corner.

    Also when a part came later, when the process is new, and inside a mask.
    """
    monkeypatch.setattr(index_vectors, "EXACT", 300)
    monkeypatch.setattr(index_vectors, "RESCORED", 80)
    count, size = 600, 384
    centres = unit(2, 60, size=size) + (0 if is_spread else 2) * unit(3, size=size)
    rows = centres[np.arange(count) % 60] + 0.6 * unit(1, count, size=size)
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    owner = document("a.md")
    made = chunks(owner, *(f"text {each}" for each in range(count)))
    with Index.open(folder, READING) as index:
        for part in (made[:480], made):
            index.put(owner, part, STAMP)
            while waiting := index.pending("e", 200):
                index.put_vectors(
                    "e",
                    {
                        each.chunk: Vector(vector=rows[int(each.text.split()[-1])])
                        for each in waiting
                    },
                )
            with index.snapshot() as snapshot:
                near = snapshot.similarity("e", rows[5])
                assert near[5] == pytest.approx(1, abs=0.01)
                assert not np.isnan(near).any()
            index.maintain()
    with Index.open(folder, READING, read_only=True) as index, index.snapshot() as snapshot:
        for seed in range(4):
            query = rows[seed * 7] + 0.5 * unit(seed, size=size)[0]
            query /= np.linalg.norm(query)
            check(snapshot.similarity("e", query), rows @ query)
            mask = np.arange(count) % 60 < 30
            masked = snapshot.similarity("e", query, mask)
            assert np.array_equal(np.isnan(masked), ~mask)
            check(masked[mask], (rows @ query)[mask])


def check(near: Floats, exact: Floats) -> None:
    best = np.argsort(-exact)[:10]
    assert len(set(np.argsort(-near)[:10].tolist()) & set(best.tolist())) >= 9
    assert np.argmax(near) == best[0]
    assert np.abs(near - exact).max() < 0.45
    assert np.corrcoef(near, exact)[0, 1] > 0.7


def test_metadata_may_change_and_the_vector_stays(index: Index) -> None:
    owner = document("a.md")
    (chunk,) = chunks(owner, "one")
    index.put(owner, [chunk], STAMP)
    embed(index)
    index.put(owner, [replace(chunk, importance=0.9)], STAMP)
    assert index.pending("e") == []
    with index.snapshot() as snapshot:
        assert snapshot.rows.importance[0] == pytest.approx(0.9)
        assert snapshot.embedders() == ["e"]


def test_vectors_that_another_process_retired_are_made_again(folder: Directory) -> None:
    with Index.open(folder, READING) as index, Index.open(folder, READING) as other:
        put(index, "a.md", "one", "two")
        embed(index)
        assert index.pending("e") == []
        assert other.retire("e") == 2
        assert index.missing("e") == 2
        assert len(embed(index)) == 2
        with other.snapshot() as snapshot:
            assert [each.is_complete for each in snapshot.coverage()] == [True]
