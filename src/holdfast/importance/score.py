"""The score of a message, from its cues and from how new it is.

Promise: between 0 and 1, never more work for a megabyte than for a page, and what a tool says
without an error stays below what a user says (``tests/foundation/test_importance.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from holdfast.importance.corrections import is_correction
from holdfast.importance.cues import asks_to_remember, is_decision, is_error
from holdfast.importance.rules import is_constraint
from holdfast.importance.samples import CJK, own_words, sample, words
from holdfast.types import Message, Text

__all__ = ["Importance", "importance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance:
    """A score from 0 to 1, and the names of what made it."""

    score: float
    reasons: tuple[str, ...] = ()


# The first four are those of the design note this grew from; the others make room around them.
_ERROR: Final = 0.8
_DECISION: Final = 0.6
_TOOL: Final = 0.4
_DUPLICATE: Final = -0.5
_RULE: Final = 0.9  # constraints and corrections: nothing weighs more
_REMEMBER: Final = 0.85
_USER: Final = 0.45  # above all a tool can say without an error
_ASSISTANT: Final = 0.2
_SOCIAL: Final = 0.05
_QUOTED: Final = 0.5  # of a cue found only in quoted or pasted text


def importance(message: Message, *, before: Sequence[str] = ()) -> Importance:
    """How much this message matters, given the texts that came shortly before it."""
    said = "\n".join(sample(p.text) for p in message.parts if isinstance(p, Text) and p.text)
    said = sample(said)
    results = message.tool_results
    if message.role == "tool" or (results and not said.strip()):
        text = sample("\n".join([said, *(sample(result.text) for result in results)]))
        found = _of_tool(text, any(result.is_error for result in results))
    else:
        text = said
        found = _of_speech(said, message)
    if before and (likeness := _most_alike(text, before)) > 0.5:
        found.append(("duplicate", _DUPLICATE * min(1.0, (likeness - 0.5) / 0.4)))
    score = max(0.0, min(1.0, sum(weight for _, weight in found)))
    return Importance(score=round(score, 4), reasons=tuple(name for name, _ in found))


def _of_speech(said: str, message: Message) -> list[tuple[str, float]]:
    own = own_words(said)
    if message.role == "user":
        found = _rules_of_user(said, own)
        if not found and _content(said) < 2:
            return [("social", _SOCIAL)]
        found.insert(0, ("user", _USER))
    elif _content(said) < 2 and not message.tool_calls:
        return [("social", _SOCIAL)]
    else:
        found = [("assistant", _ASSISTANT)]
        if message.tool_calls:
            found.append(("calls", _TOOL / 2))
    if is_decision(own):
        found.append(("decision", _DECISION))
    if is_error(own):
        found.append(("error", _ERROR if message.role == "user" else _ERROR / 2))
    elif len(own) != len(said) and is_error(said):
        found.append(("quoted error", _ERROR * _QUOTED))
    return found


def _rules_of_user(said: str, own: str) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    if is_correction(said):
        found.append(("correction", _RULE))
    if is_constraint(said):
        found.append(("constraint", _RULE))
    if asks_to_remember(own):
        found.append(("remember", _REMEMBER))
    return found


def _of_tool(text: str, failed: bool) -> list[tuple[str, float]]:
    density = _density(text)
    found = [("tool" if density > 0.3 else "spam", _TOOL * density)]
    if failed or is_error("\n".join(text.splitlines()[-15:])):
        found.append(("error", _ERROR / 2 * (1 + density)))
    elif is_error(text):
        found.append(("error inside", _ERROR / 4 * density))
    return found


# ── how much a text says ────────────────────────────────────────────────────────────────────

_WORD: Final = re.compile(r"[a-z0-9']{2,40}|[\u3400-\u9fff]", re.IGNORECASE)
_SMALL_TALK: Final = words(
    """ok okay yes yeah yep no nope sure thanks thank you hi hello hey bye goodbye great good cool
    nice please fine right got it done lol haha wow the of to an is are very much so all go ahead
    morning night there perfect awesome 好 的 是 嗯 哦 谢 你 您 哈 啊 吧 呢 吗 了 行 可 以 对 再 见
    早 安 晚 们 大 家 没 问 题 辛 苦 知 道"""
)
_CHANGING: Final = re.compile(r"\b0x[0-9a-f]+|[\d.]+")
_FINE_LINE: Final = re.compile(
    r"(?:ok|pass(?:ed)?|done|success(?:ful)?|true|✓|✔)\b"
    r"|.{0,200}(?:\.\.\.\s{0,9}ok|PASSED|✓|✔)|[.=\-*#\s]+$",
    re.IGNORECASE,
)


def _content(text: str) -> int:
    """How many words say something; two Chinese characters make about one."""
    said = [word for word in _WORD.findall(text[:2_000].lower()) if word not in _SMALL_TALK]
    chinese = sum(1 for word in said if CJK.match(word))
    return len(said) - chinese + (chinese + 1) // 2


def _density(text: str) -> float:
    """1 for output in which every line is news, near 0 for a listing of the same line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return 0.05
    kinds = {_CHANGING.sub("0", line[:200]) for line in lines}
    fine = sum(1 for line in lines if _FINE_LINE.match(line))
    distinct = len(kinds) / len(lines)
    length = 1.0 if len(text) < 2_000 else 0.75
    return max(0.05, round(distinct * (1 - 0.9 * fine / len(lines)) * length, 4))


# ── novelty ─────────────────────────────────────────────────────────────────────────────────

_RECENT: Final = 50
_TOKEN: Final = re.compile(r"[a-z0-9_.'-]{1,60}|[\u3400-\u9fff]", re.IGNORECASE)
_DENIES: Final = words(
    "not no never none don't didn't isn't wasn't can't won't doesn't cannot 不 没 无 别 未"
)


@lru_cache(maxsize=4_096)
def _tokens(text: str) -> frozenset[str]:
    return frozenset(token.lower().strip(".-'") for token in _TOKEN.findall(text)) - {""}


def _most_alike(text: str, before: Sequence[str]) -> float:
    """How much of the text one of the last texts already said; another number is another fact."""
    mine = _tokens(text)
    if not mine:
        return 0.0
    most = 0.0
    for other in before[-_RECENT:]:
        theirs = _tokens(sample(other))
        shared = len(mine & theirs)
        if 2 * shared <= len(mine):
            continue
        likeness = shared / len(mine | theirs)
        if likeness > most and not any(map(_decisive, mine ^ theirs)):
            most = likeness
    return most


def _decisive(token: str) -> bool:
    """Whether two texts that differ in this word say different things."""
    return token in _DENIES or any(char.isdigit() for char in token)
