"""A conversation elsewhere → a session here: its name, its entries, what of it is new.

Promise: the same conversation always becomes the same session with the same entries, however
often, in however many pieces and after whatever crash it is brought in; a session of that name
that is another conversation is left alone (``tests/engine/test_importing.py``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from holdfast.engine.importing.ledger import Ledger, TalkRecord
from holdfast.engine.importing.runs import RunId
from holdfast.engine.importing.shapes import Heard, Source, Told
from holdfast.engine.importing.whereabouts import found_session, is_of_talk
from holdfast.engine.rooms import Rooms
from holdfast.formats.logs.said import About
from holdfast.sessions.drafts import Draft
from holdfast.sessions.past import IMPORTED, LIVE, Known, id_of
from holdfast.sessions.transcript import Transcript
from holdfast.text import cut, slug
from holdfast.types import Json

__all__ = ["Bringing", "talk_of"]

_BATCH_MESSAGES: Final = 2_000
_BATCH_CHARS: Final = 8 << 20
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{4}([0-9a-fA-F]{8})")
_PROJECT: Final = 26


def talk_of(told: Told, fallback: str) -> str:
    """What a conversation is known by, everywhere."""
    return f"{told.source}:{told.about.id or fallback}"


class Bringing:
    """One conversation on its way in. Nothing is written before its first message."""

    def __init__(
        self,
        rooms: Rooms,
        ledger: Ledger,
        talk: str,
        *,
        source: Source,
        about: About,
        run: RunId,
        now: datetime,
        is_dry: bool = False,
        last: str | None = None,
    ) -> None:
        self._rooms = rooms
        self._ledger = ledger
        self.talk = talk
        self.source = source
        self._about = about
        self._run = run
        self._mark = LIVE if run.is_single else IMPORTED
        self._is_dry = is_dry
        self._continues = last
        self._at = about.began or now
        self._drafts: list[Draft] = []
        self._ids: set[str] = set()
        self._chars = 0
        self._transcript: Transcript | None = None
        self._known = Known()
        self._is_open = False
        self.session: str | None = None
        self.is_new = False
        self.is_refused = False
        """Whether it was brought in before and deleted here since."""
        self.messages = 0
        self.doubles = 0
        """Messages that stand in what was read more than once."""
        self.added = 0
        self.first: datetime | None = None
        self.last: datetime | None = None

    def add(self, heard: Heard) -> None:
        self._at = heard.at or self._at
        self.messages += 1
        self.first = min(self.first or self._at, self._at)
        self.last = max(self.last or self._at, self._at)
        id = id_of(self.talk, heard.key)
        if id in self._ids:
            self.doubles += 1
            return
        self._ids.add(id)
        data = heard.message.to_json()
        self._drafts.append(Draft(type="message", data=data, id=id, at=self._at, extra=self._mark))
        self._chars += _length(data)
        if len(self._drafts) >= _BATCH_MESSAGES or self._chars >= _BATCH_CHARS:
            self._write()

    def end(self) -> str:
        """Write what is left; the id of the last entry, to read on behind it."""
        self._write()
        if self._transcript is not None and not self._is_dry:
            self._rooms.store.end_past(self._transcript)
        return self._known.last or ""

    def _write(self) -> None:
        drafts, self._drafts, self._chars = self._drafts, [], 0
        if not drafts or self.is_refused:
            return
        if not self._is_open:
            self._open(drafts[0].at or self._at)
        if self.is_refused:
            return
        store = self._rooms.store
        if self._is_dry:
            if self._transcript is not None:
                self._known.catch_up(self._transcript)
            new = self._known.without(drafts)
            self._known.ids.update(draft.id for draft in new if draft.id is not None)
            self.added += len(new)
        elif self._transcript is None:
            header = self._header(drafts[0].at or self._at)
            name = self.session or ""
            self._transcript, count = store.begin_past(name, header, drafts, self._known)
            self.added += count
        else:
            self.added += len(store.append_past(self._transcript, drafts, self._known))

    # ── which session ───────────────────────────────────────────────────────────────────────

    def _open(self, at: datetime) -> None:
        self._is_open = True
        known = self._ledger.talks.get(self.talk)
        name = known.session if known is not None else self._free_name(at)
        transcript = found_session(self._rooms, name)
        if transcript is None and known is not None:
            self.is_refused = True
            return
        self.session = name if transcript is None else transcript.name
        self.is_new = transcript is None
        if transcript is not None:
            self._transcript = transcript
            self._known = Known.recent(transcript, self._continues)
        if known is None and not self._is_dry:
            self._ledger.note(TalkRecord(talk=self.talk, session=name, run=self._run.taken()))

    def _free_name(self, at: datetime) -> str:
        """The name it has or will have; another one if that is taken by another conversation."""
        wanted = _name(self.source, self._about, self.talk, at)
        transcript = found_session(self._rooms, wanted)
        if transcript is None or is_of_talk(transcript.entries(), self.talk):
            return wanted
        return f"{cut(wanted, 55)}-{_digest(self.talk)}"

    def _header(self, at: datetime) -> Draft:
        scope = self._rooms.scope
        imported = {"source": self.source, "id": self.talk}
        if self._about.title:
            imported["title"] = cut(self._about.title, 200)
        if self._about.project:
            imported["project"] = cut(self._about.project, 400)
        data: dict[str, Json] = {"agent": scope.agent, "chat_type": scope.chat_type}
        data |= {key: value for key in ("user", "chat") if (value := getattr(scope, key))}
        data["import"] = imported
        return Draft(type="session", data=data, id=id_of(self.talk, ""), at=at, extra=self._mark)


def _name(source: Source, about: About, talk: str, at: datetime) -> str:
    """Stable, and readable: what, where, when, which."""
    project = re.split(r"[/\\]", about.project.rstrip("/\\"))[-1]
    where = [cut(slug(project), _PROJECT).strip("-")] if project else []
    # Of several conversations of one id, such as those of subagents, the whole name counts.
    found = None if "#" in about.id else _UUID.search(about.id) or _UUID.search(talk)
    short = found[1].lower() if found else _digest(talk)
    return "-".join([source, *where, at.astimezone(UTC).date().isoformat(), short])


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _length(data: Json) -> int:
    """About how long a message is when it is written."""
    if isinstance(data, str):
        return len(data)
    if isinstance(data, Mapping):
        return sum(map(_length, data.values()))
    return sum(map(_length, data)) if isinstance(data, list | tuple) else 8
