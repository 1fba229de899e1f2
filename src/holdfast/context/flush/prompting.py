"""The words with which a model is asked to save memories: ours or the user's, in two languages.

The default prompts are files of ``prompts``. Nothing of a conversation is ever put into them:
what they are filled with is a date. A prompt of the user's own gets the hint for the silent reply
if it names no silent token; our own first instruction does not offer one, because weak models
take the offer at once. It is offered with the first result of a tool.

Promise: ``tests/context/test_flush_prompts.py``. Pure but for reading the package's own files.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Final, Literal

from holdfast.context.extract import Heard
from holdfast.context.extract.heard import is_chinese
from holdfast.context.flush.silence import has_token
from holdfast.fencing import without_fenced
from holdfast.types import Text

__all__ = [
    "PROMPT_VERSION",
    "Language",
    "instruction",
    "language_of",
    "prompt",
    "silent_hint",
    "system_text",
]

Language = Literal["en", "zh"]
Name = Literal["agent", "system", "extract", "rewrite", "silent"]

PROMPT_VERSION: Final = 1
_DATE: Final = "YYYY-MM-DD"
_SPOKEN: Final = 20  # messages that decide on the language
_BEGINNING: Final = 200


@cache
def prompt(name: Name, language: Language) -> str:
    """A default prompt, as it stands in its file."""
    # Loaded by the first flush of a model: it brings much along that nothing else needs.
    folder = import_module("importlib.resources").files("holdfast.context.flush.prompts")
    text: str = (folder / f"{name}.v{PROMPT_VERSION}.{language}.md").read_text("utf-8")
    return text.strip()


def language_of(heard: Sequence[Heard], configured: str | None = None) -> Language:
    """The language to ask in: the configured one, else that of the users, else of whoever speaks.

    The newest messages decide: that is the language in which memories will be read.
    """
    if configured and configured != "auto":
        return "zh" if configured.lower().startswith("zh") else "en"
    for role in ("user", "assistant"):
        said = (_beginning(one) for one in reversed(heard) if one.message.role == role)
        if words := " ".join(islice(filter(None, said), _SPOKEN)):
            return "zh" if is_chinese(words) else "en"
    return "en"


def _beginning(one: Heard) -> str:
    texts = (part.text for part in one.message.parts if isinstance(part, Text))
    return next((without_fenced(text)[:_BEGINNING] for text in texts if text.strip()), "")


def instruction(custom: str | None, language: Language, *, day: date) -> str:
    """The instruction of the flush turn. ``custom`` is the user's prompt, if there is one."""
    if custom is None or not custom.strip():
        return _dated(prompt("agent", language), day)
    given = _dated(custom.strip(), day)
    if has_token(given):
        return given
    return f"{given}\n\n{prompt('silent', 'zh' if is_chinese(given) else 'en')}"


def system_text(custom: str | None, language: Language, *, day: date) -> str:
    """The system text of the turn where it has its own; the rule that all is data is added."""
    own = prompt("system", language)
    if custom is None or not custom.strip():
        return _dated(own, day)
    return f"{_dated(custom.strip(), day)}\n\n{own}"


def silent_hint(language: Language) -> str:
    """How to say that nothing is left; offered when something has been stored."""
    return prompt("silent", language)


def _dated(text: str, day: date) -> str:
    return text.replace(_DATE, day.isoformat())
