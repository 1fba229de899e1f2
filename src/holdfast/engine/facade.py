"""The engine: what a program opens, and closes when it is done.

>>> import holdfast
>>> with holdfast.open("~/.holdfast", agent="main") as engine:
...     session = engine.session("s1")
...     session.append({"role": "user", "content": "hi"})

Promise: the lines above are the contract (``tests/engine/test_contract.py``).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack, get_args

from holdfast.config import Settings, default_home, load_settings
from holdfast.engine.clock import SystemClock, TimeOrderedIds
from holdfast.engine.rooms import MemoryMode, Models, Rooms
from holdfast.engine.session import Session, start_session
from holdfast.engine.status import Check, Status, examine, measure_status
from holdfast.errors import PolicyRefused, UsageError, did_you_mean
from holdfast.events import Listener, SessionDeleted, SessionRenamed
from holdfast.ports import Clock, Ids, Model, traits_of
from holdfast.sessions.store import SessionSummary, Tombstone
from holdfast.types import ChatType, Json, Scope

if TYPE_CHECKING:
    from holdfast.engine.backup import BackupMade
    from holdfast.engine.editing import Editing
    from holdfast.engine.erase import Forgotten
    from holdfast.engine.figures import Savings
    from holdfast.engine.importing.shapes import Imported
    from holdfast.engine.memories import Memories
    from holdfast.engine.remembering import Passage, Remembered
    from holdfast.engine.searching import SearchRoom
    from holdfast.engine.spending import By, Spent
    from holdfast.engine.tools import ToolFormat
    from holdfast.engine.turn.asking import About, Described
    from holdfast.memory.facts import Conflict, Facts
    from holdfast.memory.forgetting.archive import Archive
    from holdfast.memory.tasks import Tasks
    from holdfast.memory.workspace import Operation, Undone
    from holdfast.models.registry import Choice
    from holdfast.search.request import SearchResult

__all__ = ["Engine", "open_engine"]

log = logging.getLogger("holdfast.engine")


def _loaded(module: str) -> Any:
    """A part of the engine that only some programs need, loaded when it is first used."""
    return import_module(f"holdfast.engine.{module}")


def open_engine(
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
) -> Engine:
    """The engine of an agent whose files live under ``home`` (default: HOLDFAST_HOME).

    ``user``, ``chat`` and ``chat_type`` say who is speaking where; they decide which folder
    is read and written. A direct chat may also search the chats named in ``memberships``: those
    its user belongs to, as the door knows. After replies memories are saved in a thread, and
    from the first search on another keeps the index up; without ``background`` each call does
    that itself. ``models`` gives the model of a name, such as that in ``flush.model``; by default
    those that can be had here: hosted, of a server on this machine, embedded.
    ``config`` overrides single settings: ``{"flush.enabled": False}``.
    """
    path = Path(home).expanduser() if home is not None else default_home(os.environ)
    if path.exists() and not path.is_dir():
        raise UsageError(f"{str(path)!r} is a file; a home is a folder.", hint="Name another one.")
    if chat_type not in get_args(ChatType):
        near = did_you_mean(chat_type, get_args(ChatType))
        raise UsageError(f"There is no chat type {chat_type!r}.", hint=near)
    settings = load_settings(path, environ=os.environ, overrides=config)
    scope = Scope(agent=agent, user=user, chat=chat, chat_type=chat_type)
    rooms = Rooms(
        path,
        scope,
        settings=settings,
        clock=clock or SystemClock(),
        ids=ids or TimeOrderedIds(),
        memberships=frozenset(memberships),
        background=background,
        models=models,
    )
    return Engine(rooms)


class Engine:
    """The memory and the conversations of one agent. Safe to use from several threads."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._editing: Editing | None = None

    def __repr__(self) -> str:
        return f"<Engine of agent {self.agent!r} at {str(self.home)!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is being saved, and let go of all files. Conversations stay open: they go
        on next time; incognito ones are gone."""
        for session in list(self._rooms.incognito):
            session.close()
        self._rooms.finish_background(seconds=self.settings.flush.total_seconds)
        self._rooms.close_search()
        self._rooms.close_files()

    @property
    def home(self) -> Path:
        return self._rooms.home_path

    @property
    def agent(self) -> str:
        return self._rooms.scope.agent

    @property
    def settings(self) -> Settings:
        return self._rooms.settings

    def today(self) -> date:
        """The user's day now, in the configured time zone."""
        return self._rooms.today()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` for each event from now on; returns the function that ends it."""
        return self._rooms.events.subscribe(listener)

    # ── sessions ────────────────────────────────────────────────────────────────────────────

    def session(
        self,
        name: str,
        *,
        model: str | Model | None = None,
        memory: MemoryMode | None = None,
        incognito: bool = False,
        **about: Unpack[Described],
    ) -> Session:
        """The session of that name, made if there is none.

        >>> session = engine.session("s1", model="anthropic:claude-sonnet-5", system="Be kind.")

        The window, the format and how tokens are counted come from the model's name; ``about``
        says more (system text, tools, window …) and holds for every request of the session.
        ``memory`` restricts what it may do with memory: ``read`` or ``off``. An ``incognito``
        session leaves nothing behind: no memory, no transcript.
        """
        said: About = {**about, "model": _name_of(model)}
        if model is not None and not isinstance(model, str):
            said.setdefault("window", traits_of(model).window)
        own = self._model(model)
        if incognito:
            return self._start_incognito(name, said, own, memory)
        return start_session(self._rooms, name, about=said, model=own, memory=memory)

    def _model(self, model: str | Model | None) -> Model | None:
        """The session's own model. Of a name ``run`` makes one when it is needed: most who give
        only a name have a client of their own, and their money is not spent on flushes."""
        if not isinstance(model, str):
            return model
        if self._rooms.own_models is None:
            return None
        try:
            return self._rooms.own_models(model)
        except Exception:  # the border: somebody else's registry; a host may have its own client
            log.warning("model %s cannot be had: run() will not work", model, exc_info=True)
            return None

    def choose_model(self) -> Choice:
        """Which model answers when none is named: what is configured, else of a key in the
        environment, a server on this machine, an embedded one; and why."""
        return self._rooms.registry.choose()

    def model(self, name: str | None = None) -> Model:
        """The model of that name, or the one that is chosen when none is named.

        Raises:
            ModelUnavailable: there is none, or not here; says what to do.
        """
        return self._rooms.model(name)

    def _start_incognito(
        self, name: str, about: About, model: Model | None, memory: MemoryMode | None
    ) -> Session:
        if memory not in (None, "off"):
            raise UsageError(
                f"An incognito session has no memory, so it cannot have memory={memory!r}.",
                hint="Leave memory out, or use memory='read' without incognito.",
            )
        session: Session = _loaded("incognito").start(self._rooms, name, about=about, model=model)
        return session

    def upkeep(self) -> list[str]:
        """Do now what is done while nobody speaks: save what conversations at rest hold, compact
        those that are large and were not for long. What was done, in words."""
        done: list[str] = _loaded("upkeep").keep_up(self._rooms)
        return done

    def spent(self) -> dict[str, Spent]:
        """What models cost that the engine asked by itself, by day."""
        return self._rooms.spending.by_day()

    def costs(self, by: By = "day", *, since: date | None = None) -> dict[str, Spent]:
        """What models cost, replies included, by day, session, model or what it was for."""
        return self._rooms.spending.by(by, since=None if since is None else since.isoformat())

    def saved(self) -> Savings:
        """Tokens that requests did not carry and memories that were kept, by day."""
        found: Savings = _loaded("figures").savings(self.home, self._rooms.zone)
        return found

    def existing_session(self, name: str) -> Session:
        """The session of that name; NotFound, with what became of it, if there is none."""
        self._rooms.transcript(name)
        self._rooms.store.note_use(name)
        return Session(self._rooms, name)

    def import_conversation(
        self, path: str | os.PathLike[str], kind: str = "claude_code"
    ) -> Imported:
        """Bring in one log of a conversation that goes on in another program, or what is new in
        it: ``claude_code``, ``codex`` or ``openclaw``."""
        with self._rooms.watching("import", "sessions"):
            done: Imported = _loaded("importing.taking").import_conversation(
                self._rooms, Path(path), kind
            )
            return done

    def sessions(self) -> list[SessionSummary]:
        """All sessions, the most recently used first."""
        return self._rooms.store.summaries()

    def rename_session(self, name: str, to: str) -> None:
        """Give a session another name; citations of the old one still say where it went."""
        self._rooms.release(name)
        with self._rooms.watching("rename", name) as store:
            store.rename(name, to)
        self._rooms.renamed(name, to)
        self._rooms.tell(SessionRenamed, session=name, to=to)

    def delete_session(self, name: str) -> None:
        """Remove a session for good, with the artifacts only it used. There is no undo."""
        self._rooms.release(name)
        with self._rooms.watching("delete", name) as store:
            entries, freed = store.delete(name)
        self._rooms.tell(SessionDeleted, session=name, entries=entries, artifacts_freed=freed)

    def tombstone(self, name: str) -> Tombstone | None:
        """When and how a session of that name went, if one did."""
        return self._rooms.store.tombstone(name)

    # ── memory ──────────────────────────────────────────────────────────────────────────────

    def remember(
        self,
        text: str,
        *,
        kind: str | None = None,
        entity: str | None = None,
        confidence: float | None = None,
        target: str = "daily",
    ) -> Remembered:
        """Write to memory what the user wants remembered; on disk when this returns.

        ``kind`` is W (world), B (biography), O (opinion) or S (summary); ``target`` is
        ``daily``, ``memory`` or ``topic:<name>``. Repeats are not written again, and what
        contradicts an older memory is said.
        """
        with self._rooms.watching("remember", "memory"):
            done: Remembered = _loaded("remembering").remember(
                self._rooms,
                text,
                kind=kind,
                entity=entity,
                confidence=confidence,
                target=target,
            )
            return done

    def get(self, path: str) -> Passage:
        """A memory file, some lines of it (``MEMORY.md#L3-L9``), or ``session#entry``."""
        found: Passage = _loaded("remembering").get(self._rooms, path)
        return found

    def search(
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
        """Passages of memory and earlier conversations, the best first, each with its source.

        What was acknowledged before is found. An empty result says why, and ``degraded`` names
        what did not run; with ``explain`` each passage shows how it got its place.
        """
        found: SearchResult = _loaded("searching.asking").search(
            self._rooms,
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
        return found

    @property
    def index(self) -> SearchRoom:
        """The search index: ``status``, ``sync``, ``rebuild``, ``verify``."""
        return self._rooms.search

    def files(self) -> list[str]:
        """The memory files there are: what ``get`` reads."""
        return self._memory.workspace.files()

    @property
    def editing(self) -> Editing:
        """The memory files for a person: files, read, write, append, history, source."""
        if self._editing is None:
            self._editing = _loaded("editing").Editing(self._rooms)
        return self._editing

    def undo(self, operation: str | None = None, *, dry_run: bool = False) -> Undone:
        """Take back the last change of the memory files, or the one that is named."""
        with self._rooms.watching("undo", "memory"):
            return self._memory.workspace.undo(operation, dry_run=dry_run)

    def changes(self) -> list[Operation]:
        """What changed in the memory files, newest first: what ``undo`` can take back."""
        return self._memory.workspace.operations()

    def forget(
        self,
        *targets: str,
        ids: Iterable[str] = (),
        erase: bool = False,
        dry_run: bool = False,
    ) -> Forgotten:
        """Move matching memories to the archive, or erase a text everywhere, with a receipt.

        A target is an id, or a text that is matched literally, whatever its case; what ``ids``
        names is never taken for a text.
        """
        with self._rooms.watching("forget", "memory"):
            done: Forgotten = _loaded("erase").forget(
                self._rooms, targets, ids=tuple(ids), erase=erase, dry_run=dry_run
            )
            return done

    def conflicts(self, *, model: Model | None = None) -> list[Conflict]:
        """Memories that contradict each other, by rules; a model, if given, judges the doubtful.

        ``facts.resolve`` decides one.
        """
        found: list[Conflict] = _loaded("remembering").conflicts(self._rooms, model)
        return found

    @property
    def _memory(self) -> Memories:
        return self._rooms.readable_memory()

    @property
    def facts(self) -> Facts:
        """Typed memories: list, show, history, confirm, retract, conflicts, resolve."""
        return self._memory.facts

    @property
    def tasks(self) -> Tasks:
        """Task records: open, update, close, list, similar, stats, patterns."""
        return self._memory.tasks

    @property
    def archive(self) -> Archive:
        """What forgetting moved away: list, restore; and what the policies would move."""
        return self._memory.archive

    def tools(self, format: ToolFormat = "openai") -> list[dict[str, Json]]:
        """The memory and task tools for a model, described as its provider wants them."""
        described: list[dict[str, Json]] = _loaded("tools").definitions(format)
        return described

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Json] | str,
        *,
        session: str | Session | None = None,
    ) -> Json:
        """The answer to a model's call of one of ``tools()``; JSON text as arguments will do.

        ``session`` is the conversation it comes from: what the memory stands on there decides
        how far it is trusted.
        """
        if isinstance(session, Session):
            return session.call_tool(name, arguments)  # in its own rooms: it may be incognito
        asked_in = session
        with self._rooms.watching("tool", asked_in or "memory"):
            return _loaded("tools").call_tool(self._rooms, name, arguments, session=asked_in)

    # ── the whole ───────────────────────────────────────────────────────────────────────────

    def status(self) -> Status:
        """The three tiers of memory with their sizes."""
        return measure_status(self._rooms)

    def doctor(self, *, fix: bool = False) -> list[Check]:
        """What is well and what is not, each with what to do."""
        return examine(self._rooms, fix=fix)

    def backup(self, file: str | os.PathLike[str]) -> BackupMade:
        """Write the whole home to one file, and read it back to be sure.

        Only for the owner: the home holds what others said, too.
        """
        if self._rooms.scope.user is not None or self._rooms.scope.chat is not None:
            raise PolicyRefused("A backup is of the whole home, and only its owner makes one.")
        made: BackupMade = _loaded("backup").make_backup(
            self._rooms.home, Path(file), clock=self._rooms.clock
        )
        return made


def _name_of(model: str | Model | None) -> str | None:
    return model if model is None or isinstance(model, str) else model.name
