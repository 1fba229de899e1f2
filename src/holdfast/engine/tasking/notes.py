"""What a stretch of a conversation says about a task: tools, errors, fixes, its end; as notes.

Promise: the same messages give the same notes; a tool's words are marked as a tool's, cut
short, and bounded in number (``tests/engine/test_tasking.py``).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Final, Literal, get_args

from holdfast.context.blocks import SYSTEM_ROLES, Block
from holdfast.importance import is_error
from holdfast.memory.tasks import Mishap, Task
from holdfast.memory.tasks.record import as_mishap, tidy_line
from holdfast.text import cut, cut_tail, shorten
from holdfast.text.likeness import similarity
from holdfast.types import Entry, Message, Text, ToolCall, ToolResult

__all__ = [
    "EVERY",
    "Ending",
    "Mark",
    "closes",
    "first_sentence",
    "mishaps_in",
    "moment",
    "moment_of",
    "note_closed",
    "note_progress",
    "note_reopened",
    "sentences_of",
    "tools_called",
    "was_closed_by_rule",
    "works",
]

Ended = Literal["done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One message of the conversation, with its entry and its time."""

    entry: str
    at: datetime
    block: Block
    is_user: bool
    is_work: bool
    """Tools are used here."""

    @property
    def message(self) -> Message:
        return self.block.message

    @property
    def text(self) -> str:
        """What is said, without what tools said."""
        return "\n".join(part.text for part in self.message.parts if isinstance(part, Text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    status: Ended
    at: Mark


EVERY: Final = 25
"""After how many calls in a row a record is written again."""
_OURS: Final = ("memory_", "task_")


def works(tool: str) -> bool:
    """Whether using this tool is work: with our own an agent remembers, it does not do anything."""
    return not tool.startswith(_OURS)


def moment(entries: Sequence[Entry]) -> str:
    """How far a conversation has come as records care: which turn, and how many calls in it.

    Asked at every call of a tool, so it reads no more than the turn.
    """
    calls = 0
    for entry in reversed(entries):
        names = tools_called(entry)
        if names is None:
            break
        calls += any(map(works, names))
    return moment_of(entry.id if entries else "", calls)


def moment_of(turn: str, calls: int) -> str:
    return f"{turn} {1 + calls // EVERY if calls else 0}"


def tools_called(entry: Entry) -> list[str] | None:
    """The tools an entry calls; None if it ends a turn: the user, or an answer without calls."""
    parts = entry.data.get("parts") if entry.type == "message" else ()
    role = entry.data.get("role")
    if entry.type != "message" or role in ("tool", "function", *SYSTEM_ROLES):
        return []
    given = [part for part in parts or () if isinstance(part, Mapping)]
    if role == "user" and given and all(part.get("type") == "tool_result" for part in given):
        return []
    names = [str(part.get("name")) for part in given if part.get("type") == "tool_call"]
    return names if names and role == "assistant" else None


# ── the end ─────────────────────────────────────────────────────────────────────────────────

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_LEAD: Final = (
    r"(?:(?:ok(?:ay)?|great|perfect|good|nice|yes|yep|yeah|no|cool|awesome|wonderful|excellent|super"
    r"|brilliant|alright|and|hey|oh|ah|ha|好的?|嗯+|行|可以|太好了|太棒了|不错|很好|非常好|完美|对|是的)"
    r"[,.!~，。！、 ]{0,3}){0,3}"
)
_DONE: Final = re.compile(
    _LEAD + r"(?:(?:many |a lot of )?thank(?:s| you)|thx|cheers|lgtm|looks good to me"
    r"|(?:we(?:'re| are)|all|i'm|i am|that's|it's) done|done(?=[.!,]|$)"
    r"|that(?:'s| is| will be) (?:all|it|everything)"
    r"|(?:it|that|this|everything) (?:all )?works(?: now| fine| perfectly| great)?(?=[.!,]|$)"
    r"|(?:that|this|it) (?:fixed|solved|did) it|well done|case closed"
    r"|(?:非常|太|十分|多)?(?:谢谢|感谢|多谢|谢啦|谢了)|辛苦了"
    r"|(?:都|已经?|全部)?(?:完成|搞定|弄好|解决)了?(?=[，。！!. ]|$)"
    r"|就这样|没问题了|没别的了|没有别的了|收工)",
    re.IGNORECASE,
)
_CANCELLED: Final = re.compile(
    _LEAD + r"(?:never ?mind|forget (?:it|about (?:it|that))|cancel (?:that|it|this)(?=[.!,]|$)"
    r"|no need|don't bother|drop it|算了|不用了|不需要了|取消吧|别弄了|不做了)",
    re.IGNORECASE,
)
_FAILED: Final = re.compile(
    r"\b(?:thank(?:s| you) anyway|(?:i|let's|we) (?:give|gave) up|giving up)\b"
    r"|放弃吧?|没办法了|还是不行.{0,6}算了",
    re.IGNORECASE,
)
_MORE: Final = re.compile(
    r"[?？]|\b(?:but|however|still|also|can you|could you|would you|please|next|then|another"
    r"|one more|instead|not|wrong|fails?|failed|failing|error|broken|go on|continue|except"
    r"|almost)\b|n't\b"
    r"|但|不过|可是|还(?!好)|再(?!见)|帮|请|接着|然后|另外|吗|不对|没(?!问题|事|别|有别)|错|失败"
    r"|继续|下一",
    re.IGNORECASE,
)
_LONGEST_ENDING: Final = 240


def closes(text: str, *, whole: bool = True) -> Ended | None:
    """How the user says that the work is over; None if it goes on.

    ``whole``: nothing more may be asked for in the same message.
    """
    text = text.strip().replace("’", "'")
    if not text or len(text) > _LONGEST_ENDING:
        return None
    if _FAILED.search(text):
        return "failed"
    sentences = sentences_of(text)
    if any(_CANCELLED.match(part) for part in sentences):
        return "cancelled"
    if not any(_DONE.match(part) for part in sentences):
        return None
    return None if whole and _MORE.search(text) else "done"


def first_sentence(text: str, *, says: Callable[[str], bool] = bool) -> str:
    """The first sentence that says something; else the beginning of the text."""
    return next(filter(says, sentences_of(cut(text, 2_000))), cut(text.strip(), 200))


def sentences_of(text: str) -> list[str]:
    """The sentences of a text; a line ends one too."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


# ── errors and what fixed them ──────────────────────────────────────────────────────────────

_TAIL: Final = 1_500
_EXIT: Final = re.compile(
    r"(?:<returncode>|exit(?:ed)?(?: with)?(?: code| status)?[ :=]{1,3}|return ?code[ :=]{1,3}"
    r"|退出码[ :：=]{0,3})(\d{1,3})\b",
    re.IGNORECASE,
)
_ALIKE: Final = 0.5
_SHOWN: Final = 200


@dataclass(slots=True, kw_only=True)
class _Step:
    """A call of a tool, what the assistant said with it, and how it went."""

    call: ToolCall
    by: Mark
    error: str | None = None

    @property
    def said(self) -> str:
        return first_sentence(self.by.text) if self.by.text.strip() else ""

    @property
    def arguments(self) -> str:
        return _arguments(self.call)


def mishaps_in(marks: Sequence[Mark]) -> list[Mishap]:
    """What went wrong in tools, once each, and what followed that made the same thing work."""
    steps = list(_steps(marks))
    found: dict[str, Mishap] = {}
    for place, step in enumerate(steps):
        if step.error is None:
            continue
        what = f"{step.call.name}: {step.error}"
        mishap = as_mishap(Mishap(what=what, fix=_fix(steps, place), from_tool=True))
        if mishap is not None and (mishap.what not in found or found[mishap.what].fix is None):
            found[mishap.what] = mishap
    return list(found.values())


def _steps(marks: Sequence[Mark]) -> list[_Step]:
    """The calls that were answered, in the order of the answers."""
    asked: dict[str, _Step] = {}
    steps: list[_Step] = []
    for mark in marks:
        for result in mark.message.tool_results:
            step = asked.pop(result.call_id, None)
            if step is not None:
                step.error = _error(result)
                steps.append(step)
        if mark.is_work:
            asked |= {call.id: _Step(call=call, by=mark) for call in mark.message.tool_calls}
    return steps


def _fix(steps: Sequence[_Step], place: int) -> str | None:
    """What was done between a failure and the success of the same thing."""
    failed = steps[place]
    between: list[_Step] = []
    for step in steps[place + 1 :]:
        is_same = step.call.name == failed.call.name and (
            similarity(step.arguments, failed.arguments) >= _ALIKE
        )
        if is_same and step.error is None:
            return _told(between[-1] if between else step)
        if not is_same and step.error is None:
            between.append(step)
    return None


def _told(step: _Step) -> str:
    """A step in the assistant's words if there are any, else as the call it was."""
    if 10 <= len(said := step.said) <= _SHOWN:
        return said
    return f"{step.call.name} {shorten(step.arguments, _SHOWN // 2, 20, ' … ')}".strip()


def _arguments(call: ToolCall) -> str:
    """What a call was about: its texts, without the names of its arguments."""
    given = call.arguments
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(given) if len(given) <= 20_000 else given
    if isinstance(given, Mapping):
        given = " ".join(str(value) for value in given.values())
    return " ".join(cut(str(given), 400).split())


def _error(result: ToolResult) -> str | None:
    """What went wrong, in a line of the result; None if nothing did."""
    return _error_in(cut_tail(result.text, _TAIL), result.is_error)


@lru_cache(maxsize=2_048)
def _error_in(tail: str, failed: bool | None) -> str | None:
    lines = [line.strip() for line in tail.splitlines()[-15:] if line.strip()]
    code = _EXIT.search(tail)
    if failed is None and code is not None:
        failed = code[1] != "0"
    telling = [line for line in lines if is_error(line)]
    if failed is False or (failed is None and not telling):
        return None
    chosen = telling[-1] if telling else (lines[-1] if lines else "failed")
    return tidy_line(shorten(chosen, _SHOWN, 0, "…"))


# ── notes ───────────────────────────────────────────────────────────────────────────────────

_WORDS: Final = {
    "en": {
        "calls": "{calls} tool calls ({tools})",
        "one call": "1 tool call ({tools})",
        "errors": ", {errors} errors",
        "one error": ", 1 error",
        "last": "; last at {at}",
        "said": ": {said}",
        "done": "closed: the user said so",
        "failed": "closed as failed: the user gave up",
        "cancelled": "closed as cancelled: the user said so",
        "reopened": "reopened: the work went on",
    },
    "zh": {
        "calls": "{calls} 次工具调用 ({tools})",
        "one call": "1 次工具调用 ({tools})",
        "errors": "，{errors} 次出错",
        "one error": "，1 次出错",
        "last": "；最后活动 {at}",
        "said": "：{said}",
        "done": "已关闭：用户确认完成",
        "failed": "以失败关闭：用户放弃",
        "cancelled": "已取消：用户要求",
        "reopened": "重新打开：工作继续",
    },
}
_COUNTED: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d): (?P<calls>\d{1,9}) (?:tool calls?|次工具调用)"
    r" \((?P<tools>[^()]{0,400})\)"
    r"(?:(?:, |，)(?P<errors>\d{1,9}) (?:errors?|次出错))?"
    r"(?:(?:; |；)(?:last at|最后活动) \d\d:\d\d(?:(?:: |：)(?P<said>.*))?)?"
)
_TOOL_COUNT: Final = re.compile(r"([\w.:-]{1,80}) (\d{1,9})")
_TOOLS_SHOWN: Final = 12
_SAID: Final = 160
_NOT_IN_A_NAME: Final = re.compile(r"[^\w.:-]+")


