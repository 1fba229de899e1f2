"""What a newer line does to an older one: updates, conflicts, decisions, undo."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path

import pytest

from holdfast.engine.driving import drive
from holdfast.errors import NotFound, UsageError
from holdfast.memory.facts import Judged
from holdfast.retain import RetainLine, render
from holdfast.testing import ScriptedModel
from tests.memory.test_facts import NOW, Place


@pytest.fixture
def place(home: Path) -> Place:
    return Place(home)


def line(text: str, id: str, **said: object) -> RetainLine:
    return RetainLine(**{"kind": "W", "entity": "Peter", "text": text, "id": id, **said})  # type: ignore[arg-type]


def known(place: Place, *lines: RetainLine) -> Path:
    return place.write("MEMORY.md", *map(render, lines))


def told(place: Place, *lines: RetainLine) -> Judged:
    place.write("memory/2026-03-14.md", *map(render, lines))
    return place.facts.observe(lines)


def test_a_line_that_says_it_changed_ends_the_older_one(place: Place) -> None:
    file = known(place, line("Lives in Berlin.", "old1"), line("Has a dog.", "dog1"))
    before = file.read_bytes()
    judged = told(place, line("Now lives in Lisbon.", "new1"))
    assert [fact.id for fact in judged.updates] == ["old1"]
    assert judged.conflicts == ()
    assert judged.updates[0].line.until == NOW
    assert place.facts.show("new1").line.supersedes == ("old1",)
    assert [fact.id for fact in place.facts.history("new1")] == ["old1", "new1"]
    assert place.facts.conflicts() == []
    place.workspace.undo()
    assert file.read_bytes() == before
    assert place.facts.show("new1").line.supersedes == ()


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("端口是8080。", "端口改为9090。"),
        ("住在北京。", "现在住在深圳。"),
        ("在医院工作。", "不再在医院工作。"),
        ("系统是CentOS。", "系统换成了Debian。"),
        ("Works at Huawei.", "No longer works at Huawei."),
        ("Email is a@old.example.", "Email changed to b@new.example."),
        ("Current version is 2.4.1.", "As of today, the current version is 2.5.0."),
        ("Uses tabs.", "Uses spaces instead of tabs."),
    ],
)
def test_words_of_change_in_both_languages_are_heard(place: Place, older: str, newer: str) -> None:
    known(place, line(older, "old1"))
    judged = told(place, line(newer, "new1"))
    assert [fact.id for fact in judged.updates] == ["old1"]


def test_what_only_contradicts_is_shown_and_nothing_is_changed(place: Place) -> None:
    file = known(place, line("Lives in Berlin.", "old1"))
    before = file.read_bytes()
    judged = told(place, line("Lives in Lisbon.", "new1"))
    assert judged.updates == ()
    (conflict,) = judged.conflicts
    assert (conflict.kind, conflict.old.id, conflict.new.id) == ("value", "old1", "new1")
    assert file.read_bytes() == before
    assert [each.id for each in place.facts.conflicts()] == [conflict.id]
    assert len(place.facts.list()) == 2
    assert place.workspace.operations() == []


@pytest.mark.parametrize(
    ("old", "new", "updates"),
    [
        ("user", "user", True),
        ("user", "agent", False),
        ("agent", "user", True),
        ("user", "tool", False),
        ("agent", "tool", False),
        ("tool", "tool", True),
        ("tool", "import", False),
    ],
)
def test_nobody_less_trusted_ends_what_was_known(
    place: Place, old: str, new: str, updates: bool
) -> None:
    known(place, line("Lives in Berlin.", "old1", trust=old))
    judged = told(place, line("Moved to Lisbon.", "new1", trust=new))
    assert bool(judged.updates) is updates
    assert bool(judged.conflicts) is not updates


def test_what_was_said_earlier_ends_nothing_that_was_said_later(place: Place) -> None:
    known(place, line("Lives in Berlin.", "old1", observed=NOW))
    judged = told(place, line("Moved to Lisbon.", "new1", observed=NOW.date().replace(year=2019)))
    assert judged.updates == ()
    assert len(judged.conflicts) == 1


def test_on_the_same_day_the_line_written_last_is_the_newer_one(place: Place) -> None:
    known(place, line("Lives in Berlin.", "old1", observed=NOW))
    (ended,) = told(place, line("Moved to Lisbon.", "new1", observed=NOW.date())).updates
    window = ended.window(UTC)
    assert window.start == window.end


def test_what_was_said_on_an_earlier_day_ends_the_older_one_on_that_day(place: Place) -> None:
    known(place, line("Lives in Berlin.", "old1"))
    day = NOW.date().replace(day=10)
    told(place, line("Moved to Lisbon.", "new1", observed=day))
    assert [fact.id for fact in place.facts.list(as_of=day.replace(day=9))] == ["old1"]
    assert [fact.id for fact in place.facts.list(as_of=day)] == ["new1"]


def test_an_opinion_hardly_held_contradicts_nothing(place: Place) -> None:
    known(place, line("Likes tea.", "old1", kind="O", confidence=0.3, observed=NOW))
    assert told(place, line("Does not like tea.", "new1")) == Judged()


def test_what_has_ended_contradicts_nothing(place: Place) -> None:
    known(
        place,
        line("Lives in Berlin.", "old1", until=NOW.date().replace(year=2025)),
        line("Lives in Rome.", "old2", retracted=NOW),
    )
    assert told(place, line("Lives in Lisbon.", "new1")) == Judged()


def test_an_opinion_said_again_is_held_more_firmly(place: Place) -> None:
    held = line("Prefers short replies.", "old1", kind="O", confidence=0.6, observed=NOW)
    known(place, held)
    again = line("Peter prefers short replies!", "new1", kind="O", confidence=0.6)
    judged = told(place, again)
    assert [fact.id for fact in judged.supported] == ["old1"]
    assert 0.6 < (place.facts.show("old1").line.confidence or 0) <= 0.75
    assert judged.conflicts == ()
    other = line("Does not prefer short replies.", "new2", kind="O", confidence=0.6)
    assert told(place, other).supported == ()


def test_support_raises_a_belief_and_dates_a_fact(place: Place) -> None:
    known(place, line("Likes tea.", "o1", kind="O", confidence=0.5), line("Is tall.", "w1"))
    tool = place.facts.support("o1", trust="tool", sources=["s#1"])
    user = place.facts.support("o1", trust="user")
    assert tool is not None
    assert user is not None
    assert 0.5 < (tool.line.confidence or 0) < (user.line.confidence or 0)
    assert user.line.sources == ("s#1",)
    seen = place.facts.support("w1")
    assert seen is not None
    assert seen.line.verified == NOW


def test_the_same_evidence_counts_once(place: Place) -> None:
    file = known(place, line("Likes tea.", "o1", kind="O", confidence=0.5, sources=("s#1",)))
    before = file.read_bytes()
    for trust, sources in (("tool", ()), ("user", ()), ("tool", None), ("agent", None)):
        assert place.facts.support("o1", trust=trust, sources=sources) is None  # type: ignore[arg-type]
    assert file.read_bytes() == before


def test_an_opinion_in_other_words_counts_only_with_a_source_that_is_new(place: Place) -> None:
    known(place, line("Likes green tea.", "o1", kind="O", confidence=0.6, sources=("s#1",)))

    def again(id: str, *sources: str, words: str = "Peter likes green tea!") -> float:
        told(place, line(words, id, kind="O", trust="tool", sources=sources))
        return place.facts.show("o1").line.confidence or 0

    held = place.facts.show("o1").line.confidence
    assert again("n1", "s#1") == again("n2") == held
    more = again("n3", "s#1", "s#2")
    assert more > 0.6
    assert place.facts.show("o1").line.sources == ("s#1", "s#2")
    assert again("n4", "s#2") == more


def test_two_new_lines_of_one_source_support_an_opinion_once(place: Place) -> None:
    known(place, line("Likes green tea.", "o1", kind="O", confidence=0.6))
    said = {"kind": "O", "trust": "tool", "sources": ("s#1",)}
    once = told(place, line("Peter likes green tea!", "n1", **said)).supported[0].line.confidence
    place.workspace.undo()
    both = (line("Peter likes green tea!", "n1", **said), line("Likes green tea!", "n2", **said))
    (fact,) = told(place, *both).supported
    assert fact.line.confidence == once


# ── decisions ───────────────────────────────────────────────────────────────────────────────


def contradiction(place: Place) -> str:
    known(place, line("Lives in Berlin.", "old1"))
    return told(place, line("Lives in Lisbon.", "new1")).conflicts[0].id


def state(place: Place) -> dict[str, bool]:
    return {id: place.facts.holds(place.facts.show(id)) for id in ("old1", "new1")}


@pytest.mark.parametrize("keep", ["new", "new1"])
def test_keeping_the_new_one_ends_the_old_one(place: Place, keep: str) -> None:
    id = contradiction(place)
    old, new = place.facts.resolve(id, keep)
    assert state(place) == {"old1": False, "new1": True}
    assert old.line.until is not None
    assert new.line.supersedes == ("old1",)
    assert place.facts.conflicts() == []
    place.workspace.undo()
    assert [each.id for each in place.facts.conflicts()] == [id]


@pytest.mark.parametrize("keep", ["old", "old1"])
def test_keeping_the_old_one_retracts_the_new_one(place: Place, keep: str) -> None:
    id = contradiction(place)
    _, new = place.facts.resolve(id, keep)
    assert state(place) == {"old1": True, "new1": False}
    assert new.line.retracted == NOW
    assert place.facts.conflicts() == []


def test_keeping_both_is_remembered_in_both_lines(place: Place) -> None:
    id = contradiction(place)
    old, new = place.facts.resolve(id, "both")
    assert (old.line.agrees, new.line.agrees) == (("new1",), ("old1",))
    assert state(place) == {"old1": True, "new1": True}
    assert place.facts.conflicts() == []
    with pytest.raises(NotFound):
        place.facts.resolve(id, "both")


def test_a_decision_must_be_about_one_of_the_two(place: Place) -> None:
    id = contradiction(place)
    with pytest.raises(UsageError, match="old1"):
        place.facts.resolve(id, "third")
    with pytest.raises(NotFound):
        place.facts.resolve("c-000000000000", "new")


def test_lines_by_hand_contradict_as_well_and_keep_their_id(place: Place) -> None:
    place.write("MEMORY.md", "- W @Peter: Lives in Berlin.")
    place.write("memory/2026-03-01.md", "- W @Peter: Lives in Lisbon.")
    (found,) = place.facts.conflicts()
    assert found.new.path == "memory/2026-03-01.md"
    place.facts.resolve(found.id, "both")
    assert place.facts.conflicts() == []
    assert place.facts.show(found.old.id).line.text == "Lives in Berlin."


def test_aliases_are_the_same_subject(place: Place) -> None:
    place.write("bank/entities/peter.md", "# Peter", "", "Aliases: Pete, 彼得")
    place.write(
        "MEMORY.md",
        "- W @Peter: Lives in Berlin.",
        "- W @pete: Lives in Lisbon.",
        "- W: 彼得喜欢茶。",
    )
    assert [each.kind for each in place.facts.conflicts()] == ["value"]
    assert len(place.facts.list(entity="彼得")) == 3


# ── with a model ────────────────────────────────────────────────────────────────────────────


def observing(place: Place, answers: Sequence[str | Exception], *lines: RetainLine) -> Judged:
    place.write("memory/2026-03-14.md", *map(render, lines))
    return drive(place.facts.observing(lines), ScriptedModel(answers), seconds=10)


def test_a_model_finds_what_is_doubtful_to_the_rules(place: Place) -> None:
    known(place, line("Lives in Germany.", "old1"))
    new = line("Lives in Lisbon.", "new1")
    assert told(place, new).conflicts == ()
    judged = observing(place, ['[{"pair": 1, "contradict": true}]'], new)
    (found,) = judged.conflicts
    assert [fact.id for fact in place.facts.resolve(found.id, "new")] == ["old1", "new1"]


def test_a_model_spares_people_a_false_alarm_but_changes_nothing(place: Place) -> None:
    file = known(place, line("Lives in Berlin.", "old1"))
    before = file.read_bytes()
    judged = observing(
        place, ['[{"pair": 1, "contradict": false}]'], line("Lives in Lisbon.", "new1")
    )
    assert judged.conflicts == ()
    assert file.read_bytes() == before


@pytest.mark.parametrize("answer", ["I cannot help with that.", "[{]", TimeoutError("slow")])
def test_garbage_and_failure_leave_the_verdict_of_the_rules(
    place: Place, answer: str | Exception
) -> None:
    known(place, line("Lives in Berlin.", "old1"))
    judged = observing(place, [answer], line("Lives in Lisbon.", "new1"))
    assert [each.kind for each in judged.conflicts] == ["value"]


def test_no_model_is_asked_when_nothing_is_in_doubt(place: Place) -> None:
    known(place, line("Lives in Berlin.", "old1"))
    new = line("Likes tea.", "new1")
    place.write("memory/2026-03-14.md", render(new))
    work = place.facts.observing([new])
    with pytest.raises(StopIteration):
        work.send(None)  # type: ignore[arg-type]
