"""The extractor on public conversations: the figures hold, and every line is a memory line."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest
from benchmarks import extraction

from holdfast.context.extract import Heard, extract, key_clauses
from holdfast.formats.openai import from_openai
from holdfast.retain import parse, render
from tests.scale import scaled

pytestmark = pytest.mark.data
NOW = datetime(2025, 5, 14, tzinfo=UTC)


def test_most_facts_of_english_chats_are_found_with_their_content(data_dir: Path) -> None:
    kept = extraction.english(data_dir, share=0.35)
    assert kept.written <= 0.35
    assert kept.found >= 0.85
    assert kept.content >= 0.64


def test_most_turns_of_chinese_notes_are_retained(data_dir: Path) -> None:
    kept = extraction.chinese(data_dir, share=0.35)
    assert kept.written <= 0.35
    assert kept.found >= 0.70
    assert kept.content >= 0.58


@pytest.mark.parametrize(("name", "count"), [("tau-airline", 20), ("mini-swe", 6), ("joined", 2)])
def test_recorded_work_becomes_few_exact_lines(data_dir: Path, name: str, count: int) -> None:
    with gzip.open(data_dir / "transcripts" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in islice(file, scaled(count)):
            messages = from_openai(json.loads(line)["messages"])
            heard = [Heard(entry=f"e{n}", at=NOW, message=m) for n, m in enumerate(messages)]
            found = extract(heard)
            assert 0 < len(found.lines) <= 40
            assert len(found.read) == len(heard)
            assert all(parse(render(one)) == one for one in found.lines)
            assert len(key_clauses(heard, 5)) <= 5
