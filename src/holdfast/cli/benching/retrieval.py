"""``holdfast bench retrieval``: labelled questions through the real engine.

Each corpus gets a home of its own: its turns are appended as conversations, at the times they
were said, then indexed; each question is searched at the time of the last turn. Promise: what
is measured is what a program gets that appends and searches; nothing of a question is known to
the engine before it is asked (``tests/doors/test_bench.py``).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, Protocol, cast

from holdfast.cli.benching.corpora import (
    Corpus,
    Query,
    Turn,
    Unit,
    as_message,
    corpus_of,
    items,
    malformed,
)
from holdfast.cli.benching.longmemeval import is_question, question_of
from holdfast.cli.benching.metrics import Answered, Hit, scores, timing
from holdfast.cli.render import json_line, note, table
from holdfast.context.tokens import TokenEstimator
from holdfast.engine.facade import open_engine
from holdfast.errors import PolicyRefused, UsageError
from holdfast.scope import check_name
from holdfast.text import slug
from holdfast.types import Json

__all__ = ["Measured", "Opener", "Searching", "measure", "read", "run", "summary"]

PASSAGES: Final[Mapping[Unit, int]] = {"turn": 50, "session": 200}
"""How many are asked for: enough for 20 places and for 1,000 tokens of short messages; for
sessions, enough that ten different ones are among them."""

_SETTINGS: Final[Mapping[str, Json]] = {
    "index.retention_days": 0,  # the conversations are years old
    "search.max_results": 200,
    "memory.time_zone": "UTC",  # in which times without a zone are read
}


# ── what is measured ────────────────────────────────────────────────────────────────────────


class _Passage(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def entries(self) -> Sequence[str]: ...


class _Result(Protocol):
    @property
    def passages(self) -> Sequence[_Passage]: ...
    @property
    def degraded(self) -> Sequence[str]: ...


class _Conversation(Protocol):
    def append_all(self, messages: Iterable[Mapping[str, Json]]) -> list[str]: ...


class _Index(Protocol):
    def sync(self) -> object: ...


class Searching(Protocol):
    """The part of an engine that is measured."""

    @property
    def index(self) -> _Index: ...

    def session(self, name: str) -> _Conversation: ...

    def search(self, query: str, *, limit: int, vectors: bool, now: datetime | None) -> _Result: ...


class CorpusClock:
    """The time at which the corpus is: what is appended now was said then."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC)

    def now(self) -> datetime:
        return self.at


Opener = Callable[[Path, CorpusClock, Mapping[str, Json]], AbstractContextManager[Searching]]


def _open(
    home: Path, clock: CorpusClock, config: Mapping[str, Json]
) -> AbstractContextManager[Searching]:
    return cast("AbstractContextManager[Searching]", open_engine(home, config=config, clock=clock))


@dataclass(slots=True, kw_only=True)
class Measured:
    """One corpus, and what became of its questions."""

    corpus: str
    turns: int
    unit: Unit = "turn"
    answers: list[Answered] = field(default_factory=list)
    skipped: int = 0
    """Questions without gold: nothing can be said about their answers."""
    ingest_seconds: float = 0.0
    degraded: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Json]:
        return {"corpus": self.corpus, **_figures([self])}


def summary(measured: Sequence[Measured]) -> dict[str, Json]:
    """Over all questions of all corpora; every question counts the same."""
    return {"summary": True, "corpora": len(measured), **_figures(measured)}


def _figures(measured: Sequence[Measured]) -> dict[str, Json]:
    answers = [answer for each in measured for answer in each.answers]
    turns = sum(each.turns for each in measured)
    seconds = sum(each.ingest_seconds for each in measured)
    unit = measured[0].unit if measured else "turn"
    return {
        "turns": turns,
        "queries": len(answers),
        "skipped": sum(each.skipped for each in measured),
        "empty": sum(not answer.hits for answer in answers),
        "degraded": sum(sum(each.degraded.values()) for each in measured),
        **scores(answers, unit),
        **timing(answers, turns=turns, ingest_seconds=seconds),
    }


# ── measuring ───────────────────────────────────────────────────────────────────────────────


Dump = Callable[[dict[str, Json]], None]


def measure(
    corpora: Iterable[Corpus],
    *,
    vectors: bool = True,
    joined: bool = False,
    dump: Dump | None = None,
    opener: Opener = _open,
) -> Iterator[Measured]:
    """What each corpus gives: in a home of its own, or ``joined`` in one home for all."""
    for group in [list(corpora)] if joined else ([corpus] for corpus in corpora):
        with _bench(vectors=vectors, opener=opener) as bench:
            begun = time.perf_counter()
            for corpus in group:
                bench.take(corpus)
            bench.engine.index.sync()
            seconds = time.perf_counter() - begun
            turns = sum(len(corpus.turns) for corpus in group)
            for corpus in group:
                share = seconds * len(corpus.turns) / turns if turns else 0.0
                yield bench.ask(corpus, dump=dump, ingest_seconds=share)


@contextmanager
def _bench(*, vectors: bool, opener: Opener) -> Iterator[_Bench]:
    config = dict(_SETTINGS) if vectors else {**_SETTINGS, "search.embedder": "none"}
    clock = CorpusClock()
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
        opener(Path(folder) / "home", clock, config) as engine,
    ):
        yield _Bench(engine=engine, clock=clock, vectors=vectors)


