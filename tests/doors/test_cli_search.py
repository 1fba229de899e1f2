"""``holdfast search`` and ``holdfast index``: what a person and a script get."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast as library
from tests.doors.inside import inside


@pytest.fixture
def filled(home: Path) -> Path:
    with library.open(home) as engine:
        engine.remember("The production database is PostgreSQL 16.", entity="database")
        engine.remember("Alice prefers green tea.", kind="O", entity="Alice", confidence=0.9)
        engine.session("s1").append({"role": "user", "content": "我女儿的生日是五月三号。"})
    return home


def test_an_answer_has_the_promised_fields(filled: Path) -> None:
    [found] = inside(filled, "search", "which database?", "--json").lines
    assert set(found) == {"passages", "degraded", "why_empty", "took_ms"}
    first = found["passages"][0]
    assert {"text", "citation", "score", "kind", "time", "source"} <= set(first)
    assert "PostgreSQL" in first["text"]
    assert "trace" not in first
    assert found["why_empty"] is None


def test_explain_adds_the_trace(filled: Path) -> None:
    [found] = inside(filled, "search", "tea", "--explain", "--json").lines
    assert found["passages"][0]["trace"]["stages"]
    assert found["trace"]["legs"]
    shown = inside(filled, "search", "tea", "--explain").out
    assert "How it was searched" in shown


def test_filters_are_passed_on(filled: Path) -> None:
    def texts(*options: str) -> list[str]:
        [found] = inside(filled, "search", *options, "--json").lines
        return [each["text"] for each in found["passages"]]

    assert texts("生日") == ["我女儿的生日是五月三号。"]
    assert texts("生日 tea database", "--source", "session") == ["我女儿的生日是五月三号。"]
    assert texts("生日 tea database", "--kind", "o") == ["@Alice: Alice prefers green tea."]
    assert texts("生日 tea database", "--session", "s1") == ["我女儿的生日是五月三号。"]
    assert texts("tea", "--entity", "alice") == ["@Alice: Alice prefers green tea."]
    assert texts("tea", "--until", "2001-01-01") == []
    assert len(texts("生日 tea database", "--k", "2")) == 2


def test_an_empty_answer_says_why_and_is_no_failure(filled: Path) -> None:
    run = inside(filled, "search", "xylophone")
    assert run.code == 0
    assert run.out.startswith("Nothing found: ")
    [found] = inside(filled, "search", "tea", "--chat-type", "group", "--json").lines
    assert found["passages"] == []
    assert "scope" in found["why_empty"]


def test_a_query_can_come_from_a_pipe_and_no_query_is_an_error(filled: Path) -> None:
    run = inside(filled, "search", "-", "--json", stdin="green tea\n")
    assert run.lines[0]["passages"]
    for query in ('"', "a AND (b OR", "*", "NEAR(", "", "'; DROP TABLE chunk; --", "\u0000"):
        if "\0" not in query:
            assert inside(filled, "search", query, "--json").code == 0


@pytest.mark.parametrize(
    "options", [("--since", "soon"), ("--kind", "Q"), ("--source", "web"), ("--k", "0")]
)
def test_what_makes_no_sense_is_refused(filled: Path, options: tuple[str, str]) -> None:
    assert inside(filled, "search", "tea", *options).code == 2


def test_the_index_commands(filled: Path) -> None:
    [before] = inside(filled, "index", "status", "--json").lines
    assert (before["documents"], before["changed"]) == (0, 2)
    assert inside(filled, "index", "verify").code == 1
    [done] = inside(filled, "index", "sync", "--json").lines
    assert done["documents"] == 2
    [after] = inside(filled, "index", "status", "--json").lines
    assert (after["documents"], after["changed"], after["chunks"]) == (2, 0, 3)
    assert inside(filled, "index", "verify").code == 0
    [built] = inside(filled, "index", "rebuild", "--json").lines
    assert built["documents"] == 2
    assert inside(filled, "index", "verify", "--json").lines[-1]["intact"] is True
