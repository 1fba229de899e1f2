"""Session logs of Claude Code: a tree of lines, of which one path is the conversation.

Each line names its parent. A rewind leaves a branch behind; subagents talk in side chains; a
compaction starts a new root that tells its logical parent; an answer takes one line per block,
all with the id of the answer; the result of a call hangs under the line of its call, so of
parallel calls all results but one are off the path that leads back from the last line.

Promise: each session gives the conversation that leads to its last line, with every answer
whole and every result of its calls; what was left out is counted, what is damaged is bridged
and told (``tests/foundation/test_logs_claude_code.py``). What the program wrote for
itself (meta lines, snapshots, progress) is no part of the conversation, and its summaries are
only where nothing of what they stand for is in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from holdfast.formats.logs.recorded import (
    Problems,
    Recorded,
    Spoken,
    objects_of,
    read_wires,
    time_of,
)
from holdfast.formats.wire import Wire
from holdfast.types import Json

__all__ = ["ClaudeCode"]

_SPEAKERS: Final = ("user", "assistant")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """What is kept of a line: the tool's own copy of a result, often the larger one, is not."""

    number: int
    parent: str | None
    starts_anew: bool
    at: datetime | None
    message: Wire | None
    is_said: bool
    is_summary: bool

    @property
    def answer_id(self) -> str | None:
        if self.message is None or self.message["role"] != "assistant":
            return None
        return _text(self.message, "id")

    @property
    def answered(self) -> list[str]:
        """The calls of which this line holds the results."""
        blocks = objects_of(self.message.get("content")) if self.message is not None else ()
        return [name for block in blocks if (name := _text(block, "tool_use_id"))]

    @property
    def called(self) -> list[str]:
        blocks = objects_of(self.message.get("content")) if self.message is not None else ()
        return [name for block in blocks if "input" in block and (name := _text(block, "id"))]


@dataclass(slots=True, kw_only=True)
class _Chain:
    """The lines of one session, or of one subagent in it."""

    session: str
    agent: str | None
    is_side: bool
    lines: list[_Line] = field(default_factory=list)
    by_uuid: dict[str, int] = field(default_factory=dict)
    has_parents: bool = False
    problems: Problems = field(default_factory=Problems)
    failures: int = 0

    @property
    def said(self) -> int:
        return sum(line.message is not None for line in self.lines)


class ClaudeCode:
    """The sessions of a log, as its lines come. A session can be told only when all are there:
    its last line decides which branch was the conversation."""

    def __init__(self) -> None:
        self._chains: dict[tuple[str, bool, str | None], _Chain] = {}
        self._session = ""

    def add(self, number: int, value: Wire) -> None:
        self._session = _text(value, "sessionId") or _text(value, "session_id") or self._session
        is_side = value.get("isSidechain") is True or bool(_text(value, "parent_tool_use_id"))
        agent = (_text(value, "agentId") or _text(value, "parent_tool_use_id")) if is_side else None
        key = (self._session, is_side, agent)
        chain = self._chains.get(key)
        if chain is None:
            chain = _Chain(session=self._session, agent=agent, is_side=is_side)
            self._chains[key] = chain
        _add(chain, number, value)

    def finish(self) -> Iterator[Recorded]:
        sessions: dict[str, list[_Chain]] = {}
        owners: dict[str, str] = {}
        for chain in self._chains.values():
            sessions.setdefault(chain.session, []).append(chain)
            owners |= dict.fromkeys(chain.by_uuid, chain.session)
        for chains in sessions.values():
            yield from _conversations(chains, owners)


def _add(chain: _Chain, number: int, value: Wire) -> None:
    message = _message(value)
    if message is None and value["type"] in _SPEAKERS:
        chain.problems.add(f"line {number}: a line of the {value['type']} without a message")
        return
    uuid = _text(value, "uuid")
    if uuid is None and message is None:
        return  # titles, snapshots, the queue: beside the conversation
    if uuid is not None:
        if uuid in chain.by_uuid:
            return  # a resumed session repeats what it resumes
        chain.by_uuid[uuid] = len(chain.lines)
    chain.has_parents = chain.has_parents or "parentUuid" in value
    has_failed = value.get("isApiErrorMessage") is True
    chain.failures += has_failed
    chain.lines.append(_line(number, value, message, has_failed=has_failed))


def _line(number: int, value: Wire, message: Wire | None, *, has_failed: bool) -> _Line:
    is_summary = value.get("isCompactSummary") is True
    has_result = message is not None and any(
        "tool_use_id" in block for block in objects_of(message.get("content"))
    )
    is_own = value.get("isMeta") is True or value.get("isVisibleInTranscriptOnly") is True
    return _Line(
        number=number,
        parent=_text(value, "parentUuid") or _text(value, "logicalParentUuid"),
        starts_anew=is_summary or value.get("subtype") == "compact_boundary",
        at=time_of(value),
        message=message,
        is_said=message is not None and not has_failed and (has_result or not is_own or is_summary),
        is_summary=is_summary,
    )


def _message(value: Wire) -> Wire | None:
    match value:
        case {"type": "user" | "assistant", "message": {"role": "user" | "assistant"} as message}:
            return {key: message[key] for key in ("role", "id", "content") if key in message}
        case _:
            return None


