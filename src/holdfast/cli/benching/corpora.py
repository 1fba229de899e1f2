"""Labelled conversations for a benchmark, read one at a time from JSON lines or a JSON list.

Two formats are known: corpora ``{id, turns, queries}`` with gold turns, and the questions of
LongMemEval with gold sessions (``longmemeval``). Promise: a file that is not of the format is
refused with its line or item and what is missing; nothing is guessed, and no file is read whole
(``tests/doors/test_bench.py``).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import IO, Any, Final, Literal, cast

from holdfast.errors import NotFound, UsageError
from holdfast.types import Json

__all__ = [
    "Corpus",
    "Query",
    "Turn",
    "Unit",
    "as_message",
    "corpus_of",
    "items",
    "malformed",
    "text_field",
]

Unit = Literal["turn", "session"]

_FORMAT: Final = (
    "One corpus per line: {id, turns: [{id, session, time, speaker, text}], "
    "queries: [{id, text, gold, category}]}; or LongMemEval's own JSON."
)
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing that was said."""

    id: str
    session: str
    speaker: str
    text: str
    at: datetime | None = None
    """None: the file does not say."""


def as_message(turn: Turn) -> dict[str, Json]:
    """As an importer of chats makes it: people have names, and only a role is a role."""
    if turn.speaker in ("user", "assistant"):
        return {"role": turn.speaker, "content": turn.text}
    return {"role": "user", "name": turn.speaker, "content": turn.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question, and what answers it: ids of turns, or of sessions (``Corpus.unit``)."""

    id: str
    text: str
    gold: frozenset[str]
    category: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Conversations that belong together, and questions about them."""

    id: str
    turns: tuple[Turn, ...]
    queries: tuple[Query, ...]
    unit: Unit = "turn"
    asked_at: datetime | None = None
    """When the questions are asked, if the file says so."""

    @property
    def now(self) -> datetime | None:
        """When the questions are asked: at the time of the latest turn, unless the file says."""
        return self.asked_at or max((turn.at for turn in self.turns if turn.at), default=None)

    def batches(self) -> Iterator[tuple[str, datetime | None, list[Turn]]]:
        """Turns that were said in one session at one time, which can be appended together."""
        for (session, at), turns in groupby(self.turns, key=lambda turn: (turn.session, turn.at)):
            yield session, at, list(turns)


# ── one corpus ──────────────────────────────────────────────────────────────────────────────


def corpus_of(item: Mapping[str, Any], where: str) -> Corpus:
    """The corpus in one line of a file."""
    turns = tuple(_turn(each, where) for each in _objects(item, "turns", where))
    queries = tuple(_query(each, where) for each in _objects(item, "queries", where))
    known = {turn.id for turn in turns}
    if len(known) < len(turns):
        raise malformed(where, "two turns have the same id")
    for query in queries:
        if unknown := sorted(query.gold - known):
            raise malformed(
                where, f"query {query.id!r} names a turn {unknown[0]!r} that is not there"
            )
    return Corpus(id=text_field(item, "id", where), turns=turns, queries=queries)


def _turn(item: Mapping[str, Any], where: str) -> Turn:
    return Turn(
        id=text_field(item, "id", where),
        session=str(item.get("session") or "1"),
        speaker=str(item.get("speaker") or "user"),
        text=text_field(item, "text", where),
        at=_time(item.get("time"), where),
    )


def _query(item: Mapping[str, Any], where: str) -> Query:
    gold = item.get("gold")
    if not isinstance(gold, list):
        raise malformed(where, "a query has no list 'gold'")
    return Query(
        id=text_field(item, "id", where),
        text=text_field(item, "text", where),
        gold=frozenset(map(str, gold)),
        category=str(item.get("category") or ""),
    )


def _time(value: object, where: str) -> datetime | None:
    """Times without a zone are the user's own; the benchmark's home is in UTC."""
    if not value:
        return None
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        raise malformed(where, f"{value!r} is no time of ISO 8601") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def text_field(item: Mapping[str, Any], name: str, where: str) -> str:
    """A field that must be there; a number will do for an id."""
    match item.get(name):
        case str(text):
            return text
        case int(number) if not isinstance(number, bool):
            return str(number)
        case _:
            raise malformed(where, f"there is no text {name!r}")


def _objects(item: Mapping[str, Any], name: str, where: str) -> Sequence[Mapping[str, Any]]:
    found = item.get(name)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise malformed(where, f"{name!r} is not a list of objects")
    return found


def malformed(where: str, what: str) -> UsageError:
    return UsageError(f"{where}: {what}.", hint=_FORMAT)


# ── one file ────────────────────────────────────────────────────────────────────────────────


def items(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file with where each stands: of its lines, or of the list it is."""
    with _opened(file) as text:
        try:
            start = text.read(1)
            while start.isspace() or start == "\ufeff":
                start = text.read(1)
            is_list = start == "["
            yield from _of_list(text, file.name) if is_list else _of_lines(start, text, file.name)
        except (OSError, EOFError, UnicodeError, zlib.error) as error:
            raise UsageError(f"{str(file)!r} cannot be read to its end: {error}.") from error


def _of_lines(start: str, text: IO[str], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text, 1):
        whole = start + line
        start = ""
        if whole.strip():
            where = f"{name}, line {number}"
            try:
                yield where, _object(json.loads(whole), where)
            except ValueError as error:
                raise malformed(where, f"this is not JSON ({error})") from None


def _of_list(text: IO[str], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Item by item: the largest published file is 2.7 GB, and each of its items is small."""
    decoder = json.JSONDecoder()
    held, number, wanted, is_end = "", 0, _PIECE, False
    while True:
        held = held.lstrip(" \t\r\n,")
        if held.startswith("]"):
            return
        where = f"{name}, item {number}"
        try:
            value, end = decoder.raw_decode(held)
        except ValueError as error:
            if is_end:
                raise malformed(where, f"this is not JSON ({error})") from None
            piece = text.read(wanted)  # more each time: an item is not decoded too often
            held, is_end, wanted = held + piece, not piece, wanted * 2
            continue
        held, wanted, number = held[end:], _PIECE, number + 1
        yield where, _object(value, where)


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise malformed(where, "this is not an object")
    return value


@contextmanager
def _opened(file: Path) -> Iterator[IO[str]]:
    if file.is_dir():
        raise UsageError(f"{str(file)!r} is a folder, not a file of corpora.", hint=_FORMAT)
    if not file.exists():
        raise NotFound(f"There is no file {str(file)!r}.", hint=_FORMAT)
    with file.open("rb") as raw:
        is_gzip = raw.read(2) == b"\x1f\x8b"
    if is_gzip:
        with gzip.open(file, "rt", encoding="utf-8") as text:
            yield cast("IO[str]", text)
    else:
        with file.open(encoding="utf-8") as text:
            yield text
