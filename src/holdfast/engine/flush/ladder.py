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
from holdfast.context.flush.capability import Capability, capability_test
from holdfast.context.flush.extracting import extract_flush
from holdfast.context.flush.found import Failed, Flushing, Found, MemorySearch, Prefix
from holdfast.context.flush.prompting import Language, instruction, language_of, system_text
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
    session: str | None = None
    """For which conversation it is paid; None: of that nothing is written down."""


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
    if not traits.tool_calls and not hasattr(model, "learn_tool_calls"):
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
    try:
        for way in order:
            if way == "rules":
                break
            if way == "agent" and (why := _unfit(rooms, model, heard, help, deadline)) is not None:
                tried.append(f"agent: {why}")
                continue
            steps = partial(_steps, way, heard, help, rooms, rules, limit, beside)
            found = _driven(way, steps, model, help, seconds=deadline - time.monotonic())
            ungrounded += found.ungrounded
            problem = _problem_with(found, rules)
            if isinstance(found, Found) and problem is None:
                unread = _of_unread(found, heard, help, settings, limit, beside)
                return Climbed(
                    mode=way,
                    lines=(*found.lines, *unread),
                    tried=tuple(tried),
                    ungrounded=ungrounded,
                    said=found.said,
                    spent=model.spent,
                )
            tried.append(f"{way}: {problem}")
    finally:
        if model.spent.calls:
            rooms.spending.note("flush", model.name, model.spent, session=help.session)
    return Climbed(
        mode="rules", lines=rules, tried=tuple(tried), ungrounded=ungrounded, spent=model.spent
    )


_TRIED: Final[dict[tuple[str, Language], Capability]] = {}
"""What came of trying a model, by its name, in this process."""


def _unfit(
    rooms: Rooms, model: Metered, heard: Sequence[Heard], help: Help, deadline: float
) -> str | None:
    """Why a model on this machine gets no turn of its own; it is tried once, and only where
    nobody has decided on the mode. Whoever hosts models vouches for them."""
    if rooms.settings.flush.mode != "auto" or not model.traits.is_local:
        return None
    language = _language(rooms, heard)
    known = _TRIED.get((model.name, language))
    if known is None:
        steps = capability_test(tools=help.tools, language=language, day=rooms.today())
        known = drive(steps, model, seconds=deadline - time.monotonic())
        if known.can is not None:
            _TRIED[model.name, language] = known
            learn = getattr(help.model, "learn_tool_calls", None)
            if learn is not None:
                learn(known.can)
    return None if known.can else known.reason


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
    language = _language(rooms, heard)
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
        small=not is_capable(help.model) or _has_failed(help.model.name, language),
        window=help.window,
        price=help.price,
        max_lines=limit,
        language=language,
        redact=redact,
        beside=beside,
    )


def _language(rooms: Rooms, heard: Sequence[Heard]) -> Language:
    chosen = rooms.settings.memory.language
    return language_of(heard) if chosen == "auto" else chosen


def _has_failed(name: str, language: Language) -> bool:
    known = _TRIED.get((name, language))
    return known is not None and not known.can


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
    """What rules find in messages that the model did not read, or not to their end; and, as small
    models forget half of what they read, in those of which one on this machine kept nothing."""
    missed = set(found.unread)
    if found.mode == "agent" and help.model is not None and traits_of(help.model).is_local:
        cited = {source for line in found.lines for source in line.sources}
        missed |= {each.entry for each in heard} - cited
    if found.mode == "agent" and help.prefix is not None:
        missed |= help.unseen
    unread = [each for each in heard if each.entry in missed]
    return _by_rules(unread, settings, limit, beside) if unread else ()
