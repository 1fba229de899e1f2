"""How things stand: the three tiers of memory with their sizes, and a check-up of the home.

Promise: ``doctor`` never changes anything unless told to, and every finding names what to do
(``tests/doors/test_doctor.py``).
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from holdfast.config import IN_EFFECT
from holdfast.disk import Directory
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError
from holdfast.types import Json

__all__ = ["Check", "Status", "examine", "measure_status"]

LOW_DISK_BYTES: Final = 256 << 20
_NAMED: Final = 8
_REMOTE_FILE_SYSTEMS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "sshfs", "9p"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Immediate = what the model sees now; short-term = sessions; long-term = memory files."""

    home: str
    agent: str
    today: str
    newest_session: str | None
    view_messages: int
    view_chars: int
    sessions: int
    session_entries: int
    session_bytes: int
    artifact_bytes: int
    memory_files: int
    memory_bytes: int
    memories: int
    """Memory lines that hold now."""
    tasks: int
    open_tasks: int
    memory_mode: str = "read-write"
    """What the settings allow; a session may be opened with less."""
    has_index: bool = False

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def measure_status(rooms: Rooms) -> Status:
    sessions = rooms.store.summaries()
    newest = sessions[0].name if sessions else None
    view = rooms.store.view(rooms.transcript(newest)) if newest is not None else ()
    files = list(_memory_files(rooms.base.path))
    is_on = rooms.settings.memory.mode != "off"
    tasks = rooms.memory.tasks.list() if is_on else []
    return Status(
        home=str(rooms.home_path),
        agent=rooms.scope.agent,
        today=rooms.today().isoformat(),
        newest_session=newest,
        view_messages=len(view),
        view_chars=sum(len(message.text) for message in view),
        sessions=len(sessions),
        session_entries=sum(each.entries for each in sessions),
        session_bytes=sum(each.bytes for each in sessions),
        artifact_bytes=rooms.store.artifacts.total_bytes(),
        memory_files=len(files),
        memory_bytes=sum(path.stat().st_size for path in files),
        memories=len(rooms.memory.facts.list()) if is_on else 0,
        tasks=len(tasks),
        open_tasks=sum(task.is_open for task in tasks),
        memory_mode=rooms.settings.memory.mode,
        has_index=_has_index(rooms),
    )


def _has_index(rooms: Rooms) -> bool:
    """Whether a search has made one. Looking for it makes none."""
    return rooms.home.path.joinpath("agents", rooms.scope.agent, ".index").is_dir()


