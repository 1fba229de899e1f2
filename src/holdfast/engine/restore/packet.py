"""Where the last conversation of this place stopped: enough to go on, and nothing to act upon.

    open tasks · goal and variables · the last request and answer · what was done already ·
    what was decided · the best that is remembered about all of this

Promise: everything is told as what was, never as what to do; words that a tool brought into the
conversation are not in it, also if the assistant repeated them; everything is bounded
(``tests/engine/test_restore.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from holdfast.context.extract.commands import (
    arguments_of,
    changes_something,
    command_of,
    edited_files,
    failed,
)
from holdfast.context.restoring import Material, Numbered, one_line_of
from holdfast.engine.remembering import said_in, trusted
from holdfast.engine.rooms import Rooms
from holdfast.engine.tasking.notes import sentences_of
from holdfast.errors import HoldfastError
from holdfast.fencing import without_fenced
from holdfast.importance import is_decision, own_words
from holdfast.memory.provenance import Said
from holdfast.memory.tasks import Task
from holdfast.redact import redact, redact_json
from holdfast.sessions.private import openly_said
from holdfast.sessions.shapes import message_of
from holdfast.sessions.state import State
from holdfast.sessions.transcript import Transcript
from holdfast.text import cut, cut_tail, shorten_json
from holdfast.types import Citation, Entry, Json, Message, ToolCall

if TYPE_CHECKING:
    from holdfast.search.request import Passage, SearchResult

__all__ = ["Last", "last_session", "resume"]

_RECENT: Final = 300
"""Entries of the last session that are looked at."""
_LOOKED_AT: Final = 200
"""Of sessions, the newest: many may have been brought in."""
_END: Final = 8
_SESSIONS: Final = 8
"""Of the files changed last: which was spoken in last is in their entries."""
_TASKS: Final = 8
_CALLS: Final = 12
_DECISIONS: Final = 6
_VARIABLES: Final = 20
_PASSAGES: Final = 6
_ASKED: Final = 400
_ANSWERED: Final = 300
_SHORT: Final = 240
_QUERY: Final = 600
_SEARCH_MS: Final = 300
_ENDING: Final = ".jsonl"

_WORDS: Final = {
    "en": {
        "tasks": "open tasks",
        "state": "goal and variables of the last conversation",
        "stopped": "where the last conversation stopped",
        "done": "done already, not to be done again",
        "decided": "what was decided",
        "goal": "The goal was: {}",
        "asked": "The user had said: {}",
        "answered": "The assistant had answered: {}",
        "unanswered": "That was not answered.",
        "task": "{title} ({status} since {since}; {path})",
        "note": "{task}: {note}",
        "more": "and {} more open tasks",
        "succeeded": "succeeded",
        "failed": "failed",
        "unknown": "no result is recorded",
        "hidden": "arguments came from a tool and are left out",
    },
    "zh": {
        "tasks": "未完成的任务",
        "state": "上次对话的目标和变量",
        "stopped": "上次对话停在哪里",
        "done": "已经执行过，无需重复",
        "decided": "已经决定的事",
        "goal": "当时的目标：{}",
        "asked": "用户当时说：{}",
        "answered": "助手当时答：{}",
        "unanswered": "这句话没有得到回答。",
        "task": "{title}（{status}，自 {since}；{path}）",
        "note": "{task}：{note}",
        "more": "另有 {} 个未完成的任务",
        "succeeded": "成功",
        "failed": "失败",
        "unknown": "没有结果记录",
        "hidden": "参数来自工具，不显示",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """The conversation of this place that was last spoken in."""

    name: str
    state: State
    entries: tuple[Entry, ...]
    said: Sequence[Said]

    def is_tools(self, text: str) -> bool:
        return trusted(text, self.said) == "tool"


def last_session(rooms: Rooms, besides: str) -> Last | None:
    """The last one with a message in it, not counting ``besides``."""
    if rooms.base.identify("sessions") is None:
        return None
    there = rooms.base.child("sessions", create=False).found()
    files = [each for each in there if each.name.endswith(_ENDING) and each.kind == "file"]
    files.sort(key=lambda each: (each.seen.modified_ns, each.name), reverse=True)
    names = [each.name.removesuffix(_ENDING) for each in files]
    candidates = []
    for name in [name for name in names if name != besides][:_LOOKED_AT]:
        try:
            transcript = rooms.transcript(name)
            state = transcript.state()
            if not state.messages or state.memory_mode == "off":  # what was off stays so
                continue
            if not _was_led_here(transcript):
                continue
        except HoldfastError:
            continue  # one bad file must not cost the rest
        candidates.append((state.last_at or "", name, state))
        if len(candidates) == _SESSIONS:
            break
    if not candidates:
        return None
    _, name, state = max(candidates, key=lambda each: each[:2])
    entries = openly_said(rooms.transcript(name).entries(last=_RECENT), state.memory_mode)
    own = tuple(entry for entry in entries if not entry.is_foreign)
    return Last(name=name, state=state, entries=own, said=said_in(rooms, name))


def _was_led_here(transcript: Transcript) -> bool:
    """Whether its end was said here, not brought in from a file, which may claim any time."""
    last = [entry for entry in transcript.entries(last=_END) if entry.type == "message"]
    return not last or not last[-1].is_foreign


def resume(
    rooms: Rooms, last: Last | None, language: str, *, shown: Sequence[str]
) -> list[Material]:
    """The packet; ``shown`` are the files that are restored anyway."""
    words = _WORDS[language]
    tasks = _open_tasks(rooms)
    heard = {} if last is None else {last.name: last.said}
    found = [*_tasks(rooms, tasks, words, heard)]
    if last is not None:
        messages = [
            (entry, message)
            for entry in last.entries
            if entry.type == "message" and (message := message_of(entry)) is not None
        ]
        found += _state(last, words)
        found += _stopped(last, messages, words)
        found += _done(rooms, last, messages, words)
        found += _decided(last, messages, words)
    return [*found, *_remembered(rooms, last, tasks, shown)]


# ── tasks, goal, variables ──────────────────────────────────────────────────────────────────


def _open_tasks(rooms: Rooms) -> list[Task]:
    if rooms.base.identify("tasks") is None:
        return []
    return [task for task in rooms.memory.tasks.list(status="open") if task.trust != "import"]


def _tasks(
    rooms: Rooms, tasks: Sequence[Task], words: dict[str, str], heard: dict[str, Sequence[Said]]
) -> Iterator[Material]:
    lines: list[str] = []
    for task in tasks[:_TASKS]:
        said = _said_about(rooms, task, heard)
        title = one_line_of(task.title, _SHORT)
        if trusted(title, said) == "tool":
            continue
        line = words["task"].format(
            title=title, status=task.status, since=str(task.opened)[:10], path=task.path
        )
        note = one_line_of(task.progress[-1], _SHORT) if task.progress else ""
        if note and "[tool]" not in note and trusted(note, said) != "tool":
            line = words["note"].format(task=line, note=note)
        lines.append(line)
    if len(tasks) > _TASKS:
        lines.append(words["more"].format(len(tasks) - _TASKS))
    if lines:
        yield _material("tasks", words["tasks"], lines, how="memory_search (source: task)")


def _said_about(rooms: Rooms, task: Task, heard: dict[str, Sequence[Said]]) -> Sequence[Said]:
    """What was said where the task was worked on: whose words its record is made of."""
    if not task.sources:
        return ()  # written by hand
    cited = Citation.parse(task.sources[-1])
    name = task.sources[-1] if cited is None else cited.source
    if name not in heard:
        try:
            heard[name] = said_in(rooms, name)
        except HoldfastError:
            heard[name] = ()  # the conversation is gone; the record is all there is
    return heard[name]


def _state(last: Last, words: dict[str, str]) -> Iterator[Material]:
    lines = [words["goal"].format(one_line_of(last.state.goal, _ASKED))] if last.state.goal else []
    for name, value in sorted(last.state.vars.items())[:_VARIABLES]:
        held = one_line_of(shorten_json(redact_json(value), _SHORT), _SHORT)
        lines.append(f"{one_line_of(name, 60)} = {held}")
    if lines:
        yield _material(last.name, words["state"], lines, how=f"holdfast sessions show {last.name}")


# ── where it stopped ────────────────────────────────────────────────────────────────────────

_Messages = Sequence[tuple[Entry, Message]]


def _stopped(last: Last, messages: _Messages, words: dict[str, str]) -> Iterator[Material]:
    asked: tuple[Entry, str] | None = None
    answer = ""
    for entry, message in reversed(messages):
        text = without_fenced(_spoken(message)).strip()
        if message.role == "assistant" and text and not answer:
            answer = _ending(last, text)
        if message.role == "user" and text and not message.tool_results:
            asked = entry, text
            break
    if asked is None:
        return
    entry, text = asked
    lines = [words["asked"].format(one_line_of(text, _ASKED))]
    is_answered = any(m.role == "assistant" and e.seq > entry.seq for e, m in messages)
    if answer:
        lines.append(words["answered"].format(answer))
    elif not is_answered:
        lines.append(words["unanswered"])
    source = str(Citation(source=last.name, entry=entry.id))
    yield _material(source, words["stopped"], lines, how=f"memory_get {source}")


def _spoken(message: Message) -> str:
    return "" if message.role not in ("user", "assistant") else message.text


def _ending(last: Last, text: str) -> str:
    """The last sentence that is not a tool's."""
    own = own_words(cut_tail(text, 4 * _ANSWERED))
    for sentence in reversed(sentences_of(own)[-4:]):
        line = one_line_of(sentence, _ANSWERED)
        if line and not last.is_tools(line):
            return line
    return ""


