"""The silent turn: an agent reads its conversation once more and calls the tools of memory.

    the live tools can write memory       the live request, byte for byte, and one message more:
                                          what the provider has cached is read again for little
    they cannot, or it does not fit       a short prompt of our own over numbered turns, in as
                                          many stretches as the window asks for

``memory_write`` and ``memory_retain`` are staged, ``memory_search`` is passed on to whoever drives
this; every other call is refused here, where it would be executed, whatever the request offered.
What was staged is grounded in the end, so nothing is written that the conversation does not hold,
and no file is chosen by a model.

Promise: nothing but requests and searches is ever asked of the driver; calls, characters and
lines are bounded; every request fits the window; whatever the model answers is a result with a
reason (``tests/context/test_flush_agent.py``, ``test_flush_redteam.py``). Pure: a generator.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from holdfast.context.compaction.audit import is_refusal
from holdfast.context.compaction.flatten import Piece, fenced, pack
from holdfast.context.extract import Heard
from holdfast.context.flush.found import Failed, Flushing, Found, MemorySearch, Prefix, Spent
from holdfast.context.flush.grounding import Candidate, ground
from holdfast.context.flush.parsing import Asked, arguments_of, asked_in, statements_in
from holdfast.context.flush.prompting import Language, silent_hint
from holdfast.context.flush.silence import is_silent, without_silence
from holdfast.context.flush.turns import Turn, pieces_of, turns_of
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.retain import visible_line
from holdfast.text import cut
from holdfast.types import Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

__all__ = ["ALLOWED", "WRITING", "agent_flush", "tool_name"]

WRITING: Final = frozenset({"memory_write", "memory_retain"})
SEARCHING: Final = "memory_search"
ALLOWED: Final = WRITING | {SEARCHING}
"""The tools of a flush turn, by their exact names."""

Price: TypeAlias = Callable[[Message | str], int]

_CUT: Final = frozenset({"max_tokens", "length", "max_output_tokens", "model_length"})
_SMALLEST_ROOM: Final = 200
_CALLS_AT_ONCE: Final = 32
_IN_VAIN: Final = 2
"""Replies in a row that only ask for what is refused, or for what is noted already."""
_SEARCHES: Final = 8
_MOST_REFUSED: Final = 50
_SAID_CHARS: Final = 500
_QUERY_CHARS: Final = 400
_FOUND_CHARS: Final = 4_000


def agent_flush(
    *,
    heard: Sequence[Heard],
    prefix: Prefix | None,
    instruction: str,
    system: str,
    tools: Sequence[Mapping[str, Json]],
    price: Price,
    window: int,
    language: Language,
    redact: Callable[[str], str],
    max_calls: int = 8,
    max_chars: int = 16_000,
    max_lines: int = 40,
    max_tokens: int = 2_000,
    beside: Sequence[str] = (),
) -> Flushing:
    """What an agent saves of ``heard``, or why it saved nothing.

    ``tools`` are the schemas of the allowed tools, for the prompt of our own. ``beside`` is what
    tools said that is not in ``heard``: who repeats it is trusted as they are.
    """
    turns = turns_of(heard, chinese=language == "zh")
    if not turns:
        return Failed(mode="agent", reason="there is nothing to read")
    desk = _Desk(price=price, window=window, max_tokens=max_tokens, tools=tuple(tools))
    rounds = desk.rounds(prefix, turns, instruction=instruction, system=system)
    if not rounds:
        return Failed(mode="agent", reason="the flush does not fit the window of its model")
    stage = _Stage(desk=desk, language=language, max_calls=max_calls, max_chars=max_chars)
    yield from _through(rounds, stage, most=max_lines * 2)
    lines, ungrounded = ground(
        stage.staged, turns, redact=redact, max_lines=max_lines, beside=beside
    )
    spent = stage.spent
    said = cut(redact(stage.said), _SAID_CHARS) or None
    if not lines and (stage.staged or stage.problem or not stage.silent):
        problem = "nothing that it wrote stands in the conversation" if stage.staged else None
        return Failed(
            mode="agent",
            reason=problem or stage.problem or "it said nothing to store",
            calls=spent.calls,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            said=said,
            refused=tuple(stage.refused),
            ungrounded=ungrounded,
        )
    return Found(
        mode="agent",
        lines=lines,
        ungrounded=ungrounded,
        calls=spent.calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        said=said,
        refused=tuple(stage.refused),
        silent=not lines,
        unread=tuple(stage.unread),
    )


def _through(rounds: Sequence[_Round], stage: _Stage, *, most: int) -> _Steps:
    """Every stretch in turn; what was not read to its end is noted.

    A model that does not come to the end of one is not asked about the others: rules read them.
    """
    for number, each in enumerate(rounds):
        before = len(stage.staged)
        if stage.problem is not None and stage.is_over:
            stage.unread += each.entries
            continue
        ended_well = yield from _converse(each.request, stage, most=most)
        if not ended_well and (len(rounds) > 1 or len(stage.staged) == before or stage.was_cut):
            stage.unread += each.entries
        if not ended_well:
            stage.is_over, stage.problem = True, stage.problem or "it did not come to an end"
        if stage.spent.calls >= stage.max_calls and number + 1 < len(rounds):
            stage.is_over, stage.problem = True, stage.problem or "it took all its calls"


_Steps: TypeAlias = Generator[ModelRequest | MemorySearch, ModelReply | ModelFailure | str, None]
_Said: TypeAlias = Generator[ModelRequest | MemorySearch, ModelReply | ModelFailure | str, bool]


def _converse(request: ModelRequest, stage: _Stage, *, most: int) -> _Said:
    """One stretch, until the model is done; whether it said that it is."""
    before = len(stage.staged)
    in_vain = 0
    stage.was_cut = False
    while stage.spent.calls < stage.max_calls:
        if not stage.desk.fits(request):
            stage.fails("the flush does not fit the window of its model")
            return False
        reply = yield request
        stage.spent = stage.spent.with_reply(_reply(reply))
        if not isinstance(reply, ModelReply):
            stage.fails(reply.reason if isinstance(reply, ModelFailure) else "it gave no reply")
            stage.is_over = True
            return False
        asked, written = _asked(reply, stage)
        if not asked:
            return stage.ended(reply, staged=len(stage.staged) > before)
        gained = stage.gained
        answers = yield from _answers(asked, stage, most=most)
        if reply.stop_reason in _CUT:
            stage.was_cut = True
            stage.fails("its reply was cut")
            return False
        in_vain = in_vain + 1 if stage.gained == gained else 0
        if in_vain >= _IN_VAIN:
            stage.fails("its calls brought nothing")
        if stage.is_full(most) or in_vain >= _IN_VAIN:
            return False
        request = replace(request, messages=(*request.messages, *_next(written, asked, answers)))
    stage.fails("it took all its calls")
    return False


def _reply(reply: ModelReply | ModelFailure | str) -> ModelReply | ModelFailure:
    return ModelFailure(reason="no reply") if isinstance(reply, str) else reply


# ── what the model asks for ─────────────────────────────────────────────────────────────────


def _asked(reply: ModelReply, stage: _Stage) -> tuple[list[Asked], Message]:
    """The calls of a reply, and the reply as it is sent back: without anything it made up."""
    calls: list[Asked] = []
    parts: list[Part] = []
    ids: set[str] = set()
    for part in reply.message.parts:
        if isinstance(part, ToolCall):
            call_id = part.id or f"flush-{stage.spent.calls}-{len(calls)}"
            if call_id in ids or len(calls) >= _CALLS_AT_ONCE:
                stage.refuses(part.name)
                continue
            ids.add(call_id)
            arguments = arguments_of(part.arguments)
            calls.append(Asked(name=part.name, arguments=arguments, id=call_id))
            parts.append(replace(part, id=call_id))
        elif isinstance(part, ToolResult):
            stage.refuses("tool_result")  # results are given by us
        elif isinstance(part, Text | Thinking | Opaque):
            parts.append(part)
    if not calls:
        calls = asked_in(reply.message.text, allowed=ALLOWED)[:_CALLS_AT_ONCE]
    elif text := without_silence(_text_of(parts)).strip():
        stage.said = text
    return calls, Message(role="assistant", parts=tuple(parts), form=reply.message.form)


def _text_of(parts: Sequence[Part]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _answers(
    asked: Sequence[Asked], stage: _Stage, *, most: int
) -> Generator[MemorySearch, ModelReply | ModelFailure | str, list[str]]:
    answers: list[str] = []
    for call in asked:
        if call.name == SEARCHING and (query := _query(call)) and stage.searches < _SEARCHES:
            stage.searches += 1
            found = yield MemorySearch(query=query)
            answers.append(cut(found, _FOUND_CHARS) if isinstance(found, str) else _NO_SEARCH)
        elif call.name in WRITING and call.arguments is not None:
            answers.append(stage.keep(call, most))
        else:
            stage.refuses(call.name)
            answers.append(_REFUSED)
    if stage.staged or stage.searches:
        answers[-1] = f"{answers[-1]}\n{silent_hint(stage.language)}"
    return answers


_REFUSED: Final = (
    "Refused: in this turn there are only memory_write, memory_retain and memory_search, "
    "called with JSON as their schemas say."
)
_NO_SEARCH: Final = "Nothing can be looked up now."


def _query(call: Asked) -> str:
    query = call.arguments.get("query") if call.arguments is not None else None
    return visible_line(cut(query, _QUERY_CHARS)) if isinstance(query, str) else ""


def _next(written: Message, asked: Sequence[Asked], answers: Sequence[str]) -> list[Message]:
    """The reply and the answers to it, in the form in which it asked."""
    if any(call.id is None for call in asked):
        numbered = [f"{call.name}: {answer}" for call, answer in zip(asked, answers, strict=True)]
        return [written, Message.of("user", "\n".join(numbered))]
    results = [
        Message(
            role="tool",
            parts=(ToolResult(call_id=call.id or "", content=(Text(text=answer),)),),
        )
        for call, answer in zip(asked, answers, strict=True)
    ]
    return [written, *results]


@dataclass(slots=True, kw_only=True)
class _Stage:
    """What has been staged, refused and spent so far."""

    desk: _Desk
    language: Language
    max_calls: int
    max_chars: int
    staged: list[Candidate] = field(default_factory=list)
    chars: int = 0
    searches: int = 0
    refused: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    said: str = ""
    problem: str | None = None
    silent: bool = False
    was_cut: bool = False
    is_over: bool = False

    def refuses(self, name: object) -> None:
        if len(self.refused) < _MOST_REFUSED:
            self.refused.append(visible_line(cut(str(name), 80)) or "?")

    def fails(self, reason: str) -> None:
        self.problem = self.problem or reason

    @property
    def gained(self) -> int:
        """What its calls have brought so far: searches, and statements that differ."""
        return self.searches + len({each.text for each in self.staged})

    def is_full(self, most: int) -> bool:
        return len(self.staged) >= most or self.chars >= self.max_chars

    def keep(self, call: Asked, most: int) -> str:
        """Stage what a call wants to keep, while there is room."""
        statements = statements_in(call.arguments or {})
        if not statements:
            self.refuses(call.name)
            return _REFUSED
        for number, each in enumerate(statements):
            if self.is_full(most) or self.chars + len(each.text) > self.max_chars:
                return f"Noted {number} of {len(statements)}: there is no room for more."
            self.staged.append(each)
            self.chars += len(each.text)
        return f"Noted {len(statements)}."

    def ended(self, reply: ModelReply, *, staged: bool) -> bool:
        """A reply without any call: the end, well or badly."""
        text = reply.message.text
        if is_silent(text):
            self.silent = True
            return True
        self.said = without_silence(text).strip() or self.said
        if staged:
            return reply.stop_reason not in _CUT
        if not text.strip():
            self.fails("its reply was empty")
        elif is_refusal(text):
            self.fails("it refused")
        else:
            self.fails("it answered with text and called no tool of memory")
        return False


# ── the requests ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """One stretch of the conversation, and the request that opens it."""

    request: ModelRequest
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Desk:
    """Requests within the window of the model."""

    price: Price
    window: int
    max_tokens: int
    tools: tuple[Mapping[str, Json], ...]

    def fits(self, request: ModelRequest) -> bool:
        return self.cost(request) + self.max_tokens <= self.window

    def cost(self, request: ModelRequest) -> int:
        tools = json.dumps(list(request.tools), ensure_ascii=False, default=str)
        return (
            self.price(request.system or "")
            + (self.price(tools) if request.tools else 0)
            + sum(self.price(message) for message in request.messages)
        )

    def rounds(
        self, prefix: Prefix | None, turns: Sequence[Turn], *, instruction: str, system: str
    ) -> list[_Round]:
        """How the conversation is put to the model; nothing if it cannot be."""
        if prefix is not None and any(tool_name(tool) in WRITING for tool in prefix.tools):
            request = ModelRequest(
                system=prefix.system,
                tools=prefix.tools,
                messages=(*prefix.messages, Message.of("user", instruction)),
                max_tokens=self.max_tokens,
            )
            if self.fits(request):
                entries = tuple(dict.fromkeys(turn.entry for turn in turns))
                return [_Round(request=request, entries=entries)]
        bare = self._own((), instruction, system)
        # Half as much again for what the model writes and is answered within the turn.
        room = (self.window - self.cost(bare) - self.max_tokens * 3 // 2) * 9 // 10
        if room < _SMALLEST_ROOM:
            return []
        return [
            _Round(
                request=self._own(run, instruction, system),
                entries=tuple(piece.entry for piece in run),
            )
            for run in pack(pieces_of(turns), room, self.price)
        ]

    def _own(self, run: Sequence[Piece], instruction: str, system: str) -> ModelRequest:
        text = fenced("\n".join(piece.text for piece in run), "conversation")
        return ModelRequest(
            system=system,
            tools=self.tools,
            messages=(Message.of("user", f"{text}\n\n{instruction}"),),
            max_tokens=self.max_tokens,
        )


def tool_name(tool: Mapping[str, Json]) -> str:
    """The name of a tool in the schema of any provider."""
    inner = tool.get("function")
    name = inner.get("name") if isinstance(inner, Mapping) else tool.get("name")
    return name if isinstance(name, str) else ""
