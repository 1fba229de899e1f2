"""Reading a transcript on from where somebody left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.disk import GrowingFile
from holdfast.sessions.reading import Mark
from tests.sessions.rooms import open_store, open_transcript, said


def test_nothing_is_given_twice_and_nothing_is_left_out(tmp_path: Path) -> None:
    transcript = open_transcript(open_store(tmp_path))
    mark: Mark | None = None
    seen: list[str] = []
    for step in range(5):
        transcript.append([said(f"m{step}-{n}") for n in range(step)])
        continued = transcript.read_on(mark)
        assert continued.from_start == (step == 0)
        seen += [entry.id for entry in continued.entries]
        mark = continued.mark
    assert seen == [entry.id for entry in transcript.entries()]
    assert transcript.read_on(mark).entries == []
    assert transcript.read_on(mark).mark == mark


def test_reading_on_reads_what_is_new_and_not_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = open_transcript(open_store(tmp_path))
    transcript.append([said("words " * 200) for _ in range(2000)])
    mark = transcript.read_on(None).mark
    transcript.append([said("the newest")])
    transcript.state()
    taken: list[int] = []
    read = GrowingFile.read

    def counting(self: GrowingFile, offset: int, length: int) -> bytes:
        data = read(self, offset, length)
        taken.append(len(data))
        return data

    monkeypatch.setattr(GrowingFile, "read", counting)
    assert [entry.data["text"] for entry in transcript.read_on(mark).entries] == ["the newest"]
    assert sum(taken) < 100_000


@pytest.mark.parametrize("what", ["inode", "offset", "id", "end"])
def test_a_mark_that_does_not_hold_gives_everything(tmp_path: Path, what: str) -> None:
    transcript = open_transcript(open_store(tmp_path))
    transcript.append([said("a"), said("b")])
    mark = transcript.read_on(None).mark
    assert mark is not None
    wrong = {
        "inode": mark._replace(inode=mark.inode + 1),
        "offset": mark._replace(offset=mark.offset - 3),
        "id": mark._replace(id="other"),
        "end": mark._replace(end=10**9),
    }
    continued = transcript.read_on(wrong[what])
    assert continued.from_start
    assert continued.entries == transcript.entries()
