"""What we send is valid: rules, validators, repair, and recognising an overflow.

    capabilities_of(model, format)      what a model's interface takes
    repair(items, format=, caps=)       any conversation → one it takes, no entry lost
    render(items, format=, caps=)       the request as it is sent; merges neighbours of one role
    validate(format, messages, …)       what an outsider would say is wrong with a request
    repair_on, render_on, validate_on   the same for a conversation that grew, from where it did
    classify(error), limit_in(error)    is this the window, and how large is it

Promise 4 of the project stands here (``tests/context/test_repair.py`` and
``test_validity_*.py``). The validators know nothing of repair and of our types. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.context.validity.anthropic import ANTHROPIC_RULES, validate_anthropic
from holdfast.context.validity.capabilities import Capabilities, Format, capabilities_of
from holdfast.context.validity.openai import OPENAI_RULES, validate_openai
from holdfast.context.validity.overflow import (
    Verdict,
    classify,
    limit_in,
    silently_overflowed,
)
from holdfast.context.validity.render import Rendered, Written, render, render_on
from holdfast.context.validity.repair import Repaired, Settled, repair, repair_on
from holdfast.context.validity.rules import Request as Judged
from holdfast.context.validity.rules import Rule, Violation, judge_on
from holdfast.context.validity.target import Change, ChangeKind
from holdfast.types import Json

__all__ = [
    "ANTHROPIC_RULES",
    "OPENAI_RULES",
    "Capabilities",
    "Change",
    "ChangeKind",
    "Format",
    "Judged",
    "Rendered",
    "Repaired",
    "Rule",
    "Settled",
    "Verdict",
    "Violation",
    "Written",
    "capabilities_of",
    "classify",
    "limit_in",
    "render",
    "render_on",
    "repair",
    "repair_on",
    "silently_overflowed",
    "validate",
    "validate_anthropic",
    "validate_on",
    "validate_openai",
]


def validate(
    format: Format,
    messages: Json,
    *,
    system: Json = None,
    tools: Sequence[Mapping[str, Json]] | None = None,
    caps: Capabilities | None = None,
) -> list[Violation]:
    """What is wrong with a request; empty if nothing is. Without ``caps``: the careful ones."""
    caps = caps or capabilities_of(None, format)
    if format == "openai":
        return validate_openai(messages, tools=tools, caps=caps)
    return validate_anthropic(messages, system=system, tools=tools, caps=caps)


def validate_on(format: Format, request: Judged, start: int) -> list[Violation]:
    """What ``validate`` says, if the messages before ``start`` are known to be valid in front of
    the one that stands there, which is the assistant's."""
    return judge_on(OPENAI_RULES if format == "openai" else ANTHROPIC_RULES, request, start)
