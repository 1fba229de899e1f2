"""One fault in a valid request: is it named? Counts how many of them the validators see."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from holdfast.context.validity import Format, capabilities_of, render, repair, validate
from holdfast.types import Json
from tests.context.faults import ANTHROPIC_FAULTS
from tests.context.faults_openai import OPENAI_FAULTS
from tests.context.messy import clean_messages, items_of, messy_messages
from tests.scale import scaled

MODELS: dict[Format, str] = {"openai": "gpt-4o", "anthropic": "claude-opus-4-6"}


def valid_requests(format: Format, count: int) -> Iterator[tuple[Json, list[Json]]]:
    """System and messages of valid requests, some of them from repaired messy conversations."""
    caps = capabilities_of(MODELS[format], format)
    for seed in range(count):
        make = clean_messages if seed % 3 else messy_messages
        repaired = repair(items_of(make(seed, 6 + seed % 20)), format=format, caps=caps)
        rendered = render(repaired.items, format=format, caps=caps)
        yield rendered.system, list(rendered.messages)


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_single_faults_in_valid_requests_are_named(format: Format) -> None:
    caps = capabilities_of(MODELS[format], format)
    faults = OPENAI_FAULTS if format == "openai" else ANTHROPIC_FAULTS
    count = scaled(2_500)
    done: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for seed, (system, messages) in enumerate(valid_requests(format, count)):
        assert validate(format, messages, system=system, caps=caps) == []
        chance = random.Random(seed)
        for fault in chance.sample(faults, len(faults)):
            broken = copy.deepcopy(messages)
            if fault(broken, chance):
                break
        done[fault.__name__] += 1
        if not validate(format, broken, system=system, caps=caps):
            missed[fault.__name__] += 1
    assert len(done) >= 20
    assert sum(missed.values()) <= count * 0.01, missed


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_every_kind_of_fault_is_named_somewhere(format: Format) -> None:
    caps = capabilities_of(MODELS[format], format)
    faults = OPENAI_FAULTS if format == "openai" else ANTHROPIC_FAULTS
    seen: set[str] = set()
    for seed, (system, messages) in enumerate(valid_requests(format, 40)):
        for fault in faults:
            broken = copy.deepcopy(messages)
            if fault.__name__ not in seen and fault(broken, random.Random(seed)):
                assert validate(format, broken, system=system, caps=caps), fault.__name__
                seen.add(fault.__name__)
    assert seen == {fault.__name__ for fault in faults}
