"""Who is let in: every combination of what a request can say of itself, then over real sockets."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

import holdfast
from holdfast.engine.facade import open_engine
from holdfast.gatehouse import connections
from holdfast.gatehouse.bodies import body_of
from holdfast.gatehouse.heads import Denied, Gate, gate_for
from holdfast.server.app import build
from holdfast.server.entrance import BODY_BYTES, Counted, Entrance
from holdfast.server.following import follower_of
from holdfast.server.pages import Pages
from holdfast.server.places import OWN, Place, Places
from holdfast.server.running import Server
from holdfast.server.tokens import TokenFile, Tokens
from holdfast.server.turns import turns_of
from holdfast.testing import FixedClock
from tests.scale import scaled
from tests.server.listening import Listener
from tests.server.test_messages import Talker

PORT = 8378
OURS = f"127.0.0.1:{PORT}"

HOSTS: dict[str | None, bool] = {
    OURS: True,
    f"localhost:{PORT}": True,
    f"LocalHost:{PORT}": True,
    f"[::1]:{PORT}": True,
    "memory.example.org": True,
    None: False,
    "": False,
    "127.0.0.1": False,
    f"127.0.0.1:{PORT + 1}": False,
    f"127.0.0.1.:{PORT}": False,
    f"localhost.:{PORT}": False,
    f"127.1:{PORT}": False,
    f"::1:{PORT}": False,
    f"evil.example:{PORT}": False,
    f"127.0.0.1.evil.example:{PORT}": False,
    f"{OURS}@evil.example": False,
    f"{OURS}, evil.example": False,
    f" {OURS}": False,
}
ORIGINS: dict[str | None, bool] = {
    None: True,
    f"http://{OURS}": True,
    f"http://LOCALHOST:{PORT}": True,
    "https://memory.example.org": True,
    "null": False,
    "": False,
    "http://evil.example": False,
    "http://memory.example.org": False,
    "http://127.0.0.1": False,
    f"https://{OURS}": False,
    f"http://{OURS}.evil.example": False,
    f"http://{OURS}/": False,
}
FETCHES: dict[str | None, bool] = {
    None: True,
    "none": True,
    "same-origin": True,
    "same-site": False,
    "cross-site": False,
    "": False,
    "anything": False,
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get")
KINDS: dict[str | None, bool] = {
    "application/json": True,
    "Application/JSON; charset=utf-8": True,
    None: False,
    "text/plain": False,
    "text/plain; application/json": False,
    "application/x-www-form-urlencoded": False,
    "multipart/form-data": False,
    "application/jsonx": False,
}
FILES = ("/", "/healthz", "/console/app.js")
NO_FILES = ("/console/", "/console/../api/v1/server", "/console//app.js", "/console/APP.JS")
GUARDED = (
    "/api/v1/sessions",
    "/api/openapi.json",
    "/api",
    "/api/",
    "/API/v1/sessions",
    "/metrics/",
    "/nowhere",
    "//api/v1/sessions",
    "//",
    "//healthz",
    "/./healthz",
    "/healthz/",
    "/HEALTHZ",
    "/console",
    "/Console/app.js",
    "/sign-in/",
    "/sign-in/../api/v1/sessions",
    "/index.html",
    "/docs",
)


class House:
    """The entrance, with an app behind it that notes who came through."""

    def __init__(self, home: Path) -> None:
        self.clock = FixedClock()
        self.file = TokenFile(home)
        self.master = self.file.make()
        self.tokens = Tokens(self.file, self.clock.now)
        self.browser = self._signed_in()
        self.signed_out = self._signed_in()
        self.tokens.sign_out(self.signed_out)
        self.used_code = self.tokens.new_code().secret
        assert self.tokens.sign_in(code=self.used_code)
        self.came: list[tuple[str, str, bytes]] = []
        self.entrance = Entrance(
            self._app,
            gate=gate_for(PORT, ["Memory.Example.org"]),
            tokens=self.tokens,
            pages=Pages({"index.html": b"<!doctype html>", "app.js": b"1;"}),
            counted=Counted(answered=lambda status: None, metrics=lambda: "up 1\n"),
        )

    def _signed_in(self) -> str:
        given = self.tokens.sign_in(code=self.tokens.new_code().secret)
        assert given is not None
        return given.secret

    async def _app(self, head: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        self.came.append((head["method"], head["path"], body))
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})

    @property
    def authorizations(self) -> dict[str | None, bool]:
        """Whether each lets in."""
        return {
            f"Bearer {self.master}": True,
            f"bearer {self.browser}": True,
            None: False,
            "": False,
            self.master: False,
            "Bearer": False,
            "Bearer  ": False,
            f"Bearer {self.master}x": False,
            f"Bearer {self.master[:-1]}": False,
            f"Bearer {self.signed_out}": False,
            f"Bearer {self.used_code}": False,
            f"Basic {self.master}": False,
            "Bearer " + "x" * 5000: False,
        }

    async def ask(
        self,
        method: str = "GET",
        path: str = "/api/v1/sessions",
        headers: Iterable[tuple[str, str | None]] = (),
        body: bytes | AsyncIterator[bytes] = b"",
        *,
        raw: bytes | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        head = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode() if raw is None else raw,
            "query_string": b"",
            "headers": [
                (name.encode(), value.encode("latin-1"))
                for name, value in headers
                if value is not None
            ],
        }
        sent: list[Any] = []
        parts = _parts(body)

        async def receive() -> Any:
            try:
                return {"type": "http.request", "body": await anext(parts), "more_body": True}
            except StopAsyncIteration:
                return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.entrance(head, receive, send)
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        assert len(told) == len(sent[0]["headers"]), "no header twice"
        return sent[0]["status"], told, b"".join(each["body"] for each in sent[1:])


async def _parts(body: bytes | AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if isinstance(body, bytes):
        if body:
            yield body
        return
    async for each in body:
        yield each


@pytest.fixture
def house(home: Path) -> House:
    return House(home)


def wanted(
    is_host: bool, is_origin: bool, is_fetch: bool, is_token: bool, method: str, path: str
) -> int:
    """What is to be answered, said once more without looking at how: 299 is the app's."""
    if not is_host or not is_origin:
        return 403
    is_shown = path in FILES or path in NO_FILES
    if is_shown and method in ("GET", "HEAD"):
        return 200 if path in FILES else 404
    if not is_fetch:
        return 403
    if is_shown:
        return 405
    if path == "/sign-in":
        return 415 if method == "POST" else 405  # nothing was sent with it
    if not is_token:
        return 401
    if path == "/metrics":
        return 200 if method in ("GET", "HEAD") else 405
    return 299


