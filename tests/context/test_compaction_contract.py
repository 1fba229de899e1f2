"""One contract for every strategy: whatever the conversation, the window and the strategy."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.blocks import group_blocks, is_system, is_user
from holdfast.context.compaction import Compacted, CompactionPlan, NoCompaction
from holdfast.sessions.shapes import problem_with
from holdfast.testing.corpus import conversation
from holdfast.types import Image, Message, Text, ToolCall, ToolResult
from tests.context.compacting import (
    STRATEGIES,
    Transcript,
    budget,
    chat,
    done_by,
    fluent,
    price,
    tool_loop,
    used_tool,
)
from tests.scale import scaled

WINDOWS = (3_000, 16_000, 200_000)


def _giant(language: str) -> list[Message]:
    word = "数据库迁移失败了 " if language == "zh" else "the migration failed again "
    return [
        *conversation(3, 12, language=language),
        Message.of("user", f"Read this: {word * 3_000}"),
        Message.of("assistant", word * 2_000),
        *used_tool(1, size=60_000),
        *used_tool(2, size=60_000),
        Message.of("user", "Now go on, please."),
        *used_tool(3),
    ]


def _mixed_carrier() -> list[Message]:
    """The user speaks in the same message that carries a result, as some providers have it."""
    messages = tool_loop(60)
    call = ToolCall(id="mixed", name="bash", arguments={"command": "ls"})
    result = ToolResult(call_id="mixed", content=(Text(text="a b c"),))
    messages.append(Message(role="assistant", parts=(call,)))
    messages.append(Message(role="user", parts=(result, Text(text="Never touch /etc/passwd."))))
    for step in range(60, 120):
        messages += used_tool(step)
    return messages


CONVERSATIONS: dict[str, Callable[[], list[Message]]] = {
    "english": lambda: conversation(1, 60),
    "chinese": lambda: conversation(2, 60, language="zh"),
    "one prompt, hundreds of tool calls": lambda: tool_loop(200),
    "many short turns": lambda: chat(250),
    "giant messages": lambda: _giant("en"),
    "giant Chinese messages": lambda: _giant("zh"),
    "results and words in one message": _mixed_carrier,
    "no system message": lambda: tool_loop(80)[1:],
    "the assistant speaks first": lambda: [Message.of("assistant", "Hello!"), *chat(100)[1:]],
    "ends with a question": lambda: [*tool_loop(80), Message.of("user", "How far are you?")],
    "a giant first message": lambda: tool_loop(60, task="Fix src/app/main.py. " * 2_000),
}


def check(transcript: Transcript, plan: CompactionPlan, done: Compacted) -> None:
    """The whole contract; commits the compaction to look at the view it makes."""
    before = transcript.blocks
    whole = {group.entries: group for group in group_blocks(before)}
    shown = {block.entry: block.message for block in before}
    transcript.commit(done)
    after = transcript.blocks
    _no_group_is_split(after, whole, shown)
    _voices_stay(before, after)
    _figures_are_true(transcript, plan, done, before)
    _all_is_accounted_for(plan, done, whole)
    assert problem_with("compaction", done.entry_data()) is None
    assert json.loads(json.dumps(done.entry_data())) == done.entry_data()


def _no_group_is_split(after: Any, whole: Any, shown: Any) -> None:
    for group in group_blocks(after):
        if group.first.item.kind == "summary":
            assert len(group.blocks) == 1
            continue
        assert group.entries in whole
        for block in group.blocks:
            assert block.message == shown[block.entry]


_NOTE = 60
"""Tokens of a summary that is nothing but its first line."""


def _voices_stay(before: Any, after: Any) -> None:
    spoken = _spoken(before)
    staying = {b.entry: b.message for b in after}
    for block in (*spoken[:1], *spoken[-1:]):
        assert staying[block.entry] == block.message
    leading = []
    said = [block for block in before if block.item.kind != "summary"]
    for block in sorted(said, key=lambda each: each.entry):
        if not is_system(block.message):
            break
        leading.append(block.entry)
    assert [b.entry for b in after[: len(leading)]] == leading


def _spoken(blocks: Any) -> list[Any]:
    """Where the user speaks, in the order of the conversation (ids count up in these tests)."""
    spoken = [b for b in blocks if is_user(b.message) and b.item.kind in ("message", "pin")]
    return sorted(spoken, key=lambda block: block.entry)


def _figures_are_true(
    transcript: Transcript, plan: CompactionPlan, done: Compacted, before: Any
) -> None:
    tokens_before = sum(block.tokens for block in before)
    assert done.tokens_before == plan.fixed + tokens_before
    assert done.tokens_after == plan.fixed + transcript.tokens
    assert done.tokens_after < done.tokens_before
    assert done.audit.summary_tokens == price(Message.of("user", done.text))
    assert done.audit.summary_tokens <= plan.summary_cap + plan.pins_cost
    if done.tokens_after > plan.target:
        # Only what cannot leave is left, with a few lines about the rest.
        assert len(plan.tail) == 1
        assert not done.kept
        spoken = [block.entry for block in _spoken(before)]
        for group in plan.pins:
            must = {*spoken[:1], *spoken[-1:]} & set(group.entries)
            assert must or is_system(group.first.message)
        assert done.audit.summary_tokens - plan.pins_cost <= max(plan.target // 5, _NOTE)


def _all_is_accounted_for(plan: CompactionPlan, done: Compacted, whole: Any) -> None:
    tail = [entry for group in plan.tail for entry in group.entries]
    summaries = [e for e, group in whole.items() if group.first.item.kind == "summary"]
    everything = [entry for entries in whole for entry in entries]
    accounted = [*done.pins, *done.kept, *done.dropped, *tail, *(e for (e,) in summaries)]
    assert sorted(accounted) == sorted(everything)
    named = {source for part in done.summary for source in part.sources}
    assert named >= set(done.dropped)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_keeps_the_contract(strategy: Any, name: str, window: int) -> None:
    transcript = Transcript(CONVERSATIONS[name]())
    plan = transcript.plan(window, strategy=strategy)
    if isinstance(plan, NoCompaction):
        pytest.fail(plan.reason)
    model = fluent if strategy == "summary" else None
    done = done_by(plan, model)
    assert done == done_by(plan, model), "the same plan gives the same compaction"
    assert done.strategy == strategy or done.fallbacks
    check(transcript, plan, done)


@given(
    seed=st.integers(0, 10**6),
    window=st.integers(2_000, 40_000),
    strategy=st.sampled_from(STRATEGIES),
    fixed=st.integers(0, 2_000),
)
@settings(max_examples=scaled(30))
def test_any_conversation_is_compacted_again_and_again_within_the_contract(
    seed: int, window: int, strategy: Any, fixed: int
) -> None:
    chance = random.Random(seed)
    transcript = Transcript()
    for _ in range(3):
        transcript.say(_anything(chance))
        plan = transcript.plan(window, strategy=strategy, pins=["Reply in English."], fixed=fixed)
        if isinstance(plan, NoCompaction):
            continue
        done = done_by(plan)
        assert "Reply in English." in done.text
        check(transcript, plan, done)


def _anything(chance: random.Random) -> list[Message]:
    messages: list[Message] = []
    for turn in range(chance.randint(1, 40)):
        kind = chance.random()
        size = chance.choice([1, 5, 40, 400])
        if kind < 0.25:
            said = chance.choice(["Never use tabs.", "不要动生产库。", "go on", "Find a/b.py "])
            messages.append(Message.of("user", said * size))
        elif kind < 0.35:
            messages.append(Message.of("assistant", "I will look at it. " * size))
        elif kind < 0.4:
            messages.append(Message.of("system", "Reminder: be brief."))
        elif kind < 0.45:
            picture = Image(media_type="image/png", data="aaaa")
            messages.append(Message(role="user", parts=(picture,)))
        else:
            messages += used_tool(turn, size=40 * size)
    return messages


@pytest.mark.parametrize(("strategy", "passes"), [("layered", 100), ("selective", 40)])
def test_a_hundred_compactions_do_not_make_it_grow(strategy: Any, passes: int) -> None:
    window, passes = 8_000, max(passes, scaled(passes // 4))
    mark = budget(window).compact_at
    transcript = Transcript(tool_loop(2))
    transcript.say([Message.of("user", "Never push to main. The ticket is OPS-4711.")])
    rule = transcript.entries[-1]
    sizes: list[int] = []
    step = 10
    for turn in range(passes):
        tokens = transcript.tokens
        while tokens < mark:
            step += 1
            said = used_tool(step)
            if step % 5 == 0:
                said += chat(1, words=f"and look at src/part_{step}.py, item")[1:]
            transcript.say(said)
            tokens += sum(map(price, said))
        plan = transcript.plan(window, strategy=strategy)
        assert isinstance(plan, CompactionPlan), turn
        done = done_by(plan)
        check(transcript, plan, done)
        sizes.append(len(json.dumps(done.entry_data())))
        shown = {block.entry: block.message for block in transcript.blocks}
        assert shown[rule.id] == rule.message
    assert max(sizes[passes // 2 :]) < 1.25 * max(sizes[1 : passes // 2])


def test_the_summary_says_what_it_is_in_the_language_of_the_conversation() -> None:
    for language, first in (("en", "[Summary of "), ("zh", "[更早 ")):
        transcript = Transcript(conversation(5, 80, language=language))
        plan = transcript.plan(8_000)
        assert isinstance(plan, CompactionPlan)
        done = done_by(plan)
        assert done.text.startswith(first)
        labels = {"en": "Exact identifiers: ", "zh": "原样标识："}
        assert labels[language] in done.text


def test_identifiers_of_the_user_survive_every_strategy() -> None:
    for strategy in STRATEGIES:
        transcript = Transcript(tool_loop(5))
        transcript.say([Message.of("user", "My booking is QX7R2M, see https://x.example/t/99.")])
        transcript.say(m for step in range(10, 200) for m in used_tool(step))
        transcript.say([Message.of("user", "Go on.")])
        plan = transcript.plan(8_000, strategy=strategy)
        assert isinstance(plan, CompactionPlan)
        done = done_by(plan)
        visible = done.text + "".join(block.message.text for g in plan.pins for block in g.blocks)
        kept = {e.id: e.message for e in transcript.entries if e.id in done.kept and e.message}
        visible += "".join(message.text for message in kept.values())
        assert "QX7R2M" in visible
        assert "https://x.example/t/99" in visible
        assert done.audit.identifiers_kept == done.audit.identifiers


def test_what_a_layered_summary_tells_of_a_task() -> None:
    transcript = Transcript(
        [
            Message.of("user", "Book Amira a flight to Oslo on 2026-05-01, please."),
            Message.of("assistant", "Done: Amira is booked on flight SK4711 to Oslo."),
            Message.of("user", "Thank you, that's all!"),
            Message.of("assistant", "You are welcome."),
            Message.of("user", "Hi! Why does the ingest service fail on startup? Please fix it."),
            Message.of("assistant", "The cause is a wrong port: the service listens on 8080."),
            Message.of("assistant", "We decided to move the ingest service to port 9090."),
        ]
    )
    transcript.say(m for step in range(150) for m in used_tool(step))
    plan = transcript.plan(8_000)
    assert isinstance(plan, CompactionPlan)
    assert [task.active for task in plan.tasks] == [False, True]
    done = done_by(plan)
    kinds = {part.kind: part for part in done.summary}
    assert "SK4711" in kinds["finished"].text
    assert "e000001" in kinds["finished"].sources
    assert "port 9090" in kinds["decision"].text
    assert kinds["decision"].sources == ("e000006",)
    assert "wrong port" in kinds["finding"].text
    assert kinds["goal"].sources == ("e000004",)
    assert "bash ×" in kinds["history"].text
    assert kinds["lead"].text.startswith("[Summary of ")


def test_times_of_the_entries_are_told_as_a_span() -> None:
    transcript = Transcript(tool_loop(100))
    plan = transcript.plan(8_000)
    assert isinstance(plan, CompactionPlan)
    done = done_by(plan, times={entry.id: entry.at for entry in transcript.entries})
    assert done.history.since is not None
    assert done.history.since.startswith("2026-03-14T09:00:02")
    assert any("2026-03-14T09:00 – " in part.text for part in done.summary)


def test_no_line_splits_a_character() -> None:
    family = "👨‍👩‍👧‍👦"
    messages = [
        Message.of("user", "Start."),
        *(
            Message.of(
                "assistant", f"We decided to show every family member as {family * 200}, take {n}."
            )
            for n in range(60)
        ),
    ]
    transcript = Transcript(messages)
    plan = transcript.plan(8_000)
    assert isinstance(plan, CompactionPlan)
    text = done_by(plan).text
    assert family in text
    assert text.count("👦") == text.count("👨")
