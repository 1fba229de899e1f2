"""What we send is valid: rules, validators, repair, and recognising an overflow.

    capabilities_of(model, format)      what a model's interface takes
    repair(items, format=, caps=)       any conversation → one it takes, no entry lost
    render(items, format=, caps=)       the request as it is sent; merges neighbours of one role
    validate(format, messages, …)       what an outsider would say is wrong with a request
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
from holdfast.context.validity.render import Rendered, render
from holdfast.context.validity.repair import Repaired, repair
from holdfast.context.validity.rules import Rule, Violation
from holdfast.context.validity.target import Change, ChangeKind
from holdfast.types import Json

__all__ = [
    "ANTHROPIC_RULES",
    "OPENAI_RULES",
    "Capabilities",
    "Change",
    "ChangeKind",
    "Format",
    "Rendered",
    "Repaired",
    "Rule",
    "Verdict",
    "Violation",
    "capabilities_of",
    "classify",
    "limit_in",
    "render",
    "repair",
    "silently_overflowed",
    "validate",
    "validate_anthropic",
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
