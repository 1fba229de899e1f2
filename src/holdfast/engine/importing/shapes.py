"""What the parts of an import hand to each other, and what it tells in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, Protocol

from holdfast.formats.logs.said import About
from holdfast.types import Json, Message

__all__ = [
    "CONVERSATIONS",
    "SOURCES",
    "Done",
    "Heard",
    "Imported",
    "Progress",
    "Source",
    "SourceFile",
    "Tally",
    "Told",
    "Trouble",
]

Source = Literal[
    "claude-code",
    "codex",
    "openclaw",
    "chatgpt",
    "claude",
    "openai",
    "anthropic",
    "markdown",
]
CONVERSATIONS: Final[tuple[Source, ...]] = (
    "claude-code",
    "codex",
    "openclaw",
    "chatgpt",
    "claude",
    "openai",
    "anthropic",
)
SOURCES: Final[tuple[Source, ...]] = (*CONVERSATIONS, "markdown")

_MOST_TOLD: Final = 20


class Progress(Protocol):
    """Told as an import goes on: of what, how much of how much."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that may be brought in, as it was listed."""

    path: Path
    source: Source | None
    """Whose it is, by its place; None: its content tells."""
    size: int
    modified_ns: int
    root: Path | None = None
    """The folder it was found in; None if it was named itself."""

    @property
    def key(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One message of a conversation elsewhere."""

    message: Message
    key: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The same, with the conversation it is of; ``about`` is one object for all of its messages."""

    source: Source
    about: About
    heard: Heard


class Trouble:
    """What could not be read: the first of it in words, the rest as a count."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.more = 0

    def add(self, problem: str) -> None:
        if len(self.told) < _MOST_TOLD:
            self.told.append(problem)
        else:
            self.more += 1

    def words(self) -> list[str]:
        return [*self.told, *([f"and {self.more:,} more problems"] if self.more else [])]


@dataclass(slots=True, kw_only=True)
class Tally:
    """The sums of one source."""

    files: int = 0
    unchanged: int = 0
    """Files that were not read, because they are as they were."""
    bytes: int = 0
    conversations: int = 0
    new_conversations: int = 0
    messages: int = 0
    new_messages: int = 0
    notes: int = 0
    new_notes: int = 0
    first: str | None = None
    last: str | None = None

    def saw(self, at: datetime) -> None:
        text = at.isoformat()
        self.first = text if self.first is None else min(self.first, text)
        self.last = text if self.last is None else max(self.last, text)

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(slots=True, kw_only=True)
class Done:
    """What an import did, or would do."""

    id: str | None = None
    """What takes it back; None if it changed nothing."""
    is_dry: bool = False
    tallies: dict[str, Tally] = field(default_factory=dict)
    left: dict[str, dict[str, int]] = field(default_factory=dict)
    """What was left out, by source and kind."""
    trouble: Trouble = field(default_factory=Trouble)
    sessions: list[str] = field(default_factory=list)
    """The sessions that got something new."""
    memory_lines: int = 0

    def tally(self, source: str) -> Tally:
        return self.tallies.setdefault(source, Tally())

    def leave(self, source: str, counts: Mapping[str, int]) -> None:
        held = self.left.setdefault(source, {})
        for what, count in counts.items():
            held[what] = held.get(what, 0) + count

    def to_json(self) -> dict[str, Json]:
        return {
            "import": self.id,
            "dry_run": self.is_dry,
            "sources": {name: tally.to_json() for name, tally in self.tallies.items()},
            "left_out": {name: counts for name, counts in self.left.items() if counts},
            "problems": self.trouble.words(),
            "memory_lines": self.memory_lines,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One conversation after it was brought in."""

    session: str | None
    """Its name here; None if nobody says anything in it."""
    new: int
    total: int
    problems: tuple[str, ...] = ()
