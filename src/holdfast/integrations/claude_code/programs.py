"""How this very Holdfast is started, from anywhere: full paths, quoted for a shell."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from holdfast.integrations.claude_code.calls import Hook

__all__ = ["hook_command", "program"]


def program() -> list[str]:
    """The script beside this Python, or this Python itself."""
    script = Path(sys.executable).with_name("holdfast")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "holdfast"]


def hook_command(hook: Hook, *, home: Path | None, agent: str | None) -> str:
    """What Claude Code is to run; without a home the usual one, without an agent one of each
    project."""
    words = [*program()]
    if home is not None:
        words += ["--home", str(home)]
    words += ["hook", hook]
    if agent is not None:
        words += ["--agent", agent]
    return shlex.join(words)
