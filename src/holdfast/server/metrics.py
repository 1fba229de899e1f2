"""Figures for whoever watches the server: Prometheus' text format, written by hand.

What happened is counted since the server started, from the engines' own events; what there is
(conversations, indexed documents, what models cost) is looked up when somebody asks. No text of
anybody is among it.

Promise: every line can be read by Prometheus, whatever a name contains; a figure that cannot be
had is left out and counted as such (``tests/server/test_metrics.py``).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final, Literal, Protocol

from holdfast._version import __version__
from holdfast.engine.facade import Engine
from holdfast.errors import HoldfastError
from holdfast.events import (
    CompactionEnd,
    Event,
    MemoryFlushEnd,
    Searched,
    ToolResultsPruned,
    TurnFinished,
)
from holdfast.server.places import Place, Places

__all__ = ["Counts", "Figure", "exposition"]

log = logging.getLogger("holdfast.server")

Labels = tuple[tuple[str, str], ...]


class Traffic(Protocol):
    """What the entrance knows."""

    @property
    def open_streams(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure, with a value for each set of labels."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    values: Mapping[Labels, float]


_COUNTED: Final[Mapping[str, str]] = {
    "turns": "Answers that were given.",
    "searches": "Searches that were answered.",
    "flushes": "Flushes that ended, by outcome.",
    "flushed_lines": "Memory lines that flushes wrote.",
    "compactions": "Compactions that ended.",
    "compacted_tokens": "Tokens that compactions took out of requests.",
    "pruned_tokens": "Tokens that shortening of tool results took out of requests.",
}


class Counts:
    """What happened since the server started, and how things stand."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._lock = Lock()
        self._answers: Counter[int] = Counter()
        self._happened: dict[str, Counter[Labels]] = {name: Counter() for name in _COUNTED}
        self._failed = 0
        self._traffic: Traffic | None = None
        self._ends = [place.engine.subscribe(self._listener(place.name)) for place in self._places]

    def follow(self, traffic: Traffic) -> None:
        """Ask this one how many are being served now."""
        self._traffic = traffic

    def close(self) -> None:
        """Listen no more."""
        for end in self._ends:
            end()

    def answered(self, status: int) -> None:
        with self._lock:
            self._answers[status] += 1

    # ── what happens ────────────────────────────────────────────────────────────────────────

    def _listener(self, place: str) -> Callable[[Event], None]:
        where = ("place", place)

        def hear(event: Event) -> None:
            with self._lock:
                for name, labels, number in _told(event):
                    self._happened[name][(where, *labels)] += number

        return hear

    # ── how things stand ────────────────────────────────────────────────────────────────────

    def text(self) -> str:
        """Everything, for Prometheus."""
        looked_up = [figure for place in self._places for figure in self._looked_up(place)]
        with self._lock:
            counted = [
                _counter(
                    "requests_total",
                    "Requests that were answered, by status.",
                    {(("status", str(status)),): n for status, n in self._answers.items()},
                ),
                *(
                    _counter(f"{name}_total", help, self._happened[name])
                    for name, help in _COUNTED.items()
                ),
            ]
            failed = self._failed
        streams = 0 if self._traffic is None else self._traffic.open_streams
        now = [
            _gauge("info", "The version that runs.", {(("version", __version__),): 1}),
            _gauge("open_streams", "Who follows what happens.", {(): streams}),
            _counter("figures_failed_total", "Figures that could not be had.", {(): failed}),
        ]
        return exposition([*now, *counted, *_joined(looked_up)])

    def _looked_up(self, place: Place) -> list[Figure]:
        where: Labels = (("place", place.name),)
        found: list[Figure] = []
        for look in (_sessions, _documents, _costs):
            try:
                found += look(place.engine, where)
            except HoldfastError as error:
                log.warning("a figure of %s cannot be had: %s", place.name, error)
                with self._lock:
                    self._failed += 1
        return found


def _told(event: Event) -> list[tuple[str, Labels, int]]:
    match event:
        case TurnFinished():
            return [("turns", (), 1)]
        case Searched():
            return [("searches", (), 1)]
        case MemoryFlushEnd(outcome=outcome, saved=saved):
            return [("flushes", (("outcome", outcome),), 1), ("flushed_lines", (), saved)]
        case CompactionEnd(tokens_before=before, tokens_after=after):
            return [("compactions", (), 1), ("compacted_tokens", (), max(0, before - after))]
        case ToolResultsPruned(tokens_before=before, tokens_after=after):
            return [("pruned_tokens", (), max(0, before - after))]
    return []


def _sessions(engine: Engine, where: Labels) -> list[Figure]:
    return [_gauge("sessions", "Conversations on disk.", {where: len(engine.sessions())})]


def _documents(engine: Engine, where: Labels) -> list[Figure]:
    found = engine.index.index.status()
    return [
        _gauge("index_documents", "Documents in the search index.", {where: found.documents}),
        _gauge("index_bytes", "How large the search index is.", {where: found.bytes}),
    ]


def _costs(engine: Engine, where: Labels) -> list[Figure]:
    """Of all time: what the ledger says, by what it was for."""
    spent = engine.costs("what")
    dollars = {(*where, ("what", what)): each.dollars for what, each in spent.items()}
    tokens: dict[Labels, float] = {}
    for what, each in spent.items():
        labels = (*where, ("what", what))
        tokens[(*labels, ("direction", "input"))] = each.input_tokens
        tokens[(*labels, ("direction", "output"))] = each.output_tokens
    return [
        _counter("cost_dollars_total", "What models cost, where the price is known.", dollars),
        _counter("tokens_total", "Tokens that models read and wrote.", tokens),
    ]


# ── the format ──────────────────────────────────────────────────────────────────────────────


def exposition(figures: Iterable[Figure]) -> str:
    """The text that Prometheus reads."""
    lines: list[str] = []
    for figure in figures:
        if not figure.values:
            continue
        lines.append(f"# HELP {figure.name} {_escaped(figure.help, quotes=False)}")
        lines.append(f"# TYPE {figure.name} {figure.kind}")
        for labels, value in sorted(figure.values.items()):
            lines.append(f"{figure.name}{_labels(labels)} {value!r}")
    return "\n".join([*lines, ""])


def _labels(labels: Labels) -> str:
    told = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{told}}}" if told else ""


def _escaped(text: str, *, quotes: bool = True) -> str:
    whole = text.encode("utf-8", "replace").decode()  # half a character cannot be sent
    found = whole.replace("\\", "\\\\").replace("\n", "\\n")
    return found.replace('"', '\\"') if quotes else found


def _counter(name: str, help: str, values: Mapping[Labels, float]) -> Figure:
    return Figure(name=f"holdfast_{name}", kind="counter", help=help, values=dict(values))


def _gauge(name: str, help: str, values: Mapping[Labels, float]) -> Figure:
    return Figure(name=f"holdfast_{name}", kind="gauge", help=help, values=dict(values))


def _joined(figures: Iterable[Figure]) -> list[Figure]:
    """Of one name there is one figure, with the values of every place."""
    found: dict[str, Figure] = {}
    for each in figures:
        before = found.get(each.name)
        values = {**(before.values if before else {}), **each.values}
        found[each.name] = Figure(name=each.name, kind=each.kind, help=each.help, values=values)
    return list(found.values())
