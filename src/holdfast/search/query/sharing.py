"""One entry of a conversation does not crowd out all others: it takes at most two places.

A tool may have answered with a hundred pages, of which each is as near to the query as the next.

Promise: nothing is lost, only put off; what matches exactly is among the two of its entry
(``tests/search/test_sharing.py``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from holdfast.search.query.candidates import Candidate

__all__ = ["Taken", "apart"]

_MOST: Final = 2

Taken = Counter[tuple[str, str]]
"""How many places each entry has: by its document's key and its own id."""


def apart(candidates: Sequence[Candidate], taken: Taken) -> tuple[list[Candidate], list[Candidate]]:
    """Those that may have a place, and those that get one only if no other entry needs it.

    ``taken`` counts the places given, here and before.
    """
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, one in enumerate(candidates):
        if one.entry is not None:
            groups[one.key, one.entry].append(number)
    put_off: set[int] = set()
    for name, members in groups.items():
        room = max(0, _MOST - taken[name])
        kept = members[:room]
        if room and not any(candidates[number].exact for number in kept):
            exact = next((number for number in members if candidates[number].exact), None)
            kept = [*kept[:-1], exact] if exact is not None else kept
        taken[name] += len(kept)
        put_off.update(set(members) - set(kept))
    return (
        [one for number, one in enumerate(candidates) if number not in put_off],
        [one for number, one in enumerate(candidates) if number in put_off],
    )
