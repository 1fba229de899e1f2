"""A model that hangs, fails or is not there costs a bounded time and is heard of."""

from __future__ import annotations

import asyncio
import logging
import os
import socketserver
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.driving import drive
from holdfast.engine.facade import open_engine
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.testing import ScriptedModel
from holdfast.types import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult, Usage

Answer = ModelReply | ModelFailure


def ask(times: int) -> Generator[ModelRequest, Answer, list[Answer]]:
    answers = []
    for number in range(times):
        answers.append((yield ModelRequest(messages=[Message.of("user", str(number))])))
    return answers


class Hanging:
    """Waits for ever; ``politely`` if it lets itself be cancelled."""

    name = "hanging"

    def __init__(self, *, politely: bool) -> None:
        self._politely = politely

    async def complete(self, request: ModelRequest) -> ModelReply:
        if self._politely:
            await asyncio.sleep(60)
        time.sleep(5)  # noqa: ASYNC251 - that is the fault it stands for
        raise AssertionError("nobody waits that long")


def test_answers_reach_the_work_in_order() -> None:
    first, second = drive(ask(2), ScriptedModel(["one", "two"]), seconds=10)
    assert isinstance(first, ModelReply)
    assert isinstance(second, ModelReply)
    assert (first.message.text, second.message.text) == ("one", "two")


def test_work_that_asks_nothing_needs_no_model() -> None:
    assert drive(ask(0), None, seconds=0) == []


def test_no_model_an_error_and_no_time_are_failures_with_a_reason() -> None:
    (missing,) = drive(ask(1), None, seconds=10)
    (raised,) = drive(ask(1), ScriptedModel([ValueError("bad key")]), seconds=10)
    (late,) = drive(ask(1), ScriptedModel(["one"]), seconds=0)
    assert missing == ModelFailure(reason="no model is configured")
    assert isinstance(raised, ModelFailure)
    assert raised.reason == "scripted: ValueError"
    assert str(raised.error) == "bad key", "for whoever has to tell one error from another"
    assert isinstance(late, ModelFailure)


def test_a_model_that_hangs_is_cancelled_or_left_behind() -> None:
    for politely in (True, False):
        begun = time.monotonic()
        (answer,) = drive(ask(1), Hanging(politely=politely), seconds=0.05)
        assert isinstance(answer, ModelFailure)
        assert time.monotonic() - begun < 4


def test_it_works_inside_a_running_loop() -> None:
    async def host() -> list[Answer]:
        return drive(ask(1), ScriptedModel(["one"]), seconds=10)

    (answer,) = asyncio.run(host())
    assert isinstance(answer, ModelReply)


# ── one loop for all ────────────────────────────────────────────────────────────────────────


class Behaving:
    """Does in its event loop what the test says."""

    name = "behaving"

    def __init__(self, behave: Callable[[], Any] = lambda: None) -> None:
        self._behave = behave
        self.loops: list[asyncio.AbstractEventLoop] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.loops.append(asyncio.get_running_loop())
        found = self._behave()
        if asyncio.iscoroutine(found):
            found = await found
        return ModelReply(message=Message.of("assistant", found or "ok"))


