"""Memory files, their lines and their history, as the API tells them.

Promise: what is not text is never sent as text: bytes that are no UTF-8 come as a mark
(``tests/server/test_files.py``).
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from holdfast.engine.editing import FileKind
from holdfast.server.rendering import render
from holdfast.server.shapes.asking import Asked
from holdfast.types import Citation

if TYPE_CHECKING:
    from holdfast.engine.editing import Cited, File, Happened, Line, Listed
    from holdfast.engine.erase import Forgotten
    from holdfast.engine.remembering import Remembered
    from holdfast.memory.forgetting.archive import Archived, Restored
    from holdfast.memory.workspace import Undone

__all__ = [
    "AddedTo",
    "ArchiveList",
    "Edited",
    "FileList",
    "ForgetAsked",
    "ForgottenTold",
    "History",
    "MemoryFile",
    "MemoryLine",
    "MemorySource",
    "RememberAsked",
    "RememberedTold",
    "RestoreAsked",
    "RestoredTold",
    "Source",
    "UndoAsked",
    "UndoneTold",
    "archive_of",
    "file_list",
    "file_of",
    "forgotten_of",
    "history_of",
    "line_of",
    "remembered_of",
    "restored_of",
    "source_of",
    "undone_of",
    "when",
]

Trust = Literal["user", "agent", "tool", "import"]
Kind = Literal["W", "B", "O", "S"]


# ── files ───────────────────────────────────────────────────────────────────────────────────


class ListedFile(BaseModel):
    path: str
    kind: FileKind
    bytes: int
    lines: int
    memories: int = Field(description="Memory lines in it, also those that ended.")
    changed_at: datetime


class FileList(BaseModel):
    """MEMORY.md first, then the days, the newest first, then the others."""

    files: list[ListedFile]


class Source(BaseModel):
    """What a memory stands on: an entry of a conversation, or lines of a file."""

    citation: str
    session: str | None
    entry: str | None
    path: str | None


class MemoryLine(BaseModel):
    """One memory, where it stands, and how far it is to be trusted."""

    number: int
    id: str
    kind: Kind
    text: str
    entity: str | None
    trust: Trust
    confidence: float | None = Field(description="How firmly an opinion is held now.")
    observed: str | None = Field(description="When it was said: a day, or a time with its offset.")
    since: str | None
    until: str | None
    verified: str | None
    holds: bool
    retracted: str | None
    reason: str | None = Field(description="Why it was taken back.")
    sources: list[Source]
    supersedes: list[str]
    superseded_by: str | None


class MemoryFile(BaseModel):
    path: str
    text: str
    html: str
    version: str = Field(description="SHA-256 of the file; an edit names the one it is of.")
    kind: FileKind
    lines: list[MemoryLine]
    locked: str | None = Field(description="Why it cannot be edited as a whole, if so.")


class Edited(Asked):
    text: str = Field(max_length=2_000_000)
    version: str | None = Field(
        description="The version that was read; null: there is no such file yet."
    )


class AddedTo(Asked):
    path: str
    text: str = Field(max_length=2_000_000)
    version: str | None = None


def file_list(found: list[Listed]) -> FileList:
    return FileList(files=[ListedFile(**asdict(each)) for each in found])


def file_of(found: File) -> MemoryFile:
    return MemoryFile(
        path=found.path,
        text=found.text,
        html=render(found.text, is_memory=True),
        version=found.version,
        kind=found.kind,
        lines=[line_of(each) for each in found.lines],
        locked=found.locked,
    )


def line_of(found: Line) -> MemoryLine:
    return MemoryLine(**line_fields(found))


def line_fields(found: Line) -> dict[str, Any]:
    """What every shape of a memory line says."""
    line = found.fact.line
    return {
        "number": found.fact.number,
        "id": found.fact.id,
        "kind": line.kind,
        "text": line.text,
        "entity": line.entity,
        "trust": line.trust,
        "confidence": found.confidence,
        "observed": when(line.observed or found.fact.day),
        "since": when(line.since),
        "until": when(line.until),
        "verified": when(line.verified),
        "holds": found.holds,
        "retracted": when(line.retracted),
        "reason": str(line.extra["reason"]) if line.retracted and "reason" in line.extra else None,
        "sources": [source_named(each) for each in line.sources],
        "supersedes": list(line.supersedes),
        "superseded_by": found.superseded_by,
    }


def source_named(citation: str) -> Source:
    cited = Citation.parse(citation)
    is_entry = cited is not None and cited.entry is not None and not cited.source.endswith(".md")
    return Source(
        citation=citation,
        session=cited.source if cited is not None and is_entry else None,
        entry=cited.entry if cited is not None and is_entry else None,
        path=cited.source if cited is not None and not is_entry else None,
    )


def when(moment: date | datetime | None) -> str | None:
    """A day as a day, a time with its offset."""
    if isinstance(moment, datetime) and moment.tzinfo is None:
        return moment.astimezone().isoformat()
    return None if moment is None else moment.isoformat()


# ── sources ─────────────────────────────────────────────────────────────────────────────────


class MemorySource(BaseModel):
    """What a citation leads to."""

    citation: str
    text: str
    html: str
    trust: Trust | None
    session: str | None
    entry: str | None
    seq: int | None
    path: str | None
    lines: list[int] | None = Field(
        min_length=2, max_length=2, description="The first and the last line."
    )


def source_of(found: Cited) -> MemorySource:
    trusts: dict[str, Trust] = {
        "user": "user",
        "agent": "agent",
        "tool": "tool",
        "import": "import",
    }
    return MemorySource(
        citation=found.citation,
        text=found.text,
        html=render(found.text, is_memory=found.path is not None),
        trust=trusts.get(found.trust or ""),
        session=found.session,
        entry=found.entry,
        seq=found.seq,
        path=found.path,
        lines=None if found.lines is None else [found.lines.start, found.lines.end],
    )


# ── history ─────────────────────────────────────────────────────────────────────────────────


class Change(BaseModel):
    """One step that can be undone."""

    id: str
    at: datetime
    what: str
    paths: list[str]
    about: dict[str, Any] = Field(description="What the step says about itself; differs by step.")
    undoes: str | None
    undone_by: str | None
    can_undo: bool
    diff: str = Field(description="A unified diff.")


class History(BaseModel):
    operations: list[Change]


class UndoAsked(Asked):
    operation: str | None = Field(
        default=None, description="Its id; null: the last one that stands."
    )
    dry_run: bool = False


class UndoneTold(BaseModel):
    operation: str
    what: str
    paths: list[str]
    diff: str
    undo: str | None = Field(description="The id of the undo, to undo it in turn.")


def history_of(found: list[Happened]) -> History:
    return History(
        operations=[
            Change(
                id=each.operation.id,
                at=each.operation.at,
                what=each.operation.what,
                paths=list(each.operation.paths),
                about=dict(each.operation.about),
                undoes=each.operation.undoes,
                undone_by=each.operation.undone_by,
                can_undo=each.can_undo,
                diff=each.diff,
            )
            for each in found
        ]
    )


def undone_of(done: Undone) -> UndoneTold:
    return UndoneTold(
        operation=done.operation,
        what=done.what,
        paths=list(done.paths),
        diff=done.diff.encode("utf-8", "replace").decode(),
        undo=done.undo,
    )


# ── remember and forget ─────────────────────────────────────────────────────────────────────


class RememberAsked(Asked):
    text: str = Field(min_length=1, max_length=100_000)
    kind: Kind | None = None
    entity: str | None = None
    confidence: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    target: str = Field(default="daily", description="daily, memory, or topic:NAME")


class KeptLine(BaseModel):
    id: str
    kind: str
    text: str
    entity: str | None
    confidence: float | None
    trust: str


class RepeatedLine(BaseModel):
    text: str
    kept: str
    why: str
    path: str


class Contradicted(BaseModel):
    id: str
    kind: str
    text: str
    known: str
    path: str


class RememberedTold(BaseModel):
    """Where it stands now, what was there already, what it contradicts."""

    path: str
    added: list[KeptLine]
    skipped: list[RepeatedLine]
    updates: list[str] = Field(description="Ids of older memories that end because of it.")
    conflicts: list[Contradicted]
    operation: str | None
    redirected: str | None = Field(description="Why it went elsewhere than asked, if it did.")


class ForgetAsked(Asked):
    targets: list[str] = Field(
        default=[], max_length=100, description="Ids, or texts that are matched literally."
    )
    ids: list[str] = Field(
        default=[], max_length=100, description="Ids of memories or tasks, never read as texts."
    )
    erase: bool = Field(default=False, description="Erase everywhere, without a way back.")
    dry_run: bool = False

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.targets and not self.ids:
            raise ValueError("name what to forget: ids, or targets")
        return self


class ForgottenItem(BaseModel):
    kind: str
    where: str
    count: int
    text: str
    what: Literal["goes", "marked", "archived", "near"]


class Left(BaseModel):
    path: str
    why: str
    hint: str


class ForgottenTold(BaseModel):
    """What was forgotten, or would be."""

    items: list[ForgottenItem]
    near: list[ForgottenItem]
    erased: bool
    dry_run: bool
    spans: int
    receipt: str | None
    operation: str | None = Field(description="What undo takes back, if lines were archived.")
    remaining: list[Left]


class ArchivedItem(BaseModel):
    id: str
    kind: Literal["line", "task"]
    text: str
    path: str
    number: int | None
    source: str = Field(description="The file it came from.")
    archived: str | None


class ArchiveList(BaseModel):
    items: list[ArchivedItem]


class RestoreAsked(Asked):
    ids: list[str] = Field(min_length=1, max_length=100)


class RestoredTold(BaseModel):
    items: list[ArchivedItem]
    paths: list[str]
    operation: str | None


def remembered_of(done: Remembered) -> RememberedTold:
    return RememberedTold.model_validate(asdict(done))


def forgotten_of(done: Forgotten) -> ForgottenTold:
    return ForgottenTold(
        items=[_forgotten(asdict(each)) for each in done.items],
        near=[_forgotten(asdict(each)) for each in done.near],
        erased=done.is_erased,
        dry_run=done.is_dry_run,
        spans=done.spans,
        receipt=done.receipt,
        operation=done.operation,
        remaining=[Left(**asdict(each)) for each in done.remaining],
    )


def _forgotten(told: dict[str, Any]) -> ForgottenItem:
    return ForgottenItem.model_validate({**told, "text": _sendable(told["text"])})


def archive_of(found: list[Archived]) -> ArchiveList:
    return ArchiveList(items=[_archived(each) for each in found])


def restored_of(done: Restored) -> RestoredTold:
    return RestoredTold(
        items=[_archived(each) for each in done.items],
        paths=list(done.paths),
        operation=done.operation,
    )


def _archived(each: Archived) -> ArchivedItem:
    return ArchivedItem(
        id=each.id,
        kind="task" if each.kind == "task" else "line",
        text=_sendable(each.text),
        path=each.path,
        number=each.number,
        source=each.source,
        archived=each.archived,
    )


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
