"""What a notice says, in English and Chinese, and how a session's name may stand in it.

Promise: every kind has its words in both languages, with and without its numbers; a text is one
line, bounded, and begins with our own words whatever the session is called; a credential in a
name is blacked out (``tests/engine/test_notices.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from holdfast.redact import redact
from holdfast.text import cut, one_line
from holdfast.types import Json

__all__ = ["KINDS", "Notice", "NoticeKind", "numbers_of", "said", "session_name"]

NoticeKind = Literal[
    "nearly_full",
    "flush_failed",
    "hard_threshold",
    "model_down",
    "cost_limit",
]
KINDS: Final[tuple[NoticeKind, ...]] = get_args(NoticeKind)
_NAME_COLUMNS: Final = 60
_NAME_READ: Final = 2000
_MOST_NUMBERS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something the user should hear: which kind, about which session and cycle.

    ``language`` is that of the conversation; ``numbers`` may hold what the words of its kind
    mention (``used`` and ``window``, for instance) and more.
    """

    kind: NoticeKind
    session: str
    cycle: str
    language: str = "en"
    numbers: Mapping[str, Json] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Two notices of one key tell the same thing."""
        return f"{self.session}:{self.cycle}:{self.kind}"


@dataclass(frozen=True, slots=True)
class _Words:
    text: str
    detail: str = ""
    needs: tuple[str, ...] = ()


_ENGLISH: Final[Mapping[NoticeKind, _Words]] = {
    "nearly_full": _Words(
        "⚠️ The conversation {session} is nearly full{detail}. Send /new to begin a new one; "
        "what is in memory comes along.",
        " ({used:,} of {window:,} tokens)",
        ("used", "window"),
    ),
    "flush_failed": _Words(
        "⚠️ Memory of the conversation {session} could not be saved{detail}. Nothing is lost: "
        "the transcript is whole. To try again: holdfast flush",
        " after {attempts:,} attempts",
        ("attempts",),
    ),
    "hard_threshold": _Words(
        "⚠️ The conversation {session} has reached its hard threshold{detail}. What is about to "
        "leave the view is being saved without a model.",
        " ({used:,} of {window:,} tokens)",
        ("used", "window"),
    ),
    "model_down": _Words(
        "⚠️ The model of the conversation {session} does not answer{detail}. Memory is saved by "
        "rules until it does.",
        " after {attempts:,} attempts",
        ("attempts",),
    ),
    "cost_limit": _Words(
        "⚠️ The day's limit for background work is reached{detail}. Memory is saved by rules "
        "until tomorrow.",
        " (${spent:,.2f} of ${limit:,.2f})",
        ("spent", "limit"),
    ),
}

_CHINESE: Final[Mapping[NoticeKind, _Words]] = {
    "nearly_full": _Words(
        "⚠️ 对话 {session} 快满了{detail}。建议发送 /new 开始新对话，记忆里的内容会一起带过去。",
        "（已用 {used:,} / {window:,} token）",
        ("used", "window"),
    ),
    "flush_failed": _Words(
        "⚠️ 对话 {session} 的记忆未能保存{detail}。内容没有丢失，完整记录仍在。"
        "如需重试：holdfast flush",
        "，已尝试 {attempts:,} 次",
        ("attempts",),
    ),
    "hard_threshold": _Words(
        "⚠️ 对话 {session} 已达到硬阈值{detail}，正在不借助模型保存即将移出视野的内容。",
        "（已用 {used:,} / {window:,} token）",
        ("used", "window"),
    ),
    "model_down": _Words(
        "⚠️ 对话 {session} 的模型没有响应{detail}。恢复之前，记忆按规则保存。",
        "，已尝试 {attempts:,} 次",
        ("attempts",),
    ),
    "cost_limit": _Words(
        "⚠️ 后台工作已达到今日费用上限{detail}。明天之前，记忆按规则保存。",
        "：{spent:,.2f} / {limit:,.2f} 美元",
        ("spent", "limit"),
    ),
}


def said(kind: NoticeKind, *, session: str, language: str, numbers: Mapping[str, Json]) -> str:
    """The notice in words. Numbers that are missing are left out of the sentence."""
    words = (_CHINESE if language == "zh" else _ENGLISH)[kind]
    known = numbers_of(numbers)
    detail = words.detail.format_map(known) if all(each in known for each in words.needs) else ""
    return words.text.format(session=session_name(session), detail=detail)


def session_name(name: str) -> str:
    """The name as it may be shown to anybody: one line, short, without credentials."""
    return one_line(redact(cut(name, _NAME_READ)), _NAME_COLUMNS)


def numbers_of(given: Mapping[str, Json]) -> dict[str, int | float]:
    """Only numbers leave with a notice: no text of the conversation can be among them."""
    found: dict[str, int | float] = {}
    for name, value in given.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and math.isfinite(value) and name.isidentifier() and len(name) <= 40:
            found[name] = value
        if len(found) == _MOST_NUMBERS:
            break
    return found
