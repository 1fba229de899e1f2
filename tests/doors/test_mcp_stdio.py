"""A real client that starts the server itself, and raw pipes where a client would be too kind."""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

import holdfast
from holdfast.mcp_server.answers import Answers
from holdfast.mcp_server.limits import FRAME_BYTES
from holdfast.mcp_server.sdk import sdk
from holdfast.mcp_server.stdio import serve_stdio
from tests.doors.mcp_parts import (
    called,
    over_http,
    over_stdio,
    run,
    serving,
    started,
)
from tests.scale import scaled


def request(id: int, method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


HELLO = request(
    0,
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "pipe", "version": "1"},
) + (b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')


def write(id: int, text: str) -> bytes:
    return request(id, "tools/call", name="memory_write", arguments={"text": text})


def replies(out: bytes) -> dict[Any, dict[str, Any]]:
    """By id; fails if anything but messages is on stdout."""
    found = [json.loads(line) for line in out.splitlines()]
    assert all(each["jsonrpc"] == "2.0" for each in found)
    return {each.get("id"): each for each in found}


async def find(client: Any, query: str, wanted: str) -> None:
    """Found, at once or as soon as the other process lets go of the index; never missed unsaid."""
    while wanted not in (found := await called(client, "memory_search", query=query))["text"]:
        assert any("not indexed yet" in each for each in found["degraded"]), found
        await asyncio.sleep(0.1)


def test_two_clients_at_once_lose_nothing_and_fuse_nothing(home: Path) -> None:
    """One over stdio in its own process, one over HTTP in ours: both write and search."""
    count = scaled(6)

    async def write_all(client: Any, name: str) -> None:
        for number in range(count):
            text = f"Shelf {number} of {name} holds jar {name}{number * 7}."
            assert (await called(client, "memory_write", text=text))["written"] == 1
            if number % 3 == 2:
                await find(
                    client, f"Which jar is on shelf {number} of {name}?", f" {name}{number * 7}."
                )

    with serving(home) as site:
        token = site.let_in("editor")

        async def work() -> None:
            async with over_stdio(*started(home)) as one, over_http(site, token) as two:
                await asyncio.gather(write_all(one, "ash"), write_all(two, "oak"))
                with pytest.raises(MCPError, match=f"the limit is {FRAME_BYTES:,}"):
                    await one.call_tool("memory_write", {"text": "x" * FRAME_BYTES})
                await find(one, "jar oak0 on shelf 0 of oak", "oak0.")  # as the other one wrote it
                await called(one, "memory_forget", what="Shelf 0 of oak")
                (page,) = (await two.list_resources()).resources
                assert "oak0." not in (await called(two, "memory_get", path=page.name))["text"]

        run(work)
    with holdfast.open(home) as engine:
        (path,) = [each for each in engine.files() if each.startswith("memory/")]
        lines = engine.get(path).text.splitlines()
    for name in ("ash", "oak"):
        wanted = [f"- W: Shelf {n} of {name} holds jar {name}{n * 7}." for n in range(count)]
        found = [line.partition(" <!--")[0] for line in lines if f" of {name} " in line]
        assert found == (wanted[1:] if name == "oak" else wanted), "each once, whole, in its order"


WRONG = [
    b"this is no JSON\n",
    b"\xff\xfe\n",
    b'{"id": 7}\n',
    b"[" * 10_000 + b"\n",
    b"\n",
    b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":"' + b"y" * FRAME_BYTES + b'"}\n',
]


def spoken(home: Path, said: bytes) -> bytes:
    """What the server writes to its stdout when that is all there is on its stdin."""
    (source, into), (out_of, sink) = os.pipe(), os.pipe()
    with holdfast.open(home) as engine:

        def serve() -> None:
            serve_stdio(sdk(), Answers(engine), source, sink)
            os.close(sink)

        def speak() -> None:
            with open(into, "wb") as speaking:
                speaking.write(said)

        threads = [threading.Thread(target=serve), threading.Thread(target=speak)]
        for each in threads:
            each.start()
        with open(out_of, "rb") as hearing:
            heard = hearing.read()
        for each in threads:
            each.join()
        os.close(source)
    return heard


def test_when_stdin_ends_every_call_is_answered_first(home: Path) -> None:
    search = request(2, "tools/call", name="memory_search", arguments={"query": "kettle"})
    calls = [write(1, "The kettle is blue."), *WRONG, search, write(3, "最后一句也要写下来。")]
    found = replies(spoken(home, b"".join([HELLO, *calls])))
    assert set(found) == {0, 1, 2, 3, 7, 8, None}
    assert found[1]["result"]["structuredContent"]["written"] == 1
    assert found[3]["result"]["structuredContent"]["written"] == 1
    assert found[7]["error"]["code"] == -32600
    assert f"the limit is {FRAME_BYTES:,}" in found[8]["error"]["message"]
    assert found[None]["error"]["code"] == -32700
    with holdfast.open(home) as engine:
        text = engine.get(engine.files()[-1]).text
    assert "The kettle is blue." in text
    assert "最后一句也要写下来。" in text


def test_a_request_without_an_id_of_its_own_is_told_so(home: Path) -> None:
    nameless = b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}\n'
    silent = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n'
    found = replies(spoken(home, HELLO + nameless + silent))
    assert set(found) == {0, None}
    assert found[None]["error"]["code"] == -32600


