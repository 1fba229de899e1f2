"""Correcting how many things a prompt says there are to do, after one of them was taken out.

"Do TWO things:" before a single remaining sentence would make a model look for the second.
Promise: text that speaks of another number than the list had is not touched
(``tests/foundation/test_config_openclaw_prompts.py``).
"""

from __future__ import annotations

import re

__all__ = ["adjust_counts"]

_ENGLISH = {2: ("two", "2", "both"), 3: ("three", "3"), 4: ("four", "4"), 5: ("five", "5")}
_CHINESE = {2: ("两", "二", "2"), 3: ("三", "3"), 4: ("四", "4"), 5: ("五", "5")}
_THINGS = r"(?:things?|steps?|tasks?|items?|actions?|jobs?)"
_JIAN = r"(?:件事情?|个?步骤?|个?任务|项任务|项)"


def adjust_counts(text: str, *, before: int, after: int) -> str:
    """The text with its count words for ``before`` things changed to ``after``."""
    if before not in _ENGLISH or after < 1:
        return text
    english = "|".join(_ENGLISH[before])
    chinese = "|".join(_CHINESE[before])
    if after == 1:
        return _chinese_single(_english_single(text, english), chinese)
    text = re.sub(
        rf"\b({english})\b(?=\s+(?:\w+\s+)?{_THINGS}\b)",
        lambda found: _like(found[0], _ENGLISH[after][0]),
        text,
        flags=re.IGNORECASE,
    )
    return re.sub(rf"(?:{chinese})(?={_JIAN})", _CHINESE[after][0], text)


def _english_single(text: str, count: str) -> str:
    counted = (
        rf"(?:all\s+|the\s+|these\s+)*(?:following\s+)?(?:{count})\s+(?:following\s+)?{_THINGS}"
    )
    announced = rf"(?:please\s+)?(?:do|complete|perform)\s+{counted}\s*[:：]\s*"
    done = rf"\b(?:after|once|when)\s+(?:you(?:'ve|\s+have)?\s+)?\w+(?:\s+with)?\s+{counted}"
    text = re.sub(announced, "", text, flags=re.IGNORECASE)
    text = re.sub(done, lambda found: _like(found[0], "when done"), text, flags=re.IGNORECASE)
    return re.sub(rf"\b{counted}\b", "this", text, flags=re.IGNORECASE)


def _chinese_single(text: str, count: str) -> str:
    counted = rf"(?:以下|下面|下列|这)?(?:{count}){_JIAN}"
    text = re.sub(rf"(?:请)?(?:你)?(?:需要|要)?(?:完成|做|执行){counted}\s*[:：]\s*", "", text)
    text = re.sub(rf"(?:完成|做完){counted}(?:都)?(?:之?后)", "完成后", text)
    text = re.sub(rf"{counted}都?(?:完成|做完)(?:之?后)", "完成后", text)
    return re.sub(counted, "这件事", text)


def _like(model: str, word: str) -> str:
    """``word`` with the capitals of ``model``: TWO, Two or two."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[0].upper() + word[1:] if model[0].isupper() else word
