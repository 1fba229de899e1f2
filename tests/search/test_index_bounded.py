"""Writing takes no longer than it may: in slices, with what is left done by the next call."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from threading import Event, Thread
from typing import Any

import pytest

from holdfast.disk import Directory
from holdfast.errors import Locked
from holdfast.search.chunking import chunk_entries
from holdfast.search.index import UNFINISHED, Index, Put, Stamp, Vector
from holdfast.search.index import planning as index_planning
from holdfast.search.index.patience import Deadline
from holdfast.types import Entry, Message, Text, ToolResult
from tests.search.test_index import READING, STAMP, chunks, document, folder, index, put, texts_with
from tests.search.test_index_vectors import unit

__all__ = ["folder", "index"]

MANY = 12
LATER = replace(STAMP, size=99)


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two chunks in a transaction."""
    monkeypatch.setattr(index_planning, "SLICE_TERMS", 30)


def texts(count: int = MANY) -> list[str]:
    return [f"tea number{each}" for each in range(count)]


def there(index: Index) -> int:
    with index.snapshot() as snapshot:
        assert len(texts_with(snapshot, "tea")) == len(snapshot.rows)
        return len(snapshot.rows)


def test_a_put_that_has_no_time_does_one_slice_and_the_next_goes_on(index: Index) -> None:
    owner = document("a.md")
    seen = []
    while (done := index.put(owner, chunks(owner, *texts()), STAMP, seconds=0)).unfinished:
        assert index.known() == {"a.md": UNFINISHED}
        seen.append(there(index))
    assert seen == [2, 4, 6, 8, 10]
    assert done == Put(added=2, kept=10)
    assert index.known() == {"a.md": STAMP}
    assert there(index) == MANY
    assert index.verify() == []


def test_a_deadline_leaves_as_much_time_for_the_work_as_it_took_to_begin() -> None:
    """Else a document that takes long to compare would be compared for every single slice."""
    now = 0.0
    some, none, endless = (Deadline(each, clock=lambda: now) for each in (1, 0, None))
    now = 10.0
    assert [each.is_over for each in (some, none, endless)] == [True, True, False]
    for each in (some, none, endless):
        each.begun()
    now = 19.0
    assert [each.is_over for each in (some, none, endless)] == [False, True, False]
    some.begun()  # only the first time counts
    now = 20.0
    assert [each.is_over for each in (some, none, endless)] == [True, True, False]


def test_an_extension_that_has_no_time_keeps_the_stamp_and_the_next_goes_on(index: Index) -> None:
    owner = document("sessions/s", source="session")
    made = chunks(owner, *texts())
    index.put(owner, made[:2], STAMP)
    seen = []
    while (done := index.extend(owner, made[2:], LATER, expecting=STAMP, seconds=0)).unfinished:
        assert index.known() == {owner.key: STAMP}
        seen.append(there(index))
    assert seen == [4, 6, 8, 10]
    assert done == Put(added=2, kept=8)
    assert index.known() == {owner.key: LATER}
    with index.snapshot() as snapshot:
        assert [each.text for each in snapshot.chunks(range(MANY))] == texts()
    assert index.verify() == []


def test_a_new_document_that_is_extended_in_part_is_unfinished(index: Index) -> None:
    owner = document("sessions/s", source="session")
    made = chunks(owner, *texts())
    assert index.extend(owner, made, STAMP, expecting=None, seconds=0).unfinished
    assert index.known() == {owner.key: UNFINISHED}
    assert index.extend(owner, made, STAMP, expecting=UNFINISHED) == Put(added=10, kept=2)


def test_dropping_is_done_in_parts_too(index: Index) -> None:
    put(index, "a.md", *texts(600))
    assert index.drop("a.md", seconds=0) == Put(removed=250, unfinished=True)
    assert index.known() == {"a.md": UNFINISHED}
    assert index.drop("a.md", seconds=0) == Put(removed=250, unfinished=True)
    assert index.drop("a.md", seconds=0) == Put(removed=100)
    assert index.known() == {}
    assert index.verify() == []


def test_many_small_documents_are_dropped_in_few_transactions(index: Index) -> None:
    keys = [f"{each}.md" for each in range(300)]
    for key in keys:
        put(index, key, "tea")
    put(index, "kept.md", "tea")
    change = counted(index, "change")
    some = index.drop_all(["unknown", *keys], seconds=0)
    assert some == ["unknown", *keys[:125]]
    assert index.drop_all(keys) == keys
    assert counted(index, "change") - change == 3
    assert set(index.known()) == {"kept.md"}
    assert index.verify() == []


def counted(index: Index, name: str) -> int:
    with index._catalogue.reading() as reader:
        row = reader.connection.execute("SELECT value FROM meta WHERE name=?", (name,)).fetchone()
        return int(row[0])


# ── others who write ────────────────────────────────────────────────────────────────────────


