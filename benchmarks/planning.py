"""How long the decisions take on a view of 100,000 tokens, and whether history's length matters.

A plan looks at the view, never at the transcript, so the same view behind ten times the history
must cost the same; the view itself is read from the newest compaction's cut on.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from holdfast.config import load_settings
from holdfast.context.accounting import make_budget
from holdfast.context.blocks import Block, blocks_of
from holdfast.context.compaction import plan_compaction
from holdfast.context.flush import plan_flush
from holdfast.context.pruning import plan_prune
from holdfast.context.tokens import TokenEstimator
from holdfast.engine.facade import open_engine
from holdfast.testing.corpus import conversation
from holdfast.types import Entry, Message, Text, ToolCall, ToolResult, View, ViewItem

TOKENS: Final = 100_000
GOAL_MS: Final = 10.0
_RUNS: Final = 25


def measure() -> list[dict[str, Any]]:
    estimator = TokenEstimator()
    figures: list[dict[str, Any]] = []
    for kind, messages in (("a chat", _chat()), ("an agent's run", _agent_run())):
        figures += _plans(kind, _view_of(messages, estimator), estimator)
    return [*figures, _flat()]


def _plans(kind: str, blocks: tuple[Block, ...], estimator: TokenEstimator) -> list[dict[str, Any]]:
    settings = load_settings(Path("nowhere"), environ={})
    budget = make_budget(settings, window=128_000)
    used = sum(block.tokens for block in blocks)
    entries = [
        Entry(id=block.entry, parent=None, seq=at, at=_NOW, type="message", data={"role": "user"})
        for at, block in enumerate(blocks)
    ]
    leaving = {block.entry for block in blocks[: len(blocks) * 3 // 4]}

    def prune() -> object:
        return plan_prune(
            blocks,
            budget,
            settings.prune,
            projected=used,
            price_text=estimator.text,
            cache_is_cold=True,
            force="needed",
        )

    def compact() -> object:
        return plan_compaction(
            blocks, budget, strategy="layered", reason="threshold", price=estimator.price
        )

    def flush() -> object:
        return plan_flush(entries, leaving, cycle="c", now=_NOW, reason="threshold", seconds=60)

    what = f"{kind} of {used:,} tokens in {len(blocks):,} messages"
    return [
        _figure(f"plan_prune, {what}", _milliseconds(prune)),
        _figure(f"plan_flush, {what}", _milliseconds(flush)),
        _figure(f"plan_compaction, {what}", _milliseconds(compact)),
    ]


_NOW: Final = datetime(2026, 3, 4, tzinfo=UTC)


def _chat() -> Iterator[Message]:
    """Two people, no tools, a few sentences each: just below ``compaction.max_messages``."""
    for seed in range(10_000):
        said = [m.text for m in conversation(seed, 40) if 0 < len(m.text) < 1_000]
        for at, role in ((0, "user"), (8, "assistant")):
            yield Message.of(role, " ".join([*said[at : at + 8], f"({seed})"]))


def _agent_run() -> Iterator[Message]:
    """One task, then calls with results of a few hundred tokens, each different."""
    yield Message.of("user", "Find out why billing fails. Never restart it yourself.")
    for number in range(10_000):
        call = ToolCall(id=f"c{number}", name="read", arguments={"path": f"src/module_{number}.py"})
        yield Message(role="assistant", parts=(Text(text=f"Next is module {number}."), call))
        body = "".join(
            f"def step_{number}_{line}(value): return value + {line}\n" for line in range(18)
        )
        result = ToolResult(call_id=call.id, content=(Text(text=body),))
        yield Message(role="tool", parts=(result,))


def _view_of(messages: Iterator[Message], estimator: TokenEstimator) -> tuple[Block, ...]:
    items: list[ViewItem] = []
    used = 0
    while used < TOKENS:
        message = next(messages)
        used += estimator.message(message)
        items.append(ViewItem(message=message, stands_for=(f"e{len(items)}",)))
    return blocks_of(View(items=tuple(items)), estimator.message, estimator.image)


def _milliseconds(plan: Callable[[], object]) -> float:
    plan()  # the first run loads what is loaded once
    return statistics.median(_timed(plan) for _ in range(_RUNS)) * 1000


def _timed(plan: Callable[[], object]) -> float:
    begun = time.perf_counter()
    plan()
    return time.perf_counter() - begun


def _flat() -> dict[str, Any]:
    """The whole ``prepare`` behind a long history, as a multiple of the same behind a short one."""
    short, long = _prepare_behind(1), _prepare_behind(10)
    return {
        "what": f"prepare behind 10 times the history ({long:.1f} ms) over {short:.1f} ms",
        "value": round(long / short, 2),
        "unit": "×",
        "goal": "≤ 1.5",
        "met": long / short <= 1.5,
    }


def _prepare_behind(cycles: int) -> float:
    with tempfile.TemporaryDirectory() as folder, open_engine(folder) as engine:
        session = engine.session("long")
        for cycle in range(cycles):
            session.append_all(m for seed in range(30) for m in conversation(cycle * 50 + seed, 10))
            session.compact()
        session.append_all(m for seed in range(20) for m in conversation(seed, 10))
        session.prepare()
        return statistics.median(_timed(session.prepare) for _ in range(_RUNS)) * 1000


def _figure(what: str, value: float) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 2),
        "unit": "ms",
        "goal": f"≤ {GOAL_MS:g}",
        "met": value <= GOAL_MS,
    }
