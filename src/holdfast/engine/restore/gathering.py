"""The memory files of a place that a new session starts with, as far as they may be shown.

Promise: only files of the speaker's own place are read; a line that is for others, that a tool
or an import brought, or that does not hold any more is not among what is returned; a file that
cannot be read is named (``tests/engine/test_restore.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Final

from holdfast.context.restoring import Cut, Material, Share, presentable
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError
from holdfast.markdown import split_lines
from holdfast.memory.facts.shapes import Fact
from holdfast.retain import RetainLine, line_id
from holdfast.retain.documents import lines
from holdfast.retain.narrowing import narrowed_lines
from holdfast.scope import may_read, place_of
from holdfast.text import cut

__all__ = ["Gathered", "days_of", "gather", "has_memory"]

_IDENTITY: Final = ("AGENTS.md", "USER.md", "SOUL.md", "IDENTITY.md", "identity.md")
_MEMORY: Final = ("MEMORY.md", "memory.md")
_FOLDER: Final = "memory"
_LARGEST: Final = 1_000_000
"""Characters of one file that are looked at: many times what is ever shown of it."""

_LABELS: Final = {
    "en": {
        "identity": "written by the owner",
        "memory": "long-term memory",
        "today": "notes of today",
        "yesterday": "notes of yesterday",
    },
    "zh": {
        "identity": "主人所写",
        "memory": "长期记忆",
        "today": "今天的笔记",
        "yesterday": "昨天的笔记",
    },
}


@dataclass(slots=True, kw_only=True)
class Gathered:
    """What there is to restore, and what could not be read."""

    materials: list[Material] = field(default_factory=list)
    unread: list[Cut] = field(default_factory=list)


def has_memory(rooms: Rooms) -> bool:
    """Whether there is any memory file here; nothing is opened for it."""
    return any(
        rooms.base.identify(name) is not None
        for name in (*_IDENTITY, *_MEMORY, _FOLDER, "tasks", "bank")
    )


def days_of(rooms: Rooms) -> tuple[date, date]:
    """The user's yesterday and today."""
    today = rooms.today()
    return today - timedelta(days=1), today


def gather(rooms: Rooms, language: str) -> Gathered:
    """The materials of the files, in the order in which they are shown."""
    found = Gathered()
    present = rooms.memory.workspace.files()
    wanted = [*_wanted(rooms, present)]
    texts = {path: text for path, *_ in wanted if (text := _text(rooms, path, found)) is not None}
    holds = _holding(rooms, texts)
    for path, share, label, day in wanted:
        if path not in texts:
            continue
        text = texts[path]
        shown = presentable(text, holds=holds(day), barred=_for_others(rooms, text), day=day)
        if shown:
            found.materials.append(
                Material(
                    share=share,
                    source=path,
                    lines=shown,
                    label=_LABELS[language][label],
                    observed=day,
                    keep="tail" if share == "log" else "head",
                )
            )
    return found


def _wanted(rooms: Rooms, present: Sequence[str]) -> Iterator[tuple[str, Share, str, date | None]]:
    """Path, share, label and day of every file; what changes least comes first."""
    for name in _IDENTITY:
        if name in present:
            yield name, "identity", "identity", None
    if rooms.scope.chat_type == "direct":
        for name in _MEMORY:
            if name in present:
                yield name, "memory", "memory", None
    for label, day in zip(("yesterday", "today"), days_of(rooms), strict=True):
        begins = f"{_FOLDER}/{day.isoformat()}"
        for path in present:
            if path == f"{begins}.md" or path.startswith(f"{begins}-"):
                yield path, "log", label, day


def _text(rooms: Rooms, path: str, found: Gathered) -> str | None:
    try:
        text = rooms.memory.workspace.read(path)
    except HoldfastError as error:
        how = error.hint or "holdfast doctor"
        found.unread.append(Cut(source=path, shown=0, of=0, how_to_read=f"{error.message} {how}"))
        return None
    if text is None:
        return None
    if len(text) > _LARGEST:
        kept = cut(text, _LARGEST)
        text = kept[: kept.rfind("\n") + 1] or kept
        start = len(split_lines(text)) + 1
        found.unread.append(
            Cut(
                source=path, shown=0, of=0, how_to_read=f"memory_get {path}#L{start}-L{start + 200}"
            )
        )
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _holding(
    rooms: Rooms, texts: dict[str, str]
) -> Callable[[date | None], Callable[[RetainLine], bool]]:
    """Whether a line of a file of that day is true now, and no other line took its place."""
    replaced = {
        old for text in texts.values() for each in lines(text) for old in each.line.supersedes
    }
    now: datetime = rooms.clock.now()

    def of_day(day: date | None) -> Callable[[RetainLine], bool]:
        def holds(line: RetainLine) -> bool:
            fact = Fact(id=line_id(line), line=line, path="", number=0, day=day)
            return fact.id not in replaced and fact.window(rooms.zone).covers(now)

        return holds

    return of_day


def _for_others(rooms: Rooms, text: str) -> frozenset[int]:
    """The lines that somebody else may read, and this reader may not."""
    place = place_of(rooms.scope)
    return frozenset(
        number
        for number, part in narrowed_lines(text, place).items()
        if part is None or not may_read(rooms.scope, part, memberships=rooms.memberships)
    )
