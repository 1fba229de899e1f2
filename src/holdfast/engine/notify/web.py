"""The channels that leave this machine, with the one client they share.

Apart from ``opening`` because sockets and TLS are loaded only where one of them is configured.
"""

from __future__ import annotations

from holdfast.config.keys import Notices as NoticeSettings
from holdfast.engine.notify.channel import Channel
from holdfast.engine.notify.egress import Egress
from holdfast.engine.notify.telegram import TELEGRAM, Telegram
from holdfast.engine.notify.webhook import Webhook
from holdfast.ports import Clock

__all__ = ["web_channels"]


def web_channels(
    settings: NoticeSettings,
    *,
    clock: Clock,
    egress: Egress | None = None,
    telegram: str = TELEGRAM,
) -> list[Channel]:
    """Webhook and Telegram, as far as they are configured."""
    if egress is None:
        egress = Egress(allow_hosts=settings.allow_hosts)
    found: list[Channel] = []
    if (url := settings.webhook.url) is not None:
        found.append(Webhook(egress, url=url, secret=settings.webhook.secret, clock=clock))
    chat_id, token = settings.telegram.chat_id, settings.telegram.token
    if chat_id is not None and token is not None:
        found.append(Telegram(egress, chat_id=chat_id, token=token, server=telegram))
    return found
