"""The engine for async hosts: the same calls, none of which blocks the event loop.

Every call runs in a worker thread of the engine's own pool, where the rooms block as they
please; appends that are awaited together share one sync. No logic here: the parity with
``Engine`` and ``Session`` is a test (``tests/engine/test_async.py``).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Mapping,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from datetime import date, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack

from holdfast.config import Settings
from holdfast.disk import PROCESS
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.rooms import MemoryMode, Models, Phase
from holdfast.engine.session import Expanded, Session, Vars
from holdfast.engine.status import Check, Status
from holdfast.events import Event, Listener
from holdfast.ports import Clock, Ids, Model
from holdfast.sessions.store import SessionSummary, Tombstone
from holdfast.sessions.transcript import Verification
from holdfast.types import ChatType, Entry, Json, Message, View

if TYPE_CHECKING:
    from holdfast.context.flush import NoFlush
    from holdfast.engine.backup import BackupMade
    from holdfast.engine.erase import Forgotten
    from holdfast.engine.exporting import ExportFormat
    from holdfast.engine.figures import Savings
    from holdfast.engine.flush.saving import FlushDone
    from holdfast.engine.importing.shapes import Imported
    from holdfast.engine.remembering import Passage, Remembered
    from holdfast.engine.spending import By, Spent
    from holdfast.engine.tools import ToolFormat
    from holdfast.engine.turn import About, Explanation, Prepared
    from holdfast.engine.turn.asking import Described
    from holdfast.engine.turn.running import Step
    from holdfast.engine.turn.talking import Incoming
    from holdfast.memory.facts import Conflict
    from holdfast.memory.workspace import Operation, Undone
    from holdfast.models.registry import Choice
    from holdfast.search.request import SearchResult

__all__ = ["AsyncEngine", "AsyncSession", "aopen_engine"]

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 32
"""How many appends can wait for the same sync. More only queue behind them."""


class aopen_engine:
    """The engine of an agent, opened when awaited or entered.

    >>> async with holdfast.aopen("~/.holdfast") as engine:
    ...     session = await engine.session("s1")
    """

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        agent: str = "main",
        *,
        user: str | None = None,
        chat: str | None = None,
        chat_type: ChatType = "direct",
        memberships: Iterable[str] = (),
        background: bool = True,
        models: Models | None = None,
        config: Mapping[str, Json] | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        self._open = partial(
            open_engine,
            home,
            agent,
            user=user,
            chat=chat,
            chat_type=chat_type,
            memberships=memberships,
            background=background,
            models=models,
            config=config,
            clock=clock,
            ids=ids,
        )
        self._engine: AsyncEngine | None = None

    async def _opened(self) -> AsyncEngine:
        self._engine = AsyncEngine(await asyncio.to_thread(self._open))
        return self._engine

    def __await__(self) -> Generator[object, None, AsyncEngine]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncEngine:
        return await self._opened()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._engine is not None:
            await self._engine.close()


class _Threads:
    """The worker threads of one async engine."""

    def __init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self._generation = PROCESS.generation
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="holdfast")

    def run(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        if self._generation != PROCESS.generation:
            self._open()  # threads do not live on in a forked child
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._pool, partial(call, *args, **kwargs))

    def stop(self) -> None:
        self._pool.shutdown(wait=False)


class Awaited:
    """A room whose methods are awaited: ``await engine.tasks.open("…")``."""

    def __init__(self, room: Callable[[], object], threads: _Threads) -> None:
        self._room = room
        self._threads = threads

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        def call(*args: Any, **kwargs: Any) -> Awaitable[Any]:
            return self._threads.run(lambda: getattr(self._room(), name)(*args, **kwargs))

        return call


class AsyncSession:
    """One conversation; see ``Session``. To set a variable without waiting: ``set_vars``."""

    def __init__(self, session: Session, threads: _Threads) -> None:
        self._session = session
        self._threads = threads
        self.name = session.name

    async def append(self, message: Message | Mapping[str, Json]) -> str:
        return await self._threads.run(self._session.append, message)

    async def append_all(self, messages: Iterable[Message | Mapping[str, Json]]) -> list[str]:
        return await self._threads.run(self._session.append_all, messages)

    async def append_entry(self, type: str, data: Mapping[str, Json]) -> str:
        return await self._threads.run(self._session.append_entry, type, data)

    async def set_goal(self, goal: str | None) -> None:
        await self._threads.run(self._session.set_goal, goal)

    async def set_vars(self, values: Mapping[str, Json], *, unset: Iterable[str] = ()) -> None:
        await self._threads.run(self._session.set_vars, values, unset=unset)

    async def state(self) -> dict[str, Json]:
        return await self._threads.run(self._session.state)

    async def entries(self, *, last: int | None = None) -> list[Entry]:
        return await self._threads.run(self._session.entries, last=last)

    async def view(self) -> View:
        return await self._threads.run(self._session.view)

    async def expand(self, id: str) -> Expanded:
        return await self._threads.run(self._session.expand, id)

    async def originals(self, ids: Iterable[str]) -> dict[str, Message]:
        return await self._threads.run(self._session.originals, ids)

    @property
    def goal(self) -> str | None:
        return self._session.goal

    @property
    def vars(self) -> Vars:
        return self._session.vars

    @property
    def memory_mode(self) -> MemoryMode:
        return self._session.memory_mode

    @property
    def phase(self) -> Phase:
        return self._session.phase

    @property
    def is_incognito(self) -> bool:
        return self._session.is_incognito

    async def prepare(self, *messages: Incoming, **about: Unpack[About]) -> Prepared:
        return await self._threads.run(self._session.prepare, *messages, **about)

    async def commit(self, reply: object) -> str:
        return await self._threads.run(self._session.commit, reply)

    async def recover(self, error: object) -> Prepared | None:
        return await self._threads.run(self._session.recover, error)

    async def run(
        self,
        *messages: Incoming,
        functions: Mapping[str, Callable[..., object]] | None = None,
        **about: Unpack[About],
    ) -> AsyncGenerator[Step, None]:
        running = import_module("holdfast.engine.turn.running")
        # In a thread: the first use of a model loads its client.
        given = await self._threads.run(self._session.run_with, functions, about)
        async with aclosing(running.run_async(self._session, messages, **given)) as steps:
            async for step in steps:
                yield step

    def run_with(
        self, functions: Mapping[str, Callable[..., object]] | None, about: About
    ) -> dict[str, Any]:
        return self._session.run_with(functions, about)

    async def call_tool(self, name: str, arguments: Mapping[str, Json] | str) -> Json:
        return await self._threads.run(self._session.call_tool, name, arguments)

    async def restore(self) -> str | None:
        return await self._threads.run(self._session.restore)

    async def flush(self, reason: str = "manual") -> FlushDone | NoFlush:
        return await self._threads.run(self._session.flush, reason)

    async def compact(self, focus: str | None = None, **about: Unpack[About]) -> Prepared:
        return await self._threads.run(self._session.compact, focus, **about)

    async def explain_context(self, **about: Unpack[About]) -> Explanation:
        return await self._threads.run(self._session.explain_context, **about)

    async def verify(self) -> Verification:
        return await self._threads.run(self._session.verify)

    async def export(
        self,
        format: ExportFormat = "markdown",
        *,
        view: bool = False,
        with_secrets: bool = False,
    ) -> str:
        return await self._threads.run(
            self._session.export, format, view=view, with_secrets=with_secrets
        )

    async def fork(self, entry_id: str, name: str) -> AsyncSession:
        return AsyncSession(
            await self._threads.run(self._session.fork, entry_id, name), self._threads
        )

    async def close(self, reason: str = "close") -> None:
        await self._threads.run(self._session.close, reason)

    async def new(self, name: str | None = None) -> AsyncSession:
        return AsyncSession(await self._threads.run(self._session.new, name), self._threads)


class AsyncEngine:
    """The memory and the conversations of one agent; see ``Engine``."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._threads = _Threads()

    async def close(self) -> None:
        await self._threads.run(self._engine.close)
        self._threads.stop()

    @property
    def home(self) -> Path:
        return self._engine.home

    @property
    def agent(self) -> str:
        return self._engine.agent

    @property
    def settings(self) -> Settings:
        return self._engine.settings

    def today(self) -> date:
        return self._engine.today()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._engine.subscribe(listener)

    async def events(self, *, keep: int = 1000) -> AsyncIterator[Event]:
        """Events as they happen. A reader slower than ``keep`` events misses the oldest."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event] = asyncio.Queue()

        def put(event: Event) -> None:
            if queue.qsize() >= keep:
                queue.get_nowait()
            queue.put_nowait(event)

        def hear(event: Event) -> None:
            loop.call_soon_threadsafe(put, event)

        unsubscribe = self.subscribe(hear)
        try:
            while True:
                yield await queue.get()
        finally:
            unsubscribe()

    async def session(
        self,
        name: str,
        *,
        model: str | Model | None = None,
        memory: MemoryMode | None = None,
        incognito: bool = False,
        **about: Unpack[Described],
    ) -> AsyncSession:
        session = await self._threads.run(
            self._engine.session, name, model=model, memory=memory, incognito=incognito, **about
        )
        return AsyncSession(session, self._threads)

    async def upkeep(self) -> list[str]:
        return await self._threads.run(self._engine.upkeep)

    async def spent(self) -> dict[str, Spent]:
        return await self._threads.run(self._engine.spent)

    async def costs(self, by: By = "day", *, since: date | None = None) -> dict[str, Spent]:
        return await self._threads.run(self._engine.costs, by, since=since)

    async def choose_model(self) -> Choice:
        return await self._threads.run(self._engine.choose_model)

    async def model(self, name: str | None = None) -> Model:
        return await self._threads.run(self._engine.model, name)

    async def saved(self) -> Savings:
        return await self._threads.run(self._engine.saved)

    async def existing_session(self, name: str) -> AsyncSession:
        session = await self._threads.run(self._engine.existing_session, name)
        return AsyncSession(session, self._threads)

    async def import_conversation(
        self, path: str | os.PathLike[str], kind: str = "claude_code"
    ) -> Imported:
        return await self._threads.run(self._engine.import_conversation, path, kind)

    async def sessions(self) -> list[SessionSummary]:
        return await self._threads.run(self._engine.sessions)

    async def rename_session(self, name: str, to: str) -> None:
        await self._threads.run(self._engine.rename_session, name, to)

    async def delete_session(self, name: str) -> None:
        await self._threads.run(self._engine.delete_session, name)

    async def tombstone(self, name: str) -> Tombstone | None:
        return await self._threads.run(self._engine.tombstone, name)

    async def remember(
        self,
        text: str,
        *,
        kind: str | None = None,
        entity: str | None = None,
        confidence: float | None = None,
        target: str = "daily",
    ) -> Remembered:
        return await self._threads.run(
            self._engine.remember,
            text,
            kind=kind,
            entity=entity,
            confidence=confidence,
            target=target,
        )

    async def get(self, path: str) -> Passage:
        return await self._threads.run(self._engine.get, path)

    async def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        kind: str | None = None,
        entity: str | None = None,
        since: date | datetime | str | None = None,
        until: date | datetime | str | None = None,
        as_of: date | datetime | str | None = None,
        source: str | None = None,
        session: str | None = None,
        chat_type: str | None = None,
        vectors: bool = True,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        now: datetime | str | None = None,
        explain: bool = False,
        timeout_ms: int | None = None,
    ) -> SearchResult:
        return await self._threads.run(
            self._engine.search,
            query,
            limit=limit,
            kind=kind,
            entity=entity,
            since=since,
            until=until,
            as_of=as_of,
            source=source,
            session=session,
            chat_type=chat_type,
            vectors=vectors,
            max_chars=max_chars,
            max_tokens=max_tokens,
            now=now,
            explain=explain,
            timeout_ms=timeout_ms,
        )

    @property
    def index(self) -> Awaited:
        return Awaited(lambda: self._engine.index, self._threads)

    @property
    def editing(self) -> Awaited:
        return Awaited(lambda: self._engine.editing, self._threads)

    async def undo(self, operation: str | None = None, *, dry_run: bool = False) -> Undone:
        return await self._threads.run(self._engine.undo, operation, dry_run=dry_run)

    async def changes(self) -> list[Operation]:
        return await self._threads.run(self._engine.changes)

    async def forget(
        self,
        *targets: str,
        ids: Iterable[str] = (),
        erase: bool = False,
        dry_run: bool = False,
    ) -> Forgotten:
        return await self._threads.run(
            self._engine.forget, *targets, ids=ids, erase=erase, dry_run=dry_run
        )

    @property
    def facts(self) -> Awaited:
        return Awaited(lambda: self._engine.facts, self._threads)

    @property
    def tasks(self) -> Awaited:
        return Awaited(lambda: self._engine.tasks, self._threads)

    @property
    def archive(self) -> Awaited:
        return Awaited(lambda: self._engine.archive, self._threads)

    def tools(self, format: ToolFormat = "openai") -> list[dict[str, Json]]:
        return self._engine.tools(format)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Json] | str,
        *,
        session: str | Session | None = None,
    ) -> Json:
        return await self._threads.run(self._engine.call_tool, name, arguments, session=session)

    async def conflicts(self, *, model: Model | None = None) -> list[Conflict]:
        return await self._threads.run(self._engine.conflicts, model=model)

    async def files(self) -> list[str]:
        return await self._threads.run(self._engine.files)

    async def backup(self, file: str | os.PathLike[str]) -> BackupMade:
        return await self._threads.run(self._engine.backup, file)

    async def status(self) -> Status:
        return await self._threads.run(self._engine.status)

    async def doctor(self, *, fix: bool = False) -> list[Check]:
        return await self._threads.run(self._engine.doctor, fix=fix)
