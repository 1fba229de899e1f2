"""Hosted models through the real clients, against a server that speaks as the providers do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from holdfast.errors import UsageError
from holdfast.formats import parse_message, to_anthropic, to_openai
from holdfast.ports import ModelReply, ModelRequest
from holdfast.types import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult, Usage
from tests.models.hosting import KEY, NAMES, TOOL, ask, heard, model_at, run
from tests.models.wire_server import Call, Hang, Say, WireServer, wire_server

ANTHROPIC, CHAT, RESPONSES = NAMES


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as running:
        yield running


@pytest.mark.parametrize("name", NAMES)
def test_words_come_in_pieces_and_the_reply_last_with_its_tokens(
    server: WireServer, name: str
) -> None:
    said = "Bonjour, 世界! Three pieces."
    server.script([Say(said, input_tokens=412, cached=3_000, output_tokens=9)])
    *pieces, reply = run(heard(model_at(server, name), ask("Hi", system="Be kind.", max_tokens=77)))
    assert len(pieces) == 3
    assert "".join(map(str, pieces)) == said
    assert isinstance(reply, ModelReply)
    assert reply.message.text == said
    assert reply.usage == Usage(input_tokens=412, cache_read_tokens=3_000, output_tokens=9)
    assert reply.usage.context_tokens == 3_412
    assert reply.stop_reason in ("end_turn", "stop")
    sent = server.requests[0]
    assert "Be kind." in sent.body.decode()
    assert 77 in (sent.json.get("max_tokens"), sent.json.get("max_completion_tokens")) or (
        sent.json.get("max_output_tokens") == 77
    )
    assert KEY in (sent.headers.get("x-api-key"), sent.headers.get("authorization", "")[7:])


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_answer_is_the_same_as_its_stream(server: WireServer, name: str) -> None:
    say = Say("Some words.", calls=(Call("look", {"at": "这里"}),), cached=7)
    server.script([say, say])
    model = model_at(server, name)

    async def both() -> tuple[ModelReply, object]:
        return await model.complete(ask()), (await heard(model, ask()))[-1]

    whole, streamed = run(both())
    assert whole == streamed


def test_what_was_written_to_a_cache_is_counted_and_priced(server: WireServer) -> None:
    server.script([Say("Yes.", input_tokens=100, cached=10_000, written=2_000, output_tokens=50)])
    model = model_at(server, ANTHROPIC)
    reply = run(model.complete(ask()))
    assert reply.usage is not None
    assert reply.usage.context_tokens == 12_100
    assert reply.usage.cache_write_tokens == 2_000
    traits = model.traits  # type: ignore[attr-defined]
    assert traits.caches_prefix
    # $2 in, $10 out, $0.2 read, $2.5 written, each for a million.
    assert traits.cost(reply.usage) == pytest.approx(
        (100 * 2 + 50 * 10 + 10_000 * 0.2 + 2_000 * 2.5) / 1e6
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_loop_of_tools_goes_there_and_back(server: WireServer, name: str) -> None:
    """Calls at once, one with arguments that are no JSON; results, one an error; then words."""
    calls = (Call("look", {"at": "a"}, "call_1"), Call("look", '{"at": nowh', "call_2"))
    server.script([Say("I look.", calls=calls), Say("Done.")])
    model = model_at(server, name)
    reply = run(model.complete(ask("Look twice.", tools=[TOOL])))
    assert [(c.id, c.name) for c in reply.message.tool_calls] == [
        ("call_1", "look"),
        ("call_2", "look"),
    ]
    assert reply.message.tool_calls[1].arguments == '{"at": nowh'
    results = Message(
        role="tool",
        parts=(
            ToolResult(call_id="call_1", content=(Text(text="found"),)),
            ToolResult(call_id="call_2", content=(Text(text="no JSON"),), is_error=True),
        ),
    )
    run(model.complete(ask("Look twice.", reply.message, results, "And?", tools=[TOOL])))
    sent = server.requests[1].json
    if name == ANTHROPIC:
        _, said, back = sent["messages"]
        assert [block["type"] for block in said["content"]] == ["text", "tool_use", "tool_use"]
        assert said["content"][1]["input"] == {"at": "a"}
        assert said["content"][2]["input"] == {"INVALID_JSON": '{"at": nowh'}
        assert [block.get("is_error") for block in back["content"]] == [False, True, None]
        assert back["content"][2]["text"] == "And?"
        assert sent["tools"][0]["name"] == "look"
    elif name == CHAT:
        said = sent["messages"][1]
        assert [call["id"] for call in said["tool_calls"]] == ["call_1", "call_2"]
        assert [m["role"] for m in sent["messages"]] == [
            "user",
            "assistant",
            "tool",
            "tool",
            "user",
        ]
        assert sent["messages"][3]["content"] == '{"error":"no JSON"}'
    else:
        kinds = [each.get("type") or each["role"] for each in sent["input"]]
        assert kinds[-3:] == ["function_call_output", "function_call_output", "user"]
        assert sent["store"] is False


def test_arguments_that_only_look_like_json_stay_a_text(server: WireServer) -> None:
    """Nothing could be stored or sent with them in it, and the reply would be lost."""
    wrong = ['{"at": NaN}', '{"at": [-Infinity]}', '{"at": 1e999}']
    server.script([Say("", calls=(Call("look", each),)) for each in wrong])
    model = model_at(server, ANTHROPIC)
    for each in wrong:
        (call,) = run(model.complete(ask(tools=[TOOL]))).message.tool_calls
        assert call.arguments == each


@pytest.mark.parametrize("name", NAMES)
def test_what_has_no_bytes_or_is_no_json_is_sent_in_words_that_are(
    server: WireServer, name: str
) -> None:
    calls = (
        ToolCall(id="call_1", name="look", arguments={"at": "x\ud800y"}),
        ToolCall(id="call_2", name="look", arguments={"at": float("nan")}),
        ToolCall(id="call_3", name="look", arguments='{"at": Infinity}'),
    )
    results = tuple(ToolResult(call_id=each.id, content=(Text(text="r\udfff"),)) for each in calls)
    said = Message(role="assistant", parts=(Text(text="世界 \ud83d!"), *calls))
    server.script([Say("Fine.")])
    request = ask("Hi", said, Message(role="tool", parts=results), system="s\ud800", tools=[TOOL])
    assert run(model_at(server, name).complete(request)).message.text == "Fine."
    body = server.requests[0].body.decode()
    assert "世界 ?!" in body
    assert "x?y" in body
    assert body.count("r?") == 3
    assert body.count("INVALID_JSON") == 2
    assert "NaN" in body


def test_a_tool_that_is_no_json_is_named_before_anything_is_sent(server: WireServer) -> None:
    for wrong in ({"maximum": float("inf")}, {"description": "\ud800"}, {"default": object()}):
        tool = {"name": "look", "input_schema": {"type": "object", **wrong}}
        with pytest.raises(UsageError, match="The tool 'look' cannot be sent"):
            run(model_at(server, CHAT).complete(ask(tools=[tool])))
    assert server.requests == []


def test_tools_of_either_shape_are_understood(server: WireServer) -> None:
    server.script([Say("Yes."), Say("Yes.")])
    anthropic = {"name": "see", "description": "x", "input_schema": {"type": "object"}}
    for name in (ANTHROPIC, CHAT):
        run(model_at(server, name).complete(ask(tools=[anthropic, TOOL])))
    first, second = (request.json["tools"] for request in server.requests)
    assert [tool["name"] for tool in first] == ["see", "look"]
    assert [tool["function"]["name"] for tool in second] == ["see", "look"]


def test_signed_thinking_goes_back_to_anthropic_byte_for_byte(server: WireServer) -> None:
    """Also after it went through the transcript's own form and the provider's messages."""
    server.script([Say("So.", thinking="I ponder.", redacted="enc+rypted/==")] * 2 + [Say("Ok.")])
    model = model_at(server, ANTHROPIC)
    reply = run(model.complete(ask("Think.")))
    thought, hidden, _ = reply.message.parts
    assert isinstance(thought, Thinking)
    assert thought.signature == Say().signature
    assert isinstance(hidden, Opaque)
    stored = Message.from_json(reply.message.to_json())
    on_the_wire = to_anthropic([stored]).messages[0]
    for again in (stored, parse_message(on_the_wire)):
        run(model.complete(ask("Think.", again, "Go on.")))
        blocks = server.requests[-1].json["messages"][1]["content"]
        assert blocks[0] == {
            "type": "thinking",
            "thinking": "I ponder.",
            "signature": Say().signature,
        }
        assert blocks[1] == {"type": "redacted_thinking", "data": "enc+rypted/=="}


def test_reasoning_of_a_compatible_server_goes_back_in_its_field(server: WireServer) -> None:
    server.script([Say("So.", thinking="I ponder."), Say("Ok.")])
    model = model_at(server, CHAT)
    reply = run(model.complete(ask("Think.")))
    assert to_openai([reply.message])[0]["reasoning_content"] == "I ponder."
    run(model.complete(ask("Think.", reply.message, "Go on.")))
    assert server.requests[1].json["messages"][1]["reasoning_content"] == "I ponder."


def test_reasoning_of_responses_goes_back_encrypted_and_ids_only_with_it(
    server: WireServer,
) -> None:
    server.script([Say("So.", thinking="x"), Say("Ok."), Say("Ok.")])
    model = model_at(server, RESPONSES)
    reply = run(model.complete(ask("Think.")))
    run(model.complete(ask("Think.", reply.message, "Go on.")))
    thought, said = server.requests[1].json["input"][1:3]
    assert thought["encrypted_content"] == Say().signature
    assert said["id"] == "msg_1"
    bare = Message(role="assistant", parts=reply.message.parts[1:])
    run(model.complete(ask("Think.", bare, "Go on.")))
    assert "id" not in server.requests[2].json["input"][1]


def test_thinking_of_somebody_else_is_left_out(server: WireServer) -> None:
    said = Message(
        role="assistant",
        parts=(Thinking(text="SECRET THOUGHT", signature="of-another"), Text(text="Hello.")),
        form="parts",
    )
    server.script([Say("Yes.")] * 2)
    for name in (CHAT, RESPONSES):
        run(model_at(server, name).complete(ask("Hi.", said, "More.")))
        assert "SECRET THOUGHT" not in server.requests[-1].body.decode()
        assert "of-another" not in server.requests[-1].body.decode()


def test_pictures_and_documents_are_sent_and_what_cannot_be_is_named(server: WireServer) -> None:
    dot = "iVBORw0KGgo="
    asked = Message(
        role="user",
        parts=(
            Text(text="Look:"),
            Image(media_type="image/png", data=dot),
            Image(url="https://example.org/cat.png"),
            Image(url=f"data:image/png;base64,{dot}"),
            Image(media_type="image/png", data="not base64!"),
            Opaque(format="openai", data={"type": "input_audio", "input_audio": {"data": "x"}}),
            Opaque(
                format="anthropic",
                data={"type": "document", "source": {"type": "text", "data": "A paper."}},
            ),
        ),
        form="parts",
    )
    server.script([Say("A dot.")] * 2)
    for name in (ANTHROPIC, CHAT):
        run(model_at(server, name).complete(ModelRequest(messages=[asked])))
        body = server.requests[-1].body.decode()
        assert body.count(dot) == 2
        assert "https://example.org/cat.png" in body
        assert "cannot be read" in body
        assert "input_audio: left out" in body
        assert "A paper." in body


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_asked_for_where_the_model_can_follow_one(
    server: WireServer, name: str
) -> None:
    schema = {"type": "object", "properties": {"fact": {"type": "string"}}, "required": ["fact"]}
    server.script([Say('{"fact": "x"}')])
    run(model_at(server, name).complete(ask(extra={"response_schema": schema})))
    sent = server.requests[0].json
    found = (
        sent.get("output_config", {}).get("format")
        or sent.get("response_format", {}).get("json_schema")
        or sent.get("text", {}).get("format")
    )
    assert found["schema"]["properties"] == schema["properties"]


def test_a_schema_is_dropped_for_a_model_that_has_no_such_thing(server: WireServer) -> None:
    server.script([Say("x")])
    model = model_at(server, "anthropic:claude-4-opus")
    run(model.complete(ask(extra={"response_schema": {"type": "object", "properties": {}}})))
    assert not {"output_config", "output_format", "tools"} & set(server.requests[0].json)


def test_a_single_question_is_not_put_into_a_cache(server: WireServer) -> None:
    server.script([Say("x"), Say("x")])
    model = model_at(server, ANTHROPIC)
    run(model.complete(ask("Once.", system="S")))
    run(model.complete(ask("Once.", Message.of("assistant", "Yes."), "Again.", system="S")))
    once, again = (request.body.decode() for request in server.requests)
    assert "cache_control" not in once
    assert "cache_control" in again


def test_one_model_is_used_from_several_event_loops(server: WireServer) -> None:
    server.script([Say("x")] * 3)
    model = model_at(server, CHAT)

    async def once() -> str:
        reply = await model.complete(ask())
        await model.close()  # type: ignore[attr-defined]
        return reply.message.text

    assert [run(once()) for _ in range(3)] == ["x"] * 3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["left", "cancelled"])
def test_leaving_a_stream_closes_its_connection_at_once(
    server: WireServer, name: str, how: str
) -> None:
    server.script([Hang(after=8 if name == RESPONSES else 4)])
    model = model_at(server, name)
    first: list[object] = []

    async def listen() -> None:
        async for piece in model.stream(ask()):
            first.append(piece)

    async def leave() -> None:
        if how == "left":
            stream = model.stream(ask())
            first.append(await anext(aiter(stream)))
            await stream.aclose()  # type: ignore[attr-defined]
        else:
            task = asyncio.create_task(listen())
            while not first:  # noqa: ASYNC110 - heard in another task
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await asyncio.to_thread(server.wait_for, lambda here: here.left == 1)

    run(leave())
    assert first
    assert len(server.requests) == 1


def test_nothing_to_send_is_said_before_anything_is_sent(server: WireServer) -> None:
    model = model_at(server, CHAT)
    with pytest.raises(Exception, match="no message to send"):
        run(model.complete(ModelRequest(messages=[Message.of("system", "Be kind.")])))
    with pytest.raises(Exception, match="no function"):
        run(model.complete(ask(tools=[{"type": "web_search_20250305", "name": "web_search"}])))
    assert server.requests == []


def test_a_call_of_a_tool_that_is_not_the_last_word_is_no_empty_answer(server: WireServer) -> None:
    server.script([Say(calls=(Call("look", {}),))])
    reply = run(model_at(server, CHAT).complete(ask(tools=[TOOL])))
    assert reply.message.form == "null"
    assert [type(part) for part in reply.message.parts] == [ToolCall]
