"""Servers of models: found where they are, not where they are not, and never for long."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from typing import Any

import pytest

from holdfast.models import servers
from holdfast.models.hosted import server_model
from holdfast.models.names import split_name
from holdfast.models.servers import (
    SERVER_KINDS,
    Kind,
    Served,
    Server,
    find_servers,
    is_loopback,
    is_loopback_host,
    look_at,
    shown_address,
)
from holdfast.ports import StreamingModel, traits_of
from tests.models.hosting import TOOL, Sleeps, ask, run
from tests.models.wire_server import Fail, Hang, Raw, Say, WireServer, wire_server

TAGS = {
    "models": [
        {"name": "qwen3:8b", "details": {"family": "qwen3"}},
        {"name": "nomic-embed-text:latest"},
        {"name": "llama3.2:latest"},
        {"size": 3},
        "rubbish",
    ]
}
LIST = {"object": "list", "data": [{"id": "qwen2.5-7b-instruct"}, {"id": "text-embedding-bge"}]}


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as running:
        yield running


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> dict[Kind, int]:
    """The usual ports, on which nobody is."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = free.getsockname()[1]
    found: dict[Kind, int] = {"ollama": nobody, "llamacpp": nobody, "lmstudio": nobody}
    monkeypatch.setattr(servers, "_PORTS", found)
    return found


def test_nobody_there_is_an_empty_list(ports: Mapping[Kind, int]) -> None:
    assert find_servers(seconds=5) == []


def test_ollama_is_found_once_with_the_models_that_can_speak(
    server: WireServer, ports: dict[Kind, int]
) -> None:
    ports["ollama"] = server.port
    server.pages["/api/tags"] = TAGS
    (found,) = find_servers(seconds=5)
    assert found == Server(
        kind="ollama",
        base_url=f"http://127.0.0.1:{server.port}",
        models=("qwen3:8b", "llama3.2:latest"),
    )
    assert found.openai_url == f"http://127.0.0.1:{server.port}/v1"


def test_llama_cpp_and_lm_studio_are_found_in_their_order(
    server: WireServer, ports: dict[Kind, int]
) -> None:
    server.pages["/v1/models"] = LIST
    with wire_server() as other:
        other.pages["/v1/models"] = LIST
        ports |= {"llamacpp": other.port, "lmstudio": server.port}
        found = find_servers(seconds=5)
    assert [each.kind for each in found] == ["llamacpp", "lmstudio"]
    assert {each.models for each in found} == {("qwen2.5-7b-instruct",)}


PAGES: list[Any] = [
    Raw(b"<html>Jenkins</html>", type="text/html"),
    Raw(b"[1, 2"),
    Raw(b"[" * 100_000),
    Raw(b'"text"'),
    Fail(301, b""),
    Fail(500, {"error": "x"}),
    {"data": "not a list"},
    Raw(b'{"data": [' + b" " * 5_000_000 + b"]}"),
]


@pytest.mark.parametrize("page", PAGES, ids=range(len(PAGES)))
def test_whatever_else_listens_there_is_not_taken_for_one(
    server: WireServer, ports: dict[Kind, int], page: Any
) -> None:
    ports |= {"ollama": server.port, "llamacpp": server.port}
    server.pages |= {"/api/tags": page, "/v1/models": page}
    assert find_servers(seconds=10) == []


def test_who_says_nothing_costs_no_more_than_the_time_given(
    server: WireServer, ports: dict[Kind, int]
) -> None:
    """And keeps nobody else from being found: all are asked at once."""
    ports["llamacpp"] = server.port
    server.pages["/v1/models"] = Hang()
    with wire_server() as other:
        other.pages["/v1/models"] = LIST
        ports["lmstudio"] = other.port
        assert [each.kind for each in find_servers(seconds=1.0)] == ["lmstudio"]
    assert 1 <= len(server.read) <= 2


def test_only_this_machine_is_asked_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(self: object, host: str, *_: object, **__: object) -> None:
        asked.append(host)
        raise OSError

    monkeypatch.setattr(HTTPConnection, "__init__", note)
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    assert find_servers(seconds=5) == []
    assert set(asked) == {"127.0.0.1", "localhost"}


@pytest.mark.parametrize("path", ["", "/", "/v1"])
def test_the_configured_address_alone_is_asked(
    server: WireServer, ports: dict[Kind, int], path: str
) -> None:
    server.pages["/v1/models"] = LIST
    (found,) = find_servers(base_url=f"http://127.0.0.1:{server.port}{path}", seconds=5)
    assert found.kind == "server"
    assert found.openai_url == f"http://127.0.0.1:{server.port}/v1"
    assert found.models == ("qwen2.5-7b-instruct",)


def test_an_address_that_asks_for_a_key_is_there_without_a_list(server: WireServer) -> None:
    server.pages["/v1/models"] = lambda request: (
        LIST if request.headers.get("authorization") == "Bearer k" else Fail(401, {"error": "key"})
    )
    url = f"http://127.0.0.1:{server.port}/v1"
    assert find_servers(base_url=url, seconds=5)[0].models == ()
    assert find_servers(base_url=url, seconds=5, api_key="k")[0].models
    assert find_servers(base_url="http://127.0.0.1:9", seconds=5) == []


