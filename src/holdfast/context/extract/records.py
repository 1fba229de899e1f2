"""Memories of work with tools: from what was run and changed, hardly from what was said of it.

A task, the files in its last diff, how the tests ended, what was missing, what other tools
changed; and of the assistant's prose only what it says when the work is handed in, and causes
that an edit follows. Thinking aloud is not memory.

Promise: at most about twenty lines for a run of any length; a line that stands on a tool's
output is trusted as a tool's (``tests/context/test_extract_records.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from holdfast.context.extract.commands import (
    Diffed,
    arguments_of,
    changes_something,
    command_of,
    diffed_files,
    edited_files,
    failed,
    installed,
    may_test,
    missing_modules,
    test_result,
    test_runner,
)
from holdfast.context.extract.heard import Exchange, Heard
from holdfast.context.extract.packing import Piece
from holdfast.context.extract.words import content_words
from holdfast.fencing import without_fenced
from holdfast.importance import own_words
from holdfast.retain import RetainKind, Trust
from holdfast.text import cut
from holdfast.types import Text, ToolCall

__all__ = ["ENDED", "TESTS", "record_pieces"]

TESTS: Final = "tests"
ENDED: Final = " → "  # between a command and how it ended

_MOST: Final = 20
_WIDEST: Final = 220


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One call with what came back."""

    heard: Heard
    call: ToolCall
    answer: Heard | None
    output: str
    ok: bool

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.heard.entry,) if self.answer is None else (self.heard.entry, self.answer.entry)


@dataclass(slots=True, kw_only=True)
class _Records:
    """The pieces found so far, in the order of their weight."""

    place: int
    pieces: list[Piece] = field(default_factory=list)

    def add(
        self,
        kind: RetainKind,
        entity: str,
        text: str,
        *,
        sources: Sequence[str],
        at: datetime,
        trust: Trust = "tool",
        worth: float = 0.5,
    ) -> None:
        text = _fitting(text)
        if text and len(self.pieces) < _MOST:
            self.pieces.append(
                Piece(
                    text=text,
                    entity=entity,
                    kind=kind,
                    trust=trust,
                    worth=worth,
                    sources=tuple(dict.fromkeys(sources)),
                    place=self.place,
                    order=len(self.pieces),
                    at=at,
                )
            )


def record_pieces(exchange: Exchange, place: int) -> list[Piece]:
    """The memories of one exchange's work with tools."""
    steps = _steps(exchange.heard)
    if not steps:
        return []
    records = _Records(place=place)
    if exchange.is_run:
        _task(records, exchange)
    _files(records, steps)
    _tests(records, steps)
    _changes(records, steps)
    _environment(records, steps)
    if exchange.is_run:
        _done(records, exchange, steps)
        _causes(records, steps)
    return records.pieces


def _steps(heard: Sequence[Heard]) -> list[_Step]:
    """Calls with their results; an id used again belongs to the latest call before the result."""
    steps: list[_Step] = []
    waiting: dict[str, int] = {}
    for one in heard:
        for call in one.message.tool_calls:
            waiting[call.id] = len(steps)
            steps.append(_Step(heard=one, call=call, answer=None, output="", ok=False))
        for result in one.message.tool_results:
            if (index := waiting.pop(result.call_id, None)) is not None:
                asked, output = steps[index], without_fenced(result.text)
                steps[index] = _Step(
                    heard=asked.heard,
                    call=asked.call,
                    answer=one,
                    output=output,
                    ok=not failed(output, result.is_error),
                )
    return steps


# ── records ─────────────────────────────────────────────────────────────────────────────────


def _task(records: _Records, exchange: Exchange) -> None:
    for turn in exchange.turns:
        if turn.role != "user":
            continue
        for line in turn.text.splitlines():
            line = line.strip().lstrip("#*-> ").strip()
            if _says_task(line):
                records.add(
                    "S", "task", line, sources=(turn.entry,), at=turn.at, trust="user", worth=1.0
                )
                return


def _says_task(line: str) -> bool:
    if line.startswith("<") or line.endswith((":", "：")):
        return False
    return len(content_words(line)) >= 3 or len(re.findall(r"[\u3400-\u9fff]", line)) >= 5


