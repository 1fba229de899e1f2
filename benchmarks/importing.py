"""A year of one's own work brought in: 2,000 logs, 60 MB, until a search finds what is in them.

Three of four logs are of Claude Code, one of Codex; every fifth is Chinese; each says one thing
that no other says. Measured are the stages: reading and keeping, the index of words, and a second
import of the same files, which must find nothing to do. By words alone: meaning comes after.

python -m benchmarks importing
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import holdfast
from holdfast.formats import to_anthropic
from holdfast.testing.corpus import conversation
from holdfast.types import Json, Message

CONVERSATIONS: Final = 2_000
MEGABYTES: Final = 60
GOAL_SECONDS: Final = 60.0
_SEARCHES: Final = 40


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        logs = Path(folder) / "logs"
        write_logs(logs, CONVERSATIONS, MEGABYTES << 20)
        return _measured(Path(folder) / "home", logs)


def _measured(home: Path, logs: Path) -> list[dict[str, Any]]:
    used = _used()
    began = time.perf_counter()
    done = _command(home, "import", str(logs))
    seconds = time.perf_counter() - began
    used = _used() - used
    tallies = done["sources"].values()
    size = sum(each["bytes"] for each in tallies) / (1 << 20)
    hits = _hits(home)
    again = time.perf_counter()
    second = _command(home, "import", str(logs))
    again = time.perf_counter() - again
    nothing = all(each["new_messages"] == 0 for each in second["sources"].values())
    what = f"{CONVERSATIONS:,} logs, {size:.0f} MB, from the command to the end of the index"
    return [
        _figure(what, seconds, "s", GOAL_SECONDS),
        _figure("of it: read and kept", done["seconds"]["reading"], "s", None),
        _figure("of it: the index of words", done["seconds"]["indexing"], "s", None),
        _figure("work of both cores", used, "CPU s", 2 * GOAL_SECONDS),
        _figure("messages", sum(each["new_messages"] for each in tallies), "messages", None),
        {
            "what": "conversations found by what only they say",
            "value": hits / _SEARCHES,
            "unit": "share",
            "goal": "1",
            "met": hits == _SEARCHES,
        },
        {
            "what": "the same files again, from the command to its end",
            "value": round(again, 2),
            "unit": "s",
            "goal": "≤ 3 s, nothing new",
            "met": again <= 3.0 and nothing,
        },
    ]


def _used() -> float:
    """CPU seconds of the commands so far: what they take when others use the machine too."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _command(home: Path, *words: str) -> dict[str, Json]:
    """The real command; what it said."""
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", "--home", str(home), *words, "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOLDFAST_SEARCH_EMBEDDER": "none"},
    )
    said: dict[str, Json] = json.loads(run.stdout.splitlines()[-1])
    return said


def _hits(home: Path) -> int:
    with holdfast.open(home, background=False, config={"search.embedder": "none"}) as engine:
        asked = map(_needle, range(0, CONVERSATIONS, CONVERSATIONS // _SEARCHES))
        return sum(
            any(needle in passage.text for passage in engine.search(needle).passages)
            for needle in asked
        )


def _figure(what: str, value: float, unit: str, goal: float | None) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 2),
        "unit": unit,
        "goal": "for scale" if goal is None else f"≤ {goal:g}",
        "met": goal is None or value <= goal,
    }


# ── logs ────────────────────────────────────────────────────────────────────────────────────


def _needle(number: int) -> str:
    return f"ticket-{number:05d}"


def write_logs(folder: Path, count: int, total_bytes: int) -> None:
    """Logs of a year, about as large as asked."""
    chance = random.Random(7)
    start = datetime(2025, 10, 1, 9, 0, tzinfo=UTC)
    written = 0
    for number in range(count):
        at = start + timedelta(minutes=number * 365 * 24 * 60 / count)
        is_codex = number % 4 == 3
        make = _codex if is_codex else _claude_code
        id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        project = f"project-{number % 12}"
        path = (
            folder / "codex" / f"{at:%Y/%m/%d}" / f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{id}.jsonl"
            if is_codex
            else folder / "claude" / f"-home-me-{project}" / f"{id}.jsonl"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        lines: list[str] = []
        round_ = 0
        while round_ == 0 or written < total_bytes * (number + 1) / count:
            messages = _messages(number, round_)
            new = [json.dumps(line) for line in make(messages, id, project, at, round_)]
            lines += new
            written += sum(map(len, new))
            round_ += 1
        path.write_text("\n".join(lines) + "\n", "utf-8")
        os.utime(path, (at.timestamp(), at.timestamp()))


def _messages(number: int, round_: int) -> list[Message]:
    language = "zh" if number % 5 == 0 else "en"
    messages = conversation(number * 100 + round_, 6, language=language)[1:]
    if round_ == 0:
        about = "记下工单" if language == "zh" else "Please note the"
        messages.insert(0, Message.of("user", f"{about} {_needle(number)}, it is about this."))
    return messages


def _claude_code(
    messages: list[Message], id: str, project: str, at: datetime, round_: int
) -> Iterator[Json]:
    parent = None
    for number, wire in enumerate(to_anthropic(messages).messages):
        own = f"{id[:8]}-{round_}-{number}"
        yield {
            "parentUuid": parent,
            "isSidechain": False,
            "cwd": f"/home/me/{project}",
            "sessionId": id,
            "version": "2.0.1",
            "type": wire["role"],
            "message": wire,
            "uuid": own,
            "timestamp": (at + timedelta(seconds=30 * number + 600 * round_)).isoformat(),
        }
        parent = own


def _codex(
    messages: list[Message], id: str, project: str, at: datetime, round_: int
) -> Iterator[Json]:
    if round_ == 0:
        meta = {"id": id, "timestamp": at.isoformat(), "cwd": f"/home/me/{project}"}
        yield {"timestamp": at.isoformat(), "type": "session_meta", "payload": meta}
    for number, message in enumerate(messages):
        when = (at + timedelta(seconds=30 * number + 600 * round_)).isoformat()
        for item in _items(message):
            yield {"timestamp": when, "type": "response_item", "payload": item}


def _items(message: Message) -> Iterator[Json]:
    for call in message.tool_calls:
        arguments = call.arguments if isinstance(call.arguments, str) else "{}"
        yield {
            "type": "function_call",
            "name": call.name,
            "arguments": arguments,
            "call_id": call.id,
        }
    for result in message.tool_results:
        yield {"type": "function_call_output", "call_id": result.call_id, "output": result.text}
    if message.text and not message.tool_results:
        kind = "output_text" if message.role == "assistant" else "input_text"
        content = [{"type": kind, "text": message.text}]
        yield {"type": "message", "role": message.role, "content": content}
