"""The keyboard while there is no prompt.

Promise: what is typed meanwhile is not drawn into an answer, and none of it is lost, also after
Ctrl-Z and ``fg``; the terminal is afterwards as it was (``tests/doors/test_chat_terminal.py``).
"""

from __future__ import annotations

import os
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["quiet_keys"]


@contextmanager
def quiet_keys() -> Iterator[None]:
    """Keys that are pressed while there is no prompt are not drawn into what there is; the next
    prompt gets them, also if one of them was Ctrl-C."""
    try:
        handle = sys.stdin.fileno()
        before: list[Any] = termios.tcgetattr(handle)
    except (termios.error, OSError, ValueError):
        yield
        return
    quiet = [*before]
    quiet[3] = before[3] & ~termios.ECHO | termios.NOFLSH
    # Ctrl-D is a key like any other: it would be lost as the end of a line that nobody reads.
    quiet[6] = [*before[6]]
    quiet[6][termios.VEOF] = bytes([os.fpathconf(handle, "PC_VDISABLE")])
    with suppress(termios.error):
        termios.tcsetattr(handle, termios.TCSADRAIN, quiet)
    try:
        with _again(handle, quiet):
            yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(handle, termios.TCSADRAIN, before)


@contextmanager
def _again(handle: int, quiet: list[Any]) -> Iterator[None]:
    """Whenever we are gone on with: the shell has put the terminal back for itself meanwhile."""

    def went_on(*_: object) -> None:
        with suppress(termios.error, OSError):
            is_ours = os.tcgetpgrp(handle) == os.getpgrp()
            if is_ours and termios.tcgetattr(handle)[3] & termios.ICANON:  # else a prompt has it
                termios.tcsetattr(handle, termios.TCSANOW, quiet)

    try:
        before: Any = signal.signal(signal.SIGCONT, went_on)
    except ValueError:  # not the main thread: whoever runs us there has the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGCONT, before)
