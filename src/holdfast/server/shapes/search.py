"""A search and its answer, as the API tells them: with what to jump to, and why it is there.

Promise: the shares of an explanation lie between 0 and 1 and compare all passages of one answer:
a bar twice as long counted twice as much (``tests/server/test_searching.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, Field

from holdfast.server.shapes.asking import Asked
from holdfast.types import Citation, Json

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.search.request import Passage, SearchResult

__all__ = ["Found", "SearchAsked", "found_of"]

_OF_ENCODERS: Final = ("late window ", "late_window ", "late ", "meaning ")
"""How the channels begin that an encoder adds; behind it is its name."""
_NO_CHANNELS: Final = frozenset({"stages", "exact", "also"})


class SearchAsked(Asked):
    query: str = Field(max_length=4_000)
    limit: int | None = Field(default=None, ge=1, le=100)
    kind: Literal["W", "B", "O", "S"] | None = None
    entity: str | None = Field(default=None, max_length=200)
    since: str | None = Field(default=None, max_length=40, description="A day, or a time.")
    until: str | None = Field(default=None, max_length=40)
    as_of: str | None = Field(
        default=None, max_length=40, description="What was known and true then."
    )
    source: Literal["memory", "daily", "topic", "bank", "task", "session", "extra"] | None = None
    session: str | None = Field(default=None, max_length=200)
    vectors: bool = True
    explain: bool = False


class Stage(BaseModel):
    """What one channel or stage counted."""

    name: str
    by: str | None = Field(default=None, description="The encoder, where one did it.")
    value: float
    share: float = Field(ge=0, le=1, description="Of the largest in this answer.")


class PassageTold(BaseModel):
    """One hit; where it stands is in ``path`` and ``lines``, or ``session``, ``entry``, ``seq``."""

    text: str
    citation: str
    score: float
    kind: str
    time: datetime | None
    source: str
    speaker: str | None
    entities: list[str]
    trust: str
    context: str
    path: str | None
    lines: list[int] | None = Field(
        min_length=2, max_length=2, description="The first and the last line."
    )
    session: str | None
    entry: str | None
    seq: int | None
    stages: list[Stage] = Field(
        default_factory=list, description="With explain: what each channel added, most first."
    )
    steps: list[Stage] = Field(
        default_factory=list, description="With explain: the score after each stage."
    )
    exact: bool | None = Field(default=None, description="Whether it holds the query's own words.")
    also: list[str] = Field(default_factory=list, description="Where the same stands once more.")


class Found(BaseModel):
    passages: list[PassageTold]
    degraded: list[str] = Field(description="What did not run, or not as asked.")
    why_empty: str | None
    took_ms: float
    trace: dict[str, Any] | None = Field(
        None, description="With explain: terms, times, filters, and how long each stage took."
    )


def found_of(result: SearchResult, seq: Callable[[str, str], int | None]) -> Found:
    """The answer; ``seq`` says which number an entry of a conversation has."""
    traces = [passage.trace or {} for passage in result.passages]
    largest = _largest(_channels(trace).values() for trace in traces)
    highest = _largest(_steps(trace).values() for trace in traces)
    return Found(
        passages=[
            _passage(passage, seq, trace, largest, highest)
            for passage, trace in zip(result.passages, traces, strict=True)
        ],
        degraded=list(result.degraded),
        why_empty=result.why_empty,
        took_ms=round(result.took_ms, 3),
        trace=dict(result.trace) or None,
    )


def _passage(
    passage: Passage,
    seq: Callable[[str, str], int | None],
    trace: Mapping[str, Json],
    largest: float,
    highest: float,
) -> PassageTold:
    told = passage.to_json()
    told.pop("trace", None)
    channels = sorted(_channels(trace).items(), key=lambda each: -each[1])
    return PassageTold(
        **{**told, "time": passage.time},
        **_target(passage.citation, seq),
        stages=[_stage(name, value, largest) for name, value in channels],
        steps=[_stage(name, value, highest) for name, value in _steps(trace).items()],
        exact=trace.get("exact"),
        also=list(trace.get("also", ())),
    )


def _target(citation: str, seq: Callable[[str, str], int | None]) -> dict[str, Any]:
    """What to jump to."""
    target: dict[str, Any] = dict.fromkeys(("path", "lines", "session", "entry", "seq"))
    cited = Citation.parse(citation)
    if cited is None:
        return target
    if cited.span is not None:
        return target | {"path": cited.source, "lines": [cited.span.start, cited.span.end]}
    if cited.entry is not None:
        at = seq(cited.source, cited.entry)
        return target | {"session": cited.source, "entry": cited.entry, "seq": at}
    return target


def _channels(trace: Mapping[str, Json]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in trace.items()
        if name not in _NO_CHANNELS and isinstance(value, int | float) and value
    }


def _steps(trace: Mapping[str, Json]) -> dict[str, float]:
    stages: Mapping[str, Json] = trace.get("stages") or {}
    return {name: float(value) for name, value in stages.items() if value is not None}


def _largest(values: Iterable[Iterable[float]]) -> float:
    return max((abs(value) for each in values for value in each), default=0.0)


def _stage(name: str, value: float, largest: float) -> Stage:
    by = None
    for beginning in _OF_ENCODERS:
        if name.startswith(beginning):
            name, by = beginning.strip().replace(" ", "_"), name.removeprefix(beginning)
            break
    share = min(1.0, abs(value) / largest) if largest else 0.0
    return Stage(name=name, by=by, value=value, share=round(share, 4))
