"""The weights of messages that come again: each is weighed once.

A request is priced several times per turn, and all but its end was priced before. Messages are
recognised by being the same object, so nothing has to be compared, and what is no longer asked
for is let go of: at most the messages of the last call are kept.

Promise: what it gives is what the estimator gives (``tests/context/test_tokens.py``).
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.context.tokens.estimator import TokenEstimator, Weight
from holdfast.types import Message

__all__ = ["Scales"]


class Scales:
    """Weighs messages. Safe to use from several threads: each call leaves a whole new memory."""

    __slots__ = ("_known", "weighed")

    def __init__(self) -> None:
        self._known: tuple[object, dict[int, tuple[Message, Weight]]] = (None, {})
        self.weighed = 0
        """How many messages had to be weighed so far."""

    def weigh(self, messages: Iterable[Message], estimator: TokenEstimator) -> list[Weight]:
        """The weight of each message."""
        scale, known = self._known
        if scale is not estimator.scale:
            known = {}
        # The message is kept with its weight: as long as it is, no other can have its place.
        kept: dict[int, tuple[Message, Weight]] = {}
        weights: list[Weight] = []
        for message in messages:
            place = id(message)
            found = known.get(place)
            if found is None:
                self.weighed += 1
                found = (message, estimator.weigh(message))
            kept[place] = found
            weights.append(found[1])
        self._known = (estimator.scale, kept)
        return weights
