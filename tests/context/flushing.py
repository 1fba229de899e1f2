"""Driving the model modes of the flush in tests: a scripted model, and searches that are noted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, TypeAlias

from holdfast.context.extract import Heard
from holdfast.context.flush.agent import agent_flush
from holdfast.context.flush.found import Failed, Flushing, Found, MemorySearch
from holdfast.context.flush.prompting import instruction, system_text
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.redact import redact
from holdfast.types import Message, Part, Text, ToolCall

Answer: TypeAlias = ModelReply | ModelFailure | str | Callable[[ModelRequest], ModelReply]

DAY = date(2025, 5, 14)


def price(value: Message | str) -> int:
    """A token for four characters of whatever a message is made of."""
    if isinstance(value, str):
        return (len(value) + 3) // 4
    return 8 + sum(len(str(part)) for part in value.parts) // 4


def asks(name: str, arguments: Any, *, id: str = "c1", said: str = "") -> ModelReply:
    parts: tuple[Part, ...] = (ToolCall(id=id, name=name, arguments=arguments),)
    text = (Text(text=said),) if said else ()
    return ModelReply(message=Message(role="assistant", parts=(*text, *parts)))


def says(text: str, *, stop: str | None = None) -> ModelReply:
    return ModelReply(message=Message.of("assistant", text), stop_reason=stop)


def retains(*texts: str, id: str = "c1") -> ModelReply:
    return asks("memory_retain", {"memories": [{"text": text} for text in texts]}, id=id)


class Driven:
    """A flush that was driven to its end: its result, and everything that it asked for."""

    def __init__(self, work: Flushing, *answers: Answer, found: str = "nothing") -> None:
        self.requests: list[ModelRequest] = []
        self.searches: list[str] = []
        self.result = self._drive(work, list(answers), found)

    def _drive(self, work: Flushing, answers: list[Answer], found: str) -> Found | Failed:
        try:
            step = next(work)
            while True:
                if isinstance(step, MemorySearch):
                    self.searches.append(step.query)
                    step = work.send(found)
                    continue
                assert type(step) is ModelRequest, step
                self.requests.append(step)
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                if isinstance(answer, str):
                    answer = says(answer)
                step = work.send(answer(step) if callable(answer) else answer)
        except StopIteration as stop:
            result = stop.value
            assert isinstance(result, Found | Failed)
            return result

    @property
    def found(self) -> Found:
        assert isinstance(self.result, Found), self.result
        return self.result

    @property
    def failed(self) -> Failed:
        assert isinstance(self.result, Failed), self.result
        return self.result

    @property
    def texts(self) -> list[str]:
        return [line.text for line in self.found.lines]


TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("memory_write", "memory_retain", "memory_search")
]


def agent(heard: list[Heard], *answers: Answer, found: str = "nothing", **given: Any) -> Driven:
    language = given.setdefault("language", "en")
    settings: dict[str, Any] = {
        "prefix": None,
        "instruction": instruction(None, language, day=DAY),
        "system": system_text(None, language, day=DAY),
        "tools": TOOLS,
        "price": price,
        "window": 32_000,
        "redact": redact,
    }
    return Driven(agent_flush(heard=heard, **(settings | given)), *answers, found=found)
