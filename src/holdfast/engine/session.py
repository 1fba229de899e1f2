"""One conversation, as a host uses it: append, look, go back, fork.

Room work is done in the caller's thread: a hop to another one costs two thirds of a durable
append (docs/decisions). ``engine.aio`` offers the same calls to async hosts.

Promise: an id that ``append`` returned is on disk; what ``expand`` returns is what was
appended (``tests/engine/test_contract.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, Unpack, cast, get_args

from holdfast.engine.rooms import MemoryMode, Phase, Rooms
from holdfast.errors import InvalidMessage, NotFound, StorageError, UsageError, did_you_mean
from holdfast.events import SessionClosed, SessionStarted
from holdfast.formats import parse_message, plain_json
from holdfast.ports import Model, traits_of
from holdfast.sessions.private import OFF
from holdfast.sessions.shapes import message_of, problem_with
from holdfast.sessions.state import State
from holdfast.sessions.transcript import Draft, Transcript, Verification
from holdfast.types import Entry, Json, Message, View

if TYPE_CHECKING:
    from holdfast.context.flush import NoFlush
    from holdfast.engine.exporting import ExportFormat
    from holdfast.engine.flush.saving import FlushDone
    from holdfast.engine.turn import About, Explanation, Prepared
    from holdfast.engine.turn.exchange import Exchange
    from holdfast.engine.turn.running import Step
    from holdfast.engine.turn.talking import Incoming

__all__ = ["Expanded", "Session", "Vars", "start_session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The original behind an id: of an entry, or of an artifact."""

    id: str
    text: str
    message: Message | None = None
    entry: Entry | None = None
    payload: bytes | None = None

    def __str__(self) -> str:
        return self.text


def _turn() -> Any:
    """The planners, with their many patterns, are loaded by the first turn that needs them."""
    return import_module("holdfast.engine.turn")


class Incognito(Protocol):
    """What becomes of a conversation that leaves nothing behind."""

    def end(self) -> None: ...

    def follow(self, name: str) -> Session: ...