def test_whatever_is_sent_the_next_call_is_answered(home: Path) -> None:
    chance = random.Random(7)
    seeds = [
        HELLO,
        write(1, "x"),
        request(2, "resources/read", uri="memory://MEMORY.md"),
        *WRONG[:4],
    ]
    frames = []
    for _ in range(scaled(200)):
        line = bytearray(chance.choice(seeds).replace(b"\n", b"")[:400])
        for _ in range(chance.randrange(1, 6)):
            where = chance.randrange(len(line) + 1)
            piece = chance.choice(
                [b"", b"{", b'"', b"\\", b"null", b"\x00", b"\xff", b"9" * 30, b"[]"]
            )
            line[where : where + chance.randrange(3)] = piece
        frames.append(bytes(line).replace(b"\n", b"") + b"\n")
    last = request(999, "tools/call", name="memory_search", arguments={"query": "kettle"})
    found = replies(spoken(home, b"".join([HELLO, *frames, last])))
    assert "structuredContent" in found[999]["result"]


def test_a_reader_that_goes_away_ends_the_server(home: Path) -> None:
    (source, into), (out_of, sink) = os.pipe(), os.pipe()
    os.close(out_of)
    with holdfast.open(home) as engine:
        os.write(into, HELLO + write(1, "Nobody hears the answer."))
        serve_stdio(sdk(), Answers(engine), source, sink)  # its stdin is still open
    for each in (source, into, sink):
        os.close(each)


def test_answers_that_nobody_takes_do_not_keep_the_server(home: Path) -> None:
    """Its reader is there and does not read: the pipe is full, and a write to it never ends."""
    (source, into), (out_of, sink) = os.pipe(), os.pipe()
    before = set(threading.enumerate())
    with holdfast.open(home) as engine:
        calls = [request(number, "tools/list") for number in range(1, 40)]
        os.write(into, b"".join([HELLO, *calls]))
        os.close(into)

        def serve() -> None:
            serve_stdio(sdk(), Answers(engine), source, sink, last_seconds=0.5)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        serving.join(60)
        assert not serving.is_alive()
    left = [each for each in threading.enumerate() if each not in before and not each.daemon]
    assert left == [], "nothing that the end of a process waits for"
    assert replies(os.read(out_of, 1 << 20).rpartition(b"\n")[0])[0]["result"]
    for each in (out_of, source, sink):
        os.close(each)
