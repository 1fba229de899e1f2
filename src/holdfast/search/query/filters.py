"""What a request asks to leave out, and how much each of its filters does.

A day given as a bound is a whole day of the user's: ``until 2026-03-04`` keeps that evening. Facts
are in a range of time when they held in it; facts that have ended are left out unless a time is
asked for with ``as_of``. A passage without a date is left out by every filter of time, and
counted.

Promise: only what a filter names is left out, and every filter says how many it took
(``tests/search/test_pipeline_filters.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from holdfast.retain import RetainKind
from holdfast.search.documents import SourceKind
from holdfast.search.ranking.rows import Ints
from holdfast.search.request import SearchRequest
from holdfast.text import normalise

__all__ = [
    "Columns",
    "Filtered",
    "Mask",
    "filtered",
    "first_moment",
    "last_moment",
    "names_of",
    "within",
]

Mask: TypeAlias = NDArray[np.bool_]
Seconds: TypeAlias = NDArray[np.float64]

_SOURCES: Final = get_args(SourceKind)
_KINDS: Final = get_args(RetainKind)
_DAY: Final = 86_400.0
_FEW_DAYS: Final = 8 * _DAY
_TOLD_AFTER: Final = 21 * _DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What filters look at, one value for each row; times are seconds, NaN where none is known."""

    document: Ints
    source: NDArray[np.uint8]
    fact: NDArray[np.int8]
    """Index into ``RetainKind``'s arguments; -1 for what is no fact."""
    at: Seconds
    since: Seconds
    until: Seconds
    """The first moment at which it is no longer true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    mask: Mask
    excluded: Mapping[str, int]
    """By filter: how many readable passages it alone leaves out."""
    undated: int = 0
    """How many passages were left out only because they have no date."""


def filtered(
    request: SearchRequest,
    columns: Columns,
    readable: Mask,
    *,
    keys: Sequence[str],
    entity: Mask | None,
    zone: tzinfo,
) -> Filtered:
    """The readable rows the request asks for. ``keys`` are the documents' by number; ``entity``
    marks the rows about the entity that was asked for."""
    tests: dict[str, Mask] = {}
    if request.source is not None:
        tests["source"] = columns.source == _SOURCES.index(request.source)
    if request.session is not None:
        tests["session"] = _of_session(request.session, columns.document, keys)
    if request.kind is not None:
        tests["kind"] = columns.fact == _KINDS.index(request.kind)
    if entity is not None:
        tests["entity"] = entity
    mask = readable.copy()
    for test in tests.values():
        mask &= test
    times = _times(request, columns, zone)
    undated = 0
    if times.keys() - {"ended"}:
        undated = int(np.count_nonzero(mask & _undated(columns)))
    for test in times.values():
        mask &= test
    tests.update(times)
    return Filtered(
        mask=mask,
        excluded={name: int(np.count_nonzero(readable & ~test)) for name, test in tests.items()},
        undated=undated,
    )


def within(columns: Columns, mask: Mask, stretches: Sequence[tuple[float, float]]) -> Mask | None:
    """The rows of a mask that are of all the stretches of time (first second, first after it), or
    have no date; None when that leaves no row with a date. Of a few days people also tell in the
    weeks after them."""
    inside = np.ones(len(mask), dtype=bool)
    for start, end in stretches:
        told = end + _TOLD_AFTER if end - start <= _FEW_DAYS else end
        holds = (columns.fact >= 0) & (columns.since < end) & ~(columns.until <= start)
        inside &= ((columns.at >= start) & (columns.at < told)) | holds
    inside &= mask
    if not inside.any():
        return None
    return inside | (mask & _undated(columns))


def _undated(columns: Columns) -> Mask:
    return np.isnan(columns.at) & np.isnan(columns.since)


def _of_session(session: str, document: Ints, keys: Sequence[str]) -> Mask:
    """By its key, or by its name alone."""
    wanted = [
        number
        for number, key in enumerate(keys)
        if key == session or key.rsplit("/", 1)[-1] == session
    ]
    return np.isin(document, wanted)


def _times(request: SearchRequest, columns: Columns, zone: tzinfo) -> dict[str, Mask]:
    """Every comparison with a time that is not known (NaN) is false, and written for that."""
    if request.since is None and request.until is None and request.as_of is None:
        return _ended(request, columns)
    tests: dict[str, Mask] = {}
    holds = (columns.fact >= 0) & ~np.isnan(columns.since)
    if request.since is not None:
        bound = first_moment(request.since, zone)
        tests["since"] = (columns.at >= bound) | (holds & ~(columns.until <= bound))
    if request.until is not None:
        bound = last_moment(request.until, zone)
        tests["until"] = (columns.at <= bound) | (holds & (columns.since <= bound))
    if request.as_of is None:
        return tests | _ended(request, columns)
    bound = last_moment(request.as_of, zone)
    known = ~(columns.at > bound)
    valid = ~(columns.since > bound) & ~(columns.until <= bound)
    return tests | {"as_of": known & valid & ~_undated(columns)}


def _ended(request: SearchRequest, columns: Columns) -> dict[str, Mask]:
    over = columns.until <= request.now.timestamp()
    return {"ended": ~over} if over.any() else {}


def first_moment(when: date | datetime, zone: tzinfo) -> float:
    return _moment(when, zone).timestamp()


def last_moment(when: date | datetime, zone: tzinfo) -> float:
    """Of a day its last; of a moment itself."""
    if isinstance(when, datetime):
        return _moment(when, zone).timestamp()
    following = _moment(when, zone) if when == date.max else _moment(when + timedelta(1), zone)
    return following.timestamp() - 1e-3


def _moment(when: date | datetime, zone: tzinfo) -> datetime:
    if isinstance(when, datetime):
        return when if when.tzinfo is not None else when.replace(tzinfo=zone)
    return datetime.combine(when, time(), tzinfo=zone)


def names_of(entity: str, aliases: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Every name of an entity, without case: its own, and all of those it shares an alias with."""
    wanted = _folded(entity)
    found = {wanted}
    for name, others in aliases.items():
        every = {_folded(one) for one in (name, *others)}
        if wanted in every:
            found |= every
    return frozenset(found)


def _folded(name: str) -> str:
    return normalise(name).removeprefix("@")
