"""A real terminal for tests: a process behind a pty, and what a person would see of it.

``Terminal`` types and waits; its ``screen`` understands what prompt_toolkit and the chat send:
text with wide characters, cursor movement, erasing, scrolling. As a program this file is a chat
with a model that follows simple orders:

    python -m tests.doors.terminal HOME [--window N] [--incognito]
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.text import clusters, columns
from holdfast.types import Message

_CONTROL = re.compile(r"\x1b\[([?>]?)([0-9;]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b[=>()][0B]?|\x1b")


class Drawn:
    """What stands on the screen, and what was scrolled out of it."""

    def __init__(self, wide: int, high: int) -> None:
        self.wide, self.high = wide, high
        self.rows: list[list[str]] = [[" "] * wide for _ in range(high)]
        self.above: list[str] = []
        self.row = self.column = 0
        self._rest = ""
        self.replies: list[str] = []
        """What a terminal answers when it is asked where its cursor stands."""

    def resize(self, wide: int, high: int) -> None:
        """As most terminals do it without reflow: what does not fit is cut off."""
        self.rows = [(row + [" "] * wide)[:wide] for row in self.rows]
        while len(self.rows) < high:
            self.rows.append([" "] * wide)
        while len(self.rows) > high:
            self.above.append("".join(self.rows.pop(0)).rstrip())
            self.row = max(0, self.row - 1)
        self.wide, self.high = wide, high
        self.column = min(self.column, wide - 1)

    @property
    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.rows]

    @property
    def text(self) -> str:
        """Everything that was and is there, one row a line."""
        return "\n".join([*self.above, *self.lines])

    def feed(self, data: str) -> None:
        data = self._rest + data
        cut = data.rfind("\x1b", len(data) - 24)
        is_whole = cut < 0 or ((found := _CONTROL.match(data, cut)) and len(found[0]) > 1)
        self._rest = "" if is_whole else data[cut:]
        data = data if is_whole else data[:cut]
        at = 0
        for found in _CONTROL.finditer(data):
            self._print(data[at : found.start()])
            if found[3]:
                self._obey(found[3], found[2], is_private=bool(found[1]))
            at = found.end()
        self._print(data[at:])

    def _print(self, text: str) -> None:
        for cluster in clusters(text):
            for char in cluster if cluster == "\r\n" else (cluster,):
                self._put(char)

    def _put(self, char: str) -> None:
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self._down()
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif char >= " ":
            size = columns(char)
            if self.column + size > self.wide:
                self.column = 0
                self._down()
            row = self.rows[self.row]
            row[self.column] = char
            row[self.column + 1 : self.column + size] = [""] * (size - 1)
            self.column += size

    def _down(self) -> None:
        if self.row < self.high - 1:
            self.row += 1
            return
        self.above.append("".join(self.rows.pop(0)).rstrip())
        self.rows.append([" "] * self.wide)

    def _obey(self, what: str, numbers: str, *, is_private: bool) -> None:
        if is_private:
            return
        first, *more = [int(each or 0) for each in numbers.split(";")]
        count = first or 1
        if what in "AB":
            self.row = max(0, min(self.high - 1, self.row + (count if what == "B" else -count)))
        elif what in "CD":
            self.column += count if what == "C" else -count
            self.column = max(0, min(self.wide - 1, self.column))
        elif what == "H":
            self.row, self.column = count - 1, (more[0] if more else 1) - 1
        elif what == "J":
            here, below = self.row, range(self.row + 1, self.high)
            self._erase(here, 0 if first == 2 else self.column)
            for row in range(self.high) if first == 2 else below:
                self._erase(row, 0)
        elif what == "n":
            self.replies.append(f"\x1b[{self.row + 1};{self.column + 1}R")
        elif what == "K":
            self._erase(self.row, 0 if first == 2 else self.column)

    def _erase(self, row: int, start: int) -> None:
        self.rows[row][start:] = [" "] * (self.wide - start)


class Terminal:
    """A process that believes it has a terminal."""

    def __init__(self, argv: list[str], environ: dict[str, str], wide: int, high: int) -> None:
        self.screen = Drawn(wide, high)
        self._mine, theirs = os.openpty()
        self._size(wide, high)
        self.process = subprocess.Popen(
            argv, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
        )
        os.close(theirs)
        self._bytes = b""

    def _size(self, wide: int, high: int) -> None:
        fcntl.ioctl(self._mine, termios.TIOCSWINSZ, struct.pack("HHHH", high, wide, 0, 0))

    def resize(self, wide: int, high: int) -> None:
        self.screen.resize(wide, high)
        self._size(wide, high)  # the kernel tells the program

    def put_back(self) -> None:
        """What a shell does to its terminal while its job is stopped."""
        found = termios.tcgetattr(self._mine)
        found[3] |= termios.ECHO
        termios.tcsetattr(self._mine, termios.TCSANOW, found)

    def type(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def wait_for(self, *texts: str, seconds: float = 30.0) -> str:
        """Everything that was shown, once all of these have been; fails with what was."""
        self.wait_until(lambda: all(text in self.screen.text for text in texts), seconds, texts)
        return self.screen.text

    def wait_until(
        self, is_so: Callable[[], bool], seconds: float = 30.0, wanted: object = "it"
    ) -> None:
        """Read until it is so; fails with what was shown."""
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, f"{wanted} not shown:\n{self.screen.text}"
            assert self.read(0.1) or self.process.poll() is None, self.screen.text

    def read(self, seconds: float) -> bool:
        """Take what the program has drawn; whether there was something."""
        if not select.select([self._mine], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._mine, 65536)
        except OSError:  # the program has closed its side
            return False
        text = (self._bytes + data).decode("utf-8", "ignore")
        whole = len(text.encode())
        self._bytes = (self._bytes + data)[whole:] if whole else self._bytes + data
        self.screen.feed(text)
        while self.screen.replies:
            self.type(self.screen.replies.pop(0))
        return True

    def settle(self) -> None:
        """Until nothing is drawn any more."""
        while self.read(0.25):
            pass

    def end(self, seconds: float = 30.0) -> int:
        """The exit code, once the program has ended by itself."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read(0.1)
        self.settle()
        return self.process.wait(1)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._mine)


