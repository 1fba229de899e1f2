"""The conversation as the flush reads it: numbered turns, each in its speaker's words.

A message of a provider may hold what the user says beside what a tool returned; here they are
two turns with one number. What came out of memory is left out, so that nothing is saved because
it was recalled; so are thinking and system text.

Promise: bounded for any conversation; a piece names its number and who speaks, and nothing in it
can pass for another one (``tests/context/test_flush_agent.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from holdfast.context.compaction.flatten import Piece
from holdfast.context.extract import Heard
from holdfast.context.extract.heard import name_of, without_recalled
from holdfast.importance import own_words
from holdfast.retain import visible_line
from holdfast.text import cut, cut_tail, shorten, strip_hidden
from holdfast.types import Text, ToolResult

__all__ = ["Role", "Turn", "pieces_of", "turns_of"]

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one speaker said in one message.

    ``own`` is what the speaker says in his own words: the text without quotations and code.
    """

    number: int
    entry: str
    at: datetime
    role: Role
    speaker: str
    text: str
    own: str


_TOTAL: Final = 800_000  # characters read of one conversation
_LEAST: Final = 2_000  # of one message, however many there are
_MOST: Final = 60_000


def turns_of(heard: Sequence[Heard], *, chinese: bool = False) -> tuple[Turn, ...]:
    """The turns in order; numbers are those of the messages, from 1."""
    limit = max(_LEAST, min(_MOST, _TOTAL // max(1, len(heard))))
    tools = {call.id: call.name for one in heard for call in one.message.tool_calls}
    found: list[Turn] = []
    for number, one in enumerate(heard, 1):
        for role, speaker, text in _said(one, tools, limit, chinese=chinese):
            own = own_words(text).strip() if role == "user" else text
            found.append(
                Turn(
                    number=number,
                    entry=one.entry,
                    at=one.at,
                    role=role,
                    speaker=speaker,
                    text=text,
                    own=own,
                )
            )
    return tuple(found)


def _said(
    one: Heard, tools: dict[str, str], limit: int, *, chinese: bool
) -> list[tuple[Role, str, str]]:
    message = one.message
    found: list[tuple[Role, str, str]] = []
    if message.role in ("system", "developer"):
        return found
    spoken = "\n".join(part.text for part in message.parts if isinstance(part, Text))
    if text := _read(spoken, limit):
        role = _role(message.role)
        named = one.speaker or name_of(message)
        found.append((role, _name(named) if named.strip() else _unnamed(role, chinese), text))
    for result in (part for part in message.parts if isinstance(part, ToolResult)):
        if text := _read(result.text, limit):
            found.append(("tool", _name(tools.get(result.call_id, "tool")), text))
    return found


def _role(role: str) -> Role:
    if role == "user":
        return "user"
    return "assistant" if role == "assistant" else "tool"


def _name(name: str) -> str:
    """A name that cannot end the bracket it stands in."""
    return visible_line(cut(name, 60).translate(_BRACKETS)) or "?"


_BRACKETS: Final = str.maketrans("[]", "()")


def _unnamed(role: Role, chinese: bool) -> str:
    return {"user": "用户", "assistant": "助手"}.get(role, role) if chinese else role


def _read(text: str, limit: int) -> str:
    text = without_recalled(text, _MEMORY)
    if len(text) > limit:
        text = f"{cut(text, limit * 3 // 4)}\n{cut_tail(text, limit // 4)}"
    return strip_hidden(text)[0].strip()


# ── what was recalled ───────────────────────────────────────────────────────────────────────

_MEMORY: Final = re.compile(
    r"<(memory|memories|recall|recalled|recalled[_-]memory|holdfast|system-reminder)\b[^<>]{0,300}>",
    re.IGNORECASE,
)


# ── as a model is shown it ──────────────────────────────────────────────────────────────────


def pieces_of(turns: Sequence[Turn], *, longest: int = 6_000, of_tools: int = 2_000) -> list[Piece]:
    """One piece for each message, in order: ``[#3 user] …``."""
    found: list[Piece] = []
    for turn in turns:
        limit = of_tools if turn.role == "tool" else longest
        said = f"result of {turn.speaker}" if turn.role == "tool" else turn.speaker
        text = f"[#{turn.number} {said}] {_short(turn.text, limit)}"
        if found and found[-1].number == turn.number:
            last = found.pop()
            text = f"{last.text}\n{text}"
        found.append(Piece(number=turn.number, entry=turn.entry, text=text))
    return found


_NUMBERED: Final = re.compile(r"^(\s{0,8})\[#", re.MULTILINE)


def _short(text: str, limit: int) -> str:
    if len(text) > limit:
        note = f"\n[… {len(text) - limit} characters left out …]\n"
        text = shorten(text, limit * 2 // 3, limit // 3, note)
    return _NUMBERED.sub(r"\1(#", text)
