"""The whole story once, with a real model inside the process: talk, save, compact, come back.

The small weights prove the pipe. What they say is worth nothing, and that is part of the proof:
a flush asks them, hears nonsense, and keeps what the rules found.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.facade import open_engine
from holdfast.engine.session import Session
from holdfast.events import CompactionEnd, MemoryFlushEnd, RestoreDone, ToolResultsPruned
from holdfast.models.embedded import EmbeddedModel, close_embedded
from holdfast.ports import ModelReply, ModelRequest
from holdfast.testing import FixedClock
from holdfast.types import Usage
from tests.models.small_weights import small_weights

FACT = "My sister Anna moved to Lisbon in May 2025 and works there as a nurse."
SMALLEST = 2_000


class Watched(EmbeddedModel):
    """The embedded model itself; what it was asked for beside the chat is counted."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, name="embedded:smollm2-135m", window=SMALLEST, threads=1)
        self.asked: list[tuple[ModelRequest, ModelReply]] = []
        self.replies: list[ModelReply] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await super().complete(request)
        self.asked.append((request, reply))
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        async for heard in super().stream(request):
            if isinstance(heard, ModelReply):
                self.replies.append(heard)
            yield heard


@pytest.fixture
def model() -> Iterator[Watched]:
    yield Watched(small_weights())
    close_embedded()


def turn(model: Watched, session: Session, text: str) -> tuple[list[str], Usage]:
    """The pieces of an answer as they came, and what the whole of it took."""
    steps = list(session.run(text))
    assert steps[-1].kind == "end"
    assert steps[-1].message is not None
    pieces = [step.text for step in steps if step.kind == "text"]
    assert "".join(pieces) == steps[-1].message.text
    usage = model.replies[-1].usage
    assert usage is not None
    assert any("usage" in entry.data for entry in session.entries())
    return pieces, usage


def filled(session: Session) -> None:
    """What a day of work leaves: a long result of a tool, and talk."""
    call: dict[str, Any] = {
        "id": "c1",
        "type": "function",
        "function": {"name": "read_file", "arguments": '{"path": "log.txt"}'},
    }
    session.append({"role": "user", "content": "Read the log, please."})
    session.append({"role": "assistant", "content": None, "tool_calls": [call]})
    log = "\n".join(f"12:00:{number:02} worker {number} is idle" for number in range(60))
    session.append({"role": "tool", "tool_call_id": "c1", "content": log})
    for number in range(30):
        session.append(
            {"role": "assistant", "content": f"Part {number} is done, as you wanted it."}
        )
        session.append(
            {"role": "user", "content": f"Good. Go on with part {number + 1} then. " * 3}
        )


def test_a_conversation_in_a_small_window_is_saved_compacted_and_comes_back(
    home: Path, model: Watched
) -> None:
    patient = {"flush.inline_seconds": 300, "flush.total_seconds": 600}
    config = {"flush.mode": "extract", "flush.max_lines": 1, **patient}
    about: dict[str, Any] = {"model": model, "max_output": 12, "summariser": None}
    with open_engine(home, clock=FixedClock(), background=False, config=config) as engine:
        told: list[Any] = []
        engine.subscribe(told.append)
        session = engine.session("first", system="Be short.", **about)
        pieces, usage = turn(model, session, FACT)
        assert len(pieces) > 1
        assert 0 < usage.output_tokens <= 12
        alone = usage.context_tokens
        assert alone < 300, "a model that calls no tools is offered none"

        filled(session)
        assert not model.asked
        session.flush()
        pieces, usage = turn(model, session, "What is next?")
        assert pieces
        assert alone < usage.context_tokens < SMALLEST
        assert any(isinstance(each, ToolResultsPruned) for each in told)
        assert any(isinstance(each, CompactionEnd) and each.dropped for each in told)
        saved = [each for each in told if isinstance(each, MemoryFlushEnd)]
        assert saved
        assert saved[0].saved
        # The model was really asked, by a schema, and answered; whatever it said, the fact is kept.
        request, reply = model.asked[0]
        assert "response_schema" in request.extra
        assert reply.usage is not None
        assert reply.usage.output_tokens > 0
        assert saved[0].output_tokens >= reply.usage.output_tokens
        session.close()
        assert "Lisbon" in "".join(path.read_text("utf-8") for path in home.rglob("2*.md"))

        later = engine.session("second", system="Be short.", **about)
        pieces, usage = turn(model, later, "Where does Anna live?")
        assert pieces
        assert usage.context_tokens > alone
        restored = [each for each in told if isinstance(each, RestoreDone)]
        assert restored
        shown = later.prepare().request
        assert "Lisbon" in str(shown.messages) + str(shown.system)
