"""Lines of text → JSON values: one per line, or one over many lines.

Promise: every line is looked at a bounded number of times, however hostile; a damaged line
costs itself; of a damaged conversation the messages that are whole are saved
(``tests/foundation/test_logs.py``). No more is held than the value being read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from holdfast.formats.logs.kinds import recognise
from holdfast.formats.wire import Wire
from holdfast.text import one_line
from holdfast.types import Json

__all__ = ["Broken", "Value", "read_values"]

_BLANK: Final = "\ufeff \t\r\n"  # a byte order mark stands wherever files were joined

_SHOWN_COLUMNS: Final = 60

_MOST_GAPS: Final = 32

# Possessive, and an unclosed string reaches to the end: nothing is ever read twice.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{}]', re.DOTALL)

_MESSAGES: Final = re.compile(r'"messages"[ \t\r\n]{0,99}:[ \t\r\n]{0,99}\[')

_MESSAGE: Final = re.compile(r'\{[ \t\r\n]{0,99}"role"')

_BETWEEN: Final = re.compile(r"[ \t\r\n,]*+")

_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A JSON value, and the line it begins in."""

    line: int
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """Text that is no JSON, from ``line`` to ``last``; ``saved`` are messages whole in it."""

    line: int
    last: int
    why: str
    saved: tuple[Wire, ...] = ()


def read_values(lines: Iterable[str]) -> Iterator[Value | Broken]:
    """All values in order, and what is none."""
    document: _Document | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw.strip(_BLANK)
        if not line:
            continue
        if document is not None:
            if document.goes_on_with(line):
                document.add(number, line)
                if document.is_closed:
                    yield from document.values()
                    document = None
                continue
            yield from document.debris("the JSON breaks off")
        document = None
        value = _parse(line)
        if not isinstance(value, _NotJson):
            yield Value(line=number, value=value)
        elif (document := _Document.begun(number, line)) is None:
            yield _broken(number, number, line, value.why)
    if document is not None:
        yield from document.debris("the JSON ends early")


class _NotJson:
    def __init__(self, why: str) -> None:
        self.why = why


def _parse(text: str) -> Json | _NotJson:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"its line {error.lineno}"
        return _NotJson(f"not JSON: {error.msg} at {place}")
    except RecursionError:
        return _NotJson("not usable JSON: nested too deeply")
    except ValueError as error:  # an integer of more digits than Python reads
        return _NotJson(f"not usable JSON: {one_line(str(error), _SHOWN_COLUMNS)}")


def _broken(line: int, last: int, text: str, why: str) -> Broken:
    shown = one_line(text, _SHOWN_COLUMNS)
    return Broken(line=line, last=last, why=f"{why} ({shown})", saved=_saved(text))


# ── one value over many lines ───────────────────────────────────────────────────────────────


class _Document:
    """A value whose brackets are still open at the end of a line."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str]] = []
        self._depth = 0
        self._is_torn = False

    @classmethod
    def begun(cls, number: int, line: str) -> _Document | None:
        """The document that this line, no JSON in itself, may begin."""
        if line[0] not in "{[":
            return None
        document = cls()
        document.add(number, line)
        return document if not document._is_torn and document._depth > 0 else None

    @property
    def is_closed(self) -> bool:
        return self._depth <= 0

    def goes_on_with(self, line: str) -> bool:
        """Whether JSON could go on so: two values without a comma between them are two records.

        This ends a document that a torn line of a log seemed to begin.
        """
        last = self._lines[-1][1][-1]
        return not self._is_torn and (line[0] not in '{["' or last in ",:{[")

    def add(self, number: int, line: str) -> None:
        self._lines.append((number, line))
        change, self._is_torn = _brackets(line)
        self._depth += change

    def values(self) -> Iterator[Value | Broken]:
        """The value, now that its brackets are closed."""
        value = _parse(self._text())
        if isinstance(value, _NotJson):
            yield from self.debris(value.why)
        else:
            yield Value(line=self._lines[0][0], value=value)

    def debris(self, why: str) -> Iterator[Value | Broken]:
        """What can be used of a document that is none: records in lines of their own."""
        broken = _broken(self._lines[0][0], self._lines[-1][0], self._text(), why)
        yield broken
        for number, line in self._lines[1:]:
            value = _parse(line.removesuffix(","))
            kind = None if isinstance(value, _NotJson) else recognise(value)
            if kind is not None and not (broken.saved and kind == "message"):
                yield Value(line=number, value=value)

    def _text(self) -> str:
        return "\n".join(line for _, line in self._lines)


def _brackets(text: str) -> tuple[int, bool]:
    """How many more brackets the text opens than it closes, and whether a string stays open."""
    depth = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth -= 1
        elif not found[1]:
            return depth, True
    return depth, False


def _saved(text: str) -> tuple[Wire, ...]:
    """The messages of a list that are whole although something in it is not.

    After damage it goes on with the next message, a bounded number of times: each failure
    costs as much as the text before it, which is counted for its place.
    """
    position = _beginning_of_list(text)
    saved: list[Wire] = []
    gaps = 0
    while position is not None and (between := _BETWEEN.match(text, position)) is not None:
        try:
            value, position = _DECODER.raw_decode(text, between.end())
        except json.JSONDecodeError as error:
            gaps += 1
            following = _MESSAGE.search(text, max(error.pos, between.end() + 1))
            position = following.start() if following and gaps < _MOST_GAPS else None
            continue
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict) or "role" not in value:
            break
        saved.append(value)
    return tuple(saved)


def _beginning_of_list(text: str) -> int | None:
    """Where the messages begin: in a bare list, or in the field of the outermost object."""
    if text.startswith("["):
        return 1
    found = _MESSAGES.search(text)
    if found is None or _brackets(text[: found.start()]) != (1, False):
        return None
    return found.end()
