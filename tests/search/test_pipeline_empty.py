"""An answer without passages says why, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.scope import Place
from holdfast.search.query.emptiness import Situation, why_empty
from tests.search.small_index import ME, Small


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
    assert reason(small, "tea") == "Nothing is indexed yet. Run: holdfast index sync"


def test_nothing_that_may_be_read(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    said = reason(small, "tea", reader=replace(ME, chat="team", chat_type="group"))
    assert said.startswith("Nothing that is indexed may be read from this chat.")
    assert "2" not in said


def test_filters_that_leave_nothing_are_named_with_what_they_leave_out(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    said = reason(small, "tea", source="daily", kind="W")
    assert "none of the 2 readable passages: source leaves out 2, kind leaves out 2." in said


def test_an_entity_nobody_wrote_about(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    assert "No passage is about “Carol”." in reason(small, "tea", entity="Carol")


def test_words_that_do_not_occur_are_named(small: Small) -> None:
    small.write("MEMORY.md", NOTES)
    said = reason(small, "zebra crossing")
    assert said.startswith("None of these words occurs in the 2 passages: “zebra”, “cross”.")


def test_one_passage_is_not_called_passages_and_an_endless_word_is_cut(small: Small) -> None:
    small.write("MEMORY.md", "- Alice likes green tea\n")
    said = reason(small, "z" * 3000)
    assert said.startswith("None of these words occurs in the only passage: “zzz")
    assert len(said) < 120
    said = reason(small, "tea", source="daily")
    assert "none of the only readable passage: source leaves out 1." in said


def test_options_are_named_as_they_are_written() -> None:
    asked = Situation(query="x", indexed=1)
    assert "holdfast --user NAME search" in why_empty(asked)
    slow = replace(asked, readable=1, remaining=1, timed_out=True)
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
    said = reason(small, "zebra", degraded=["catching up: 2 files are not indexed yet"])
    assert said.endswith("not everything is indexed yet: holdfast index status")


@pytest.mark.parametrize(
    "situation",
    [
        Situation(query="x", indexed=1, readable=1, remaining=1, terms=["x"]),
        Situation(query="x", indexed=1, readable=1, remaining=1, terms=["x"], nearest=["a#L1"]),
        Situation(query="x\x1b[31m" * 999, indexed=1, readable=1, remaining=1),
        Situation(query="x", indexed=1, readable=1, remaining=1, timed_out=True),
        Situation(query="x", indexed=1, readable=1, unknown_entity="y" * 999, near=["z"]),
    ],
)
def test_a_reason_is_short_and_safe_to_print(situation: Situation) -> None:
    said = why_empty(situation)
    assert 20 < len(said) < 400
    assert "\x1b" not in said
