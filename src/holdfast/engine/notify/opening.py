"""Which channels there are, from the settings: those on this machine first, they cannot hang.

Promise: sockets and TLS are loaded only if a channel needs them; what stands in the settings as
a secret can be taken out of any text (``tests/engine/test_notice_channels.py``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Final

from holdfast.config.keys import Notices as NoticeSettings
from holdfast.engine.notify.channel import Channel
from holdfast.engine.notify.desktop import Desktop
from holdfast.engine.notify.logline import LogLine
from holdfast.ports import Clock

__all__ = ["channels_of", "names_of", "secrets_of"]

_KEY_LENGTH: Final = 10
"""Shorter pieces of an address are words, not keys."""


def channels_of(
    settings: NoticeSettings, *, clock: Clock, environ: Mapping[str, str]
) -> list[Channel]:
    """The channels that are configured, ready to deliver."""
    found: list[Channel] = []
    if settings.log.enabled:
        found.append(LogLine())
    if settings.desktop.enabled:
        found.append(Desktop(environ))
    if {"webhook", "telegram"} & set(names_of(settings)):
        web = import_module("holdfast.engine.notify.web")
        found += web.web_channels(settings, clock=clock)
    return found


def names_of(settings: NoticeSettings) -> tuple[str, ...]:
    """The names of the channels that are configured; nothing is opened."""
    telegram = settings.telegram
    is_on = {
        "log": settings.log.enabled,
        "desktop": settings.desktop.enabled,
        "webhook": settings.webhook.url is not None,
        "telegram": telegram.chat_id is not None and telegram.token is not None,
    }
    return tuple(name for name, on in is_on.items() if on)


def secrets_of(settings: NoticeSettings) -> tuple[str, ...]:
    """What no report may show, the longest first. Many services put a key into the address they
    give out, so all of it after the host counts, and every longer piece of that."""
    token, url = settings.telegram.token or "", settings.webhook.url or ""
    path = url.split("/", 3)[3] if url.count("/") > 2 else ""
    pieces = [each for each in re.split("[/?&=]", path) if len(each) >= _KEY_LENGTH]
    found = {token, token.partition(":")[2], settings.webhook.secret or "", url, path, *pieces}
    return tuple(sorted((each for each in found if len(each) > 3), key=len, reverse=True))
