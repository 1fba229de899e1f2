"""Threads that append at the same time share one write and one sync.

Whoever finds nobody writing leads: it writes everybody's drafts. The others sleep until theirs
are done; the first of those who came too late for a batch leads the next one.

Promise: nobody waits for ever, whoever fails or is interrupted, and a sync is shared by all who
came during the one before (``tests/sessions/test_concurrent_appends.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from holdfast.errors import HoldfastError, StorageError

__all__ = ["GroupCommit", "Ticket"]

D = TypeVar("D")
R = TypeVar("R")


class Ticket(Generic[D, R]):
    """One caller's drafts on their way to the disk, and what became of them."""

    __slots__ = ("drafts", "error", "leads", "results", "wake")

    def __init__(self, drafts: list[D]) -> None:
        self.drafts = drafts
        self.results: list[R] = []
        self.error: BaseException | None = None
        self.leads = False
        self.wake: Lock | None = None


class GroupCommit(Generic[D, R]):
    """The line in front of one ``commit``, which is called by one thread at a time.

    ``commit`` gets a batch of tickets and gives each its results or its error.
    """

    def __init__(self, commit: Callable[[list[Ticket[D, R]]], None]) -> None:
        self._commit = commit
        self._waiting: list[Ticket[D, R]] = []
        self._lock = Lock()
        self._is_led = False

    @property
    def waiting(self) -> int:
        """How many callers stand in line."""
        return len(self._waiting)

    def submit(self, drafts: list[D]) -> list[R]:
        """The results of these drafts, when they are committed."""
        ticket: Ticket[D, R] = Ticket(drafts)
        self._join(ticket)
        if ticket.leads:
            try:
                with self._lock:
                    batch, self._waiting = self._waiting, []
                self._lead(batch)
            finally:
                self._pass_on()
        if ticket.error is not None:
            raise ticket.error
        return ticket.results

    def _join(self, ticket: Ticket[D, R]) -> None:
        """Stand in line; return when the drafts are committed, or when it is our turn to lead."""
        with self._lock:
            self._waiting.append(ticket)
            if not self._is_led:
                self._is_led = ticket.leads = True
                return
            ticket.wake = wake = Lock()
            wake.acquire()
        try:
            wake.acquire()
        except BaseException:  # Ctrl-C while asleep: nobody must wait for us
            with self._lock:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
            if ticket.leads:
                self._pass_on()
            raise

    def _lead(self, batch: list[Ticket[D, R]]) -> None:
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
                if ticket.wake is not None and not ticket.leads:
                    ticket.wake.release()

    def _pass_on(self) -> None:
        with self._lock:
            self._is_led = bool(self._waiting)
            if self._waiting:
                following = self._waiting[0]
                following.leads = True
                if following.wake is not None:
                    following.wake.release()


def _interrupted() -> StorageError:
    return StorageError(
        "The append was interrupted before it was certain to be on disk.",
        hint="Look whether it is there, and append again if not.",
    )
