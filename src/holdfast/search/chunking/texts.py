"""What of a chunk is searched and what an encoder reads.

Promise: bounded whatever the chunk holds; the headings above it and the title of its file count
as its words, the name of a speaker does not (``tests/search/test_chunking.py``). Pure.
"""

from __future__ import annotations

import re
from typing import Final

from holdfast.search.documents import Chunk, Document
from holdfast.text import cut, cut_tail, normalise

__all__ = ["EMBEDDED", "embedded_text", "searched_text"]

EMBEDDED: Final = 2_000
"""Characters an encoder gets; more than the bundled ones read."""
_CONTEXT: Final = 300
_ROLES: Final = frozenset({"user", "assistant", "tool", "function", "model", "human"})
_MARKS: Final = re.compile(r"(?:[-*+>]|\d{1,9}[.)])[ \t]{1,8}(?:\[[ xX]\][ \t])?|@")


def searched_text(document: Document, chunk: Chunk) -> str:
    """What is taken apart into terms: title, context and text, and names not said in them."""
    words = _with_title(document, chunk)
    said = normalise(f"{words}\n{chunk.text}") if chunk.entities else ""
    unsaid = (name for name in chunk.entities if normalise(name) not in said)
    return "\n".join(filter(None, (words, *unsaid, chunk.text)))


def embedded_text(document: Document, chunk: Chunk) -> str:
    """What an encoder reads: context, then ``Alice: …``, or the text without its bullet.

    A speaker who is only a role (``user``) is nobody in particular and left out.
    """
    context = cut_tail(_with_title(document, chunk), _CONTEXT)
    text = chunk.text
    if chunk.kind in ("item", "fact"):
        found = _MARKS.match(text)
        text = text[found.end() :] if found is not None else text
    elif chunk.speaker and chunk.speaker not in _ROLES:
        text = f"{chunk.speaker}: {text}"
    return cut(f"{context}\n{text}" if context else text, EMBEDDED)


def _with_title(document: Document, chunk: Chunk) -> str:
    """The context behind the title of the file, unless that says it already."""
    title = document.title.strip()
    if not title or chunk.entry is not None or normalise(title) in normalise(chunk.context):
        return chunk.context
    return f"{title} › {chunk.context}" if chunk.context else title
