"""Recorded conversations through the engine: counted, checked, and compared with trimming."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from holdfast.config.keys import Strategy
from holdfast.engine.facade import open_engine
from holdfast.engine.replay import Replayed, replay, total
from holdfast.engine.replay.receipts import read_back
from holdfast.formats.logs import Recorded, read_logs
from holdfast.testing import SequentialIds
from holdfast.testing.corpus import conversation
from holdfast.types import Json, Message, Text, ToolCall, ToolResult
from tests.scale import SCALE, scaled

STRATEGIES = get_args(Strategy)


def recorded(*messages: Message, **more: Json) -> Recorded:
    return Recorded(id="one", messages=messages, format="openai", **more)


def long_chat(turns: int = 40) -> Recorded:
    return recorded(*(message for seed in range(turns // 10) for message in conversation(seed, 10)))


def kept_promises(result: Replayed) -> None:
    assert result.over_budget == 0, result.problems
    assert result.invalid_views == 0, result.problems
    assert result.uncovered_drops == 0
    assert result.task_text_kept
    assert result.expandable
    assert not result.problems


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_a_long_conversation_keeps_every_promise(
    fast_path: Path, strategy: str, format: str
) -> None:
    result = replay(long_chat(), fast_path, window=4_000, strategy=strategy, format=format)  # type: ignore[arg-type]
    kept_promises(result)
    assert result.compactions > 0
    assert result.flushes >= result.compactions
    assert result.tokens_sent < result.tokens_full


def test_a_conversation_that_fits_is_left_alone(fast_path: Path) -> None:
    result = replay(recorded(*conversation(1, 3)), fast_path, window=200_000)
    kept_promises(result)
    assert (result.prunes, result.flushes, result.compactions) == (0, 0, 0)
    assert result.tokens_sent == result.tokens_full
    assert result.cost_sent == pytest.approx(result.cost_full, rel=0.05)
    assert result.trimmed.dropped == 0


def test_the_dump_tells_everything_in_order(fast_path: Path) -> None:
    told: list[dict[str, Json]] = []
    result = replay(long_chat(), fast_path, window=4_000, dump=told.append)
    kinds = [line["kind"] for line in told]
    assert kinds.count("request") == result.turns
    assert kinds.count("flush") == result.flushes
    assert kinds.count("compaction") == result.compactions
    covered: set[str] = set()
    last: list[Json] = []
    edited = False
    for line in told:
        match line["kind"]:
            case "flush":
                assert line["outcome"] in {"flushed", "empty"}
                covered |= set(line["covers"])
            case "compaction":
                assert set(line["dropped"]) <= covered
                assert line["strategy"] == "layered"
                edited = True
            case "request":
                assert line["tokens"] <= 3_000
                if not edited and result.prunes == 0:
                    assert line["messages"][: len(last)] == last
                last, edited = line["messages"], False
    turns = [line["turn"] for line in told if line["kind"] == "request"]
    assert turns == list(range(1, result.turns + 1))


def test_the_log_s_own_times_decide_the_day_of_the_memories(fast_path: Path) -> None:
    start = datetime(2025, 5, 6, 12, tzinfo=UTC)
    messages = long_chat().messages
    at = tuple(start + timedelta(seconds=number) for number in range(len(messages)))
    replay(recorded(*messages, at=at), fast_path, window=4_000)
    (file,) = (fast_path / "agents" / "main" / "memory").glob("*.md")
    assert file.name == "2025-05-06.md"


def test_an_unanswered_question_at_the_end_is_asked_too(fast_path: Path) -> None:
    result = replay(recorded(Message.of("user", "hi")), fast_path, window=4_000)
    assert result.turns == 1


def test_what_cannot_be_made_to_fit_counts_as_over_budget_and_is_named(fast_path: Path) -> None:
    giant = Message.of("user", "unforgettable words " * 3_000)
    result = replay(recorded(giant, Message.of("assistant", "ok")), fast_path, window=4_000)
    assert result.over_budget == 1
    assert "user message" in result.problems[0]


def test_the_task_that_another_program_compacts_away_is_a_problem_with_its_call(
    fast_path: Path,
) -> None:
    def drop_all_but_the_newest(line: dict[str, Json]) -> None:
        if line["kind"] == "request" and line["turn"] == 2:
            with open_engine(fast_path, ids=SequentialIds()) as other:
                session = other.existing_session("replay")
                newest = session.entries()[-1].id
                session.append_entry("compaction", {"first_kept": newest, "summary": []})

    result = replay(
        recorded(*conversation(11, 4)), fast_path, window=9_000, dump=drop_all_but_the_newest
    )
    assert not result.task_text_kept
    assert result.uncovered_drops > 0
    assert [problem for problem in result.problems if "task text is lost" in problem] == [
        "call 3: the task text is lost"
    ]
    assert any("without being read for memory" in problem for problem in result.problems)


def test_what_cannot_be_read_back_is_a_problem_with_its_entries(fast_path: Path) -> None:
    def damage(line: dict[str, Json]) -> None:
        if line["turn"] == 2:
            file = fast_path / "agents" / "main" / "sessions" / "replay.jsonl"
            file.write_bytes(file.read_bytes().replace(b"Tokyo?", b"Kyoto?"))

    asked = [Message.of("user", "How is Tokyo?"), Message.of("assistant", "Fine.")]
    result = replay(recorded(*asked, *asked), fast_path, window=9_000, dump=damage)
    assert not result.expandable
    assert any("cannot be expanded word for word" in problem for problem in result.problems)


def test_half_a_character_in_the_task_is_mended_in_what_is_sent(fast_path: Path) -> None:
    result = replay(recorded(Message.of("user", "Fix \ud83d it, 谢谢")), fast_path, window=9_000)
    kept_promises(result)
    assert result.repaired == 1


def test_a_request_that_trimming_cannot_send_is_counted_and_not_charged(fast_path: Path) -> None:
    call = ToolCall(id="c1", name="read", arguments="{}")
    content = (Text(text="all is well here\n" * 3_000),)
    result = replay(
        recorded(
            Message.of("user", "Read the log."),
            Message(role="assistant", parts=(call,), form="null"),
            Message(role="tool", parts=(ToolResult(call_id="c1", content=content),)),
            Message.of("assistant", "All is well."),
        ),
        fast_path,
        window=4_000,
    )
    kept_promises(result)
    assert result.trimmed.over_budget == 1
    assert result.trimmed.tokens_sent < 100
    assert result.shortened == 1


def test_what_left_is_told_apart_from_what_was_written(fast_path: Path) -> None:
    result = replay(long_chat(), fast_path, window=4_000)
    assert result.dropped == result.read_first == result.came_back > 0
    assert 0 < result.flush_lines < result.dropped
    assert len(result.memories) == result.flush_lines
    assert result.receipts_verified == result.flushes > 0, "each was read back from its file"
    assert result.duplicates == 0


def test_a_line_that_is_gone_from_memory_is_a_problem_and_costs_its_receipt(
    fast_path: Path,
) -> None:
    struck: list[str] = []

    def strike(line: dict[str, Json]) -> None:
        files = list((fast_path / "agents" / "main" / "memory").glob("2*.md"))
        if files and not struck:
            text = files[0].read_text(encoding="utf-8")
            (first, *_) = (each for each in text.splitlines() if '"id":"' in each)
            struck.append(first.split('"id":"')[1].split('"')[0])
            files[0].write_text(text.replace(first + "\n", ""), encoding="utf-8")

    result = replay(long_chat(20), fast_path, window=4_000, dump=strike)
    assert result.receipts_verified == result.flushes - 1
    assert [each for each in result.problems if "are gone" in each and struck[0] in each]


def test_a_repeat_in_memory_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "memory" / "2026-03-04.md"
    file.parent.mkdir()
    file.write_text(
        "## Retain\n\n"
        "- W @Ana: Lives in Porto.\n"
        "- W @Ana: Lives  in PORTO.\n"
        "- W @Bob: Lives in Porto.\n\n"
        "```\n- W @Ana: Lives in Porto.\n```\n"
    )
    found = read_back(tmp_path, [])
    assert (found.duplicates, len(found.lines)) == (1, 3)


def test_the_user_of_a_full_conversation_would_be_told_and_nobody_is(
    fast_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_NOTICES_WEBHOOK_URL", "https://hooks.example.org/x")
    monkeypatch.setenv("HOLDFAST_NOTICES_WEBHOOK_SECRET", "0123456789")
    result = replay(long_chat(30), fast_path, window=4_000)
    assert 0 < result.notices <= result.compactions + 1
    told = [json.loads(line) for line in (fast_path / "events.jsonl").read_text().splitlines()]
    channels = {each["channel"] for each in told if each["event"] == "notice_sent"}
    assert channels == {"log"}


def test_tokens_are_counted_for_the_model_that_is_named(fast_path: Path) -> None:
    chat = recorded(*conversation(3, 4, language="zh"))
    sizes = {
        name: replay(chat, fast_path / str(name), window=90_000, for_model=name)
        for name in (None, "claude-sonnet-4-5", "gpt-4")
    }
    assert len({each.tokens_sent for each in sizes.values()}) > 1
    for each in sizes.values():
        assert each.tokens_sent == each.tokens_full == each.trimmed.tokens_sent


def test_tools_count_for_everybody(fast_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
    hello = (Message.of("user", "hi"), Message.of("assistant", "ok"))
    result = replay(recorded(*hello, tools=(tool,)), fast_path, window=9_000)
    assert result.tokens_sent == result.tokens_full == result.trimmed.tokens_sent > 10


def test_sums_add_up(fast_path: Path) -> None:
    results = [replay(long_chat(turns), fast_path / str(turns), window=4_000) for turns in (20, 30)]
    sums = total(results)
    assert sums["conversations"] == 2
    assert sums["turns"] == sum(result.turns for result in results)
    assert sums["task_text_kept"] == 2
    assert sums["max_view_tokens"] == max(result.max_view_tokens for result in results)


# ── the public transcripts ──────────────────────────────────────────────────────────────────


LONG = ("mini-swe", "joined")
CASES = (
    [  # by default one of the two long sets for each: every pair of values is still there
        (name, window, strategy)
        for across, window in enumerate((8_000, 16_000, 32_000))
        for down, strategy in enumerate(STRATEGIES)
        for name in (LONG if SCALE > 1 else LONG[(across + down) % 2 :][:1])
    ]
    + [("tau-airline", window, strategy) for window in (3_000, 4_000) for strategy in STRATEGIES]
)


def shared(data_dir: Path, name: str) -> Iterator[Recorded]:
    file = data_dir / "transcripts" / f"{name}.jsonl.gz"
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from read_logs(lines, name=name)


@pytest.mark.data
@pytest.mark.parametrize(("name", "window", "strategy"), CASES)
def test_public_transcripts_keep_every_promise(
    data_dir: Path, fast_path: Path, name: str, window: int, strategy: str
) -> None:
    """A sample by chance; ``make replay`` does them all."""
    count = scaled({"mini-swe": 2, "joined": 1, "tau-airline": 6}[name])
    chance = random.Random(7 if SCALE <= 1 else None)
    every = list(shared(data_dir, name))
    for number, each in enumerate(chance.sample(every, min(count, len(every)))):
        result = replay(each, fast_path / str(number), window=window, strategy=strategy)
        kept_promises(result)


def test_a_log_that_tells_no_time_is_not_given_one(fast_path: Path) -> None:
    result = replay(long_chat(), fast_path, window=4_000)
    assert result.summary
    said = result.summary.partition("[Saved to memory")[0]  # a file has a day, whatever is told
    assert "2025-01-01" not in said
