"""The tour as a place of the console: its conversation goes on whenever somebody asks for it.

Half of it is told before anybody looks, so that every page has something to show; the window is
nearly full then, and the next message fills it while somebody watches. When the conversation is
over it is closed, the next one begins with what memory gives it, and questions are answered with
what memory finds.

Promise: everything is done by the real engine in a folder of its own, which is gone when that
engine is closed; an exchange that began is kept whole, whoever stops listening
(``tests/server/test_tour_place.py``).
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final

from holdfast.cli.speech import Language, filled
from holdfast.cli.tour.facts import Quotation, quotations_in
from holdfast.cli.tour.script import Exchange, script
from holdfast.cli.tour.telling import (
    UNREMINDED,
    asked,
    began,
    followed,
    opened,
    recalled_since,
    rooms_at,
)
from holdfast.cli.tour.words import words_in
from holdfast.engine.facade import Engine
from holdfast.engine.restore.bar import WORDS_BAR, content_terms, strength
from holdfast.engine.rooms import Rooms
from holdfast.engine.turn.running import Step
from holdfast.errors import HoldfastError, NotFound
from holdfast.events import Event as HoldfastEvent
from holdfast.events import MemoryFlushStart
from holdfast.fencing import Quoted, fence
from holdfast.formats import parse_message
from holdfast.server.failing import Busy
from holdfast.server.places import TOUR, Place
from holdfast.types import Json, Message

if TYPE_CHECKING:
    from holdfast.engine.session import Session

__all__ = ["PACE", "Tour", "TourEngine", "tour_place"]

log = logging.getLogger("holdfast.tour")

PACE: Final = 1 / 30
"""Seconds between two pieces of an answer: about as fast as a model speaks."""
_TOOL_PIECES: Final = 12
"""A tool takes as long as so many pieces."""
_SAVING_PIECES: Final = 40
"""Saving takes as long as that: with a model it is seconds, without one nobody could see it."""
_MOST_PIECES: Final = 150
"""No answer takes more, however long it is."""
_SHOWN: Final = 4
_LOOKED_AT: Final = 12
_NONCE: Final = "quoted-for-people"
_STOP_SECONDS: Final = 10.0
_WIDE: Final = r"\u3000-\u9fff\uff00-\uffef"
_PIECE: Final = re.compile(rf"[{_WIDE}]{{1,2}}|[^\s{_WIDE}]+\s*|\s+")


def tour_place(language: Language, *, pace: float = PACE) -> Place:
    """The tour's own place: an engine in a temporary home, and whoever plays in it. Returns at
    once; what is told beforehand is told in a thread, and waited for by whoever plays on."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-tour-"))
    engine = TourEngine(rooms_at(home))
    place = Place(name=TOUR, engine=engine)
    tour = Tour(place, language, pace=pace)
    place.player = tour
    engine.before_close = tour.stop
    engine.subscribe(tour.hear)
    tour.begin()
    return place


class TourEngine(Engine):
    """An engine whose home is gone when it is closed."""

    def __init__(self, rooms: Rooms) -> None:
        super().__init__(rooms)
        self.before_close: Callable[[], None] = lambda: None

    def close(self) -> None:
        self.before_close()
        super().close()
        shutil.rmtree(self.home, ignore_errors=True)


