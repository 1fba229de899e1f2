"""What a hook does for a call, and what it says back.

    pre-compact     the log is brought in, and what it holds is saved to memory
    session-start   what is known of the project is told; after a compaction, what was saved of
                    this very conversation first
    session-end     as before a compaction, and the conversation is closed

Promise: what is told is quoted data with its sources and at most ``MOST_TOLD`` characters; what
is told of a failure is for people, never for the model (``tests/doors/test_hooks.py``).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.engine.facade import Engine
from holdfast.engine.restore.restoring import NotRestored
from holdfast.engine.restore.resuming import resumed
from holdfast.errors import HoldfastError, NotFound
from holdfast.events import MemoryFlushSkipped, RestoreDone
from holdfast.integrations.claude_code.calls import Call, Hook
from holdfast.integrations.claude_code.logs import checked_log
from holdfast.integrations.claude_code.programs import program
from holdfast.text import one_line

__all__ = ["MOST_TOLD", "Answer", "answer"]

MOST_TOLD: Final = 9_600
"""Characters: Claude Code takes 10 000 and puts the rest into a file that nobody reads."""
_REASON: Final = "claude-code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``told`` is for the model, ``trouble`` for the person, ``done`` for whoever reads along."""

    told: str = ""
    trouble: str = ""
    done: str = ""

    def to_stdout(self) -> str:
        """What Claude Code reads; nothing if there is nothing to say."""
        said: dict[str, object] = {}
        if self.told:
            said["hookSpecificOutput"] = {
                "hookEventName": "SessionStart",
                "additionalContext": self.told,
            }
        if self.trouble:
            said["systemMessage"] = self.trouble
        return json.dumps(said) if said else ""  # ASCII: the same in whatever encoding


def answer(engine: Engine, hook: Hook, call: Call, environ: Mapping[str, str]) -> Answer:
    """Do what the hook is for."""
    if hook == "session-start":
        return _start(engine, call, environ)
    return _save(engine, call, environ, is_end=hook == "session-end")


def _save(engine: Engine, call: Call, environ: Mapping[str, str], *, is_end: bool) -> Answer:
    try:
        log = checked_log(call.transcript_path, environ)
    except HoldfastError as error:
        engine._rooms.tell(MemoryFlushSkipped, session=None, reason=one_line(error.message, 300))
        if isinstance(error, NotFound):
            return Answer(done=error.message)  # a conversation in which nothing was said
        raise
    brought = engine.import_conversation(log)
    trouble = "; ".join(brought.problems)
    if brought.session is None:
        reason = trouble or "nothing was said in the conversation"
        engine._rooms.tell(MemoryFlushSkipped, session=None, reason=one_line(reason, 300))
        return Answer(trouble=trouble, done=reason)
    session = engine.existing_session(brought.session)
    saved = session.flush(_REASON)
    lines = getattr(saved, "saved", 0)
    if is_end:
        session.close(_REASON)
    done = f"{brought.new} new messages, {lines} memories saved, in {brought.session}"
    return Answer(trouble=trouble, done=done)


def _start(engine: Engine, call: Call, environ: Mapping[str, str]) -> Answer:
    if call.source == "resume":
        return Answer(done="the conversation goes on with everything in it")
    own = _own(engine, call, environ)
    after_compaction = call.source == "compact" and own is not None
    more = f"\n\n{_how_to_ask(engine)}"
    found = resumed(
        engine._rooms,
        most=MOST_TOLD - len(more),
        besides=own or "",
        own=own if after_compaction else None,
    )
    if isinstance(found, NotRestored):
        engine._rooms.tell(RestoreDone, session=own, tokens=0, reason=found.reason)
        return Answer(done=f"nothing is told: {found.reason}")
    engine._rooms.tell(
        RestoreDone,
        session=own,
        tokens=found.tokens,
        sources=found.sources,
        cut=tuple(str(each.source) for each in found.cut),
        took_ms=round(found.took_ms, 1),
    )
    return Answer(told=found.text + more, done=f"{found.tokens} tokens are told")


def _own(engine: Engine, call: Call, environ: Mapping[str, str]) -> str | None:
    """The session of this very conversation, brought up to its end; None if it is not here."""
    try:
        log = checked_log(call.transcript_path, environ)
        return engine.import_conversation(log).session
    except HoldfastError:
        return None  # nothing was said in it yet


def _how_to_ask(engine: Engine) -> str:
    command = [*program(), "--home", str(engine.home), "--agent", engine.agent, "search"]
    return f'To look up more of it, run: {shlex.join(command)} "what to look for"'
