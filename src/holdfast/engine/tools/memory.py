"""The tools that write to memory, search it and read it.

Promise: a model can only add, within the place of the conversation; it chooses no file by its
path and does not say how far it is to be trusted (``tests/engine/test_tools.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

from holdfast.engine.remembering import get, moment, retain
from holdfast.engine.rooms import Rooms
from holdfast.engine.tools.shape import Tool, fenced, object_of, text_of
from holdfast.fencing import Quoted
from holdfast.markdown import split_lines
from holdfast.retain import parse
from holdfast.types import Json

if TYPE_CHECKING:
    from holdfast.search.request import Passage, SearchResult

__all__ = ["MEMORY_TOOLS", "labelled"]

_TARGET: Final = text_of(
    "Where it goes: 'daily' (today's notes, the default), 'memory' (long-term memory; only what "
    "the user said) or 'topic:<name>'."
)
_KINDS: Final = (
    "W: a fact about the world or the user; B: what was done and how it went; O: an opinion or "
    "preference; S: a summary of where things stand."
)


def _memory_write(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    target = given.get("target") or "daily"
    return retain(rooms, [{"text": given["text"]}], session=session, target=target).to_json()


def _memory_retain(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    target = given.get("target") or "daily"
    return retain(rooms, given["memories"], session=session, target=target).to_json()


def _memory_search(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    """What is found, quoted: a model reads it as data, and can look up each source."""
    del session  # of the whole memory, not of this conversation
    # Loaded by the first search: the other tools need no numpy.
    searching = import_module("holdfast.engine.searching.asking")
    found: SearchResult = searching.search(
        rooms,
        given["query"],
        limit=given.get("limit"),
        kind=given.get("kind"),
        entity=given.get("entity"),
        since=moment("since", given.get("since")),
        until=moment("until", given.get("until")),
        as_of=moment("as_of", given.get("as_of")),
        source=given.get("source"),
        max_chars=rooms.settings.search.max_injected_chars or None,
    )
    is_cited = _cites(rooms)
    quoted = [
        Quoted(
            text=_readable(each),
            citation=each.citation if is_cited else str(number),
            label=each.trust,
            observed=each.time and each.time.astimezone(rooms.zone).date(),
        )
        for number, each in enumerate(found.passages, 1)
    ]
    passages = [
        ({"citation": each.citation} if is_cited else {})
        | {"score": round(each.score, 3), "source": each.source}
        for each in found.passages
    ]
    said = [] if found.why_empty is None else [f"Nothing was found. {found.why_empty}"]
    return {
        "text": "\n".join([*said, *found.degraded, fenced(rooms, quoted)]).rstrip(),
        "passages": passages,
        "degraded": list(found.degraded),
        "why_empty": found.why_empty,
    }


def _readable(passage: Passage) -> str:
    """A passage on its own, as the page around it would have shown it: who, and under what."""
    said = f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text
    return f"({passage.context})\n{said}" if passage.context else said


def _cites(rooms: Rooms) -> bool:
    """Whether sources are named: where others listen, a path may say too much."""
    chosen = rooms.settings.search.citations
    return chosen == "on" or (chosen == "auto" and rooms.scope.chat_type == "direct")


def _memory_get(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    passage = get(rooms, given["path"])
    quoted = Quoted(text=labelled(passage.text), citation=passage.citation, label=passage.trust)
    return passage.to_json() | {"text": fenced(rooms, [quoted])}


def labelled(text: str) -> str:
    """Memory lines as a model should read them: without ids, with whose word they are."""
    return "".join(_shown(line) for line in split_lines(text))


def _shown(line: str) -> str:
    known = parse(line)
    if known is None or "<!--" not in line:
        return line
    plain = line[: line.rindex("<!--")].rstrip()
    return plain + ("" if known.trust == "user" else f" [{known.trust}, unconfirmed]") + "\n"


MEMORY_TOOLS: Final = (
    Tool(
        name="memory_write",
        description=(
            "Add a note to memory. It is appended to today's notes; nothing is overwritten, and "
            "what is already there is not written twice."
        ),
        parameters=object_of(
            ["text"],
            text=text_of("What to remember: self-contained sentences, one fact each."),
            target=_TARGET,
        ),
        call=_memory_write,
        access="writes",
    ),
    Tool(
        name="memory_retain",
        description="Add typed memories: facts, experiences, opinions, summaries.",
        parameters=object_of(
            ["memories"],
            memories={
                "type": "array",
                "description": "The memories, one statement each.",
                "items": object_of(
                    ["text"],
                    text=text_of("One self-contained statement."),
                    kind={"type": "string", "enum": ["W", "B", "O", "S"], "description": _KINDS},
                    entity=text_of("Whom or what it is about, by name."),
                    confidence={
                        "type": "number",
                        "minimum": 0,
                        "maximum": 1,
                        "description": "How sure an opinion is.",
                    },
                    since=text_of("From which day it is true, as YYYY-MM-DD."),
                    until=text_of("Until which day it is true, as YYYY-MM-DD."),
                ),
            },
            target=_TARGET,
        ),
        call=_memory_retain,
        access="writes",
    ),
    Tool(
        name="memory_search",
        description=(
            "Search memory and earlier conversations, by words and by meaning, in English and "
            "Chinese. Ask before answering anything about earlier work, decisions, dates, people "
            "or preferences. Quotes come with a citation that memory_get reads."
        ),
        parameters=object_of(
            ["query"],
            query=text_of("What to look for: a question or a few words, as a person would ask."),
            limit={
                "type": "integer",
                "minimum": 1,
                "maximum": 50,
                "description": "The most passages to return.",
            },
            kind={"type": "string", "enum": ["W", "B", "O", "S"], "description": _KINDS},
            entity=text_of("Only memories about this person or thing."),
            since=text_of("Only from this day on, as YYYY-MM-DD."),
            until=text_of("Only until this day, as YYYY-MM-DD."),
            as_of=text_of("Only what was known and held on this day, as YYYY-MM-DD."),
            source={
                "type": "string",
                "enum": ["memory", "daily", "topic", "bank", "task", "session"],
                "description": "Only this kind of source.",
            },
        ),
        call=_memory_search,
    ),
    Tool(
        name="memory_get",
        description="Read a memory file, some lines of it, or what a citation points to.",
        parameters=object_of(
            ["path"],
            path=text_of("'MEMORY.md', 'memory/2026-03-04.md#L3-L9' or 'session#entry'."),
        ),
        call=_memory_get,
    ),
)
