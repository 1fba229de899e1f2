"""An index that is damaged, foreign or of another version is noticed, and built again."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.disk import Directory
from holdfast.errors import Locked, StorageError
from holdfast.search.index import Index
from holdfast.search.index.catalogue import POINTER
from tests.search.test_index import READING, STAMP, chunks, document, folder, index, put, texts_with
from tests.search.test_index_vectors import embed

__all__ = ["folder", "index"]


def database(folder: Directory) -> Path:
    name = (folder.path / POINTER).read_text().strip()
    return folder.path / name


def tampered(folder: Directory, *statements: str) -> None:
    connection = sqlite3.connect(database(folder))
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _overwrite(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0:4096] = b"no database at all. " * 204 + b"x" * 16
    path.write_bytes(data)


def _foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine(x)")
    connection.commit()
    connection.close()


def _newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=999")
    connection.commit()
    connection.close()


def noticed(index: Index) -> bool:
    try:
        put(index, "b.md", "milk")
        return bool(index.verify())
    except StorageError:
        return True


@pytest.mark.parametrize(
    "damage", [_cut, _overwrite, _foreign, _newer, Path.unlink, lambda path: path.write_bytes(b"")]
)
def test_what_cannot_be_used_is_replaced_by_an_empty_one_that_says_why(
    folder: Directory, damage: Callable[[Path], None]
) -> None:
    with Index.open(folder, READING) as index:
        put(index, "a.md", *(f"tea {each}" for each in range(200)))
    damage(database(folder))
    with pytest.raises(StorageError), Index.open(folder, READING, read_only=True) as index:
        texts_with(index.snapshot(), "tea")
    with Index.open(folder, READING) as index:
        if index.rebuilt_because is None:  # only noticed in use: replaced at the next opening
            assert noticed(index)
    with Index.open(folder, READING) as index:
        assert index.known() == {}
        put(index, "a.md", "tea again")
        with index.snapshot() as snapshot:
            assert texts_with(snapshot, "tea") == ["tea again"]
        assert index.verify() == []
    assert len(list(folder.path.glob("catalogue-*.sqlite3"))) == 1


def test_an_index_that_was_made_anew_says_so_once(folder: Directory) -> None:
    with Index.open(folder, READING) as index:
        assert index.rebuilt_because is None
    _foreign(database(folder))
    with Index.open(folder, READING) as index:
        assert "not one of ours" in (index.rebuilt_because or "")
    with Index.open(folder, READING) as index:
        assert index.rebuilt_because is None


def test_another_way_of_cutting_terms_starts_again_and_keeps_what_encoders_made(
    folder: Directory,
) -> None:
    with Index.open(folder, READING) as index:
        put(index, "a.md", "one", "two")
        embed(index)
    with Index.open(folder, replace(READING, version="2")) as index:
        assert "another way" in (index.rebuilt_because or "")
        assert index.known() == {}
        put(index, "a.md", "one", "three")
        assert [each.text for each in index.pending("e")] == [": three"]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM body WHERE id=1", "without text"),
        ("DELETE FROM forward WHERE id=1", "without terms"),
        ("DELETE FROM chunk WHERE id=1", "without chunk"),
        ("UPDATE body SET text=x'6d696c6b' WHERE id=1", "not those of its text"),
        ("UPDATE forward SET counts=x'09' WHERE id=1", "not those of its text"),
        ("INSERT INTO post(rowid, tokens) VALUES(99, 'abc')", "postings"),
        ("INSERT INTO post(post) VALUES('delete-all')", "postings"),
        ("DELETE FROM link WHERE id=1", "not linked"),
        ("DELETE FROM vector WHERE id=1", "missing vectors"),
        ("DELETE FROM document", "without document"),
    ],
)
def test_every_difference_between_the_tables_is_found(
    folder: Directory, statement: str, told: str
) -> None:
    with Index.open(folder, READING) as index:
        put(index, "a.md", "tea", "coffee")
        embed(index)
        assert index.verify() == []
    tampered(folder, statement)
    with Index.open(folder, READING) as index:
        assert any(told in problem.what for problem in index.verify())


# ── rebuilding ──────────────────────────────────────────────────────────────────────────────


def test_searches_go_on_in_the_old_index_until_the_new_one_is_done(folder: Directory) -> None:
    with Index.open(folder, READING) as index, Index.open(folder, READING) as other:
        put(index, "a.md", "tea old")
        with other.snapshot() as during:
            with index.rebuilding() as beside:
                owner = document("a.md")
                beside.put(owner, chunks(owner, "tea new"), STAMP)
                with other.snapshot() as snapshot:
                    assert texts_with(snapshot, "tea") == ["tea old"]
            assert texts_with(during, "tea") == ["tea old"]
        for each in (index, other):
            with each.snapshot() as snapshot:
                assert texts_with(snapshot, "tea") == ["tea new"]
        put(other, "b.md", "tea later")
        with index.snapshot() as snapshot:
            assert texts_with(snapshot, "tea") == ["tea new", "tea later"]
        assert len(list(folder.path.glob("catalogue-*.sqlite3"))) == 1


def test_a_rebuild_that_fails_changes_nothing(index: Index, folder: Directory) -> None:
    put(index, "a.md", "tea")

    def fail() -> None:
        with index.rebuilding() as beside:
            put(beside, "a.md", "coffee")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with index.snapshot() as snapshot:
        assert texts_with(snapshot, "tea") == ["tea"]
        assert texts_with(snapshot, "coffee") == []
    assert len(list(folder.path.glob("catalogue-*.sqlite3"))) == 1


def test_only_the_holder_of_the_lease_rebuilds(folder: Directory) -> None:
    with Index.open(folder, READING) as one, Index.open(folder, READING) as two:
        assert one.lease.take()
        assert one.lease.take()
        assert not two.lease.take()
        with pytest.raises(Locked), two.rebuilding():
            pass
        one.lease.give_back()
        with two.rebuilding():
            assert two.lease.is_held
        assert one.lease.take()  # it was given back
        with one.rebuilding():
            pass
        assert one.lease.is_held  # it was held before


# ── under its hands ─────────────────────────────────────────────────────────────────────────


def test_an_index_whose_folder_is_removed_says_so_and_closes_quietly(folder: Directory) -> None:
    index = Index.open(folder, READING)
    put(index, "a.md", "tea")
    assert index.lease.take()
    assert not index.is_gone
    shutil.rmtree(folder.path)
    assert index.is_gone
    for call in (index.known, lambda: put(index, "b.md", "milk"), index.snapshot):
        with pytest.raises(StorageError, match="removed while it was in use"):
            call()
    index.close()
    with Index.open(Directory.open(folder.path), READING) as other:
        put(other, "a.md", "tea again")
        assert index.is_gone  # the folder at its path is another one now
        assert not other.is_gone


def test_a_program_does_not_write_into_what_another_version_built(folder: Directory) -> None:
    newer = replace(READING, version="2")
    with Index.open(folder, READING) as old:
        put(old, "a.md", "tea", "milk")
        with Index.open(folder, newer) as new:
            put(new, "a.md", "tea new")
            assert new.outdated is None
            assert "another version" in (old.outdated or "")
            owner = document("b.md")
            for write in (
                lambda: old.put(owner, chunks(owner, "coffee"), STAMP),
                lambda: old.extend(owner, chunks(owner, "coffee"), STAMP),
                lambda: old.drop("a.md"),
                lambda: old.maintain(),
            ):
                with pytest.raises(StorageError, match="another version"):
                    write()
            with pytest.raises(StorageError, match="another version"), old.rebuilding():
                pass
            assert [problem.document for problem in old.verify()] == [None]
            with old.snapshot() as snapshot:
                assert texts_with(snapshot, "tea") == ["tea new"]
    with Index.open(folder, newer) as new:
        assert new.rebuilt_because is None  # nobody called it damaged
        assert set(new.known()) == {"a.md"}
        assert new.verify() == []


def test_what_the_newer_program_stores_otherwise_is_told_in_words(folder: Directory) -> None:
    with Index.open(folder, READING) as old:
        put(old, "a.md", "tea")
        with Index.open(folder, replace(READING, version="2")) as new:
            put(new, "a.md", "tea")
        tampered(folder, "PRAGMA user_version=999", "ALTER TABLE document RENAME TO papers")
        with pytest.raises(StorageError, match="tables were of version 999"):
            old.known()
