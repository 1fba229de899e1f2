"""What a compaction leaves in the transcript can be read again."""

from __future__ import annotations

import json

from holdfast.context.compaction import CompactionPlan, History, Previous
from holdfast.sessions.shapes import problem_with
from tests.context.compacting import STRATEGIES, Transcript, done_by, tool_loop


def test_the_entry_says_again_what_was_compacted() -> None:
    for strategy in STRATEGIES:
        transcript = Transcript(tool_loop(150))
        plan = transcript.plan(8_000, strategy=strategy)
        assert isinstance(plan, CompactionPlan)
        done = done_by(plan, times={entry.id: entry.at for entry in transcript.entries})
        data = json.loads(json.dumps(done.entry_data(watermark=7)))
        assert problem_with("compaction", data) is None
        assert data["watermark"] == 7
        previous = Previous.of("c", data, new_tokens=5)
        assert previous.parts == done.summary
        assert previous.history == done.history
        assert previous.first_kept == done.first_kept
        assert previous.kept == done.kept
        assert previous.front == tuple(sorted({*done.front}))
        assert set(previous.front) <= {*done.pins, *done.kept}
        assert previous.task == done.task
        assert previous.cut_title == done.cut_title
        assert (previous.tokens_before, previous.tokens_after) == (
            done.tokens_before,
            done.tokens_after,
        )
        assert previous.new_tokens == 5


def test_an_audit_tells_no_word_of_the_conversation() -> None:
    transcript = Transcript(tool_loop(150))
    plan = transcript.plan(8_000)
    assert isinstance(plan, CompactionPlan)
    told = json.dumps(done_by(plan).audit.to_json())
    assert "main.py" not in told
    assert "pytest" not in told


def test_figures_that_are_none_count_as_none() -> None:
    odd = {"messages": "many", "tools": {"bash": 3, "x": -1, "y": "z"}, "since": 4, "until": None}
    assert History.of(odd) == History(tools={"bash": 3, "x": 0, "y": 0})
    assert History.of([1]) == History()
