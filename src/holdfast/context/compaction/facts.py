"""What dropped messages come to, without a model: labelled lines with their sources.

Promise: every line names the entries it came from; the same groups give the same lines; a line
is no longer than asked for (``tests/context/test_compaction_facts.py``). Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from holdfast.context.blocks import Block, Group, is_user
from holdfast.context.compaction.runs import Run, changed_files, is_action, is_check, runs_of
from holdfast.context.compaction.sentences import (
    excerpt,
    is_done,
    is_finding,
    is_news,
    is_next,
    sentences,
    spoken,
)
from holdfast.context.compaction.shapes import History, Judge, Kind, Task
from holdfast.context.compaction.tasks import content_words, user_text
from holdfast.context.compaction.wording import Language
from holdfast.importance import asks_to_remember, is_decision
from holdfast.text import cut

__all__ = ["Line", "finished_task", "history_of", "history_text", "lines_of_task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line that could stand in a summary. ``order`` is where in the conversation it is from."""

    kind: Kind
    text: str
    sources: tuple[str, ...]
    score: float
    order: int = 0


_MOST: Final = 6  # lines of one kind
_STATE_REACH: Final = 12  # groups
_NAME_LENGTH: Final = 64
_DIGITS: Final = re.compile(r"\d+")


def lines_of_task(
    task: Task, dropped: Sequence[Group], *, limit: int, judge: Judge, staying: frozenset[str]
) -> list[Line]:
    """What is worth telling of the active task, from those of its groups that leave the view."""
    entries = {group.first.entry for group in task.groups}
    groups = [group for group in dropped if group.first.entry in entries]
    runs = runs_of(groups)
    lines = [
        *_goal(task, limit, staying),
        *_said(groups, task, limit, judge),
        *_told(groups, limit),
        *_state(groups, limit),
        *_errors(runs, limit),
        *_tried(runs, limit),
        *_files(runs, limit),
    ]
    return [line for line in lines if line.text]


def _goal(task: Task, limit: int, staying: frozenset[str]) -> Iterator[Line]:
    if task.opening is None or not task.title:
        return
    # Where the request itself stays word for word, a reminder of it is enough.
    stays = task.opening.first.entry in staying
    yield Line(
        kind="goal",
        text=excerpt(task.title, 100 if stays else limit),
        sources=(task.opening.first.entry,),
        score=1.0,
    )


