"""``audit.jsonl``: who changed the memory, when and from what, in a chain nobody can edit.

A line says what was done by whom, with ids and keyed hashes, never with text. It carries the
SHA-256 of the line before it and is signed with the key in ``.audit.key``: a line that was
changed, taken out, moved or put in is found by ``verify``. What a crash left half written is
reported and becomes part of the chain. Lines cut off at the very end leave no trace in the
file itself; whoever needs to notice that keeps ``verify().head`` elsewhere.

Promise: an appended line is on disk, several processes append safely, and a record costs
one small append (``tests/engine/test_audit.py``).
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256
from typing import Final, Protocol

from holdfast.disk import Directory, GrowingFile
from holdfast.errors import StorageError
from holdfast.ports import Clock
from holdfast.text import slug
from holdfast.types import Json

__all__ = ["AUDIT_FILE", "AUDIT_KEY_FILE", "Audit", "AuditCheck", "AuditedChange"]

AUDIT_FILE: Final = "audit.jsonl"
AUDIT_KEY_FILE: Final = ".audit.key"
START: Final = "0" * 64
"""What the first line has in place of a hash."""

_BLOCK: Final = 64 << 10
_SHOWN_PATH: Final = re.compile(r"(?:memory/\d{4}-\d{2}-\d{2}\.md|MEMORY\.md|memory\.md)")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:#@-]{0,127}")
_MAC: Final = b',"mac":"'


class AuditedChange(Protocol):
    """A file before and after: its content, or a hash of it. None where there was no file."""

    @property
    def path(self) -> str: ...
    @property
    def before(self) -> str | bytes | None: ...
    @property
    def after(self) -> str | bytes | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """``first_bad`` is the number of the first line that is not what was written, from 1.

    ``torn`` counts lines that a crash cut short: no tampering, so ``intact`` all the same.
    ``head`` is the hash of the last line.
    """

    lines: int
    intact: bool
    first_bad: int | None = None
    torn: int = 0
    head: str = START


class Audit:
    """The audit log of one home. One object may be used by several threads."""

    def __init__(self, home: Directory, clock: Clock) -> None:
        self._home = home
        self._clock = clock

    def record(
        self,
        what: str,
        *,
        agent: str | None = None,
        door: str | None = None,
        operation: str | None = None,
        changes: Sequence[AuditedChange] = (),
        sources: Sequence[str] = (),
        **fields: str | int | float | bool | None,
    ) -> None:
        """Append one line, durably. Whatever is not an id or a number is written as its hash."""
        with self._locked() as file:
            key = self._key(create=True)
            before, is_torn = _last_line(file)
            said: dict[str, Json] = {
                "at": self._clock.now().astimezone(UTC).isoformat(timespec="milliseconds"),
                "what": what if _ID.fullmatch(what) else slug(what),
                "agent": _plain(key, agent),
                "door": _plain(key, door),
                "operation": _plain(key, operation),
                "changes": [_change(key, change) for change in changes],
                "sources": [_plain(key, source) for source in sources],
            }
            said |= {name: _plain(key, value) for name, value in fields.items()}
            said = {name: value for name, value in said.items() if value not in (None, [])}
            if is_torn:
                said["torn"] = True
            said["prev"] = sha256(before).hexdigest() if before is not None else START
            line = _signed(key, said)
            file.append((b"\n" if is_torn else b"") + line + b"\n", at=file.size())

    def verify(self) -> AuditCheck:
        """Read the whole chain, and say whether it is what was written."""
        if self._home.stat(AUDIT_FILE) is None:
            return AuditCheck(lines=0, intact=True)
        key = self._key(create=False)
        file = self._home.open_growing(AUDIT_FILE)
        try:
            file.lock()  # for its length: nobody is in the middle of a line
            size = file.size()
            file.unlock()
            return _checked(key, _lines(file, size))
        finally:
            file.close()

    def keyed(self, text: str | bytes) -> str:
        """The hash that stands for a text in the log: to look for it there."""
        with self._locked():
            return _keyed(self._key(create=True), text)

    @contextmanager
    def _locked(self) -> Iterator[GrowingFile]:
        while True:
            file = self._home.open_growing(AUDIT_FILE, create=True)
            try:
                file.lock()
                if not file.look()[0]:
                    continue  # replaced while we waited, by a restore
                yield file
                return
            finally:
                file.unlock()
                file.close()

    def _key(self, *, create: bool) -> bytes:
        """The key, made once: whoever makes it holds the lock of the log."""
        written = self._home.read(AUDIT_KEY_FILE)
        if written is None and create:
            written = secrets.token_hex(32).encode() + b"\n"
            self._home.replace(AUDIT_KEY_FILE, written)
        if written is None:
            raise StorageError(
                f"{str(self._home.path / AUDIT_KEY_FILE)!r} is missing: the log cannot be checked.",
                hint="Take it from a backup, next to the audit.jsonl that it signed.",
            )
        return written.strip()


def _plain(key: bytes, value: str | int | float | bool | None) -> Json:
    if isinstance(value, str) and _ID.fullmatch(value) is None:
        return _keyed(key, value)
    return value


def _change(key: bytes, change: AuditedChange) -> dict[str, Json]:
    is_shown = _SHOWN_PATH.fullmatch(change.path) is not None
    return {
        "path": change.path if is_shown else _keyed(key, change.path),
        "before": None if change.before is None else _keyed(key, change.before),
        "after": None if change.after is None else _keyed(key, change.after),
    }


def _keyed(key: bytes, text: str | bytes) -> str:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return f"k-{hmac.digest(key, data, 'sha256').hex()[:32]}"


def _signed(key: bytes, said: dict[str, Json]) -> bytes:
    body = json.dumps(said, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    return body[:-1] + _MAC + hmac.digest(key, body, "sha256").hex().encode() + b'"}'


def _last_line(file: GrowingFile) -> tuple[bytes | None, bool]:
    """The last line without its end, None if there is none; and whether the end is missing."""
    size = file.size()
    if not size:
        return None, False
    tail = b""
    at = size
    while at and b"\n" not in tail[:-1]:
        at = max(0, at - _BLOCK)
        tail = file.read(at, size - at)
    is_torn = not tail.endswith(b"\n")
    body = tail if is_torn else tail[:-1]
    return body.rpartition(b"\n")[2], is_torn


def _lines(file: GrowingFile, size: int) -> Iterator[tuple[bytes, bool]]:
    """Every line without its end, and whether it has one: the last may not."""
    at = 0
    kept: list[bytes] = []
    while at < size and (block := file.read(at, min(_BLOCK, size - at))):
        at += len(block)
        first, *others = block.split(b"\n")
        kept.append(first)
        for line in others:
            yield b"".join(kept), True
            kept = [line]
    if last := b"".join(kept):
        yield last, False


def _checked(key: bytes, lines: Iterator[tuple[bytes, bool]]) -> AuditCheck:
    count = torn = 0
    head = START
    first_bad: int | None = None
    is_doubtful = False  # the line before may be torn: this one says so if it was
    is_ended = True
    for line, has_end in lines:
        is_ended = has_end
        said = _read(key, line)
        count += 1
        follows = said is not None and said.get("prev") == head
        if is_doubtful and first_bad is None:
            is_told = follows and said is not None and said.get("torn") is True
            torn += is_told
            first_bad = None if is_told else count - 1
        elif said is not None and not follows and first_bad is None:
            first_bad = count
        is_doubtful = said is None
        head = sha256(line).hexdigest()
    if is_doubtful and first_bad is None:
        torn += not is_ended
        first_bad = count if is_ended else None
    return AuditCheck(
        lines=count, intact=first_bad is None, first_bad=first_bad, torn=torn, head=head
    )


def _read(key: bytes, line: bytes) -> dict[str, Json] | None:
    """What a line says, or None if we did not write it so."""
    body, mark, mac = line.rpartition(_MAC)
    if not mark or not mac.endswith(b'"}'):
        return None
    body += b"}"
    if not hmac.compare_digest(hmac.digest(key, body, "sha256").hex().encode(), mac[:-2]):
        return None
    said = json.loads(body)
    return said if isinstance(said, dict) else None
