"""Where one piece of work ends and the next begins.

Boundaries come from recorded tasks where there are any, else from what the user says: a new
request after thanks or a farewell, an announced change of subject, or words that have almost
nothing in common with the work so far. When in doubt it is the same task: a run of tool calls
after one prompt is one task, however long.

Promise: tasks are consecutive, cover every group given, and exactly the last one is active
(``tests/context/test_compaction_tasks.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from holdfast.context.blocks import Group, is_user
from holdfast.context.compaction.shapes import Task, TaskSpan
from holdfast.importance import is_constraint, is_correction
from holdfast.text import cut
from holdfast.types import Text

__all__ = ["content_words", "find_tasks", "user_text"]

_CLOSING: Final = re.compile(
    r"\b(?:thank(?:s| you)|thx|bye|goodbye|see you|cheers|that(?:'s| is|’s| will be) all|talk soon"
    r"|all done|we(?:'re| are|’re) done|done for (?:now|today)|looks good to me|lgtm|well done)\b"
    r"|谢谢|多谢|感谢|辛苦了|再见|拜拜|就这样吧?|没有?别的了|没事了|搞定了?|完成了",
    re.IGNORECASE,
)
_OPENING: Final = re.compile(
    r"\s{0,9}(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings|你好|您好|早上好|下午好"
    r"|晚上好|嗨)\b"
    r"|\s{0,9}(?:(?:ok(?:ay)?|great|thanks?|thank you|alright)[,.! ]{1,3}){0,2}(?:(?:now )?(?:a "
    r"|the )?(?:new|next|another|different"
    r"|separate|other) (?:task|topic|thing|question|subject|issue|request|project)"
    r"|on (?:to )?(?:another|a different)|switching"
    r"|moving on|something else|unrelated|one more thing)"
    r"|\s{0,9}(?:换个|换一个|另一个|另一件|下一个|新的?)(?:话题|任务|问题|事情?|需求)"
    r"|\s{0,9}另外[，,一还有个]|\s{0,9}接下来",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(
    r"\b(?:please|pls|can you|could you|would you|will you|help me|i(?:'d| would) like|i (?:want"
    r"|need)"
    r"|let's|fix|add|write|create|build|make|implement|find|check|look|show|tell|explain|book"
    r"|change|update"
    r"|cancel|send|search|run|refactor|remove|delete|review|plan|translate|summari[sz]e|compare"
    r"|how (?:do|can|to)|why|what)\b"
    r"|请|帮我?|麻烦|能不能|可以.{0,12}吗|怎么|如何|为什么|看一下|查一?下?|写|改|修|订|建|加|删"
    r"|更新|取消|搜索|运行|解释|翻译|总结",
    re.IGNORECASE,
)
_REFERS_BACK: Final = re.compile(
    r"\b(?:it|that|this|these|those|them|same|again|also|still|instead|continue|go on|go ahead"
    r"|the (?:other|first|second|last)"
    r"|yes|no|ok|okay|sure)\b|继续|这个|那个|它|上面|刚才|也|还是|一样|再|对|好的|是的|不对|不是",
    re.IGNORECASE,
)
# Talk beside the work: a question, but nothing to be done.
_SMALL_TALK: Final = re.compile(
    r"天气|几点了|星期几|吃了吗|在吗|你好吗"
    r"|\b(?:weather|what time is it|how are you|are you there)\b",
    re.IGNORECASE,
)
_SHORT: Final = 40  # characters
_WORD: Final = re.compile(r"[a-z0-9][a-z0-9_'-]{2,40}")
_HAN: Final = re.compile(r"[\u3400-\u9fff]{2,}")
_STOP_WORDS: Final = (
    "the and for with that this from you your are was were have has had not but can could "
    "would will please just what when where which who how why its it's i'm i'd i'll don't "
    "then than them they our out about into over some any all need want like let's make sure "
    "also now one two get got use using there here their been did does say help thank thanks "
    "hello yes okay "
)
_STOP: Final = frozenset(_STOP_WORDS.split())
_READ: Final = 2_000
_REMEMBERED: Final = 2_048
_TITLE: Final = 300
_LITTLE: Final = 0.06
_ENOUGH_WORDS: Final = 6
_MANY_WORDS: Final = 60


def find_tasks(
    groups: Sequence[Group],
    spans: Sequence[TaskSpan] = (),
    *,
    continues: str | None = None,
) -> tuple[Task, ...]:
    """The tasks of a conversation, oldest first; the last is the active one.

    ``continues`` is what is known of the task in the midst of which the groups begin: the first
    of them belong to it, until the user turns to something else. None: nothing came before.
    """
    if not groups:
        return ()
    titles = {span.first: span.title for span in spans}
    starts = _recorded(groups, titles) if titles else _noticed(groups, continues)
    begins = sorted({0, *starts})
    tasks = []
    for begin, end in zip(begins, [*begins[1:], len(groups)], strict=True):
        before = continues is not None and begin == 0 and begin not in starts
        opening = None if before else _opening(groups[begin:end], titles)
        tasks.append(
            Task(
                groups=tuple(groups[begin:end]),
                opening=opening,
                title=(continues or "") if before else _title(opening, titles),
                active=end == len(groups),
            )
        )
    return tuple(tasks)


def _recorded(groups: Sequence[Group], titles: Mapping[str, str]) -> list[int]:
    return [i for i, group in enumerate(groups) if any(e in titles for e in group.entries)]


def _opening(groups: Sequence[Group], titles: Mapping[str, str]) -> Group | None:
    if any(entry in titles for entry in groups[0].entries):
        return groups[0]
    return next((group for group in groups if group.is_user), None)


def _title(opening: Group | None, titles: Mapping[str, str]) -> str:
    if opening is None:
        return ""
    recorded = next((titles[entry] for entry in opening.entries if entry in titles), None)
    return recorded or cut(user_text(opening), _TITLE).strip()


def _noticed(groups: Sequence[Group], continues: str | None) -> list[int]:
    """Where the user turns to something else."""
    starts: list[int] = []
    words = set(content_words(continues or ""))
    closed, begun = False, continues is not None
    for index, group in enumerate(groups):
        if not group.is_user:
            continue
        text = user_text(group)
        mine = content_words(text)
        if begun and _starts_anew(text, mine, words, closed):
            starts.append(index)
            words = set()
        begun = True
        words |= mine
        closed = _closes(text, mine, closed)
    return starts


def _closes(text: str, words: frozenset[str], closed: bool) -> bool:
    """Whether nothing is open after this message; small talk after a farewell leaves it so."""
    if _bids_farewell(text[-400:]):
        return not _asks(text[-400:]) or len(words) < _ENOUGH_WORDS
    return closed and len(words) < 2


# A conversation is read again at every turn, and only its end is new: judgements are kept. The
# texts are short, ``_READ`` at most.
@lru_cache(maxsize=_REMEMBERED)
def _bids_farewell(text: str) -> bool:
    return _CLOSING.search(text) is not None


@lru_cache(maxsize=_REMEMBERED)
def _asks(text: str) -> bool:
    return _REQUEST.search(text) is not None


def _count(words: frozenset[str]) -> int:
    """How many words there are; two pairs of Chinese characters make about one."""
    latin = sum(word.isascii() for word in words)
    return latin + (len(words) - latin + 1) // 2


def _starts_anew(text: str, mine: frozenset[str], words: set[str], closed: bool) -> bool:
    much = _count(mine) >= _ENOUGH_WORDS
    if (not _asks(text) and not much) or _is_small_talk(text):
        return False
    if closed and (_asks(text) or much):
        return True
    overlap = len(mine & words) / max(1, len(mine))
    if _OPENING.match(text):
        return overlap < 0.5
    if not much or not _asks(text) or not words:
        return False
    if len(mine) >= _MANY_WORDS:  # a whole assignment; a few words of it occur anywhere
        return overlap <= 2 * _LITTLE
    is_new = overlap <= _LITTLE and _REFERS_BACK.search(text[:400]) is None
    return is_new and not _is_about_the_work(text)


@lru_cache(maxsize=_REMEMBERED)
def _is_about_the_work(text: str) -> bool:
    """Whether a rule is set or something corrected: said about the work, not new work."""
    return is_constraint(text) or is_correction(text)


def _is_small_talk(text: str) -> bool:
    return len(text.strip()) <= _SHORT and _SMALL_TALK.search(text) is not None


def user_text(group: Group) -> str:
    """What the user says in a group."""
    texts = (
        part.text
        for block in group.blocks
        if is_user(block.message)
        for part in block.message.parts
        if isinstance(part, Text)
    )
    return cut("\n".join(texts), _READ)


def content_words(text: str) -> frozenset[str]:
    """Words that say what a text is about; of Chinese, pairs of characters."""
    return _content_words(text[:_READ])


@lru_cache(maxsize=_REMEMBERED)
def _content_words(text: str) -> frozenset[str]:
    text = text.lower()
    words = set(_WORD.findall(text)) - _STOP
    if not text.isascii():
        for run in _HAN.findall(text):
            words.update(run[place : place + 2] for place in range(len(run) - 1))
    return frozenset(words)
