"""Logs as Claude Code writes them, and calls as it makes them, for tests of the hooks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from holdfast.types import Json

__all__ = ["Log"]


@dataclass
class Log:
    """One conversation; every line is on disk when a method returns."""

    folder: Path
    number: int = 1
    project: str = "/srv/shop"
    at: datetime = field(default_factory=lambda: datetime.now(UTC) - timedelta(hours=2))
    lines: int = 0
    last: str | None = None

    @property
    def session(self) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self.project}/{self.number}"))

    @property
    def path(self) -> Path:
        return self.folder / "projects" / self.project.replace("/", "-") / f"{self.session}.jsonl"

    def user(self, text: str) -> None:
        self._line("user", {"role": "user", "content": text})

    def assistant(self, text: str) -> None:
        self._answer([{"type": "text", "text": text}])

    def tool(self, name: str, given: dict[str, Json], result: str) -> None:
        id = f"toolu_{self.lines:04}"
        self._answer([{"type": "tool_use", "id": id, "name": name, "input": given}])
        self._line(
            "user",
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": id, "content": result}],
            },
            toolUseResult={"stdout": result},
        )

    def compacted(self, summary: str) -> None:
        """What Claude Code writes when it has compacted."""
        self._line("system", None, subtype="compact_boundary", content="Conversation compacted")
        self._line("user", {"role": "user", "content": summary}, isCompactSummary=True)

    def _answer(self, content: list[Json]) -> None:
        message: dict[str, Json] = {"id": f"msg_{self.lines:04}", "type": "message"}
        message |= {"role": "assistant", "model": "claude-sonnet-5", "content": content}
        message["usage"] = {"input_tokens": 900, "output_tokens": 30}
        self._line("assistant", message)

    def _line(self, type: str, message: Json, **more: Json) -> None:
        self.at += timedelta(seconds=20)
        line: dict[str, Json] = {"parentUuid": self.last, "isSidechain": False, "type": type}
        self.lines += 1
        self.last = str(uuid5(NAMESPACE_URL, f"{self.session}/{self.lines}"))
        line |= {"uuid": self.last, "sessionId": self.session, "cwd": self.project}
        line |= {"version": "2.1.40", "gitBranch": "main", "userType": "external", **more}
        line["timestamp"] = self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if message is not None:
            line["message"] = message
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def call(self, event: str, **more: Json) -> str:
        """What Claude Code says to a hook."""
        said: dict[str, Json] = {
            "session_id": self.session,
            "transcript_path": str(self.path),
            "cwd": self.project,
            "permission_mode": "default",
            "hook_event_name": event,
            "a_field_of_tomorrow": {"nested": [1, None]},
        }
        return json.dumps(said | more)
