"""Notices reach the user, once, in words of his language, and never stand in anybody's way."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.keys import Notices as NoticeSettings
from holdfast.config.keys import TelegramNotices, WebhookNotices
from holdfast.engine.notify import Notice, Notices
from holdfast.engine.notify.channel import Outgoing, Result
from holdfast.engine.notify.wording import KINDS, said
from holdfast.events import Event
from holdfast.testing import FixedClock
from tests.engine.receivers import Behaviour, Receiver, answer, hang, receiver
from tests.engine.sending import (
    FULL,
    OK,
    PATH,
    QUIET,
    SECRET,
    TOKEN,
    Sent,
    by_webhook,
    nearly_full,
)
from tests.scale import scaled


@pytest.fixture
def here() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


# ── words ───────────────────────────────────────────────────────────────────────────────────

EVERY_NUMBER = {
    name: 12_345.0 if name in ("spent", "limit") else 12_345
    for name in ("used", "window", "lines", "attempts", "before", "after", "spent", "limit")
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_kind_has_its_words_with_and_without_numbers(kind: Any, language: str) -> None:
    with_numbers = said(kind, session="work", language=language, numbers=EVERY_NUMBER)
    without = said(kind, session="work", language=language, numbers={})
    # The day's limit is of all conversations together.
    assert kind == "cost_limit" or "work" in without
    assert "12,345" in with_numbers
    assert not any(char.isdigit() for char in without)
    assert "{" not in with_numbers + without
    assert any("一" <= char <= "鿿" for char in without) == (language == "zh")


def test_the_notice_that_matters_most_says_what_to_do() -> None:
    english = said("nearly_full", session="work", language="en", numbers=FULL)
    assert english.startswith("⚠️ The conversation work is nearly full (190,000 of 200,000 tokens)")
    assert "Send /new" in english
    chinese = said("nearly_full", session="work", language="zh", numbers=FULL)
    assert chinese.startswith("⚠️ 对话 work 快满了（已用 190,000 / 200,000 token）")
    assert "/new" in chinese


hostile = st.text(max_size=300) | st.sampled_from(
    [
        "{0.__class__}",
        "{session}{detail}",
        "a\nb\r\nc\u2028d",
        "\x1b[2J\u202eevil",
        "<b>bold</b> *bold* [link](http://evil)",
        "ghp_" + "a1B2c3D4e5" * 4,
        "x" * 1_000_000,
        "👨‍👩‍👧‍👦" * 500,
        "\ud83d",
    ]
)


@given(name=hostile, kind=st.sampled_from(KINDS), language=st.sampled_from(["en", "zh"]))
@settings(max_examples=scaled(100))
def test_a_session_can_be_called_anything_and_the_text_stays_ours(
    name: str, kind: Any, language: str
) -> None:
    text = said(kind, session=name, language=language, numbers={})
    plain = said(kind, session="", language=language, numbers={})
    assert text[:3] == plain[:3]
    assert len(text.splitlines()) == 1
    assert len(text) < 2500
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "a1B2c3D4e5a1B2" not in text
    text.encode()


@pytest.mark.parametrize(
    ("setting", "conversation", "expected"),
    [
        ("auto", "en", "en"),
        ("auto", "zh", "zh"),
        ("auto", "zh-Hant", "zh"),
        ("auto", "fr", "en"),
        ("en", "zh", "en"),
        ("zh", "en", "zh"),
    ],
)
def test_the_setting_decides_the_language_and_auto_is_that_of_the_conversation(
    here: Receiver, setting: str, conversation: str, expected: str
) -> None:
    sent = Sent(by_webhook(here), to=here, language=setting)
    sent.send(nearly_full(language=conversation))
    assert here.requests[0].json["language"] == expected
    assert ("快满了" in here.requests[0].json["text"]) == (expected == "zh")


# ── once, and without standing in the way ───────────────────────────────────────────────────


def test_a_notice_is_sent_once_for_each_session_cycle_and_kind(here: Receiver) -> None:
    sent = Sent(by_webhook(here), to=here)
    sent.send(nearly_full())
    (event,) = sent.send(nearly_full())
    assert (event.outcome, event.attempts) == ("duplicate", 0)
    sent.send(nearly_full("c2"), nearly_full(session="s2"))
    sent.send(Notice(kind="flush_failed", session="s1", cycle="c1"))
    assert len(here.requests) == 4


def test_where_a_notice_failed_it_is_tried_again_and_only_there(here: Receiver) -> None:
    given = NoticeSettings(
        telegram=TelegramNotices(chat_id="1", token=TOKEN),
        webhook=WebhookNotices(url=here.url, secret=SECRET),
    )
    here.script = [answer(400), OK]
    sent = Sent(given, to=here)
    outcomes = {event.channel: event.outcome for event in sent.send(nearly_full())}
    assert outcomes == {"log": "sent", "webhook": "failed", "telegram": "sent"}
    assert [(e.channel, e.outcome) for e in sent.send(nearly_full())] == [("webhook", "sent")]
    assert [(e.channel, e.outcome) for e in sent.send(nearly_full())] == [("all", "duplicate")]


def test_sending_never_waits_the_queue_is_bounded_and_closing_tells_what_was_left(
    here: Receiver,
) -> None:
    here.script = [hang] * 3
    sent = Sent(by_webhook(here), to=here, seconds=60)
    for number in range(400):
        sent.notices.send(nearly_full(f"c{number}"))
    refused = [event for event in sent.events if "wait already" in str(event.reason)]
    assert 400 - 257 <= len(refused) <= 400 - 256
    assert not sent.notices.drain(0.01)
    assert not sent.notices.close(0.01)
    left = [event for event in sent.events if event.reason == "not sent before closing"]
    assert len(left) == 256
    sent.notices.send(nearly_full("late"))
    assert sent.events[-1].reason == "notices are closed"
    assert here.connections <= 1


def test_closing_ends_a_pause_between_attempts(here: Receiver) -> None:
    here.script = [answer(503, Retry_After="50")] * 3
    given = NoticeSettings(log=QUIET, webhook=by_webhook(here).webhook, allow_hosts=(here.place,))
    told = threading.Event()
    events: list[Event] = []

    def tell(event: Event) -> None:
        events.append(event)
        told.set()

    notices = Notices(given, clock=FixedClock(), tell=tell)
    notices.send(nearly_full())
    while not here.requests:
        told.wait(0.01)
    assert not notices.close(0.2)
    assert told.wait(30)
    assert getattr(events[0], "outcome", None) == "failed"


class Broken:
    name = "log"

    def deliver(self, message: Outgoing) -> Result:
        raise RuntimeError(f"https://api.telegram.org/bot{TOKEN}/sendMessage")


def test_a_channel_or_listener_that_breaks_does_not_end_the_thread(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    sent = Sent(NoticeSettings(), channels=lambda: [Broken()])
    events = sent.send(nearly_full("c1"), nearly_full("c2"))
    assert [(event.outcome, event.reason) for event in events] == [("failed", "RuntimeError")] * 2

    def tell(_: Event) -> None:
        raise ValueError(TOKEN)

    notices = Notices(NoticeSettings(), clock=FixedClock(), tell=tell)
    notices.send(nearly_full("c1"))
    notices.send(nearly_full("c1"))
    assert notices.drain(30)
    notices.send(Notice(kind="nonsense", session="s", cycle="c"))  # type: ignore[arg-type]
    assert notices.close(30)
    assert TOKEN not in caplog.text


def test_a_listener_may_send_and_wait_without_a_deadlock(here: Receiver) -> None:
    waited: list[bool] = []

    def tell(event: Event) -> None:
        if len(waited) < 2:
            waited.append(notices.drain(60))
            notices.send(nearly_full(f"again {len(waited)}"))

    notices = Notices(NoticeSettings(), clock=FixedClock(), tell=tell)
    notices.send(nearly_full())
    assert notices.drain(30)
    assert waited == [False, False]


def test_nobody_configured_means_nobody_told() -> None:
    sent = Sent(NoticeSettings(log=QUIET))
    assert sent.send(nearly_full()) == []
    assert sent.notices.channels == ()
    assert sent.notices._thread is None


def test_a_forked_child_sends_its_own_notices_and_none_of_its_parents(here: Receiver) -> None:
    here.script = [hang]
    sent = Sent(by_webhook(here), to=here, seconds=60)
    sent.notices.send(nearly_full(session="first"))
    sent.notices.send(nearly_full(session="parent"))  # waits behind the first
    while not here.requests:
        here.released.wait(0.01)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            sent.notices.send(nearly_full(session="first"))  # its parent's to send
            sent.notices.send(nearly_full(session="child"))
            status = 0 if sent.notices.drain(30) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert [request.json["session"] for request in here.requests] == ["first", "child"]
    here.released.set()
    assert sent.notices.drain(30)
    assert [request.json["session"] for request in here.requests[2:]] == ["first", "parent"]
    assert [event.outcome for event in sent.events] == ["sent", "sent"]


# ── nothing secret is ever shown ────────────────────────────────────────────────────────────


def test_no_token_secret_or_path_is_in_an_event_a_log_record_or_an_exception(
    here: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"no bot {TOKEN} at /bot{TOKEN}/sendMessage, {TOKEN.partition(':')[2]}, {SECRET} {PATH}"
    given = NoticeSettings(
        telegram=TelegramNotices(chat_id="1", token=TOKEN),
        webhook=WebhookNotices(url=f"{here.url}/{PATH}?key=hunter2hunter2", secret=SECRET),
    )
    behaviours: list[Behaviour] = [
        answer(400, {"ok": False, "description": echo}),
        answer(500, {"ok": False, "description": echo}),
        answer(302, Location=f"/bot{TOKEN}"),
        answer(200, echo.encode()),
        lambda server, connection, request: server.send(connection, request.line.encode()),
        lambda *_: None,
    ]
    sent = Sent(given, to=here)
    for number, behaviour in enumerate(behaviours):
        here.script = [behaviour] * 6
        sent.send(nearly_full(f"c{number}"))
    shown = json.dumps([event.to_json() for event in sent.events]) + caplog.text
    assert len([event for event in sent.events if event.outcome == "failed"]) >= 10
    for secret in (TOKEN, TOKEN.partition(":")[2], SECRET, "hunter2"):
        assert secret not in shown
