"""Which records are like a request, which texts say the same, and how often.

Promise: ``cluster`` compares a text only with those that share a rare word with it, so that
thousands of errors take seconds; numbers and paths make no difference to an error, a "not"
does (``tests/memory/test_tasks_figures.py``). Pure.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.memory.tasks.kinds import infer_type
from holdfast.memory.tasks.record import Task
from holdfast.text import cut
from holdfast.text.likeness import marks, similarity, terms

__all__ = ["Similar", "cluster", "rank"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """An earlier task, how like it is (0 to 1), and why."""

    id: str
    title: str
    type: str
    status: str
    score: float
    reasons: tuple[str, ...]
    result: str = ""
    path: str = ""


# ── like a request ──────────────────────────────────────────────────────────────────────────

_READ: Final = 2_000
_SAME_TYPE: Final = 0.15
_IDENTIFIERS: Final = 0.25
_LEAST: Final = 0.12
_SHOWN_TERMS: Final = 5


def rank(tasks: Sequence[Task], text: str, *, limit: int, type: str | None = None) -> list[Similar]:
    """The tasks most like the text, best first; those that share nothing with it left out.

    A word weighs more the fewer tasks have it, and in a title more than in a result. Without
    words to compare, the newest come first.
    """
    asked = frozenset(terms(cut(text, _READ)))
    if not asked:
        return [_similar(task, 0.0, ["newest"]) for task in _newest(tasks)[:limit]]
    known = [_weighted_terms(task) for task in tasks]
    rarity = _rarity(asked, known)
    whole = sum(rarity.values())
    named = marks(cut(text, _READ)).identifiers
    wanted = type or infer_type(text)
    found: list[Similar] = []
    for task, held in zip(tasks, known, strict=True):
        shared = {term: rarity[term] * held[term] for term in asked if term in held}
        score = (1 - _SAME_TYPE) * sum(shared.values()) / whole
        same_names = sorted(named & _identifiers(task)) if named else []
        score += _IDENTIFIERS * len(same_names) / max(1, len(named))
        if score < _LEAST * (1 - _SAME_TYPE):
            continue
        is_same_type = task.type == wanted and wanted != "other"
        score += _SAME_TYPE if is_same_type else 0.0
        reasons = [f"same type ({wanted})"] if is_same_type else []
        reasons += _said(shared, same_names)
        found.append(_similar(task, min(1.0, score), reasons))
    return sorted(found, key=lambda each: (-each.score, each.path), reverse=False)[:limit]


def _newest(tasks: Sequence[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: task.path, reverse=True)


def _weighted_terms(task: Task) -> dict[str, float]:
    """Each term of a task with the weight of the best place where it stands."""
    errors = "\n".join(f"{each.what}\n{each.fix or ''}" for each in task.errors)
    patterns = "\n".join(each.text for each in task.patterns)
    held: dict[str, float] = {}
    for weight, text in (
        (0.6, f"{task.result}\n{patterns}"),
        (0.85, errors),
        (0.9, task.request),
        (1.0, task.title),
    ):
        held |= dict.fromkeys(terms(cut(text, _READ)), weight)
    return held


def _identifiers(task: Task) -> frozenset[str]:
    errors = "\n".join(f"{each.what} {each.fix or ''}" for each in task.errors)
    return marks(cut(f"{task.title}\n{task.request}\n{errors}", 2 * _READ)).identifiers


def _rarity(asked: frozenset[str], known: Sequence[dict[str, float]]) -> dict[str, float]:
    counts = Counter(term for held in known for term in asked if term in held)
    return {term: math.log(1 + (len(known) + 1) / (1 + counts[term])) for term in asked}


def _said(shared: dict[str, float], names: list[str]) -> list[str]:
    said = [f"same {', '.join(names[:_SHOWN_TERMS])}"] if names else []
    best = sorted(shared, key=lambda term: (-shared[term], term))[:_SHOWN_TERMS]
    return [*said, f"shares {', '.join(best)}"] if best else said


def _similar(task: Task, score: float, reasons: Iterable[str]) -> Similar:
    return Similar(
        id=task.id,
        title=task.title,
        type=task.type,
        status=task.status,
        score=round(score, 4),
        reasons=tuple(reasons),
        result=cut(task.result, 300),
        path=task.path,
    )


# ── like each other ─────────────────────────────────────────────────────────────────────────

_ALIKE: Final = 0.6
_CHANGING: Final = re.compile(
    r"\b0x[0-9a-f]{2,40}\b|\b[0-9a-f]{7,64}\b|(?:[\w.~-]{0,60}/){1,20}(?=[\w.-])|\d+(?:[.:,]\d+)*",
    re.IGNORECASE,
)
_COMPARED: Final = 400
_CANDIDATES: Final = 200


def cluster(texts: Sequence[str]) -> list[list[int]]:
    """The places of the texts that say the same, the largest group first.

    The first text of a group stands for it. Numbers, addresses and folders make no difference.
    """
    plain = [_CHANGING.sub(" ", cut(text, _COMPARED)) or text for text in texts]
    held = [frozenset(terms(text)) for text in plain]
    counts = Counter(term for each in held for term in each)
    groups: list[list[int]] = []
    homes: dict[str, int] = {}  # the same words are in the same group
    by_term: defaultdict[str, list[int]] = defaultdict(list)  # → groups, by their first text
    for place, mine in enumerate(held):
        text = plain[place]
        home = homes.get(text)
        if home is None:
            near = Counter(group for term in _rarest(mine, counts) for group in by_term[term])
            likely = (group for group, _ in near.most_common(_CANDIDATES))
            home = next((g for g in likely if _says_the_same(plain[groups[g][0]], text)), None)
        if home is None:
            home = len(groups)
            groups.append([])
            for term in mine:
                by_term[term].append(home)
        groups[home].append(place)
        homes[text] = home
    return sorted(groups, key=lambda group: (-len(group), group[0]))


def _rarest(mine: frozenset[str], counts: Counter[str]) -> list[str]:
    """Two texts that are alike share most words, so also one of the rarer half of them."""
    ordered = sorted(mine, key=lambda term: (counts[term], term))
    return ordered[: max(3, (len(ordered) + 1) // 2 + 1)]


def _says_the_same(one: str, other: str) -> bool:
    return similarity(one, other) >= _ALIKE and marks(one).negations == marks(other).negations
