"""Sessions as a whole: names, lists, forks, renames, deletions."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from holdfast.errors import NotFound, PolicyRefused, SessionGone, UsageError
from holdfast.sessions.transcript import Draft
from holdfast.types import Message
from tests.sessions.rooms import open_store, open_transcript, said, texts


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "a/b",
        "..",
        ".",
        "",
        ".hidden",
        "a\0b",
        "a\\b",
        "/etc/passwd",
        "x" * 300,
        "a\u202eb",
    ],
)
def test_a_name_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    base = tmp_path / "base"
    store = open_store(base)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PolicyRefused) as refused:
        store.open_or_create(name, {})
    assert refused.value.hint, "it says which name would do"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["s1", "旅行计划", "2026-03-14_chat.v1", "Zürich"])
def test_names_of_any_script_are_welcome(tmp_path: Path, name: str) -> None:
    store = open_store(tmp_path)
    open_transcript(store, name).append([said("hi")])
    assert open_store(tmp_path).names() == [name]


def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path, any_umask: None) -> None:
    base = tmp_path / "base"
    store = open_store(base, cap_chars=50)
    transcript = open_transcript(store)
    store.append(transcript, [Message.of("user", "long " * 50)])
    store.fork(store.open("s1"), transcript.entries()[-1].id, "s2")
    (base / "sessions" / "broken.jsonl").write_bytes(b"garbage\n")
    open_store(base).open("broken").entries()
    transcript.close()
    store.delete("s2")
    for path in [base, *base.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path} is {mode:o}"


@pytest.mark.parametrize("target", ["file", "folder"])
def test_symlinks_are_refused(tmp_path: Path, target: str) -> None:
    outside = tmp_path / "outside"
    base = tmp_path / "base"
    if target == "file":
        open_store(base)
        outside.write_text("secret")
        (base / "sessions" / "s1.jsonl").symlink_to(outside)
        with pytest.raises(PolicyRefused):
            open_store(base).open_or_create("s1", {})
        assert outside.read_text() == "secret"
    else:
        outside.mkdir()
        base.mkdir()
        (base / "sessions").symlink_to(outside)
        with pytest.raises(PolicyRefused):
            open_store(base)
        assert list(outside.iterdir()) == []


def test_hard_links_are_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    open_transcript(store)
    os.link(tmp_path / "sessions" / "s1.jsonl", tmp_path / "copy")
    with pytest.raises(PolicyRefused, match="hard link"):
        open_store(tmp_path).open("s1").entries()


def test_a_missing_session_names_the_nearest_one(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    open_transcript(store, "planning")
    with pytest.raises(NotFound, match="Did you mean 'planning'"):
        store.open("planing")


def test_a_fork_starts_as_the_original_was_and_then_goes_its_own_way(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    original = open_transcript(store)
    ids = [original.append([said(f"m{n}")])[0].id for n in range(5)]
    store.fork(store.open("s1"), ids[2], "s2")
    fork = store.open("s2")
    original.append([said("only here")])
    fork.append([said("only there")])
    assert texts(fork) == ["m0", "m1", "m2", "only there"]
    assert texts(original) == ["m0", "m1", "m2", "m3", "m4", "only here"]
    assert fork.find(ids[1]).data == original.find(ids[1]).data, "ids lead to the same words"
    assert fork.state().forked_from == {"session": "s1", "entry": ids[2]}
    assert fork.verify().is_intact
    with pytest.raises(UsageError, match="already"):
        store.fork(store.open("s1"), ids[0], "s2")
    with pytest.raises(NotFound):
        store.fork(store.open("s1"), "nosuchentry", "s3")
    assert "s3" not in store.names()


def test_a_renamed_session_is_found_by_its_new_name_and_its_old_one_says_so(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    open_transcript(store, "old").append([said("hi")])
    store.rename("old", "new")
    assert texts(store.open("new")) == ["hi"]
    with pytest.raises(NotFound, match="renamed to 'new'"):
        store.open("old")
    stone = store.tombstone("old")
    assert stone is not None
    assert (stone.what, stone.to) == ("renamed", "new")


def test_a_deleted_session_leaves_a_tombstone_and_nothing_else(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    open_transcript(store, "gone").append([said("do not keep 1234567")])
    assert store.delete("gone") == (2, 0)
    assert store.names() == []
    with pytest.raises(NotFound, match="was deleted on 2026-03-14"):
        store.open("gone")
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(b"1234567" not in path.read_bytes() for path in left)


def test_an_append_to_a_session_deleted_by_another_process_is_refused_not_lost(
    tmp_path: Path,
) -> None:
    mine = open_transcript(open_store(tmp_path))
    mine.append([said("first")])
    open_store(tmp_path).delete("s1")
    with pytest.raises(SessionGone):
        mine.append([said("second")])


def test_an_append_to_a_session_made_anew_lands_in_the_new_one(tmp_path: Path) -> None:
    mine = open_transcript(open_store(tmp_path))
    mine.append([said("first")])
    other = open_store(tmp_path)
    other.delete("s1")
    open_transcript(other)
    mine.append([said("second")])
    assert texts(open_store(tmp_path).open("s1")) == ["second"]
    assert mine.verify().is_intact, "the numbers of the old one are not missed in the new"


def test_an_artifact_is_stored_once_and_goes_with_its_last_session(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=100)
    paste = Message.of("user", "the same long paste " * 20)
    for name in ("a", "b"):
        store.append(open_transcript(store, name), [paste])
    folder = tmp_path / "artifacts"
    assert len(list(folder.iterdir())) == 1
    assert store.delete("a") == (2, 0)
    (entry,) = [each for each in store.open("b").entries() if each.type == "message"]
    assert store.whole(entry).message == paste
    assert store.delete("b") == (2, 1)
    assert list(folder.iterdir()) == []


def test_a_fork_keeps_the_artifacts_of_a_deleted_original(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=100)
    paste = Message.of("user", "a long paste " * 20)
    (entry,) = store.append(open_transcript(store), [paste])
    store.fork(store.open("s1"), entry.id, "s2")
    store.delete("s1")
    assert store.whole(store.open("s2").find(entry.id)).message == paste


def test_the_list_shows_the_most_recently_used_first(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name in ("a", "b", "c"):
        transcript = open_transcript(store, name)
        transcript.append([said("hi"), Draft(type="marker", data={"kind": "goal", "text": "win"})])
    found = store.summaries()
    assert [each.name for each in found] == ["c", "b", "a"]
    assert (found[0].messages, found[0].entries, found[0].goal) == (1, 3, "win")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "sessions").iterdir()}
    store.summaries()
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "sessions").iterdir()}
    assert after == before, "looking at the list writes nothing twice"


def test_unknown_types_and_fields_survive_a_round_trip_and_a_fork(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    draft = Draft(
        type="of.the.future",
        data={"nested": {"list": [1, 2.5, None, True, "文"]}},
        extra={"flavour": ["new"]},
    )
    (entry,) = transcript.append([draft])
    store.fork(store.open("s1"), entry.id, "s2")
    for name in ("s1", "s2"):
        found = open_store(tmp_path).open(name).find(entry.id)
        assert found == entry
        assert found.extra == {"flavour": ["new"]}


def test_a_damaged_sessions_quarantine_goes_where_it_goes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    open_transcript(store, "old").append([said("hi")])
    with (tmp_path / "sessions" / "old.jsonl").open("ab") as file:
        file.write(b"secret garbage\n")
    store.open("old").entries()
    store.rename("old", "new")
    assert store.quarantined() == ["new"]
    store.delete("new")
    assert store.quarantined() == []
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(b"secret garbage" not in path.read_bytes() for path in left)


def test_closing_a_session_another_process_deleted_leaves_nothing_behind(tmp_path: Path) -> None:
    mine = open_transcript(open_store(tmp_path))
    mine.append([Draft(type="marker", data={"kind": "goal", "text": "a secret goal"})])
    open_store(tmp_path).delete("s1")
    mine.close()
    assert list((tmp_path / "sessions").iterdir()) == []


def test_one_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=100)
    paste = Message.of("user", "long " * 100)
    for name in ("bad", "good", "gone"):
        store.append(open_transcript(store, name), [paste])
    os.link(tmp_path / "sessions" / "bad.jsonl", tmp_path / "elsewhere")
    found = {each.name: each.problem for each in store.summaries()}
    assert found["good"] is None
    assert "hard link" in (found["bad"] or "")
    assert store.delete("gone") == (2, 0), "its artifact may be named by the one we cannot read"
    assert store.verify(store.open("good")).is_intact


def test_changing_what_came_back_changes_nothing(tmp_path: Path) -> None:
    transcript = open_transcript(open_store(tmp_path))
    values: dict[str, list[int]] = {"list": [1]}
    transcript.append([Draft(type="marker", data={"kind": "vars", "set": values})])
    transcript.state().vars["list"].append(2)
    transcript.close()
    assert open_store(tmp_path).open("s1").state().vars == {"list": [1]}


def test_the_last_few_of_nothing_is_nothing(tmp_path: Path) -> None:
    transcript = open_transcript(open_store(tmp_path))
    assert transcript.entries(last=0) == transcript.entries(last=-1) == []
    assert len(transcript.entries(last=99)) == 1
