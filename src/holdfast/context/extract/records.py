"""Memories of work on files: from what was run and changed, hardly from what was said of it.

A task, the files in its last diff, how the tests ended, what was missing and what installed it,
what the user ruled; and of the assistant's prose only what it says when the work is handed in,
and causes that an edit follows. Thinking aloud is not memory, nor are scripts that a run wrote
for itself, nor what a harness tells every run.

Promise: at most about a dozen lines for a run of any length; a line that stands on a tool's
output is trusted as a tool's (``tests/context/test_extract_records.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from holdfast.context.extract.changes import changes_of
from holdfast.context.extract.commands import (
    arguments_of,
    command_of,
    diffed_files,
    edited_files,
    installed,
    may_test,
    missing_modules,
    runs_scratch,
    test_result,
    test_runner,
)
from holdfast.context.extract.heard import Exchange, Heard
from holdfast.context.extract.packing import Piece
from holdfast.context.extract.steps import ENDED, WIDEST, Records, Step, steps_of
from holdfast.context.extract.words import content_words
from holdfast.importance import asks_to_remember, is_constraint, is_correction, own_words
from holdfast.text import cut
from holdfast.types import Text, ToolCall

__all__ = ["TESTS", "record_pieces"]

TESTS: Final = "tests"

_MOST: Final = 20


def record_pieces(exchange: Exchange, place: int) -> list[Piece]:
    """The memories of one exchange's work with tools."""
    steps = steps_of(exchange.heard)
    if not steps:
        return []
    records = Records(place=place, most=_MOST)
    if exchange.is_run:
        _task(records, exchange)
        _ruled(records, exchange)
    _files(records, steps)
    _tests(records, steps)
    changes_of(records, steps)
    _environment(records, steps)
    if exchange.is_run:
        _done(records, exchange, steps)
        _causes(records, steps)
    return records.pieces


# ── what was asked ──────────────────────────────────────────────────────────────────────────


def _task(records: Records, exchange: Exchange) -> None:
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


_DOCUMENT: Final = 500  # a longer text quotes: a report, a template
_RULES: Final = 6
_ORDERS: Final = re.compile(
    r"(?:please )?(?:never|always|don't|do not|only|make sure|ensure|avoid|keep|use)\b"
    r"|[\u3400-\u9fff]",
    re.IGNORECASE,
)
_HARNESS: Final = re.compile(
    r"\b(?:your response|tool calls?|this exact command|submit|subshell|working directory"
    r"|environment variable|each (?:response|command|action))\b",
    re.IGNORECASE,
)


def _ruled(records: Records, exchange: Exchange) -> None:
    """What the user asked to remember, ruled or corrected: in a long text only plain orders."""
    told = 0
    for turn in exchange.turns:
        if turn.role != "user":
            continue
        is_document = len(turn.text) > _DOCUMENT or turn.text.lstrip().startswith("<")
        for sentence in _sentences(turn.text):
            if told >= _RULES or _HARNESS.search(sentence):
                continue
            if is_document and not (_ORDERS.match(sentence) and len(sentence) <= 160):
                continue
            if asks_to_remember(sentence) or is_constraint(sentence) or is_correction(sentence):
                told += 1
                records.add(
                    "W", turn.speaker, sentence.rstrip(".。"),
                    sources=(turn.entry,), at=turn.at, trust="user", worth=1.0, must=True,
                )  # fmt: skip


# ── what was changed and run ────────────────────────────────────────────────────────────────


def _files(records: Records, steps: Sequence[Step]) -> None:
    """The last diff that was looked at says best what was changed; else what was written."""
    for step in reversed(steps):
        if found := diffed_files(step.output):
            for path, diffed in list({one.path: one for one in found}.items())[:6]:
                records.add(
                    "B", path, str(diffed), sources=step.sources, at=step.heard.at, worth=0.9
                )
            return
    for path, by in _edited(steps)[:6]:
        times = f"edited {len(by)} times" if len(by) > 1 else "edited"
        sources = [source for step in by[-3:] for source in step.sources]
        records.add("B", path, times, sources=sources, at=by[-1].heard.at, worth=0.8)


def _edited(steps: Sequence[Step]) -> list[tuple[str, list[Step]]]:
    edited: dict[str, list[Step]] = {}
    for step in steps:
        for path in edited_files(step.call) if step.ok else ():
            edited.setdefault(path, []).append(step)
    return sorted(edited.items(), key=lambda item: -len(item[1]))


_RUNNERS: Final = 3
_TOLD: Final = re.compile(r"pass|fail|ok|tests run|通过|失败", re.IGNORECASE)


