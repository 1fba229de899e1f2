"""One conversation, as a host uses it: append, look, go back, fork.

Room work is done in the caller's thread: a hop to another one costs two thirds of a durable
append (docs/decisions). ``engine.aio`` offers the same calls to async hosts.

Promise: an id that ``append`` returned is on disk; what ``expand`` returns is what was
appended (``tests/engine/test_contract.py``).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack, cast

from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError, InvalidMessage, NotFound, StorageError
from holdfast.events import SessionClosed, SessionStarted
from holdfast.formats import parse_message, plain_json
from holdfast.sessions.shapes import message_of, problem_with
from holdfast.sessions.transcript import Draft, Transcript, Verification
from holdfast.types import Entry, Json, Message, View

if TYPE_CHECKING:
    from holdfast.engine.exporting import ExportFormat
    from holdfast.engine.turn import About, Explanation, Prepared

__all__ = ["Expanded", "Session"]

log = logging.getLogger("holdfast.engine")


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


def _uses_tools(entry: Entry) -> bool:
    parts = entry.data.get("parts", ()) if entry.type == "message" else ()
    return any(part.get("type") == "tool_call" for part in parts)


class Session:
    """One conversation. Safe to use from several threads."""

    def __init__(self, rooms: Rooms, name: str) -> None:
        self._rooms = rooms
        self.name = name

    def __repr__(self) -> str:
        return f"<Session {self.name!r} of agent {self._rooms.scope.agent!r}>"

    @property
    def _transcript(self) -> Transcript:
        return self._rooms.transcript(self.name)

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
        with self._rooms.watching("append", self.name):
            if type == "marker" and plain.get("kind") == "reset":
                _turn().save_view(self._rooms, self._transcript, "reset")
            return self._transcript.append([Draft(type=type, data=plain)])[0].id

    def set_goal(self, goal: str | None) -> None:
        """What this conversation is for; durable, shown when it is resumed."""
        self.append_entry("marker", {"kind": "goal", "text": goal})

    def set_vars(self, values: Mapping[str, Json], *, unset: Iterable[str] = ()) -> None:
        """Change variables of the conversation; durable. ``unset`` names those to remove."""
        self.append_entry("marker", {"kind": "vars", "set": dict(values), "unset": [*unset]})

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    @property
    def goal(self) -> str | None:
        return self._transcript.state().goal

    @property
    def vars(self) -> dict[str, Json]:
        return dict(self._transcript.state().vars)

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

    def prepare(self, **about: Unpack[About]) -> Prepared:
        """The next request, valid and small enough: what must leave is saved first.

        >>> request = session.prepare(system="Be kind.", tools=tools, window=32_000)
        >>> client.chat.completions.create(model="…", messages=request.messages)

        What may be said about the request is listed at ``About``.

        Raises:
            IrreducibleContext: what may not be shortened does not fit; names it.
        """
        with self._rooms.watching("prepare", self.name):
            turn = _turn()
            self._keep_tasks()  # before anything leaves the view
            return cast(
                "Prepared", turn.ensure_fit(self._rooms, self._transcript, turn.Ask(**about))
            )

    def compact(self, **about: Unpack[About]) -> Prepared:
        """Compact now, whatever the marks say; what leaves is saved first."""
        with self._rooms.watching("compact", self.name):
            turn = _turn()
            self._keep_tasks()
            ask = turn.Ask(**about)
            return cast("Prepared", turn.ensure_fit(self._rooms, self._transcript, ask, now=True))

    def explain_context(self, **about: Unpack[About]) -> Explanation:
        """The marks, what is used, and what the next ``prepare`` would do; nothing is done."""
        turn = _turn()
        return cast("Explanation", turn.explain(self._rooms, self._transcript, turn.Ask(**about)))

    def _keep_tasks(self, *, final: bool = False) -> None:
        """Bring the task records up to what was said. A record is never worth a reply."""
        rooms = self._rooms
        if rooms.settings.memory.mode != "read-write":
            return
        window = self._transcript.window()
        entries = (*window.earlier, *window.tail)
        if not (any(map(_uses_tools, entries)) or rooms.base.identify("tasks")):
            return  # nothing to record; the memory rooms need not be loaded
        try:
            keep = import_module("holdfast.engine.tasking").keep_tasks
            keep(rooms.memory.tasks, self.name, entries, final=final)
        except HoldfastError as error:
            log.warning("session %s: task records not kept: %s", self.name, error.message)

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

    def close(self) -> None:
        """Say that the conversation has ended. A later message opens it again."""
        self.append_entry("marker", {"kind": "closed"})
        self._keep_tasks(final=True)
        if self._rooms.settings.transcripts.redact == "at_close":
            import_module("holdfast.engine.erase.secrets").redact_session(self._rooms, self.name)
        entries = self._transcript.state().entries
        self._rooms.release(self.name)
        self._rooms.tell(SessionClosed, session=self.name, entries=entries)