def _counted(line: str) -> re.Match[str] | None:
    """A line of progress that we wrote; one that somebody changed is theirs."""
    return _COUNTED.fullmatch(line)


def note_progress(task: Task, news: Sequence[Mark], zone: tzinfo, language: str) -> Task:
    """The task with a line for each day of the news: tools used, errors seen, the last words.

    What a tool answers after midnight belongs to the day on which it was asked.
    """
    days: dict[str, list[Mark]] = {}
    day = next((found["day"] for line in reversed(task.progress) if (found := _counted(line))), "")
    for mark in news:
        if mark.is_work or not day:
            day = mark.at.astimezone(zone).date().isoformat()
        days.setdefault(day, []).append(mark)
    for day, of_day in days.items():
        task = _noted_day(task, day, of_day, zone, language)
    return task


def _noted_day(task: Task, day: str, news: Sequence[Mark], zone: tzinfo, language: str) -> Task:
    tools = Counter(
        _NOT_IN_A_NAME.sub("_", cut(call.name, 60)) or "_"
        for mark in news
        if mark.is_work
        for call in mark.message.tool_calls
    )
    errors = sum(_error(each) is not None for mark in news for each in mark.message.tool_results)
    calls = sum(tools.values())
    place, known = _known_count(task, day)
    if known is not None:
        calls += int(known["calls"])
        errors += int(known["errors"] or 0)
        for name, count in _TOOL_COUNT.findall(known["tools"]):
            tools[name] += int(count)
    if not calls:
        return task
    said = [mark for mark in news if mark.message.role == "assistant" and mark.text.strip()]
    last = tidy_line(first_sentence(said[-1].text)) if said else ""
    words = shorten(last, _SAID, 0, "…") or (known and known["said"]) or ""
    line = f"{day}: {_counts(_WORDS[language], calls, tools, errors)}"
    line += _WORDS[language]["last"].format(at=f"{news[-1].at.astimezone(zone):%H:%M}")
    line = tidy_line(line + _WORDS[language]["said"].format(said=words) if words else line)
    before, after = task.progress[:place], task.progress[place + 1 :]
    return replace(task, progress=(*before, line, *after))


