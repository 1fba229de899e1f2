"""Notices on this computer's desktop: ``notify-send`` or ``osascript``, whichever there is.

Promise: the text is one argument of a program, never part of a script or of markup; a computer
without either program is ``unavailable``, not an error (``tests/engine/test_notice_channels.py``).
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Final

from holdfast.engine.notify.channel import Outgoing, Result
from holdfast.engine.programs import find_program, run_program

__all__ = ["Desktop"]

_SECONDS: Final = 5.0
_CAP_BYTES: Final = 4096
_TITLE: Final = "Holdfast"
_SCRIPT: Final = (
    "on run argv",
    f'display notification (item 1 of argv) with title "{_TITLE}"',
    "end run",
)
# How a program finds the desktop it is to speak to.
_PASSED_ON: Final = (
    *("PATH", "HOME", "LANG", "TZ", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
    *("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
)


class Desktop:
    name = "desktop"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = {name: environ[name] for name in _PASSED_ON if name in environ}

    def deliver(self, message: Outgoing) -> Result:
        argv = self._argv(message.text)
        if argv is None:
            return Result(
                outcome="unavailable", reason="neither notify-send nor osascript is on the PATH"
            )
        ran = run_program(argv, env=self._environ, cwd="/", seconds=_SECONDS, cap_bytes=_CAP_BYTES)
        if ran.outcome == "ok":
            return Result(outcome="sent")
        ended = f" with {ran.exit_code}" if ran.exit_code is not None else ""
        return Result(
            outcome="unavailable" if ran.outcome == "missing" else "failed",
            reason=f"{argv[0].rpartition('/')[2]}: {ran.outcome}{ended}",
        )

    def _argv(self, text: str) -> list[str] | None:
        path = self._environ.get("PATH", "")
        if program := find_program("notify-send", path):
            # Desktops read the text as markup; a name must not become a link or an image.
            return [program, "--app-name", _TITLE, "--", _TITLE, html.escape(text, quote=False)]
        if program := find_program("osascript", path):
            script = [part for line in _SCRIPT for part in ("-e", line)]
            return [program, *script, text]
        return None
