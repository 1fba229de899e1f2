"""The user's day, compared with the C library, in every zone there is."""

from __future__ import annotations

import importlib.resources
import os
import time
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from holdfast.config import day_of, system_zone
from holdfast.config.zones import zone_problem

SECOND = timedelta(seconds=1)
MIDNIGHTS = [
    date(2024, 2, 29),
    date(2024, 3, 1),
    date(2023, 3, 1),
    date(2000, 2, 29),
    date(2025, 1, 1),
]
CHANGES_IN = (datetime(2023, 7, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC))


def zone_file(name: str) -> str:
    """The very file that ``ZoneInfo`` reads, so that both sides have the same rules."""
    for folder in zoneinfo.TZPATH:
        if (Path(folder) / name).is_file():
            return str(Path(folder) / name)
    return str(importlib.resources.files("tzdata") / "zoneinfo" / name)


@pytest.fixture
def system_clock() -> Iterator[None]:
    before = os.environ.get("TZ")
    yield
    if before is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = before
    time.tzset()


def clock_changes(zone: ZoneInfo) -> Iterator[datetime]:
    """The first second of every new offset within the window."""
    at, end = CHANGES_IN
    while at < end:
        following = at + timedelta(days=7)
        if at.astimezone(zone).utcoffset() != following.astimezone(zone).utcoffset():
            low, high = at, following
            while high - low > SECOND:
                middle = low + (high - low) // 2
                middle = middle.replace(microsecond=0)
                same = low.astimezone(zone).utcoffset() == middle.astimezone(zone).utcoffset()
                low, high = (middle, high) if same else (low, middle)
            yield high
        at = following


def moments(zone: ZoneInfo) -> Iterator[datetime]:
    """Second by second around local midnights and around every gap and fold."""
    for day in MIDNIGHTS:
        for fold in (0, 1):
            midnight = datetime(day.year, day.month, day.day, tzinfo=zone, fold=fold).astimezone(
                UTC
            )
            yield from (midnight - SECOND, midnight, midnight + SECOND)
    for change in clock_changes(zone):
        for offset in (timedelta(), timedelta(hours=1), timedelta(hours=-1)):
            yield from (change + offset - SECOND, change + offset, change + offset + SECOND)


def test_the_day_is_the_local_calendar_date_in_every_zone_at_every_awkward_moment(
    system_clock: None,
) -> None:
    cases = 0
    wrong: list[tuple[str, datetime]] = []
    for name in sorted(zoneinfo.available_timezones()):
        os.environ["TZ"] = f":{zone_file(name)}"
        time.tzset()
        for at in moments(ZoneInfo(name)):
            local = time.localtime(at.timestamp())
            cases += 1
            if day_of(at, name) != date(local.tm_year, local.tm_mon, local.tm_mday):
                wrong.append((name, at))
    assert not wrong, wrong[:5]
    assert cases >= 4800


@pytest.mark.parametrize(
    ("at", "zone", "day"),
    [
        ("2024-02-29T15:59:59+00:00", "Asia/Shanghai", date(2024, 2, 29)),
        ("2024-02-29T16:00:00+00:00", "Asia/Shanghai", date(2024, 3, 1)),
        ("2018-11-04T02:59:59+00:00", "America/Sao_Paulo", date(2018, 11, 3)),
        ("2018-11-04T03:00:00+00:00", "America/Sao_Paulo", date(2018, 11, 4)),  # there was no 00:00
        ("2011-12-30T09:59:59+00:00", "Pacific/Apia", date(2011, 12, 29)),
        ("2011-12-30T10:00:00+00:00", "Pacific/Apia", date(2011, 12, 31)),  # a day left out
        ("2024-01-01T00:00:00+09:00", "UTC", date(2023, 12, 31)),
    ],
)
def test_the_day_at_moments_known_from_history(at: str, zone: str, day: date) -> None:
    assert day_of(datetime.fromisoformat(at), zone) == day


def test_a_moment_without_a_time_zone_has_no_day() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        day_of(datetime(2024, 1, 1), "UTC")  # noqa: DTZ001


# ── the system's zone ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tz", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "UTC"),
        ("", "UTC"),
        ("../../etc/passwd", "UTC"),
    ],
)
def test_tz_decides_and_what_it_cannot_name_is_utc(tz: str, zone: str, tmp_path: Path) -> None:
    (tmp_path / "timezone").write_text("Asia/Shanghai\n")
    found, where = system_zone({"TZ": tz}, etc=tmp_path)
    assert found == zone
    assert "TZ" in where


def test_without_tz_the_link_and_then_the_file_of_the_system_decide(tmp_path: Path) -> None:
    assert system_zone({}, etc=tmp_path) == ("UTC", "as this system names no zone")
    (tmp_path / "timezone").write_text("Asia/Shanghai\n")
    assert system_zone({}, etc=tmp_path) == ("Asia/Shanghai", f"of {tmp_path / 'timezone'}")
    (tmp_path / "localtime").symlink_to("/var/db/timezone/zoneinfo/Europe/Rome")
    assert system_zone({}, etc=tmp_path) == ("Europe/Rome", f"of {tmp_path / 'localtime'}")


def test_a_file_of_the_system_that_names_no_zone_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "localtime").symlink_to("/somewhere/else")
    (tmp_path / "timezone").write_bytes(b"\xff\xfe")
    assert system_zone({}, etc=tmp_path)[0] == "UTC"


@pytest.mark.parametrize("name", ["Europe", "Europe/Berln", "", "/etc/passwd", "a\0b"])
def test_what_is_no_zone_is_said_to_be_none(name: str) -> None:
    said = zone_problem(name)
    assert said is not None
    assert "no such time zone" in said
