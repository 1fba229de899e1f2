"""A home that has been lived in: everything the console can show is in it, in a second or two.

A long conversation that was flushed and compacted, a later one in which a passage was recalled, one
that is closed, a fact that contradicts another, tasks, spending, events, an operation that was
undone. Made through the engine only, so whatever is shown was really done.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from tests.server.speaking import CHATTY, NAME, Speaker

__all__ = ["CONFIG", "DECISION", "LONG", "SHORT", "Furnished", "furnish", "open_home"]

LONG: Final = "billing-move"
"""The conversation that was flushed and compacted."""
SHORT: Final = "搬家后续"
"""A later one, in which something of it was recalled."""
DECISION: Final = "We decided to move the billing service to PostgreSQL 16 on 2026-05-03."

CONFIG: Final = {
    "model.name": NAME,
    "model.look_for_servers": False,
    "search.embedder": "none",  # loading an encoder takes longer than most of these tests
    "notices.log.enabled": False,
    "recall.timeout_ms": 10_000,  # a busy machine must not cost a passage
    "restore.max_tokens": 200,  # so that not everything is told at the start, and some recalled
    "memory.time_zone": "UTC",
}

_SAID: Final = (
    DECISION,
    "My sister Anna lives in Lisbon and visits us in June.",
    "Remember that the maintenance window is Sunday at 04:00.",
    "记住：小王负责网关，他不吃香菜。",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Furnished:
    engine: Engine
    speaker: Speaker


def open_home(home: Path, speaker: Speaker) -> Engine:
    """An engine whose only model is this one."""
    return open_engine(home, models=lambda _: speaker, config=CONFIG, background=True)


def furnish(home: Path, speaker: Speaker | None = None) -> Furnished:
    """The engine of that home, furnished; whoever asks closes it."""
    speaker = speaker or Speaker()
    engine = open_home(home, speaker)
    engine.remember("Peter lives in Berlin.", kind="W", entity="Peter", target="memory")
    engine.remember("Peter lives in Munich.", kind="W", entity="Peter", target="memory")
    engine.remember("Anna prefers the train.", kind="O", entity="Anna", confidence=0.8)
    regretted = engine.remember("The office moves to Oslo in 2031.", kind="W")
    engine.undo(regretted.operation)
    _talk_at_length(engine, speaker)
    _talk_briefly(engine, speaker)
    _work(engine)
    engine.search("billing")
    return Furnished(engine=engine, speaker=speaker)


def _talk_at_length(engine: Engine, speaker: Speaker) -> None:
    """Until what was said first has left the view."""
    session = engine.session(LONG, model=speaker)
    session.set_goal("Move the billing service without losing a row.")
    for number, said in enumerate(_SAID):
        _say(session, said)
        _say(session, f"{CHATTY} step {number}.")
    _say(session, "Look up the train")
    for number in range(4, 12):
        if any(each.type == "compaction" for each in session.entries()):
            break
        _say(session, f"{CHATTY} step {number}.")
    _say(session, "Thank you, that is all for today.")


def _talk_briefly(engine: Engine, speaker: Speaker) -> None:
    session = engine.session(SHORT, model=speaker)
    _say(session, "When did we decide to move the billing service to PostgreSQL?")
    closed = engine.session("closed-one", model=speaker)
    _say(closed, "My desk is by the window.")
    closed.close()


def _work(engine: Engine) -> None:
    task = engine.tasks.open("Copy the invoices", type="data", request="Copy all invoices.")
    engine.tasks.update(task.id, note="Half of them are copied.")
    done = engine.tasks.open("修复网关超时", type="bug_fix", request="网关超时，请修复。")
    engine.tasks.close(done.id, "done", result="超时改为 30 秒。")


def _say(session: Session, text: str) -> None:
    for _ in session.run(text):
        pass
