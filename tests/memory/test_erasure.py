"""Memory files without a text: lines go, the rest stays to the byte, undo cannot bring it back."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.disk import SYSTEM, Directory, System
from holdfast.errors import StorageError, UsageError
from holdfast.matching import Match
from holdfast.memory.erasure import MemoryErasure, others_words
from holdfast.memory.erasure.blanking import Editing
from holdfast.memory.notes.wording import README, new_file
from holdfast.memory.tasks.record import Mishap, Task
from holdfast.memory.tasks.record import render as render_task
from holdfast.memory.workspace import Workspace
from holdfast.ports import Erasable
from holdfast.retain import RetainLine, parse, render
from holdfast.testing import FixedClock, SequentialIds
from holdfast.text import slug
from holdfast.types import Erased
from tests.scale import scaled
from tests.sessions.disks import FailingDisk

CANARY = "Zanzibar 密码"
MARK = "[erased r1]"


def write(folder: Path, path: str, text: str) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())


def read(folder: Path, path: str) -> str:
    return (folder / path).read_bytes().decode()


def erase(
    folder: Path,
    *wanted: str,
    ids: tuple[str, ...] = (),
    sources: frozenset[str] = frozenset(),
    names: dict[str, str] | None = None,
    derive: Callable[[RetainLine], Sequence[RetainLine]] | None = None,
    dry_run: bool = False,
    system: System = SYSTEM,
) -> tuple[Erased, MemoryErasure]:
    base = Directory.open(folder, system=system)
    room = MemoryErasure(base, sources=sources, names=names, derive=derive)
    store: Erasable = room
    return store.erase(Match(wanted, "r1", ids=ids), dry_run=dry_run), room


_opened = count()


def workspace(folder: Path) -> Workspace:
    ids = SequentialIds(f"op{next(_opened)}-")  # as unique as real ones
    return Workspace(Directory.open(folder), clock=FixedClock(), ids=ids)


def holds(folder: Path, *wanted: str) -> list[str]:
    found = []
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        data = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
        for each in wanted:
            forms = {each.casefold(), each.encode("unicode_escape").decode().casefold()}
            if any(form in f"{name}\n{data}".casefold() for form in forms):
                found.append(name)
    return found


PAGE = f"""\
# 2026-03-14

<!-- A page that people may edit. -->
Some prose about {CANARY}, and more.

## Retain

- W @Peter: Went to Lisbon. <!-- hf {{"id":"m1"}} -->
- O(c=0.9) @Peter: Loves zanzibar  密码 a lot. <!-- hf {{"id":"m2"}} -->
* a plain item
  over two lines with {CANARY}
- [ ] a box

| a | b |
|---|---|
| {CANARY} | x |

