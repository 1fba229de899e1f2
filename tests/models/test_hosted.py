"""The adapter over pydantic-ai's own test models, and in a session that meets its limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Generator, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel as ScriptedByPydantic

import holdfast
from holdfast.engine.facade import Engine
from holdfast.errors import HoldfastError
from holdfast.models.hosted.failures import Called
from holdfast.models.hosted.requests import wire_messages
from holdfast.models.hosted.speaking import HostedModel
from holdfast.ports import ModelReply, traits_of
from holdfast.testing.corpus import conversation
from holdfast.types import Json, Message, Text, ToolCall
from tests.models.hosting import ask, heard, model_at, run
from tests.models.wire_server import Call, Hang, Say, WireServer, overflow, wire_server
from tests.scale import scaled

CALLED = Called(name="test:function", seconds=20.0)


def over(stream: Any) -> HostedModel:
    return HostedModel(CALLED, lambda: FunctionModel(stream_function=stream))


# ── pydantic-ai's own models ────────────────────────────────────────────────────────────────


def test_a_test_model_of_pydantic_ai_answers_through_the_adapter() -> None:
    model = HostedModel(CALLED, lambda: ScriptedByPydantic(custom_output_text="Hello, 世界."))
    *pieces, reply = run(heard(model, ask("Hi")))
    assert "".join(map(str, pieces)) == "Hello, 世界."
    assert isinstance(reply, ModelReply)
    assert reply.message.text == "Hello, 世界."
    assert reply.usage is not None


def test_a_function_model_sees_what_was_said_and_calls_tools() -> None:
    seen: list[tuple[list[ModelMessage], AgentInfo]] = []

    async def answer(
        messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        seen.append((messages, info))
        yield "I look"
        yield " it up."
        yield {1: DeltaToolCall(name="look", json_args='{"at": ', tool_call_id="call_9")}
        yield {1: DeltaToolCall(json_args='"这里"}')}

    tool = {"name": "look", "description": "d", "input_schema": {"type": "object"}}
    *pieces, reply = run(heard(over(answer), ask("Where?", system="Be brief.", tools=[tool])))
    assert pieces == ["I look", " it up."]
    assert isinstance(reply, ModelReply)
    assert reply.message.parts == (
        Text(text="I look it up."),
        ToolCall(id="call_9", name="look", arguments='{"at": "这里"}'),
    )
    ((messages, info),) = seen
    assert info.instructions == "Be brief."
    assert [each.name for each in info.function_tools] == ["look"]
    assert len(messages) == 1


@settings(max_examples=scaled(20))
@given(pieces=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=8))
def test_the_pieces_are_the_reply(pieces: list[str]) -> None:
    async def answer(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        for piece in pieces:
            yield piece

    async def listen() -> list[str | ModelReply]:
        return await heard(over(answer), ask("?"))

    if not "".join(pieces).strip():
        with pytest.raises(HoldfastError, match="empty answer"):
            run(listen())
        return
    *words, reply = run(listen())
    assert isinstance(reply, ModelReply)
    assert "".join(map(str, words)) == reply.message.text == "".join(pieces)


@settings(max_examples=scaled(20))
@given(seed=st.integers(0, 10_000), system=st.sampled_from(["anthropic", "openai", "google"]))
def test_every_text_call_and_result_of_a_conversation_is_sent_in_its_order(
    seed: int, system: str
) -> None:
    messages = conversation(seed, turns=12, language="zh" if seed % 2 else "en")
    sent = wire_messages(messages, system=system)
    found = [said for message in sent for part in message.parts for said in _sent(part)]
    assert found == [said for message in messages for said in _said(message)]
    kinds = [message.kind for message in sent]
    assert all(a != b for a, b in pairwise(kinds) if a == "request")


def _sent(part: Any) -> Iterator[str]:
    match part.part_kind:
        case "user-prompt" | "text":
            content = [part.content] if isinstance(part.content, str) else part.content
            yield from (each for each in content if isinstance(each, str))
        case "tool-call":
            yield f"{part.tool_call_id} {part.args}"
        case "tool-return":
            yield f"{part.tool_call_id} {part.content}"


def _said(message: Message) -> Iterator[str]:
    if message.role == "system":
        return
    yield from (f"{each.call_id} {each.text}" for each in message.tool_results)
    for part in message.parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolCall):
            yield f"{part.id} {part.arguments}"


def test_a_model_that_breaks_is_an_error_of_ours() -> None:
    async def answer(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        yield "Some"
        raise ZeroDivisionError("inside")

    with pytest.raises(HoldfastError, match="ZeroDivisionError: inside"):
        run(heard(over(answer), ask("?")))


class Ahead(asyncio.SelectorEventLoop):
    """A clock that can be put forward."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


