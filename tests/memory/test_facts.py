"""Typed memories: read from the files, asked by time, changed line by line."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import combinations
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.disk import Directory
from holdfast.errors import NotFound, UsageError
from holdfast.memory.facts import Fact, Facts
from holdfast.memory.facts.conflicts import find
from holdfast.memory.facts.identity import is_copy, own_id, told_apart
from holdfast.memory.workspace import Workspace
from holdfast.retain import RetainLine, line_id
from holdfast.testing import FixedClock, SequentialIds
from holdfast.types import Scope

SOME = [RetainLine(kind="W", text=text) for text in ("One.", "Two.")]
NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)


class Place:
    """A workspace on disk with its facts."""

    def __init__(self, home: Path, reader: Scope | None = None) -> None:
        self.home = home
        self.clock = FixedClock(NOW)
        self.workspace = Workspace(Directory.open(home), clock=self.clock, ids=SequentialIds())
        self.facts = Facts(
            self.workspace, now=self.clock.now, zone=ZoneInfo("Europe/Berlin"), reader=reader
        )

    def write(self, path: str, *lines: str, newline: str = "\n") -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes("".join(f"{line}{newline}" for line in lines).encode())
        return file

    def texts(self, found: list[Fact] | None = None) -> list[str]:
        return [fact.line.text for fact in (self.facts.list() if found is None else found)]


@pytest.fixture
def place(home: Path) -> Place:
    return Place(home)


def test_lines_of_all_files_count_also_those_written_by_hand(place: Place) -> None:
    place.write("MEMORY.md", "# Me", "", "- W @Peter: Lives in Berlin.")
    place.write("memory/2026-03-01.md", "## Retain", '- B: Moved. <!-- hf {"id":"x1"} -->')
    place.write("memory/topics/tea.md", "* O（c=0.8）@Peter： Likes tea.")
    place.write("bank/entities/peter.md", "# Peter", "", "- S @Peter: A friend.")
    place.write("README.md", "- W @Example: Not a memory.")
    assert sorted(place.texts()) == ["A friend.", "Likes tea.", "Lives in Berlin.", "Moved."]
    moved = place.facts.show("x1")
    assert (moved.path, moved.number, moved.citation) == (
        "memory/2026-03-01.md",
        2,
        "memory/2026-03-01.md#L2",
    )
    by_hand = next(fact for fact in place.facts.list() if fact.line.text == "A friend.")
    assert by_hand.id.startswith("h-")
    assert place.facts.show(by_hand.id[:8]) == by_hand


def test_a_file_is_parsed_again_only_when_it_changed(place: Place) -> None:
    place.write("MEMORY.md", "- W: One.")
    place.write("memory/2026-03-01.md", "- W: Two.")
    for _ in range(5):
        assert len(place.facts.list()) == 2
    assert place.facts._pages.parsed == 2
    place.write("MEMORY.md", "- W: Another.")
    assert sorted(place.texts()) == ["Another.", "Two."]
    assert place.facts._pages.parsed == 3


def test_a_line_of_a_code_block_or_a_quote_is_no_fact(place: Place) -> None:
    place.write("MEMORY.md", "```", "- W: In code.", "```", "> - W: Quoted.", "", "- W: Real.")
    assert place.texts() == ["Real."]


def test_facts_are_chosen_by_kind_entity_trust_and_text(place: Place) -> None:
    place.write(
        "MEMORY.md",
        "- W @Peter: Lives in Berlin.",
        "- O(c=0.9) @Peter: Likes tea.",
        '- W @Anna: Has a cat. <!-- hf {"trust":"tool"} -->',
        "- W: Peter called twice.",
    )
    facts = place.facts
    assert place.texts(facts.list(kind="O")) == ["Likes tea."]
    assert place.texts(facts.list(trust="tool")) == ["Has a cat."]
    assert len(facts.list(entity="PETER")) == 3
    assert place.texts(facts.list(text="CAT")) == ["Has a cat."]
    assert facts.list(text="dog") == []


def test_what_is_narrowed_is_shown_only_to_those_who_may_see_it(home: Path) -> None:
    lines = (
        '- W: For Anna. <!-- hf {"user":"anna"} -->',
        '- W: For a chat. <!-- hf {"chat":"family"} -->',
        "- W: For all.",
    )
    group = Place(home, Scope(agent="main", chat="family", chat_type="group"))
    group.write("MEMORY.md", *lines)
    assert group.texts() == ["For a chat.", "For all."]
    anna = Place(home, Scope(agent="main", user="anna"))
    assert anna.texts() == ["For Anna.", "For all."]
    owner = Place(home, Scope(agent="main"))
    assert owner.texts() == ["For all."]
    assert Place(home).texts() == ["For all."]


# ── time ────────────────────────────────────────────────────────────────────────────────────


def test_what_was_true_then_is_asked_by_day(place: Place) -> None:
    place.write(
        "MEMORY.md",
        '- W @P: In Rome. <!-- hf {"since":"2024-01-01","until":"2024-12-31"} -->',
        '- W @P: In Oslo. <!-- hf {"since":"2025-01-01"} -->',
        '- W @P: Said early. <!-- hf {"observed":"2023-05-05"} -->',
        "- W @P: Always so.",
    )
    place.write("memory/2025-06-01.md", "- W @P: Noted on a day.")

    def then(day: str) -> list[str]:
        return place.texts(place.facts.list(as_of=date.fromisoformat(day)))

    assert then("2023-01-01") == ["Always so."]
    assert then("2024-12-31") == ["In Rome.", "Said early.", "Always so."]
    assert then("2025-01-01") == ["In Oslo.", "Said early.", "Always so."]
    assert then("2025-06-01") == ["In Oslo.", "Said early.", "Always so.", "Noted on a day."]
    assert "In Rome." not in place.texts()
    assert "In Rome." in place.texts(place.facts.list(ended=True))


def test_a_day_is_the_users_day(place: Place) -> None:
    place.write("MEMORY.md", '- W: Ended. <!-- hf {"until":"2026-03-13T23:30:00+00:00"} -->')
    assert place.facts.list(as_of=date(2026, 3, 13)), "in Berlin it ended on the 14th"
    assert not place.facts.list(as_of=date(2026, 3, 14))


def test_what_is_archived_was_still_true_then(place: Place) -> None:
    place.write("archive/memory/2025-01-05.md", "- W: Old and gone.")
    assert place.facts.list() == []
    assert place.texts(place.facts.list(as_of=date(2025, 2, 1))) == ["Old and gone."]


def test_a_superseded_fact_ends_and_stays_readable(place: Place) -> None:
    place.write("MEMORY.md", '- W @P: In Rome. <!-- hf {"id":"old1"} -->')
    place.write(
        "memory/2026-03-10.md", '- W @P: In Oslo. <!-- hf {"id":"new1","since":"2026-03-10"} -->'
    )
    old = place.facts.supersede("old1", "new1")
    assert old.line.until == datetime(2026, 3, 10, tzinfo=ZoneInfo("Europe/Berlin"))
    assert place.facts.show("new1").line.supersedes == ("old1",)
    assert place.texts() == ["In Oslo."]
    assert place.texts(place.facts.list(as_of=date(2026, 3, 9))) == ["In Rome."]
    with pytest.raises(UsageError):
        place.facts.supersede("old1", "old1")


def test_history_is_the_whole_chain_oldest_first_with_the_archive(place: Place) -> None:
    place.write("archive/memory/2024-01-01.md", '- W @P: In Rome. <!-- hf {"id":"aaa1"} -->')
    place.write(
        "memory/2025-01-01.md", '- W @P: In Oslo. <!-- hf {"id":"bbb1","supersedes":["aaa1"]} -->'
    )
    place.write(
        "memory/2026-01-01.md", '- W @P: In Bonn. <!-- hf {"id":"ccc1","supersedes":["bbb1"]} -->'
    )
    for id in ("aaa1", "bbb1", "ccc1"):
        assert [fact.id for fact in place.facts.history(id)] == ["aaa1", "bbb1", "ccc1"]


def test_a_circle_of_supersedes_ends(place: Place) -> None:
    place.write(
        "MEMORY.md",
        '- W: One. <!-- hf {"id":"aaa1","supersedes":["bbb1"]} -->',
        '- W: Two. <!-- hf {"id":"bbb1","supersedes":["aaa1","gone"]} -->',
    )
    assert len(place.facts.history("aaa1")) == 2


# ── changing one line ───────────────────────────────────────────────────────────────────────

FILE = (
    b"# Title\r\n\r\n"
    b'  *  O(c=0.6) @P:  Likes   tea. <!-- hf {"id":"t1","trust":"tool"} -->\r\n'
    b"foreign   text\t\r\n- W: By hand.\r\n- W: Last, no newline"
)


def test_confirming_makes_it_the_users_word_and_changes_no_other_byte(place: Place) -> None:
    file = place.write("MEMORY.md")
    file.write_bytes(FILE)
    fact = place.facts.confirm("t1")
    assert fact.line.trust == "user"
    assert fact.line.verified == NOW
    assert fact.line.confidence == pytest.approx(0.7321)
    before, after = FILE.split(b"\r\n"), file.read_bytes().split(b"\r\n")
    assert [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [2]
    assert after[2].startswith(b"  *  O(c=0.7321) @P: Likes tea. <!-- hf ")
    place.workspace.undo()
    assert file.read_bytes() == FILE


def test_retracting_strikes_it_from_the_list_and_keeps_it_readable(place: Place) -> None:
    file = place.write("MEMORY.md")
    file.write_bytes(FILE)
    by_hand = next(fact for fact in place.facts.list() if fact.line.text == "By hand.")
    fact = place.facts.retract(by_hand.id, "never\nwas\u200b so")
    assert fact.id == by_hand.id
    assert fact.line.retracted == NOW
    assert fact.line.extra == {"reason": "never was so"}
    assert "By hand." not in place.texts()
    assert "By hand." in place.texts(place.facts.list(ended=True))
    assert place.facts.show(by_hand.id).line.text == "By hand."
    place.workspace.undo()
    assert file.read_bytes() == FILE


def test_a_line_that_stands_twice_is_one_fact_and_changes_in_both_places(place: Place) -> None:
    place.write("MEMORY.md", "- W: Same.")
    place.write("memory/2026-03-01.md", "- W: Same.", "- W: same.")
    (fact,) = place.facts.list()
    place.facts.retract(fact.id)
    assert place.facts.list() == []
    place.workspace.undo()
    assert len(place.facts.list()) == 1


GATE = '- W: The gate code is 1234. <!-- hf {"id":"n1","trust":"tool"} -->'
WIFI = '- W: The wifi code is 9999. <!-- hf {"id":"n1","trust":"tool"} -->'


def test_a_copy_with_other_words_is_another_fact_although_its_id_is_the_same(place: Place) -> None:
    place.write("MEMORY.md", GATE, WIFI, WIFI)
    place.write("memory/2026-03-01.md", WIFI)
    gate, wifi = place.facts.list()
    assert (gate.id, gate.line.text) == ("n1", "The gate code is 1234.")
    assert wifi.id.startswith("h-")
    assert wifi.line.text == "The wifi code is 9999."
    assert place.facts.show(wifi.id) == wifi


def test_the_id_of_a_copy_is_that_of_its_words(place: Place) -> None:
    place.write("MEMORY.md", GATE, WIFI)
    _, copy = place.facts.list()
    place.write("MEMORY.md", GATE, "- W: The wifi code is 9999.")
    assert [fact.id for fact in place.facts.list()] == ["n1", copy.id]


def test_what_is_done_to_a_line_is_not_done_to_an_edited_copy_of_it(place: Place) -> None:
    file = place.write("MEMORY.md", GATE, WIFI, GATE)
    place.facts.confirm("n1")
    lines = file.read_text().splitlines()
    assert lines[1] == WIFI
    assert lines[0] == lines[2] != GATE
    place.facts.retract("n1")
    assert place.texts() == ["The wifi code is 9999."]
    assert file.read_text().count("retracted") == 2


def test_what_is_done_to_an_edited_copy_is_not_done_to_the_line_it_was_copied_from(
    place: Place,
) -> None:
    file = place.write("MEMORY.md", GATE, WIFI)
    other = place.write("memory/2026-03-01.md", WIFI, "- W: The wifi code is 9999.")
    copy = place.facts.list()[1].id
    done = place.facts.confirm(copy)
    assert (done.id, done.line.trust, done.line.id) == (copy, "user", copy)
    assert file.read_text().splitlines()[0] == GATE
    assert other.read_text().count("verified") == 2
    place.write("MEMORY.md", WIFI.replace("wifi", "door"))
    assert place.facts.show(copy).line.text == "The wifi code is 9999."


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["One.", "Two.", "two.", "Three."]),
            st.sampled_from([None, "n1", "n2", *(own_id(each) for each in SOME)]),
        ),
        max_size=8,
    )
)
def test_two_lines_have_one_id_only_if_they_say_the_same(given: list[tuple[str, str]]) -> None:
    lines = [RetainLine(kind="W", text=text, id=id) for text, id in given]
    ids = list(told_apart((line_id(line), line) for line in lines))
    for one, other in combinations(zip(ids, lines, strict=True), 2):
        if one[0] == other[0]:
            assert is_copy(one[1], other[1])
        elif line_id(one[1]) == line_id(other[1]):
            assert not is_copy(one[1], other[1])


def test_a_copy_that_is_for_somebody_else_is_not_touched(home: Path) -> None:
    theirs = GATE.replace('"id"', '"user":"anna","id"')
    group = Place(home, Scope(agent="main", chat="family", chat_type="group"))
    file = group.write("MEMORY.md", GATE, theirs)
    group.facts.retract("n1")
    assert file.read_text().splitlines()[1] == theirs


def test_several_are_confirmed_in_one_step_or_not_at_all(place: Place) -> None:
    file = place.write("MEMORY.md", "- W: One thing.", "- W: Another thing.")
    before = file.read_bytes()
    ids = [fact.id for fact in place.facts.list()]
    with pytest.raises(NotFound):
        place.facts.confirm_all([*ids, "missing"])
    assert file.read_bytes() == before
    assert [fact.line.verified for fact in place.facts.confirm_all(ids)] == [NOW, NOW]
    place.workspace.undo()
    assert file.read_bytes() == before
    place.facts.retract_all(ids, "wrong")
    assert place.facts.list() == []


def test_an_unknown_id_says_what_is_near(place: Place) -> None:
    place.write("MEMORY.md", '- W: One. <!-- hf {"id":"abcdef123"} -->')
    with pytest.raises(NotFound, match="abcdef123"):
        place.facts.show("abcdef124")
    place.write("MEMORY.md", *(f'- W: One{n}. <!-- hf {{"id":"abcdef{n}"}} -->' for n in range(3)))
    with pytest.raises(UsageError, match="3 ids"):
        place.facts.show("abcdef")


def test_what_is_in_the_archive_is_not_edited(place: Place) -> None:
    place.write("archive/memory/2024-01-01.md", '- W: Old. <!-- hf {"id":"aaa1"} -->')
    with pytest.raises(UsageError, match="archive"):
        place.facts.retract("aaa1")


def test_an_opinion_fades_until_it_is_confirmed(place: Place) -> None:
    place.write("memory/2026-03-14.md", "- O(c=0.9) @P: Likes tea.", "- W @P: Lives in Rome.")
    belief, fact = place.facts.list()
    assert place.facts.confidence(belief) == pytest.approx(0.9, abs=0.01)
    assert place.facts.confidence(fact) is None
    place.clock.at = NOW + timedelta(days=90)
    assert place.facts.confidence(belief) == pytest.approx(0.7, abs=0.01)
    confirmed = place.facts.confirm(belief.id)
    assert confirmed.line.confidence == pytest.approx(0.81, abs=0.01)
    assert place.facts.confidence(confirmed) == confirmed.line.confidence


def test_a_filter_that_cannot_match_is_told(place: Place) -> None:
    for wrong in ({"kind": "Z"}, {"trust": "bob"}, {"as_of": "soon"}):
        with pytest.raises(UsageError):
            place.facts.list(**wrong)  # type: ignore[arg-type]
    assert place.facts.list(as_of="2025-11-30") == []


def test_a_credential_is_nobodys_alias(place: Place) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with pytest.raises(UsageError):
        place.facts.add_alias("Peter", key)


def test_contradictions_are_looked_for_again_only_when_something_changed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def counted(statements: list[object], **given: object) -> object:
        looked.append(len(statements))
        return find(statements, **given)  # type: ignore[arg-type]

    monkeypatch.setattr("holdfast.memory.facts.known.find", counted)
    place.write("MEMORY.md", "- W @Peter: Lives in Berlin.", "- W @Peter: Lives in Hamburg.")
    assert len(place.facts.conflicts()) == len(place.facts.conflicts(doubtful=True)) == 1
    assert looked == [2]
    place.write("MEMORY.md", "- W @Peter: Lives in Berlin.")
    assert place.facts.conflicts() == []
    assert looked == [2, 1]
