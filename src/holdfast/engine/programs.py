"""Running somebody else's program: found once, bounded in time and output, with all it started.

No shell reads anything. The program is the leader of a session and a process group of its own.
At the timeout the whole group gets SIGTERM, and SIGKILL two seconds later; when the program ends
by itself, what it left behind in its group is killed. (Who wants to outlive it must leave the
group: ``setsid``.) Its output is read all the while and kept up to a cap, so a gigabyte of it
neither blocks the program nor fills our memory.

Limits set on it (Linux): no core dump, and no process may use more processor time than all cores
have in the time allowed, which also bounds what has left the group. Memory and the number of
processes are not limited: the first breaks honest programs that reserve address space, the
second counts all processes of the user. Promise: returns soon after ``seconds``, whatever the
program and its children do (``tests/engine/test_hard_command.py``).
"""

from __future__ import annotations

import math
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

__all__ = ["ProgramOutcome", "Ran", "find_program", "run_program"]

ProgramOutcome = Literal["ok", "failed", "timeout", "missing"]

_LOOK_SECONDS: Final = 0.02
_GRACE_SECONDS: Final = 2.0
_PIECE: Final = 65_536
_LAST_PIECES: Final = 64
"""How much is still read when the program has ended: a pipe's worth many times over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program ended. ``exit_code`` is negative after a signal, None if it never ran."""

    outcome: ProgramOutcome
    exit_code: int | None = None
    seconds: float = 0.0
    output: bytes = field(default=b"", repr=False)
    dropped: int = 0
    """Bytes of output beyond the cap."""


def find_program(name: str, path: str) -> str | None:
    """The absolute path of a program: the name itself, or where ``PATH`` has it.

    Entries of ``PATH`` that depend on the present folder are passed over.
    """
    places = [Path(name)] if "/" in name else [Path(each) / name for each in path.split(os.pathsep)]
    for place in places:
        if place.is_absolute() and place.is_file() and os.access(place, os.X_OK):
            return str(place)
    return None


def run_program(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | Mapping[bytes, bytes],
    cwd: str,
    seconds: float,
    cap_bytes: int,
    feed: bytes = b"",
) -> Ran:
    """Run ``argv``, whose first is an absolute path, with ``feed`` on its standard input."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    except OSError:  # gone since it was found, or nothing this system can run
        return Ran(outcome="missing", seconds=time.monotonic() - started)
    with _Running(process, feed, cap_bytes) as running:
        _limit(process.pid, seconds)
        is_over = running.until_end(started + seconds)
        if not is_over:
            _signal_group(process.pid, signal.SIGTERM)
            running.until_end(time.monotonic() + _GRACE_SECONDS)
    code = process.returncode
    return Ran(
        outcome="timeout" if not is_over else "ok" if code == 0 else "failed",
        exit_code=code,
        seconds=time.monotonic() - started,
        output=bytes(running.output),
        dropped=running.dropped,
    )


class _Running:
    """A program under way: feeds and drains its pipes; afterwards its group is gone."""

    def __init__(self, process: subprocess.Popen[bytes], feed: bytes, cap_bytes: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._unfed = memoryview(feed)
        self._cap_bytes = cap_bytes
        self.output = bytearray()
        self.dropped = 0
        self._watched = selectors.DefaultSelector()
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._stdout.fileno(), False)
        self._watched.register(self._stdin, selectors.EVENT_WRITE, self._feed)
        self._watched.register(self._stdout, selectors.EVENT_READ, self._drain)

    def __enter__(self) -> _Running:
        return self

    def __exit__(self, *_: object) -> None:
        """Also when the caller is interrupted: nothing of the program stays."""
        for _piece in range(_LAST_PIECES):
            if not self._read():
                break
        # Before the leader is waited for: until then its number cannot be another group's.
        _signal_group(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # held in the kernel: not even a signal ends it
            self._process.wait(_GRACE_SECONDS)
        self._watched.close()
        self._stdin.close()
        self._stdout.close()

    def until_end(self, deadline: float) -> bool:
        """Whether the program ended before the deadline."""
        while not self._has_ended():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self._watched.select(min(left, _LOOK_SECONDS)):
                if not key.data():
                    self._watched.unregister(key.fileobj)
                    if key.fileobj is self._stdin:
                        self._stdin.close()  # the program sees the end of its input
        return True

    def _has_ended(self) -> bool:
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        try:
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._process.pid, how) is not None
        except ChildProcessError:
            return True  # somebody else waits for every child of this process

    def _feed(self) -> bool:
        """Whether there is more to feed."""
        try:
            self._unfed = self._unfed[os.write(self._stdin.fileno(), self._unfed[:_PIECE]) :]
        except BlockingIOError:
            return True
        except OSError:
            return False  # it does not want its input
        return bool(self._unfed)

    def _drain(self) -> bool:
        """Whether more output may come."""
        return self._read() != b""

    def _read(self) -> bytes | None:
        """What there is to read now; None: nothing yet."""
        try:
            piece = os.read(self._stdout.fileno(), _PIECE)
        except BlockingIOError:
            return None
        room = self._cap_bytes - len(self.output)
        self.output += piece[:room]
        self.dropped += max(0, len(piece) - room)
        return piece


def _signal_group(leader: int, number: signal.Signals) -> None:
    with suppress(
        ProcessLookupError, PermissionError
    ):  # macOS says the second of a group that ended
        os.killpg(leader, number)


def _limit(pid: int, seconds: float) -> None:
    if not hasattr(resource, "prlimit"):
        return
    processor = math.ceil(seconds * (os.cpu_count() or 1)) + 1
    with suppress(OSError, ValueError):  # it has ended already, or its own limit is lower
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        resource.prlimit(pid, resource.RLIMIT_CPU, (processor, processor))
