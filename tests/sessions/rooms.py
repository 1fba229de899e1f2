"""A store on a real folder, and entries to put into it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from holdfast.disk import SYSTEM, Directory, System
from holdfast.events import Event, EventBus
from holdfast.ports import Ids
from holdfast.sessions.records import encode
from holdfast.sessions.store import Store
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.testing import FixedClock, SequentialIds
from holdfast.types import Entry, Json

_stores = count()

AT = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)


def open_store(
    folder: Path,
    *,
    system: System = SYSTEM,
    told: list[Event] | None = None,
    cap_chars: int = 65536,
    ids: Ids | None = None,
) -> Store:
    events = EventBus()
    if told is not None:
        events.subscribe(told.append)
    return Store(
        Directory.open(folder, system=system),
        clock=FixedClock(),
        ids=ids or SequentialIds(f"store{next(_stores)}-"),  # as unique as real ones
        events=events,
        cap_chars=cap_chars,
    )


def open_transcript(store: Store, name: str = "s1") -> Transcript:
    return store.open_or_create(name, {"agent": "main"})[0]


def said(text: str, role: str = "user") -> Draft:
    return Draft(type="message", data={"role": role, "text": text})


def line(seq: int, text: str = "hello", *, entry_id: str | None = None, **data: Json) -> bytes:
    """A record as it stands in a file."""
    return encode(
        Entry(
            id=entry_id or f"e{seq:06d}",
            parent=f"e{seq - 1:06d}" if seq else None,
            seq=seq,
            at=AT,
            type="message",
            data={"role": "user", "text": text, **data},
        )
    )


def texts(transcript: Transcript) -> list[str]:
    return [entry.data["text"] for entry in transcript.entries() if "text" in entry.data]
