"""A recorded conversation, fed turn by turn through the engine: what would it have done?

Before every answer of the log the request is prepared as a host would prepare it; the log's
next messages are then appended. Beside it runs plain trimming over the same log, so that the
two can be compared. Everything is counted from what really happened: the requests are checked
by the validators, coverage is read from the transcript, the lines of each flush are read back
from its file, and originals are asked back.

Promise: figures are counted, never assumed, and a fault of the engine shows in them
(``tests/engine/test_replay.py``). The conversation lives in a home of its own, which the
caller names.
"""

from __future__ import annotations

from holdfast.engine.replay.figures import Replayed, Trimmed, total
from holdfast.engine.replay.running import replay

__all__ = ["Replayed", "Trimmed", "replay", "total"]
