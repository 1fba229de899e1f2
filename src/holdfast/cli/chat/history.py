"""What was typed before: read from the conversations themselves.

No file of its own: what is erased or never kept (incognito) is not in the history either, and
what is there is as private as the transcripts.

Promise: the newest first, each once in a row, only what the person said
(``tests/doors/test_chat.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from holdfast.cli.chat.opening import PREFIX
from holdfast.engine.session import Session
from holdfast.errors import HoldfastError
from holdfast.sessions.shapes import message_of

if TYPE_CHECKING:
    from holdfast.engine.facade import Engine

__all__ = ["said_before"]

_SESSIONS: Final = 10
_ENTRIES: Final = 300
_LONGEST: Final = 20_000
"""Characters: what is longer was pasted, and nobody steps back to it."""


def said_before(engine: Engine, current: str | None) -> Iterator[str]:
    """What the person said in this conversation and the last ones that were begun here."""
    store = engine._rooms.store
    names = sorted((n for n in store.names() if n.startswith(PREFIX)), key=_order, reverse=True)
    if current is not None:
        names = [current, *(name for name in names if name != current)]
    last = None
    for name in names[:_SESSIONS]:
        with suppress(HoldfastError):  # a conversation that cannot be read has none to offer
            for entry in reversed(Session(engine._rooms, name).entries(last=_ENTRIES)):
                message = message_of(entry) if entry.type == "message" else None
                if message is None or message.role != "user" or message.tool_results:
                    continue
                text = message.text
                if text and text != last and len(text) <= _LONGEST:
                    last = text
                    yield text


def _order(name: str) -> tuple[str, int]:
    day, _, number = name.rpartition("-")
    return day, int(number) if number.isdecimal() else 0
