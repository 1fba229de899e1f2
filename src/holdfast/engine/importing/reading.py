"""A file of another program → its messages, conversation by conversation.

Promise: whatever can be read is read, in the order of the file, and what cannot is named; a
damaged line costs itself, a half-written last one waits for its rest; of a log that only grows
no line is read twice (``tests/engine/test_importing.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Final

from holdfast.engine.importing.files import Line, Opened
from holdfast.engine.importing.shapes import Heard, Source, Told, Trouble
from holdfast.errors import InvalidMessage, UsageError
from holdfast.formats.logs import LogFormat, Recorded, read_logs
from holdfast.formats.logs.arrays import elements_of
from holdfast.formats.logs.chatgpt import read_chatgpt
from holdfast.formats.logs.claude_code_lines import ClaudeCodeLines, is_of_subagent
from holdfast.formats.logs.claude_export import read_claude_export
from holdfast.formats.logs.codex import Codex, is_surely_codex
from holdfast.formats.logs.documents import read_conversation, read_list
from holdfast.formats.logs.kinds import Kind, recognise
from holdfast.formats.logs.openclaw import OpenClaw
from holdfast.formats.logs.recorded import Problems, Spoken, read_wires
from holdfast.formats.logs.said import About, LineReader, Said, Talk
from holdfast.text import one_line
from holdfast.types import Json, Message

__all__ = ["Reading"]

_LOOKED_AT: Final = 200
"""Lines at the beginning of a file in which it must show what it is."""
_LARGEST_DOCUMENT: Final = 256 << 20
_DECODER: Final = json.JSONDecoder()

_SOURCES: Final[dict[Kind, Source]] = {
    "claude_code": "claude-code",
    "codex": "codex",
    "openclaw": "openclaw",
}


class Reading:
    """One look at one stream. ``offset`` tells how far it went."""

    def __init__(self, stream: Opened, *, start: int = 0, size: int = 0, talk: str = "") -> None:
        """``talk``: the conversation that is read on, if ``start`` is not the beginning."""
        self._stream = stream
        self._talk_before = talk
        self._start = start
        self._size = size
        self.offset = start
        self.has_keys = True
        """Whether every message had a name of its own: only then a log can be read on."""
        self.trouble = Trouble()
        self.left: dict[str, dict[str, int]] = {}
        self._counts: dict[str, int] = {}
        self._counted: About | None = None
        self._ids: dict[str, int] = {}

    def told(self) -> Iterator[Told]:
        """All messages, those of a conversation one after the other."""
        if self._stream.first() == b"[":
            yield from self._array()
            return
        yield from self._logged()

    # ── one value after the other ───────────────────────────────────────────────────────────

    def _array(self) -> Iterator[Told]:
        self.has_keys = False  # an array is written anew, not continued
        messages: list[Json] = []
        try:
            for element in elements_of(self._stream.pieces()):
                kind = recognise(element)
                if kind == "chatgpt":
                    yield from self._talk("chatgpt", read_chatgpt(element))
                elif kind == "claude_export":
                    yield from self._talk("claude", read_claude_export(element))
                elif kind == "conversation":
                    yield from self._recorded(read_conversation(element, 1))
                elif kind == "messages":
                    yield from self._recorded(read_list(element, 1))
                elif kind == "message":
                    messages.append(element)
                else:
                    self._leave("openai", "values that are no conversation")
        except InvalidMessage as error:
            self.trouble.add(f"{self._stream.name}: {error.message}")
        if messages:
            yield from self._recorded(read_list(messages, 1))

    def _talk(self, source: Source, talk: Talk) -> Iterator[Told]:
        self._leave_all(source, talk.left.counts)
        talk.about.id = talk.about.id or self._own_id("conversation")
        if not talk.said:
            self._leave(source, "conversations in which nobody says anything")
        for said in talk.said:
            yield from self._heard(source, talk.about, talk.format, said)

    # ── lines ───────────────────────────────────────────────────────────────────────────────

    def _logged(self) -> Iterator[Told]:
        lines = self._stream.lines(self._start)
        head: list[Line] = []
        known = _kind_before(self._talk_before) if self._start else None
        kind, is_subagent = known or self._recognised(lines, head)
        reader = _reader(kind, is_subagent=is_subagent, continues=self._start > 0)
        if reader is None or kind is None:
            yield from self._generic(chain(head, lines))
            return
        source = _SOURCES[kind]
        for line in chain(head, lines):
            for value in self._values(line):
                for said in reader.add(value) if isinstance(value, dict) else ():
                    yield from self._heard(source, reader.about, reader.format, said)
        self._leave_all(source, reader.left.counts)

    def _recognised(self, lines: Iterator[Line], head: list[Line]) -> tuple[Kind | None, bool]:
        """Whose log this is, by its first lines; and whether a subagent's, who is the only one
        that speaks then."""
        kind: Kind | None = None
        likely: Kind | None = None
        is_side = False
        for line in lines:
            head.append(line)
            for value in _parsed(line.data or b"")[0]:
                found = recognise(value)
                if found == "codex" and not is_surely_codex(value):
                    likely, found = likely or found, None
                kind = kind or found
                if kind is not None and kind != "claude_code":
                    return kind, False
                side = is_of_subagent(value) if isinstance(value, dict) else None
                if side is False:
                    return kind, False
                is_side = is_side or side is True
            if len(head) >= _LOOKED_AT:
                break
        return kind or likely, is_side

    def _values(self, line: Line) -> Sequence[Json]:
        if line.data is None:
            self.offset = line.end
            self.trouble.add(f"{self._stream.name}: a line of more than 64 MB is left out")
            return ()
        values, is_whole = _parsed(line.data)
        if not is_whole:
            if not line.is_ended:
                return ()  # somebody is writing it: the next look reads it
            shown = one_line(line.data[:200].decode("utf-8", "replace"), 60)
            self.trouble.add(
                f"{self._stream.name}: a line before byte {line.end:,} is no JSON ({shown})"
            )
        self.offset = line.end
        return values

    # ── everything else ─────────────────────────────────────────────────────────────────────

    def _generic(self, lines: Iterator[Line]) -> Iterator[Told]:
        self.has_keys = False
        name = Path(self._stream.name).name.split(".")[0]
        try:
            for recorded in read_logs(self._texts(lines), name=name):
                yield from self._recorded(recorded)
        except InvalidMessage as error:
            self.trouble.add(error.message)

    def _texts(self, lines: Iterator[Line]) -> Iterator[str]:
        is_first = True
        for line in lines:
            if line.data is None:
                self.trouble.add(f"{self._stream.name}: a line of more than 64 MB is left out")
                continue
            if is_first and self._size > _LARGEST_DOCUMENT and not _parsed(line.data)[1]:
                raise UsageError(
                    f"{self._stream.name} is one JSON document of {self._size:,} bytes; at most "
                    f"{_LARGEST_DOCUMENT:,} are read.",
                    hint="Write one conversation per line, or an array of conversations.",
                )
            is_first = False
            yield line.data.decode("utf-8", "replace")

    def _recorded(self, recorded: Recorded) -> Iterator[Told]:
        about = About(id=self._own_id(recorded.id))
        for problem in recorded.problems:
            self.trouble.add(f"{self._stream.name}: {problem}")
        times = recorded.at or (None,) * len(recorded.messages)
        for message, at in zip(recorded.messages, times, strict=True):
            heard = Heard(message=message, key=self._key(about, message), at=at)
            yield Told(source=recorded.format, about=about, heard=heard)

    def _own_id(self, id: str) -> str:
        """Ids like ``1`` are those of one file: with its path they are those of all."""
        number = self._ids[id] = self._ids.get(id, 0) + 1
        return f"{self._stream.name}#{id}" + (f"-{number}" if number > 1 else "")

    # ── one message ─────────────────────────────────────────────────────────────────────────

    def _heard(self, source: Source, about: About, format: LogFormat, said: Said) -> Iterator[Told]:
        problems = Problems()
        spoken = Spoken(where=f"{self._stream.name}: a message", wire=said.wire, at=said.at)
        messages, _ = read_wires([spoken], format, problems)
        for problem in problems.drain():
            self.trouble.add(problem)
        for message in messages:
            key = said.key
            if not key:
                self.has_keys = False
                key = self._key(about, message)
            heard = Heard(message=message, key=key, at=said.at)
            yield Told(source=source, about=about, heard=heard)

    def _key(self, about: About, message: Message) -> str:
        """What a message without a name is known by: what it says, and how often that was said
        before in its conversation."""
        written = json.dumps(message.to_json(), sort_keys=True, ensure_ascii=True)
        digest = sha256(written.encode()).hexdigest()[:32]
        if about is not self._counted:
            self._counted, self._counts = about, {}
        before = self._counts.get(digest, 0)
        self._counts[digest] = before + 1
        return f"{digest} {before}"

    def _leave(self, source: Source, what: str) -> None:
        self._leave_all(source, {what: 1})

    def _leave_all(self, source: Source, counts: dict[str, int]) -> None:
        held = self.left.setdefault(source, {})
        for what, count in counts.items():
            held[what] = held.get(what, 0) + count


def _kind_before(talk: str) -> tuple[Kind, bool] | None:
    """Whose log was read until here, and whether a subagent's: what comes next may not tell."""
    source, _, id = talk.partition(":")
    kinds: dict[str, Kind] = {source: kind for kind, source in _SOURCES.items()}
    return (kinds[source], "#" in id) if source in kinds else None


def _reader(kind: Kind | None, *, is_subagent: bool, continues: bool) -> LineReader | None:
    made: dict[Kind, Callable[[], LineReader]] = {
        "claude_code": lambda: ClaudeCodeLines(subagents=is_subagent, continues=continues),
        "codex": Codex,
        "openclaw": OpenClaw,
    }
    return made[kind]() if kind in made else None


def _parsed(data: bytes) -> tuple[list[Json], bool]:
    """The values of a line, and whether that is all of it: usually one, more where a line break
    was lost."""
    text = data.decode("utf-8", "replace").strip("\0\ufeff \t\r\n")
    values: list[Json] = []
    position = 0
    try:
        while position < len(text):
            value, position = _DECODER.raw_decode(text, position)
            values.append(value)
            while position < len(text) and text[position] in " \t\r\0":
                position += 1
    except (ValueError, RecursionError):
        return values, False
    return values, True