# ── what was done ───────────────────────────────────────────────────────────────────────────

_LOOKS: Final = re.compile(
    r"\s*(?:ls|cat|head|tail|grep|rg|find|pwd|echo|which|wc|stat|file|du|df|ps|env|date|tree|less"
    r"|sed -n|git (?:status|log|diff|show|branch|blame))\b"
)
_JOINED: Final = re.compile(r"&&|\|\||[;|\n]")


def _done(
    rooms: Rooms, last: Last, messages: _Messages, words: dict[str, str]
) -> Iterator[Material]:
    results: dict[str, str] = {}
    lines: list[str] = []
    newest: Entry | None = None
    for entry, message in reversed(messages):
        for result in message.tool_results:
            bad = failed(result.text, result.is_error)
            results.setdefault(result.call_id, words["failed" if bad else "succeeded"])
        for call in reversed(message.tool_calls):
            if len(lines) < _CALLS and _has_effects(call):
                newest = newest or entry
                ended = results.get(call.id, words["unknown"])
                at = entry.at.astimezone(rooms.zone)
                lines.append(f"{at:%Y-%m-%d %H:%M} {_told(last, call, words)} → {ended}")
    if newest is not None:
        source = str(Citation(source=last.name, entry=newest.id))
        how = f"holdfast sessions show {last.name}"
        yield _material(source, words["done"], lines[::-1], how=how, keep="tail")


