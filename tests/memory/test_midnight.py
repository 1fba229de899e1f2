"""The day of a memory is the user's day in the moment in which it is written."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from holdfast.config import day_of
from holdfast.disk import FileLock
from holdfast.memory.notes import Notes
from holdfast.testing import FixedClock
from tests.memory.places import a_line, read_lines, workspace_at
from tests.scale import scaled

SECOND = timedelta(seconds=1)


def _zones() -> list[str]:
    return sorted(name for name in available_timezones() if not name.startswith(("posix", "right")))


def _turns(zone: ZoneInfo, year: int) -> list[datetime]:
    """The hours of that year at which the clocks of a zone are changed."""
    start = datetime(year, 1, 1, tzinfo=UTC)
    turns: list[datetime] = []
    for before, after in pairwise(start + timedelta(days=n) for n in range(366)):
        if before.astimezone(zone).utcoffset() != after.astimezone(zone).utcoffset():
            hours = [before + timedelta(hours=n) for n in range(25)]
            turns += [
                later
                for sooner, later in pairwise(hours)
                if sooner.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset()
            ]
    return turns


def _instants(name: str) -> list[datetime]:
    """Around the midnights of a leap day and of a year, and around every change of the clocks."""
    zone = ZoneInfo(name)
    midnights = [
        datetime(2024, 2, 29, tzinfo=zone).astimezone(UTC),
        datetime(2024, 3, 1, tzinfo=zone).astimezone(UTC),
        datetime(2026, 1, 1, tzinfo=zone).astimezone(UTC),
    ]
    turns = _turns(zone, 2024)[:2]
    near = [turn.astimezone(zone).date() for turn in turns]
    midnights += [datetime(d.year, d.month, d.day, tzinfo=zone).astimezone(UTC) for d in near]
    return [at + step for at in (*midnights, *turns) for step in (-SECOND, timedelta(0), SECOND)]


def _expected(at: datetime, name: str) -> date:
    """The date of an instant by adding the offset: another way to the same."""
    offset = at.astimezone(ZoneInfo(name)).utcoffset()
    assert offset is not None
    return (at.replace(tzinfo=None) + offset).date()


def test_every_zone_has_its_own_midnight() -> None:
    """The day never goes back while time goes on, and turns exactly where the local date does."""
    cases = 0
    for name in _zones():
        instants = sorted(_instants(name))
        for at in instants:
            assert day_of(at, name) == _expected(at, name)
            cases += 1
        days = [day_of(at, name) for at in instants]
        assert days == sorted(days)
    assert cases >= 4_800


def test_a_write_goes_to_the_file_of_the_users_day(fast_path: Path) -> None:
    """A sample of those cases through the disk, among them clocks that are put back."""
    zones = _zones()
    chosen = [(zones[n % len(zones)], n) for n in range(0, 7 * scaled(20), 7)]
    for number, (name, at) in enumerate(chosen):
        instants = _instants(name)
        clock = FixedClock(instants[at % len(instants)])
        home = fast_path / f"h{number}"
        notes = Notes(workspace_at(home), today=lambda c=clock, n=name: day_of(c.now(), n))  # type: ignore[misc]
        for text, step in (("first", 0), ("second", 2), ("put back", -3600), ("a day", -86_400)):
            clock.advance(seconds=step)
            written = notes.write([a_line(text)])
            day = day_of(clock.at, name)
            assert written.path == f"memory/{day.isoformat()}.md"
            assert written.added[0].observed == day
            assert read_lines(home, written.path)[-1].text == text


def test_a_write_that_waited_over_midnight_is_of_the_new_day(home: Path) -> None:
    """The day is asked when the lock is held, however long that took."""
    zone = "Asia/Shanghai"
    midnight = datetime(2026, 3, 5, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    clock = FixedClock(midnight - SECOND)
    workspace = workspace_at(home)
    notes = Notes(workspace, today=lambda: day_of(clock.now(), zone))
    hold = FileLock.hold

    def wait(lock: FileLock, **how: bool):  # type: ignore[no-untyped-def]
        clock.advance(seconds=2)
        return hold(lock, **how)

    FileLock.hold = wait  # type: ignore[method-assign, assignment]
    try:
        written = notes.write([a_line("late")])
    finally:
        FileLock.hold = hold  # type: ignore[method-assign]
    assert written.path == "memory/2026-03-05.md"


def test_a_clock_that_was_put_back_adds_to_the_earlier_day(home: Path) -> None:
    days = iter([date(2026, 3, 5), date(2026, 3, 4), date(2026, 3, 5)])
    notes = Notes(workspace_at(home), today=lambda: next(days))
    paths = [notes.write([a_line(text)]).path for text in ("a", "b", "c")]
    assert paths == ["memory/2026-03-05.md", "memory/2026-03-04.md", "memory/2026-03-05.md"]
    assert [line.text for line in read_lines(home, paths[0])] == ["a", "c"]
