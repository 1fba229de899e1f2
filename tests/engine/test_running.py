"""The tool loop: told as it happens, every answer and result on disk, whatever the model does."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.engine.turn.running import Step
from holdfast.errors import HoldfastError, ModelUnavailable
from holdfast.events import Event
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.testing import ScriptedModel
from holdfast.types import Json, Message, Text, ToolCall, Usage


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with open_engine(home) as opened:
        yield opened


def call(name: str, arguments: Mapping[str, Json] | str, *, id: str = "c1") -> Message:
    return Message(role="assistant", parts=(ToolCall(id=id, name=name, arguments=arguments),))


class Streaming:
    """Says each answer in the pieces it was given; an exception among them is raised there."""

    name = "streaming"
    traits = Traits(window=60_000)

    def __init__(self, *answers: Iterable[str | Exception]) -> None:
        self._answers = [list(pieces) for pieces in answers]
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise AssertionError("it can be heard while it speaks")

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        self.requests.append(request)
        said = ""
        for piece in self._answers.pop(0):
            await asyncio.sleep(0)
            if isinstance(piece, Exception):
                raise piece
            said += piece
            yield piece
        usage = Usage(input_tokens=900, output_tokens=3)
        yield ModelReply(message=Message.of("assistant", said), usage=usage)


def texts(steps: Iterable[Step]) -> list[str]:
    return [step.text for step in steps if step.kind == "text"]


def kinds(steps: Iterable[Step]) -> list[str]:
    return [step.kind for step in steps]


# ── speaking ────────────────────────────────────────────────────────────────────────────────


def test_pieces_are_told_as_they_come_and_the_answer_is_on_disk(engine: Engine) -> None:
    heard: list[Event] = []
    engine.subscribe(heard.append)
    session = engine.session("s", model=Streaming(["Hel", "lo, ", "你", "好"]))
    steps = list(session.run("hi"))
    assert "".join(texts(steps)) == "Hello, 你好"
    assert len(texts(steps)) > 1
    end = steps[-1]
    assert end.kind == "end"
    assert end.message is not None
    assert end.message.text == "Hello, 你好"
    assert [each.text for each in session.view()] == ["hi", "Hello, 你好"]
    names = [event.name for event in heard]
    assert names.count("message_start") == names.count("message_end") == 1
    pieces = [event.to_json()["text"] for event in heard if event.name == "message_update"]
    assert "".join(pieces) == "Hello, 你好"
    assert names[-1] == "turn_finished"
    kept = (engine.home / "events.jsonl").read_text()
    assert "message_end" in kept
    assert "message_update" not in kept, "what was said is in no event that is kept"


def test_the_window_is_the_model_s_and_its_count_is_kept(engine: Engine) -> None:
    session = engine.session("s", model=Streaming(["Hello"]))
    list(session.run("hi"))
    found = session.explain_context()
    assert found.budget.window == 60_000
    assert found.projection.source != "estimated"


@pytest.mark.parametrize(
    "pieces",
    [["NO_REPLY"], ["NO", "_RE", "PLY"], ["[SILENT]"], ["_SI", "LENT_"], [" NO_REPLY\n"]],
    ids=repr,
)
def test_a_silent_answer_shows_nothing(engine: Engine, pieces: list[str]) -> None:
    steps = list(engine.session("s", model=Streaming(pieces)).run("hi"))
    assert kinds(steps) == ["end"]
    assert "".join(step.text for step in steps) == ""
    whole = ScriptedModel(["".join(pieces)])
    assert kinds(engine.session("t", model=whole).run("hi")) == ["end"]


def test_the_system_text_and_memory_reach_the_model(engine: Engine) -> None:
    engine.remember("Anna lives in Lisbon.", target="memory")
    model = ScriptedModel(["In Lisbon."])
    list(engine.session("s", model=model, system="Be kind.").run("Where is Anna?"))
    (request,) = model.requests
    assert request.system is not None
    assert request.system.startswith("Be kind.")
    assert "Lisbon" in request.system
    assert [message.role for message in request.messages] == ["user"]
    assert request.max_tokens is not None


def test_without_a_model_of_its_own_a_session_says_what_to_do(engine: Engine) -> None:
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        list(engine.session("s", model="openai:gpt-5").run("hi"))
    with pytest.raises(ModelUnavailable, match="no model") as refused:
        list(engine.session("t").run("hi"))
    assert "holdfast model get" in (refused.value.hint or "")


def test_a_model_that_stops_without_an_answer_is_an_error_and_the_question_stays(
    engine: Engine,
) -> None:
    class Mute(Streaming):
        async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
            yield "Hel"

    session = engine.session("s", model=Mute())
    with pytest.raises(HoldfastError, match="without an answer"):
        list(session.run("hi"))
    assert [each.text for each in session.view()] == ["hi"]


# ── tools ───────────────────────────────────────────────────────────────────────────────────

LIST: Json = {
    "type": "function",
    "function": {"name": "read_list", "parameters": {"type": "object", "properties": {}}},
}


def test_functions_are_called_and_their_results_answered(engine: Engine) -> None:
    called: list[object] = []

    def read_list(day: str) -> dict[str, object]:
        called.append(day)
        return {"items": ["milk", "面包"]}

    model = ScriptedModel([call("read_list", {"day": "today"}), "Milk and bread."])
    session = engine.session("s", model=model, tools=[LIST])
    steps = list(session.run("What is on my list?", functions={"read_list": read_list}))
    assert kinds(steps) == ["tool_call", "tool_result", "text", "end"]
    assert called == ["today"]
    assert steps[1].result == '{"items": ["milk", "面包"]}'
    assert model.requests[1].messages[-1].tool_results[0].call_id == "c1"
    names = [tool["function"]["name"] for tool in model.requests[0].tools]
    assert names[0] == "read_list"
    assert "memory_search" in names, "the memory tools need not be given"
    assert model.requests[0].tools == model.requests[1].tools


async def later(day: str) -> str:
    await asyncio.sleep(0)
    return f"later {day}"


class Awaitable:
    async def __call__(self, day: str) -> str:
        return f"object {day}"


@pytest.mark.parametrize(
    ("function", "said"),
    [(later, "later x"), (Awaitable(), "object x"), (lambda day: later(day), "later x")],
)
def test_functions_may_be_async_however_they_are_written(
    engine: Engine, function: Any, said: str
) -> None:
    model = ScriptedModel([call("f", {"day": "x"}), "ok"])
    session = engine.session("s", model=model)
    steps = list(session.run("go", functions={"f": function}))
    assert steps[1].result == said


def fail(**_: object) -> None:
    raise ValueError("no such list")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("nothing", {}, "There is no tool 'nothing'"),
        ("fail", {}, "ValueError: no such list"),
        ("strict", {"wrong": 1}, "TypeError"),
        ("strict", "{not json", "no JSON object; nothing was done"),
        ("strict", "[1, 2]", "no JSON object; nothing was done"),
        ("strict", '{"a":' * 5_000, "no JSON object; nothing was done"),
        ("memory_search", "{not json", "are no JSON"),
        ("memory_search", {"query": 3}, "must be of type string"),
    ],
)
def test_a_tool_that_fails_is_answered_with_its_error(
    engine: Engine, name: str, arguments: Any, words: str
) -> None:
    called: list[object] = []
    model = ScriptedModel([call(name, arguments), "I see."])
    session = engine.session("s", model=model)
    functions = {"fail": fail, "strict": lambda: called.append(1)}
    steps = list(session.run("go", functions=functions))
    result = steps[1]
    assert (result.kind, result.is_error) == ("tool_result", True)
    assert words in (result.result or "")
    assert words in model.requests[1].messages[-1].tool_results[0].text
    assert session.view()[2].tool_results[0].is_error is True
    assert not called
    assert steps[-1].kind == "end"


def test_memory_tools_are_answered_by_the_engine(engine: Engine) -> None:
    engine.remember("Anna keeps her bicycle in the cellar.", entity="Anna")
    found = call("memory_search", json.dumps({"query": "Anna bicycle"}))
    kept = call("memory_retain", {"memories": [{"kind": "W", "text": "Anna is 30."}]}, id="c2")
    model = ScriptedModel([found, kept, "In the cellar."])
    session = engine.session("s", model=model)
    steps = list(session.run("Where is it? And: Anna is 30."))
    results = [step for step in steps if step.kind == "tool_result"]
    assert "cellar" in (results[0].result or "")
    assert not any(step.is_error for step in results), results
    assert "Anna is 30." in engine.get(f"memory/{engine.today()}.md").text


def test_a_session_without_memory_is_offered_no_memory_tools(engine: Engine) -> None:
    model = ScriptedModel([call("memory_search", {"query": "x"}), "ok"])
    session = engine.session("s", model=model, memory="off")
    steps = list(session.run("go"))
    assert model.requests[0].tools == ()
    assert steps[1].is_error, "and may not call them either"


def test_a_tool_of_the_host_s_goes_before_ours_of_that_name(engine: Engine) -> None:
    own: Json = {"type": "function", "function": {"name": "memory_search", "description": "mine"}}
    model = ScriptedModel([call("memory_search", {"query": "x"}), "ok"])
    session = engine.session("s", model=model, tools=[own])
    steps = list(session.run("go", functions={"memory_search": lambda query: "mine " + query}))
    assert steps[1].result == "mine x"
    described = [t["function"] for t in model.requests[0].tools]
    assert [t.get("description") for t in described if t["name"] == "memory_search"] == ["mine"]


def test_a_model_that_never_ends_is_stopped_and_what_was_done_is_on_disk(engine: Engine) -> None:
    done: list[int] = []
    model = ScriptedModel([call("f", {}, id=f"c{n}") for n in range(60)])
    session = engine.session("s", model=model)
    with pytest.raises(HoldfastError, match="50 times"):
        list(session.run("go", functions={"f": lambda: done.append(1)}))
    assert len(model.requests) == len(done) == 50
    results = [message for message in session.view() if message.tool_results]
    assert len(results) == 50
    assert session.prepare("Enough.").request.violations == ()


# ── the window, and interruptions ───────────────────────────────────────────────────────────


def test_an_overflow_in_the_midst_is_compacted_and_asked_again(engine: Engine) -> None:
    too_long = RuntimeError("prompt is too long: 20000 tokens > 16000 maximum")
    model = ScriptedModel([call("f", {}), too_long, "Done."])
    session = engine.session(
        "s", model=model, window=60_000, system="Be kind.", flusher=None, summariser=None
    )
    for number in range(40):
        session.append({"role": "user", "content": f"What comes after stop {number}?"})
        told = f"Stop {number} of the way is village {number}. " * 20
        session.append({"role": "assistant", "content": told})
    steps = list(session.run("go", functions={"f": lambda: "ok"}))
    assert steps[-1].message is not None
    assert steps[-1].message.text == "Done."
    refused, again = model.requests[1:]
    assert len(again.messages) < len(refused.messages)
    assert again.tools == refused.tools, "what was offered still is"
    assert (again.system or "").startswith("Be kind.")
    assert session.state()["observed_window"] == 16_000
    assert session.state()["compaction_count"] == 1


def test_an_overflow_after_words_were_shown_is_not_asked_again(engine: Engine) -> None:
    too_long = RuntimeError("context_length_exceeded")
    model = Streaming(["Hel", "lo and more words", too_long])
    session = engine.session("s", model=model)
    shown: list[Step] = []
    with pytest.raises(RuntimeError, match="context_length"):
        shown.extend(session.run("hi"))
    assert len(model.requests) == 1
    assert [each.text for each in session.view()] == ["hi"]


def test_another_error_of_the_model_reaches_the_host(engine: Engine) -> None:
    session = engine.session("s", model=ScriptedModel([ConnectionError("down"), "Hello"]))
    with pytest.raises(ConnectionError, match="down"):
        list(session.run("hi"))
    assert [step.text for step in session.run()] == ["Hello", ""], "nothing new: asked again"
    assert [each.text for each in session.view()] == ["hi", "Hello"]


def test_whoever_leaves_early_leaves_a_conversation_that_goes_on(engine: Engine) -> None:
    gate = threading.Event()
    model = ScriptedModel([call("slow", {}), "never heard", "Hello again."])
    session = engine.session("s", model=model)

    def slow() -> str:
        gate.wait(20)
        return "done"

    for step in session.run("go", functions={"slow": slow}):
        assert step.kind == "tool_call"
        break
    gate.set()
    request = session.prepare("And now?")
    assert request.request.violations == ()
    assert request.messages[-1]["content"] == "And now?"
    assert len(model.requests) == 1, "nobody asks the model for whoever has left"


def test_a_result_that_was_told_is_on_disk(engine: Engine) -> None:
    two = Message(
        role="assistant",
        parts=(
            Text(text="Both."),
            ToolCall(id="c1", name="f", arguments={"n": 1}),
            ToolCall(id="c2", name="f", arguments={"n": 2}),
        ),
    )
    session = engine.session("s", model=ScriptedModel([two, "ok"]))
    seen: list[int] = []
    gate = threading.Event()

    def f(n: int) -> str:
        if n == 2:
            gate.wait(20)
        return f"result {n}"

    for step in session.run("go", functions={"f": f}):
        if step.kind == "tool_result":
            seen += [len([m for m in session.view() if m.tool_results])]
            break
    gate.set()
    assert seen == [1]
    assert session.prepare("Go on.").request.violations == ()


def test_async_hosts_have_the_same_loop(home: Path) -> None:
    async def converse() -> list[Step]:
        async with holdfast.aopen(home) as engine:
            model = ScriptedModel([call("f", {"day": "x"}), "Hello"])
            session = await engine.session("s", model=model)
            return [step async for step in session.run("go", functions={"f": later})]

    steps = asyncio.run(converse())
    assert kinds(steps) == ["tool_call", "tool_result", "text", "end"]
    assert steps[1].result == "later x"


def test_the_loop_runs_inside_a_running_loop(engine: Engine) -> None:
    async def host(session: Session) -> list[str]:
        return texts(session.run("hi"))

    session = engine.session("s", model=ScriptedModel(["Hello"]))
    assert asyncio.run(host(session)) == ["Hello"]


def test_a_reader_who_leaves_when_a_call_is_announced_prevents_it(engine: Engine) -> None:
    done: list[str] = []
    session = engine.session("s", model=ScriptedModel([call("pay", {})]))
    for step in session.run("Pay the bill", functions={"pay": lambda: done.append("paid")}):
        if step.kind == "tool_call":
            break
    assert done == []


def test_a_tool_that_runs_when_the_turn_is_cancelled_is_written_down(home: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def pay() -> str:
        begun.set()
        may_end.wait(10)
        return "paid 40 euros"

    async def converse() -> None:
        async with holdfast.aopen(home) as engine:
            session = await engine.session("s", model=ScriptedModel([call("pay", {})]))

            async def read() -> None:
                async for _ in session.run("Pay the bill", functions={"pay": pay}):
                    pass

            task = asyncio.create_task(read())
            await asyncio.to_thread(begun.wait, 10)
            task.cancel()
            await asyncio.sleep(0.05)
            may_end.set()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(converse())
    with open_engine(home) as engine:
        said = [message.text for message in engine.session("s").view()]
    assert "paid 40 euros" in said


def test_a_session_with_claude_is_offered_tools_as_anthropic_wants_them(engine: Engine) -> None:
    model = ScriptedModel(["hello"])
    model.name = "anthropic:claude-sonnet-5"
    list(engine.session("s", model=model).run("hi"))
    (request,) = model.requests
    assert all("input_schema" in tool for tool in request.tools)
