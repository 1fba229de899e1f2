"""A home full of texts that want to be programs, wherever a text may stand.

In memory lines, in whole files, in what users, assistants and tools said, in the arguments of
tools, goals, entities, tasks, models and events. Names of sessions and files cannot hold markup, so
they are names that mean something to a program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from holdfast.engine.facade import Engine
from tests.server.furnishing import open_home
from tests.server.payloads import LOCAL_NAMES, Payload
from tests.server.speaking import Speaker

__all__ = ["FILE", "HAUNTED", "LINES", "haunt"]

HAUNTED: Final = "constructor"
"""The session in which every payload was said."""
LINES: Final = "memory/topics/__proto__.md"
"""The file in which every payload is a memory."""
FILE: Final = "memory/topics/prototype.md"
"""The file in which every payload is Markdown that somebody wrote by hand."""


def haunt(home: Path, hostile: Sequence[Payload], speaker: Speaker) -> Engine:
    engine = open_home(home, speaker)
    engine.remember("Peter lives in Berlin.")  # so that there is a folder
    folder = home / "agents" / "main"
    (folder / LINES).parent.mkdir(parents=True, exist_ok=True)
    (folder / LINES).write_text("".join(_lines(hostile)), "utf-8", errors="replace")
    (folder / FILE).write_text("\n\n".join(each.text for each in hostile), "utf-8")
    _converse(engine, hostile)
    _name_things(engine, hostile)
    engine.search("zq0001zq")
    return engine


def _lines(hostile: Sequence[Payload]) -> Iterator[str]:
    yield "## Retain\n\n"
    for number, each in enumerate(hostile):
        entity = '@"' + each.line.replace('"', "'")[:40] + '"' if number % 3 == 0 else "@Peter"
        yield f"- W {entity}: {each.line}\n"


def _converse(engine: Engine, hostile: Sequence[Payload]) -> None:
    session = engine.session(HAUNTED, model=Speaker(name="desk:<img src=x onerror=__pwned=1>"))
    session.set_goal(hostile[0].line)
    session.append_all([message for each in _spoken(hostile) for message in each])
    session.flush("manual")
    session.compact()


def _spoken(hostile: Sequence[Payload]) -> Iterator[list[dict[str, Any]]]:
    """Each by somebody else, the last of them by a tool that was called for it."""
    for number, each in enumerate(hostile):
        if number % 4 == 3:
            call = {"name": f"tool_{number}", "arguments": '{"q": "' + each.marker + '</script>"}'}
            called = {"id": f"c{number}", "type": "function", "function": call}
            yield [
                {"role": "assistant", "content": None, "tool_calls": [called]},
                {"role": "tool", "tool_call_id": f"c{number}", "content": each.text},
            ]
        else:
            role = ("user", "assistant", "user")[number % 4]
            yield [{"role": role, "content": each.text}]


def _name_things(engine: Engine, hostile: Sequence[Payload]) -> None:
    for number, name in enumerate(LOCAL_NAMES):
        if name != HAUNTED:
            engine.session(name).set_goal(hostile[number].line)
    for each in hostile[:: max(1, len(hostile) // 12)]:
        engine.remember(each.line, entity=each.line[:60], target="memory")
        task = engine.tasks.open(each.line[:120], type="research", request=each.text)
        engine.tasks.update(task.id, note=each.line)
    engine.remember(f"{hostile[1].line} is 41.", entity="toString", target="memory")
    engine.remember(f"{hostile[1].line} is 42.", entity="toString", target="memory")