@contextmanager
def chat_terminal(
    home: Path, *options: str, wide: int = 80, high: int = 24, language: str = "en_US.UTF-8"
) -> Iterator[Terminal]:
    """A chat at a terminal, with the model below."""
    environ = {
        **os.environ,
        "TERM": "xterm-256color",
        "HOLDFAST_LANGUAGE": language,
        "LC_ALL": "C.UTF-8",
    }
    environ.pop("NO_COLOR", None)
    environ.pop("COLUMNS", None)
    environ.pop("LINES", None)
    argv = [sys.executable, "-m", "tests.doors.terminal", str(home), *options]
    terminal = Terminal(argv, environ, wide, high)
    try:
        yield terminal
    finally:
        terminal.close()


# ── the program ─────────────────────────────────────────────────────────────────────────────


class Obedient:
    """Says what it is told to: ``count 30`` counts, ``forever`` never ends; all else is
    repeated. A flush gets nothing to work with, so rules do it."""

    name = "test:obedient"
    traits = Traits(window=8000)

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise TimeoutError("only speaks")

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        asked = next(m for m in reversed(request.messages) if m.role == "user" and _own(m)).text
        order, _, number = asked.partition(" ")
        said = ""
        if order == "count":
            words = [*(f"{n} " for n in range(int(number))), f"counted-{number}"]
        elif order == "forever":
            words = [f"tick{n} " for n in range(100_000)]
        else:
            words = [f"{word} " for word in f"Heard: {asked}".split(" ")]
        for word in words:
            said += word
            yield word
            await asyncio.sleep(0.01 if order == "forever" else 0)
        yield ModelReply(message=Message.of("assistant", said.strip()))


def _own(message: Message) -> bool:
    """Whether the person said it: what is recalled comes as a message of the user, too."""
    return bool(message.text) and "⟦" not in message.text


def main() -> int:
    from holdfast.cli.chat import Wish, run  # noqa: PLC0415
    from holdfast.cli.options import Door  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C becomes a signal
    home, *options = sys.argv[1:]
    window = int(options[options.index("--window") + 1]) if "--window" in options else None
    wish = Wish(window=window, incognito="--incognito" in options)
    return run(Door(home=Path(home), agent="main"), wish, model=Obedient())


if __name__ == "__main__":
    sys.exit(main())
