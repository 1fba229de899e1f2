"""Notices as a signed POST of JSON.

The signature is HMAC-SHA256 over ``timestamp.id.body`` under the configured secret: a receiver
can tell that a notice is ours, that it is not an old one sent again, and which it has had. Without
a secret nothing is sent: a receiver that is used to unsigned notices believes anybody.

Promise: id and body are the same in every attempt, the timestamp is that of the attempt
(``tests/engine/test_notice_channels.py``).
"""

from __future__ import annotations

import hmac
import json

from holdfast.engine.notify.channel import Outgoing, Result
from holdfast.engine.notify.egress import PASSING, Egress, Unreached
from holdfast.errors import PolicyRefused
from holdfast.ports import Clock

__all__ = ["Webhook", "signature"]


def signature(secret: str, *, timestamp: str, event: str, body: bytes) -> str:
    """What stands in ``Holdfast-Signature`` for these."""
    signed = f"{timestamp}.{event}.".encode() + body
    return "v1=" + hmac.new(secret.encode("utf-8"), signed, "sha256").hexdigest()


class Webhook:
    name = "webhook"

    def __init__(self, egress: Egress, *, url: str, secret: str | None, clock: Clock) -> None:
        self._egress = egress
        self._url = url
        self._secret = secret
        self._clock = clock

    def deliver(self, message: Outgoing) -> Result:
        if not self._secret:
            return Result(
                outcome="refused",
                reason="notices.webhook.secret is not set, and unsigned notices are not sent",
            )
        body = _body(message)
        timestamp = str(int(self._clock.now().timestamp()))
        headers = {
            "Content-Type": "application/json",
            "Holdfast-Event": message.id,
            "Holdfast-Timestamp": timestamp,
            "Holdfast-Signature": signature(
                self._secret, timestamp=timestamp, event=message.id, body=body
            ),
        }
        try:
            answer = self._egress.post(self._url, body, headers)
        except PolicyRefused as refused:
            return Result(outcome="refused", reason=str(refused))
        except Unreached as unreached:
            return Result(
                outcome="failed", reason=unreached.reason, is_passing=unreached.is_passing
            )
        if 200 <= answer.status < 300:
            return Result(outcome="sent")
        return Result(
            outcome="failed",
            reason=f"HTTP {answer.status}",
            is_passing=answer.status in PASSING,
            pause=answer.retry_after,
        )


def _body(message: Outgoing) -> bytes:
    told = {
        "id": message.id,
        "kind": message.kind,
        "at": message.at.isoformat(),
        "session": message.session,
        "language": message.language,
        "text": message.text,
        "numbers": dict(message.numbers),
    }
    return json.dumps(told, sort_keys=True).encode("ascii")
