"""Notices led to a local server: what the tests of notices and of their channels share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holdfast.config.keys import LogNotices, TelegramNotices, WebhookNotices
from holdfast.config.keys import Notices as NoticeSettings
from holdfast.engine.notify import Notice, Notices
from holdfast.engine.notify.channel import Channel
from holdfast.engine.notify.egress import Egress
from holdfast.engine.notify.opening import channels_of
from holdfast.engine.notify.web import web_channels
from holdfast.events import Event, NoticeSent
from holdfast.testing import FixedClock
from tests.engine.receivers import Receiver, answer

TOKEN = "123456789:AAHq-Telegram_bot-token_0123456789abc"
SECRET = "a webhook's signing secret"
PATH = "services/T0AAA/hunter2hunter2"
FULL: Mapping[str, Any] = {"used": 190_000, "window": 200_000}
OK = answer(200, {"ok": True, "result": {}})


class Sent:
    """Notices led to a local server, with everything that was told and every pause."""

    def __init__(
        self,
        given: NoticeSettings,
        *,
        to: Receiver | None = None,
        channels: Callable[[], Sequence[Channel]] | None = None,
        language: str = "auto",
        seconds: float = 5.0,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.events: list[NoticeSent] = []
        self.pauses: list[float] = []
        self.clock = FixedClock()
        self._given, self._to, self._seconds = given, to, seconds
        self._environ = environ or {}
        self.notices = Notices(
            given,
            clock=self.clock,
            tell=self._tell,
            language=language,
            sleep=self.pauses.append,
            open_channels=channels or self._open,
        )

    def _tell(self, event: Event) -> None:
        assert isinstance(event, NoticeSent)
        self.events.append(event)

    def _open(self) -> Sequence[Channel]:
        here = NoticeSettings(log=self._given.log, desktop=self._given.desktop)
        found = channels_of(here, clock=self.clock, environ=self._environ)
        if self._to is not None:
            egress = Egress(allow_hosts=[self._to.place], seconds=self._seconds)
            found += web_channels(
                self._given, clock=self.clock, egress=egress, telegram=self._to.url
            )
        return found

    def send(self, *notices: Notice) -> list[NoticeSent]:
        """Send them and wait; what was told because of them."""
        before = len(self.events)
        for notice in notices:
            self.notices.send(notice)
        assert self.notices.drain(30)
        return self.events[before:]


QUIET = LogNotices(enabled=False)


def by_telegram(token: str = TOKEN) -> NoticeSettings:
    return NoticeSettings(log=QUIET, telegram=TelegramNotices(chat_id="5588544200", token=token))


def by_webhook(here: Receiver, secret: str | None = SECRET) -> NoticeSettings:
    return NoticeSettings(
        log=QUIET, webhook=WebhookNotices(url=f"{here.url}/{PATH}", secret=secret)
    )


def nearly_full(cycle: str = "c1", session: str = "s1", language: str = "en") -> Notice:
    return Notice(kind="nearly_full", session=session, cycle=cycle, language=language, numbers=FULL)
