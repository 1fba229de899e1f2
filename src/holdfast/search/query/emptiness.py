"""Why nothing was found, in one sentence with the next thing to do.

Promise: an answer without passages always has a reason, and the reason is the first of these that
is true (``tests/search/test_pipeline_empty.py``): nothing was asked, nothing is there that may be
read, the filters left nothing, what was found is no longer in its file, time was over, the query
has only common words, none of its words occurs. That others have something is never said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from holdfast.text import one_line

__all__ = ["Situation", "why_empty"]

_WORD: Final = 40
"""Characters of a word that are shown: a query may be one endless word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a search that found nothing knows about itself."""

    query: str
    terms: Sequence[str] = ()
    """What was looked for, as it was written; none when the query has only common words."""
    readable: int = 0
    excluded: Mapping[str, int] = field(default_factory=dict)
    """By filter: how many readable passages it alone leaves out."""
    remaining: int = 0
    """How many are left after all filters."""
    unknown_session: str | None = None
    unknown_entity: str | None = None
    near: Sequence[str] = ()
    """Indexed words near to those that do not occur."""
    nearest: Sequence[str] = ()
    """Citations of what came closest."""
    stale: Sequence[str] = ()
    timed_out: bool = False
    syncing: bool = False
    """Sources that changed are not all indexed yet."""


def why_empty(situation: Situation) -> str:
    if not situation.query.strip():
        return "The query is empty. Ask for some words, for example: holdfast search 'launch date'"
    if not situation.readable:
        if situation.syncing:
            return "Nothing is indexed yet. Run: holdfast index sync"
        return "Nothing is remembered here yet. Run: holdfast remember TEXT"
    reason = _filtered(situation) or _words(situation)
    if situation.syncing:
        return f"Not everything is indexed yet (see: holdfast index status). {reason}"
    return reason


def _filtered(situation: Situation) -> str | None:
    if situation.remaining:
        return None
    if situation.unknown_session:
        shown = one_line(situation.unknown_session, 60)
        return f"There is no session '{shown}' among what is indexed. See: holdfast sessions list"
    if situation.unknown_entity:
        near = _listed(situation.near)
        hint = f" Near to it: {near}." if near else ""
        shown = _shown(situation.unknown_entity)
        return f"No passage is about {shown}.{hint} Leave out --entity, or see: holdfast facts list"
    which = {name: count for name, count in situation.excluded.items() if count}
    if which.keys() == {"ended"}:
        return "All that may be read here is no longer true. Ask for another time: --as-of DATE"
    if situation.readable == 1:
        other = "it" if len(which) == 1 else "them"
        by = " and ".join(which)
        return f"The only readable passage is left out by {by}. Search again without {other}"
    took = ", ".join(f"{name} leaves out {count}" for name, count in which.items())
    return (
        f"The filters leave none of the {situation.readable} readable passages: {took}. "
        "Search again without them"
    )


def _words(situation: Situation) -> str:
    if situation.stale:
        return (
            f"What was found is no longer there: {_listed(situation.stale)}. Run: "
            "holdfast index sync"
        )
    if situation.timed_out:
        return "Time was over before anything was found. Give it more: search.timeout_ms"
    if not situation.terms:
        return (
            f"{_shown(situation.query)} has only very common words, which are not looked for. Add "
            "a name or a thing"
        )
    missing = _listed([f"“{one_line(term, _WORD)}”" for term in situation.terms])
    said = f"None of these words occurs in {_passages(situation.remaining)}: {missing}."
    if situation.near:
        said += f" Near to them: {_listed(situation.near)}."
    if situation.nearest:
        said += f" What came closest: {_listed(situation.nearest)}."
    return said + " Try other words"


def _passages(count: int) -> str:
    return "the only passage" if count == 1 else f"the {count} passages"


def _listed(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(one_line(name, 80) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _shown(text: str) -> str:
    return f"“{one_line(text, 60)}”"
