"""Opening and appending read the end of the file, not the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.disk import GrowingFile
from holdfast.sessions.transcript import Draft
from tests.sessions.rooms import line, open_store, open_transcript, said, texts


class Reads:
    """How many bytes were read from transcripts since the last look."""

    def __init__(self) -> None:
        self.bytes = 0

    def taken(self) -> int:
        taken, self.bytes = self.bytes, 0
        return taken


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    counted = Reads()
    read = GrowingFile.read

    def counting(self: GrowingFile, offset: int, length: int) -> bytes:
        data = read(self, offset, length)
        counted.bytes += len(data)
        return data

    monkeypatch.setattr(GrowingFile, "read", counting)
    return counted


def make(folder: Path, entries: int) -> int:
    """A session of that many entries with a compaction near the end; its size."""
    store = open_store(folder)
    transcript = open_transcript(store)
    for start in range(0, entries, 500):
        new = transcript.append([said(f"m{start + n} " + "words " * 100) for n in range(500)])
    compaction = {"summary": [{"text": "so far"}], "first_kept": new[-20].id}
    transcript.append([Draft(type="compaction", data=compaction)])
    transcript.close()
    return (folder / "sessions" / "s1.jsonl").stat().st_size


def test_opening_viewing_and_appending_read_the_same_few_bytes_however_long_the_history(
    tmp_path: Path, reads: Reads
) -> None:
    taken = []
    for entries in (2000, 20_000):
        folder = tmp_path / str(entries)
        size = make(folder, entries)
        reads.taken()
        store = open_store(folder)
        transcript = store.open("s1")
        assert transcript.state().entries == entries + 2
        opened = reads.taken()
        assert len(store.view(transcript)) == 21
        viewed = reads.taken()
        transcript.append([said("one more")])
        appended = reads.taken()
        taken.append((opened, viewed, appended))
        assert opened < 2000 < size
        assert appended < 100
    (_, small_view, _), (_, large_view, _) = taken
    assert large_view <= small_view * 1.1
    assert large_view < 3 << 20


def test_after_others_appended_only_their_entries_are_read(tmp_path: Path, reads: Reads) -> None:
    make(tmp_path, 2000)
    mine = open_store(tmp_path).open("s1")
    mine.state()
    other = open_store(tmp_path).open("s1")
    other.append([said("from the other")])
    reads.taken()
    mine.append([said("mine")])
    assert reads.taken() < 500


def test_without_saved_counters_the_file_is_read_once_and_gives_the_same(
    tmp_path: Path, reads: Reads
) -> None:
    size = make(tmp_path, 2000)
    before = open_store(tmp_path).open("s1").state()
    (tmp_path / "sessions" / "s1.state.json").unlink()
    reads.taken()
    after = open_store(tmp_path).open("s1").state()
    assert after == before
    assert size <= reads.taken() <= size + 10


@pytest.mark.parametrize(
    "saved",
    [b"", b"{", b"null", b'{"schema":99}', b'{"schema":1}\n00000000\n', b"\0" * 100],
    ids=["empty", "torn", "null", "newer", "wrong-checksum", "nul"],
)
def test_saved_counters_that_make_no_sense_are_derived_again(tmp_path: Path, saved: bytes) -> None:
    make(tmp_path, 500)
    before = open_store(tmp_path).open("s1").state()
    (tmp_path / "sessions" / "s1.state.json").write_bytes(saved)
    assert open_store(tmp_path).open("s1").state() == before


def test_saved_counters_of_another_file_are_not_believed(tmp_path: Path) -> None:
    make(tmp_path, 500)
    (tmp_path / "sessions" / "s1.jsonl").write_bytes(line(0, "another file") * 1 + line(1, "two"))
    assert texts(open_store(tmp_path).open("s1")) == ["another file", "two"]
    assert open_store(tmp_path).open("s1").state().entries == 2


def test_saved_counters_with_one_flipped_bit_are_derived_again(tmp_path: Path) -> None:
    make(tmp_path, 500)
    before = open_store(tmp_path).open("s1").state()
    file = tmp_path / "sessions" / "s1.state.json"
    saved = file.read_bytes()
    for position in range(0, len(saved), 7):
        flipped = bytearray(saved)
        flipped[position] ^= 1
        file.write_bytes(flipped)
        assert open_store(tmp_path).open("s1").state() == before


def test_a_pinned_first_message_is_searched_for_once(tmp_path: Path, reads: Reads) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    first = transcript.append([said("the task")])[0].id
    for _ in range(12):
        new = transcript.append([said("words " * 100) for _ in range(500)])
    compaction = {"summary": [{"text": "so far"}], "first_kept": new[-20].id, "pins": [first]}
    transcript.append([Draft(type="compaction", data=compaction)])
    assert store.view(transcript)[0].text == "the task"
    transcript.close()
    again = open_store(tmp_path)
    reads.taken()
    assert again.view(again.open("s1"))[0].text == "the task"
    assert reads.taken() < 3 << 20
    transcript = again.open("s1")
    kept = transcript.append([said("newer")])[0].id
    transcript.append([Draft(type="compaction", data={**compaction, "first_kept": kept})])
    reads.taken()
    assert [message.text for message in again.view(transcript)] == ["the task", "so far", "newer"]
    assert reads.taken() < 3 << 20, "its place is known from the compaction before"