def _said(groups: Sequence[Group], task: Task, limit: int, judge: Judge) -> Iterator[Line]:
    """The user's own words, the newest first: rules that found no place among the pins, the "
    "rest."""
    opened_by = task.opening.first.entry if task.opening is not None else None
    said = [(i, group) for i, group in enumerate(groups) if group.is_user]
    for rank, (order, group) in enumerate(reversed(said[-3 * _MOST :])):
        text, entry = user_text(group), group.first.entry
        if entry == opened_by:
            continue
        rule = judge.is_constraint(text) or judge.is_correction(text) or asks_to_remember(text)
        yield Line(
            kind="constraint" if rule else "said",
            text=excerpt(text, limit if rule else limit // 2),
            sources=(entry,),
            score=(0.9 if rule else 0.62) - 0.03 * rank,
            order=order,
        )


def _told(groups: Sequence[Group], limit: int) -> Iterator[Line]:
    """What the assistant decided and found out."""
    counts: Counter[str] = Counter()
    told: set[str] = set()
    for order in range(len(groups) - 1, -1, -1):
        for block in groups[order].blocks:
            if block.message.role != "assistant" or not (text := spoken(block.message)):
                continue
            for kind, wanted, score in _TOLD:
                for sentence in list(sentences(text, wanted))[:2]:
                    if counts[kind] >= _MOST or sentence in told or not is_news(sentence):
                        continue
                    told.add(sentence)
                    rank = counts[kind]
                    counts[kind] += 1
                    yield Line(
                        kind=kind,
                        text=excerpt(sentence, limit),
                        sources=(block.entry,),
                        score=score - 0.04 * rank,
                        order=order,
                    )


_TOLD: Final[tuple[tuple[Kind, Callable[[str], bool], float], ...]] = (
    ("decision", is_decision, 0.8),
    ("finding", is_finding, 0.74),
)


def _state(groups: Sequence[Group], limit: int) -> Iterator[Line]:
    """The last news of the assistant before the cut, and what it was about to do or asked."""
    last = True
    for order in range(len(groups) - 1, max(-1, len(groups) - 1 - _STATE_REACH), -1):
        for block in reversed(groups[order].blocks):
            text = spoken(block.message).strip() if block.message.role == "assistant" else ""
            told = list(sentences(text, bool))[-4:]
            if not told:
                continue
            if last and told[-1].endswith(("?", "？")):
                yield _line("question", told[-1], limit, block, 0.7, order)
            elif last and is_next(told[-1]):
                yield _line("next", told[-1], limit, block, 0.6, order)
            last = False
            if state := [each for each in told if is_news(each)]:
                yield _line("state", " ".join(state), limit * 3 // 2, block, 0.85, order)
                return


def _line(kind: Kind, text: str, limit: int, block: Block, score: float, order: int) -> Line:
    return Line(
        kind=kind, text=excerpt(text, limit), sources=(block.entry,), score=score, order=order
    )


def _errors(runs: Sequence[Run], limit: int) -> Iterator[Line]:
    """What went wrong, once each, and whether the same run went well later."""
    passed = {run.what: index for index, run in enumerate(runs) if not run.failed}
    told: set[str] = set()
    for order in range(len(runs) - 1, -1, -1):
        run = runs[order]
        alike = _DIGITS.sub("0", run.error)
        if not run.error or alike in told or len(told) >= _MOST:
            continue
        told.add(alike)
        fixed = passed.get(run.what, -1) > order
        what, error = excerpt(run.what, limit // 3), excerpt(run.error, limit * 2 // 3)
        yield Line(
            kind="error",
            text=f"`{what}` → {error}" + (" → ok" if fixed else ""),
            sources=(run.entry, run.result_entry),
            score=0.72 - 0.05 * (len(told) - 1) - (0.1 if fixed else 0),
            order=order,
        )


def _tried(runs: Sequence[Run], limit: int) -> Iterator[Line]:
    """The newest tests, builds and changes, each command once, with its last outcome."""
    latest: dict[str, tuple[int, Run]] = {}
    for order, run in enumerate(runs):
        if is_check(run) or is_action(run):
            latest[run.what] = (order, run)
    newest = sorted(latest.values(), key=lambda pair: -pair[0])
    for rank, (order, run) in enumerate(newest[:_MOST]):
        outcome = f"✗ {excerpt(run.error, limit // 3)}" if run.failed else "ok"
        yield Line(
            kind="tried",
            text=f"`{excerpt(run.what, limit * 2 // 3)}` → {outcome}",
            sources=(run.entry, run.result_entry),
            score=0.66 - 0.05 * rank,
            order=order,
        )


def _files(runs: Sequence[Run], limit: int) -> Iterator[Line]:
    changed = changed_files(runs)
    paths: list[str] = []
    sources: list[str] = []
    for path, entries in reversed(changed.items()):
        if sum(map(len, paths)) + 2 * len(paths) + len(path) > 2 * limit:
            break
        paths.append(path)
        sources.append(entries[-1])
    if paths:
        more = len(changed) - len(paths)
        yield Line(
            kind="files",
            text=", ".join(paths) + (f" (+{more})" if more else ""),
            sources=tuple(dict.fromkeys(sources)),
            score=0.78,
        )


# ── finished tasks ──────────────────────────────────────────────────────────────────────────


def finished_task(
    task: Task, dropped: frozenset[str], *, limit: int, rank: int, order: int
) -> Line | None:
    """A task that is over in at most three lines: what was asked, what came of it, what was "
    "done."""
    groups = [group for group in task.groups if group.first.entry in dropped]
    if not groups:
        return None
    first, last = groups[0].first.entry, groups[-1].blocks[-1].entry
    sources = [first]
    title = task.title or next((user_text(group) for group in groups if group.is_user), "")
    rows = [f"{excerpt(title, limit * 2 // 3)} [{first}–{last}]"]
    if (outcome := _outcome(groups)) is not None:
        block, text = outcome
        rows.append(f"→ {excerpt(text, limit)}")
        sources.append(block.entry)
    done = [run for run in runs_of(groups) if is_action(run) and not run.failed][-3:]
    if done:
        rows.append("· " + "; ".join(excerpt(run.what, limit // 2) for run in reversed(done)))
        sources += [run.entry for run in done]
    return Line(
        kind="finished",
        text="\n".join(rows),
        sources=tuple(dict.fromkeys(sources)),
        score=0.76 - 0.04 * rank,
        order=order,
    )


def _outcome(groups: Sequence[Group]) -> tuple[Block, str] | None:
    """Of the last answers the one that says most about what was done."""
    answers: list[tuple[Block, str]] = []
    for group in reversed(groups):
        for block in reversed(group.blocks):
            if block.message.role == "assistant" and (text := spoken(block.message).strip()):
                answers.append((block, text))
        if len(answers) >= 4:
            break
    if not answers:
        return None

    def worth(place: int) -> tuple[float, int]:
        text = answers[place][1]
        figures = len(_DIGITS.findall(text[:1_000]))
        said = min(len(content_words(text)), 10) / 10
        return (2.0 * is_done(text) + min(figures, 6) / 4 + said - 0.3 * place, -place)

    return answers[max(range(len(answers)), key=worth)]


# ── everything else, in figures ─────────────────────────────────────────────────────────────


def history_of(
    groups: Sequence[Group],
    earlier: History,
    *,
    finished: int,
    times: Mapping[str, datetime] | None = None,
) -> History:
    """The figures of what left before and of what leaves now."""
    tools = Counter(earlier.tools)
    tools.update(
        cut(call.name, _NAME_LENGTH)
        for block in _blocks(groups)
        for call in block.message.tool_calls
    )
    kept = dict(sorted(tools.items(), key=lambda pair: (-pair[1], pair[0]))[:12])
    known = [times[b.entry].isoformat() for b in _blocks(groups) if times and b.entry in times]
    spans = [stamp for stamp in (earlier.since, earlier.until, *known) if stamp]
    return History(
        messages=earlier.messages + sum(len(group.blocks) for group in groups),
        tools=kept,
        tasks=earlier.tasks + finished,
        since=min(spans, default=None),
        until=max(spans, default=None),
    )


def _blocks(groups: Iterable[Group]) -> Iterator[Block]:
    return (block for group in groups for block in group.blocks)


def history_text(history: History, groups: Sequence[Group], language: Language) -> str:
    """The figures in one line; while they are of these groups alone, with the ids between which
    the originals stand."""
    blocks = list(_blocks(groups))
    whole = history.messages == len(blocks)
    users = sum(is_user(block.message) for block in blocks) if whole else 0
    tools = ", ".join(f"{name} ×{count}" for name, count in list(history.tools.items())[:6])
    span = ""
    if history.since and history.until and history.since[:16] != history.until[:16]:
        span = f"{history.since[:16]} – {history.until[:16]}"
    ids = f"{blocks[0].entry}–{blocks[-1].entry}" if whole and blocks else ""
    if language == "zh":
        parts = [
            f"{history.messages} 条消息",
            f"其中用户 {users} 条" if users else "",
            tools and f"工具 {tools}",
        ]
        parts += [
            f"已完成任务 {history.tasks} 个" if history.tasks else "",
            span,
            ids and f"标识 {ids}",
        ]
        return "；".join(part for part in parts if part)
    parts = [f"{history.messages} messages", f"{users} by the user" if users else ""]
    parts += [
        f"tools {tools}" if tools else "",
        f"{history.tasks} tasks done" if history.tasks else "",
    ]
    parts += [span, f"ids {ids}" if ids else ""]
    return "; ".join(part for part in parts if part)
