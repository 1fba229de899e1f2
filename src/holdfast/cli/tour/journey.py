"""A long conversation through the real engine: a small window, one session, then the next.

What is told is read from the transcript and the files after it happened, not from what was
planned. Of the engine's settings only the window is the tour's own.

Promise: nothing but ``home`` is touched; no model is asked unless one is given; a message that
left the view unread, a word that is not on disk, a request above the window or a question without
its answer is a problem in the last fact (``tests/doors/test_demo.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.cli.speech import Language
from holdfast.cli.tour.facts import (
    Answered,
    Began,
    Closed,
    Compacted,
    Ended,
    Fact,
    Flushed,
    Problem,
    Pruned,
    Restored,
    Said,
    Written,
    first_lines,
    quotations_in,
)
from holdfast.cli.tour.script import WINDOW, Exchange, Question, Script, script
from holdfast.cli.tour.telling import (
    BY_WORDS,
    asked,
    began,
    followed,
    message_in,
    recalled_since,
    rooms_at,
)
from holdfast.context.flush import COVERING
from holdfast.engine.facade import Engine
from holdfast.engine.session import Session
from holdfast.engine.turn import CompactionDone, Prepared, PruneDone
from holdfast.formats import parse_message
from holdfast.retain.documents import lines as memory_lines
from holdfast.types import Entry, Message

if TYPE_CHECKING:
    from holdfast.ports import Model

__all__ = ["Journey", "journey"]

_NEW_ENTRIES: Final = 40
"""More than one call of the engine ever appends."""


def journey(home: Path, language: Language, *, model: Model | None = None) -> Iterator[Fact]:
    """Everything that happens on the tour, in order, while it happens."""
    with Engine(rooms_at(home, BY_WORDS)) as engine:
        yield from Journey(
            engine=engine, script=script(language), language=language, model=model
        ).facts()


@dataclass(slots=True, kw_only=True)
class Journey:
    """The way through it, and what was counted on the way."""

    engine: Engine
    script: Script
    language: Language
    model: Model | None
    seen: int = -1
    """The last entry of the transcript that was told of."""
    covered: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    prunes: int = 0
    flushes: int = 0
    compactions: int = 0
    largest: int = 0
    asked: int = 0
    found: int = 0
    files: int = 0
    problems: list[Problem] = field(default_factory=list)

    def facts(self) -> Iterator[Fact]:
        session = began(self.engine, self.script)
        yield Began(
            home=str(self.engine.home),
            language=self.language,
            who=self.script.who,
            messages=len(self.script.messages),
            budget=session.explain_context().budget,
            model=None if self.model is None else self.model.name,
        )
        is_pinned = False
        for number, exchange in enumerate(self.script.exchanges(), 1):
            told, prepared = self._exchange(session, number, exchange)
            is_pinned = self._is_pinned(prepared)
            yield from told
        closed = self._close(session, is_pinned)
        yield from self._happened(session, ())
        yield closed
        yield from self.next_session()
        yield from self._files()
        yield self.ended(closed)

    # ── the conversation ────────────────────────────────────────────────────────────────────

    def _exchange(
        self, session: Session, number: int, exchange: Exchange
    ) -> tuple[list[Fact], Prepared]:
        happened: list[Fact] = []
        tokens = 0
        for call in asked(session, exchange):
            prepared = call.prepared
            would_have = (
                done.tokens_before
                for done in prepared.done
                if isinstance(done, CompactionDone | PruneDone)
            )
            tokens = max(tokens, prepared.projected, *would_have)
            self.largest = max(self.largest, prepared.projected)
            compacted = [each for each in prepared.done if isinstance(each, CompactionDone)]
            happened += self._happened(session, compacted)
        happened += self._happened(session, ())
        said = Said(
            number=number,
            text=exchange.said,
            tools=exchange.tools,
            tokens=tokens,
            budget=prepared.budget,
        )
        return [said, *happened], prepared

    def _is_pinned(self, prepared: Prepared) -> bool:
        """Whether the request has the first message of all, word for word."""
        first = self.script.messages[0]["content"]
        return any(each.get("content") == first for each in prepared.messages)

    def _happened(
        self, session: Session, compacted: list[CompactionDone] | tuple[()]
    ) -> Iterator[Fact]:
        """What the transcript says that was done since we last looked, in its order."""
        for entry in session.entries(last=_NEW_ENTRIES):
            if entry.seq <= self.seen:
                continue
            self.seen = entry.seq
            if entry.type == "prune":
                yield self._pruned(entry)
            elif entry.type == "flush" and entry.data["outcome"] in COVERING:
                yield self._flushed(entry)
            elif entry.type == "compaction":
                (done,) = (each for each in compacted if each.entry == entry.id)
                yield self.compacted(done)

    def _pruned(self, entry: Entry) -> Pruned:
        self.prunes += 1
        return Pruned(
            results=len({each["entry"] for each in entry.data["shown"]}),
            tokens_before=entry.data["tokens_before"],
            tokens_after=entry.data["tokens_after"],
        )

    def _flushed(self, entry: Entry) -> Flushed:
        self.flushes += 1
        self.covered |= set(entry.data["covers"])
        written = set(entry.data.get("lines", ()))
        return Flushed(
            read=len(entry.data["covers"]),
            saved=entry.data["saved"],
            file=entry.data.get("file"),
            lines=tuple(text for id, text in self._memories() if id in written),
        )

    def compacted(self, done: CompactionDone) -> Compacted:
        """What left, and what of it no flush had read by then."""
        self.compactions += 1
        self.dropped |= set(done.dropped)
        unread = set(done.dropped) - self.covered
        self.unread |= unread
        return Compacted(
            dropped=len(done.dropped),
            unread=len(unread),
            tokens_before=done.tokens_before,
            tokens_after=done.tokens_after,
        )

    def _close(self, session: Session, is_pinned: bool) -> Closed:
        session.close()
        kept = [message_in(each) for each in session.entries() if each.type == "message"]
        whole = sum(said == held for said, held in zip(self._said(), _plain(kept), strict=False))
        return Closed(
            said=len(self.script.messages),
            on_disk=whole,
            lines=len(self._memories()),
            is_pinned=is_pinned,
        )

    def _said(self) -> list[Message]:
        return _plain([parse_message(each) for each in self.script.messages])

    # ── the next one ────────────────────────────────────────────────────────────────────────

    def next_session(self) -> Iterator[Fact]:
        """A conversation that knows nothing but what memory gives it."""
        session = followed(self.engine, self.script, model=self.model)
        for number, question in enumerate(self.script.questions):
            answered = self._answered(session, question)
            if number == 0:
                yield _restored(session)
            self.asked += 1
            self.found += answered.found
            if not answered.found:
                self.problems.append(Problem(kind="not_found", what=question.ask))
            yield answered

    def _answered(self, session: Session, question: Question) -> Answered:
        answer, reason = None, None
        before = len(session.entries())
        if self.model is None:
            session.prepare(question.ask)
        else:
            answer, reason = _asked(session, question.ask)
        text = recalled_since(session, before)
        passages = quotations_in(text)
        return Answered(
            question=question.ask,
            passages=passages,
            found=question.found_if in text,
            answer=answer,
            model=None if self.model is None else self.model.name,
            reason=reason,
        )

    # ── what is left of it ──────────────────────────────────────────────────────────────────

    def _memories(self) -> list[tuple[str | None, str]]:
        """Every memory by its id, as it stands in its file."""
        return [
            (each.line.id, f"{each.line.kind} @{each.line.entity}: {each.line.text}")
            for path in self.engine.files()
            if path.startswith("memory/")
            for each in memory_lines(self._agent_folder().joinpath(path).read_text("utf-8"))
        ]

    def _agent_folder(self) -> Path:
        return self.engine.home / "agents" / self.engine.agent

    def _files(self) -> Iterator[Written]:
        folder = self._agent_folder()
        found = [*sorted(folder.glob("memory/*.md")), *sorted(folder.glob("tasks/*.md"))]
        for file in found:
            self.files += 1
            path = file.relative_to(self.engine.home).as_posix()
            yield Written(path=path, bytes=file.stat().st_size, lines=first_lines(file))

    def ended(self, closed: Closed) -> Ended:
        """What was counted, and whatever should not have been."""
        if self.unread:
            self.problems.append(Problem(kind="unread", what=str(len(self.unread))))
        if closed.on_disk < closed.said:
            self.problems.append(Problem(kind="lost", what=str(closed.said - closed.on_disk)))
        if self.largest > WINDOW:
            self.problems.append(Problem(kind="too_large", what=f"{self.largest:,}"))
        if not closed.is_pinned:
            self.problems.append(Problem(kind="unpinned", what=self.script.messages[0]["content"]))
        return Ended(
            home=str(self.engine.home),
            messages=closed.said,
            on_disk=closed.on_disk,
            dropped=len(self.dropped),
            read=len(self.dropped) - len(self.unread),
            prunes=self.prunes,
            flushes=self.flushes,
            compactions=self.compactions,
            lines=closed.lines,
            largest=self.largest,
            window=WINDOW,
            questions=self.asked,
            found=self.found,
            files=self.files,
            problems=tuple(self.problems),
        )


def _plain(messages: list[Message]) -> list[Message]:
    """The messages without what they were said with: only the words, the calls, the results."""
    return [Message(role=each.role, parts=each.parts) for each in messages]


def _restored(session: Session) -> Restored:
    for entry in session.entries():
        if entry.type == "marker" and entry.data.get("kind") == "restored":
            return Restored(
                tokens=entry.data["tokens"],
                parts=quotations_in(entry.data["text"]),
                cut=tuple(entry.data["cut"]),
            )
    return Restored(tokens=0, parts=(), cut=())


def _asked(session: Session, question: str) -> tuple[str | None, str | None]:
    """The model's answer, or why there is none: a tour goes on without."""
    try:
        said = "".join(step.text for step in session.run(question) if step.kind == "text")
    except Exception as error:  # noqa: BLE001 - the border: other people's models
        return None, str(error) or type(error).__name__
    return said.strip() or None, None
