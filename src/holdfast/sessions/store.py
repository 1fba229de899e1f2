"""The sessions of one workspace: create, open, list, fork, rename, delete, verify.

Promises: a name cannot leave the folder; a session is deleted only as a whole, leaves a
tombstone so that its citations can say when it went, and takes with it exactly the artifacts
nobody else names (``tests/sessions/test_store.py``). Locks are taken in one order: the
store's, the artifacts', the session's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from time import time_ns
from typing import Final, Literal

from holdfast.disk import Directory, FileLock
from holdfast.errors import (
    NotFound,
    PolicyRefused,
    SessionGone,
    StorageError,
    UsageError,
    did_you_mean,
)
from holdfast.events import EventBus, TranscriptDamaged
from holdfast.ports import Clock, Ids
from holdfast.scope import check_name
from holdfast.sessions.artifacts import (
    Artifacts,
    find_large,
    inline,
    reference_ids,
    set_aside,
)
from holdfast.sessions.past import Known, add_missing
from holdfast.sessions.quarantine import Quarantine
from holdfast.sessions.reading import Kept
from holdfast.sessions.shapes import references
from holdfast.sessions.state import State
from holdfast.sessions.transcript import Draft, Transcript, Verification
from holdfast.sessions.view import GrowingView
from holdfast.types import Entry, Json, Message, View

__all__ = ["Look", "SessionSummary", "Store", "Tombstone"]

_A_DAY_NS: Final = 86_400 * 10**9
_ENDING: Final = ".jsonl"
_TOMBSTONES: Final = "tombstones.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session in a list."""

    name: str
    entries: int
    messages: int
    compactions: int
    bytes: int
    created_at: str | None
    last_at: str | None
    goal: str | None
    is_closed: bool
    forked_from: str | None
    problem: str | None = None
    """Why it cannot be read, if it cannot."""

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What is left of a session that has gone."""

    session: str
    what: Literal["deleted", "renamed"]
    at: str
    entries: int
    to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A view, and the entries behind it: those still shown from before the cut, and the tail."""

    view: View
    entries: tuple[Entry, ...]
    compaction: Entry | None
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)
    """What was worked out from looks like this one, for whoever looks next."""

    @property
    def last_seq(self) -> int:
        return max((entry.seq for entry in self.entries), default=0)


