"""A conversation whose memory is off: nobody finds it, reads it or saves it, then or later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.context.flush import NoFlush, flush_records
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.searching.sources import Read, Source, Sources
from holdfast.engine.session import Session
from holdfast.errors import PolicyRefused
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.sessions.reading import Mark
from holdfast.types import Citation, Message

SECRET = "I decided that my locker code word for gym Metropolis is zanzibar-pelican."
OPEN = "I decided that the harbour permit number for the boat Aurora is HP-9931."
LATER = "I decided that the sailing club Neptune meets in hall seven on Fridays."


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with open_engine(home, background=False) as opened:
        yield opened


def say(session: Session, *texts: str) -> list[str]:
    ids = []
    for text in texts:
        ids.append(session.append({"role": "user", "content": text}))
        session.append({"role": "assistant", "content": "Noted."})
    return ids


def found(engine: Engine, query: str) -> str:
    return " ".join(each.text for each in engine.search(query, vectors=False).passages)


def on_disk(home: Path) -> str:
    files = [each for each in home.rglob("*.md") if each.is_file()]
    return "\n".join(each.read_text() for each in files)


def test_it_is_found_by_no_search_and_recalled_by_no_other(engine: Engine) -> None:
    say(engine.session("private", memory="off"), SECRET)
    assert "zanzibar" not in found(engine, "zanzibar pelican locker code word")
    prepared = engine.session("public").prepare("What is my locker code word for gym Metropolis?")
    assert "zanzibar" not in str(prepared.messages)


def test_its_entries_are_read_by_itself_and_by_no_other(engine: Engine) -> None:
    private = engine.session("private", memory="off")
    (entry,) = say(private, SECRET)
    public = engine.session("public")
    for tool, given in (
        ("memory_get", {"path": f"private#{entry}"}),
        ("context_expand", {"id": f"private#{entry}"}),
    ):
        with pytest.raises(PolicyRefused, match="memory is off"):
            public.call_tool(tool, given)
    with pytest.raises(PolicyRefused, match="sessions show private"):
        engine.get(f"private#{entry}")
    assert "zanzibar" in str(private.call_tool("context_expand", {"id": f"private#{entry}"}))
    assert "zanzibar" in private.expand(entry).text


def test_switching_it_off_takes_back_what_was_indexed(engine: Engine) -> None:
    session = engine.session("s")
    (entry,) = say(session, OPEN)
    assert "HP-9931" in found(engine, "harbour permit Aurora")
    engine.session("s", memory="off")
    # A search without the time to read it again asks what stands there, and is told nothing.
    assert engine.index.content(Citation(source="sessions/s", entry=entry)) is None
    assert "HP-9931" not in found(engine, "harbour permit Aurora")
    assert engine.index.verify() == []


def test_switched_on_again_all_is_found_but_what_was_said_while_it_was_off(engine: Engine) -> None:
    session = engine.session("s")
    say(session, OPEN)
    engine.session("s", memory="off")
    (hidden,) = say(session, SECRET)
    found(engine, "anything")
    engine.session("s", memory="read-write")
    (shown,) = say(session, LATER)
    assert "HP-9931" in found(engine, "harbour permit Aurora")
    assert "Neptune" in found(engine, "sailing club Neptune hall")
    assert "zanzibar" not in found(engine, "zanzibar pelican locker code word")
    engine.index.rebuild()
    assert "zanzibar" not in found(engine, "zanzibar pelican locker code word")
    assert "Neptune" in engine.get(f"s#{shown}").text
    with pytest.raises(PolicyRefused):
        engine.get(f"s#{hidden}")


def test_a_search_reads_no_conversation_to_learn_that_it_is_off(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        say(engine.session(f"s{number}", memory="off" if number % 2 else "read-write"), OPEN)
    found(engine, "harbour")
    read: list[str] = []
    real = Sources.read

    def counted(self: Sources, source: Source, mark: Mark | None = None) -> Read | None:
        read.append(source.document.key)
        return real(self, source, mark)

    monkeypatch.setattr(Sources, "read", counted)
    found(engine, "harbour")
    assert read == []
    say(engine.session("s1"), LATER)
    found(engine, "harbour")
    assert read == ["sessions/s1"]


# ── what was said while it was off, afterwards ──────────────────────────────────────────────


def test_words_of_that_time_are_never_saved_and_those_before_and_after_are(
    home: Path, engine: Engine
) -> None:
    session = engine.session("s")
    before = say(session, OPEN)
    engine.session("s", memory="off")
    hidden = say(session, SECRET)
    session = engine.session("s", memory="read-write")
    record = flush_records(session.entries())[-1]
    assert (record.outcome, record.reason) == ("empty", "it was said while memory was off")
    assert set(hidden) <= set(record.covers)
    assert set(before).isdisjoint(record.covers)
    say(session, LATER)
    done = session.flush()
    assert not isinstance(done, NoFlush)
    assert set(hidden).isdisjoint(done.covers)
    session.close()
    written = on_disk(home)
    assert "HP-9931" in written
    assert "Neptune" in written
    assert "zanzibar" not in written


class Reader:
    """A model that keeps its prefix, and notes what it was given to read."""

    name = "m"
    traits = Traits(window=200_000, tool_calls=True, caches_prefix=True)

    def __init__(self) -> None:
        self.read = ""

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.read += str(request)
        return ModelReply(message=Message.of("assistant", "NO_REPLY"))


def test_a_model_that_saves_is_not_shown_them_either(engine: Engine) -> None:
    model, tools = Reader(), engine.tools()  # with these it would be asked in the live request
    session = engine.session("s", model=model, tools=tools, memory="off")
    say(session, SECRET)
    session = engine.session("s", model=model, tools=tools, memory="read-write")
    say(session, LATER)
    session.flush()
    assert "Neptune" in model.read
    assert "zanzibar" not in model.read


def test_passing_over_them_is_not_the_flush_of_the_cycle(engine: Engine) -> None:
    session = engine.session("s", memory="off", window=8_000)
    say(session, SECRET)
    session = engine.session("s", memory="read-write", window=8_000)
    filler = "We talked about the weather in the hills for a while. " * 20
    for number in range(40):
        prepared = session.prepare(f"{number}: {LATER} {filler}")
        if prepared.done:
            break
    records = flush_records(session.entries())
    assert [each.outcome for each in records] == ["flushing", "empty", "flushing", "flushed"]
    assert records[-1].why == "flush_at is reached"


def test_no_task_record_and_no_new_session_tells_of_them(home: Path, engine: Engine) -> None:
    session = engine.session("s", memory="off")
    session.append({"role": "user", "content": SECRET})
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    session.append({"role": "assistant", "content": None, "tool_calls": [call]})
    session.append({"role": "tool", "tool_call_id": "c1", "content": "ok"})
    session.append({"role": "assistant", "content": "Done with zanzibar-pelican."})
    session = engine.session("s", memory="read-write")
    session.prepare("Thanks, that was all.")
    session.commit("You are welcome.")
    session.close()
    assert "zanzibar" not in on_disk(home)
    assert "zanzibar" not in str(engine.session("next").prepare("Hello").messages)
