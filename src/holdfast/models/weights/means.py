"""What a fetch needs of the world, so that tests can give it another: programs, time, trust."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Final, Protocol

__all__ = ["Means", "Ran", "Run", "pip_command", "watched"]

_LOOK_SECONDS: Final = 0.2
_SILENT_SECONDS: Final = 300.0
"""How long a program may make no progress at all before it is ended."""
_OUTPUT: Final = "output.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    code: int
    output: str


class Run(Protocol):
    """Run a program whose passing files all go below ``folder``; ``tell`` hears their size."""

    def __call__(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        folder: Path,
        tell: Callable[[int], None],
    ) -> Ran: ...


def pip_command() -> list[str] | None:
    """The pip of this Python, else one on the path; None if there is none."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = which("pip3") or which("pip")
    return [found] if found else None


def watched(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    folder: Path,
    tell: Callable[[int], None],
    silent_seconds: float = _SILENT_SECONDS,
) -> Ran:
    """The program, ended with us and when it makes no progress for too long."""
    log = folder / _OUTPUT
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env={**environ, "TMPDIR": str(folder)},  # on the disk whose room was looked at
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            code = _wait(process, folder, tell, silent_seconds)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return Ran(code=code, output=log.read_text("utf-8", "replace"))


def _wait(
    process: subprocess.Popen[bytes],
    folder: Path,
    tell: Callable[[int], None],
    silent_seconds: float,
) -> int:
    size, since = 0, time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_LOOK_SECONDS)
        now = _bytes_below(folder)
        if now != size:
            size, since = now, time.monotonic()
            tell(size)
        elif time.monotonic() - since > silent_seconds:
            process.kill()
            return process.wait()


def _bytes_below(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # gone meanwhile
                total += Path(parent, name).lstat().st_size
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    pip: Callable[[], list[str] | None] = pip_command
    run: Run = watched
    npm: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
    sleep: Callable[[float], None] = time.sleep
    tls: Callable[[], ssl.SSLContext] = ssl.create_default_context
