"""Other names, an expander and a reranker: they may help, and never break or hold up a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event

import pytest

from holdfast.scope import Place
from holdfast.search.query.candidates import Candidate
from holdfast.search.query.deadline import (
    MOST_ABANDONED,
    Deadline,
    Started,
    TooBusy,
    TooSlow,
    start,
)
from holdfast.search.query.outside import expanded, other_names, reranked


@dataclass
class Ticking:
    """A clock that moves when it is told to."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def a_deadline(seconds: float = 5.0) -> Deadline:
    return Deadline(seconds=seconds, monotonic=Ticking())


def candidates(count: int = 4) -> list[Candidate]:
    return [
        Candidate(
            id=str(number),
            key="MEMORY.md",
            source="memory",
            place=Place(tenant="local", agent="main"),
            kind="text",
            text=f"text {number}",
            score=1.0 - number / 10,
        )
        for number in range(count)
    ]


@dataclass
class Scorer:
    """A reranker or expander that does what a test tells it to."""

    answer: Callable[[int], Sequence[float]]
    name: str = "scorer"
    asked: list[tuple[str, Sequence[str]]] = field(default_factory=list)

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> Sequence[float]:
        self.asked.append((query, texts))
        return self.answer(len(texts))

    def expand(self, query: str, *, seconds: float) -> Sequence[str]:
        self.asked.append((query, ()))
        return ["tea", *map(str, self.answer(1))]


def ids(found: Sequence[Candidate]) -> list[str]:
    return [one.id for one in found]


def test_a_reranker_decides_with_us_and_leaves_its_score() -> None:
    degraded: list[str] = []
    third = Scorer(answer=lambda _: [0.0, 0.0, 1.0, 0.0])
    found = reranked("tea", candidates(4), third, a_deadline(), degraded)
    assert ids(found) == ["2", "0", "1", "3"]
    assert all(one.stages["rerank"] == one.score for one in found)
    assert third.asked == [("tea", ["text 0", "text 1", "text 2", "text 3"])]
    assert not degraded


@pytest.mark.parametrize("scores", [[], [1.0], [float("nan")] * 4, [float("inf")] * 4])
def test_scores_that_make_no_sense_change_nothing_but_what_is_said(scores: list[float]) -> None:
    degraded: list[str] = []
    given = candidates(4)
    assert reranked("tea", given, Scorer(answer=lambda _: scores), a_deadline(), degraded) == given
    assert degraded[0].startswith("rerank: scorer gave")


def fails(_: int) -> Sequence[float]:
    raise RuntimeError("no route to host")


def test_a_reranker_or_expander_that_fails_is_named() -> None:
    degraded: list[str] = []
    given = candidates(4)
    assert reranked("tea", given, Scorer(answer=fails), a_deadline(), degraded) == given
    assert expanded("tea", Scorer(answer=fails), a_deadline(), degraded) == []
    assert degraded == [
        "rerank: scorer failed: no route to host",
        "expansion: scorer failed: no route to host",
    ]


def test_neither_is_asked_when_time_is_over() -> None:
    deadline = a_deadline(0.0)
    scorer = Scorer(answer=lambda count: [1.0] * count)
    assert ids(reranked("tea", candidates(), scorer, deadline, [])) == ["0", "1", "2", "3"]
    assert expanded("tea", scorer, deadline, []) == []
    assert scorer.asked == []
    assert deadline.skipped == ["rerank", "expansion"]


def test_a_reranker_that_hangs_is_left_behind() -> None:
    hold = Event()

    def hangs(count: int) -> Sequence[float]:
        hold.wait(30)
        return [1.0] * count

    degraded: list[str] = []
    given = candidates()
    assert reranked("tea", given, Scorer(answer=hangs), a_deadline(0.02), degraded) == given
    assert degraded == ["rerank: scorer took longer than 10 ms"]
    hold.set()


def test_calls_that_never_come_back_are_few() -> None:
    hold = Event()
    started: list[Started[bool]] = []
    for _ in range(MOST_ABANDONED):
        started.append(start(lambda: hold.wait(30)))
        with pytest.raises(TooSlow):
            started[-1].result(0.001)
    with pytest.raises(TooBusy):
        start(lambda: True)
    hold.set()
    for one in started:
        assert one.result(30)
    assert start(lambda: 7).result(30) == 7


def test_every_other_name_of_who_is_named_is_looked_for() -> None:
    aliases = {"Peter Müller": ["Pete", "彼得"], "Paul": ["Pauli"]}
    assert other_names("What does PETE drink?", aliases) == ["Peter Müller", "彼得"]
    assert other_names("彼得喜欢什么茶", aliases) == ["Peter Müller", "Pete"]
    assert other_names("Who competed?", aliases) == []
    assert other_names("peter müller and paul", aliases) == ["Pete", "彼得", "Pauli"]
    assert other_names("anything", {}) == []


def test_expansion_gives_other_words() -> None:
    found = expanded("chai", Scorer(answer=lambda _: []), a_deadline(), [])
    assert found == ["tea"]
    assert expanded("chai", None, a_deadline(), []) == []
