"""Where a text stands in another, to the letter and in every disguise a file can give it.

Two texts are the same here if their normal forms are: NFKC and case-folded, runs of white space
as one blank, hidden characters left out. A text is also found as JSON, percent or HTML escapes
spell it, and over the lines of a block quote; in bytes also as UTF-16 and base64. Never by
likeness: ``is_near`` is for a listing.

Promise: ``erased(text)`` holds none of the texts any more and changes nothing else; no span cuts
a character or leaves its marks behind; a stream is searched in linear time and across its
blocks (``tests/foundation/test_matching.py``). Pure.
"""

from __future__ import annotations

from holdfast.matching.folding import Span
from holdfast.matching.match import SHORTEST, Match

__all__ = ["SHORTEST", "Match", "Span"]
