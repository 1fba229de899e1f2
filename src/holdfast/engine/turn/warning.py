"""The conversation is nearly full: tell the user, and run the command of the hard threshold.

Both are done by the engine, not by the model, so they happen when the model is down; neither can
keep the turn waiting.

Promise: one notice per mark and cycle, one command per cycle, whichever process gets there first
(``tests/engine/test_hard_threshold.py``).
"""

from __future__ import annotations

from functools import partial

from holdfast.context.compaction.wording import language_of
from holdfast.engine.flush.command import run_command
from holdfast.engine.notify import Notice, NoticeKind
from holdfast.engine.rooms import Rooms
from holdfast.engine.turn.measuring import Measured
from holdfast.events import CommandRan
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.types import Json

__all__ = ["command_key", "run_hard_command", "speaks", "warn"]


def speaks(rooms: Rooms, measured: Measured) -> str:
    """The language to tell the user in: as configured, else that of the conversation."""
    chosen = rooms.settings.memory.language
    if chosen != "auto":
        return chosen
    said = (b.message.text for b in measured.blocks[-20:] if b.message.role == "user")
    return language_of(said)


def warn(rooms: Rooms, session: str, measured: Measured, kind: NoticeKind = "nearly_full") -> None:
    """Tell the user how full the conversation is; once per cycle."""
    cycle = measured.look.view.cycle
    if rooms.is_scratch or rooms.warned.get((session, kind)) == cycle:
        return
    rooms.warned[session, kind] = cycle
    rooms.notices.send(
        Notice(
            kind=kind,
            session=session,
            cycle=cycle,
            language=speaks(rooms, measured),
            numbers={"used": measured.projected, "window": measured.budget.window},
        )
    )


def command_key(session: str) -> str:
    return f"command:{session}"


def run_hard_command(rooms: Rooms, transcript: Transcript, measured: Measured) -> None:
    """Run the command in the background, unless it was run in this cycle."""
    cycle = measured.look.view.cycle
    if rooms.is_scratch:
        return  # an incognito conversation is told to no other program
    with transcript.exclusive():
        look = rooms.store.look(transcript)
        if any(_is_command(each.data, cycle) for each in look.entries if each.type == "marker"):
            return
        transcript.append([Draft(type="marker", data={"kind": "command", "cycle": cycle})])
    told = {
        "event": "hard_threshold",
        "session": transcript.name,
        "agent": rooms.scope.agent,
        "home": str(rooms.home_path),
        "cycle": cycle,
        "tokens": measured.projected,
        "mark": measured.budget.hard_at,
        "window": measured.budget.window,
    }
    rooms.background.submit(command_key(transcript.name), partial(_run, rooms, transcript, told))


def _is_command(data: Json, cycle: str) -> bool:
    return bool(data.get("kind") == "command" and data.get("cycle") == cycle)


def _run(rooms: Rooms, transcript: Transcript, told: dict[str, Json]) -> None:
    done = run_command(rooms.settings.flush.hard_threshold_command, told=told, cwd=rooms.home_path)
    rooms.tell(
        CommandRan,
        session=transcript.name,
        cycle=told["cycle"],
        outcome=done.outcome,
        seconds=round(done.seconds, 3),
        exit_code=done.exit_code,
        reason=done.reason,
    )
