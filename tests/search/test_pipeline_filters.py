"""A filter leaves out what it names, says how much that is, and what has no date is of no time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from holdfast.errors import UsageError
from holdfast.search.query.checks import check
from holdfast.search.query.filters import Columns, Filtered, filtered, last_moment, names_of
from holdfast.search.request import SearchRequest
from holdfast.types import Scope

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
ME = Scope(agent="main")
NAN = float("nan")


def day(month: int, number: int, hour: int = 0) -> float:
    return datetime(2026, month, number, hour, tzinfo=UTC).timestamp()


# Rows: 0 a log of 4 March, 1 a turn of 9 March, 2 a note without a date, 3 a fact since February,
# 4 a fact of January that ended on 1 March, 5 a fact without any date
COLUMNS = Columns(
    document=np.array([0, 1, 2, 3, 3, 3], dtype=np.int32),
    source=np.array([1, 5, 0, 3, 3, 3], dtype=np.uint8),
    fact=np.array([-1, -1, -1, 0, 2, 0], dtype=np.int8),
    at=np.array([day(3, 4, 20), day(3, 9), NAN, day(2, 1), day(1, 1), NAN]),
    since=np.array([NAN, NAN, NAN, day(2, 1), day(1, 1), NAN]),
    until=np.array([NAN, NAN, NAN, NAN, day(3, 1), NAN]),
)
KEYS = ["memory/2026-03-04.md", "sessions/s1", "MEMORY.md", "bank/alice.md"]


def ask(entity: list[int] | None = None, **asked: Any) -> Filtered:
    request = SearchRequest(query="tea", reader=ME, now=NOW, **asked)
    about = None if entity is None else np.isin(np.arange(6), entity)
    readable = np.ones(6, dtype=bool)
    return filtered(request, COLUMNS, readable, keys=KEYS, entity=about, zone=UTC)


def kept(found: Filtered) -> list[int]:
    return [int(row) for row in np.flatnonzero(found.mask)]


def test_without_filters_only_what_has_ended_is_left_out() -> None:
    found = ask()
    assert kept(found) == [0, 1, 2, 3, 5]
    assert found.excluded == {"ended": 1}
    assert found.undated == 0


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        ({"source": "daily"}, [0]),
        ({"source": "bank"}, [3, 5]),
        ({"session": "s1"}, [1]),
        ({"session": "sessions/s1"}, [1]),
        ({"session": "s"}, []),
        ({"kind": "W"}, [3, 5]),
        ({"kind": "S"}, []),
        ({"since": date(2026, 3, 4)}, [0, 1, 3]),
        ({"since": date(2026, 3, 5)}, [1, 3]),
        ({"until": date(2026, 3, 4)}, [0, 3]),
        ({"until": date(2026, 3, 3)}, [3]),
        ({"until": date(2026, 1, 20)}, []),
        ({"as_of": date(2026, 2, 15)}, [3, 4]),
        ({"as_of": date(2026, 2, 28)}, [3, 4]),
        ({"as_of": datetime(2026, 3, 1, tzinfo=UTC)}, [3]),
        ({"as_of": date(2026, 1, 20)}, [4]),
    ],
)
def test_a_filter_keeps_what_it_asks_for(asked: dict[str, Any], rows: list[int]) -> None:
    assert kept(ask(**asked)) == rows


def test_an_entity_leaves_out_all_others() -> None:
    assert kept(ask(entity=[3, 4])) == [3]


def test_each_filter_says_how_many_it_leaves_out_alone() -> None:
    found = ask(source="daily", kind="W")
    assert kept(found) == []
    assert found.excluded == {"source": 5, "kind": 4, "ended": 1}


def test_what_has_no_date_is_left_out_by_a_filter_of_time_and_counted() -> None:
    assert ask(since=date(2026, 3, 5)).undated == 2
    assert ask(as_of=date(2026, 3, 5)).undated == 2
    assert ask(until=date(2026, 3, 5), kind="W").undated == 1
    assert ask(until=date(2026, 3, 5), source="daily").undated == 0
    assert ask().undated == 0


@pytest.mark.parametrize(
    ("since", "until"),
    [
        (date(2026, 3, 5), date(2026, 3, 4)),
        (datetime(2026, 3, 5, 12, tzinfo=UTC), date(2026, 3, 4)),
        (datetime(2026, 3, 4, 12, tzinfo=UTC), datetime(2026, 3, 4, 11, tzinfo=UTC)),
    ],
)
def test_a_range_that_ends_before_it_begins_is_refused(
    since: date | datetime, until: date | datetime
) -> None:
    with pytest.raises(UsageError, match=r"since 2026-03-0.* is after until 2026-03-04"):
        check(SearchRequest(query="tea", reader=ME, now=NOW, since=since, until=until), UTC)


def test_a_range_of_one_day_is_none_that_is_refused() -> None:
    day_of = date(2026, 3, 4)
    noon = datetime(2026, 3, 4, 12, tzinfo=UTC)
    check(SearchRequest(query="tea", reader=ME, now=NOW, since=day_of, until=day_of), UTC)
    check(SearchRequest(query="tea", reader=ME, now=NOW, since=noon, until=day_of), UTC)


@pytest.mark.parametrize("filter_", ["entity", "session"])
def test_a_filter_without_a_name_is_refused(filter_: str) -> None:
    for empty in ("", " \t"):
        asked: dict[str, Any] = {filter_: empty}
        with pytest.raises(UsageError, match=f"{filter_} is empty"):
            check(SearchRequest(query="tea", reader=ME, now=NOW, **asked), UTC)


def test_what_may_not_be_read_is_never_kept_nor_counted() -> None:
    request = SearchRequest(query="tea", reader=ME, now=NOW, source="daily")
    nothing = np.zeros(6, dtype=bool)
    found = filtered(request, COLUMNS, nothing, keys=KEYS, entity=None, zone=UTC)
    assert not found.mask.any()
    assert set(found.excluded.values()) == {0}


def test_a_day_ends_where_the_user_lives() -> None:
    east = timezone(timedelta(hours=8))
    there = datetime(2026, 3, 4, 23, 59, 59, tzinfo=east).timestamp()
    assert there < last_moment(date(2026, 3, 4), east) < there + 1
    assert last_moment(date.max, UTC) > there


def test_every_name_of_an_entity_is_known_whatever_its_case() -> None:
    aliases = {"Peter Müller": ["Pete", "彼得"]}
    every = {"peter müller", "pete", "彼得"}
    assert names_of("PETE", aliases) == every
    assert names_of("@peter  müller", aliases) == every
    assert names_of("Paul", aliases) == {"paul"}
