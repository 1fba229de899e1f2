"""Credentials go from a session that has ended, if ``transcripts.redact`` is ``at_close``.

Promise: the session reads as before but for the credentials, which are nowhere in its transcript
and payloads any more; what was covered by a flush stays covered
(``tests/engine/test_exporting.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from holdfast.context.accounting import ingest_cap
from holdfast.engine.erase.rederiving import rederived
from holdfast.engine.rooms import Rooms
from holdfast.matching import Match
from holdfast.redact import find_secrets
from holdfast.sessions.erasure import SessionErasure
from holdfast.types import Json

__all__ = ["redact_session"]


def redact_session(rooms: Rooms, session: str) -> int:
    """Take every credential out of the session; how many entries held one."""
    secrets = {
        text[found.start : found.end]
        for entry in rooms.transcript(session).entries()
        for text in _strings(rooms.store.whole(entry, strict=False).data)
        for found in find_secrets(text)
    }
    if not secrets:
        return 0
    match = Match(sorted(secrets), "secret")
    rooms.release(session)  # whoever opens it next reads it anew
    room = SessionErasure(
        rooms.base,
        rooms.store,
        cap_chars=ingest_cap(rooms.settings),
        rederive=partial(rederived, match.mark),
    )
    return room.erase_in(session, match)


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)