def _tests(records: Records, steps: Sequence[Step]) -> None:
    """Per runner the last run that said how it ended; whatever the tool is called."""
    last: dict[str, tuple[str, str, Step]] = {}
    for step in reversed(steps):
        run = _tested_by(step.call)
        if run is None or run[0] in last or len(last) >= _RUNNERS:
            continue
        if _TOLD.search(result := test_result(step.output)):
            last[run[0]] = (run[1], result, step)
    for started, result, step in reversed(last.values()):
        records.add(
            "W", TESTS, f"{started}{ENDED}{result}",
            sources=step.sources, at=step.heard.at, worth=0.85,
        )  # fmt: skip


_INLINE: Final = re.compile(r"<<|\s-[ce] ['\"]|\n")


def _tested_by(call: ToolCall) -> tuple[str, str] | None:
    """The runner and how it was started; of another tool, its name and its first argument."""
    given = arguments_of(call)
    command = command_of(given)
    if (run := test_runner(command)) is not None:
        return run
    if not (may_test(command) and may_test(call.name)) or edited_files(call):
        return None
    if _INLINE.search(command) or runs_scratch(command):
        return None  # a program of the run's own, gone with it
    first = command or next((value for value in given.values() if isinstance(value, str)), "")
    shown = cut(" ".join(first.split()), 80)
    return call.name, shown if command else f"{call.name} {shown}".strip()


# ── what was missing ────────────────────────────────────────────────────────────────────────


def _environment(records: Records, steps: Sequence[Step]) -> None:
    """Modules that were not there, and the installations that were made, on one line."""
    missing: dict[str, Step] = {}
    fixed: dict[str, Step] = {}
    own = {name for step in steps for name in _own_modules(step.call)}
    for step in steps:
        for module in missing_modules(step.output):
            if module not in own and not module.startswith("test") and len(module) > 2:
                missing.setdefault(module, step)
        if step.ok and (how := installed(command_of(arguments_of(step.call)))):
            fixed.setdefault(how, step)
    if not missing and all(_ITSELF.search(how) for how in fixed):
        return
    by = [*missing.values(), *fixed.values()]
    parts = [f"missing: {', '.join(list(missing)[:8])}"] if missing else []
    parts += _merged(list(fixed))[:3]
    records.add(
        "W", "env", "; ".join(parts),
        sources=[source for step in by[:4] for source in step.sources], at=by[-1].heard.at,
    )  # fmt: skip


_ITSELF: Final = re.compile(r" (?:-e )?\.{1,2}/?(?:\[\w{1,20}\])?$")


def _merged(installations: Sequence[str]) -> list[str]:
    """Installations by one program as one command."""
    by: dict[str, list[str]] = {}
    for how in installations:
        program, _, what = how.partition(" install ")
        by.setdefault(program if what else how, []).extend(what.split())
    return [
        f"{program} install {' '.join(dict.fromkeys(what))}" if what else program
        for program, what in by.items()
    ]


_SCRIPT: Final = re.compile(r"([\w-]{1,60})\.(?:py|js|ts)\b")
_FOLDER: Final = re.compile(r"(?:^|[\s'\"=])(?:\./)?(?:src/|lib/)?([A-Za-z]\w{1,40})/")


def _own_modules(call: ToolCall) -> list[str]:
    """Names of the run's own files and of the project's folders: their lack is no one's news."""
    command = command_of(arguments_of(call))[:4_000]
    return _SCRIPT.findall(command) + _FOLDER.findall(command)


# ── prose ───────────────────────────────────────────────────────────────────────────────────

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_IDENTIFIER: Final = re.compile(
    r"`[^`\n]{2,80}`|\b\w+\(\)|\b\w+_\w+\b|\b[a-z]+[A-Z]\w+\b|\b[\w-]+/[\w./-]+|\b\w+\.\w{1,4}\b"
)
_ALOUD: Final = re.compile(
    r"(?:so|but|unless|when|let me|now|i'll|i need|wait|hmm|actually|perfect|great|next|first|then"
    r"|let's|maybe|if|good|yes|excellent|here|these are|however|looking|check|verify|test|ensure\b"
    r"|that's|by default|for `|i can see|as expected|it (?:shows|looks)|everything"
    r"|note that|(?:all |the )?(?:patch|tests?|diff|file|output)\b[^.]{0,40}"
    r"\b(?:looks?|pass|shows?|contains?|created)"
    r"|this (?:is|matches|looks)|i(?:'ve| have) (?:created|verified|tested|run|checked)"
    r"|现在|让我|接下来|首先|然后|好的|看起来|等等)(?![a-z])",
    re.IGNORECASE,
)
_HANDS_IN: Final = re.compile(
    r"\b(?:submit|finish|attempt_completion|complete_task|final_answer)", re.IGNORECASE
)
_DID: Final = re.compile(
    r"`[^`\n]{1,80}`(?: \w{1,20})? (?:now|no longer|correctly)\b"
    r"|(?:(?:it|this|we|i"
    r"|(?:the|my) (?:fix|patch|change|implementation|method|function|class|solution))\s+)?"
    r"(?:(?:now|only|correctly|just|have|has|is|was|were|also|simply|properly)\s+){0,3}"
    r"(?:add|chang|replac|remov|mov(?:e|ing)|fix|updat|modif|handl|wrap|convert|prevent|implement|renam"
    r"|ensur|catch|caught|rais|preserv|call|return|skip|iterat|support|allow|us(?:e|ing)|set|pass(?:es|ed)"
    r"|introduc|extend|extract|delegat|normali[sz]|cast|guard|unwrap|cache|no longer)\w{0,5}\b"
    r"|[^.]{0,80}(?:现在|修复|新增|改为|改成|删除|替换|支持|添加|移除|不再)",
    re.IGNORECASE,
)
_SO_FAR: Final = 120
_CAUSE: Final = re.compile(
    r"\b(?:the (?:issue|problem|bug|root cause|cause) (?:is|was)|caused by)\b|原因是|是因为|导致",
    re.IGNORECASE,
)
_SLIP: Final = re.compile(
    r"indent|newline|brace|docstring|column|syntax|heredoc|\bsed "
    r"|my (?:edit|change|script|test|fix)"
    r"|\?$|\b(?:might|maybe|perhaps|probably|seems?|i think|could be|let me|not sure|our|we|i)\b"
    r"|可能|也许|好像",
    re.IGNORECASE,
)


