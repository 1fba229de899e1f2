"""What is forgotten moves to the archive, and comes back to the byte."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.disk import Directory
from holdfast.errors import NotFound, UsageError
from holdfast.memory.forgetting import Policy, Remembered, remembered_in
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
from holdfast.types import Scope
from tests.scale import scaled

NOW = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)


class Place:
    def __init__(self, home: Path, reader: Scope | None = None) -> None:
        self.home = home
        self.clock, ids = FixedClock(NOW), SequentialIds("w")
        self.workspace = Workspace(Directory.open(home), clock=self.clock, ids=ids)
        self.archive = Archive(self.workspace, now=self.clock.now, reader=reader)
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

COPIED = """## Retain

- W: The gate code is 1234. <!-- hf {"id":"n1"} -->
- W: The wifi code is 9999. <!-- hf {"id":"n1"} -->
- W: The gate code is 1234. <!-- hf {"id":"n1"} -->
"""


def test_an_id_stands_for_all_copies_and_for_no_line_that_says_something_else(place: Place) -> None:
    place.write(DAY, COPIED)
    place.archive.move(["n1"])
    assert [each.line.text for each in remembered_in(DAY, place.read(DAY))] == [
        "The wifi code is 9999."
    ]
    place.archive.restore(["n1"])
    assert place.read(DAY) == COPIED
    first, wifi, _ = place.archive.items()
    assert (first.id, wifi.id[:2]) == ("n1", "h-")
    place.archive.move([wifi.id])
    assert place.read(DAY).count("gate") == 2
    assert [each.text for each in place.archive.list()] == ["The wifi code is 9999."]
    place.archive.restore([wifi.id])
    assert place.read(DAY) == COPIED


def test_a_memory_by_itself_is_one_line_and_its_copies_stay(place: Place) -> None:
    place.write(DAY, COPIED)
    place.archive.move(place.archive.items()[:1])
    assert place.read(DAY).count("gate") == 1


def test_lines_of_one_id_that_differ_come_back_one_by_one(place: Place) -> None:
    place.write(DAY, COPIED)
    place.archive.move(place.archive.items())
    ids = [each.id for each in place.archive.list()]
    assert (ids[0], ids[2]) == ("n1", "n1")
    place.archive.restore([ids[1]])
    assert "wifi" in place.read(DAY)
    assert "gate" not in place.read(DAY)


def test_one_of_several_copies_comes_back_to_its_place(place: Place) -> None:
    place.write(DAY, COPIED)
    for number in (0, 2):
        place.archive.move([place.archive.items()[number]])
        place.archive.restore(["n1"])
        assert place.read(DAY) == COPIED


def test_a_line_that_is_code_elsewhere_in_the_file_still_comes_back(place: Place) -> None:
    line = '- W: one <!-- hf {"id":"n1"} -->\n'
    text = f"# x\n\n```\n{line}```\n\n{line}"
    place.write(DAY, text)
    place.archive.move(["n1"])
    place.archive.restore(["n1"])
    assert place.read(DAY) == text


def test_a_line_that_an_old_copy_of_the_file_brought_back_is_not_there_twice(place: Place) -> None:
    place.write(DAY, MINE)
    place.archive.move(["a1"])
    place.write(DAY, MINE)
    place.archive.restore(["a1"])
    assert place.read(DAY) == MINE
    assert place.archive.list() == []


# ── one below another ───────────────────────────────────────────────────────────────────────

NESTED = "# H\n\n- W: fact 1\n    - W: sub 3\n        - W: deeper 4\n\nprose\n"
DEEP = {"fact 1", "sub 3", "deeper 4"}


@pytest.mark.parametrize("indent", ["    ", "\t"])
@pytest.mark.parametrize("back", ["fact 1", "sub 3", "deeper 4"])
def test_what_would_be_code_without_a_line_above_leaves_and_comes_back_with_it(
    place: Place, indent: str, back: str
) -> None:
    text = NESTED.replace("    ", indent)
    place.write(DAY, text)
    ids = {each.line.text: each.id for each in remembered_in(DAY, text)}
    (first, *_) = place.archive.items()
    whole = place.archive.whole([first])
    assert [each.number for each in whole if isinstance(each, Remembered)] == [3, 4, 5]
    place.archive.move([first])
    assert place.read(DAY) == "# H\n\n\nprose\n"
    assert {each.text for each in place.archive.list()} == DEEP
    restored = place.archive.restore([ids[back]]).items
    read = [each.line.text for each in remembered_in(DAY, place.read(DAY))]
    assert sorted(each.text for each in restored) == sorted(read)
    assert back in read
    assert "fact 1" in read
    if rest := [each.id for each in place.archive.list()]:
        place.archive.restore(rest)
    assert place.read(DAY) == text


def test_a_line_below_another_that_stays_readable_stays(place: Place) -> None:
    text = "- W: fact 1\n- W: fact 2\n\t- W: sub 3\n"
    place.write(DAY, text)
    place.archive.move([place.archive.items()[1]])
    assert place.read(DAY) == "- W: fact 1\n\t- W: sub 3\n"
    place.archive.restore([place.archive.list()[0].id])
    assert place.read(DAY) == text


def test_a_policy_moves_no_line_that_a_rule_below_it_needs(place: Place) -> None:
    text = "# H\n\n- W: fact 1\n    - W: sub 2\n    - W: never deploy on Fridays\n"
    place.write(DAY, text)
    plan = place.archive.plan(Policy(after_days=30))
    assert [each.item.text for each in plan.items if each.item.path == DAY] == ["    - W: sub 2\n"]
    assert plan.kept_protected == {"parent": 1, "rule": 1}
    place.archive.move(plan)
    assert place.read(DAY) == text.replace("    - W: sub 2\n", "")


# ── what an archive says about itself ───────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("language", "line", "chinese"),
    [
        ("auto", "- W: 他搬到了上海。", True),
        ("auto", "- W: He moved to Rome.", False),
        ("zh", "- W: He moved to Rome.", True),
        ("en", "- W: 他搬到了上海。", False),
    ],
)
def test_an_archive_speaks_one_language_and_names_the_way_back(
    place: Place, language: str, line: str, chinese: bool
) -> None:
    archive = Archive(place.workspace, now=place.clock.now, language=language)
    place.write(DAY, f"# x\n\n{line}\n")
    archive.move(archive.items())
    head = place.read(f"archive/{DAY}").partition("\n\n## ")[0]
    assert ("已忘记的记忆" in head) is chinese
    assert ("were forgotten" in head) is not chinese
    assert "holdfast archive list" in head
    assert "holdfast archive restore" in head
    archive.restore([each.id for each in archive.list()])
    assert list(place.files()) == [DAY]


# ── who may ─────────────────────────────────────────────────────────────────────────────────


def test_what_is_for_others_is_neither_shown_nor_moved_nor_restored(home: Path) -> None:
    theirs = '- W: Her salary is 9000. <!-- hf {"id":"n1","user":"alice"} -->\n'
    team = Place(home, Scope(agent="main", user="bob", chat="team", chat_type="group"))
    team.write(DAY, f"# x\n\n{theirs}- W: For all.\n")
    assert [each.id for each in team.archive.items()] != ["n1"]
    assert "salary" not in team.archive.plan(Policy(after_days=1)).diff()
    assert team.archive.move(["n1", *remembered_in(DAY, theirs)]) is None
    assert theirs in team.read(DAY)
    alice = Place(home, Scope(agent="main", user="alice"))
    assert alice.archive.move(["n1"]) is not None
    assert [each.id for each in alice.archive.list()] == ["n1"]
    for other in (team, Place(home)):
        assert other.archive.list() == []
        assert other.archive.find("n1") is None
        with pytest.raises(NotFound):
            other.archive.restore(["n1"])
    alice.archive.restore(["n1"])
    assert theirs in team.read(DAY)


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
    copies=st.integers(1, 99),
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
            *(
                "  - W: nested",
                "\t- W: deep",
                "  body",
                "\ttab body",
                "",
                "",
                "## Retain",
                "## Other ##",
                "# Top",
            ),
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
        if place.archive.find(id) is not None:  # it may have come along with another one
            place.archive.restore([id])
    assert place.archive.list() == []
    assert sorted(place.read(DAY).split()) == sorted(text.split())
    if not left.startswith("---"):  # what follows that reads as front matter
        assert place.read(DAY) == text


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
