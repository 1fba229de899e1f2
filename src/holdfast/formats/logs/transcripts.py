"""Transcripts of Holdfast itself: the messages of ``sessions/<name>.jsonl``.

Promise: every stored message comes back as it was stored; payloads that were set aside as
artifacts are told, because a line holds only where they are (``tests/foundation/test_logs.py``).
Not here: checksums and repair. ``sessions`` has those; a log may have been rewritten by others.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from holdfast.errors import InvalidMessage
from holdfast.formats.logs.recorded import LogFormat, Problems, Recorded, time_of
from holdfast.formats.parsing import parse_message
from holdfast.formats.wire import ANTHROPIC, OPENAI, Wire
from holdfast.types import Message, Opaque, Part, Thinking, ToolResult

__all__ = ["Transcript"]

_UNREADABLE: Final = (KeyError, TypeError, AttributeError, ValueError)


class Transcript:
    """The entries of one transcript, as they come."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._at: list[datetime | None] = []
        self._problems = Problems()
        self._is_seen = False

    def add(self, line: int, entry: Wire) -> None:
        self._is_seen = True
        if entry["type"] != "message":
            return
        data = entry.get("data")
        try:
            message = parse_message(Message.from_json(data))  # type: ignore[arg-type]
        except InvalidMessage as error:
            self._problems.add(f"line {line}: {error.message}")
            return
        except _UNREADABLE as error:
            self._problems.add(f"line {line}: not a stored message ({type(error).__name__})")
            return
        self._messages.append(message)
        self._at.append(time_of(entry, ("at",)))
        aside = data.get("artifacts") if isinstance(data, dict) else None
        if isinstance(aside, list) and aside:
            self._problems.add(
                f"line {line}: {len(aside)} large payloads are stored beside the transcript "
                "and are not read here"
            )

    def finish(self) -> Iterator[Recorded]:
        if self._is_seen:
            yield Recorded(
                id="",
                messages=tuple(self._messages),
                format=_format_of(self._messages),
                at=tuple(self._at) if any(self._at) else (),
                problems=self._problems.drain(),
            )


def _format_of(messages: list[Message]) -> LogFormat:
    """The provider that the messages were appended for, as far as they still tell."""
    for message in messages:
        if message.role in ("tool", "function"):
            return "openai"
        for part in message.parts:
            if isinstance(part, Opaque):
                if part.format.startswith(OPENAI):
                    return "openai"
                if part.format == ANTHROPIC:
                    return "anthropic"
            elif ANTHROPIC in part.extra or isinstance(part, ToolResult) or _is_signed(part):
                return "anthropic"
    return "openai"


def _is_signed(part: Part) -> bool:
    return isinstance(part, Thinking) and part.signature is not None
