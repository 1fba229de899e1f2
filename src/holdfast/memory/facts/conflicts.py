"""Contradictions between statements, found without a model.

    number     the same said of another number          timeout is 30 s / 60 s
    date       … of another moment                      on Tuesday / on Thursday
    value      one of which there is one, twice         lives in Berlin / lives in Munich
    polarity   said and denied                          likes coffee / does not like coffee

Two lines are compared only if they are about the same thing and share a rare word or a claim.
What only might be a contradiction is *doubtful*: not shown, but asked about if there is a model.

Promise: precision and recall on labelled pairs that the rules were not written against
(``tests/memory/test_conflicts_labelled.py``); comparisons grow linearly with the number of
lines (``tests/memory/test_conflicts.py``). Pure.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.memory.facts.lexicon import COUNTRIES, GROUPS
from holdfast.memory.facts.statements import Claim, Clause, Fields, Statement

__all__ = ["ConflictKind", "Found", "Verdict", "agree", "compare", "conflict_id", "find"]

ConflictKind = Literal["number", "date", "value", "polarity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    kind: ConflictKind
    doubtful: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``pairs`` are positions in what was searched, the earlier one first."""

    pairs: tuple[tuple[int, int, Verdict], ...]
    comparisons: int


def conflict_id(one: str, other: str) -> str:
    """The same for the same two lines, whoever comes first."""
    both = "\0".join(sorted((one, other)))
    return "c-" + hashlib.sha256(both.encode("utf-8", "surrogatepass")).hexdigest()[:12]


# ── two statements ──────────────────────────────────────────────────────────────────────────


def compare(old: Statement, new: Statement) -> Verdict | None:
    """What two statements about the same thing contradict each other in; None: nothing."""
    doubtful: Verdict | None = None
    for one in old.clauses:
        for other in new.clauses:
            verdict = _compare(one, other, has_entity=old.entity is not None)
            if verdict is not None and not verdict.doubtful:
                return verdict
            doubtful = doubtful or verdict
    return doubtful


def _compare(one: Clause, other: Clause, *, has_entity: bool) -> Verdict | None:
    if one.is_supposed != other.is_supposed or one.is_past != other.is_past:
        return None
    apart = _Apart.of(one, other)
    if one.topic != other.topic or not (
        has_entity or apart.common or any(_shared_claims(one, other))
    ):
        return None
    if one.sign != other.sign:
        return _polarity(one, other, apart)
    if one.is_supposed or one.is_past:
        return None
    if one.sign < 0:
        return None  # neither of two denied things denies the other
    return (
        _replaces(one, other)
        or _value(one, other, apart, has_entity)
        or _measure(one, other, apart)
    )


def agree(one: Statement, other: Statement) -> bool:
    """Whether they say the same of the same, in nearly the same words."""
    if one.entity != other.entity or len(one.clauses) != len(other.clauses):
        return False
    return bool(one.clauses) and all(map(_repeats, one.clauses, other.clauses))


def _repeats(one: Clause, other: Clause) -> bool:
    shared, both = one.words & other.words, one.words | other.words
    return (
        len(shared) >= _REPEATED * len(both)
        and bool(shared)
        and (one.sign, one.numbers, one.whens) == (other.sign, other.numbers, other.whens)
        and one.names == other.names
        and (one.is_past, one.is_supposed) == (other.is_past, other.is_supposed)
    )


_REPEATED: Final = 0.75


@dataclass(frozen=True, slots=True)
class _Apart:
    """The words two clauses share, and those only one of them has."""

    common: frozenset[str]
    left: frozenset[str]
    right: frozenset[str]

    @classmethod
    def of(cls, one: Clause, other: Clause) -> _Apart:
        return cls(one.words & other.words, one.words - other.words, other.words - one.words)

    @property
    def is_equal(self) -> bool:
        return not (self.left or self.right)

    @property
    def is_qualified(self) -> bool:
        """Both say more than what they share: staging and production, read and write."""
        return bool(self.left and self.right)


def _polarity(one: Clause, other: Clause, apart: _Apart) -> Verdict | None:
    same_marks = one.numbers == other.numbers and one.names == other.names
    if not same_marks or _disagree(one.whens, other.whens) or not apart.common:
        return None
    if apart.is_equal and (not one.whens) == (not other.whens):
        return Verdict(kind="polarity")
    if apart.is_qualified or len(apart.common) < len(apart.left | apart.right):
        return None
    return Verdict(kind="polarity", doubtful=True)


