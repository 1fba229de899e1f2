"""A message of a log, as it comes: what identifies it, its wire form, its time.

Promise: whatever of a log is no message is counted by what it is, up to a bound of names
(``tests/foundation/test_logs_sources.py``). Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Final, Protocol

from holdfast.formats.logs.recorded import LogFormat, Problems, Recorded, Spoken, read_wires
from holdfast.formats.wire import Wire
from holdfast.text import cut
from holdfast.types import Json

__all__ = ["About", "Left", "LineReader", "Said", "Talk", "key_of", "recorded_of", "text_in"]

_MOST_KINDS: Final = 50
_OTHERS: Final = "records of further kinds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message. Without a ``key`` only its content and its place identify it."""

    wire: Wire
    key: str = ""
    at: datetime | None = None
    id: str = ""
    """Its own id in a tree of messages, and that of the one it follows."""
    parent: str | None = None


class Left:
    """How much of a log is no part of the conversation, by what it is."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, what: str, count: int = 1) -> None:
        name = cut(what, 80) or "records without a kind"
        if name not in self.counts and len(self.counts) >= _MOST_KINDS:
            name = _OTHERS
        self.counts[name] = self.counts.get(name, 0) + count


@dataclass(slots=True, kw_only=True)
class About:
    """What a log tells about its conversation; known as far as it was read."""

    id: str = ""
    project: str = ""
    """The folder that was worked in."""
    title: str = ""
    began: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Talk:
    """A conversation that stands in one value."""

    about: About
    format: LogFormat
    said: list[Said] = field(default_factory=list)
    left: Left = field(default_factory=Left)


class LineReader(Protocol):
    """Reads a log of one conversation line by line, and holds none of it."""

    @property
    def format(self) -> LogFormat: ...

    @property
    def about(self) -> About: ...

    @property
    def left(self) -> Left: ...

    def add(self, value: Wire) -> Sequence[Said]:
        """The messages of one more line; usually one or none."""
        ...


def recorded_of(
    said: Sequence[tuple[int, Said]], *, id: str, format: LogFormat, left: Left
) -> Recorded:
    """The same as a conversation to be replayed; each message with the line it stands in."""
    problems = Problems()
    spoken = [
        Spoken(where=f"line {line}: the message", wire=each.wire, at=each.at) for line, each in said
    ]
    messages, at = read_wires(spoken, format, problems)
    for what, count in left.counts.items():
        problems.add(f"{count:,} {what} left out")
    return Recorded(id=id, messages=messages, format=format, at=at, problems=problems.drain())


def key_of(name: str, said: Json) -> str:
    """What a message is known by that has a name: also what it says, because programs give one
    name to two messages. Without a name there is no key."""
    if not name:
        return ""
    try:
        written = json.dumps(said, sort_keys=True, ensure_ascii=True)
    except RecursionError:
        return name  # nested deeper than any message may be: it is refused later, and named
    return f"{name} {sha256(written.encode()).hexdigest()[:16]}"


def text_in(wire: Mapping[str, Json], name: str) -> str:
    """A field, if it is text."""
    value = wire.get(name)
    return value if isinstance(value, str) else ""
