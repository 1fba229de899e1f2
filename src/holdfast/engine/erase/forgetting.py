"""Forget: move memories to the archive, or erase a text from everywhere.

A target is an id that exists (of a memory line or a task, ``session#entry``, an artifact) or a
text, which is matched to the letter, whatever its case and spelling. Near matches are listed and
never touched.

Promise: without ``erase`` only memory lines move, and can be restored; with it nothing of the
text is left below the home, or what is left is named (``tests/engine/test_erase.py``).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from holdfast.engine.erase.order import Erasing, Found, Place, places_of
from holdfast.engine.erase.receipts import write_receipt
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError, UsageError
from holdfast.events import MemoryErased, MemoryForgotten
from holdfast.matching import Match
from holdfast.memory.tasks.record import parse as parse_task
from holdfast.memory.workspace import Workspace
from holdfast.ports import Erasable
from holdfast.retain import line_id
from holdfast.retain.documents import Located, lines
from holdfast.sessions.shapes import message_of
from holdfast.text import normalise, one_line
from holdfast.types import Citation, Erased, Json, Remaining

__all__ = ["Forgotten", "Item", "forget"]

ItemKind = Literal["line", "entries", "file"]
_AN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{3,63}")
_LONG_ENOUGH: Final = 12
"""Characters of an entry that is erased by its id, from which its text is erased elsewhere too."""
_SHOWN: Final = 160
_MOST_NEAR: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that goes, in whole or in part; or that is near, and stays."""

    kind: ItemKind
    where: str
    """``path#L3`` of a line, or a path: from the home where something is erased, from the
    agent's folder where lines are archived."""
    count: int = 1
    text: str = ""
    what: Literal["goes", "marked", "archived", "near"] = "goes"

    def to_json(self) -> dict[str, Json]:
        return {key: value for key, value in asdict(self).items() if value != ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was forgotten, or would be."""

    items: tuple[Item, ...] = ()
    near: tuple[Item, ...] = ()
    is_erased: bool = False
    is_dry_run: bool = False
    receipt: str | None = None
    """The id of the receipt, if something was erased."""
    receipt_path: str | None = None
    operation: str | None = None
    """What ``undo`` takes back, if lines were archived."""
    stores: tuple[tuple[str, Erased], ...] = ()
    """Each store that held the text, with its place."""
    remaining: tuple[Remaining, ...] = ()
    spans: int = 0
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        """Whether nothing of what was to be erased is left."""
        return not self.remaining

    def summary(self) -> dict[str, Json]:
        """The figures, without a word of what was forgotten."""
        return {
            "summary": True,
            "erased": self.is_erased,
            "dry_run": self.is_dry_run,
            "items": len(self.items),
            "near": len(self.near),
            "spans": self.spans,
            "receipt": self.receipt,
            "receipt_path": self.receipt_path,
            "operation": self.operation,
            "stores": [
                {"place": place, "store": each.store, "spans": each.spans, "files": len(each.files)}
                for place, each in self.stores
            ],
            "remaining": [asdict(each) for each in self.remaining],
            "seconds": round(self.seconds, 3),
        }


def forget(
    rooms: Rooms,
    targets: Sequence[str],
    *,
    erase: bool = False,
    dry_run: bool = False,
    extra: Sequence[Erasable] = (),
) -> Forgotten:
    """Forget what the targets name. ``extra`` are further stores that hold texts of ours."""
    started = time.monotonic()
    if not targets:
        raise UsageError("Say what to forget.", hint='holdfast forget "the text" --dry-run')
    places = places_of(rooms)
    wanted = _resolve(rooms, places, targets)
    match = Match(wanted.texts, rooms.ids.new(rooms.clock.now()), ids=wanted.ids)
    if not erase:
        return _archive(rooms, match, dry_run=dry_run)
    erasing = Erasing(rooms, match, places, extra)
    found = erasing.find() if dry_run else erasing.run()
    seconds = time.monotonic() - started
    path = None
    if not dry_run and found.spans:
        path = write_receipt(
            rooms.home,
            rooms.base.child(".journal"),
            match,
            at=rooms.clock.now(),
            stores=found.stores,
            remaining=found.remaining,
            scanned={"files": found.scanned.files, "bytes": found.scanned.bytes},
            seconds=seconds,
        )
        rooms.tell(
            MemoryErased,
            receipt=match.receipt,
            stores=len(found.stores),
            spans=found.spans,
            remaining=len(found.remaining),
        )
    base = rooms.base.path.relative_to(rooms.home.path)
    return Forgotten(
        items=tuple(_items(found)),
        near=tuple(_near(rooms, match, f"{base.as_posix()}/")),
        is_erased=not dry_run,
        is_dry_run=dry_run,
        receipt=match.receipt if path is not None else None,
        receipt_path=path,
        stores=tuple((place, each) for (place, _), each in found.stores.items()),
        remaining=tuple(found.remaining),
        spans=found.spans,
        seconds=seconds,
    )


# ── what is meant ───────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Wanted:
    texts: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)


def _resolve(rooms: Rooms, places: Sequence[Place], targets: Sequence[str]) -> _Wanted:
    wanted = _Wanted()
    for target in targets:
        is_id = (
            _is_entry(places, target, wanted)
            or _is_artifact(places, target, wanted)
            or _is_memory(rooms, places, target, wanted)
        )
        if not is_id:
            wanted.texts.append(target)
    return wanted


def _is_entry(places: Sequence[Place], target: str, wanted: _Wanted) -> bool:
    cited = Citation.parse(target)
    if cited is None or cited.entry is None:
        return False
    is_found = False
    for place in places:
        if place.store is None:
            continue
        with suppress(HoldfastError):
            transcript = place.store.open(cited.source)
            entry = place.store.whole(transcript.find(cited.entry), strict=False)
            transcript.close()
            wanted.ids.add(target)
            is_found = True
            message = message_of(entry)
            if message is not None and len(normalise(message.text)) >= _LONG_ENOUGH:
                wanted.texts.append(message.text)
    return is_found


def _is_artifact(places: Sequence[Place], target: str, wanted: _Wanted) -> bool:
    found = set()
    for place in places:
        if place.store is not None:
            with suppress(HoldfastError):
                artifact = place.store.artifacts.resolve(target)
                if place.store.artifacts.raw(artifact) is not None:
                    found.add(artifact)
    wanted.ids |= found
    return bool(found)


def _is_memory(rooms: Rooms, places: Sequence[Place], target: str, wanted: _Wanted) -> bool:
    if not _AN_ID.fullmatch(target):
        return False
    is_found = False
    for place in places:
        for path, text, found in _memory_lines(rooms, place, archive=True):
            if found is None:
                if _is_task(path) and parse_task(text, path).id == target:
                    is_found = True
                    wanted.ids.add(target)
            elif line_id(found.line) == target:
                is_found = True
                wanted.ids.add(target)
                if len(normalise(found.line.text)) >= _LONG_ENOUGH:
                    wanted.texts.append(found.line.text)
    return is_found


def _is_task(path: str) -> bool:
    return path.startswith(("tasks/", "archive/tasks/"))


def _memory_lines(
    rooms: Rooms, place: Place, *, archive: bool = False
) -> Iterator[tuple[str, str, Located | None]]:
    """Each memory file with each of its lines, and once without one."""
    workspace = Workspace(place.base, clock=rooms.clock, ids=rooms.ids)
    for path in workspace.files(archive=archive):
        text = workspace.read(path) or ""
        yield path, text, None
        for found in lines(text):
            yield path, text, found


# ── to be shown ─────────────────────────────────────────────────────────────────────────────


def _items(found: Found) -> Iterator[Item]:
    for line in found.lines:
        yield Item(
            kind="line",
            where=f"{line.path}#L{line.number}",
            text=line.text,
            what="goes" if line.goes else "marked",
        )
    sessions = Counter(each.rpartition("#")[0] for each in dict.fromkeys(found.entries))
    for session, count in sessions.items():
        yield Item(kind="entries", where=session, count=count, what="marked")
    told = {line.path for line in found.lines} | {f"{session}.jsonl" for session in sessions}
    for (place, _), erased in found.stores.items():
        for file in erased.files:
            path = f"{place}/{file}" if place else file
            if path not in told:
                yield Item(kind="file", where=path, what="marked")


def _near(rooms: Rooms, match: Match, prefix: str = "") -> Iterator[Item]:
    """Lines of the speaker's own place that read alike."""
    place = Place(path="", base=rooms.base, store=None)
    shown = 0
    for path, _, found in _memory_lines(rooms, place):
        if found is None or not match.is_near(found.line.text):
            continue
        shown += 1
        if shown > _MOST_NEAR:
            return
        text = one_line(found.line.text, _SHOWN)
        where = f"{prefix}{path}#L{found.number}"
        yield Item(kind="line", where=where, text=text, what="near")


# ── without erasing ─────────────────────────────────────────────────────────────────────────


def _archive(rooms: Rooms, match: Match, *, dry_run: bool) -> Forgotten:
    """Move the lines that hold the text to the archive; what was said stays."""
    place = Place(path="", base=rooms.base, store=None)
    items: list[Item] = []
    ids: list[str] = []
    for path, text, found in _memory_lines(rooms, place):
        if found is None:
            task = parse_task(text, path) if _is_task(path) else None
            if task is not None and (task.id in match.ids or match.is_in(task.title)):
                ids.append(task.id)
                shown = one_line(task.title, _SHOWN)
                items.append(Item(kind="file", where=path, text=shown, what="archived"))
        elif not _is_task(path) and _is_meant(match, found):
            ids.append(line_id(found.line))
            shown = one_line(found.line.text, _SHOWN)
            where = f"{path}#L{found.number}"
            items.append(Item(kind="line", where=where, text=shown, what="archived"))
    operation = None
    if ids and not dry_run:
        operation = rooms.memory.archive.move(ids, why="forget")
        rooms.tell(MemoryForgotten, items=len(ids), reason="asked")
    return Forgotten(
        items=tuple(items),
        near=tuple(_near(rooms, match)),
        is_dry_run=dry_run,
        operation=operation,
        spans=len(ids),
    )


def _is_meant(match: Match, found: Located) -> bool:
    said = f"{found.line.entity or ''} {found.line.text}"
    return line_id(found.line) in match.ids or match.is_in(said)