def test_whoever_has_little_time_does_not_wait_for_the_lock(
    index: Index, folder: Directory
) -> None:
    put(index, "a.md", "tea")
    owner = document("b.md")
    made = chunks(owner, "coffee")
    (waiting,) = index.pending("e")
    vectors = {waiting.chunk: Vector(vector=unit(1)[0])}
    with Index.open(folder, READING) as other, other._catalogue.writing():
        for write in (
            lambda: index.put(owner, made, STAMP, seconds=0.01),
            lambda: index.extend(owner, made, STAMP, seconds=0.01),
            lambda: index.drop("a.md", seconds=0.01),
            lambda: index.drop_all(["a.md"], seconds=0.01),
            lambda: index.touch("a.md", LATER, seconds=0.01),
            lambda: index.put_vectors("e", vectors, seconds=0.01),
        ):
            with pytest.raises(Locked, match=r"waited 0\.01 s"):
                write()
    assert index.known() == {"a.md": STAMP}


def test_another_thread_that_writes_is_not_waited_for_either(index: Index) -> None:
    held, done = Event(), Event()

    def hold() -> None:
        with index._catalogue.writing():
            held.set()
            done.wait(60)

    thread = Thread(target=hold)
    thread.start()
    assert held.wait(60)
    try:
        with pytest.raises(Locked, match="another thread"):
            index.drop("a.md", seconds=0.01)
    finally:
        done.set()
        thread.join()


def test_who_loses_the_lock_between_slices_leaves_the_rest(
    index: Index, folder: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = document("a.md")
    with Index.open(folder, READING) as other:
        taken = other._catalogue.writing()
        monkeypatch.setattr(index, "_wrote", lambda *_: taken.__enter__())
        done = index.put(owner, chunks(owner, *texts()), STAMP, seconds=0.05)
        taken.__exit__(None, None, None)
    assert done == Put(added=2, kept=10, unfinished=True)
    assert index.known() == {"a.md": UNFINISHED}


def test_of_two_puts_that_cross_the_older_is_overtaken(index: Index, folder: Directory) -> None:
    owner = document("a.md")
    put(index, "a.md", "tea old")
    with Index.open(folder, READING) as other:
        mine, theirs = index.known()["a.md"], other.known()["a.md"]
        newer = other.put(owner, chunks(owner, "tea new"), LATER, expecting=theirs)
        assert newer == Put(added=1, removed=1)
        older = index.put(owner, chunks(owner, "tea older"), Stamp(size=1), expecting=mine)
        assert older == Put(overtaken=True)
        assert index.put(owner, [], Stamp(size=1), expecting=None).overtaken
        assert not index.touch("a.md", Stamp(size=1), expecting=mine)
    assert index.known() == {"a.md": LATER}
    with index.snapshot() as snapshot:
        assert texts_with(snapshot, "tea") == ["tea new"]


def test_a_put_that_was_finished_by_another_between_its_slices_is_overtaken(
    index: Index, folder: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = document("a.md")
    with Index.open(folder, READING) as other:

        def wrote(*_: object) -> None:
            if index.known()["a.md"] == UNFINISHED:
                other.put(owner, chunks(owner, "tea new"), LATER)

        monkeypatch.setattr(index, "_wrote", wrote)
        assert index.put(owner, chunks(owner, *texts()), STAMP, expecting=None).overtaken
    assert index.known() == {"a.md": LATER}
    assert there(index) == 1


@pytest.mark.parametrize("is_changed_meanwhile", [False, True])
def test_what_a_document_has_is_read_once_for_all_slices(
    index: Index, folder: Directory, monkeypatch: pytest.MonkeyPatch, is_changed_meanwhile: bool
) -> None:
    """Except where somebody else changed it in between."""
    owner = document("a.md")
    read = 0
    existing = index_planning._existing

    def counting(*values: Any) -> Any:
        nonlocal read
        read += 1
        return existing(*values)

    monkeypatch.setattr(index_planning, "_existing", counting)
    with Index.open(folder, READING) as other:

        def wrote(*_: object) -> None:
            made = chunks(owner, *texts()) if is_changed_meanwhile else []
            if there(index) == 4:
                put(other, "b.md", "tea elsewhere")
                read_before = read
                other.extend(owner, made[-1:], STAMP)
                assert read == read_before

        monkeypatch.setattr(index, "_wrote", wrote)
        index.put(owner, chunks(owner, *texts()), STAMP)
    assert read - 1 == (2 if is_changed_meanwhile else 1)  # one is of b.md
    assert index.known()["a.md"] == STAMP
    with index.snapshot() as snapshot:
        shown = snapshot.chunks(range(len(snapshot.rows)))
        assert {each.text for each in shown if each.document.key == "a.md"} == set(texts())
    assert index.verify() == []


def test_a_huge_tool_result_is_a_bounded_number_of_chunks_and_loses_no_word() -> None:
    lines = "\n".join(f"line {each}: status=ok 用户 {each * 7919}" for each in range(60_000))
    message = Message(role="tool", parts=(ToolResult(call_id="c", content=(Text(text=lines),)),))
    at = datetime(2026, 1, 2, tzinfo=UTC)
    entry = Entry(id="e1", parent=None, seq=1, at=at, type="message", data=message.to_json())
    made = chunk_entries(document("sessions/s", source="session"), [entry])
    assert len(lines) > 1_800_000
    assert 200 < len(made) <= 450
    assert "".join("".join(each.text.split()) for each in made) == "".join(lines.split())
