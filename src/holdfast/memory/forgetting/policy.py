"""Which memories may leave: by age, by importance, by the size of all files; and which never.

A unit is one memory line of a daily, topic or bank file, with what belongs to it, or one closed
task record. Everything else in the files is people's prose and is not looked at. Kept whatever
the policy says: MEMORY.md and the identity files, rules ("never …", 绝不), corrections, what a
person confirmed, open tasks, and the kinds a policy names.

Promise: pure; the same memories at the same moment give the same plan; nothing protected is in
it; with a limit of size the plan reaches it or everything that may leave is in it
(``tests/memory/test_forgetting.py``). What moves is ``archive``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from holdfast.importance import importance, is_constraint, is_correction
from holdfast.markdown import split_lines
from holdfast.memory.tasks.record import Task
from holdfast.retain import RetainLine, line_id
from holdfast.retain.documents import lines
from holdfast.types import Message

__all__ = [
    "ForgetPlan",
    "Forgotten",
    "Policy",
    "Record",
    "Remembered",
    "keep_score",
    "line_importance",
    "plan_forgetting",
    "protection",
    "remembered_in",
    "task_importance",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may leave. Age and importance together: both must hold. Size is on top of them.

    ``protect`` names kinds that stay: W, B, O, S, ``task``, or a type of task.
    """

    after_days: int | None = None
    below_importance: float | None = None
    max_bytes: int | None = None
    protect: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether nothing can leave by it."""
        return self.after_days is None and self.below_importance is None and self.max_bytes is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One memory line where it stands; ``text`` is its lines in the file, with their endings.

    ``named`` is the id it goes by, if another line has the one of its comment.
    """

    path: str
    number: int
    text: str
    line: RetainLine
    heading: str = ""
    named: str | None = None

    @property
    def id(self) -> str:
        return self.named or line_id(self.line)

    @property
    def size(self) -> int:
        return _bytes(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One task record, with the text of its file."""

    task: Task
    text: str

    @property
    def id(self) -> str:
        return self.task.id

    @property
    def path(self) -> str:
        return self.task.path

    @property
    def size(self) -> int:
        return _bytes(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """A memory that leaves, and why."""

    item: Remembered | Record
    reason: str
    importance: float
    age_days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPlan:
    """What would move to the archive. ``over`` is by how many bytes the files stay too large."""

    items: tuple[Forgotten, ...] = ()
    bytes: int = 0
    total_bytes: int = 0
    kept_protected: Mapping[str, int] = field(default_factory=dict)
    over: int = 0

    def diff(self) -> str:
        """What would leave which file, line by line, each with its reason."""
        by_path: dict[str, list[Forgotten]] = {}
        for each in self.items:
            by_path.setdefault(each.item.path, []).append(each)
        return "".join(_diff_of(path, by_path[path]) for path in sorted(by_path))


def _diff_of(path: str, items: Sequence[Forgotten]) -> str:
    shown = [f"--- {path}\n+++ archive/{path}\n"]
    for each in items:
        if isinstance(each.item, Record):
            shown.append(f"@@ the whole record: {each.reason} @@\n-# {each.item.task.title}\n")
            continue
        shown.append(f"@@ line {each.item.number}: {each.reason} @@\n")
        shown += [f"-{line.rstrip()}\n" for line in split_lines(each.item.text)]
    return "".join(shown)


# ── reading ─────────────────────────────────────────────────────────────────────────────────

_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*(?:#+[ \t]*)?")


def remembered_in(path: str, text: str) -> Iterator[Remembered]:
    """The memory lines of a file, each with the heading it stands under."""
    source = split_lines(text)
    heading, read = "", 0
    for found in lines(text):
        for line in source[read : found.number - 1]:
            if above := _HEADING.fullmatch(line.rstrip("\r\n")):
                heading = above[2] if len(above[1]) > 1 else ""
        read = found.span.end
        yield Remembered(
            path=path,
            number=found.number,
            text="".join(source[found.number - 1 : found.span.end]),
            line=found.line,
            heading=heading,
        )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


# ── what it is worth ────────────────────────────────────────────────────────────────────────

_TRUSTED: Final = {"user": 1.0, "agent": 0.8, "tool": 0.6, "import": 0.6}
_KINDS: Final = {"W": 0.0, "B": -0.05, "O": 0.0, "S": -0.1}
_SURE: Final = 0.7  # what an opinion without a number counts as
_ENDED: Final = 0.5


def line_importance(line: RetainLine, now: datetime) -> float:
    """How much a memory line matters, from 0 to 1.

    The words as if the user had said them (``holdfast.importance``: rules and corrections weigh
    most, then decisions and errors); less for a summary or an experience than for a fact; an
    opinion by half as far as it is not sure; 0.8 of it if only the agent said so, 0.6 if a tool
    or an import did; half of it when it is no longer true.
    """
    score = importance(Message.of("user", line.text)).score + _KINDS[line.kind]
    if line.kind == "O":
        sure = _SURE if line.confidence is None else line.confidence
        score *= 0.5 + 0.5 * sure
    score *= _TRUSTED[line.trust]
    if _has_ended(line, now):
        score *= _ENDED
    return round(max(0.0, min(1.0, score)), 4)


def task_importance(task: Task) -> float:
    """How much a closed task matters: more if it failed or taught something."""
    score = 0.4
    score += 0.1 if task.status == "failed" else -0.2 if task.status == "cancelled" else 0.0
    score += 0.15 if task.patterns or any(each.fix for each in task.errors) else 0.0
    score += 0.1 if is_constraint(task.request) else 0.0
    return round(score, 4)


_HALF_LIFE_DAYS: Final = 180.0


def keep_score(importance: float, age_days: int | None) -> float:
    """In which order memories leave when there are too many: it halves every 180 days."""
    halvings = max(0, age_days or 0) / _HALF_LIFE_DAYS
    return importance * math.exp2(-halvings)


def _has_ended(line: RetainLine, now: datetime) -> bool:
    ended = [at for at in (line.until, line.retracted) if at is not None]
    return any((days := _days_since(at, now)) is not None and days >= 0 for at in ended)


# ── how old it is ───────────────────────────────────────────────────────────────────────────

_DAILY: Final = re.compile(r"(?:memory|tasks)/(\d{4}-\d\d-\d\d)")


def _age(item: Remembered | Record, now: datetime) -> int | None:
    """Days since it was last seen to be so; None if nothing says when that was."""
    if isinstance(item, Record):
        times = [item.task.closed or item.task.opened]
    else:
        times = [item.line.observed, item.line.verified]
    known = [days for at in times if at is not None and (days := _days_since(at, now)) is not None]
    if known:
        return min(known)
    found = _DAILY.match(item.path)
    try:
        return _days_since(date.fromisoformat(found[1]), now) if found else None
    except ValueError:
        return None


def _days_since(at: date | datetime, now: datetime) -> int | None:
    if isinstance(at, datetime):
        if at.utcoffset() is not None:
            return (now - at).days
        at = at.date()
    return (now.date() - at).days


# ── what stays ──────────────────────────────────────────────────────────────────────────────

_FORGETTABLE: Final = ("memory/", "bank/")
_RULE: Final = re.compile(
    r"\b(?:never|must(?: not)?|under no circumstances|forbidden|not allowed|do not|don't|always)\b"
    r"|绝不|绝对不|禁止|严禁|务必|必须|千万|切勿|不得|不准|永远不|一律",
    re.IGNORECASE,
)


def protection(item: Remembered | Record, policy: Policy) -> str | None:
    """Why a memory stays whatever its age and worth; None if it may leave."""
    if isinstance(item, Record):
        if item.task.is_open:
            return "open task"
        named = policy.protect & {"task", item.task.type}
        return f"kind {min(named)}" if named else None
    if not item.path.startswith(_FORGETTABLE):
        return "curated file"
    if item.line.kind in policy.protect:
        return f"kind {item.line.kind}"
    if item.line.verified is not None:
        return "confirmed"
    if item.line.supersedes or is_correction(item.line.text):
        return "correction"
    if _RULE.search(item.line.text) or is_constraint(item.line.text):
        return "rule"
    return None


# ── the plan ────────────────────────────────────────────────────────────────────────────────


def plan_forgetting(
    remembered: Sequence[Remembered],
    records: Sequence[Record],
    policy: Policy,
    now: datetime,
    *,
    total_bytes: int | None = None,
    needed: Collection[tuple[str, int]] = (),
) -> ForgetPlan:
    """What would move to the archive by this policy, and why.

    ``total_bytes`` is the size of all memory files; unless given, that of what is given.
    ``needed`` are lines, by path and number, without which others would not be read.
    """
    items: list[Remembered | Record] = [*remembered, *records]
    total = sum(item.size for item in items) if total_bytes is None else total_bytes
    protected: Counter[str] = Counter()
    leaving: list[Forgotten] = []
    staying: list[Forgotten] = []
    for item in items:
        reason = protection(item, policy)
        if reason is None and (item.path, getattr(item, "number", 0)) in needed:
            reason = "parent"
        if reason is not None:
            protected[reason] += 1
            continue
        judged = _judged(item, policy, now)
        (leaving if judged.reason else staying).append(judged)
    over = _over(policy, total, leaving)
    if over > 0:
        leaving += _for_room(staying, policy, total, over)
    leaving.sort(key=lambda each: (each.item.path, getattr(each.item, "number", 0)))
    return ForgetPlan(
        items=tuple(leaving),
        bytes=sum(each.item.size for each in leaving),
        total_bytes=total,
        kept_protected=dict(sorted(protected.items())),
        over=max(0, _over(policy, total, leaving)),
    )


def _judged(item: Remembered | Record, policy: Policy, now: datetime) -> Forgotten:
    """The memory with the reason why it leaves; an empty one if it may stay for now."""
    age = _age(item, now)
    worth = (
        task_importance(item.task) if isinstance(item, Record) else line_importance(item.line, now)
    )
    reasons = []
    holds = not (policy.after_days is None and policy.below_importance is None)
    if policy.after_days is not None:
        holds = holds and age is not None and age > policy.after_days
        reasons.append(f"{age} days old, {policy.after_days} allowed")
    if policy.below_importance is not None:
        holds = holds and worth < policy.below_importance
        reasons.append(f"importance {worth:.2f}, below {policy.below_importance:.2f}")
    reason = "; ".join(reasons) if holds else ""
    return Forgotten(item=item, reason=reason, importance=worth, age_days=age)


def _over(policy: Policy, total: int, leaving: Sequence[Forgotten]) -> int:
    if policy.max_bytes is None:
        return 0
    return total - sum(each.item.size for each in leaving) - policy.max_bytes


def _for_room(
    staying: Sequence[Forgotten], policy: Policy, total: int, over: int
) -> Iterator[Forgotten]:
    """The oldest and least important first, until the files are small enough."""
    ordered = sorted(
        staying,
        key=lambda each: (
            keep_score(each.importance, each.age_days),
            each.item.path,
            getattr(each.item, "number", 0),
        ),
    )
    for each in ordered:
        if over <= 0:
            return
        over -= each.item.size
        yield Forgotten(
            item=each.item,
            reason=f"the files hold {total} bytes, {policy.max_bytes} allowed",
            importance=each.importance,
            age_days=each.age_days,
        )
