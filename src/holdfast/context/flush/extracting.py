"""Memories by extraction: a model reads flattened text and answers with JSON, no tools at all.

    a hosted model     reads numbered turns in stretches that fit, and gives {turn, who, fact};
                       every fact is aligned to the turn that holds it and grounded there
    a small model      neither chooses nor cites: it rewrites what the rules chose, one statement
                       at a time (three in Chinese, where single ones drift into English), with
                       the turn before for what "it" is; a rewrite that does not stand keeps the
                       line of the rules

Where the model gives nothing for a stretch, or the time is up, the lines of the rules stand in.

Promise: every request fits the window; no line of the rules is lost to a bad answer; nothing
usable at all is a failure with its reason (``tests/context/test_flush_extracting.py``). Pure: a
generator.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from holdfast.context.compaction.audit import is_refusal
from holdfast.context.compaction.flatten import Piece, fenced, pack
from holdfast.context.extract import Heard
from holdfast.context.flush.claims import Claim, words_of
from holdfast.context.flush.found import Failed, Flushing, Found, MemorySearch, Spent
from holdfast.context.flush.grounding import Candidate, Grounding, ground, without_subject
from holdfast.context.flush.parsing import facts_in
from holdfast.context.flush.prompting import Language, prompt
from holdfast.context.flush.silence import is_silent
from holdfast.context.flush.turns import Turn, pieces_of, turns_of
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.retain import RetainLine, visible_line
from holdfast.text import cut
from holdfast.types import Json, Message

__all__ = ["RESPONSE_SCHEMA", "extract_flush"]

Price: TypeAlias = Callable[[Message | str], int]

RESPONSE_SCHEMA: Final = "response_schema"
"""The key of ``ModelRequest.extra`` under which a JSON schema for the answer is given."""

_SMALLEST_ROOM: Final = 200
_FAILURES_IN_A_ROW: Final = 3
_AT_ONCE: Final = {"en": 1, "zh": 3}
_REWRITE_CHARS: Final = {"en": 120, "zh": 80}
_CONTEXT_CHARS: Final = 300
_SAME: Final = 0.5
"""Of the content words of a statement, how many its rewrite must have kept."""
_CUT: Final = frozenset({"max_tokens", "length", "max_output_tokens", "model_length"})


def extract_flush(
    *,
    heard: Sequence[Heard],
    rules: Sequence[RetainLine],
    small: bool,
    language: Language,
    price: Price,
    window: int,
    redact: Callable[[str], str],
    max_tokens: int = 2_000,
    max_lines: int = 40,
    max_calls: int = 64,
    beside: Sequence[str] = (),
) -> Flushing:
    """What a model extracts from ``heard``; ``rules`` is what the rules chose, best first.

    ``beside`` is what tools said that is not in ``heard``: who repeats it is trusted as they are.
    """
    turns = turns_of(heard, chinese=language == "zh")
    desk = _Desk(
        turns=turns,
        rules=tuple(rules),
        language=language,
        price=price,
        window=window,
        redact=redact,
        max_tokens=max_tokens,
        max_calls=max_calls,
        beside=tuple(beside),
    )
    if not turns:
        return Failed(mode="extract", reason="there is nothing to read")
    result = _Result()
    yield from (_rewritten(desk, result) if small else _extracted(desk, result, max_lines))
    spent = result.spent
    if not result.usable and not (result.silent and not result.problem):
        return Failed(
            mode="extract",
            reason=result.problem or "nothing that it wrote stands in the conversation",
            calls=spent.calls,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            ungrounded=result.ungrounded,
        )
    return Found(
        mode="extract",
        lines=_in_order(result.lines, turns)[:max_lines],
        ungrounded=result.ungrounded,
        calls=spent.calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        silent=not result.usable,
    )


def _in_order(lines: Sequence[RetainLine], turns: Sequence[Turn]) -> tuple[RetainLine, ...]:
    place = {turn.entry: turn.number for turn in reversed(turns)}
    ordered = sorted(
        lines, key=lambda line: min((place.get(s, 0) for s in line.sources), default=0)
    )
    return tuple(ordered)


@dataclass(slots=True, kw_only=True)
class _Result:
    """What has come of it so far."""

    lines: list[RetainLine] = field(default_factory=list)
    usable: int = 0
    ungrounded: int = 0
    silent: bool = False
    problem: str | None = None
    spent: Spent = field(default_factory=Spent)
    failures: int = 0
    is_over: bool = False

    def fails(self, reason: str) -> None:
        self.problem = self.problem or reason

    def failed(self, reply: ModelReply | ModelFailure | str) -> bool:
        """Count a call; whether it failed, and with it perhaps all that would follow."""
        if isinstance(reply, ModelReply):
            self.spent = self.spent.with_reply(reply)
            self.failures = 0
            return False
        reason = reply.reason if isinstance(reply, ModelFailure) else "it gave no reply"
        error = reply.error if isinstance(reply, ModelFailure) else None
        self.spent = self.spent.with_reply(ModelFailure(reason=reason))
        self.failures += 1
        # Without an exception it was not the model that failed: no time, or no model.
        self.is_over = error is None or self.failures >= _FAILURES_IN_A_ROW
        self.fails(reason)
        return True


_Steps: TypeAlias = Generator[ModelRequest | MemorySearch, ModelReply | ModelFailure | str, None]


# ── a hosted model ──────────────────────────────────────────────────────────────────────────


def _extracted(desk: _Desk, result: _Result, max_lines: int) -> _Steps:
    runs = desk.runs()
    if not runs:
        result.fails("the flush does not fit the window of its model")
        return
    candidates: list[Candidate] = []
    whole: set[int] = set()
    for number, run in enumerate(runs):
        if result.is_over or number >= desk.max_calls:
            break
        reply = yield desk.extraction(run)
        if result.failed(reply) or not isinstance(reply, ModelReply):
            continue
        facts = _facts(reply, result)
        candidates += facts or []
        if facts and reply.stop_reason not in _CUT:
            whole.add(number)
    found, result.ungrounded = ground(
        candidates, desk.turns, redact=desk.redact, max_lines=max_lines, beside=desk.beside
    )
    result.lines, result.usable = list(found), len(found)
    cited = {source for line in found for source in line.sources}
    for number, run in enumerate(runs):
        entries = {piece.entry for piece in run}
        if number not in whole or cited.isdisjoint(entries):
            result.lines += _instead(desk.rules, entries, cited)


def _facts(reply: ModelReply, result: _Result) -> list[Candidate] | None:
    """The facts of a reply; none with its reason if it is no answer."""
    text = reply.message.text
    if is_silent(text):
        result.silent = True
        return None
    facts = facts_in(text)
    if facts is not None:
        result.silent = result.silent or not facts
        return facts
    if reply.message.tool_calls:
        result.fails("it called a tool")
    elif not text.strip():
        result.fails("its reply was empty")
    else:
        result.fails("it refused" if is_refusal(text) else "its reply was no JSON")
    return None


def _instead(
    rules: Sequence[RetainLine], entries: set[str], cited: set[str]
) -> Iterator[RetainLine]:
    """The lines of the rules for a stretch that the model did not finish."""
    for line in rules:
        if not entries.isdisjoint(line.sources) and not cited.issuperset(line.sources):
            yield line


# ── a small model ───────────────────────────────────────────────────────────────────────────


def _rewritten(desk: _Desk, result: _Result) -> _Steps:
    """The lines of the rules, in better words where the model found them."""
    grounding = Grounding(desk.turns, desk.beside)
    # What came from a tool is a record, exact as it is.
    queue = [line for line in desk.rules if line.trust != "tool"]
    if not queue:
        result.fails("there is nothing to rewrite")
    better: dict[int, RetainLine] = {}
    size = _AT_ONCE[desk.language]
    for start in range(0, len(queue), size):
        batch = queue[start : start + size]
        request = desk.rewriting(batch)
        if result.is_over or result.spent.calls >= desk.max_calls:
            break
        if not desk.fits(request):
            result.fails("the flush does not fit the window of its model")
            continue
        reply = yield request
        if result.failed(reply) or not isinstance(reply, ModelReply):
            continue
        facts = _facts(reply, result) or []
        for line, fact in zip(batch, facts if len(facts) == len(batch) else (), strict=False):
            new = _better(line, fact.text, grounding, desk)
            if new is None:
                result.ungrounded += 1
            else:
                better[id(line)] = new
    result.usable, result.silent = len(better), False
    result.lines = [better.get(id(line), line) for line in desk.rules]


def _better(line: RetainLine, text: str, grounding: Grounding, desk: _Desk) -> RetainLine | None:
    """The line in the model's words, if they say the same and stand in its sources."""
    text = visible_line(desk.redact(text))
    if not text or len(text) >= _REWRITE_CHARS[desk.language]:
        return None  # cut at its limit, most likely
    old, new = Claim(line.text), Claim(text)
    keeps = old.numbers <= new.numbers and len(old.days) <= len(new.days) and old.exact <= new.exact
    # Of several statements at once a small model may answer with the one before.
    words = words_of(line.text)
    keeps = keeps and len(words & words_of(text)) >= len(words) * _SAME
    shown = without_subject(text, line.entity or "").lstrip(" :：")
    is_longer = len(shown) > len(line.text) + len(line.entity or "") + 2
    if not keeps or is_longer or not grounding.stands(text, line.sources):
        return None
    return replace(line, text=shown)


