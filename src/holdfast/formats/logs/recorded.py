"""What every reader of logs gives back: a conversation, and what could not be read of it.

Promise: problems are counted without end and kept up to a bound, so that a log of nothing but
garbage costs no memory (``tests/foundation/test_logs.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from holdfast.errors import InvalidMessage
from holdfast.formats.anthropic import from_anthropic
from holdfast.formats.openai import from_openai
from holdfast.formats.wire import Wire
from holdfast.types import Json, Message

__all__ = [
    "LogFormat",
    "Problems",
    "Recorded",
    "Spoken",
    "moment",
    "objects_of",
    "read_wires",
    "time_of",
]

LogFormat = Literal["openai", "anthropic"]

_MOST_PROBLEMS: Final = 100

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

_TIME_FIELDS: Final = ("timestamp", "created_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One conversation of a log.

    ``at`` has a time or None for each message, or is empty when the log tells no time at all.
    ``id`` is empty until the conversation is given its name among the others of its log.
    """

    id: str
    messages: tuple[Message, ...]
    format: LogFormat
    tools: tuple[Mapping[str, Json], ...] = ()
    at: tuple[datetime | None, ...] = ()
    problems: tuple[str, ...] = ()


class Problems:
    """What could not be read: the first of it in words, the rest as a count."""

    def __init__(self) -> None:
        self._told: list[str] = []
        self._more = 0

    def add(self, problem: str) -> None:
        if len(self._told) < _MOST_PROBLEMS:
            self._told.append(problem)
        else:
            self._more += 1

    def drain(self) -> tuple[str, ...]:
        """All problems so far; from here on there are none."""
        more = (f"and {self._more:,} more problems",) if self._more else ()
        told = (*self._told, *more)
        self._told, self._more = [], 0
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A message as it was recorded, where it stands, and when it was said."""

    where: str
    wire: Json
    at: datetime | None = None


def read_wires(
    spoken: Sequence[Spoken], format: LogFormat, problems: Problems
) -> tuple[tuple[Message, ...], tuple[datetime | None, ...]]:
    """The messages that can be read and their times; the others are told."""
    messages: list[Message] = []
    times: list[datetime | None] = []
    for each in spoken:
        try:
            messages.append(_read(each.wire, format))
        except InvalidMessage as error:
            # The formats count from the list they are given, which is of one message here.
            problems.add(each.where + error.message.removeprefix("messages[0]"))
            continue
        times.append(each.at)
    return tuple(messages), tuple(times) if any(times) else ()


def _read(wire: Json, format: LogFormat) -> Message:
    [message] = from_openai([wire]) if format == "openai" else from_anthropic([wire])
    if message.role not in _ROLES:
        raise InvalidMessage(f" has the role {message.role!r:.40}, which no provider knows.")
    if message.form == "absent" and not message.parts and "audio" not in wire:
        raise InvalidMessage(" has no content.")
    return message


def time_of(wire: Mapping[str, Json], fields: Sequence[str] = _TIME_FIELDS) -> datetime | None:
    """The time a record tells, always with a zone: UTC where it names none."""
    for field in fields:
        if isinstance(text := wire.get(field), str) and (at := moment(text)) is not None:
            return at
    return None


def moment(value: Json) -> datetime | None:
    """A time as logs write it, in UTC: ISO text, or seconds or milliseconds since 1970.

    One that no calendar holds, be it only in UTC, is none.
    """
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def objects_of(value: Json) -> tuple[Wire, ...]:
    """The objects of a list; nothing of anything else."""
    return (
        tuple(each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()
    )
