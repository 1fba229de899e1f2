"""What models cost: one ledger for replies, flushes and summaries, and what a day may cost.

Every use of a model is a line of ``spending.jsonl`` in the home, whichever process made it: the
replies that were committed with the provider's count, and what the engine asks by itself.
``cost.daily_limit`` is compared with the latter, of the user's day. Beyond it nobody is asked:
rules take over, and an event says so once a day. A reply is never refused.

Promise: a day's calls of all processes add up, also after a crash; a limit of 0 asks no model
at all. What is not known is not taken for nothing: a call without an answer is booked as it was
asked, under a limit a model without a price costs what most do, a reply without a price is
counted as such, and while the ledger cannot be read no model is asked
(``tests/engine/test_spending.py``).
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal

from holdfast.engine.replies import malformed
from holdfast.errors import HoldfastError
from holdfast.events import CostLimitReached
from holdfast.ports import Model, ModelReply, ModelRequest, Traits, traits_of
from holdfast.types import Json, Message, Usage

if TYPE_CHECKING:
    from holdfast.engine.rooms import Rooms

__all__ = ["SPENDING", "Booked", "By", "Metered", "Spending", "Spent"]

SPENDING: Final = "spending.jsonl"
REPLY: Final = "reply"

By = Literal["day", "session", "model", "what"]

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
    """All that was read, the cached part included."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    unpriced: int = 0
    """Calls of models whose price nobody here knows: they are not in ``dollars``."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in _SUMS}
        )


_SUMS: Final = fields(Spent)
_COUNTS: Final = tuple(each.name for each in _SUMS if each.name not in ("dollars", "unpriced"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Booked:
    """One line of the ledger."""

    day: str
    what: str
    model: str
    session: str | None
    spent: Spent

    def key(self, by: By) -> str:
        return str(getattr(self, by) or "")


class Spending:
    """The ledger of one home."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._told: str | None = None
        self._unread: str | None = None
        self._prices: dict[str, Traits | None] = {}

    def note(self, what: str, model: str, spent: Spent, *, session: str | None = None) -> None:
        """Write down what some calls cost. A ledger that cannot be written costs no reply."""
        line: dict[str, Json] = {
            "at": self._rooms.clock.now().isoformat(),
            "day": self._rooms.today().isoformat(),
            "what": what,
            "model": model,
            **({} if session is None else {"session": session}),
            **{name: getattr(spent, name) for name in _COUNTS},
            "usd": None if spent.unpriced else round(spent.dollars, 9),
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

    def note_reply(
        self, name: str | None, model: Model | None, usage: Usage, *, session: str | None
    ) -> None:
        """Write down what a committed reply cost: by what its model says of its price, or, of a
        model that the host asked itself, when somebody wants to know."""
        spent = _spent(usage, None if model is None else traits_of(model))
        self.note(REPLY, name or "unknown", spent, session=session)

    def on(self, day: str) -> Spent:
        """What one day has cost so far, beside the replies."""
        booked = (each for each in self.lines() if each.day == day and each.what != REPLY)
        return sum((each.spent for each in booked), Spent())

    def by_day(self) -> dict[str, Spent]:
        """What each day has cost beside the replies, the oldest first."""
        return _added("day", (each for each in self.lines() if each.what != REPLY))

    def by(self, by: By, *, since: str | None = None) -> dict[str, Spent]:
        """What everything cost, replies included, by day, session, model or what it was for."""
        return _added(by, (each for each in self.lines() if since is None or each.day >= since))

    def lines(self) -> Iterator[Booked]:
        """Every line that can be read, the oldest first."""
        for raw in (self._rooms.home.read(SPENDING) or b"").splitlines():
            try:
                line: dict[str, Json] = json.loads(raw)
                model = str(line["model"])
                counts = {name: int(line.get(name, 0)) for name in _COUNTS}
                booked = Booked(
                    day=str(line["day"]),
                    what=str(line["what"]),
                    model=model,
                    session=line.get("session"),
                    spent=self._priced(model, Spent(**counts), line["usd"]),
                )
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                continue  # a line torn by a crash
            if math.isfinite(booked.spent.dollars):
                yield booked

    def _priced(self, model: str, counted: Spent, dollars: Json) -> Spent:
        if dollars is not None:
            return replace(counted, dollars=float(dollars))
        if model not in self._prices:
            self._prices[model] = _table_price(model)
        known = self._prices[model]
        if known is None:
            return replace(counted, unpriced=counted.calls)
        return replace(counted, dollars=known.cost(_usage(counted)))

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
        self._is_guess = guess
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
        spent = _spent(usage, self._priced)
        return replace(spent, unpriced=0) if self._is_guess else spent


def _spent(usage: Usage, traits: Traits | None) -> Spent:
    """One call: what it cost, if that is known."""
    is_known = traits is not None and (traits.is_local or _has_price(traits))
    return Spent(
        dollars=traits.cost(usage) if traits is not None else 0.0,
        calls=1,
        input_tokens=usage.context_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        unpriced=0 if is_known else 1,
    )


def _table_price(model: str) -> Traits | None:
    """What a model costs that somebody else asked, if the table of prices knows it."""
    found = import_module("holdfast.models.prices").price_of(model)
    if found is None:
        return None
    return Traits(
        input_price=found.input,
        output_price=found.output,
        cache_read_price=found.cache_read,
        cache_write_price=found.cache_write,
    )


def _usage(spent: Spent) -> Usage:
    cached = spent.cache_read_tokens + spent.cache_write_tokens
    return Usage(
        input_tokens=max(0, spent.input_tokens - cached),
        output_tokens=spent.output_tokens,
        cache_read_tokens=spent.cache_read_tokens,
        cache_write_tokens=spent.cache_write_tokens,
    )


def _added(by: By, booked: Iterator[Booked]) -> dict[str, Spent]:
    sums: dict[str, Spent] = {}
    for each in booked:
        key = each.key(by)
        sums[key] = sums.get(key, Spent()) + each.spent
    return dict(sorted(sums.items()))


def _asked(request: ModelRequest, price: Price) -> int:
    """About how many tokens a request has."""
    given: list[Message | str] = [request.system or "", *request.messages]
    if request.tools:
        given.append(json.dumps([dict(each) for each in request.tools], default=str))
    return sum(price(each) for each in given)


def _has_price(traits: Traits) -> bool:
    return bool(traits.input_price or traits.output_price)


def _with_price(traits: Traits) -> Traits:
    if traits.is_local or _has_price(traits):
        return traits
    return replace(traits, input_price=_INPUT_PRICE, output_price=_OUTPUT_PRICE)
