"""Text that is safe to cut, compare and show.

Promise: no cut ever splits what a reader takes for one character, nothing hidden survives
``strip_hidden``, what ``display`` returns cannot steer a terminal, and ``same_marks`` never takes
one number, name or negation for another. Proven by ``tests/foundation/test_text_cuts.py``,
``test_text_json.py``, ``test_text_characters.py``, ``test_text_terminal.py`` and
``test_text_likeness.py``. Terms that are stored and terms that are asked for agree
(``test_text_tokens.py``). Everything here is pure, and importing it loads no third-party code:
the grapheme tables are loaded by the first text that needs them, the word lists of ``likeness``
and the stemmer of ``tokens`` when one of their names is first used.
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
    from holdfast.text.tokens import (
        TOKENS_VERSION,
        Term,
        Word,
        index_terms,
        query_terms,
        term_hash,
        words,
    )

__all__ = [
    "TOKENS_VERSION",
    "Marks",
    "Term",
    "Word",
    "clusters",
    "columns",
    "cut",
    "cut_bytes",
    "cut_tail",
    "display",
    "index_terms",
    "is_hidden",
    "marks",
    "normalise",
    "one_line",
    "query_terms",
    "same_marks",
    "says_no_more",
    "shorten",
    "shorten_json",
    "similarity",
    "slug",
    "strip_hidden",
    "term_hash",
    "terms",
    "title_slug",
    "words",
]

_LIKENESS = ("Marks", "marks", "same_marks", "says_no_more", "similarity", "terms")
_TOKENS = ("TOKENS_VERSION", "Term", "Word", "index_terms", "query_terms", "term_hash", "words")


def __getattr__(name: str) -> object:
    if name in _LIKENESS:
        return getattr(import_module("holdfast.text.likeness"), name)
    if name in _TOKENS:
        return getattr(import_module("holdfast.text.tokens"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
