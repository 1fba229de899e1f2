"""Characters nobody sees, taken out of a token before it is looked for, and the way back.

Promise: what counts as hidden is what ``text.is_hidden`` says; a place in the plain text leads
back to the place in the text as it was (``tests/foundation/test_redact_hidden.py``). Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Final

__all__ = ["Plain"]

# The same as in ``text.characters``, as one class: asked of every text, so it must be one search.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]++"
)
_CONTROLS: Final = bytes(code for code in range(128) if _HIDDEN.match(chr(code)))


class Plain:
    """A text without its hidden characters."""

    def __init__(self, text: str) -> None:
        runs = [found.span() for found in _HIDDEN.finditer(text)]
        kept = [0, *(end for _, end in runs)]
        ends = [*(start for start, _ in runs), len(text)]
        self.text = "".join(text[start:end] for start, end in zip(kept, ends, strict=True))
        self._starts = kept
        lengths = (end - start for start, end in zip(kept, ends, strict=True))
        self._plain = [0, *accumulate(lengths)][:-1]

    @staticmethod
    def differs(text: str) -> bool:
        """Whether anything is hidden in it."""
        if text.isascii():
            data = text.encode()
            return len(data.translate(None, _CONTROLS)) != len(data)
        return _HIDDEN.search(text) is not None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the plain text stands in the text as it was."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, at: int) -> int:
        piece = bisect_right(self._plain, at) - 1
        return self._starts[piece] + at - self._plain[piece]
