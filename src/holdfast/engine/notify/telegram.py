"""Notices through a Telegram bot: plain text, to the one chat of the configuration.

No ``parse_mode``: nothing in a text can be markup. The bot's token is part of the address, so no
reason, log line or exception of this channel shows an address, and what Telegram says about an
error is quoted without it.

Promise: every part is at most 4096 UTF-16 code units and splits no character; a part that has
arrived is not sent again when a later one is retried (``tests/engine/test_notice_channels.py``).
"""

from __future__ import annotations

import json
import re
from typing import Final

from holdfast.engine.notify.channel import Outgoing, Result
from holdfast.engine.notify.egress import PASSING, Answer, Egress, Unreached
from holdfast.errors import PolicyRefused
from holdfast.text import clusters
from holdfast.types import Json

__all__ = ["TELEGRAM", "Telegram", "split"]

TELEGRAM: Final = "https://api.telegram.org"
MOST_UNITS: Final = 4096

_LONGEST: Final = 86_400.0
_TOKEN: Final = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,200}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Telegram:
    name = "telegram"

    def __init__(self, egress: Egress, *, chat_id: str, token: str, server: str = TELEGRAM) -> None:
        self._egress = egress
        self._chat_id = chat_id
        self._token = token
        self._server = server
        self._arrived: tuple[str, int] = ("", 0)

    def deliver(self, message: Outgoing) -> Result:
        if not _TOKEN.fullmatch(self._token):
            return Result(outcome="refused", reason="notices.telegram.token is not a bot's token")
        parts = split(message.text)
        before = self._arrived[1] if self._arrived[0] == message.id else 0
        for number, part in enumerate(parts[before:], start=before + 1):
            result = self._send(part)
            if result.outcome != "sent":
                return result
            self._arrived = (message.id, number)
        return Result(outcome="sent")

    def _send(self, part: str) -> Result:
        body: Json = {
            "chat_id": self._chat_id,
            "text": part,
            "link_preview_options": {"is_disabled": True},  # nobody fetches what a name links to
        }
        try:
            answer = self._egress.post(
                f"{self._server}/bot{self._token}/sendMessage",
                json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )
        except PolicyRefused as refused:
            return Result(outcome="refused", reason=str(refused))
        except Unreached as unreached:
            return Result(
                outcome="failed", reason=unreached.reason, is_passing=unreached.is_passing
            )
        return _judged(answer)


def _judged(answer: Answer) -> Result:
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        told = {}
    if told.get("ok") is True and answer.status == 200:
        return Result(outcome="sent")
    said = told.get("description")
    return Result(
        outcome="failed",
        reason=f"HTTP {answer.status}" + (f", {said}" if isinstance(said, str) else ""),
        is_passing=answer.status in PASSING or told.get("error_code") in PASSING,
        pause=_asked(told.get("parameters")) or answer.retry_after,
    )


def _asked(parameters: Json) -> float | None:
    seconds = parameters.get("retry_after") if isinstance(parameters, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        return None
    return float(min(seconds, _LONGEST))


def split(text: str, limit: int = MOST_UNITS) -> list[str]:
    """The text in parts of at most ``limit`` UTF-16 code units, parted between characters.

    Telegram counts code units, takes no half of a pair and no part that is blank. A single
    character longer than a part (a letter under a heap of marks) is parted inside.
    """
    parts: list[str] = []
    current: list[str] = []
    room = limit
    for cluster in clusters(_SURROGATE.sub("\ufffd", text)):
        pieces = [cluster] if _units(cluster) <= limit else list(cluster)
        for piece in pieces:
            if _units(piece) > room:
                parts.append("".join(current))
                current, room = [], limit
            current.append(piece)
            room -= _units(piece)
    return [part for part in (*parts, "".join(current)) if part.strip()]


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)
