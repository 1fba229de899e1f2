"""Notices as lines of the log: logger ``holdfast.notices``.

Promise: one record for each notice, a warning where a person may want to act
(``tests/engine/test_notice_channels.py``).
"""

from __future__ import annotations

import logging

from holdfast.engine.notify.channel import Outgoing, Result

__all__ = ["LogLine"]

log = logging.getLogger("holdfast.notices")


class LogLine:
    name = "log"

    def deliver(self, message: Outgoing) -> Result:
        log.warning("%s", message.text)
        return Result(outcome="sent")
