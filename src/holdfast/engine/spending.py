"""What the engine spends by itself: flushes, summaries, and what a day may cost.

Every use of a model in the background is a line of ``spending.jsonl`` in the home, whichever
process made it; ``cost.daily_limit`` is compared with the sum of the user's day. Beyond it
nobody is asked: rules take over, and an event says so once a day.

Promise: a day's calls of all processes add up, also after a crash; a limit of 0 asks no model
at all. What is not known is not taken for nothing: a call without an answer is booked as it was
asked, under a limit a model without a price costs what most do, and while the ledger cannot be
read no model is asked (``tests/engine/test_spending.py``).
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from holdfast.engine.replies import malformed
from holdfast.errors import HoldfastError
from holdfast.events import CostLimitReached
from holdfast.ports import Model, ModelReply, ModelRequest, Traits, traits_of
from holdfast.types import Json, Message, Usage

if TYPE_CHECKING:
    from holdfast.engine.rooms import Rooms

__all__ = ["SPENDING", "Metered", "Spending", "Spent"]

SPENDING: Final = "spending.jsonl"

Price = Callable[[Message | str], int]
"""Tokens of a message or a text."""

_INPUT_PRICE: Final = 3.0
_OUTPUT_PRICE: Final = 15.0
"""US dollars per million tokens of a hosted model of the middle class."""

log = logging.getLogger("holdfast.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What some calls of models cost."""

    dollars: float = 0.0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            dollars=self.dollars + other.dollars,
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class Spending:
    """The ledger of one home."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._told: str | None = None
        self._unread: str | None = None

    def note(self, what: str, model: str, spent: Spent) -> None:
        """Write down what some calls cost. A ledger that cannot be written costs no reply."""
        line = {
            "at": self._rooms.clock.now().isoformat(),
            "day": self._rooms.today().isoformat(),
            "what": what,
            "model": model,
            "calls": spent.calls,
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "usd": round(spent.dollars, 9),
        }
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        try:
            file = self._rooms.home.open_growing(SPENDING, create=True)
            try:
                file.lock()
                file.write_line(text.encode())
            finally:
                file.unlock()
                file.close()
        except HoldfastError as error:
            log.warning("what was spent is not written down: %s", error.message)

    def on(self, day: str) -> Spent:
        """What one day has cost so far."""
        return sum((spent for when, spent in self._lines() if when == day), Spent())

    def by_day(self) -> dict[str, Spent]:
        """What each day has cost, the oldest first."""
        days: dict[str, Spent] = {}
        for day, spent in self._lines():
            days[day] = days.get(day, Spent()) + spent
        return dict(sorted(days.items()))

    def _lines(self) -> Iterator[tuple[str, Spent]]:
        for raw in (self._rooms.home.read(SPENDING) or b"").splitlines():
            try:
                line: dict[str, Json] = json.loads(raw)
                spent = Spent(
                    dollars=float(line["usd"]),
                    calls=int(line["calls"]),
                    input_tokens=int(line["input_tokens"]),
                    output_tokens=int(line["output_tokens"]),
                )
                day = str(line["day"])
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                continue  # a line torn by a crash
            if math.isfinite(spent.dollars):
                yield day, spent

    def refusal(self, what: str) -> str | None:
        """Why no model may be asked in the background now; None if one may."""
        limit = self._rooms.settings.cost.daily_limit
        if limit is None:
            return None
        day = self._rooms.today().isoformat()
        try:
            spent = self.on(day).dollars
        except (HoldfastError, OSError) as error:
            return self._unknown(day, error)
        if spent < limit:
            return None
        is_news, self._told = self._told != day, day
        if is_news:
            self._rooms.tell(CostLimitReached, spent=round(spent, 6), limit=limit, what=what)
            self._rooms.notices.send(
                import_module("holdfast.engine.notify").Notice(
                    kind="cost_limit",
                    session="",
                    cycle=day,
                    numbers={"spent": round(spent, 4), "limit": limit},
                )
            )
        return f"${spent:.2f} of ${limit:.2f} for today are spent (cost.daily_limit)"

    def _unknown(self, day: str, error: Exception) -> str:
        """Beyond the limit or not: without the ledger nobody can say, and money is not risked."""
        is_news, self._unread = self._unread != day, day
        if is_news:
            why = error.message if isinstance(error, HoldfastError) else str(error)
            log.warning("models are not asked: what was spent cannot be read: %s", why)
        return f"what was spent today is not known: {SPENDING} cannot be read"

    def metered(self, model: Model, price: Price) -> Metered:
        """The model with a meter that counts as the limit wants it."""
        limited = self._rooms.settings.cost.daily_limit is not None
        return Metered(model, price=price, guess=limited)


def _length(text: Message | str) -> int:
    return len(text if isinstance(text, str) else text.text) // 4


class Metered:
    """A model, and what its calls have cost so far.

    A call is booked when it begins, as large as it was asked: one that never comes back may be
    charged all the same. The answer corrects it. With ``guess`` a hosted model that names no
    price is counted at a usual one.
    """

    def __init__(self, model: Model, *, price: Price = _length, guess: bool = False) -> None:
        self._model = model
        self._price = price
        self.name = model.name
        self.traits = traits_of(model)
        self._priced = _with_price(self.traits) if guess else self.traits
        self._booked: list[Spent] = []

    @property
    def spent(self) -> Spent:
        return sum(self._booked.copy(), Spent())

    async def complete(self, request: ModelRequest) -> ModelReply:
        asked = _asked(request, self._price)
        number = len(self._booked)
        self._booked.append(self._cost(Usage(input_tokens=asked)))
        reply = await self._model.complete(request)
        if malformed(reply) is None:
            said = Usage(input_tokens=asked, output_tokens=self._price(reply.message))
            self._booked[number] = self._cost(reply.usage or said)
        return reply

    def _cost(self, usage: Usage) -> Spent:
        return Spent(
            dollars=self._priced.cost(usage),
            calls=1,
            input_tokens=usage.context_tokens,
            output_tokens=usage.output_tokens,
        )


def _asked(request: ModelRequest, price: Price) -> int:
    """About how many tokens a request has."""
    given: list[Message | str] = [request.system or "", *request.messages]
    if request.tools:
        given.append(json.dumps([dict(each) for each in request.tools], default=str))
    return sum(price(each) for each in given)


def _with_price(traits: Traits) -> Traits:
    if traits.is_local or traits.input_price or traits.output_price:
        return traits
    return replace(traits, input_price=_INPUT_PRICE, output_price=_OUTPUT_PRICE)