def _replaces(one: Clause, other: Clause) -> Verdict | None:
    """The new one names the old value as gone."""
    if not other.replaced:
        return None
    for claim in one.claims:
        if claim.value <= other.replaced and not claim.value & other.words:
            return Verdict(kind="value")
    return None


def _value(one: Clause, other: Clause, apart: _Apart, has_entity: bool) -> Verdict | None:
    if _disagree(one.whens, other.whens):
        return None  # then is then and now is now
    for claim, against in _shared_claims(one, other):
        if claim.left != against.left or not (has_entity or claim.left or " " in claim.key):
            continue
        if _differ(claim.value, against.value):
            sure = claim.sure and against.sure and _are_alike(claim, against)
            numeric = all(map(_is_version, claim.value ^ against.value))
            return Verdict(kind="number" if numeric else "value", doubtful=not sure)
    if _exclude(apart.left, apart.right) and one.numbers == other.numbers:
        return Verdict(kind="value")
    if _might_differ(one, other, apart):
        return Verdict(kind="value", doubtful=True)
    return None


def _shared_claims(one: Clause, other: Clause) -> Iterator[tuple[Claim, Claim]]:
    for claim in one.claims:
        for against in other.claims:
            if claim.key == against.key:
                yield claim, against


def _differ(one: frozenset[str], other: frozenset[str]) -> bool:
    """Not where one value only says more than the other: Berlin, East Berlin."""
    return not (one <= other or other <= one)


def _are_alike(claim: Claim, against: Claim) -> bool:
    """Two of the same sort that do not mostly say the same."""
    shared = len(claim.value & against.value)
    return (
        claim.named == against.named
        and 2 * shared <= min(len(claim.value), len(against.value))
        and not _is_within(claim.value, against.value)
    )


def _is_within(one: frozenset[str], other: frozenset[str]) -> bool:
    """A town and a country: the one may lie in the other."""
    return bool(one & COUNTRIES) != bool(other & COUNTRIES)


