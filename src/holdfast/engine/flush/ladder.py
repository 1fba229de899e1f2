"""The ways to save, one after another until one does: the agent, a model that extracts, rules.

Rules go first and need nobody: what they choose is the queue for a small model, what is written
when a model fails, and the check on one that says there is nothing to keep.

Promise: some way always ends well, within the time given; whatever a model wrote stands on what
was said (``tests/engine/test_ladder.py``, ``tests/context/test_grounding.py``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from holdfast.config import Settings
from holdfast.context.extract import Heard, extract
from holdfast.context.flush.agent import agent_flush
from holdfast.context.flush.extracting import extract_flush
from holdfast.context.flush.found import Failed, Flushing, Found, MemorySearch, Prefix
from holdfast.context.flush.prompting import instruction, language_of, system_text
from holdfast.engine.driving import drive
from holdfast.engine.rooms import Rooms
from holdfast.engine.spending import Metered, Spent
from holdfast.ports import Model, traits_of
from holdfast.redact import redact
from holdfast.retain import RetainLine
from holdfast.types import Json, Message

__all__ = ["Climbed", "Help", "Way", "climb", "ways"]

Way = Literal["agent", "extract", "rules"]

log = logging.getLogger("holdfast.engine")

_CAPABLE: Final = 400.0
"""Tokens a second: a local model that reads more slowly is only asked to rewrite."""
_SUSPICIOUS: Final = 3
"""Lines that rules find where a model says that there is nothing to keep."""
_HUNDRED: Final = 100
"""``flush.max_lines`` counts for so many messages: a flush of a large window may write more."""


def _length(text: Message | str) -> int:
    return len(text if isinstance(text, str) else text.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """Who can help to save, and with what."""

    model: Model | None = None
    window: int = 0
    """What that model can read."""
    reading: int = 0
    """Tokens of what it would have to read."""
    price: Callable[[Message | str], int] = _length
    """Tokens of a message or a text."""
    tools: Sequence[Mapping[str, Json]] = ()
    """The memory tools it may call, as they are described to a model."""
    prefix: Prefix | None = None
    """The live request, where repeating its beginning is cheap."""
    unseen: frozenset[str] = frozenset()
    """Entries that the live request shows shortened: whoever reads it has not read them."""
    search: Callable[[str], str] | None = None
    """Looks into memory on behalf of the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Climbed:
    """What was found, by which way, and what the others failed at."""

    mode: str
    lines: tuple[RetainLine, ...] = ()
    tried: tuple[str, ...] = ()
    ungrounded: int = 0
    said: str | None = None
    spent: Spent = field(default_factory=Spent)


def is_capable(model: Model) -> bool:
    """Whether it can be trusted with a turn of its own: to choose, to call tools, in time."""
    traits = traits_of(model)
    if not traits.tool_calls:
        return False
    speed = traits.prefill_per_second
    return speed >= _CAPABLE if speed is not None else not traits.is_local


def ways(mode: str, help: Help, *, seconds: float) -> tuple[Way, ...]:
    """The order in which to try; ``auto`` begins with the best that is available.

    A model that is known to need longer only to read is not tried.
    """
    if help.model is None or mode == "rules":
        return ("rules",)
    speed = traits_of(help.model).prefill_per_second
    if speed and help.reading / speed > seconds:
        return ("rules",)
    if mode == "extract" or (mode == "auto" and not is_capable(help.model)):
        return ("extract", "rules")
    return ("agent", "extract", "rules")


