"""How many tokens a conversation had after each answer, and what was done about them.

Promise: one point per answer, with the provider's count where there is one; every flush,
compaction, prune, restore, reset and close is there in order; a look after new messages reads
only those (``tests/engine/test_chronicle.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from weakref import WeakKeyDictionary

from holdfast.engine.chronicle.items import usage_of
from holdfast.engine.chronicle.saved import is_flush
from holdfast.sessions.shapes import message_of, problem_with
from holdfast.types import Entry, Json, Message

if TYPE_CHECKING:
    from holdfast.engine.session import Session
    from holdfast.sessions.reading import Mark

__all__ = ["Happening", "Point", "Timeline", "timeline_of"]

T = TypeVar("T")

What = Literal["flush", "compaction", "prune", "restore", "reset", "closed"]

_POINTS: Final = 2_000
"""More than a screen has columns; of more, every so many and the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """After one answer."""

    seq: int
    at: datetime
    tokens: int
    source: Literal["reported", "estimated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that was done to the context. Figures that do not belong to it are None."""

    seq: int
    at: datetime
    kind: What
    saved: int | None = None
    file: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    dropped: int | None = None
    outcome: str | None = None
    reason: str | None = None
    sources: tuple[str, ...] = ()
    """Of a restore: what was quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    points: tuple[Point, ...]
    happenings: tuple[Happening, ...]


def timeline_of(session: Session, *, outside: int = 0) -> Timeline:
    """All of one conversation; the first look reads it whole, later ones what is new.

    ``outside`` are the tokens of system text and tools: they are in every request, and in no
    entry.
    """
    with _lock:
        course = _courses.setdefault(session, _Course())
    return course.catch_up(session, outside)


@dataclass(slots=True)
class _Course:
    """What is known of one transcript, and how far it was read."""

    mark: Mark | None = None
    points: list[tuple[Point, bool]] = field(default_factory=list)
    """Each with whether its figure is of the whole request, or of the entries alone."""
    happenings: list[Happening] = field(default_factory=list)
    tokens: int = 0
    """In the request, as far as is known, but for what is ``unpriced``."""
    is_whole: bool = False
    """Whether ``tokens`` counts what stands outside of the entries, too."""
    unpriced: list[Message] = field(default_factory=list)
    said: list[tuple[int, str]] = field(default_factory=list)
    """Number and id of what was said since the view was cut last."""
    lock: Lock = field(default_factory=Lock)

    def catch_up(self, session: Session, outside: int) -> Timeline:
        transcript = session._transcript
        with self.lock:
            read = transcript.read_on(self.mark)
            if read.from_start:
                self.points, self.happenings = [], []
                self._begin_anew()
            price = session._rooms.estimator(transcript.state().model).message
            for entry in read.entries:
                self._take(entry, price)
            self.mark = read.mark
            points = tuple(
                each if is_whole else replace(each, tokens=each.tokens + outside)
                for each, is_whole in _thinned(self.points)
            )
            return Timeline(points=points, happenings=tuple(self.happenings))

    def _begin_anew(self) -> None:
        self.tokens, self.unpriced, self.said, self.is_whole = 0, [], [], False

    def _take(self, entry: Entry, price: Callable[[Message], int]) -> None:
        if problem_with(entry.type, entry.data) is not None:
            return
        match entry.type:
            case "message" | "recall":
                self._say(entry, price)
            case "compaction":
                self._compact(entry)
            case "flush" if is_flush(entry):
                self._happen(entry, "flush", ("saved", "file", "outcome", "reason"))
            case "prune":
                self._happen(entry, "prune", ("tokens_before", "tokens_after", "reason"))
                saved = _number(entry, "tokens_before") - _number(entry, "tokens_after")
                self.tokens = max(0, self.tokens - saved)
            case "marker":
                self._mark(entry)

    def _say(self, entry: Entry, price: Callable[[Message], int]) -> None:
        message = message_of(entry)
        if message is None:
            return
        self.said.append((entry.seq, entry.id))
        usage = usage_of(entry)
        if usage is not None and usage.context_tokens:
            self.tokens, self.unpriced = usage.context_tokens + usage.output_tokens, []
            self.is_whole = True
            self._point(entry, "reported")
            return
        self.unpriced.append(message)
        if message.role == "assistant":
            self.tokens += sum(map(price, self.unpriced))
            self.unpriced = []
            self._point(entry, "estimated")

    def _point(self, entry: Entry, source: Literal["reported", "estimated"]) -> None:
        point = Point(seq=entry.seq, at=entry.at, tokens=self.tokens, source=source)
        self.points.append((point, self.is_whole))

    def _compact(self, entry: Entry) -> None:
        stays = {*entry.data.get("pins", ()), *entry.data.get("kept", ())}
        first = entry.data.get("first_kept")
        cut = next((index for index, (_, id) in enumerate(self.said) if id == first), None)
        if cut is None:
            watermark = entry.data.get("watermark")
            last = watermark if isinstance(watermark, int) else entry.seq
            cut = sum(seq <= last for seq, _ in self.said)
        dropped = sum(id not in stays for _, id in self.said[:cut])
        self.said = self.said[cut:]
        self._happen(
            entry, "compaction", ("tokens_before", "tokens_after", "reason"), dropped=dropped
        )
        self.tokens, self.unpriced = _number(entry, "tokens_after"), []
        self.is_whole = True

    def _mark(self, entry: Entry) -> None:
        match entry.data.get("kind"):
            case "restored":
                tokens = _number(entry, "tokens")
                named = entry.data.get("sources")
                sources = tuple(map(str, named)) if isinstance(named, list) else ()
                self._happen(entry, "restore", (), tokens_after=tokens, sources=sources)
            case "reset":
                self._happen(entry, "reset", ())
                self._begin_anew()
            case "closed":
                self._happen(entry, "closed", ())

    def _happen(self, entry: Entry, kind: What, told: Sequence[str], **more: Any) -> None:
        says: dict[str, Json] = {name: _plain(entry.data, name) for name in told}
        self.happenings.append(Happening(seq=entry.seq, at=entry.at, kind=kind, **says, **more))


_courses: WeakKeyDictionary[Session, _Course] = WeakKeyDictionary()
_lock: Final = Lock()


def _thinned(points: Sequence[T]) -> Sequence[T]:
    step = -(-len(points) // _POINTS)
    return points if step <= 1 else [*points[:-1:step], points[-1]]


_NUMBERS: Final = frozenset({"saved", "tokens_before", "tokens_after"})


def _plain(data: Mapping[str, Json], name: str) -> Json:
    """A figure or a word of an entry; None if it is something else."""
    value = data.get(name)
    wanted = int if name in _NUMBERS else str
    return value if isinstance(value, wanted) else None


def _number(entry: Entry, name: str) -> int:
    value = entry.data.get(name)
    return value if isinstance(value, int) else 0
