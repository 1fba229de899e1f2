"""Where damaged bytes of a transcript go: kept for a person to look at, never thrown away.

One file per session, one JSON line per damaged region, with its place and its bytes.
Promise: a region is kept once, however often the transcript is read, and is on disk before
anything is cut away (``tests/sessions/test_damaged_transcripts.py``).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from hashlib import sha256

from holdfast.disk import Directory
from holdfast.sessions.records import Damage
from holdfast.types import Json

__all__ = ["Quarantine"]


class Quarantine:
    def __init__(self, folder: Directory, session: str) -> None:
        self._folder = folder
        self._name = f"{session}.quarantine"
        self._known: set[tuple[int, str]] | None = None

    @property
    def path(self) -> str:
        return str(self._folder.path / self._name)

    def keep(self, damages: list[Damage], *, at: str) -> list[Damage]:
        """Save the regions that were not known yet, durably; returns those."""
        known = self._load()
        new = [damage for damage in damages if _key(damage) not in known]
        if new:
            lines = b"".join(_line(damage, at) for damage in new)
            file = self._folder.open_growing(self._name, create=True)
            try:
                file.append(lines, at=file.size())
            finally:
                file.close()
            self._folder.sync()
            known.update(_key(damage) for damage in new)
        return new

    def rename(self, session: str) -> None:
        """Go along with the session when it gets another name."""
        if self._folder.stat(self._name) is not None:
            self._folder.rename(self._name, f"{session}.quarantine")

    def remove(self) -> None:
        """Go with the session, durably."""
        if self._folder.remove(self._name):
            self._folder.sync()

    def rewrite(self, change: Callable[[bytes], bytes | None]) -> int:
        """Change lines, or take them out where ``change`` gives None; how many. For erasure."""
        before = (self._folder.read(self._name) or b"").splitlines()
        after = [change(line) for line in before]
        changed = sum(one != two for one, two in zip(before, after, strict=True))
        if changed:
            lines = b"".join(line + b"\n" for line in after if line is not None)
            self._folder.replace(self._name, lines)
            self._known = None
        return changed

    def _load(self) -> set[tuple[int, str]]:
        if self._known is None:
            self._known = set()
            for line in (self._folder.read(self._name) or b"").splitlines():
                try:
                    kept = json.loads(line)
                    self._known.add((kept["offset"], kept["sha256"]))
                except (ValueError, KeyError, TypeError):
                    continue  # a torn line here only means that its region is kept again
        return self._known


def _key(damage: Damage) -> tuple[int, str]:
    return damage.offset, sha256(damage.data).hexdigest()


def _line(damage: Damage, at: str) -> bytes:
    kept: dict[str, Json] = {
        "at": at,
        "offset": damage.offset,
        "length": len(damage.data),
        "reason": damage.reason,
        "sha256": sha256(damage.data).hexdigest(),
    }
    try:
        kept["text"] = damage.data.decode()
    except UnicodeDecodeError:
        kept["base64"] = base64.b64encode(damage.data).decode()
    return json.dumps(kept, ensure_ascii=False).encode() + b"\n"
