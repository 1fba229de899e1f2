"""The server as a whole: it listens, answers, keeps things up, and ends in order.

    server = Server(Places([Place(name="own", engine=engine)]), home=home)
    server.start()                      # in a thread; ``run`` stays in this one
    server.url, server.token, server.new_link()
    server.stop()                       # what was said is saved, the engines are closed

Promises, proven by ``tests/server/test_running.py``: it ends within its time, whoever listens;
an answer that is being given may finish, or is told that it cannot; what was said is saved
before the engines are closed; a home has one server.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import anyio
from anyio.to_thread import current_default_thread_limiter

from holdfast.disk import Directory
from holdfast.engine.clock import SystemClock
from holdfast.errors import HoldfastError
from holdfast.gatehouse.heads import gate_for
from holdfast.gatehouse.listening import (
    Tls,
    listening,
    outlive_signals,
    shown_host,
    web_server,
)
from holdfast.models.servers import is_loopback_host
from holdfast.ports import Clock
from holdfast.server.app import build
from holdfast.server.desk import Desk, Language
from holdfast.server.entrance import Counted, Entrance
from holdfast.server.metrics import Counts
from holdfast.server.pages import Pages
from holdfast.server.places import Places
from holdfast.server.presence import Presence, announce, occupy, withdraw
from holdfast.server.saving import save_all
from holdfast.server.tokens import Given, TokenFile, Tokens
from holdfast.server.turns import Turns, turns_of

__all__ = ["Server"]

log = logging.getLogger("holdfast.server")

_THREADS: Final = 64
_START_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 20.0
"""How long an answer may go on when the server is to end."""


class Server:
    """Serves these places until it is stopped. Whoever listens where is decided by ``bound``."""

    def __init__(
        self,
        places: Places,
        *,
        home: Path,
        clock: Clock | None = None,
        hosts: Iterable[str] = (),
        tls: Tls | None = None,
        language: Language = "en",
    ) -> None:
        self._places = places
        self._home = Directory.open(home)
        self._clock = clock or SystemClock()
        self._hosts = tuple(hosts)
        self._tls = tls
        self._language: Language = language
        self._file = TokenFile(home)
        self._file.make()
        self._tokens = Tokens(self._file, self._clock.now)
        self._counts = Counts(places)
        self._since = {place.name: place.engine._rooms.clock.now() for place in places}
        self._occupied: ExitStack | None = None
        self._turns: Turns | None = None
        self._desk: Desk | None = None
        self._entrance: Entrance | None = None
        self._web: Any = None
        self._thread: Thread | None = None
        self._presence: Presence | None = None
        self._ready = Event()
        self._is_stopped = False
        self._ending: Callable[[], None] | None = None

    # ── what others ask it ──────────────────────────────────────────────────────────────────

    @property
    def url(self) -> str:
        """Where it is, without a slash at the end."""
        return self._known_desk.url

    @property
    def token(self) -> str:
        """The token in the file: for programs."""
        return self._file.make()

    @property
    def token_file(self) -> Path:
        return self._file.path

    @property
    def open_streams(self) -> int:
        """How many follow what happens."""
        return 0 if self._entrance is None else self._entrance.open_streams

    def new_code(self) -> str:
        """A code that works once, soon."""
        return self._tokens.new_code().secret

    def new_link(self, *, place: str | None = None) -> str:
        """Where a browser signs in with a new code."""
        given: Given = self._tokens.new_code()
        return self._known_desk.link(given, place=place)

    def is_open(self, code: str) -> bool:
        """Whether a code was not used yet, and still works."""
        return self._tokens.is_open(code)

    @property
    def _known_desk(self) -> Desk:
        assert self._desk is not None, "it listens nowhere yet"
        return self._desk

    # ── running ─────────────────────────────────────────────────────────────────────────────

    def listen(self, bound: socket.socket) -> None:
        """Say where; what it is called follows from that. From now on it is the server of its
        home, until it has ended or is given up.

        Raises:
            UsageError: another one is.
        """
        self._occupied = occupy(self._home)
        address, port = bound.getsockname()[:2]
        scheme = "http" if self._tls is None else "https"
        is_ours_alone = is_loopback_host(address)
        own = f"{scheme}://{shown_host(address)}:{port}"
        url = own if is_ours_alone or not self._hosts else f"https://{self._hosts[0]}"
        self._desk = Desk(
            tokens=self._tokens,
            started_at=self._clock.now(),
            url=url,
            language=self._language,
        )
        app = build(self._places, desk=self._desk)
        self._turns = turns_of(app)
        self._entrance = Entrance(
            app,
            gate=gate_for(port, self._hosts, bound=address, scheme=scheme),
            tokens=self._tokens,
            pages=Pages.installed(),
            counted=Counted(answered=self._counts.answered, metrics=self._counts.text),
        )
        self._counts.follow(self._entrance)

    def give_up(self) -> None:
        """It does not begin after all: another one may."""
        if self._occupied is not None:
            self._occupied.close()

    def run(self, bound: socket.socket, *, ending: Callable[[], None] | None = None) -> None:
        """Answer on that socket, until ``stop`` or a signal; then save, and close the engines.
        ``ending`` is called when no more requests are taken."""
        self._ending = ending
        outlive_signals(self._ask_to_end)
        try:
            if self._desk is None:
                self.listen(bound)
            self._announce(bound)
            self._keep_up()
            anyio.run(self._run, bound)
        finally:
            self._ready.set()
            self._end()

    def start(self, bound: socket.socket | None = None) -> Server:
        """Answer from a thread of its own; on a free port of this machine if none is said."""
        bound = bound or listening("127.0.0.1", 0)
        try:
            self.listen(bound)
        except BaseException:
            bound.close()
            raise
        self._thread = Thread(target=self.run, args=(bound,), name="holdfast-server")
        self._thread.start()
        self._ready.wait(_START_SECONDS)
        if self._web is None:
            self._thread.join()
            raise HoldfastError("The server could not begin; its log says why.")
        return self

    def stop(self) -> None:
        """Take no more requests, finish those that came, save, close."""
        self._ask_to_end()
        if self._thread is not None:
            self._thread.join()

    def _ask_to_end(self) -> None:
        self._is_stopped = True
        if self._web is not None:
            self._web.should_exit = True

    def __enter__(self) -> Server:
        return self.start() if self._thread is None else self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _run(self, bound: socket.socket) -> None:
        assert self._entrance is not None
        current_default_thread_limiter().total_tokens = _THREADS
        self._web = web_server(self._entrance, before_end=self._before_end, tls=self._tls)
        self._web.should_exit = self._is_stopped
        self._ready.set()
        await self._web.serve(sockets=[bound])

    def _before_end(self) -> None:
        assert self._entrance is not None
        assert self._turns is not None
        self._entrance.end_streams()
        asyncio.get_running_loop().call_later(_ANSWER_SECONDS, self._turns.stop)
        if self._ending is not None:
            self._ending()

    def _keep_up(self) -> None:
        """Let every index follow its files from now on, not from the first search on. What rests
        is looked after by the engines themselves (``engine.upkeep``)."""
        for place in self._places:
            try:
                place.engine.index.start()
            except HoldfastError as error:
                log.warning("%s: the index is not kept up: %s", place.name, error)

    # ── the end ─────────────────────────────────────────────────────────────────────────────

    def _end(self) -> None:
        with ExitStack() as each:  # also behind one that cannot be closed
            each.callback(self.give_up)
            each.callback(self._withdraw)
            for place in self._places:
                each.callback(place.engine.close)
            each.callback(save_all, self._places, self._since)
            each.callback(self._counts.close)

    # ── being found ─────────────────────────────────────────────────────────────────────────

    def _announce(self, bound: socket.socket) -> None:
        desk = self._known_desk
        address, port = bound.getsockname()[:2]
        local = _local(address)
        self._presence = Presence(
            pid=os.getpid(),
            url=desk.url,
            started_at=desk.started_at.isoformat(),
            address=local,
            port=port,
            host=f"{shown_host(local)}:{port}" if is_loopback_host(local) else self._hosts[0],
            certificate=None if self._tls is None else str(self._tls.certificate),
        )
        announce(self._home, self._presence)

    def _withdraw(self) -> None:
        if self._presence is not None:
            withdraw(self._home, self._presence)


def _local(address: str) -> str:
    """Where this machine reaches what listens there."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
