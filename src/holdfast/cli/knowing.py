"""``holdfast facts …`` and ``holdfast conflicts …``"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, datetime, tzinfo
from shutil import get_terminal_size
from typing import TYPE_CHECKING, get_args
from zoneinfo import ZoneInfo

from holdfast.cli.render import json_lines, note, pairs, say, table
from holdfast.errors import UsageError, did_you_mean
from holdfast.retain import RetainKind, Trust
from holdfast.text import display, one_line
from holdfast.types import Json

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.engine.facade import Engine
    from holdfast.memory.facts import Conflict, Fact, Facts

__all__ = [
    "conflicts_list",
    "conflicts_resolve",
    "facts_confirm",
    "facts_history",
    "facts_list",
    "facts_retract",
    "facts_show",
]

_KINDS = {"W": "world", "B": "experience", "O": "opinion", "S": "summary"}


def facts_list(
    door: Door,
    *,
    kind: str | None,
    entity: str | None,
    as_of: str | None,
    trust: str | None,
    ended: bool,
    text: str | None,
    as_json: bool,
) -> None:
    kind = _one_of("kind", kind.upper() if kind else None, get_args(RetainKind))
    trust = _one_of("trust", trust.lower() if trust else None, get_args(Trust))
    moment = _moment(as_of)
    with door.open() as engine:
        facts = engine.facts
        found = facts.list(
            kind=kind, entity=entity, as_of=moment, trust=trust, ended=ended, text=text
        )
        if as_json:
            _json_facts(facts, found)
        elif found:
            _table(engine, found)
        elif any((kind, entity, as_of, trust, text)):
            note(f"No memory is like that. See all: {door.command('facts', 'list', '--ended')}")
        else:
            note(f"Nothing is known yet. Begin with: {door.command('remember', '…')}")


def facts_show(door: Door, id: str, *, as_json: bool) -> None:
    with door.open() as engine:
        facts = engine.facts
        fact = facts.show(id)
        if as_json:
            _json_facts(facts, [fact])
            return
        zone = _zone(engine)
        clashes = [each.id for each in facts.conflicts(of=fact.id)]
        pairs(_details(facts, fact, zone))
    for each in clashes:
        note(f"Something contradicts it ({each}): {door.command('conflicts', 'list')}")


def facts_history(door: Door, id: str, *, as_json: bool) -> None:
    with door.open() as engine:
        facts = engine.facts
        chain = facts.history(id)
        if as_json:
            _json_facts(facts, chain)
            return
        _table(engine, chain)
    if len(chain) == 1:
        note("Nothing has replaced it, and it replaced nothing.")


def facts_confirm(door: Door, ids: Sequence[str], *, as_json: bool) -> None:
    with door.open() as engine:
        facts = engine.facts
        done = facts.confirm_all(ids)
        if as_json:
            _json_facts(facts, done)
            return
        for fact in done:
            say(f"confirmed {_line(facts, fact)}")
    note(f"Take it back: {door.command('undo')}")


def facts_retract(door: Door, ids: Sequence[str], *, reason: str | None, as_json: bool) -> None:
    with door.open() as engine:
        facts = engine.facts
        done = facts.retract_all(ids, reason)
        if as_json:
            _json_facts(facts, done)
            return
        for fact in done:
            say(f"retracted {_line(facts, fact)}")
    note(f"It stays readable: {door.command('facts', 'list', '--ended')}")
    note(f"Take it back: {door.command('undo')}")


def conflicts_list(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        facts = engine.facts
        found = facts.conflicts()
        if as_json:
            json_lines(
                (_conflict_json(facts, each) for each in found),
                summary={"summary": True, "conflicts": len(found)},
            )
            return
        for each in found:
            say(f"{each.id}  {each.kind}")
            say(f"  old  {_line(facts, each.old)}")
            say(f"  new  {_line(facts, each.new)}")
    if found:
        first = found[0].id
        command = door.command("conflicts", "resolve", first, "--keep", "new")
        note(f"Decide: {command}   (or old, both, an id)")
    else:
        note("No memories contradict each other.")


def conflicts_resolve(door: Door, id: str, *, keep: str, as_json: bool) -> None:
    with door.open() as engine:
        facts = engine.facts
        both = facts.resolve(id, keep)
        if as_json:
            _json_facts(facts, both)
            return
        for fact in both:
            state = "holds" if facts.holds(fact) else "ended"
            say(f"{state}  {_line(facts, fact)}")
    note(f"Take it back: {door.command('undo')}")


# ── what was asked ──────────────────────────────────────────────────────────────────────────


def _one_of(name: str, given: str | None, known: Sequence[str]) -> str | None:
    if given is not None and given not in known:
        near = did_you_mean(given, known)
        raise UsageError(f"There is no {name} {given!r}.", hint=near or "Use " + ", ".join(known))
    return given


def _moment(written: str | None) -> date | datetime | None:
    if written is None:
        return None
    try:
        is_day = len(written) <= len("2026-03-14")
        return date.fromisoformat(written) if is_day else datetime.fromisoformat(written)
    except ValueError:
        hint = "Write it as 2026-03-14, or 2026-03-14T09:00."
        raise UsageError(f"{written!r} is no date.", hint=hint) from None


def _zone(engine: Engine) -> tzinfo:
    return ZoneInfo(engine.settings.memory.time_zone)


# ── what is shown ───────────────────────────────────────────────────────────────────────────


def _table(engine: Engine, found: Sequence[Fact]) -> None:
    facts, zone = engine.facts, _zone(engine)
    room = max(40, get_terminal_size().columns - 60) if sys.stdout.isatty() else 400
    rows = [
        (
            fact.id,
            fact.line.kind,
            _sure(facts, fact),
            fact.line.entity or "",
            one_line(fact.line.text, room),
            _day(fact.line.since or fact.line.observed or fact.day, zone),
            _day(fact.line.retracted or fact.line.until, zone),
            "" if fact.line.trust == "user" else fact.line.trust,
            fact.citation,
        )
        for fact in found
    ]
    table(("id", "kind", "sure", "about", "memory", "since", "until", "from", "where"), rows)


def _line(facts: Facts, fact: Fact) -> str:
    line = fact.line
    sure = _sure(facts, fact)
    about = f" @{line.entity}" if line.entity else ""
    start = (
        f"{fact.id}  {line.kind}{f'({sure})' if sure else ''}{about}: {one_line(line.text, 200)}"
    )
    source = "" if line.trust == "user" else f"  [{line.trust}]"
    return display(f"{start}{source}  {fact.citation}")


def _sure(facts: Facts, fact: Fact) -> str:
    held = facts.confidence(fact)
    return "" if held is None else f"{held:.2f}"


def _day(when: date | datetime | None, zone: tzinfo) -> str:
    if isinstance(when, datetime):
        when = when.astimezone(zone).date() if when.tzinfo is not None else when.date()
    return when.isoformat() if when is not None else ""


def _time(when: date | datetime | None, zone: tzinfo) -> str:
    if isinstance(when, datetime) and when.tzinfo is not None:
        return when.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    return when.isoformat() if when is not None else ""


def _details(facts: Facts, fact: Fact, zone: tzinfo) -> list[tuple[str, str]]:
    line = fact.line
    rows = [
        ("memory", line.text),
        ("about", line.entity or ""),
        ("kind", f"{line.kind} ({_KINDS[line.kind]})"),
        ("sure now", _sure(facts, fact)),
        ("holds", "yes" if facts.holds(fact) else "no"),
        *((name, _time(getattr(line, name), zone)) for name in _TIMES),
        ("reason", str(line.extra.get("reason", "")) if line.retracted else ""),
        ("trust", line.trust),
        ("from", ", ".join(line.sources)),
        ("replaces", ", ".join(line.supersedes)),
        ("agrees with", ", ".join(line.agrees)),
        ("where", fact.citation),
        ("id", fact.id),
    ]
    return [(name, value) for name, value in rows if value]


_TIMES = ("observed", "since", "until", "verified", "retracted")


def _json_facts(facts: Facts, found: Sequence[Fact]) -> None:
    json_lines(
        (_fact_json(facts, fact) for fact in found),
        summary={"summary": True, "facts": len(found)},
    )


def _fact_json(facts: Facts, fact: Fact) -> dict[str, Json]:
    line, held = fact.line, facts.confidence(fact)
    stored: dict[str, Json] = {
        "id": fact.id,
        "kind": line.kind,
        "text": line.text,
        "entity": line.entity,
        "confidence": line.confidence,
        "confidence_now": None if held is None else round(held, 4),
        "trust": line.trust,
        "holds": facts.holds(fact),
        "path": fact.path,
        "line": fact.number,
        "archived": fact.archived,
        "sources": list(line.sources),
        "supersedes": list(line.supersedes),
        "agrees": list(line.agrees),
    }
    for name in _TIMES:
        when = getattr(line, name)
        stored[name] = when.isoformat() if when is not None else None
    return stored


def _conflict_json(facts: Facts, each: Conflict) -> dict[str, Json]:
    return {
        "id": each.id,
        "kind": each.kind,
        "old": _fact_json(facts, each.old),
        "new": _fact_json(facts, each.new),
    }
