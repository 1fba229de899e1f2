"""The status line: who answers, how full the window is, what is being done, what it cost.

Promise: the line fits into the width it is given, whatever the names are, and the bar and its
numbers are the last to go (``tests/doors/test_chat_status.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from holdfast.cli.chat.words import Words
from holdfast.cli.gauge import bar, short_count
from holdfast.cli.speech import filled
from holdfast.events import (
    CompactionEnd,
    CompactionFailed,
    CompactionStart,
    ContextMeasured,
    Event,
    MemoryFlushEnd,
    MemoryFlushStart,
    TurnFinished,
)
from holdfast.ports import Traits
from holdfast.text import columns, one_line
from holdfast.types import Usage

if TYPE_CHECKING:
    from holdfast.context.accounting import Budget

__all__ = ["Meter"]

Doing = Literal["", "saving", "compacting"]
_GAP: Final = " · "
_NAME: Final = 28
_SHORT: Final = 20


@dataclass(slots=True, kw_only=True)
class Meter:
    """What the status line shows. Told by whichever thread knows; read by the one that draws."""

    words: Words
    model: str
    traits: Traits = field(default_factory=Traits)
    session: str = ""
    note: str = ""
    """Incognito, or what memory may be used for, if that is less than all."""
    budget: Budget | None = None
    used: int = 0
    cost: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    _saving: int = 0
    _compacting: int = 0

    @property
    def doing(self) -> Doing:
        if self._saving > 0:
            return "saving"
        return "compacting" if self._compacting > 0 else ""

    @property
    def _plain(self) -> str:
        """The model's name without who provides it."""
        return self.model.partition(":")[2] or self.model

    @property
    def short_name(self) -> str:
        """The model's name for a sentence that has to fit into a narrow terminal."""
        return one_line(self._plain, _SHORT)

    def fits(self, budget: Budget, used: int) -> None:
        """How large the request is that was just made, or the next one would be."""
        self.budget, self.used = budget, used

    def answered(self, usage: Usage | None) -> None:
        """What the provider counted for an answer."""
        if usage is not None:
            self.cost += self.traits.cost(usage)
            self.input_tokens += usage.context_tokens
            self.output_tokens += usage.output_tokens

    def hear(self, event: Event) -> None:
        match event:
            case ContextMeasured(projected=used) | TurnFinished(projected=used):
                self.used = used
            case CompactionEnd(tokens_after=used):
                self.used = used
                self._compacting = max(0, self._compacting - 1)
                self._paid(event)
            case CompactionFailed():
                self._compacting = max(0, self._compacting - 1)
            case CompactionStart():
                self._compacting += 1
            case MemoryFlushStart():
                self._saving += 1
            case MemoryFlushEnd():
                self._saving = max(0, self._saving - 1)
                self._paid(event)

    def _paid(self, event: MemoryFlushEnd | CompactionEnd) -> None:
        self.cost += event.cost
        self.input_tokens += event.input_tokens
        self.output_tokens += event.output_tokens

    # ── drawing ─────────────────────────────────────────────────────────────────────────────

    def line(self, width: int) -> str:
        """The fullest form that fits."""
        shown = ""
        for shown in self._forms():
            if columns(shown) <= width:
                return shown
        return one_line(shown, width)

    def _forms(self) -> Iterator[str]:
        name = one_line(self.model, _NAME)
        plain = one_line(self._plain, _NAME)
        short = one_line(plain, _NAME // 2)
        doing = {"saving": self.words.saving, "compacting": self.words.compacting}.get(
            self.doing, ""
        )
        note, cost = self.note, self._cost()
        session = one_line(self.session, _NAME)
        yield _joined(name, session, self._window(30, long=True), note, doing, cost)
        yield _joined(name, self._window(24, long=True), note, doing, cost)
        yield _joined(plain, self._window(16, long=True), note, doing, cost)
        yield _joined(short, self._window(12), note, doing, cost)
        yield _joined(self._window(10), doing or note, cost)
        yield _joined(self._window(8), doing or note)
        yield self._window(6)

    def _window(self, cells: int, *, long: bool = False) -> str:
        if self.budget is None:
            return ""
        window = self.budget.window
        if long:
            share = self.used / window
            numbers = filled(self.words.used, used=self.used, window=window, share=share)
        else:
            numbers = f"{short_count(self.used)}/{short_count(window)}"
        return f"{bar(self.budget, self.used, cells)} {numbers}"

    def _cost(self) -> str:
        if self.cost <= 0:
            return ""
        return f"${self.cost:.2f}" if self.cost >= 1 else f"${self.cost:.4f}"


def _joined(*parts: str) -> str:
    return _GAP.join(part for part in parts if part)
