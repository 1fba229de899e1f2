"""Sending notices: a bounded queue, one thread, a few attempts, everything told.

``send`` only puts a notice into the queue. The thread is started by the first one and gives it
to each channel in turn, at most three times, with pauses that grow or as long as the other side
asked for, within bounds. What became of it is a ``NoticeSent`` event for each channel.

At least once: a notice is known by session, cycle and kind. While one waits or after it was
sent, another of the same key is a duplicate; where it failed, the next one is tried again.

Promise: ``send`` never waits and never raises; what a notice needs (a model, a network) cannot
fail the turn; no event, log record or exception shows a token, a secret or the path of an
address; a forked child sends its own and none of its parent's (``tests/engine/test_notices.py``).
"""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from threading import Condition, Thread, current_thread
from typing import Final

from holdfast.config.keys import Notices as NoticeSettings
from holdfast.disk import PROCESS
from holdfast.engine.notify.channel import Channel, Outgoing, Result
from holdfast.engine.notify.opening import channels_of, names_of, secrets_of
from holdfast.engine.notify.wording import Notice, numbers_of, said, session_name
from holdfast.events import Event, NoticeSent
from holdfast.ports import Clock
from holdfast.redact import redact
from holdfast.text import one_line

__all__ = ["Notices"]

log = logging.getLogger("holdfast.engine")

_MOST_WAITING: Final = 256
_MOST_KNOWN: Final = 4096
_ATTEMPTS: Final = 3
_FIRST_PAUSE: Final = 1.0
_PAUSE_GROWTH: Final = 4.0
_LONGEST_PAUSE: Final = 60.0
_REASON_COLUMNS: Final = 300
_EVERY_CHANNEL: Final = "all"


@dataclass(frozen=True, slots=True)
class _Job:
    notice: Notice
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Problem:
    outcome: str
    reason: str | None = None


