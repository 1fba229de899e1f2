"""One turn, led so that it can be left at any moment.

The tool loop of the engine runs where models are called; its steps are told to whoever leads.
Between it and the session stands a ``Witness``: it hears every piece of the answer, and lets a
turn that was left change nothing any more. So what came before somebody left can be kept as what
it is, an answer that was stopped, without a second answer arriving behind it.

Promise: after a turn was left or broke off, the transcript has the user's message, every answer
and result that was acknowledged, and what was heard of the last answer with a mark where it
ends, once; the next request is valid (``tests/engine/test_leaving.py``,
``tests/doors/test_chat.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Final

from holdfast.context.restoring import spoken_in
from holdfast.engine.modelloop import Call, on_model_loop
from holdfast.engine.turn.running import Step, run_async
from holdfast.errors import HoldfastError
from holdfast.ports import traits_of
from holdfast.types import Json, Message

if TYPE_CHECKING:
    from holdfast.engine.session import Session
    from holdfast.engine.turn.asking import About
    from holdfast.engine.turn.fit import Prepared

__all__ = ["Left", "Turn", "Witness", "broke_off_mark", "described", "stopped_mark"]

_PATIENCE_SECONDS: Final = 1.0
_STOPPED: Final = {
    "en": "[The user stopped this answer here.]",
    "zh": "[用户在这里停止了回答。]",
}
_BROKE_OFF: Final = {"en": "[This answer broke off here.]", "zh": "[回答在这里中断。]"}


def stopped_mark(said: str) -> str:
    """Where an answer ends that nobody waited for, in the language of what was said."""
    return _STOPPED[spoken_in([said])]


def broke_off_mark(said: str) -> str:
    """Where an answer ends that failed, in the language of what was said."""
    return _BROKE_OFF[spoken_in([said])]


class Left(HoldfastError):
    """The turn was left: nobody waits for this any more."""


class Witness:
    """What the tool loop sees of a session (``running.Talk``)."""

    def __init__(
        self,
        session: Session,
        *,
        has_tools: bool = True,
        on_prepared: Callable[[Prepared], None] = lambda prepared: None,
        on_committed: Callable[[object], None] = lambda reply: None,
    ) -> None:
        self._session = session
        self._has_tools = has_tools
        self._on_prepared = on_prepared
        self._on_committed = on_committed
        self.begun = Event()
        """Set once what was said is being kept, which nothing breaks off, or the turn is over."""
        self.on_begun: Callable[[], None] = lambda: None
        self.answer: str | None = None
        """The entry of the last answer that was kept."""
        self._lock = Lock()
        self._is_left = False
        self._heard: list[str] = []
        self.name = session.name

    @property
    def phase(self) -> str:
        return self._session.phase

    @property
    def memory_mode(self) -> str:
        return self._session.memory_mode

    @contextmanager
    def _acting(self) -> Iterator[None]:
        with self._lock:
            if self._is_left:
                raise Left("The turn was left.")
            yield

    def prepare(self, *messages: Any, **about: Any) -> Prepared:
        if not self._has_tools:
            about["tools"] = ()  # a third of a small window, and a minute's reading, for nothing
        with self._acting():
            self.begun.set()
            self.on_begun()
            prepared = self._session.prepare(*messages, **about)
            self._on_prepared(prepared)
            return prepared

    def recover(self, error: object) -> Prepared | None:
        with self._acting():
            prepared = self._session.recover(error)
            if prepared is not None:
                self._on_prepared(prepared)
            return prepared

    def commit(self, reply: object) -> str:
        with self._acting():
            entry = self._session.commit(reply)
            self._heard.clear()
            self.answer = entry
            self._on_committed(reply)
            return entry

    def append(self, message: Message) -> str:
        return self._session.append(message)  # the result of a tool that ran when it was left

    def call_tool(self, name: str, arguments: Mapping[str, Json] | str) -> Json:
        return self._session.call_tool(name, arguments)

    def hear(self, piece: str) -> None:
        self._heard.append(piece)

    def leave(self, mark: str, *, seconds: float) -> bool | None:
        """Let the turn change nothing any more, and keep what was heard of an answer that was
        not kept yet. Whether there was something; None while somebody is still at it, or has not
        come to it yet."""
        if not self.begun.wait(seconds) or not self._lock.acquire(timeout=seconds):
            return None
        try:
            was_left, self._is_left = self._is_left, True
            heard = "".join(self._heard).rstrip()
            if was_left or not heard:
                return False
            self._heard.clear()
            self.answer = self._session.commit(Message.of("assistant", f"{heard}\n\n{mark}"))
            return True
        finally:
            self._lock.release()

    def leave_patiently(self, mark: str) -> bool:
        """The same, however long somebody is still at it: a compaction is not broken off."""
        while (kept := self.leave(mark, seconds=_PATIENCE_SECONDS)) is None:
            pass
        return kept


class Turn:
    """The user says something, or nothing: then the model is asked again.

    ``on_step`` and ``on_end`` are called in the thread of the models' loop, the end once and
    last: with what went wrong, if anything did.
    """

    def __init__(
        self,
        session: Session,
        said: Sequence[str],
        *,
        on_step: Callable[[Step], None],
        on_end: Callable[[BaseException | None], None],
        witness: Witness | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.witness = witness or Witness(session)
        self._session = session
        self._said = said
        self._on_step = on_step
        self._on_end = on_end
        self._given = given
        self._call: Call[None] | None = None
        self._is_to_stop = False
        self.over = Event()
        """Set once nothing of the turn runs any more."""
        self.witness.on_begun = self._stop_if_asked

    def begin(self) -> None:
        self._call = on_model_loop(self._go)

    async def _go(self) -> None:
        error: BaseException | None = None
        try:
            given = self._given or self._session.run_with(None, {})
            async for step in run_async(self.witness, self._said, **given):
                if step.kind == "text":
                    self.witness.hear(step.text)
                self._on_step(step)
        except asyncio.CancelledError as left:
            error = left
            raise
        except BaseException as raised:  # noqa: BLE001 - told to whoever leads
            error = raised
        finally:
            self.witness.begun.set()
            self.over.set()
            self._on_end(error)

    def stop(self) -> None:
        """Ask it to end, but not before what was said is being kept; it says when it has."""
        self._is_to_stop = True
        if self.witness.begun.is_set():
            self._stop_if_asked()

    def _stop_if_asked(self) -> None:
        if self._is_to_stop and self._call is not None:
            self._call.cancel()


def described(session: Session, wanted: str | None = None) -> dict[str, Any]:
    """What ``run_async`` is given: with the model that is wanted, else the conversation's own,
    else the one it was led with before if that can be had, else the one that is chosen.

    Whom the conversation is with is written down where it was not, so that whoever looks at it
    from another program sees the same marks.

    Raises:
        ModelUnavailable: there is none, or not here; says what to do.
    """
    state = session._transcript.state()
    about: About = {}
    if wanted is not None:
        about["model"] = wanted
    elif session._model is None and state.model is not None and _can_be_had(session, state.model):
        about["model"] = state.model
    given = session.run_with(None, about)
    model = given["model"]
    if state.model != model.name:
        window = traits_of(model).window
        session.append_entry("marker", {"kind": "model", "name": model.name, "window": window})
    return given


def _can_be_had(session: Session, name: str) -> bool:
    try:
        session._rooms.model(name)
    except Exception:  # noqa: BLE001 - the border: somebody else's registry, or his name for it
        return False
    return True
