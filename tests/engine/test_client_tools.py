"""What programs without a conversation get: bounded, quoted, and only what they may see."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.engine.tools.clients import (
    CLIENT_TOOLS,
    call_client_tool,
    memory_files,
    open_sessions,
    read_memory,
    read_session,
    resume_packet,
)
from holdfast.errors import NotFound, PolicyRefused, UsageError
from holdfast.fencing import without_fenced

SECRET = "sk-ant-api03-" + "Ab3" * 30


def test_clients_get_the_tools_of_a_model_but_for_what_needs_a_conversation(home: Path) -> None:
    with holdfast.open(home) as engine:
        models = {each["function"]["name"] for each in engine.tools()}
        with pytest.raises(UsageError, match="no tool 'memory_forget'"):
            engine.call_tool("memory_forget", {"what": "x"})
        with pytest.raises(UsageError, match="no tool 'context_compact'"):
            call_client_tool(engine, "context_compact", {})
    assert set(CLIENT_TOOLS) == models - {"context_compact"} | {"memory_forget", "session_list"}


def test_forgetting_moves_to_the_archive_and_can_be_undone(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("Anna lives in Lisbon.", target="memory")
        trial = call_client_tool(engine, "memory_forget", {"what": "lisbon", "dry_run": True})
        assert (trial["dry_run"], trial["operation"], len(trial["items"])) == (True, None, 1)
        assert "Lisbon" in engine.get("MEMORY.md").text
        done = call_client_tool(engine, "memory_forget", {"what": "lisbon"})
        assert "Lisbon" not in engine.get("MEMORY.md").text
        assert "Lisbon" not in without_fenced(done["text"])
        engine.undo(done["operation"])
        assert "Lisbon" in engine.get("MEMORY.md").text
        with pytest.raises(NotFound, match="holds these words"):
            call_client_tool(engine, "memory_forget", {"what": "Atlantis"})


def test_a_word_that_fits_half_the_memory_moves_nothing(home: Path) -> None:
    with holdfast.open(home) as engine:
        shelves = [{"text": f"Shelf {n} holds the jar with number {n * 7}."} for n in range(21)]
        call_client_tool(engine, "memory_retain", {"memories": shelves})
        (path,) = memory_files(engine)
        before = engine.get(path).text
        with pytest.raises(PolicyRefused, match="21 memories hold these words"):
            call_client_tool(engine, "memory_forget", {"what": "jar"})
        with pytest.raises(UsageError, match="blank"):
            call_client_tool(engine, "memory_forget", {"what": "  "})
        assert engine.get(path).text == before


@pytest.mark.parametrize("mode", ["read", "off"])
def test_the_memory_mode_holds_for_clients_too(home: Path, mode: str) -> None:
    with holdfast.open(home) as engine:
        engine.remember("Anna lives in Lisbon.")
    with holdfast.open(home, config={"memory.mode": mode}) as engine:
        for name, given in (("memory_write", {"text": "x y z"}), ("memory_forget", {"what": "A"})):
            with pytest.raises(PolicyRefused, match=r"memory (may only|is switched)"):
                call_client_tool(engine, name, given)
        if mode == "read":
            assert memory_files(engine)
            return
        for reading in (memory_files, resume_packet, lambda it: open_sessions(it, most=5)):
            with pytest.raises(PolicyRefused):
                reading(engine)
        with pytest.raises(PolicyRefused):
            read_memory(engine, "MEMORY.md")


def test_a_group_that_no_rule_admits_reads_and_forgets_nothing(home: Path) -> None:
    with holdfast.open(home, chat="team", chat_type="group") as engine:
        call_client_tool(engine, "memory_write", {"text": "The launch is on Friday."})
        for name, given in (
            ("memory_search", {"query": "launch"}),
            ("memory_get", {"path": "MEMORY.md"}),
            ("memory_forget", {"what": "launch"}),
            ("session_list", {}),
        ):
            with pytest.raises(PolicyRefused, match="No rule lets a group"):
                call_client_tool(engine, name, given)
        with pytest.raises(PolicyRefused):
            memory_files(engine)


def test_what_was_said_while_memory_was_off_is_not_shown(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.session("quiet", memory="off").append({"role": "user", "content": "a hush thing"})
        open_one = engine.session("open")
        open_one.set_goal("plan the trip")
        open_one.append({"role": "user", "content": f"the key is {SECRET}, keep it"})
        assert open_sessions(engine, most=9) == ["open"]
        listed = call_client_tool(engine, "session_list", {})
        assert [each["name"] for each in listed["sessions"]] == ["open"]
        assert "plan the trip" in listed["text"]
        assert "plan the trip" not in without_fenced(listed["text"])
        with pytest.raises(PolicyRefused, match="is off"):
            read_session(engine, "quiet")
        page = read_session(engine, "open")
        assert "the key is" in page
        assert SECRET not in page
        assert without_fenced(page).strip() == ""
        with pytest.raises(NotFound):
            read_session(engine, "nobody")


def test_a_long_file_comes_in_pages_that_miss_no_line(home: Path) -> None:
    wanted = [f"Shelf {n} holds the jar with number {n * 7}." for n in range(120)]
    with holdfast.open(home) as engine:
        memories = [{"text": each} for each in wanted]
        path: str | None = call_client_tool(engine, "memory_retain", {"memories": memories})["path"]
        pages = []
        while path is not None:
            page = read_memory(engine, path, most=1_500)
            assert len(page["text"]) < 2_500
            assert without_fenced(page["text"]).count("\n") <= 1
            pages.append(page["text"])
            path = page["more"]
        assert len(pages) > 3
        for each in wanted:
            assert sum(each in page for page in pages) == 1
        large = engine.session("s").append({"role": "user", "content": "long " * 10_000})
        with pytest.raises(UsageError, match="context_expand"):
            read_memory(engine, f"s#{large}", most=4_000)


def test_a_conversation_that_is_long_shows_its_end(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.session("s").append_all(
            [{"role": "user", "content": f"word number {n} " * 20} for n in range(60)]
        )
        page = read_session(engine, "s", most=3_000)
        assert "word number 59" in page
        assert "word number 3 " not in page
        assert page.startswith("The last 3,000 of ")


def test_the_packet_says_where_the_last_conversation_stopped(home: Path) -> None:
    with holdfast.open(home) as engine:
        with pytest.raises(NotFound, match="nothing is remembered yet"):
            resume_packet(engine)
        engine.remember("Anna lives in Lisbon.", target="memory")
        session = engine.session("trip")
        session.append({"role": "user", "content": "Please book the train to Porto."})
        before = engine.sessions()
        packet = resume_packet(engine, language="en")
        assert "Anna lives in Lisbon." in packet
        assert "Please book the train to Porto." in packet
        assert engine.sessions() == before, "reading it writes nothing"
        assert "恢复" in resume_packet(engine, language="zh")
