"""How many tokens a text, a message or a tool costs: one estimator for every decision.

Promise: calibrated by the provider's reports it does not materially undercount, in any of
fourteen kinds of text, and stays within about a third above (``tests/context/test_tokens.py``
measures it against real tokenizers). The same text always costs the same; a text seen before
costs a dictionary lookup, and the memory for that is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Final, NamedTuple

from holdfast.context.tokens.calibration import Calibration
from holdfast.context.tokens.features import features
from holdfast.context.tokens.images import image_tokens
from holdfast.context.tokens.weights import FAMILIES, weights_of
from holdfast.errors import UsageError
from holdfast.ports import TokenCounter
from holdfast.text import cut
from holdfast.types import Image, Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

__all__ = ["TokenEstimator", "Weight"]

_MESSAGE: Final = 4  # role and separators around every message
# Around a call and a result: names of fields, ids, brackets. OpenAI writes them short; servers of
# other models, which we may not know, put the JSON with its ids into the prompt.
_CALL: Final[Mapping[str, int]] = {"o200k": 8, "cl100k": 8}
_RESULT: Final[Mapping[str, int]] = {"o200k": 6, "cl100k": 6}
_CALL_ELSEWHERE: Final = 28
_RESULT_ELSEWHERE: Final = 20
_TOOL: Final = 8
_TOOLS: Final[Mapping[str, int]] = {"claude": 350}  # a system text the provider adds for tools
_SHORT: Final = 0.5  # a text of any kind may cost this much more than its features say
_PIECE: Final = 32_768  # characters a real tokenizer is given at a time


class Weight(NamedTuple):
    """What the texts of a message weigh, and the tokens its images cost."""

    said: float
    images: int


class TokenEstimator:
    """Counts with the weights of one tokenizer family, or with a real tokenizer if given one."""

    __slots__ = (
        "_call",
        "_counter",
        "_memo",
        "_result",
        "_wanted",
        "_weights",
        "factor",
        "family",
    )

    def __init__(
        self,
        family: str = "default",
        *,
        counter: TokenCounter | None = None,
        factor: float = 1.0,
        _memo: _Memo | None = None,
    ) -> None:
        if family not in FAMILIES:
            raise UsageError(
                f"There is no tokenizer family {family!r}.",
                hint=f"use one of {', '.join(FAMILIES)}, or family_of(model_name)",
            )
        self.family = family
        self.factor = factor
        self._counter = counter
        self._weights = weights_of(family)
        self._call = _CALL.get(family, _CALL_ELSEWHERE)
        self._result = _RESULT.get(family, _RESULT_ELSEWHERE)
        self._wanted = frozenset(self._weights)
        self._memo = _memo if _memo is not None else _Memo()

    def calibrated(self, calibration: Calibration) -> TokenEstimator:
        """This estimator with that factor; what it has counted so far is shared."""
        return TokenEstimator(
            self.family, counter=self._counter, factor=calibration.factor, _memo=self._memo
        )

    def text(self, text: str) -> int:
        return ceil(self._text(text) * self.factor) if text else 0

    def message(self, message: Message) -> int:
        """Every part, and what the provider writes around them."""
        return self.tokens_of(self.weigh(message))

    def weigh(self, message: Message) -> Weight:
        """What a message costs before calibration: does not change when that does."""
        said = _MESSAGE + sum(self._part(part) for part in message.parts)
        return Weight(said, sum(map(self.image, _images(message.parts))))

    def tokens_of(self, weight: Weight) -> int:
        return ceil(weight.said * self.factor) + weight.images

    @property
    def scale(self) -> object:
        """The same object for estimators whose weights are the same."""
        return self._memo

    def messages(self, messages: Sequence[Message]) -> int:
        return sum(map(self.message, messages))

    def price(self, said: Message | str) -> int:
        """Of a message or a text, whichever it is."""
        return self.text(said) if isinstance(said, str) else self.message(said)

    def tools(self, tools: Sequence[Mapping[str, Json]]) -> int:
        """Tools by their JSON schemas, as providers bill them: as part of the prompt."""
        if not tools:
            return 0
        said = sum(_TOOL + self._text(_json(tool)) for tool in tools)
        return ceil(said * self.factor) + _TOOLS.get(self.family, 0)

    def image(self, image: Image) -> int:
        return image_tokens(image)

    def _part(self, part: Part) -> float:
        match part:
            case Text():
                return self._text(part.text)
            case Thinking():  # sealed reasoning is billed though only its seal can be read
                return self._text(part.text or part.signature or "")
            case ToolCall():
                arguments = part.arguments
                written = arguments if isinstance(arguments, str) else _json(arguments)
                return self._call + self._text(part.name) + self._text(written)
            case ToolResult():
                return self._result + sum(self._part(inner) for inner in part.content)
            case Opaque():
                return self._text(_json(part.data))
            case Image():
                return 0  # weighed apart: the factor is about text

    def _text(self, text: str) -> float:
        known = self._memo.get(text)
        if known is None:
            known = self._count(text) if self._counter else self._estimate(text)
            self._memo.put(text, known)
        return known

    def _estimate(self, text: str) -> float:
        if not text:
            return 0
        weights = self._weights
        found = features(text, self._wanted)
        return _SHORT + sum(weights.get(name, 0) * count for name, count in found.items())

    def _count(self, text: str) -> float:
        assert self._counter is not None
        return sum(map(self._counter.count, _pieces(text)))


class _Memo:
    """The counts of texts seen lately: two generations, the older of which is dropped whole."""

    __slots__ = ("_older", "_room", "_young")

    MOST_CHARACTERS: Final = 8_000_000  # per generation, with this much again for every entry:
    PER_ENTRY: Final = 100

    def __init__(self) -> None:
        self._young: dict[str, float] = {}
        self._older: dict[str, float] = {}
        self._room = self.MOST_CHARACTERS

    def get(self, text: str) -> float | None:
        known = self._young.get(text)
        if known is None and (known := self._older.get(text)) is not None:
            self.put(text, known)
        return known

    def put(self, text: str, count: float) -> None:
        self._room -= len(text) + self.PER_ENTRY
        if self._room < 0:
            self._older, self._young = self._young, {}
            self._room = self.MOST_CHARACTERS - len(text)
        self._young[text] = count


def _images(parts: Sequence[Part]) -> Iterator[Image]:
    for part in parts:
        if isinstance(part, Image):
            yield part
        elif isinstance(part, ToolResult):
            yield from _images(part.content)


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that a tokenizer counts in linear time; they sum to a little more."""
    start = 0
    while len(text) - start > _PIECE:
        piece = cut(text[start : start + _PIECE + 1], _PIECE) or text[start : start + _PIECE]
        yield piece
        start += len(piece)
    yield text[start:]


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
