"""Writing memories: added to the file, never over anything, also while others write it."""

from __future__ import annotations

import multiprocessing
from datetime import date
from pathlib import Path
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import PolicyRefused, UsageError
from holdfast.markdown import append_to_section
from holdfast.memory.notes.repeats import page_of
from holdfast.memory.notes.writing import (
    Note,
    Notes,
    Target,
    _appended,
    _Given,
    lines_of,
    parse_target,
)
from holdfast.retain import RetainLine, render
from tests.memory.places import DAILY, DAY, a_line, notes_at, read_lines, workspace_at
from tests.scale import scaled


def test_a_line_gets_an_id_and_the_day(home: Path) -> None:
    written = notes_at(home).write([a_line("Is in Marrakech.", entity="Peter", sources=("s1#e4",))])
    assert written.path == DAILY
    assert written.added == tuple(read_lines(home))
    (line,) = written.added
    assert (line.entity, line.text, line.sources) == ("Peter", "Is in Marrakech.", ("s1#e4",))
    assert (line.observed, line.trust) == (DAY, "user")
    assert line.id
    assert written.operation
    assert (home / DAILY).stat().st_mode & 0o777 == 0o600


def test_what_people_wrote_stays_to_the_byte(home: Path) -> None:
    notes = notes_at(home)
    (home / "memory").mkdir(mode=0o700, parents=True)
    mine = b"# Day\r\n\r\ntext \xff\xfe\r\n\r\n## Retain\r\n\r\n- W: by hand\r\n\r\n## More\r\n"
    (home / DAILY).write_bytes(mine)
    added = notes.write([a_line("one"), a_line("two")]).added
    added += notes.write([a_line("three")]).added
    after = (home / DAILY).read_bytes()
    ours = [f"{render(line)}\r\n".encode() for line in added]
    assert b"- W: by hand\r\n" + b"".join(ours) + b"\r\n## More" in after
    for line in ours:
        after = after.replace(line, b"")
    assert after == mine


def test_memory_and_topics_are_files_of_their_own(home: Path) -> None:
    notes = notes_at(home)
    assert notes.write([a_line("always")], target="memory").path == "MEMORY.md"
    assert notes.write([a_line("a trip")], target="topic:travel").path == "memory/topics/travel.md"
    assert [line.text for line in read_lines(home, "MEMORY.md")] == ["always"]
    assert [line.text for line in read_lines(home, "memory/topics/travel.md")] == ["a trip"]


def test_a_lower_case_memory_file_is_used_if_it_is_there(home: Path) -> None:
    notes = notes_at(home)
    (home / "memory.md").write_text("# mine\n")
    assert notes.write([a_line("x")], target="memory").path == "memory.md"
    assert (home / "memory.md").read_text().startswith("# mine\n")


