"""What may help a search and is not its own: other names, an expander, a reranker.

Aliases cost nothing and need no model. An expander and a reranker are asked only if they are
switched on, get a part of the time that is left, and a failure of theirs changes nothing but
``degraded``.

Promise: ``tests/search/test_pipeline_ports.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from holdfast.ports import Expander, Reranker
from holdfast.search.query.analysis import Analysed
from holdfast.search.query.candidates import Candidate, moved
from holdfast.search.query.deadline import Deadline, TooBusy, TooSlow, start
from holdfast.search.ranking.asked import Concept
from holdfast.text import cut, normalise, one_line
from holdfast.text.late import late
from holdfast.text.tokens import query_terms

__all__ = ["expanded", "other_names", "reranked", "widened"]

_SHARE: Final = 0.5
"""Of the time that is left."""
RERANKED: Final = 30
_MOST_NAMES: Final = 8
_MOST_ADDED: Final = 24
_LONGEST: Final = 2_000
_WORD: Final = late(r"[^\W_]+(?:[._@-][^\W_]+)*")


def other_names(query: str, aliases: Mapping[str, Sequence[str]]) -> list[str]:
    """Further names of the entities a query names, by any of their names, in any case."""
    if not aliases:
        return []
    said = normalise(query)
    spaced = f" {' '.join(_WORD.findall(said))} "
    found: dict[str, None] = {}
    for entity, names in aliases.items():
        every = (entity, *names)
        if any(_is_named(name, said, spaced) for name in every):
            found.update(dict.fromkeys(n for n in every if not _is_named(n, said, spaced)))
    return list(found)[:_MOST_NAMES]


def _is_named(name: str, said: str, spaced: str) -> bool:
    """A Latin name as whole words, a Chinese one anywhere."""
    folded = normalise(name)
    if not folded:
        return False
    return f" {folded} " in spaced if folded.isascii() else folded in said


def expanded(
    query: str, expander: Expander | None, deadline: Deadline, degraded: list[str]
) -> list[str]:
    """Other words for the query, by a model."""
    if expander is None or not deadline.allows("expansion"):
        return []
    seconds = deadline.left() * _SHARE
    try:
        call = partial(expander.expand, cut(query, _LONGEST), seconds=seconds)
        found = start(call).result(seconds)
    except (TooSlow, TooBusy):
        degraded.append(f"expansion: {expander.name} took longer than {round(seconds * 1000)} ms")
        return []
    except Exception as error:  # noqa: BLE001 - other people's code
        degraded.append(f"expansion: {expander.name} failed: {one_line(str(error), 200)}")
        return []
    return [cut(one, _LONGEST) for one in found[:_MOST_NAMES]]


def reranked(
    query: str,
    candidates: Sequence[Candidate],
    reranker: Reranker | None,
    deadline: Deadline,
    degraded: list[str],
) -> list[Candidate]:
    """The best candidates in the reranker's order, blended with ours; the rest as it was."""
    if reranker is None or len(candidates) < 2 or not deadline.allows("rerank"):
        return list(candidates)
    best = list(candidates[:RERANKED])
    seconds = deadline.left() * _SHARE
    texts = [cut(_shown(one), _LONGEST) for one in best]
    try:
        call = partial(reranker.score, query, texts, seconds=seconds)
        scores = [float(score) for score in start(call).result(seconds)]
    except (TooSlow, TooBusy):
        degraded.append(f"rerank: {reranker.name} took longer than {round(seconds * 1000)} ms")
        return list(candidates)
    except Exception as error:  # noqa: BLE001 - other people's code
        degraded.append(f"rerank: {reranker.name} failed: {one_line(str(error), 200)}")
        return list(candidates)
    if len(scores) != len(best) or not all(map(math.isfinite, scores)):
        degraded.append(f"rerank: {reranker.name} gave {len(scores)} scores for {len(best)} texts")
        return list(candidates)
    return _blended(best, scores) + list(candidates[len(best) :])


def _shown(candidate: Candidate) -> str:
    return "\n".join(filter(None, (candidate.context, candidate.text)))


def _blended(best: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """Half ours, half the reranker's, both over the same span of scores."""
    high, low = best[0].score, min(one.score for one in best)
    theirs_low, spread = min(scores), (max(scores) - min(scores)) or 1.0
    placed = [
        moved(one, "rerank", (one.score + low + (high - low) * (s - theirs_low) / spread) / 2)
        for one, s in zip(best, scores, strict=True)
    ]
    return sorted(placed, key=lambda one: -one.score)


def widened(asked: Analysed, others: Sequence[str], weight: float) -> Analysed:
    """With other words for what is asked, at less weight."""
    if not others:
        return asked
    known = {one.term for part in asked.parts for one in part.concepts}
    added = tuple(
        Concept(term=term, weight=weight)
        for term in dict.fromkeys(one.text for other in others for one in query_terms(other))
        if term not in known
    )[:_MOST_ADDED]
    parts = tuple(replace(part, concepts=part.concepts + added) for part in asked.parts)
    return replace(asked, parts=parts)
