"""Which paths a place's folder has for memory: an allow-list, not a list of what is forbidden.

Promise: a path that ``check_path`` accepts names a Markdown file inside the folder on every
system, however it was spelled by whoever asked; everything else is refused with the reason and
with what a path looks like (``tests/memory/test_paths.py``). Pure: links and strangers' files are
refused where folders are opened, in ``workspace``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from holdfast.errors import PolicyRefused
from holdfast.scope import check_name
from holdfast.text import cut, display

__all__ = ["ARCHIVE", "FOLDERS", "MEMORY_FILES", "TOP_FILES", "check_path", "is_path"]

MEMORY_FILES: Final = ("MEMORY.md", "memory.md")
TOP_FILES: Final = frozenset(
    {*MEMORY_FILES, "AGENTS.md", "USER.md", "SOUL.md", "IDENTITY.md", "identity.md", "README.md"}
)
FOLDERS: Final = ("memory", "bank", "tasks")
ARCHIVE: Final = "archive"

# How many names may follow each folder. A name in front of the last is a folder's.
_DEEPEST: Final = {"memory": 3, "bank": 2, "tasks": 1}
_SUFFIX: Final = ".md"
_LOOKS_LIKE: Final = (
    "A path looks like MEMORY.md, memory/2026-03-04.md, memory/topics/travel.md, "
    "bank/entities/Peter.md, tasks/2026-03-04-visa.md or archive/memory/2026-03-04.md."
)


def check_path(path: str) -> tuple[str, ...]:
    """The components of a path inside a place's folder, each one safe to open by its name.

    Raises:
        PolicyRefused: it is none of the shapes there are, or a name in it is not a name.
    """
    problem, parts = _judged(path)
    if problem:
        shown = display(cut(str(path), 60)) + ("…" if len(str(path)) > 60 else "")
        raise PolicyRefused(f"{shown!r} is no path of memory: {problem}.", hint=_LOOKS_LIKE)
    return parts


def is_path(path: str) -> bool:
    """Whether ``check_path`` accepts it."""
    return not _judged(path)[0]


def _judged(path: str) -> tuple[str, tuple[str, ...]]:
    if not isinstance(path, str):
        return "it is not a string", ()
    return _judged_text(path)


@lru_cache(maxsize=4_096)  # a folder is listed again and again, and its names stay the same
def _judged_text(path: str) -> tuple[str, tuple[str, ...]]:
    parts = tuple(path.split("/"))
    inner = parts[1:] if parts[0] == ARCHIVE else parts
    if not inner or not path:
        return "it names no file", ()
    if len(inner) == 1:
        return ("" if inner[0] in TOP_FILES else _not_at_the_top(inner[0])), parts
    if inner[0] not in _DEEPEST:
        return "its first folder is none of memory, bank, tasks and archive", ()
    return _problem_below(inner), parts


def _not_at_the_top(name: str) -> str:
    if name in FOLDERS or name == ARCHIVE:
        return "it is a folder"
    return "only the files of fixed names stand outside of the folders"


def _problem_below(parts: tuple[str, ...]) -> str:
    top, *folders, name = parts
    if len(folders) >= _DEEPEST[top]:
        return f"{top} has no folders that deep"
    if top == "memory" and folders and folders[0] not in ("topics", "imports"):
        return "the folders in memory are topics and imports"
    if top == "memory" and folders and (len(folders) == 2) != (folders[0] == "imports"):
        return "topics holds files, imports holds one folder for each import"
    if not name.endswith(_SUFFIX):
        return "it does not end with .md"
    for each in (*folders, name[: -len(_SUFFIX)]):
        try:
            check_name(each)
        except PolicyRefused as refused:
            return refused.message.rstrip(".")
    return ""
