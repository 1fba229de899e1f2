"""Recorded conversations of other programs, read from the lines of a log. Pure.

What a log is, is seen from its content, line by line: conversations as JSON lines or one JSON
document (OpenAI, Anthropic, requests with their answers), one message per line, the session
logs of Claude Code, Codex and OpenClaw, the exports of ChatGPT and claude.ai, transcripts and
exports of Holdfast itself. ``read_logs`` gives whole conversations, to be replayed; the line
readers (``said``) give one message at a time, for whoever brings a log in piece by piece.

Promise: whatever can be read is read, and whatever cannot is named in ``problems`` with its
line; a log of one conversation per line is never held whole; messages go back to their
provider as they were recorded (``tests/foundation/test_logs.py``). Not here: opening files,
and repair of a conversation that was not valid when it was recorded.
"""

from __future__ import annotations

from holdfast.formats.logs.reader import read_logs
from holdfast.formats.logs.recorded import LogFormat, Recorded

__all__ = ["LogFormat", "Recorded", "read_logs"]
