"""Calls that fail, in every way a provider has: what is tried again, what it costs, what is
said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.validity import classify
from holdfast.models.hosted import CallFailed, hosted_model
from holdfast.ports import StreamingModel
from tests.models.hosting import KEY, NAMES, Sleeps, ask, environ, heard, model_at, run
from tests.models.wire_server import (
    Alive,
    Answer,
    Broken,
    Fail,
    Hang,
    Raw,
    Say,
    WireServer,
    overflow,
    overloaded,
    rate_limited,
    wire_server,
)
from tests.scale import scaled

ANTHROPIC, CHAT, RESPONSES = NAMES


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as running:
        yield running


def failure(model: StreamingModel) -> tuple[list[object], CallFailed]:
    """What was heard, and the error."""
    words: list[object] = []

    async def listen() -> None:
        async for piece in model.stream(ask()):
            words.append(piece)

    with pytest.raises(CallFailed) as failed:
        run(listen())
    assert failed.value.hint, "it says what to do next"
    assert KEY not in str(failed.value) + repr(failed.value.body)
    return words, failed.value


# ── tried again ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", NAMES)
def test_what_is_refused_for_the_moment_is_tried_again(server: WireServer, name: str) -> None:
    server.script([overloaded(529), Broken("dropped", after=0), Say("At last.")])
    sleep = Sleeps()
    assert run(model_at(server, name, sleep=sleep).complete(ask())).message.text == "At last."
    assert len(server.requests) == 3, "and not by the client as well"
    assert sleep.slept == [0.5, 1.0]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_these_pass(server: WireServer, status: int) -> None:
    server.script([overloaded(status), Say("Yes.")])
    run(model_at(server, CHAT).complete(ask()))
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_these_do_not(server: WireServer, status: int) -> None:
    server.script([overloaded(status)])
    words, error = failure(model_at(server, CHAT))
    assert len(server.requests) == 1
    assert error.status_code == status
    assert words == []


def test_it_is_tried_as_often_as_was_said_and_no_more(server: WireServer) -> None:
    server.otherwise = overloaded(503)
    for retries in (0, 1, 3):
        before, sleep = len(server.requests), Sleeps()
        failure(model_at(server, ANTHROPIC, retries=retries, sleep=sleep))
        assert len(server.requests) - before == 1 + retries
        assert sleep.slept == [0.5, 1.0, 2.0][:retries]


@pytest.mark.parametrize("name", NAMES)
def test_a_wait_that_is_asked_for_is_kept_up_to_a_bound(server: WireServer, name: str) -> None:
    server.script([rate_limited(after=7), Say("Yes."), rate_limited(after=3_600)])
    sleep = Sleeps()
    model = model_at(server, name, sleep=sleep)
    run(model.complete(ask()))
    assert sleep.slept == [pytest.approx(7.125)]
    _, error = failure(model)
    assert len(sleep.slept) == 1, "an hour is not waited for"
    assert "3600 s" in str(error)
    assert classify(str(error), status=error.status_code, code=error.code) == "rate_limit"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["dropped", "truncated", "garbage", "error"])
def test_nothing_is_tried_again_after_the_first_word(
    server: WireServer, name: str, how: str
) -> None:
    after = {ANTHROPIC: 5, CHAT: 4, RESPONSES: 8}[name]
    server.script([Broken(how, after=after)])  # type: ignore[arg-type]
    words, _ = failure(model_at(server, name))
    assert words, "something was heard"
    assert len(server.requests) == 1


def test_an_answer_that_nobody_heard_is_asked_for_again(server: WireServer) -> None:
    server.script([Broken("dropped", after=5), Say("Whole.")])
    assert run(model_at(server, CHAT).complete(ask())).message.text == "Whole."


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_ends_before_its_first_word_is_asked_for_again(
    server: WireServer, name: str
) -> None:
    """As one whose connection is lost there: nobody can tell the two apart by what they cost."""
    server.script([Broken("truncated", after=1), Say("Whole.")])
    *words, _ = run(heard(model_at(server, name), ask()))
    assert "".join(map(str, words)) == "Whole."
    assert len(server.requests) == 2


def test_an_answer_that_ends_in_the_midst_is_not_taken_for_one(server: WireServer) -> None:
    for name in NAMES:
        server.script([Broken("truncated", after=6 if name == RESPONSES else 4)])
        _, error = failure(model_at(server, name))
        assert "broke off" in str(error)


# ── silence ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "after"), [(ANTHROPIC, None), (CHAT, None), (ANTHROPIC, 8), (RESPONSES, 8)]
)
def test_a_hang_costs_the_silence_that_is_allowed_and_is_not_tried_again(
    server: WireServer, name: str, after: int | None
) -> None:
    say = Say("One two three four five six seven eight nine.", pieces=9)
    server.script([Hang(after=after, say=say)])
    seconds = 0.3 if after is None else 1.2
    words, error = failure(model_at(server, name, seconds=seconds))
    assert bool(words) == (after is not None)
    assert f"silent for {seconds} s" in str(error)
    assert len(server.requests) == 1
    assert server.wait_for(lambda here: here.left == 1), "the connection is given up"


def test_a_slow_answer_is_not_silence(server: WireServer) -> None:
    """It takes longer in all than the silence that is allowed, and no piece of it does."""
    server.script([Say("a" * 20, pieces=20, every=0.05)])
    reply = run(model_at(server, CHAT, seconds=0.95).complete(ask()))
    assert reply.message.text == "a" * 20


def test_signs_of_life_without_words_are_silence(server: WireServer) -> None:
    """A service may keep a connection open for ever without an answer in it."""
    server.script([Alive()])
    words, error = failure(model_at(server, ANTHROPIC, seconds=0.4))
    assert words == []
    assert "silent for 0.4 s" in str(error)
    assert server.wait_for(lambda here: here.left == 1)


def _piece(**function: str) -> bytes:
    call: dict[str, Any] = {"index": 0, "id": "call_1", "type": "function", "function": function}
    choice = {"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**chunk, "choices": [choice]}).encode() + b"\n\n"


def test_pieces_of_a_call_with_nothing_in_them_are_silence(server: WireServer) -> None:
    first, again = _piece(name="look", arguments=""), _piece(arguments="")
    server.script([Alive(first=first, again=again)])
    _, error = failure(model_at(server, CHAT, seconds=0.4))
    assert "silent for 0.4 s" in str(error)
    assert server.wait_for(lambda here: here.left == 1)


def test_a_password_in_the_address_is_shown_nowhere() -> None:
    with wire_server() as gone:
        port = gone.port
    for name, variable, path in (
        (CHAT, "OPENAI_BASE_URL", "/v1"),
        (ANTHROPIC, "ANTHROPIC_BASE_URL", ""),
    ):
        place = {variable: f"http://me:hunter2@127.0.0.1:{port}{path}", "OPENAI_API_KEY": KEY}
        model = hosted_model(name, environ={**place, "ANTHROPIC_API_KEY": KEY}, retries=0)
        _, error = failure(model)
        assert f"{name} at http://127.0.0.1:{port}{path} cannot be reached" in str(error)
        assert "hunter2" not in "".join(map(str, _causes(error)))


def test_nobody_there_is_said_with_the_address() -> None:
    with wire_server() as gone:
        place = environ(gone)
    sleep = Sleeps()
    model = hosted_model(CHAT, environ=place, timeout_seconds=5, retries=1, sleep=sleep)
    _, error = failure(model)
    assert place["OPENAI_BASE_URL"] in str(error)
    assert "Is the server running?" in str(error)
    assert len(sleep.slept) == 1


def test_a_wait_between_tries_can_be_left(server: WireServer) -> None:
    server.otherwise = rate_limited(after=20)
    model = hosted_model(CHAT, environ=environ(server), timeout_seconds=5)

    async def leave() -> None:
        task = asyncio.create_task(model.complete(ask()))
        assert await asyncio.to_thread(server.wait_for, lambda here: here.ended == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(leave())
    assert len(server.requests) == 1


# ── what is said ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", NAMES)
def test_an_overflow_is_known_as_one_and_never_tried_again(server: WireServer, name: str) -> None:
    server.script([overflow(limit=10_000)])
    _, error = failure(model_at(server, name))
    assert len(server.requests) == 1
    assert error.status_code == 400
    said = f"{error} {error.body}"
    assert classify(said, status=error.status_code, code=error.code) == "overflow"
    assert "10000" in said


def test_the_overflow_of_a_local_server_is_known_as_one(server: WireServer) -> None:
    body = {
        "code": 400,
        "message": "request (13107 tokens) exceeds the available context size (8192 tokens), try "
        "increasing it",
        "type": "exceed_context_size_error",
        "n_ctx": 8192,
    }
    server.script([Fail(400, {"error": body})])
    _, error = failure(model_at(server, CHAT))
    assert classify(f"{error} {error.body}", status=400, code=error.code) == "overflow"


SAID: list[tuple[Answer, str, str]] = [
    (Fail(401, {"error": {"message": f"bad key {KEY}", "type": "x"}}), "the key", "_API_KEY"),
    (Fail(404, {"error": {"message": "no such model"}}), "not known", "doctor"),
    (Fail(402, {"error": {"message": "no credit"}}), "nothing left", "Fill it up"),
    (Fail(500, b"<html>oops"), "cannot answer", "another model"),
    (Fail(413, {"error": {"message": "request_too_large"}}), "413", "holdfast"),
    (Raw(b"<html>hi</html>", type="text/html"), "no answer", "holdfast doctor"),
    (Raw(b"", type="text/event-stream"), "no answer", "Ask again"),
    (Say(""), "empty answer", "Ask again"),
    (Say("   \n"), "empty answer", "Ask again"),
]


@pytest.mark.parametrize(("answer", "what", "hint"), SAID)
def test_an_error_says_what_happened_and_what_to_do(
    server: WireServer, answer: Answer, what: str, hint: str
) -> None:
    server.otherwise = answer
    for name in (ANTHROPIC, CHAT):
        _, error = failure(model_at(server, name, retries=0))
        assert what in error.message
        assert hint in str(error.hint)
        assert name in error.message
        assert KEY not in "".join(map(str, _causes(error)))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def test_a_refusal_is_an_error_that_quotes_it(server: WireServer) -> None:
    server.script([Say("", refusal="I will not do that."), Say("I", stop="refusal")])
    _, error = failure(model_at(server, CHAT))
    assert "refused to answer: I will not do that." in str(error)
    words, error = failure(model_at(server, ANTHROPIC))
    assert words == ["I"]
    assert "refused to answer" in str(error)


def test_no_room_to_answer_is_an_overflow_and_no_words_left_is_not(server: WireServer) -> None:
    server.script([Say("", stop="length", output_tokens=0), Say("", stop="length")])
    model = model_at(server, CHAT)
    _, error = failure(model)
    assert classify(str(error), code=error.code) == "overflow"
    _, error = failure(model)
    assert "before its first word" in str(error)
    assert classify(str(error), code=error.code) == "other"


@pytest.fixture(scope="module")
def shared() -> Iterator[WireServer]:
    with wire_server() as running:
        yield running


@settings(max_examples=scaled(12))
@given(
    body=st.binary(max_size=200) | st.text(max_size=100).map(str.encode),
    status=st.sampled_from([200, 200, 201, 204, 301, 400, 418, 500]),
    type=st.sampled_from(["application/json", "text/event-stream", "text/plain"]),
    name=st.sampled_from(NAMES),
)
def test_whatever_is_answered_is_an_answer_or_an_error_of_ours(
    shared: WireServer, body: bytes, status: int, type: str, name: str
) -> None:
    shared.otherwise = Raw(body, status=status, type=type)
    model = model_at(shared, name, retries=0, seconds=5)
    with pytest.raises(CallFailed):
        run(model.complete(ask()))
