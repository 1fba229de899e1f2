"""Text that is safe to cut, compare and show.

Promise: no cut ever splits what a reader takes for one character, nothing hidden survives
``strip_hidden``, what ``display`` returns cannot steer a terminal, and ``same_marks`` never takes
one number, name or negation for another. Proven by ``tests/foundation/test_text_cuts.py``,
``test_text_json.py``, ``test_text_characters.py``, ``test_text_terminal.py`` and
``test_text_likeness.py``. Everything here is pure, and importing it loads no third-party code:
the grapheme tables are loaded by the first text that needs them, the word lists of ``likeness``
when one of its names is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.text.characters import is_hidden, normalise, slug, strip_hidden, title_slug
from holdfast.text.cuts import clusters, cut, cut_bytes, cut_tail, shorten
from holdfast.text.jsontext import shorten_json
from holdfast.text.terminal import columns, display, one_line

if TYPE_CHECKING:
    from holdfast.text.likeness import Marks, marks, same_marks, says_no_more, similarity, terms

__all__ = [
    "Marks",
    "clusters",
    "columns",
    "cut",
    "cut_bytes",
    "cut_tail",
    "display",
    "is_hidden",
    "marks",
    "normalise",
    "one_line",
    "same_marks",
    "says_no_more",
    "shorten",
    "shorten_json",
    "similarity",
    "slug",
    "strip_hidden",
    "terms",
    "title_slug",
]

_LIKENESS = ("Marks", "marks", "same_marks", "says_no_more", "similarity", "terms")


def __getattr__(name: str) -> object:
    if name in _LIKENESS:
        return getattr(import_module("holdfast.text.likeness"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