def is_origin_of(host: str | None, origin: str | None) -> bool:
    """One of ours, and the very one that was asked."""
    asked = (host or "").casefold()
    return ORIGINS[origin] and (origin is None or origin.casefold().endswith(f"://{asked}"))


def check(house: House, answer: tuple[int, dict[str, str], bytes], status: int, each: Any) -> None:
    found, headers, body = answer
    assert found == status, each
    assert bool(house.came) == (status == 299), each
    house.came.clear()
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
    assert headers["cache-control"] == ("no-cache" if "etag" in headers else "no-store")
    assert not any(name.startswith("access-control") for name in headers)
    assert {"set-cookie", "server", "date"}.isdisjoint(headers)
    if found >= 400 and each[-2] != "HEAD":
        assert set(json.loads(body)["error"]) == {"type", "message", "hint", "details"}
    if found == 401:
        assert headers["www-authenticate"] == "Bearer"


def test_host_by_origin_by_token_by_method_is_decided_by_the_first_thing_that_is_wrong(
    house: House,
) -> None:
    """The whole product, on a path of each kind."""
    counted = 0

    async def work() -> None:
        nonlocal counted
        tokens = house.authorizations
        few = [*tokens][:3:2]  # where no token is needed, none helps or harms
        for path, given in (("/api/v1/sessions", [*tokens]), ("/", few), ("/sign-in", few)):
            for host, origin, token, method in itertools.product(HOSTS, ORIGINS, given, METHODS):
                headers = [("host", host), ("origin", origin), ("authorization", token)]
                each = (host, origin, token, method, path)
                is_ours = is_origin_of(host, origin)
                status = wanted(HOSTS[host], is_ours, True, tokens[token], method, path)
                check(house, await house.ask(method, path, headers), status, each)
                counted += 1

    anyio.run(work)
    assert counted == len(HOSTS) * len(ORIGINS) * (13 + 2 + 2) * len(METHODS)


