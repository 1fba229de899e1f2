"""Whether somebody is using a home right now, so that it had better not be moved away.

A program that has a home open goes on writing into it wherever it is moved; nothing can take
its handles away. So whoever holds a lock below it, or (where the system tells, on Linux) has a
file below it open, such as a conversation, is named and the move refused. An engine that has only
folders open is not seen, nor what starts between the question and the move: programs that use a
home are to be stopped before it is replaced.

Proven by ``tests/engine/test_backup.py``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.disk import Directory
from holdfast.errors import HoldfastError, Locked

__all__ = ["refuse_if_in_use"]

_LOCKED: Final = re.compile(r".*\.jsonl|(?:.*/)?\.journal/locks/[^/]+", re.DOTALL)
_HINT: Final = "Stop the programs that use this home, then try again."


def refuse_if_in_use(home: Directory) -> None:
    """Raises Locked, with who it is, if another process uses the home."""
    for process, name, path in _open_below(home.path):
        raise Locked(f"Process {process} ({name}) has {path!r} open.", hint=_HINT)
    for path, kind, _ in home.walk():
        if kind == "file" and _LOCKED.fullmatch(path) is not None:
            _refuse_if_locked(home, path)


def _refuse_if_locked(home: Directory, path: str) -> None:
    *folders, name = path.split("/")
    try:
        folder = home
        for each in folders:
            folder = folder.child(each, create=False)
        file = folder.open_growing(name)
    except HoldfastError:
        return  # gone meanwhile, or no file of ours
    try:
        file.lock(timeout_seconds=0)
    except Locked as error:
        raise Locked(error.message, hint=_HINT) from error
    finally:
        file.unlock()
        file.close()


def _open_below(home: Path) -> Iterator[tuple[int, str, str]]:
    """Other processes that have a file of the home open, as far as we may see.

    Folders do not count: an engine that was closed keeps them until its memory is freed.
    """
    inside = f"{home}/"
    for process in _processes():
        with suppress(OSError):
            for handle in list(Path(f"/proc/{process}/fd").iterdir()):
                with suppress(OSError):
                    path = str(handle.readlink())
                    if path.startswith(inside) and Path(path).is_file():
                        yield process, _name_of(process), path
                        break


def _processes() -> list[int]:
    with suppress(OSError):
        found = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
        return [process for process in found if process != os.getpid()]
    return []


def _name_of(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text(errors="replace").strip()
    return "?"