def _memory_files(base: Path) -> Iterator[Path]:
    """The Markdown files of the workspace; other chats' and users' are theirs."""
    for folder, names, files in os.walk(base):
        if Path(folder) == base:
            keep = {"memory", "bank", "tasks"}
            names[:] = [name for name in names if name in keep]
        yield from (Path(folder, name) for name in files if name.endswith(".md"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding of the check-up."""

    name: str
    result: Literal["ok", "warning", "failed"]
    text: str
    hint: str | None = None

    def to_json(self) -> dict[str, Json]:
        return {key: value for key, value in asdict(self).items() if value is not None}


def examine(rooms: Rooms, *, fix: bool = False) -> list[Check]:
    """All checks, in the order in which a person would want to read them."""
    checks: list[Callable[[], Check]] = [
        _python,
        lambda: _home(rooms),
        lambda: _file_system(rooms),
        lambda: _free_space(rooms),
        lambda: _modes(rooms, fix=fix),
        lambda: _leftovers(rooms, fix=fix),
        lambda: _sessions(rooms),
        lambda: _memory(rooms),
        lambda: _search(rooms),
        lambda: _model(rooms),
        lambda: _audit(rooms),
        lambda: _time_zone(rooms),
        lambda: _config(rooms),
    ]
    return [check() for check in checks]


def _python() -> Check:
    system = platform.system()
    text = f"Python {platform.python_version()} on {system} {platform.machine()}"
    if system == "Windows":
        return Check(name="python", result="failed", text=text, hint="Use WSL on Windows.")
    return Check(name="python", result="ok", text=text)


def _home(rooms: Rooms) -> Check:
    probe = ".doctor"
    try:
        rooms.home.replace(probe, b"holdfast doctor\n")
        rooms.home.remove(probe)
    except HoldfastError as error:
        return Check(name="home", result="failed", text=error.message, hint=error.hint)
    return Check(name="home", result="ok", text=f"{rooms.home_path} takes durable writes")


def _file_system(rooms: Rooms) -> Check:
    kind = _file_system_of(rooms.home.path)
    if kind in _REMOTE_FILE_SYSTEMS:
        return Check(
            name="file system",
            result="warning",
            text=f"{rooms.home_path} is on {kind}: locks and syncs may not mean what they say",
            hint="Keep the home on a local disk: holdfast --home DIR …",
        )
    return Check(name="file system", result="ok", text=kind or "local")


def _file_system_of(path: Path) -> str | None:
    """The type of the mount that holds ``path``; None where there is no list of mounts."""
    try:
        mounts = Path("/proc/self/mounts").read_text(errors="replace")
    except OSError:
        return None
    best, kind = "", None
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) > 2 and path.is_relative_to(fields[1]) and len(fields[1]) >= len(best):
            best, kind = fields[1], fields[2].removeprefix("fuse.")
    return kind


def _free_space(rooms: Rooms) -> Check:
    free = rooms.home.free_bytes()
    text = f"{free / (1 << 30):.1f} GiB free"
    if free < LOW_DISK_BYTES:
        return Check(name="disk", result="warning", text=text, hint="Free some disk space.")
    return Check(name="disk", result="ok", text=text)


def _folders(rooms: Rooms) -> Iterator[Directory]:
    yield rooms.home
    yield rooms.base
    for name in ("sessions", "artifacts", ".journal"):
        yield rooms.base.child(name)
    for name in ("memory", "bank", "tasks", "archive"):
        if rooms.base.identify(name):
            yield from _with_those_below(rooms.base.child(name, create=False))


def _with_those_below(folder: Directory) -> Iterator[Directory]:
    yield folder
    for found in folder.found():
        if found.kind == "folder":
            yield from _with_those_below(folder.child(found.name, create=False))


def _modes(rooms: Rooms, *, fix: bool) -> Check:
    loose = [path for folder in _folders(rooms) for path in folder.loose_modes()]
    if not loose:
        return Check(name="privacy", result="ok", text="nobody else can read your files")
    if fix:
        tightened = sum(folder.tighten() for folder in _folders(rooms))
        return Check(name="privacy", result="ok", text=f"made {tightened} file(s) private")
    return Check(
        name="privacy",
        result="warning",
        text=f"{len(loose)} file(s) can be read by others, such as {str(loose[0])!r}",
        hint="Run: holdfast doctor --fix",
    )


def _leftovers(rooms: Rooms, *, fix: bool) -> Check:
    found = sum(folder.sweep(dry_run=not fix) for folder in _folders(rooms))
    if not found:
        return Check(name="leftovers", result="ok", text="no half-written files")
    if fix:
        return Check(name="leftovers", result="ok", text=f"removed {found} half-written file(s)")
    return Check(
        name="leftovers",
        result="warning",
        text=f"{found} half-written file(s) of an earlier crash",
        hint="Run: holdfast doctor --fix",
    )


def _sessions(rooms: Rooms) -> Check:
    damaged = rooms.store.quarantined()
    found = rooms.store.summaries()
    sessions = len(found)
    unreadable = [each for each in found if each.problem is not None]
    if unreadable:
        return Check(
            name="sessions",
            result="failed",
            text=f"{unreadable[0].name!r} cannot be read: {unreadable[0].problem}",
        )
    if damaged:
        return Check(
            name="sessions",
            result="warning",
            text=f"{sessions} session(s); damaged bytes were set aside in: {', '.join(damaged)}",
            hint=f"Run: holdfast sessions verify {damaged[0]}",
        )
    return Check(name="sessions", result="ok", text=f"{sessions} session(s), none damaged")


def _memory(rooms: Rooms) -> Check:
    found = rooms.memory.workspace.problems()
    problems = [f"{path} {what}" for path, what in found if "doctor --fix" not in what]
    files = len(rooms.memory.workspace.files())
    if problems:
        more = f"; and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
        return Check(
            name="memory",
            result="warning",
            text="; ".join(problems[:_NAMED]) + more,
            hint="Rename or move them; until then they are left alone and not read.",
        )
    conflicts = len(rooms.memory.facts.conflicts())
    if conflicts:
        return Check(
            name="memory",
            result="warning",
            text=f"{files} file(s); {conflicts} contradiction(s) wait for a decision",
            hint="Run: holdfast conflicts list",
        )
    return Check(name="memory", result="ok", text=f"{files} file(s), nothing contradicts")


def _search(rooms: Rooms) -> Check:
    """Only what is there is looked at: a check-up builds no index."""
    if not _has_index(rooms):
        return Check(name="search", result="ok", text="no index yet; the first search makes one")
    try:
        found = rooms.search.status()
    except HoldfastError as error:
        return Check(name="search", result="failed", text=error.message, hint=error.hint)
    names = ", ".join(each.name for each in found.encoders)
    text = f"{found.chunks} passages; meaning: {names or rooms.search.embedding.missing}"
    problems = [each for each in found.problems if not each.startswith("meaning: ")]
    if problems:
        return Check(
            name="search",
            result="warning",
            text=problems[0],
            hint="Build the index anew: holdfast index rebuild",
        )
    return Check(name="search", result="ok", text=text)


def _model(rooms: Rooms) -> Check:
    """Which model answers when none is named, and why that one. It is not asked anything."""
    choice = rooms.registry.choose()
    passed = "; ".join(
        f"{each.place}: {each.why}" for each in choice.considered if each.model is None
    )
    if choice.model is None:
        return Check(
            name="model",
            result="ok",
            text=f"none; rules do without one ({passed or choice.why})",
            hint="A key in the environment, a server such as Ollama, or "
            "holdfast model get qwen2.5-coder-1.5b",
        )
    try:
        rooms.model(choice.model)
    except HoldfastError as error:
        text = f"{choice.model}, because {choice.why}, but it cannot be had: {error.message}"
        return Check(name="model", result="warning", text=text, hint=error.hint)
    before = f" ({passed})" if passed else ""
    return Check(name="model", result="ok", text=f"{choice.model}, because {choice.why}{before}")


def _audit(rooms: Rooms) -> Check:
    found = rooms.memory.audit.verify()
    if found.intact:
        return Check(name="audit", result="ok", text=f"{found.lines} change(s), the chain holds")
    return Check(
        name="audit",
        result="failed",
        text=f"audit.jsonl was changed: line {found.first_bad} is not what was written",
        hint="Compare it with a backup: holdfast backup verify FILE",
    )


def _time_zone(rooms: Rooms) -> Check:
    zone, day = rooms.settings.memory.time_zone, rooms.today()
    return Check(name="time zone", result="ok", text=f"{zone}; today is {day.isoformat()}")


def _config(rooms: Rooms) -> Check:
    settings = rooms.settings
    own = [name for name, source in settings.sources.items() if source.kind != "default"]
    idle = [name for name in own if name not in IN_EFFECT]
    if idle:
        return Check(
            name="config",
            result="warning",
            text=f"set, but without effect yet: {', '.join(sorted(idle))}",
            hint="They are kept for parts of Holdfast that are still to come.",
        )
    return Check(name="config", result="ok", text=f"{len(own)} setting(s) of your own")
