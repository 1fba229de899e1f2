"""One pass over the lines of a log: each value to the reader of its kind.

Promise: conversations come in the order of the log (those that are spread over lines when the
log ends), each with an id of its own; no line that could not be read is passed over in
silence; a log in which nothing is a conversation is an error (``tests/foundation/test_logs.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from holdfast.errors import InvalidMessage
from holdfast.formats.logs.chatgpt import read_chatgpt
from holdfast.formats.logs.claude_code import ClaudeCode
from holdfast.formats.logs.claude_export import read_claude_export
from holdfast.formats.logs.codex import Codex, begins_codex
from holdfast.formats.logs.documents import read_conversation, read_lines, read_list
from holdfast.formats.logs.kinds import KNOWN, recognise
from holdfast.formats.logs.openclaw import OpenClaw, begins_openclaw
from holdfast.formats.logs.recorded import Problems, Recorded
from holdfast.formats.logs.said import Talk, recorded_of
from holdfast.formats.logs.tellings import Telling
from holdfast.formats.logs.transcripts import Transcript
from holdfast.formats.logs.values import Broken, read_values
from holdfast.formats.wire import Wire
from holdfast.text import cut, one_line
from holdfast.types import Json

__all__ = ["read_logs"]

_LONGEST_ID = 200


def read_logs(lines: Iterable[str], *, name: str) -> Iterator[Recorded]:
    """The conversations in the lines of a log; ``name`` is for those that have no id.

    Lines end where a file's do: ``str.splitlines`` would also split inside JSON strings.
    Raises ``InvalidMessage`` when the lines are over and held no conversation. A problem that
    belongs to no conversation is told with the next one, or with the last.
    """
    ids = _Ids(name)
    problems = Problems()
    held: Recorded | None = None  # back by one, so that the last can tell what came after it
    for found in _Log(problems).read(lines):
        if held is not None:
            yield held
        told = (*problems.drain(), *found.problems)
        held = replace(found, id=ids.unique(found.id), problems=told)
    if held is None:
        raise _nothing_found(name, problems.drain())
    yield replace(held, problems=(*held.problems, *problems.drain()))


class _Ids:
    """Ids that have not been given yet."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._given: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        base = cut(wanted.strip(), _LONGEST_ID) or self._name
        if base not in self._given:
            self._given[base] = 1
            return base
        while True:
            self._given[base] += 1
            candidate = f"{base}-{self._given[base]}"
            if candidate not in self._given:
                self._given[candidate] = 1
                return candidate


class _Log:
    """What has been read of a log and is not yet a whole conversation."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._messages: list[tuple[int, Wire]] = []
        self._claude_code = ClaudeCode()
        self._transcript = Transcript()
        self._tellings = {"codex": Telling(Codex), "openclaw": Telling(OpenClaw)}

    def read(self, lines: Iterable[str]) -> Iterator[Recorded]:
        for found in read_values(lines):
            if isinstance(found, Broken):
                yield from self._broken(found)
            else:
                yield from self._value(found.line, found.value)
        if self._messages:
            yield read_lines(self._messages)
        yield from self._transcript.finish()
        yield from self._claude_code.finish()
        for telling in self._tellings.values():
            yield from telling.finish()

    def _broken(self, found: Broken) -> Iterator[Recorded]:
        lines = (
            f"line {found.line}" if found.line == found.last else f"lines {found.line}-{found.last}"
        )
        saved = f"; {len(found.saved)} whole messages of it are used" if found.saved else ""
        self._problems.add(f"{lines}: {found.why}{saved}")
        if found.saved:
            yield read_list(found.saved, found.line)

    def _value(self, line: int, value: Json) -> Iterator[Recorded]:
        match recognise(value):
            case "conversation":
                yield read_conversation(value, line)
            case "messages":
                yield read_list(value, line)
            case "several":
                for each in value:
                    yield from self._one_of_several(line, each)
            case "message":
                self._messages.append((line, value))
            case "claude_code":
                self._claude_code.add(line, value)
            case "holdfast" | "codex" | "openclaw" | "chatgpt" | "claude_export" as kind:
                yield from self._of_program(kind, line, value)
            case None:
                self._problems.add(
                    f"line {line}: {_described(value)} is not part of a conversation"
                )

    def _of_program(self, kind: str, line: int, value: Wire) -> Iterator[Recorded]:
        if kind == "chatgpt":
            yield _whole(read_chatgpt(value), line)
        elif kind == "claude_export":
            yield _whole(read_claude_export(value), line)
        elif kind == "holdfast":
            if value["type"] == "session":  # transcripts one after the other in one log
                yield from self._transcript.finish()
                self._transcript = Transcript()
            self._transcript.add(line, value)
        else:
            if begins_codex(value) or begins_openclaw(value):
                yield from self._tellings[kind].finish()
            self._tellings[kind].add(line, value)

    def _one_of_several(self, line: int, value: Json) -> Iterator[Recorded]:
        if recognise(value) == "several":  # arrays of arrays would take us as deep as they are
            self._problems.add(f"line {line}: a list of lists of conversations is not read")
        else:
            yield from self._value(line, value)


def _whole(talk: Talk, line: int) -> Recorded:
    said = [(line, each) for each in talk.said]
    return recorded_of(said, id=talk.about.id, format=talk.format, left=talk.left)


def _described(value: Json) -> str:
    if isinstance(value, dict):
        keys = one_line(", ".join(list(value)[:8]), 80)
        return f"an object with the keys {keys}" if value else "an empty object"
    return f"a {type(value).__name__}" if value != [] else "an empty list"


def _nothing_found(name: str, problems: tuple[str, ...]) -> InvalidMessage:
    shown = one_line(name, 80)
    if not problems:
        return InvalidMessage(
            f"{shown} holds no conversation: it is empty, or nobody says anything in it.",
            hint=f"Known are: {'; '.join(KNOWN)}.",
        )
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    return InvalidMessage(
        f"{shown} holds no conversation that can be read: {'; '.join(problems[:3])}{more}.",
        hint=f"Known are: {'; '.join(KNOWN)}.",
    )
