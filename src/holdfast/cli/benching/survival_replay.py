"""A whole corpus as one conversation that is compacted again and again, then asked about.

Each corpus gets a home of its own: its turns are appended at the times they were said, a request
is prepared after each, what must leave is saved and compacted by the engine itself, the session
is closed and a new one begins. Promise: nothing of a fact is known to the engine before it is
asked for, and what counts as found is only what the engine gave: the text of the new session's
first request, and the passages of one search (``tests/doors/test_bench_survival.py``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from holdfast.cli.benching.corpora import Corpus, Turn, as_message
from holdfast.cli.benching.retrieval import CorpusClock
from holdfast.cli.benching.survival_judging import Asked, Fact, Survived, Wrote, visible
from holdfast.engine.facade import Engine, open_engine
from holdfast.events import CompactionEnd, Event, MemoryFlushEnd
from holdfast.ports import Model, ModelReply, ModelRequest
from holdfast.retain import RetainLine, parse
from holdfast.types import Citation, Json

__all__ = ["RULES", "TOKENS", "Models", "Plan", "Strategy", "survive"]

RULES: Final = "rules"
TOKENS: Final = 2_000
"""What the passages of one search may cost together."""
PASSAGES: Final = 200
_TALK, _AFTER = "talk", "after"

_SETTINGS: Final[Mapping[str, Json]] = {
    "index.retention_days": 0,  # the conversations are years old
    "search.max_results": PASSAGES,
    "memory.time_zone": "UTC",  # in which times without a zone are read
    "notices.log.enabled": False,
}

Strategy = Literal["layered", "summary", "selective"]
Models: TypeAlias = Callable[[str], Model]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a conversation is replayed. ``compactions`` is the least there will be."""

    strategy: Strategy = "layered"
    window: int = 8_000
    compactions: int = 5
    model: str = RULES
    share: float = 0.35
    recall: bool = False
    vectors: bool = True

    def settings(self) -> dict[str, Json]:
        told = dict(_SETTINGS) | {"flush.share": self.share}
        told |= {"flush.mode": "rules"} if self.model == RULES else {"flush.model": self.model}
        told |= {} if self.vectors else {"search.embedder": "none"}
        return told | {"recall.mode": "auto" if self.recall else "off"}


def survive(
    corpus: Corpus, facts: Sequence[Fact], plan: Plan, *, models: Models | None = None
) -> Survived:
    """What is left of the facts after the compactions, and in a new session."""
    with _home(corpus, plan, models) as home:
        home.replay()
        home.read_memory()
        home.engine.index.sync()
        shown = home.begin_anew()
        for number, fact in enumerate(facts):
            home.ask(fact, shown, number)
        return home.survived


@contextmanager
def _home(corpus: Corpus, plan: Plan, models: Models | None) -> Iterator[_Home]:
    clock = CorpusClock()
    counted = _counting(models, plan.model)
    given: dict[str, Any] = {} if counted is None else {"models": lambda _: counted}
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
        open_engine(
            Path(folder) / "home", config=plan.settings(), clock=clock, background=False, **given
        ) as engine,
    ):
        survived = Survived(corpus=corpus)
        yield _Home(engine=engine, clock=clock, plan=plan, survived=survived, model=counted)


