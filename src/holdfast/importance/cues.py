"""Cues of a message's weight: errors, decisions, requests to remember; and their negations.

Promise: a negated cue is no cue ("0 failed", "没有错误", "we have not decided"). Proven by the
tables of ``tests/foundation/test_importance.py``.
"""

from __future__ import annotations

from typing import Final

from holdfast.importance.samples import any_of, mentions, parts, sample

__all__ = ["asks_to_remember", "is_decision", "is_error"]

_WENT_WRONG: Final = r"(?:errors?|exceptions?|fail(?:ed|ures?|s|ing)|crash(?:es|ed)?|issues?)"
_NOT_ERRORS: Final = any_of(
    r"\b(?:no|zero|0|without(?: any)?|never|not any|free of|is(?:n't| not) an?|any|neither)\s+"
    rf"(?:\w{{1,30}}\s+){{0,2}}?{_WENT_WRONG}(?:\s+(?:or|and|nor)\s+{_WENT_WRONG})?\b",
    r"\b(?:errors?|failed|failures?|exceptions?)\s{0,2}[:=]\s{0,2}0\b",
    r"\berror[- ](?:free|handling|handlers?|prone|bars?|margins?|types?|class(?:es)?)\b",
    r"\b(?:trial and|margin of) error\b",
    r"\b(?:did not|didn't|doesn't|does not|won't|will not|never) (?:fail|crash)",
    r"\bno longer (?:fail|crash|error)",
    r"(?:没有?|无|未见|未发现|未出现|不再|不会|零|0\s?个?)(?:任何|再|出现|发现|过|一个){0,2}"
    r"(?:错误|报错|出错|异常|失败|崩溃|故障)",
    r"(?:错误|失败|异常)(?:数|个数)?\s?[:：=为是]?\s?0(?!\d)",
    r"(?:错误|异常|失败)(?:处理|类型|重试)|容错",
)
_ERRORS: Final = any_of(
    r"\b(?:errors?|exceptions?|traceback|fail(?:ed|s|ing|ures?)|crash(?:ed|es|ing)?|fatal)\b",
    r"\b(?:panic(?:ked)?|segfault|segmentation fault|stack trace|timed out)\b",
    r"\b[A-Z]\w{1,60}(?:Error|Exception)\b",
    r"错误|报错|出错|异常|失败|崩溃|故障|超时",
)

_NO_DECISIONS: Final = any_of(
    r"(?:\b(?:not|never|yet to|can't|cannot|if you|have you|did you|do you|you)|n't)\s+"
    r"(?:yet\s+|been\s+)?(?:decided?|choose|chosen|agreed?|settled)\b",
    r"\bdecision (?:trees?|makers?|boundar)",
    r"\b(?:hard|difficult|time|yet|left|still) to (?:be )?(?:decided?|choose|chosen)\b",
    r"\b(?:to be|not|un)\s?decided\b",
    r"(?:没有?|未|无法|不能|难以|怎么|如何|由你|你来|让你|要不要|该)(?:做出?|好)?(?:决定|选择|选定)",
    r"决定(?:不了|性|权|吧|吗)|选择(?:困难|题|框|器)",
    r"(?:什么|哪个|哪种|哪些|有没有|还没有?|没有|解决)(?:更好的|好的|其他)?方案|方案(?:吗|呢)",
)
_DECISIONS: Final = any_of(
    r"\b(?:decided?|agreed|settled) (?:to|on|that|not|against|upon|we|it)\b",
    r"\b(?:i|we) (?:chose|opted|picked)\b",
    r"\b(?:the|our|my|final) decision (?:is|was|:)|\bdecision:",
    r"\b(?:we|i)(?:'ll| will|'re going to| are going to) (?:go with|use|switch to|stick with)\b",
    r"\blet's (?:go with|use|stick with|switch to)\b|\b(?:we're|i'm|we are|i am) going with\b",
    r"\b(?:it is|it's|we've|that's) (?:been )?(?:decided|settled|agreed)\b",
    r"决定|选择了|(?:我|我们|最终|最后|就)选择?|选定|敲定|商定|定下来|就用|决议",
    r"(?:定|用|按|采用|选)[^，。,\n]{0,8}方案|方案[^，。,\n]{0,8}(?:是|定|为)",
)

_REMEMBER: Final = any_of(
    r"(?:^|[.!?;,:\n]\s{0,4})"
    r"(?:(?:and|but|also|please|pls|so|ok|okay|just|can you|could you|you should|i want you to"
    r"|i need you to)[ ,]+){0,3}"
    r"(?:remember(?! when\b| how\b| the time\b| me\b|ing\b| back\b| those\b| our\b| that time\b)"
    r"|keep in mind|memori[sz]e|make a note|take note|note that|note:|don't forget|do not forget"
    r"|never forget (?:that|to))\b",
    r"\bfor (?:future reference|the record)\b",
    r"\b(?:save|store|add|write) (?:this|that|it) (?:to|in) (?:your )?memory\b",
    r"(?<![我没不还能他她未就])(?:请|要|帮我|给我|一定)?"
    r"(?:记住|记下|牢记|记得(?!吗|么|那|当|小时候|清)|记一下)(?!了?[吗？?])",
    r"(?<![我他她])(?:别|不要|千万别)忘(?:了|记)",
)


# Cheap to ask first: most texts hold none of these.
_MAYBE_ERROR: Final = parts(
    "error;exception;traceback;fail;crash;fatal;panic;segfault;segmentation;stack trace;timed out"
    ";错误;报错;出错;异常;失败;崩溃;故障;超时"
)
_MAYBE_DECISION: Final = parts(
    "decide;decision;agreed;settled;chose;opted;picked;go with;use;switch to;stick with;going with"
    ";决;选;敲定;商定;定下来;就用;方案"
)
_MAYBE_REMEMBER: Final = parts(
    "remember;keep in mind;memori;note;forget;reference;the record;memory;记;忘"
)


def is_error(text: str) -> bool:
    """Whether the text tells of something that went wrong."""
    text = sample(text)
    if not mentions(text, _MAYBE_ERROR):
        return False
    return _ERRORS.search(_NOT_ERRORS.sub(" ", text)) is not None


def is_decision(text: str) -> bool:
    """Whether somebody says what was decided."""
    text = sample(text)
    if not mentions(text, _MAYBE_DECISION):
        return False
    return _DECISIONS.search(_NO_DECISIONS.sub(" ", text)) is not None


def asks_to_remember(text: str) -> bool:
    """Whether the writer asks for something to be kept in mind."""
    text = sample(text)
    return mentions(text, _MAYBE_REMEMBER) and _REMEMBER.search(text) is not None
