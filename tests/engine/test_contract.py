"""The lines of the public contract, word for word, and what they promise."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.testing import FixedClock
from holdfast.testing.corpus import conversation
from holdfast.types import Message, ToolCall


def test_the_contract(home: Path) -> None:
    with holdfast.open(home, agent="main") as engine:
        s = engine.session("s1")
        entry_id = s.append({"role": "user", "content": "hi"})
        s.append({"role": "assistant", "content": "hello"})
        assert [entry.id for entry in s.entries()][1] == entry_id
        assert [message.text for message in s.view()] == ["hi", "hello"]
        fork = s.fork(entry_id, "s2")
        assert [message.text for message in fork.view()] == ["hi"]
        assert str(s.expand(entry_id)) == "hi"
        assert s.expand(entry_id).message == Message.of("user", "hi")

    with holdfast.open(home, agent="main") as engine:
        assert [message.text for message in engine.session("s1").view()] == ["hi", "hello"]
        assert {each.name for each in engine.sessions()} == {"s1", "s2"}


@pytest.mark.parametrize(
    "message",
    [
        Message.of("user", "hi"),
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "done"}],
        },
    ],
)
def test_messages_of_either_provider_are_taken(home: Path, message: dict[str, object]) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        entry_id = session.append(message)
        expanded = session.expand(entry_id)
    with holdfast.open(home) as engine:
        assert engine.session("s1").expand(entry_id) == expanded


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"content": "hi"},
        {"role": "user", "content": 7},
        {"role": "user", "content": float("nan")},
    ],
)
def test_what_is_not_a_message_is_refused_with_a_hint(home: Path, wrong: dict[str, object]) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        with pytest.raises(holdfast.UsageError) as refused:
            session.append(wrong)
        assert refused.value.hint
        assert len(session.view()) == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_whole_conversation_comes_back_after_a_restart(home: Path, language: str) -> None:
    messages = conversation(1, 30, language=language)
    with holdfast.open(home) as engine:
        ids = engine.session("s1").append_all(messages)
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        assert [session.expand(entry_id).message for entry_id in ids] == messages
        assert len(session.view()) == len(messages)


def test_goal_and_variables_survive_a_restart(home: Path) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        session.set_goal("book the flight")
        session.set_vars({"city": "成都", "n": 3})
        session.set_vars({"n": 4}, unset=["city"])
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        assert session.goal == "book the flight"
        assert session.vars == {"n": 4}
        assert session.state()["compaction_count"] == 0


def test_an_artifact_expands_by_its_id(home: Path) -> None:
    with holdfast.open(home, config={"context.ingest_cap_chars": 1000}) as engine:
        session = engine.session("s1")
        log = "line\n" * 5000
        session.append({"role": "tool", "tool_call_id": "c1", "content": log})
        artifact_id = session.view()[0].text.split("expand ")[1].split("]")[0]
        assert session.expand(artifact_id).text == log
        with pytest.raises(holdfast.NotFound, match="no entry 'deadbeef00'"):
            session.expand("deadbeef00")


def test_a_deleted_session_says_when_it_went(home: Path, clock: FixedClock) -> None:
    with holdfast.open(home, clock=clock) as engine:
        engine.session("s1").append({"role": "user", "content": "hi"})
        engine.delete_session("s1")
        with pytest.raises(holdfast.NotFound, match="deleted on 2026-03-14"):
            engine.existing_session("s1")
        stone = engine.tombstone("s1")
        assert stone is not None
        assert stone.what == "deleted"


def test_a_renamed_session_goes_on_under_its_new_name(home: Path) -> None:
    with holdfast.open(home) as engine:
        old = engine.session("old")
        old.append({"role": "user", "content": "hi"})
        engine.rename_session("old", "new")
        assert [message.text for message in engine.session("new").view()] == ["hi"]
        entry_id = old.append({"role": "user", "content": "by the old name"})
        assert old.verify().is_intact
        assert old.goal is None
        old.fork(entry_id, "fork")
        assert len(engine.session("new").view()) == 2
        fresh = engine.session("old")
        assert len(fresh.view()) == 0, "a new conversation may have the old name"
        fresh.append({"role": "user", "content": "fresh"})
        assert len(engine.session("new").view()) == 2


def test_a_session_renamed_by_another_process_is_not_mixed_up_with_its_successor(
    home: Path,
) -> None:
    with holdfast.open(home) as mine, holdfast.open(home) as other:
        session = mine.session("old")
        session.append({"role": "user", "content": "first"})
        other.rename_session("old", "new")
        entry_id = session.append({"role": "user", "content": "second"})
        assert session.verify().is_intact
        session.fork(entry_id, "fork")
        assert [message.text for message in other.session("new").view()] == ["first", "second"]
        fresh = mine.session("old")
        fresh.append({"role": "user", "content": "fresh"})
        assert [message.text for message in fresh.view()] == ["fresh"]
        assert len(other.session("new").view()) == 2


def test_groups_and_further_users_have_folders_of_their_own(home: Path) -> None:
    for scope in (
        {},
        {"user": "bob"},
        {"chat": "team", "chat_type": "group"},
    ):
        with holdfast.open(home, **scope) as engine:  # type: ignore[arg-type]
            assert engine.sessions() == []
            engine.session("s1").append({"role": "user", "content": "mine"})
    found = {str(path.relative_to(home)) for path in home.rglob("s1.jsonl")}
    assert found == {
        "agents/main/sessions/s1.jsonl",
        "agents/main/users/bob/sessions/s1.jsonl",
        "agents/main/chats/team/sessions/s1.jsonl",
    }


def test_exports_hold_the_whole_conversation(home: Path) -> None:
    messages = conversation(5, 6)
    with holdfast.open(home, config={"context.ingest_cap_chars": 1000}) as engine:
        session = engine.session("s1")
        session.append_all(messages)
        page = session.export("markdown")
        for message in messages:
            for line in message.text.splitlines()[:3]:
                assert line in page
        for format in ("openai", "anthropic"):
            assert messages[-1].text in session.export(format)


def test_the_users_day_follows_the_configured_zone(home: Path, clock: FixedClock) -> None:
    clock.at = clock.at.replace(hour=23, minute=30)
    days = {}
    for zone in ("UTC", "Asia/Shanghai", "America/Los_Angeles", "Pacific/Kiritimati"):
        with holdfast.open(home, clock=clock, config={"memory.time_zone": zone}) as engine:
            days[zone] = engine.today().isoformat()
    assert days == {
        "UTC": "2026-03-14",
        "Asia/Shanghai": "2026-03-15",
        "America/Los_Angeles": "2026-03-14",
        "Pacific/Kiritimati": "2026-03-15",
    }


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("marker", {"kind": "vars", "set": ["a"]}),
        ("prune", {"shown": [{"entry": "e1"}]}),
        ("compaction", {"summary": "text"}),
        ("message", {"role": "user", "parts": [1]}),
        ("note", {1: "a", "1": "b"}),
        ("note", {"x": float("nan")}),
        ("note", {"x": {1, 2}}),
    ],
)
def test_an_entry_that_would_make_trouble_later_is_refused_now(
    home: Path, kind: str, data: dict[str, object]
) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        with pytest.raises(holdfast.UsageError):
            session.append_entry(kind, data)
        assert len(session.entries()) == 1


def test_what_the_caller_changes_later_changes_nothing_that_was_said(home: Path) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        arguments = {"path": "a"}
        message = Message(
            role="assistant", parts=(ToolCall(id="c1", name="read", arguments=arguments),)
        )
        entry_id = session.append(message)
        arguments["path"] = "b"
        found = session.expand(entry_id).message
        assert found is not None
        assert found.tool_calls[0].arguments == {"path": "a"}
        assert session.view()[0].tool_calls[0].arguments == {"path": "a"}


def test_a_shared_or_foreign_folder_is_not_taken_over(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.raises(holdfast.PolicyRefused, match="shared by everybody"):
        holdfast.open(shared)
    documents = tmp_path / "documents"
    documents.mkdir(mode=0o755)
    documents.chmod(0o755)
    (documents / "letter.txt").write_text("dear")
    with holdfast.open(documents) as engine:
        engine.session("s1")
    assert documents.stat().st_mode & 0o777 == 0o755, "what else is in there is not ours"
    assert (documents / "agents").stat().st_mode & 0o777 == 0o700


def test_wrong_arguments_are_named(home: Path) -> None:
    with pytest.raises(holdfast.UsageError, match="no chat type 'grup'"):
        holdfast.open(home, chat_type="grup")  # type: ignore[arg-type]
    with holdfast.open(home) as engine:
        with pytest.raises(holdfast.HoldfastError, match="not a string"):
            engine.session(5)  # type: ignore[arg-type]
        with pytest.raises(holdfast.UsageError, match="no export format 'html'"):
            engine.session("s1").export("html")  # type: ignore[arg-type]
