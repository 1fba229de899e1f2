"""A real index in a temporary folder, filled with a few words at a time, for tests of searching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.disk import Directory
from holdfast.ports import Embedder
from holdfast.scope import Place
from holdfast.search.chunking import chunk_markdown, classify, embedded_text, searched_text
from holdfast.search.documents import Chunk, Document, identified
from holdfast.search.index.index import Index
from holdfast.search.index.stored import Reading, Stamp, Vector
from holdfast.search.query.pipeline import search
from holdfast.search.ranking.flags import flags_of
from holdfast.search.ranking.late import signs_of
from holdfast.search.request import SearchRequest, SearchResult
from holdfast.text.tokens import index_terms, term_hash
from holdfast.types import Citation, Scope

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
ME = Scope(agent="main")
MINE = Place(tenant="local", agent="main")
READING = Reading(
    searched_text=searched_text,
    index_terms=index_terms,
    term_hash=term_hash,
    flags_of=flags_of,
    embedded_text=embedded_text,
    version="test",
)
_HOW = (
    *("embedders", "content", "is_fresh", "reranker", "expander", "aliases", "tuning"),
    *("count_tokens", "degraded", "monotonic"),
)


@dataclass
class Small:
    """An index and the texts that went into it."""

    index: Index
    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def at(cls, path: Path) -> Small:
        return cls(index=Index.open(Directory.open(path), READING))

    def write(self, key: str, text: str, *, place: Place = MINE) -> None:
        """A Markdown file."""
        source, day = classify(key)
        document = Document(key=key, source=source, place=place, day=day)
        self.files[key] = text
        self.index.put(document, chunk_markdown(document, text, zone=UTC), Stamp(size=len(text)))

    def say(
        self, session: str, *turns: tuple[str, str], at: datetime = NOW, place: Place = MINE
    ) -> None:
        """A conversation: speaker and words of each turn."""
        document = Document(key=f"sessions/{session}", source="session", place=place)
        chunks = [
            Chunk(kind="turn", text=words, entry=f"{session}-{number}", speaker=speaker, at=at)
            for number, (speaker, words) in enumerate(turns)
        ]
        self.put(document, chunks)

    def put(self, document: Document, chunks: Sequence[Chunk]) -> None:
        named = [
            replace(chunk, id=id)
            for chunk, id in zip(chunks, identified(document, chunks), strict=True)
        ]
        self.index.put(document, named, Stamp(size=len(chunks)))

    def embed(self, embedder: Embedder, limit: int = 10_000) -> None:
        todo = self.index.pending(embedder.name, limit)
        made = embedder.embed([one.text for one in todo], tokens=embedder.has_tokens)
        vectors = {
            one.chunk: Vector(
                vector=made.vectors[n],
                tokens=None if made.tokens is None else signs_of(one.text, made.tokens[n]),
            )
            for n, one in enumerate(todo)
        }
        self.index.put_vectors(embedder.name, vectors)

    def content(self, citation: Citation) -> str | None:
        return self.files.get(citation.source) if citation.entry is None else None

    def find(self, query: str, **asked: Any) -> SearchResult:
        """Search without vectors unless encoders are given."""
        how = {name: asked.pop(name) for name in _HOW if name in asked}
        asked.setdefault("vectors", "embedders" in how)
        request = SearchRequest(query=query, **{"reader": ME, "now": NOW, **asked})
        return search(request, self.index, zone=UTC, **how)


def texts(result: SearchResult) -> list[str]:
    return [passage.text for passage in result.passages]


def citations(result: SearchResult) -> list[str]:
    return [passage.citation for passage in result.passages]
