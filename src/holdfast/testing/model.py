"""A model that answers from a script."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import HoldfastError
from holdfast.ports import ModelReply, ModelRequest
from holdfast.types import Message

__all__ = ["ScriptedModel"]


class ScriptedModel:
    """Gives the scripted answers in order; raises the scripted errors; remembers what it was asked.

    >>> model = ScriptedModel(["hello", TimeoutError("too slow")])
    """

    name = "scripted"

    def __init__(self, answers: Iterable[str | Message | ModelReply | Exception]) -> None:
        self._answers = list(answers)
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        if not self._answers:
            raise HoldfastError(
                f"ScriptedModel was asked {len(self.requests)} times but had fewer answers.",
                hint="Add answers to the script, or find out who asks once too often.",
            )
        match self._answers.pop(0):
            case Exception() as error:
                raise error
            case str() as text:
                return ModelReply(message=Message.of("assistant", text))
            case Message() as message:
                return ModelReply(message=message)
            case reply:
                return reply
