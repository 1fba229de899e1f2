"""What is told of an erasure, and a text taken out of what was told earlier.

Promise: a receipt says where something was erased, how often, and what remains, and not what it
was: only a keyed hash of it, so that who has the key and the text can tell that it was this one
(``tests/engine/test_erase.py``).
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from functools import cache
from typing import Final

from holdfast.disk import Directory
from holdfast.engine.eventlog import EVENTS, locked_events
from holdfast.events import Event
from holdfast.matching import Match
from holdfast.retain import RetainLine
from holdfast.sessions.blanking import FORMAT_WORDS, erased_name
from holdfast.sessions.state import State
from holdfast.types import Erased, Json, Remaining

__all__ = ["EVENTS", "erase_events", "erase_receipts", "may_be_format", "write_receipt"]

_KEY: Final = ".receipts.key"
_FOLDER: Final = "receipts"
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T[0-9:.+-]{8,24}Z?")
_NUMBER_OR_HASH: Final = re.compile(r"[0-9a-f.:,tz+#_-]{1,64}")
_KEYS: Final = frozenset(
    {"event", "at", "session", "to", "receipt", "stores", "place", "store", "spans", "files"}
    | {"entries", "remaining", "path", "why", "hint", "scanned", "bytes", "seconds", "texts"}
)


def write_receipt(
    home: Directory,
    journal: Directory,
    match: Match,
    *,
    at: datetime,
    stores: Mapping[tuple[str, str], Erased],
    remaining: Sequence[Remaining],
    scanned: Mapping[str, int],
    seconds: float,
) -> str:
    """Write it durably; its path. ``stores`` are named by their place and their kind."""
    key = _key(home)
    told: dict[str, Json] = {
        "receipt": match.receipt,
        "at": at.isoformat(),
        "texts": [
            hmac.new(key, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
            for text in match.normal
        ],
        "stores": [
            {
                "place": match.erased_name(place)[0],
                "store": each.store,
                "spans": each.spans,
                "entries": len(each.entries),
                "files": [match.erased_name(file)[0] for file in each.files],
            }
            for (place, _), each in sorted(stores.items())
        ],
        "remaining": [
            {**asdict(each), "path": match.erased_name(each.path)[0]} for each in remaining
        ],
        "scanned": dict(scanned),
        "seconds": round(seconds, 3),
    }
    folder = journal.child(_FOLDER)
    name = f"{match.receipt}.json"
    folder.replace(name, json.dumps(told, ensure_ascii=False, indent=1).encode() + b"\n")
    folder.sync_way()
    return str(folder.path / name)


def _key(home: Directory) -> bytes:
    """What makes the hashes of a receipt useless to whoever guesses texts without it."""
    home.create(_KEY, secrets.token_hex(32).encode())
    return home.read(_KEY) or b""


def erase_events(
    home: Directory,
    match: Match,
    sessions: Collection[str] | None,
    *,
    dry_run: bool,
    moved: Mapping[str, str] | None = None,
) -> int:
    """Take the text out of the log of events; how many lines held it.

    ``sessions``: only what was told of these is changed. ``moved``: files that have another name
    now, or none.
    """

    def change(data: bytes) -> tuple[bytes, int]:
        lines = data.split(b"\n")
        new = [_report_without(match, line, sessions, moved or {}) for line in lines]
        changed = sum(one != two for one, two in zip(lines, new, strict=True))
        return b"\n".join(new), changed

    data = home.read(EVENTS) or b""
    known = data[: data.rfind(b"\n") + 1]
    new, changed = change(known)
    if not changed or dry_run:
        return changed + change(data[len(known) :])[1]
    with locked_events(home) as file:  # only as long as it takes to read what came meanwhile
        size = file.size()
        if file.read(0, len(known)) != known:
            known, new, changed = b"", b"", 0
        rest, more = change(file.read(len(known), size))
        home.replace(EVENTS, new + rest)
    return changed + more


def erase_receipts(journal: Directory, match: Match, *, dry_run: bool) -> Erased:
    """Earlier receipts name files and sessions, which may have been named so."""
    changed: list[str] = []
    if _FOLDER in journal.names():
        folder = journal.child(_FOLDER)
        for name in folder.names():
            data = folder.read(name) or b""
            if (new := _report_without(match, data)) != data:
                changed.append(f".journal/{_FOLDER}/{name}")
                if not dry_run:
                    folder.replace(name, new)
    return Erased(store="receipts", spans=len(changed), files=tuple(changed))


def _report_without(
    match: Match,
    data: bytes,
    sessions: Collection[str] | None = None,
    moved: Mapping[str, str] | None = None,
) -> bytes:
    """A report in JSON without the text; nothing at all, if it is torn and holds it."""
    if not match.is_in_bytes(data) and not any(each.encode() in data for each in moved or ()):
        return data
    try:
        report = json.loads(data)
    except ValueError:
        report = None
    if sessions is not None and (
        not isinstance(report, dict) or report.get("session") not in sessions
    ):
        return data
    if not isinstance(report, dict):
        return b""
    named = {
        key: erased_name(match, value) if key in {"session", "to"} and value else value
        for key, value in report.items()
    }
    if (path := named.get("path")) is not None and isinstance(path, str):
        named["path"] = (moved or {}).get(path, path)
    changed, _ = match.erased_json(named, keeps=_keeps)
    if changed == report:
        return data
    if b"\n" in data.strip():
        return json.dumps(changed, ensure_ascii=False, indent=1).encode() + b"\n"
    return json.dumps(changed, ensure_ascii=False, separators=(",", ":")).encode()


@cache
def _vocabulary() -> frozenset[str]:
    """Every word that our own files hold without anybody having said it."""
    counters = {each.name for each in fields(State)}
    events = {each.name for each in fields(Event)}
    for kind in Event.__subclasses__():
        events |= {kind.name, *(each.name for each in fields(kind))}
    lines = {each.name for each in fields(RetainLine)}
    journal = {"before", "after", "changes", "preimage", "inode", "about", "undoes", "what"}
    quarantined = {"offset", "length", "no record", "checksum does not match", "nul bytes"}
    return FORMAT_WORDS | counters | events | lines | journal | quarantined | _KEYS


def may_be_format(normal: str) -> bool:
    """Whether a text may stand in our files as a word of theirs, a number, a time or a hash."""
    if _NUMBER_OR_HASH.fullmatch(normal):
        return True
    return any(normal in word for word in _vocabulary())


def _keeps(key: str | None, value: Json) -> bool:
    if not isinstance(value, str):
        return True
    if key is None:
        return value in _KEYS
    if key in {"texts", "receipt", "event", "store"}:
        return True
    return key == "at" and _TIME.fullmatch(value) is not None
