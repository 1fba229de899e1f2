"""Extraction by a model: facts with their turns, or better words for what the rules chose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.extract import Heard, extract
from holdfast.context.flush.extracting import RESPONSE_SCHEMA, extract_flush
from holdfast.context.flush.found import Failed, Found
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.redact import redact
from holdfast.retain import RetainLine
from tests.context.flushing import Answer, Driven, asks, price, says
from tests.context.heard import call, heard, result, talk
from tests.scale import scaled

CHAT = talk(
    ("user", "I adopted a dog named Rex last month from the shelter in Graz."),
    ("assistant", "Lovely!"),
    ("user", "My sister Ana works as a nurse, and we will travel to Lisbon with 3 friends."),
    ("assistant", "Noted."),
    ("user", "I never drink coffee after lunch because I sleep badly."),
)
CHINESE = talk(
    ("user", "我叔叔刘宇轩今年61岁，老家在山西太原。"),
    ("user", "我下周三要参加教育创新研讨会，规模是一百人。"),
    ("user", "我不喜欢吃香菜，最爱吃火锅。"),
    ("user", "我表妹赵雅琳在深圳上班，是一名护士。"),
)
REX = {
    "turn": 1,
    "who": "user",
    "fact": "The user adopted a dog named Rex from the shelter in Graz",
}


def rules_of(said: list[Heard]) -> tuple[RetainLine, ...]:
    return extract(said, share=1.0, redact=redact).lines


def extracting(said: list[Heard], *answers: Answer, **given: Any) -> Driven:
    values: dict[str, Any] = {
        "rules": rules_of(said),
        "small": False,
        "language": "en",
        "price": price,
        "window": 16_000,
        "redact": redact,
    }
    return Driven(extract_flush(heard=said, **(values | given)), *answers)


def facts(*found: Any) -> str:
    return json.dumps({"facts": list(found)}, ensure_ascii=False)


# ── a hosted model ──────────────────────────────────────────────────────────────────────────


def test_facts_are_aligned_to_the_turn_that_holds_them_whatever_they_cite() -> None:
    wrong = {"turn": 1, "who": "assistant", "fact": "Ana works as a nurse"}
    made_up = {"turn": 3, "who": "user", "fact": "The user owns a bakery in Lisbon"}
    done = extracting(CHAT, facts(REX, wrong, made_up))
    cited = {line.text: line.sources for line in done.found.lines}
    assert cited["Ana works as a nurse"] == ("e2",)
    assert cited["adopted a dog named Rex from the shelter in Graz"] == ("e0",)
    assert done.found.ungrounded == 1
    assert {line.trust for line in done.found.lines} == {"user"}


@pytest.mark.parametrize(
    "shape",
    [
        "%s",
        "Here you are:\n```json\n%s\n```",
        "%s\nDone.",
        "[%s]",
        "{{%s}}",
    ],
)
def test_the_answer_is_found_in_whatever_it_is_wrapped(shape: str) -> None:
    assert extracting(CHAT, shape % facts(REX)).found.lines


def test_a_list_of_plain_strings_and_a_cut_list_are_read_too() -> None:
    assert extracting(CHAT, json.dumps([REX["fact"]])).found.lines
    cut = facts(REX, REX)[:-40]
    done = extracting(CHAT, says(cut, stop="length"))
    texts = [line.text for line in done.found.lines]
    assert any("Rex" in text for text in texts)
    assert any("coffee" in text for text in texts), "rules stand in for what was cut off"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("I'm sorry, I can't do that.", "refused"),
        ("There are many facts here.", "no JSON"),
        (asks("exec", {"cmd": "ls"}), "tool"),
        (ModelFailure(reason="the time for models is used up"), "time"),
        (facts({"turn": 1, "who": "user", "fact": "The user owns a bakery"}), "stands"),
        ('{"error": "overloaded"}', "no JSON"),
    ],
)
def test_nothing_usable_is_a_failure_with_its_reason(answer: Answer, reason: str) -> None:
    assert reason in extracting(CHAT, answer).failed.reason


def test_an_empty_list_means_nothing_but_the_rules_are_asked_too() -> None:
    for answer in (facts(), "NO_REPLY", "[]"):
        found = extracting(CHAT, answer).found
        assert found.silent
        assert found.lines == rules_of(CHAT)
        assert extracting(CHAT, answer, rules=()).found.lines == ()


def long_chat() -> list[Heard]:
    return talk(
        *(("user", f"I keep {n} lamps on shelf {100 + n}. " + "x " * 300) for n in range(30))
    )


def lamps(request: ModelRequest) -> ModelReply:
    text = request.messages[0].text
    assert price(request.system or "") + price(request.messages[0]) + 500 <= 3_500
    return says(
        facts(
            *(
                {
                    "turn": n + 1,
                    "who": "user",
                    "fact": f"The user keeps {n} lamps on shelf {100 + n}",
                }
                for n in range(30)
                if f"shelf {100 + n}." in text
            )
        )
    )


def test_a_long_conversation_is_read_in_stretches_that_fit() -> None:
    done = extracting(long_chat(), lamps, window=3_500, max_tokens=500)
    assert len(done.requests) > 2
    assert len(done.found.lines) == 30


def test_when_the_time_is_up_the_rules_stand_in_for_the_rest() -> None:
    over = ModelFailure(reason="the time for models is used up")
    done = extracting(long_chat(), lamps, over, window=3_500, max_tokens=500)
    assert len(done.requests) == 2
    sources = {source for line in done.found.lines for source in line.sources}
    assert sources >= {source for line in rules_of(long_chat()) for source in line.sources}


def test_a_model_that_raises_once_is_asked_on_and_one_that_always_does_is_not() -> None:
    broken = ModelFailure(reason="peg-native", error=RuntimeError("peg-native"))
    done = extracting(long_chat(), broken, lamps, window=3_500, max_tokens=500)
    assert len(done.requests) > 2
    assert done.found.lines
    done = extracting(long_chat(), broken, window=3_500, max_tokens=500)
    assert len(done.requests) == 3
    assert done.failed.reason == "peg-native"


@pytest.mark.parametrize("small", [False, True])
def test_a_flush_that_cannot_fit_fails_without_a_call(small: bool) -> None:
    done = extracting(CHAT, facts(REX), small=small, window=300)
    assert done.requests == []
    assert "does not fit" in done.failed.reason


def test_no_tools_are_offered_and_the_schema_is_given() -> None:
    request = extracting(CHAT, facts(REX)).requests[0]
    assert request.tools == ()
    assert request.extra[RESPONSE_SCHEMA]["required"] == ["facts"]
    assert "Rex" not in (request.system or "")


# ── a small model ───────────────────────────────────────────────────────────────────────────


def rewriter(**better: str) -> Any:
    """Rewrites statements that hold a key; repeats the others."""

    def answer(request: ModelRequest) -> ModelReply:
        rows = request.messages[0].text.splitlines()
        said = [row.partition(": ")[2] for row in rows if row[:2] in ("1.", "2.", "3.")]
        found = [next((new for key, new in better.items() if key in each), each) for each in said]
        return says(facts(*found))

    return answer


def test_a_small_model_rewrites_one_statement_at_a_time() -> None:
    rules = rules_of(CHAT)
    done = extracting(CHAT, rewriter(Rex="user adopted dog Rex from Graz shelter"), small=True)
    assert len(done.requests) == len([line for line in rules if line.trust != "tool"])
    assert len(done.found.lines) == len(rules)
    for old, new in zip(rules, done.found.lines, strict=True):
        assert (new.sources, new.trust, new.kind, new.entity, new.observed) == (
            old.sources, old.trust, old.kind, old.entity, old.observed,
        )  # fmt: skip


@pytest.mark.parametrize(
    "bad",
    [
        "user adopted a cat named Tom in Vienna",
        "user said, 'I adopted a dog named Rex'",
        "user adopted a dog named Rex…",
        "user did not adopt a dog named Rex from the shelter in Graz",
        "user adopted 2 dogs named Rex from the shelter in Graz",
        "x" * 119,
        "",
    ],
)
def test_a_rewrite_that_does_not_stand_keeps_the_line_of_the_rules(bad: str) -> None:
    done = extracting(CHAT, rewriter(Rex=bad), small=True)
    assert done.found.lines == rules_of(CHAT)


def test_in_chinese_three_statements_go_together_and_stay_chinese() -> None:
    rules = rules_of(CHINESE)
    done = extracting(CHINESE, rewriter(), small=True, language="zh")
    assert len(done.requests) == -(-len(rules) // 3)
    schema = done.requests[0].extra[RESPONSE_SCHEMA]
    assert "pattern" in schema["properties"]["facts"]["items"]
    drifted = rewriter(香菜="The user dislikes coriander", 刘宇轩="叔叔刘宇轩62岁")
    assert extracting(CHINESE, drifted, small=True, language="zh").found.lines == rules


def test_an_answer_with_too_few_statements_is_not_guessed_at() -> None:
    done = extracting(CHINESE, facts("用户不喜欢吃香菜"), small=True, language="zh")
    assert isinstance(done.result, Failed) or done.result.lines == rules_of(CHINESE)


def test_when_the_time_is_up_the_rest_stays_as_the_rules_wrote_it() -> None:
    over = ModelFailure(reason="the time for models is used up")
    done = extracting(CHAT, rewriter(), over, small=True)
    assert len(done.requests) == 2
    assert done.found.lines == rules_of(CHAT)


def test_what_tools_recorded_is_not_rewritten() -> None:
    said = heard(
        *(one.message for one in CHAT[:1]),
        *(
            m
            for n in range(5)
            for m in (call(n, "bash", {"command": "pytest a"}), result(n, "3 passed"))
        ),
    )
    rules = (*rules_of(said), RetainLine(kind="W", text="pytest a → 3 passed", trust="tool"))
    done = extracting(said, rewriter(), rules=rules, small=True)
    asked = "\n".join(request.messages[0].text for request in done.requests)
    assert "→" not in asked
    assert len(done.found.lines) == len(rules)


def test_no_model_can_lose_a_line_of_the_rules() -> None:
    for answer in (says("garbage"), says(""), says(facts("a", "b")), says(facts())):
        done = extracting(CHAT, answer, small=True)
        assert isinstance(done.result, Failed) or done.result.lines == rules_of(CHAT)
    assert extracting(CHAT, facts(), rules=(), small=True).failed.reason


TEXTS = st.sampled_from(
    [
        "The user adopted a dog named Rex", "The user owns a bakery", "Ana works as a nurse",
        "The user drinks coffee after lunch", "用户", "", "Lisbon with 3 friends", "\ud83d",
        "NO_REPLY",
    ]
)  # fmt: skip


@settings(max_examples=scaled(30))
@given(st.lists(st.lists(TEXTS, max_size=3), min_size=1, max_size=4), st.booleans())
def test_whatever_a_model_answers_is_a_result(given: list[list[str]], small: bool) -> None:
    done = extracting(CHAT, *(says(facts(*each)) for each in given), small=small)
    assert isinstance(done.result, Found | Failed)
    assert done.result.calls == len(done.requests)
    if isinstance(done.result, Found):
        assert all(line.sources for line in done.result.lines)
        assert "bakery" not in str(done.result.lines)
        assert "drinks coffee" not in str(done.result.lines)