def test_what_this_machine_is() -> None:
    for url in (
        "http://127.0.0.1:1",
        "http://localhost",
        "http://[::1]:8080/v1",
        "http://127.1.2.3",
    ):
        assert is_loopback(url)
    for url in (
        "http://127.0.0.1.example.org",
        "http://example.org",
        "",
        "http://10.0.0.1",
        "http://127.0.0.1@example.org",
        "http://127.999.0.1",
        "http://[::1",
    ):
        assert not is_loopback(url)
    assert is_loopback_host("[::1]")
    assert not is_loopback_host("0.0.0.0")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        (
            "https://me:hunter2@Models.example:1/v1?key=hunter2#hunter2",
            "https://Models.example:1/v1",
        ),
        ("http://a@b:hunter2@[::1]:9", "http://[::1]:9"),
        ("me:hunter2@models.example/v1?k=hunter2", "models.example/v1"),
        ("http://me:hunter2/x@models.example", "an address that cannot be read"),
        ("http://me:hunter2@[::1", "an address that cannot be read"),
        ("http://me:hunter2@host/\x1b[2J", "http://host/\\x1b[2J"),
    ],
)
def test_an_address_is_shown_without_what_is_secret_in_it(url: str, shown: str) -> None:
    assert shown_address(url) == shown


def test_the_kinds_of_servers_are_names_of_providers() -> None:
    assert set(SERVER_KINDS) == {"ollama", "llamacpp", "lmstudio", "server"}
    assert [split_name(f"{kind}:m:1") for kind in SERVER_KINDS] == [
        (kind, "m:1") for kind in SERVER_KINDS
    ]


# ── what a model can read ───────────────────────────────────────────────────────────────────

SHOWN = {
    "capabilities": ["completion", "tools"],
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
}


@pytest.mark.parametrize(
    ("kind", "pages", "served"),
    [
        ("ollama", {"/api/show": SHOWN}, Served(window=4_096)),
        (
            "ollama",
            {"/api/show": SHOWN | {"parameters": 'stop "<|im|>"\nnum_ctx                 16384\n'}},
            Served(window=16_384),
        ),
        (
            "ollama",
            {
                "/api/show": SHOWN,
                "/api/ps": {"models": [{"name": "m", "context_length": 32_768}]},
            },
            Served(window=32_768),
        ),
        (
            "ollama",
            {
                "/api/show": {
                    "capabilities": ["completion"],
                    "model_info": {"x.context_length": 2_048},
                }
            },
            Served(window=2_048, tool_calls=False),
        ),
        ("ollama", {}, Served()),
        (
            "llamacpp",
            {"/props": {"default_generation_settings": {"n_ctx": 8_192}}},
            Served(window=8_192),
        ),
        ("llamacpp", {"/props": Raw(b"no")}, Served()),
        (
            "lmstudio",
            {"/api/v0/models": {"data": [{"id": "m", "loaded_context_length": 12_000}]}},
            Served(window=12_000),
        ),
        (
            "server",
            {"/v1/models": {"data": [{"id": "m", "max_model_len": 65_536}]}},
            Served(window=65_536),
        ),
        ("server", {"/props": {"n_ctx": 512}}, Served(window=512)),
        ("server", {"/v1/models": {"data": [{"id": "m", "max_model_len": "many"}]}}, Served()),
    ],
)
def test_a_server_says_what_its_model_can_read(
    server: WireServer, kind: Kind, pages: dict[str, Any], served: Served
) -> None:
    server.pages |= {"/api/show": Fail(404, {}), **pages}
    at = Server(kind=kind, base_url=server.anthropic_url, models=("m",))
    assert look_at(at, "m", seconds=5) == served


# ── talking to one ──────────────────────────────────────────────────────────────────────────


def made(server: WireServer, kind: Kind, **about: Any) -> StreamingModel:
    at = Server(kind=kind, base_url=server.anthropic_url, models=("m",))
    return server_model(at, "m", timeout_seconds=20, retries=1, sleep=Sleeps(), **about)


@pytest.mark.parametrize("kind", ["ollama", "llamacpp", "lmstudio", "server"])
def test_a_model_on_a_server_is_spoken_to_directly(
    server: WireServer, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.pages |= {"/api/show": SHOWN, "/props": {"n_ctx": 4_096}}
    server.script([Say("Hello.", input_tokens=12)])
    model = made(server, kind, api_key="k")
    reply = run(model.complete(ask(tools=[TOOL], max_tokens=50)))
    assert reply.message.text == "Hello."
    assert reply.usage is not None
    assert reply.usage.context_tokens == 12
    assert model.name == f"{kind}:m"
    assert traits_of(model).is_local
    assert traits_of(model).cost(reply.usage) == 0.0
    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer k"
    assert 50 in (sent.json.get("max_tokens"), sent.json.get("max_completion_tokens"))
    assert sent.json["tools"]


def test_a_model_without_tools_is_offered_none(server: WireServer) -> None:
    server.pages["/api/show"] = {"capabilities": ["completion"]}
    server.script([Say("Hello.")])
    model = made(server, "ollama")
    assert not traits_of(model).tool_calls
    run(model.complete(ask(tools=[TOOL])))
    assert "tools" not in server.requests[0].json


def test_a_server_that_never_says_why_it_stopped_is_believed(server: WireServer) -> None:
    chunk = b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m",'
    chunk += b'"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi."}}]}\n\n'
    server.script([Raw(chunk + b"data: [DONE]\n\n", type="text/event-stream")])
    assert run(made(server, "server").complete(ask())).message.text == "Hi."