def _files(records: _Records, steps: Sequence[_Step]) -> None:
    """The last diff that was looked at says best what was changed; else what was written."""
    last: dict[str, tuple[Diffed, _Step]] = {}
    for step in steps:
        if found := diffed_files(step.output):
            last = {one.path: (one, step) for one in found}
    for path, (diffed, step) in list(last.items())[:6]:
        records.add("B", path, str(diffed), sources=step.sources, at=step.heard.at, worth=0.9)
    if last:
        return
    edited: dict[str, list[_Step]] = {}
    for step in steps:
        for path in edited_files(step.call) if step.ok else ():
            edited.setdefault(path, []).append(step)
    for path, by in sorted(edited.items(), key=lambda item: -len(item[1]))[:6]:
        times = f"edited {len(by)} times" if len(by) > 1 else "edited"
        sources = [source for step in by[-3:] for source in step.sources]
        records.add("B", path, times, sources=sources, at=by[-1].heard.at, worth=0.8)


def _tests(records: _Records, steps: Sequence[_Step]) -> None:
    """Per runner the last run that said how it ended; whatever the tool is called."""
    last: dict[str, tuple[str, str, _Step]] = {}
    for step in steps:
        run = _tested_by(step.call)
        if run is not None and (result := test_result(step.output)):
            last.pop(run[0], None)
            last[run[0]] = (run[1], result, step)
    for started, result, step in list(last.values())[-3:]:
        records.add(
            "W", TESTS, f"{started}{ENDED}{result}",
            sources=step.sources, at=step.heard.at, worth=0.85,
        )  # fmt: skip


def _tested_by(call: ToolCall) -> tuple[str, str] | None:
    """The runner and how it was started; of another tool, its name and its first argument."""
    given = arguments_of(call)
    command = command_of(given)
    if (run := test_runner(command)) is not None:
        return run
    if not (may_test(command) and may_test(call.name)) or edited_files(call):
        return None
    first = command or next((value for value in given.values() if isinstance(value, str)), "")
    shown = cut(" ".join(first.split()), 80)
    return call.name, shown if command else f"{call.name} {shown}".strip()


def _environment(records: _Records, steps: Sequence[_Step]) -> None:
    missing: dict[str, _Step] = {}
    fixed: dict[str, _Step] = {}
    written = {name for step in steps for name in _modules_written(step.call)}
    for step in steps:
        for module in missing_modules(step.output):
            if module not in written and not module.startswith("test"):
                missing.setdefault(module, step)
        if step.ok and (how := installed(command_of(arguments_of(step.call)))):
            fixed.setdefault(how, step)
    if not missing and not fixed:
        return
    by = [*missing.values(), *fixed.values()]
    parts = [f"missing: {', '.join(list(missing)[:8])}"] if missing else []
    parts += list(fixed)[:3]
    records.add(
        "W", "env", "; ".join(parts),
        sources=[source for step in by[:4] for source in step.sources], at=by[-1].heard.at,
    )  # fmt: skip


_SCRIPT: Final = re.compile(r"([\w-]{1,60})\.(?:py|js|ts)\b")


def _modules_written(call: ToolCall) -> list[str]:
    return _SCRIPT.findall(command_of(arguments_of(call))[:4_000])


def _changes(records: _Records, steps: Sequence[_Step]) -> None:
    """What other tools changed, with the arguments that say of what."""
    last: dict[str, tuple[str, _Step]] = {}
    for step in steps:
        if not changes_something(step.call.name):
            continue
        given = ", ".join(
            f"{key} {value}"
            for key, value in arguments_of(step.call).items()
            if isinstance(value, str | int | float) and len(str(value)) <= 120
        )
        last.pop(f"{step.call.name} {given}", None)  # tried again: only how it ended counts
        last[f"{step.call.name} {given}"] = (given, step)
    for given, step in list(last.values())[-8:]:
        how = "done" if step.ok else f"failed: {_first_line(step.output)}"
        shown = f"{cut(given, 140)} → {how}" if given else how
        records.add("B", step.call.name, shown, sources=step.sources, at=step.heard.at, worth=0.8)


def _first_line(output: str) -> str:
    return cut(next((line.strip() for line in output.splitlines() if line.strip()), "?"), 80)


