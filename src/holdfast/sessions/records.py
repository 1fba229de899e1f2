"""Entries ⇄ lines of a transcript file.

A line is one JSON object that starts with ``{"hf":1,"seq":…`` and ends with a checksum of
every byte before it: ``,"crc":"0a1b2c3d"}``. Nothing inside a record can look like the start
of one (nested objects whose first key is ``hf`` get a space), so intact records are found
again in any debris around them.

Promise: a damaged byte costs the record it is in and no other
(``tests/sessions/test_damaged_transcripts.py``). Pure: bytes in, entries out.
"""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from holdfast.errors import InvalidMessage
from holdfast.types import Entry, Json

__all__ = ["Damage", "Record", "decode", "encode", "record_of", "scan"]

log = logging.getLogger("holdfast.sessions")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

LONGEST_LINE: Final = 32 << 20
"""Large payloads become artifacts before they get here; this bounds what one read can cost."""

_START: Final = b'{"hf":'
_CHECKSUM: Final = re.compile(rb',"crc":"([0-9a-f]{8})"\}')
_CHECKSUM_LENGTH: Final = len(b',"crc":"01234567"}')
_ENVELOPE: Final = re.compile(
    rb'\{"hf":\d+,"seq":(\d+),"id":"([^"\\]+)","parent":(?:null|"([^"\\]*)"),'
    rb'"at":"([^"\\]+)","type":"([^"\\]+)"'
)
_KNOWN_KEYS: Final = frozenset({"hf", "seq", "id", "parent", "at", "type", "data", "crc"})


