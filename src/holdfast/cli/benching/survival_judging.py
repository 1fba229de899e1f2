"""What became of the facts of a conversation: found, with their content, grounded, repeated.

Promise: every figure is counted from texts and ids alone, the same way for Holdfast and for
whatever is held against it; a fact counts only if every one of its source turns was found
(``tests/doors/test_bench_survival.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from holdfast.cli.benching.corpora import Corpus, Turn, malformed, text_field
from holdfast.context.extract.clauses import clauses
from holdfast.context.extract.compression import dated
from holdfast.retain import RetainLine, render
from holdfast.text import normalise
from holdfast.text.tokens import words
from holdfast.types import Json

__all__ = [
    "CONTENT",
    "Asked",
    "Fact",
    "Survived",
    "Wrote",
    "content_of",
    "facts_of",
    "figures",
    "is_grounded",
    "visible",
]

CONTENT: Final = 0.6
"""The share of a fact's words, of those its source holds, that lines must hold to tell it."""


# ── what is asked for ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that was said, and the turns in which it was."""

    text: str
    sources: frozenset[str]


def facts_of(item: Mapping[str, Any], corpus: Corpus, where: str) -> tuple[Fact, ...]:
    """The facts in one line of a file of corpora."""
    given = item.get("facts")
    if not isinstance(given, list) or not given:
        raise malformed(where, "there is no list 'facts': [{text, sources: [turn ids]}]")
    known = {turn.id for turn in corpus.turns}
    return tuple(_fact(each, known, where) for each in given)


def _fact(given: object, known: set[str], where: str) -> Fact:
    sources = given.get("sources") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(sources, list) or not sources:
        raise malformed(where, "a fact has no list 'sources'")
    text = text_field(given, "text", where)
    if unknown := sorted(set(map(str, sources)) - known):
        raise malformed(where, f"the fact {text!r} names a turn {unknown[0]!r} that is not there")
    return Fact(text=text, sources=frozenset(map(str, sources)))


# ── words ───────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=65_536)
def content_of(text: str) -> frozenset[str]:
    """The words that say something, as search compares them; a Chinese character is a word."""
    return frozenset(word.stem for word in words(text) if not word.is_stop)


def visible(line: RetainLine) -> str:
    """The line as a person reads it: without the comment in which its sources stand."""
    return render(line).partition(" <!-- hf")[0]


def is_grounded(line: RetainLine, turns: Sequence[Turn], names: Iterable[str]) -> bool:
    """Whether every word and number of a line stands in the turns it cites.

    A day named from the speaker's today ("yesterday") counts as the date it was, and whom
    "you" means as that name; nothing else may be added.
    """
    said = " ".join([*names, *(turn.text for turn in turns), *map(_with_dates, turns)])
    return bool(turns) and content_of(line.text) <= content_of(said)


def _with_dates(turn: Turn) -> str:
    if turn.at is None:
        return ""
    return " ".join(dated(clause.text, turn.at.date()) for clause in clauses(turn.text))


# ── what was found ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One fact, and the turns that each way brought back. ``lines`` cite a turn of the fact."""

    fact: Fact
    reachable: frozenset[str] = frozenset()
    memory_only: frozenset[str] = frozenset()
    in_view: frozenset[str] = frozenset()
    recalled: frozenset[str] | None = None
    lines: tuple[str, ...] = ()

    def is_told(self, text_of: Callable[[str], str]) -> bool:
        """Whether the lines found in memory hold what the sources hold of the fact."""
        if not self.fact.sources <= self.memory_only:
            return False
        said = content_of(" ".join(map(text_of, sorted(self.fact.sources))))
        wanted = content_of(self.fact.text) & said
        return len(wanted & content_of(" ".join(self.lines))) >= CONTENT * len(wanted)

    def to_json(self, corpus: str) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "corpus": corpus,
            "fact": self.fact.text,
            "sources": sorted(self.fact.sources),
            "reachable": sorted(self.reachable),
            "memory_only": sorted(self.memory_only),
            "in_view": sorted(self.in_view),
            "lines": list(self.lines),
        }
        return shown if self.recalled is None else shown | {"recalled": sorted(self.recalled)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """The lines in memory at the end, and the turns they cite."""

    lines: tuple[RetainLine, ...] = ()
    cited: tuple[tuple[Turn, ...], ...] = ()
    """The turns of each line, in the same order."""

    @property
    def characters(self) -> int:
        """As they are read, each with the end of its line."""
        return sum(len(visible(line)) + 1 for line in self.lines)

    @property
    def repeats(self) -> int:
        """Lines whose text another of the same name holds already."""
        by_name: dict[str | None, list[str]] = {}
        for line in self.lines:
            by_name.setdefault(line.entity, []).append(normalise(line.text))
        return sum(_repeated(texts) for texts in by_name.values())

    def grounded(self, names: Sequence[str]) -> int:
        pairs = zip(self.lines, self.cited, strict=True)
        return sum(is_grounded(line, turns, names) for line, turns in pairs)


def _repeated(texts: Sequence[str]) -> int:
    """Texts that stand whole in another, and all but the first of those that are the same."""
    return sum(
        text in texts[:place] or any(text in other and text != other for other in texts)
        for place, text in enumerate(texts)
    )


# ── one corpus ──────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class Survived:
    """One corpus, and what became of its facts."""

    corpus: Corpus
    asked: list[Asked] = field(default_factory=list)
    wrote: Wrote = Wrote()
    compactions: int = 0
    flushes: int = 0
    tokens_spent: int = 0

    def to_json(self) -> dict[str, Json]:
        return {"corpus": self.corpus.id, **figures([self])}


def figures(survived: Sequence[Survived]) -> dict[str, Json]:
    """Over all facts of all corpora; every fact counts the same."""
    asked = [each for one in survived for each in one.asked]
    facts, lines = len(asked), sum(len(one.wrote.lines) for one in survived)
    told = sum(each.is_told(_texts(one.corpus)) for one in survived for each in one.asked)
    said = sum(len(turn.text) for one in survived for turn in one.corpus.turns)
    shown: dict[str, Json] = {
        "turns": sum(len(one.corpus.turns) for one in survived),
        "facts": facts,
        "compactions": min((one.compactions for one in survived), default=0),
        "flushes": sum(one.flushes for one in survived),
        "reachable": _found(asked, lambda each: each.reachable),
        "memory_only": _found(asked, lambda each: each.memory_only),
        "memory_content": _share(told, facts),
        "in_view": _found(asked, lambda each: each.in_view),
        "written_share": _share(sum(one.wrote.characters for one in survived), said),
        "lines": lines,
        "duplicates": sum(one.wrote.repeats for one in survived),
        "grounded": _share(sum(one.wrote.grounded(_names(one.corpus)) for one in survived), lines),
        "tokens_spent": sum(one.tokens_spent for one in survived),
    }
    if any(each.recalled is not None for each in asked):
        shown["recalled"] = _found(asked, lambda each: each.recalled or frozenset())
    return shown


def _texts(corpus: Corpus) -> Callable[[str], str]:
    return {turn.id: turn.text for turn in corpus.turns}.__getitem__


def _names(corpus: Corpus) -> list[str]:
    return list(dict.fromkeys(turn.speaker for turn in corpus.turns))


def _found(asked: Sequence[Asked], ids: Callable[[Asked], frozenset[str]]) -> float | None:
    return _share(sum(each.fact.sources <= ids(each) for each in asked), len(asked))


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
