"""What is made searchable: documents, and the chunks they are cut into.

A document is one memory file or one conversation; a chunk is the smallest thing a search can
return. Promise: a chunk's ``id`` depends on its document and its own content alone, so that an
edit elsewhere in the file changes no other chunk (``tests/search/test_chunking.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import blake2b
from typing import Literal

from holdfast.retain import RetainKind, Trust
from holdfast.scope import Place
from holdfast.types import LineSpan

__all__ = ["Chunk", "ChunkKind", "Document", "SourceKind", "identified"]

SourceKind = Literal["memory", "daily", "topic", "bank", "task", "session", "extra"]
"""``memory`` is MEMORY.md and the identity files; ``daily`` the dated logs; ``extra`` further
folders named in ``index.extra_paths``."""

ChunkKind = Literal["turn", "tool", "text", "item", "code", "table", "fact"]
"""``turn`` is what a person or the assistant said, ``tool`` a tool's result, ``fact`` a Retain
line; the others are blocks of Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One memory file or one conversation."""

    key: str
    """Its path from the agent's folder: ``memory/2026-03-04.md``, ``chats/team/sessions/s1``."""
    source: SourceKind
    place: Place
    """Who may read it; a chunk can be narrower."""
    title: str = ""
    day: date | None = None
    """The day it is about, from its name (``2026-03-04.md``, ``2026-03-04-launch.md``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """The smallest thing a search can return."""

    kind: ChunkKind
    text: str
    """What is shown, word for word as it stands in the file or was said."""
    context: str = ""
    """What a reader knows at this point, and the words here do not say: the headings above,
    joined by `` › ``. Searched and embedded with the text."""
    span: LineSpan | None = None
    entry: str | None = None
    part: int = 0
    """The how-manieth chunk of a long entry."""
    speaker: str | None = None
    """Whose words: the name given with the message, else its role."""
    at: datetime | None = None
    """When it was said or observed."""
    fact_kind: RetainKind | None = None
    entities: tuple[str, ...] = ()
    since: date | datetime | None = None
    until: date | datetime | None = None
    trust: Trust = "user"
    importance: float = 0.5
    place: Place | None = None
    """Narrower than its document's, if set."""
    id: str = ""


def identified(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """An id for each chunk: of its document, its content, and how often that came before."""
    seen: dict[bytes, int] = {}
    ids = []
    for chunk in chunks:
        stands_for = "\x1f".join(
            (
                document.key,
                chunk.kind,
                chunk.entry or "",
                str(chunk.part),
                chunk.context,
                chunk.text,
            )
        ).encode("utf-8", "surrogatepass")
        content = blake2b(stands_for, digest_size=12).digest()
        nth = seen[content] = seen.get(content, -1) + 1
        ids.append(blake2b(content + nth.to_bytes(4, "big"), digest_size=12).hexdigest())
    return ids
