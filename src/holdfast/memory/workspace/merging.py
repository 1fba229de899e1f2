"""Texts by lines: what differs, how that is written down, and taking an edit back out.

Promise: ``applied(before, differences(before, after)) == after`` and ``parsed(written(x)) == x``
for every text; ``without`` removes what one edit added and returns what it removed, leaves every
other line of the present text as it is, and says which lines are in the way when that cannot be
done; ``joined`` has every line that either of two edits added, or is None
(``tests/memory/test_undo.py``). Pure. Lines end with ``\\n`` alone, so that a change is a
unified diff which people and ``patch`` can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from itertools import chain
from typing import Final

__all__ = [
    "Hunk",
    "InTheWay",
    "applied",
    "differences",
    "joined",
    "parsed",
    "reverse",
    "shown",
    "without",
    "written",
]

_LARGEST: Final = 4_000_000
"""Lines × lines up to which the shortest difference is looked for. It takes quadratic time."""

_BLOCK: Final = 64 << 10

_HEAD: Final = re.compile(r"@@ -(\d{1,9}),(\d{1,9}) \+(\d{1,9}),(\d{1,9}) @@\n")
_NO_END: Final = "\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """In place of ``removed``, which begin at line ``start`` (from 0), stand ``added``."""

    start: int
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        return self.start + len(self.removed)


class InTheWay(Exception):
    """The edit cannot be taken out: these lines were changed since."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("changed since")
        self.lines = tuple(lines)


def differences(before: str, after: str) -> tuple[Hunk, ...]:
    """How to get from one text to the other."""
    same = 0  # a long file that was added to is compared by blocks first, which is cheap
    while same < len(before) and before[same : same + _BLOCK] == after[same : same + _BLOCK]:
        same += _BLOCK
    same = before.rfind("\n", 0, same) + 1
    above = before.count("\n", 0, same)
    hunks = _between(_lines(before[same:]), _lines(after[same:]))
    return tuple(replace(hunk, start=hunk.start + above) for hunk in hunks)


def applied(before: str, hunks: Sequence[Hunk]) -> str | None:
    """The text with the hunks in it, or None if they do not belong to it."""
    lines = _lines(before)
    result: list[str] = []
    at = 0
    for hunk in hunks:
        if hunk.start < at or tuple(lines[hunk.start : hunk.end]) != hunk.removed:
            return None
        result += lines[at : hunk.start]
        result += hunk.added
        at = hunk.end
    return "".join(result + lines[at:])


