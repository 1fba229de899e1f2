"""What is in the memory folders: the files that count, and what is wrong with the rest.

Promise: nothing is opened or followed but our own folders; whatever is not read has a reason in
``problems_in`` (``tests/memory/test_workspace.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.disk import Directory, Found, Seen
from holdfast.errors import NotFound, PolicyRefused
from holdfast.memory.workspace.paths import ARCHIVE, FOLDERS, TOP_FILES, is_path

__all__ = ["files_in", "problems_in", "seen_in"]

_TWINS: Final = {"memory.md": "MEMORY.md", "identity.md": "IDENTITY.md"}
"""Spellings that count only if the other is not there."""


def files_in(base: Directory, *, archive: bool = False) -> list[str]:
    """The paths of the memory files there are, sorted."""
    return sorted(seen_in(base, archive=archive))


def seen_in(base: Directory, *, archive: bool = False) -> dict[str, Seen]:
    """The same, each with what tells whether it was saved again; one look at each folder."""
    return {
        path: found.seen
        for path, found in _entries(base, archive=archive)
        if found.kind == "file" and found.is_mine and is_path(path) and path != "README.md"
    }


def problems_in(base: Directory) -> list[tuple[str, str]]:
    """Each path that is not as it should be, and what is wrong with it."""
    wrong: list[tuple[str, str]] = []
    names: set[str] = set()
    for path, found in _entries(base, archive=True, odd=True):
        names.add(path)
        wrong += [(path, problem) for problem in _problems_of(path, found)]
    for twin, first in _TWINS.items():
        if {twin, first} <= names:
            wrong.append((twin, f"is not read, because there is {first}"))
    return wrong


def _entries(base: Directory, *, archive: bool, odd: bool = False) -> Iterator[tuple[str, Found]]:
    """What is in the memory folders; what cannot be a path of memory only if ``odd``."""
    top = {found.name: found for found in base.found()}
    for name, found in top.items():
        if odd:
            if name in TOP_FILES or name.lower().endswith(".md"):
                yield name, found
        elif name in TOP_FILES and _TWINS.get(name) not in top:
            yield name, found
    for name in (*FOLDERS, *((ARCHIVE,) if archive else ())):
        if name in top:
            yield from _below(base, name, top[name], odd=odd)


def _below(parent: Directory, path: str, found: Found, *, odd: bool) -> Iterator[tuple[str, Found]]:
    if odd or found.kind != "folder":
        yield path, found
    if found.kind != "folder" or not found.is_mine or not _may_hold(path):
        return
    try:
        folder = parent.child(found.name, create=False)
    except (NotFound, PolicyRefused):
        return  # gone, or made a link of, in this moment
    for entry in folder.found():
        yield from _below(folder, f"{path}/{entry.name}", entry, odd=odd)


def _may_hold(path: str) -> bool:
    """Whether there can be paths of memory below this folder."""
    return path == ARCHIVE or is_path(f"{path}/x.md") or is_path(f"{path}/x/x.md")


def _problems_of(path: str, found: Found) -> Iterator[str]:
    if found.kind == "link":
        yield "is a symbolic link, which is not followed"
    elif found.kind == "hard link":
        yield "is a hard link: the same file has another name"
    elif found.kind == "other":
        yield "is neither a file nor a folder"
    elif found.kind == "folder" and not _may_hold(path):
        yield "is not read: memory has no such folder"
    elif found.kind == "file" and not is_path(path) and not found.name.startswith("."):
        yield "is not read: memory does not have such a name"
    if not found.is_mine:
        yield "belongs to another user"
    if found.is_loose:
        yield "can be read by others: holdfast doctor --fix"
