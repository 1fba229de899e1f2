"""Forget: move memories to the archive, or erase a text from everywhere.

A target is an id that exists (of a memory line or a task, ``session#entry``, an artifact) or a
text, which is matched to the letter, whatever its case and spelling. Near matches are listed and
never touched. What is given as an id is only an id.

Promise: without ``erase`` only memory lines move, those that were listed and no others, and can
be restored; with it nothing of the text is left below the home, or what is left is named
(``tests/engine/test_erase.py``, ``test_erase_ids.py``). No words of a line are shown to whom it
is not for (``tests/memory/test_forgetting.py``).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from holdfast.engine.erase.order import Erasing, Found, Place, places_of
from holdfast.engine.erase.receipts import write_receipt
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError, NotFound, UsageError
from holdfast.events import MemoryErased, MemoryForgotten
from holdfast.markdown import split_lines
from holdfast.matching import Match
from holdfast.memory.facts.identity import told_apart
from holdfast.memory.forgetting import Archive, Record
from holdfast.memory.forgetting import Item as Movable
from holdfast.memory.tasks.record import parse as parse_task
from holdfast.memory.workspace import Workspace
from holdfast.ports import Erasable
from holdfast.retain import RetainLine, line_id
from holdfast.retain.documents import Located, lines
from holdfast.scope import may_read_here
from holdfast.sessions.shapes import message_of
from holdfast.text import normalise, one_line
from holdfast.types import Citation, Erased, Json, Remaining

__all__ = ["Forgotten", "Item", "forget"]

ItemKind = Literal["line", "entries", "file"]
_AN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{3,63}")
_LONG_ENOUGH: Final = 12
"""Characters of a line that is erased by its id, from which its text is erased elsewhere too."""
_LONG_ENTRY: Final = 60
"""The same of an entry: stock phrases of a conversation stay where others said them."""
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
    ids: Sequence[str] = (),
    erase: bool = False,
    dry_run: bool = False,
    extra: Sequence[Erasable] = (),
) -> Forgotten:
    """Forget what the targets name. ``extra`` are further stores that hold texts of ours.

    ``ids`` are of memories and tasks and are never taken for words. Whoever has read an id in a
    file should name it here: somebody else may have written it.

    Raises:
        NotFound: nothing goes by one of the ids.
    """
    started = time.monotonic()
    if not targets and not ids:
        raise UsageError("Say what to forget.", hint='holdfast forget "the text" --dry-run')
    places = places_of(rooms)
    wanted = _resolve(rooms, places, targets, erase=erase)
    _name(rooms, places, ids, wanted, erase=erase)
    match = Match(wanted.texts, rooms.ids.new(rooms.clock.now()), ids=wanted.ids)
    if not erase:
        return _archive(rooms, match, wanted.named, dry_run=dry_run)
    unseen = _unseen(rooms, places)
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
        items=tuple(_items(found, unseen)),
        near=tuple(_near(rooms, match, f"{base.as_posix()}/")),
        is_erased=not dry_run and found.spans > 0,
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
    named: set[str] = field(default_factory=set)
    """Ids of memories and tasks, also those that a line goes by because another has its own."""


def _resolve(
    rooms: Rooms, places: Sequence[Place], targets: Sequence[str], *, erase: bool
) -> _Wanted:
    wanted = _Wanted()
    for target in targets:
        is_id = (
            _is_entry(places, target, wanted)
            or _is_artifact(places, target, wanted)
            or _is_memory(rooms, places, target, wanted, erase=erase)
        )
        if not is_id:
            wanted.texts.append(target)
    return wanted


def _is_entry(places: Sequence[Place], target: str, wanted: _Wanted) -> bool:
    cited = Citation.parse(target)
    if cited is None or cited.entry is None:
        return False
    is_found = is_session = False
    for place in places:
        if place.store is None or cited.source not in place.store.names():
            continue
        is_session = True
        with suppress(HoldfastError):
            transcript = place.store.open(cited.source)
            entry = place.store.whole(transcript.find(cited.entry), strict=False)
            transcript.close()
            wanted.ids.add(target)
            is_found = True
            message = message_of(entry)
            if message is not None and len(normalise(message.text)) >= _LONG_ENTRY:
                wanted.texts.append(message.text)
    if not is_found and is_session and _AN_ID.fullmatch(cited.entry):
        raise NotFound(
            f"Session {cited.source!r} has no entry {cited.entry!r}.",
            hint=f"See its entries: holdfast sessions show {cited.source}",
        )
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


def _is_memory(
    rooms: Rooms, places: Sequence[Place], target: str, wanted: _Wanted, *, erase: bool
) -> bool:
    if not _AN_ID.fullmatch(target):
        return False
    for place in places:
        _name_line(rooms, place, target, wanted, erase=erase)
        _name_task(rooms, place, target, wanted)
    return target in wanted.named


def _name(
    rooms: Rooms, places: Sequence[Place], ids: Sequence[str], wanted: _Wanted, *, erase: bool
) -> None:
    """What goes by these ids, and no more: only an erasure looks for the words elsewhere too."""
    for id in ids:
        meant = _Wanted()
        for place in places:
            _name_line(rooms, place, id, meant, erase=erase)
            _name_task(rooms, place, id, meant)
        if id not in meant.named:
            raise NotFound(
                f"No memory has the id {id!r}.",
                hint="It may have changed meanwhile. See: holdfast facts list",
            )
        wanted.named |= meant.named
        wanted.ids |= meant.ids
        wanted.texts += meant.texts if erase else []


def _name_line(rooms: Rooms, place: Place, id: str, wanted: _Wanted, *, erase: bool) -> None:
    named = [*_named(rooms, place)]
    is_shared = any(line_id(line) == id != own for own, line in named)
    for own, line in named:
        if own != id:
            continue
        wanted.named.add(id)
        if is_long := len(normalise(line.text)) >= _LONG_ENOUGH:
            wanted.texts.append(line.text)
        if line_id(line) == id and not is_shared:
            wanted.ids.add(id)
        elif erase and not is_long:
            raise _shared(id)


def _name_task(rooms: Rooms, place: Place, id: str, wanted: _Wanted) -> None:
    for path, text, found in _memory_lines(rooms, place, archive=True):
        if found is None and _is_task(path) and parse_task(text, path).id == id:
            wanted.named.add(id)
            wanted.ids.add(id)


def _shared(id: str) -> UsageError:
    """To erase by id is to erase every line that has it, also the one that says other words."""
    return UsageError(
        f"{id!r} means one of several lines with the same id, and its words are few.",
        hint="Erase them by their text, or take the id out of the comment of one line.",
    )


def _named(rooms: Rooms, place: Place) -> Iterator[tuple[str, RetainLine]]:
    """The lines of a place that the speaker may name, each with the id it goes by."""
    pages: dict[bool, list[RetainLine]] = {False: [], True: []}
    for path, _, found in _memory_lines(rooms, place, archive=True):
        if found is not None and (_is_owner(rooms) or may_read_here(rooms.scope, found.line)):
            pages[path.startswith("archive/")].append(found.line)
    lines = [*pages[False], *pages[True]]
    return zip(told_apart((line_id(line), line) for line in lines), lines, strict=True)


def _is_owner(rooms: Rooms) -> bool:
    """Whose all folders are: nothing in them is for others only."""
    return rooms.scope.user is None and rooms.scope.chat is None


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


def _unseen(rooms: Rooms, places: Sequence[Place]) -> frozenset[str]:
    """What of the lines that go is not to be shown to the speaker: they are for somebody else."""
    if _is_owner(rooms):
        return frozenset()
    return frozenset(
        one_line(raw.partition("<!-- hf ")[0].strip(), _SHOWN)
        for place in places
        for _, text, found in _memory_lines(rooms, place, archive=True)
        if found is not None and not may_read_here(rooms.scope, found.line)
        for raw in split_lines(text)[found.number - 1 : found.span.end]
    )


def _items(found: Found, unseen: frozenset[str] = frozenset()) -> Iterator[Item]:
    for line in found.lines:
        yield Item(
            kind="line",
            where=f"{line.path}#L{line.number}",
            text="" if line.text in unseen else line.text,
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
        if found is None or not may_read_here(rooms.scope, found.line):
            continue
        if not match.is_near(found.line.text):
            continue
        shown += 1
        if shown > _MOST_NEAR:
            return
        text = one_line(found.line.text, _SHOWN)
        where = f"{prefix}{path}#L{found.number}"
        yield Item(kind="line", where=where, text=text, what="near")


# ── without erasing ─────────────────────────────────────────────────────────────────────────


def _archive(rooms: Rooms, match: Match, named: Collection[str], *, dry_run: bool) -> Forgotten:
    """Move the lines that hold the text to the archive; what was said stays."""
    archive = _archive_of(rooms, Workspace(rooms.base, clock=rooms.clock, ids=rooms.ids))
    meant = archive.whole(
        [item for item in archive.items() if item.id in named or match.is_in(_said(item))]
    )
    operation = None
    if meant and not dry_run:
        operation = _archive_of(rooms, rooms.memory.workspace).move(meant, why="forget")
        rooms.tell(MemoryForgotten, items=len(meant), reason="asked")
    return Forgotten(
        items=tuple(map(_archived, meant)),
        near=tuple(_near(rooms, match)),
        is_dry_run=dry_run,
        operation=operation,
        spans=len(meant),
    )


def _archive_of(rooms: Rooms, workspace: Workspace) -> Archive:
    language = rooms.settings.memory.language
    return Archive(workspace, now=rooms.clock.now, reader=rooms.scope, language=language)


def _said(item: Movable) -> str:
    if isinstance(item, Record):
        return item.task.title
    return f"{item.line.entity or ''} {item.line.text}"


def _archived(item: Movable) -> Item:
    if isinstance(item, Record):
        shown = one_line(item.task.title, _SHOWN)
        return Item(kind="file", where=item.path, text=shown, what="archived")
    shown = one_line(item.line.text, _SHOWN)
    where = f"{item.path}#L{item.number}"
    return Item(kind="line", where=where, text=shown, what="archived")