def test_any_combination_with_any_path_fetch_and_body_is_decided_alike(house: House) -> None:
    chance = random.Random(20261116)
    paths = (*FILES, *NO_FILES, *GUARDED, "/sign-in", "/metrics")

    async def work() -> None:
        tokens = house.authorizations
        for _ in range(scaled(6_000)):
            is_fine = chance.random() < 0.6
            host = OURS if is_fine else chance.choice(list(HOSTS))
            origin = None if is_fine else chance.choice(list(ORIGINS))
            fetch, token = chance.choice(list(FETCHES)), chance.choice(list(tokens))
            method, path = chance.choice(METHODS), chance.choice(paths)
            kind, size = chance.choice(list(KINDS)), chance.choice((0, 2, BODY_BYTES + 1))
            headers = [("host", host), ("origin", origin), ("sec-fetch-site", fetch)]
            headers += [("authorization", token), ("content-type", kind)]
            headers += [("content-length", str(size))] if size else []
            is_ours = is_origin_of(host, origin)
            status = wanted(HOSTS[host], is_ours, FETCHES[fetch], tokens[token], method, path)
            if size and status == 299:
                status = 413 if size > BODY_BYTES else 299 if KINDS[kind] else 415
            if status == 415 and path == "/sign-in" and KINDS[kind]:
                status = 413 if size > 4096 else 422
            answer = await house.ask(method, path, headers, b"{}" if size == 2 else b"")
            check(house, answer, status, (host, origin, fetch, token, kind, size, method, path))
            house.clock.advance(seconds=1)

    anyio.run(work)


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        ("/healthz", b"/%68ealthz"),
        ("/", b"/%2e%2e/"),
        ("/console/app.js", b"/console/%61pp.js"),
        ("/console/../api/v1/sessions", b"/console/%2e%2e/api/v1/sessions"),
        ("//api/v1/sessions", b"%2fapi/v1/sessions"),
        ("//api/v1/sessions", b"/%2fapi/v1/sessions"),
        ("/sign-in", b"/sign%2din"),
    ],
)
def test_what_is_public_is_never_spelled_otherwise(house: House, path: str, raw: bytes) -> None:
    async def work() -> None:
        for method in METHODS:
            status, _, _ = await house.ask(method, path, [("host", OURS)], raw=raw)
            assert status == 401
        assert not house.came

    anyio.run(work)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ([("host", OURS)], 403),
        ([("host", "evil.example")], 403),
        ([("origin", f"http://{OURS}"), ("origin", f"http://{OURS}")], 403),
        ([("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], 403),
        ([("authorization", "Bearer x")], 401),
        ([("upgrade", "websocket")], 403),
        ([("upgrade", "h2c, WebSocket")], 403),
        ([("content-length", "2"), ("content-type", "text/plain")], 415),
        ([("content-length", "-1")], 400),
        ([("content-length", "1e3")], 400),
        ([("content-length", "9" * 5000)], 413),
        ([("content-length", "2"), ("content-length", str(BODY_BYTES + 1))], 413),
        ([("transfer-encoding", "chunked")], 415),
        ([("transfer-encoding", "chunked"), ("content-length", "2")], 400),
        ([("transfer-encoding", "identity"), ("content-length", "0")], 400),
        ([("origin", f"http://localhost:{PORT}")], 403),
        ([("cookie", "token=x")], 299),
    ],
)
def test_what_is_said_twice_or_makes_no_sense_is_refused(
    house: House, more: list[tuple[str, str]], status: int
) -> None:
    async def work() -> None:
        headers = [("host", OURS), ("authorization", f"Bearer {house.master}"), *more]
        found, _, _ = await house.ask("POST", "/api/v1/sessions", headers)
        assert found == status
        assert len(house.came) == (status == 299)

    anyio.run(work)


def test_a_token_counts_nowhere_but_in_its_header(house: House) -> None:
    async def work() -> None:
        for name, value in (
            ("cookie", f"token={house.master}"),
            ("x-api-key", house.master),
            ("x-authorization", f"Bearer {house.master}"),
            ("proxy-authorization", f"Bearer {house.master}"),
        ):
            assert (await house.ask(headers=[("host", OURS), (name, value)]))[0] == 401
        path = f"/api/v1/sessions?token={house.master}"
        assert (await house.ask(path=path, headers=[("host", OURS)]))[0] == 401
        assert not house.came

    anyio.run(work)


def test_the_address_of_somebody_else_as_target_is_refused(house: House) -> None:
    async def work() -> None:
        fine = [("host", OURS), ("authorization", f"Bearer {house.master}")]
        for path in ("http://evil.example/api/v1/sessions", f"http://{OURS}/", "*", ""):
            for method in ("GET", "OPTIONS", "POST"):
                assert (await house.ask(method, path, fine))[0] == 403
        assert not house.came

    anyio.run(work)


def test_a_web_socket_is_closed_before_it_opens(house: House) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    anyio.run(
        house.entrance,
        {"type": "websocket", "path": "/api/v1/events/stream", "headers": []},
        receive,
        send,
    )
    assert sent == [{"type": "websocket.close", "code": 1008}]
    assert not house.came


def test_a_body_that_grows_beyond_the_limit_is_not_read_to_its_end(house: House) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 65_536
            yield b" " * 65_536

    async def work() -> None:
        headers = [("host", OURS), ("authorization", f"Bearer {house.master}")]
        headers += [("content-type", "application/json"), ("transfer-encoding", "chunked")]
        status, told, body = await house.ask("POST", headers=headers, body=endless())
        assert (status, told["connection"]) == (413, "close")
        assert f"{BODY_BYTES:,}" in json.loads(body)["error"]["message"]
        assert read <= BODY_BYTES + 2 * 65_536
        exact = b'"' + b"a" * (BODY_BYTES - 2) + b'"'
        assert (await house.ask("POST", headers=headers, body=exact))[0] == 299
        assert house.came == [("POST", "/api/v1/sessions", exact)], "the app has all of it"

    anyio.run(work)


def test_a_body_that_takes_too_long_is_not_waited_for() -> None:
    async def never() -> Any:
        await anyio.sleep_forever()

    async def work() -> None:
        with pytest.raises(Denied) as denied:
            await body_of(never, BODY_BYTES, seconds=0.01)
        assert denied.value.status == 408

    anyio.run(work)


def test_who_signs_in_with_a_code_or_the_token_is_let_in_and_nobody_else(house: House) -> None:
    fine = [("host", OURS), ("content-type", "application/json")]

    async def sign_in(told: object) -> tuple[int, dict[str, Any]]:
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        headers = [*fine, ("content-length", str(len(body)))]
        status, _, answer = await house.ask("POST", "/sign-in", headers, body)
        return status, json.loads(answer)

    async def is_in(token: str) -> bool:
        headers = [("host", OURS), ("authorization", f"Bearer {token}")]
        return (await house.ask(headers=headers))[0] == 299

    async def work() -> None:
        code = house.tokens.new_code().secret
        status, given = await sign_in({"code": code})
        assert status == 200
        assert await is_in(given["token"])
        assert (await sign_in({"code": code}))[0] == 401, "once"
        status, given = await sign_in({"token": house.master})
        assert status == 200
        assert await is_in(given["token"])
        assert given["token"] != house.master
        for guess in ({"token": given["token"]}, {"code": house.master}, {"code": ""}):
            assert (await sign_in(guess))[0] == 401
        nonsense: list[object] = [{}, [], {"code": 1}, {"code": "x", "token": "y"}, None, b"{"]
        for wrong in (*nonsense, b"\xff", b"[" * 4000, {"token": ["x"]}, {"code": {"$ne": ""}}):
            status, told = await sign_in(wrong)
            assert (status, told["error"]["type"]) == (422, "invalid_request")
        while (await sign_in({"code": "guess"}))[0] == 401:
            pass
        status, told = await sign_in({"code": "guess"})
        assert (status, told["error"]["type"]) == (429, "too_many")
        assert await is_in(given["token"]), "who is in stays in"
        code = house.tokens.new_code().secret
        assert (await sign_in({"code": code}))[0] == 200, "who guesses locks nobody out"
        assert (await sign_in({"token": house.master}))[0] == 200

    anyio.run(work)


def test_another_token_in_the_file_ends_everything_at_once(house: House) -> None:
    async def status(token: str) -> int:
        headers = [("host", OURS), ("authorization", f"Bearer {token}")]
        return (await house.ask(headers=headers))[0]

    async def work() -> None:
        code = house.tokens.new_code().secret
        assert [await status(each) for each in (house.master, house.browser)] == [299, 299]
        new = TokenFile(house.file.path.parent).rotate()  # as another process does
        assert [await status(each) for each in (house.master, house.browser)] == [401, 401]
        assert house.tokens.sign_in(code=code) is None
        assert await status(new) == 299
        house.file.path.unlink()
        assert await status(new) == 401
        house.file.path.write_text("not a token")
        fine = [("host", OURS), ("content-type", "application/json"), ("content-length", "12")]
        asked = [("host", OURS), ("authorization", "Bearer not a token")]
        for answer in (
            await house.ask(headers=asked),
            await house.ask("POST", "/sign-in", fine, b'{"code":"x"}'),
        ):
            assert answer[0] == 507, "and it says that nobody is let in"
            assert b"nobody is let in" in answer[2]
            assert str(house.file.path.parent).encode() not in answer[2]

    anyio.run(work)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("how", ["rotated", "gone", "signed out"])
def test_whoever_follows_hears_nothing_more_when_the_token_ends(
    house: House, method: str, how: str
) -> None:
    """Also if the app tells it from another task, as streams do."""
    is_left = False
    sent: list[Any] = []

    async def app(head: Any, receive: Any, send: Any) -> None:
        nonlocal is_left

        async def tell() -> None:
            for n in range(4):
                if n == 2:
                    end[how]()
                body = b"%d" % n
                await send({"type": "http.response.body", "body": body, "more_body": True})

        headers = [(b"Content-Type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        telling = asyncio.ensure_future(tell())
        try:
            await telling
            await anyio.sleep_forever()
        finally:
            is_left = True

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    end: dict[str, Callable[[], object]] = {
        "rotated": house.file.rotate,
        "gone": house.file.path.unlink,
        "signed out": lambda: house.tokens.sign_out(house.browser),
    }
    house.entrance._app = app
    token = ("authorization", f"Bearer {house.browser}")
    headers = [(name.encode(), value.encode()) for name, value in [("host", OURS), token]]
    head = {"type": "http", "method": method, "path": "/api/v1/x", "headers": headers}
    asyncio.run(house.entrance(head, receive, send))  # ends, although the app would not
    assert is_left
    assert [each["body"] for each in sent[1:]] == [b"0", b"1", b""]
    assert not sent[-1]["more_body"]
    assert house.entrance.open_streams == 0


@pytest.mark.parametrize("is_begun", [True, False])
def test_what_is_cut_off_at_the_end_is_answered_and_raises_nothing(
    house: House, is_begun: bool
) -> None:
    """The web server cancels what does not end in its time, and logs what it then raises."""
    sent: list[Any] = []

    async def app(head: Any, receive: Any, send: Any) -> None:
        if is_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        at_work.set()
        await asyncio.sleep(3600)

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def work() -> None:
        headers = [("host", OURS), ("authorization", f"Bearer {house.master}")]
        told = [(name.encode(), value.encode()) for name, value in headers]
        head = {"type": "http", "method": "POST", "path": "/api/v1/x", "headers": told}
        task = asyncio.ensure_future(house.entrance(head, receive, send))
        await at_work.wait()
        task.cancel()
        await task

    at_work = asyncio.Event()
    house.entrance._app = app
    asyncio.run(work())
    assert [each.get("status") for each in sent] == ([200] if is_begun else [500, None])
    assert is_begun or json.loads(sent[1]["body"])["error"]["type"] == "failed"


# ── over sockets ────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("entrance") / "home"
    with Server(Places([Place(name=OWN, engine=holdfast.open(home))]), home=home) as server:
        yield server


def exchange(server: Server, sent: bytes, *, patience: float = 10) -> bytes:
    """What comes back for these bytes, until the server hangs up or is done."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=patience) as connection:
        connection.sendall(sent)
        found = b""
        while part := connection.recv(65_536):
            found += part
    return found


def test_bytes_on_a_socket_are_judged_alike(server: Server) -> None:
    own = server.url.removeprefix("http://")
    token = f"Authorization: Bearer {server.token}"
    body = '{"name": "mallory"}'
    write = f"Content-Type: application/json\r\nContent-Length: {len(body)}"

    def told(line: str, *headers: str, body: str = "") -> int:
        head = "\r\n".join([line, *headers, "Connection: close", "", ""])
        answer = exchange(server, (head + body).encode("latin-1"))
        assert b"\r\nserver:" not in answer.lower()
        return int(answer.split(b" ", 2)[1])

    post = "POST /api/v1/sessions HTTP/1.1"
    refused: list[tuple[int, list[str]]] = [
        (403, [post, "Host: evil.example", token, write]),
        (400, [post, f"Host: {own}", f"Host: {own}", token, write]),
        (403, [post, f"Host: {own}", "Origin: http://evil.example", token, write]),
        (403, [post, f"Host: {own}", "Origin: null", token, write]),
        (403, [post, f"Host: {own}", "Sec-Fetch-Site: cross-site", token, write]),
        (401, [post, f"Host: {own}", write]),
        (401, [post, f"Host: {own}", write, "Cookie: " + server.token]),
        (401, [f"POST /api/v1/sessions?token={server.token} HTTP/1.1", f"Host: {own}", write]),
        (401, [post, f"Host: {own}", token, token, write]),
        (401, ["POST /%2fapi/v1/sessions HTTP/1.1", f"Host: {own}", write]),
        (401, ["POST //api/v1/sessions HTTP/1.1", f"Host: {own}", write]),
        (403, [f"POST http://{own}/api/v1/sessions HTTP/1.1", f"Host: {own}", token, write]),
        (403, ["POST http://evil/api/v1/sessions HTTP/1.1", f"Host: {own}", token, write]),
        (415, [post, f"Host: {own}", token, write.replace("json", "x-json")]),
        (413, [post, f"Host: {own}", token, write.replace(str(len(body)), str(BODY_BYTES + 1))]),
        (403, ["GET /api/v1/events/stream HTTP/1.1", f"Host: {own}", token, "Upgrade: websocket"]),
        (401, ["OPTIONS /api/v1/sessions HTTP/1.1", f"Host: {own}"]),
        (400, [post, f"Host: {own}", token, write, "Transfer-Encoding: chunked"]),
        (400, ["GET / HTTP/1.1", f"Host: {own}", write, "Transfer-Encoding: chunked"]),
        (404, ["GET /api/v1/sessions/ HTTP/1.1", f"Host: {own}", token]),
    ]
    for status, lines in refused:
        assert told(*lines, body=body) == status, lines
    for line in ("GET / HTTP/1.0", "\x00\x01", "GET  HTTP/1.1"):
        answer = exchange(server, f"{line}\r\n\r\n".encode())
        assert b" 400 " in answer or b" 403 " in answer
    assert told("GET /healthz HTTP/1.1", f"Host: {own}") == 200
    assert told("HEAD / HTTP/1.1", f"Host: {own}", "Sec-Fetch-Site: cross-site") == 200
    with holdfast.open(server.token_file.parent) as engine:
        assert engine.sessions() == [], "nothing of all that changed anything"


def test_a_body_that_does_not_come_costs_one_connection_and_no_more(server: Server) -> None:
    own = server.url.removeprefix("http://")
    head = (
        f"POST /api/v1/sessions HTTP/1.1\r\nHost: {own}\r\n"
        f"Authorization: Bearer {server.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    host, port = own.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as slow:
        slow.sendall(head.encode())
        fine = f"GET /healthz HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n"
        assert b" 200 " in exchange(server, fine.encode())


def knocked(server: Server, sent: bytes) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.sendall(sent)
    return connection


def is_hung_up(connection: socket.socket) -> bool:
    """Waits for it."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_head_that_does_not_come_is_not_waited_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the first on a connection nor a later one; whoever is being answered stays."""
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.3)
    own = server.url.removeprefix("http://")
    whole = f"GET /healthz HTTP/1.1\r\nHost: {own}\r\n\r\n".encode()
    follow = f"GET /api/v1/events/stream HTTP/1.1\r\nHost: {own}\r\n"
    follow += f"Authorization: Bearer {server.token}\r\n\r\n"
    with ExitStack() as stack:
        following = stack.enter_context(knocked(server, follow.encode()))
        assert b" 200 " in following.recv(65_536)
        for sent in (b"", b"G", whole[:-2], whole + b"GET /api", whole + whole[:-1]):
            slow = stack.enter_context(knocked(server, sent))
            if sent.startswith(whole):
                answer = b""
                while b'"ok"' not in answer:
                    answer += slow.recv(65_536)
            while not is_hung_up(slow):
                pass
        following.setblocking(False)
        with suppress(BlockingIOError):
            assert following.recv(65_536), "it is still told what happens"


def test_beyond_so_many_connections_who_asks_nothing_makes_way_and_who_is_answered_stays(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = server.url.removeprefix("http://")
    whole = f"GET /healthz HTTP/1.1\r\nHost: {own}\r\n\r\n".encode()
    follow = f"GET /api/v1/events/stream HTTP/1.1\r\nHost: {own}\r\n"
    follow += f"Authorization: Bearer {server.token}\r\n\r\n"

    def is_answered(connection: socket.socket, sent: bytes, until: bytes = b'"ok"') -> bool:
        answer = b""
        try:
            connection.sendall(sent)
            while until not in answer and (part := connection.recv(65_536)):
                answer += part
        except ConnectionError:
            pass
        return b" 200 " in answer

    monkeypatch.setattr(connections, "_MOST", 3)
    with ExitStack() as stack:
        there = [stack.enter_context(knocked(server, b"GET /api")) for _ in range(6)]
        assert is_answered(stack.enter_context(knocked(server, b"")), whole)
        assert is_hung_up(there[0])
        following = []
        answered = []
        for _ in range(4):
            following.append(stack.enter_context(knocked(server, b"")))
            answered.append(is_answered(following[-1], follow.encode(), b"hello"))
        assert answered == [True, True, True, False]
        for each in following[:3]:
            each.setblocking(False)
            with suppress(BlockingIOError):
                assert each.recv(65_536), "it is still told what happens"
    monkeypatch.undo()
    with knocked(server, b"") as again:
        assert is_answered(again, whole)


# ── the app itself behind it ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["rotated", "signed out"])
def test_a_token_that_ends_during_an_answer_leaves_nothing_behind(
    home: Path, house: House, how: str
) -> None:
    """The turn ends, what was heard of it is kept, the conversation is free for the next message
    and nobody is taken for a watcher any more; anyio cancels again and again meanwhile."""
    talker = Talker(pieces=["one ", "hold", *(["more "] * 20)])
    config = {"search.embedder": "none", "model.name": talker.name, "recall.mode": "off"}
    engine = open_engine(home, models=lambda _: talker, config=config, background=False)
    place = Place(name=OWN, engine=engine)
    app = build(Places([place]))
    house.entrance._app = app
    house.entrance._gate = Gate(hosts=frozenset({"localhost"}), origins=frozenset())
    engine.session("talk")

    def asked(token: str, method: str, path: str, body: Any = None) -> Listener:
        headers = {"authorization": f"Bearer {token}"}
        if body is not None:
            headers["content-length"] = str(len(json.dumps(body)))
        return Listener(house.entrance, method, path, body, headers=headers)

    def say(token: str) -> Listener:
        return asked(token, "POST", "/sessions/talk/messages", {"text": "Go on."})

    async def work() -> None:
        watching, speaking = asked(house.browser, "GET", "/events/stream"), say(house.browser)
        async with watching, speaking:
            hello = await watching.next()
            assert hello is not None
            assert hello.event == "hello"
            assert len(follower_of(app, place)) == 1
            await speaking.next()
            heard = await speaking.next()
            assert heard is not None
            assert heard.data["text"] == "one "
            token = house.master
            if how == "rotated":
                token = house.file.rotate()
            else:
                house.tokens.sign_out(house.browser)
            talker.let_on.set()
            assert await speaking.next() is None
            await watching.all()  # up to its end
        while len(turns_of(app)):  # noqa: ASYNC110 - freed by a thread
            await asyncio.sleep(0.01)
        talker.pieces = ["Here."]  # not before: the turn that was left takes from it as well
        async with say(token) as again:
            kinds = [each.data["kind"] for each in await again.all()]
        assert kinds == ["accepted", "text", "end"]
        assert len(follower_of(app, place)) == 0

    asyncio.run(asyncio.wait_for(work(), 30))
    said = [each.message.text for each in engine.session("talk").entries() if each.message]
    assert len(said) == 4
    assert said[1].startswith("one ")
    engine.close()