def reverse(hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
    """The hunks that lead back."""
    result, moved = [], 0
    for hunk in hunks:
        result.append(Hunk(start=hunk.start + moved, removed=hunk.added, added=hunk.removed))
        moved += len(hunk.added) - len(hunk.removed)
    return tuple(result)


def written(hunks: Sequence[Hunk]) -> str:
    """The hunks as a unified diff without context."""
    return "".join(_written(hunks))


def parsed(diff: str) -> tuple[Hunk, ...] | None:
    """What ``written`` wrote; None if it is torn or something else."""
    lines = _lines(diff)
    hunks: list[Hunk] = []
    at = 0
    while at < len(lines):
        head = _HEAD.fullmatch(lines[at])
        if head is None:
            return None
        start, removes, _, adds = map(int, head.groups())
        removed, at = _signed(lines, at + 1, removes, "-")
        added, at = _signed(lines, at, adds, "+")
        if len(removed) != removes or len(added) != adds:
            return None
        start -= 1 if removes else 0
        hunks.append(Hunk(start=start, removed=tuple(removed), added=tuple(added)))
    return tuple(hunks)


def shown(path: str, before: str | None, after: str | None) -> str:
    """The difference as people read it: a unified diff with three lines around each change."""
    source = f"a/{path}" if before is not None else "/dev/null"
    target = f"b/{path}" if after is not None else "/dev/null"
    old, new = _lines(before or ""), _lines(after or "")
    lines: Iterable[str] = unified_diff(old, new, source, target)
    if len(old) * len(new) > _LARGEST:  # then it is written without the lines around
        hunks = _written(_between(old, new))
        lines = chain([f"--- {source}\n", f"+++ {target}\n"], hunks) if old != new else ()
    return "".join(_ended(line) for line in lines)


def without(left: str, present: str, before: str) -> str:
    """``present`` without the edit that once made ``left`` of ``before``.

    Raises:
        InTheWay: lines of that edit were changed since, so that nobody can say what is meant.
    """
    base = _lines(left)
    back = _between(base, _lines(before))
    since = _between(base, _lines(present))
    # Lines that are only taken out go one by one: others may have been written between them.
    back = tuple(piece for hunk in back for piece in _apart(hunk))
    since = tuple(piece for hunk in since for piece in _apart(hunk))
    taken: list[Hunk] = []
    for hunk in back:
        against = [other for other in since if _collide(hunk, other)]
        if not against:
            taken.append(hunk)
        elif any(other.added or hunk.added for other in against):
            raise InTheWay([line for other in against for line in other.added or other.removed])
    return _woven(base, taken, since)


def joined(base: str, theirs: str, ours: str) -> str | None:
    """Both edits of ``base`` in one text; None if they made different things of the same lines."""
    lines = _ended_lines(base)
    first = [piece for hunk in _between(lines, _ended_lines(theirs)) for piece in _apart(hunk)]
    second = [piece for hunk in _between(lines, _ended_lines(ours)) for piece in _apart(hunk)]
    for hunk in second:
        against = [other for other in first if _is_contested(hunk, other)]
        if not against:
            first.append(hunk)
        elif len(against) == 1 and not against[0].removed and not hunk.removed:
            both = _united(against[0].added, hunk.added)
            first[first.index(against[0])] = replace(hunk, added=both)
        elif against != [hunk]:
            return None
    return _woven(lines, first, ())


def _is_contested(one: Hunk, other: Hunk) -> bool:
    if one.removed and other.removed:
        return _collide(one, other)
    if not one.removed and not other.removed:
        return one.start == other.start
    inserted, changed = (other, one) if one.removed else (one, other)
    # Lines put in amid lines that were only taken out stay; amid rewritten ones nobody can tell.
    return bool(changed.added) and changed.start < inserted.start < changed.end


def _united(theirs: tuple[str, ...], ours: tuple[str, ...]) -> tuple[str, ...]:
    """What both put in at one place: what is the same once, and at each place theirs first."""
    result: list[str] = []
    at = 0
    for hunk in _between(list(theirs), list(ours)):
        result += [*theirs[at : hunk.end], *hunk.added]
        at = hunk.end
    return (*result, *theirs[at:])


def _ended_lines(text: str) -> list[str]:
    """Lines of which also the last has its end: adding to a file does not change that line."""
    return _lines(text if not text or text.endswith("\n") else f"{text}\n")


def _apart(hunk: Hunk) -> Iterator[Hunk]:
    if hunk.added or len(hunk.removed) < 2:
        yield hunk
        return
    for offset, line in enumerate(hunk.removed):
        yield Hunk(start=hunk.start + offset, removed=(line,))


def _collide(one: Hunk, other: Hunk) -> bool:
    return max(one.start, other.start) < min(one.end, other.end)


def _woven(base: list[str], taken: Sequence[Hunk], since: Sequence[Hunk]) -> str:
    result: list[str] = []
    at = 0
    # At the same place insertions come first, and ours before those of others.
    for hunk in sorted([*taken, *since], key=lambda each: (each.start, each.end)):
        result += base[at : hunk.start]
        result += _on_lines_of_their_own(result, hunk.added)
        at = max(at, hunk.end)
    result += base[at:]
    return "".join(result)


def _on_lines_of_their_own(above: list[str], lines: tuple[str, ...]) -> tuple[str, ...]:
    if lines and above and not above[-1].endswith("\n"):
        above[-1] += "\n"  # the end of the file has moved: nothing may be glued together
    return lines


def _between(old: list[str], new: list[str]) -> tuple[Hunk, ...]:
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    if not a and not b:
        return ()
    if len(a) * len(b) > _LARGEST or not a or not b:
        return (Hunk(start=start, removed=tuple(a), added=tuple(b)),)
    return tuple(
        Hunk(start=start + i1, removed=tuple(a[i1:i2]), added=tuple(b[j1:j2]))
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if tag != "equal"
    )


def _written(hunks: Sequence[Hunk]) -> Iterator[str]:
    moved = 0
    for hunk in hunks:
        first = hunk.start + (1 if hunk.removed else 0)
        target = hunk.start + moved + (1 if hunk.added else 0)
        yield f"@@ -{first},{len(hunk.removed)} +{target},{len(hunk.added)} @@\n"
        for sign, lines in (("-", hunk.removed), ("+", hunk.added)):
            for line in lines:
                yield _ended(sign + line)
        moved += len(hunk.added) - len(hunk.removed)


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n{_NO_END}"


def _signed(lines: list[str], at: int, count: int, sign: str) -> tuple[list[str], int]:
    found: list[str] = []
    while at < len(lines) and len(found) < count and lines[at].startswith(sign):
        found.append(lines[at][1:])
        at += 1
    if found and at < len(lines) and lines[at] == _NO_END:
        found[-1] = found[-1].removesuffix("\n")
        at += 1
    return found, at


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])
