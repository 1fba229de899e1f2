"""Task records are kept beside the conversation: whatever fails there, the reply is on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.engine.facade import open_engine
from holdfast.errors import StorageError
from holdfast.types import Message, ToolCall


@pytest.mark.parametrize("error", [StorageError("the disk is full"), KeyError("odd"), TypeError()])
def test_a_record_that_fails_is_logged_and_costs_no_reply(
    home: Path,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("holdfast.engine.tasking.keep_tasks", fails)
    call = ToolCall(id="c1", name="read", arguments={"path": "a.txt"})
    with open_engine(home, background=False) as engine:
        session = engine.session("s")
        session.prepare("Read it to me")
        session.commit(Message(role="assistant", parts=(call,)))
        session.prepare({"role": "tool", "tool_call_id": "c1", "content": "all of it"})
        session.commit("That is what it says.")
        assert session.view().messages[-1].text == "That is what it says."
        session.close()
    assert "task records not kept" in caplog.text
