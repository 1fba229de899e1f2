"""Two thresholds that contradict themselves, and the marks they become."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.openclaw import Note, Translation, translate_openclaw
from tests.scale import scaled

SOFT, HARD = "flush.soft_threshold_tokens", "flush.hard_threshold_tokens"


def translated(soft: Any = None, hard: Any = None, **compaction: Any) -> Translation:
    given = {"softThresholdTokens": soft, "hardThresholdTokens": hard}
    flush = {name: value for name, value in given.items() if value is not None}
    config = {"agents": {"defaults": {"compaction": {**compaction, "memoryFlush": flush}}}}
    return translate_openclaw(json.dumps(config))


def marks(translation: Translation) -> dict[str, Any]:
    flush = translation.settings.get("flush", {})
    return {name.removesuffix("_threshold_tokens"): value for name, value in flush.items()}


def note_on(translation: Translation, target: str) -> Note:
    (note,) = [note for note in translation.notes if note.target == target]
    return note


def test_numbers_meant_as_tokens_in_use_become_absolute_marks_and_it_is_said() -> None:
    translation = translated(100_000, 120_000)
    assert marks(translation) == {"soft": {"at": 100_000}, "hard": {"at": 120_000}}
    soft, hard = note_on(translation, SOFT), note_on(translation, HARD)
    assert (soft.outcome, hard.outcome) == ("changed", "changed")
    assert "as a distance, which would fire at 80000 of 200000" in soft.why
    assert "as a distance, which would fire at 60000 of 200000" in hard.why
    assert "guard of its own" in hard.why


@pytest.mark.parametrize("soft", [4000, 5000, 0, 45_000])
def test_plain_distances_stay_distances(soft: int) -> None:
    translation = translated(soft)
    assert marks(translation) == {"soft": soft}
    assert note_on(translation, SOFT).outcome == "kept"


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (8000, 2000, {"soft": 8000, "hard": 2000}),  # distances in the right order
        (4000, 5000, {"soft": 4000, "hard": 5000}),  # wrong order, but too small to be counts
        (30_000, 40_000, {"soft": {"at": 30_000}, "hard": {"at": 40_000}}),  # wrong order
        (100_000, None, {"soft": {"at": 100_000}}),
        (100_000, 2000, {"soft": {"at": 100_000}, "hard": 2000}),
        (4000, 178_000, {"soft": 4000, "hard": {"at": 178_000}}),
        (4000, 120_000, {"soft": 4000}),  # would come before the flush
        (None, 120_000, {}),
        (100_000, 100_000, {"soft": {"at": 100_000}}),  # cannot both be at one mark
        (100_000, 0, {"soft": {"at": 100_000}}),  # 0 is off
        (190_000, 195_000, {}),  # neither distances nor below compaction
        (4000.7, 1000.2, {"soft": 4000, "hard": 1000}),
        ("4000", -5, {}),
    ],
)
def test_each_number_is_judged_by_what_it_can_mean(
    soft: Any, hard: Any, expected: dict[str, Any]
) -> None:
    translation = translated(soft, hard)
    assert marks(translation) == expected
    given = [name for name, value in ((SOFT, soft), (HARD, hard)) if value is not None]
    assert {note.target for note in translation.notes} == set(given)


def test_a_number_that_cannot_be_placed_says_what_to_do() -> None:
    note = note_on(translated(4000, 120_000), HARD)
    assert note.outcome == "to_do"
    assert "{at = 120000}" in note.why


def test_the_window_of_the_primary_model_decides_what_is_large() -> None:
    config = {
        "agents": {
            "defaults": {
                "model": {"primary": "ollama/small"},
                "compaction": {"memoryFlush": {"softThresholdTokens": 10_000}},
            }
        },
        "models": {"providers": {"ollama": {"models": [{"id": "small", "contextWindow": 32_768}]}}},
    }
    translation = translate_openclaw(json.dumps(config))
    assert translation.settings["context"]["window"] == 32_768
    assert marks(translation) == {"soft": {"at": 10_000}}


@settings(max_examples=scaled(120))
@given(
    soft=st.none() | st.integers(0, 300_000),
    hard=st.none() | st.integers(0, 300_000),
    floor=st.none() | st.integers(0, 300_000),
)
def test_soft_comes_before_hard_before_compaction_or_the_number_is_left_out(
    soft: int | None, hard: int | None, floor: int | None
) -> None:
    more = {} if floor is None else {"reserveTokensFloor": floor}
    found = marks(translated(soft, hard, **more))
    compact_at = 200_000 - min(20_000 if floor is None else floor, 50_000)
    soft_at = _mark(found.get("soft", 4000), compact_at)
    assert soft_at <= compact_at
    if isinstance(found.get("hard"), dict):
        assert soft_at < _mark(found["hard"], compact_at) < compact_at


def _mark(value: Any, compact_at: int) -> int:
    return int(value["at"]) if isinstance(value, dict) else compact_at - int(value)
