"""Which log of a conversation a hook may read.

The path comes from outside. Promise: a regular file that ends in ``.jsonl``, inside Claude Code's
own folder with all links followed, and not larger than it may be; anything else is refused with
the reason (``tests/doors/test_hooks.py``).
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdfast.errors import NotFound, PolicyRefused, UsageError
from holdfast.text import one_line

__all__ = ["MOST_BYTES", "checked_log", "claude_folder"]

MOST_BYTES: Final = 1 << 30


def claude_folder(environ: Mapping[str, str]) -> Path:
    """Where Claude Code keeps its files."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    return Path(named).expanduser() if named else Path.home() / ".claude"


def checked_log(given: str, environ: Mapping[str, str], *, most: int = MOST_BYTES) -> Path:
    """The log, by its real path.

    Raises:
        UsageError: no path was given.
        NotFound: there is no such file.
        PolicyRefused: it is not a log of Claude Code, or too large.
    """
    if not given or "\0" in given:
        raise UsageError("Claude Code did not say where the log of the conversation is.")
    shown = repr(one_line(given, 200))
    path = Path(given).expanduser()
    if not path.is_absolute() or path.suffix != ".jsonl":
        raise PolicyRefused(f"{shown} is not the log of a conversation: an absolute …/*.jsonl.")
    root = claude_folder(environ)
    try:
        real = path.resolve(strict=True)
        found = path.lstat()
    except (OSError, RuntimeError):
        raise NotFound(
            f"There is no log {shown} yet.", hint="Nothing was said in it, or it was moved."
        ) from None
    if not real.is_relative_to(root.resolve()):
        raise PolicyRefused(
            f"{shown} is not inside {str(root)!r}, where Claude Code keeps its logs.",
            hint="If they are elsewhere, set CLAUDE_CONFIG_DIR, as for Claude Code itself.",
        )
    if not stat.S_ISREG(found.st_mode):
        raise PolicyRefused(f"{shown} is not a regular file.")
    if found.st_size > most:
        raise PolicyRefused(
            f"{shown} has {found.st_size >> 20} MB, more than the {most >> 20} MB a hook reads.",
            hint="Bring it in by hand: holdfast import claude-code",
        )
    return real
