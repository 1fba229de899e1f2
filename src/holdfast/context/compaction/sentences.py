"""Single sentences out of messages: what was decided, found, planned, forbidden.

Promise: a sentence is quoted as it stands, on one line, cut only between characters a reader
takes for one; of a large text the beginning and the end are read
(``tests/context/test_compaction_facts.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from holdfast.context.compaction.identifiers import sample
from holdfast.context.compaction.tasks import content_words
from holdfast.importance import own_words
from holdfast.text import cut, strip_hidden
from holdfast.types import Message, Text

__all__ = ["excerpt", "is_done", "is_finding", "is_news", "is_next", "sentences", "spoken"]

_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_MARKS: Final = re.compile(r"^[\s#>*•\d.)-]{0,12}(?=\S)")
_BLANK: Final = re.compile(r"\s+")
_LEAST_WORDS: Final = 3
_HEAD: Final = 3_000
_TAIL: Final = 1_500

_FINDING: Final = re.compile(
    r"\b(?:root cause|the (?:issue|problem|bug|cause|error|reason|culprit) (?:is|was|comes|lies"
    r"|stems|seems)|caused by|because of"
    r"|turns out|i (?:found|discovered|noticed) (?:that|the|a|an)|i see (?:that|the|what)"
    r"|it (?:fails|breaks"
    r"|happens) (?:because|when)|this means|confirmed)\b"
    r"|原因(?:是|在于|为)|问题(?:是|在于|出在)|由于|发现|确认|说明",
    re.IGNORECASE,
)
_NEXT: Final = re.compile(
    r"\b(?:next|then i|i'll|i will|i am going to|i'm going to|let me|let's|now i|remaining"
    r"|still (?:need|have) to|to do|todo)\b"
    r"|下一步|接下来|然后|准备|将要?|待办|还需要?|让我|我来",
    re.IGNORECASE,
)
_DONE: Final = re.compile(
    r"\b(?:done|fixed|repaired|solved|closed|completed?|finished|booked|created|updated|added"
    r"|removed|deleted"
    r"|cancel(?:l)?ed|sent|changed|refunded"
    r"|successfully|resolved|passes|works now|has been|have been|implemented|merged|deployed)\b"
    r"|已经?|完成|成功|解决|修复|好了|改为|订好",
    re.IGNORECASE,
)


def spoken(message: Message) -> str:
    """What is said in a message, without results, thinking, pasted code and logs."""
    said = "\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text)
    return own_words(sample(said, _HEAD, _TAIL)) if said else ""


def sentences(text: str, wanted: Callable[[str], bool]) -> Iterator[str]:
    """The sentences of a text that are wanted; a text without any is not taken apart."""
    if not wanted(text):
        return
    for piece in _END.split(text):
        sentence = _MARKS.sub("", piece.strip())
        if len(sentence) > 5 and wanted(sentence):
            yield sentence


def is_finding(text: str) -> bool:
    """Whether somebody says what the matter is."""
    return _FINDING.search(text) is not None


def is_news(sentence: str) -> bool:
    """Whether a sentence has content of its own, and is not only about what comes next."""
    return len(content_words(sentence)) >= _LEAST_WORDS and not is_next(sentence)


def is_next(text: str) -> bool:
    """Whether somebody says what they will do."""
    return _NEXT.search(text) is not None


def is_done(text: str) -> bool:
    """Whether somebody says that something is done."""
    return _DONE.search(text) is not None


def excerpt(text: str, limit: int) -> str:
    """The text on one line of at most ``limit`` characters, without anything hidden."""
    line = _BLANK.sub(" ", strip_hidden(cut(text, 4 * limit + 64))[0]).strip()
    if len(line) <= limit and len(text) <= 4 * limit + 64:
        return line
    return cut(line, max(0, limit - 1)).rstrip() + "…"