def climb(
    rooms: Rooms,
    heard: Sequence[Heard],
    help: Help,
    order: Sequence[Way],
    *,
    seconds: float,
    beside: Sequence[str] = (),
) -> Climbed:
    """What is worth keeping of these messages, by the first way that ends well.

    ``beside`` is what tools said elsewhere: it lowers the trust of those who repeat it.
    """
    settings = rooms.settings
    limit = settings.flush.max_lines * -(-len(heard) // _HUNDRED)
    rules = _by_rules(heard, settings, limit, beside)
    if help.model is None:
        return Climbed(mode="rules", lines=rules)
    model = rooms.spending.metered(help.model, help.price)
    deadline = time.monotonic() + seconds
    tried: list[str] = []
    ungrounded = 0
    for way in order:
        if way == "rules":
            break
        steps = partial(_steps, way, heard, help, rooms, rules, limit, beside)
        found = _driven(way, steps, model, help, seconds=deadline - time.monotonic())
        ungrounded += found.ungrounded
        problem = _problem_with(found, rules)
        if isinstance(found, Found) and problem is None:
            return Climbed(
                mode=way,
                lines=(*found.lines, *_of_unread(found, heard, help, settings, limit, beside)),
                tried=tuple(tried),
                ungrounded=ungrounded,
                said=found.said,
                spent=_noted(rooms, model),
            )
        tried.append(f"{way}: {problem}")
    spent = _noted(rooms, model)
    return Climbed(
        mode="rules", lines=rules, tried=tuple(tried), ungrounded=ungrounded, spent=spent
    )


def _driven(
    way: Literal["agent", "extract"],
    steps: Callable[[], Flushing],
    model: Model,
    help: Help,
    *,
    seconds: float,
) -> Found | Failed:
    """What came of one way. Whatever goes wrong on it, the next is there."""
    try:
        return drive(steps(), model, seconds=seconds, answer=lambda asked: _look_up(asked, help))
    except Exception as error:  # the border: a model may make us read anything
        log.exception("saving by %s failed", way)
        return Failed(mode=way, reason=f"it failed: {type(error).__name__}")


def _by_rules(
    heard: Sequence[Heard], settings: Settings, limit: int, beside: Sequence[str]
) -> tuple[RetainLine, ...]:
    language = settings.memory.language
    return extract(
        heard,
        max_lines=limit,
        share=settings.flush.share,
        language=None if language == "auto" else language,
        redact=redact,
        beside=beside,
    ).lines


def _steps(
    way: Way,
    heard: Sequence[Heard],
    help: Help,
    rooms: Rooms,
    rules: tuple[RetainLine, ...],
    limit: int,
    beside: Sequence[str],
) -> Flushing:
    settings = rooms.settings
    chosen = settings.memory.language
    language = language_of(heard) if chosen == "auto" else chosen
    if way == "agent":
        day = rooms.today()
        return agent_flush(
            heard=heard,
            prefix=help.prefix,
            instruction=instruction(settings.flush.prompt, language, day=day),
            system=system_text(settings.flush.system_prompt, language, day=day),
            tools=help.tools,
            window=help.window,
            price=help.price,
            max_lines=limit,
            language=language,
            redact=redact,
            beside=beside,
        )
    assert help.model is not None
    return extract_flush(
        heard=heard,
        rules=rules,
        small=not is_capable(help.model),
        window=help.window,
        price=help.price,
        max_lines=limit,
        language=language,
        redact=redact,
        beside=beside,
    )


def _look_up(asked: object, help: Help) -> str:
    if isinstance(asked, MemorySearch) and help.search is not None:
        return help.search(asked.query)
    return "Nothing was found."


def _problem_with(found: Found | Failed, rules: Sequence[RetainLine]) -> str | None:
    """Why a model's word is not taken: it has none, or kept nothing of what rules would keep."""
    if isinstance(found, Failed):
        return found.reason
    if found.lines or len(rules) < _SUSPICIOUS:
        return None
    return f"kept nothing, where rules find {len(rules)} lines"


def _of_unread(
    found: Found,
    heard: Sequence[Heard],
    help: Help,
    settings: Settings,
    limit: int,
    beside: Sequence[str],
) -> tuple[RetainLine, ...]:
    """What rules find in messages that the model did not read, or not to their end."""
    missed = set(found.unread)
    if found.mode == "agent" and help.prefix is not None:
        missed |= help.unseen
    unread = [each for each in heard if each.entry in missed]
    return _by_rules(unread, settings, limit, beside) if unread else ()


def _noted(rooms: Rooms, model: Metered) -> Spent:
    """What the model has cost, once it is in the ledger."""
    spent = model.spent
    if spent.calls:
        rooms.spending.note("flush", model.name, spent)
    return spent
