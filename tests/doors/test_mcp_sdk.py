"""One server, two SDKs: what differs between them is hidden in one place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from holdfast.errors import UsageError
from holdfast.mcp_server import sdk as shim
from holdfast.mcp_server.answers import METHODS, Refused
from holdfast.mcp_server.sdk import NewSdk, OldSdk, sdk
from holdfast.types import Json

CALLED = {"name": "memory_search", "arguments": {"query": "x"}}


def answer(method: str, given: Mapping[str, Json]) -> dict[str, Json]:
    """Answers that say what was asked."""
    if method == "resources/read":
        raise Refused(-32602, f"no {given['uri']}")
    if method == "tools/call":
        return {"content": [], "structuredContent": dict(given), "isError": False}
    return {"tools": [], "resources": [], "resourceTemplates": [], "prompts": []}


def test_every_method_has_a_handler_in_both() -> None:
    assert set(shim._HANDLERS) == set(METHODS)


def test_the_installed_sdk_is_the_new_one() -> None:
    assert isinstance(sdk(), NewSdk)


def test_a_server_of_the_new_sdk_answers_a_real_client() -> None:
    async def work() -> None:
        async with Client(sdk().server(answer)) as client:
            called = await client.call_tool("memory_search", {"query": "x"})
            assert called.structured_content is not None
            assert CALLED.items() <= called.structured_content.items()
            assert (await client.list_tools()).tools == []
            with pytest.raises(MCPError, match="no memory://x") as refused:
                await client.read_resource("memory://x")
            assert refused.value.code == -32602

    anyio.run(work)


# ── 1.x ─────────────────────────────────────────────────────────────────────────────────────


@dataclass
class OldResult:
    """In 1.x every result is wrapped."""

    root: Any


class OldServer:
    """What the low-level server of 1.x is to those who use it."""

    def __init__(self, name: str, *, version: str, instructions: str) -> None:
        self.about = (name, version, instructions)
        self.request_handlers: dict[type, Any] = {}


class OldError(Exception):
    def __init__(self, error: Any) -> None:
        super().__init__(error.message)
        self.error = error


def test_a_server_of_the_old_sdk_finds_handlers_by_the_type_of_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old_types = SimpleNamespace(**{**vars(types), "ServerResult": OldResult})
    monkeypatch.setattr("mcp.shared.exceptions.McpError", OldError, raising=False)
    server = OldSdk(old_types, SimpleNamespace(Server=OldServer)).server(answer)
    assert server.about[0] == "holdfast"
    assert len(server.request_handlers) == len(METHODS)
    handlers = server.request_handlers

    async def work() -> None:
        params = types.CallToolRequestParams.model_validate(CALLED)
        called = await handlers[types.CallToolRequest](SimpleNamespace(params=params))
        assert isinstance(called, OldResult)
        assert isinstance(called.root, types.CallToolResult)
        assert CALLED.items() <= called.root.structured_content.items()
        # 1.x asks itself for the tools, without a request.
        listed = await handlers[types.ListToolsRequest](None)
        assert listed.root.tools == []
        uri = types.ReadResourceRequestParams.model_validate({"uri": "memory://x"})
        with pytest.raises(OldError, match="no memory://x") as refused:
            await handlers[types.ReadResourceRequest](SimpleNamespace(params=uri))
        assert refused.value.error.code == -32602

    anyio.run(work)


def test_frames_are_read_and_written_as_each_sdk_does() -> None:
    frame = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
    found = sdk()
    assert json.loads(found.write(found.read(frame))) == json.loads(frame)
    for wrong in (
        b"{",
        b"[]",
        b'"x"',
        b'{"jsonrpc":"1.0","id":1,"method":"x"}',
        b"\xff",
        b"[" * 9999,
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            found.read(wrong)


def test_without_an_sdk_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(shim, "import_module", missing)
    with pytest.raises(UsageError, match=r"pip install 'holdfast\[mcp\]'"):
        sdk.__wrapped__()

    def broken(name: str) -> None:
        raise ImportError(f"cannot import name 'x' from {name!r}")

    monkeypatch.setattr(shim, "import_module", broken)
    with pytest.raises(UsageError, match="cannot be loaded"):
        sdk.__wrapped__()
