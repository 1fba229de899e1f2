"""Whether a model can be trusted with a flush of its own: tried once, on one obvious fact.

Not every model that takes tools calls them. Small ones describe the call, say that there is
nothing to keep, or repeat the question; a flush by such a model would save nothing and take its
time. So a model that nobody can vouch for gets the prompt of a real flush over a chat of three
lines, and has to call ``memory_retain``, or write that call as text, with the fact in it.

Promise: one request, bounded in what it may cost; a yes needs a call whose text has at least
three content words of the fact; no answer at all is neither yes nor no
(``tests/context/test_flush_capability.py``). Pure: a generator.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias

from holdfast.context.compaction.flatten import fenced
from holdfast.context.flush.agent import WRITING, tool_name
from holdfast.context.flush.claims import words_of
from holdfast.context.flush.parsing import Asked, arguments_of, asked_in, statements_in
from holdfast.context.flush.prompting import Language, instruction, system_text
from holdfast.context.flush.silence import is_silent
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.types import Json, Message

__all__ = ["FACTS", "Capability", "Testing", "capability_test"]

Testing: TypeAlias = Generator[ModelRequest, ModelReply | ModelFailure, "Capability"]

_WANTED: Final = "memory_retain"
_WORDS: Final = 3
"""Content words of the fact that a call must have kept."""
_MAX_TOKENS: Final = 160

FACTS: Final[Mapping[Language, str]] = {
    "en": "My sister Ingrid moved to Lisbon in March and works as a nurse there.",
    "zh": "我妹妹林晓三月搬到了青岛，在那里当护士。",
}
_ASKED: Final[Mapping[Language, str]] = {"en": "What is new?", "zh": "最近有什么新鲜事？"}
_HEARD: Final[Mapping[Language, str]] = {"en": "How nice!", "zh": "真好！"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """Whether the model can; None if it gave no answer from which one could tell."""

    can: bool | None
    reason: str


def capability_test(
    *, tools: Sequence[Mapping[str, Json]], language: Language, day: date
) -> Testing:
    """Ask the model once, as a flush would; of the ``tools`` of a flush it gets the one that it
    has to call, so that reading them costs little."""
    chat = (
        f"[#1 assistant] {_ASKED[language]}",
        f"[#2 user] {FACTS[language]}",
        f"[#3 assistant] {_HEARD[language]}",
    )
    text = fenced("\n".join(chat), "conversation")
    reply = yield ModelRequest(
        system=system_text(None, language, day=day),
        tools=tuple(each for each in tools if tool_name(each) == _WANTED),
        messages=(Message.of("user", f"{text}\n\n{instruction(None, language, day=day)}"),),
        max_tokens=_MAX_TOKENS,
    )
    if not isinstance(reply, ModelReply):
        return Capability(can=None, reason=reply.reason)
    return _judged(reply, language)


def _judged(reply: ModelReply, language: Language) -> Capability:
    calls = [
        Asked(name=each.name, arguments=arguments_of(each.arguments))
        for each in reply.message.tool_calls
    ] or asked_in(reply.message.text, allowed=WRITING)
    writing = [each for each in calls if each.name in WRITING and each.arguments is not None]
    if not writing:
        did = "called another" if calls else "called none"
        said = "said there is nothing to keep" if is_silent(reply.message.text) else did
        return Capability(can=False, reason=f"asked to save a fact with a tool, it {said}")
    kept = " ".join(
        statement.text for each in writing for statement in statements_in(each.arguments or {})
    )
    shared = words_of(FACTS[language]) & words_of(kept)
    if len(shared) < _WORDS:
        return Capability(can=False, reason="asked to save a fact with a tool, it saved another")
    return Capability(can=True, reason="it saved a fact with a tool")
