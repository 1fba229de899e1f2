"""Real clients over HTTP: each sees its own memory, and nobody else gets in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_socket import socket_allow_hosts

import holdfast
from holdfast.errors import StorageError, UsageError
from holdfast.gatehouse.listening import listening
from holdfast.mcp_server.clients import ClientBook
from holdfast.mcp_server.http import HttpServer, opener
from holdfast.mcp_server.limits import FRAME_BYTES
from holdfast.mcp_server.sdk import sdk
from tests.doors.inside import inside
from tests.doors.mcp_parts import Site, called, over_http, refused, run, serving

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "memory_write", "arguments": {"text": "Mallory was here."}},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(tmp_path_factory.mktemp("site") / "home") as site:
        yield site


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_writes_searches_expands_and_forgets(site: Site, mode: str) -> None:
    token = site.let_in(f"editor-{mode}", agent=f"agent-{mode}")
    with holdfast.open(site.home, f"agent-{mode}") as engine:
        entry = engine.session("trip").append({"role": "user", "content": "Book the ferry."})

    async def work() -> None:
        async with over_http(site, token, mode=mode) as client:
            written = await called(client, "memory_write", text="Anna lives in Lisbon.")
            found = await called(client, "memory_search", query="Where does Anna live?")
            assert found["passages"][0]["citation"].startswith(written["path"])
            assert "Anna lives in Lisbon." in found["text"]
            whole = await called(client, "context_expand", id=f"trip#{entry}")
            assert "Book the ferry." in whole["text"]
            await called(client, "memory_forget", what=written["ids"][0])
            assert (
                "Lisbon" not in (await called(client, "memory_get", path=written["path"]))["text"]
            )
            assert "bogus" in await refused(client, "memory_search", query="x", bogus=1)
            uris = [str(each.uri) for each in (await client.list_resources()).resources]
            assert "memory://sessions/trip" in uris
            (page,) = (await client.read_resource("memory://sessions/trip")).contents
            assert "Book the ferry." in page.text  # type: ignore[union-attr]
            prompt = await client.get_prompt("resume", {"language": "en"})
            assert "Book the ferry." in prompt.messages[0].content.text  # type: ignore[union-attr]

    run(work)


def test_clients_of_different_places_see_nothing_of_each_other(site: Site) -> None:
    scopes = {"ann": {"user": "ann"}, "owner": {}, "far": {"agent": "far"}}
    tokens = {name: site.let_in(name, **scope) for name, scope in scopes.items()}

    async def work() -> None:
        for name, token in tokens.items():
            async with over_http(site, token) as client:
                text = f"The word of {name} is {name}-canary."
                await called(client, "memory_write", text=text)
        for name, token in tokens.items():
            async with over_http(site, token) as client:
                found = await called(client, "memory_search", query="the word canary", limit=50)
                for other in tokens:
                    assert (f"{other}-canary" in found["text"]) == (other == name)
                if name != "owner":
                    continue
                for path in ("users/ann/MEMORY.md", "../far/MEMORY.md"):
                    assert "no path of memory" in await refused(client, "memory_get", path=path)

    run(work)


def test_a_token_that_is_taken_away_is_gone_at_once(site: Site) -> None:
    token = site.let_in("leaver", agent="leaver")

    async def work() -> None:
        async with over_http(site, token) as client:
            await called(client, "memory_write", text="Written while it was let in.")
            ClientBook(site.home).remove("leaver")
            await called(client, "memory_write", text="Written by nobody.")

    # Of a refusal, or of a connection that was closed on its body: then the client itself breaks.
    with pytest.raises(Exception):  # noqa: B017, PT011
        run(work)
    with holdfast.open(site.home, "leaver") as engine:
        written = "".join(engine.get(each).text for each in engine.files())
    assert "while it was let in" in written
    assert "by nobody" not in written


def test_what_is_not_let_in_changes_nothing(site: Site) -> None:
    """The whole matrix is in ``test_mcp_gate.py``; here with sockets and files."""
    token = site.let_in("target", agent="target")
    own = f"127.0.0.1:{site.port}"
    fine = {
        "Host": own,
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    body = json.dumps(CALL).encode()
    without = {name: {k: v for k, v in fine.items() if k != name} for name in fine}
    for headers, wanted in (
        (fine | {"Host": "evil.example"}, 403),
        (fine | {"Host": f"evil.example:{site.port}"}, 403),
        (fine | {"Origin": "http://evil.example"}, 403),
        (fine | {"Origin": "null"}, 403),
        (fine | {"Sec-Fetch-Site": "cross-site"}, 403),
        (without["Authorization"], 401),
        (without["Authorization"] | {"Cookie": f"token={token}"}, 401),
        (fine | {"Authorization": "Bearer " + "x" * 47}, 401),
        (fine | {"Content-Type": "text/plain"}, 415),
    ):
        status, told = site.send(body, headers)
        assert status == wanted
        assert told["error"]
    for method, path in (("GET", "/mcp"), ("DELETE", "/mcp"), ("OPTIONS", "/mcp")):
        assert site.send(body, fine, method=method, path=path)[0] == 405
    assert site.send(body, without["Authorization"], path=f"/mcp?token={token}")[0] == 401
    upgrade = fine | {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "eA=="}
    assert site.send(b"", upgrade, method="GET")[0] in (400, 403, 405)
    assert not (site.home / "agents" / "target").exists(), "not even the memory was opened"
    status, _ = site.send(body, fine)
    assert status == 200
    with holdfast.open(site.home, "target") as engine:
        assert engine.files(), "and with everything right it is written"


def test_a_body_that_is_too_large_is_refused_with_the_limit(site: Site) -> None:
    token = site.let_in("bulky", agent="bulky")
    headers = {
        "Host": f"127.0.0.1:{site.port}",
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
    }
    announced = headers | {"Content-Length": str(FRAME_BYTES + 1)}
    status, told = site.send(b"", announced)  # no byte of it is waited for
    assert (status, f"{FRAME_BYTES:,}" in told["error"]) == (413, True)
    for wrong in (b"[" * 100_000, b"{", b"\xff", b"", b"[]"):
        assert site.send(wrong, headers | {"Accept": "application/json"})[0] in (400, 406)
    size = 64 * 1024
    sent: list[int] = []

    def endless() -> Iterator[bytes]:
        while len(sent) * size < 8 * FRAME_BYTES:
            sent.append(size)
            yield b" " * size

    try:
        assert site.send(endless(), headers)[0] == 413
    except OSError:  # it hung up while we still spoke
        assert len(sent) * size < 8 * FRAME_BYTES


def test_another_address_of_this_machine_answers_under_its_own_name(home: Path) -> None:
    socket_allow_hosts(["127.0.0.1", "127.0.0.2"], allow_unix_socket=True)
    try:
        listening("127.0.0.2", 0).close()
    except UsageError:
        pytest.skip("this machine has no 127.0.0.2")
    with serving(home, "127.0.0.2") as site:
        headers = {
            "Host": f"127.0.0.2:{site.port}",
            "Authorization": f"Bearer {site.let_in('near')}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        assert site.send(json.dumps(CALL).encode(), headers)[0] == 200


def test_an_engine_that_cannot_be_closed_keeps_no_other_from_being(home: Path) -> None:
    closed: list[str] = []

    class Engine:
        def __init__(self, name: str) -> None:
            self._name = name

        def close(self) -> None:
            closed.append(self._name)
            if self._name != "fine":
                raise StorageError(f"{self._name} cannot be closed")

    server = HttpServer(sdk(), ClientBook(home), opener(home))
    server._engines += [Engine("first"), Engine("fine"), Engine("last")]  # type: ignore[list-item]
    bound = listening("127.0.0.1", 0)
    bound.close()  # so that it ends at once
    with pytest.raises(StorageError, match="cannot be closed"):
        server.run(bound)
    assert sorted(closed) == ["fine", "first", "last"]


def test_the_options_before_the_command_do_not_decide_over_http(home: Path) -> None:
    for options in (["--user", "ann"], ["--agent", "other"], ["--chat", "team"]):
        told = inside(home, *options, "mcp", "--http")
        assert told.code == 2
        assert "token of a client" in told.err
    told = inside(home, "mcp", "--http", "--host", "0.0.0.0")
    assert told.code == 6
    assert "--behind-tls" in told.err
