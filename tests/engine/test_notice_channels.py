"""Telegram, webhook, desktop and log: what each sends, and what it makes of the answer."""

from __future__ import annotations

import hashlib
import hmac
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.keys import DesktopNotices
from holdfast.config.keys import Notices as NoticeSettings
from holdfast.engine.notify import Notice, Notices
from holdfast.engine.notify.channel import Outgoing
from holdfast.engine.notify.egress import Egress
from holdfast.engine.notify.telegram import split
from holdfast.engine.notify.web import web_channels
from holdfast.events import Event
from holdfast.testing import FixedClock
from tests.engine.receivers import Behaviour, Receiver, answer, receiver
from tests.engine.sending import (
    FULL,
    OK,
    PATH,
    QUIET,
    SECRET,
    TOKEN,
    Sent,
    by_telegram,
    by_webhook,
    nearly_full,
)
from tests.scale import scaled


@pytest.fixture
def here() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


# ── Telegram ────────────────────────────────────────────────────────────────────────────────


def test_telegram_gets_plain_text_for_the_one_chat(here: Receiver) -> None:
    here.script = [OK]
    sent = Sent(by_telegram(), to=here)
    (event,) = sent.send(nearly_full(session="<b>x</b> *y* _z_"))
    assert (event.channel, event.outcome, event.attempts) == ("telegram", "sent", 1)
    assert event.reason is None
    (request,) = here.requests
    assert request.line == f"POST /bot{TOKEN}/sendMessage HTTP/1.1"
    assert set(request.json) == {"chat_id", "text", "link_preview_options"}
    assert request.json["chat_id"] == "5588544200"
    assert "<b>x</b> *y* _z_" in request.json["text"]


def test_telegram_is_asked_again_after_as_long_as_it_says(here: Receiver) -> None:
    busy = {"ok": False, "error_code": 429, "parameters": {"retry_after": 7}}
    here.script = [answer(429, busy), answer(429, {"ok": False}, Retry_After="9"), OK]
    sent = Sent(by_telegram(), to=here)
    (event,) = sent.send(nearly_full())
    assert (event.outcome, event.attempts) == ("sent", 3)
    assert sent.pauses == [7, 9]


@pytest.mark.parametrize("seconds", [61, 86_400, 10**400, float("inf")])
def test_telegram_is_not_waited_for_longer_than_a_minute(here: Receiver, seconds: float) -> None:
    here.script = [answer(429, {"ok": False, "parameters": {"retry_after": seconds}})]
    sent = Sent(by_telegram(), to=here)
    (event,) = sent.send(nearly_full())
    assert (event.outcome, event.attempts) == ("failed", 1)
    assert sent.pauses == []


@pytest.mark.parametrize(
    ("behaviour", "attempts"),
    [
        (answer(400, {"ok": False, "description": "Bad Request: chat not found"}), 1),
        (answer(401, {"ok": False, "description": "Unauthorized"}), 1),
        (answer(200, {"ok": False, "description": "no"}), 1),
        (answer(200, {"ok": "true"}), 1),
        (answer(200, [1]), 1),
        (answer(200, b"<html>"), 1),
        (answer(200, b"[" * 60_000), 1),
        (answer(302, {"ok": True}, Location="http://169.254.169.254/"), 1),
        (answer(500, b""), 3),
        (answer(502, b"<html>"), 3),
        (answer(429, {"ok": False, "parameters": {"retry_after": "soon"}}), 3),
    ],
)
def test_only_what_may_pass_is_tried_again_and_every_failure_is_told(
    here: Receiver, behaviour: Behaviour, attempts: int
) -> None:
    here.script = [behaviour] * 3
    sent = Sent(by_telegram(), to=here)
    (event,) = sent.send(nearly_full())
    assert (event.outcome, event.attempts) == ("failed", attempts)
    assert event.reason
    assert len(here.requests) == attempts
    assert sent.pauses == [1, 4][: attempts - 1]


