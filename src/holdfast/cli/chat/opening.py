"""Who answers, and in which session: what is decided before the first word.

Promise: a session that exists is gone on with, a new one is made by its first message and never
before; where there is no model the error names every place that was looked into and the ways on
(``tests/doors/test_chat.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, cast, get_args

from holdfast.cli.chat.wish import Wish
from holdfast.engine.rooms import MemoryMode
from holdfast.errors import ModelUnavailable, NotFound, UsageError, did_you_mean
from holdfast.models.names import format_of
from holdfast.ports import traits_of
from holdfast.text import display

if TYPE_CHECKING:
    from holdfast.engine.facade import Engine
    from holdfast.engine.session import Session
    from holdfast.engine.turn.asking import Described
    from holdfast.ports import Model

__all__ = ["PREFIX", "Opening", "check", "choose", "plan_opening"]

PREFIX: Final = "chat-"
_MODES: Final = ("off", "read", "read-write")
_WAYS: Final = (
    "A key: export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, GEMINI_API_KEY …)",
    "A server on this machine: ollama serve, llama.cpp or LM Studio; "
    "elsewhere: model.base_url in config.toml",
    "A model of our own, 1.1 GB: holdfast model get qwen2.5-coder-1.5b",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a session is opened with, when it is."""

    model: Model
    why: str
    name: str | None
    """None: a new one, by the date."""
    exists: bool
    memory: MemoryMode | None
    window: int | None
    system: str | None
    incognito: bool

    def open(self, engine: Engine) -> Session:
        """The session. It is told of the tools from the start: they are part of every request,
        so they count in the gauge and in a compaction by hand."""
        about: Described = {"system": self.system}
        if self.window is not None:
            about["window"] = self.window
        if traits_of(self.model).tool_calls and self.memory_mode(engine) != "off":
            about["tools"] = engine.tools(format_of(self.model.name))
        return engine.session(
            self.name or _by_date(engine),
            model=self.model,
            memory=self.memory,
            incognito=self.incognito,
            **about,
        )

    def memory_mode(self, engine: Engine) -> str:
        """What the session may do with memory, once it is there."""
        if self.incognito:
            return "off"
        if self.memory is not None and self.exists:
            return min(self.memory, engine.settings.memory.mode, key=_MODES.index)
        known = engine._rooms.memory_mode(self.name if self.exists else None)
        return min(self.memory or known, known, key=_MODES.index)


def check(wish: Wish) -> None:
    """Refuse what excludes each other, before anything is opened or loaded."""
    if wish.go_on and wish.session is not None:
        raise UsageError(
            "-c goes on with the session used last, so it takes no name.",
            hint=f"Leave out -c, or the name {wish.session!r}.",
        )
    if wish.go_on and wish.incognito:
        raise UsageError(
            "-c goes on with the session used last, and an incognito one is always new.",
            hint="Leave out one of the two.",
        )
    _memory(wish)


def choose(engine: Engine, name: str | None) -> tuple[Model, str]:
    """The model of that name, or the one that is chosen, and why.

    Raises:
        ModelUnavailable: there is none; with what was looked for, and the ways on.
    """
    if name is not None:
        return engine.model(name), ""
    choice = engine.choose_model()
    if choice.model is not None:
        return engine.model(choice.model), choice.why
    looked = "".join(f"\n  {each.place}: {each.why}" for each in choice.considered)
    raise ModelUnavailable(
        f"There is no model to talk to: {choice.why}.{_display_lines(looked)}",
        hint="\n  → ".join(_WAYS),
    )


def _display_lines(text: str) -> str:
    return "\n".join(map(display, text.split("\n")))


def plan_opening(engine: Engine, wish: Wish, model: Model, why: str, *, system: str) -> Opening:
    """What the options mean for this home."""
    memory = _memory(wish)
    name = _last(engine) if wish.go_on else wish.session
    exists = name is not None and not wish.incognito and name in engine._rooms.store.names()
    return Opening(
        model=model,
        why=why,
        name=name,
        exists=exists,
        memory=memory,
        window=wish.window,
        system=system if wish.system is None else wish.system or None,
        incognito=wish.incognito,
    )


def _memory(wish: Wish) -> MemoryMode | None:
    known = get_args(MemoryMode)
    if wish.memory is None:
        return None
    if wish.memory not in known:
        near = did_you_mean(wish.memory, known)
        raise UsageError(
            f"There is no memory mode {wish.memory!r}.", hint=near or f"One of {', '.join(known)}."
        )
    if wish.incognito and wish.memory != "off":
        raise UsageError(
            f"An incognito session has no memory, so it cannot have --memory {wish.memory}.",
            hint="Leave out one of the two.",
        )
    return cast("MemoryMode", wish.memory)


def _last(engine: Engine) -> str:
    for each in engine.sessions():
        if each.problem is None:
            return each.name
    raise NotFound("There is no session to go on with.", hint="Begin one: holdfast chat")


def _by_date(engine: Engine) -> str:
    taken = set(engine._rooms.store.names())
    stem = f"{PREFIX}{engine.today().isoformat()}"
    return next(name for n in count(1) if (name := f"{stem}-{n}") not in taken)
