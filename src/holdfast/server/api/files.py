"""Memory files: read them, edit them, see what changed them, take it back.

Promise: an edit is of the version that was read, or answered with 409 and the one that is there
(``tests/server/test_files.py``).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from holdfast.engine.editing import ChangedMeanwhile
from holdfast.server.failing import Changed
from holdfast.server.places import Here
from holdfast.server.shapes.memory import (
    AddedTo,
    Edited,
    FileList,
    History,
    MemoryFile,
    MemorySource,
    UndoAsked,
    UndoneTold,
    file_list,
    file_of,
    history_of,
    source_of,
    undone_of,
)

__all__ = ["router"]

router = APIRouter(tags=["files"])

Path = Annotated[str, Query(max_length=400, description="Such as MEMORY.md")]


@router.get("/memory/files", summary="The memory files there are")
def list_files(here: Here) -> FileList:
    return file_list(here.engine.editing.files())


@router.get("/memory/file", summary="A memory file, its lines, and where each came from")
def read_file(here: Here, path: Path) -> MemoryFile:
    return file_of(here.engine.editing.read(path))


@router.put("/memory/file", summary="Put a text in the place of the version that was read")
def write_file(here: Here, path: Path, edited: Edited) -> MemoryFile:
    try:
        return file_of(here.engine.editing.write(path, edited.text, edited.version))
    except ChangedMeanwhile as error:
        raise Changed(error.message, version=error.version, hint=error.hint) from error


@router.post("/memory/append", summary="Add lines to a memory file")
def append_to_file(here: Here, added: AddedTo) -> MemoryFile:
    try:
        return file_of(here.engine.editing.append(added.path, added.text, added.version))
    except ChangedMeanwhile as error:
        raise Changed(error.message, version=error.version, hint=error.hint) from error


@router.get("/memory/history", summary="What changed a memory file, or all of them")
def read_history(
    here: Here,
    path: Annotated[str | None, Query(max_length=400, description="None: all of them.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> History:
    return history_of(here.engine.editing.history(path, limit=limit))


@router.post("/memory/undo", summary="Take back the last change of memory, or the one named")
def undo(here: Here, asked: UndoAsked | None = None) -> UndoneTold:
    asked = asked or UndoAsked()
    return undone_of(here.engine.undo(asked.operation, dry_run=asked.dry_run))


@router.get("/memory/source", summary="What a citation leads to")
def read_source(
    here: Here,
    citation: Annotated[str, Query(max_length=600, description="path#L3-L9, or session#entry")],
) -> MemorySource:
    return source_of(here.engine.editing.source(citation))
