"""A search as a door asks for it: who asks, within which rules, over an index that is up to date.

Promise: who reads comes from the door and the rules of ``[scope]``; a chat that may not use
memory gets nothing, and is told so (``tests/engine/test_searching.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import Final, get_args

from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError, UsageError, did_you_mean
from holdfast.events import Searched
from holdfast.retain import RetainKind
from holdfast.scope import allowed, may_read
from holdfast.search.documents import SourceKind
from holdfast.search.query.pipeline import search as run
from holdfast.search.query.tuning import Tuning
from holdfast.search.request import SearchRequest, SearchResult
from holdfast.types import ChatType, Scope

__all__ = ["search"]

CATCH_UP_SECONDS: Final = 0.05
"""What a search may spend on what changed since the last one."""


def search(
    rooms: Rooms,
    query: str,
    *,
    limit: int | None = None,
    kind: str | None = None,
    entity: str | None = None,
    since: date | datetime | None = None,
    until: date | datetime | None = None,
    as_of: date | datetime | None = None,
    source: str | None = None,
    session: str | None = None,
    chat_type: str | None = None,
    vectors: bool = True,
    max_chars: int | None = None,
    max_tokens: int | None = None,
    now: datetime | None = None,
    explain: bool = False,
    timeout_ms: int | None = None,
) -> SearchResult:
    """The passages that answer the query best, each with its source."""
    settings = rooms.settings.search
    reader = _reader(rooms.scope, chat_type)
    request = SearchRequest(
        query=query,
        reader=reader,
        memberships=rooms.memberships,
        now=now or rooms.clock.now(),
        limit=limit if limit is not None else settings.max_results,
        max_chars=max_chars,
        max_tokens=max_tokens,
        snippet_chars=settings.max_snippet_chars,
        kind=_one_of("kind", kind, get_args(RetainKind)),  # type: ignore[arg-type]
        entity=entity,
        since=since,
        until=until,
        as_of=as_of,
        source=_one_of("source", source, get_args(SourceKind)),  # type: ignore[arg-type]
        session=session,
        vectors=vectors,
        timeout_ms=timeout_ms if timeout_ms is not None else settings.timeout_ms,
        explain=explain,
    )
    if (refusal := _refusal(rooms, reader)) is not None:
        result = SearchResult(why_empty=refusal)
    else:
        result = _searched(rooms, request)
    rooms.tell(
        Searched,
        session=session,
        passages=len(result.passages),
        took_ms=round(result.took_ms, 2),
        degraded=result.degraded,
    )
    return result


def _searched(rooms: Rooms, request: SearchRequest) -> SearchResult:
    room = rooms.search
    readable = partial(may_read, request.reader, memberships=request.memberships)
    caught = room.catch_up(may_read=readable, seconds=CATCH_UP_SECONDS)
    problems = _embedded(rooms, caught.documents) if request.vectors else ()
    result = run(
        request,
        room.index,
        embedders=room.embedders if request.vectors else (),
        zone=rooms.zone,
        content=room.content,
        is_fresh=lambda key: key not in caught.stale,  # its file was compared this moment
        aliases=_aliases(rooms, request),
        tuning=_tuning(rooms),
        degraded=[*caught.said(), *(f"meaning: {each}" for each in problems)],
        count_tokens=rooms.estimator(None).text,
    )
    cited = tuple(
        replace(each, citation=_cited(each.citation, room.sources.cited_as))
        for each in result.passages
    )
    return replace(result, passages=cited)


def _embedded(rooms: Rooms, changed: int) -> Sequence[str]:
    """Let what is new be encoded: in the background, or a little of it now. What went wrong."""
    if not rooms.background:
        return rooms.search.embed_a_little()
    rooms.search.start()
    if changed:
        rooms.search.wake()
    return ()


def _cited(citation: str, cited_as: Callable[[str], str]) -> str:
    """The citation as this reader can look it up: from the reader's own folder."""
    key, mark, where = citation.rpartition("#")
    return f"{cited_as(key)}{mark}{where}"


def _reader(scope: Scope, chat_type: str | None) -> Scope:
    """Who asks. A kind of chat that the door did not name makes it fewer who may, never more."""
    asked = _one_of("chat type", chat_type, get_args(ChatType))
    return scope if asked is None else replace(scope, chat_type=asked)  # type: ignore[arg-type]


def _refusal(rooms: Rooms, reader: Scope) -> str | None:
    if rooms.settings.memory.mode == "off":
        return 'Memory is switched off (memory.mode = "off" in config.toml).'
    rules = rooms.settings.scope
    if allowed(reader, rules.rules, rules.default):
        return None
    return (
        f"No rule lets a {reader.chat_type} chat read memory (scope.default = "
        f'"{rules.default}"). Allow it in config.toml: [[scope.rules]] action = "allow", '
        f'match = {{ chat_type = "{reader.chat_type}" }}'
    )


def _one_of(name: str, given: str | None, known: Sequence[str]) -> str | None:
    if given is None or given in known:
        return given
    near = did_you_mean(given, known)
    raise UsageError(f"There is no {name} {given!r}.", hint=near or "One of: " + ", ".join(known))


def _tuning(rooms: Rooms) -> Tuning:
    settings = rooms.settings.search
    return Tuning(
        vector_weight=settings.vector_weight,
        text_weight=settings.text_weight,
        half_life_days=settings.half_life_days,
        mmr=settings.mmr,
        rerank=settings.rerank,
        expand=settings.expand,
    )


def _aliases(rooms: Rooms, request: SearchRequest) -> Mapping[str, Sequence[str]]:
    """Other names of the things the bank knows; read only where they are used."""
    if request.entity is None and not rooms.settings.search.expand:
        return {}
    try:
        entities = rooms.memory.facts.entities()
    except HoldfastError:
        return {}
    return {each.name: tuple(each.aliases) for each in entities if each.aliases}
