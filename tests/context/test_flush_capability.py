"""Whether a model may save on its own: one question, and what counts as having done it."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.flush.capability import FACTS, Capability, capability_test
from holdfast.context.flush.prompting import Language
from holdfast.engine.tools import definitions
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.types import Message, Text, ToolCall
from tests.scale import scaled

LANGUAGES: tuple[Language, ...] = ("en", "zh")
KEPT = {"en": "Ingrid moved to Lisbon, where she is a nurse.", "zh": "林晓搬到青岛，当护士。"}
OTHER = {"en": "The user likes tea.", "zh": "用户喜欢喝茶。"}


def judged(reply: ModelReply | ModelFailure, language: Language = "en") -> Capability:
    steps = capability_test(tools=definitions(), language=language, day=date(2026, 3, 14))
    request = next(steps)
    assert isinstance(request, ModelRequest)
    try:
        steps.send(reply)
    except StopIteration as end:
        found = end.value
        assert isinstance(found, Capability)
        return found
    raise AssertionError("it asks only once")


def says(text: str, *calls: ToolCall) -> ModelReply:
    return ModelReply(message=Message(role="assistant", parts=(Text(text=text), *calls)))


def call(name: str, arguments: Any) -> ToolCall:
    return ToolCall(id="c", name=name, arguments=arguments)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_question_is_a_flush_in_small_and_holds_the_fact_in_its_language(
    language: Language,
) -> None:
    request = next(capability_test(tools=definitions(), language=language, day=date(2026, 3, 14)))
    assert FACTS[language] in request.messages[-1].text
    assert "2026-03-14" in request.messages[-1].text
    assert [tool["function"]["name"] for tool in request.tools] == ["memory_retain"]
    assert (request.max_tokens or 0) <= 200


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_call_that_keeps_the_fact_is_a_yes_however_it_is_written(language: Language) -> None:
    kept = {"memories": [{"text": KEPT[language], "source": 2}]}
    written = json.dumps({"name": "memory_retain", "arguments": kept}, ensure_ascii=False)
    for reply in (
        says("", call("memory_retain", kept)),
        says("Saving.", call("memory_retain", json.dumps(kept))),
        says("", call("memory_write", {"text": KEPT[language]})),
        says(f"```json\n{written}\n```"),
        says("{" + written + "}"),
    ):
        assert judged(reply, language).can is True


@pytest.mark.parametrize("language", LANGUAGES)
def test_silence_words_other_tools_and_other_facts_are_a_no(language: Language) -> None:
    other = {"memories": [{"text": OTHER[language]}]}
    for reply in (
        says("NO_REPLY"),
        says(""),
        says(KEPT[language]),
        says("", call("memory_search", {"query": KEPT[language]})),
        says("", call("memory_retain", other)),
        says("", call("memory_retain", "{")),
        says("", call("memory_retain", {"memories": []})),
        says("", call("memory_retain", {"memories": [{"text": "Ingrid"}, {"text": "林晓"}]})),
        says("", call("shell", {"text": KEPT[language]})),
    ):
        found = judged(reply, language)
        assert found.can is False
        assert found.reason.startswith("asked to save a fact with a tool, it ")


def test_no_answer_is_neither_yes_nor_no() -> None:
    found = judged(ModelFailure(reason="it took longer than 3 s"))
    assert (found.can, found.reason) == (None, "it took longer than 3 s")


@settings(max_examples=scaled(60))
@given(
    text=st.text(max_size=80) | st.sampled_from(["[{" * 400, "memory_retain", '{"memories": 3}']),
    arguments=st.text(max_size=40)
    | st.dictionaries(st.sampled_from(["memories", "text", "x"]), st.lists(st.text(max_size=9))),
    language=st.sampled_from(LANGUAGES),
)
def test_whatever_a_model_answers_is_judged(text: str, arguments: Any, language: Language) -> None:
    assert judged(says(text, call("memory_retain", arguments)), language).can is False
    assert judged(says(text), language).can is False
