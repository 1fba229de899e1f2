"""What the extractor is given and gives, and the turns of a conversation worth reading.

Promise: bounded work for any message, and nothing that came out of memory goes back into it:
fenced recalls, lines with our comment, reminders of a harness, code and logs are no speech
(``tests/context/test_extract_safety.py``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from holdfast.context.extract.commands import builds
from holdfast.fencing import without_fenced
from holdfast.importance import own_words
from holdfast.retain import RetainKind, RetainLine, Trust
from holdfast.text import cut, cut_tail
from holdfast.types import Message, Text, ToolCall, ToolResult

__all__ = [
    "UNNAMED",
    "Exchange",
    "Extraction",
    "Heard",
    "KeyClause",
    "Turn",
    "exchanges",
    "is_chinese",
    "name_of",
    "open_from",
    "without_recalled",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One message with the id it is cited by and the time it was said.

    ``speaker`` is the person's name where it is known; the ``name`` field of the message is
    taken otherwise.
    """

    entry: str
    at: datetime
    message: Message
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Memory lines, and the entries that were read for them.

    Not read are entries in which there is nothing to read without eyes or their provider's
    key: only images, reasoning or opaque parts.
    """

    lines: tuple[RetainLine, ...]
    read: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyClause:
    """One statement worth keeping, with where it was said and how much it weighs (0 to 1)."""

    text: str
    sources: tuple[str, ...]
    score: float
    entity: str
    kind: RetainKind
    trust: Trust
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one speaker said in one message. ``in_run`` marks turns around work with tools:
    of those only rules, decisions and requests to remember are memories of a conversation."""

    place: int
    entry: str
    at: datetime
    speaker: str
    role: str
    text: str
    in_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What follows from one message of the user: the turns spoken, and the work with tools."""

    heard: tuple[Heard, ...]
    turns: tuple[Turn, ...]
    is_run: bool


_RUN: Final = 4  # so many commands make an exchange a piece of work
_LONG_RUN: Final = 12  # so many calls of any tool do too
_TOTAL: Final = 400_000  # characters of speech read in one extraction, at most
_LEAST: Final = 2_000  # of one message, however many there are
_MOST: Final = 16_000
_DOCUMENT: Final = 1_500  # above this, tagged text is a document and its first block the request


def exchanges(heard: Sequence[Heard], *, chinese: bool) -> list[Exchange]:
    """The conversation, parted at the messages of its users."""
    limit = max(_LEAST, min(_MOST, _TOTAL // max(1, len(heard))))
    parts: list[list[Heard]] = []
    for one in heard:
        if not parts or _begins(one.message):
            parts.append([])
        parts[-1].append(one)
    found: list[Exchange] = []
    place = 0
    for part in parts:
        is_run = _is_run(part)
        turns = []
        for one in part:
            if text := _spoken(one.message, limit):
                turns.append(_turn(one, place, text, is_run, chinese))
                place += 1
        found.append(Exchange(heard=tuple(part), turns=tuple(turns), is_run=is_run))
    return found


def _is_run(part: Sequence[Heard]) -> bool:
    calls = [call for one in part for call in one.message.tool_calls]
    return len(calls) >= _LONG_RUN or sum(map(builds, calls[:_LONG_RUN])) >= _RUN


def _turn(one: Heard, place: int, text: str, is_run: bool, chinese: bool) -> Turn:
    role = "user" if one.message.role == "user" else "assistant"
    named = one.speaker or name_of(one.message)
    speaker = named if named.strip() else _unnamed(role, chinese)
    return Turn(
        place=place,
        entry=one.entry,
        at=one.at,
        speaker=speaker,
        role=role,
        text=text,
        in_run=is_run,
    )


def name_of(message: Message) -> str:
    """The name that a message carries, wherever its provider puts it."""
    held = [message.extra, *message.extra.values()]
    given = [each.get("name") for each in held if isinstance(each, Mapping)]
    return next((name for name in given if isinstance(name, str)), "")


UNNAMED: Final = frozenset({"user", "assistant", "用户", "助手"})


def _unnamed(role: str, chinese: bool) -> str:
    if chinese:
        return "用户" if role == "user" else "助手"
    return role


def open_from(turns: Sequence[Turn]) -> int:
    """The place from which questions of the user are still open: behind the last answer.

    0 where people with names speak to each other: there a question is part of the talk.
    """
    if not any(turn.speaker in UNNAMED for turn in turns):
        return 0
    answered = [turn.place for turn in turns if turn.role != "user"]
    asked = [turn.place for turn in turns if turn.role == "user"]
    return max([*answered, *asked[-1:]], default=0)


def _begins(message: Message) -> bool:
    """Whether the user speaks; what a harness says beside a result goes with the call."""
    speaks = any(isinstance(part, Text) and part.text.strip() for part in message.parts)
    return message.role == "user" and speaks and not message.tool_results


def _spoken(message: Message, limit: int) -> str:
    """What is said in a message to a person: not by tools, not beside a call of one."""
    works = any(isinstance(part, ToolCall | ToolResult) for part in message.parts)
    if message.role != "user" and (works or message.role != "assistant"):
        return ""
    texts = [part.text for part in message.parts if isinstance(part, Text) and part.text]
    return own_words(_without_memory("\n".join(_bounded(text, limit) for text in texts))).strip()


def _bounded(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return cut(text, limit * 3 // 4) + "\n" + cut_tail(text, limit // 4)


# ── what is not speech ──────────────────────────────────────────────────────────────────────

_NOT_SPEECH: Final = re.compile(
    r"<(memory|memories|recall|recalled|recalled[_-]memory|holdfast|context|system-reminder"
    r"|environment_details|environment_context|user_info|file_contents?"
    r"|documents?)\b[^<>]{0,300}>",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"^[ \t]{0,8}<(/?)([A-Za-z][\w-]{1,40})[^<>\n]{0,200}>", re.MULTILINE)
_OUR_LINE: Final = re.compile(r"^.{0,2000}<!-- hf .*$", re.MULTILINE)


def _without_memory(text: str) -> str:
    return _request_of(without_recalled(text, _NOT_SPEECH))


def without_recalled(text: str, blocks: re.Pattern[str]) -> str:
    """The text without what came out of memory: fences, memory lines, and tagged ``blocks``."""
    text = without_fenced(text)
    if "<" not in text:
        return text
    text = _OUR_LINE.sub(" ", text)
    kept: list[str] = []
    done = 0
    while found := blocks.search(text, done):
        kept.append(text[done : found.start()])
        closed = re.compile(f"</{found[1]}>", re.IGNORECASE).search(text, found.end())
        if closed is None:
            done = len(text)  # never closed: all of it may be
            break
        done = closed.end()
    kept.append(text[done:])
    return "".join(kept)


def _request_of(text: str) -> str:
    """Of a long text in tagged blocks the first block: the others instruct, they do not tell."""
    if len(text) <= _DOCUMENT:
        return text
    tags = list(_TAG.finditer(text))
    opened = next((tag for tag in tags if not tag[1]), None)
    if opened is None:
        return text
    closed = next((tag for tag in tags if tag[1] and tag[2] == opened[2]), None)
    if closed is None or len(tags) < 4:
        return text
    return text[: opened.start()] + text[opened.end() : closed.start()]


_LETTERS: Final = re.compile(r"[A-Za-z]+|[\u3400-\u9fff]")


def is_chinese(text: str) -> bool:
    """Whether a text is to be read as Chinese: most of its words are."""
    words = _LETTERS.findall(text[:2_000])
    return sum(1 for word in words if word[0] >= "\u3400") * 2 > len(words)