class Notices:
    """The notices of one engine in one process."""

    def __init__(
        self,
        settings: NoticeSettings,
        *,
        clock: Clock,
        tell: Callable[[Event], None],
        language: str = "auto",
        environ: Mapping[str, str] = os.environ,
        sleep: Callable[[float], object] | None = None,
        open_channels: Callable[[], Sequence[Channel]] | None = None,
    ) -> None:
        """``language`` is the setting ``memory.language``: unless it is ``auto`` it decides."""
        self._clock = clock
        self._tell = tell
        self._language = language
        self._sleep = sleep or self._rest
        self._secrets = secrets_of(settings)
        self._names = names_of(settings)
        self._open_channels = open_channels or (
            lambda: channels_of(settings, clock=clock, environ=environ)
        )
        self._known: dict[tuple[str, str], None] = {}
        """Key and channel of what waits or was delivered, the oldest first."""
        self._begin()

    def _begin(self) -> None:
        self._changed = Condition()
        self._waiting: deque[_Job] = deque()
        self._is_busy = False
        self._is_closing = False
        self._thread: Thread | None = None
        self._channels: Mapping[str, Channel] | None = None
        self._generation = PROCESS.generation

    def _mine(self) -> None:
        """After a fork the queue is the parent's to send, and its lock may be held for ever."""
        if self._generation != PROCESS.generation:
            with PROCESS.lock:
                if self._generation != PROCESS.generation:
                    self._begin()

    # ── for callers ─────────────────────────────────────────────────────────────────────────

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that are configured."""
        return self._names

    def send(self, notice: Notice) -> None:
        """Send this soon, unless it was told before. Never waits, never raises."""
        self._mine()
        if not self._names:
            return
        with self._changed:
            problem = self._take(notice)
            self._changed.notify_all()
        if problem is not None:
            self._report(notice, _EVERY_CHANNEL, problem.outcome, 0, problem.reason)

    def drain(self, seconds: float) -> bool:
        """Whether everything that waited was dealt with within that time."""
        self._mine()
        if self._thread is current_thread():
            return False  # a listener that waits for the thread it runs in
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._waiting or self._is_busy:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def close(self, seconds: float = 5.0) -> bool:
        """Wait so long for what is under way; then no more attempts are made.

        What still waits is told as failed. True: nothing was left.
        """
        is_done = self.drain(seconds)
        with self._changed:
            self._is_closing = True
            left = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        for job in left:
            for name in job.names:
                self._report(job.notice, name, "failed", 0, "not sent before closing")
        return is_done

    # ── the queue ───────────────────────────────────────────────────────────────────────────

    def _take(self, notice: Notice) -> _Problem | None:
        names = tuple(name for name in self._names if (notice.key, name) not in self._known)
        if not names:
            return _Problem("duplicate")
        if self._is_closing:
            return _Problem("failed", "notices are closed")
        if len(self._waiting) >= _MOST_WAITING:
            return _Problem("failed", f"{_MOST_WAITING} notices wait already")
        if not self._has_thread():
            return _Problem("failed", "no thread could be started")
        self._waiting.append(_Job(notice, names))
        self._known.update(((notice.key, name), None) for name in names)
        while len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return None

    def _has_thread(self) -> bool:
        if self._thread is None:
            thread = Thread(target=self._work, name="holdfast-notices", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no threads left, or the interpreter is ending
                return False
            self._thread = thread
        return True

    def _work(self) -> None:
        changed = self._changed  # of the process that started this thread
        while True:
            with changed:
                self._is_busy = False
                changed.notify_all()
                while not self._waiting:
                    if self._is_closing:
                        return
                    changed.wait()
                job = self._waiting.popleft()
                self._is_busy = True
            for name in job.names:
                self._deliver(job.notice, name)

    # ── one notice, one channel ─────────────────────────────────────────────────────────────

    def _deliver(self, notice: Notice, name: str) -> None:
        attempts = 0
        try:
            channel = self._channel(name)
            message = self._message(notice)
            for attempts in range(1, _ATTEMPTS + 1):
                result = channel.deliver(message)
                pause = _pause(result, attempts)
                if pause is None or self._is_closing:
                    break
                self._sleep(pause)
            outcome, reason = result.outcome, result.reason
        except Exception as error:  # noqa: BLE001 - the thread must live; its text may hold secrets
            outcome, reason = "failed", type(error).__name__
        if outcome == "failed":
            with self._changed:
                self._known.pop((notice.key, name), None)  # the next one may get through
        self._report(notice, name, outcome, attempts, reason)

    def _channel(self, name: str) -> Channel:
        if self._channels is None:
            self._channels = {each.name: each for each in self._open_channels()}
        return self._channels[name]

    def _message(self, notice: Notice) -> Outgoing:
        wanted = notice.language if self._language == "auto" else self._language
        language = "zh" if wanted.lower().startswith("zh") else "en"
        numbers = numbers_of(notice.numbers)
        return Outgoing(
            id=token_hex(16),
            kind=notice.kind,
            at=self._clock.now(),
            session=session_name(notice.session),
            language=language,
            text=said(notice.kind, session=notice.session, language=language, numbers=numbers),
            numbers=numbers,
        )

    def _rest(self, seconds: float) -> None:
        """A pause that closing ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing, seconds)

    def _report(
        self, notice: Notice, channel: str, outcome: str, attempts: int, reason: str | None
    ) -> None:
        event = NoticeSent(
            at=self._clock.now(),
            session=notice.session,
            channel=channel,
            kind=notice.kind,
            outcome=outcome,
            attempts=attempts,
            reason=None if reason is None else self._without_secrets(reason),
        )
        try:
            self._tell(event)
        except Exception as error:  # noqa: BLE001 - other people's code
            log.warning("a notice could not be reported: %s", type(error).__name__)

    def _without_secrets(self, reason: str) -> str:
        for secret in self._secrets:
            reason = reason.replace(secret, "…")
        return one_line(redact(reason), _REASON_COLUMNS)


def _pause(result: Result, attempts: int) -> float | None:
    """How long to wait before the next attempt; None: there is none."""
    if result.outcome != "failed" or not result.is_passing or attempts == _ATTEMPTS:
        return None
    own = _FIRST_PAUSE * _PAUSE_GROWTH ** (attempts - 1)
    asked = result.pause or 0.0
    return max(own, asked) if asked <= _LONGEST_PAUSE else None
