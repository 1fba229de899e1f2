"""Telling the user: the engine itself sends notices, so they go out when the model is down.

    notices     the queue, the thread, retries, what was told before
    wording     what a notice says, in English and Chinese
    channel     what a channel is given and what it answers
    opening     which channels there are, from the settings
    logline     desktop         the two that stay on this machine
    telegram    webhook         the two that leave it, through
    egress      addresses       the one client, and which addresses it may reach

Nothing that a network needs is loaded before a notice has to go over one.
"""

from __future__ import annotations

from holdfast.engine.notify.notices import Notices
from holdfast.engine.notify.wording import Notice, NoticeKind

__all__ = ["Notice", "NoticeKind", "Notices"]
