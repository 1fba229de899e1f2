"""Files and conversations as chunks: the smallest things a search can return.

    files         Markdown by its structure; ``facts`` are its memory lines
    conversation  messages, tool results
    sources       what kind of source a path is
    texts         what of a chunk is searched, and what an encoder reads
    sizes         how long a chunk may be, and where a longer text is cut

Promise: pure; every line that says something is found again under its own lines, and a chunk's
id depends on its document and its own content (``tests/search/test_chunking.py``,
``test_chunking_conversation.py``, ``test_chunking_sizes.py``). Importing this loads none of it:
a search that finds nothing changed cuts nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast.search.chunking.conversation import chunk_entries, entry_text
    from holdfast.search.chunking.files import chunk_markdown
    from holdfast.search.chunking.sizes import storable
    from holdfast.search.chunking.sources import classify
    from holdfast.search.chunking.texts import embedded_text, searched_text

__all__ = [
    "chunk_entries",
    "chunk_markdown",
    "classify",
    "embedded_text",
    "entry_text",
    "searched_text",
    "storable",
]

_WHERE: Final = {
    "chunk_entries": "conversation",
    "chunk_markdown": "files",
    "classify": "sources",
    "embedded_text": "texts",
    "entry_text": "conversation",
    "searched_text": "texts",
    "storable": "sizes",
}


def __getattr__(name: str) -> object:
    if name in _WHERE:
        return getattr(import_module(f"holdfast.search.chunking.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
