"""Files outside of the home that are searched (``index.extra_paths``) and hold an erased text.

Promise: they are named and never changed: who erases knows what will be found again
(``tests/engine/test_searching_faults.py``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError
from holdfast.matching import Match
from holdfast.types import Remaining

if TYPE_CHECKING:
    from holdfast.engine.searching.extras import Extras

__all__ = ["held_outside"]

_HELD: Final = (
    "It is one of your own files that are searched (index.extra_paths).",
    "Change or remove it yourself: until then it is found again.",
)
_UNSEEN: Final = (
    "A file of index.extra_paths could not be looked into.",
    "Make it readable and erase again, or look at it yourself.",
)


def held_outside(rooms: Rooms, match: Match) -> list[Remaining]:
    """Each of them, and what could not be looked into."""
    named = rooms.settings.index.extra_paths
    if not named:
        return []
    searching = import_module("holdfast.engine.searching.extras")  # only who needs it loads it
    extras: Extras = searching.Extras(named, rooms.home.path)
    problems: list[str] = []
    held = []
    for path, _ in extras.found(problems):
        try:
            text = extras.read(path)
        except HoldfastError as error:
            problems.append(error.message)
            continue
        if text is None:
            continue
        data = text.encode("utf-8", "surrogateescape")
        if match.is_in_bytes(data) or match.is_in(str(path)):
            held.append(Remaining(path=str(path), why=_HELD[0], hint=_HELD[1]))
    return held + [Remaining(path=each, why=_UNSEEN[0], hint=_UNSEEN[1]) for each in problems]
