"""Why nothing was found, in one sentence with the next thing to do.

Promise: an answer without passages always has a reason, and the reason is the first of these that
is true (``tests/search/test_pipeline_empty.py``): nothing was asked, nothing is indexed, nothing
may be read here, the filters left nothing, the query has only common words, none of its words
occurs, what was found is no longer in its file, time was over.
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
    """What was looked for; none when the query has only common words."""
    indexed: int = 0
    readable: int = 0
    excluded: Mapping[str, int] = field(default_factory=dict)
    """By filter: how many readable passages it alone leaves out."""
    remaining: int = 0
    """How many are left after all filters."""
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
    for reason in (_state(situation), _filtered(situation), _words(situation)):
        if reason:
            return reason + _sync_hint(situation)
    return "Nothing relevant was found. Try other words, or see: holdfast index status"


def _state(situation: Situation) -> str | None:
    if not situation.indexed:
        return "Nothing is indexed yet. Run: holdfast index sync"
    if not situation.readable:
        return (
            "Nothing that is indexed may be read from this chat. Check who is asking: --user, "
            "--chat and --chat-type stand before the command (holdfast --user NAME search …)"
        )
    return None


def _filtered(situation: Situation) -> str | None:
    if situation.remaining:
        return None
    if situation.unknown_entity:
        near = _listed(situation.near)
        hint = f" Near to it: {near}." if near else ""
        shown = _shown(situation.unknown_entity)
        return f"No passage is about {shown}.{hint} Leave out --entity, or see: holdfast facts"
    which = ", ".join(
        f"{name} leaves out {count}" for name, count in situation.excluded.items() if count
    )
    return (
        f"The filters leave none of {_passages(situation.readable, 'readable ')}: {which}. "
        "Search again without them"
    )


def _words(situation: Situation) -> str | None:
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


def _sync_hint(situation: Situation) -> str:
    if situation.syncing and situation.indexed:
        return "; not everything is indexed yet: holdfast index status"
    return ""


def _passages(count: int, which: str = "") -> str:
    return f"the only {which}passage" if count == 1 else f"the {count} {which}passages"


def _listed(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(one_line(name, 80) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _shown(text: str) -> str:
    return f"“{one_line(text, 60)}”"
