"""What was said elsewhere and before, on its way into a transcript.

Its entries have ids that follow from what they are, so a transcript itself tells which of them it
holds already; whoever brings a conversation in again, after a crash or beside another process,
adds exactly what is missing.

Promise: bringing in a conversation once, twice, in pieces or from two processes at once leaves
the same entries (``tests/engine/test_importing.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from holdfast.sessions.drafts import Draft
from holdfast.sessions.transcript import Transcript
from holdfast.types import Entry

__all__ = ["IMPORTED", "LIVE", "Known", "add_missing", "id_of", "is_imported"]

IMPORTED: Final = {"trust": "import"}
"""What the envelope of an entry says that was not said here."""
LIVE: Final = {"trust": "live"}
"""Of an entry of a conversation that the user leads now, in another program on this machine."""

_RECENT: Final = 256
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"


def id_of(conversation: str, key: str) -> str:
    """The id of an entry, as long as others: a digest of what identifies it, and nothing else."""
    digest = sha256(f"{conversation}\0{key}".encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:12])
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(0, 90, 5))


def is_imported(entry: Entry) -> bool:
    """Whether an entry was said elsewhere."""
    return entry.extra.get("trust") in (IMPORTED["trust"], LIVE["trust"])


@dataclass(slots=True)
class Known:
    """Which entries a transcript holds. Right as long as ``last`` is its last one."""

    last: str | None = None
    ids: set[str] = field(default_factory=set)

    @classmethod
    def recent(cls, transcript: Transcript, last: str | None) -> Known:
        """For somebody who wrote until ``last`` and goes on behind it: only the newest ids are
        read, if nobody else has written since."""
        if last is None or transcript.state().last_id != last:
            return cls()
        return cls(last=last, ids={entry.id for entry in transcript.entries(last=_RECENT)})

    def catch_up(self, transcript: Transcript) -> None:
        """Look at all ids, if somebody else has written meanwhile."""
        last = transcript.state().last_id
        if last != self.last:
            self.last, self.ids = last, transcript.ids()

    def without(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Those that are not there yet, each id once."""
        new = {draft.id: draft for draft in reversed(drafts) if draft.id not in self.ids}
        return list(new.values())[::-1]

    def note(self, entries: Collection[Entry]) -> None:
        for entry in entries:
            self.ids.add(entry.id)
            self.last = entry.id


def add_missing(transcript: Transcript, drafts: Sequence[Draft], known: Known) -> list[Entry]:
    """Append those of the drafts that are not there; nobody else writes meanwhile."""
    with transcript.exclusive():
        known.catch_up(transcript)
        new = known.without(drafts)
        entries = transcript.append(new) if new else []
        known.note(entries)
        return entries