def _known_count(task: Task, day: str) -> tuple[int, re.Match[str] | None]:
    for place, line in enumerate(task.progress):
        if (found := _counted(line)) and found["day"] == day:
            return place, found
    return len(task.progress), None


def _counts(words: Mapping[str, str], calls: int, tools: Counter[str], errors: int) -> str:
    ordered = sorted(tools.items(), key=lambda each: (-each[1], each[0]))
    shown = ", ".join(f"{name} {count}" for name, count in ordered[:_TOOLS_SHOWN])
    line = words["one call" if calls == 1 else "calls"].format(calls=calls, tools=shown)
    if errors:
        line += words["one error" if errors == 1 else "errors"].format(errors=errors)
    return line


def note_closed(task: Task, citation: str, ending: Ending, zone: tzinfo, language: str) -> Task:
    return _noted(task, _WORDS[language][ending.status], citation, ending.at.at, zone)


def note_reopened(task: Task, citation: str, at: datetime, zone: tzinfo, language: str) -> Task:
    return _noted(task, _WORDS[language]["reopened"], citation, at, zone)


def _noted(task: Task, text: str, citation: str, at: datetime, zone: tzinfo) -> Task:
    line = f"{at.astimezone(zone):%Y-%m-%d %H:%M}: {text} ({citation})"
    return replace(task, progress=(*task.progress, tidy_line(line)))


def was_closed_by_rule(task: Task) -> bool:
    """Whether the last note says that the record was closed by a rule, not by hand or tool."""
    last = task.progress[-1] if task.progress else ""
    endings = [words[ended] for words in _WORDS.values() for ended in get_args(Ended)]
    return any(f": {note} (" in last for note in endings)
