"""What a rule is, how a table of them is run, and the rules that hold for every provider.

The validators read requests as they go over the wire (dictionaries), not our messages: they
judge from outside, and nothing in ``repair`` can hide from them. A rule that cannot be seen in
one request is named in the table of its format and not judged.

Promise: any JSON value can be judged, also one that is no request at all
(``tests/context/test_validity_rules.py``).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

from holdfast.context.validity.capabilities import Capabilities
from holdfast.context.validity.images import decoded_bytes, dimensions
from holdfast.types import Json

__all__ = [
    "UNIVERSAL",
    "Found",
    "Request",
    "Rule",
    "Violation",
    "dict_messages",
    "is_blank",
    "judge",
    "judge_on",
    "picture_problem",
    "strings_in",
]

Found: TypeAlias = tuple[int | None, int | None, str]
"""Which message, which part of it, and what is wrong there."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The parts of a request the rules look at. ``tools`` None: nobody said."""

    messages: Json
    system: Json = None
    tools: Sequence[Mapping[str, Json]] | None = None
    caps: Capabilities
    at_most: int | None = None
    """Characters that the body surely does not exceed, if that is known without writing it."""

    @cached_property
    def body(self) -> str | None:
        """All of it as JSON, to see at one glance that nothing is wrong; None if it is not JSON."""
        everything = [self.system, self.tools, self.messages]
        try:
            return json.dumps(everything, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a provider. ``error`` is what the provider answers; "" if that is not known.

    ``hard``: the provider refuses the request. What is not hard is refused by some servers of
    the format, or answered badly.
    """

    id: str
    says: str
    error: str
    check: Callable[[Request], Iterator[Found]]
    hard: bool = True
    whole: bool = False
    """It counts or compares over all messages. Any other rule, if it finds nothing wrong up to
    a message of the assistant, finds nothing there either when something else follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that is broken: ``index`` of the message and ``part``, None where neither."""

    rule: str
    index: int | None
    part: int | None
    text: str


def judge(rules: Iterable[Rule], request: Request) -> list[Violation]:
    """What the rules have to say about a request, in the order of the rules."""
    return [
        Violation(rule=rule.id, index=index, part=part, text=text)
        for rule in rules
        for index, part, text in rule.check(request)
    ]


def judge_on(rules: Iterable[Rule], request: Request, start: int) -> list[Violation]:
    """What ``judge`` says, if the messages before ``start`` were judged and nothing was wrong.

    Those must have been judged in front of the same message of the assistant, with the same
    system text, tools and capabilities.
    """
    news = replace(request, messages=request.messages[start:], at_most=None)
    if request.at_most is not None and news.body is not None:
        request = replace(request, at_most=request.at_most + len(news.body))
    else:
        request = replace(request, at_most=None)
    return [
        Violation(rule=rule.id, index=index, part=part, text=text)
        for rule in rules
        for index, part, text in (rule.check(request) if rule.whole else _on(rule, news, start))
    ]


def _on(rule: Rule, news: Request, start: int) -> Iterator[Found]:
    for index, part, text in rule.check(news):
        yield None if index is None else index + start, part, text


# ── looking at untrusted JSON ───────────────────────────────────────────────────────────────


def dict_messages(request: Request) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """The messages that are objects, with their places."""
    if isinstance(request.messages, list | tuple):
        for index, message in enumerate(request.messages):
            if isinstance(message, Mapping):
                yield index, message


def is_blank(text: Json) -> bool:
    """Whether this is a text with nothing in it but white space."""
    return isinstance(text, str) and (not text or text.isspace())


def strings_in(value: Json) -> Iterator[str]:
    """Every string in a JSON value, keys included, whatever its depth."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            waiting.extend(each.values())
            waiting.extend(each.keys())
        elif isinstance(each, list | tuple):
            waiting.extend(each)


def picture_problem(data: str, media_type: Json, caps: Capabilities, count: int) -> str | None:
    """What is wrong with one of ``count`` pictures, given as base64."""
    if media_type not in caps.image_types:
        return f"{media_type!r} is not one of {', '.join(caps.image_types)}"
    if not _starts_like_base64(data):
        return "the image is not base64"
    if caps.max_image_bytes is not None and decoded_bytes(data) > caps.max_image_bytes:
        return f"image exceeds {caps.max_image_bytes} bytes"
    many = caps.many_images is not None and count > caps.many_images
    limit = caps.many_pixels if many else caps.max_pixels
    if limit is not None and max(dimensions(data) or (0, 0)) > limit:
        return f"an image dimension exceeds the allowed {limit} pixels"
    return None


def _starts_like_base64(data: str) -> bool:
    head = data[:64]
    try:
        return bool(base64.b64decode(head[: len(head) // 4 * 4], validate=True))
    except (binascii.Error, ValueError):
        return False


# ── universal ───────────────────────────────────────────────────────────────────────────────


def _surrogates(request: Request) -> Iterator[Found]:
    if request.body is not None and not _has_surrogate(request.body):
        return
    for index, message in enumerate(_listed(request.messages)):
        if any(_has_surrogate(text) for text in strings_in(message)):
            yield index, None, "no low surrogate in string"
    if any(_has_surrogate(text) for text in strings_in([request.system, request.tools])):
        yield None, None, "no low surrogate in string of system or tools"


def _listed(messages: Json) -> Sequence[Json]:
    return messages if isinstance(messages, list | tuple) else ()


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _not_json(request: Request) -> Iterator[Found]:
    if request.body is not None:
        return
    for index, message in enumerate(_listed(request.messages)):
        try:
            json.dumps(message, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            yield index, None, f"the message cannot be written as JSON: {error}"


UNIVERSAL: Final = (
    Rule(
        id="U8",
        says="every text is valid Unicode: no lone surrogates (NUL is fine)",
        error="The request body is not valid JSON: no low surrogate in string: line 1 column 347",
        check=_surrogates,
    ),
    Rule(
        id="U9",
        says="the request can be written as JSON: no NaN, no bytes, no other objects",
        error="We could not parse the JSON body of your request.",
        check=_not_json,
    ),
)
