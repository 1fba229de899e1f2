"""Which results a later one has made stale.

An older result is superseded by a later one of the same tool with equal arguments, and a read
of a file or an address by a later whole read of the same one, or by one of the same lines, by
whatever tool. Whether the file was edited in between does not matter: then the older read is
only the more stale.

Careful on purpose: a result that failed, is empty, or is itself shown shortened supersedes
nothing; tools that walk on by themselves ("next", "scroll") are never taken to repeat; a
command line counts as a read only in the few forms that cannot be anything else.

Promise: what is superseded is answered again by a later result in the same view
(``tests/context/test_pruning_reads.py``). Pure; linear in the length of the input.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from holdfast.context.pruning.parts import Piece
from holdfast.context.pruning.shorter import exit_status
from holdfast.types import Json, ToolCall

__all__ = ["superseded"]

_LONGEST_ARGUMENTS: Final = 20_000  # longer ones are compared as they are written
_SHORT_ARGUMENTS: Final = 500
_LONGEST_COMMAND: Final = 400
_LONGEST_NAME: Final = 200


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READ_WORDS: Final = _words(
    "read view cat open get fetch load show browse visit download scrape crawl"
)
_OTHER_WORDS: Final = _words(
    "write edit create replace delete remove update append insert patch apply move rename "
    "copy save upload list ls search grep find glob stat exec run"
)
_WALKING_WORDS: Final = _words(
    "next previous prev more continue scroll random sample ask poll wait think"
)
_PLACES: Final = _words(
    "path filepath file filename targetfile absolutepath pathname notebookpath "
    "relativeworkspacepath uri url href"
)
_OPERATIONS: Final = frozenset({"command", "action", "operation", "op", "mode"})
_COMMANDS: Final = frozenset({"command", "cmd"})
_FOLDERS: Final = frozenset({"workdir", "cwd"})
_READERS: Final = _words("cat nl less more bat sed head tail curl wget")
_ASIDES: Final = _words(
    "timeout timeoutms description explanation isbackground runinbackground securityrisk "
    "isinput restart"
)

_FAILED: Final = re.compile(
    r"\s{0,20}(?:\W{0,8}(?:error|fatal|exception|failed|failure|traceback|tool_use_error)\b"
    r"|\{\s{0,20}\"errors?\"\s{0,4}:\s{0,4}(?!null|false|\"\"|\[\])"
    r"|错误|失败|无法|找不到|异常)"
)
_NOT_THERE: Final = (": no such file or directory", ": permission denied", ": is a directory")
_TRUNCATED: Final = (
    "truncated",
    "not shown",
    "more lines",
    "lines omitted",
    "output too long",
    "截断",
    "省略",
)
_NEAR: Final = 300

_WORD: Final = r"""([\w./@%+=:,-]+|'[^'\n]+'|"[^"$`\\\n]+")"""
_LINES: Final = (
    r"""(?:sed -n (['"]?\d{1,9},(?:\d{1,9}|\$)p['"]?)|(head|tail)(?: -n ?| -)(\d{1,9}))"""
)
_CHANGE_FOLDER: Final = re.compile(rf"cd {_WORD} && ")
_WHOLE: Final = re.compile(rf"(?:cat(?: -[nAebst]{{1,6}})?|nl(?: -ba)?|less|more|bat) {_WORD}")
_PIPED: Final = re.compile(rf"{_WHOLE.pattern} ?\| ?{_LINES}")
_SOME: Final = re.compile(rf"{_LINES} {_WORD}")
_ADDRESS: Final = re.compile(
    r"""(?:curl(?: -[sSLfk]{1,5}){0,3}|wget -qO- ?) (['"]?)(https?://[^\s'"|;<>`$\\]+)\1"""
)

_UNTIDY: Final = re.compile(r"//|\./|/\.?$|^\.$")

_CallKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Read:
    """A file or an address, and which lines of it; None: all."""

    place: str
    lines: str | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What makes two calls equal, and what a call reads if it is a read."""

    key: _CallKey | None
    read: _Read | None


_Name: TypeAlias = tuple[object, ...]


def superseded(results: Sequence[Piece]) -> list[Piece]:
    """Those of the results, oldest first, that a later one of them has made stale."""
    asked = [(piece, _asked(piece.call)) for piece in results if piece.call is not None]
    # Few calls have anything in common with another one: only their results are looked at.
    often = Counter(name for _, each in asked for name in _names(each))
    shared = [(piece, each) for piece, each in asked if any(often[n] > 1 for n in _names(each))]
    later = _Later()
    stale: list[Piece] = []
    for piece, each in reversed(shared):
        if later.answers(each, len(piece.text)):
            stale.append(piece)
        elif _holds(piece):
            later.add(each, piece)
    stale.reverse()
    return stale


def _names(asked: _Asked) -> Iterator[_Name]:
    if asked.key is not None:
        yield asked.key
    if asked.read is not None:
        yield (asked.read.place,)


@dataclass(slots=True, kw_only=True)
class _Later:
    """What the results behind the present one have shown."""

    calls: set[_CallKey] = field(default_factory=set)
    lines: set[_Read] = field(default_factory=set)
    whole: dict[str, int] = field(default_factory=dict)  # place → characters shown of it

    def answers(self, asked: _Asked, chars: int) -> bool:
        if asked.key is not None and asked.key in self.calls:
            return True
        if asked.read is None:
            return False
        shown = self.whole.get(asked.read.place)
        if shown is not None and (asked.read.lines is None or shown >= chars):
            return True
        return asked.read in self.lines

    def add(self, asked: _Asked, piece: Piece) -> None:
        if asked.key is not None:
            self.calls.add(asked.key)
        if asked.read is None or piece.was_capped or _is_truncated(piece.text):
            return
        if asked.read.lines is None:
            self.whole.setdefault(asked.read.place, len(piece.text))
        else:
            self.lines.add(asked.read)


def _holds(piece: Piece) -> bool:
    """Whether a result shows what was asked for."""
    if piece.is_error or piece.was_pruned or not (piece.text.strip() or piece.images):
        return False
    beginning = piece.text[:_NEAR].lower()
    if _FAILED.match(beginning) or any(words in beginning for words in _NOT_THERE):
        return False
    return exit_status(piece.text) in (None, 0)


def _is_truncated(text: str) -> bool:
    ends = (text[:_NEAR] + text[-_NEAR:]).lower()
    return any(words in ends for words in _TRUNCATED)


# ── what was asked ──────────────────────────────────────────────────────────────────────────


def _asked(call: ToolCall) -> _Asked:
    if isinstance(call.arguments, str):
        if len(call.arguments) <= _SHORT_ARGUMENTS:
            return _asked_in_short(call.name, call.arguments)
        return _asked_in_text(call.name, call.arguments)
    return _asked_with(call.name, call.arguments)


def _asked_in_text(name: str, text: str) -> _Asked:
    arguments: Json = None
    if len(text) <= _LONGEST_ARGUMENTS:
        with suppress(ValueError, RecursionError):
            arguments = json.loads(text)
    if isinstance(arguments, dict):
        return _asked_with(name, arguments)
    return _Asked(None if _tells(name).walks else (name, text), None)


# The calls of a view are the same in every plan for it.
_asked_in_short = lru_cache(maxsize=4096)(_asked_in_text)


def _asked_with(name: str, arguments: Mapping[str, Json]) -> _Asked:
    return _Asked(_call_key(name, arguments), _read(name, arguments))


def _call_key(name: str, arguments: Mapping[str, Json]) -> _CallKey | None:
    """Equal for equal calls, however their arguments are written."""
    if _tells(name).walks:
        return None
    try:
        return (name, json.dumps(arguments, sort_keys=True, default=dict))
    except (TypeError, ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What the name of a tool tells."""

    reads: bool
    walks: bool


@lru_cache(maxsize=512)
def _tells(name: str) -> _Told:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name[:_LONGEST_NAME])
    found = {word.lower() for word in words}
    return _Told(
        reads=bool(found & _READ_WORDS) and not found & _OTHER_WORDS,
        walks=bool(found & _WALKING_WORDS),
    )


def _read(name: str, arguments: Mapping[str, Json]) -> _Read | None:
    """What a call reads, if it is a read and nothing else."""
    plain = {_plain(key): value for key, value in arguments.items() if value is not None}
    places = plain.keys() & _PLACES
    if not places:
        return _read_by_shell(plain)
    if len(places) > 1 or not isinstance(place := plain.pop(places.pop()), str) or not place:
        return None
    operations = plain.keys() & _OPERATIONS
    if operations:
        said = [plain.pop(key) for key in operations]
        if not all(isinstance(word, str) and word.lower() in _READ_WORDS for word in said):
            return None
    elif not _tells(name).reads:
        return None
    rest = {key: value for key, value in plain.items() if key not in _ASIDES}
    lines = json.dumps(rest, sort_keys=True, default=dict) if rest else None
    return _Read(_normal(place), lines)


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _normal(place: str, folder: str = "") -> str:
    if "://" in place:
        return place.removeprefix("file://").partition("#")[0]
    place = posixpath.join(folder, place) if folder else place
    return posixpath.normpath(place) if _UNTIDY.search(place) else place


# ── command lines ───────────────────────────────────────────────────────────────────────────


def _read_by_shell(plain: Mapping[str, Json]) -> _Read | None:
    given = plain.keys() & _COMMANDS
    if len(given) != 1 or plain.keys() - given - _FOLDERS - _ASIDES:
        return None
    command = _command_line(plain[next(iter(given))])
    folder = next((plain[key] for key in sorted(plain.keys() & _FOLDERS)), "")
    if command is None or not isinstance(folder, str):
        return None
    if command.startswith("cd ") and (moved := _CHANGE_FOLDER.match(command)):
        folder = posixpath.join(folder, _unquoted(moved[1]))
        command = command[moved.end() :]
    return _simple_read(command, folder)


def _command_line(given: Json) -> str | None:
    """The line a shell would run: as a string, or as ``["bash", "-lc", line]``."""
    if isinstance(given, list) and len(given) == 3 and given[1] in ("-c", "-lc"):
        given = given[2]
    if not isinstance(given, str) or len(given) > _LONGEST_COMMAND:
        return None
    return given.strip()


def _simple_read(command: str, folder: str) -> _Read | None:
    if command.partition(" ")[0] not in _READERS:
        return None
    if found := _WHOLE.fullmatch(command):
        return _read_file(found[1], folder, None)
    if found := _PIPED.fullmatch(command):
        return _read_file(found[1], folder, _lines(found[2], found[3], found[4]))
    if found := _SOME.fullmatch(command):
        return _read_file(found[4], folder, _lines(found[1], found[2], found[3]))
    if found := _ADDRESS.fullmatch(command):
        return _Read(_normal(found[2]), None)
    return None


def _read_file(word: str, folder: str, lines: str | None) -> _Read | None:
    name = _unquoted(word)
    return None if name.startswith("-") else _Read(_normal(name, folder), lines)


def _lines(span: str | None, end: str | None, count: str | None) -> str:
    return span.strip("'\"") if span is not None else f"{end} {count}"


def _unquoted(word: str) -> str:
    return word[1:-1] if word[0] in "'\"" else word
