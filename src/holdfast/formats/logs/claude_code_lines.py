"""Session logs of Claude Code, line by line: for those who keep all that was said.

``claude_code`` tells which path through the tree of lines was the conversation, and must hold all
of them for that. Here each line is a message as it comes, also those of a branch that was left
later: a log that grows is read on from where it was left, and whoever reads it in pieces has
read the same as whoever reads it at once.

Promise: as said, and what is left out (subagents, failed calls, summaries of what is there
itself, records of the program) is counted (``tests/foundation/test_logs_sources.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.formats.logs.recorded import LogFormat, moment, objects_of
from holdfast.formats.logs.said import About, Left, Said, key_of, text_in
from holdfast.formats.wire import Wire

__all__ = ["ClaudeCodeLines", "is_of_subagent"]

_SPEAKERS = ("user", "assistant")


def is_of_subagent(value: Wire) -> bool | None:
    """Whether a line is what a subagent said or heard; None if nobody says anything in it."""
    if value.get("type") not in _SPEAKERS or not isinstance(value.get("message"), dict):
        return None
    return value.get("isSidechain") is True or bool(text_in(value, "parent_tool_use_id"))


class ClaudeCodeLines:
    """The lines of one log, as they come."""

    format: LogFormat = "anthropic"

    def __init__(self, *, subagents: bool = False, continues: bool = False) -> None:
        self.about = About()
        self.left = Left()
        self._subagents = subagents
        self._has_spoken = continues

    def add(self, value: Wire) -> Sequence[Said]:
        message = value.get("message")
        kind = value.get("type")
        self._note(value)
        if kind not in _SPEAKERS or not isinstance(message, dict):
            self.left.add(f"records: {kind}")
            return ()
        if (why := self._reason_against(value, message)) is not None:
            self.left.add(why)
            return ()
        content = message.get("content")
        if not content:
            return ()
        self._has_spoken = True
        uuid = text_in(value, "uuid")
        wire: Wire = {"role": message.get("role"), "content": content}
        key = _call_in(message) or key_of(uuid, wire)
        return (Said(wire=wire, key=key, at=moment(value.get("timestamp"))),)

    def _note(self, value: Wire) -> None:
        about = self.about
        about.id = about.id or self._id(value)
        about.project = about.project or text_in(value, "cwd")
        about.began = about.began or moment(value.get("timestamp"))
        if value.get("type") == "summary":
            about.title = text_in(value, "summary") or about.title

    def _id(self, value: Wire) -> str:
        """The session, and of a log of a subagent that subagent: it has a log of its own."""
        session = text_in(value, "sessionId") or text_in(value, "session_id")
        if not self._subagents or not session:
            return session
        return f"{session}#{text_in(value, 'agentId') or 'agent'}" if is_of_subagent(value) else ""

    def _reason_against(self, value: Wire, message: Wire) -> str | None:
        if is_of_subagent(value) and not self._subagents:
            return "messages of subagents"
        if value.get("isApiErrorMessage") is True:
            return "notes of failed calls"
        if value.get("isCompactSummary") is True:
            return "summaries of what is there itself" if self._has_spoken else None
        is_own = value.get("isMeta") is True or value.get("isVisibleInTranscriptOnly") is True
        blocks = objects_of(message.get("content"))
        if is_own and not any("tool_use_id" in block for block in blocks):
            return "messages of the program itself"
        return None


def _call_in(message: Wire) -> str:
    """The call that a line is, if it is nothing else: some are written twice."""
    match message.get("content"):
        case [{"type": "tool_use", "id": str(call)}]:
            return f"call {call}"
        case _:
            return ""
