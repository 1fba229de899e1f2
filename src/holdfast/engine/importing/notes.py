"""Markdown of elsewhere, copied to ``memory/imports/<source>/``: beside what is known, never in it.

Promise: a copy says what the original says, but for credentials; the same file always becomes the
same copy; a copy that somebody edited here is left alone, and said
(``tests/engine/test_importing.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Final

from holdfast.context.extract import Heard, extract
from holdfast.engine.importing.files import decoded, opened
from holdfast.engine.importing.ledger import FileRecord, Ledger, NoteRecord
from holdfast.engine.importing.runs import RunId
from holdfast.engine.importing.shapes import Done, SourceFile
from holdfast.engine.importing.whereabouts import found_session
from holdfast.engine.rooms import Rooms
from holdfast.errors import NotFound, PolicyRefused, UsageError
from holdfast.memory.workspace import Workspace
from holdfast.redact import redact
from holdfast.retain import render
from holdfast.scope import check_name
from holdfast.sessions.shapes import message_of
from holdfast.text import cut, title_slug
from holdfast.types import Citation, Entry

__all__ = ["copy_notes", "remove_note", "write_memories"]

_LARGEST: Final = 4 << 20
_TOGETHER: Final = 100
"""Files that are one change of memory, and are undone together."""
_READ_ENTRIES: Final = 4_000
_MOST_LINES: Final = 40
_LONGEST_NAME: Final = 52
_DAILY: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:-[\w-]{1,40})?\.md")
_TOP: Final = frozenset({"MEMORY.md", "USER.md", "IDENTITY.md"})


def copy_notes(
    rooms: Rooms,
    ledger: Ledger,
    files: Iterable[SourceFile],
    done: Done,
    *,
    run: RunId,
    merge: bool,
    is_dry: bool,
) -> Iterator[SourceFile]:
    """Copy what is new or changed; each file as it is done with."""
    waiting = list(files)
    workspace = rooms.memory.workspace
    for start in range(0, len(waiting), _TOGETHER):
        batch = waiting[start : start + _TOGETHER]
        if is_dry:
            for file in batch:
                _copy(workspace, ledger, file, done, run="", merge=merge, is_dry=True)
        else:
            id = run.taken()
            with workspace.operation("import", run=id):
                for file in batch:
                    _copy(workspace, ledger, file, done, run=id, merge=merge, is_dry=False)
            ledger.save()
        yield from batch


def _copy(
    workspace: Workspace,
    ledger: Ledger,
    file: SourceFile,
    done: Done,
    *,
    run: str,
    merge: bool,
    is_dry: bool,
) -> None:
    source = file.source or "markdown"
    tally = done.tally(source)
    tally.files += 1
    tally.bytes += file.size
    tally.notes += 1
    try:
        text = _text_of(file)
        beside = _path(ledger, file, source)
        merged = _merged_path(workspace, ledger, file, merge=merge)
        path = merged or beside
        if _put(workspace, ledger, path, file.key, text, done, run=run, is_dry=is_dry):
            tally.new_notes += 1
        if merged is not None and not is_dry:
            _drop_copy(workspace, ledger, beside)
    except (NotFound, UsageError, PolicyRefused) as error:
        done.trouble.add(error.message)
        return
    if not is_dry:
        ledger.note(FileRecord(path=file.key, size=file.size, modified_ns=file.modified_ns))


def _text_of(file: SourceFile) -> str:
    if file.size > _LARGEST:
        raise UsageError(
            f"{file.key} is {file.size:,} bytes; notes of up to {_LARGEST:,} are read."
        )
    for stream in opened(file.path):
        if not stream.can_seek:
            raise UsageError(f"{file.key} is no Markdown: it is packed.")
        text = decoded(stream.stream.read(_LARGEST + 1))
        if text is None:
            raise UsageError(f"{file.key} is not read: it is no text in UTF-8, UTF-16 or GB 18030.")
        return redact(text)
    raise NotFound(f"There is no file {file.key!r}.")


def _put(
    workspace: Workspace,
    ledger: Ledger,
    path: str,
    origin: str,
    text: str,
    done: Done,
    *,
    run: str,
    is_dry: bool,
) -> bool:
    """Whether the copy had to be written."""
    digest = _digest(text)
    known = ledger.notes.get(path)
    there = workspace.read(path)
    if there == text:
        if known is None and not is_dry:
            ledger.note(NoteRecord(note=path, origin=origin, digest=digest, run=run))
        return False
    if known is not None and known.digest == digest:
        return False  # brought in before, and edited or removed here since
    if there is not None and (known is None or known.digest != _digest(there)):
        done.trouble.add(f"{path} was edited here, and is left as it is; new is {origin}")
        return False
    if not is_dry:
        workspace.edit(path, lambda _: text)
        # A copy stays one of the import that made it, as a session does that goes on.
        owner = known.run if known is not None else run
        ledger.note(NoteRecord(note=path, origin=origin, digest=digest, run=owner))
    return True


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _drop_copy(workspace: Workspace, ledger: Ledger, path: str) -> None:
    """What is merged now need not stand beside it as well, unless it was edited there."""
    record = ledger.notes.get(path)
    if record is not None and remove_note(workspace, record):
        ledger.forget("note", [path])


def remove_note(workspace: Workspace, record: NoteRecord) -> bool:
    """Take a copy away, unless it was edited here; whether it is gone."""
    there = workspace.read(record.note)
    if there is None:
        return True
    if _digest(there) != record.digest:
        return False
    workspace.edit(record.note, lambda text: None if text == there else text)
    return True


# ── where to ────────────────────────────────────────────────────────────────────────────────


def _path(ledger: Ledger, file: SourceFile, source: str) -> str:
    """One folder for each import: what was in folders below has their names in its own."""
    root = file.root or file.path.parent
    folder = source if source != "markdown" else cut(title_slug(root.name or "notes"), 40)
    inside = file.path.relative_to(root).with_suffix("")
    plain = "-".join(inside.parts)
    name = plain if _is_name(plain) else "-".join(map(title_slug, inside.parts))
    name = cut(name, _LONGEST_NAME).strip("-.") or "note"
    path = f"memory/imports/{folder}/{name}.md"
    other = ledger.notes.get(path)
    if other is not None and other.origin != file.key:
        return f"memory/imports/{folder}/{name}-{_digest(file.key)[:8]}.md"
    return path


def _is_name(name: str) -> bool:
    try:
        check_name(name)
    except PolicyRefused:
        return False
    return len(name) <= _LONGEST_NAME


def _merged_path(
    workspace: Workspace, ledger: Ledger, file: SourceFile, *, merge: bool
) -> str | None:
    """The same place here as in an OpenClaw workspace, if that is wished and nothing stands
    there, or if it was merged before."""
    if file.source != "openclaw" or file.root is None:
        return None
    inside = file.path.relative_to(file.root)
    path = inside.as_posix()
    is_daily = inside.parts[:-1] == ("memory",) and _DAILY.fullmatch(inside.name) is not None
    if path not in _TOP and not is_daily:
        return None
    known = ledger.notes.get(path)
    is_ours = known is not None and known.origin == file.key
    return path if is_ours or (merge and workspace.read(path) is None) else None


# ── memory lines of conversations ───────────────────────────────────────────────────────────


def write_memories(
    rooms: Rooms, ledger: Ledger, sessions: Iterable[tuple[str, str]], done: Done, *, run: RunId
) -> Iterator[str]:
    """Read sessions by rules, and write what is worth remembering beside the notes.

    ``sessions`` are the names they were given when they were brought in, and their sources: what
    is remembered keeps its place when a session is renamed. Of one that is gone nothing is.
    """
    workspace = rooms.memory.workspace
    for name, source in sessions:
        path = f"memory/imports/{source}/{name}.md"
        text, count = _remembered(rooms, name)
        known = ledger.notes.get(path)
        if count and (known is None or known.digest != _digest(text)):
            id = run.taken()
            with workspace.operation("import", run=id):
                if _put(workspace, ledger, path, name, text, done, run=id, is_dry=False):
                    done.memory_lines += count
            ledger.save()
        yield name


def _remembered(rooms: Rooms, name: str) -> tuple[str, int]:
    """What a session is worth remembering for, and how many lines that is."""
    transcript = found_session(rooms, name)
    try:
        entries = transcript.entries(last=_READ_ENTRIES) if transcript is not None else []
    except NotFound:
        entries = []  # deleted in this moment
    heard = list(_heard(rooms, entries))
    found = extract(heard, max_lines=_MOST_LINES, redact=redact).lines
    if transcript is None or not found:
        return "", 0
    session = transcript.name
    cited = [
        replace(
            line,
            trust="import",
            sources=tuple(str(Citation(source=session, entry=id)) for id in line.sources),
        )
        for line in found
    ]
    day = heard[0].at.date().isoformat()
    lines = "".join(f"{render(each)}\n" for each in cited)
    return f"# {session}\n\n## {day}\n\n{lines}", len(cited)


def _heard(rooms: Rooms, entries: Iterable[Entry]) -> Iterator[Heard]:
    for entry in entries:
        if entry.type == "message":
            message = message_of(rooms.store.whole(entry, strict=False))
            if message is not None:
                yield Heard(entry=entry.id, at=entry.at, message=message)
