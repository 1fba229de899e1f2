"""A text goes from what was said: transcripts, artifacts, quarantine, tombstones, names.

The one exception to append-only. A transcript that holds the text is replaced as a whole, at
once: every record keeps its id, its number and its time, and gets a new checksum. Damaged bytes
that hold the text are taken out, here and in quarantine. A payload that holds it becomes another
payload under another id, and every entry that names it names the new one.

Promise: afterwards the folder holds no byte of the text, every other entry is what it was to
the byte, and nothing that others append meanwhile is lost; a crash anywhere leaves each file old
or new, and doing it again finishes it (``tests/sessions/test_erasure.py``).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, TypeAlias

from holdfast.disk import Directory, FileLock
from holdfast.errors import NotFound, SessionGone
from holdfast.matching import Match
from holdfast.sessions.artifacts import reference_ids
from holdfast.sessions.blanking import Blanking, erased_name, json_without, stone_without
from holdfast.sessions.quarantine import Quarantine
from holdfast.sessions.records import Damage, Record, encode, scan
from holdfast.sessions.state import State
from holdfast.sessions.store import Store
from holdfast.sessions.transcript import Transcript
from holdfast.types import Citation, Entry, Erased, Remaining

__all__ = ["Rederive", "SessionErasure"]

Rederive: TypeAlias = Callable[[Sequence[Entry], Sequence[Entry]], Sequence[Entry]]
"""All entries of a session before and after → after, with what was made of the changed ones
(summaries, shortened views, hashes) made anew. Gives as many entries, in the same order."""

_ENDING: Final = ".jsonl"
_STATE_ENDING: Final = ".state.json"
_TOMBSTONES: Final = "tombstones.jsonl"
_SHORTEST_IN_ID: Final = 6
"""Characters. Shorter texts stand in random ids by chance."""


@dataclass(frozen=True, slots=True)
class _Payloads:
    """The artifacts that hold the text: what each says now, and its new id."""

    texts: dict[str, str | None] = field(default_factory=dict)
    new_ids: dict[str, str] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    """Named by entries of which nothing stays."""


class SessionErasure:
    """Everything said in one place. ``Erasable``."""

    def __init__(
        self, base: Directory, store: Store, *, cap_chars: int, rederive: Rederive | None = None
    ) -> None:
        self._base = base
        self._store = store
        self._cap_chars = cap_chars
        self._rederive = rederive or (lambda before, after: after)
        self._folder = base.child("sessions")
        self._journal = base.child(".journal")
        self._quarantine = self._journal.child("quarantine")
        self._locks = self._journal.child("locks")
        self.renamed: dict[str, str] = {}
        """The sessions that got another name."""

    def erase(self, match: Match, *, dry_run: bool = False) -> Erased:
        """Take the text out of everything; of entries in ``match.ids`` whatever was said."""
        with self._held(dry_run=dry_run):
            payloads = self._payloads(match, dry_run=dry_run)
            entries: list[str] = []
            files: list[str] = [f"artifacts/{name}" for name in payloads.texts]
            remaining: list[Remaining] = []
            spans = len(files)
            for name in self._store.names():
                with suppress(SessionGone, NotFound):
                    held = self._erase_transcript(name, match, payloads, dry_run=dry_run)
                    entries += [str(Citation(source=name, entry=each)) for each in held.entries]
                    spans += len(held.entries) + held.damages
                    if held.entries or held.damages:
                        files.append(f"sessions/{name}{_ENDING}")
                    remaining += [_told_by_ids(name)] if held.is_told_by_ids else []
            for path, count in self._rest(match, payloads, dry_run=dry_run):
                files.append(path)
                spans += count
        return Erased(
            store="sessions",
            spans=spans,
            files=tuple(files),
            entries=tuple(entries),
            remaining=tuple(remaining),
        )

    @contextmanager
    def _held(self, *, dry_run: bool = False) -> Iterator[None]:
        """Nobody else changes which sessions there are; who only looks leaves no lock either."""
        with ExitStack() as held:
            for name in () if dry_run else ("sessions.lock", "artifacts.lock"):
                held.enter_context(FileLock(self._locks, name).hold())
            yield

    def erase_in(self, session: str, match: Match) -> int:
        """Take the text out of one session; how many entries held it. Others keep theirs."""
        with self._held():
            named = self._store.open(session).artifact_names()
            payloads = self._payloads(match, dry_run=False, among=named)
            held = self._erase_transcript(session, match, payloads, dry_run=False)
            self._store.artifacts.free(self._no_longer_named(set(payloads.texts)))
        return len(held.entries)

    def blanked(self, match: Match, session: str, entries: Sequence[Entry]) -> list[Entry]:
        """These entries as an erasure would leave them, their payloads in place; on no disk."""
        blanking = self._blanking(match, session, entries, _Payloads())
        whole = [self._store.whole(entry, strict=False) for entry in entries]
        return [blanking.blank(entry) if blanking.holds(entry) else entry for entry in whole]

    # ── artifacts ───────────────────────────────────────────────────────────────────────────

    def _payloads(
        self, match: Match, *, dry_run: bool, among: Collection[str] | None = None
    ) -> _Payloads:
        """The new payloads are on disk before any entry names them."""
        found = _Payloads()
        for name in self._store.artifacts.names():
            if among is not None and name not in among:
                continue
            data = self._store.artifacts.raw(name)
            if data is None or not (name in match.ids or match.is_in_bytes(data)):
                continue
            text = None if name in match.ids else _text_without(match, data)
            found.texts[name] = text
            if text is not None:
                payload = text.encode("utf-8", "surrogatepass")
                found.new_ids[name] = (
                    sha256(payload).hexdigest() if dry_run else self._store.artifacts.put(payload)
                )
        return found

    # ── transcripts ─────────────────────────────────────────────────────────────────────────

    def _erase_transcript(
        self, name: str, match: Match, payloads: _Payloads, *, dry_run: bool
    ) -> _Held:
        transcript = self._store.open(name)
        work = _Rewriting(self, name, match, payloads, self._rederive)
        try:
            if not _may_hold(transcript, match, payloads, name):
                return work.held
            if dry_run:
                work.look(self._lines(name))
            elif transcript.rewrite(work):
                self._quarantine_of(name).rewrite(work.moved)
        finally:
            transcript.close()
        return work.held

    def entries(self, session: str) -> list[Entry]:
        """The intact entries of a session, read without a trace: damage stays where it is."""
        return [each.entry() for each in self._lines(session) if isinstance(each, Record)]

    def _lines(self, session: str) -> list[Record | Damage]:
        data = self._folder.read(session + _ENDING)
        if data is None:
            raise SessionGone(f"Session {session!r} is gone.")
        return list(scan(lambda start, length: data[start : start + length], 0, len(data)))

    def _blanking(
        self, match: Match, session: str, entries: Sequence[Entry | Record], payloads: _Payloads
    ) -> Blanking:
        cited = (each.rpartition("#") for each in match.ids)
        return Blanking(
            match=match,
            ids=frozenset(each.id for each in entries),
            whole=frozenset(entry for source, _, entry in cited if source == session),
            payloads=payloads.texts,
            new_ids=payloads.new_ids,
            cap_chars=self._cap_chars,
        )

    def _quarantine_of(self, session: str) -> Quarantine:
        return Quarantine(self._quarantine, session)

    # ── what is left of sessions ────────────────────────────────────────────────────────────

    def _rest(
        self, match: Match, payloads: _Payloads, *, dry_run: bool
    ) -> Iterator[tuple[str, int]]:
        """Names, counters, quarantine, tombstones; last the payloads nobody names any more."""
        yield from self._rename_sessions(match, dry_run=dry_run)
        for name in self._folder.names():
            if name.endswith(_STATE_ENDING) and _counters_hold(match, self._folder.read(name)):
                yield f"sessions/{name}", 1
                if not dry_run:
                    self._folder.remove(name)
        yield from self._erase_quarantine(match, dry_run=dry_run)
        if count := self._erase_tombstones(match, dry_run=dry_run):
            yield f".journal/{_TOMBSTONES}", count
        if not dry_run:
            self._folder.sync()
            unnamed = set(payloads.texts) - set(payloads.new_ids.values())
            self._store.artifacts.free(unnamed | self._no_longer_named(payloads.dropped))

    def _no_longer_named(self, dropped: set[str]) -> set[str]:
        """The payloads of entries that went whole, unless others have them too."""
        left = set(dropped)
        for name in self._store.names() if dropped else ():
            left -= self._store.open(name).artifact_names()
        return left

    def _rename_sessions(self, match: Match, *, dry_run: bool) -> Iterator[tuple[str, int]]:
        taken = set(self._store.names())
        for name in sorted(taken):
            if (new := erased_name(match, name)) == name:
                continue
            number = 1
            while new in taken:
                number += 1
                new = f"{erased_name(match, name)[:58]}-{number}"
            taken.add(new)
            self.renamed[name] = new
            yield f"sessions/{new}{_ENDING}", 1
            if not dry_run:
                self._rename(name, new)

    def _rename(self, name: str, new: str) -> None:
        """Like ``Store.rename``, but nothing is left that tells the old name."""
        transcript = self._store.open(name)
        with transcript.exclusive():
            transcript.drop_counters()
            self._quarantine_of(name).rename(new)
            self._folder.rename(name + _ENDING, new + _ENDING)
        transcript.close()

    def _erase_quarantine(self, match: Match, *, dry_run: bool) -> Iterator[tuple[str, int]]:
        for name in self._quarantine.names():
            session = name.removesuffix(".quarantine")
            lines = (self._quarantine.read(name) or b"").splitlines()
            count = sum(_quarantined_without(match, line) != line for line in lines)
            if count and not dry_run:
                self._quarantine_of(session).rewrite(lambda line: _quarantined_without(match, line))
            if (new := erased_name(match, session)) != session:
                count += 1
                if not dry_run:
                    self._quarantine_of(session).rename(new)
            if count:
                yield f".journal/quarantine/{new}.quarantine", count

    def _erase_tombstones(self, match: Match, *, dry_run: bool) -> int:
        before = (self._journal.read(_TOMBSTONES) or b"").splitlines()
        after = [stone_without(match, line) for line in before]
        changed = sum(one != two for one, two in zip(before, after, strict=True))
        if changed and not dry_run:
            lines = b"".join(line + b"\n" for line in after if line is not None)
            self._journal.replace(_TOMBSTONES, lines)
        return changed


@dataclass(slots=True)
class _Held:
    """What of one transcript held the text."""

    entries: list[str]
    damages: int = 0
    is_told_by_ids: bool = False


class _Rewriting:
    """The lines of one transcript → its lines without the text; None if nothing changes."""

    def __init__(
        self,
        room: SessionErasure,
        name: str,
        match: Match,
        payloads: _Payloads,
        rederive: Rederive,
    ) -> None:
        self._room = room
        self._name = name
        self._match = match
        self._payloads = payloads
        self._rederive = rederive
        self._offsets: dict[tuple[int, str], int] = {}
        self.held = _Held([])

    def look(self, found: list[Record | Damage]) -> None:
        """Only find out what held it."""
        records = [each for each in found if isinstance(each, Record)]
        blanking = self._room._blanking(self._match, self._name, records, self._payloads)
        self._judge_ids(records)
        for record in records:
            if self._holds(blanking, record, record.entry()):
                self.held.entries.append(record.id)
        for each in found:
            if isinstance(each, Damage) and self._match.is_in_bytes(each.data):
                self.held.damages += 1

    def __call__(self, found: list[Record | Damage]) -> list[bytes] | None:
        records = [each for each in found if isinstance(each, Record)]
        blanking = self._room._blanking(self._match, self._name, records, self._payloads)
        self._judge_ids(records)
        before = [record.entry() for record in records]
        after = [self._blank(blanking, *each) for each in zip(records, before, strict=True)]
        if self.held.entries:
            after = list(self._rederive(before, after))
        lines = {
            record.offset: record.line + b"\n" if new is old else encode(new)
            for record, old, new in zip(records, before, after, strict=True)
        }
        written: list[bytes] = []
        at = 0
        for each in found:
            line = lines[each.offset] if isinstance(each, Record) else self._kept(each, at)
            written.append(line)
            at += len(line)
        return written if self.held.entries or self.held.damages else None

    def _blank(self, blanking: Blanking, record: Record, entry: Entry) -> Entry:
        if not self._holds(blanking, record, entry):
            return entry
        self.held.entries.append(record.id)
        if _is_unreadable(record, entry):
            return blanking.unreadable(record)
        if entry.id in blanking.whole:
            self._payloads.dropped.update(reference_ids(entry.data))
        return blanking.blank(entry)

    def _holds(self, blanking: Blanking, record: Record, entry: Entry) -> bool:
        if _is_unreadable(record, entry):
            return self._match.is_in_bytes(record.line)
        return blanking.holds(entry)

    def _judge_ids(self, entries: Sequence[Entry | Record]) -> None:
        """An id that a program gave may tell the text, and ids stay; ours tell nothing."""
        long = [text for text in self._match.normal if len(text) >= _SHORTEST_IN_ID]
        self.held.is_told_by_ids = any(
            text in each.id.casefold() or text in each.type for each in entries for text in long
        )

    def _kept(self, damage: Damage, at: int) -> bytes:
        if self._match.is_in_bytes(damage.data):
            self.held.damages += 1
            return b""
        self._offsets[damage.offset, sha256(damage.data).hexdigest()] = at
        return damage.data + b"\n"

    def moved(self, line: bytes) -> bytes:
        """A line of the quarantine with the place where its region stands now."""
        try:
            kept = json.loads(line)
            kept["offset"] = self._offsets[kept["offset"], kept["sha256"]]
        except (ValueError, KeyError, TypeError):
            return line
        return json.dumps(kept, ensure_ascii=False).encode()


def _is_unreadable(record: Record, entry: Entry) -> bool:
    return entry.type == "unreadable" != record.type


def _told_by_ids(name: str) -> Remaining:
    return Remaining(
        path=f"sessions/{name}{_ENDING}",
        why="Entries have ids or types that tell it, and these stay what they are.",
        hint=f"Delete the session: holdfast sessions delete {name}",
    )


def _may_hold(transcript: Transcript, match: Match, payloads: _Payloads, name: str) -> bool:
    """Whether it is worth reading entry by entry: a look at the bytes is much cheaper."""
    if any(each.rpartition("#")[0] == name for each in match.ids):
        return True
    if payloads.texts and not transcript.artifact_names().isdisjoint(payloads.texts):
        return True
    return bool(match.normal) and match.is_in_blocks(transcript.blocks())


def _counters_hold(match: Match, saved: bytes | None) -> bool:
    """Whether saved counters tell the text; dates and names of counters are none of it."""
    state = State.from_bytes(saved or b"")
    if state is None:
        return match.is_in_bytes(saved or b"")
    told = [state.goal, state.vars, state.forked_from]
    return match.erased_json(told)[1] > 0


def _text_without(match: Match, data: bytes) -> str | None:
    """A payload without the text; None if nothing of it can be kept, as in an image."""
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    erased, _ = match.erased(text)
    if not _is_same_json(match, text, erased):  # it may be the arguments of a call
        erased = json_without(match, text)
    return None if match.is_in_bytes(erased.encode("utf-8", "surrogatepass")) else erased


def _is_same_json(match: Match, before: str, after: str) -> bool:
    """Whether a text that is JSON still is, and says what is left of it; true for any other."""
    if before.lstrip()[:1] not in ("{", "["):
        return True
    try:
        value = json.loads(before)
    except (ValueError, RecursionError):
        return True
    try:
        return bool(json.loads(after) == match.erased_json(value)[0])
    except (ValueError, RecursionError):
        return False


def _quarantined_without(match: Match, line: bytes) -> bytes | None:
    """The line without the text; None if it cannot be read and holds it."""
    try:
        kept = json.loads(line)
        data = base64.b64decode(kept["base64"]) if "base64" in kept else kept["text"].encode()
    except (ValueError, KeyError, TypeError, AttributeError):
        return None if match.is_in_bytes(line) else line
    if not match.is_in_bytes(data) and not match.is_in_bytes(line):
        return line
    del data
    kept.pop("base64", None)
    mark = match.mark
    kept |= {"text": mark, "length": len(mark), "sha256": sha256(mark.encode()).hexdigest()}
    kept["reason"] = "erased"
    return json.dumps(kept, ensure_ascii=False).encode()
