"""Text that is safe to cut, compare and show.

Promise: no cut ever splits what a reader takes for one character, nothing hidden survives
``strip_hidden``, and what ``display`` returns cannot steer a terminal. Proven by
``tests/foundation/test_text_cuts.py``, ``test_text_json.py``, ``test_text_characters.py``
and ``test_text_terminal.py``. Everything here is pure, and importing it loads no third-party
code: the grapheme tables are loaded by the first text that needs them.
"""

from __future__ import annotations

from holdfast.text.characters import is_hidden, normalise, slug, strip_hidden
from holdfast.text.cuts import clusters, cut, cut_bytes, cut_tail, shorten
from holdfast.text.jsontext import shorten_json
from holdfast.text.terminal import columns, display, one_line

__all__ = [
    "clusters",
    "columns",
    "cut",
    "cut_bytes",
    "cut_tail",
    "display",
    "is_hidden",
    "normalise",
    "one_line",
    "shorten",
    "shorten_json",
    "slug",
    "strip_hidden",
]