def _encoder(*, ascii_only: bool) -> Callable[[Json, int], Iterable[str]]:
    """What ``json.dumps`` joins, compact and strict, set up once instead of at every call."""
    plain = json.JSONEncoder(ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # a Python without the C part
        return lambda value, _: plain.iterencode(value)
    quote = json.encoder.encode_basestring_ascii if ascii_only else json.encoder.encode_basestring
    encoder: Callable[[Json, int], Iterable[str]] = make(
        None, plain.default, quote, None, ":", ",", False, False, False
    )
    return encoder


_compact = _encoder(ascii_only=False)
_ascii = _encoder(ascii_only=True)


def encode(entry: Entry) -> bytes:
    """The line of an entry, with its checksum and its newline."""
    return record_of(entry, 0).line + b"\n"


def record_of(entry: Entry, offset: int) -> Record:
    """The record of an entry that will be written at ``offset``.

    Ids and types are plain (``transcript.Draft`` sees to it), so only the data needs JSON.
    """
    at = entry.at if entry.at.tzinfo is UTC else entry.at.astimezone(UTC)
    at_text = at.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    parent = f'"{entry.parent}"' if entry.parent is not None else "null"
    envelope = (
        f'{{"hf":{entry.version},"seq":{entry.seq},"id":"{entry.id}","parent":{parent},'
        f'"at":"{at_text}","type":"{entry.type}",'
    )
    content = {**entry.extra, "data": entry.data} if entry.extra else {"data": entry.data}
    body = envelope.encode() + _json(content, entry.type).replace(_START, b'{ "hf":')[1:-1]
    if len(body) > LONGEST_LINE:
        raise InvalidMessage(
            f"This {entry.type} entry is {len(body):,} bytes; the most is {LONGEST_LINE:,}.",
            hint="Append it in parts, or store the payload elsewhere and append its address.",
        )
    line = b'%b,"crc":"%08x"}' % (body, zlib.crc32(body))
    return Record(offset, line, entry.seq, entry.id, entry.parent, entry.type, at_text)


def _json(content: dict[str, Json], kind: str) -> bytes:
    try:
        try:
            return "".join(_compact(content, 0)).encode()
        except UnicodeEncodeError:
            return _with_surrogates(content)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessage(
            f"This {kind} entry cannot be written as JSON: {error}.",
            hint="Give strings, numbers, lists and objects only.",
        ) from error


def _with_surrogates(content: dict[str, Json]) -> bytes:
    """Escapes hold a lone surrogate, in JSON that everybody reads. But the escapes of a high and a
    low one in a row would come back as one character: then the bytes must hold them."""
    escaped = "".join(_ascii(content, 0))
    if json.loads(escaped) == content:
        return escaped.encode()
    return "".join(_compact(content, 0)).encode("utf-8", "surrogatepass")


class Record(NamedTuple):
    """An intact line: where it stands, and what its envelope says without reading its data."""

    offset: int
    line: bytes
    seq: int
    id: str
    parent: str | None
    type: str
    at_text: str

    @property
    def end(self) -> int:
        """Where the record ends; its newline stands behind."""
        return self.offset + len(self.line)

    def entry(self) -> Entry:
        """What it says. A record of which only the envelope makes sense is ``unreadable``."""
        try:
            return decode(self.line)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            log.warning("entry %s cannot be read: %r", self.id, error)
            return Entry(id=self.id, parent=self.parent, seq=self.seq, at=_EPOCH, type="unreadable")


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are no record."""

    offset: int
    data: bytes
    reason: str


def decode(line: bytes) -> Entry:
    """The entry of an intact line. Fields of a newer version are kept in ``extra``."""
    fields = json.loads(line)
    if not isinstance(fields["data"], dict):
        raise TypeError("'data' is not an object")
    extra = {key: value for key, value in fields.items() if key not in _KNOWN_KEYS}
    return Entry(
        id=fields["id"],
        parent=fields["parent"],
        seq=fields["seq"],
        at=datetime.fromisoformat(fields["at"]),
        type=fields["type"],
        data=fields["data"],
        version=fields["hf"],
        extra=extra,
    )


def scan(
    read: Callable[[int, int], bytes], start: int, end: int, *, block: int = 1 << 20
) -> Iterator[Record | Damage]:
    """All intact records of the bytes from ``start`` to ``end`` in file order, and the damage.

    A last line without its newline is told as a record if it is whole, else as damage of
    reason ``torn``.
    """
    rest = b""
    unfinished: list[bytes] = []  # joined once: a line may be many blocks long
    line_start = start
    position = start
    while position < end:
        chunk = read(position, min(block, end - position))
        if not chunk:
            break
        position += len(chunk)
        if b"\n" not in chunk:
            unfinished.append(chunk)
            continue
        *lines, rest = b"".join([rest, *unfinished, chunk]).split(b"\n")
        unfinished = []
        for line in lines:
            if (record := _intact(line, line_start)) is not None:
                yield record
            elif line:
                yield from _debris(line, line_start, torn=False)
            line_start += len(line) + 1
    rest = b"".join([rest, *unfinished])
    if (record := _intact(rest, line_start)) is not None:
        yield record
    elif rest:
        yield from _debris(rest, line_start, torn=True)


def _debris(line: bytes, offset: int, *, torn: bool) -> Iterator[Record | Damage]:
    """What can be saved of a line that is not a record, and what cannot."""
    position = 0
    for found in _salvage(line, offset):
        before = line[position : found.offset - offset]
        if before:
            yield Damage(offset + position, before, "fused")
        yield found
        position = found.end - offset
    after = line[position:]
    if after.strip(b"\r"):  # an editor's CRLF is not damage
        yield Damage(offset + position, after, "torn" if torn else _reason(after))


def _intact(line: bytes, offset: int) -> Record | None:
    """The record of a line, if every byte of it is as it was written.

    Called once per line of a file of any size, hence no regular expression for the checksum.
    """
    if line[-_CHECKSUM_LENGTH:-10] != b',"crc":"' or line[-2:] != b'"}':
        return None
    if line[-10:-2] != b"%08x" % zlib.crc32(line[:-_CHECKSUM_LENGTH]):
        return None
    return _record(line, offset)


def _record(line: bytes, offset: int) -> Record | None:
    if (envelope := _ENVELOPE.match(line)) is None:
        return None
    seq, entry_id, parent, at, kind = envelope.groups()
    return Record(
        offset,
        line,
        int(seq),
        entry_id.decode(),
        parent.decode() if parent is not None else None,
        kind.decode(),
        at.decode(),
    )


def _salvage(line: bytes, offset: int) -> Iterator[Record]:
    """Intact records inside a damaged line: one pass, however hostile the bytes."""
    start = line.find(_START)
    while start >= 0:
        following = line.find(_START, start + 1)
        limit = following if following >= 0 else len(line)
        checksum, checked = 0, start
        for found in _CHECKSUM.finditer(line, start, limit):
            checksum = zlib.crc32(memoryview(line)[checked : found.start()], checksum)
            checked = found.start()
            if found[1] == b"%08x" % checksum:
                record = _record(line[start : found.end()], offset + start)
                if record is not None:
                    yield record
                    break
        start = following


def _reason(data: bytes) -> str:
    if not data.strip(b"\0"):
        return "NUL bytes"
    return "no record" if _START not in data else "checksum does not match"
