"""Compaction stops where it makes no progress, and only there."""

from __future__ import annotations

from holdfast.context.compaction import Pass, no_progress


def _pass(before: int, after: int, new: int | None = None) -> Pass:
    return Pass(tokens_before=before, tokens_after=after, new_tokens=new)


def test_one_pass_never_stops_the_next() -> None:
    assert no_progress([], new_tokens=0) is None
    assert no_progress([_pass(1_000, 999)], new_tokens=0) is None
    assert no_progress([_pass(1_000, 400)], new_tokens=0) is None


def test_two_passes_that_freed_almost_nothing_stop_the_third() -> None:
    found = no_progress([_pass(1_000, 980, 500), _pass(1_000, 970, 500)], new_tokens=10)
    assert found is not None
    assert found.startswith("no progress")


def test_two_passes_with_nothing_new_stop_the_third() -> None:
    assert no_progress([_pass(1_000, 500, 3), _pass(500, 400, 3)], new_tokens=1) is not None


def test_a_pass_that_made_room_in_between_lets_the_next_run() -> None:
    passes = [_pass(1_000, 990, 500), _pass(1_000, 400, 500)]
    assert no_progress(passes, new_tokens=0) is None


def test_enough_new_text_lets_it_run_again() -> None:
    passes = [_pass(1_000, 980, 1), _pass(1_000, 980, 1)]
    assert no_progress(passes, new_tokens=48) is not None
    assert no_progress(passes, new_tokens=49) is None


def test_only_the_last_passes_count() -> None:
    passes = [_pass(1_000, 999, 1), _pass(1_000, 999, 1), _pass(1_000, 300, 900)]
    assert no_progress(passes, new_tokens=0) is None
