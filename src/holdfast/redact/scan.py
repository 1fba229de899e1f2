"""All searches together: where the secrets of a text are, and the text without them.

Promise: linear; ``redact(redact(x)) == redact(x)``; an ordinary message costs a few
microseconds. Proven by ``tests/foundation/test_redact.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.redact.assigned import find_assigned
from holdfast.redact.blocks import digits_of, find_blocks, has_card_digits
from holdfast.redact.found import Found, encoded
from holdfast.redact.hidden import Plain
from holdfast.redact.tokens import RUN, classes_of, find_tokens
from holdfast.types import Json

__all__ = ["Secret", "find_secrets", "has_secret", "redact", "redact_json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """What a text gives away: from ``start`` to ``end``. ``shown`` is its public start."""

    kind: str
    start: int
    end: int
    shown: str = ""

    @property
    def mark(self) -> str:
        """What stands in its place."""
        return f"[secret: {self.kind} {self.shown}…]" if self.shown else f"[secret: {self.kind}]"


def has_secret(text: str) -> bool:
    """Whether there is anything to redact."""
    return _is_any_in(text) or (Plain.differs(text) and _is_any_in(Plain(text).text))


def _is_any_in(text: str) -> bool:
    return next(_find(text.encode("utf-8", "surrogatepass")), None) is not None


def find_secrets(text: str) -> tuple[Secret, ...]:
    """The secrets of a text, in order; they do not overlap.

    A token with hidden characters in it is still one to whoever copies it; and what a hidden
    character parts may be two. So both are looked at, the text and the text without them.
    """
    found = _secrets_of(text)
    if not Plain.differs(text):
        return found
    plain = Plain(text)
    more = []
    for each in _secrets_of(plain.text):
        start, end = plain.span(each.start, each.end)
        more.append(replace(each, start=start, end=end))
    return _together(found, more)


def _secrets_of(text: str) -> tuple[Secret, ...]:
    data = text.encode("utf-8", "surrogatepass")
    merged = _merged(_find(data))
    if len(data) == len(text):
        return tuple(Secret(kind=f.kind, start=f.start, end=f.end, shown=f.shown) for f in merged)
    return tuple(_in_characters(data, merged))


def _together(found: Sequence[Secret], more: Sequence[Secret]) -> tuple[Secret, ...]:
    both = (Found(each.kind, each.start, each.end, each.shown) for each in (*more, *found))
    return tuple(
        Secret(kind=each.kind, start=each.start, end=each.end, shown=each.shown)
        for each in _merged(both)
    )


def redact(text: str) -> str:
    """The text with a mark in place of every secret: ``[secret: github token ghp_…]``.

    What a mark leaves beside it may be one that was hidden by the first, hence the rounds; a
    second finds something in texts made for it, and every round leaves less that is no mark.
    """
    for _ in range(_ROUNDS):
        if not (found := find_secrets(text)):
            break
        parts: list[str] = []
        done = 0
        for secret in found:
            parts += (text[done : secret.start], secret.mark)
            done = secret.end
        text = "".join((*parts, text[done:]))
    return text


_ROUNDS: Final = 8


def redact_json(value: Json) -> Json:
    """The value with every string in it redacted; keys stay as they are."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list | tuple):
        return [redact_json(each) for each in value]
    if isinstance(value, dict):
        return {key: redact_json(each) for key, each in value.items()}
    return value


# ── the searches ────────────────────────────────────────────────────────────────────────────

_MARK: Final = re.compile(rb"\[secret: [a-z0-9 .+/-]{1,40}(?: [ -Z^-~]{1,64}\xe2\x80\xa6)?\]")
_OUR_COMMENT: Final = re.compile(rb"<!-- hf [^\r\n]{0,65536}? -->")

# No secret is found in a text that has none of these: asking for them costs less than looking.
_ENGLISH: Final = (
    *(b"pass", b"pwd", b"secret", b"token", b"key", b"auth", b"credential"),
    *(b"seed", b"mnemonic", b"phrase"),
)
_CHINESE: Final = tuple(encoded("密 口令 令牌 钥 鑰 權杖 授权码 授權碼 通行码 助记 助記 恢复短语"))
_WITH_EQUALS: Final = encoded("pw= cookie sess sid sig")
_WITH_LONG_WORDS: Final = encoded("bearer basic")


def _find(data: bytes) -> Iterator[Found]:
    """What every search finds, in no order. Texts in which nothing can be cost little."""
    classes = classes_of(data)
    if b"tt" not in classes:
        return
    is_long = RUN in classes
    lower = data.lower()
    if not is_long and not _may_hold(data, lower, classes):
        return
    data, for_tokens = _without_marks(data)
    if is_long:
        yield from find_tokens(for_tokens)
    lower = data.lower()
    yield from find_assigned(data, lower)
    yield from find_blocks(data, lower)


def _may_hold(data: bytes, lower: bytes, classes: bytes) -> bool:
    """Whether anything is named that could be a secret."""
    if any(word in lower for word in _ENGLISH):
        return True
    if not data.isascii() and any(word in data for word in _CHINESE):
        return True
    if b"=" in data and any(word in lower for word in _WITH_EQUALS):
        return True
    if b"t" * 12 in classes and any(word in lower for word in _WITH_LONG_WORDS):
        return True
    if b":" in data and (b"pw:" in lower or b" -u" in lower):
        return True
    if b":54" in data or b":64" in data or b":*:" in data:  # the port in a .pgpass
        return True
    if b" -p" in lower and (b"mysql" in lower or b"mariadb" in lower):
        return True
    if (b"@" in data and b"://" in data) or (b"'" in data and b"by '" in lower):
        return True
    digits = digits_of(data)
    return has_card_digits(digits) or (b"dddd" in digits and b"pin" in lower)


def _without_marks(data: bytes) -> tuple[bytes, bytes]:
    """The text with nothing where our own marks are: first also without our comments.

    A comment of ours holds ids and times, nothing that looks assigned. A token that names
    itself is one wherever it stands.
    """
    if b"[secret: " in data:
        data = _MARK.sub(_blank, data)
    for_tokens = data
    if b"<!-- hf " in data:
        data = _OUR_COMMENT.sub(_blank, data)
    return data, for_tokens


def _blank(match: re.Match[bytes]) -> bytes:
    return b"\0" * len(match[0])


def _merged(found: Iterable[Found]) -> list[Found]:
    """In order, without overlaps. Of two that overlap the one that names itself gives the name."""
    merged: list[Found] = []
    for each in sorted(found, key=lambda found: (found.start, -found.end)):
        if not merged or each.start >= merged[-1].end:
            merged.append(each)
            continue
        last = merged[-1]
        end = max(last.end, each.end)
        named = each if each.shown and not last.shown else last
        shown = named.shown if named.start == last.start else ""
        merged[-1] = Found(named.kind, last.start, end, shown)
    return merged


def _in_characters(data: bytes, found: list[Found]) -> Iterator[Secret]:
    """Places in the text instead of in its bytes, and never inside a character."""
    at = characters = 0
    for each in found:
        end = each.end
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        characters += len(data[at : each.start].decode("utf-8", "surrogatepass"))
        length = len(data[each.start : end].decode("utf-8", "surrogatepass"))
        yield Secret(kind=each.kind, start=characters, end=characters + length, shown=each.shown)
        characters += length
        at = end
