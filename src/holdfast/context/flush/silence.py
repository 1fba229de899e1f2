"""Replies that say nothing on purpose: recognised whole, taken out of mixed text, never streamed.

A silent token is ``NO_REPLY``, ``[SILENT]`` or ``_SILENT_``: in any case, in full-width letters,
with zero-width characters in it, with Markdown, quotation marks or punctuation around it. Text is
judged line by line:

    token     nothing but a token and marks around it
    blank     nothing to see
    fence     the beginning or end of a code block
    marks     other punctuation only
    text      everything else

A reply without any text and with a token is silent. In mixed text the token lines before the
first and after the last line of text go, with the empty lines beside them.

Promise: for any split into pieces, nothing of a silent reply is ever shown and nothing of any
other text is swallowed; what is held back is at most what could still become a token line. Linear
in the text (``tests/context/test_silence.py``).
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from holdfast.text import is_hidden

__all__ = ["SILENT_TOKEN", "SilentStream", "has_token", "is_silent", "without_silence"]

SILENT_TOKEN: Final = "NO_REPLY"
"""The one of the tokens that we ask for."""

_PLAIN: Final = SILENT_TOKEN
_FRAMED: Final = "SILENT"  # only with a bracket or an underscore on each side: else it is a word
_OPENING: Final = "[_【"
_CLOSING: Final = "]_】"
_SYMBOLS: Final = frozenset("`~^|<>´")  # marks of Markdown that Unicode calls symbols
_FENCES: Final = ("```", "~~~")
_LONGEST_INFO: Final = 12  # letters of the language after a fence

_Kind = Literal["token", "blank", "fence", "marks", "text"]


class _Held(NamedTuple):
    kind: _Kind
    raw: str


@lru_cache(maxsize=4_096)
def _folded(char: str) -> str:
    """A character as it is compared: "" if hidden, a blank for white space, else upper case."""
    if is_hidden(char):
        return ""
    if char.isspace():
        return " "
    plain = unicodedata.normalize("NFKC", char).upper()
    return plain if len(plain) == 1 else char


@lru_cache(maxsize=4_096)
def _is_mark(folded: str) -> bool:
    return folded == " " or folded in _SYMBOLS or unicodedata.category(folded).startswith("P")


class _Line:
    """One line that may still turn out to be a token, letter by letter."""

    __slots__ = ("_before", "_is_token", "_lead", "_word", "is_text", "raw")

    def __init__(self) -> None:
        self.raw: list[str] = []
        self.is_text = False
        self._lead = ""  # marks seen before any word, without blanks; the last few are enough
        self._before = ""  # the last mark before the word
        self._word: str | None = None
        self._is_token = False

    @property
    def opens_code(self) -> bool:
        """Whether it begins as the fence of a code block."""
        return self._lead.startswith(_FENCES)

    def add(self, char: str) -> None:
        self.raw.append(char)
        if (folded := _folded(char)) == "":
            return
        if self._word is None:
            self._add_mark(folded)
        else:
            self._add_letter(folded)

    def _add_mark(self, folded: str) -> None:
        if not _is_mark(folded):
            if self._is_token and not self._before:
                self.is_text = True  # NO_REPLYABLE
                return
            self._word = ""
            self._add_letter(folded)
            return
        self._before = folded
        if folded != " " and len(self._lead) < 8 and not self._is_token:
            self._lead += folded

    def _add_letter(self, folded: str) -> None:
        word = (self._word or "") + folded
        if _PLAIN.startswith(word):
            self._word = word
            if word == _PLAIN:
                self._end_word()
        elif self._before and self._before in _OPENING and _FRAMED.startswith(word):
            self._word = word
        elif word[:-1] == _FRAMED and folded in _CLOSING and self._before in _OPENING:
            self._end_word()
            self._before = folded
        elif self._is_info(word):
            self._word = word
        else:
            self.is_text = True

    def _end_word(self) -> None:
        self._word, self._is_token, self._before = None, True, ""

    def _is_info(self, word: str) -> bool:
        """Whether this is the language of a code block: a fence, and a short word."""
        return (
            self._lead in _FENCES
            and self._before != " "
            and not self._is_token
            and (word[-1] == " " or word.isalnum())
            and len(word) <= _LONGEST_INFO
            and " " not in word[:-1].rstrip(" ")
        )

    def ended(self) -> _Kind:
        if self.is_text:
            return "text"
        if self._word is not None:
            return "fence" if not self._is_token and self._is_info(self._word) else "text"
        if self._is_token:
            return "token"
        if self.opens_code:
            return "fence"
        return "marks" if self._lead else "blank"


class SilentStream:
    """A filter for a streamed reply: ``feed`` gives what may be shown by now, ``end`` the rest."""

    def __init__(self) -> None:
        self._held: list[_Held] = []
        self._line: _Line | None = _Line()  # None: within a line of text
        self._has_shown = False
        self._in_code = False  # what was shown has an open code block
        self._had_token = False

    @property
    def is_silent(self) -> bool:
        """After ``end``: whether the reply was a silent token and nothing else."""
        return self._had_token and not self._has_shown

    def feed(self, piece: str) -> str:
        shown: list[str] = []
        at = 0
        while at < len(piece):
            at = (
                self._pass(piece, at, shown) if self._line is None else self._hold(piece, at, shown)
            )
        return "".join(shown)

    def _pass(self, piece: str, at: int, shown: list[str]) -> int:
        """Through the rest of a line of text; its end is held, for a token may follow."""
        end = piece.find("\n", at)
        if end < 0:
            shown.append(piece[at:])
            return len(piece)
        shown.append(piece[at:end])
        self._held.append(_Held("blank", "\n"))
        self._line = _Line()
        return end + 1

    def _hold(self, piece: str, at: int, shown: list[str]) -> int:
        """On until it is known what the line is."""
        line = self._line
        assert line is not None
        while at < len(piece):
            char = piece[at]
            at += 1
            if char == "\n":
                self._end_line(line, "\n", shown)
                return at
            line.add(char)
            if line.is_text:
                self._show_line(line, shown)
                return at
        return at

    def _end_line(self, line: _Line, newline: str, shown: list[str]) -> None:
        kind = line.ended()
        if kind == "text":
            self._show_line(line, shown)
            if newline:
                self._held.append(_Held("blank", newline))
        elif line.raw or newline:
            self._held.append(_Held(kind, "".join(line.raw) + newline))
            self._had_token = self._had_token or kind == "token"
        self._line = _Line()

    def _show_line(self, line: _Line, shown: list[str]) -> None:
        before = self._held if self._has_shown else _without_leading(self._held)
        shown += [held.raw for held in before]
        shown += line.raw
        fences = sum(held.kind == "fence" for held in before) + line.opens_code
        self._in_code ^= fences % 2 == 1
        self._held, self._line, self._has_shown = [], None, True

    def end(self) -> str:
        shown: list[str] = []
        if self._line is not None:
            self._end_line(self._line, "", shown)
        held, self._held = self._held, []
        if self._has_shown:
            held = _without_trailing(held, in_code=self._in_code)
        elif self._had_token:
            held = []
        return "".join([*shown, *(one.raw for one in held)])


def _without_leading(held: list[_Held]) -> list[_Held]:
    """What stands before the first text, without token lines and the code block around them."""
    last = max((at for at, one in enumerate(held) if one.kind == "token"), default=-1)
    if last < 0:
        return held
    opened = [one for one in held[:last] if one.kind == "fence"]
    rest = held[last + 1 :]
    if len(opened) % 2:
        closed = next((at for at, one in enumerate(rest) if one.kind == "fence"), None)
        if closed is None:
            return [opened[-1], *rest]  # the text that follows stands in the block too
        rest = rest[closed + 1 :]
    while rest and rest[0].kind == "blank":
        rest = rest[1:]
    return rest


def _without_trailing(held: list[_Held], *, in_code: bool) -> list[_Held]:
    """What stands behind the last text, without token lines and all that follows them."""
    first = next((at for at, one in enumerate(held) if one.kind == "token"), None)
    if first is None:
        return held
    fences = [at for at, one in enumerate(held[:first]) if one.kind == "fence"]
    if (len(fences) + in_code) % 2:
        if not fences:
            return held  # a line of somebody's code
        first = fences[-1]
    while first and held[first - 1].kind == "blank":
        first -= 1
    return held[:first]


def is_silent(text: str) -> bool:
    """Whether a reply is only a silent token."""
    stream = SilentStream()
    return not stream.feed(text) and not stream.end() and stream.is_silent


def without_silence(text: str) -> str:
    """A reply without the token lines it begins or ends with; empty if it is silent."""
    stream = SilentStream()
    return stream.feed(text) + stream.end()


def has_token(text: str) -> bool:
    """Whether a text names any of the tokens: a prompt that does needs no hint."""
    folded = "".join(map(_folded, text))
    return _PLAIN in folded or any(
        f"{left}{_FRAMED}{right}" in folded for left in _OPENING for right in _CLOSING
    )