class _Echo(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(line)


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that says what it hears."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Echo) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def replies(model: Any, times: int = 1, *, seconds: float = 10) -> list[str]:
    answers = drive(ask(times), model, seconds=seconds)
    return [each.message.text for each in answers if isinstance(each, ModelReply)]


def test_a_connection_that_a_model_keeps_is_good_for_its_next_calls(echo: int) -> None:
    open_streams: list[Any] = []

    async def says() -> str:
        if not open_streams:
            open_streams.extend(await asyncio.open_connection("127.0.0.1", echo))
        reader, writer = open_streams
        writer.write(b"still here\n")
        await writer.drain()
        return str((await reader.readline()).decode().strip())

    model = Behaving(says)
    assert replies(model, 2) == ["still here"] * 2
    assert replies(model) == ["still here"], "in another drive"
    thread = threading.Thread(target=lambda: open_streams.append(replies(model)))
    thread.start()
    thread.join()
    assert open_streams.pop() == ["still here"], "from another thread"
    assert len(set(model.loops)) == 1
    model.loops[0].call_soon_threadsafe(open_streams[1].close)


def test_a_turn_that_is_run_and_a_flush_use_the_same_loop(home: Path) -> None:
    model = Behaving()
    with open_engine(home) as engine:
        session = engine.session("s", model=model, flusher=model)
        list(session.run("We decided to use PostgreSQL 16 for billing."))
        session.flush()
    assert len(model.loops) >= 2
    assert len(set(model.loops)) == 1


def test_a_model_that_blocks_keeps_no_other_waiting_and_its_loop_is_used_again() -> None:
    free, blocked = threading.Event(), threading.Event()
    first = Behaving()
    assert replies(first) == ["ok"]

    def block() -> None:
        blocked.set()
        free.wait(30)

    blocking = Behaving(block)
    thread = threading.Thread(target=replies, args=(blocking,), kwargs={"seconds": 30})
    thread.start()
    assert blocked.wait(10)
    other = Behaving()
    assert replies(other, 2) == ["ok", "ok"]
    assert blocking.loops == first.loops
    assert other.loops[0] is other.loops[1] is not first.loops[0]
    free.set()
    thread.join()
    assert replies(other, 2) == ["ok", "ok"]
    assert other.loops[-1] is first.loops[0]


def test_a_model_may_use_another_while_it_is_asked() -> None:
    inner = Behaving()
    outer = Behaving(lambda: replies(inner)[0])
    assert replies(outer) == ["ok"]
    assert inner.loops[0] is not outer.loops[0], "that one waits"


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_nothing_that_a_model_raises_ends_the_loop(error: type[BaseException]) -> None:
    def leave() -> None:
        raise error

    async def in_a_task() -> None:
        async def task() -> None:
            raise error

        await asyncio.sleep(0)
        await asyncio.wait([asyncio.create_task(task())])

    before = Behaving()
    assert replies(before) == ["ok"]
    (answer,) = drive(ask(1), Behaving(leave), seconds=10)
    assert isinstance(answer, ModelFailure)
    replies(Behaving(in_a_task), seconds=2)
    assert replies(before) == ["ok"]
    assert before.loops[0] is before.loops[1]


def test_a_child_that_was_forked_has_a_loop_of_its_own() -> None:
    assert replies(Behaving()) == ["ok"]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if replies(Behaving(), 2) == ["ok", "ok"] else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert replies(Behaving()) == ["ok"]


# ── what comes back ─────────────────────────────────────────────────────────────────────────


def says_part(part: Any) -> ModelReply:
    return ModelReply(message=Message(role="assistant", parts=(part,)))


def with_usage(usage: Any) -> ModelReply:
    return ModelReply(message=Message.of("assistant", "ok"), usage=usage)


ODD: Any = [
    (None, "a NoneType that is no reply"),
    ("ok", "a str that is no reply"),
    (ModelReply(message=None), "message is a NoneType"),  # type: ignore[arg-type]
    (ModelReply(message=Message(role=None)), "role is a NoneType"),  # type: ignore[arg-type]
    (ModelReply(message=Message(role="a", parts=None)), "parts is a"),  # type: ignore[arg-type]
    (with_usage({"input_tokens": 5}), "usage is a dict"),
    (with_usage(Usage(input_tokens="5")), "usage.input_tokens is no count"),  # type: ignore[arg-type]
    (with_usage(Usage(output_tokens=-5)), "usage.output_tokens is no count"),
    (says_part("secret words"), "a part is a str"),
    (says_part(Text(text=None)), "text is a NoneType"),  # type: ignore[arg-type]
    (says_part(Thinking(text=b"secret words")), "text is a bytes"),  # type: ignore[arg-type]
    (says_part(Image(data=5)), "image.data is a int"),  # type: ignore[arg-type]
    (says_part(ToolCall(id="c", name=None, arguments={})), "tool_call.name is"),  # type: ignore[arg-type]
    (says_part(ToolCall(id=7, name="n", arguments={})), "tool_call.id is"),  # type: ignore[arg-type]
    (says_part(ToolCall(id="c", name="n", arguments=["secret words"])), "arguments is a list"),  # type: ignore[arg-type]
    (says_part(ToolResult(call_id="c", content=None)), "parts is a NoneType"),  # type: ignore[arg-type]
    (says_part(ToolResult(call_id="c", content=(Text(text=1),))), "text is a int"),  # type: ignore[arg-type]
    (says_part(Opaque(format="x", data=None)), "opaque.data is"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("odd", "told"), ODD, ids=[told for _, told in ODD])
def test_a_reply_that_is_malformed_is_a_failure_that_quotes_nothing(odd: Any, told: str) -> None:
    class Odd:
        name = "odd"

        async def complete(self, request: ModelRequest) -> ModelReply:
            return odd  # type: ignore[no-any-return]

    (answer,) = drive(ask(1), Odd(), seconds=10)
    assert isinstance(answer, ModelFailure)
    assert told in answer.reason
    assert answer.reason.startswith("odd returned a ")
    assert "secret" not in answer.reason


class Refused(Exception):
    def __init__(self, **about: Any) -> None:
        super().__init__("the user said: my code is 4711")
        for name, value in about.items():
            setattr(self, name, value)


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({}, "Refused"),
        ({"status_code": 429}, "Refused (429)"),
        ({"status": 400, "code": "context_length_exceeded"}, "Refused (400, context_length_ex"),
        ({"status_code": None, "code": "the user said: 4711"}, "Refused"),
        ({"status_code": object(), "code": b"4711"}, "Refused"),
    ],
)
def test_of_an_error_its_kind_is_told_and_not_its_text(
    about: dict[str, Any], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (answer,) = drive(ask(1), ScriptedModel([Refused(**about)]), seconds=10)
    assert isinstance(answer, ModelFailure)
    assert answer.reason.startswith(f"scripted: {told}")
    assert isinstance(answer.error, Refused)
    assert "4711" not in answer.reason + caplog.text
