"""A search as a door asks for it: who asks, within which rules, over an index that is up to date.

Promise: who reads comes from the door and the rules of ``[scope]``; a chat that may not use
memory gets nothing, and is told so (``tests/engine/test_searching.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from functools import partial
from time import monotonic
from typing import Final, TypeAlias, get_args

from holdfast.engine.admission import refusal
from holdfast.engine.rooms import Rooms
from holdfast.engine.searching.room import SearchRoom
from holdfast.errors import HoldfastError, UsageError, did_you_mean
from holdfast.events import Searched
from holdfast.models.embedders import script_of
from holdfast.models.embedders.deferred import Deferred
from holdfast.ports import Embedder
from holdfast.retain import RetainKind
from holdfast.scope import may_read
from holdfast.search.documents import SourceKind
from holdfast.search.query.meaning import NO_ENCODER
from holdfast.search.query.pipeline import search as run
from holdfast.search.query.tuning import Tuning
from holdfast.search.ranking.rows import Flag
from holdfast.search.request import Passage, SearchRequest, SearchResult
from holdfast.types import ChatType, Json, Scope

__all__ = ["search"]

CATCH_UP_SECONDS: Final = 0.05
"""What a search may spend on what changed since the last one."""
ALONE_SECONDS: Final = 2.0
"""The same where no thread goes on with the rest, as on the command line."""

Moment: TypeAlias = date | datetime | str | None


def search(
    rooms: Rooms,
    query: str,
    *,
    limit: int | None = None,
    kind: str | None = None,
    entity: str | None = None,
    since: Moment = None,
    until: Moment = None,
    as_of: Moment = None,
    source: str | None = None,
    session: str | None = None,
    chat_type: str | None = None,
    vectors: bool = True,
    max_chars: int | None = None,
    max_tokens: int | None = None,
    now: datetime | str | None = None,
    explain: bool = False,
    timeout_ms: int | None = None,
    in_view: str | None = None,
) -> SearchResult:
    """The passages that answer the query best, each with its source.

    ``in_view`` is a session of which the asker sees everything: what is new in it can wait.
    """
    began = monotonic()
    settings = rooms.settings.search
    reader = _reader(rooms.scope, chat_type)
    request = SearchRequest(
        query=query,
        reader=reader,
        memberships=rooms.memberships,
        now=_now(rooms, now),
        limit=_count("limit", limit, settings.max_results),
        max_chars=max_chars,
        max_tokens=max_tokens,
        snippet_chars=settings.max_snippet_chars,
        kind=_one_of("kind", kind, get_args(RetainKind)),  # type: ignore[arg-type]
        entity=entity,
        since=_moment("since", since),
        until=_moment("until", until),
        as_of=_moment("as_of", as_of),
        source=_one_of("source", source, get_args(SourceKind)),  # type: ignore[arg-type]
        session=session,
        vectors=vectors,
        timeout_ms=timeout_ms if timeout_ms is not None else settings.timeout_ms,
        explain=explain,
    )
    if (refusal := _refusal(rooms, reader)) is not None:
        result = SearchResult(why_empty=refusal)
    else:
        result = _renewed(rooms, request, began, in_view)
    rooms.tell(
        Searched,
        session=session,
        passages=len(result.passages),
        took_ms=round(result.took_ms, 2),
        degraded=result.degraded,
    )
    return result


def _renewed(
    rooms: Rooms, request: SearchRequest, began: float, in_view: str | None
) -> SearchResult:
    """The answer; once more if the index was removed or replaced while it was used."""
    room, index = rooms.search, None
    try:
        index = room.index
        return _searched(rooms, request, began, in_view)
    except HoldfastError:
        if rooms.search is room and room.index is index:
            raise
        return _searched(rooms, request, began, in_view)


def _searched(
    rooms: Rooms, request: SearchRequest, began: float, in_view: str | None
) -> SearchResult:
    room = rooms.search
    readable = partial(may_read, request.reader, memberships=request.memberships)
    seconds = CATCH_UP_SECONDS if rooms.has_background else ALONE_SECONDS
    caught = room.catch_up(may_read=readable, seconds=seconds, in_view=in_view)
    aliases, unknown = _aliases(rooms, request)
    problems = _embedded(rooms, caught.documents, request, began) if request.vectors else ()
    result = run(
        replace(request, timeout_ms=_left_ms(request, began)),
        room.index,
        embedders=_needed(room, request.query) if request.vectors else (),
        zone=rooms.zone,
        content=room.content,
        is_fresh=lambda key: key not in caught.stale,  # its file was compared this moment
        aliases=aliases,
        tuning=_tuning(rooms),
        degraded=[*caught.said(), *unknown, *(f"meaning: {each}" for each in problems)],
        count_tokens=rooms.estimator(None).text,
    )
    cited = tuple(_with_citations(each, room.sources.cited_as) for each in result.passages)
    missing = room.embedding.missing
    degraded = tuple(
        f"meaning: {missing}" if each == NO_ENCODER and missing else each
        for each in result.degraded
    )
    took_ms = (monotonic() - began) * 1000
    why = result.why_empty and result.why_empty + _resting(rooms)
    return replace(result, passages=cited, degraded=degraded, took_ms=took_ms, why_empty=why)


def _resting(rooms: Rooms) -> str:
    """What is not searched because nobody has used it for long."""
    count, days = rooms.search.sources.resting, rooms.settings.index.retention_days
    if not count:
        return ""
    who = "1 conversation" if count == 1 else f"{count} conversations"
    return f" Not searched: {who} at rest for more than {days} days (index.retention_days)."


def _needed(room: SearchRoom, query: str) -> Sequence[Embedder]:
    """The encoders, without one that would be loaded for nothing.

    The universal one says something about an English question only where there are notes in
    another script. Loading it takes longer than the rest of a search from cold.
    """
    embedders = room.embedders
    idle = [
        each
        for each in embedders
        if each.script == "any" and isinstance(each, Deferred) and not each.is_loaded
    ]
    has_own = any(each.script == "latin" for each in embedders)
    if not idle or not has_own or script_of(query) != "latin":
        return embedders
    with room.index.snapshot() as snapshot:
        is_elsewhere = bool((snapshot.rows.flags & Flag.DENSE).any())
    return embedders if is_elsewhere else [each for each in embedders if each not in idle]


def _left_ms(request: SearchRequest, began: float) -> int:
    """What is left of the time that was given, counted from when the search was asked for."""
    return max(0, request.timeout_ms - round((monotonic() - began) * 1000))


def _embedded(rooms: Rooms, changed: int, request: SearchRequest, began: float) -> Sequence[str]:
    """Let what is new be encoded: in the background, or a little of it now. What went wrong."""
    room = rooms.search
    if not rooms.has_background:
        return room.embed_a_little(_left_ms(request, began) / 2000)  # half of the time there is
    room.start()
    if changed:
        room.wake()
    return room.embedding.problems


def _with_citations(passage: Passage, cited_as: Callable[[str], str]) -> Passage:
    trace = passage.trace
    if trace is not None and "also" in trace:
        trace = {**trace, "also": [_cited(each, cited_as) for each in trace["also"]]}
    return replace(passage, citation=_cited(passage.citation, cited_as), trace=trace)


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
    refused = refusal(rooms, reader)
    return f"{refused.message} {refused.hint}" if refused is not None else None


def _moment(name: str, given: Moment) -> date | datetime | None:
    """A day or a time, also as it is written: 2026-03-31."""
    if given is None or isinstance(given, date):
        return given
    try:
        return date.fromisoformat(given) if len(given) == 10 else datetime.fromisoformat(given)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is {given!r}, not a day.", hint="Write 2026-03-31.") from None


def _now(rooms: Rooms, given: datetime | str | None) -> datetime:
    moment = _moment("now", given)
    if moment is None:
        return rooms.clock.now()
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time(), tzinfo=rooms.zone)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=rooms.zone)


def _count(name: str, given: Json, usual: int) -> int:
    if given is None:
        return usual
    if not isinstance(given, int) or isinstance(given, bool):
        raise UsageError(f"{name} is {given!r}, not a number.")
    return given


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


def _aliases(
    rooms: Rooms, request: SearchRequest
) -> tuple[Mapping[str, Sequence[str]], Sequence[str]]:
    """Other names of the things the bank knows, read only where they are used; and why not."""
    if request.entity is None and not rooms.settings.search.expand:
        return {}, ()
    try:
        entities = rooms.memory.facts.entities()
    except HoldfastError as error:
        return {}, (f"aliases: {error.message}",)
    return {each.name: tuple(each.aliases) for each in entities if each.aliases}, ()
