"""``holdfast events``: what the engine did, as it told it, and what it does now.

Promise: stdout gets each event once and whole, at once if it is followed; nothing an event
holds can steer the terminal; no room is opened, so a busy or broken home can be watched too
(``tests/doors/test_cli_events.py``).
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from holdfast.cli.event_words import WORDS, in_words
from holdfast.cli.render import json_line, note, say
from holdfast.config import default_home, load_settings
from holdfast.engine.eventreading import EventReader
from holdfast.errors import UsageError, did_you_mean
from holdfast.text import columns, display

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.cli.options import Door
    from holdfast.types import Json

__all__ = ["events"]

_SHOWN: Final = 50
_SHOWN_WHILE_FOLLOWING: Final = 10
_PAUSE_SECONDS: Final = 0.2
_WIDEST_NAME: Final = 24


@dataclass(slots=True, kw_only=True)
class _Wanted:
    """Which events are asked for, and which sessions there were."""

    session: str | None
    kinds: tuple[str, ...]
    sessions: set[str] = field(default_factory=set)

    def __call__(self, told: Mapping[str, Json]) -> bool:
        session = told.get("session")
        if isinstance(session, str):
            self.sessions.add(session)
        if self.session is not None and session != self.session:
            return False
        return not self.kinds or any(_is_kind(told["event"], kind) for kind in self.kinds)


def _is_kind(event: str, kind: str) -> bool:
    """``flush`` means every event of flushing, ``memory_flush_end`` only that one."""
    return f"_{kind}_" in f"_{event}_"


def events(
    door: Door,
    *,
    session: str | None,
    kinds: list[str],
    last: int | None,
    follow: bool,
    as_json: bool,
) -> None:
    home = door.home_path() or default_home(os.environ)
    zone = ZoneInfo(load_settings(home, environ=os.environ).memory.time_zone)
    wanted = _Wanted(session=session, kinds=tuple(map(_checked, kinds)))
    reader = EventReader(home / "events.jsonl", wanted)
    if last is None:
        last = _SHOWN_WHILE_FOLLOWING if follow else _SHOWN
    count = 0
    try:
        count += _print(reader.last(last or None), zone, as_json=as_json)
        if not count and not as_json:
            _explain_nothing(home, wanted, follow=follow)
        while follow and _is_read():
            count += _print(reader.new(), zone, as_json=as_json)
            time.sleep(_PAUSE_SECONDS)
    except KeyboardInterrupt:
        pass  # the usual end of following
    finally:
        reader.close()
    if as_json:
        json_line({"summary": True, "events": count, "unreadable": reader.unreadable})
    elif reader.unreadable:
        note(f"Lines that are no whole event: {reader.unreadable}. The others are shown.")


def _is_read() -> bool:
    """Whether anybody reads what we print. A pipe says so without being written to."""
    with suppress(OSError, ValueError):  # no file behind it: then it is read by us
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return not any(event & select.POLLERR for _, event in poll.poll(0))
    return True


def _checked(kind: str) -> str:
    kind = kind.strip().replace("-", "_").lower()
    if any(_is_kind(event, kind) for event in WORDS):
        return kind
    near = did_you_mean(kind, [*WORDS, *{part for event in WORDS for part in event.split("_")}])
    raise UsageError(
        f"There is no kind of event {kind!r}.",
        hint=near or f"There are: {', '.join(WORDS)}; or a word of one, such as flush.",
    )


def _print(found: Iterable[Mapping[str, Json]], zone: tzinfo, *, as_json: bool) -> int:
    count = 0
    for told in found:
        if as_json:
            json_line(told)
        else:
            say(_line(told, zone))
        sys.stdout.flush()
        count += 1
    return count


def _line(told: Mapping[str, Json], zone: tzinfo) -> str:
    name = display(str(told.get("session") or "-"))
    gap = " " * (_WIDEST_NAME - columns(name))
    return f"{_time(told.get('at'), zone)}  {name}{gap}  {display(in_words(told))}"


def _time(at: Json, zone: tzinfo) -> str:
    try:
        return datetime.fromisoformat(at).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    except (TypeError, ValueError, OverflowError):
        return "????-??-?? ??:??:??"


def _explain_nothing(home: Path, wanted: _Wanted, *, follow: bool) -> None:
    waiting = " Waiting for the next …" if follow else ""
    if not (home / "events.jsonl").exists():
        note(
            "No events yet. Programs make them when they use a session, and so do flush, compact, "
            f"remember and search. See some: holdfast demo{waiting}"
        )
    elif wanted.session is not None and wanted.session not in wanted.sessions:
        near = did_you_mean(wanted.session, wanted.sessions)
        note(
            f"No events of session {display(wanted.session)!r}. "
            f"{near or 'See which sessions there are: holdfast sessions list'}{waiting}"
        )
    else:
        note(f"No such events yet.{waiting}")
