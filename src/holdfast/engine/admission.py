"""Whether a chat may use memory at all: the rules of ``[scope]``, for search and reading alike.

Promise: what no rule allows is neither searched nor read, whoever asks through which door
(``tests/engine/test_searching_faults.py``); what was said while memory was off is read by no
other conversation (``tests/engine/test_off_sessions.py``).
"""

from __future__ import annotations

from holdfast.engine.rooms import Rooms
from holdfast.errors import PolicyRefused
from holdfast.scope import allowed
from holdfast.sessions.private import OFF, said_in_private
from holdfast.sessions.transcript import Transcript
from holdfast.types import Entry, Scope

__all__ = ["admitted", "disclosed", "refusal"]


def refusal(rooms: Rooms, reader: Scope) -> PolicyRefused | None:
    """Why this reader gets nothing of memory; None if there is nothing against it."""
    rules = rooms.settings.scope
    if allowed(reader, rules.rules, rules.default):
        return None
    if (reader.chat is None) != (reader.chat_type == "direct"):
        return PolicyRefused(
            f"A {reader.chat_type} chat "
            + ("has a name." if reader.chat is None else "has none.")
            + " (scope: nobody else reads its memory.)",
            hint="Name it before the command: holdfast --chat NAME search …",
        )
    return PolicyRefused(
        f'No rule lets a {reader.chat_type} chat read memory (scope.default = "{rules.default}").',
        hint="Allow it in config.toml, beside direct chats, since rules of your own replace the "
        "default one:\n" + _rules("direct", reader.chat_type),
    )


def _rules(*kinds: str) -> str:
    """Rules that allow these kinds of chats, as they are written."""
    return "\n".join(
        f'[[scope.rules]]\naction = "allow"\nmatch = {{ chat_type = "{kind}" }}'
        for kind in dict.fromkeys(kinds)
    )


def admitted(rooms: Rooms) -> None:
    """Refuse whoever no rule lets read memory."""
    if (refused := refusal(rooms, rooms.scope)) is not None:
        raise refused


def disclosed(transcript: Transcript, entry_id: str) -> Entry:
    """The entry, for whoever asks from outside of its conversation.

    Raises:
        PolicyRefused: it was said while memory was off, or memory is off there now.
    """
    entry = transcript.find(entry_id)
    mode = transcript.state().memory_mode
    if mode is None:
        return entry
    if mode == OFF or entry_id in said_in_private(transcript.entries(), mode):
        raise PolicyRefused(
            f"{transcript.name}#{entry_id} was said in a conversation whose memory is off, or was "
            "then: no other conversation reads it.",
            hint=f"Read it as its owner: holdfast sessions show {transcript.name}",
        )
    return entry
