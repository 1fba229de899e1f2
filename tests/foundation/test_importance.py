"""Importance: what matters outranks what is only long, and a negated cue is no cue."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.importance import (
    asks_to_remember,
    importance,
    is_constraint,
    is_correction,
    is_decision,
    is_error,
    own_words,
)
from holdfast.types import Message, Text, ToolCall, ToolResult
from tests.scale import scaled


def user(text: str) -> Message:
    return Message.of("user", text)


def tool(text: str, *, is_error: bool | None = None) -> Message:
    result = ToolResult(call_id="c1", content=(Text(text=text),), is_error=is_error)
    return Message(role="tool", parts=(result,))


ERRORS = """
The build failed with an error.
I get a TypeError when I open the page.
It crashed again last night
Traceback (most recent call last):
3 failed, 20 passed
程序报错了
上传失败，请重试
服务崩溃了两次
""".strip().splitlines()

NO_ERRORS = """
No errors found.
0 failed, 26 passed
0 errors, 0 warnings
The run finished without errors.
It is error-free now.
It no longer crashes.
Add error handling to the parser.
I learned it by trial and error.
errors: 0
It did not fail this time.
没有错误
没有发现任何异常
未发现错误
不再报错了
错误数：0
加上异常处理
一切正常
""".strip().splitlines()

DECISIONS = """
We decided to use Postgres.
I chose the blue one.
Let's go with option 2.
The decision is to ship on Friday.
We agreed on a weekly call.
我们决定用 Postgres。
最后选择了方案二。
方案定下来了，周五上线。
""".strip().splitlines()

NO_DECISIONS = """
We haven't decided yet.
I can't decide between the two.
Have you decided?
Use a decision tree for that.
还没决定
由你来决定吧
我有选择困难症
有没有更好的方案？
""".strip().splitlines()

TO_REMEMBER = """
Remember that my dog is called Rex.
Please remember: the code is 4711.
Keep in mind that I am vegetarian.
Don't forget the meeting on Monday.
For future reference, the staging host is db-2.
记住，我对花生过敏。
请记下我的生日是九月三号。
别忘了周五交报告。
""".strip().splitlines()

NOT_TO_REMEMBER = """
I remember when we met.
I can't remember his name.
Do you remember the place?
That was a memorable day.
我记得小时候常去那里。
你还记得吗？
我不记得了。
""".strip().splitlines()


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_is_recognised(text: str) -> None:
    assert is_error(text)


@pytest.mark.parametrize("text", NO_ERRORS)
def test_no_error_is_no_error(text: str) -> None:
    assert not is_error(text)


@pytest.mark.parametrize("text", DECISIONS)
def test_a_decision_is_recognised(text: str) -> None:
    assert is_decision(text)


@pytest.mark.parametrize("text", NO_DECISIONS)
def test_an_open_choice_is_no_decision(text: str) -> None:
    assert not is_decision(text)


@pytest.mark.parametrize("text", TO_REMEMBER)
def test_a_request_to_remember_is_recognised(text: str) -> None:
    assert asks_to_remember(text)


@pytest.mark.parametrize("text", NOT_TO_REMEMBER)
def test_a_recollection_is_no_request(text: str) -> None:
    assert not asks_to_remember(text)


SPAM = [
    "\n".join(f"tests/test_{n}.py::test_case_{n} PASSED" for n in range(500)),
    "ok\n" * 300,
    "\n".join(f"test_{n} ... ok" for n in range(200)),
    "\n".join(f"2025-01-01 10:00:{n % 60:02d} INFO heartbeat {n}" for n in range(400)),
    "x" * 100_000,
]


@pytest.mark.parametrize("spam", SPAM)
@pytest.mark.parametrize("said", ["I live in Lisbon with my sister.", "我和姐姐住在里斯本。"])
def test_tool_spam_never_outranks_a_sentence_of_the_user(spam: str, said: str) -> None:
    assert importance(tool(spam)).score < importance(user(said)).score


def test_any_tool_output_without_an_error_stays_below_a_sentence_of_the_user() -> None:
    rich = tool('{"name": "Ann", "balance": 120, "city": "Rome", "orders": ["A1", "B2"]}')
    assert 0 < importance(rich).score < importance(user("The invoice goes to Ann.")).score


def test_corrections_and_rules_rank_highest() -> None:
    highest = [
        importance(user(text)).score
        for text in ("No, that's wrong: it's 5433.", "Never push to main", "不是周一，是周二。",
                     "千万不要删除用户数据。")
    ]  # fmt: skip
    others = [
        importance(user("I like tea in the morning.")).score,
        importance(user("We decided to use Postgres.")).score,
        importance(tool("ValueError: bad input", is_error=True)).score,
        importance(Message.of("assistant", "I moved the handler into its own module.")).score,
    ]
    assert min(highest) == 1.0
    assert max(others) <= min(highest)
    assert importance(user("I like tea in the morning.")).score < 1.0


def test_a_failing_tool_outranks_a_passing_one() -> None:
    passing = importance(tool("26 passed in 1.2s"))
    failing = importance(tool("E   ValueError: bad input\n1 failed, 25 passed in 1.2s"))
    assert failing.score > passing.score
    assert "error" in failing.reasons


def test_an_error_pasted_weighs_less_than_an_error_told() -> None:
    told = importance(user("The upload failed with an error on my side"))
    pasted = importance(user("What does this mean here?\n```\nUpload failed with an error\n```"))
    assert "error" in told.reasons
    assert "quoted error" in pasted.reasons
    assert pasted.score < told.score


@pytest.mark.parametrize("text", ["ok", "thanks!", "Hi there", "好的", "谢谢", "哈哈", ""])
def test_small_talk_weighs_next_to_nothing(text: str) -> None:
    assert importance(user(text)).score <= 0.1


def test_what_was_said_before_weighs_less() -> None:
    text = "The staging server runs in Frankfurt behind the proxy"
    new = importance(user(text), before=["Where does the staging server run?"])
    again = importance(user(text), before=["hello", text, "thanks"])
    assert "duplicate" in again.reasons
    assert again.score < new.score


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ("The port of the server is 5433", "The port of the server is 5432"),
        ("The server is not reachable from here", "The server is reachable from here"),
        ("服务器的端口是5433", "服务器的端口是5432"),
        ("我不喜欢吃鱼和虾", "我喜欢吃鱼和虾"),
    ],
)
def test_another_number_or_a_denial_is_no_repetition(said: str, before: str) -> None:
    assert "duplicate" not in importance(user(said), before=[before]).reasons


def test_a_call_counts_for_the_assistant_who_made_it() -> None:
    call = ToolCall(id="c1", name="bash", arguments={"command": "ls"})
    silent = Message(role="assistant", parts=(call,))
    assert importance(silent).reasons == ("assistant", "calls")


def test_quotations_are_not_the_writers_words() -> None:
    text = "Look:\n> never push\n```\nfatal error\n```\nTraceback (most recent call last):\nfine"
    assert own_words(text).split() == ["Look:", "fine"]


def test_the_end_of_a_large_text_is_read_too() -> None:
    filler = "The weather was mild and the river calm. " * 30_000
    assert is_constraint(filler + "\nNever push to main.")
    assert is_correction(filler + "\nNo, that's wrong: it's 5433.")
    assert importance(user("Never push to main.\n" + filler)).score == 1.0


@settings(max_examples=scaled(60))
@given(
    role=st.sampled_from(["user", "assistant", "tool", "system", "developer"]),
    text=st.text(max_size=200),
    before=st.lists(st.text(max_size=60), max_size=4),
)
def test_every_message_has_a_score_between_0_and_1(role: str, text: str, before: list[str]) -> None:
    judged = importance(Message.of(role, text), before=before)
    assert 0.0 <= judged.score <= 1.0
    assert judged == importance(Message.of(role, text), before=before)
