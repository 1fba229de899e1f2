"""Which line is meant by an id, where several have the same.

Somebody who copies a line in an editor and changes its words copies its hidden comment too. Then
the id stays with the line that comes first, and the other one goes by its words, as if it had no
comment. Copies that say the same are one memory.

Promise: lines that say different things never have one id, and copies always do
(``tests/memory/test_facts.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from holdfast.retain import RetainLine, line_id
from holdfast.text import normalise

__all__ = ["is_copy", "own_id", "told_apart"]


def told_apart(named: Iterable[tuple[str, RetainLine]]) -> Iterator[str]:
    """The id of each line; given are the lines in their order, each with its ``line_id``."""
    first: dict[str, RetainLine] = {}
    for id, line in named:
        known = first.setdefault(id, line)
        if known is not line and not is_copy(known, line):
            id = next(own for own in _own_ids(line) if is_copy(first.setdefault(own, line), line))
        yield id


def is_copy(one: RetainLine, other: RetainLine) -> bool:
    """Whether they say the same of the same; case and white space make no difference."""
    if one.kind != other.kind:
        return False
    if (one.text, one.entity) == (other.text, other.entity):
        return True
    return _words(one) == _words(other)


def own_id(line: RetainLine) -> str:
    """The id of a line by its words, whatever its comment says."""
    return line_id(RetainLine(kind=line.kind, text=line.text, entity=line.entity))


def _words(line: RetainLine) -> tuple[str, str]:
    return normalise(line.entity or ""), normalise(line.text)


def _own_ids(line: RetainLine) -> Iterator[str]:
    """By its words; with a number if a comment gave that id to other words."""
    own = own_id(line)
    yield own
    for number in count(2):
        yield f"{own}-{number}"
