"""What is shown to anybody who may knock: the console's files, and that the server is alive.

Which files there are is decided when the server starts; no name of a request ever becomes a
path. Promise: nothing but the files of the console is served, each with its kind and a tag by
which a browser knows that it has it already (``tests/server/test_pages.py``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

__all__ = ["CONSOLE", "CSP", "HEALTH", "SHELL", "Page", "Pages"]

SHELL: Final = "/"
CONSOLE: Final = "/console/"
HEALTH: Final = "/healthz"
_SHELL_FILE: Final = "index.html"

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types holdfast"
)
_KINDS: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
    "woff2": "font/woff2",
    "txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One file as it is sent."""

    body: bytes
    kind: str
    tag: str

    @property
    def headers(self) -> dict[str, str]:
        return {"content-type": self.kind, "etag": self.tag, "cache-control": "no-cache"}


class Pages:
    """Every page that needs no token, by its path."""

    def __init__(self, pages: Mapping[str, bytes]) -> None:
        """``pages`` by their name in the console's folder."""
        self._pages = {CONSOLE + name: _page(name, body) for name, body in pages.items()}
        if _SHELL_FILE in pages:
            self._pages[SHELL] = self._pages[CONSOLE + _SHELL_FILE]
        self._pages[HEALTH] = _page("healthz.json", b'{"status": "ok"}\n')

    @classmethod
    def installed(cls) -> Pages:
        """Those of the console that came with this package."""
        return cls(dict(_found(files("holdfast.server") / "console", "")))

    def __iter__(self) -> Iterator[str]:
        return iter(self._pages)

    def get(self, path: str) -> Page | None:
        return self._pages.get(path)

    @staticmethod
    def is_public(path: str) -> bool:
        """Whether a path is one of those that need no token, also if there is nothing there."""
        return path in (SHELL, HEALTH) or path.startswith(CONSOLE)


def _page(name: str, body: bytes) -> Page:
    kind = _KINDS[name.rpartition(".")[2]]
    return Page(body=body, kind=kind, tag=f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _found(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    if not folder.is_dir():
        return
    for each in sorted(folder.iterdir(), key=lambda found: found.name):
        if each.is_dir():
            yield from _found(each, f"{prefix}{each.name}/")
        elif each.name.rpartition(".")[2] in _KINDS:
            yield prefix + each.name, each.read_bytes()