def test_a_model_that_never_comes_to_its_end_is_said_to_have_spoken_too_long() -> None:
    loop, words = Ahead(), 0

    async def answer(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        nonlocal words
        while True:
            loop.ahead += 15  # of the 20 seconds that it may be silent
            await asyncio.sleep(0)
            words += 1
            yield "and "

    with (
        asyncio.Runner(loop_factory=lambda: loop) as runner,
        pytest.raises(HoldfastError) as left,
    ):
        runner.run(heard(over(answer), ask("?")))
    assert "was still speaking after 600 s" in str(left.value)
    assert "silent" not in left.value.message
    assert "timeout_seconds = 40" in str(left.value.hint)
    assert 30 <= words <= 40


# ── in a session ────────────────────────────────────────────────────────────────────────────

FACT = "My sister Anna lives in Lisbon. 我的妹妹安娜住在里斯本。"


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as running:
        yield running


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with holdfast.open(home) as opened:
        yield opened


def talked(engine: Engine, model: HostedModel, **about: Any) -> Any:
    """A session with some 13,000 tokens behind it."""
    talk = engine.session("trip", model=model, **about)
    said: list[Json] = [{"role": "user", "content": FACT}]
    for number in range(60):
        told = f"Stop {number} of the way is village {number}. " * 12
        said.append({"role": "assistant", "content": told})
        said.append({"role": "user", "content": f"And what comes after {number}?"})
    talk.append_all(said)
    return talk


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-5", "openai-chat:gpt-4o"])
def test_a_session_meets_an_overflow_recovers_and_fits(
    server: WireServer, engine: Engine, name: str
) -> None:
    def answer(request: Any) -> Any:
        """As the service does: refuses what is too large, whoever asks, and answers the rest."""
        if len(request.body) > 30_000:
            return overflow(limit=9_000)(request)
        if "Where does Anna live" not in request.body.decode():
            return Say("[SILENT]")
        if "call_1" in json.dumps(request.json["messages"]):
            return Say("She lives in Lisbon.")
        return Say("I look it up.", calls=(Call("memory_search", {"query": "Anna Lisbon"}),))

    server.otherwise = answer
    model = model_at(server, name)
    talk = talked(engine, model)  # type: ignore[arg-type]
    steps = list(talk.run("Where does Anna live?"))
    assert "".join(step.text for step in steps if step.kind == "text").endswith("in Lisbon.")
    assert [step.kind for step in steps if step.kind != "text"] == [
        "tool_call",
        "tool_result",
        "end",
    ]
    assert len(server.requests[0].body) > 30_000
    assert len(server.requests[-1].body) < 30_000
    assert talk.state()["observed_window"] == 9_000
    assert talk.state()["compaction_count"] == 1
    assert len(list(talk.view())) < 60


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-5", "openai-chat:gpt-4o"])
def test_a_model_that_hangs_in_a_flush_costs_its_silence_and_the_rest_is_done_by_rules(
    server: WireServer, home: Path, name: str
) -> None:
    server.otherwise = Hang()
    with holdfast.open(home) as engine:
        talk = talked(engine, model_at(server, name, seconds=0.15))  # type: ignore[arg-type]
        done = talk.flush()
        assert done is not None
        assert 1 <= len(server.requests) <= 8, "each hang was left in time, none tried again"
        assert server.wait_for(lambda here: here.left == len(here.requests))
        written = "".join(file.read_text() for file in home.rglob("*.md"))
    assert "Lisbon" in written, "what was said is saved all the same"


def test_cancelling_a_turn_leaves_the_connection(server: WireServer, engine: Engine) -> None:
    server.script([Hang(after=4)])
    talk = engine.session("s", model=model_at(server, "openai-chat:gpt-4o"))
    steps = talk.run("Hello?")
    assert isinstance(steps, Generator)
    assert next(steps).kind == "text"
    steps.close()
    assert server.wait_for(lambda here: here.left == 1)
    assert [each.role for each in talk.view()] == ["user"]


def test_two_calls_at_once_are_two_connections(server: WireServer) -> None:
    server.script([Say("a"), Say("b")])
    model = model_at(server, "openai-chat:gpt-4o")

    async def both() -> tuple[ModelReply, ModelReply]:
        return await asyncio.gather(model.complete(ask("1")), model.complete(ask("2")))

    assert {reply.message.text for reply in run(both())} == {"a", "b"}
    assert traits_of(model).window == 128_000
