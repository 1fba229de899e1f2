"""Where one piece of work ends and the next begins."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.blocks import group_blocks
from holdfast.context.compaction import TaskSpan
from holdfast.context.compaction.tasks import content_words, find_tasks
from holdfast.types import Message
from tests.context.compacting import Transcript, tool_loop
from tests.scale import scaled


def tasks_in(said: list[str], **given: object) -> list[str]:
    messages = []
    for text in said:
        messages += [Message.of("user", text), Message.of("assistant", "All right.")]
    groups = group_blocks(Transcript(messages).blocks)
    return [task.title for task in find_tasks(groups, **given)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "said",
    [
        ["Please fix the login page.", "Thanks, that's all!", "Can you write a poem about autumn?"],
        ["请修复登录页面的错误。", "谢谢，辛苦了！", "帮我写一首关于秋天的诗。"],
        ["Please fix the login page.", "Hi! I'd like to book a flight to Oslo in May."],
        ["Please fix the login page.", "Next task: translate the README into French."],
        ["请修复登录页面的错误。", "换个话题，帮我订一张去成都的机票。"],
        [
            "Please fix the login page of the shop.",
            "Compare three electric cars with long range and good winter heating for me.",
        ],
    ],
)
def test_a_new_request_after_a_farewell_or_on_another_subject_is_a_new_task(
    said: list[str],
) -> None:
    assert tasks_in(said) == [said[0], said[-1]]


@pytest.mark.parametrize(
    "said",
    [
        ["Please fix the login page.", "Thanks! But the login page still fails on Safari."],
        ["Please fix the login page.", "Yes, go ahead.", "And now the same for the logout page."],
        ["Please fix the login page.", "It still fails, look again."],
        ["请修复登录页面的错误。", "好的，继续。", "这个还是不对，再看一下。"],
        ["Sure, my user ID is mia_li_3668.", "ok", "go on"],
        ["帮我准备发布。", "不对，会议是周四下午三点。", "今天天气怎么样？", "继续第0步。"],
        ["请修复登录页面的错误。", "谢谢，辛苦了！", "今天天气怎么样？"],
        ["帮我准备发布。", "以后回复请用简体中文，不要超过三句。"],
        ["Prepare the release.", "Always write commit messages with a ticket number, please."],
        ["Please fix the login page.", "Thanks, that's all!", "How is the weather today?"],
    ],
)
def test_going_on_is_not_a_new_task(said: list[str]) -> None:
    assert len(tasks_in(said)) == 1


def test_a_long_run_after_one_prompt_is_one_task() -> None:
    groups = group_blocks(Transcript(tool_loop(300)[1:]).blocks)
    (task,) = find_tasks(groups)
    assert task.active
    assert len(task.groups) == len(groups)


def test_records_decide_when_there_are_any() -> None:
    groups = group_blocks(Transcript(tool_loop(30)[1:]).blocks)
    spans = [TaskSpan(title="one", first=groups[0].first.entry, last=groups[9].first.entry)]
    spans.append(TaskSpan(title="two", first=groups[10].first.entry))
    tasks = find_tasks(groups, spans)
    assert [len(task.groups) for task in tasks] == [10, len(groups) - 10]
    assert [task.title for task in tasks] == ["one", "two"]


def test_the_first_groups_belong_to_what_went_on_before() -> None:
    said = ["look at the login page again", "Thanks, bye!", "Hello, please plan a trip to Kyoto."]
    assert tasks_in(said, continues="fix the login page")[0] == "fix the login page"
    assert len(tasks_in(said, continues="fix the login page")) == 2


@given(st.lists(st.text(max_size=60), min_size=1, max_size=12), st.booleans())
@settings(max_examples=scaled(80))
def test_tasks_cover_everything_in_order_and_the_last_is_active(
    said: list[str], before: bool
) -> None:
    groups = group_blocks(Transcript([Message.of("user", text) for text in said]).blocks)
    tasks = find_tasks(groups, continues="" if before else None)
    assert [group for task in tasks for group in task.groups] == list(groups)
    assert [task.active for task in tasks] == [False] * (len(tasks) - 1) + [True]


def test_words_of_chinese_are_pairs_of_characters() -> None:
    assert content_words("修复登录页") == {"修复", "复登", "登录", "录页"}
    assert content_words("the Login page, please") == {"login", "page"}
