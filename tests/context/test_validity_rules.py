"""Every rule has a request that breaks it and a near one that does not."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings

from holdfast.context.validity import (
    ANTHROPIC_RULES,
    OPENAI_RULES,
    Capabilities,
    Format,
    capabilities_of,
    validate,
)
from holdfast.types import Json
from tests.context.messy import png
from tests.foundation.provider_messages import anthropic_messages, openai_messages, values
from tests.scale import scaled

Wire = dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class Case:
    """``bad`` breaks the rule, ``good`` breaks none."""

    rule: str
    bad: Json
    good: Json
    caps: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    bad_system: Json = None
    good_system: Json = None
    bad_tools: Any = None
    good_tools: Any = None


def say(role: str, *content: Json) -> Wire:
    is_text = len(content) == 1 and isinstance(content[0], str)
    return {"role": role, "content": content[0] if is_text else list(content)}


def text(value: str = "hello", **more: Json) -> Wire:
    return {"type": "text", "text": value, **more}


# ── Anthropic ───────────────────────────────────────────────────────────────────────────────

ASK = say("user", "hello")
DONE = say("assistant", "done")
MARK = {"type": "ephemeral"}


def use(call_id: Json = "toolu_1", **more: Json) -> Wire:
    return {"type": "tool_use", "id": call_id, "name": "search", "input": {}, **more}


def got(call_id: Json = "toolu_1", **more: Json) -> Wire:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "found", **more}


def image(data: str = png(), media_type: str = "image/png") -> Wire:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


def thought(**more: Json) -> Wire:
    return {"type": "thinking", "thinking": "hm", "signature": "EqQB", **more}


def search(call_id: str = "srvtoolu_1") -> tuple[Wire, Wire]:
    call = {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}
    return call, {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def loop(*calls: Wire, answers: Sequence[Wire]) -> list[Wire]:
    return [ASK, say("assistant", *calls), say("user", *answers)]


GOOD_LOOP = loop(use(), answers=[got()])

ANTHROPIC_CASES = [
    Case(rule="A1", bad=loop(use(), answers=[text()]), good=GOOD_LOOP),
    Case(
        rule="A1",
        bad=loop(use("a"), use("b"), answers=[got("a")]),
        good=loop(use("a"), use("b"), answers=[got("b"), got("a")]),
    ),
    Case(
        rule="A1",
        bad=[ASK, say("assistant", use()), say("assistant", got())],
        good=[*GOOD_LOOP, say("assistant", use("later")), say("user", got("later"))],
    ),
    Case(
        rule="A5",
        bad=[*GOOD_LOOP, say("assistant", use()), say("user", got())],
        good=[*GOOD_LOOP, say("assistant", use("later")), say("user", got("later"))],
    ),
    Case(rule="A2", bad=[say("user", got())], good=GOOD_LOOP),
    Case(rule="A2", bad=[*GOOD_LOOP, DONE, say("user", got())], good=[*GOOD_LOOP, DONE, ASK]),
    Case(rule="A2", bad=loop(use(), answers=[got(), got()]), good=GOOD_LOOP),
    Case(
        rule="A3",
        bad=loop(use(), answers=[text(), got()]),
        good=loop(use(), answers=[got(), text()]),
    ),
    Case(
        rule="A4",
        bad=[ASK, say("assistant", search()[0], text()), ASK],
        good=[ASK, say("assistant", *search(), text()), ASK],
    ),
    Case(
        rule="A4",
        bad=[ASK, say("assistant", search()[1], text()), ASK],
        good=[ASK, say("assistant", text(), search()[0])],
    ),
    Case(
        rule="A5",
        bad=loop(use("a.1"), answers=[got("a.1")]),
        good=loop(use("a-1"), answers=[got("a-1")]),
    ),
    Case(
        rule="A5",
        bad=loop(use("x" * 65), answers=[got("x" * 65)]),
        good=loop(use("x" * 64), answers=[got("x" * 64)]),
    ),
    Case(rule="A5", bad=loop(use(), use(), answers=[got()]), good=GOOD_LOOP),
    Case(rule="A6", bad=[DONE, ASK], good=[ASK, DONE, ASK]),
    Case(rule="A6", bad=[ASK, ASK], good=[ASK]),
    Case(rule="A7", bad=[ASK, DONE], good=[ASK, DONE, ASK], model="claude-opus-4-6"),
    Case(
        rule="A8",
        bad=[ASK, say("assistant", "so ")],
        good=[ASK, say("assistant", "so")],
        model="claude-haiku-4-5",
    ),
    Case(rule="A9", bad=[say("user", " \n")], good=[say("user", ".")]),
    Case(rule="A9", bad=[say("user", text(""), text())], good=[say("user", text())]),
    Case(rule="A9", bad=[{"role": "user", "content": []}], good=[ASK]),
    Case(rule="A9", bad=[ASK], bad_system="", good=[ASK], good_system="be kind"),
    Case(
        rule="A9",
        bad=loop(use(), answers=[got(content=[text("")])]),
        good=loop(use(), answers=[got(content="")]),
    ),
    Case(
        rule="A10",
        bad=[ASK, say("assistant", text(), thought()), ASK],
        good=[ASK, say("assistant", thought(), text()), ASK],
    ),
    Case(
        rule="A10",
        bad=GOOD_LOOP,
        good=loop(thought(), use(), answers=[got()]),
        caps={"thinking": True},
    ),
    Case(
        rule="A12",
        bad=[say("user", *[text(cache_control=MARK)] * 4)],
        bad_system=[text(cache_control=MARK)],
        good=[say("user", *[text(cache_control=MARK)] * 3)],
        good_system=[text(cache_control=MARK)],
    ),
    Case(
        rule="A12",
        bad=[ASK, say("assistant", thought(cache_control=MARK), text()), ASK],
        good=[ASK, say("assistant", thought(), text(cache_control=MARK)), ASK],
    ),
    Case(
        rule="A12",
        bad=[say("user", text(cache_control="yes"))],
        good=[say("user", text(cache_control=None))],
    ),
    Case(
        rule="A13",
        bad=[say("user", *[image()] * 101)],
        good=[say("user", *[image()] * 100)],
    ),
    Case(
        rule="A13",
        bad=[say("user", image(png(3000, 9)), *[image()] * 20)],
        good=[say("user", image(png(3000, 9)), *[image()] * 19)],
    ),
    Case(
        rule="A13", bad=[say("user", image(png(8001, 9)))], good=[say("user", image(png(8000, 9)))]
    ),
    Case(
        rule="A13",
        bad=[say("user", image(base64.b64encode(b"x" * 5_300_000).decode()))],
        good=[say("user", image(base64.b64encode(b"x" * 5_200_000).decode()))],
    ),
    Case(rule="A13", bad=[say("user", image(""))], good=[say("user", image())]),
    Case(
        rule="A13",
        bad=[say("user", image(media_type="image/tiff"))],
        good=[say("user", image(media_type="image/webp"))],
    ),
    Case(
        rule="A13",
        bad=[say("user", {"type": "image", "source": {"type": "url", "url": "data:,x"}})],
        good=[say("user", {"type": "image", "source": {"type": "url", "url": "https://e.org/x"}})],
    ),
    Case(rule="A14", bad=GOOD_LOOP, bad_tools=[], good=GOOD_LOOP, good_tools=[{"name": "search"}]),
    Case(
        rule="A15",
        bad=[say("user", "x" * 1000)],
        good=[say("user", "x" * 900)],
        caps={"max_body": 1000},
    ),
    Case(
        rule="A17",
        bad=loop(use(), answers=[got(content=[use()])]),
        good=loop(use(), answers=[got(content=[text(), image()])]),
    ),
    Case(rule="A17", bad=loop(use(), answers=[got(content=None)]), good=GOOD_LOOP),
    Case(
        rule="A17",
        bad=loop(use(), answers=[got(is_error="yes")]),
        good=loop(use(), answers=[got(is_error=True)]),
    ),
    Case(rule="A18", bad=[], good=[ASK]),
    Case(rule="A18", bad=[say("system", "x"), ASK], good=[ASK]),
    Case(rule="A18", bad=[{"role": "user"}], good=[ASK]),
    Case(rule="A18", bad=["hello"], good=[ASK]),
    Case(rule="A18", bad=None, good=[ASK]),
    Case(
        rule="A19",
        bad=[say("user", {"type": "image_url", "image_url": {"url": "https://e.org"}})],
        good=[say("user", {"type": "hologram"})],
    ),
    Case(rule="A19", bad=[say("user", {"text": "x"})], good=[say("user", text())]),
    Case(rule="A19", bad=[say("user", use("a"))], good=[ASK]),
    Case(rule="A19", bad=loop(use(input="{}"), answers=[got()]), good=GOOD_LOOP),
    Case(rule="A19", bad=[ASK], bad_system=[image()], good=[ASK], good_system=[text()]),
    Case(
        rule="A19",
        bad=[ASK, say("assistant", {"type": "thinking", "thinking": "x"}, text()), ASK],
        good=[ASK, say("assistant", thought(), text()), ASK],
    ),
    Case(rule="A20", bad=loop(use(name="a b"), answers=[got()]), good=GOOD_LOOP),
    Case(rule="U8", bad=[say("user", "\ud800")], good=[say("user", "\0 🙂")]),
    Case(
        rule="U8",
        bad=loop(use(input={"\udc00": 1}), answers=[got()]),
        good=loop(use(input={"键": 1}), answers=[got()]),
    ),
    Case(
        rule="U9",
        bad=loop(use(input={"x": float("nan")}), answers=[got()]),
        good=loop(use(input={"x": 1.5}), answers=[got()]),
    ),
]


# ── OpenAI ──────────────────────────────────────────────────────────────────────────────────


def function(call_id: Json = "call_1", arguments: Json = "{}", **more: Json) -> Wire:
    called = {"name": "search", "arguments": arguments, **more}
    return {"id": call_id, "type": "function", "function": called}


def calling(*calls: Json, **more: Json) -> Wire:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def answer(call_id: Json = "call_1", content: Json = "found", **more: Json) -> Wire:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def picture(url: Json = "https://example.org/a.png") -> Wire:
    return {"type": "image_url", "image_url": {"url": url}}


def data_url(data: str = png(), media_type: str = "image/png") -> Wire:
    return picture(f"data:{media_type};base64,{data}")


ROUND = [ASK, calling(function()), answer()]

OLD_CALL = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}}
OLD_ANSWER = {"role": "function", "name": "f", "content": "x"}

OPENAI_CASES = [
    Case(rule="O1", bad=[ASK, calling(function()), ASK], good=ROUND),
    Case(rule="O1", bad=[ASK, calling(function())], good=ROUND),
    Case(
        rule="O1",
        bad=[ASK, calling(function("a"), function("b")), answer("a"), DONE],
        good=[ASK, calling(function("a"), function("b")), answer("b"), answer("a"), DONE],
    ),
    Case(rule="O1", bad=[ASK, OLD_CALL, ASK], good=[ASK, OLD_CALL, OLD_ANSWER]),
    Case(rule="O2", bad=[ASK, answer()], good=ROUND),
    Case(rule="O2", bad=[*ROUND, answer()], good=[*ROUND, calling(function()), answer()]),
    Case(rule="O2", bad=[*ROUND, DONE, answer()], good=[*ROUND, DONE, ASK]),
    Case(rule="O2", bad=[ASK, OLD_ANSWER], good=[ASK, OLD_CALL, OLD_ANSWER]),
    Case(
        rule="O3",
        bad=[ASK, calling(function("x" * 41)), answer("x" * 41)],
        good=[ASK, calling(function("x" * 40)), answer("x" * 40)],
    ),
    Case(
        rule="O4",
        bad=[say("user", "x" * 101)],
        good=[say("user", "x" * 100)],
        caps={"max_string": 100},
    ),
    Case(
        rule="O4",
        bad=[ASK, calling(function(arguments='{"a": "' + "x" * 100 + '"}')), answer()],
        good=ROUND,
        caps={"max_string": 100},
    ),
    Case(rule="O5", bad=[{"role": "user", "content": None}], good=[say("user", "")]),
    Case(rule="O5", bad=[ASK, {"role": "assistant", "content": None}], good=ROUND),
    Case(
        rule="O5",
        bad=[{"role": "assistant", "content": None}],
        good=[{"role": "assistant", "content": None, "refusal": "no"}],
    ),
    Case(rule="O5", bad=[{"role": "user", "content": []}], good=[ASK]),
    Case(rule="O5", bad=[{"role": "user", "content": {"text": "x"}}], good=[ASK]),
    Case(
        rule="O5",
        bad=[ASK, say("assistant", picture())],
        good=[say("user", picture()), say("assistant", text())],
    ),
    Case(
        rule="O5",
        bad=[ASK, calling(function()), answer(content=[picture()])],
        good=[ASK, calling(function()), answer(content=[text()])],
    ),
    Case(rule="O5", bad=[say("user", {"type": "thinking"})], good=[say("user", {"type": "new"})]),
    Case(rule="O5", bad=[say("user", {"type": "text"})], good=[say("user", text())]),
    Case(
        rule="O7",
        bad=ROUND,
        good=[ASK, calling(function("abcDEF123")), answer("abcDEF123")],
        model="mistral-small",
    ),
    Case(rule="O8", bad=[], good=[ASK]),
    Case(rule="O8", bad=[say("critic", "x")], good=[say("developer", "x")]),
    Case(rule="O8", bad=["x"], good=[ASK]),
    Case(
        rule="O8",
        bad=[ASK, calling(function()), {"role": "tool", "content": "x"}],
        good=ROUND,
    ),
    Case(rule="O8", bad=[{**ASK, "tool_calls": [function()]}], good=[ASK]),
    Case(rule="O8", bad=[{**ASK, "tool_call_id": "call_1"}], good=[ASK]),
    Case(rule="O8", bad=[{**DONE, "refusal": 3}], good=[{**DONE, "refusal": None}]),
    Case(rule="O8", bad=[{**DONE, "audio": "a"}], good=[{**DONE, "audio": {"id": "a"}}]),
    Case(rule="O9", bad=[{**DONE, "tool_calls": []}], good=[DONE]),
    Case(rule="O9", bad=[{**DONE, "tool_calls": None}], good=[DONE]),
    Case(rule="O9", bad=[{**DONE, "function_call": None}], good=[DONE]),
    Case(rule="O9", bad=[ASK, calling(function(5)), answer()], good=ROUND),
    Case(
        rule="O9",
        bad=[ASK, calling(function(), function()), answer(), answer()],
        good=[ASK, calling(function(), function("b")), answer(), answer("b")],
    ),
    Case(
        rule="O9",
        bad=[ASK, calling({"id": "call_1", "function": function()["function"]}), answer()],
        good=ROUND,
        model="gpt-4o",
    ),
    Case(rule="O9", bad=[ASK, calling(function(arguments=[])), answer()], good=ROUND),
    Case(
        rule="O9",
        bad=[ASK, calling(function(arguments={})), answer()],
        good=[ASK, calling(function(arguments="not json")), answer()],
        model="gpt-4o",
    ),
    Case(
        rule="O9",
        bad=[ASK, calling(function(arguments="[1]")), answer()],
        good=[ASK, calling(function(arguments='{"a": 1}')), answer()],
        model="qwen3-max",
    ),
    Case(rule="O9", bad=[ASK, calling(function(name="a b")), answer()], good=ROUND),
    Case(
        rule="O9",
        bad=[ASK, calling({"id": "call_1", "type": "custom", "custom": {"name": "f"}}), answer()],
        good=[
            ASK,
            calling({"id": "call_1", "type": "custom", "custom": {"name": "f", "input": "x"}}),
            answer(),
        ],
    ),
    Case(
        rule="O10",
        bad=[say("user", *[picture()] * 3)],
        good=[say("user", *[picture()] * 2)],
        caps={"max_images": 2},
    ),
    Case(rule="O10", bad=[say("user", picture("ftp://x"))], good=[say("user", picture())]),
    Case(
        rule="O10",
        bad=[say("user", data_url(media_type="image/bmp"))],
        good=[say("user", data_url())],
    ),
    Case(rule="O10", bad=[say("user", data_url(data="!"))], good=[say("user", data_url())]),
    Case(rule="O11", bad=[{**ASK, "name": "two words"}], good=[{**ASK, "name": "Ada_1"}]),
    Case(rule="O11", bad=[{**ASK, "name": None}], good=[ASK]),
    Case(rule="O12", bad=[ASK, ASK], good=[ASK, DONE, ASK], model="gemma-3-27b"),
    Case(rule="O12", bad=[DONE, ASK], good=[say("system", "x"), ASK], model="gemma-3-27b"),
    Case(rule="O12", bad=[ASK, say("system", "x")], good=[ASK], model="sonar-pro"),
    Case(rule="O13", bad=[say("user", " ")], good=[ASK], model="gemini-2.5-pro"),
    Case(rule="O14", bad=[ASK, DONE], good=[ASK], model="mistral-small"),
    Case(rule="U8", bad=[say("user", "\ud800")], good=[say("user", "\0 🙂")]),
    Case(
        rule="U9",
        bad=[{**ASK, "x": float("inf")}],
        good=[{**ASK, "x": 1}],
    ),
]


def rules_broken(case: Case, format: Format, *, bad: bool) -> set[str]:
    caps = replace(capabilities_of(case.model, format), **case.caps)
    found = validate(
        format,
        case.bad if bad else case.good,
        system=case.bad_system if bad else case.good_system,
        tools=case.bad_tools if bad else case.good_tools,
        caps=caps,
    )
    return {each.rule for each in found}


CASES: list[tuple[Format, Case]] = [
    *(("anthropic", case) for case in ANTHROPIC_CASES),
    *(("openai", case) for case in OPENAI_CASES),
]


@pytest.mark.parametrize(
    ("format", "case"), CASES, ids=[f"{format}-{case.rule}" for format, case in CASES]
)
def test_a_rule_sees_its_fault_and_nothing_else(format: Format, case: Case) -> None:
    assert case.rule in rules_broken(case, format, bad=True)
    assert rules_broken(case, format, bad=False) == set()


def test_every_rule_has_a_case_and_says_what_it_is_about() -> None:
    assert {rule.id for rule in ANTHROPIC_RULES} == {case.rule for case in ANTHROPIC_CASES}
    assert {rule.id for rule in OPENAI_RULES} == {case.rule for case in OPENAI_CASES}
    for rule in (*ANTHROPIC_RULES, *OPENAI_RULES):
        assert rule.says
        assert rule.error or rule.id in {"A14", "O13"}


def test_without_tools_known_nobody_judges_whether_they_are_missing() -> None:
    assert validate("anthropic", GOOD_LOOP) == []
    assert [each.rule for each in validate("anthropic", GOOD_LOOP, tools=[])] == ["A14"]


def test_a_violation_names_the_message_and_the_part() -> None:
    found = validate("anthropic", loop(use("a"), use("b"), answers=[got("a")]))
    assert [(each.rule, each.index, each.part) for each in found] == [("A1", 1, 1)]


CAREFUL: dict[Format, Capabilities] = {
    "openai": capabilities_of(None, "openai"),
    "anthropic": capabilities_of(None, "anthropic"),
}


@settings(max_examples=scaled(60))
@given(values)
def test_anything_at_all_can_be_judged(value: Json) -> None:
    for format, caps in CAREFUL.items():
        for messages in (value, [value], [{"role": "user", "content": value}]):
            validate(format, messages, system=value, caps=caps)
        validate(format, [{"role": "assistant", "content": [value], "tool_calls": value}])
        validate(format, [{"role": "assistant", "tool_calls": [value], "function_call": value}])


@settings(max_examples=scaled(60))
@given(openai_messages, anthropic_messages)
def test_messages_of_either_format_can_be_judged_by_both(first: Wire, second: Wire) -> None:
    for format, caps in CAREFUL.items():
        validate(format, [first, second], caps=caps)
