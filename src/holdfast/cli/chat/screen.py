"""Where the chat is shown: a terminal, a pipe, or JSON lines.

On a terminal what the engine did is dim beside the answer, and a line that waits is drawn over
and gone. In a pipe stdout has the answers alone, stderr the rest. Callers hand over harmless
text; pieces of an answer are made harmless here.

Promise: nothing is drawn into the midst of an answer: it waits until the answer pauses
(``tests/doors/test_chat_shown.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from shutil import get_terminal_size
from typing import Final, Literal, Protocol

from holdfast.cli.chat.shown import Cleaner, Wrapper
from holdfast.cli.render import json_line, note
from holdfast.cli.terminal import folded
from holdfast.text import one_line
from holdfast.types import Json

__all__ = ["JsonScreen", "PlainScreen", "Screen", "TerminalScreen", "Tone"]

Tone = Literal["plain", "dim", "warn", "error", "strong"]
_TONES: Final[Mapping[Tone, str]] = {
    "plain": "",
    "dim": "\x1b[2m",
    "warn": "\x1b[33m",
    "error": "\x1b[31m",
    "strong": "\x1b[1m",
}
_RESET: Final = "\x1b[0m"
_CLEAR: Final = "\r\x1b[2K"


class Screen(Protocol):
    """Where things are shown."""

    def speak(self, piece: str) -> None:
        """A piece of the answer."""
        ...

    def pause(self) -> None:
        """The answer has come to an end, or something else comes between."""
        ...

    def line(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        """A line beside the answer."""
        ...

    def answer(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        """A line that was asked for: the answer of a command."""
        ...

    def wait(self, text: str) -> None:
        """What is being waited for; empty: nothing any more."""
        ...

    def fact(self, kind: str, told: Mapping[str, Json]) -> None:
        """The same for programs; people are not shown it."""
        ...


class TerminalScreen:
    """A terminal, written to through ``sys.stdout``, which a prompt may have put itself before."""

    def __init__(self, *, colour: bool, can_redraw: bool = True) -> None:
        self._colour = colour
        self._can_redraw = can_redraw
        self._cleaner = Cleaner()
        # Two columns are left free: one for the cursor, one for a mark that hangs over.
        self._wrapper = Wrapper(lambda: max(10, self.width - 2))
        self._speaks = False
        self._is_open = False
        """Whether the cursor stands behind a line that has no end yet."""
        self._waits = False
        self._pending: list[tuple[str, Tone, str]] = []

    @property
    def width(self) -> int:
        return get_terminal_size().columns

    def speak(self, piece: str) -> None:
        self.wait("")
        self._speaks = True
        self._put(self._wrapper.feed(self._cleaner.feed(piece)))

    def _put(self, text: str) -> None:
        if text:
            _write(text)
            self._is_open = not text.endswith("\n")

    def pause(self) -> None:
        self.wait("")
        if self._speaks:
            self._put(self._wrapper.feed(self._cleaner.end()) + self._wrapper.end())
            self._speaks = False
            if self._is_open:
                self._put("\n")
        pending, self._pending = self._pending, []
        for text, tone, indent in pending:
            self.line(text, tone, indent=indent)

    def line(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        if self._speaks:
            self._pending.append((text, tone, indent))
            return
        self.wait("")
        on, off = (_TONES[tone], _RESET) if self._colour and _TONES[tone] else ("", "")
        for row in folded(text, self.width - 1, indent=indent):
            _write(f"{on}{row}{off}\n")

    def answer(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        self.pause()
        self.line(text, tone, indent=indent)

    def wait(self, text: str) -> None:
        if not self._can_redraw or (self._speaks and text) or not (text or self._waits):
            return
        on, off = (_TONES["dim"], _RESET) if self._colour else ("", "")
        shown = one_line(text, self.width - 1)
        _write(f"{_CLEAR}{on}{shown}{off}" if shown else _CLEAR)
        self._waits = bool(shown)

    def fact(self, kind: str, told: Mapping[str, Json]) -> None:
        pass


class PlainScreen:
    """A pipe: answers on stdout, everything else on stderr."""

    def __init__(self) -> None:
        self._cleaner = Cleaner()
        self._is_open = False

    def speak(self, piece: str) -> None:
        self._put(self._cleaner.feed(piece))

    def _put(self, text: str) -> None:
        if text:
            _write(text)
            self._is_open = not text.endswith("\n")

    def pause(self) -> None:
        self._put(self._cleaner.end())
        if self._is_open:
            self._put("\n")

    def line(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        note(f"error: {text}" if tone == "error" else text)

    def answer(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        self.pause()
        _write(text + "\n")

    def wait(self, text: str) -> None:
        pass

    def fact(self, kind: str, told: Mapping[str, Json]) -> None:
        pass


class JsonScreen:
    """One object per line, for programs."""

    def speak(self, piece: str) -> None:
        self.fact("text", {"text": piece})

    def pause(self) -> None:
        pass

    def line(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        pass

    def answer(self, text: str, tone: Tone = "plain", *, indent: str = "") -> None:
        self.fact("answer", {"text": text})

    def wait(self, text: str) -> None:
        pass

    def fact(self, kind: str, told: Mapping[str, Json]) -> None:
        json_line({"step": kind, **told})
        sys.stdout.flush()


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