# ── the requests ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Desk:
    """Requests within the window of the model."""

    turns: tuple[Turn, ...]
    rules: tuple[RetainLine, ...]
    language: Language
    price: Price
    window: int
    redact: Callable[[str], str]
    max_tokens: int
    max_calls: int
    beside: tuple[str, ...]

    def fits(self, request: ModelRequest) -> bool:
        return self._cost(request) + (request.max_tokens or 0) <= self.window

    def _cost(self, request: ModelRequest) -> int:
        asked = self.price(request.system or "") + self.price(str(dict(request.extra)))
        return asked + sum(self.price(message) for message in request.messages)

    def runs(self) -> list[list[Piece]]:
        """The conversation in stretches that fit; shorter pieces if it takes too many."""
        room = (self.window - self._cost(self.extraction(())) - self.max_tokens) * 9 // 10
        return pack(pieces_of(self.turns), room, self.price) if room >= _SMALLEST_ROOM else []

    def extraction(self, run: Sequence[Piece]) -> ModelRequest:
        fact: dict[str, Json] = {
            "type": "object",
            "properties": {
                "turn": {"type": "integer"},
                "who": {"type": "string"},
                "fact": {"type": "string", "maxLength": 240},
            },
            "required": ["turn", "who", "fact"],
            "additionalProperties": False,
        }
        facts: dict[str, Json] = {"type": "array", "items": fact}
        return self._request("extract", [piece.text for piece in run], facts, self.max_tokens)

    def rewriting(self, batch: Sequence[RetainLine]) -> ModelRequest:
        fact: dict[str, Json] = {"type": "string", "maxLength": _REWRITE_CHARS[self.language]}
        if self.language == "zh":
            fact["pattern"] = "^[\u3400-\u9fff]"  # else it drifts into English
        rows: list[str] = []
        for number, line in enumerate(batch, 1):
            rows += self._context(line)
            rows.append(f"{number}. {line.entity or '?'}: {line.text}")
        size = len(batch)  # a small model that is not stopped repeats itself until it is cut
        many = {"minItems": size, "maxItems": size}
        facts: dict[str, Json] = {"type": "array", "items": fact, **many}
        return self._request("rewrite", rows, facts, min(self.max_tokens, 80 * size + 40))

    def _context(self, line: RetainLine) -> Iterator[str]:
        """The message in which it was said, and the one before."""
        place = next((n for n, t in enumerate(self.turns) if t.entry in line.sources), None)
        if place is None:
            return
        for turn in self.turns[max(0, place - 1) : place + 1]:
            text = " ".join(cut(turn.text, _CONTEXT_CHARS).split())
            yield f"[#{turn.number} {turn.speaker}] {text}"

    def _request(
        self, name: str, rows: Sequence[str], facts: dict[str, Json], max_tokens: int
    ) -> ModelRequest:
        schema = {
            "type": "object",
            "properties": {"facts": facts},
            "required": ["facts"],
            "additionalProperties": False,
        }
        system = prompt("extract" if name == "extract" else "rewrite", self.language)
        block = "conversation" if name == "extract" else "statements"
        return ModelRequest(
            system=system,
            messages=(Message.of("user", fenced("\n".join(rows), block)),),
            max_tokens=max_tokens,
            extra={RESPONSE_SCHEMA: schema},
        )
