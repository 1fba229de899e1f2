"""One person, one model, one conversation: what happens between two prompts.

Everything the engine does runs beside the thread that draws; that thread shows what comes out of
the feed until it is over. So Ctrl-C is an item like any other: it stops an answer, and never
breaks a saving off.

Promise: an error of a model is shown with what to do, and the conversation goes on; nothing that
was typed is lost: it is in the transcript before the model is asked (``tests/doors/test_chat.py``).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from holdfast.cli.chat.feed import Ended, Feed, Item, Logged, Stop, Waits
from holdfast.cli.chat.meter import Meter
from holdfast.cli.chat.news import News
from holdfast.cli.chat.opening import Opening
from holdfast.cli.chat.results import in_short
from holdfast.cli.chat.screen import Screen, Tone
from holdfast.cli.chat.turn import Turn
from holdfast.cli.chat.words import Words
from holdfast.cli.speech import filled
from holdfast.context.accounting import Budget, effective_window, make_budget
from holdfast.engine.turn.running import Step
from holdfast.errors import HoldfastError
from holdfast.events import Event
from holdfast.models.windows import window_of
from holdfast.ports import traits_of
from holdfast.text import cut, display, one_line

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.engine.facade import Engine
    from holdfast.engine.session import Session

__all__ = ["GaveUp", "Talk"]

T = TypeVar("T")

_TICK: Final = 0.25
_PATIENCE: Final = 0.7
"""Seconds without a word before the screen says what is waited for."""
_LEAVE_SECONDS: Final = 8.0
"""How long a turn may take to end that is to be stopped: its tools get five."""
_SHOWN: Final = 100


class GaveUp(Exception):
    """Ctrl-C, and again, while something was being finished."""


class Talk:
    """The conversation that the prompt belongs to."""

    def __init__(
        self,
        door: Door,
        engine: Engine,
        opening: Opening,
        words: Words,
        screen: Screen,
        feed: Feed | None = None,
    ) -> None:
        self.door = door
        self.engine = engine
        self.opening = opening
        self.words = words
        self.screen = screen
        self.feed = feed or Feed()
        self.news = News(engine=engine, words=words, screen=screen)
        self.meter = Meter(words=words, model=opening.model.name, traits=traits_of(opening.model))
        self.turns = 0
        self.errors = 0
        self.code = 0
        """The exit code of the last error."""
        self.is_reading = False
        """Whether a line is read where nothing hears the feed: then Ctrl-C is an exception."""
        self.was_stopped = False
        self._session: Session | None = None
        self._next: Session | None = None
        """The one that ``/new`` has begun, until it is gone on with."""
        self._changing = Lock()
        self._began = 0.0
        self._is_quiet = True
        self._label = ""
        """What is being done, if it is not the model's turn."""
        self._waits: Waits | None = None
        self._waiting_for = ""
        self._unsubscribe = engine.subscribe(self.feed.tell)
        _hear_waiting(opening.model, self.feed)
        self.meter.note = self._note()
        self.meter.fits(self._empty_budget(), 0)

    # ── the session ─────────────────────────────────────────────────────────────────────────

    @property
    def is_open(self) -> bool:
        """Whether anything was said yet, or a session was gone on with."""
        return self._session is not None

    @property
    def session(self) -> Session:
        """The session, which the first use makes."""
        if self._session is None:
            self.follow(self.opening.open(self.engine))
        return cast("Session", self._session)

    def follow(self, session: Session) -> None:
        """Go on in this session."""
        self._session = self.news.session = session
        self.meter.session, self.meter.note = session.name, self._note()
        self.news.show_all = self.door.command("sessions", "show", session.name)
        self.news.may_save = session.memory_mode == "read-write"
        self.measure()

    def begin_next(self, name: str | None) -> None:
        """Save, close, and go on in the next session; whoever does not wait for it comes to it
        at the prompt after it is there.

        Raises:
            GaveUp: it was not waited for.
        """
        old = self.session

        def begin() -> None:
            with self._changing:
                self._next = old.new(name)

        self.work(begin, waiting=self.words.closing, is_saving=self.news.may_save)
        self.show_news()

    def _arrive(self) -> None:
        following, self._next = self._next, None
        if following is not None:
            old = self.session.name
            self.follow(following)
            told = filled(self.words.new_session, old=old, new=following.name)
            self.screen.answer(told)
            self.screen.fact("session", {"session": following.name, "after": old})

    def _empty_budget(self) -> Budget:
        """The marks before anything was said."""
        settings, model = self.engine.settings, self.opening.model
        given = self.opening.window or self.meter.traits.window or settings.context.window
        return make_budget(settings, window=effective_window(given, known=window_of(model.name)))

    def measure(self) -> None:
        """How full the window is before the next message."""
        found = self.session.explain_context()
        self.meter.fits(found.budget, found.projection.tokens)

    @property
    def memory_mode(self) -> str:
        """What the conversation may do with memory, also before there is one."""
        if self._session is not None:
            return self._session.memory_mode
        return self.opening.memory_mode(self.engine)

    def _note(self) -> str:
        if self.opening.incognito:
            return self.words.private
        return {"off": self.words.off, "read": self.words.reads}.get(self.memory_mode, "")

    # ── a turn ──────────────────────────────────────────────────────────────────────────────

    def say(self, text: str | None) -> bool:
        """Let the model answer; None asks again. Whether it came to its end."""
        said = () if text is None else (text,)
        try:
            turn = Turn(self.session, said, feed=self.feed, meter=self.meter)
        except HoldfastError as error:
            self.show_error(error)
            return False
        self.turns += 1
        self._await_words()
        turn.begin()
        ended = self._until(turn, turn.stop, seconds=_LEAVE_SECONDS, stopping=True)
        self.screen.pause()
        if ended is not None and ended.error is None:
            return True
        is_stopped = ended is None or isinstance(ended.error, asyncio.CancelledError)
        self.was_stopped = is_stopped
        self._leave(turn, is_stopped=is_stopped)
        if ended is not None and ended.error is not None and not is_stopped:
            self.show_error(ended.error)
            self.screen.line(self.words.retry, "dim")
        return False

    def _leave(self, turn: Turn, *, is_stopped: bool) -> None:
        """Keep what came, once nobody is at the transcript any more."""
        words = self.words
        mark = words.stopped_mark if is_stopped else words.broke_off_mark
        leave = turn.witness.leave
        try:
            is_kept = self.work(lambda: _patiently(leave, mark))
        except GaveUp:
            is_kept = False
        except HoldfastError as error:  # the disk: said, and the prompt comes back
            self.show_error(error)
            return
        if is_kept:
            self.screen.line(words.stopped if is_stopped else words.broke_off, "dim")
            self.screen.fact("stopped" if is_stopped else "broken", {"kept": True})
        elif is_stopped:
            self.screen.line(words.nothing_came, "dim")
            self.screen.fact("stopped", {"kept": False})

    def work(self, do: Callable[[], T], *, waiting: str = "…", is_saving: bool = False) -> T:
        """What ``do`` returns or raises, done beside the thread that draws.

        Ctrl-C says how long it may still take, if that is known; again, and it is left to end by
        itself.

        Raises:
            GaveUp: it was left.
        """
        job: Any = object()

        def go() -> None:
            try:
                self.feed.put(Ended(work=job, result=do()))
            except BaseException as error:  # noqa: BLE001 - raised in the thread that draws
                self.feed.put(Ended(work=job, error=error))

        def said() -> None:
            is_saved = is_saving or self.meter.doing == "saving"
            limit = self.engine.settings.flush.total_seconds
            told = self.words.closing_wait if is_saved else self.words.work_wait
            self.screen.line(filled(told, seconds=limit), "dim")

        self._take()  # a Ctrl-C from before is not for this
        self._await_words(waiting)
        self.screen.wait(waiting)
        Thread(target=go, name="holdfast-chat", daemon=True).start()
        ended = self._until(job, said, seconds=None)
        self.screen.wait("")
        if ended is None:
            self.was_stopped = True
            raise GaveUp
        if ended.error is not None:
            raise ended.error
        return cast("T", ended.result)

    def _until(
        self,
        work: object,
        on_stop: Callable[[], None],
        *,
        seconds: float | None,
        stopping: bool = False,
    ) -> Ended | None:
        """Show what comes until the work is over; None if it was stopped and did not end."""
        deadline: float | None = None
        stops = 0
        while deadline is None or time.monotonic() < deadline:
            item = self.feed.get(_TICK)
            if isinstance(item, Ended):
                if item.work is work:
                    return item
            elif isinstance(item, Stop):
                stops += 1
                if stops > 1:
                    return None
                on_stop()
                if seconds is not None:
                    deadline = time.monotonic() + seconds
            elif item is not None:
                self.show(item)
            self._tick(is_stopping=stopping and stops > 0)
        return None

    def _take(self) -> bool:
        """Show what is there by now; whether Ctrl-C was among it."""
        was_pressed = False
        for item in self.feed.waiting():
            was_pressed = was_pressed or isinstance(item, Stop)
            if not isinstance(item, Stop | Ended):
                self.show(item)
        return was_pressed

    # ── showing ─────────────────────────────────────────────────────────────────────────────

    def show_news(self) -> bool:
        """What happened since, at a prompt. Whether Ctrl-C was pressed."""
        was_pressed = self._take()
        self._arrive()
        return was_pressed

    def show(self, item: Item) -> None:
        match item:
            case Step():
                self._show_step(item)
            case Event():
                if item.session is None or item.session == self.meter.session:
                    self.meter.hear(item)
                self.news.tell(item)
            case Logged():
                self.screen.line(f"! {display(one_line(item.text, 4 * _SHOWN))}", "warn")
            case Waits():
                self._waits = item
            case _:
                pass

    def _show_step(self, step: Step) -> None:
        screen = self.screen
        if step.kind == "text":
            self._is_quiet = False
            screen.speak(step.text)
            return
        screen.pause()
        if step.kind == "tool_call":
            arguments = one_line(json.dumps(dict(step.arguments), ensure_ascii=False), _SHOWN)
            said = filled(self.words.tool, tool=step.tool or "", arguments=arguments)
            screen.line(f"· {said}", "dim", indent="  ")
            screen.fact("tool_call", {"tool": step.tool, "arguments": dict(step.arguments)})
        elif step.kind == "tool_result":
            tone: Tone = "warn" if step.is_error else "dim"
            told = in_short(step.result or "", self.words, _SHOWN)
            screen.line(f"  → {told}", tone, indent="    ")
            screen.fact(
                "tool_result",
                {"tool": step.tool, "result": step.result, "is_error": step.is_error},
            )
        else:
            screen.fact("end", {"text": step.message.text if step.message else ""})
        self._await_words()

    def show_error(self, error: BaseException) -> None:
        """What went wrong, and the next thing to do."""
        self.errors += 1
        self.screen.pause()
        if isinstance(error, HoldfastError):
            self.code = error.exit_code
            message, hint = error.message, error.hint
        else:
            self.code = HoldfastError.exit_code
            message, hint = f"{type(error).__name__}: {cut(str(error), 2000)}", None
        for line in message.splitlines():
            self.screen.line(display(line), "error")
        for line in (hint or "").splitlines():
            self.screen.line(f"→ {display(line)}" if "→" not in line else display(line), "dim")
        self.screen.fact("error", {"error": message, "hint": hint, "exit_code": self.code})

    def _await_words(self, label: str = "") -> None:
        self._began, self._is_quiet = time.monotonic(), True
        self._waits, self._label, self._waiting_for = None, label, label

    def _tick(self, *, is_stopping: bool) -> None:
        """Nothing came for a moment: say what is waited for."""
        passed = time.monotonic() - self._began
        if self._is_quiet and passed >= _PATIENCE:
            told = self.words.stopping if is_stopping else self._waited_for(int(passed))
            if told != self._waiting_for:
                self.screen.wait(told)
            self._waiting_for = told

    def _waited_for(self, seconds: int) -> str:
        words, waits, name = self.words, self._waits, self.meter.short_name
        if self.meter.doing:
            return words.saving if self.meter.doing == "saving" else words.compacting
        if self._label:
            return self._label
        if waits is None:
            return filled(words.thinking, model=name, seconds=seconds)
        expected = None if waits.seconds is None else max(1, round(waits.seconds))
        sentence = {
            "loading": words.loading,
            "waiting": words.queueing,
            "reading": words.reading_first if expected is None else words.reading,
        }.get(waits.phase, words.thinking)
        told = {"tokens": waits.tokens, "expected": expected, "seconds": seconds}
        return filled(sentence, model=name, **told)

    # ── the end ─────────────────────────────────────────────────────────────────────────────

    def close(self, *, is_over: bool = True) -> bool:
        """Save and let go. Whether that came to its end; what was said is on disk in any case."""
        words, session = self.words, self._session

        def end() -> None:
            with self._changing:  # a session that is being begun has to be there, to end it
                last, self._next = self._next or session, None
            if last is not None and is_over:
                last.close("quit")
            self.engine.close()

        try:
            is_saved = session is not None and is_over and self.news.may_save
            self.work(end, waiting=words.closing if is_saved else "…", is_saving=is_saved)
        except GaveUp:
            name = "" if session is None else session.name
            back = self.door.command("flush", name)
            self.screen.line(filled(words.left, command=back), "warn")
            return False
        except HoldfastError as error:
            self.show_error(error)
        self.show_news()
        self._unsubscribe()
        return True


def _patiently(leave: Callable[..., bool | None], mark: str) -> bool:
    while (kept := leave(mark, seconds=1.0)) is None:
        pass
    return kept


def _hear_waiting(model: object, feed: Feed) -> None:
    """Let a model that runs here say what keeps it from speaking."""
    if not hasattr(model, "on_wait"):
        return

    def waits(told: Any) -> None:
        feed.put(
            Waits(
                phase=str(getattr(told, "phase", "")),
                tokens=int(getattr(told, "tokens", 0) or 0),
                seconds=getattr(told, "seconds_expected", None),
            )
        )

    model.on_wait = waits
