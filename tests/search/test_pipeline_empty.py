"""An answer without passages says why, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.scope import Place
from holdfast.search.documents import Chunk, Document
from holdfast.search.query.emptiness import Situation, why_empty
from tests.search.small_index import ME, MINE, NOW, Small


@pytest.fixture
def small(fast_path: Path) -> Iterator[Small]:
    made = Small.at(fast_path / "index")
    yield made
    made.index.close()


def reason(small: Small, query: str, **asked: Any) -> str:
    found = small.find(query, **asked)
    assert found.passages == ()
    assert found.why_empty is not None
    return found.why_empty


THEIRS = Place(tenant="local", agent="main", chat="team")
NOTES = "- Alice likes green tea\n- Bob drinks coffee\n"


def test_an_empty_query(small: Small) -> None:
    assert "The query is empty" in reason(small, " \n\t")


def test_an_empty_index(small: Small) -> None:
    assert reason(small, "tea") == "Nothing is remembered here yet. Run: holdfast remember TEXT"
    behind = reason(small, "tea", degraded=["index: 1 changed document is not indexed yet"])
    assert behind == "Nothing is indexed yet. Run: holdfast index sync"


def test_that_others_have_something_is_not_said(small: Small) -> None:
    elsewhere = replace(ME, chat="team", chat_type="group")
    empty = reason(small, "tea", reader=elsewhere)
    small.write("MEMORY.md", NOTES)
    small.say("s1", ("Ann", "tea"))
    assert reason(small, "tea", reader=elsewhere) == empty
    assert reason(small, "tea", reader=elsewhere, session="s1") == empty
    assert reason(small, "tea", reader=elsewhere, since=NOW.date()) == empty


def test_filters_that_leave_nothing_are_named_with_what_they_leave_out(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    said = reason(small, "tea", source="daily", kind="W")
    assert "none of the 2 readable passages: source leaves out 2, kind leaves out 2." in said


def test_an_entity_nobody_wrote_about(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    assert "No passage is about “Carol”." in reason(small, "tea", entity="Carol")


def test_a_session_that_is_nowhere(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    small.say("s1", ("Ann", "tea"))
    said = reason(small, "tea", session="s2")
    assert said.startswith("There is no session 's2' among what is indexed.")
    small.say("s2", ("Ann", "tea"), place=THEIRS)
    assert reason(small, "tea", session="s2") == said
    assert "There is no session" not in reason(small, "zebra", session="s1")


def test_what_has_ended_is_asked_for_with_a_time(small: Small) -> None:
    document = Document(key="bank/world.md", source="bank", place=MINE)
    over = Chunk(kind="fact", text="lives in Rome", fact_kind="W", until=NOW - timedelta(days=9))
    small.put(document, [over])
    assert "--as-of DATE" in reason(small, "Rome")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("zebra crossings", "“zebra”, “crossings”."),
        ("Where are the Zebras?", "“Zebras”."),
        ("who changed zoo_keeper.py, and why", "“changed”, “zoo_keeper.py”."),
        ("北京烤鸭的价格", "“北京烤鸭的价格”."),
        ("用Docker部署", "“用”, “Docker”, “部署”."),
    ],
)
def test_words_that_do_not_occur_are_named_as_they_were_written(
    small: Small, query: str, named: str
) -> None:
    small.write("MEMORY.md", NOTES)
    said = reason(small, query)
    assert said.startswith(f"None of these words occurs in the 2 passages: {named}")


def test_one_passage_is_not_called_passages_and_an_endless_word_is_cut(small: Small) -> None:
    small.write("MEMORY.md", "- Alice likes green tea\n")
    said = reason(small, "z" * 3000)
    assert said.startswith("None of these words occurs in the only passage: “zzz")
    assert len(said) < 120
    said = reason(small, "tea", source="daily")
    assert said == "The only readable passage is left out by source. Search again without it"


def test_options_are_named_as_they_are_written() -> None:
    asked = Situation(query="x", readable=1)
    assert "holdfast facts list" in why_empty(replace(asked, unknown_entity="Carol"))
    slow = replace(asked, remaining=1, timed_out=True)
    assert "search.timeout_ms" in why_empty(slow)
    assert "--timeout" not in why_empty(slow)


def test_words_that_nearly_occur_are_named_with_what_is_near(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    assert "Near to them: coffee." in reason(small, "cofee")
    small.write("memory/topics/secret.md", "- cofeeish\n", place=THEIRS)
    assert "Near to them: coffee." in reason(small, "cofee")


def test_a_query_of_common_words_only(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    assert "only very common words" in reason(small, "the of and")


def test_what_was_found_is_gone_from_its_file(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    small.files.clear()
    said = reason(small, "tea", content=small.content)
    assert "MEMORY.md is gone since it was indexed" in said
    assert "holdfast index sync" in said


def test_an_index_that_is_behind_says_so(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    said = reason(small, "zebra", degraded=["index: 2 changed documents are not indexed yet"])
    assert said.startswith("Not everything is indexed yet (see: holdfast index status). None of")
    assert reason(small, "zebra", degraded=["meaning: slow"]).startswith("None of these words")


@pytest.mark.parametrize(
    "situation",
    [
        Situation(query="x", readable=1, remaining=1, terms=["x"]),
        Situation(query="x", readable=1, remaining=1, terms=["x"], nearest=["a#L1"]),
        Situation(query="x\x1b[31m" * 999, readable=1, remaining=1),
        Situation(query="x", readable=1, remaining=1, timed_out=True),
        Situation(query="x", readable=1, unknown_entity="y" * 999, near=["z"]),
    ],
)
def test_a_reason_is_short_and_safe_to_print(situation: Situation) -> None:
    said = why_empty(situation)
    assert 20 < len(said) < 400
    assert "\x1b" not in said
