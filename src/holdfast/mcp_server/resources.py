"""Memory files and conversations as resources: ``memory://MEMORY.md``, ``memory://sessions/NAME``.

Promise: a URI means a file of the client's own place or nothing; what it holds comes quoted as
data (``tests/doors/test_mcp_answers.py``).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

from holdfast.engine.facade import Engine
from holdfast.engine.tools.clients import memory_files, open_sessions, read_memory, read_session
from holdfast.errors import NotFound, UsageError
from holdfast.mcp_server.limits import LISTED, RESOURCE_CHARS
from holdfast.text import cut
from holdfast.types import Json

__all__ = ["listed", "read", "templates"]

_SCHEME: Final = "memory://"
_SESSIONS: Final = "sessions/"
_MARKDOWN: Final = "text/markdown"
_MOST_SESSIONS: Final = 100
_LONGEST: Final = 2_000


def templates() -> list[dict[str, Json]]:
    return [
        {
            "uriTemplate": _SCHEME + "{+path}",
            "name": "memory file",
            "title": "A memory file",
            "description": "MEMORY.md, memory/2026-11-16.md, memory/topics/… as memory_get reads.",
            "mimeType": _MARKDOWN,
        },
        {
            "uriTemplate": _SCHEME + _SESSIONS + "{name}",
            "name": "conversation",
            "title": "A conversation",
            "description": "The last of a conversation, as a page.",
            "mimeType": _MARKDOWN,
        },
    ]


def listed(engine: Engine, cursor: str | None) -> dict[str, Json]:
    """A page of what there is, in the order of the URIs; ``cursor`` is the last one of the page
    before, so that what is written meanwhile does not shift the pages."""
    sessions = [_SESSIONS + each for each in open_sessions(engine, most=_MOST_SESSIONS)]
    found = sorted((uri_of(each), each) for each in [*memory_files(engine), *sessions])
    rest = [each for each in found if cursor is None or each[0] > cursor]
    page = rest[:LISTED]
    shown = {"resources": [{"uri": uri, "name": each, "mimeType": _MARKDOWN} for uri, each in page]}
    return shown | ({"nextCursor": page[-1][0]} if len(rest) > len(page) else {})


def read(engine: Engine, uri: str) -> dict[str, Json]:
    """What a URI stands for."""
    path = _path_of(uri)
    if path.startswith(_SESSIONS):
        text = read_session(engine, path.removeprefix(_SESSIONS), most=RESOURCE_CHARS)
    else:
        text = read_memory(engine, path, most=RESOURCE_CHARS)["text"]
    return {"contents": [{"uri": uri, "mimeType": _MARKDOWN, "text": text}]}


def uri_of(path: str) -> str:
    return _SCHEME + quote(path)


def _path_of(uri: str) -> str:
    if len(uri) > _LONGEST:
        raise UsageError(f"A URI of {len(uri):,} characters; the limit is {_LONGEST:,}.")
    if not uri.startswith(_SCHEME):
        raise NotFound(
            f"{cut(uri, 80)!r} is no resource of Holdfast.", hint="They begin with memory://"
        )
    path = uri.removeprefix(_SCHEME)
    if "?" in path or "#" in path:
        raise UsageError(
            f"{cut(uri, 80)!r}: a resource is a whole file.",
            hint="Some lines of it: memory_get with path#L3-L9",
        )
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError:
        raise UsageError(f"{cut(uri, 80)!r} is not UTF-8.") from None