def _has_effects(call: ToolCall) -> bool:
    command = command_of(arguments_of(call))
    if command:
        return not all(_LOOKS.match(part) for part in _JOINED.split(command) if part.strip())
    return changes_something(call.name) or bool(edited_files(call))


def _told(last: Last, call: ToolCall, words: dict[str, str]) -> str:
    """A call as a line: its name, and what it was called with if that is nobody else's words."""
    arguments = arguments_of(call)
    files = [str(each) for each in edited_files(call)]
    said = command_of(arguments) or ", ".join(files) or _plain(arguments)
    said = one_line_of(said, _SHORT)
    name = one_line_of(call.name, 60)
    if said and last.is_tools(said):
        return f"{name} ({words['hidden']})"
    return f"{name}: {said}" if said else name


def _plain(arguments: Json) -> str:
    return shorten_json(redact_json(arguments), _SHORT) if arguments else ""


def _decided(last: Last, messages: _Messages, words: dict[str, str]) -> Iterator[Material]:
    lines: list[str] = []
    newest: Entry | None = None
    for entry, message in reversed(messages):
        if message.tool_results or not (text := without_fenced(_spoken(message))):
            continue
        for sentence in reversed(sentences_of(own_words(cut(text, 4_000)))):
            if len(lines) >= _DECISIONS or not is_decision(sentence):
                continue
            line = one_line_of(sentence, _SHORT)
            if line not in lines and (message.role == "user" or not last.is_tools(line)):
                newest = newest or entry
                lines.append(line)
    if newest is not None:
        source = str(Citation(source=last.name, entry=newest.id))
        yield _material(source, words["decided"], lines[::-1], how=f"memory_get {source}")


# ── what is remembered about it ─────────────────────────────────────────────────────────────


def _remembered(
    rooms: Rooms, last: Last | None, tasks: Sequence[Task], shown: Sequence[str]
) -> Iterator[Material]:
    """The best passages about what was going on; by words, so that the same files give the same."""
    query = _query(last, tasks)
    if not query:
        return
    # Loaded here only: a session with nothing behind it needs no numpy.
    searching = import_module("holdfast.engine.searching.asking")
    settings = rooms.settings.search
    try:
        found: SearchResult = searching.search(
            rooms,
            query,
            limit=3 * _PASSAGES,
            vectors=False,
            max_chars=settings.max_injected_chars or None,
            timeout_ms=min(_SEARCH_MS, settings.timeout_ms),
        )
    except HoldfastError:
        return  # the files themselves are restored all the same
    kept = [each for each in found.passages if _may_stand(each, last, shown)]
    for passage in kept[:_PASSAGES]:
        lines = [line for line in redact(passage.text).splitlines() if line.strip()]
        observed = passage.time and passage.time.astimezone(rooms.zone).date()
        yield Material(
            share="resume",
            source=passage.citation,
            lines=tuple(Numbered(text=line) for line in lines),
            label=passage.trust,
            observed=observed or None,
            how_to_read=f"memory_get {passage.citation}",
        )


def _query(last: Last | None, tasks: Sequence[Task]) -> str:
    said = [task.title for task in tasks[:3]]
    if last is not None:
        users = [each.text for each in last.said if each.role == "user"]
        said = [last.state.goal or "", *users[-1:], *said]
    return cut(" ".join(own_words(cut(each, _QUERY)) for each in said if each), _QUERY).strip()


def _may_stand(passage: Passage, last: Last | None, shown: Sequence[str]) -> bool:
    """Trusted, and not shown anyway. Of conversations only what users said, and nothing of task
    records: an assistant may have repeated a tool."""
    source = passage.citation.rpartition("#")[0]
    is_told = source in shown or (last is not None and source == last.name)
    if is_told or passage.source in ("task", "extra"):
        return False
    return passage.trust == "user" or (passage.trust == "agent" and passage.source != "session")


def _material(
    source: str, label: str, lines: Sequence[str], *, how: str, keep: str = "head"
) -> Material:
    return Material(
        share="resume",
        source=source,
        lines=tuple(Numbered(text=redact(line)) for line in lines),
        label=label,
        keep="tail" if keep == "tail" else "head",
        how_to_read=how,
    )
