"""The command of the hard threshold: the operator's own program, told what is about to leave.

The argv list of ``config.toml`` is run as it stands; no value becomes part of it. What the engine
has to say goes as JSON to the standard input, exactly, and as variables ``HOLDFAST_HARD_*`` with
what a variable can hold. Besides them the program gets PATH, HOME, LANG and TZ, and no other
variable of ours: settings and tokens of the engine's own environment stay here. ``HOLDFAST_HOME``
is the home, so that a ``holdfast`` it calls works on the same one.

Promise: never raises, bounded, one program and no shell, whatever names it is told
(``tests/engine/test_hard_command.py``). Once per cycle is the caller's to keep.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from holdfast.engine.programs import find_program, run_program
from holdfast.redact import redact
from holdfast.text import cut, cut_bytes
from holdfast.types import Json

__all__ = ["CommandDone", "CommandOutcome", "run_command"]

CommandOutcome = Literal["ok", "failed", "timeout", "missing", "refused"]

_PASSED_ON: Final = ("PATH", "HOME", "LANG", "TZ")
_PREFIX: Final = "HOLDFAST_HARD_"
"""No section of the configuration begins so: nothing told is ever read as a setting."""
_HOME: Final = "home"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MOST_VALUES: Final = 64
_VALUE_BYTES: Final = 4096
_LONGEST_SECRET: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDone:
    """How the command ended. ``output`` is without credentials and never more than the cap."""

    outcome: CommandOutcome
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = field(default="", repr=False)
    reason: str | None = None


def run_command(
    argv: Sequence[str],
    *,
    told: Mapping[str, Json],
    cwd: Path,
    seconds: float = 30.0,
    cap_bytes: int = 65_536,
    environ: Mapping[str, str] = os.environ,
) -> CommandDone:
    """Run the command once, and wait for it at most ``seconds`` (two more to end it)."""
    problem = _problem(argv, cwd)
    if problem is not None:
        return CommandDone(outcome="refused", reason=problem)
    program = find_program(argv[0], environ.get("PATH", ""))
    if program is None:
        return CommandDone(
            outcome="missing", reason=f"there is no program {argv[0]!r}, or it may not be run"
        )
    ran = run_program(
        [program, *argv[1:]],
        env=_environment(told, environ),
        cwd=str(cwd),
        seconds=seconds,
        cap_bytes=cap_bytes + _LONGEST_SECRET,
        feed=_as_json(told),
    )
    return CommandDone(
        outcome=ran.outcome,
        exit_code=ran.exit_code,
        seconds=ran.seconds,
        output=_shown(ran.output, cap_bytes, is_whole=not ran.dropped),
        reason=_reason(ran.outcome, ran.exit_code, seconds),
    )


def _problem(argv: Sequence[str], cwd: Path) -> str | None:
    if not argv or not argv[0].strip():
        return "the command is empty"
    if any("\0" in each for each in argv):
        return "an argument holds a NUL"
    if "/" in argv[0] and not argv[0].startswith("/"):
        return f"{argv[0]!r} depends on the present folder: write the whole path"
    if not cwd.is_dir():
        return "the folder to run it in is missing"
    return None


def _reason(outcome: str, code: int | None, seconds: float) -> str | None:
    match outcome:
        case "ok":
            return None
        case "timeout":
            return f"not done within {seconds:g} s"
        case "missing":
            return "the system cannot run it"
        case _:
            ended = code or 0
            return f"ended by signal {-ended}" if ended < 0 else f"ended with {ended}"


# ── what it is told ─────────────────────────────────────────────────────────────────────────


def _environment(told: Mapping[str, Json], environ: Mapping[str, str]) -> dict[bytes, bytes]:
    found = {name: environ[name] for name in _PASSED_ON if name in environ}
    values = [(name, text) for name, raw in told.items() if (text := _text(name, raw)) is not None]
    for name, text in values[:_MOST_VALUES]:
        found[_PREFIX + name.upper()] = text
        if name == _HOME:
            found["HOLDFAST_HOME"] = text
    return {name.encode(): _storable(value) for name, value in found.items()}


def _text(name: str, raw: Json) -> str | None:
    """A value as a variable; None: only the JSON has it."""
    if not _NAME.fullmatch(name):
        return None
    match raw:
        case bool():
            return "true" if raw else "false"
        case str():
            return cut_bytes(raw.replace("\0", "\ufffd"), _VALUE_BYTES)
        case int() | float():
            return str(raw)
        case _:
            return None


def _storable(value: str) -> bytes:
    """Without halves of characters, which no variable can hold; bytes that stood in our own
    environment (a ``HOME`` that is not UTF-8) go through as they came."""
    whole = re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", value)
    return whole.encode("utf-8", "surrogateescape")


def _as_json(told: Mapping[str, Json]) -> bytes:
    return json.dumps(dict(told), default=str).encode("ascii") + b"\n"


# ── what it says ────────────────────────────────────────────────────────────────────────────


def _shown(output: bytes, cap_bytes: int, *, is_whole: bool) -> str:
    """The beginning of the output without credentials.

    More was kept than is shown: a credential that the end cuts in two is not known as one, so
    what could be its beginning is left out.
    """
    text = redact(output.decode("utf-8", "replace"))
    if not is_whole:
        text = cut(text, max(0, len(text) - _LONGEST_SECRET))
    return cut_bytes(text, cap_bytes)
