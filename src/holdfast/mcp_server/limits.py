"""How much a client may send and get at once. Errors name the limit that was met."""

from __future__ import annotations

from typing import Final

__all__ = [
    "FRAME_BYTES",
    "ITEMS",
    "LISTED",
    "RESOURCE_CHARS",
    "RESULT_CHARS",
    "TEXT_CHARS",
]

FRAME_BYTES: Final = 4 * 1024 * 1024
"""One message on stdin, or the body of one request."""
TEXT_CHARS: Final = 20_000
"""One text among the arguments of a tool."""
ITEMS: Final = 100
"""Members of one list among them."""
RESULT_CHARS: Final = 60_000
"""The text of one answer."""
RESOURCE_CHARS: Final = 50_000
"""The same of a resource."""
LISTED: Final = 200
"""Resources on one page of their list."""
