"""The conversation of the tour, read from the package.

A file is one conversation of OpenAI messages, so that ``holdfast replay`` reads it as well, with
the questions that a later session is asked. What ``found_if`` names must be in the answer.

Promise: both languages have the same parts, and every call has its result
(``tests/doors/test_demo.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from holdfast.cli.speech import Language
from holdfast.types import Json

__all__ = ["WINDOW", "Exchange", "Question", "Script", "file_of", "script"]

WINDOW: Final = 8_000
"""What the model of the tour can read: small, so that there is something to see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a new session is asked."""

    ask: str
    found_if: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What the user said, and every call of the model until its answer."""

    said: str
    calls: tuple[tuple[tuple[Json, ...], Json], ...]
    """What came in before each call, and what the model said to it."""

    @property
    def tools(self) -> tuple[str, ...]:
        called = [each for _, answer in self.calls for each in answer.get("tool_calls") or ()]
        return tuple(dict.fromkeys(each["function"]["name"] for each in called))


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    session: str
    next_session: str
    who: str
    goal: str
    told: int
    """So many exchanges are over when the console opens; the next one fills the window."""
    messages: tuple[Json, ...]
    questions: tuple[Question, ...]

    def exchanges(self) -> Iterator[Exchange]:
        """The conversation, one exchange for each message of the user."""
        starts = [at for at, each in enumerate(self.messages) if each["role"] == "user"]
        for start, end in zip(starts, [*starts[1:], len(self.messages)], strict=True):
            part = self.messages[start:end]
            yield Exchange(said=part[0]["content"], calls=tuple(_calls(part)))


def _calls(part: Sequence[Json]) -> Iterator[tuple[tuple[Json, ...], Json]]:
    came: list[Json] = []
    for message in part:
        if message["role"] == "assistant":
            yield tuple(came), message
            came = []
        else:
            came.append(message)


def file_of(language: Language) -> Traversable:
    """Where the conversation is: a file that ``holdfast replay`` reads."""
    return files(__package__).joinpath("data", f"conversation.{language}.json")


def script(language: Language) -> Script:
    """The conversation in that language."""
    found = json.loads(file_of(language).read_text("utf-8"))
    return Script(
        session=found["session"],
        next_session=found["next"],
        who=found["who"],
        goal=found["goal"],
        told=found["told"],
        messages=tuple(found["messages"]),
        questions=tuple(Question(**each) for each in found["questions"]),
    )
