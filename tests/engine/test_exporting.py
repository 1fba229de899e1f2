"""What leaves the conversation as a file has no credentials in it, unless asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast

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
