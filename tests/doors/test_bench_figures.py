"""``holdfast bench``: the arithmetic of rankings, the made-up past, and what it is held against."""

from __future__ import annotations

import json
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.cli.benching import speed
from holdfast.cli.benching.beside import PlainFts5
from holdfast.cli.benching.metrics import Answered, Hit, percentile, scores, timing
from holdfast.cli.benching.synthetic import World
from holdfast.errors import UsageError
from tests.scale import scaled

# ── arithmetic ──────────────────────────────────────────────────────────────────────────────


def answered(ranked: Iterable[str], gold: Iterable[str], **more: Any) -> Answered:
    return Answered(
        gold=frozenset(gold), hits=tuple(Hit(ids=(id,), tokens=100) for id in ranked), **more
    )


def test_the_measures_of_a_known_ranking() -> None:
    ten = [f"x{at}" for at in range(10)]
    answers = [
        answered(["a", *ten, "b"], "ab", category="hop"),
        answered([*ten[:4], "a"], "a", category="single"),
    ]

    found = scores(answers)

    assert found["r@5"] == (0.5 + 1) / 2
    assert found["r@10"] == (0.5 + 1) / 2
    assert found["r@20"] == 1.0
    assert found["all@10"] == 0.5
    assert found["mrr"] == round((1 + 1 / 5) / 2, 4)
    assert found["by_category"] == {"hop": 0.5, "single": 1.0}
    assert found["recall_at_1000_tokens"] == 0.75


def test_a_budget_ends_at_the_first_passage_that_does_not_fit() -> None:
    hits = (Hit(ids=("a",), tokens=600), Hit(ids=("b",), tokens=500), Hit(ids=("c",), tokens=10))

    assert Answered(gold=frozenset("abc"), hits=hits).recall_within(1000) == pytest.approx(1 / 3)


def test_sessions_are_found_by_their_best_passage() -> None:
    hits = tuple(Hit(ids=(id,)) for id in ("s1", "s1", "s1", "s1", "s1", "s2"))
    found = scores([Answered(gold=frozenset({"s2", "s3"}), hits=hits)], "session")

    assert found["recall_any@5"] == 1.0  # the second session, not the sixth passage
    assert found["recall_all@10"] == 0.0
    assert list(found) == [
        "recall_any@5",
        "recall_all@5",
        "recall_any@10",
        "recall_all@10",
        "by_category",
    ]


def test_no_question_gives_no_mean() -> None:
    assert scores([])["r@10"] is None
    assert timing([], turns=0, ingest_seconds=0)["ingest_turns_per_s"] is None


@settings(max_examples=scaled(100))
@given(
    st.lists(st.lists(st.integers(0, 30).map(str), max_size=3), max_size=40),
    st.frozensets(st.integers(0, 30).map(str), min_size=1),
)
def test_measures_keep_their_order(hits: list[list[str]], gold: frozenset[str]) -> None:
    each = Answered(gold=gold, hits=tuple(Hit(ids=tuple(ids), tokens=60) for ids in hits))

    assert len(each.ranked) == len(set(each.ranked))
    assert 0 <= each.recall(5) <= each.recall(10) <= each.recall(20) <= 1
    assert each.finds_all(10) <= each.recall(10) <= each.finds_any(10)
    assert (each.reciprocal_rank() >= 1 / 10) == bool(each.finds_any(10))
    assert each.recall_within(1000) <= each.recall(len(each.ranked))


@settings(max_examples=scaled(100))
@given(st.lists(st.floats(0, 1000), min_size=1))
def test_a_percentile_is_one_of_the_values_and_enough_are_not_above(values: list[float]) -> None:
    for percent in (50, 95, 100):
        found = percentile(values, percent)
        assert found in values
        assert sum(value <= found for value in values) * 100 >= percent * len(values)
    assert percentile(values, 100) == max(values)


# ── speed ───────────────────────────────────────────────────────────────────────────────────


def test_the_made_up_past_is_the_same_every_time() -> None:
    first, again = World(64), World(64)

    talks = list(first.conversations(200))
    same = list(again.conversations(200))

    assert [turn.text for talk in talks for turn in talk.turns] == [
        turn.text for talk in same for turn in talk.turns
    ]
    assert sum(len(talk.turns) for talk in talks) == 200
    assert [each.text for each in first.questions(9)] == [each.text for each in again.questions(9)]
    longer = list(again.conversations(500))
    assert [turn.text for turn in longer[3].turns] == [turn.text for turn in talks[3].turns]


def test_a_quarter_of_the_made_up_past_is_chinese_and_vectors_have_length_one() -> None:
    world = World(64)
    turns = [turn for talk in world.conversations(24 * 40) for turn in talk.turns]

    chinese = [turn for turn in turns if turn.text.endswith("。")]
    assert len(chinese) / len(turns) == 0.25
    assert all(abs(float(turn.vector @ turn.vector) - 1) < 1e-4 for turn in turns)
    assert {turn.tokens.shape[1] for turn in turns} == {1}
    kinds = [each.kind for each in world.questions(80)]
    assert sum(kind.startswith("zh") for kind in kinds) == 20


def test_plain_fts5_finds_the_best_match_first_and_takes_any_question(tmp_path: Path) -> None:
    plain = PlainFts5(tmp_path / "plain.sqlite3")
    plain.add(["the dog at the lake", "a cat", "a lake"])

    assert plain.search("dog lake")[0] == 1
    for odd in ("", '"', "NEAR(", "a AND", "狗", "* - ^", "\0"):
        plain.search(odd)
    assert len(plain.times(["dog", "cat"])) == 2
    plain.close()


@pytest.mark.parametrize("sizes", ["", "many", "10,-3", "1e5", "0"])
def test_sizes_that_are_none_are_refused(sizes: str) -> None:
    with pytest.raises(UsageError, match="no numbers of chunks"):
        speed.run(sizes)


def test_every_figure_of_a_small_index_is_measured() -> None:
    out = StringIO()
    with patch("sys.stdout", out):
        speed.run("240", queries=8, as_json=True)

    line, total = (json.loads(each) for each in out.getvalue().splitlines())
    assert (line["chunks"], line["queries"]) == (240, 8)
    assert all(value > 0 for value in line.values())
    assert line["keyword_p50_ms"] <= line["keyword_p95_ms"]
    assert line["hybrid_p50_ms"] <= line["hybrid_p95_ms"]
    assert total["summary"] is True
    assert total["chunks"] == [240]
