"""What leaves the conversation as a file has no credentials in it, unless asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from holdfast.context.flush import covered_by, flush_records

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def session(home: Path) -> holdfast.Session:
    session = holdfast.open(home).session("s1")
    session.append({"role": "user", "content": f"use {KEY} please"})
    session.append(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": f"the key is {KEY}", "signature": "c2ln"},
                {"type": "thinking", "thinking": "nothing secret", "signature": "b2s="},
                {"type": "tool_use", "id": "t1", "name": "login", "input": {"token": KEY}},
            ],
        }
    )
    session.append(
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": f"logged in as {KEY}"}
            ],
        }
    )
    return session


@pytest.mark.parametrize("format", ["markdown", "openai", "anthropic"])
@pytest.mark.parametrize("view", [False, True])
def test_credentials_are_blacked_out_in_every_format(
    session: holdfast.Session, format: str, view: bool
) -> None:
    assert KEY not in session.export(format, view=view)  # type: ignore[arg-type]
    assert KEY in session.export(format, view=view, with_secrets=True)  # type: ignore[arg-type]


def test_the_conversation_itself_keeps_the_words_as_said(session: holdfast.Session) -> None:
    assert KEY in session.view()[0].text
    assert KEY in json.dumps(session.prepare(format="anthropic").messages)


def test_a_changed_thought_loses_its_signature_and_others_keep_theirs(
    session: holdfast.Session,
) -> None:
    exported = session.export("anthropic")
    assert "c2ln" not in exported
    assert "b2s=" in exported


def test_a_closed_session_holds_no_credentials_if_so_configured(home: Path) -> None:
    config = {"transcripts.redact": "at_close", "context.ingest_cap_chars": 2_000}
    with holdfast.open(home, config=config) as engine:
        session, other = engine.session("s1"), engine.session("s2")
        for each in (session, other):
            each.append({"role": "user", "content": f"use {KEY} please, for the blue house"})
            each.append({"role": "user", "content": f"{'log line ' * 1_000} {KEY}"})
        session.append_entry("marker", {"kind": "reset"})
        covered = session.entries()[-2].data
        assert covered["has_secret"]
        ids = [entry.id for entry in session.entries()]
        session.close()
        after = session.entries()
        assert [entry.id for entry in after][:-1] == ids
        assert KEY not in session.export(with_secrets=True)
        assert "for the blue house" in session.export(with_secrets=True)
        assert session.verify().is_intact
        assert covered_by(flush_records(after), after) == set(covered["covers"])
        assert KEY in other.export(with_secrets=True), "another conversation goes on with it"
        assert other.verify().is_intact
    transcript = home / "agents" / "main" / "sessions" / "s1.jsonl"
    assert KEY.encode() not in transcript.read_bytes()
