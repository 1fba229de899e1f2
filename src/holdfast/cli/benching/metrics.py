"""What a ranking is worth: recall, all, reciprocal rank, and recall within a budget of tokens.

One function for Holdfast and for every peer, so that no figure is counted in two ways.
Promise: averages are over questions, not corpora; a passage that spans n turns takes n places; a
turn or session that came before takes none (``tests/doors/test_bench_figures.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean
from typing import Final, TypeAlias

from holdfast.cli.benching.corpora import Unit
from holdfast.types import Json

__all__ = ["TOKENS", "Answered", "Hit", "percentile", "scores", "timing"]

TOKENS: Final = 1000

_Measure: TypeAlias = "Callable[[Answered], float]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One passage of an answer: the turns (or the sessions) it is from, and its price."""

    ids: tuple[str, ...]
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One question, and what was found for it, best first."""

    gold: frozenset[str]
    hits: tuple[Hit, ...]
    category: str = ""
    seconds: float = 0.0

    @property
    def ranked(self) -> list[str]:
        return list(dict.fromkeys(id for hit in self.hits for id in hit.ids))

    def recall(self, places: int) -> float:
        return len(self.gold.intersection(self.ranked[:places])) / len(self.gold)

    def finds_all(self, places: int) -> float:
        return float(self.gold <= set(self.ranked[:places]))

    def finds_any(self, places: int) -> float:
        return float(not self.gold.isdisjoint(self.ranked[:places]))

    def reciprocal_rank(self) -> float:
        return next((1 / at for at, id in enumerate(self.ranked, 1) if id in self.gold), 0.0)

    def recall_within(self, tokens: int) -> float:
        """Of the first passages that fit; the first that does not ends it, as in a prompt."""
        found: set[str] = set()
        for hit in self.hits:
            tokens -= hit.tokens
            if tokens < 0:
                break
            found.update(hit.ids)
        return len(self.gold & found) / len(self.gold)


_OF_TURNS: Final[Mapping[str, _Measure]] = {
    "r@5": lambda each: each.recall(5),
    "r@10": lambda each: each.recall(10),
    "r@20": lambda each: each.recall(20),
    "all@10": lambda each: each.finds_all(10),
    "mrr": lambda each: each.reciprocal_rank(),
}
_OF_SESSIONS: Final[Mapping[str, _Measure]] = {
    "recall_any@5": lambda each: each.finds_any(5),
    "recall_all@5": lambda each: each.finds_all(5),
    "recall_any@10": lambda each: each.finds_any(10),
    "recall_all@10": lambda each: each.finds_all(10),
}
_BY_CATEGORY: Final[Mapping[Unit, str]] = {"turn": "r@10", "session": "recall_all@10"}


def scores(answers: Sequence[Answered], unit: Unit = "turn") -> dict[str, Json]:
    """The means over these questions; None where there is no question to take a mean of."""
    measures = _OF_TURNS if unit == "turn" else _OF_SESSIONS
    found: dict[str, Json] = {name: _mean(map(of, answers)) for name, of in measures.items()}
    main = measures[_BY_CATEGORY[unit]]
    kinds: defaultdict[str, list[float]] = defaultdict(list)
    for each in answers:
        kinds[each.category].append(main(each))
    found["by_category"] = {kind: _mean(values) for kind, values in sorted(kinds.items())}
    if unit == "turn":
        found["recall_at_1000_tokens"] = _mean(each.recall_within(TOKENS) for each in answers)
    return found


def timing(answers: Sequence[Answered], *, turns: int, ingest_seconds: float) -> dict[str, Json]:
    """How long a search took, and how many turns a second were taken in."""
    taken = [each.seconds * 1000 for each in answers]
    return {
        "p50_ms": round(percentile(taken, 50), 2),
        "p95_ms": round(percentile(taken, 95), 2),
        "ingest_turns_per_s": round(turns / ingest_seconds, 1) if ingest_seconds else None,
    }


def percentile(values: Iterable[float], percent: float) -> float:
    """The smallest value that so many of them do not exceed; 0 of none."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return round(fmean(found), 4) if found else None
