"""The turn from the host's side: what is on disk when, what memory costs, how a turn recovers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

import holdfast
import holdfast.engine.restore
from holdfast.context.flush import covered_by, flush_records
from holdfast.context.validity.overflow import OVERFLOWS, limit_in
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.engine.turn import CompactionDone, exchange
from holdfast.errors import HoldfastError, IrreducibleContext, StorageError, UsageError
from holdfast.events import Event
from holdfast.ports import ModelReply, ModelRequest
from holdfast.testing import FixedClock, ScriptedModel
from holdfast.types import Json, Message, Usage
from tests.engine.receivers import answer, receiver

WINDOW = 8_000


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with open_engine(home, config={"context.window": WINDOW}, clock=FixedClock()) as opened:
        yield opened


def heard_by(engine: Engine) -> list[Event]:
    heard: list[Event] = []
    engine.subscribe(heard.append)
    return heard


def names(heard: list[Event]) -> list[str]:
    return [event.name for event in heard]


def only(heard: list[Event], name: str) -> Any:
    (event,) = (each for each in heard if each.name == name)
    return event


def long_talk(session: Session, turns: int, *, start: int = 0) -> None:
    for number in range(start, start + turns):
        told = f"Stop {number} of the way is village {number}, with a well. " * 12
        session.append({"role": "user", "content": f"What comes after stop {number}?"})
        session.append({"role": "assistant", "content": told})


def system_of(request: Any) -> str:
    found = request.openai()["messages"][0]
    assert found["role"] in ("system", "developer")
    return str(found["content"])


# ── the message comes first ─────────────────────────────────────────────────────────────────


class Stopped(BaseException):
    """What no code of ours catches: as if the process had been ended."""


@pytest.mark.parametrize("what", ["restore", "recall", "ensure_fit"])
def test_the_user_s_message_is_on_disk_whatever_ends_the_turn(
    home: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Stopped

    module = exchange if what == "ensure_fit" else holdfast.engine.restore
    with open_engine(home) as engine:
        engine.remember("Anna lives in Lisbon.")
        monkeypatch.setattr(module, what, stop)
        session = engine.session("s")
        with pytest.raises(Stopped):
            session.prepare("Where does Anna live?")
    monkeypatch.undo()
    with open_engine(home) as engine:
        assert [each.text for each in engine.session("s").view()] == ["Where does Anna live?"]
        request = engine.session("s").prepare()
        assert request.messages[-1]["content"] == "Where does Anna live?"


@pytest.mark.parametrize("what", ["restore", "recall"])
@pytest.mark.parametrize("error", [RuntimeError("broken"), StorageError("the disk is gone")])
def test_memory_that_fails_costs_nothing_but_an_event(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, what: str, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    heard = heard_by(engine)
    monkeypatch.setattr(holdfast.engine.restore, what, fail)
    request = engine.session("s").prepare("Where does Anna live?")
    assert request.messages == [{"role": "user", "content": "Where does Anna live?"}]
    told = only(heard, f"{what}_done")
    assert any(word in told.reason for word in (type(error).__name__, "disk"))
    assert "broken" not in told.reason, "an event says what kind of error, not what it quotes"


def test_a_search_that_fails_costs_nothing_but_its_passages(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.remember("Anna lives in Lisbon.")
    monkeypatch.setattr(
        type(engine._rooms), "search", property(lambda self: (_ for _ in ()).throw(OSError("no")))
    )
    session = engine.session("s")
    request = session.prepare("Where does Anna live?")
    assert request.messages[-1]["content"].startswith("Where does Anna live?")
    session.commit("In Lisbon.")
    assert session.prepare("Thanks.").request.violations == ()


# ── what a conversation begins with ─────────────────────────────────────────────────────────


def test_memory_is_restored_once_and_stays_the_same_bytes(home: Path) -> None:
    config: dict[str, Json] = {"context.window": WINDOW}
    with open_engine(home, config=config) as engine:
        engine.remember("Peter prefers short replies.", target="memory")
        heard = heard_by(engine)
        session = engine.session("s", system="Be kind.", model="openai:gpt-5")
        first = system_of(session.prepare("hi"))
        assert first.startswith("Be kind.")
        assert "Peter prefers short replies." in first
        session.commit("Hello")
        engine.remember("Peter moved to Oslo.", target="memory")
        assert system_of(session.prepare("And now?")) == first
        session.commit("Well.")
        assert names(heard).count("restore_done") == 1
        assert only(heard, "restore_done").tokens > 0
    with open_engine(home, config=config) as engine:
        session = engine.session("s", system="Be kind.", model="openai:gpt-5")
        assert system_of(session.prepare("After a restart?")) == first
        session.commit("Yes.")
        long_talk(session, 12)
        compacted = session.compact()
        assert any(isinstance(done, CompactionDone) for done in compacted.done)
        assert system_of(compacted) == first
    with open_engine(home, config=config) as engine:
        session = engine.session("s", system="Be kind.", model="openai:gpt-5")
        assert system_of(session.prepare("And after both?")) == first
        markers = [e for e in session.entries() if e.data.get("kind") == "restored"]
        assert len(markers) == 1


def test_a_conversation_that_was_answered_is_not_restored_into(engine: Engine) -> None:
    session = engine.session("s")
    session.append({"role": "user", "content": "hi"})
    session.append({"role": "assistant", "content": "Hello"})
    engine.remember("Peter prefers short replies.", target="memory")
    heard = heard_by(engine)
    session.prepare("And now?")
    assert "restore_done" not in names(heard)


def test_several_first_messages_are_no_reason_to_restore_nothing(engine: Engine) -> None:
    engine.remember("Peter prefers short replies.", target="memory")
    session = engine.session("s")
    session.prepare("One.", "Two.", "Three.")
    assert "Peter" in session.state()["restored"]


def test_what_was_just_said_is_not_restored_from_where_it_was_said(engine: Engine) -> None:
    before = engine.session("before")
    before.prepare("The zeppelin lands in Porto in May.")
    before.commit("Noted.")
    before.close()
    session = engine.session("s")
    session.append({"role": "user", "content": "The zeppelin lands in Porto in June."})
    session.prepare()
    assert "May" in session.state()["restored"]
    assert "June" not in session.state()["restored"]


def test_what_is_recalled_stands_behind_the_message_and_the_prefix_stays(home: Path) -> None:
    clock = FixedClock()
    config: dict[str, Json] = {"context.window": WINDOW, "recall.timeout_ms": 20_000}
    with open_engine(home, config=config, clock=clock) as engine:
        engine.remember("Anna keeps her bicycle in the cellar in Lisbon.", entity="Anna")
        clock.advance(days=10)  # so that it is not in the notes that are restored
        heard = heard_by(engine)
        session = engine.session("s")
        before = session.prepare("hi")
        session.commit("Hello")
        request = session.prepare("Where does Anna keep her bicycle?")
        kinds = [(each.type, each.data) for each in session.entries()]
        assert kinds[-2][0] == "message"
        assert kinds[-1][0] == "recall", "right behind what was asked"
        assert "cellar" in str(kinds[-1][1])
        assert "cellar" in str(request.messages[-1]), "data beside the question"
        assert "cellar" not in str(request.messages[:-1])
        assert request.messages[: len(before.messages)] == before.messages
        told = [each for each in heard if each.name == "recall_done"]
        assert [each.to_json()["passages"] for each in told] == [0, 1]
        session.commit("In the cellar.")
        again = session.prepare("Thanks!")
        assert again.messages[: len(request.messages)] == request.messages, "and it stays there"


def test_a_session_whose_memory_is_off_reads_and_writes_none(home: Path) -> None:
    with open_engine(home, config={"context.window": WINDOW}) as engine:
        engine.remember("Anna lives in Lisbon.", target="memory")
        before = {path: path.read_bytes() for path in home.rglob("*.md")}
        heard = heard_by(engine)
        session = engine.session("s", memory="off")
        request = session.prepare("Where does Anna live? I live in Oslo, by the way.")
        assert "Lisbon" not in str(request.openai())
        session.commit("I do not know.")
        session.close()
        assert {path: path.read_bytes() for path in home.rglob("*.md")} == before
        assert "restore_done" not in names(heard)
        assert "recall_done" not in names(heard)
        record = flush_records(session.entries())[-1]
        assert (record.outcome, record.reason) == ("empty", "memory.mode is off")


def test_a_memory_mode_that_there_is_not_makes_no_session(engine: Engine) -> None:
    with pytest.raises(UsageError, match="memory mode") as refused:
        engine.session("s", memory="of")  # type: ignore[arg-type]
    assert "'off'" in str(refused.value)
    assert engine.sessions() == []


def test_a_session_that_may_only_read_memory_reads_it(home: Path) -> None:
    with open_engine(home, config={"context.window": WINDOW}) as engine:
        engine.remember("Anna lives in Lisbon.", target="memory")
        before = {path: path.read_bytes() for path in home.rglob("*.md")}
        session = engine.session("s", memory="read")
        request = session.prepare("Where does Anna live? I live in Oslo, by the way.")
        assert "Lisbon" in str(request.openai())
        session.commit("In Lisbon.")
        session.close()
        assert {path: path.read_bytes() for path in home.rglob("*.md")} == before
    with open_engine(home) as engine:
        assert engine.session("s").memory_mode == "read", "it stays so"


# ── the provider says that it was too much ──────────────────────────────────────────────────


@pytest.mark.parametrize("phrase", OVERFLOWS, ids=lambda phrase: phrase.provider)
def test_every_way_to_say_overflow_gives_a_smaller_request(home: Path, phrase: Any) -> None:
    with open_engine(home, config={"context.window": 30_000}, clock=FixedClock()) as engine:
        session = engine.session("s")
        long_talk(session, 8)
        request = session.prepare("And the end?")
        smaller = session.recover(RuntimeError(phrase.example))
        assert smaller is not None
        assert smaller.projected < request.projected
        assert smaller.messages[-1] == request.messages[-1]
        assert smaller.request.violations == ()
        entries = session.entries()
        covered = covered_by(flush_records(entries), entries)
        for done in smaller.done:
            if isinstance(done, CompactionDone):
                assert set(done.dropped) <= covered
        # A limit above what was believed says nothing new: then it was our count, this once.
        limit = limit_in(phrase.example)
        if limit is None or limit < 30_000:
            assert session.state()["observed_window"] < 30_000


@pytest.mark.parametrize("client", ["anthropic", "openai"])
@pytest.mark.parametrize("status", [429, 401, 500, 529, 400])
def test_errors_of_the_clients_that_are_not_about_size_are_left_alone(
    engine: Engine, client: str, status: int
) -> None:
    words = {429: "Rate limit reached: too many tokens per minute", 400: "messages: bad role"}
    body = {"error": {"type": "error", "message": words.get(status, "no")}}
    with receiver() as server:
        server.script = [
            answer(status, body, Content_Type="application/json", Connection="close")
        ] * 2
        error = error_of(client, server.url)
    session = engine.session("s")
    session.prepare("hi")
    before = session.entries()
    assert session.recover(error) is None
    assert session.entries() == before


def error_of(client: str, url: str) -> Exception:
    """What the real client raises for what the server says."""
    said: Any = [{"role": "user", "content": "hi"}]
    given: dict[str, Any] = {"api_key": "x", "max_retries": 0}
    try:
        if client == "anthropic":
            with anthropic.Anthropic(base_url=url, **given) as talking:
                talking.messages.create(model="claude-sonnet-5", max_tokens=10, messages=said)
        else:
            with openai.OpenAI(base_url=f"{url}/v1", **given) as speaking:
                speaking.chat.completions.create(model="gpt-5", messages=said)
    except (anthropic.APIError, openai.APIError) as error:
        return error
    raise AssertionError("the client raised nothing")


def test_the_limit_that_a_provider_names_is_believed_from_then_on(home: Path) -> None:
    error = {"type": "invalid_request_error", "message": "prompt is too long: 9 > 7000 maximum"}
    with receiver() as server:
        body = {"type": "error", "error": error}
        server.script = [answer(400, body, Content_Type="application/json", Connection="close")]
        raised = error_of("anthropic", server.url)
    with open_engine(home, config={"context.window": 30_000}) as engine:
        session = engine.session("s", model="anthropic:claude-sonnet-5")
        long_talk(session, 30)
        session.prepare("And the end?")
        smaller = session.recover(raised)
        assert smaller is not None
        assert smaller.budget.window == 7_000
        assert smaller.projected <= smaller.budget.compact_at
        session.commit({"role": "assistant", "content": "The sea."})
    with open_engine(home, config={"context.window": 30_000}) as engine:
        session = engine.session("s", model="anthropic:claude-sonnet-5")
        assert session.prepare("And then?").budget.window == 7_000


def test_what_a_request_was_described_with_holds_when_it_is_asked_again(engine: Engine) -> None:
    session = engine.session("s")
    long_talk(session, 8)
    tools = engine.tools("anthropic")[:2]
    session.prepare("More?", format="anthropic", model="claude-sonnet-5", system="Hm.", tools=tools)
    smaller = session.recover("prompt is too long: 9000 tokens > 7000 maximum")
    assert smaller is not None
    given = smaller.anthropic()
    assert len(given["tools"]) == 2
    assert given["model"] == "claude-sonnet-5"
    assert "Hm." in str(given["system"])


def test_a_turn_is_made_smaller_three_times_and_no_more(home: Path) -> None:
    with open_engine(home, config={"context.window": 60_000}, clock=FixedClock()) as engine:
        session = engine.session("s")
        long_talk(session, 60)
        heard = heard_by(engine)
        session.prepare("And the end?")
        sizes = []
        for _ in range(3):
            smaller = session.recover("context_length_exceeded")
            assert smaller is not None
            sizes.append(smaller.budget.window)
        assert sizes == [45_000, 33_750, 25_312]
        with pytest.raises(IrreducibleContext, match="3 times"):
            session.recover("context_length_exceeded")
        assert "compaction_failed" in names(heard)
        session.prepare()
        assert session.recover("context_length_exceeded") is not None, "a new turn, new tries"


def test_recovering_before_anything_was_prepared_is_possible(home: Path) -> None:
    with open_engine(home, config={"context.window": 30_000}) as engine:
        long_talk(engine.session("s"), 20)
    with open_engine(home, config={"context.window": 30_000}) as engine:
        request = engine.session("s").recover("prompt is too long: 9000 tokens > 7000 maximum")
        assert request is not None
        assert request.projected <= request.budget.compact_at <= 7_000


# ── the answer ──────────────────────────────────────────────────────────────────────────────


def test_the_provider_s_count_is_read_back_after_a_restart(home: Path) -> None:
    with open_engine(home) as engine:
        session = engine.session("s", model="anthropic:claude-sonnet-5")
        session.prepare("hi")
        usage = {"input_tokens": 10, "cache_read_input_tokens": 1_200, "output_tokens": 40}
        answered = {"type": "message", "role": "assistant", "usage": usage}
        session.commit({**answered, "content": [{"type": "text", "text": "Hello"}]})
        before = session.explain_context().projection
        assert before.source != "estimated"
        assert before.tokens >= 1_210
    with open_engine(home) as engine:
        session = engine.session("s", model="anthropic:claude-sonnet-5")
        after = session.explain_context().projection
        assert (after.tokens, after.source) == (before.tokens, before.source)


def test_every_turn_ends_with_its_event_and_calls_do_not_end_one(engine: Engine) -> None:
    heard = heard_by(engine)
    session = engine.session("s")
    session.prepare("hi")
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    entry = session.commit({"role": "assistant", "content": None, "tool_calls": [call]})
    assert only(heard, "message_end").entry == entry
    assert "turn_finished" not in names(heard)
    session.prepare({"role": "tool", "tool_call_id": "c1", "content": "ok"})
    session.commit("Done.")
    assert names(heard).count("message_end") == 2
    assert only(heard, "turn_finished").projected > 0


class Slow:
    """A model for flushes that answers when it is let go."""

    name = "slow"

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.let_go = threading.Event()

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.set()
        self.let_go.wait(30)
        return ModelReply(message=Message.of("assistant", "NO_REPLY"), usage=Usage(input_tokens=9))


def due_session(engine: Engine, **about: Any) -> Session:
    """A conversation that reaches ``flush_at`` with its next answer."""
    session = engine.session("s", **about)
    fact = "My sister Anna moved to Lisbon in May 2025."
    session.append({"role": "user", "content": fact})
    session.append({"role": "assistant", "content": "Noted."})
    number = 0
    while True:
        found = session.explain_context()
        if found.projection.tokens >= found.budget.flush_at - 300:
            return session
        long_talk(session, 1, start=number)
        number += 1


def test_memories_are_saved_after_the_reply_and_closing_waits_for_them(home: Path) -> None:
    model = Slow()
    config: dict[str, Json] = {"context.window": WINDOW, "flush.model": "slow"}
    engine = open_engine(home, config=config, models=lambda name: model)
    heard = heard_by(engine)
    session = due_session(engine)
    session.prepare("One more?")
    session.commit("Yes. " * 300)
    assert model.asked.wait(20)
    assert session.phase == "FLUSHING"
    assert session.prepare("And now?").messages, "nobody waits for it"
    assert "memory_flush_end" not in names(heard)
    model.let_go.set()
    engine.close()
    assert names(heard).count("memory_flush_end") == 1
    assert only(heard, "memory_flush_end").outcome in ("flushed", "empty")
    with open_engine(home) as again:
        assert again.session("s").state()["memory_flushing"] is False


def test_a_flush_that_is_due_is_not_done_before_the_answer(engine: Engine) -> None:
    heard = heard_by(engine)
    session = due_session(engine)
    long_talk(session, 1, start=90)
    request = session.prepare("One more?")
    assert request.projected >= request.budget.flush_at
    assert "memory_flush_start" not in names(heard)
    session.commit("Yes.")
    assert engine._rooms.background.wait("flush:s", seconds=20)
    assert "memory_flush_end" in names(heard)


# ── the end ─────────────────────────────────────────────────────────────────────────────────


def test_a_new_conversation_knows_of_the_last(engine: Engine) -> None:
    session = engine.session("s", system="Be kind.", model="openai:gpt-5")
    session.prepare("My sister Anna moved to Lisbon in May 2025.")
    session.commit("Noted.")
    following = session.new()
    assert (session.state()["closed"], following.name) == (True, "s-2")
    text = system_of(following.prepare("Where does she live?"))
    assert text.startswith("Be kind.")
    assert "Lisbon" in text
    following.commit("In Lisbon.")
    assert following.new().name == "s-3"


def test_closing_saves_even_if_the_disk_refuses_the_memory(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = engine.session("s")
    session.prepare("My sister Anna moved to Lisbon in May 2025.")
    session.commit("Noted.")

    def refuse(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("holdfast.engine.flush.saving.write_lines", refuse)
    session.close()
    assert session.state()["closed"] is True
    assert len(session.view()) == 2


def test_a_registry_that_does_not_know_a_model_costs_no_conversation(home: Path) -> None:
    known = {"cheap": ScriptedModel([])}
    with open_engine(home, models=known.__getitem__, config={"flush.model": "cheap"}) as engine:
        session = engine.session("s", model="openai:gpt-5")
        assert session.prepare("hi").openai()["model"] == "gpt-5"
        session.commit("Hello")


def test_the_state_of_a_conversation_can_be_written_like_a_variable(home: Path) -> None:
    with open_engine(home) as engine:
        session = engine.session("s")
        session.goal = "Win"
        session.vars["city"] = "Oslo"
        session.vars["count"] = 3
        del session.vars["count"]
        with pytest.raises(KeyError):
            del session.vars["count"]
    with open_engine(home) as engine:
        session = engine.session("s")
        assert (session.goal, dict(session.vars)) == ("Win", {"city": "Oslo"})


# ── found by review ─────────────────────────────────────────────────────────────────────────


def test_what_was_recalled_by_words_alone_is_attached_all_the_same(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = holdfast.engine.restore.Recalled(
        text="⟦recalled:12345678⟧ Anna lives in Lisbon ⟦/recalled:12345678⟧",
        passages=("memory/2026-01-01.md#L1",),
        tokens=12,
        took_ms=1.0,
        best=1.0,
        reason="by words alone: the encoder is not loaded yet",
    )
    monkeypatch.setattr(holdfast.engine.restore, "recall", lambda *_, **__: found)
    session = engine.session("s")
    session.prepare("Where does Anna live?")
    assert [entry.type for entry in session.entries()][-1] == "recall"


def test_a_session_that_is_switched_off_is_no_longer_told_what_it_began_with(home: Path) -> None:
    with open_engine(home) as engine:
        engine.remember("Anna's dog is called Bruno.")
        assert "Bruno" in str(engine.session("s").prepare("Hello there, friend").messages)
        engine.session("s", memory="off")
    with open_engine(home) as engine:
        assert "Bruno" not in str(engine.session("s").prepare("And now?").messages[0])


def test_the_next_conversation_has_the_memory_mode_of_this_one(engine: Engine) -> None:
    assert engine.session("s", memory="off").new().memory_mode == "off"
    assert engine.session("t").new().memory_mode == "read-write"


def test_a_memory_mode_that_another_program_sets_counts_at_once(home: Path) -> None:
    with open_engine(home) as one, open_engine(home) as other:
        session = one.session("s")
        modes = [session.memory_mode]
        other.session("s", memory="off")
        modes.append(session.memory_mode)
        assert modes == ["read-write", "off"]


def test_a_window_seen_of_one_model_says_nothing_of_another(home: Path) -> None:
    error = "This model's maximum context length is 8192 tokens, however you requested 9000"
    with open_engine(home) as engine:
        session = engine.session("s", model="openai:gpt-4")
        session.prepare("hello")
        assert session.recover(RuntimeError(error.replace("8192", "6000"))) is not None
        assert session.prepare("again").budget.window == 6000
        assert session.prepare("and", model="openai:gpt-4.1").budget.window > 1_000_000


def test_a_refused_request_of_which_nothing_may_leave_is_not_sent_again(home: Path) -> None:
    error = RuntimeError("This model's maximum context length is 8192 tokens")
    with open_engine(home) as engine:
        session = engine.session("s", model="openai:gpt-4", max_output=100)
        session.prepare("hello")
        with pytest.raises(IrreducibleContext, match="nothing of them may leave"):
            session.recover(error)


def test_what_somebody_says_while_a_session_is_emptied_is_saved_too(engine: Engine) -> None:
    session = engine.session("s")
    session.append({"role": "user", "content": "My sister Anna moved to Coimbra in May."})
    late: list[str] = []

    def speak(event: Event) -> None:
        if event.name == "memory_flush_end" and not late:
            late.append(session.append({"role": "user", "content": "My dog is called Rex."}))

    engine.subscribe(speak)
    session.append_entry("marker", {"kind": "reset"})
    entries = session.entries()
    assert late[0] in covered_by(flush_records(entries), entries)
    assert len(session.view()) == 0


def test_a_compaction_from_outside_drops_nothing_unsaved(engine: Engine) -> None:
    session = engine.session("s")
    said = session.append({"role": "user", "content": "My sister Anna moved to Coimbra in May."})
    session.append_entry("compaction", {"summary": [], "first_kept": None, "watermark": 9})
    entries = session.entries()
    assert said in covered_by(flush_records(entries), entries)


def test_a_tool_called_for_an_incognito_session_writes_nothing(home: Path) -> None:
    with open_engine(home) as engine:
        engine.session("chat").append({"role": "user", "content": "hi"})
        hidden = engine.session("chat", incognito=True)
        with pytest.raises(HoldfastError):
            engine.call_tool("memory_write", {"text": "A secret plan."}, session=hidden)
    assert not any("secret plan" in path.read_text("utf-8") for path in home.rglob("*.md"))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai:gpt-5", "max_completion_tokens"),
        ("gpt-5", "max_completion_tokens"),
        ("azure:gpt-5", "max_completion_tokens"),
        ("qwen2.5:7b", "max_tokens"),
        ("ollama:llama3", "max_tokens"),
    ],
)
def test_the_longest_answer_has_the_name_the_server_knows(
    engine: Engine, model: str, name: str
) -> None:
    session = engine.session("s", model=model, window=32_000)
    assert session.prepare("hi", max_output=500).openai()[name] == 500


def test_what_is_kept_of_a_session_goes_with_it(engine: Engine) -> None:
    for number in range(5):
        session = engine.session(f"s{number}", window=4_000)
        session.prepare("word " * 3_000)
        session.commit("fine")
        session.close()
    rooms = engine._rooms
    kept = (rooms.pressure, rooms.warned, rooms._phases, rooms.talks, rooms.due, rooms.wishes)
    assert [len(each) for each in kept] == [0] * 6
