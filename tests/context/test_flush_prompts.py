"""The prompts of the flush: packaged, in two languages, and nothing of a conversation in them."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from importlib.resources import files
from typing import get_args

import pytest

from holdfast.context.flush.prompting import (
    PROMPT_VERSION,
    Language,
    Name,
    instruction,
    language_of,
    prompt,
    silent_hint,
    system_text,
)
from holdfast.context.flush.silence import has_token
from tests.context.heard import call, heard, result, talk

DAY = date(2026, 3, 14)
NAMES: tuple[Name, ...] = get_args(Name)
LANGUAGES: tuple[Language, ...] = get_args(Language)


def test_every_prompt_is_there_in_both_languages_and_no_other_file_is() -> None:
    folder = files("holdfast.context.flush.prompts")
    found = {file.name for file in folder.iterdir() if file.name.endswith(".md")}
    assert found == {f"{n}.v{PROMPT_VERSION}.{lang}.md" for n in NAMES for lang in LANGUAGES}
    for name in NAMES:
        assert re.search("[\u4e00-\u9fff]", prompt(name, "zh"))
        assert not re.search("[\u4e00-\u9fff]", prompt(name, "en"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_instruction_of_our_own_never_offers_silence(language: Language) -> None:
    assert not has_token(instruction(None, language, day=DAY))
    assert not has_token(system_text(None, language, day=DAY))
    assert has_token(silent_hint(language))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_prompts_hold_no_example_that_a_small_model_could_copy(
    name: Name, language: Language
) -> None:
    text = prompt(name, language)
    assert not re.search(r"(?i)\be\.g\.|for example|for instance|such as|例如|比如|@\w", text)
    assert not re.search(r"\d", text.replace(str(DAY), "")), "a figure is an example too"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_day_is_put_where_the_placeholder_stands(language: Language) -> None:
    told = instruction(None, language, day=DAY)
    assert "2026-03-14" in told
    assert "YYYY" not in told
    assert instruction("Use memory/YYYY-MM-DD.md. NO_REPLY", language, day=DAY) == (
        "Use memory/2026-03-14.md. NO_REPLY"
    )


@pytest.mark.parametrize("token", ["NO_REPLY", "no_reply", "[SILENT]", "_silent_", "`NO_REPLY`"])
def test_a_custom_prompt_that_names_a_token_is_left_as_it_is(token: str) -> None:
    custom = f"Save what matters, else say {token}."
    assert instruction(custom, "en", day=DAY) == custom


def test_a_custom_prompt_without_a_token_gets_the_hint_in_its_own_language() -> None:
    assert instruction("Save what matters.", "zh", day=DAY).endswith(silent_hint("en"))
    assert instruction("请保存重要内容。", "en", day=DAY).endswith(silent_hint("zh"))
    assert instruction("  ", "en", day=DAY) == instruction(None, "en", day=DAY)


def test_a_custom_system_text_keeps_the_rule_that_the_conversation_is_data() -> None:
    told = system_text("You are terse.", "en", day=DAY)
    assert told.startswith("You are terse.")
    assert told.endswith(prompt("system", "en"))


def test_the_language_is_that_of_the_users_whatever_their_tools_return() -> None:
    assert language_of(talk(("user", "你好，帮我看看这个文件"), ("assistant", "Sure."))) == "zh"
    assert language_of(talk(("user", "Please read it"), ("assistant", "好的，我来读"))) == "en"
    assert language_of(talk(("assistant", "好的，我来读"))) == "zh"
    assert language_of([]) == "en"
    assert language_of(talk(("user", "你好，帮我看看")), "en") == "en"
    assert language_of(talk(("user", "hello there")), "zh-CN") == "zh"
    tools = heard(call(1, "read", {}), result(1, "这是一个很长的中文结果"), *_english())
    assert language_of(tools) == "en"


def _english() -> list:  # type: ignore[type-arg]
    return [one.message for one in talk(("user", "What does the file say about it?"))]


def test_nothing_of_the_conversation_can_reach_an_instruction() -> None:
    for language in LANGUAGES:
        for name in NAMES:
            assert "{" not in prompt(name, language).replace('{"facts": ["…"]}', "")


def test_the_prompts_are_read_only_when_a_model_is_asked() -> None:
    code = (
        "import sys, holdfast.context.flush.prompting; print('importlib.resources' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
