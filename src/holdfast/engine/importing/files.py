"""Files of other programs, opened for reading: logs, archives, packed files.

Promise: nothing is written, unpacked to disk or followed through a link; no more than one line
or a piece is held; an archive that unpacks to far more than it is, a line of many megabytes and
a name that leads out of its archive are refused, and said
(``tests/engine/test_importing_files.py``).
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Final

from holdfast.errors import NotFound, PolicyRefused, UsageError

__all__ = ["LONGEST_LINE", "Line", "Opened", "decoded", "digest_before", "opened"]

LONGEST_LINE: Final = 64 << 20
_PIECE: Final = 1 << 20
_TAIL: Final = 1_024
_MOST_RATIO: Final = 200
"""Text that people wrote packs to a tenth of its size; what packs to a two-hundredth is a trap."""
_FREE_BYTES: Final = 64 << 20
"""So much may come out of any archive."""
_MOST_MEMBERS: Final = 10_000
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"
_UNREADABLE: Final = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line, and where the next one begins. ``data`` is None if it was too long."""

    data: bytes | None
    end: int
    is_ended: bool
    """Whether a line break ends it: the last one may be half written."""


@dataclass(slots=True, kw_only=True)
class Opened:
    """One stream of text, from its beginning."""

    name: str
    stream: IO[bytes]
    can_seek: bool
    """Whether it is a plain file, which can be read on later."""

    def lines(self, start: int = 0) -> Iterator[Line]:
        """Its lines from the byte ``start`` on."""
        if start:
            self.stream.seek(start)
        position = start
        while data := self._read(LONGEST_LINE + 1):
            position += len(data)
            if len(data) <= LONGEST_LINE or data.endswith(b"\n"):
                yield Line(data=data, end=position, is_ended=data.endswith(b"\n"))
                continue
            while (more := self._read(_PIECE)) and not more.endswith(b"\n"):
                position += len(more)
            position += len(more)
            yield Line(data=None, end=position, is_ended=True)

    def _read(self, limit: int) -> bytes:
        with _told(self.name):
            return self.stream.readline(limit)

    def pieces(self) -> Iterator[str]:
        """Its text in pieces."""
        text = io.TextIOWrapper(self.stream, encoding="utf-8", errors="replace")
        while True:
            with _told(self.name):
                piece = text.read(_PIECE)
            if not piece:
                break
            yield piece
        text.detach()

    def first(self) -> bytes:
        """The first byte that is no white space; the stream is at its beginning again."""
        with _told(self.name):
            head = self.stream.read(4_096)
            self.stream.seek(0)
        return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]


@contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise UsageError(f"{name} cannot be read to its end: {error}.") from error


def opened(path: Path) -> Iterator[Opened]:
    """What can be read of a file: itself, or the conversations in an archive.

    Raises:
        NotFound: there is no such file.
        PolicyRefused: it is no plain file, or an archive that is a trap.
    """
    with _plain(path) as raw:
        head = raw.read(4)
        raw.seek(0)
        if head.startswith(_GZIP):
            packed = os.fstat(raw.fileno()).st_size
            with gzip.GzipFile(fileobj=raw) as inner:
                bounded = _Bounded(inner, name=str(path), limit=_limit(packed))
                yield Opened(name=str(path), stream=io.BufferedReader(bounded), can_seek=False)
        elif head == _ZIP:
            yield from _members(path, raw)
        else:
            yield Opened(name=str(path), stream=raw, can_seek=True)


@contextmanager
def _plain(path: Path) -> Iterator[IO[bytes]]:
    """A plain file; never a link, a device or a pipe somebody may make us wait at."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"There is no file {str(path)!r}.") from None
    except OSError as error:
        raise PolicyRefused(f"{str(path)!r} is not read: {error.strerror}.") from error
    with os.fdopen(fd, "rb") as raw:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise PolicyRefused(f"{str(path)!r} is not read: it is not a file.")
        yield raw


# ── archives ────────────────────────────────────────────────────────────────────────────────


def _limit(packed: int) -> int:
    return _FREE_BYTES + packed * _MOST_RATIO


class _Bounded(io.RawIOBase):
    """A stream that may give only so much; it can go back to its beginning."""

    def __init__(self, inner: IO[bytes] | gzip.GzipFile, *, name: str, limit: int) -> None:
        super().__init__()
        self._inner = inner
        self._name = name
        self._limit = limit
        self._given = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._given = 0 if (offset, whence) == (0, os.SEEK_SET) else self._given
        return self._inner.seek(offset, whence)

    def tell(self) -> int:
        return self._inner.tell()

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._inner.read(len(view))
        self._given += len(data)
        if self._given > self._limit:
            raise PolicyRefused(
                f"{self._name} unpacks to more than {self._limit:,} bytes, far more than it is; "
                "it is not read further.",
                hint="Unpack it yourself if you trust it, and import the file inside.",
            )
        view[: len(data)] = data
        return len(data)


def _members(path: Path, raw: IO[bytes]) -> Iterator[Opened]:
    """The conversations in the export of a chat program."""
    try:
        archive = zipfile.ZipFile(raw)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise UsageError(f"{str(path)!r} is no archive that can be read: {error}.") from error
    with archive:
        found = archive.infolist()
        if len(found) > _MOST_MEMBERS:
            raise PolicyRefused(f"{str(path)!r} holds {len(found):,} files; that is no export.")
        wanted = [each for each in found if _is_conversations(path, each.filename)]
        if not wanted:
            raise UsageError(
                f"{str(path)!r} holds no conversations.json.",
                hint="Give the archive as ChatGPT or claude.ai sent it, or a folder or file.",
            )
        for member in wanted:
            name = f"{path}!{member.filename}"
            with _told(name), archive.open(member) as inner:
                bounded = _Bounded(inner, name=name, limit=_limit(member.compress_size))
                yield Opened(name=name, stream=io.BufferedReader(bounded), can_seek=False)


def _is_conversations(path: Path, name: str) -> bool:
    inside = PurePosixPath(name.replace("\\", "/"))
    is_one = inside.name.startswith("conversations") and inside.suffix == ".json"
    if is_one and (inside.is_absolute() or ".." in inside.parts):
        raise PolicyRefused(f"{str(path)!r} holds a file that leads out of it: {name!r:.80}.")
    return is_one


# ── text ────────────────────────────────────────────────────────────────────────────────────

# UTF-32 before UTF-16: its mark begins with the other one.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(data: bytes) -> str | None:
    """The text of a file, by its mark, else UTF-8, else GB 18030; None if it is none of them."""
    named = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    for encoding in (named,) if named is not None else ("utf-8", "gb18030"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text and (encoding != "gb18030" or _is_chinese(data, text)):
            return text
    return None


def _is_chinese(data: bytes, text: str) -> bool:
    """Whether most of it is of the common characters: other old encodings can be read as GB 18030
    too, and give rare ones."""
    plain = sum(byte < 0x80 for byte in data)
    common = sum(byte >= 0x80 for byte in text.encode("gb2312", "ignore"))
    return common * 2 >= len(data) - plain


def digest_before(stream: IO[bytes], offset: int) -> str:
    """What stands right before an offset, to tell whether a log only grew."""
    start = max(0, offset - _TAIL)
    stream.seek(start)
    return sha256(stream.read(offset - start)).hexdigest()[:32]