```
code {CANARY}
```
"""


def test_items_go_whole_and_elsewhere_a_mark_stands(tmp_path: Path) -> None:
    write(tmp_path, "memory/2026-03-14.md", PAGE)
    write(tmp_path, "memory/2026-03-13.md", "- W: other\r\n")
    erased, room = erase(tmp_path, CANARY)
    expected = PAGE.replace(CANARY, MARK).replace(
        '- O(c=0.9) @Peter: Loves zanzibar  密码 a lot. <!-- hf {"id":"m2"} -->\n', ""
    )
    expected = expected.replace(f"* a plain item\n  over two lines with {MARK}\n", "")
    assert read(tmp_path, "memory/2026-03-14.md") == expected
    assert read(tmp_path, "memory/2026-03-13.md") == "- W: other\r\n"
    assert erased.files == ("memory/2026-03-14.md",)
    assert [(line.number, line.goes) for line in room.lines if line.goes] == [(9, True), (10, True)]
    assert erase(tmp_path, CANARY)[0].spans == 0


def test_every_memory_file_is_looked_at(tmp_path: Path) -> None:
    paths = [
        "MEMORY.md", "USER.md", "SOUL.md", "README.md", "AGENTS.md", "memory/2026-03-14.md",
        "memory/topics/travel.md", "memory/imports/x/y.md", "bank/entities/Peter.md",
        "bank/world.md", "tasks/2026-03-14-visa.md", "archive/memory/2020-01-01.md",
        "archive/tasks/2020-01-01-old.md",
    ]  # fmt: skip
    for path in paths:
        write(tmp_path, path, f"# Page\n\n- W: {CANARY} is here.\n- W: this stays.\n")
    erased, _ = erase(tmp_path, CANARY)
    assert set(erased.files) == set(paths)
    assert {read(tmp_path, path) for path in paths} == {"# Page\n\n- W: this stays.\n"}


def test_what_is_only_in_the_comment_counts(tmp_path: Path) -> None:
    line = RetainLine(kind="W", text="Nothing to see.", id="m1", extra={"was": CANARY})
    write(tmp_path, "MEMORY.md", render(line) + "\n- W: stays\n")
    assert holds(tmp_path, CANARY)
    erase(tmp_path, CANARY)
    assert read(tmp_path, "MEMORY.md") == "- W: stays\n"


def test_an_item_with_items_inside_keeps_them(tmp_path: Path) -> None:
    write(tmp_path, "MEMORY.md", f"- Trip to {CANARY}\n  - pack\n  - {CANARY} again\n- end\n")
    erase(tmp_path, CANARY)
    assert read(tmp_path, "MEMORY.md") == f"- Trip to {MARK}\n  - pack\n- end\n"


def test_names_of_files_tell_nothing(tmp_path: Path) -> None:
    title = "Plan the wedding of Zoë in the great hall of Marrakesh in spring"
    write(tmp_path, "tasks/2026-03-14-zoe-s-visa.md", "# Zoë s visa\n- status: open\n")
    write(
        tmp_path,
        f"tasks/2026-03-14-{slug(title)}.md",
        f"# {title}\n",
    )
    write(tmp_path, "memory/topics/zoe.md", "# Zoe\n")
    write(tmp_path, "bank/entities/Zoë.md", "# Zoë\n")
    write(tmp_path, "memory/2026-03-14.md", "# Zoë\n")
    erase(tmp_path, "Zoë")
    names = sorted(path.name for path in tmp_path.rglob("*.md"))
    assert not [name for name in names if "zo" in name.casefold()]
    assert names == [
        "2026-03-14-erased-r1-2.md",
        "2026-03-14-erased-r1.md",
        "2026-03-14.md",
        "erased-r1.md",
        "erased-r1.md",
    ]
    assert erase(tmp_path, "Zoë")[0].spans == 0


@pytest.mark.parametrize("wanted", ["2026", "2026-03-14", "memory", "topics", ".md"])
def test_names_of_the_layout_stay(tmp_path: Path, wanted: str) -> None:
    write(tmp_path, "memory/2026-03-14.md", "- W: x\n")
    write(tmp_path, "memory/topics/travel.md", "- W: x\n")
    erase(tmp_path, wanted)
    assert (tmp_path / "memory/2026-03-14.md").exists()
    assert (tmp_path / "memory/topics/travel.md").exists()


def test_lines_go_by_their_id_and_tasks_whole(tmp_path: Path) -> None:
    by_hand = parse("- W: No id of its own.")
    assert by_hand is not None
    write(
        tmp_path,
        "MEMORY.md",
        '- W: One. <!-- hf {"id":"m1"} -->\n- W: Two. <!-- hf {"id":"m2"} -->\n',
    )
    write(tmp_path, "tasks/2026-03-14-visa.md", "# Visa\n\n- id: task-7\n- status: open\n")
    write(tmp_path, "tasks/2026-03-14-tax.md", "# Tax\n\n- id: task-8\n- status: open\n")
    erase(tmp_path, ids=("m1", "task-7"))
    assert read(tmp_path, "MEMORY.md") == '- W: Two. <!-- hf {"id":"m2"} -->\n'
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == ["2026-03-14-tax.md"]


def test_lines_whose_sources_held_it_are_derived_again_or_go(tmp_path: Path) -> None:
    lines = [
        RetainLine(kind="W", text="Stands still.", id="m1", sources=("s1#e1",)),
        RetainLine(kind="W", text="Tells it in other words.", id="m2", sources=("s1#e1", "s1#e2")),
        RetainLine(kind="W", text="Has another source.", id="m3", sources=("s1#e3",)),
        RetainLine(kind="W", text="Is told as well.", id="m4", sources=("s1#e1",)),
    ]
    text = "# x\n" + "".join(f"  {render(line)}\n" for line in lines) + "end\n"
    write(tmp_path, "MEMORY.md", text)
    new = RetainLine(kind="W", text="What is left.", sources=("s1#e1",))

    def derive(line: RetainLine) -> Sequence[RetainLine]:
        return [line] if line.id == "m1" else [new]

    erase(tmp_path, CANARY, sources=frozenset({"s1#e1"}), derive=derive)
    expected = [lines[0], new, lines[2]]
    assert read(tmp_path, "MEMORY.md") == (
        "# x\n" + "".join(f"  {render(line)}\n" for line in expected) + "end\n"
    )


def test_citations_follow_a_session_to_its_new_name(tmp_path: Path) -> None:
    line = RetainLine(kind="W", text="x y", id="m1", sources=("trip-密码#e1", "s2#e2"))
    write(tmp_path, "MEMORY.md", render(line) + "\n")
    erase(tmp_path, "密码", names={"trip-密码": "trip-erased-r1"})
    assert parse(read(tmp_path, "MEMORY.md")) == replace(
        line, sources=("trip-erased-r1#e1", "s2#e2")
    )


def test_bytes_that_are_no_text_stay(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_bytes(b"\xff\xfe " + CANARY.encode() + b" \x80\r\nnext\xf0\r\n")
    erase(tmp_path, CANARY)
    assert file.read_bytes() == b"\xff\xfe " + MARK.encode() + b" \x80\r\nnext\xf0\r\n"


LINES = st.lists(
    st.sampled_from(
        [
            "- W: {}\n",
            "text {} here\n",
            "\n",
            "# {} title\n",
            "- a\n",
            "  - b {}\n",
            "```\n",
            "1. {}\n",
            "> quote {}\n",
            "    code {}\n",
            "| {} | b |\n",
            "plain\r\n",
            "* W @X: {}\n",
            "<!-- {} -->\n",
        ]
    ),
    max_size=14,
)


@given(lines=LINES, filled=st.lists(st.booleans(), min_size=14, max_size=14))
@settings(max_examples=scaled(150))
def test_lines_without_it_stay_to_the_byte(lines: list[str], filled: list[bool]) -> None:
    word = "xcanaryx"
    text = "".join(
        line.format(word if use else "ok") for line, use in zip(lines, filled, strict=False)
    )
    match = Match([word], "r1")
    page = Editing(match, frozenset(), {}, lambda line: (), "MEMORY.md").edit(text)
    assert page.after is not None
    after = page.after.decode()
    assert word not in after
    kept = [line for line in text.splitlines(keepends=True) if word not in line]
    left = [line for line in after.splitlines(keepends=True) if "[erased r1]" not in line]
    rest = iter(kept)
    assert all(line in rest for line in left), "nothing new, and in order"
    gone = len(kept) - len(left)
    assert gone == 0 or any(line.lstrip()[:1] in "-*1>" for line in text.splitlines(keepends=True))


def test_undo_brings_nothing_back_and_still_works(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    space.edit("MEMORY.md", lambda text: "- W: first\n")
    space.edit("MEMORY.md", lambda text: f"- W: first\n- W: {CANARY} one\n- W: third\n")
    space.edit("MEMORY.md", lambda text: "- W: first\n- W: third\n- W: fourth\n")
    space.edit("tasks/2026-03-14-zanzibar.md", lambda text: "# x\n")
    assert holds(tmp_path, CANARY)
    erased, _ = erase(tmp_path, CANARY, "zanzibar")
    assert holds(tmp_path, CANARY, "zanzibar") == []
    assert ".journal/operations.jsonl" in erased.files
    space = workspace(tmp_path)
    for operation in space.operations():
        space.undo(operation.id)
        assert holds(tmp_path, CANARY, "zanzibar") == []
    assert space.read("MEMORY.md") is None
    newest = next(each for each in space.operations() if each.undoes is not None)
    space.undo(newest.id)
    assert holds(tmp_path, CANARY) == []


def test_undo_after_an_erasure_gives_the_old_text_without_it(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    space.edit("MEMORY.md", lambda text: f"- W: one\n- W: {CANARY}\n- W: two\n")
    done = space.edit("MEMORY.md", lambda text: "- W: only this\n")
    assert done is not None
    erase(tmp_path, CANARY)
    workspace(tmp_path).undo()
    assert read(tmp_path, "MEMORY.md") == "- W: one\n- W: two\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
def test_whichever_call_fails_erasing_again_finishes(fast_path: Path, number: int) -> None:
    fail_at, has_failed = 0, True
    while has_failed:
        fail_at += 1
        home = fast_path / f"{number}-{fail_at}"
        home.mkdir(mode=0o700)
        space = workspace(home)
        space.edit("MEMORY.md", lambda text: f"- W: a\n- W: {CANARY}\n")
        space.edit("MEMORY.md", lambda text: f"- W: a\n- W: {CANARY}\n- W: b\n")
        space.edit("tasks/2026-03-14-zanzibar.md", lambda text: f"# {CANARY}\n")
        disk = FailingDisk(fail_at, number=number)
        try:
            erase(home, CANARY, system=disk)
        except StorageError:
            assert disk.has_failed
        has_failed = disk.has_failed
        erase(home, CANARY)
        assert holds(home, CANARY) == []
        assert read(home, "MEMORY.md") == "- W: a\n- W: b\n"
        space = workspace(home)
        for operation in space.operations():
            with suppress(UsageError):  # refused, never broken
                space.undo(operation.id)
        assert holds(home, CANARY) == []
    assert fail_at > 12, "every changing call of the erasure was made to fail once"


@pytest.mark.parametrize(
    "word", ["2026", "sources", "tool", "observed", "agent", "m-0001", "trust", "s1", "2026-03-14"]
)
def test_what_a_comment_says_by_itself_does_not_cost_the_line(tmp_path: Path, word: str) -> None:
    lines = [
        RetainLine(
            kind="W", text=text, id=f"m-000{n}", sources=("s1#e1",), trust="tool",
            observed=date(2026, 3, 14),
        )
        for n, text in enumerate(["Likes tea.", "Likes milk."])
    ]  # fmt: skip
    text = "".join(f"{render(line)}\n" for line in lines)
    write(tmp_path, "MEMORY.md", f"{text}- W: says {word} aloud\n")
    erase(tmp_path, word)
    assert read(tmp_path, "MEMORY.md") == text
    assert erase(tmp_path, word)[0].spans == 0


# ── task records ────────────────────────────────────────────────────────────────────────────

RECORD = render_task(
    Task(
        id="t-06gy5d69xfy4kje45t",
        title="Please fix the login bug",
        type="bug_fix",
        status="done",
        opened=datetime(2026, 3, 14, 10, 0, tzinfo=UTC),
        request="Please fix the login bug for\nAnna Quendolin\n12 Acacia Avenue, Springfield",
        progress=("2026-03-14 10:30: looked at it",),
        errors=(Mishap(what="no such host", fix="used another", from_tool=True),),
        sources=("zebra-chat#e1", "other#e2"),
        trust="tool",
    )
)
TASK = "tasks/2026-03-14-login.md"


@pytest.mark.parametrize(
    "wanted",
    ["done", "id", "request", "##", "sources", "status", "bug_fix", "tool", "opened", "2026",
     "06gy5d69", "2026-03-14", "trust", "edit all of this", "t-06gy5d69xfy4kje45t"],
)  # fmt: skip
def test_what_a_record_says_by_itself_stays(tmp_path: Path, wanted: str) -> None:
    write(tmp_path, TASK, RECORD)
    erased, _ = erase(tmp_path, wanted)
    assert read(tmp_path, TASK) == RECORD
    assert erased.spans == 0


def test_the_sources_of_a_record_follow_a_session_to_its_new_name(tmp_path: Path) -> None:
    write(tmp_path, TASK, RECORD)
    erase(tmp_path, "zebra", names={"zebra-chat": "erased-r1-chat"})
    assert read(tmp_path, TASK) == RECORD.replace("zebra-chat#", "erased-r1-chat#")


def test_a_text_over_the_lines_of_a_quote_is_erased(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    space.edit(TASK, lambda text: RECORD)
    space.edit(TASK, lambda text: (text or "") + "- one more\n")
    erase(tmp_path, "Anna Quendolin 12 Acacia Avenue")
    quoted = "> Anna Quendolin\n> 12 Acacia Avenue"
    assert read(tmp_path, TASK) == RECORD.replace(quoted, f"> {MARK}") + "- one more\n"
    assert holds(tmp_path, "quendolin", "acacia") == []


def test_a_field_that_tells_the_text_keeps_its_place(tmp_path: Path) -> None:
    write(tmp_path, TASK, "# x\n\n- id: for-anna\n- type: anna-things\n- status: done\n")
    erase(tmp_path, "anna")
    assert read(tmp_path, TASK) == (
        "# x\n\n- id: for-erased-r1\n- type: erased-r1-things\n- status: done\n"
    )


def test_cut_pieces_of_what_was_erased_go_from_a_record_and_its_name(tmp_path: Path) -> None:
    before = (
        "# Call zanzi\n\n- id: t1\n- status: done\n- sources: s1#e1, s1#e9\n\n"
        "## Request\n\n> Call the\n> zanzi\n\n## Progress\n\n- by hand: zany\n- see zanzi\n"
    )
    write(tmp_path, "tasks/2026-03-14-call-zanzi.md", before)

    def tells(text: str, sources: Sequence[str]) -> bool:
        assert list(sources) == ["s1#e1", "s1#e9"]
        return text.endswith(("zanzi", "zanzi\n"))

    base = Directory.open(tmp_path)
    room = MemoryErasure(base, sources=frozenset({"s1#e5"}), tells=tells)
    room.erase(Match([CANARY], "r1"))
    after = read(tmp_path, "tasks/2026-03-14-erased-r1.md")
    assert after == before.replace("# Call zanzi", f"# {MARK}").replace(
        "> zanzi", f"> {MARK}"
    ).replace("- see zanzi\n", "")
    assert room.moved == {"tasks/2026-03-14-call-zanzi.md": "tasks/2026-03-14-erased-r1.md"}


def _instead(new: str, text: str | None) -> str:
    return new


def test_a_task_that_goes_by_its_id_leaves_no_title(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    for name in ("secret-surgery", "secret-trip"):
        record = f"# {name}\n\n- id: task-{name}\n- status: open\n"
        space.edit(f"tasks/2026-03-14-{name}.md", partial(_instead, record))
    erased, room = erase(tmp_path, ids=("task-secret-surgery", "task-secret-trip"))
    assert {"tasks/erased-r1.md", "tasks/erased-r1-2.md"} <= set(erased.files)
    assert sorted(room.moved.values()) == ["tasks/erased-r1-2.md", "tasks/erased-r1.md"]
    assert holds(tmp_path, "secret", "surgery") == []


# ── words of our own ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wanted", ["Rome", "Peter", "上海", "summary", "one per line", "每行一条"])
def test_what_our_files_say_of_themselves_stays_and_is_not_counted(
    tmp_path: Path, wanted: str
) -> None:
    ours = {
        "README.md": README,
        "memory/2026-03-14.md": new_file("daily", "2026-03-14", chinese=False) + "\n- W: x\n",
        "memory/topics/a.md": new_file("topic", "a", chinese=True) + "\n- W: x\n",
    }
    for path, text in ours.items():
        write(tmp_path, path, text)
    assert erase(tmp_path, wanted)[0].spans == 0
    write(tmp_path, "memory/2026-03-14.md", ours["memory/2026-03-14.md"] + f"- W: {wanted}.\n")
    assert erase(tmp_path, wanted)[0].files == ("memory/2026-03-14.md",)
    assert {path: read(tmp_path, path) for path in ours} == ours
    write(tmp_path, "README.md", README + f"\nMine: {wanted}\n")
    assert erase(tmp_path, wanted)[0].files == ("README.md",), "edited, it is somebody's"


def test_words_of_our_own_are_told_from_those_of_others() -> None:
    diff = "".join(f"+{line}\n" for line in (*README.splitlines(), *RECORD.splitlines()))
    said = others_words(diff.encode(), is_diff=True)
    assert not [word for word in ("Rome", "status", "Request", "You may") if word in said]
    assert "Acacia" in said
    assert "Acacia" in others_words(RECORD.encode())


# ── others who write meanwhile ──────────────────────────────────────────────────────────────


class BusyDisk(System):
    """Somebody writes the file in the moment before it is swapped."""

    def __init__(self, file: Path, *saves: Callable[[Path], object]) -> None:
        self._file = file
        self._saves = list(saves)

    def exchange(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        if self._saves:
            self._saves.pop(0)(self._file)
        super().exchange(source, target, dir_fd=dir_fd, target_fd=target_fd)


def _append(text: str) -> Callable[[Path], object]:
    def save(file: Path) -> None:
        with file.open("a") as opened:
            opened.write(text)

    return save


def _save(text: str) -> Callable[[Path], object]:
    def save(file: Path) -> None:
        other = file.with_name("editor")
        other.write_text(text)
        other.replace(file)

    return save


@pytest.mark.parametrize(
    ("saves", "left"),
    [
        ([_append("- W: typed\n")], "- W: a\n- W: typed\n"),
        ([_append(f"- W: typed\n- W: {CANARY}\n")], "- W: a\n- W: typed\n"),
        ([_save(f"- W: new\n- W: {CANARY}\n")], "- W: new\n"),
        ([_save("- W: new\n"), _append("- W: typed\n")], "- W: new\n- W: typed\n"),
        ([_save("- W: new\n"), _save("- W: newer\n")], "- W: newer\n"),
        ([Path.unlink], None),
    ],
)
def test_what_is_saved_during_an_erasure_is_not_lost(
    tmp_path: Path, saves: list[Callable[[Path], object]], left: str | None
) -> None:
    write(tmp_path, "MEMORY.md", f"- W: a\n- W: {CANARY}\n")
    disk = BusyDisk(tmp_path / "MEMORY.md", *saves)
    erase(tmp_path, CANARY, system=disk)
    file = tmp_path / "MEMORY.md"
    assert (file.read_text() if file.exists() else None) == left
    assert holds(tmp_path, CANARY) == []
    assert not list(tmp_path.rglob(".tmp-*"))


def test_a_dry_run_leaves_no_trace(tmp_path: Path) -> None:
    write(tmp_path, "MEMORY.md", f"- W: {CANARY}\n")
    assert erase(tmp_path, CANARY, dry_run=True)[0].spans
    assert [path.name for path in tmp_path.rglob("*")] == ["MEMORY.md"]
