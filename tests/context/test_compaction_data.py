"""Recorded runs, step by step: every compaction of a whole conversation keeps the contract."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from holdfast.context.compaction import CompactionPlan
from holdfast.formats.openai import from_openai
from holdfast.types import Message
from tests.context.compacting import Transcript, budget, done_by, price
from tests.context.test_compaction_contract import check
from tests.scale import scaled


def recorded(data_dir: Path, name: str, count: int) -> list[list[Message]]:
    with gzip.open(data_dir / "transcripts" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [from_openai(json.loads(line)["messages"]) for line in islice(lines, count)]


@pytest.mark.data
@pytest.mark.parametrize(("name", "count"), [("mini-swe", 5), ("joined", 2)])
@pytest.mark.parametrize("strategy", ["layered", "selective"])
def test_recorded_runs_are_compacted_within_the_contract(
    data_dir: Path, name: str, count: int, strategy: str
) -> None:
    window = 16_000
    mark = budget(window).compact_at
    compactions = 0
    for messages in recorded(data_dir, name, scaled(count)):
        transcript = Transcript()
        tokens = 0
        for message in messages:
            transcript.say([message])
            tokens += price(message)
            if tokens < mark or message.role == "assistant":
                continue
            plan = transcript.plan(window, strategy=strategy)
            assert isinstance(plan, CompactionPlan)
            check(transcript, plan, done_by(plan))
            compactions += 1
            tokens = transcript.tokens
            assert tokens < mark
    assert compactions > count
