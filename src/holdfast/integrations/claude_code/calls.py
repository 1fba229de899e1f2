"""What Claude Code says on stdin when it calls a hook, and whose memory that means.

Promise: a field we do not know is no error, and one of the wrong kind is as if it were missing;
what is no call at all is an error that says so (``tests/doors/test_hooks.py``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Final, Literal, TypeAlias

from holdfast.errors import UsageError
from holdfast.text import cut, one_line, slug

__all__ = ["MOST_BYTES", "Call", "Hook", "agent_of", "project_of", "read_call"]

Hook: TypeAlias = Literal["pre-compact", "session-start", "session-end"]

MOST_BYTES: Final = 1 << 20
"""Of a call: it names a log, it does not carry one."""
_NAME: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    source: str = ""
    """Of a session that starts: startup, resume, clear or compact."""


def read_call(said: bytes) -> Call:
    """
    Raises:
        UsageError: not a call of a hook.
    """
    if len(said) > MOST_BYTES:
        raise UsageError(f"The call of the hook is larger than {MOST_BYTES >> 20} MB.")
    try:
        told = json.loads(said)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"What Claude Code said to the hook is not JSON: {one_line(str(error), 120)}",
            hint="Hooks are called by Claude Code; holdfast hook status says whether they are.",
        ) from None
    if not isinstance(told, Mapping):
        raise UsageError("What Claude Code said to the hook is not a JSON object.")
    fields = {name: told.get(name) for name in Call.__slots__}
    return Call(**{name: value for name, value in fields.items() if isinstance(value, str)})


def project_of(call: Call, environ: Mapping[str, str]) -> str:
    """The folder of the project: what Claude Code was started in, wherever it has gone since."""
    return environ.get("CLAUDE_PROJECT_DIR") or call.cwd or str(Path.cwd())


def agent_of(call: Call, environ: Mapping[str, str]) -> str:
    """Whose memory: each project has its own, so that none is told in another."""
    project = project_of(call, environ)
    digest = sha256(project.rstrip("/").encode("utf-8", "surrogatepass")).hexdigest()[:8]
    name = cut(slug(PurePath(project).name or "root"), _NAME).strip("-")
    return f"claude-code-{name or 'project'}-{digest}"
