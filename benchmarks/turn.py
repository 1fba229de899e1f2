"""What a turn costs beside the model: the user's message, the request, the answer.

The session has 100,000 tokens in a window of 200,000 and no model is asked. One turn is
``prepare`` of what the user says and ``commit`` of the answer, both durable. The goal is 10 ms
for the two, whatever was said before: so the same session is measured again behind a compaction
with ten and a hundred times its length before it. Recall, which searches, is measured apart.

python -m benchmarks turn
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

from holdfast.context.tokens import TokenEstimator
from holdfast.engine.facade import open_engine
from holdfast.engine.session import Session
from holdfast.engine.turn import About
from holdfast.testing.corpus import conversation
from holdfast.types import Message, Text, ToolCall, ToolResult

TOKENS: Final = 100_000
GOAL_MS: Final = 10.0
FLAT: Final = 1.3
ABOUT: Final[About] = {"window": 200_000, "system": "You are a careful assistant."}
_TURNS: Final = 40
_AT_ONCE: Final = 500
_TIMES: Final = (10, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Milliseconds of one turn, and of its first half."""

    turn: float
    prepare: float


def measure() -> list[dict[str, Any]]:
    figures: list[dict[str, Any]] = []
    for kind, language, messages in (
        ("a chat with tools", "en", up_to(TOKENS, talk("en"))),
        ("a Chinese chat with tools", "zh", up_to(TOKENS, talk("zh"))),
        ("an agent's run", "en", up_to(TOKENS, agent_run())),
        ("400 short messages", "en", list(islice(small_talk(), 400))),
        ("a chat above prune_at", "en", up_to(TOKENS * 13 // 10, talk("en"))),
    ):
        with a_session() as session:
            append_all(session, messages)
            figures += _figures(f"{kind}, {len(messages):,} messages", turns(session, language))
    with a_session() as session:
        append_all(session, up_to(TOKENS, agent_run()))
        figures += _figures("a call of a tool in an agent's run", steps(session))
    with a_session(recall=True) as session:
        append_all(session, up_to(TOKENS, talk("en")))
        figures += _figures("a chat with tools, with recall", turns(session, "en"))
    return [*figures, *_flat()]


def _flat() -> Iterator[dict[str, Any]]:
    """The same session behind more and more history, against the one that begins with it."""
    tail = up_to(TOKENS, talk("en"))
    base = _behind(1, tail)
    for times in _TIMES:
        behind = _behind(times, tail)
        yield {
            "what": f"a turn behind {times} times the history ({behind:.1f} ms) over behind "
            f"as much as is seen ({base:.1f} ms)",
            "value": round(behind / base, 2),
            "unit": "×",
            "goal": f"≤ {FLAT:g}",
            "met": behind / base <= FLAT,
        }


def _behind(times: int, tail: list[Message]) -> float:
    with a_session() as session:
        for _ in range(times):
            append_all(session, tail)
        drop_all(session)
        append_all(session, tail)
        return statistics.median(took.turn for took in turns(session, "en"))


# ── the sessions ────────────────────────────────────────────────────────────────────────────


@contextmanager
def a_session(*, recall: bool = False) -> Iterator[Session]:
    """A session in a home of its own; without an encoder, which is a model, too."""
    folder = os.environ.get("HOLDFAST_BENCH_FOLDER")
    config = {"search.embedder": "none", "recall.mode": "auto" if recall else "tool"}
    with (
        tempfile.TemporaryDirectory(dir=folder) as home,
        open_engine(Path(home), config=config) as engine,
    ):
        yield engine.session("turn")


def append_all(session: Session, messages: Iterable[Message]) -> None:
    rest = iter(messages)
    while some := list(islice(rest, _AT_ONCE)):
        session.append_all(some)


def drop_all(session: Session) -> None:
    """A compaction that shows nothing but a summary of what came before it."""
    last = session.entries(last=1)[-1]
    summary = [{"text": "What was said before is saved.", "sources": []}]
    session.append_entry("compaction", {"summary": summary, "watermark": last.seq})


def talk(language: str, *, first: int = 0) -> Iterator[Message]:
    """A user and an assistant that uses tools now and then."""
    for seed in count(first):
        yield from conversation(seed, 40, language=language)[1:]


def small_talk() -> Iterator[Message]:
    """A sentence each, no tools."""
    for message in talk("en"):
        if len(message.parts) == 1 and isinstance(message.parts[0], Text):
            yield message


def agent_run(*, first: int = 0) -> Iterator[Message]:
    """One task, then a call and a result of a few hundred tokens at a time, each different."""
    yield Message.of("user", "Find out why billing fails. Never restart it yourself.")
    for number in count(first):
        call = ToolCall(id=f"c{number}", name="read", arguments={"path": f"src/module_{number}.py"})
        yield Message(role="assistant", parts=(Text(text=f"Next is module {number}."), call))
        body = "".join(
            f"def step_{number}_{line}(value): return value + {line}\n" for line in range(30)
        )
        result = ToolResult(call_id=call.id, content=(Text(text=body),))
        yield Message(role="tool", parts=(result,))


def up_to(tokens: int, messages: Iterator[Message]) -> list[Message]:
    estimator = TokenEstimator()
    taken: list[Message] = []
    while tokens > 0:
        taken.append(next(messages))
        tokens -= estimator.message(taken[-1])
    return taken


# ── the time ────────────────────────────────────────────────────────────────────────────────


def turns(session: Session, language: str, number: int = _TURNS) -> list[Took]:
    """What each of some turns took, after a first one that loads what is loaded once."""
    said = (message for message in talk(language, first=5_000) if len(message.parts) == 1)
    asked = (message.text for message in said if message.role == "user")
    answer = Message.of("assistant", "It is done; is there anything else?")
    took = [one_turn(session, Message.of("user", next(asked)), answer) for _ in range(number + 1)]
    return took[1:]


def one_turn(session: Session, said: Message, answer: Message) -> Took:
    begun = time.perf_counter()
    session.prepare(said, **ABOUT)
    prepared = time.perf_counter()
    session.commit(answer)
    ended = time.perf_counter()
    return Took(turn=(ended - begun) * 1000, prepare=(prepared - begun) * 1000)


def steps(session: Session, number: int = _TURNS) -> list[Took]:
    """What each of some steps of an agent took: a result, the request, the next call."""
    work = agent_run(first=10_000)
    session.append(next(work))
    session.append(next(work))
    took = [one_turn(session, next(work), next(work)) for _ in range(number + 1)]
    return took[1:]


def _figures(what: str, took: list[Took]) -> Iterator[dict[str, Any]]:
    whole = sorted(each.turn for each in took)
    only_prepare = statistics.median(each.prepare for each in took)
    yield _figure(f"a turn, {what} (prepare {only_prepare:.1f} ms), p50", statistics.median(whole))
    yield _figure(f"a turn, {what}, p95", whole[len(whole) * 95 // 100], goal=2 * GOAL_MS)


def _figure(what: str, value: float, *, goal: float = GOAL_MS) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 2),
        "unit": "ms",
        "goal": f"≤ {goal:g}",
        "met": value <= goal,
    }
