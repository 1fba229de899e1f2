"""A text that is erased is in no file of the index any more, nor are its words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.disk import Directory
from holdfast.matching import Match
from holdfast.search.index import UNFINISHED, Index, Put
from holdfast.search.index import planning as index_planning
from holdfast.search.index import vectors as index_vectors
from holdfast.search.index.writing import Writing
from tests.scale import scaled
from tests.search.test_index import (
    READING,
    STAMP,
    TEAM,
    chunks,
    document,
    folder,
    index,
    number_of,
    put,
    texts_with,
)
from tests.search.test_index_vectors import embed

__all__ = ["folder", "index"]

SECRET = "Zanzibarius keeps 密码 in quuxfrobnicator"
RARE = ["zanzibarius", "quuxfrobnicator"]


def held(folder: Directory, *texts: str) -> list[str]:
    """Files that hold one of the texts, or the token of one in the postings."""
    wanted = [each.encode() for each in texts]
    wanted += [f"{number_of(each):x}".encode() for each in texts]
    return [
        f"{path.name}: {each!r}"
        for path in folder.path.iterdir()
        for each in wanted
        if each.lower() in path.read_bytes().lower()
    ]


def match(*texts: str, ids: tuple[str, ...] = ()) -> Match:
    return Match(texts, "r1", ids=ids)


def test_no_byte_of_an_erased_text_is_left(index: Index, folder: Directory) -> None:
    put(index, "a.md", "one", f"it says: {SECRET}!", "three", *(f"n {i}" for i in range(300)))
    put(index, "b.md", "four")
    embed(index)
    assert held(folder, *RARE)
    before = index.erase(match(SECRET), dry_run=True)
    assert before.spans == 1
    assert held(folder, *RARE)
    erased = index.erase(match(SECRET))
    assert (erased.store, erased.spans, erased.remaining) == ("index", 1, ())
    assert erased.files == before.files
    assert held(folder, SECRET, *RARE, "密码") == []
    assert index.erase(match(SECRET)).spans == 0
    assert index.known() == {"a.md": UNFINISHED, "b.md": STAMP}
    with index.snapshot() as snapshot:
        assert texts_with(snapshot, "zanzibarius") == []
        assert len(snapshot.rows) == 303
        assert len(texts_with(snapshot, "three")) == 1
    assert index.verify() == []


def test_what_was_removed_before_leaves_nothing_either(index: Index, folder: Directory) -> None:
    put(index, "a.md", SECRET)
    embed(index)
    put(index, "a.md", "other")
    put(index, "b.md", SECRET)
    index.drop("b.md")
    erased = index.erase(match(SECRET))
    assert erased.spans == 0
    assert held(folder, SECRET, *RARE) == []
    put(index, "a.md", SECRET)
    assert len(index.pending("e")) == 1  # its vector went too


@pytest.mark.parametrize("where", ["context", "speaker", "entities", "key", "title", "extra"])
def test_a_text_goes_wherever_it_stands(index: Index, folder: Directory, where: str) -> None:
    owner, stamp = document(f"{SECRET}.md" if where == "key" else "a.md"), STAMP
    (chunk,) = chunks(owner, "one")
    if where == "title":
        owner = replace(owner, title=SECRET)
    elif where == "extra":
        stamp = replace(STAMP, extra=SECRET)
    elif where == "entities":
        chunk = replace(chunk, entities=("Ann", SECRET))
    elif where == "context":
        chunk = replace(chunk, context=SECRET)
    elif where == "speaker":
        chunk = replace(chunk, speaker=SECRET)
    index.put(owner, [chunk], stamp)
    put(index, "b.md", "two")
    assert index.erase(match(SECRET), dry_run=True).spans
    assert index.erase(match(SECRET)).remaining == ()
    assert held(folder, SECRET) == []
    with index.snapshot() as snapshot:
        assert [each.text for each in snapshot.chunks(range(len(snapshot.rows)))] == ["two"]


def test_the_name_of_a_place_goes_with_what_was_in_it(index: Index, folder: Directory) -> None:
    put(index, f"{SECRET}/a.md", "one", place=replace(TEAM, chat="zanzibarius"))
    put(index, "b.md", "two")
    index.erase(match(SECRET, "zanzibarius"))
    assert held(folder, "zanzibarius") == []
    put(index, "c.md", "three", place=TEAM)
    with index.snapshot() as snapshot:
        assert texts_with(snapshot, "three", frozenset([snapshot.places.index(TEAM)])) == ["three"]


def test_entries_and_lines_go_by_their_id(index: Index) -> None:
    owner = document("chats/team/sessions/s", source="session", place=TEAM)
    made = [
        replace(each, entry=f"e{at}") for at, each in enumerate(chunks(owner, "a1", "b2", "c3"))
    ]
    index.put(owner, made, STAMP)
    assert index.erase(match(ids=("s#e1", made[2].id))).spans == 2
    with index.snapshot() as snapshot:
        assert [each.text for each in snapshot.chunks(range(1))] == ["a1"]


def test_a_search_that_still_reads_is_named(index: Index, folder: Directory) -> None:
    put(index, "a.md", SECRET)
    with index.snapshot() as snapshot:
        erased = index.erase(match(SECRET))
        assert [each.path for each in erased.remaining] == [f".index/{index._catalogue.name}-wal"]
        assert texts_with(snapshot, "zanzibarius") == [SECRET]
    assert index.erase(match(SECRET)).remaining == ()
    assert held(folder, SECRET, *RARE) == []


def test_a_half_built_index_goes_and_one_being_built_is_named(
    index: Index, folder: Directory
) -> None:
    put(index, "a.md", "one")
    with index.rebuilding() as beside:
        put(beside, "a.md", SECRET)
        (left,) = index.erase(match(SECRET)).remaining
        assert "being built" in left.why
    index.erase(match(SECRET))
    (folder.path / "catalogue-99.sqlite3").write_text(SECRET)
    index.lease.give_back()
    assert index.erase(match(SECRET)).remaining == ()
    assert held(folder, SECRET, *RARE) == []


@pytest.mark.parametrize("was_there", [False, True])
@pytest.mark.parametrize("how", ["put", "extend"])
def test_what_was_read_before_an_erasure_is_not_put_after_it(
    index: Index, folder: Directory, how: str, was_there: bool
) -> None:
    owner = document("sessions/s", source="session")
    if was_there:
        index.put(owner, chunks(owner, "one"), STAMP)
    write = index.put if how == "put" else index.extend
    expecting, erasures = index.known().get(owner.key), index.erasures
    read = chunks(owner, SECRET)
    with Index.open(folder, READING) as other:
        assert other.erase(match(SECRET)).remaining == ()
    assert write(owner, read, STAMP, expecting=expecting, erasures=erasures) == Put(overtaken=True)
    assert held(folder, SECRET, *RARE) == []
    read = chunks(owner, "fine")
    assert write(owner, read, STAMP, expecting=expecting, erasures=index.erasures).added == 1


def test_an_erasure_in_the_middle_of_a_put_ends_it(
    index: Index, folder: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_planning, "SLICE_TERMS", 30)
    owner, erasures = document("a.md"), index.erasures
    put_slice, slices = Writing.put, 0

    def put_and_let_others_erase(writing: Writing, *values: Any) -> tuple[Put, Any]:
        nonlocal slices
        slices += 1
        return put_slice(writing, *values)

    def wrote(count: int, deadline: object) -> None:
        if slices == 3:
            with Index.open(folder, READING) as other:
                other.erase(match(SECRET))

    monkeypatch.setattr(Writing, "put", put_and_let_others_erase)
    monkeypatch.setattr(index, "_wrote", wrote)
    texts = [SECRET, *(f"n {i}" for i in range(9)), f"again {SECRET}"]
    done = index.put(owner, chunks(owner, *texts), STAMP, erasures=erasures)
    assert (done.overtaken, slices) == (True, 3)
    assert index.known() == {"a.md": UNFINISHED}
    assert held(folder, SECRET, *RARE) == []


def test_databases_do_not_count_their_erasures_from_the_same_number(index: Index) -> None:
    before = index.erasures
    index.erase(match(SECRET))
    with index.rebuilding():
        pass
    assert index.erasures != before


def test_the_signs_of_erased_vectors_are_not_left_in_packed_arrays(
    index: Index, folder: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_vectors, "EXACT", 1)
    put(index, "a.md", *(f"n {i}" for i in range(5)), SECRET)
    embed(index)
    index.maintain()
    bits = packed_arrays(index)["vectors:1:bits"]
    assert len(bits) == 6 * 8  # a word for each, the last one the secret's
    index.erase(match(SECRET))
    assert packed_arrays(index) == {}
    with index.snapshot() as snapshot:
        assert len(snapshot.rows) == 5
    index.close()
    assert [path.name for path in folder.path.iterdir() if bits[-8:] in path.read_bytes()] == []


def packed_arrays(index: Index) -> dict[str, bytes]:
    with index._catalogue.reading() as reader:
        return dict(reader.connection.execute("SELECT name, data FROM packed"))


def test_another_process_sees_at_once_that_it_is_gone(folder: Directory) -> None:
    with Index.open(folder, READING) as index, Index.open(folder, READING) as other:
        put(index, "a.md", SECRET, "zanzibarius himself")
        with other.snapshot() as snapshot:
            assert len(texts_with(snapshot, "zanzibarius")) == 2
        index.erase(match(SECRET))
        with other.snapshot() as snapshot:
            assert texts_with(snapshot, "zanzibarius") == ["zanzibarius himself"]


@given(st.lists(st.sampled_from(["put", "drop", "extend", "tidy", "open"]), max_size=8), st.data())
@settings(max_examples=scaled(8), deadline=None)
def test_whatever_happened_before_nothing_is_left(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], data: st.DataObject
) -> None:
    folder = Directory.open(tmp_path_factory.mktemp("i") / ".index")
    index = Index.open(folder, READING)
    owner = document("sessions/s", source="session")
    for at, step in enumerate(steps):
        texts = [f"{each} {at}" for each in data.draw(st.lists(st.sampled_from(["x", SECRET])))]
        if step == "put":
            put(index, f"{at % 3}.md", *texts)
        elif step == "drop":
            index.drop(f"{at % 3}.md")
        elif step == "extend":
            index.extend(owner, chunks(owner, *texts), STAMP)
        elif step == "tidy":
            index.maintain()
        else:
            index.close()
            index = Index.open(folder, READING)
    assert index.erase(match(SECRET)).remaining == ()
    assert held(folder, SECRET, *RARE) == []
    assert index.verify() == []
    index.close()
