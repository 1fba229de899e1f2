"""Text on a terminal: foreign bytes are shown, never obeyed.

Promise: what ``display`` returns is one line, with no control character but tab and nothing
that reorders or hides text, and can be printed in UTF-8; ``one_line`` never takes more columns
than it was given (``tests/foundation/test_text_terminal.py``).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from holdfast.text.characters import replace_hidden
from holdfast.text.cuts import clusters, cut

__all__ = ["columns", "display", "one_line"]

_NEWLINE: Final = re.compile("\r?\n")
_UNSAFE: Final = re.compile("[\v\f\r\x85\u2028\u2029\ud800-\udfff]")
_BREAKS: Final = re.compile("[ \t]*(?:[\n\v\f\r\x85\u2028\u2029][ \t]*)+")
_BLANKS: Final = re.compile("[ \t]+")


def display(text: str) -> str:
    """The text as it may be printed in a line: what a terminal would obey is spelled out.

    An escape becomes ``\\x1b``, a bidi override ``\\u202e``, a lone surrogate ``\\ud83d``, a
    newline ``⏎``. To print several lines, split them first.
    """
    text = _UNSAFE.sub(lambda found: _spelled(found[0]), _NEWLINE.sub("⏎", text))
    return replace_hidden(text, _spelled)


def one_line(text: str, width: int) -> str:
    """The text on one line of at most ``width`` columns, ending in ``…`` if it was cut.

    Line breaks of any kind are shown as ``⏎``, blanks are folded to one space.
    """
    text = text.strip()
    # Enough to fill any line; a preview need not read the whole of a large text.
    beginning = cut(text, 16 * max(0, width) + 256)
    line = display(_BLANKS.sub(" ", _BREAKS.sub(" ⏎ ", beginning)))
    if beginning == text and columns(line) <= width:
        return line
    shown: list[str] = []
    room = width - 1
    for cluster in clusters(line):
        room -= _columns_of(cluster)
        if room < 0:
            break
        shown.append(cluster)
    return "".join(shown) + "…" if width > 0 else ""


def columns(text: str) -> int:
    """How many columns of a terminal the text takes; East Asian wide characters take two."""
    return len(text) if text.isascii() else sum(map(_columns_of, clusters(text)))


def _columns_of(cluster: str) -> int:
    """No cluster takes more than two: a family of four emoji is drawn as one."""
    return min(2, sum(map(_columns_of_char, cluster)))


def _columns_of_char(char: str) -> int:
    if char == "\ufe0f":
        return 1  # asks for the emoji form, which is wide, of a character that is narrow
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
