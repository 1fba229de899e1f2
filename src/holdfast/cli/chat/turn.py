"""One turn of the chat: its steps go into the feed, its figures into the status line.

Promise: what is kept of a turn that was left is the engine's (``engine.turn.leaving``); the feed
hears every step, and the end once and last (``tests/doors/test_chat.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.cli.chat.feed import Ended, Feed
from holdfast.cli.chat.meter import Meter
from holdfast.engine.session import Session
from holdfast.engine.turn import leaving
from holdfast.ports import ModelReply

if TYPE_CHECKING:
    from holdfast.engine.turn.fit import Prepared

__all__ = ["Turn"]


class Turn(leaving.Turn):
    """The user says something, or nothing: then the model is asked again."""

    def __init__(self, session: Session, said: Sequence[str], *, feed: Feed, meter: Meter) -> None:
        def fits(prepared: Prepared) -> None:
            meter.fits(prepared.budget, prepared.projected)

        def answered(reply: object) -> None:
            if isinstance(reply, ModelReply):
                meter.answered(reply.usage)

        witness = leaving.Witness(
            session,
            has_tools=meter.traits.tool_calls,
            on_prepared=fits,
            on_committed=answered,
        )
        super().__init__(
            session,
            said,
            on_step=feed.put,
            on_end=lambda error: feed.put(Ended(work=self, error=error)),
            witness=witness,
        )