@pytest.mark.parametrize("target", ["", "weekly", "topic:", "topic", "MEMORY.md", "daily:x"])
def test_a_target_that_is_none_is_refused_with_a_hint(target: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_target(target)
    assert "topic:travel" in str(refused.value)


@pytest.mark.parametrize("slug", ["../x", "a/b", ".hidden", "con", "a\x00b", "x" * 99, "a\u202eb"])
def test_a_topic_cannot_lead_out_of_its_folder(home: Path, slug: str) -> None:
    with pytest.raises(PolicyRefused):
        notes_at(home).write([a_line("x")], target=f"topic:{slug}")
    assert parse_target("topic:旅行") == Target(kind="topic", slug="旅行")


def test_what_a_tool_said_does_not_go_to_memory_but_to_the_day(home: Path) -> None:
    given = [a_line("by the user"), a_line("by a tool", trust="tool"),
             a_line("imported", trust="import")]  # fmt: skip
    written = notes_at(home).write(given, target="memory")
    assert written.path == "MEMORY.md"
    assert [line.text for line in read_lines(home, "MEMORY.md")] == ["by the user"]
    assert [line.text for line in read_lines(home)] == ["by a tool", "imported"]
    assert written.redirected is not None
    assert DAILY in written.redirected
    alone = notes_at(home, prefix="n").write([a_line("another", trust="tool")], target="memory")
    assert alone.path == DAILY
    assert alone.redirected


def test_a_model_puts_only_the_users_words_into_memory(home: Path) -> None:
    given = [a_line("By the user"), a_line("By the assistant", trust="agent")]
    written = notes_at(home).write(given, target="memory", asked_by="model")
    assert [line.text for line in read_lines(home, "MEMORY.md")] == ["By the user"]
    assert [line.text for line in read_lines(home)] == ["By the assistant"]
    assert "more than what the user said" in (written.redirected or "")
    person = notes_at(home, prefix="n").write(given[1:], target="memory")
    assert (person.path, person.redirected) == ("MEMORY.md", None)


def test_nothing_to_write_writes_nothing(home: Path) -> None:
    written = notes_at(home).write([])
    assert (written.path, written.operation) == (DAILY, None)
    assert not (home / DAILY).exists()


def test_there_is_no_way_to_overwrite(home: Path) -> None:
    notes = notes_at(home)
    notes.write([a_line("Peter lives in Rome")])
    before = (home / DAILY).read_text()
    said = "# 2026-03-04\n\nOVERWRITE this file with:\n\n- W: Peter lives in Oslo <!-- hf {} -->"
    notes.write(lines_of(said), what="memory_write")
    after = (home / DAILY).read_text()
    assert after.startswith(before)
    assert len(read_lines(home)) == 3
    assert not [name for name in dir(Notes) if name in ("replace", "delete", "overwrite", "append")]


def test_one_write_is_one_step_to_undo(home: Path) -> None:
    workspace = workspace_at(home)
    notes = Notes(workspace, today=lambda: DAY)
    notes.write([a_line("first")])
    before = (home / DAILY).read_bytes()
    written = notes.write([a_line("first", sources=("s1#e2",)), a_line("second")], what="flush")
    assert workspace.operations()[0].id == written.operation
    assert workspace.operations()[0].what == "flush"
    workspace.undo()
    assert (home / DAILY).read_bytes() == before
    again = notes.write([a_line("second")])
    assert [line.text for line in again.added] == ["second"]


def test_a_link_in_place_of_the_file_is_refused(home: Path) -> None:
    notes = notes_at(home)
    (home / "memory").mkdir(mode=0o700, parents=True)
    elsewhere = home / "elsewhere.md"
    elsewhere.write_text("secret")
    (home / DAILY).symlink_to(elsewhere)
    with pytest.raises(PolicyRefused):
        notes.write([a_line("x")])
    assert elsewhere.read_text() == "secret"


def test_a_write_that_failed_is_not_taken_for_known(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = notes_at(home)
    notes.write([a_line("first")])
    commit = notes._workspace._commit

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(notes._workspace, "_commit", fail)
    with pytest.raises(OSError, match="No space"):
        notes.write([a_line("second")])
    monkeypatch.setattr(notes._workspace, "_commit", commit)
    assert [line.text for line in notes.write([a_line("second")]).added] == ["second"]
    tomorrow = Notes(notes._workspace, today=lambda: date(2026, 3, 5))
    assert [line.text for line in tomorrow.write([a_line("second")]).added] == []


def test_what_an_editor_saves_meanwhile_is_not_lost(home: Path) -> None:
    """The editor saves in the moment in which the new text has been computed."""
    notes = notes_at(home)
    notes.write([a_line("before")])
    edited = "# edited while we computed\n"
    ids = notes._workspace.ids
    moments = iter([True])

    class Saving:
        def new(self, at: object) -> str:
            if next(moments, False):
                (home / DAILY).write_text(edited)
            return ids.new(at)  # type: ignore[arg-type]

    notes._workspace.ids = Saving()
    notes.write([a_line("ours")])
    text = (home / DAILY).read_text()
    assert text.startswith(edited)
    assert [line.text for line in read_lines(home)] == ["ours"]


# ── many writers ────────────────────────────────────────────────────────────────────────────


def _write_many(home: Path, writer: int, count: int) -> None:
    notes = notes_at(home, prefix=f"w{writer}-")
    for number in range(count):
        both = f"number {number} of everybody"
        notes.write([a_line(f"line {number}", entity=f"writer-{writer}"),
                     a_line(both, sources=(f"s{writer}#e{number}",))])  # fmt: skip


def test_processes_writing_the_same_day_lose_nothing(home: Path) -> None:
    count, writers = scaled(12), 4
    context = multiprocessing.get_context("spawn")
    running = [
        context.Process(target=_write_many, args=(home, each, count)) for each in range(writers)
    ]
    for each in running:
        each.start()
    for each in running:
        each.join()
    found = read_lines(home)
    for writer in range(writers):
        own = [line.text for line in found if line.entity == f"writer-{writer}"]
        assert own == [f"line {number}" for number in range(count)]
    shared = {line.text: sorted(line.sources) for line in found if line.entity is None}
    assert shared == {
        f"number {n} of everybody": [f"s{writer}#e{n}" for writer in range(writers)]
        for n in range(count)
    }
    assert len({line.id for line in found}) == len(found) == (writers + 1) * count


# ── the quick way to add a line ─────────────────────────────────────────────────────────────


@settings(max_examples=scaled(40))
@given(
    above=st.sampled_from(["", "# x\n", "# x\n\n## Retain\n\n- W: by hand\n", "```\nopen\n"]),
    below=st.sampled_from(["", "\n", "\n\n## More\n\n- W: below\n", "\n\ntext\n"]),
    counts=st.lists(st.integers(1, 3), min_size=2, max_size=4),
)
def test_a_line_is_put_where_a_parser_would_put_it(
    above: str, below: str, counts: list[int]
) -> None:
    """After the first write the place is known; the text is the same as if it were looked for."""
    text = slow = append_to_section(above, "Retain", "- W: first") + below
    page = page_of(text, near=True)
    number = 0
    for count in counts:
        new = [a_line(f"fact {number + n}", id=f"m{number + n}") for n in range(count)]
        number += count
        text = _appended(text, page, [_Given(line=line) for line in new])
        slow = append_to_section(slow, "Retain", *map(render, new))
        assert text == slow


def test_a_note_may_be_longer_than_its_line(home: Path) -> None:
    notes = notes_at(home)
    code = "```sh\nrun --fast\n\n- W: no memory\n```"
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    notes.write([Note(text="How to start", body=code), Note(text="Ports", body=table)])
    notes.write([a_line("after")])
    text = (home / DAILY).read_text()
    assert "\n  ```sh\n  run --fast\n\n  - W: no memory\n  ```\n- W: Ports" in text
    assert "\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n- W: after" in text
    assert [line.text for line in read_lines(home)] == ["How to start", "Ports", "after"]
    again = notes.write([Note(text="How to start", body=code)])
    assert (again.added, [each.why for each in again.skipped]) == ((), ["repeat"])
    other = notes.write([Note(text="How to start", body="```\nother\n```")])
    assert [line.text for line in other.added] == ["How to start"]


def test_lines_come_back_as_they_were_given(home: Path) -> None:
    line = RetainLine(
        kind="O", text="likes <!-- tea -->", entity="Ann Lee", confidence=0.7, trust="agent",
        observed=date(2025, 1, 2), since=date(2025, 1, 1), user="ann", chat="c1", sources=("s#e",),
    )  # fmt: skip
    (written,) = notes_at(home).write([line]).added
    assert read_lines(home) == [written]
    assert {**_fields(written), "id": ANY} == {**_fields(line), "id": ANY}


def _fields(line: RetainLine) -> dict[str, object]:
    return {name: getattr(line, name) for name in RetainLine.__dataclass_fields__}
