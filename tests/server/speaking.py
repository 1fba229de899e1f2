"""A model for the console's tests: it is heard word by word, uses tools, saves what it read.

What it answers depends only on what it was told, so a test may ask it anything in any order. It can
be held: before its first word (``let_speak``) and before it saves (``let_save``), so that what a
person sees meanwhile is seen for certain and not by luck.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from threading import Event
from typing import Final

from holdfast.errors import ModelUnavailable
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.types import Message, Text, ToolCall, Usage

__all__ = ["CHATTY", "NAME", "WINDOW", "Speaker"]

NAME: Final = "desk:speaker"
WINDOW: Final = 12_000
CHATTY: Final = "Tell me everything about"
"""A message that begins so gets a long answer: a few of them fill the window."""
_POLL: Final = 0.01
_KEPT: Final = re.compile(r"(?:Remember that|We decided|My \w+|记住)[^\n.。]{8,200}[.。]")


def _open() -> Event:
    gate = Event()
    gate.set()
    return gate


@dataclass
class Speaker:
    """Answers with what it heard. ``say`` overrides the next answers, one after another."""

    name: str = NAME
    traits: Traits = field(
        default_factory=lambda: Traits(window=WINDOW, input_price=3.0, output_price=15.0)
    )
    say: list[str | Message | Exception] = field(default_factory=list)
    let_speak: Event = field(default_factory=_open)
    let_save: Event = field(default_factory=_open)
    saving: Event = field(default_factory=Event)
    """Set as soon as it was asked to save."""
    requests: int = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        """A silent turn that saves what the user wanted kept, or an account of earlier turns."""
        self.saving.set()
        await _through(self.let_save)
        if not request.tools:
            return _reply(
                request, Message.of("assistant", "They planned the move of the billing service.")
            )
        if any(each.tool_results for each in request.messages[-2:]):
            return _reply(request, Message.of("assistant", "NO_REPLY"))
        kept = list(dict.fromkeys(_worth_keeping(request)))[-8:]
        if not kept:
            return _reply(request, Message.of("assistant", "NO_REPLY"))
        memories = [{"text": text, "kind": "W"} for text in kept]
        call = ToolCall(id="keep", name="memory_retain", arguments={"memories": memories})
        return _reply(request, Message(role="assistant", parts=(Text(text="Saving."), call)))

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        self.requests += 1
        await _through(self.let_speak)
        answer = self.say.pop(0) if self.say else _answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Message):
            yield _reply(request, answer)
            return
        for word in answer.split(" "):
            yield f"{word} "
            await asyncio.sleep(0)
            await _through(self.let_speak)
        yield _reply(request, Message.of("assistant", answer))


async def _through(gate: Event) -> None:
    while not gate.is_set():  # noqa: ASYNC110 - it is opened by another thread
        await asyncio.sleep(_POLL)


def _reply(request: ModelRequest, message: Message) -> ModelReply:
    """With what it would have cost: four characters a token, tools included."""
    read = sum(len(str(each)) for each in request.tools) + len(request.system or "")
    read += sum(len(each.text) for each in request.messages)
    return ModelReply(
        message=message,
        usage=Usage(input_tokens=read // 4, output_tokens=len(message.text) // 4 + 1),
    )


def _worth_keeping(request: ModelRequest) -> list[str]:
    """The sentences that ask for it, wherever in the request they stand: a flush may quote them."""
    said = "\n".join(each.text for each in request.messages if each.role == "user")
    return _KEPT.findall(said)


def _answer(request: ModelRequest) -> str | Message | Exception:
    last = request.messages[-1]
    if last.tool_results:
        return "I looked it up: see above."
    asked = next(
        each.text
        for each in reversed(request.messages)
        if each.role == "user" and not each.text.startswith("⟦recalled")
    )
    if asked.startswith("Look up"):
        call = ToolCall(id="look", name="memory_search", arguments={"query": asked[8:]})
        return Message(role="assistant", parts=(call,))
    if asked.startswith("Fail"):
        return ModelUnavailable("The desk is closed.", hint="Try again tomorrow.")
    if CHATTY in asked:
        subject = asked.partition(CHATTY)[2].strip(" .?") or "it"
        return "\n\n".join(f"Paragraph {n} about {subject}: {_FILLER}" for n in range(1, 13))
    return f"Understood: {asked}"


_FILLER: Final = (
    "the service was moved step by step, first the readers, then the writers, and at each step "
    "the numbers of the day before were compared with those of the new machine until they agreed."
)