def _text(wire: Mapping[str, Json], name: str) -> str | None:
    value = wire.get(name)
    return value if isinstance(value, str) and value else None


# ── which lines are the conversation ────────────────────────────────────────────────────────


def _conversations(chains: Sequence[_Chain], owners: Mapping[str, str]) -> Iterator[Recorded]:
    main = [chain for chain in chains if not chain.is_side and chain.said]
    side = [chain for chain in chains if chain.is_side]
    if not main:  # the log of a subagent: what is a side chain owners is all there is
        for chain in side:
            if chain.said:
                yield _read(chain, owners)
        return
    aside = sum(chain.said for chain in side)
    for chain in main:
        if aside:
            chain.problems.add(f"{aside:,} messages of subagents are left out")
        yield _read(chain, owners)


def _read(chain: _Chain, owners: Mapping[str, str]) -> Recorded:
    chosen = _with_siblings(chain, _path(chain, owners))
    left = sum(line.is_said for index, line in enumerate(chain.lines) if index not in chosen)
    if left:
        chain.problems.add(f"{left:,} messages of branches that were abandoned are left out")
    if chain.failures:
        chain.problems.add(f"{chain.failures:,} notes of failed calls are left out")
    spoken = _merged([chain.lines[index] for index in sorted(chosen)])
    messages, at = read_wires(spoken, "anthropic", chain.problems)
    return Recorded(
        id=f"{chain.session}-{chain.agent}" if chain.agent else chain.session,
        messages=messages,
        format="anthropic",
        at=at,
        problems=chain.problems.drain(),
    )


def _path(chain: _Chain, owners: Mapping[str, str]) -> set[int]:
    """The lines that lead to the last message."""
    if not chain.has_parents:
        return set(range(len(chain.lines)))
    path: set[int] = set()
    index: int | None = max(at for at, line in enumerate(chain.lines) if line.message is not None)
    while index is not None and index not in path:
        path.add(index)
        index = _before(chain, index, owners)
    return path


def _before(chain: _Chain, index: int, owners: Mapping[str, str]) -> int | None:
    line = chain.lines[index]
    previous = index - 1 if index else None
    if line.parent is None:
        # A new root is a new beginning: only a compaction goes on with what came before it.
        return previous if line.starts_anew else None
    if (parent := chain.by_uuid.get(line.parent)) is not None:
        return parent
    if owners.get(line.parent, chain.session) != chain.session:
        return None  # it continues another session of this log
    bridge = "the line before it is taken for it" if previous is not None else "it begins here"
    chain.problems.add(f"line {line.number}: what it follows is not in this log; {bridge}")
    return previous


def _with_siblings(chain: _Chain, path: set[int]) -> set[int]:
    """The path with all lines of its answers and all results of their calls."""
    answers = {chain.lines[index].answer_id for index in path} - {None}
    chosen = path | {index for index, line in enumerate(chain.lines) if line.answer_id in answers}
    called = {call for index in chosen for call in chain.lines[index].called}
    answered = {call for index in chosen for call in chain.lines[index].answered}
    for index, line in enumerate(chain.lines):
        missing = called.intersection(line.answered) - answered
        if missing and index not in chosen:
            chosen.add(index)
            answered |= missing
    return chosen


# ── lines → messages ────────────────────────────────────────────────────────────────────────


class _Turn:
    """A message as it grows by the lines that belong to it."""

    def __init__(self, line: _Line, message: Wire) -> None:
        self._line = line
        self._role = message["role"]
        self._content = message.get("content")  # as it came, while it is of one line
        self._calls = set(line.called)
        self.is_results = _is_results(message)

    def grow(self, line: _Line, message: Wire) -> None:
        """Add the blocks of a further line; a call that was written twice is one call."""
        if not isinstance(self._content, list):
            self._content = _blocks(self._content)
        for block in _blocks(message.get("content")):
            is_call = isinstance(block, dict) and "input" in block
            if not (is_call and _text(block, "id") in self._calls):
                self._content.append(block)
        self._calls.update(line.called)

    def spoken(self) -> Spoken:
        return Spoken(
            where=f"line {self._line.number}: the message",
            wire={"role": self._role, "content": self._content},
            at=self._line.at,
        )


def _merged(lines: Sequence[_Line]) -> list[Spoken]:
    """One message per answer, and one for the results of its calls."""
    turns: list[_Turn] = []
    answers: dict[str, _Turn] = {}
    for line in lines:
        if line.message is None or not line.is_said or (line.is_summary and turns):
            continue
        turn = answers.get(line.answer_id or "")
        if turn is None and turns and turns[-1].is_results and _is_results(line.message):
            turn = turns[-1]
        if turn is not None:
            turn.grow(line, line.message)
            continue
        turns.append(_Turn(line, line.message))
        if line.answer_id is not None:
            answers[line.answer_id] = turns[-1]
    return [turn.spoken() for turn in turns]


def _is_results(message: Wire) -> bool:
    content = message.get("content")
    return (
        message["role"] == "user"
        and isinstance(content, list)
        and bool(content)
        and all(isinstance(each, dict) and each.get("type") == "tool_result" for each in content)
    )


def _blocks(content: Json) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []
