"""Memory lines: their grammar, and where they stand in a Markdown document.

    grammar     one line: RetainLine ⇄ Markdown                              (light)
    documents   all lines of a document, and the edit of one; imported by name, needs markdown
    narrowing   which lines of a document are for whom; imported by name, needs markdown

Promise: what can be made comes back to the letter (``tests/foundation/test_retain.py``), and an
edit changes no byte but its own (``tests/foundation/test_retain_documents.py``).
"""

from __future__ import annotations

from holdfast.retain.grammar import (
    RetainKind,
    RetainLine,
    Trust,
    line_id,
    parse,
    render,
    says_only_provenance,
    visible_line,
)

__all__ = [
    "RetainKind",
    "RetainLine",
    "Trust",
    "line_id",
    "parse",
    "render",
    "says_only_provenance",
    "visible_line",
]
