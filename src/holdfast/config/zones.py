"""Time zones and the user's day: which date an instant has for the person it belongs to.

Daily files, "today" and "yesterday" follow the user's calendar, not the server's. Promise:
``day_of`` is the local calendar date for every IANA zone, through clock changes, at one
second before and after midnight, and on leap days (``tests/foundation/test_config_zones.py``
compares it with the C library). Zones come from the system, or from ``tzdata``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from holdfast.errors import did_you_mean

__all__ = ["day_of", "system_zone", "zone_problem"]

_UNKNOWN = "UTC"


def day_of(at: datetime, zone: str) -> date:
    """The calendar date of an aware instant for somebody who lives in ``zone``."""
    if at.utcoffset() is None:
        raise ValueError(f"{at!r} has no time zone: the day it belongs to is not known")
    return at.astimezone(ZoneInfo(zone)).date()


def zone_problem(name: str) -> str | None:
    """Why ``name`` is not a usable IANA zone, with the nearest one; None when it is."""
    if _is_zone(name):
        return None
    near = did_you_mean(name, available_timezones())
    return f"no such time zone. {near}" if near else "no such time zone"


def system_zone(environ: Mapping[str, str], *, etc: Path = Path("/etc")) -> tuple[str, str]:
    """The IANA zone of this machine and where that comes from; UTC when it names none.

    ``TZ`` decides when it is set, as for the C library: also when it holds a rule without a
    name ("CET-1CEST"), which has no calendar we could write down, hence UTC.
    """
    tz = environ.get("TZ")
    if tz is not None:
        name = _after_zoneinfo(tz.removeprefix(":"))
        return (name, "of TZ") if _is_zone(name) else (_UNKNOWN, "as TZ names no IANA zone")
    for path, name in _named_by_files(etc):
        if _is_zone(name):
            return name, f"of {path}"
    return _UNKNOWN, "as this system names no zone"


def _named_by_files(etc: Path) -> list[tuple[Path, str]]:
    link, file = etc / "localtime", etc / "timezone"
    found: list[tuple[Path, str]] = []
    if link.is_symlink():
        found.append((link, _after_zoneinfo(str(link.readlink()))))
    with suppress(OSError, UnicodeDecodeError):  # most systems have only the link
        found.append((file, file.read_text("utf-8").strip()))
    return found


def _after_zoneinfo(path: str) -> str:
    """``Europe/Berlin`` of ``/usr/share/zoneinfo/Europe/Berlin``; a bare name as it is."""
    return path.rpartition("zoneinfo/")[2]


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, outside the folder, or itself a folder
        return False
    return True
