"""Where other programs keep what they wrote, and which files of a folder may be brought in.

Promise: nothing is opened here but folders; links are not followed; what is passed over (logs of
subagents, instructions for a program, files of other kinds) is counted
(``tests/engine/test_importing_files.py``).
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from holdfast.engine.importing.shapes import SOURCES, Source, SourceFile
from holdfast.errors import NotFound, UsageError, did_you_mean

__all__ = ["Found", "find", "source_named", "usual_places"]

_LOGS: Final[Mapping[Source, tuple[str, ...]]] = {
    "claude-code": ("*.jsonl",),
    "codex": ("rollout-*.jsonl",),
    "openclaw": ("*.jsonl", "*.jsonl.reset.*"),
    "chatgpt": ("*.zip", "conversations*.json"),
    "claude": ("*.zip", "conversations*.json"),
    "openai": ("*.json", "*.jsonl", "*.ndjson", "*.gz"),
    "anthropic": ("*.json", "*.jsonl", "*.ndjson", "*.gz"),
    "markdown": (),
}
_ANY: Final = ("*.json", "*.jsonl", "*.ndjson", "*.jsonl.gz", "*.json.gz", "*.zip")
_NOTES: Final = ("*.md", "*.markdown")
_WITH_NOTES: Final[frozenset[Source]] = frozenset({"openclaw", "markdown"})
_FOR_PROGRAMS: Final = frozenset(
    {"agents.md", "soul.md", "tools.md", "heartbeat.md", "bootstrap.md", "boot.md", "claude.md"}
)
"""Files of an OpenClaw workspace that tell the agent what to do: not what anybody knows."""
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__"})
_SUBAGENTS: Final = "subagents"
_MOST_FILES: Final = 200_000


@dataclass(slots=True, kw_only=True)
class Found:
    """The files of an import, and what was passed over."""

    files: list[SourceFile] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """Folders that could not be looked into."""

    def leave(self, what: str) -> None:
        self.left[what] = self.left.get(what, 0) + 1

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


def source_named(name: str) -> Source | None:
    """The source of that name, however it is spelled."""
    plain = name.casefold().replace("_", "-")
    return next((source for source in SOURCES if source == plain), None)


def usual_places(environ: Mapping[str, str], home: Path) -> dict[Source, list[Path]]:
    """Where programs keep their conversations, as far as there is such a folder."""
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(environ.get("CODEX_HOME") or home / ".codex")
    claw = Path(environ.get("OPENCLAW_STATE_DIR") or home / ".openclaw")
    places: dict[Source, list[Path]] = {
        "claude-code": [claude / "projects"],
        "codex": [codex / "sessions", codex / "archived_sessions"],
        "openclaw": [*_agents(claw / "agents"), claw / "workspace"],
    }
    there = {source: [each for each in paths if each.is_dir()] for source, paths in places.items()}
    return {source: paths for source, paths in there.items() if paths}


def _agents(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [each / "sessions" for each in sorted(folder.iterdir()) if each.is_dir()]


def find(
    source: Source | None, paths: Sequence[Path], *, environ: Mapping[str, str], home: Path
) -> Found:
    """The files that were asked for: those of the paths, or of the usual places of a source."""
    found = Found()
    if not paths:
        paths = usual_places(environ, home).get(source, []) if source else []
        if not paths:
            where = f"of {source} " if source else ""
            raise NotFound(
                f"Nothing {where}is where it usually is.", hint="Name the file or folder to import."
            )
    for path in paths:
        for file in _below(Path(os.path.abspath(path.expanduser())), source, found):  # noqa: PTH100
            found.files.append(file)
            if len(found.files) > _MOST_FILES:
                raise UsageError(f"{str(path)!r} holds more than {_MOST_FILES:,} files.")
    found.files.sort(key=lambda file: (file.modified_ns, file.key))
    return found


def _below(path: Path, source: Source | None, found: Found) -> Iterator[SourceFile]:
    try:
        seen = path.lstat()
    except OSError:
        near = did_you_mean(path.name, SOURCES)
        hint = near or f"Name a file, a folder, or one of: {', '.join(SOURCES)}."
        raise NotFound(f"There is no file or folder {str(path)!r}.", hint=hint) from None
    if stat.S_ISREG(seen.st_mode):
        kind = "markdown" if _fits(path.name, _NOTES) else source
        yield _file(path, kind, seen, root=None)
    elif stat.S_ISDIR(seen.st_mode):
        yield from _in_folder(path, source, found)
    elif stat.S_ISLNK(seen.st_mode):
        target = shlex.quote(os.path.realpath(path))
        raise UsageError(
            f"{str(path)!r} is a link, and links are not followed.",
            hint=f"Name where it leads: holdfast import {f'{source} ' if source else ''}{target}",
        )
    else:
        raise UsageError(f"{str(path)!r} is neither a file nor a folder.")


def _in_folder(root: Path, source: Source | None, found: Found) -> Iterator[SourceFile]:
    def unreadable(error: OSError) -> None:
        found.problems.append(f"{error.filename} cannot be looked into: {error.strerror}.")

    for folder, names, files in os.walk(root, followlinks=False, onerror=unreadable):
        kept = [name for name in names if not name.startswith(".") and name not in _PASSED_OVER]
        names[:] = sorted(kept)
        for name in sorted(files):
            path = Path(folder, name)
            kind = _kind(path, root, source, found)
            if kind is None:
                continue
            try:
                seen = path.lstat()
            except OSError:
                found.leave("files that went away")
                continue
            if not stat.S_ISREG(seen.st_mode):
                found.leave("links, which are not followed")
                continue
            yield _file(path, kind if kind in _LOGS else None, seen, root=root)


def _kind(path: Path, root: Path, source: Source | None, found: Found) -> Source | str | None:
    """What a file in a folder would be brought in as; None if it would not."""
    name = path.name
    if name.startswith("."):
        return None
    if _fits(name, _NOTES) and (source is None or source in _WITH_NOTES):
        if source == "openclaw" and path.parent == root and name.casefold() in _FOR_PROGRAMS:
            found.leave("files that tell an agent what to do")
            return None
        return source or "markdown"
    is_agent = source == "claude-code" and name.startswith("agent-")
    if is_agent or _SUBAGENTS in path.parent.relative_to(root).parts:
        found.leave("logs of subagents")
        return None
    if _fits(name, _LOGS[source] if source is not None else _ANY):
        return source or "any"
    found.leave("files of other kinds")
    return None


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name.casefold(), pattern) for pattern in patterns)


def _file(path: Path, kind: str | None, seen: os.stat_result, *, root: Path | None) -> SourceFile:
    return SourceFile(
        path=path,
        source=source_named(kind) if kind else None,
        size=seen.st_size,
        modified_ns=seen.st_mtime_ns,
        root=root,
    )
