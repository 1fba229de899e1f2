"""Undo: the bytes that were there, or, after others have edited, everything but our lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.disk import Directory
from holdfast.errors import NotFound, UsageError
from holdfast.memory.workspace import Operation, Workspace, journal
from holdfast.memory.workspace.merging import (
    InTheWay,
    applied,
    differences,
    joined,
    parsed,
    reverse,
    shown,
    without,
    written,
)
from holdfast.testing import FixedClock, SequentialIds
from tests.scale import scaled

PATH = "memory/2026-03-04.md"
TEXT = st.lists(
    st.sampled_from(
        ["a\n", "b\n", "c\n", "\n", "- W: x\r\n", "中文\n", "+d\n", "@@ -1,1 +1,1 @@\n"]
    ),
    max_size=12,
).flatmap(lambda lines: st.sampled_from(["", "end", "\\ No newline"]).map("".join(lines).__add__))


@pytest.fixture
def room(home: Path) -> Workspace:
    return Workspace(Directory.open(home), clock=FixedClock(), ids=SequentialIds())


def add(room: Workspace, line: str, path: str = PATH) -> None:
    room.edit(path, lambda text: (text or "") + line + "\n")


def fill(room: Workspace, text: str) -> None:
    room.edit(PATH, lambda _: text)


# ── lines ───────────────────────────────────────────────────────────────────────────────────


@given(TEXT, TEXT)
@settings(max_examples=scaled(80))
def test_a_difference_makes_one_text_of_the_other_and_can_be_written_down(
    before: str, after: str
) -> None:
    hunks = differences(before, after)
    assert applied(before, hunks) == after
    assert parsed(written(hunks)) == hunks
    assert applied(after, reverse(hunks)) == before
    assert bool(hunks) == (before != after)
    assert bool(shown("x.md", before, after)) == (before != after)


@given(TEXT, TEXT, st.data())
@settings(max_examples=scaled(60))
def test_a_torn_difference_is_noticed(before: str, after: str, data: st.DataObject) -> None:
    diff = written(differences(before, after))
    torn = diff[: data.draw(st.integers(0, len(diff)))]
    found = parsed(torn)
    assert torn == diff or found is None or applied(before, found) != after or found == parsed(diff)


@given(TEXT, TEXT)
@settings(max_examples=scaled(60))
def test_taking_out_an_edit_from_what_it_left_is_what_was_before(before: str, after: str) -> None:
    assert without(after, after, before) == before


@given(
    st.lists(st.integers(0, 99), max_size=10, unique=True),
    st.lists(st.integers(100, 199), max_size=5, unique=True),
    st.lists(st.integers(200, 299), max_size=5, unique=True),
    st.randoms(use_true_random=False),
)
@settings(max_examples=scaled(80))
def test_lines_of_others_stay_and_ours_go(
    old: list[int], ours: list[int], theirs: list[int], chance: object
) -> None:
    """Whatever was added anywhere by both, each only adding lines."""
    mixed = _mixed(old, ours, chance)
    present = _mixed(mixed, theirs, chance)
    found = without(_joined(mixed), _joined(present), _joined(old))
    assert found == _joined([line for line in present if line not in ours])


def _mixed(one: list[int], other: list[int], chance: object) -> list[int]:
    result = list(one)
    for each in other:
        result.insert(chance.randint(0, len(result)), each)  # type: ignore[attr-defined]
    return result


def _joined(lines: list[int]) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("before", "left", "present", "expected"),
    [
        ("a\nb\n", "a\nx\nb\n", "a\nx\nb\nnew\n", "a\nb\nnew\n"),
        ("a\nb\n", "a\nb\nx\n", "a!\nb\nx\n", "a!\nb\n"),
        ("a\nb\n", "a\n", "new\na\n", "new\na\nb\n"),
        ("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nnew\n", "a\nb\nc\nnew\n"),
        ("a\n", "a\nx\ny\n", "a\nx\nnew\ny\n", "a\nnew\n"),
        ("a\n", "a\nx\ny\n", "a\ny\n", "a\n"),
        ("a\n", "a\nx\n", "a\nx\nno end", "a\nno end"),
        ("a", "a\nx\n", "a\nx\nnew\n", "a\nnew\n"),
        ("a\n", "a\nx\n", "a\nx changed\n", None),
        ("a\nb\n", "a\nB\n", "a\nB changed\n", None),
    ],
)
def test_three_texts_are_merged_line_by_line(
    before: str, left: str, present: str, expected: str | None
) -> None:
    if expected is not None:
        assert without(left, present, before) == expected
        return
    with pytest.raises(InTheWay) as way:
        without(left, present, before)
    assert way.value.lines


@given(TEXT, TEXT, TEXT)
@settings(max_examples=scaled(120))
def test_two_edits_are_joined_with_every_line_either_added_or_not_at_all(
    base: str, theirs: str, ours: str
) -> None:
    found = joined(base, theirs, ours)
    if found is not None:
        lines = set(found.split("\n"))
        for text in (theirs, ours):
            added = {line for hunk in differences(base, text) for line in hunk.added}
            removed = {line for hunk in differences(base, text) for line in hunk.removed}
            assert {line.rstrip("\n") for line in added - removed} <= lines
    for text in (theirs, ours):
        whole = text if not text or text.endswith("\n") else f"{text}\n"
        assert joined(base, text, base) == whole
        assert joined(base, base, text) == whole
        assert joined(base, text, text) == whole


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "expected"),
    [
        ("a\n", "a\nhand\n", "a\nours\n", "a\nhand\nours\n"),
        ("", "# Day\n- one\n- hand\n", "# Day\n- ours\n", "# Day\n- one\n- hand\n- ours\n"),
        ("a\ntw", "a\ntwo\nthree\n", "a\ntw\nours\n", "a\ntwo\nthree\nours\n"),
        ("a\nb\nc\n", "a\nc\nhand\n", "ours\na\nb\nc\n", "ours\na\nc\nhand\n"),
        ("a\nb\nc\n", "a\nc\n", "a\n", "a\n"),
        ("a\n", "a\nhand\n", "a\nhand\nours\n", "a\nhand\nours\n"),
        ("a\nb\n", "a\nB\n", "a\nours B\n", None),
        ("a\nb\n", "a\nB\n", "a\n", None),
        ("a\nb\nc\n", "X\n", "a\nours\nb\nc\n", None),
    ],
)
def test_two_edits_of_one_text_are_joined_line_by_line(
    base: str, theirs: str, ours: str, expected: str | None
) -> None:
    assert joined(base, theirs, ours) == expected


def test_large_texts_are_compared_in_linear_time() -> None:
    before = "".join(f"{number}\n" for number in range(30_000))
    after = "".join(f"{number}!\n" for number in range(30_000))
    hunks = differences(before, after)
    assert len(hunks) == 1
    assert applied(before, hunks) == after
    assert len(differences(before, before + "one more\n")) == 1


# ── operations ──────────────────────────────────────────────────────────────────────────────


def test_undo_brings_back_the_bytes_and_walks_further_back(room: Workspace, home: Path) -> None:
    for line in ("one", "two", "three"):
        add(room, line)
    assert room.undo().operation == "e000003"
    assert (home / PATH).read_bytes() == b"one\ntwo\n"
    room.undo()
    assert room.read(PATH) == "one\n"
    room.undo()
    assert room.read(PATH) is None
    with pytest.raises(NotFound, match="nothing to undo"):
        room.undo()


def test_an_undo_can_be_undone(room: Workspace) -> None:
    add(room, "one")
    add(room, "two")
    undone = room.undo()
    assert undone.undo is not None
    again = room.undo(undone.undo)
    assert room.read(PATH) == "one\ntwo\n"
    newest, undo, second, _ = room.operations()
    assert (newest.undoes, undo.undoes, second.undoes) == (undone.undo, "e000002", None)
    assert (newest.undone_by, undo.undone_by, second.undone_by) == (None, newest.id, None)
    assert again.what == "undo: edit"
    assert room.undo().operation == "e000002", "it stands again, so it can be undone again"
    assert room.read(PATH) == "one\n"


def test_undo_says_what_it_would_do_without_doing_it(room: Workspace) -> None:
    add(room, "one")
    add(room, "two")
    would = room.undo(dry_run=True)
    assert would.diff == f"--- a/{PATH}\n+++ b/{PATH}\n@@ -1,2 +1 @@\n one\n-two\n"
    assert would.undo is None
    assert room.read(PATH) == "one\ntwo\n"
    assert len(room.operations()) == 2
    did = room.undo()
    assert (did.operation, did.what, did.paths, did.diff) == (
        would.operation,
        would.what,
        would.paths,
        would.diff,
    )


def test_several_files_are_one_step(room: Workspace) -> None:
    add(room, "one")
    with room.operation("promote", line="l1"):
        with room.operation("inner"):
            add(room, "one", "MEMORY.md")
        room.edit(PATH, lambda _: None)
        assert room.current == "e000002"
    assert room.files() == ["MEMORY.md"]
    newest = room.operations()[0]
    assert (newest.what, newest.about, newest.paths) == (
        "promote",
        {"line": "l1"},
        ("MEMORY.md", PATH),
    )
    assert room.undo().paths == ("MEMORY.md", PATH)
    assert room.files() == [PATH]
    assert room.read(PATH) == "one\n"


def test_a_file_changed_twice_in_one_step_goes_all_the_way_back(room: Workspace) -> None:
    add(room, "one")
    with room.operation("twice"):
        add(room, "two")
        add(room, "three")
    assert "-two\n-three\n" in room.undo(dry_run=True).diff
    room.undo()
    assert room.read(PATH) == "one\n"


def test_what_others_wrote_since_stays(room: Workspace, home: Path) -> None:
    add(room, "one")
    add(room, "two")
    file = home / PATH
    file.write_text("# by hand\none\ntwo\nby hand\n")
    add(room, "three")
    room.undo("e000002")
    assert room.read(PATH) == "# by hand\none\nby hand\nthree\n"
    room.undo("e000001")
    assert room.read(PATH) == "# by hand\nby hand\nthree\n"


def test_lines_somebody_changed_are_in_the_way_and_nothing_happens(
    room: Workspace, home: Path
) -> None:
    add(room, "- W: old")
    with room.operation("both"):
        add(room, "one", "MEMORY.md")
        room.edit(PATH, lambda _: "- W: flight at 14:05\n")
    (home / PATH).write_text("- W: flight at 14:50\n")
    for dry_run in (True, False):
        with pytest.raises(UsageError) as refused:
            room.undo(dry_run=dry_run)
        assert "flight at 14:50" in refused.value.message
        kept = Path((refused.value.hint or "").split()[-1])
        assert kept.read_text() == "- W: old\n"
    assert (home / PATH).read_text() == "- W: flight at 14:50\n"
    assert room.read("MEMORY.md") == "one\n"
    assert len(room.operations()) == 2


def test_a_removed_file_comes_back_unless_it_was_written_again(room: Workspace, home: Path) -> None:
    add(room, "one")
    room.edit(PATH, lambda _: None)
    (home / PATH).write_text("another\n")
    with pytest.raises(UsageError, match="written again"):
        room.undo()
    (home / PATH).unlink()
    room.undo()
    assert room.read(PATH) == "one\n"
    (home / PATH).unlink()
    with pytest.raises(NotFound):
        room.undo("nothing")
    assert room.undo("e000001").diff == "", "there is nothing left to take back"


def test_lines_taken_out_by_hand_do_not_keep_undo_from_going_on(
    room: Workspace, home: Path
) -> None:
    add(room, "one")
    add(room, "two")
    (home / PATH).write_text("one\n")
    assert room.undo().operation == "e000002"
    assert room.undo().operation == "e000001"
    assert room.read(PATH) is None


def test_what_is_undone_is_not_undone_twice(room: Workspace) -> None:
    add(room, "one")
    undone = room.undo()
    with pytest.raises(UsageError, match="already") as refused:
        room.undo("e000001")
    assert f"holdfast undo {undone.undo}" in (refused.value.hint or "")


def test_an_operation_that_fails_leaves_everything_as_it_was(room: Workspace, home: Path) -> None:
    add(room, "one")
    inode = (home / PATH).stat().st_ino
    with pytest.raises(ZeroDivisionError), room.operation("fails"):  # noqa: PT012
        add(room, "two")
        add(room, "new", "bank/entities/Peter.md")
        room.edit(PATH, lambda _: None)
        add(room, "three")
        _ = 1 // 0
    assert room.read(PATH) == "one\n"
    assert (home / PATH).stat().st_ino == inode, "the very file is back"
    assert room.read("bank/entities/Peter.md") is None
    assert len(room.operations()) == 1
    assert {path.name for path in (home / ".journal/preimages").iterdir()} == {"e000001-0.md.diff"}
    add(room, "two")
    assert room.read(PATH) == "one\ntwo\n"


def test_an_edit_that_changes_nothing_is_no_operation(room: Workspace, home: Path) -> None:
    add(room, "one")
    before = (home / PATH).stat().st_mtime_ns
    assert room.edit(PATH, lambda text: text) is None
    assert room.edit("MEMORY.md", lambda _: None) is None
    with room.operation("nothing"):
        assert room.current is None
    assert len(room.operations()) == 1
    assert (home / PATH).stat().st_mtime_ns == before


def test_no_word_of_memory_is_in_the_log(room: Workspace, home: Path) -> None:
    add(room, "CANARY")
    add(room, "CANARY again")
    room.undo()
    log = (home / ".journal" / "operations.jsonl").read_bytes()
    assert b"CANARY" not in log
    assert b"CANARY" not in (home / ".journal" / "pending.jsonl").read_bytes()
    first = json.loads(log.splitlines()[0])
    assert list(first) == ["id", "at", "what", "changes"]
    assert first["at"] == "2026-03-14T09:26:53+00:00"
    assert list(first["changes"][0]) == ["path", "before", "after", "preimage"]


def test_damaged_lines_of_the_log_cost_only_themselves(room: Workspace, home: Path) -> None:
    for line in ("one", "two", "three"):
        add(room, line)
    log = home / ".journal" / "operations.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + b"\xff garbage\n" + b"[]\n" + lines[2] + b'{"torn')
    assert [each.id for each in room.operations()] == ["e000003", "e000001"]
    add(room, "four")
    assert [each.id for each in room.operations()] == ["e000004", "e000003", "e000001"]
    room.undo()
    assert room.read(PATH) == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ["x"]},
        {"what": None},
        {"undoes": ["x"]},
        {"undoes": 1},
        {"about": "zz"},
        {"changes": [{"path": ["x"], "before": None, "after": None, "preimage": "x"}]},
        {"changes": [{"path": PATH, "before": ["x"], "after": None, "preimage": "x"}]},
        {"changes": [{"path": PATH, "before": None, "after": 1, "preimage": "x"}]},
        {"changes": [{"path": PATH, "before": "x", "after": None, "preimage": "../x"}]},
        {"changes": [{"path": PATH, "before": "x", "after": None, "preimage": "x", "inode": []}]},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["operations.jsonl", "pending.jsonl"])
def test_a_line_of_the_journal_with_values_of_another_kind_costs_only_itself(
    room: Workspace, home: Path, name: str, wrong: dict[str, object]
) -> None:
    add(room, "one")
    good = {"id": "x", "at": "2026-01-01T00:00:00+00:00", "what": "edit", "changes": []}
    with (home / ".journal" / name).open("ab") as file:
        file.write(json.dumps(good | wrong).encode() + b"\n")
    add(room, "two")
    assert [each.id for each in room.operations()] == ["e000002", "e000001"]
    room.undo()
    assert room.read(PATH) == "one\n"


@pytest.mark.parametrize("path", ["../../../etc/x.md", "/x.md", "", "memory"])
def test_a_pending_change_of_what_is_no_path_keeps_nobody_from_writing(
    room: Workspace, home: Path, path: str
) -> None:
    add(room, "one")
    change = {"path": path, "before": "x", "after": "y", "preimage": "x-0.md"}
    line = {"id": "x", "at": "2026-01-01T00:00:00+00:00", "what": "edit", "changes": [change]}
    (home / ".journal" / "pending.jsonl").write_text(json.dumps(line) + "\n")
    add(room, "two")
    assert [each.id for each in room.operations()] == ["e000002", "e000001"]
    room.undo()
    assert room.read(PATH) == "one\n"


@pytest.fixture
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_LOOK_EVERY", 1)
    monkeypatch.setattr(journal, "_SLACK", 5)


@pytest.mark.usefixtures("_looks_often")
def test_old_operations_are_not_kept_for_ever(room: Workspace, home: Path) -> None:
    room.journal._keep = (10, 10**9, 2)
    for number in range(25):
        add(room, f"line {number}")
    kept = room.operations()
    assert 10 <= len(kept) <= 15
    assert kept[0].id == "e000025"
    assert _preimages(home) == {f"{each.id}-0.md" for each in kept}
    for _ in range(5):
        room.undo()
    assert (room.read(PATH) or "").endswith("line 19\n")


@pytest.mark.usefixtures("_looks_often")
def test_large_preimages_go_earlier_but_never_the_newest(room: Workspace, home: Path) -> None:
    room.journal._keep = (500, 100_000, 4)
    for number in range(20):
        fill(room, f"{number} " * 20_000)
    assert len(room.operations()) == 4
    room.undo()
    assert (room.read(PATH) or "")[:3] == "18 "
    for number in range(20):
        fill(room, f"{number} ")
    assert len(room.operations()) > 15
    assert _preimages(home) == {f"{each.id}-0.md" for each in room.operations()}


def _preimages(home: Path) -> set[str]:
    return {path.name.removesuffix(".diff") for path in (home / ".journal/preimages").iterdir()}


def test_the_limits_are_those_that_are_promised() -> None:
    assert (journal.KEEP_OPERATIONS, journal.KEEP_BYTES, journal.KEEP_ALWAYS) == (
        500,
        64 * 1024 * 1024,
        20,
    )


def test_whoever_wants_is_told_of_each_operation(home: Path) -> None:
    told: list[Operation] = []
    base = Directory.open(home)
    room = Workspace(base, clock=FixedClock(), ids=SequentialIds(), on_change=told.append)
    add(room, "one")
    room.edit(PATH, lambda text: text)
    with room.operation("two"):
        add(room, "two")
        add(room, "three")
    room.undo()
    assert [(each.id, each.what, len(each.changes)) for each in told] == [
        ("e000001", "edit", 1),
        ("e000002", "two", 2),
        ("e000003", "undo: two", 2),
    ]
