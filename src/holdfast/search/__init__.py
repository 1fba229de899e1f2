"""Where did we write that? Everything is found again, with its place, and the search says why.

    documents    what is made searchable, and the chunks it is cut into
    chunking/    Markdown by structure, conversations by turn
    index/       the tables, postings and vectors of one agent: one moment for each search
    ranking/     scores, as pure functions over arrays
    query/       one search: from the request to passages with citations
    request      what is asked and answered

Importing this loads nothing heavy: the names of a search are looked up when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.search.query.pipeline import search
    from holdfast.search.query.tuning import Tuning
    from holdfast.search.request import Passage, SearchRequest, SearchResult

__all__ = ["Passage", "SearchRequest", "SearchResult", "Tuning", "search"]

_HOMES = {
    "Passage": "holdfast.search.request",
    "SearchRequest": "holdfast.search.request",
    "SearchResult": "holdfast.search.request",
    "Tuning": "holdfast.search.query.tuning",
    "search": "holdfast.search.query.pipeline",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
