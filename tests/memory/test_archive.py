"""What is forgotten moves to the archive, and comes back to the byte."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.disk import Directory
from holdfast.errors import NotFound, UsageError
from holdfast.memory.forgetting import Policy, remembered_in
from holdfast.memory.forgetting.archive import Archive
from holdfast.memory.forgetting.archiving import (
    Marked,
    marked,
    task_marked,
    task_unmarked,
    unmarked,
)
from holdfast.memory.tasks import Tasks
from holdfast.memory.workspace import Workspace
from holdfast.retain import parse
from holdfast.testing import FixedClock, SequentialIds
from tests.scale import scaled

NOW = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)


class Place:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.clock, ids = FixedClock(NOW), SequentialIds("w")
        self.workspace = Workspace(Directory.open(home), clock=self.clock, ids=ids)
        self.archive = Archive(self.workspace, now=self.clock.now)
        self.tasks = Tasks(self.workspace, now=self.clock.now, zone=UTC, ids=ids)

    def write(self, path: str, text: str) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_bytes(text.encode("utf-8", "surrogateescape"))

    def read(self, path: str) -> str:
        return (self.home / path).read_bytes().decode("utf-8", "surrogateescape")

    def files(self) -> dict[str, str]:
        return {path: self.read(path) for path in self.workspace.files(archive=True)}


@pytest.fixture
def place(home: Path) -> Place:
    return Place(home)


DAY = "memory/2025-01-02.md"
MINE = """# 2025-01-02

My own prose.

## Retain

- W @Peter: In Marrakech. <!-- hf {"id":"a1","observed":"2025-01-02"} -->
- O(c=0.4): likes tea
* S: by hand, with a body:
  ```
  - W: this is code
  ```
- foreign item

## Other