@dataclass(slots=True, kw_only=True)
class _Bench:
    """A home, and which turn of which corpus each of its entries is."""

    engine: Searching
    clock: CorpusClock
    vectors: bool
    said: dict[str, tuple[str, Turn]] = field(default_factory=dict)
    count: TokenEstimator = field(default_factory=TokenEstimator)
    is_warm: bool = False

    def take(self, corpus: Corpus) -> None:
        open_now: dict[str, _Conversation] = {}
        for name, at, turns in corpus.batches():
            self.clock.at = at or self.clock.at
            if name not in open_now:
                open_now[name] = self.engine.session(_session_name(corpus.id, name))
            ids = open_now[name].append_all(map(as_message, turns))
            self.said |= {id: (corpus.id, turn) for id, turn in zip(ids, turns, strict=True)}

    def ask(self, corpus: Corpus, *, dump: Dump | None, ingest_seconds: float) -> Measured:
        found = Measured(
            corpus=corpus.id,
            turns=len(corpus.turns),
            unit=corpus.unit,
            ingest_seconds=ingest_seconds,
        )
        self.clock.at = corpus.now or self.clock.at
        if not self.is_warm:  # what is loaded once per process is not the time of a search
            self._search("warm 热身", corpus.unit)
            self.is_warm = True
        for query in corpus.queries:
            if not query.gold:
                found.skipped += 1
                continue
            answer = self._answer(query, corpus, found.degraded)
            found.answers.append(answer)
            if dump is not None:
                dump({"corpus": corpus.id, "query": query.id, "ranked": answer.ranked})
        return found

    def _answer(self, query: Query, corpus: Corpus, degraded: Counter[str]) -> Answered:
        begun = time.perf_counter()
        result = self._search(query.text, corpus.unit)
        seconds = time.perf_counter() - begun
        degraded.update(result.degraded[:1])
        hits = tuple(
            Hit(ids=self._ids(passage, corpus), tokens=self.count.text(passage.text))
            for passage in result.passages
        )
        return Answered(gold=query.gold, hits=hits, category=query.category, seconds=seconds)

    def _search(self, text: str, unit: Unit) -> _Result:
        return self.engine.search(
            text, limit=PASSAGES[unit], vectors=self.vectors, now=self.clock.at
        )

    def _ids(self, passage: _Passage, corpus: Corpus) -> tuple[str, ...]:
        """Those of this corpus as its file names them, others with the name of theirs."""
        ids = []
        for owner, turn in (self.said[entry] for entry in passage.entries if entry in self.said):
            id = turn.id if corpus.unit == "turn" else turn.session
            ids.append(id if owner == corpus.id else f"{owner}/{id}")
        return tuple(dict.fromkeys(ids))


def _session_name(corpus: str, session: str) -> str:
    wanted = f"{corpus}-{session}"
    try:
        return check_name(wanted)
    except PolicyRefused:
        mark = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        return f"{slug(wanted)[:40]}-{mark}"


# ── the command ─────────────────────────────────────────────────────────────────────────────


def read(file: Path, *, limit: int | None = None) -> Iterator[Corpus]:
    """The corpora of a file, or the questions of LongMemEval; one kind in one file."""
    unit: Unit | None = None
    for where, item in islice(items(file), limit):
        corpus = question_of(item, where) if is_question(item) else corpus_of(item, where)
        if unit not in (None, corpus.unit):
            raise malformed(where, "questions with gold turns and with gold sessions are mixed")
        unit = corpus.unit
        yield corpus


def run(
    file: Path,
    *,
    vectors: bool = True,
    joined: bool = False,
    dump: Path | None = None,
    corpora: int | None = None,
    as_json: bool = False,
    opener: Opener = _open,
) -> None:
    """One line for each corpus, or the first ``corpora`` of them, and the summary last."""
    done: list[Measured] = []
    with ExitStack() as stack:
        write = _dumper(stack.enter_context(_created(dump))) if dump else None
        wanted = read(file, limit=corpora)
        for each in measure(wanted, vectors=vectors, joined=joined, dump=write, opener=opener):
            done.append(each)
            if as_json:
                json_line(each.to_json())
                sys.stdout.flush()
            elif sys.stderr.isatty():
                note(f"{each.corpus}: {len(each.answers)} questions")
    if not done:
        raise UsageError(f"There is no corpus in {str(file)!r}.")
    if as_json:
        json_line(summary(done))
    else:
        _page(done)
    _tell_degraded(done)


def _dumper(out: IO[str]) -> Dump:
    def write(line: dict[str, Json]) -> None:
        out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")

    return write


@contextmanager
def _created(file: Path) -> Iterator[IO[str]]:
    if file.suffix == ".gz":
        with gzip.open(file, "wt", encoding="utf-8") as packed:
            yield cast("IO[str]", packed)
    else:
        with file.open("w", encoding="utf-8") as plain:
            yield plain


def _page(done: Sequence[Measured]) -> None:
    lines = [each.to_json() for each in done]
    whole = summary(done)
    columns = [name for name, value in whole.items() if isinstance(value, float)]
    rows = [[str(line["corpus"]), str(line["queries"]), *_cells(line, columns)] for line in lines]
    total = ["all", str(whole["queries"]), *_cells(whole, columns)]
    table(["corpus", "queries", *columns], [*rows, total])
    kinds = cast("dict[str, Any]", whole["by_category"])
    if len(kinds) > 1:
        sys.stdout.write("\n")
        table(["category", "found"], [[kind, f"{value:.3f}"] for kind, value in kinds.items()])


def _cells(line: Mapping[str, Json], columns: Iterable[str]) -> list[str]:
    values = (line[column] for column in columns)
    return ["-" if value is None else f"{value:.3f}".rstrip("0").rstrip(".") for value in values]


def _tell_degraded(done: Sequence[Measured]) -> None:
    reasons: Counter[str] = Counter()
    for each in done:
        reasons.update(each.degraded)
    for reason, times in reasons.most_common(3):
        note(f"{times} of the searches ran without everything: {reason}")
