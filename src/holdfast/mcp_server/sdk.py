"""The one place that knows the MCP SDK: 2.x, and 1.x with the same behaviour.

Both give a low-level server that is told schemas instead of guessing them from functions. What
differs is how handlers are registered, what an error is called, and how a message is written;
nothing else of Holdfast sees the difference (``tests/doors/test_mcp_sdk.py``; with 1.x
installed somewhere, ``tests/doors/test_mcp_old_sdk.py`` runs the whole server on it).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol

import anyio
from anyio.to_thread import run_sync

from holdfast._version import __version__
from holdfast.errors import UsageError
from holdfast.mcp_server.answers import INSTRUCTIONS, Refused
from holdfast.types import Json

__all__ = ["Answer", "Sdk", "sdk"]

Answer = Callable[[str, Mapping[str, Json]], dict[str, Json]]

_THREADS: Final = 8
"""Calls of one client that are worked on at once."""

# method: (the keyword of 2.x, the request of 1.x, the result of both)
_HANDLERS: Final = {
    "tools/list": ("on_list_tools", "ListToolsRequest", "ListToolsResult"),
    "tools/call": ("on_call_tool", "CallToolRequest", "CallToolResult"),
    "resources/list": ("on_list_resources", "ListResourcesRequest", "ListResourcesResult"),
    "resources/templates/list": (
        "on_list_resource_templates",
        "ListResourceTemplatesRequest",
        "ListResourceTemplatesResult",
    ),
    "resources/read": ("on_read_resource", "ReadResourceRequest", "ReadResourceResult"),
    "prompts/list": ("on_list_prompts", "ListPromptsRequest", "ListPromptsResult"),
    "prompts/get": ("on_get_prompt", "GetPromptRequest", "GetPromptResult"),
}


class Sdk(Protocol):
    """What the transports need of an SDK."""

    def server(self, answer: Answer) -> Any:
        """A server that answers with these answers."""
        ...

    def manager(self, server: Any) -> Any:
        """What answers single HTTP requests with that server."""
        ...

    def read(self, frame: bytes) -> Any:
        """The message in a frame, as the server reads it.

        Raises:
            ValueError: it is none.
        """
        ...

    def write(self, message: Any) -> bytes:
        """The frame of a message that the server writes."""
        ...


@cache
def sdk() -> Sdk:
    """The SDK that is installed.

    Raises:
        UsageError: none is.
    """
    try:
        types = import_module("mcp.types")
        lowlevel = import_module("mcp.server.lowlevel")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The MCP SDK is not installed ({error.name} is missing).",
            hint="pip install 'holdfast[mcp]'",
        ) from None
    except ImportError as error:  # an old one beside a newer library that it uses
        raise UsageError(
            f"The MCP SDK that is installed cannot be loaded: {error}.",
            hint="pip install --upgrade 'holdfast[mcp]' mcp",
        ) from None
    is_new = find_spec("mcp.server.mcpserver") is not None
    return NewSdk(types, lowlevel) if is_new else OldSdk(types, lowlevel)


class _Common:
    def __init__(self, types: Any, lowlevel: Any) -> None:
        self._types = types
        self._lowlevel = lowlevel

    def manager(self, server: Any) -> Any:
        module = import_module("mcp.server.streamable_http_manager")
        # Nothing is kept between requests: a token that is taken away is gone at once, and
        # nobody can open sessions until the memory is full.
        return module.StreamableHTTPSessionManager(app=server, json_response=True, stateless=True)

    def _wrapped(self, message: Any) -> Any:
        return import_module("mcp.shared.message").SessionMessage(message)

    def _result(self, method: str, found: Mapping[str, Json]) -> Any:
        return getattr(self._types, _HANDLERS[method][2]).model_validate(found)


class NewSdk(_Common):
    """SDK 2.x: handlers are given when the server is made."""

    def server(self, answer: Answer) -> Any:
        limiter = anyio.CapacityLimiter(_THREADS)
        handlers = {
            keyword: self._handler(partial(_answered, answer, limiter, method), method)
            for method, (keyword, _, _) in _HANDLERS.items()
        }
        return self._lowlevel.Server(
            "holdfast", version=__version__, instructions=INSTRUCTIONS, **handlers
        )

    def _handler(
        self, answered: Callable[[Any], Awaitable[dict[str, Json]]], method: str
    ) -> Callable[[Any, Any], Awaitable[Any]]:
        async def handle(context: Any, params: Any) -> Any:
            del context
            try:
                return self._result(method, await answered(params))
            except Refused as refused:
                error = import_module("mcp.shared.exceptions").MCPError
                raise error(refused.code, refused.message) from None

        return handle

    def read(self, frame: bytes) -> Any:
        adapter = self._types.jsonrpc_message_adapter
        return self._wrapped(adapter.validate_json(frame, by_name=False))

    def write(self, message: Any) -> bytes:
        written: str = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        return written.encode()


class OldSdk(_Common):
    """SDK 1.x: handlers are found by the type of the request."""

    def server(self, answer: Answer) -> Any:
        limiter = anyio.CapacityLimiter(_THREADS)
        server = self._lowlevel.Server("holdfast", version=__version__, instructions=INSTRUCTIONS)
        for method, (_, request, _) in _HANDLERS.items():
            answered = partial(_answered, answer, limiter, method)
            kind = getattr(self._types, request)
            server.request_handlers[kind] = self._handler(answered, method)
        return server

    def _handler(
        self, answered: Callable[[Any], Awaitable[dict[str, Json]]], method: str
    ) -> Callable[[Any], Awaitable[Any]]:
        async def handle(request: Any) -> Any:
            try:
                found = await answered(getattr(request, "params", None))
            except Refused as refused:
                error = import_module("mcp.shared.exceptions").McpError
                said = self._types.ErrorData(code=refused.code, message=refused.message)
                raise error(said) from None
            return self._types.ServerResult(self._result(method, found))

        return handle

    def read(self, frame: bytes) -> Any:
        return self._wrapped(self._types.JSONRPCMessage.model_validate_json(frame))

    def write(self, message: Any) -> bytes:
        written: str = message.message.model_dump_json(by_alias=True, exclude_none=True)
        return written.encode()


async def _answered(
    answer: Answer, limiter: anyio.CapacityLimiter, method: str, params: Any
) -> dict[str, Json]:
    """The answer, in a thread. One that has begun is finished whatever the client does: what is
    being saved must not stop half-way."""
    given = {} if params is None else params.model_dump(mode="json", by_alias=True)
    kept = {key: value for key, value in given.items() if value is not None}
    return await run_sync(answer, method, kept, limiter=limiter)
