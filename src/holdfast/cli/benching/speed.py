"""``holdfast bench search``: how long a search takes among so many chunks, and what that costs.

A made-up past (``synthetic``) is put into a real index with given vectors, so that no encoder's
time is in any figure; a process of its own then opens it and searches. Beside it, in the same
run: plain FTS5, and the time the memory alone would need. Promise: figures of searches are of
questions that were not asked before (``tests/doors/test_bench_figures.py``).
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from holdfast.cli.benching.beside import PlainFts5, memory_bandwidth
from holdfast.cli.benching.metrics import percentile
from holdfast.cli.benching.synthetic import Asked, Conversation, Said, World
from holdfast.cli.render import json_line, note, table
from holdfast.disk import Directory
from holdfast.errors import UsageError
from holdfast.ports import Embedded, Script, Tokens
from holdfast.scope import place_of
from holdfast.search.chunking import embedded_text, searched_text
from holdfast.search.documents import Chunk, Document
from holdfast.search.index import Index, Reading, Stamp, Vector
from holdfast.search.query.pipeline import search
from holdfast.search.ranking.flags import flags_of
from holdfast.search.request import SearchRequest
from holdfast.text.tokens import index_terms, query_terms, term_hash
from holdfast.types import Json, Scope

__all__ = ["measure", "run"]

ENCODER: Final = "given"
DIMENSIONS: Final = 384
"""Of the bundled encoder for Latin script, which most passages have."""
_BATCH: Final = 200
"""Conversations that are put before their vectors are."""
_WARM: Final = 40
"""The most questions that are asked before any is counted."""
_POSTING: Final = 5
"""Bytes: a number and a count, as tightly as they can be packed."""
_READER: Final = Scope(agent="main")
_NOW: Final = datetime(2026, 3, 4, tzinfo=UTC)

READING: Final = Reading(
    searched_text=searched_text,
    index_terms=index_terms,
    term_hash=term_hash,
    flags_of=flags_of,
    embedded_text=embedded_text,
    version="bench",
)


# ── the command ─────────────────────────────────────────────────────────────────────────────


def run(chunks: str, *, queries: int = 200, as_json: bool = False) -> None:
    """One line for each size, such as ``10000,100000``, and the summary last."""
    sizes = _sizes(chunks)
    lines = []
    for size in sizes:
        if sys.stderr.isatty():
            note(f"{size:,} chunks …")
        lines.append(measure(size, queries=queries))
        if as_json:
            json_line(lines[-1])
            sys.stdout.flush()
    if as_json:
        sizes_json: list[Json] = list(sizes)
        slowest = {f"hybrid_p50_ms_{line['chunks']}": line["hybrid_p50_ms"] for line in lines}
        json_line({"summary": True, "queries": queries, "chunks": sizes_json, **slowest})
        return
    table(["", *(f"{size:,}" for size in sizes)], _rows(lines))


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part.strip().replace("_", "")) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise UsageError(
            f"{text!r} are no numbers of chunks.",
            hint="holdfast bench search --chunks 10000,100000",
        )
    return sizes


def _rows(lines: Sequence[dict[str, Json]]) -> list[list[str]]:
    names = [name for name in lines[0] if name not in ("chunks", "queries")]
    return [[name.replace("_", " "), *(f"{line[name]:g}" for line in lines)] for name in names]


# ── measuring ───────────────────────────────────────────────────────────────────────────────


def measure(chunks: int, *, queries: int = 200) -> dict[str, Json]:
    """The figures of one size."""
    world = _world()
    warm = min(_WARM, queries)
    asked = world.questions(warm + 2 * queries)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        index = Path(folder) / "index"
        plain = PlainFts5(Path(folder) / "plain.sqlite3")
        built = _build(world, chunks, index, plain)
        theirs = plain.times([each.text for each in asked[warm : warm + queries]])
        plain.close()
        size = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
        probed = _in_a_new_process(index, asked, queries)
    bandwidth = memory_bandwidth()
    least = DIMENSIONS / 8 * chunks + _POSTING * probed.matches
    return {
        "chunks": chunks,
        "queries": queries,
        "keyword_p50_ms": _ms(probed.keyword, 50),
        "keyword_p95_ms": _ms(probed.keyword, 95),
        "hybrid_p50_ms": _ms(probed.hybrid, 50),
        "hybrid_p95_ms": _ms(probed.hybrid, 95),
        "fts5_p50_ms": _ms(theirs, 50),
        "fts5_p95_ms": _ms(theirs, 95),
        "bound_ms": round(least / bandwidth * 1000, 4),
        "bandwidth_gb_per_s": round(bandwidth / 1e9, 2),
        "open_ms": round(probed.open_seconds * 1000, 1),
        "first_search_ms": round(probed.first_seconds * 1000, 1),
        "bytes_per_chunk": round(size / chunks, 1),
        "rss_mb": round(probed.rss_mb, 1),
        "ingest_chunks_per_s": round(chunks / built.put_seconds, 1),
        "ingest_vectors_per_s": round(chunks / built.vector_seconds, 1),
        "fts5_ingest_chunks_per_s": round(chunks / built.plain_seconds, 1),
    }


@cache
def _world() -> World:
    return World(DIMENSIONS)


def _ms(seconds: Sequence[float], percent: float) -> float:
    return round(percentile(seconds, percent) * 1000, 3)


@dataclass(slots=True, kw_only=True)
class _Built:
    put_seconds: float = 0.0
    vector_seconds: float = 0.0
    plain_seconds: float = 0.0


def _build(world: World, chunks: int, folder: Path, plain: PlainFts5) -> _Built:
    """Put it all in, a few conversations at a time: memory stays the same at any size."""
    spent = _Built()
    with Index.open(Directory.open(folder), READING) as index:
        coming = world.conversations(chunks)
        while some := list(islice(coming, _BATCH)):
            documents = [_document(each) for each in some]
            given = {
                embedded_text(document, chunk): said
                for (document, cut), talk in zip(documents, some, strict=True)
                for chunk, said in zip(cut, talk.turns, strict=True)
            }
            spent.put_seconds += _seconds(_put, index, documents)
            spent.vector_seconds += _seconds(_give, index, given)
            texts = [said.text for talk in some for said in talk.turns]
            spent.plain_seconds += _seconds(plain.add, texts)
    return spent


def _document(talk: Conversation) -> tuple[Document, list[Chunk]]:
    document = Document(
        key=f"sessions/{talk.name}", source="session", place=place_of(_READER), title=talk.name
    )
    return document, [
        Chunk(
            kind="turn",
            text=said.text,
            entry=f"{talk.name}-{number}",
            speaker=said.speaker,
            at=said.at,
        )
        for number, said in enumerate(talk.turns)
    ]


def _put(index: Index, documents: Sequence[tuple[Document, list[Chunk]]]) -> None:
    for document, cut in documents:
        index.put(document, cut, Stamp(size=len(cut), entries=len(cut)))


def _give(index: Index, given: dict[str, Said]) -> None:
    while waiting := index.pending(ENCODER, 1000):
        index.put_vectors(
            ENCODER,
            {
                each.chunk: Vector(vector=given[each.text].vector, tokens=given[each.text].tokens)
                for each in waiting
            },
            dimensions=DIMENSIONS,
        )


def _seconds(work: Callable[..., None], *given: object) -> float:
    begun = time.perf_counter()
    work(*given)
    return time.perf_counter() - begun


# ── searching, in a process of its own ──────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class _Probed:
    open_seconds: float
    first_seconds: float
    keyword: list[float] = field(default_factory=list)
    hybrid: list[float] = field(default_factory=list)
    matches: float = 0.0
    """Postings of a question, on average."""
    rss_mb: float = 0.0


class Given:
    """Stands for an encoder: the vectors of the questions are known beforehand."""

    name = ENCODER
    dimensions = DIMENSIONS
    script: Script = "any"
    has_tokens = True

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._asked = {each.text: each for each in asked}
        self._any = asked[0]

    def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
        found = [self._asked.get(text, self._any) for text in texts]  # a part of one: any vector
        return Embedded(
            vectors=np.stack([each.vector for each in found]),
            tokens=[Tokens(vectors=each.tokens, spans=_spans(each)) for each in found]
            if tokens
            else None,
        )


def _spans(asked: Asked) -> list[tuple[int, int]]:
    """The last words of the question, one for each vector."""
    step = max(1, len(asked.text) // len(asked.tokens))
    return [(at * step, (at + 1) * step) for at in range(len(asked.tokens))]


def _in_a_new_process(folder: Path, asked: Sequence[Asked], queries: int) -> _Probed:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_probe, folder, asked, queries).result()


def _probe(folder: Path, asked: Sequence[Asked], queries: int) -> _Probed:
    encoder, warm = Given(asked), len(asked) - 2 * queries
    begun = time.perf_counter()
    with Index.open(Directory.open(folder), READING, read_only=True) as index:
        index.snapshot().close()
        opened = time.perf_counter()
        _search(index, encoder, asked[0], vectors=True)
        found = _Probed(open_seconds=opened - begun, first_seconds=time.perf_counter() - opened)
        for each in asked[:warm]:
            _search(index, encoder, each, vectors=True)
        for each in asked[warm : warm + queries]:
            found.keyword.append(_search(index, encoder, each, vectors=False))
        for each in asked[warm + queries :]:
            found.hybrid.append(_search(index, encoder, each, vectors=True))
        found.matches = float(np.mean(list(_matches(index, asked[warm + queries :]))))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found.rss_mb = peak / (1024 if sys.platform != "darwin" else 1 << 20)
    return found


def _search(index: Index, encoder: Given, asked: Asked, *, vectors: bool) -> float:
    request = SearchRequest(query=asked.text, reader=_READER, now=_NOW, vectors=vectors)
    begun = time.perf_counter()
    search(request, index, embedders=[encoder] if vectors else [], zone=UTC)
    return time.perf_counter() - begun


def _matches(index: Index, asked: Sequence[Asked]) -> Iterator[int]:
    with index.snapshot() as snapshot:
        for each in asked:
            found = snapshot.postings(query_terms(each.text))
            yield sum(len(postings.positions) for postings in found)