class Store:
    """All sessions below one folder. Safe to use from several threads and processes."""

    def __init__(
        self, base: Directory, *, clock: Clock, ids: Ids, events: EventBus, cap_chars: int
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._events = events
        self._cap_chars = cap_chars
        self._folder = base.child("sessions")
        self._journal = base.child(".journal")
        self._locks = self._journal.child("locks")
        self._quarantine = self._journal.child("quarantine")
        self.artifacts = Artifacts(base.child("artifacts"))

    # ── finding ─────────────────────────────────────────────────────────────────────────────

    def names(self) -> list[str]:
        return [
            name.removesuffix(_ENDING) for name in self._folder.names() if name.endswith(_ENDING)
        ]

    def has(self, name: str) -> bool:
        """Whether there is a session of that name."""
        check_name(name)
        return self._folder.stat(name + _ENDING) is not None

    def open(self, name: str) -> Transcript:
        """The transcript of a session that exists."""
        check_name(name)
        if self._folder.stat(name + _ENDING) is None:
            raise self._not_found(name)
        return self._transcript(name)

    def open_or_create(self, name: str, header: dict[str, Json]) -> tuple[Transcript, bool]:
        """The transcript, and whether it had to be made."""
        check_name(name)
        transcript = self._transcript(name)
        with suppress(SessionGone):  # not there, or deleted this moment
            if transcript.state().entries:
                return transcript, False
        with self._lock_of("sessions").hold():  # so that no fork or rename takes the name
            return transcript, transcript.create([Draft(type="session", data=header)])

    def note_use(self, name: str) -> None:
        """Opening is activity: it keeps a session searchable (``index.retention_days``)."""
        seen = self._folder.glance(name + _ENDING)
        if seen is not None and time_ns() - seen.modified_ns > _A_DAY_NS:
            self._folder.touch(name + _ENDING)

    def summaries(self) -> list[SessionSummary]:
        """All sessions, the most recently used first."""
        found = []
        for name in self.names():
            with suppress(SessionGone):  # deleted or renamed this moment
                found.append(self._summary(self._transcript(name)))
        return sorted(found, key=lambda each: (each.last_at or "", each.name), reverse=True)

    def _summary(self, transcript: Transcript) -> SessionSummary:
        problem = None
        try:
            state = transcript.state()
            transcript.close()
        except (PolicyRefused, StorageError) as error:  # one bad file must not hide the others
            state, problem = State(), error.message
        return SessionSummary(
            name=transcript.name,
            entries=state.entries,
            messages=state.messages,
            compactions=state.compaction_count,
            bytes=state.end,
            created_at=state.created_at,
            last_at=state.last_at,
            goal=state.goal,
            is_closed=state.closed,
            forked_from=(state.forked_from or {}).get("session"),
            problem=problem,
        )

    def tombstone(self, name: str) -> Tombstone | None:
        """When and how a session of that name last went, if one did."""
        last = None
        for line in (self._journal.read(_TOMBSTONES) or b"").splitlines():
            try:
                stone = Tombstone(**json.loads(line))
            except (ValueError, TypeError):
                continue  # a line torn by a crash: its deletion had not happened yet
            if stone.session == name:
                last = stone
        return last

    # ── reading and writing one ─────────────────────────────────────────────────────────────

    def append(
        self,
        transcript: Transcript,
        messages: Sequence[Message],
        *,
        usage: Mapping[str, Json] | None = None,
    ) -> list[Entry]:
        """Append messages; their large payloads become artifacts first.

        ``usage`` is what the provider counted for the last of them; it is kept with it.
        """
        stored = [message.to_json() for message in messages]
        if usage:
            stored[-1]["usage"] = dict(usage)
        large = [find_large(each, cap_chars=self._cap_chars) for each in stored]
        if not any(large):
            return transcript.append([Draft(type="message", data=each) for each in stored])
        # Held, so that nobody frees an artifact between its put and its first mention.
        with self._lock_of("artifacts").hold(shared=True):
            slim = [
                set_aside(each, payloads, self.artifacts, cap_chars=self._cap_chars)
                for each, payloads in zip(stored, large, strict=True)
            ]
            return transcript.append([Draft(type="message", data=each) for each in slim])

    def begin_past(
        self, name: str, header: Draft, drafts: Sequence[Draft], known: Known
    ) -> tuple[Transcript, int]:
        """The transcript of a conversation that is brought in, and how many of its messages are
        new; ``header`` and messages are one write. If it was begun before, it is continued."""
        check_name(name)
        transcript = self._transcript(name)
        new = known.without(drafts)
        with self._lock_of("sessions").hold(), ExitStack() as held:
            slim = self._set_aside(new, held)
            if transcript.create([header, *slim]):
                known.last, known.ids = (
                    slim[-1].id,
                    {each.id for each in (header, *slim) if each.id},
                )
                return transcript, len(slim)
        return transcript, len(self.append_past(transcript, drafts, known))

    def append_past(
        self, transcript: Transcript, drafts: Sequence[Draft], known: Known
    ) -> list[Entry]:
        """Append the messages of a conversation from elsewhere that are not there yet.

        Their large payloads become artifacts first, as those of any message.
        """
        known.catch_up(transcript)  # first: a payload that was erased must not come back
        with ExitStack() as held:
            return add_missing(transcript, self._set_aside(known.without(drafts), held), known)

    def _set_aside(self, drafts: Sequence[Draft], held: ExitStack) -> list[Draft]:
        """The drafts with their large payloads stored, which nobody frees while ``held``."""
        large = [find_large(each.data, cap_chars=self._cap_chars) for each in drafts]
        if not any(large):
            return list(drafts)
        held.enter_context(self._lock_of("artifacts").hold(shared=True))
        cap = self._cap_chars
        return [
            replace(each, data=set_aside(each.data, payloads, self.artifacts, cap_chars=cap))
            for each, payloads in zip(drafts, large, strict=True)
        ]

    def end_past(self, transcript: Transcript) -> None:
        """Let go of a transcript that was brought in; its file is as old as what it ends with.

        So the conversation that was really the last one here stays the last one.
        """
        last_at = transcript.state().last_at
        transcript.close()
        if last_at is not None:
            at = min(max(0, int(datetime.fromisoformat(last_at).timestamp() * 1e9)), time_ns())
            with suppress(OSError):  # a time is worth no error
                os.utime(self._folder.path / transcript.file_name, ns=(at, at))

    def view(self, transcript: Transcript) -> View:
        """What the model sees of this session now."""
        return self.look(transcript).view

    def look(self, transcript: Transcript) -> Look:
        """What the model sees, with the entries it is computed from."""
        window = transcript.window()
        view = window.kept.get(GrowingView).view(
            window.tail,
            compaction=window.compaction,
            earlier=window.earlier,
            put_back=self._shown,
            stamp=self._stamp,
        )
        in_tail = {entry.id for entry in window.tail} if window.earlier else ()
        earlier = [entry for entry in window.earlier if entry.id not in in_tail]
        return Look(
            view=view,
            entries=(*earlier, *window.tail),
            compaction=window.compaction,
            kept=window.kept,
        )

    def whole(self, entry: Entry, *, strict: bool = True) -> Entry:
        """The entry as it was appended, with every payload in place (a note, if not ``strict``)."""
        data = inline(entry.data, self.artifacts, whole=True, strict=strict)
        return replace(entry, data=data)

    def _shown(self, entry: Entry) -> Entry:
        if "artifacts" not in entry.data:
            return entry
        return replace(entry, data=inline(entry.data, self.artifacts, whole=False))

    def _stamp(self, entry: Entry) -> Json:
        """Changes when a payload that is shown whole goes, comes back or becomes another."""
        shown = [each["sha256"] for each in references(entry.data) if not each["short"]]
        return self.artifacts.glances(shown)

    def verify(self, transcript: Transcript) -> Verification:
        """Check every byte of the transcript, and that its artifacts are what they were."""
        found = transcript.verify()
        named = {each for entry in transcript.entries() for each in reference_ids(entry.data)}
        return replace(found, missing_artifacts=tuple(filter(self._is_broken, sorted(named))))

    def _is_broken(self, artifact_id: str) -> bool:
        try:
            self.artifacts.get(artifact_id)
        except (NotFound, StorageError):
            return True
        return False

    # ── changing which there are ────────────────────────────────────────────────────────────

    def fork(self, original: Transcript, entry_id: str, target: str) -> None:
        """A new session that starts as that one was after that entry. Ids stay the same."""
        check_name(target)
        with self._lock_of("sessions").hold(), self._lock_of("artifacts").hold(shared=True):
            self._must_be_free(target)
            marker = {"kind": "fork", "session": original.name, "entry": entry_id}
            self._folder.replace(target + _ENDING, original.lines_of_fork(entry_id, marker))
            self._folder.sync_way()

    def rename(self, name: str, target: str) -> None:
        """Give a session another name; citations of the old one lead there (``tombstone``).

        Whoever has it open goes on writing to it: it is the same conversation.
        """
        check_name(target)
        transcript = self.open(name)
        with self._lock_of("sessions").hold(), transcript.exclusive():
            self._must_be_free(target)
            self._bury(transcript, what="renamed", to=target)
            transcript.drop_counters()
            self._quarantine_of(name).rename(target)
            self._folder.rename(name + _ENDING, target + _ENDING)
        transcript.close()
        transcript.tell_damage()

    def delete(self, name: str) -> tuple[int, int]:
        """Remove a session for good; how many entries and artifacts went."""
        transcript = self.open(name)
        with (
            self._lock_of("sessions").hold(),
            self._lock_of("artifacts").hold(),
            transcript.exclusive(),
        ):
            entries = len(transcript.entries())
            named = transcript.artifact_names()
            named -= self._named_elsewhere(named, besides=name)
            self._bury(transcript, what="deleted")
            transcript.drop_counters()
            self._folder.remove(name + _ENDING)
            self._folder.sync()
            self._quarantine_of(name).remove()
            freed = self.artifacts.free(named)
        transcript.close()
        transcript.tell_damage()
        return entries, freed

    def quarantined(self) -> list[str]:
        """The sessions of which damaged bytes were set aside."""
        return [name.removesuffix(".quarantine") for name in self._quarantine.names()]

    def _named_elsewhere(self, artifact_ids: set[str], *, besides: str) -> set[str]:
        """Those of the artifacts that another transcript names, damaged lines included."""
        left = set(artifact_ids)
        for name in self.names():
            if left and name != besides:
                try:
                    left -= self._transcript(name).artifact_names()
                except SessionGone:
                    continue
                except (PolicyRefused, StorageError):
                    return artifact_ids  # it cannot be read, so it may name any of them
        return artifact_ids - left

    def _bury(
        self, transcript: Transcript, *, what: Literal["deleted", "renamed"], to: str | None = None
    ) -> None:
        stone = Tombstone(
            session=transcript.name,
            what=what,
            at=self._clock.now().isoformat(),
            entries=transcript.state().entries,
            to=to,
        )
        file = self._journal.open_growing(_TOMBSTONES, create=True)
        size = file.size()
        # A line torn by a crash must not swallow this one.
        newline = b"\n" if size and file.read(size - 1, 1) != b"\n" else b""
        file.append(
            newline + json.dumps(asdict(stone), ensure_ascii=False).encode() + b"\n", at=size
        )
        file.close()
        self._journal.sync()

    def _must_be_free(self, name: str) -> None:
        if self._folder.stat(name + _ENDING) is not None:
            raise UsageError(
                f"There is a session {name!r} already.",
                hint="Choose another name, or delete it: holdfast sessions delete " + name,
            )

    def _not_found(self, name: str) -> NotFound:
        stone = self.tombstone(name)
        if stone is not None and stone.what == "renamed":
            return NotFound(
                f"Session {name!r} was renamed to {stone.to!r} on {stone.at[:10]}.",
                hint=f"Run: holdfast sessions show {stone.to}",
            )
        if stone is not None:
            return NotFound(f"Session {name!r} was deleted on {stone.at[:10]}.")
        near = did_you_mean(name, self.names())
        return NotFound(
            f"There is no session {name!r}.", hint=near or "Run: holdfast sessions list"
        )

    def _lock_of(self, what: str) -> FileLock:
        return FileLock(self._locks, f"{what}.lock")

    def _quarantine_of(self, name: str) -> Quarantine:
        return Quarantine(self._quarantine, name)

    def _transcript(self, name: str) -> Transcript:
        return Transcript(
            name,
            folder=self._folder,
            quarantine=self._quarantine_of(name),
            clock=self._clock,
            ids=self._ids,
            on_damage=self._tell_damage,
        )

    def _tell_damage(self, name: str, regions: int, damaged_bytes: int, kept_in: str) -> None:
        self._events.emit(
            TranscriptDamaged(
                at=self._clock.now(),
                session=name,
                regions=regions,
                damaged_bytes=damaged_bytes,
                quarantine=kept_in,
            )
        )
