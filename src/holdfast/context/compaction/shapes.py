"""What the steps of a compaction hand to each other, and what one leaves in the transcript.

A *plan* says which groups leave the view and how much may be written in their place; a
strategy turns it into ``Compacted``, whose ``entry_data`` is the appended entry. A summary is a
row of *parts*: each says what it is (``kind``) and which entries it came from, so that the next
compaction can carry single lines on, or let them go.

Promise: ``Previous.of(id, compacted.entry_data())`` has the parts, figures and ids that were
compacted (``tests/context/test_compaction_shapes.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from holdfast.config.keys import Strategy
from holdfast.context.blocks import Group
from holdfast.importance import Importance, importance, is_constraint, is_correction
from holdfast.types import Json, Message

__all__ = [
    "Audit",
    "Compacted",
    "CompactionPlan",
    "History",
    "Judge",
    "Kind",
    "NoCompaction",
    "Previous",
    "Price",
    "Reason",
    "Strategy",
    "SummaryPart",
    "Task",
    "TaskSpan",
    "joined",
]

Reason = Literal["threshold", "overflow", "messages", "interval", "manual"]
"""Why a compaction is wanted."""

Price: TypeAlias = Callable[[Message | str], int]
"""Tokens of a message or a text, as the blocks were priced."""

Kind = Literal[
    "lead",
    "pins",
    "goal",
    "state",
    "finding",
    "decision",
    "constraint",
    "said",
    "tried",
    "error",
    "files",
    "question",
    "next",
    "finished",
    "history",
    "identifiers",
    "text",
]
"""What a part of a summary tells. ``lead`` says what this message is; ``pins`` repeats the
texts of the configuration; ``text`` is anything written by somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryPart:
    text: str
    sources: tuple[str, ...] = ()
    kind: Kind = "text"

    def to_json(self) -> dict[str, Json]:
        return {"text": self.text, "sources": list(self.sources), "kind": self.kind}


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Figures of everything that has left the view so far: they only add up."""

    messages: int = 0
    tools: Mapping[str, int] = field(default_factory=dict)
    tasks: int = 0
    since: str | None = None  # ISO times of the first and the last of it, where they are known
    until: str | None = None

    def to_json(self) -> dict[str, Json]:
        return {
            "messages": self.messages,
            "tools": dict(self.tools),
            "tasks": self.tasks,
            "since": self.since,
            "until": self.until,
        }

    @classmethod
    def of(cls, stored: Json) -> History:
        """The figures of an entry; whatever is not a figure counts as none."""
        if not isinstance(stored, Mapping):
            return cls()
        tools = stored.get("tools")
        since, until = stored.get("since"), stored.get("until")
        return cls(
            messages=_count(stored.get("messages")),
            tools={str(k): _count(v) for k, v in tools.items()}
            if isinstance(tools, Mapping)
            else {},
            tasks=_count(stored.get("tasks")),
            since=since if isinstance(since, str) else None,
            until=until if isinstance(until, str) else None,
        )


def _count(value: Json) -> int:
    return value if isinstance(value, int) and value > 0 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The compaction that made the present view."""

    entry: str
    parts: tuple[SummaryPart, ...] = ()
    first_kept: str | None = None
    kept: tuple[str, ...] = ()
    front: tuple[str, ...] = ()  # first entries of pinned and kept groups, as they were said
    task: str | None = None  # the entry that opened the task which was active then
    cut_title: str = ""  # of the task in the midst of which the cut fell
    history: History = History()
    tokens_before: int = 0
    tokens_after: int = 0
    new_tokens: int = 0
    """Tokens that arrived since."""

    @classmethod
    def of(cls, entry: str, data: Mapping[str, Json], *, new_tokens: int = 0) -> Previous:
        """What the data of a compaction entry says; one of an older version says less."""
        return cls(
            entry=entry,
            parts=tuple(
                _part_of(part)
                for part in data.get("summary", ())
                if part.get("kind") != "receipt"  # each compaction has its own
            ),
            first_kept=data.get("first_kept"),
            kept=tuple(data.get("kept", ())),
            front=tuple(data.get("front", ())),
            task=task if isinstance(task := data.get("task"), str) else None,
            cut_title=title if isinstance(title := data.get("cut_title"), str) else "",
            history=History.of(data.get("history")),
            tokens_before=_count(data.get("tokens_before")),
            tokens_after=_count(data.get("tokens_after")),
            new_tokens=new_tokens,
        )


