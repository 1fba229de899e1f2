"""What of a text is looked at: a bounded sample, and in it the writer's own words.

Promise: linear in the sample, which is bounded whatever the text; no cut splits a character
(``tests/foundation/test_importance.py``).
"""

from __future__ import annotations

import re
from typing import Final

from holdfast.text import cut, cut_tail

__all__ = [
    "CJK",
    "any_of",
    "mentions",
    "own_words",
    "sample",
    "sentences",
    "without_quotations",
    "words",
]

_HEAD: Final = 6_000
_TAIL: Final = 3_000

CJK: Final = re.compile(r"[\u3400-\u9fff]")

_FENCED: Final = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_QUOTED_LINE: Final = re.compile(r"^[ \t]{0,8}(?:>|\|).*$", re.MULTILINE)
_LOG_LINE: Final = re.compile(
    r"^[ \t]{0,40}(?:Traceback \(|File \"|at [\w.$<>]{1,200}\(|\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL)\b|\w{1,80}(?:Error|Exception): ).*$",
    re.MULTILINE,
)
_QUOTATION: Final = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|`[^`\n]{1,200}`"
)
_LONG_QUOTATION: Final = re.compile(r"\"[^\"\n]{40,2000}\"|“[^”\n]{40,2000}”|「[^」\n]{40,2000}」")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def any_of(*alternatives: str) -> re.Pattern[str]:
    """One pattern of many, one per line where it is written down; case makes no difference."""
    return re.compile("|".join(alternatives), re.IGNORECASE)


def sample(text: str) -> str:
    """The text, or its beginning and its end when it is long."""
    if len(text) <= _HEAD + _TAIL:
        return text
    return cut(text, _HEAD) + "\n" + cut_tail(text, _TAIL)


def own_words(text: str) -> str:
    """The text without code, quoted lines, log lines and long quotations: what its writer says."""
    if "```" in text or "~~~" in text:
        text = _FENCED.sub(" ", text)
    if ">" in text or "|" in text:
        text = _QUOTED_LINE.sub(" ", text)
    text = _LOG_LINE.sub(" ", text)
    return _LONG_QUOTATION.sub(" ", text) if len(text) > 40 else text


def without_quotations(text: str) -> str:
    """The text with a placeholder for what stands in quotation marks."""
    return _QUOTATION.sub(" x ", text)


def sentences(text: str) -> list[str]:
    """The sentences of a text, trimmed; a line ends a sentence too."""
    split = _SENTENCE_END.split(text.replace("’", "'"))
    return [trimmed for part in split if (trimmed := part.strip())]


def words(listed: str) -> frozenset[str]:
    """A word list as it is written down: separated by white space."""
    return frozenset(listed.split())


def parts(listed: str) -> tuple[str, ...]:
    """A list of parts of texts as it is written down: separated by semicolons."""
    return tuple(listed.split(";"))


def mentions(text: str, any_part: tuple[str, ...]) -> bool:
    """Whether any of the parts, given in lower case, is in the text: cheaper than a pattern."""
    lowered = text.lower()
    return any(part in lowered for part in any_part)
