"""What the tour tells, one fact after the other: numbers, names and quotations.

Promise: ``to_json`` of each is a line of ``holdfast demo --json``; the last one, and no other, is
the summary (``tests/doors/test_demo.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from holdfast.types import Json

if TYPE_CHECKING:
    from holdfast.context.accounting import Budget

__all__ = [
    "Answered",
    "Began",
    "Closed",
    "Compacted",
    "Ended",
    "Fact",
    "Flushed",
    "Problem",
    "Pruned",
    "Quotation",
    "Restored",
    "Said",
    "Trouble",
    "Written",
    "first_lines",
    "quotations_in",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fact:
    name: ClassVar[str] = "fact"

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__.lower()

    def to_json(self) -> dict[str, Json]:
        return {"fact": self.name, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Began(_Fact):
    """What is about to be done, and where."""

    home: str
    language: str
    who: str
    messages: int
    budget: Budget
    model: str | None = None
    """Who answers questions at the end, if somebody does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(_Fact):
    """One exchange: what the user said, which tools were used, how large the largest request
    would have been."""

    number: int
    text: str
    tools: tuple[str, ...]
    tokens: int
    budget: Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned(_Fact):
    results: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed(_Fact):
    """Messages were read for memory, and what was worth a line was written down."""

    read: int
    saved: int
    file: str | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted(_Fact):
    dropped: int
    unread: int
    """Of those, the ones that no flush had read. There should be none."""
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed(_Fact):
    said: int
    on_disk: int
    """Messages of the session that its transcript holds, word for word."""
    lines: int
    """Of memory."""
    is_pinned: bool
    """Whether the last request still had the first message, word for word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotation:
    """A passage as the model is given it: where it is from, whose word it is, what it says."""

    citation: str
    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored(_Fact):
    """What a new session begins with."""

    tokens: int
    parts: tuple[Quotation, ...]
    cut: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(_Fact):
    """A question, what memory gave to it, and what a model made of that, if there was one."""

    question: str
    passages: tuple[Quotation, ...]
    found: bool
    answer: str | None = None
    model: str | None = None
    reason: str | None = None
    """Why there are no passages, or no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(_Fact):
    """A Markdown file that the engine wrote."""

    path: str
    """From the home on."""
    bytes: int
    lines: tuple[str, ...]


Trouble: TypeAlias = Literal["unread", "lost", "too_large", "unpinned", "not_found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    kind: Trouble
    what: str
    """How many, or which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(_Fact):
    """Everything that was counted."""

    home: str
    messages: int
    on_disk: int
    dropped: int
    read: int
    prunes: int
    flushes: int
    compactions: int
    lines: int
    largest: int
    window: int
    questions: int
    found: int
    files: int
    problems: tuple[Problem, ...] = ()
    summary: bool = True


Fact: TypeAlias = (
    Began | Said | Pruned | Flushed | Compacted | Closed | Restored | Answered | Written | Ended
)

_HEADING: Final = re.compile(r"\[\d+\] ")
_HEAD_LINES: Final = 4


def quotations_in(fenced: str) -> tuple[Quotation, ...]:
    """The passages of a fence. What they say is behind a mark of quotation, so a heading is one."""
    return tuple(_quotations(fenced.splitlines()))


def _quotations(lines: list[str]) -> Iterator[Quotation]:
    heading: str | None = None
    quoted: list[str] = []
    for line in [*lines, "[0] "]:
        if line.startswith(">"):
            quoted.append(line[1:].removeprefix(" "))
        elif _HEADING.match(line):
            if heading is not None:
                citation, _, label = heading.partition(" · ")
                yield Quotation(citation=citation, label=label, lines=tuple(quoted))
            heading, quoted = _HEADING.sub("", line, count=1), []


def first_lines(file: Path) -> tuple[str, ...]:
    """The first memories of a file, or of a record its title and state."""
    shown = [each for each in file.read_text("utf-8").splitlines() if _TELLING.match(each)]
    return tuple(each.partition(" <!-- hf ")[0] for each in shown[:_HEAD_LINES])


_TELLING: Final = re.compile(r"# |> |- (?:[WBOS]\b|status:|状态)")