class Vars(MutableMapping[str, Json]):
    """The variables of a conversation; what is set is on disk when that returns."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def _held(self) -> Mapping[str, Json]:
        return self._session._transcript.state().vars

    def __getitem__(self, name: str) -> Json:
        return self._held()[name]

    def __setitem__(self, name: str, value: Json) -> None:
        self._session.set_vars({name: value})

    def __delitem__(self, name: str) -> None:
        if name not in self._held():
            raise KeyError(name)
        self._session.set_vars({}, unset=[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._held())

    def __len__(self) -> int:
        return len(self._held())

    def __repr__(self) -> str:
        return repr(dict(self._held()))


class Session:
    """One conversation. Safe to use from several threads."""

    def __init__(
        self,
        rooms: Rooms,
        name: str,
        *,
        about: About | None = None,
        model: Model | None = None,
        incognito: Incognito | None = None,
    ) -> None:
        self._rooms = rooms
        self.name = name
        self._incognito = incognito
        self._about = about
        self._model = model
        self._exchanging: Exchange | None = None
        self._is_gone = False

    def __repr__(self) -> str:
        return f"<Session {self.name!r} of agent {self._rooms.scope.agent!r}>"

    @property
    def _transcript(self) -> Transcript:
        return self._rooms.transcript(self.name)

    @property
    def is_incognito(self) -> bool:
        """Whether nothing of this conversation is kept."""
        return self._incognito is not None

    @property
    def _exchange(self) -> Exchange:
        if self._exchanging is None:
            exchange = import_module("holdfast.engine.turn.exchange")
            opened = exchange.Opened(about=self._about or {}, model=self._model)
            self._exchanging = exchange.Exchange(self._rooms, self.name, opened)
        return self._exchanging

    # ── writing ─────────────────────────────────────────────────────────────────────────────

    def append(self, message: Message | Mapping[str, Json]) -> str:
        """The id of the message's entry, which is on disk when this returns.

        >>> session.append({"role": "user", "content": "hi"})
        """
        rooms = self._rooms
        parsed = parse_message(message)
        # What ``watching`` does, without the price of a context manager: this is the hot path.
        try:
            entries = rooms.store.append(rooms.transcript(self.name), [parsed])
        except StorageError as error:
            rooms.refused("append", self.name, error)
            raise
        if rooms.failing:
            rooms.took_it("append", self.name)
        return entries[0].id

    def append_all(self, messages: Iterable[Message | Mapping[str, Json]]) -> list[str]:
        """The ids of several messages, written together: one sync for all."""
        parsed = [parse_message(message) for message in messages]
        with self._rooms.watching("append", self.name) as store:
            entries = store.append(self._transcript, parsed)
        return [entry.id for entry in entries]

    def append_entry(self, type: str, data: Mapping[str, Json]) -> str:
        """The id of an entry of any type. Types that Holdfast does not know are only kept."""
        plain = plain_json(data)
        if (problem := problem_with(type, plain)) is not None:
            raise InvalidMessage(f"This is no {type} entry: {problem}.")
        draft = Draft(type=type, data=plain)
        with self._rooms.watching("append", self.name):
            if type == "compaction" or (type == "marker" and plain.get("kind") == "reset"):
                entry: str = _turn().append_saved(self._rooms, self._transcript, draft)
                return entry
            if type == "marker" and plain.get("kind") == "memory":
                return self._switch_memory(plain)
            return self._transcript.append([draft])[0].id

    def _switch_memory(self, marker: dict[str, Json]) -> str:
        """The marker says what held before it. What was said while memory was off is covered in
        the same write as the marker that ends it, so nobody reads it for memory afterwards."""
        with self._transcript.exclusive():
            before = self._transcript.state().memory_mode or "read-write"
            drafts = [Draft(type="marker", data={**marker, "before": before})]
            if before == OFF != marker["mode"]:
                saving = import_module("holdfast.engine.flush.saving")
                drafts = [*saving.passed_over(self._rooms, self._transcript), *drafts]
            return self._transcript.append(drafts)[-1].id

    def set_goal(self, goal: str | None) -> None:
        """What this conversation is for; durable, shown when it is resumed."""
        self.append_entry("marker", {"kind": "goal", "text": goal})

    def set_vars(self, values: Mapping[str, Json], *, unset: Iterable[str] = ()) -> None:
        """Change variables of the conversation; durable. ``unset`` names those to remove."""
        self.append_entry("marker", {"kind": "vars", "set": dict(values), "unset": [*unset]})

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    @property
    def goal(self) -> str | None:
        """What this conversation is for; setting it is durable."""
        return self._transcript.state().goal

    @goal.setter
    def goal(self, goal: str | None) -> None:
        self.set_goal(goal)

    @property
    def vars(self) -> Vars:
        """The variables of the conversation: ``session.vars["city"] = "Oslo"`` is durable."""
        return Vars(self)

    @property
    def memory_mode(self) -> MemoryMode:
        """What this conversation may do with memory: ``read-write``, ``read`` or ``off``."""
        return self._rooms.memory_mode(self.name)

    @property
    def phase(self) -> Phase:
        """``ACTIVE``, ``FLUSHING`` or ``COMPACTING``: what is being done to it now, by this
        process or, as far as its transcript says, by another."""
        mine = self._rooms.phase(self.name)
        if mine == "ACTIVE" and self._transcript.state().memory_flushing:
            saving = import_module("holdfast.engine.flush.saving")
            return "FLUSHING" if saving.is_held(self._rooms, self._transcript) else "ACTIVE"
        return mine

    def state(self) -> dict[str, Json]:
        """The counters of the conversation, computed from its entries."""
        return asdict(self._transcript.state())

    def entries(self, *, last: int | None = None) -> list[Entry]:
        """Every entry in order, or the ``last`` few."""
        return self._transcript.entries(last=last)

    def view(self) -> View:
        """The messages the model would see now."""
        return self._rooms.store.view(self._transcript)

    def expand(self, id: str) -> Expanded:
        """The original of an entry or an artifact, whole, whatever the view shows of it."""
        store = self._rooms.store
        with suppress(NotFound):  # cheaper to look for than an entry
            payload = store.artifacts.get(id)
            return Expanded(id=id, text=payload.decode("utf-8", "replace"), payload=payload)
        entry = store.whole(self._transcript.find(id))
        message = message_of(entry)
        text = message.text if message is not None else json.dumps(entry.data, ensure_ascii=False)
        return Expanded(id=id, text=text, message=message, entry=entry)

    def originals(self, ids: Iterable[str]) -> dict[str, Message]:
        """The messages of these entries as they were appended; one reading of the whole file."""
        wanted = set(ids)
        store = self._rooms.store
        found = {
            entry.id: message_of(store.whole(entry))
            for entry in self.entries()
            if entry.id in wanted
        }
        return {id: message for id, message in found.items() if message is not None}

    # ── the next request ────────────────────────────────────────────────────────────────────

    def prepare(self, *messages: Incoming, **about: Unpack[About]) -> Prepared:
        """The next request, valid and small enough: what must leave is saved first.

        >>> request = session.prepare("Book the flight")
        >>> client.messages.create(**request.anthropic())

        ``messages`` are what is new: a text of the user, messages, results of tools, several of
        them, or nothing (to look again inside a loop). They are on disk before anything else is
        done. What may be said about the request is listed at ``About``; it holds for this call,
        what the session was opened with for all.

        Raises:
            IrreducibleContext: what may not be shortened does not fit; names it.
        """
        with self._rooms.watching("prepare", self.name):
            return self._exchange.prepare(messages, about)

    def commit(self, reply: object) -> str:
        """Take the model's answer: what the client returned, object or dict, or a message.

        The id of its entry, which is on disk when this returns. The provider's count of tokens
        is read from it; saving ahead of time begins now, in the background.
        """
        return self._exchange.commit(reply)

    def recover(self, error: object) -> Prepared | None:
        """A smaller request after the provider said that the last one does not fit.

        >>> try:
        ...     reply = client.messages.create(**request.anthropic())
        ... except anthropic.APIStatusError as error:
        ...     if (request := session.recover(error)) is None:
        ...         raise

        None if the error is about something else. At most three times in a turn.
        """
        with self._rooms.watching("recover", self.name):
            return self._exchange.recover(error)

    def run(
        self,
        *messages: Incoming,
        functions: Mapping[str, Callable[..., object]] | None = None,
        **about: Unpack[About],
    ) -> Iterator[Step]:
        """Let the session's own model answer, and call what it asks for among ``functions``.

        >>> for step in session.run("What is on my list?"):
        ...     print(step.text, end="")

        Steps are told as they happen: pieces of the answer, calls of tools and their results,
        the end. The memory tools need not be given.
        """
        running = import_module("holdfast.engine.turn.running")
        steps: Iterator[Step] = running.run(self, messages, **self.run_with(functions, about))
        return steps

    def run_with(
        self, functions: Mapping[str, Callable[..., object]] | None, about: About
    ) -> dict[str, Any]:
        """What ``run`` gives to the tool loop; for those who drive it themselves."""
        model = self._answering(about)
        return {
            "functions": functions or {},
            "about": {**(self._about or {}), **about},
            "model": model,
            "tell": partial(self._rooms.tell, session=self.name),
            "book": self._exchange.book_unanswered,
        }

    def _answering(self, about: About) -> Model:
        """Who answers in ``run``: the session's own model, that of its name, the chosen one.

        Raises:
            ModelUnavailable: there is none, or not here; says what to do.
        """
        named = about.get("model")
        if self._model is None or named not in (None, self._model.name):
            said = self._about or {}
            found = self._rooms.model(named or said.get("model"))
            if found is not self._model:
                self._answer_with(found)
        assert self._model is not None
        return self._model

    def _answer_with(self, model: Model) -> None:
        """Flushes and summaries are its own model's as well, from now on."""
        given = {key: value for key, value in (self._about or {}).items() if value is not None}
        if self._model is not None:
            given.pop("window", None)  # it was the other model's
        window = given.get("window", traits_of(model).window)
        self._about = cast("About", {**given, "model": model.name, "window": window})
        self._model = model
        self._exchanging = None

    def call_tool(self, name: str, arguments: Mapping[str, Json] | str) -> Json:
        """The answer to a model's call of one of ``engine.tools()`` in this conversation."""
        with self._rooms.watching("tool", self.name):
            return import_module("holdfast.engine.tools").call_tool(
                self._rooms, name, arguments, session=self.name
            )

    def restore(self) -> str | None:
        """Begin with what is known now, before anything is said; else the first ``prepare`` does.
        What the model will read of it, or None if there is nothing."""
        with self._rooms.watching("restore", self.name):
            self._exchange.restore({})
        return self._transcript.state().restored

    def flush(self, reason: str = "manual") -> FlushDone | NoFlush:
        """Save to memory what the conversation holds and no record covers yet."""
        with self._rooms.watching("flush", self.name):
            return self._exchange.flush(reason)

    def compact(self, focus: str | None = None, **about: Unpack[About]) -> Prepared:
        """Compact now, whatever the marks say; what leaves is saved first.

        ``focus`` says what to keep in mind.
        """
        with self._rooms.watching("compact", self.name):
            return self._exchange.compact(focus, about)

    def explain_context(self, **about: Unpack[About]) -> Explanation:
        """The marks, what is used, and what the next ``prepare`` would do; nothing is done."""
        return self._exchange.explain(about)

    def verify(self) -> Verification:
        """What a check of every byte finds."""
        return self._rooms.store.verify(self._transcript)

    def export(
        self,
        format: ExportFormat = "markdown",
        *,
        view: bool = False,
        with_secrets: bool = False,
    ) -> str:
        """The whole conversation as one text; with ``view`` only what the model sees now.

        Credentials are blacked out unless ``with_secrets``: what is exported gets around.
        """
        # Markdown needs its parser, which is slow to load: only whoever exports pays.
        text: str = import_module("holdfast.engine.exporting").export(
            self._rooms, self._transcript, format, view=view, with_secrets=with_secrets
        )
        return text

    # ── the conversation as a whole ─────────────────────────────────────────────────────────

    def fork(self, entry_id: str, name: str) -> Session:
        """A new session that starts as this one was after that entry; ids stay the same."""
        with self._rooms.watching("fork", self.name) as store:
            store.fork(self._transcript, entry_id, name)
        fork = Session(self._rooms, name)
        self._rooms.tell(
            SessionStarted,
            session=name,
            resumed=False,
            entries=fork._transcript.state().entries,
            forked_from=self.name,
        )
        return fork

    def close(self, reason: str = "close") -> None:
        """Save what was said, and say that the conversation has ended. A later message opens it
        again; an incognito conversation is gone."""
        if self._is_gone:
            return
        self._exchange.end(reason)
        self.append_entry("marker", {"kind": "closed"})
        if self._rooms.settings.transcripts.redact == "at_close":
            import_module("holdfast.engine.erase.secrets").redact_session(self._rooms, self.name)
        entries = self._transcript.state().entries
        self._rooms.release(self.name)
        self._rooms.tell(SessionClosed, session=self.name, entries=entries)
        if self._incognito is not None:
            self._is_gone = True
            self._incognito.end()

    def new(self, name: str | None = None) -> Session:
        """Save, close, and begin the next conversation with what is known: ``/new``.

        Without a name it gets this one's with the next number.
        """
        name = name or next_name(self.name, self._rooms.store.names())
        wanted = self._transcript.state().memory_mode
        self.close("new")
        if self._incognito is not None:
            return self._incognito.follow(name)
        return start_session(
            self._rooms,
            name,
            about=self._about,
            model=self._model,
            memory=cast("MemoryMode | None", wanted),
        )


