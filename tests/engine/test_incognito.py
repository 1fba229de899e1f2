"""A conversation that leaves nothing behind: the home is read byte by byte, and so is memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import holdfast
from holdfast.disk import scratch
from holdfast.engine.facade import open_engine
from holdfast.engine.turn import CompactionDone
from holdfast.errors import NotFound, PolicyRefused, UsageError
from holdfast.events import Event
from holdfast.testing import ScriptedModel
from holdfast.types import Message, ToolCall

SECRET = "zyxwvut-4711"
SAID = f"My password is {SECRET}, and my sister Anna lives in Lisbon."
NAME = "hidden-talk"


def holds(folder: Path, *texts: str) -> list[Path]:
    """The files under a folder with one of the texts in their bytes or their names."""
    found = []
    for where, folders, files in os.walk(folder):  # other tests make and remove such folders
        for name in (*folders, *files):
            held = b""
            with suppress(OSError):
                held = (Path(where) / name).read_bytes()
            if any(text.encode() in held or text in name for text in texts):
                found.append(Path(where) / name)
    return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where such conversations are while they last."""
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setattr(scratch, "_place", lambda: folder)
    return folder


def test_nothing_of_it_is_in_the_home_while_it_lasts_or_after(home: Path, place: Path) -> None:
    with open_engine(home, config={"context.window": 8_000}) as engine:
        session = engine.session(NAME, incognito=True)
        assert (session.is_incognito, session.memory_mode) == (True, "off")
        session.prepare(SAID)
        session.commit(f"I heard {SECRET}.")
        session.goal = SECRET
        session.vars["code"] = SECRET
        for number in range(30):
            session.append({"role": "user", "content": f"{SECRET} and stop {number}"})
            session.append({"role": "assistant", "content": f"{SECRET} village {number} " * 40})
        compacted = session.compact()
        assert any(isinstance(done, CompactionDone) for done in compacted.done)
        session.flush()
        assert holds(place, SECRET), "while it lasts it is there, and only there"
        assert holds(home, SECRET, NAME) == []
        session.close()
        assert list(place.iterdir()) == []
        assert holds(home, SECRET, NAME) == []
    assert holds(home, SECRET, NAME) == []
    with open_engine(home) as engine:
        assert engine.sessions() == []
        with pytest.raises(NotFound):
            engine.existing_session(NAME)


def test_those_who_listen_hear_of_it_and_the_log_does_not(home: Path, place: Path) -> None:
    heard: list[Event] = []
    with open_engine(home) as engine:
        engine.subscribe(heard.append)
        session = engine.session(NAME, incognito=True)
        session.prepare(SAID)
        session.commit("Noted.")
        session.fork(session.entries()[1].id, "hidden-fork")
        session.close()
        told = [event.name for event in heard if event.session == NAME]
        assert told[0] == "session_started"
        assert told[-1] == "session_closed"
        assert "turn_finished" in told
        assert holds(home, NAME, "hidden-fork") == []
        engine.session(NAME).append({"role": "user", "content": "now everybody may know"})
    assert holds(home, NAME), "an ordinary conversation of that name is one"
    assert NAME in (home / "events.jsonl").read_text()


def test_it_knows_nothing_and_teaches_nothing(home: Path, place: Path) -> None:
    with open_engine(home) as engine:
        engine.remember("Anna lives in Lisbon.", target="memory")
        before = {path: path.read_bytes() for path in home.rglob("*.md")}
        call = ToolCall(id="c1", name="memory_search", arguments={"query": "Anna"})
        keep = ToolCall(id="c2", name="memory_write", arguments={"text": SECRET})
        model = ScriptedModel([Message(role="assistant", parts=(call, keep)), "I cannot."])
        session = engine.session(NAME, incognito=True, model=model)
        steps = list(session.run("Where does Anna live?"))
        assert [step.is_error for step in steps if step.kind == "tool_result"] == [True, True]
        assert "Lisbon" not in str(model.requests)
        with pytest.raises(PolicyRefused):
            session.call_tool("memory_write", {"text": SAID})
        session.close()
        assert {path: path.read_bytes() for path in home.rglob("*.md")} == before


def test_the_next_conversation_is_incognito_as_well(home: Path, place: Path) -> None:
    with open_engine(home) as engine:
        session = engine.session(NAME, incognito=True, system="Be kind.")
        session.prepare(SAID)
        session.commit("Noted.")
        following = session.new()
        assert following.is_incognito
        request = following.prepare("What did I say?")
        assert SECRET not in str(request.messages)
        assert "Be kind." in str(request.messages)
        assert len(list(place.iterdir())) == 1
    assert list(place.iterdir()) == [], "closing the engine ends it"
    assert holds(home, SECRET, NAME) == []


def test_what_is_over_is_over(home: Path, place: Path) -> None:
    with open_engine(home) as engine:
        session = engine.session(NAME, incognito=True)
        session.prepare(SAID)
        session.close()
        session.close()
        again = engine.session(NAME, incognito=True)
        assert len(again.view()) == 0
        other = engine.session(NAME, incognito=True)
        again.prepare("one")
        assert len(other.view()) == 0, "each is its own"
        assert len(list(place.iterdir())) == 2


def test_memory_cannot_be_asked_for(home: Path) -> None:
    with open_engine(home) as engine:
        for mode in ("read", "read-write"):
            with pytest.raises(UsageError, match="incognito"):
                engine.session(NAME, incognito=True, memory=mode)


KILLED = (
    "import sys, time, holdfast\n"
    "from pathlib import Path\n"
    "from holdfast.disk import scratch\n"
    "scratch._place = lambda: Path(sys.argv[2])\n"
    "engine = holdfast.open(sys.argv[1])\n"
    "session = engine.session(sys.argv[3], incognito=True)\n"
    "session.prepare(sys.argv[4])\n"
    "session.commit('Noted.')\n"
    "print('ready', flush=True)\n"
    "time.sleep(60)\n"
)


def test_after_a_kill_the_next_one_removes_what_is_left(home: Path, place: Path) -> None:
    argv = [sys.executable, "-c", KILLED, str(home), str(place), NAME, SAID]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert holds(home, SECRET, NAME) == []
        process.send_signal(signal.SIGKILL)
    assert holds(home, SECRET, NAME) == []
    assert holds(place, SECRET), "nobody was there to remove it"
    with open_engine(home) as engine:
        engine.session("another", incognito=True)
        assert holds(place, SECRET) == []
    assert list(place.iterdir()) == []


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no folder in memory here")
def test_nothing_of_it_stays_in_memory_either(home: Path) -> None:
    text = f"unlikely-words-{os.getpid()}-{id(home)}"
    with holdfast.open(home) as engine:
        session = engine.session(NAME, incognito=True)
        session.prepare(text)
        session.commit("Noted.")
        ours = [each for each in Path("/dev/shm").glob("holdfast-scratch-*") if holds(each, text)]
        assert len(ours) == 1
        session.close()
        assert not ours[0].exists()
    assert holds(home, text) == []