def _done(records: Records, exchange: Exchange, steps: Sequence[Step]) -> None:
    """What the assistant says at the end, after its last edit, on one line; in the middle of
    the work it is only where it stands."""
    edits = [step for step in steps if edited_files(step.call)]
    after = exchange.heard.index(edits[-1].heard) if edits else -1
    has_ended = _has_ended(exchange, steps)
    label, room = ("done: ", WIDEST) if has_ended else ("so far: ", _SO_FAR)
    for one in reversed(exchange.heard[after + 1 :]):
        said = _said(one)
        if one.message.role != "assistant" or len(said) < 150:
            continue
        if told := _joined(said, room - len(label)):
            records.add(
                "S", "task", label + told,
                sources=(one.entry,), at=one.at, trust="agent", worth=0.6 if has_ended else 0.4,
            )  # fmt: skip
            return


def _joined(said: str, room: int) -> str:
    """The sentences that tell what something does now, as many as a line has room for."""
    told = ""
    for sentence in _sentences(said)[:16]:
        if _ALOUD.match(sentence) or not _IDENTIFIER.search(sentence) or not _DID.match(sentence):
            continue
        if sentence.count("`") % 2 or not _ends(sentence):
            continue
        more = f"{told}; {sentence.rstrip('.')}" if told else sentence.rstrip(".")
        if len(more) <= room:
            told = more
    return told


def _ends(sentence: str) -> bool:
    """Whether a sentence is whole: not broken off at the end of its line."""
    return not sentence.endswith((",", "(", "with", "to", "the", "and", "of", "as follows"))


def _has_ended(exchange: Exchange, steps: Sequence[Step]) -> bool:
    """Whether the work was handed in: by a word to the user, or by a call that says so."""
    spoken = [one.message for one in exchange.heard if one.message.role == "assistant"]
    if spoken and not spoken[-1].tool_calls:
        return True
    final = steps[-1].call
    return _HANDS_IN.search(f"{final.name} {str(final.arguments)[:2_000]}") is not None


def _causes(records: Records, steps: Sequence[Step]) -> None:
    """A cause counts when the edit of a file follows in the same message; of a file the last."""
    last: dict[str, tuple[str, Step]] = {}
    changed = {piece.entity for piece in records.pieces if piece.kind == "B"}
    for step in steps:
        files = [
            path for edited in edited_files(step.call) for path in changed if edited.endswith(path)
        ]
        if not files or not step.ok:
            continue
        for sentence in _sentences(_said(step.heard))[:8]:
            if not _CAUSE.search(sentence) or _SLIP.search(sentence):
                continue
            if _IDENTIFIER.search(sentence) and not _ALOUD.match(sentence) and _ends(sentence):
                last[files[0]] = (sentence, step)
                break
    for path, (sentence, step) in list(last.items())[-3:]:
        records.add(
            "B", path, sentence,
            sources=(step.heard.entry,), at=step.heard.at, trust="agent", worth=0.55,
        )  # fmt: skip


def _said(one: Heard) -> str:
    texts = [part.text for part in one.message.parts if isinstance(part, Text)]
    return own_words(cut("\n".join(texts), 6_000)).strip()


def _sentences(said: str) -> list[str]:
    found = (part.strip().lstrip("#*-•0123456789.) ").strip() for part in _SENTENCE_END.split(said))
    return [part.rstrip(":").replace("**", "") for part in found if 8 <= len(part) <= WIDEST]