def next_name(name: str, taken: Collection[str]) -> str:
    """``talk`` → ``talk-2`` → ``talk-3``: the first that is free."""
    stem, dash, number = name.rpartition("-")
    if not (dash and number.isdecimal()):
        stem, number = name, "1"
    return next(found for n in count(int(number) + 1) if (found := f"{stem}-{n}") not in taken)


def start_session(
    rooms: Rooms,
    name: str,
    *,
    about: About | None = None,
    model: Model | None = None,
    memory: MemoryMode | None = None,
    incognito: Incognito | None = None,
) -> Session:
    """The session of that name, made if there is none."""
    if memory is not None and memory not in get_args(MemoryMode):
        near = did_you_mean(memory, get_args(MemoryMode))
        raise UsageError(f"There is no memory mode {memory!r}.", hint=near)
    scope = rooms.scope
    header = {"agent": scope.agent, "chat_type": scope.chat_type}
    header |= {key: value for key in ("user", "chat") if (value := getattr(scope, key))}
    with rooms.watching("create", name) as store:
        transcript, is_new = store.open_or_create(name, header)
        store.note_use(name)
    rooms.adopt(transcript)
    session = Session(rooms, name, about=about, model=model, incognito=incognito)
    _note_model(session, transcript.state(), about or {})
    if memory is not None:
        _restrict(rooms, session, memory)
    entries = transcript.state().entries
    rooms.tell(SessionStarted, session=name, resumed=not is_new, entries=entries)
    return session


def _note_model(session: Session, state: State, about: About) -> None:
    """Write down whom the conversation is with, if that is new: whoever looks at it later, from
    another program, sees the same marks."""
    name, window = about.get("model"), about.get("window")
    if (name or window) and (name, window) != (state.model, state.window):
        session.append_entry("marker", {"kind": "model", "name": name, "window": window})


def _restrict(rooms: Rooms, session: Session, memory: MemoryMode) -> None:
    """Write down what the conversation may do with memory, if that is new."""
    known = rooms.transcript(session.name).state().memory_mode or "read-write"
    if known != memory:
        session.append_entry("marker", {"kind": "memory", "mode": memory})