# ── prose ───────────────────────────────────────────────────────────────────────────────────

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_IDENTIFIER: Final = re.compile(
    r"`[^`\n]{2,80}`|\b\w+\(\)|\b\w+_\w+\b|\b[a-z]+[A-Z]\w+\b|\b[\w-]+/[\w./-]+|\b\w+\.\w{1,4}\b"
)
_ALOUD: Final = re.compile(
    r"(?:so|but|unless|when|let me|now|i'll|i need|wait|hmm|actually|perfect|great|next|first|then"
    r"|let's|maybe|if|good|yes|excellent|here|this is|these are"
    r"|the (?:patch|test)s? (?:looks?|pass))\b",
    re.IGNORECASE,
)
_HANDS_IN: Final = re.compile(
    r"\b(?:submit|finish|attempt_completion|complete_task|final_answer)", re.IGNORECASE
)
_SO_FAR: Final = 2
_CAUSE: Final = re.compile(
    r"\b(?:the (?:issue|problem|bug|root cause|cause) (?:is|was)|because"
    r"|should (?:be|use|catch|return)"
    r"|instead of|the fix|caused by|we should|i (?:decided|chose) to|needs? to)\b",
    re.IGNORECASE,
)
_SLIP: Final = re.compile(
    r"indent|newline|brace|docstring|column|syntax|heredoc|\bsed |my (?:edit|change|script|test)"
    r"|\?$|\b(?:might|maybe|perhaps|probably|seems?|i think|could be|let me|not sure)\b",
    re.IGNORECASE,
)


def _done(records: _Records, exchange: Exchange, steps: Sequence[_Step]) -> None:
    """What the assistant says at the end, after its last edit; in the middle of the work it is
    only where it stands."""
    edits = [step for step in steps if edited_files(step.call)]
    after = exchange.heard.index(edits[-1].heard) if edits else -1
    has_ended = _has_ended(exchange, steps)
    label, most = ("done", 12) if has_ended else ("so far", _SO_FAR)
    for one in reversed(exchange.heard[after + 1 :]):
        said = _said(one)
        if one.message.role != "assistant" or len(said) < 150:
            continue
        told = [
            sentence
            for sentence in _sentences(said)[:12]
            if _IDENTIFIER.search(sentence) and not _ALOUD.match(sentence)
        ]
        for sentence in told[:most]:
            records.add(
                "S", "task", f"{label}: {sentence}",
                sources=(one.entry,), at=one.at, trust="agent", worth=0.6 if has_ended else 0.4,
            )  # fmt: skip
        return


def _has_ended(exchange: Exchange, steps: Sequence[_Step]) -> bool:
    """Whether the work was handed in: by a word to the user, or by a call that says so."""
    spoken = [one.message for one in exchange.heard if one.message.role == "assistant"]
    if spoken and not spoken[-1].tool_calls:
        return True
    final = steps[-1].call
    return _HANDS_IN.search(f"{final.name} {str(final.arguments)[:2_000]}") is not None


def _causes(records: _Records, steps: Sequence[_Step]) -> None:
    """A cause counts when the edit of a file follows in the same message."""
    told = 0
    for step in steps:
        files = edited_files(step.call)
        if not files or not step.ok or told >= 4:
            continue
        for sentence in _sentences(_said(step.heard))[:8]:
            if not _CAUSE.search(sentence) or _SLIP.search(sentence):
                continue
            if _IDENTIFIER.search(sentence) and not _ALOUD.match(sentence):
                told += 1
                records.add(
                    "B", files[0], sentence,
                    sources=(step.heard.entry,), at=step.heard.at, trust="agent", worth=0.55,
                )  # fmt: skip
                break


def _said(one: Heard) -> str:
    texts = [part.text for part in one.message.parts if isinstance(part, Text)]
    return own_words(cut("\n".join(texts), 6_000)).strip()


def _sentences(said: str) -> list[str]:
    found = (part.strip().lstrip("#*-•0123456789.) ").strip() for part in _SENTENCE_END.split(said))
    return [part.rstrip(":") for part in found if 20 <= len(part) <= _WIDEST]


def _fitting(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= _WIDEST:
        return text
    return cut(text, _WIDEST - 1).rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
