"""A conversation told for people: its entries as items, its tokens over time, what was saved.

    looking    entries from the newest back, no more of them than are needed
    items      entry → what a person sees of it
    saved      the lines that a flush wrote, where they stand now; what a recall quoted
    timeline   tokens after each answer, and what happened to the context in between
    beginnings what a conversation began with, or what a new one would

Nothing is changed by looking (``tests/engine/test_chronicle.py``).
"""

from holdfast.engine.chronicle.beginnings import Beginning, beginning_of
from holdfast.engine.chronicle.items import (
    Called,
    Compacted,
    Flushed,
    Item,
    Marked,
    Page,
    Pruned,
    Resulted,
    item_of,
    page_of,
)
from holdfast.engine.chronicle.looking import newest
from holdfast.engine.chronicle.saved import (
    Files,
    Quoted,
    SavedLine,
    last_flush,
    quoted_in,
    saved_lines,
)
from holdfast.engine.chronicle.timeline import Happening, Point, Timeline, timeline_of

__all__ = [
    "Beginning",
    "Called",
    "Compacted",
    "Files",
    "Flushed",
    "Happening",
    "Item",
    "Marked",
    "Page",
    "Point",
    "Pruned",
    "Quoted",
    "Resulted",
    "SavedLine",
    "Timeline",
    "beginning_of",
    "item_of",
    "last_flush",
    "newest",
    "page_of",
    "quoted_in",
    "saved_lines",
    "timeline_of",
]
