"""One question to a server that encodes: JSON there, JSON back, bounded in time and size.

Promise: an answer or ``ModelUnavailable`` that says why, within the time limit; only what may
pass by itself (429, 5xx, a broken connection) is tried again, with growing pauses or after as
long as the server asks; a key goes to no other host than the one it is meant for, never in the
clear over a network, and never into a message. Standard library only. Proved by
``tests/models/test_embedders_hosted.py`` against a real server.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from ipaddress import ip_address
from typing import IO, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from holdfast.errors import ConfigError, ModelUnavailable
from holdfast.models.servers import shown_address
from holdfast.text import one_line

__all__ = ["Server"]

_MAX_ANSWER: Final = 256 * 1024 * 1024
_MAX_COMPLAINT: Final = 64 * 1024
_FIRST_PAUSE: Final = 0.5
_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504, 529})


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would carry the key to wherever the answer says."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        return None


class _Refusal(Exception):
    def __init__(self, why: str, *, is_passing: bool, pause: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.is_passing = is_passing
        self.pause = pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where to ask, with what key, for how long."""

    base_url: str
    key: str | None = field(default=None, repr=False)
    seconds: float = 60.0
    """For one question with all its repetitions."""
    attempts: int = 4
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    hint: str = "Check that the server runs and that its address is right."

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"{shown_address(self.base_url)!r} is not the address of a server.",
                hint="Give one that begins with https:// (or http:// on this machine).",
            )
        if self.key and parts.scheme == "http" and not _is_local(parts.hostname):
            raise ConfigError(
                f"The key would go to {parts.hostname!r} unencrypted.",
                hint="Use an address that begins with https://.",
            )

    def ask(self, path: str, question: Mapping[str, Any]) -> Any:
        """
        Raises:
            ModelUnavailable: no answer, a refusal, or not JSON.
        """
        deadline = self.clock() + self.seconds
        pause = _FIRST_PAUSE
        for attempt in range(1, self.attempts + 1):
            try:
                return self._once(path, question, deadline)
            except _Refusal as refusal:
                wait = refusal.pause if refusal.pause is not None else pause
                is_last = attempt == self.attempts or self.clock() + wait >= deadline
                if is_last or not refusal.is_passing:
                    raise ModelUnavailable(
                        f"{shown_address(self.base_url)} did not encode: {refusal.why}"
                        + (f" (tried {attempt} times)" if attempt > 1 else ""),
                        hint=self.hint,
                    ) from refusal
            self.sleep(wait)
            pause *= 2
        raise AssertionError("a loop over attempts returns or raises")

    def _once(self, path: str, question: Mapping[str, Any], deadline: float) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = Request(
            self.base_url.rstrip("/") + path, json.dumps(question).encode(), headers, method="POST"
        )
        left = max(deadline - self.clock(), 0.001)
        try:
            with self._opener().open(request, timeout=left) as answer:
                data = answer.read(_MAX_ANSWER + 1)
        except HTTPError as error:
            raise self._refused(error) from error
        except (URLError, HTTPException, OSError) as error:
            why = error.reason if isinstance(error, URLError) else error
            raise _Refusal(f"{why or type(error).__name__}", is_passing=True) from error
        if len(data) > _MAX_ANSWER:
            raise _Refusal("the answer is larger than any that could be right", is_passing=False)
        try:
            return json.loads(data)
        except ValueError as error:
            raise _Refusal("the answer is not JSON", is_passing=False) from error

    def _opener(self) -> OpenerDirector:
        if _is_local(urlsplit(self.base_url).hostname or ""):
            return build_opener(_NoRedirects(), ProxyHandler({}))  # no proxy reaches this machine
        return build_opener(_NoRedirects())

    def _refused(self, error: HTTPError) -> _Refusal:
        try:
            with error:
                complaint = error.read(_MAX_COMPLAINT).decode("utf-8", "replace")
        except (HTTPException, OSError):
            complaint = ""
        said = one_line(complaint, 300)
        if self.key:
            said = said.replace(self.key, "…")
        return _Refusal(
            f"HTTP {error.code}" + (f", {said}" if said else ""),
            is_passing=error.code in _PASSING,
            pause=_seconds(error.headers.get("Retry-After")),
        )


def _seconds(retry_after: str | None) -> float | None:
    try:
        return max(float(retry_after), 0.0) if retry_after else None
    except ValueError:
        return None  # a date: our own pause does


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
