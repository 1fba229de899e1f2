"""Who may use the server: one token in a file, codes that work once, tokens of browsers.

    <home>/server.token     0600, hfs_…: whoever can read the home may use the server
    a code                  for five minutes, once: in the link that ``serve`` prints
    a browser's token       hfb_…: given for a code, in memory only, until nobody uses it

Promises, proven by ``tests/server/test_tokens.py``: a code works once; everything that was given
out ends at once when the token in the file is another; how long a look takes says nothing about
a token; who guesses is made to wait.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Final, Literal

from holdfast.disk import Directory, FileLock
from holdfast.errors import HoldfastError, StorageError

__all__ = ["CODE_LASTS", "Given", "TokenFile", "Tokens", "TooManyTries"]

CODE_LASTS: Final = timedelta(minutes=5)
_IDLE: Final = timedelta(hours=12)
_TRIES: Final = 10
_TRIES_WITHIN: Final = timedelta(minutes=1)
_MOST_CODES: Final = 64
_MOST_BROWSERS: Final = 256

_FILE: Final = "server.token"
_LOCK: Final = "server.token.lock"
_MASTER: Final = "hfs_"
_BROWSER: Final = "hfb_"
_RANDOM_BYTES: Final = 32
_LONGEST: Final = 256
_SHAPE: Final = re.compile(r"hfs_[A-Za-z0-9_-]{43}")

Who = Literal["master", "browser"]


class TooManyTries(HoldfastError):
    """Too many wrong codes or tokens within a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A code or a token that was given out, and when it ends."""

    secret: str
    expires_at: datetime


class TokenFile:
    """The token of a home. Read anew each time: others may rotate it."""

    def __init__(self, home: Path) -> None:
        self._home = Directory.open(home)

    @property
    def path(self) -> Path:
        return self._home.path / _FILE

    def read(self) -> str | None:
        """The token, or None if none was made yet.

        Raises:
            StorageError: there is something else in its file; then nobody is let in.
        """
        data = self._home.read(_FILE)
        if data is None:
            return None
        text = data.decode("utf-8", "replace").strip()
        if _SHAPE.fullmatch(text) is None:
            raise StorageError(
                f"{str(self.path)!r} holds no token, so nobody is let in.",
                hint="Make a new one: holdfast serve token --rotate",
            )
        return text

    def make(self) -> str:
        """The token, made if there is none."""
        with FileLock(self._home, _LOCK).hold():
            return self.read() or self._write()

    def rotate(self) -> str:
        """Another token. The old one, and all that was given out under it, end now."""
        with FileLock(self._home, _LOCK).hold():
            return self._write()

    def _write(self) -> str:
        token = _MASTER + secrets.token_urlsafe(_RANDOM_BYTES)
        self._home.replace(_FILE, f"{token}\n".encode())
        return token


@dataclass(slots=True, kw_only=True)
class _Held:
    """What is known of something that was given out: never itself."""

    under: str
    ends: datetime


class Tokens:
    """Who a token belongs to. Safe to use from several threads."""

    def __init__(self, file: TokenFile, now: Callable[[], datetime]) -> None:
        self._file = file
        self._now = now
        self._codes: OrderedDict[str, _Held] = OrderedDict()
        self._browsers: OrderedDict[str, _Held] = OrderedDict()
        self._wrong: deque[datetime] = deque()
        self._lock = Lock()

    def who(self, token: str, *, is_used: bool = True) -> Who | None:
        """Whose token this is; that it was used is noted, unless somebody only looks."""
        master, given = self._master(), _hash(token)
        if master is None:
            return None
        if hmac.compare_digest(master, given):
            return "master"
        with self._lock:
            held = self._browsers.get(given)
            if held is None:
                return None
            if not self._holds(held, master):
                del self._browsers[given]
                return None
            if is_used:
                held.ends = self._now() + _IDLE
                self._browsers.move_to_end(given)
            return "browser"

    def new_code(self) -> Given:
        """A code that works once, soon.

        Raises:
            StorageError: there is no token to give it under.
        """
        under = self._master()
        if under is None:
            raise StorageError(
                f"{str(self._file.path)!r} is gone, so nobody is let in.",
                hint="Make a new one: holdfast serve token",
            )
        given = Given(
            secret=secrets.token_urlsafe(_RANDOM_BYTES), expires_at=self._now() + CODE_LASTS
        )
        with self._lock:
            self._codes[_hash(given.secret)] = _Held(under=under, ends=given.expires_at)
            _at_most(self._codes, _MOST_CODES)
        return given

    def is_open(self, code: str) -> bool:
        """Whether a code still works."""
        master = self._master()
        with self._lock:
            held = self._codes.get(_hash(code))
            return held is not None and master is not None and self._holds(held, master)

    def sign_in(self, *, code: str | None = None, token: str | None = None) -> Given | None:
        """A browser's token for a code or for the token in the file; None if it is wrong. What
        is right is let in, however often others were wrong: nobody locks anybody out.

        Raises:
            TooManyTries: this is wrong, as too many were before it.
        """
        master = self._master()
        with self._lock:
            if master is None or not self._is_right(master, code, token):
                self._check_tries()
                self._wrong.append(self._now())
                return None
            given = Given(
                secret=_BROWSER + secrets.token_urlsafe(_RANDOM_BYTES),
                expires_at=self._now() + _IDLE,
            )
            self._browsers[_hash(given.secret)] = _Held(under=master, ends=given.expires_at)
            _at_most(self._browsers, _MOST_BROWSERS)
            return given

    def sign_out(self, token: str) -> None:
        """A browser's token ends. The one in the file stays."""
        with self._lock:
            self._browsers.pop(_hash(token), None)

    def _is_right(self, master: str, code: str | None, token: str | None) -> bool:
        if token is not None:
            return hmac.compare_digest(master, _hash(token))
        held = self._codes.pop(_hash(code), None) if code is not None else None
        return held is not None and self._holds(held, master)

    def _holds(self, held: _Held, master: str) -> bool:
        return hmac.compare_digest(held.under, master) and self._now() < held.ends

    def _check_tries(self) -> None:
        while self._wrong and self._now() - self._wrong[0] >= _TRIES_WITHIN:
            self._wrong.popleft()
        if len(self._wrong) >= _TRIES:
            raise TooManyTries(
                "Too many sign-ins were wrong within a minute.",
                hint="Wait a minute, then take a new link: holdfast serve link",
            )

    def _master(self) -> str | None:
        found = self._file.read()
        return None if found is None else _hash(found)


def _at_most(held: OrderedDict[str, _Held], most: int) -> None:
    while len(held) > most:
        held.popitem(last=False)


def _hash(secret: str) -> str:
    """Enough for something that nobody can guess: 256 bits by chance, not a password."""
    if len(secret) > _LONGEST:
        return ""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
