"""Times in a question: what each phrase means, in English and Chinese, and what none may do."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.search.query.times import TimeMention, find_times
from tests.scale import scaled

_NOW = datetime(2026, 11, 16, 10, 30, tzinfo=UTC)  # a Monday


def _found(query: str, now: datetime = _NOW) -> list[TimeMention]:
    return find_times(query, now=now, zone=UTC)


def _days(mention: TimeMention) -> tuple[str, str]:
    return mention.start.date().isoformat(), mention.end.date().isoformat()


_ENGLISH = [
    ("what did I do yesterday", "2026-11-15", "2026-11-16", "day"),
    ("the day before yesterday", "2026-11-14", "2026-11-15", "day"),
    ("what happened today", "2026-11-16", "2026-11-17", "day"),
    ("plans for tomorrow", "2026-11-17", "2026-11-18", "day"),
    ("the day after tomorrow", "2026-11-18", "2026-11-19", "day"),
    ("what we said last night", "2026-11-15", "2026-11-16", "day"),
    ("this morning's call", "2026-11-16", "2026-11-17", "day"),
    ("last Tuesday", "2026-11-10", "2026-11-11", "day"),
    ("last Monday", "2026-11-09", "2026-11-10", "day"),
    ("on Tuesday", "2026-11-10", "2026-11-11", "day"),
    ("Monday", "2026-11-16", "2026-11-17", "day"),
    ("next Friday", "2026-11-20", "2026-11-21", "day"),
    ("this Friday", "2026-11-20", "2026-11-21", "day"),
    ("Tuesday last week", "2026-11-10", "2026-11-11", "day"),
    ("last week on Tuesday", "2026-11-10", "2026-11-11", "day"),
    ("this weekend", "2026-11-21", "2026-11-23", "range"),
    ("last weekend", "2026-11-14", "2026-11-16", "range"),
    ("over the weekend", "2026-11-14", "2026-11-16", "range"),
    ("last week", "2026-11-09", "2026-11-16", "week"),
    ("this week", "2026-11-16", "2026-11-23", "week"),
    ("next week", "2026-11-23", "2026-11-30", "week"),
    ("last month", "2026-10-01", "2026-11-01", "month"),
    ("this year", "2026-01-01", "2027-01-01", "year"),
    ("last year", "2025-01-01", "2026-01-01", "year"),
    ("last quarter", "2026-07-01", "2026-10-01", "season"),
    ("in May 2023", "2023-05-01", "2023-06-01", "month"),
    ("in Sept. 2023", "2023-09-01", "2023-10-01", "month"),
    ("May 5th, 2023", "2023-05-05", "2023-05-06", "day"),
    ("on the 5th of May 2023", "2023-05-05", "2023-05-06", "day"),
    ("5 May 2023", "2023-05-05", "2023-05-06", "day"),
    ("２０２３-０５-０８", "2023-05-08", "2023-05-09", "day"),
    ("2023-05-08T10:00", "2023-05-08", "2023-05-09", "day"),
    ("2023/5/8", "2023-05-08", "2023-05-09", "day"),
    ("notes of 2023-05", "2023-05-01", "2023-06-01", "month"),
    ("13/8/2023", "2023-08-13", "2023-08-14", "day"),
    ("last May", "2026-05-01", "2026-06-01", "month"),
    ("last December", "2025-12-01", "2026-01-01", "month"),
    ("next May", "2027-05-01", "2027-06-01", "month"),
    ("May 3-5, 2023", "2023-05-03", "2023-05-06", "range"),
    ("3 to 5 May 2023", "2023-05-03", "2023-05-06", "range"),
    ("2021-2023", "2021-01-01", "2024-01-01", "range"),
    ("How old was she in 1999?", "1999-01-01", "2000-01-01", "year"),
    ("early May 2023", "2023-05-01", "2023-05-11", "range"),
    ("the end of May 2023", "2023-05-22", "2023-06-01", "range"),
    ("mid-2023", "2023-05-02", "2023-09-02", "range"),
    ("two days ago", "2026-11-14", "2026-11-15", "day"),
    ("a couple of days ago", "2026-11-14", "2026-11-15", "day"),
    ("a few days ago", "2026-11-09", "2026-11-15", "range"),
    ("two weeks ago", "2026-10-30", "2026-11-06", "week"),
    ("six months ago", "2026-05-01", "2026-06-01", "month"),
    ("3 years ago", "2023-01-01", "2024-01-01", "year"),
    ("half a year ago", "2026-04-16", "2026-06-16", "range"),
    ("12 hours ago", "2026-11-15", "2026-11-16", "day"),
    ("in the last 3 days", "2026-11-13", "2026-11-17", "range"),
    ("over the past two weeks", "2026-11-02", "2026-11-17", "range"),
    ("in the past year", "2025-11-16", "2026-11-17", "range"),
    ("in the next two weeks", "2026-11-16", "2026-12-01", "range"),
    ("last summer", "2026-06-01", "2026-09-01", "season"),
    ("last fall", "2025-09-01", "2025-12-01", "season"),
    ("this winter", "2026-12-01", "2027-03-01", "season"),
    ("summer of 2022", "2022-06-01", "2022-09-01", "season"),
    ("summer of last year", "2025-06-01", "2025-09-01", "season"),
    ("Q3 2023", "2023-07-01", "2023-10-01", "season"),
    ("the third quarter of 2023", "2023-07-01", "2023-10-01", "season"),
    ("last Christmas", "2025-12-25", "2025-12-26", "day"),
    ("next Christmas", "2026-12-25", "2026-12-26", "day"),
    ("New Year’s Eve 2022", "2022-12-31", "2023-01-01", "day"),
    ("the week before 3 June 2023", "2023-05-27", "2023-06-03", "week"),
    ("the week of 3 June 2023", "2023-05-29", "2023-06-05", "week"),
    ("the day after 3 June 2023", "2023-06-04", "2023-06-05", "day"),
    ("the Friday before 22 October 2023", "2023-10-20", "2023-10-21", "day"),
    ("the weekend before 22 October 2023", "2023-10-14", "2023-10-16", "range"),
    ("two weeks before 22 October 2023", "2023-10-05", "2023-10-12", "week"),
    ("the month after May 2023", "2023-06-01", "2023-07-01", "month"),
]
_CHINESE = [
    ("昨天我做了什么", "2026-11-15", "2026-11-16", "day"),
    ("昨晚吃的什么", "2026-11-15", "2026-11-16", "day"),
    ("前天", "2026-11-14", "2026-11-15", "day"),
    ("大前天", "2026-11-13", "2026-11-14", "day"),
    ("今晚的安排", "2026-11-16", "2026-11-17", "day"),
    ("后天要做什么", "2026-11-18", "2026-11-19", "day"),
    ("上个月", "2026-10-01", "2026-11-01", "month"),
    ("上上个月", "2026-09-01", "2026-10-01", "month"),
    ("下个月5号", "2026-12-05", "2026-12-06", "day"),
    ("这个月", "2026-11-01", "2026-12-01", "month"),
    ("去年", "2025-01-01", "2026-01-01", "year"),
    ("前年", "2024-01-01", "2025-01-01", "year"),
    ("去年5月", "2025-05-01", "2025-06-01", "month"),
    ("去年夏天", "2025-06-01", "2025-09-01", "season"),
    ("今年暑假", "2026-06-01", "2026-09-01", "season"),
    ("2023年5月", "2023-05-01", "2023-06-01", "month"),
    ("２０２３年５月３日", "2023-05-03", "2023-05-04", "day"),
    ("二〇二三年三月五日", "2023-03-05", "2023-03-06", "day"),
    ("二零二三年十二月二十一号", "2023-12-21", "2023-12-22", "day"),
    ("23年5月", "2023-05-01", "2023-06-01", "month"),
    ("2023年", "2023-01-01", "2024-01-01", "year"),
    ("2023年底", "2023-09-02", "2024-01-01", "range"),
    ("上个月初", "2026-10-01", "2026-10-11", "range"),
    ("去年8月下旬", "2025-08-22", "2025-09-01", "range"),
    ("2023年下半年", "2023-07-01", "2024-01-01", "range"),
    ("2023年第三季度", "2023-07-01", "2023-10-01", "season"),
    ("上个季度", "2026-07-01", "2026-10-01", "season"),
    ("上周", "2026-11-09", "2026-11-16", "week"),
    ("上周三", "2026-11-11", "2026-11-12", "day"),
    ("上个星期五晚上", "2026-11-13", "2026-11-14", "day"),
    ("上上周五", "2026-11-06", "2026-11-07", "day"),
    ("下周一", "2026-11-23", "2026-11-24", "day"),
    ("礼拜三", "2026-11-11", "2026-11-12", "day"),
    ("星期天", "2026-11-15", "2026-11-16", "day"),
    ("周末", "2026-11-14", "2026-11-16", "range"),
    ("三天前", "2026-11-13", "2026-11-14", "day"),
    ("两周以前", "2026-10-30", "2026-11-06", "week"),
    ("三个月前", "2026-08-01", "2026-09-01", "month"),
    ("十年前", "2016-01-01", "2017-01-01", "year"),
    ("半年前", "2026-04-16", "2026-06-16", "range"),
    ("半个月前", "2026-10-30", "2026-11-06", "week"),
    ("几天前", "2026-11-09", "2026-11-15", "range"),
    ("前几天", "2026-11-10", "2026-11-16", "range"),
    ("最近三天", "2026-11-13", "2026-11-17", "range"),
    ("过去一年", "2025-11-16", "2026-11-17", "range"),
    ("近两个月", "2026-09-16", "2026-11-17", "range"),
    ("去年国庆节", "2025-10-01", "2025-10-02", "day"),
    ("2022年的圣诞节", "2022-12-25", "2022-12-26", "day"),
    ("2023年国庆前一周", "2023-09-24", "2023-10-01", "week"),
    ("2023年3月5日后两天", "2023-03-07", "2023-03-08", "day"),
    ("2023年3月5日那周", "2023-02-27", "2023-03-06", "week"),
    ("2023年3月5日到8日", "2023-03-05", "2023-03-09", "range"),
]


@pytest.mark.parametrize(("query", "start", "end", "precision"), _ENGLISH + _CHINESE)
def test_a_phrase_means_these_days(query: str, start: str, end: str, precision: str) -> None:
    (mention,) = _found(query)
    assert (*_days(mention), mention.precision) == (start, end, precision)
    assert mention.strength == "boost"
    assert mention.year_known


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("since May 2023", "2023-05-01", "2200-01-01"),
        ("since last week", "2026-11-09", "2200-01-01"),
        ("from May 2023 onwards", "2023-05-01", "2200-01-01"),
        ("starting from 2023", "2023-01-01", "2200-01-01"),
        ("before 2020", "1900-01-01", "2020-01-01"),
        ("prior to May 2023", "1900-01-01", "2023-05-01"),
        ("after 3 June 2023", "2023-06-04", "2200-01-01"),
        ("until yesterday", "1900-01-01", "2026-11-16"),
        ("between March and May 2023", "2023-03-01", "2023-06-01"),
        ("between November 2022 and February", "2022-11-01", "2023-03-01"),
        ("from March 2023 to May", "2023-03-01", "2023-06-01"),
        ("from 2021 to 2023", "2021-01-01", "2024-01-01"),
        ("from Monday to Friday", "2026-11-09", "2026-11-14"),
        ("2023年之前", "1900-01-01", "2023-01-01"),
        ("2023年5月前", "1900-01-01", "2023-05-01"),
        ("2020年以后", "2020-01-01", "2200-01-01"),
        ("昨天之后", "2026-11-16", "2200-01-01"),
        ("去年3月以来", "2025-03-01", "2200-01-01"),
        ("从去年开始", "2025-01-01", "2200-01-01"),
        ("自从去年", "2025-01-01", "2200-01-01"),
        ("截至2023年5月", "1900-01-01", "2023-06-01"),
        ("从去年5月到今年3月", "2025-05-01", "2026-04-01"),
        ("2023年3月到5月", "2023-03-01", "2023-06-01"),
        ("2023年5月和6月之间", "2023-05-01", "2023-07-01"),
        ("从周一到周五", "2026-11-09", "2026-11-14"),
    ],
)
def test_a_word_of_limit_makes_a_constraint(query: str, start: str, end: str) -> None:
    (mention,) = _found(query)
    assert _days(mention) == (start, end)
    assert mention.strength == "constraint"
    assert mention.text == query or query.startswith("from May")


@pytest.mark.parametrize(
    ("query", "start", "month", "day"),
    [
        ("in May", "2026-05-01", 5, None),
        ("in march", "2026-03-01", 3, None),
        ("What happened in December?", "2025-12-01", 12, None),
        ("May 5", "2026-05-05", 5, 5),
        ("the 20th of November", "2025-11-20", 11, 20),
        ("29 February", "2024-02-29", 2, 29),
        ("Christmas", "2025-12-25", 12, 25),
        ("in the summer", "2026-06-01", None, None),
        ("3月5号", "2026-03-05", 3, 5),
        ("三月五号", "2026-03-05", 3, 5),
        ("十二月", "2025-12-01", 12, None),
        ("5月初", "2026-05-01", 5, None),
        ("圣诞节", "2025-12-25", 12, 25),
        ("夏天", "2026-06-01", None, None),
    ],
)
def test_without_a_year_it_is_the_latest_and_any_other(
    query: str, start: str, month: int | None, day: int | None
) -> None:
    (mention,) = _found(query)
    assert _days(mention)[0] == start
    assert not mention.year_known
    assert (mention.month, mention.day) == (month, day)


@pytest.mark.parametrize(
    "query",
    [
        "May I ask you something",
        "what may happen",
        "the march of time",
        "every Monday",
        "the 1990s",
        "port 2023.5 of 192.168.2023.1",
        "back in 5 minutes",
        "500 years ago",
        "99999 years ago",
        "a fall, a spring mattress, a summer dress",
        "ID-2023-7 and file2023",
        "每周三",
        "两周三次",
        "十一个人",
        "周先生",
        "以后天天来",
        "三月球",
        "晚上8点",
        "",
    ],
)
def test_what_only_looks_like_a_time_is_none(query: str) -> None:
    assert _found(query) == []


def test_a_date_that_can_be_read_two_ways_is_given_both_ways() -> None:
    assert [_days(mention) for mention in _found("on 5/8/2023")] == [
        ("2023-05-08", "2023-05-09"),
        ("2023-08-05", "2023-08-06"),
    ]


def test_several_times_come_in_order_with_their_places() -> None:
    query = "Did Mel paint on 17 August 2023, 还是去年5月 or last week?"
    assert [mention.text for mention in _found(query)] == ["17 August 2023", "去年5月", "last week"]


def test_a_day_is_the_day_of_the_asker() -> None:
    late = datetime(2026, 11, 16, 23, 30, tzinfo=UTC)
    (mention,) = find_times("今天", now=late, zone=ZoneInfo("Asia/Shanghai"))
    assert mention.start == datetime(2026, 11, 16, 16, tzinfo=UTC)
    assert mention.end - mention.start == timedelta(days=1)
    (naive,) = find_times("today", now=datetime(2026, 11, 16, 1), zone=UTC)  # noqa: DTZ001
    assert naive.start == datetime(2026, 11, 16, tzinfo=UTC)


# ── any text ────────────────────────────────────────────────────────────────────────────────

_PIECES = st.sampled_from(
    [
        "last", "next", "this", "week", "month", "year", "May", "march 3", "2023", "1999-12-31",
        "before", "after", "since", "between", "and", "from", "to", "the", "of", "Friday", "ago",
        "two", "99999", "0", "31", "weekend", "days", "summer", "Q4", "Christmas", "5/8/2023", "-",
        "上", "下", "周", "三", "天", "前", "后", "去年", "2200年", "1900年", "月", "日", "号",
        "从", "到", "之前", "以来", "半", "个", "年", "底", "初", "季度", "几", "十", "０", "İ",
    ]
)  # fmt: skip
_QUERIES = (
    st.text()
    | st.lists(_PIECES, max_size=14).map(" ".join)
    | st.lists(_PIECES | st.text(max_size=2), max_size=14).map("".join)
)
_MOMENTS = st.datetimes(timezones=st.just(UTC)) | st.just(_NOW)
_ZONES = st.sampled_from([UTC, ZoneInfo("America/New_York"), timezone(timedelta(hours=14))])


@settings(max_examples=scaled(250), deadline=None)
@given(_QUERIES, _MOMENTS, _ZONES)
def test_no_text_at_no_time_is_an_error(query: str, now: datetime, zone: tzinfo) -> None:
    end = 0
    for mention in find_times(query, now=now, zone=zone):
        assert mention.start < mention.end
        assert mention.start.tzinfo is zone
        assert mention.text == query[slice(*mention.span)] != ""
        assert 1900 <= mention.start.year <= mention.end.year <= 2200
        assert mention.span[0] >= end or mention.strength == "boost"
        end = mention.span[1]
        assert mention.day is None or mention.month is not None


@settings(max_examples=scaled(100), deadline=None)
@given(st.dates(date(1990, 1, 1), date(2099, 12, 31)))
def test_every_way_to_write_a_day_means_that_day(day: date) -> None:
    written = [
        *(f"{day:%Y-%m-%d}", f"{day:%B %d, %Y}", f"{day:%d %b %Y}", f"{day:%d of %B %Y}"),
        *(f"{day:%Y年%m月%d日}", f"{day.year}年{day.month}月{day.day}号", f"{day:%Y/%m/%d}"),
    ]
    for way in written:
        (mention,) = _found(f"so {way} it was")
        assert mention.start.date() == day, way
        assert mention.precision == "day"


@settings(max_examples=scaled(60), deadline=None)
@given(st.dates(date(1990, 1, 1), date(2099, 12, 31)))
def test_relative_days_keep_their_distance_from_now(today: date) -> None:
    moment = datetime.combine(today, time(12), UTC)
    for query, days in (("yesterday", 1), ("3 days ago", 3), ("大前天", 3), ("十天前", 10)):
        (mention,) = _found(query, moment)
        assert (today - mention.start.date()).days == days
    for query in ("last Friday", "last week", "上个月", "last year", "last weekend", "last summer"):
        (mention,) = _found(query, moment)
        assert mention.end.date() <= today


@pytest.mark.parametrize(
    "piece",
    [
        "may ",
        "1",
        "一",
        "the week before ",
        "last ",
        "2023-",
        "上",
        "between march and ",
        "前",
        "1/",
    ],
)
def test_a_long_query_is_read_in_linear_time(piece: str) -> None:
    """A pattern that goes back over what it has read would not come to an end here."""
    assert isinstance(_found(piece * 5_000), list)
