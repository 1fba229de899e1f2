"""Threads that append at the same time share one write and one sync.

Whoever finds nobody writing leads: it writes everybody's drafts. The others sleep until theirs
are done; the first of those who came too late for a batch leads the next one.

Promise: nobody waits for ever, whoever fails or is interrupted wherever, nothing is written
twice, and a sync is shared by all who came during the one before
(``tests/sessions/test_concurrent_appends.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Lock, get_ident
from typing import Final, Generic, TypeVar

from holdfast.errors import HoldfastError, StorageError, UsageError

__all__ = ["GroupCommit", "Ticket"]

D = TypeVar("D")
R = TypeVar("R")

LOOK_UP_SECONDS: Final = 0.02
"""How long a sleeper trusts that somebody will wake it. Ctrl-C can end a leader between any two
instructions, also the two that would have told the others."""


class Ticket(Generic[D, R]):
    """One caller's drafts on their way to the disk, and what became of them."""

    __slots__ = ("drafts", "error", "is_done", "is_taken", "results", "wake")

    def __init__(self, drafts: list[D], wake: Lock | None = None) -> None:
        self.drafts = drafts
        self.results: list[R] = []
        self.error: BaseException | None = None
        self.is_taken = False
        self.is_done = False
        self.wake = wake


class GroupCommit(Generic[D, R]):
    """The line in front of one ``commit``, which is called by one thread at a time.

    ``commit`` gets a batch of tickets and gives each its results or its error.
    """

    def __init__(self, commit: Callable[[list[Ticket[D, R]]], None]) -> None:
        self._commit = commit
        self._waiting: list[Ticket[D, R]] = []
        self._lock = Lock()
        self._leader = Lock()
        self._inside: dict[int, bool] = {}

    @property
    def waiting(self) -> int:
        """How many callers stand in line."""
        return len(self._waiting)

    @property
    def is_busy_here(self) -> bool:
        """Whether the calling thread is in the middle of a ``submit``."""
        return self._inside.get(get_ident(), False)

    def submit(self, drafts: list[D]) -> list[R]:
        """The results of these drafts, when they are committed."""
        if self.is_busy_here:
            raise UsageError(
                "An append was called in the middle of an append of the same thread.",
                hint="Signal handlers must not append; let them set a flag instead.",
            )
        me = get_ident()
        ticket: Ticket[D, R] = Ticket(drafts, _closed_lock() if self._leader.locked() else None)
        try:
            self._inside[me] = True
            with self._lock:
                self._waiting.append(ticket)
            while ticket.wake is not None and self._leader.locked():
                ticket.wake.acquire(timeout=LOOK_UP_SECONDS)
                if ticket.is_done:
                    break
            if not ticket.is_done:
                with self._leader:  # holding it is the leadership; leaving, in any way, ends it
                    if not (ticket.is_taken or ticket.is_done):
                        self._lead()
                    if not ticket.is_done:
                        # Whoever took it does not write any more, and did not say how it ended.
                        ticket.error = _interrupted()
        finally:
            self._inside[me] = False  # first, and no call: so Ctrl-C cannot come before it
            if self._waiting:
                self._step_out(ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.results

    def _lead(self) -> None:
        with self._lock:
            batch, self._waiting = self._waiting, []
            for ticket in batch:
                ticket.is_taken = True
        try:
            self._commit(batch)
        except HoldfastError as error:
            for ticket in batch:
                ticket.error = ticket.error or error
        except BaseException:  # Ctrl-C is for the leader; the others only learn that it failed
            for ticket in batch:
                ticket.error = ticket.error or _interrupted()
            raise
        finally:
            for ticket in batch:
                ticket.is_done = True
                if ticket.wake is not None:
                    _wake(ticket)

    def _step_out(self, ticket: Ticket[D, R]) -> None:
        """Leave nothing behind in the line, and let the first who stands there lead."""
        with self._lock:
            if not ticket.is_taken and ticket in self._waiting:
                self._waiting.remove(ticket)
            following = self._waiting[0] if self._waiting else None
        if following is not None:
            _wake(following)


def _closed_lock() -> Lock:
    lock = Lock()
    lock.acquire()
    return lock


def _wake(ticket: Ticket[D, R]) -> None:
    if ticket.wake is not None:
        with suppress(RuntimeError):  # it is awake already
            ticket.wake.release()


def _interrupted() -> StorageError:
    return StorageError(
        "The append was interrupted before it was certain to be on disk.",
        hint="Look whether it is there, and append again if not.",
    )
