"""Finding things in a transcript file without reading more of it than needed.

Promise: a view reads from the newest compaction's cut on, plus the few earlier entries it still
shows, whose places are remembered (``tests/sessions/test_large_transcripts.py``); one damaged
entry never costs the others (``tests/sessions/test_damaged_transcripts.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar, cast

from holdfast.sessions.records import Damage, Record, scan
from holdfast.sessions.state import State
from holdfast.sessions.view import needed_before
from holdfast.types import Entry

__all__ = ["Continued", "Kept", "Mark", "Reading", "Window"]

T = TypeVar("T")

_BLOCK: Final = 1 << 20


class Kept:
    """What others have worked out from a window, kept as long as the window itself.

    A window is read anew after a compaction or a reset, when the file is another one (an erasure
    puts one in its place), after a failure, and when the transcript was closed: so nothing in
    here outlives the bytes it was made of.
    """

    __slots__ = ("_things",)

    def __init__(self) -> None:
        self._things: dict[type, object] = {}

    def get(self, kind: type[T]) -> T:
        """The one thing of that kind; made when it is first asked for."""
        found = self._things.get(kind)
        if found is None:
            found = self._things.setdefault(kind, kind())
        return cast("T", found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What a view is computed from: the newest compaction, what it still shows, and the tail."""

    compaction: Entry | None = None
    earlier: tuple[Entry, ...] = ()
    tail: list[Entry] = field(default_factory=list)
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)


class Mark(NamedTuple):
    """How far a transcript was read: which file, the last record of it, and where that ends."""

    inode: int
    offset: int
    id: str
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """What stands behind a mark. ``from_start`` if the mark does not hold, and all is here."""

    entries: list[Entry]
    mark: Mark | None
    from_start: bool
    memory_mode: str | None = None
    """What the conversation may do with memory behind the last of them."""


class Reading:
    """The first ``end`` bytes of a transcript."""

    def __init__(self, read: Callable[[int, int], bytes], end: int) -> None:
        self._read = read
        self._end = end
        self.met_damage = False

    def records(self, start: int = 0) -> Iterator[Record]:
        """Every intact record in file order, each id once."""
        seen: set[str] = set()
        for each in scan(self._read, start, self._end):
            if isinstance(each, Damage):
                self.met_damage = True
            elif each.id not in seen:
                seen.add(each.id)
                yield each

    def backwards(self) -> Iterator[Record]:
        """Intact records from the newest to the oldest, each id once, block by block."""
        seen: set[str] = set()
        position = self._end
        rest: list[bytes] = []  # of the line that begins further ahead, last piece first
        while position > 0:
            start = max(0, position - _BLOCK)
            data = self._read(start, position - start)
            position = start
            # The first line of a block may begin in the block before it.
            cut = 0 if start == 0 else data.find(b"\n") + 1
            if start and not cut:
                rest.append(data)
                continue
            lines = b"".join([data[cut:], *reversed(rest)])
            rest = [data[:cut]]
            for each in reversed(list(_scan_bytes(lines, start + cut))):
                if isinstance(each, Damage):
                    self.met_damage = True
                elif each.id not in seen:
                    seen.add(each.id)
                    yield each

    def find(self, entry_id: str) -> Record | None:
        """The record of that id; the newest are looked at first."""
        return next((record for record in self.backwards() if record.id == entry_id), None)

    def at(self, offset: int, entry_id: str | None = None) -> Record | None:
        """The record that stands there, if one does, and if it has that id."""
        for each in scan(self._read, offset, self._end, block=1 << 16):
            is_it = isinstance(each, Record) and entry_id in (None, each.id)
            return each if is_it and isinstance(each, Record) else None
        return None

    def continued(self, inode: int, mark: Mark | None, state: State) -> Continued:
        """What was appended behind the mark; everything, if the file is not what it was."""
        holds = (
            mark is not None
            and mark.inode == inode
            and mark.end <= self._end
            and self.at(mark.offset, mark.id) is not None
        )
        records = list(self.records(mark.end if mark is not None and holds else 0))
        if records:
            last = records[-1]
            mark = Mark(inode, last.offset, last.id, last.end)
        elif not holds:
            mark = None
        entries = sorted((record.entry() for record in records), key=lambda entry: entry.seq)
        return Continued(
            entries=entries, mark=mark, from_start=not holds, memory_mode=state.memory_mode
        )

    def window(self, state: State) -> Window:
        """What the view shows now. Remembers in ``state`` where earlier entries stand."""
        cycle, reset = state.cycle_offset, state.reset_offset
        if reset is not None and (cycle is None or reset > cycle):
            return Window(tail=self._tail(reset))
        found = self.at(cycle, state.cycle) if cycle is not None else None
        if found is None:  # no compaction yet, or its bytes were damaged since
            self.met_damage = self.met_damage or cycle is not None
            return Window(tail=self._tail(0))
        compaction = found.entry()
        earlier = self._earlier(set(needed_before(compaction)), state)
        start = self._cut_of(compaction, found)
        return Window(compaction=compaction, earlier=earlier, tail=self._tail(start))

    def _tail(self, start: int) -> list[Entry]:
        entries = [record.entry() for record in self.records(start)]
        return sorted(entries, key=lambda entry: entry.seq)

    def _cut_of(self, compaction: Entry, record: Record) -> int:
        """Where the tail begins: at the first kept entry, else behind the watermark."""
        first_kept = compaction.data.get("first_kept")
        if first_kept is not None and (kept := self.find(first_kept)) is not None:
            return kept.offset
        # Nothing was kept, or what was kept first is damaged: what came later is still there.
        watermark = compaction.data.get("watermark")
        start = record.offset
        for each in self.backwards():
            if each.seq <= (watermark if watermark is not None else record.seq):
                break
            start = each.offset
        return start

    def _earlier(self, wanted: set[str], state: State) -> tuple[Entry, ...]:
        """The entries shown from before the cut, and the prunes that shorten them."""
        if not wanted:
            return ()
        known = [self.at(offset, each) for each, offset in state.earlier_offsets.items()]
        if wanted <= {record.id for record in known if record is not None}:
            found = [record for record in known if record is not None]
        else:
            found = list(self._search(wanted))
            state.earlier_offsets = {record.id: record.offset for record in found}
        return tuple(record.entry() for record in sorted(found, key=lambda each: each.seq))

    def _search(self, wanted: set[str]) -> Iterator[Record]:
        left = set(wanted)
        for record in self.backwards():
            if record.id in left:
                left.discard(record.id)
                yield record
            elif record.type == "prune" and _prunes_any_of(record.entry(), wanted):
                yield record
            if not left:
                break


def _prunes_any_of(prune: Entry, wanted: set[str]) -> bool:
    shown = prune.data.get("shown")
    return isinstance(shown, list) and any(
        isinstance(change, dict) and change.get("entry") in wanted for change in shown
    )


def _scan_bytes(data: bytes, start: int) -> Iterator[Record | Damage]:
    return scan(lambda offset, length: data[offset - start :][:length], start, start + len(data))
