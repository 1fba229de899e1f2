"""Messy transcripts through the whole engine: prune → flush → compact → repair, in both formats.

Each sequence is a real session on disk. Its requests must be valid and within the budget, or
``IrreducibleContext`` must name the block; and every entry must be in the request or saved.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.config.keys import Strategy
from holdfast.context.assembly import WireFormat
from holdfast.context.flush import covered_by, flush_records
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.errors import IrreducibleContext
from holdfast.types import Message, Text, ToolResult
from tests.context.messy import messy_entries, messy_messages
from tests.scale import SCALE, scaled

SHARDS = 4
SEQUENCES = scaled(500) if SCALE <= 1 else round(12_500 * SCALE)
"""500 by default, 250,000 in the long run."""


A_HOME = 25
"""Sequences that share a home: they share its memory too."""


def check(session: Session, window: int, strategy: Strategy) -> str:
    """Prepare the session for both providers; whether it fitted."""
    outcome = "fits"
    for format in get_args(WireFormat):
        try:
            prepared = session.prepare(window=window, format=format, strategy=strategy)
        except IrreducibleContext as error:
            outcome = "irreducible" if error.blocks else "not named"
            continue
        request = prepared.request
        assert request.violations == ()
        assert request.tokens <= prepared.budget.compact_at
        entries = session.entries()
        covered = covered_by(flush_records(entries), entries)
        said = {each.id for each in entries if each.type == "message"}
        assert said <= set(request.stands_for) | covered
    return outcome


def put(session: Session, messages: list[Message]) -> None:
    """Into the transcript as they are: the door would refuse the worst of them."""
    session._rooms.store.append(session._transcript, messages)


def swollen(messages: list[Message], chance: random.Random) -> list[Message]:
    """Some texts made long, so that small windows overflow."""
    return [_longer(message, chance) if chance.random() < 0.3 else message for message in messages]


def _longer(message: Message, chance: random.Random) -> Message:
    times = chance.choice((5, 40, 200))
    return replace(
        message,
        parts=tuple(
            replace(part, text=f"{part.text} " * times)
            if isinstance(part, Text)
            else replace(part, content=(Text(text=f"{part.text} line\n" * times),))
            if isinstance(part, ToolResult)
            else part
            for part in message.parts
        ),
    )


@pytest.mark.parametrize("shard", range(SHARDS))
def test_messy_transcripts_end_in_valid_requests_within_the_budget(
    fast_path: Path, shard: int
) -> None:
    outcomes = {"fits": 0, "irreducible": 0}
    numbers = list(range(shard, SEQUENCES, SHARDS))
    for start in range(0, len(numbers), A_HOME):
        with open_engine(fast_path / str(start)) as engine:
            for number in numbers[start : start + A_HOME]:
                outcomes[_one(engine, number)] += 1
    assert outcomes["fits"] > outcomes["irreducible"]


def _one(engine: Engine, number: int) -> str:
    chance = random.Random(number)
    messages = messy_messages(number, chance.randrange(1, 30))
    session = engine.session(f"s{number}")
    put(session, swollen(messages, chance))
    window = chance.choice((2_000, 3_000, 8_000, 32_000))
    return check(session, window, chance.choice(get_args(Strategy)))


@settings(
    max_examples=scaled(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    first=messy_entries(),
    then=messy_entries(),
    window=st.sampled_from((2_000, 3_000, 8_000)),
    strategy=st.sampled_from(get_args(Strategy)),
    times=st.integers(1, 60),
)
def test_a_conversation_that_goes_on_after_a_compaction_stays_valid(
    fast_path: Path,
    first: list[Message],
    then: list[Message],
    window: int,
    strategy: Strategy,
    times: int,
) -> None:
    with open_engine(fast_path / "going-on") as engine:
        session = engine.session(f"s{len(engine.sessions())}")
        for part in (first * times, then):
            put(session, part)
            check(session, window, strategy)
        put(session, then * times)
        check(session, window, strategy)
