"""Prompts that ask for memories and for a message: the second half goes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.openclaw.counts import adjust_counts
from holdfast.config.openclaw.prompts import untangle
from tests.scale import scaled

TWO_THINGS = (
    "Context is nearing the compaction limit. Do TWO things:\n"
    "1. Write important context/decisions from this conversation to memory/YYYY-MM-DD.md "
    "(today's date).\n"
    "2. Use the message tool to send a Telegram notification to the user (target: 5588544200, "
    "channel: telegram) saying: "
    "'⚠️ 对话快满了,建议发 /new 开启新会话,我会自动从历史记忆中恢复上下文。'\n"
    "Reply with NO_REPLY after completing both steps."
)


def test_the_message_of_the_well_known_recipe_becomes_a_notice() -> None:
    found = untangle(TWO_THINGS)
    assert found.text == (
        "Context is nearing the compaction limit. Write important context/decisions from this "
        "conversation to memory/YYYY-MM-DD.md (today's date).\n"
        "Reply with NO_REPLY when done."
    )
    assert found.channels == ("telegram",)
    assert found.chat_ids == ("5588544200",)
    assert len(found.removed) == 1


@pytest.mark.parametrize(
    ("prompt", "left"),
    [
        (
            "Pre-compaction housekeeping: persist memories and notify user. Silent turn.",
            "Pre-compaction housekeeping: persist memories. Silent turn.",
        ),
        (
            "Save what matters, then send a Telegram message to 5588544200. Reply NO_REPLY.",
            "Save what matters. Reply NO_REPLY.",
        ),
        (
            "Send the user a Telegram alert saying \"Almost full. Send /new.\" Then write notes.",
            "Then write notes.",
        ),
        (
            "Do three things:\n1) Save decisions.\n2) Notify the user.\n3) List open questions.\n",
            "Do two things:\n1) Save decisions.\n2) List open questions.",
        ),
        (
            "- Save decisions.\n- Tell the user that the chat is nearly full.\n- Keep it short.",
            "- Save decisions.\n- Keep it short.",
        ),
        (
            "1. Save decisions.\n2. Use the message tool:\n   - target: 5588544200\n"
            "   - channel: telegram\nThen reply NO_REPLY.",
            "Save decisions.\nThen reply NO_REPLY.",
        ),
        (
            "上下文快满了。请做两件事：1. 把重要决定写入 memory/YYYY-MM-DD.md；"
            "2. 用 message 工具给用户发 Telegram 通知（target: 5588544200）。"
            "完成两步后回复 NO_REPLY。",
            "上下文快满了。把重要决定写入 memory/YYYY-MM-DD.md。完成后回复 NO_REPLY。",
        ),
        (
            "请保存重要内容，并通知用户对话快满了。只回复 NO_REPLY。",
            "请保存重要内容。只回复 NO_REPLY。",
        ),
        (
            "1. Save:\n   - decisions you wrote\n   - then notify the user\n2. Stop.",
            "1. Save:\n   - decisions you wrote\n2. Stop.",
        ),
        (
            "完成以下两件事：\n1、总结本次对话并写入记忆文件。\n"
            "2、发送消息提醒用户：“对话快满了。发 /new。”\n",
            "总结本次对话并写入记忆文件。",
        ),
    ],
)  # fmt: skip
def test_the_sending_half_goes_and_the_rest_stays(prompt: str, left: str) -> None:
    found = untangle(prompt)
    assert found.text == left
    assert found.removed


@pytest.mark.parametrize(
    "prompt",
    [
        "Write any lasting notes to memory/YYYY-MM-DD.md; reply with NO_REPLY if nothing to store.",
        "Pre-compaction memory flush turn. Capture durable memories to disk.",
        "Do two things:\n1. Save decisions.\n2. List open questions.\n",
        "Save what the user said. Do not send any message to the user.",
        "Store durable memories. Never notify the user.",
        "Record messages the user sent and what they asked to be reminded of.",
        "保存重要信息。不要给用户发送消息。",
        "把用户的消息要点写入记忆，无需通知用户。",
        "  Keep\n\n\n\nmy   spacing. \n",
        "",
    ],
)
def test_a_prompt_that_asks_for_no_message_stays_byte_for_byte(prompt: str) -> None:
    found = untangle(prompt)
    assert found.text == prompt
    assert not found.removed


@pytest.mark.parametrize(
    "prompt",
    [
        "Send a Telegram message to the user (target: 5588544200). Reply with NO_REPLY.",
        "用 message 工具通知用户。回复 NO_REPLY。",
    ],
)
def test_a_prompt_that_asks_for_nothing_else_is_not_kept(prompt: str) -> None:
    assert untangle(prompt).text is None


@pytest.mark.parametrize(
    ("instruction", "channels", "chats"),
    [
        ("Send a Telegram message to @my_chat.", ("telegram",), ("@my_chat",)),
        (
            "Send a telegram notification, chat_id=-1001234567890.",
            ("telegram",),
            ("-1001234567890",),
        ),
        ("Send a Telegram message of up to 20000 characters.", ("telegram",), ()),
        ("Message the user on WhatsApp.", ("whatsapp",), ()),
        ("给 5588544200 发送 Telegram 消息。", ("telegram",), ("5588544200",)),
        ("发微信通知用户。", ("wechat",), ()),
        ("Alert the owner.", (), ()),
    ],
)
def test_channel_and_target_are_read_from_the_instruction(
    instruction: str, channels: tuple[str, ...], chats: tuple[str, ...]
) -> None:
    found = untangle(f"Save the decisions. {instruction}")
    assert found.text == "Save the decisions."
    assert (found.channels, found.chat_ids) == (channels, chats)


@pytest.mark.parametrize(
    ("text", "before", "after", "changed"),
    [
        ("Do THREE things.", 3, 2, "Do TWO things."),
        ("Three steps follow.", 3, 2, "Two steps follow."),
        ("做三件事", 3, 2, "做两件事"),
        ("Do three things.", 4, 3, "Do three things."),
        ("Wait two days.", 2, 1, "Wait two days."),
        ("Once you have finished both tasks, stop.", 2, 1, "When done, stop."),
        ("nothing counted", 9, 8, "nothing counted"),
    ],
)
def test_count_words_follow_the_list(text: str, before: int, after: int, changed: str) -> None:
    assert adjust_counts(text, before=before, after=after) == changed


_fragments = st.sampled_from(
    ["Save the decisions.", "Notify the user.", "send a Telegram message", " and ", "\n", "1. ",
     "2. ", "- ", "，并", "写入记忆", "通知用户", "。", "don't ", "'", '"', "(", ")", " ", "   ",
     "two things:", "两件事"]
)  # fmt: skip


@settings(max_examples=scaled(120))
@given(parts=st.lists(_fragments, max_size=12))
def test_after_a_cut_nothing_is_left_to_cut(parts: list[str]) -> None:
    prompt = "".join(parts)
    found = untangle(prompt)
    if not found.removed:
        assert found.text == prompt
    elif found.text is not None:
        again = untangle(found.text)
        assert again.text == found.text
        assert not again.removed


@settings(max_examples=scaled(70))
@given(prompt=st.text(max_size=60))
def test_any_text_can_be_untangled(prompt: str) -> None:
    assert untangle(prompt).removed or untangle(prompt).text == prompt