class Tour:
    """Plays the conversation (``server.places.Player``)."""

    def __init__(self, place: Place, language: Language, *, pace: float) -> None:
        self._place = place
        self._language = language
        self._script = script(language)
        self._words = words_in(language)
        self._pace = pace
        self._exchanges = tuple(self._script.exchanges())
        self._done = self._script.told
        """How many messages of the user are over, questions included."""
        self._session = place.keep(opened(place.engine, self._script))
        self._talking: set[str] = set()
        self._lock = Lock()
        self._is_over = Event()
        self._problem: Exception | None = None
        self._teller = Thread(target=self._tell, name="holdfast-tour", daemon=True)

    def begin(self) -> None:
        """Tell what is over when somebody comes."""
        self._teller.start()

    def stop(self) -> None:
        """Tell no more; returns when the teller is silent."""
        self._is_over.set()
        self._teller.join(_STOP_SECONDS)

    def hear(self, event: HoldfastEvent) -> None:
        """Linger over what is worth a look, if somebody watches."""
        if isinstance(event, MemoryFlushStart) and self._talking and not self._is_over.is_set():
            self._is_over.wait(self._pace * _SAVING_PIECES)

    # ── what comes ──────────────────────────────────────────────────────────────────────────

    def left(self) -> int:
        return len(self._exchanges) + len(self._script.questions) - self._done

    def session(self) -> str:
        return self._session.name

    def upcoming(self) -> str | None:
        if self._done < len(self._exchanges):
            return self._exchanges[self._done].said
        return self._script.questions[-self.left()].ask if self.left() else None

    # ── speaking ────────────────────────────────────────────────────────────────────────────

    def play(self) -> AsyncIterator[Step]:
        """
        Raises:
            NotFound: everything was said.
            Busy: somebody is speaking.
        """
        return self._spoken(self.session(), self._next)

    def answer(self, session: str, text: str) -> AsyncIterator[Step]:
        """
        Raises:
            NotFound: there is no such conversation.
            Busy: somebody is speaking in it.
        """
        return self._spoken(session, lambda: self._reply(self._place.session(session), text))

    async def _spoken(
        self, session: str, begin: Callable[[], Iterator[Step]]
    ) -> AsyncIterator[Step]:
        """What happens, as fast as a person can follow it."""
        with self._speaking(session):
            await asyncio.to_thread(self._wait)
            moves = _Moves(await asyncio.to_thread(begin))
            try:
                while (step := await asyncio.to_thread(moves.next)) is not None:
                    for beat, pieces in _beats(step):
                        yield beat
                        await asyncio.sleep(self._pace * pieces)
            finally:  # an exchange without its answer would be in the way of the next
                await asyncio.shield(asyncio.to_thread(moves.finish))

    @contextmanager
    def _speaking(self, session: str) -> Iterator[None]:
        with self._lock:
            if session in self._talking:
                raise Busy("Somebody is speaking.", hint="Wait for the end of the answer.")
            self._talking.add(session)
        try:
            yield
        finally:
            with self._lock:
                self._talking.discard(session)

    # ── what is done ────────────────────────────────────────────────────────────────────────

    def _tell(self) -> None:
        try:
            with Engine(rooms_at(self._place.engine.home, UNREMINDED)) as engine:
                session = began(engine, self._script)
                for exchange in self._exchanges[: self._script.told]:
                    if self._is_over.is_set():
                        return
                    for _ in asked(session, exchange):
                        pass
        except Exception as error:  # whoever plays on is told
            log.exception("the tour could not be told")
            self._problem = error

    def _wait(self) -> None:
        self._teller.join()
        if self._problem is not None:
            raise HoldfastError(
                f"The tour could not be prepared: {self._problem}", hint="holdfast demo"
            ) from self._problem

    def _next(self) -> Iterator[Step]:
        if not self.left():
            raise NotFound("The tour is over: everything was said.", hint="Ask something.")
        if self._done < len(self._exchanges):
            return self._exchange(self._exchanges[self._done])
        return self._reply(self._session, self._script.questions[-self.left()].ask, is_asked=True)

    def _exchange(self, exchange: Exchange) -> Iterator[Step]:
        names: dict[str, str] = {}
        answer: Json = {}
        for call in asked(self._session, exchange):
            answer = call.answer
            yield from _results(call.came, names)
            yield from _said(answer, names)
        self._done += 1
        if self._done == len(self._exchanges):
            self._go_on()
        yield Step(kind="end", message=parse_message(answer))

    def _go_on(self) -> None:
        """Close the conversation, and begin the next with what is known."""
        self._session.close()
        self._session = self._place.keep(followed(self._place.engine, self._script))
        self._session.restore()

    def _reply(self, session: Session, text: str, *, is_asked: bool = False) -> Iterator[Step]:
        before = len(session.entries())
        session.prepare(text)
        recalled = quotations_in(recalled_since(session, before))
        said = self._worded([*filter(self._is_news, recalled)] or self._searched(text))
        yield Step(kind="text", text=said)
        reply = Message.of("assistant", said)
        session.commit(reply)
        self._done += is_asked
        yield Step(kind="end", message=reply)

    def _searched(self, text: str) -> tuple[Quotation, ...]:
        """What memory has about it, whether or not the model sees it already: by the bar that
        holds for what is recalled unasked."""
        terms = content_terms(text)
        if not terms:
            return ()
        found = self._place.engine.search(text, limit=_LOOKED_AT, explain=True)
        counts = found.trace.get("legs", {}).get("words", {})
        many = int(found.trace.get("filters", {}).get("remaining", 0))
        near = [
            Quoted(
                text=each.text,
                citation=each.citation,
                label=each.trust,
                observed=each.time and each.time.date(),
            )
            for each in found.passages
            if each.source != "session"
            and strength(terms, each.text, found_in=counts, passages=many) >= WORDS_BAR
        ]
        return quotations_in(fence(near, nonce=_NONCE, language=self._language))

    def _is_news(self, passage: Quotation) -> bool:
        """Not an answer that was given here before."""
        return not any(self._words.answerless in line for line in passage.lines)

    def _worded(self, passages: Sequence[Quotation]) -> str:
        """The passages, each with where it is from, as Markdown."""
        words = self._words
        opening = words.finds if passages else words.finds_nothing
        parts = [filled(opening, answerless=words.answerless)]
        for each in passages[:_SHOWN]:
            quoted = "\n".join(f"> {line}".rstrip() for line in each.lines)
            label = f" · {each.label}" if each.label else ""
            parts.append(f"{quoted}\n>\n> `{each.citation}`{label}")
        return "\n\n".join(parts)


class _Moves:
    """What is done step by step, by whichever thread; the rest of it at once at the end."""

    def __init__(self, steps: Iterator[Step]) -> None:
        self._steps = steps
        self._lock = Lock()

    def next(self) -> Step | None:
        with self._lock:
            return next(self._steps, None)

    def finish(self) -> None:
        with self._lock:
            for _ in self._steps:
                pass


def _results(came: Sequence[Json], names: Mapping[str, str]) -> Iterator[Step]:
    for message in came:
        for each in parse_message(message).tool_results:
            yield Step(
                kind="tool_result",
                tool=names[each.call_id],
                result=each.text,
                is_error=bool(each.is_error),
            )


def _said(answer: Json, names: dict[str, str]) -> Iterator[Step]:
    message = parse_message(answer)
    if message.text:
        yield Step(kind="text", text=message.text)
    for call in message.tool_calls:
        names[call.id] = call.name
        given = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
        yield Step(kind="tool_call", tool=call.name, arguments=given)


def _beats(step: Step) -> Iterator[tuple[Step, int]]:
    """A step as it is shown, each part with how long it takes, in pieces."""
    if step.kind == "text":
        for piece in _pieces(step.text):
            yield Step(kind="text", text=piece), 1
    else:
        yield step, _TOOL_PIECES if step.kind == "tool_call" else 0


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces as a model gives them: words, or two characters of Chinese."""
    found = _PIECE.findall(text)
    size = max(1, math.ceil(len(found) / _MOST_PIECES))
    for start in range(0, len(found), size):
        yield "".join(found[start : start + size])