@dataclass(slots=True, kw_only=True)
class _Home:
    """The home of one corpus, and which turn each of its entries is."""

    engine: Engine
    clock: CorpusClock
    plan: Plan
    survived: Survived
    model: _Counting | None = None
    turns: dict[str, Turn] = field(default_factory=dict)
    """By entry."""
    memory: dict[tuple[str, int], RetainLine] = field(default_factory=dict)
    """By file and number of the line."""

    # ── the conversation ────────────────────────────────────────────────────────────────────

    def replay(self) -> None:
        """Say everything; compact where the engine does not do so often enough of itself."""
        turns = self.survived.corpus.turns
        end = self.engine.subscribe(self._hear)
        session = self.engine.session(_TALK)
        for number, turn in enumerate(turns, 1):
            self.clock.at = turn.at or self.clock.at
            self.turns[session.append(as_message(turn))] = turn
            session.prepare(**self._about())
            due = number * (self.plan.compactions + 1) // (len(turns) + 1)
            if self.survived.compactions < min(due, self.plan.compactions):
                session.compact(**self._about())
        session.close()
        end()
        self.survived.tokens_spent = self.model.tokens if self.model else 0

    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] = {"window": self.plan.window, "strategy": self.plan.strategy}
        return about if self.model is None else about | {"summariser": self.model}

    def _hear(self, event: Event) -> None:
        if isinstance(event, CompactionEnd):
            self.survived.compactions += 1
        elif isinstance(event, MemoryFlushEnd) and event.outcome != "failed":
            self.survived.flushes += 1

    # ── what was written ────────────────────────────────────────────────────────────────────

    def read_memory(self) -> None:
        """Every line of memory that cites the conversation, where it stands in the files."""
        for path in self.engine.files():
            for number, written in enumerate(self.engine.get(path).text.splitlines(), 1):
                line = parse(written)
                if line is not None and line.sources:
                    self.memory[path, number] = line
        lines = tuple(self.memory.values())
        self.survived.wrote = Wrote(lines=lines, cited=tuple(map(self._cited, lines)))

    def _cited(self, line: RetainLine) -> tuple[Turn, ...]:
        cited = (Citation.parse(source) for source in line.sources)
        entries = (each.entry for each in cited if each is not None)
        return tuple(self.turns[each] for each in entries if each in self.turns)

    # ── afterwards ──────────────────────────────────────────────────────────────────────────

    def begin_anew(self) -> frozenset[str]:
        """The turns that a new session shows before anything is said in it."""
        return self._shown(self.engine.session(_AFTER).prepare(**self._about()))

    def ask(self, fact: Fact, shown: frozenset[str], number: int) -> None:
        """Look for one fact: in everything, in memory alone, in what is shown."""
        everywhere = self._search(fact.text, source=None)
        memory = self._search(fact.text, source="daily")
        lines = [line for passage in memory for line in self._lines(passage.citation)]
        found = frozenset(turn.id for line in lines for turn in self._cited(line))
        told = [line for line in lines if any(t.id in fact.sources for t in self._cited(line))]
        asked = Asked(
            fact=fact,
            reachable=shown.union(*map(self._turns_of, everywhere)),
            memory_only=found,
            in_view=shown,
            recalled=self._recalled(fact, number) if self.plan.recall else None,
            lines=tuple(map(visible, told)),
        )
        self.survived.asked.append(asked)

    def _search(self, text: str, *, source: str | None) -> Sequence[Any]:
        return self.engine.search(
            text,
            limit=PASSAGES,
            max_tokens=TOKENS,
            source=source,
            vectors=self.plan.vectors,
            now=self.clock.at,
        ).passages

    def _turns_of(self, passage: Any) -> set[str]:
        said = {self.turns[entry].id for entry in passage.entries if entry in self.turns}
        lines = self._lines(passage.citation)
        return said | {turn.id for line in lines for turn in self._cited(line)}

    def _lines(self, citation: str) -> Iterable[RetainLine]:
        cited = Citation.parse(citation)
        if cited is None or cited.span is None:
            return ()
        numbers = range(cited.span.start, cited.span.end + 1)
        lines = (self.memory.get((cited.source, number)) for number in numbers)
        return [line for line in lines if line is not None]

    def _recalled(self, fact: Fact, number: int) -> frozenset[str]:
        """What the first request of a session shows that begins with the fact."""
        name = f"{_AFTER}-{number}"
        shown = self._shown(self.engine.session(name).prepare(fact.text, **self._about()))
        self.engine.delete_session(name)  # nothing that was asked may answer the next
        return shown

    def _shown(self, prepared: Any) -> frozenset[str]:
        """The turns that stand in a request, whole or as a line of memory."""
        text = "\n".join(_strings([prepared.system, *(m["content"] for m in prepared.messages)]))
        turns = {turn.id for turn in self.turns.values() if turn.text in text}
        lines = (line for line in self.memory.values() if line.text in text)
        return frozenset(turns | {turn.id for line in lines for turn in self._cited(line)})


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)


# ── models ──────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Counting:
    """A model, and what it was paid for."""

    inner: Model
    tokens: int = 0

    @property
    def name(self) -> str:
        return self.inner.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await self.inner.complete(request)
        if reply.usage is not None:
            self.tokens += reply.usage.input_tokens + reply.usage.output_tokens
        return reply


def _counting(models: Models | None, name: str) -> _Counting | None:
    return None if name == RULES or models is None else _Counting(models(name))
