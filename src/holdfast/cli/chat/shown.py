"""An answer on its way to a terminal, in pieces as they come.

Promise: whatever a model says, in whatever pieces, nothing of it can move the cursor, colour the
terminal or hide; what is shown is the same however it was cut. No line is wider than asked for,
wide characters counted as two, but for code, which is never broken, and a mark that may hang by
a column (``tests/doors/test_chat_shown.py``).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final

from holdfast.text import clusters, columns, display

__all__ = ["Cleaner", "Wrapper", "harmless"]

_UNSETTLED: Final = 64
"""Characters that may wait for what joins them: no real cluster is longer."""
_FENCE_WITHIN: Final = 8


def harmless(text: str) -> str:
    """Several lines as they may be printed."""
    return "\n".join(display(line) for line in text.replace("\r\n", "\n").split("\n"))


class Cleaner:
    """Makes the pieces of one text harmless. The last character waits for its next piece: what
    joins it, a line feed after a carriage return for one, decides how it is shown."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown by now."""
        text = self._held + piece
        if not text:
            return ""
        last = _last_cluster(text)
        settled = len(text) - len(last) if len(last) <= _UNSETTLED else len(text)
        self._held = text[settled:]
        return harmless(text[:settled]) if settled else ""

    def end(self) -> str:
        """The rest."""
        held, self._held = self._held, ""
        return harmless(held) if held else ""


def _last_cluster(text: str) -> str:
    *_, last = clusters(text[-4 * _UNSETTLED :])
    return last


class Wrapper:
    """Breaks the lines of one text between words as it comes; code stays as it is, to be copied.

    A word waits until it is whole: only then is known whether it fits.
    """

    def __init__(self, width: Callable[[], int]) -> None:
        self._width = width
        self._column = 0
        self._gap = ""
        self._word = ""
        self._start = ""
        """How this line begins: enough to know a fence by."""
        self._is_code = False

    def feed(self, text: str) -> str:
        """What can be shown by now; the text is harmless already."""
        return "".join(self._take(each) for each in clusters(text))

    def end(self) -> str:
        """The rest."""
        rest = self._place()
        self._column, self._gap, self._start, self._is_code = 0, "", "", False
        return rest

    def _take(self, cluster: str) -> str:
        if cluster == "\n":
            return self._break()
        if len(self._start) < _FENCE_WITHIN:
            self._start += cluster
        if self._is_code or self._start.startswith(("    ", "\t")):
            return self._place() + cluster
        if cluster == " ":
            placed = self._place()
            self._gap += " "
            return placed
        if columns(cluster) > 1:
            placed = self._place()
            self._word = cluster
            return placed + self._place()
        self._word += cluster
        return self._place() if columns(self._word) >= self._width() else ""

    def _break(self) -> str:
        placed = self._place()
        if self._start.lstrip().startswith(("```", "~~~")):
            self._is_code = not self._is_code
        self._column, self._gap, self._start = 0, "", ""
        return placed + "\n"

    def _place(self) -> str:
        """Put the word down, on the next line if it does not fit on this one."""
        word, gap, self._word, self._gap = self._word, self._gap, "", ""
        if not word:
            self._column += len(gap)
            return gap if self._column else ""
        size = columns(word)
        width = self._width()
        is_last = self._column + len(gap) + size > width
        # One mark may hang over; a row of them would go on for ever.
        may_hang = size <= 2 and not gap and self._column <= width and _hangs(word)
        if is_last and self._column and not may_hang:
            self._column = size
            return "\n" + word
        self._column += len(gap) + size
        return gap + word


def _hangs(word: str) -> bool:
    """Whether it may not begin a line: a full stop or a closing bracket, in any script."""
    return unicodedata.category(word[0]) in ("Po", "Pe", "Pf")
