"""What the engine did, in lines for a person: what came back, what was saved, what left.

Promise: every line has its numbers, and what was saved or recalled is quoted with its source;
nothing is told of other conversations (``tests/doors/test_chat.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from holdfast.cli.chat.screen import Screen, Tone
from holdfast.cli.chat.words import Words
from holdfast.cli.speech import filled
from holdfast.engine.chronicle import Files, saved_lines
from holdfast.engine.notify.wording import KINDS, said
from holdfast.errors import HoldfastError
from holdfast.events import (
    CompactionEnd,
    CompactionFailed,
    ContextPressure,
    Event,
    MemoryConflict,
    MemoryFlushEnd,
    NoticeSent,
    RecallDone,
    RestoreDone,
    StorageDegraded,
    ToolResultsPruned,
)
from holdfast.retain import parse
from holdfast.text import display, one_line

if TYPE_CHECKING:
    from holdfast.engine.facade import Engine
    from holdfast.engine.session import Session
    from holdfast.types import Entry

__all__ = ["TOLD", "News"]

_SHOWN: Final = 5
_LINE: Final = 100
_LOOKED_AT: Final = 12
_MARK: Final = "  · "
_NEARLY_FULL: Final = ("flush", "hard", "compact")
_FROM_PRESSURE: Final = ("nearly_full", "hard_threshold")

TOLD: Final = (
    RestoreDone,
    RecallDone,
    ToolResultsPruned,
    MemoryFlushEnd,
    CompactionEnd,
    CompactionFailed,
    ContextPressure,
    NoticeSent,
    StorageDegraded,
    MemoryConflict,
)


@dataclass(slots=True, kw_only=True)
class News:
    """Tells what happened to one conversation."""

    engine: Engine
    words: Words
    screen: Screen
    session: Session | None = None
    may_save: bool = True
    """Whether this conversation writes to memory at all."""
    show_all: str = ""
    """The command that shows the whole conversation."""
    not_compacted: str = ""
    """Why the last compaction was none."""
    _warned: str = ""
    """The cycle in which was said that the window is nearly full."""

    def tell(self, event: Event) -> None:
        if not isinstance(event, TOLD):
            return
        if event.session is not None and event.session != self._name:
            return
        self.screen.fact("event", event.to_json())
        tone: Tone = "warn" if _is_bad(event) else "dim"
        told: list[str] = []
        with suppress(HoldfastError):  # the session may be gone by now: what is known is told
            told.extend(self._lines(event))
        for text in told:
            self.screen.line(text, tone, indent="    " if text.startswith(_MARK) else "  ")

    @property
    def _name(self) -> str | None:
        return None if self.session is None else self.session.name

    def _lines(self, event: Event) -> Iterator[str]:
        words = self.words
        match event:
            case RestoreDone(tokens=tokens) if tokens:
                yield from self._restored(event)
            case RecallDone(passages=passages) if passages:
                yield filled(words.recalled, passages=passages)
                yield from self._quoted_recall()
            case ToolResultsPruned():
                yield filled(
                    words.pruned,
                    shortened=event.shortened,
                    before=event.tokens_before,
                    after=event.tokens_after,
                )
            case MemoryFlushEnd():
                yield from self._saved(event)
            case CompactionEnd():
                yield self._compacted(event)
            case CompactionFailed():
                self.not_compacted = event.reason
                yield filled(words.not_compacted, reason=words.reason(event.reason))
            case _:
                yield from self._warnings(event)

    def _warnings(self, event: Event) -> Iterator[str]:
        match event:
            case ContextPressure(level=level) if level in _NEARLY_FULL and self._is_first():
                yield filled(self.words.nearly_full, used=event.projected, window=self._size())
            case StorageDegraded(state="failing"):
                yield filled(self.words.disk, reason=event.reason)
            case MemoryConflict():
                yield self.words.conflict
            case NoticeSent(channel="log", outcome="sent"):
                yield from self._notice(event)

    def _notice(self, event: NoticeSent) -> Iterator[str]:
        if event.kind == "model_down":
            yield self.words.by_rules  # it speaks to the person: it is not down
        for kind in KINDS:
            if kind == event.kind and kind not in ("model_down", *_FROM_PRESSURE):
                name = event.session or self._name or ""
                yield said(kind, session=name, language=self.words.language, numbers={})

    def _restored(self, event: RestoreDone) -> Iterator[str]:
        sources = ", ".join(event.sources)
        yield filled(self.words.restored, tokens=event.tokens, sources=one_line(sources, 4 * _LINE))
        if event.cut:
            yield filled(self.words.restored_cut, cut=one_line(", ".join(event.cut), 2 * _LINE))

    def _compacted(self, event: CompactionEnd) -> str:
        return filled(
            self.words.compacted,
            dropped=event.dropped,
            before=event.tokens_before,
            after=event.tokens_after,
            command=self.show_all,
        )

    def _is_first(self) -> bool:
        """Whether this was not said in this cycle."""
        cycle = "" if self.session is None else str(self.session.state()["cycle"])
        is_first, self._warned = self._warned != cycle, cycle
        return is_first

    def _size(self) -> int:
        return 0 if self.session is None else self.session.explain_context().budget.window

    # ── quoting ─────────────────────────────────────────────────────────────────────────────

    def _saved(self, event: MemoryFlushEnd) -> Iterator[str]:
        if event.outcome == "failed":
            why = self.words.reason(event.reason or event.mode)
            yield filled(self.words.not_saved, reason=why)
            return
        if not event.saved or event.file is None:
            if self.may_save:
                yield self.words.saved_none
            return
        yield filled(self.words.saved, saved=event.saved, file=event.file)
        yield from self._listed(self._memories(event.file), event.saved)

    def _memories(self, file: str) -> list[str]:
        """What the last flush wrote, as far as it stands in its file."""
        if self.session is None:
            return []
        for entry in self._entries("flush"):
            if found := entry.data.get("lines"):
                told = saved_lines(Files(self.session._rooms), file, map(str, found))
                return [each.text for each in told if each.number is not None]
        return []

    def _quoted_recall(self) -> Iterator[str]:
        entry = next(self._entries("recall"), None)
        if entry is None:
            return
        found = [str(each) for each in entry.data.get("passages", ())]
        for citation in found[:_SHOWN]:
            yield f"{_MARK}{display(citation)}: {one_line(self._snippet(citation), _LINE)}"
        if len(found) > _SHOWN:
            yield _MARK + filled(self.words.saved_more, more=len(found) - _SHOWN)

    def _snippet(self, citation: str) -> str:
        with suppress(HoldfastError):
            text = self.engine.get(citation).text.strip()
            read = [parse(line) for line in text.splitlines()]
            return "; ".join(line.text for line in read if line is not None) or text
        return "…"

    def _listed(self, texts: list[str], count: int) -> Iterator[str]:
        for text in texts[:_SHOWN]:
            yield _MARK + one_line(text, _LINE)
        if texts and count > _SHOWN:
            yield _MARK + filled(self.words.saved_more, more=count - _SHOWN)

    def _entries(self, type: str) -> Iterator[Entry]:
        """The newest first."""
        if self.session is None:
            return
        with suppress(HoldfastError):
            for entry in reversed(self.session.entries(last=_LOOKED_AT)):
                if entry.type == type:
                    yield entry


def _is_bad(event: Event) -> bool:
    match event:
        case ContextPressure() | StorageDegraded():
            return True
        case NoticeSent(kind=kind):
            return kind != "model_down"
        case MemoryFlushEnd(outcome=outcome):
            return outcome == "failed"
    return False
