"""Figures that Prometheus can read, and that are right."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.server.metrics import Counts, Figure, exposition
from holdfast.server.places import OWN, Place, Places
from holdfast.testing import ScriptedModel
from tests.scale import scaled

_LINE = re.compile(
    r'(?P<name>[a-z_]+)(?:\{(?P<labels>(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? '
    r"(?P<value>-?[0-9][0-9.e+-]*)"
)
_LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\[\\"n])*)"')


def read(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """As Prometheus does: every line, or it is refused as a whole."""
    found = {}
    assert text.endswith("\n")
    for line in text.split("\n")[:-1]:
        if line.startswith("# "):
            assert re.fullmatch(r"# (HELP [a-z_]+ [^\n]+|TYPE [a-z_]+ (counter|gauge))", line)
            continue
        matched = _LINE.fullmatch(line)
        assert matched, line
        labels = frozenset(
            (name, re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), value))
            for name, value in _LABEL.findall(matched["labels"] or "")
        )
        assert (matched["name"], labels) not in found, "twice"
        found[matched["name"], labels] = float(matched["value"])
    return found


@settings(max_examples=scaled(40))
@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0), min_size=1)
)
def test_whatever_a_name_contains_it_is_read_as_it_was(values: dict[str, int]) -> None:
    figure = Figure(
        name="holdfast_x",
        kind="gauge",
        help="Of\nsome \\ kind.",
        values={(("place", name),): float(value) for name, value in values.items()},
    )
    found = read(exposition([figure]))
    assert found == {
        ("holdfast_x", frozenset({("place", name)})): float(value) for name, value in values.items()
    }


def test_half_a_character_keeps_nothing_from_being_sent() -> None:
    figure = Figure(name="x", kind="gauge", help="x", values={(("a", "\ud800"),): 1.0})
    exposition([figure]).encode()


def test_what_was_done_is_counted(home: Path) -> None:
    model = ScriptedModel(["Noted.", "Noted again."])
    with holdfast.open(home, background=False) as engine:
        counts = Counts(Places([Place(name=OWN, engine=engine)]))
        session = engine.session("trip", model=model)
        list(session.run("Remember: the ferry to Bergen leaves at 7:40 on Friday."))
        session.flush()
        session.compact()
        engine.search("ferry")
        for status in (200, 200, 404):
            counts.answered(status)
        found = read(counts.text())
        counts.close()
        engine.search("ferry")
        assert read(counts.text())["holdfast_searches_total", frozenset({("place", OWN)})] == 1
    own = ("place", OWN)

    def of(name: str, *labels: tuple[str, str]) -> float:
        return found[f"holdfast_{name}", frozenset(labels)]

    assert of("requests_total", ("status", "200")) == 2
    assert of("requests_total", ("status", "404")) == 1
    assert of("turns_total", own) == 1
    assert of("searches_total", own) == 1
    assert of("sessions", own) == 1
    assert of("index_documents", own) >= 1
    assert of("open_streams") == 0
    flushes = {k: v for k, v in found.items() if k[0] == "holdfast_flushes_total"}
    assert sum(flushes.values()) >= 1
    assert of("flushed_lines_total", own) >= 1
    assert not any("ferry" in line for line in counts.text().splitlines())
