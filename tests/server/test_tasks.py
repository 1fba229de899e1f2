"""Task records by the API."""

from __future__ import annotations

from pathlib import Path

import holdfast
from tests.server.asking import asking


def test_a_task_is_opened_noted_closed_and_counted(home: Path) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        task = ask.post("/tasks", title="Fix the login", type="bug_fix", request="It crashes.")
        assert (ask.status, task["status"], task["request"]) == (201, "open", "It crashes.")
        here = f"/tasks/{task['id']}"
        assert ask.patch(here, progress="Found it.")["progress"][0].endswith("Found it.")
        assert ask.patch(here)["progress"][0].endswith("Found it.")
        closed = ask.post(f"{here}/close", status="done", result="A missing check.")
        assert (closed["status"], closed["result"]) == ("done", "A missing check.")
        assert ask.get(here) == closed
        assert ask.get("/tasks", status="open")["tasks"] == []
        assert [each["id"] for each in ask.get("/tasks", type="bug_fix")["tasks"]] == [task["id"]]
        assert ask.get("/tasks/stats")["totals"]["success_rate"] == 1.0
        ask.post(f"{here}/close", status="open")
        assert ask.status == 422
        ask.get("/tasks/none")
        assert ask.status == 404
        ask.get("/tasks", status="lost")
        assert ask.status == 422
