"""Remember, get, undo: what a program, a person and a model may do with memory."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import NotFound, PolicyRefused, UsageError
from holdfast.events import Event
from holdfast.testing import FixedClock, ScriptedModel


def memory_text(home: Path, agent: str = "main") -> str:
    files = sorted((home / "agents" / agent / "memory").rglob("*.md"))
    return "\n".join(file.read_text("utf-8") for file in files)


def test_what_is_remembered_can_be_read_with_any_editor(home: Path, clock: FixedClock) -> None:
    with holdfast.open(home, clock=clock) as engine:
        done = engine.remember("Prefers short replies.", kind="O", entity="Peter", confidence=0.9)
        file = home / "agents" / "main" / done.path
        assert done.path == f"memory/{engine.today()}.md"
        assert "- O(c=0.9) @Peter: Prefers short replies." in file.read_text("utf-8")
        assert [each.trust for each in done.added] == ["user"]
        assert engine.get(done.path).text == file.read_text("utf-8")


@pytest.mark.parametrize(
    ("target", "path"),
    [("memory", "MEMORY.md"), ("topic:travel", "memory/topics/travel.md")],
)
def test_a_target_names_the_file(home: Path, target: str, path: str) -> None:
    with holdfast.open(home) as engine:
        done = engine.remember("Flies to Lisbon in May.", target=target)
        assert done.path == path
        assert "Flies to Lisbon in May." in (home / "agents" / "main" / path).read_text("utf-8")


@pytest.mark.parametrize("target", ["../x", "topic:../../x", "topic:", "daily/..", "MEMORY.md/x"])
def test_no_target_leads_out_of_the_workspace(home: Path, target: str) -> None:
    with holdfast.open(home) as engine, pytest.raises((UsageError, PolicyRefused)):
        engine.remember("x y z", target=target)
    assert not [path for path in home.rglob("*") if path.name in {"x", "x.md"}]


def test_a_repeat_is_not_written_again_and_the_receipt_shows_both(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The port is 8080.")
        again = engine.remember("the  port is 8080.")
        assert again.added == ()
        assert [(each.text, each.kept) for each in again.skipped] == [
            ("the port is 8080.", "The port is 8080.")
        ]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("The flight leaves at 14:05", "The flight leaves at 14:50"),
        ("The server is 10.0.0.1", "The server is 10.0.0.2"),
        ("彼得喜欢猫", "彼得不喜欢猫"),
        ("Anna likes the plan", "Anne likes the plan"),
    ],
)
def test_what_differs_in_one_detail_is_kept(home: Path, one: str, two: str) -> None:
    with holdfast.open(home) as engine:
        assert len(engine.remember(one).added) == 1
        assert len(engine.remember(two).added) == 1


def test_a_contradiction_is_written_told_and_left_to_a_person(home: Path) -> None:
    told: list[Event] = []
    with holdfast.open(home) as engine:
        engine.subscribe(told.append)
        engine.remember("The API listens on port 8080.", entity="billing")
        done = engine.remember("The API listens on port 9090.", entity="billing")
        assert len(done.added) == 1
        assert len(done.conflicts) == 1
        assert [event.name for event in told].count("memory_conflict") == 1
        assert len(engine.facts.list(entity="billing")) == 2
        engine.facts.resolve(done.conflicts[0].id, keep="new")
        assert [fact.line.text for fact in engine.facts.list(entity="billing")] == [
            "The API listens on port 9090."
        ]


def test_an_announced_change_ends_the_older_memory(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("Lives in Berlin.", entity="Peter")
        done = engine.remember("Now lives in Lisbon.", entity="Peter")
        assert len(done.updates) == 1
        assert [fact.line.text for fact in engine.facts.list(entity="Peter")] == [
            "Now lives in Lisbon."
        ]
        ended = [fact.line.text for fact in engine.facts.list(entity="Peter", ended=True)]
        assert "Lives in Berlin." in ended


def test_undo_takes_back_and_undoing_it_brings_it_back(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("The first thing.")
        before = memory_text(home)
        engine.remember("A second, wrong thing.")
        undone = engine.undo()
        assert memory_text(home) == before
        assert "A second, wrong thing." in undone.diff
        engine.undo(engine.changes()[0].id)
        assert "A second, wrong thing." in memory_text(home)


def test_undoing_the_first_memory_of_a_day_leaves_the_page_to_the_others(home: Path) -> None:
    with holdfast.open(home) as engine:
        first = engine.remember("The first thing.")
        second = engine.remember("Another thing altogether.")
        engine.undo(first.operation)
        text = engine.get(second.path).text
        assert text.startswith(f"# {engine.today()}\n\n<!-- ")
        assert "\n## Retain\n\n- W: Another thing altogether." in text
        assert "The first thing." not in text
        engine.undo(second.operation)
    assert (home / "agents/main/README.md").is_file()


def test_a_task_alone_gets_the_folder_explained(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.tasks.open("Paint the fence")
    assert "tasks/" in (home / "agents/main/README.md").read_text("utf-8")


def test_lines_of_a_file_are_got_by_their_numbers(home: Path) -> None:
    with holdfast.open(home) as engine:
        path = engine.remember("One thing.").path
        lines = engine.get(path).text.splitlines()
        number = next(n for n, line in enumerate(lines, 1) if "One thing." in line)
        got = engine.get(f"{path}#L{number}")
        assert "One thing." in got.text
        assert got.text.count("\n") == 1
        assert got.citation == f"{path}#L{number}"
        with pytest.raises(NotFound):
            engine.get(f"{path}#L9999")
        with pytest.raises(NotFound):
            engine.get("memory/1999-01-01.md")


def test_a_citation_of_a_conversation_is_got_too(home: Path) -> None:
    with holdfast.open(home) as engine:
        entry = engine.session("s1").append({"role": "user", "content": "the words"})
        assert engine.get(f"s1#{entry}").text == "the words"


def test_a_group_has_a_memory_of_its_own(home: Path) -> None:
    with holdfast.open(home) as owner:
        owner.remember("The owner's secret plan.")
    allow = {"scope.default": "allow"}
    with holdfast.open(home, chat="team", chat_type="group", config=allow) as group:
        path = group.remember("The team meets on Monday.").path
        assert "meets on Monday" in group.get(path).text
        assert group.facts.list() != []
        assert not [each for each in group.facts.list() if "secret" in each.line.text]
        for way in ("../../memory/x.md", "agents/main/MEMORY.md", "chats/team/MEMORY.md"):
            with pytest.raises(PolicyRefused):
                group.get(way)
    assert (home / "agents/main/chats/team" / path).is_file()


def test_a_line_for_one_of_a_group_is_shown_to_nobody_else(home: Path) -> None:
    allow = {"scope.default": "allow"}
    with holdfast.open(home, chat="team", chat_type="group", config=allow) as group:
        path = group.remember("For all of us.").path
        file = home / "agents/main/chats/team" / path
        with file.open("a") as opened:
            opened.write(
                '- W: The code of Alice is 4711. <!-- hf {"user":"alice"} -->\n- W: last\n'
            )
        shown = group.get(path).text
        assert "4711" not in shown
        number = shown.splitlines().index("- W: last") + 1
        assert file.read_text().splitlines()[number - 1] == "- W: last"
        assert "4711" not in group.call_tool("memory_get", {"path": path})["text"]
        assert [fact.line.text for fact in group.facts.list()] == ["For all of us.", "last"]


def test_only_the_owner_backs_up_the_home(home: Path, tmp_path: Path) -> None:
    with holdfast.open(home) as owner:
        owner.remember("The owner's secret plan.")
    with (
        holdfast.open(home, chat="team", chat_type="group") as group,
        pytest.raises(PolicyRefused),
    ):
        group.backup(tmp_path / "all.zip")
    assert not (tmp_path / "all.zip").exists()


def test_a_model_judges_what_is_doubtful(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("Is from Portugal.", entity="Ana")
        engine.remember("Is from Porto.", entity="Ana")
        assert engine.conflicts() == []
        yes = ScriptedModel(['[{"pair": 1, "contradict": true}]'])
        assert [each.old.line.entity for each in engine.conflicts(model=yes)] == ["Ana"]
        garbage = ScriptedModel(["no idea"])
        assert engine.conflicts(model=garbage) == []


def test_a_task_is_recorded_before_its_words_leave(home: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        session.append({"role": "user", "content": "Please fix the login crash in auth.py."})
        session.append({"role": "assistant", "tool_calls": [call]})
        session.append({"role": "tool", "tool_call_id": "c1", "content": "ok"})
        session.append({"role": "assistant", "content": "Fixed: the session was null."})
        session.append({"role": "user", "content": "Thanks, done!"})
        session.compact()
        session.close()
        assert [task.status for task in engine.tasks.list()] == ["done"]


def test_memory_that_is_read_only_is_only_read(home: Path) -> None:
    with holdfast.open(home) as engine:
        path = engine.remember("Here before.").path
    with holdfast.open(home, config={"memory.mode": "read"}) as engine:
        assert "Here before." in engine.get(path).text
        with pytest.raises(PolicyRefused):
            engine.remember("Not to be written.")


def test_memory_that_is_switched_off_is_left_alone(home: Path) -> None:
    with holdfast.open(home) as engine:
        path = engine.remember("Here before.").path
    with holdfast.open(home, config={"memory.mode": "off"}) as engine:
        entry = engine.session("s1").append({"role": "user", "content": "hi"})
        assert engine.get(f"s1#{entry}").text == "hi"
        for ask in (
            lambda: engine.get(path),
            lambda: engine.facts.list(),
            lambda: engine.tasks.list(),
            lambda: engine.remember("x y"),
            lambda: engine.undo(),
        ):
            with pytest.raises(PolicyRefused):
                ask()


def test_every_change_is_on_the_audit_record_without_a_word_of_it(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("Quetzalcoatl dances.", target="topic:quetzal")
        engine.undo()
    audit = (home / "audit.jsonl").read_text("utf-8")
    assert len(audit.splitlines()) == 2
    assert "uetzal" not in audit


def test_git_keeps_one_commit_per_change(home: Path) -> None:
    with holdfast.open(home, config={"memory.git": True}) as engine:
        engine.remember("One.  ")
        engine.remember("Two, quite different.")
    base = home / "agents" / "main"
    log = subprocess.run(
        ["git", "-C", str(base), "log", "--format=%s"], capture_output=True, text=True, check=True
    )
    assert [line.split()[0] for line in log.stdout.splitlines()] == ["remember", "remember"]
    status = subprocess.run(
        ["git", "-C", str(base), "status", "--porcelain", "memory"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert status.stdout == ""


def test_a_flush_writes_through_the_same_notes(home: Path, clock: FixedClock) -> None:
    with holdfast.open(home, clock=clock) as engine:
        session = engine.session("s1")
        session.append(
            {"role": "user", "content": "Remember: my sister Ana moves to Porto on 3 May 2026."}
        )
        key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        session.append({"role": "user", "content": f"Never commit my token {key} to the repo."})
        session.append_entry("marker", {"kind": "reset"})
        text = memory_text(home)
        assert "Porto" in text
        assert key not in text
        fact = next(fact for fact in engine.facts.list() if "Porto" in fact.line.text)
        assert fact.line.id
        assert fact.line.trust == "user"
        assert fact.line.sources[0].startswith("s1#")
        assert engine.changes()[0].what == "flush"


def test_no_file_is_named_after_a_credential(home: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with holdfast.open(home) as engine, pytest.raises(UsageError):
        engine.remember("One thing.", target=f"topic:{key}")
    assert not [path for path in home.rglob("*") if key in path.name]


def test_events_tell_of_memory_without_its_words(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("Xylophone lessons on Friday.")
    events = [
        json.loads(line)["event"] for line in (home / "events.jsonl").read_text().splitlines()
    ]
    assert {"memory_written", "memory_changed"} <= set(events)
    assert "ylophone" not in (home / "events.jsonl").read_text()
