"""What a written summary must pass before it takes the place of what it summarises.

Promise: an empty reply, a tool call, a refusal, a reply without its sections or above its cap is
never used; identifiers and the latest request are present in what is
(``tests/context/test_compaction_summary.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.context.compaction.tasks import content_words
from holdfast.ports import ModelReply

__all__ = ["Verdict", "is_refusal", "judge_reply", "mentions"]

_REFUSAL: Final = re.compile(
    r"\s{0,20}(?:i(?:'m| am|’m) (?:sorry|unable|not able)|sorry[,.]|i (?:can(?:no|')t|cannot|can’t"
    r"|won't|will not|must decline)"
    r"|as an ai\b|unfortunately,? i (?:can|am)|抱歉|对不起|很遗憾|我(?:无法|不能|没法)|作为(?:一个"
    r"|一名)?(?:AI|人工智能))",
    re.IGNORECASE,
)
_WORDS_MENTIONED: Final = 0.5
_PAIRS_MENTIONED: Final = 0.3  # of Chinese characters, many of which span two words


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``fatal`` problems make a reply unusable; what is missing can be asked for, or added."""

    fatal: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    request_missing: bool = False

    @property
    def passed(self) -> bool:
        return not (self.fatal or self.missing or self.request_missing)

    @property
    def problems(self) -> tuple[str, ...]:
        """In words and figures, without a word of the conversation."""
        found = list(self.fatal)
        if self.missing:
            found.append(f"{len(self.missing)} identifiers missing")
        if self.request_missing:
            found.append("latest request missing")
        return tuple(found)


def judge_reply(
    reply: ModelReply,
    *,
    tokens: int,
    cap: int,
    sections: int,
    required: Sequence[str],
    request: str,
) -> Verdict:
    """What is wrong with a written summary. ``sections`` is how many of them were recognised."""
    text = reply.message.text
    if reply.message.tool_calls:
        return Verdict(fatal=("tool call",))
    if not text.strip():
        return Verdict(fatal=("empty",))
    if is_refusal(text):
        return Verdict(fatal=("refusal",))
    fatal = []
    if sections < 2:
        fatal.append("no sections")
    if tokens > cap:
        fatal.append(f"too long: {tokens} tokens of {cap}")
    return Verdict(
        fatal=tuple(fatal),
        missing=tuple(each for each in required if each not in text),
        request_missing=not mentions(text, request),
    )


def is_refusal(text: str) -> bool:
    """Whether the model says that it will not."""
    return _REFUSAL.match(text) is not None


def mentions(text: str, request: str) -> bool:
    """Whether the words of a request are there; one without words of its own asks for nothing."""
    wanted = content_words(request)
    if not wanted:
        return True
    told = text.lower()
    pairs = sum(not word.isascii() for word in wanted)
    least = _WORDS_MENTIONED * (len(wanted) - pairs) + _PAIRS_MENTIONED * pairs
    return sum(word in told for word in wanted) >= least