def _part_of(stored: Mapping[str, Json]) -> SummaryPart:
    kind: Json = stored.get("kind")
    return SummaryPart(
        text=stored.get("text", ""),
        sources=tuple(stored.get("sources", ())),
        kind=kind if kind in get_args(Kind) else "text",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpan:
    """A task as somebody recorded it: from the entry ``first`` to ``last`` (None: still open)."""

    title: str
    first: str
    last: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Groups of the conversation that belong to one piece of work.

    ``opening`` is the group in which it was asked for; None if it began before the view.
    """

    groups: tuple[Group, ...]
    opening: Group | None
    title: str
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Who says what matters; the engine's own judgement unless a test brings another."""

    importance: Callable[[Message], Importance] = importance
    is_constraint: Callable[[str], bool] = is_constraint
    is_correction: Callable[[str], bool] = is_correction


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCompaction:
    """Nothing will be compacted, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What leaves the view, what stays, and how much may be written instead.

    Entry ids of ``pins`` stand before the cut at ``first_kept``; what is pinned and stands
    behind it stays in its place. A strategy may keep groups of ``dropped``; it never drops
    others. ``released`` are former pins that now leave.
    """

    strategy: Strategy
    reason: Reason
    pins: tuple[Group, ...]
    kept: tuple[Group, ...]
    dropped: tuple[Group, ...]
    tail: tuple[Group, ...]
    sequence: tuple[str, ...]  # first entries of the groups before the cut, as they were said
    first_kept: str
    released: tuple[str, ...]
    tasks: tuple[Task, ...]
    task: str | None  # the entry that opened the active task, also if it stands in a pin
    previous: Previous | None
    config_pins: tuple[str, ...]
    language: Literal["en", "zh"]
    target: int
    fixed: int
    max_messages: int  # in the new view; 0: any number
    summary_cap: int  # tokens of the summary message beside the config pins
    pins_cost: int  # tokens of the config pins in it
    tokens_before: int
    expected_after: int
    why: str
    focus: str = ""  # what the user asked to keep in mind

    @property
    def cut_title(self) -> str:
        """What the task is called in the midst of which the cut falls."""
        for task in self.tasks:
            if any(group.first.entry == self.first_kept for group in task.groups):
                return task.title
        return ""

    @property
    def staying(self) -> int:
        """Tokens of what stays beside the summary and what else a strategy chooses to keep."""
        stays = sum(group.tokens for group in (*self.pins, *self.kept, *self.tail))
        return self.fixed + stays

    @property
    def replaced(self) -> int:
        """Tokens of what the summary takes the place of."""
        return self.tokens_before - self.staying

    @property
    def dropped_entries(self) -> tuple[str, ...]:
        return tuple(entry for group in self.dropped for entry in group.entries)

    @property
    def staying_entries(self) -> frozenset[str]:
        groups = (*self.pins, *self.kept, *self.tail)
        return frozenset(entry for group in groups for entry in group.entries)

    @property
    def pinned_entries(self) -> tuple[str, ...]:
        return tuple(entry for group in self.pins for entry in group.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What was tried before a strategy took over, and did not do."""

    fallbacks: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was checked, in figures; no word of the conversation."""

    calls: int = 0
    problems: tuple[str, ...] = ()  # of the attempts that were not used as they came
    identifiers: int = 0  # that had to be present
    identifiers_kept: int = 0  # that are
    identifiers_added: int = 0  # of these, appended because a model had left them out
    request_added: bool = False
    summary_tokens: int = 0
    shrinks: bool = True
    reaches_target: bool = True

    def to_json(self) -> dict[str, Json]:
        return {
            "calls": self.calls,
            "problems": list(self.problems),
            "identifiers": self.identifiers,
            "identifiers_kept": self.identifiers_kept,
            "identifiers_added": self.identifiers_added,
            "request_added": self.request_added,
            "summary_tokens": self.summary_tokens,
            "shrinks": self.shrinks,
            "reaches_target": self.reaches_target,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A compaction that is ready to be appended."""

    strategy: Strategy
    reason: Reason
    summary: tuple[SummaryPart, ...]
    pins: tuple[str, ...]
    kept: tuple[str, ...]
    front: tuple[str, ...]
    first_kept: str
    dropped: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    task: str | None
    cut_title: str
    history: History
    audit: Audit
    fallbacks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The summary as the view shows it."""
        return joined(self.summary)

    def entry_data(self, *, watermark: int | None = None) -> dict[str, Json]:
        """The data of the entry; ``watermark`` is the sequence number of the newest entry seen."""
        return {
            "summary": [part.to_json() for part in self.summary],
            "first_kept": self.first_kept,
            "watermark": watermark,
            "pins": list(self.pins),
            "kept": list(self.kept),
            "front": list(self.front),
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "strategy": self.strategy,
            "reason": self.reason,
            "task": self.task,
            "cut_title": self.cut_title,
            "history": self.history.to_json(),
            "audit": self.audit.to_json(),
            "fallbacks": list(self.fallbacks),
        }


def joined(parts: Sequence[SummaryPart]) -> str:
    """The text of a summary message: the same way the view puts its parts together."""
    return "\n\n".join(part.text for part in parts if part.text)