def test_what_is_no_token_never_becomes_part_of_an_address(here: Receiver) -> None:
    for token in ("x", "1:2/../../x", "1:a b", "1:a\r\nX: y", "../1:a", f"{TOKEN}?x"):
        (event,) = Sent(by_telegram(token), to=here).send(nearly_full())
        assert event.outcome == "refused"
        assert token not in str(event.reason)
    assert here.connections == 0


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    times=st.integers(1, 300),
    limit=st.sampled_from([16, 100, 4096]),
)
@settings(max_examples=scaled(100))
def test_parts_are_short_enough_and_together_the_whole_text(
    text: str, times: int, limit: int
) -> None:
    parts = split(text * times, limit)
    assert all(0 < units(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join((text * times).split())


def test_parts_end_between_characters_where_a_character_fits() -> None:
    family = "👨‍👩‍👧‍👦"
    parts = split(family * 1000)
    assert len(parts) > 1
    assert all(part == family * (len(part) // len(family)) for part in parts)
    assert "".join(split("a" + "\u0301" * 10_000)) == "a" + "\u0301" * 10_000
    assert split("\ud83d half") == ["\ufffd half"]
    assert split("  \n ") == []


def test_a_part_that_arrived_is_not_sent_again(here: Receiver, clock: FixedClock) -> None:
    here.script = [OK, answer(500), OK]
    egress = Egress(allow_hosts=[here.place])
    (telegram,) = web_channels(by_telegram(), clock=clock, egress=egress, telegram=here.url)
    message = Outgoing(
        id="n1", kind="flush_failed", at=clock.now(), session="s", language="en", text="ab" * 4000
    )
    assert telegram.deliver(message).outcome == "failed"
    assert telegram.deliver(message).outcome == "sent"
    texts = [request.json["text"] for request in here.requests]
    assert texts == ["ab" * 2048, "ab" * 1952, "ab" * 1952]


PARTS = ("Event", "Timestamp", "Signature")


# ── webhook ─────────────────────────────────────────────────────────────────────────────────


def test_a_webhook_can_be_verified_by_its_receiver(here: Receiver) -> None:
    sent = Sent(by_webhook(here), to=here)
    (event,) = sent.send(nearly_full(session="work"))
    assert (event.channel, event.outcome) == ("webhook", "sent")
    (request,) = here.requests
    assert request.line == f"POST /{PATH} HTTP/1.1"
    stamp, number = request.headers["holdfast-timestamp"], request.headers["holdfast-event"]
    expected = hmac.new(
        SECRET.encode(), f"{stamp}.{number}.".encode() + request.body, hashlib.sha256
    ).hexdigest()
    assert request.headers["holdfast-signature"] == f"v1={expected}"
    assert int(stamp) == int(sent.clock.now().timestamp())
    assert set(request.json) == {"id", "kind", "at", "session", "language", "text", "numbers"}
    assert request.json["id"] == number
    assert request.json["kind"] == "nearly_full"
    assert request.json["session"] == "work"
    assert request.json["numbers"] == FULL


def test_the_receiver_in_the_docs_takes_ours_and_nothing_else(here: Receiver) -> None:
    page = (Path(__file__).parents[2] / "docs" / "notices.md").read_text()
    names: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], names)
    sent = Sent(by_webhook(here), to=here)
    sent.clock.at = datetime.now(UTC)
    sent.send(nearly_full())
    (request,) = here.requests
    kept = {f"Holdfast-{part}": request.headers[f"holdfast-{part.lower()}"] for part in PARTS}
    assert names["is_genuine"](SECRET, kept, request.body)
    assert not names["is_genuine"]("another", kept, request.body)
    assert not names["is_genuine"](SECRET, kept, request.body + b" ")
    for part in PARTS:
        changed = {**kept, f"Holdfast-{part}": "1" + kept[f"Holdfast-{part}"]}
        assert not names["is_genuine"](SECRET, changed, request.body)


def test_retries_of_a_webhook_have_one_id_and_one_body(here: Receiver) -> None:
    here.script = [answer(503), answer(429, Retry_After="5"), answer(204)]
    sent = Sent(by_webhook(here), to=here)
    (event,) = sent.send(nearly_full())
    assert (event.outcome, event.attempts) == ("sent", 3)
    assert sent.pauses == [1, 5]
    assert len({request.headers["holdfast-event"] for request in here.requests}) == 1
    assert len({request.body for request in here.requests}) == 1
    sent.send(nearly_full("c2"))
    assert here.requests[-1].headers["holdfast-event"] != here.requests[0].headers["holdfast-event"]


def test_without_a_secret_nothing_is_sent(here: Receiver) -> None:
    (event,) = Sent(by_webhook(here, secret=None), to=here).send(nearly_full())
    assert event.outcome == "refused"
    assert "notices.webhook.secret" in str(event.reason)
    assert here.connections == 0


def test_an_address_inside_is_refused_unless_it_is_listed(here: Receiver) -> None:
    outcomes = []
    for listed in ((), (here.place,)):
        given = NoticeSettings(log=QUIET, webhook=by_webhook(here).webhook, allow_hosts=listed)
        events: list[Event] = []
        notices = Notices(given, clock=FixedClock(), tell=events.append)
        notices.send(nearly_full())
        assert notices.close(30)
        outcomes += [getattr(event, "outcome", None) for event in events]
    assert outcomes == ["refused", "sent"]
    assert here.connections == 1


def test_only_numbers_leave_with_a_notice(here: Receiver) -> None:
    numbers = {"used": 1, "said": "a secret plan", "nan": float("nan"), "yes": True, "a b": 2}
    Sent(by_webhook(here), to=here).send(
        Notice(kind="flush_failed", session="s", cycle="c", numbers=numbers)
    )
    assert here.requests[0].json["numbers"] == {"used": 1}


# ── desktop and log ─────────────────────────────────────────────────────────────────────────


def program(folder: Path, name: str, lines: str) -> Path:
    folder.mkdir(exist_ok=True)
    made = folder / name
    made.write_text(f"#!/bin/sh\n{lines}\n")
    made.chmod(0o755)
    return made


@pytest.mark.parametrize("name", ["notify-send", "osascript"])
def test_the_desktop_gets_the_text_as_one_argument(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    program(tmp_path / "bin", name, f'for each in "$@"; do printf "%s\\n" "$each"; done > {out}')
    sent = Sent(
        NoticeSettings(log=QUIET, desktop=DesktopNotices(enabled=True)),
        environ={"PATH": f"{tmp_path / 'bin'}"},
    )
    (event,) = sent.send(nearly_full(session='"; $(touch evil) <img src=x>'))
    assert (event.channel, event.outcome) == ("desktop", "sent")
    *_, text = out.read_text().splitlines()
    shown = "&lt;img src=x&gt;" if name == "notify-send" else "<img src=x>"
    assert f'"; $(touch evil) {shown}' in text
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("lines", "outcome"), [(None, "unavailable"), ("exit 3", "failed"), ("kill -9 $$", "failed")]
)
def test_a_desktop_that_is_not_there_is_told(
    tmp_path: Path, lines: str | None, outcome: str
) -> None:
    if lines is not None:
        program(tmp_path / "bin", "notify-send", lines)
    given = NoticeSettings(log=QUIET, desktop=DesktopNotices(enabled=True))
    (event,) = Sent(given, environ={"PATH": f"{tmp_path / 'bin'}:."}).send(nearly_full())
    assert event.outcome == outcome
    assert event.reason


def test_the_log_has_one_line_for_each_notice(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="holdfast.notices")
    sent = Sent(NoticeSettings())
    events = sent.send(nearly_full(), Notice(kind="flush_failed", session="s\n1", cycle="c1"))
    assert [(event.channel, event.outcome) for event in events] == [("log", "sent")] * 2
    levels = [(each.levelname, each.name) for each in caplog.records]
    assert levels == [("WARNING", "holdfast.notices")] * 2
    assert all("\n" not in each.getMessage() for each in caplog.records)


def test_a_notice_to_the_log_loads_no_network() -> None:
    script = (
        "import sys\n"
        "from holdfast.config.keys import Notices as Given\n"
        "from holdfast.engine.notify import Notice, Notices\n"
        "from holdfast.testing import FixedClock\n"
        "sent = []\n"
        "notices = Notices(Given(), clock=FixedClock(), tell=sent.append)\n"
        "notices.send(Notice(kind='flush_failed', session='s', cycle='c'))\n"
        "assert notices.close(30) and sent[0].outcome == 'sent'\n"
        "print(sorted({'ssl', 'socket', 'http.client', 'asyncio'} & set(sys.modules)))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
