"""What leaves, what stays, and how much may be written: decisions one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.context.accounting import Budget
from holdfast.context.compaction import (
    CompactionPlan,
    Judge,
    NoCompaction,
    Pass,
    Previous,
    TaskSpan,
    plan_compaction,
)
from holdfast.context.compaction.pins import MOST_RULES
from holdfast.context.compaction.plan import summary_room
from holdfast.types import Message
from tests.context.compacting import Transcript, budget, chat, done_by, price, tool_loop, used_tool


def planned(transcript: Transcript, window: int, **given: Any) -> CompactionPlan:
    plan = transcript.plan(window, **given)
    assert isinstance(plan, CompactionPlan), plan
    return plan


def pinned(plan: CompactionPlan) -> list[str]:
    return [group.first.message.text for group in plan.pins]


def test_a_long_run_of_tool_calls_is_cut_between_two_groups() -> None:
    plan = planned(Transcript(tool_loop(200)), 8_000)
    assert len(plan.tail) > 1
    assert plan.tail[0].first.message.role == "assistant"
    assert pinned(plan) == ["You are careful.", "Fix the bug in src/app/main.py"]
    assert plan.first_kept == plan.tail[0].first.entry


def test_the_newest_request_is_pinned_when_a_loop_pushes_it_out() -> None:
    transcript = Transcript(tool_loop(20))
    transcript.say([Message.of("user", "And check the docs too.")])
    transcript.say(m for step in range(30, 150) for m in used_tool(step))
    assert "And check the docs too." in pinned(planned(transcript, 8_000))


def test_rules_and_corrections_of_the_user_are_pinned_whole() -> None:
    transcript = Transcript(chat(3))
    transcript.say([Message.of("user", "Never push to main."), Message.of("assistant", "ok")])
    transcript.say([Message.of("user", "No, that's wrong: it is port 9090."), *chat(80)[1:]])
    texts = pinned(planned(transcript, 6_000))
    assert "Never push to main." in texts
    assert "No, that's wrong: it is port 9090." in texts


def test_of_too_many_rules_the_newest_are_pinned_and_the_others_are_released_later() -> None:
    transcript = Transcript(chat(2))
    transcript.say(Message.of("user", f"Never touch file number {n}.") for n in range(40))
    transcript.say(chat(200)[1:])
    plan = planned(transcript, 16_000)
    rules = [text for text in pinned(plan) if text.startswith("Never")]
    assert rules == [f"Never touch file number {n}." for n in range(40 - MOST_RULES, 40)]
    transcript.commit(done_by(plan))
    transcript.say(Message.of("user", f"Always open file number {n}.") for n in range(MOST_RULES))
    transcript.say(chat(300)[1:])
    plan = planned(transcript, 16_000)
    assert not any(text.startswith("Never") for text in pinned(plan))
    assert len(plan.released) == MOST_RULES
    named = {source for part in done_by(plan).summary for source in part.sources}
    assert named >= set(plan.released)


def test_rules_take_no_more_than_their_share() -> None:
    transcript = Transcript(chat(2))
    transcript.say(Message.of("user", f"Never touch file {n}. {'x' * 600}") for n in range(40))
    transcript.say(chat(200)[1:])
    plan = planned(transcript, 16_000)
    rules = [group for group in plan.pins if group.first.message.text.startswith("Never")]
    assert 0 < sum(group.tokens for group in rules) <= plan.target * 15 // 100


def test_a_shortened_message_is_not_pinned_as_a_rule() -> None:
    transcript = Transcript(chat(2))
    transcript.say([Message.of("user", "Never push to main. " * 20)])
    rule = transcript.entries[-1].id
    shown = [{"entry": rule, "part": 0, "text": "Never push to main. …"}]
    transcript.append("prune", {"shown": shown})
    transcript.say(chat(100)[1:])
    plan = planned(transcript, 6_000)
    assert rule not in plan.pinned_entries
    assert rule in plan.dropped_entries


def test_the_message_that_opened_the_active_task_is_pinned() -> None:
    transcript = Transcript(chat(5))
    transcript.say([Message.of("user", "Thanks, that's all!"), Message.of("assistant", "Bye.")])
    opening = "Hi! Please migrate the billing database to version 15."
    transcript.say([Message.of("user", opening)])
    transcript.say(m for step in range(40) for m in used_tool(step))
    transcript.say([Message.of("user", "ok go on")])
    transcript.say(m for step in range(40, 120) for m in used_tool(step))
    plan = planned(transcript, 8_000)
    assert opening in pinned(plan)
    assert plan.task == next(g.first.entry for g in plan.pins if g.first.message.text == opening)
    transcript.commit(done_by(plan))
    transcript.say([Message.of("user", "ok go on again")])
    transcript.say(m for step in range(120, 240) for m in used_tool(step))
    again = planned(transcript, 8_000)
    assert opening in pinned(again), "it stays pinned for as long as the task goes on"
    assert "ok go on" not in pinned(again), "a pin whose reason is gone is one no more"


def test_recorded_tasks_decide_over_what_the_words_suggest() -> None:
    transcript = Transcript(tool_loop(100))
    middle = transcript.entries[100].id
    spans = [
        TaskSpan(title="first half", first=transcript.entries[1].id, last=middle),
        TaskSpan(title="second half", first=middle),
    ]
    plan = planned(transcript, 8_000, tasks=spans)
    assert [task.title for task in plan.tasks] == ["first half", "second half"]
    assert plan.task == middle


def test_small_groups_before_a_large_one_are_kept_where_there_is_room() -> None:
    transcript = Transcript(chat(20))
    transcript.say([*used_tool(1, size=90_000), Message.of("assistant", "So it is.")])
    transcript.say([Message.of("user", "Fine, go on.")])
    plan = planned(transcript, 16_000)
    assert [group.first.message.role for group in plan.dropped] == ["assistant"]
    assert len(plan.kept) == 39
    done = done_by(plan)
    transcript.commit(done)
    assert transcript.tokens <= plan.target
    assert "I looked at item 19: it is fine. " in [m.text for m in transcript.view]


def test_the_tail_begins_where_the_user_speaks_if_that_is_near() -> None:
    plan = planned(Transcript(chat(300)), 8_000)
    assert plan.tail[0].first.message.role == "user"


def test_system_messages_in_the_midst_are_pinned_like_rules() -> None:
    transcript = Transcript(chat(3))
    transcript.say([Message.of("system", "From here on speak French."), *chat(100)[1:]])
    assert "From here on speak French." in pinned(planned(transcript, 6_000))


def test_texts_of_the_configuration_stand_word_for_word_in_the_summary() -> None:
    text = "Never\n  delete   anything — ask first."
    plan = planned(Transcript(tool_loop(100)), 8_000, pins=[text])
    done = done_by(plan)
    assert text in done.text
    assert plan.pins_cost > 0
    assert done.tokens_after <= plan.target


def test_tokens_outside_the_view_count() -> None:
    transcript = Transcript(tool_loop(200))
    without = planned(transcript, 16_000)
    with_tools = planned(transcript, 16_000, fixed=2_000)
    assert with_tools.expected_after <= budget(16_000).target
    assert len(with_tools.tail) < len(without.tail)


def test_a_view_that_fits_is_halved_when_somebody_wants_it() -> None:
    transcript = Transcript(tool_loop(50))
    plan = planned(transcript, 200_000, reason="manual")
    assert plan.target == transcript.tokens // 2
    assert done_by(plan).tokens_after <= plan.target


def test_a_limit_of_messages_bounds_the_tail() -> None:
    plan = planned(Transcript(chat(400)), 200_000, reason="messages", max_messages=500)
    assert sum(len(group.blocks) for group in plan.tail) <= 250
    transcript = Transcript(chat(400))
    selective = planned(
        transcript, 200_000, reason="messages", max_messages=100, strategy="selective"
    )
    transcript.commit(done_by(selective))
    assert len(transcript.view) <= 100


def test_there_is_nothing_to_do_where_all_must_stay() -> None:
    plan = Transcript([Message.of("user", "x" * 40_000)]).plan(8_000)
    assert isinstance(plan, NoCompaction)
    assert plan.reason.startswith("nothing to drop")
    assert isinstance(Transcript().plan(8_000), NoCompaction)


def test_there_is_nothing_to_gain_where_the_note_costs_more_than_what_leaves() -> None:
    messages = [
        Message.of("user", "x" * 8_000),
        Message.of("assistant", "ok"),
        Message.of("user", "y" * 8_000),
    ]
    plan = Transcript(messages).plan(3_000)
    assert isinstance(plan, NoCompaction)
    assert plan.reason.startswith("nothing to gain")


def test_a_second_pass_right_after_the_first_is_not_refused() -> None:
    transcript = Transcript(tool_loop(300))
    plan = planned(transcript, 32_000)
    transcript.commit(done_by(plan))
    first = transcript.tokens
    again = planned(transcript, 16_000)
    transcript.commit(done_by(again))
    assert transcript.tokens < first


def test_the_breaker_stops_a_third_pass_in_vain_but_not_a_hand() -> None:
    transcript = Transcript(tool_loop(300))
    transcript.passes = [Pass(tokens_before=100, tokens_after=99, new_tokens=1)] * 2
    plan = transcript.plan(8_000)
    assert isinstance(plan, NoCompaction)
    assert plan.reason.startswith("no progress")
    assert isinstance(transcript.plan(8_000, reason="manual"), CompactionPlan)


def test_what_an_earlier_compaction_kept_is_never_the_beginning_of_the_tail() -> None:
    transcript = Transcript(chat(200, size=2))
    plan = planned(transcript, 8_000, strategy="selective")
    done = done_by(plan)
    assert done.kept
    transcript.commit(done)
    for window in (2_000, 3_000, 4_000, 6_000):
        again = transcript.plan(window)
        if isinstance(again, CompactionPlan):
            assert again.first_kept not in done.kept
            assert again.first_kept not in done.pins


def test_who_spoke_last_is_known_although_pins_are_shown_before_what_is_kept() -> None:
    transcript = Transcript(chat(60, size=2))
    newest = "Now translate the whole report into French."
    transcript.say([Message.of("user", newest)])
    for begin in range(0, 240, 60):
        transcript.say(m for step in range(begin, begin + 60) for m in used_tool(step))
        plan = planned(transcript, 8_000, strategy="selective")
        assert newest in pinned(plan)
        assert list(plan.pinned_entries) == sorted(plan.pinned_entries)
        transcript.commit(done_by(plan))


def test_the_cap_of_the_summary_is_a_share_of_the_target_and_bounded() -> None:
    assert summary_room(1_000) == 200
    assert summary_room(6_000) == 1_200
    assert summary_room(90_000) == 3_800
    assert summary_room(1_000_000) < 25_000


def test_a_judge_of_ones_own_decides_what_is_a_rule() -> None:
    transcript = Transcript(chat(200))
    odd = Judge(is_constraint=lambda text: text.endswith("item 7 "), is_correction=lambda _: False)
    assert any(text.endswith("item 7 ") for text in pinned(planned(transcript, 8_000, judge=odd)))


def test_the_plan_says_why() -> None:
    plan = planned(Transcript(tool_loop(200)), 8_000, reason="overflow")
    assert plan.why.startswith("overflow: ")
    assert str(plan.expected_after) in plan.why


def test_a_previous_summary_without_our_fields_is_no_obstacle() -> None:
    previous = Previous.of("c1", {"summary": [{"text": "Old."}, {"kind": 7}], "history": "?"})
    assert [part.kind for part in previous.parts] == ["text", "text"]
    transcript = Transcript(tool_loop(200))
    marks: Budget = budget(8_000)
    plan = plan_compaction(transcript.blocks, marks, price=price, previous=previous)
    assert isinstance(plan, CompactionPlan)
    done = done_by(plan)
    assert any("c1" in part.sources for part in done.summary)
    assert done_by(replace(plan, previous=None)) != done


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_tiny_conversations_give_a_plan_or_a_reason(turns: int) -> None:
    for messages in (chat(turns), tool_loop(turns)):
        plan = Transcript(messages).plan(2_000, reason="manual")
        if isinstance(plan, NoCompaction):
            assert plan.reason
        else:
            assert done_by(plan).audit.shrinks
