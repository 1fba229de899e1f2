"""``holdfast search``"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from holdfast.cli.render import json_line, note, say
from holdfast.errors import UsageError
from holdfast.text import display, one_line

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.search.request import Passage, SearchResult
    from holdfast.types import Json

__all__ = ["search"]


def search(
    door: Door,
    query: str,
    *,
    since: str | None,
    until: str | None,
    as_of: str | None,
    explain: bool,
    as_json: bool,
    **asked: Json,
) -> None:
    if query == "-":
        query = sys.stdin.read()
    with door.open() as engine:
        found = engine.search(
            query,
            since=_moment("--since", since),
            until=_moment("--until", until),
            as_of=_moment("--as-of", as_of),
            explain=explain,
            **asked,
        )
        zone = ZoneInfo(engine.settings.memory.time_zone)
    if as_json:
        json_line(found.to_json())
        return
    for number, passage in enumerate(found.passages, 1):
        _say(number, passage, zone)
    if found.why_empty:
        first, *more = found.why_empty.splitlines()
        say(f"Nothing found: {display(first)}")
        for line in more:
            say(f"  {display(line)}")
    for each in found.degraded:
        note(f"! {display(each)}")
    if explain:
        _explain(found)


def _say(number: int, passage: Passage, zone: ZoneInfo) -> None:
    about = [passage.citation]
    if passage.time is not None:
        about.append(passage.time.astimezone(zone).strftime("%Y-%m-%d"))
    if passage.speaker:
        about.append(passage.speaker)
    if passage.context and passage.context not in about:
        about.append(passage.context)
    if passage.trust != "user":
        about.append(f"{passage.trust}, unconfirmed")
    say(f"{number}. {display('  ·  '.join(about))}  ({passage.score:.2f})")
    for line in passage.text.splitlines():
        say(f"   {display(line)}")
    _say_trace(passage.trace or {}, indent=5)
    say()


def _say_trace(trace: Mapping[str, Json], *, indent: int) -> None:
    """What counted, in columns; what is nothing is left out."""
    told = {name: shown for name, value in trace.items() if (shown := _shown(value))}
    width = max((len(name) for name in told), default=0)
    for name, shown in told.items():
        say(f"{' ' * indent}{display(name):<{width}}  {shown}")


def _explain(found: SearchResult) -> None:
    say("How it was searched (docs/ranking.md says what the names mean):")
    _say_trace(found.trace, indent=2)


def _shown(value: Json) -> str:
    """A value on one line; empty for what is nothing."""
    if isinstance(value, bool) or value is None:
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) >= 0.0005 else ""
    if isinstance(value, Mapping):
        told = ((str(key), _shown(each)) for key, each in value.items())
        return ", ".join(f"{display(key)}={shown}" for key, shown in told if shown)
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(_shown, value)))
    return one_line(str(value), 200)


def _moment(option: str, given: str | None) -> date | datetime | None:
    if given is None:
        return None
    try:
        return date.fromisoformat(given) if len(given) == 10 else datetime.fromisoformat(given)
    except ValueError:
        raise UsageError(f"{option} is {given!r}, not a day.", hint="Write 2026-03-31.") from None
