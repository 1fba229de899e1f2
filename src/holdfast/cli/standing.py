"""``holdfast status`` and ``holdfast doctor``.

Promise: the three tiers with their sizes, and the session's own marks, cycle and last flush, as
the next request would meet them (``tests/doors/test_cli_turn.py``, ``test_doctor.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import typer

from holdfast.cli.gauge import gauge
from holdfast.cli.render import json_line, json_lines, local_time, note, pairs, say, size
from holdfast.engine.status import Check, Status
from holdfast.errors import HoldfastError
from holdfast.text import display

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.engine.facade import Engine
    from holdfast.engine.standing import Standing
    from holdfast.types import Json

__all__ = ["doctor", "status"]

_MARKS = {"ok": "✓", "warning": "!", "failed": "✗"}


def status(
    door: Door, name: str | None, *, window: int | None, model: str | None, as_json: bool
) -> None:
    from holdfast.engine.standing import standing_of  # the planners, which doctor does not need

    with door.open() as engine:
        found = engine.status()
        wanted = name or found.newest_session
        session = None
        if wanted is not None:
            session = standing_of(engine.existing_session(wanted), window=window, model=model)
        index = _index(engine) if found.has_index else None
        zone = ZoneInfo(engine.settings.memory.time_zone)
    if as_json:
        standing = None if session is None else session.to_json()
        json_line({**found.to_json(), "session": standing, "index": index})
        return
    pairs([("home", found.home), ("agent", f"{found.agent}, today is {found.today}")])
    say()
    if session is not None:
        _show_immediate(session)
    pairs(_other_tiers(found, index))
    if session is not None:
        say()
        pairs(_state(session, zone))
    else:
        note("No sessions yet. See what one looks like: holdfast demo")


def _index(engine: Engine) -> dict[str, Json]:
    """How the index stands; that it cannot be read is a finding, not a reason to show nothing."""
    try:
        return engine.index.status().to_json()
    except HoldfastError as error:
        return {"problems": [error.message]}


def _show_immediate(session: Standing) -> None:
    used, budget = session.projected, session.budget
    how = "as the provider counted" if session.source == "reported" else "estimated"
    messages = _many(session.messages, "message", "messages")
    say(
        f"immediate   {display(session.session)}: {used:,} of {budget.window:,} tokens "
        f"({used / budget.window:.0%}), {how}; {messages}"
    )
    say(f"            {gauge(budget, used)}")
    spent = session.breakdown.largest()
    if spent:
        parts = (f"{category.replace('_', ' ')} {tokens:,}" for category, tokens in spent)
        say(f"            {', '.join(parts)}")
    for mark in session.next_marks:
        say(f"            {mark.name:<10}  {mark.at:>9,}  {mark.away:>9,} tokens away")


def _other_tiers(found: Status, index: dict[str, Json] | None) -> Iterator[tuple[str, str]]:
    if not found.sessions:
        yield "immediate", "nothing: there is no session"
    yield (
        "short-term",
        f"{_many(found.sessions, 'session', 'sessions')}, {found.session_entries:,} entries, "
        f"{size(found.session_bytes)}, artifacts {size(found.artifact_bytes)}",
    )
    yield (
        "long-term",
        f"{_many(found.memory_files, 'memory file', 'memory files')}, {size(found.memory_bytes)}: "
        f"{found.memories:,} memories, {found.tasks:,} tasks ({found.open_tasks:,} open)",
    )
    if index is None:
        yield "index", "none yet; the first search makes one"
    elif "chunks" in index:
        many = (
            f"{index['changed']:,} documents wait" if index["changed"] != 1 else "1 document waits"
        )
        waiting = many if index["changed"] else "up to date"
        how = "by words and meaning" if index["encoders"] else "by words alone"
        yield "index", f"{_many(index['chunks'], 'passage', 'passages')}, {waiting}, {how}"
    for problem in (index or {}).get("problems", ()):
        if not problem.startswith("meaning: "):  # that no encoder is there is said above
            yield "index", f"! {problem}"


def _state(session: Standing, zone: ZoneInfo) -> Iterator[tuple[str, str]]:
    count = _many(session.compaction_count, "compaction", "compactions")
    yield "state", f"{session.phase}, cycle {session.cycle}, {count}"
    last = session.last_memory_flush
    if last is None:
        yield "last flush", "none yet"
    else:
        saved = _many(last.get("saved", 0), "line", "lines")
        cycle = session.memory_flush_compaction_count == session.compaction_count
        yield (
            "last flush",
            f"{local_time(last.get('at'), zone)}, {saved} saved, "
            f"{'in this cycle' if cycle else 'in an earlier cycle'}",
        )
    waiting = _many(session.unsaved, "entry", "entries")
    yield (
        "not saved",
        f"{waiting} of the view; holdfast flush saves them" if session.unsaved else "0",
    )
    yield "memory", f"{session.memory_mode}{', incognito' if session.incognito else ''}"
    if session.goal:
        yield "goal", session.goal


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def doctor(door: Door, *, fix: bool, as_json: bool) -> None:
    try:
        with door.open() as engine:
            checks = engine.doctor(fix=fix)
    except HoldfastError as error:  # the home cannot even be opened: that is the finding
        checks = [Check(name="open", result="failed", text=error.message, hint=error.hint)]
    counts = {
        result: sum(check.result == result for check in checks)
        for result in ("ok", "warning", "failed")
    }
    if as_json:
        json_lines((check.to_json() for check in checks), summary={"summary": True, **counts})
    else:
        for check in checks:
            say(f"{_MARKS[check.result]} {check.name}: {display(check.text)}")
            if check.hint:
                say(f"    → {display(check.hint)}")
    if counts["failed"]:
        raise typer.Exit(1)
