"""A conversation with a model, from the host's side: prepare, commit, recover, compact, end.

    prepare   what came in is on disk; memory is brought back beside it; the request fits
    commit    the answer is on disk, with the provider's count; then, after the reply, memories
              are saved ahead of time and task records brought up to date
    recover   the provider said it was too much: learnt from, compacted, asked again
    end       everything is saved before the conversation closes

Each is the same call for every door. What changes the view goes through ``ensure_fit``.

Promise: the user's message is on disk before anything else happens, and no failure of memory,
search or a model keeps the request from being made (``tests/engine/test_exchange.py``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Final, cast

from holdfast.context.flush import NoFlush
from holdfast.context.validity.overflow import classify, limit_in
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.rooms import Rooms
from holdfast.engine.turn.asking import About, Ask
from holdfast.engine.turn.compacting import Why
from holdfast.engine.turn.fit import (
    Explanation,
    Prepared,
    ensure_fit,
    explain,
    flush_ahead,
    save_view,
)
from holdfast.engine.turn.recording import keep_tasks
from holdfast.engine.turn.talking import Incoming, incoming, read_reply, reported_in, usage_data
from holdfast.errors import HoldfastError, IrreducibleContext
from holdfast.events import (
    CompactionFailed,
    MessageEnd,
    RecallDone,
    RestoreDone,
    TurnFinished,
)
from holdfast.models.names import format_of
from holdfast.models.windows import window_of
from holdfast.ports import Model
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.types import Entry, Json, Message, Usage

__all__ = ["Exchange", "Opened"]

log = logging.getLogger("holdfast.engine")

_RETRIES: Final = 3
"""How often one turn may be made smaller because the provider says so."""
_SHRINK: Final = 0.75
"""Of the window, when a provider says that it was too much and not how much it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a session was opened with."""

    about: About = field(default_factory=lambda: About())
    model: Model | None = None
    """The conversation's own model, where the engine talks to it itself."""