- W: under another heading  \n"""


def test_lines_move_under_their_headings_and_every_other_byte_stays(place: Place) -> None:
    place.write(DAY, MINE)
    operation = place.archive.move(["a1", *[i.id for i in remembered_in(DAY, MINE)][2:]])
    assert operation is not None
    assert place.read(DAY) == MINE.replace(
        '- W @Peter: In Marrakech. <!-- hf {"id":"a1","observed":"2025-01-02"} -->\n', ""
    ).replace("* S: by hand, with a body:\n  ```\n  - W: this is code\n  ```\n", "").replace(
        "- W: under another heading  \n", ""
    )
    archived = place.read(f"archive/{DAY}")
    assert '"archived":"2026-03-14T09:00:00+00:00","from":"memory/2025-01-02.md#L7"' in archived
    assert archived.index("## Retain") < archived.index("@Peter") < archived.index("## Other")
    assert "  - W: this is code\n" in archived
    listed = place.archive.list()
    assert [(each.id, each.source, each.archived) for each in listed[:1]] == [
        ("a1", DAY, "2026-03-14T09:00:00+00:00")
    ]
    assert len(listed) == 3
    assert place.archive.find("a") == listed[0]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 0, 1)])
@pytest.mark.parametrize("text", [MINE, MINE.replace("\n", "\r\n"), MINE.rstrip(" \n")])
def test_in_any_order_they_come_back_to_the_byte(
    place: Place, text: str, order: tuple[int, ...]
) -> None:
    place.write(DAY, text)
    before = place.files()
    ids = [item.id for item in remembered_in(DAY, text)]
    for each in order:
        place.archive.move([ids[each]])
    assert not list(remembered_in(DAY, place.read(DAY)))
    for each in (*order[2:], *order[:2]):
        place.archive.restore([ids[each]])
    assert place.files() == before


def test_moving_and_restoring_twice_does_it_once(place: Place) -> None:
    place.write(DAY, MINE)
    plan = place.archive.plan(Policy(after_days=30))
    assert place.archive.move(plan) is not None
    once = place.files()
    assert place.archive.move(plan) is None
    assert place.files() == once
    ids = [each.id for each in place.archive.list()]
    place.archive.restore(ids)
    assert place.read(DAY) == MINE
    with pytest.raises(NotFound, match="archive"):
        place.archive.restore(ids[:1])


def test_each_is_one_step_that_can_be_undone(place: Place) -> None:
    place.write(DAY, MINE)
    place.write("memory/2025-01-03.md", "# d\n\n- W: two\n")
    before = place.files()
    place.archive.move(place.archive.plan(Policy(after_days=30)))
    place.workspace.undo()
    assert place.files() == before
    moved = place.archive.move(place.archive.plan(Policy(after_days=30)))
    away = place.files()
    place.archive.restore([each.id for each in place.archive.list()])
    place.workspace.undo()
    assert place.files() == away
    assert moved in {each.id for each in place.workspace.operations()}


def test_an_edited_file_keeps_its_edits_and_gets_its_lines_back(place: Place) -> None:
    place.write(DAY, MINE)
    place.archive.move(["a1"])
    edited = place.read(DAY).replace("My own prose.", "one\ntwo\nthree\n\n```\nopen code")
    place.write(DAY, edited)
    place.archive.restore(["a1"])
    now = place.read(DAY)
    assert [item.id for item in remembered_in(DAY, now)].count("a1") == 1
    kept = iter(now.splitlines())
    assert all(line in kept for line in edited.splitlines())


def test_a_file_that_is_gone_is_made_again(place: Place) -> None:
    place.write(DAY, MINE)
    place.archive.move(["a1"])
    (place.home / DAY).unlink()
    assert place.archive.restore(["a1"]).paths == (DAY,)
    assert place.read(DAY).startswith("# 2025-01-02\n\n## Retain\n\n- W @Peter: In Marrakech.")


def test_a_closed_task_moves_whole_and_comes_back(place: Place) -> None:
    task = place.tasks.open("Book a flight")
    place.tasks.close(task.id)
    before = place.files()
    assert place.archive.move([task.id]) is not None
    assert place.tasks.list() == []
    with pytest.raises(NotFound, match="archive"):
        place.tasks.show(task.id)
    assert list(place.files()) == [f"archive/{task.path}"]
    again = place.tasks.open("Book a flight")  # its name is not taken from the one in the archive
    assert again.path != task.path
    assert place.archive.restore([task.id]).paths == (task.path,)
    assert place.read(task.path) == before[task.path]


def test_an_ambiguous_beginning_of_an_id_is_refused(place: Place) -> None:
    place.write(DAY, '- W: x <!-- hf {"id":"ab1"} -->\n- W: y <!-- hf {"id":"ab2"} -->\n')
    place.archive.move(["ab1", "ab2"])
    with pytest.raises(UsageError, match="Several"):
        place.archive.restore(["ab"])


def test_a_line_can_be_moved_from_a_curated_file_if_a_person_says_so(place: Place) -> None:
    place.write("MEMORY.md", "# Me\n\n- W: a secret\n")
    (item,) = remembered_in("MEMORY.md", place.read("MEMORY.md"))
    place.archive.move([item])
    assert place.read("MEMORY.md") == "# Me\n\n"
    place.archive.restore([item.id])
    assert place.read("MEMORY.md") == "# Me\n\n- W: a secret\n"


# ── the marks ───────────────────────────────────────────────────────────────────────────────

MARKS = st.builds(
    Marked,
    archived=st.just("2026-03-14T09:00:00+00:00"),
    path=st.sampled_from(["MEMORY.md", "memory/topics/旅行.md", 'a"b\\c#L3']),
    number=st.none() | st.integers(1, 99_999),
    end=st.sampled_from(["\n", "\r\n", "\r", ""]),
    lines=st.integers(1, 9),
    is_cut=st.booleans(),
    indent=st.sampled_from(["", "  ", "\t", "\ufeff"]),
    under=st.none() | st.text(max_size=20),
)
LINE_TEXTS = st.one_of(
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])),
    st.sampled_from(
        [
            '- W: x <!-- hf {"id":"a"} -->',
            '- W: x <!-- hf {"id":"a"} -->  ',
            "- W: x <!-- hf {} -->",
            "- W: x <!-- hf damaged -->",
            '- W: x <!-- hf {"archived":"2020","from":"y"} -->',
            "- W: x  ",
            '- W: "archived":" x',
        ]
    ),
)


@given(LINE_TEXTS, MARKS)
@settings(max_examples=scaled(100))
def test_a_mark_comes_off_as_it_went_on(line: str, mark: Marked) -> None:
    if mark.number is None and "#L" in mark.path:
        return  # such a path cannot be
    written = marked(line, mark)
    assert unmarked(written) == (line, mark)
    if (before := parse(line)) is not None and ("<!-- hf" not in line or '"id"' in line):
        after = parse(written)
        assert after is not None
        assert (after.text, after.entity, after.kind) == (before.text, before.entity, before.kind)
    assert task_unmarked(task_marked(line, mark)) == (line, mark)


PARTS = st.lists(
    st.sampled_from(
        [
            *("- W: one", '- B @x: two <!-- hf {"id":"b"} -->', "* O(c=0.3): 喜欢茶", "+ S: four"),
            *("  - W: nested", "  body", "\ttab body", "", "", "## Retain", "## Other ##", "# Top"),
            *(
                "text",
                "```",
                "> quote",
                "- foreign",
                "1. one",
                "<!-- x -->",
                "<pre>",
                "---",
                "- W:",
            ),
        ]
    ),
    max_size=18,
)


@given(PARTS, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=scaled(25))
def test_any_lines_of_any_file_come_back(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], end: str, ends: bool, chance: object
) -> None:
    text = end.join(parts) + (end if ends else "")
    place = Place(tmp_path_factory.mktemp("home"))
    place.write(DAY, text)
    items = list(remembered_in(DAY, text))
    chosen = [item for item in items if chance.random() < 0.6]  # type: ignore[attr-defined]
    first, second = chosen[::2], chosen[1::2]
    place.archive.move(first)
    present = {item.id for item in remembered_in(DAY, place.read(DAY))}
    place.archive.move([item.id for item in second if item.id in present])
    left = place.read(DAY)
    for line in left.splitlines():
        assert line in text.splitlines()
    ids = list(dict.fromkeys(each.id for each in place.archive.list()))
    chance.shuffle(ids)  # type: ignore[attr-defined]
    for id in ids:
        place.archive.restore([id])
    assert place.archive.list() == []
    assert sorted(place.read(DAY).split()) == sorted(text.split())


def test_forgetting_keeps_moving_as_time_goes_by(place: Place) -> None:
    for number in range(5):
        day = (NOW - timedelta(days=10 * number)).date().isoformat()
        place.write(f"memory/{day}.md", f"# {day}\n\n## Retain\n\n- W: fact number {number}\n")
    left = []
    for _ in range(4):
        place.archive.move(place.archive.plan(Policy(after_days=25)))
        left.append(5 - len(place.archive.list()))
        place.clock.advance(days=10)
    assert left == [3, 2, 1, 0]