def _exclude(left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether all that is different is that they are two of a group of which one is true."""
    if len(left) != 1 or len(right) != 1:
        return False
    (one,), (other,) = left, right
    return bool(GROUPS.get(one, frozenset()) & GROUPS.get(other, frozenset()))


def _might_differ(one: Clause, other: Clause, apart: _Apart) -> bool:
    """One stretch of words in place of another, of something that may have one value."""
    if one.is_many_valued or other.is_many_valued or not apart.is_qualified:
        return False
    return (
        len(apart.common) >= max(len(apart.left), len(apart.right))
        and max(len(apart.left), len(apart.right)) <= 4
    )


# ── numbers, moments, identifiers ───────────────────────────────────────────────────────────


def _measure(one: Clause, other: Clause, apart: _Apart) -> Verdict | None:
    if apart.is_qualified or not apart.common:
        return None
    kinds = [kind for kind, differs in _MEASURES if differs(one, other)]
    if len(kinds) != 1:
        return None  # of two differences one says which is meant: the price in 2024, in 2025
    (kind,) = kinds
    if kind == "value" and (one.is_many_valued or other.is_many_valued):
        return None
    if kind == "value" and all(map(_is_version, one.names | other.names)):
        kind = "number"
    return Verdict(kind=kind, doubtful=not apart.is_equal)


def _is_version(name: str) -> bool:
    return name.removeprefix("v").replace(".", "").replace(":", "").isdecimal()


def _numbers_differ(one: Clause, other: Clause) -> bool:
    if not one.numbers or not other.numbers or one.numbers == other.numbers:
        return False
    mine, yours = Counter(one.numbers), Counter(other.numbers)
    left, right = list((mine - yours).elements()), list((yours - mine).elements())
    if not left or not right:
        return False
    if {one.bound, other.bound} & {"least", "most"}:
        return False
    if len(left) == len(one.numbers) > 1 and one.numbers[0] != other.numbers[0]:
        return False  # the first number tells which one: invoice 118, invoice 119
    if "about" in (one.bound, other.bound):
        return not _close(left[0], right[0])
    return True


def _close(one: str, other: str) -> bool:
    a, b = float(one.rstrip("%")), float(other.rstrip("%"))
    return abs(a - b) <= 0.15 * max(abs(a), abs(b))


def _moments_differ(one: Clause, other: Clause) -> bool:
    return not (one.recurs or other.recurs) and _disagree(one.whens, other.whens)


def _names_differ(one: Clause, other: Clause) -> bool:
    return bool(one.names - other.names) and bool(other.names - one.names)


_MEASURES: Final[tuple[tuple[ConflictKind, Callable[[Clause, Clause], bool]], ...]] = (
    ("number", _numbers_differ),
    ("date", _moments_differ),
    ("value", _names_differ),
)


def _disagree(one: Sequence[Fields], other: Sequence[Fields]) -> bool:
    """Whether the moments cannot be the same: a field that both have and that differs."""
    if not one or not other:
        return False
    mine, yours = _merged(one), _merged(other)
    return any(not values & yours[key] for key, values in mine.items() if key in yours)


def _merged(whens: Sequence[Fields]) -> dict[str, set[int]]:
    merged: dict[str, set[int]] = defaultdict(set)
    for fields in whens:
        for key, value in fields:
            merged[key].add(value)
    return merged


# ── many statements ─────────────────────────────────────────────────────────────────────────

_RAREST: Final = 2  # equal frames share their rarest words, so those are enough to meet
_NEIGHBOURS: Final = 24
_SERIES: Final = 6


def find(statements: Sequence[Statement], *, among: Collection[int] | None = None) -> Found:
    """All contradictions; ``among``: only those that one of these positions takes part in.

    The statements come oldest first. A number or a moment that contradicts more than a few
    others is a reading in a series of them, such as a log, and not shown.
    """
    verdicts: list[tuple[int, int, Verdict]] = []
    compared: set[tuple[int, int]] = set()
    for pair in _candidates(statements, among):
        if pair in compared:
            continue
        compared.add(pair)
        verdict = compare(statements[pair[0]], statements[pair[1]])
        if verdict is not None:
            verdicts.append((*pair, verdict))
    return Found(
        pairs=tuple(_without_series(sorted(verdicts, key=_place))), comparisons=len(compared)
    )


def _place(found: tuple[int, int, Verdict]) -> tuple[int, int]:
    return found[0], found[1]


def _candidates(
    statements: Sequence[Statement], among: Collection[int] | None
) -> Iterator[tuple[int, int]]:
    common = Counter(
        (each.entity, word)
        for each in statements
        for clause in each.clauses
        for word in clause.words
    )
    met: dict[Hashable, list[int]] = defaultdict(list)
    for at, each in enumerate(statements):
        for key in {key for clause in each.clauses for key in _keys(each.entity, clause, common)}:
            met[key].append(at)
    for places in met.values():
        for index, at in enumerate(places):
            near = places[max(0, index - _NEIGHBOURS) : index]
            yield from ((other, at) for other in near if _wanted(other, at, among))


def _wanted(one: int, other: int, among: Collection[int] | None) -> bool:
    return among is None or one in among or other in among


def _keys(
    entity: str | None, clause: Clause, common: Counter[tuple[str | None, str]]
) -> Iterator[Hashable]:
    rarest = sorted(clause.words, key=lambda word: (common[entity, word], word))[:_RAREST]
    yield from (("word", entity, word) for word in rarest)
    yield from (("claim", entity, claim.key, claim.left) for claim in clause.claims)
    for word in clause.words if len(clause.words) == 1 else ():
        yield from (("group", entity, number) for number in GROUPS.get(word, ()))
    if clause.replaced:
        yield from (("value", entity, word) for word in clause.replaced)
    yield from (("value", entity, word) for claim in clause.claims for word in claim.value)
    if not clause.words:
        yield ("bare", entity)


def _without_series(
    found: Sequence[tuple[int, int, Verdict]],
) -> Iterator[tuple[int, int, Verdict]]:
    measured = Counter(
        at for one, other, verdict in found if verdict.kind in _OF_SERIES for at in (one, other)
    )
    for one, other, verdict in found:
        if verdict.kind in _OF_SERIES and min(measured[one], measured[other]) > _SERIES:
            continue
        yield one, other, verdict


_OF_SERIES: Final = ("number", "date")