class Exchange:
    """One conversation, as one host holds it."""

    def __init__(self, rooms: Rooms, name: str, opened: Opened) -> None:
        self._rooms = rooms
        self._name = name
        self._opened = opened
        self._prepared: Prepared | None = None
        self._said: About = {}
        """What the last request was described with: it holds until it is answered."""
        self._began = time.monotonic()
        self._retries = 0

    @property
    def _transcript(self) -> Transcript:
        return self._rooms.transcript(self._name)

    # ── the turn ────────────────────────────────────────────────────────────────────────────

    def prepare(self, given: Iterable[Incoming], about: About, why: Why | None = None) -> Prepared:
        """The next request: what came in, what belongs to it, made to fit."""
        self._began = time.monotonic()
        self._retries = 0
        self._remember(about)
        is_new = self._is_new()
        if messages := incoming(given):
            with self._rooms.watching("append", self._name) as store:
                store.append(self._transcript, messages)
        if is_new:
            self.restore(about)
        if messages:
            self._recall(messages[-1], about)
        return self._fit(about, why)

    def _fit(self, about: About, why: Why | None) -> Prepared:
        focus = self._rooms.wishes.pop(self._transcript.name, None)
        if focus is not None and why is None:
            why = "manual"
        ask = self._ask(about, focus=focus or None)
        self._prepared = ensure_fit(self._rooms, self._transcript, ask, why=why)
        return self._prepared

    def compact(self, focus: str | None, about: About) -> Prepared:
        """Compact now, whatever the marks say."""
        self._remember(about)
        self._rooms.wishes[self._transcript.name] = focus or ""
        return self._fit(about, "manual")

    def explain(self, about: About) -> Explanation:
        """What the next request would do; nothing is done."""
        return explain(self._rooms, self._transcript, self._ask(about))

    def commit(self, reply: object) -> str:
        """The id of the answer's entry, which is on disk when this returns."""
        read = read_reply(reply)
        last = self._prepared.last_entry if self._prepared is not None else None
        usage = usage_data(read.usage, last) if read.usage is not None and last else None
        with self._rooms.watching("append", self._name) as store:
            entry = store.append(self._transcript, [read.message], usage=usage)[0]
        if read.usage is not None:
            self._book(read.usage)
        projected = self._projected_after(read.message, read.usage)
        self._rooms.tell(
            MessageEnd,
            session=self._name,
            entry=entry.id,
            tool_calls=len(read.message.tool_calls),
            input_tokens=read.usage.context_tokens if read.usage else None,
            output_tokens=read.usage.output_tokens if read.usage else None,
        )
        self._after_the_reply(projected)
        if not read.message.tool_calls:
            took = (time.monotonic() - self._began) * 1000
            self._rooms.tell(
                TurnFinished,
                session=self._name,
                steps=1,
                projected=projected,
                took_ms=round(took, 1),
            )
        return entry.id

    def book_unanswered(self, said: str) -> None:
        """What a call cost that was left, or broke off: all that it was asked, and what it said."""
        if self._prepared is not None:
            tokens = self._rooms.estimator(self._prepared.model).text(said)
            self._book(Usage(input_tokens=self._prepared.projected, output_tokens=tokens))

    def _book(self, usage: Usage) -> None:
        """What a reply cost; of an incognito conversation nobody is to read that there was one,
        only what the day cost."""
        rooms, own = self._rooms, self._opened.model
        prepared = self._prepared
        name = prepared.model if prepared is not None else self._opened.about.get("model")
        if own is not None and name not in (None, own.name):
            own = None  # the host asked another one itself
        session = None if rooms.is_scratch else self._name
        rooms.spending.note_reply(name, own, usage, session=session)

    def _projected_after(self, message: Message, usage: Any) -> int:
        if usage is not None:
            return int(usage.context_tokens + usage.output_tokens)
        said = self._rooms.estimator(self._opened.about.get("model")).message(message)
        return said + (self._prepared.projected if self._prepared is not None else 0)

    def _after_the_reply(self, projected: int) -> None:
        rooms, name = self._rooms, self._name
        rooms.look_after(name, lambda: self._ask({}))
        rooms.background.submit(f"tasks:{name}", partial(keep_tasks, rooms, name))
        if rooms.has_background and rooms.is_searching:
            # So that the next message need not wait until this one can be found.
            rooms.background.submit("index:sessions", rooms.search.catch_up)
        prepared = self._prepared
        is_due = prepared is not None and projected >= prepared.budget.flush_at
        if rooms.settings.flush.enabled and (is_due or name in rooms.due):
            job = partial(self._flush_ahead, self._ask({}))
            rooms.background.submit(f"flush:{name}", job)

    def _flush_ahead(self, ask: Ask) -> None:
        flush_ahead(self._rooms, self._transcript, ask)

    def recover(self, error: object) -> Prepared | None:
        """A smaller request, if the error says that the last one was too large; else None.

        Raises:
            IrreducibleContext: it was made smaller three times, and is still too large.
        """
        text = _words_of(error)
        status = getattr(error, "status_code", None) or getattr(error, "status", None)
        code = getattr(error, "code", None)
        verdict = classify(
            text,
            status=status if isinstance(status, int) else None,
            code=code if isinstance(code, str) else None,
        )
        if verdict != "overflow":
            return None
        self._retries += 1
        if self._retries > _RETRIES:
            reason = f"the provider refused it {self._retries} times as too large"
            self._rooms.tell(CompactionFailed, session=self._name, reason=reason)
            raise IrreducibleContext(
                f"The request was made smaller {_RETRIES} times, and the provider still says that "
                "it is too large.",
                hint="Say what the model can read: context.window in config.toml, --window, or "
                "session.prepare(window=…).",
            )
        self._learn_limit(text)
        before = self._prepared
        smaller = self._fit({}, "overflow")
        if before is not None and _is_same(smaller, before):
            raise IrreducibleContext(
                f"The provider says that about {smaller.projected:,} tokens are too many, and "
                "nothing of them may leave the request.",
                hint="Is this the right model? Say what it can read: context.window in "
                "config.toml, --window, or session.prepare(window=…).",
            )
        return smaller

    def _learn_limit(self, text: str) -> None:
        """Believe the provider about its window, from now on in this conversation."""
        prepared = self._prepared
        model = prepared.model if prepared is not None else self._opened.about.get("model")
        believed = prepared.budget.window if prepared is not None else window_of(model or "") or 0
        limit = limit_in(text)
        if limit is not None and believed and limit >= believed:
            return  # it is as large as was thought: our count was too low, this once
        if limit is None:
            limit = int(believed * _SHRINK)  # whatever it takes, it is less than it was given
        if limit > 0:
            data = {"kind": "overflow", "limit": limit, "model": model}
            self._transcript.append([Draft(type="marker", data=data)])

    # ── saving ──────────────────────────────────────────────────────────────────────────────

    def flush(self, reason: str, *, must: bool = True) -> FlushDone | NoFlush:
        """Save everything in the view that is not covered yet."""
        # A flush that is under way covers most of it already.
        self._rooms.background.wait(
            f"flush:{self._name}", seconds=self._rooms.settings.flush.inline_seconds
        )
        return save_view(self._rooms, self._transcript, reason, self._ask({}), must=must)

    def end(self, reason: str) -> None:
        """Save, and bring the records to their end. A disk that refuses is told by its event."""
        try:
            self.flush(reason)
        except HoldfastError as error:
            log.warning("session %s: not all was saved: %s", self._name, error.message)
        self._rooms.background.wait(
            f"tasks:{self._name}", seconds=self._rooms.settings.flush.inline_seconds
        )
        keep_tasks(self._rooms, self._name, final=True)

    # ── memory beside the request ───────────────────────────────────────────────────────────

    def restore(self, about: About) -> None:
        """Begin a conversation with what is known."""
        mode = self._rooms.memory_mode(self._name)
        if mode == "off":
            return
        ask = self._ask(about)
        call = partial(
            import_module("holdfast.engine.restore").restore,
            self._rooms,
            self._name,
            window=_window(self._rooms, ask),
            model=ask.model,
            price=self._rooms.estimator(ask.model).text,
            language=self._language,
            mode=mode,
        )
        found = self._tried(call, RestoreDone, tokens=0)
        if found is None:
            return
        if not hasattr(found, "text"):
            self._rooms.tell(RestoreDone, session=self._name, tokens=0, reason=found.reason)
            return
        cut = tuple(str(each.source) for each in found.cut)
        data: dict[str, Json] = {
            "kind": "restored",
            "text": found.text,
            "sources": list(found.sources),
            "tokens": found.tokens,
            "cut": list(cut),
        }
        self._transcript.append([Draft(type="marker", data=data)])
        self._rooms.tell(
            RestoreDone,
            session=self._name,
            tokens=found.tokens,
            sources=found.sources,
            cut=cut,
            took_ms=round(found.took_ms, 1),
        )

    def _is_new(self) -> bool:
        """Whether nobody has answered yet, and nothing was brought back: then memory is."""
        state = self._transcript.state()
        if state.restored is not None or state.compaction_count or state.messages > _OPENING:
            return False
        return not any(map(_is_answer, self._transcript.entries(last=_OPENING + 4)))

    def _recall(self, message: Message, about: About) -> None:
        """Attach what memory says to the user's message: behind it, so the prefix stays."""
        settings = self._rooms.settings.recall
        spoken = message.role == "user" and message.text and not message.tool_results
        if not spoken or settings.mode != "auto" or self._rooms.memory_mode(self._name) == "off":
            return
        ask = self._ask(about)
        call = partial(
            import_module("holdfast.engine.restore").recall,
            self._rooms,
            self._name,
            self._rooms.store.look(self._transcript),
            message,
            price=self._rooms.estimator(ask.model).text,
            language=self._language,
            limit_tokens=min(settings.max_tokens, _window(self._rooms, ask) // 10),
            timeout_ms=settings.timeout_ms,
        )
        found = self._tried(call, RecallDone, passages=0)
        if found is None:
            return
        if not hasattr(found, "text"):
            self._rooms.tell(RecallDone, session=self._name, passages=0, reason=found.reason)
            return
        data = {
            "message": Message.of("user", found.text).to_json(),
            "passages": list(found.passages),
        }
        self._transcript.append([Draft(type="recall", data=data)])
        self._rooms.tell(
            RecallDone,
            session=self._name,
            passages=len(found.passages),
            tokens=found.tokens,
            took_ms=round(found.took_ms, 1),
            reason=found.reason or None,
        )

    def _tried(self, call: Callable[[], Any], event: Any, **told: int) -> Any:
        """What a look into memory gives; None, and told, if it fails: it is never worth a reply."""
        try:
            return call()
        except Exception as error:  # the border between a turn and what only helps it
            reason = error.message if isinstance(error, HoldfastError) else type(error).__name__
            log.info("session %s: %s failed", self._name, event.name, exc_info=True)
            self._rooms.tell(event, session=self._name, reason=reason, **told)
            return None

    @property
    def _language(self) -> str | None:
        chosen = self._rooms.settings.memory.language
        return None if chosen == "auto" else chosen

    # ── what the host said ──────────────────────────────────────────────────────────────────

    def _remember(self, about: About) -> None:
        """What a host says of one request is true of what is done about it afterwards as well:
        but for the count, which is of that one."""
        self._said = cast("About", {k: v for k, v in about.items() if k != "reported"})

    def _ask(self, about: About, *, focus: str | None = None) -> Ask:
        """What was said when the session was opened, what this call says, what is known."""
        given = cast("dict[str, Any]", {**self._opened.about, **self._said, **about})
        state = self._transcript.state()
        if given.get("model") is None and given.get("window") is None:
            given |= {"model": state.model, "window": state.window}
        given.setdefault("format", format_of(given.get("model")))
        if given.get("reported") is None:
            given["reported"] = reported_in(self._rooms.store.look(self._transcript).entries)
        settings = self._rooms.settings
        given.setdefault("flusher", self._resolved(settings.flush.model))
        given.setdefault("summariser", self._resolved(settings.compaction.model))
        is_off = self._rooms.memory_mode(self._name) == "off"
        seen = state.observed_window if state.observed_model == given.get("model") else None
        return Ask(
            **given,
            restored=None if is_off else state.restored,
            observed_window=seen,
            focus=focus,
        )

    def _resolved(self, name: str | None) -> Model | None:
        """The model of that name, else the conversation's own; a model is never worth a reply."""
        if name is None:
            return self._opened.model
        try:
            return self._rooms.model(name)
        except HoldfastError as error:
            log.warning("model %s cannot be had: %s", name, error.message)
        except Exception:  # the border: somebody else's registry
            log.warning("model %s cannot be had", name, exc_info=True)
        return self._opened.model


_OPENING: Final = 2
"""Messages a conversation may have before its first answer: an instruction and a question."""


def _is_answer(entry: Entry) -> bool:
    return entry.type == "message" and entry.data.get("role") == "assistant"


def _window(rooms: Rooms, ask: Ask) -> int:
    """What the model can read, as far as it is known before anything is measured."""
    known = window_of(ask.model) if ask.model else None
    window = ask.window or rooms.settings.context.window or known or 200_000
    return min(window, ask.observed_window) if ask.observed_window else window


def _is_same(request: Prepared, other: Prepared) -> bool:
    """Whether a provider that refused one would refuse the other: the answer counts as well."""
    return (request.messages, request.max_tokens) == (other.messages, other.max_tokens)


def _words_of(error: object) -> str:
    """Everything an error says: its text, and the body that some clients keep apart."""
    body = getattr(error, "body", None)
    return f"{error} {body}" if body is not None else str(error)
