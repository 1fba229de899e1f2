"""The facts of the tour as a person reads them: short paragraphs, a gauge, quiet details.

Promise: no line is wider than the terminal, but for paths and commands, which are never cut; wide
characters count as two columns; without a terminal, with NO_COLOR or on a dumb one there is
nothing but text; the pauses together are well below a minute (``tests/doors/test_demo.py``).
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast.cli.gauge import bar, can_print
from holdfast.cli.render import size
from holdfast.cli.speech import Language, filled
from holdfast.cli.terminal import folded
from holdfast.cli.tour.facts import (
    Answered,
    Began,
    Closed,
    Compacted,
    Ended,
    Fact,
    Flushed,
    Pruned,
    Quotation,
    Restored,
    Said,
    Written,
)
from holdfast.cli.tour.script import WINDOW, file_of, script
from holdfast.cli.tour.words import Words, words_in
from holdfast.text import columns, display, one_line

__all__ = ["Ink", "Page", "how_to_call", "width_of_terminal"]

_WIDEST: Final = 110
_NARROWEST: Final = 30
_LINES_SHOWN: Final = 3
"""Memories that are quoted for each time they are saved."""
_PASSAGES_SHOWN: Final = 2
_PASSAGE_LINES: Final = 3
_PART_LINES: Final = 2

_ASIDE: Final = ("[…", "［…", "# ")
"""In a restored part: that there is more of it, and headings."""

_HEADING_SECONDS: Final = 1.4
_LINE_SECONDS: Final = 0.35
_READ_SECONDS: Final = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """Weight and colour, or none."""

    is_on: bool

    def bold(self, text: str) -> str:
        return self._in("1", text)

    def dim(self, text: str) -> str:
        return self._in("2", text)

    def green(self, text: str) -> str:
        return self._in("32", text)

    def yellow(self, text: str) -> str:
        return self._in("33", text)

    def red(self, text: str) -> str:
        return self._in("31", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on and text else text


def width_of_terminal() -> int:
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((80, 24)).columns))


@dataclass(slots=True, kw_only=True)
class Page:
    """Shows facts as they come. ``pause`` is called with seconds; nothing waits but that."""

    language: Language
    width: int = field(default_factory=width_of_terminal)
    ink: Ink = Ink(is_on=False)
    pause: Callable[[float], None] = lambda seconds: None
    heading: int = 0
    is_asking: bool = False
    is_listing: bool = False

    @property
    def _words(self) -> Words:
        return words_in(self.language)

    def show(self, fact: Fact) -> None:
        match fact:
            case Began():
                self._began(fact)
            case Said():
                self._said(fact)
            case Pruned() | Flushed() | Compacted():
                self._done(fact)
            case Closed():
                self._closed(fact)
            case Restored():
                self._restored(fact)
            case Answered():
                self._answered(fact)
            case Written():
                self._written(fact)
            case Ended():
                self._ended(fact)

    # ── the conversation ────────────────────────────────────────────────────────────────────

    def _began(self, fact: Began) -> None:
        words, marks = self._words, fact.budget
        self._line(self.ink.bold(words.title))
        self._line()
        window = marks.window
        about = filled(words.about, who=fact.who, messages=fact.messages, window=window)
        self._text(about + (words.alone if fact.model is None else words.not_alone))
        self._plain(filled(words.place, home=fact.home))
        self._text(words.stop, self.ink.dim)
        self._heading(words.talk)
        told = filled(
            words.marks,
            prune=marks.prune_at,
            flush=marks.flush_at,
            hard=marks.hard_at,
            compact=marks.compact_at,
        )
        self._text(told, self.ink.dim, indent=2)
        self._line()

    def _said(self, fact: Said) -> None:
        cells = 10 if self.width < 60 else 20
        drawn = _gauge(fact, cells)
        used = f"{fact.tokens:>6,}"
        room = self.width - cells - len(used) - 5
        said = one_line(fact.text, room)
        tools = " ".join(f"[{each}]" for each in fact.tools)
        if tools and columns(said) + columns(tools) + 1 <= room:
            said += " " + self.ink.dim(tools)
        self._line(f"  {self._coloured(fact, drawn)} {used}  {said}")
        self.pause(_LINE_SECONDS)

    def _coloured(self, fact: Said, drawn: str) -> str:
        if fact.tokens >= fact.budget.compact_at:
            return self.ink.red(drawn)
        is_high = fact.tokens >= fact.budget.flush_at
        return self.ink.yellow(drawn) if is_high else self.ink.green(drawn)

    def _done(self, fact: Pruned | Flushed | Compacted) -> None:
        self._text(self._in_words(fact), self.ink.bold, indent=4)
        if isinstance(fact, Flushed):
            for line in fact.lines[:_LINES_SHOWN]:
                self._cut(line, self.ink.dim, indent=6, mark="- ")
        self.pause(_READ_SECONDS)

    def _in_words(self, fact: Pruned | Flushed | Compacted) -> str:
        words = self._words
        if isinstance(fact, Flushed):
            told = words.saved if fact.saved else words.saved_nothing
            return filled(told, read=fact.read, saved=fact.saved, file=fact.file)
        before, after = fact.tokens_before, fact.tokens_after
        if isinstance(fact, Pruned):
            return filled(words.pruned, results=fact.results, before=before, after=after)
        told = words.unread if fact.unread else words.compacted
        return filled(told, dropped=fact.dropped, unread=fact.unread, before=before, after=after)

    def _closed(self, fact: Closed) -> None:
        self._heading(self._words.closing)
        told = filled(self._words.closed, said=fact.said, on_disk=fact.on_disk, lines=fact.lines)
        self._text(told, indent=2)
        if fact.is_pinned:
            self._text(self._words.pinned, indent=2)
        self.pause(_READ_SECONDS)

    # ── the next session ────────────────────────────────────────────────────────────────────

    def _restored(self, fact: Restored) -> None:
        self._heading(self._words.restoring)
        self._text(filled(self._words.restored, tokens=fact.tokens), indent=2)
        for part in fact.parts:
            self._quoted(part, _PART_LINES)
            self.pause(_LINE_SECONDS)
        if fact.cut:
            cut = filled(self._words.cut, cut=", ".join(fact.cut))
            self._text(cut, self.ink.dim, indent=2)
        self.pause(_READ_SECONDS)

    def _quoted(self, part: Quotation, lines: int) -> None:
        cited = f"{part.citation} · {part.label}" if part.label else part.citation
        self._text(display(cited), self.ink.dim, indent=4)
        shown = [each for each in part.lines if not each.startswith(_ASIDE)]
        for line in shown[:lines]:
            self._cut(line, indent=6)

    def _answered(self, fact: Answered) -> None:
        if not self.is_asking:
            self._heading(self._words.asking)
            self.is_asking = True
            words = self._words
            told = words.no_model if fact.model is None else words.with_model
            self._text(filled(told, model=fact.model or ""), self.ink.dim, indent=2)
        self._line()
        self._text(f"? {display(fact.question)}", self.ink.bold, indent=2)
        if fact.answer is not None:
            for line in fact.answer.splitlines():
                self._text(display(line), indent=4)
        elif fact.model is not None and fact.reason is not None:
            self._text(filled(self._words.no_answer, reason=fact.reason), self.ink.red, indent=4)
        for passage in fact.passages[:_PASSAGES_SHOWN]:
            self._passage(passage)
        if (left := len(fact.passages) - _PASSAGES_SHOWN) > 0:
            self._text(filled(self._words.more, count=left), self.ink.dim, indent=4)
        if not fact.passages:
            self._text(self._words.nothing_found, self.ink.red, indent=4)
        self.pause(_READ_SECONDS)

    def _passage(self, passage: Quotation) -> None:
        said = " ".join(line for line in passage.lines if line and not line.startswith("("))
        room = self.width - 4
        first, rest = list(folded(display(said), room)), ""
        if len(first) > _PASSAGE_LINES:
            *first, rest = [*first[: _PASSAGE_LINES - 1], " ".join(first[_PASSAGE_LINES - 1 :])]
        for line in [*first, *([one_line(rest, room)] if rest else [])]:
            self._line(f"    {line}")
        self._text(display(f"{passage.citation} · {passage.label}"), self.ink.dim, indent=6)

    # ── the end ─────────────────────────────────────────────────────────────────────────────

    def _written(self, fact: Written) -> None:
        if not self.is_listing:
            self._heading(self._words.writing)
            self.is_listing = True
        self._plain(f"{display(fact.path)}  {self.ink.dim(size(fact.bytes))}", indent=2)
        for line in fact.lines:
            self._cut(line, self.ink.dim, indent=4)
        self.pause(_READ_SECONDS)

    def _ended(self, fact: Ended) -> None:
        words = self._words
        self._line()
        counts = {
            name: getattr(fact, name)
            for name in (
                *("messages", "on_disk", "dropped", "read", "prunes", "flushes", "compactions"),
                *("largest", "window", "found", "questions"),
            )
        }
        self._text(filled(words.counted, **counts))
        if fact.problems:
            self._line()
            self._text(words.problems, self.ink.red)
            for each in fact.problems:
                self._text("- " + filled(words.troubles[each.kind], what=each.what), self.ink.red)
        self._heading(words.next)
        for command, why in self._commands(fact.home):
            self._plain(self.ink.bold(command), indent=2)
            self._text(why, self.ink.dim, indent=4)
        self._text(words.remove, indent=2)

    def _commands(self, home: str) -> Iterator[tuple[str, str]]:
        tried, call, told = self._words.tried, how_to_call(), script(self.language)
        here = f"{call} --home {shlex.quote(home)}"
        yield f"{here} status", tried["status"]
        yield f"{here} search {shlex.quote(told.questions[0].ask)}", tried["search"]
        yield f"{here} sessions show {shlex.quote(told.session)} --view", tried["show"]
        yield f"{here} events --kind flush", tried["events"]
        data = shlex.quote(str(file_of(self.language)))
        yield f"{call} replay {data} --window {WINDOW}", tried["replay"]
        yield f"{call} demo --proofs", tried["proofs"]

    # ── lines ───────────────────────────────────────────────────────────────────────────────

    def _heading(self, text: str) -> None:
        self.pause(_HEADING_SECONDS)
        self.heading += 1
        self._line()
        number = f"{self.heading}. "
        for at, line in enumerate(folded(text, self.width - len(number))):
            self._line(self.ink.bold((" " * len(number) if at else number) + line))
        self._line()

    def _text(self, text: str, ink: Callable[[str], str] = str, *, indent: int = 0) -> None:
        """A paragraph, in as many lines as it needs."""
        for line in folded(text, self.width - indent):
            self._line(" " * indent + ink(line))

    def _cut(
        self, text: str, ink: Callable[[str], str] = str, *, indent: int, mark: str = ""
    ) -> None:
        """As much of a text as one line holds."""
        self._line(" " * indent + ink(one_line(mark + text, self.width - indent)))

    def _plain(self, text: str, *, indent: int = 0) -> None:
        """A line that is never cut: what is in it is to be copied."""
        self._line(" " * indent + text)

    def _line(self, text: str = "") -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _gauge(fact: Said, cells: int) -> str:
    """The window as a bar: a mark stands by its letter until it is reached."""
    budget, full = fact.budget, "█" if can_print("█") else "#"
    empty = bar(budget, 0, cells)
    filled = min(cells, round(cells * fact.tokens / budget.window))
    drawn = [*(full * filled), *empty[filled:]]
    marks = (budget.prune_at, budget.flush_at, budget.hard_at, budget.compact_at)
    for letter, mark in zip("pfhc", marks, strict=True):
        drawn[empty.index(letter)] = full if fact.tokens >= mark else letter
    return "".join(drawn)


def how_to_call() -> str:
    """How to call us from this shell: by name if it is on the path, else as we were called."""
    called = sys.argv[0]
    if shutil.which("holdfast") or not Path(called).name.startswith("holdfast"):
        return "holdfast"
    return shlex.quote(os.path.relpath(called))
