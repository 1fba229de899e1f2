"""One look at a session, priced against the marks: what every decision of a turn starts from.

``Measurer`` looks, prices and says where the marks are. It changes nothing. What is promised of
the marks and of the projection is proved by ``tests/context/test_accounting.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.context.accounting import (
    SMALLEST_WINDOW,
    Breakdown,
    Budget,
    Projection,
    Reported,
    break_down,
    effective_window,
    make_budget,
    p95,
    project,
)
from holdfast.context.blocks import SYSTEM_ROLES, Block, PricedBlocks, is_user
from holdfast.context.tokens import Calibration, TokenEstimator
from holdfast.engine.rooms import Rooms
from holdfast.engine.turn.asking import Ask
from holdfast.errors import UsageError
from holdfast.models.windows import window_of
from holdfast.sessions.store import Look
from holdfast.sessions.transcript import Transcript
from holdfast.types import Message

_SPOKEN: Final = frozenset({"message", "pin"})
_DISBELIEF: Final = 6
_SMALL: Final = 2_000
"""Below this much nobody says by how much a count may differ: what a provider adds is in it."""

__all__ = ["Measured", "Measurer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One look at the session, priced."""

    look: Look
    blocks: tuple[Block, ...]
    budget: Budget
    fixed: int
    """Tokens of the request that are not in the view."""
    immovable: int
    """Those, the system text in the view, and the first and the newest message of the user:
    nothing can shrink them."""
    projection: Projection

    @property
    def projected(self) -> int:
        return self.projection.tokens

    def below(self, mark: str) -> str:
        """Why something is not due, in words."""
        return f"{self.projected:,} tokens is below {mark} ({getattr(self.budget, mark):,})"


class Measurer:
    """Looks at one session on behalf of one request."""

    def __init__(self, rooms: Rooms, transcript: Transcript, ask: Ask) -> None:
        self._rooms = rooms
        self._transcript = transcript
        self._ask = ask
        self.estimator: TokenEstimator = rooms.estimator(ask.model)
        self.added = 0
        """Tokens that repair adds to what is in the view, once that is known."""

    def measure(self) -> Measured:
        look = self._rooms.store.look(self._transcript)
        blocks = look.kept.get(PricedBlocks).of(look.view, self.estimator)
        settings = self._rooms.settings
        budget = make_budget(
            settings,
            window=self._window(settings.context.window),
            max_output=self._ask.max_output,
            growth=p95(_growths(blocks)),
        )
        fixed = self.outside + self.added
        immovable = fixed + sum(block.tokens for block in _immovable(blocks))
        return Measured(
            look=look,
            blocks=blocks,
            budget=budget.with_room_for(immovable),
            fixed=fixed,
            immovable=immovable,
            projection=self._project(look, blocks, fixed),
        )

    def _project(self, look: Look, blocks: Sequence[Block], fixed: int) -> Projection:
        estimated = project(blocks, fixed=fixed)
        reported = self._reported(look)
        if reported is None:
            return estimated
        found = project(blocks, fixed=fixed, reported=reported)
        is_alike = estimated.tokens <= found.tokens * _DISBELIEF
        if not is_alike or found.tokens > max(estimated.tokens, _SMALL) * _DISBELIEF:
            return estimated  # no tokenizer differs so much: the report is not about this request
        return replace(found, tokens=found.tokens + self.added)

    def _window(self, configured: int | None) -> int:
        given = self._ask.window
        if given is not None and given < SMALLEST_WINDOW:
            raise UsageError(
                f"A window of {given} tokens is too small to work in.",
                hint=f"Give at least {SMALLEST_WINDOW}.",
            )
        known = window_of(self._ask.model) if self._ask.model else None
        observed = self._ask.observed_window
        return effective_window(given or configured, known=known, observed=observed)

    @property
    def outside(self) -> int:
        """Tokens of the system argument and the tools."""
        return self._system(self.estimator) + self._tools

    @property
    def _tools(self) -> int:
        return self.estimator.tools(self._ask.tools)

    def _system(self, estimator: TokenEstimator) -> int:
        system = self._ask.whole_system
        return estimator.message(Message.of("system", system)) if system else 0

    def learn(self) -> None:
        """Calibrate by what the provider counted for the last request."""
        look = self._rooms.store.look(self._transcript)
        reported = self._reported(look)
        ids = [item.stands_for[0] for item in look.view.items]
        if reported is None or reported.entry not in ids:
            return
        plain = self.estimator.calibrated(Calibration())
        sent = [item.message for item in look.view.items[: ids.index(reported.entry) + 1]]
        estimated = plain.messages(sent) + self._system(plain) + plain.tools(self._ask.tools)
        name = self._transcript.name
        self._rooms.learn(
            self._ask.model, name, reported.entry, estimated=estimated, reported=reported.tokens
        )
        self.estimator = self._rooms.estimator(self._ask.model)

    def break_down(self, measured: Measured) -> Breakdown:
        """What the tokens are spent on."""
        return break_down(measured.blocks, system=self.outside - self._tools, tools=self._tools)

    def _reported(self, look: Look) -> Reported | None:
        """The provider's count, unless the view was edited after it."""
        reported = self._ask.reported
        if reported is None:
            return None
        for entry in reversed(look.entries):
            if entry.id == reported.entry:
                return reported
            if entry.type in {"prune", "compaction"}:
                return None
        return None


def _immovable(blocks: Sequence[Block]) -> list[Block]:
    ends = {block.entry for block in (*_first_spoken(blocks), *_first_spoken(blocks[::-1]))}
    return [
        block
        for block in blocks
        if block.item.message.role in SYSTEM_ROLES or block.item.stands_for[0] in ends
    ]


def _first_spoken(blocks: Sequence[Block]) -> list[Block]:
    """The first of these in which the user speaks."""
    for block in blocks:
        if block.item.kind in _SPOKEN and is_user(block.message):
            return [block]
    return []


def _growths(blocks: Sequence[Block]) -> list[int]:
    """What each call of a model added, as far as the view shows it."""
    growths: list[int] = []
    grown = 0
    for block in blocks:
        grown += block.tokens
        if block.message.role == "assistant" and block.item.kind == "message":
            growths.append(grown)
            grown = 0
    return growths[1:]  # the first holds everything before it
