"""Free text → memory lines: what ``memory_write`` and ``holdfast remember`` are given.

Promise: nothing of the text is dropped in silence: every paragraph and list item becomes a line,
code and tables keep their form below one, headings stand in front of what follows them; and a
text cannot give itself an id, trust or sources (``tests/memory/test_notes_text.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Final, cast, get_args

from holdfast import markdown
from holdfast.errors import UsageError
from holdfast.markdown import Block
from holdfast.redact import redact
from holdfast.retain import RetainKind, RetainLine, Trust, parse, visible_line
from holdfast.text import cut, strip_hidden

__all__ = ["Note", "lines_of"]

MAX_BYTES: Final = 64 * 1024
MAX_LINE: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A memory that is to be written, as it was said.

    ``text`` may still be what a memory line cannot hold; ``body`` is Markdown to stand below it.
    """

    text: str
    kind: RetainKind = "W"
    entity: str | None = None
    confidence: float | None = None
    sources: tuple[str, ...] = ()
    trust: Trust = "user"
    observed: date | datetime | None = None
    since: date | datetime | None = None
    until: date | datetime | None = None
    user: str | None = None
    chat: str | None = None
    had_hidden: bool = False
    body: str = ""

    @property
    def said(self) -> str:
        """All of it, as its support in a conversation is looked for."""
        dates = (when.isoformat() for when in (self.since, self.until) if when is not None)
        parts = (self.text, self.body, self.entity, *dates)
        return "\n".join(part for part in parts if part)


def lines_of(
    text: str,
    *,
    kind: str | None = None,
    entity: str | None = None,
    confidence: float | None = None,
) -> list[RetainLine | Note]:
    """The memories a text holds, in its order. What a memory line in it says itself comes first.

    Raises:
        UsageError: there is nothing in it, too much, or no such kind or confidence.
    """
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise UsageError(
            f"A memory of more than {MAX_BYTES // 1024} KB is a document.",
            hint="Save it as a file in memory/topics, or remember its main points one by one.",
        )
    model = _model(kind, entity, confidence)
    found = _Reader(model).read(redact(text))  # before a key of many lines is taken apart
    if not found:
        raise UsageError("There is nothing to remember in this text.", hint="Write what it is.")
    return [part for note in found for part in _parted(note)]


def _model(kind: str | None, entity: str | None, confidence: float | None) -> Note:
    """What holds for every line that does not say otherwise; checked as a line would be."""
    if kind is None:
        kind = "O" if confidence is not None else "W"
    if kind not in get_args(RetainKind):
        raise UsageError(f"{kind!r} is no kind of memory.", hint="Use W, B, O or S.")
    is_sure = isinstance(confidence, int | float) and 0 <= confidence <= 1
    if confidence is not None and not (kind == "O" and is_sure):
        raise UsageError(
            f"{confidence!r} is no confidence of a memory of kind {kind}.",
            hint="Only an opinion (O) has one, from 0 to 1.",
        )
    name = visible_line(entity.removeprefix("@")) if entity is not None else None
    return Note(
        text="",
        kind=cast(RetainKind, kind),
        entity=name or None,
        confidence=confidence,
        had_hidden=entity is not None and strip_hidden(entity)[1],
    )


@dataclass(slots=True)
class _Reader:
    model: Note
    notes: list[Note] = field(default_factory=list)
    untold: str = ""  # a heading nothing has followed yet

    def read(self, text: str) -> list[Note]:
        document = markdown.parse(text)
        if document.front_matter is not None:
            self._hang(markdown.fence(document.lines(document.front_matter)), ())
        for block in document.blocks:
            source = document.lines(block.span)
            if block.kind == "heading":
                self._heading(block)
            elif block.kind == "list_item":
                self._item(source, block.headings)
            elif block.kind in _BODIES:
                self._hang(_as_body(block, source), block.headings)
            elif block.kind != "rule":
                self._say(source, block.headings)
        self._tell_heading()
        return self.notes

    def _heading(self, block: Block) -> None:
        above = " › ".join((*block.headings, block.text))
        if not above.startswith(f"{self.untold} › "):
            self._tell_heading()
        self.untold = above

    def _tell_heading(self) -> None:
        if self.untold:
            self._add(replace(self.model, text=self.untold))

    def _item(self, source: str, headings: tuple[str, ...]) -> None:
        own = parse(source.split("\n", 1)[0].rstrip("\r"))
        bullet = _BULLET.match(source)
        inside = markdown.parse(_dedented(source, len(bullet[0]) if bullet else 0))
        said = [inside.lines(b.span) for b in inside.blocks if b.kind not in _BODIES]
        if bullet and (number := bullet[0].strip())[:1].isdigit():
            said = [f"{number} ", *said]  # "1985. A good year." is an item as well
        bodies = [_as_body(b, inside.lines(b.span)) for b in inside.blocks if b.kind in _BODIES]
        if own is not None:
            self._own(own, said)
        elif said:
            self._say(" ".join(said), headings)
        for body in bodies:
            self._hang(body, headings)

    def _own(self, line: RetainLine, said: list[str]) -> None:
        """A memory line: its comment is dropped, for it is only text here."""
        if not all(map(_OURS.fullmatch, self.untold.split(" › "))):
            self._tell_heading()
        self.untold = ""
        more = visible_line("\n".join(said).partition("\n")[2])
        text = f"{line.text} {more}" if more else line.text
        confidence = line.confidence
        if confidence is None and line.kind == "O":
            confidence = self.model.confidence
        self._add(
            replace(
                self.model,
                kind=line.kind,
                text=text,
                entity=line.entity or self.model.entity,
                confidence=confidence,
                had_hidden=self.model.had_hidden or any(strip_hidden(part)[1] for part in said),
            )
        )

    def _say(self, source: str, headings: tuple[str, ...]) -> None:
        prefix = " › ".join(headings)
        text = f"{prefix}: {source}" if prefix else source
        if visible_line(source):
            self._add(replace(self.model, text=text))

    def _hang(self, body: str, headings: tuple[str, ...]) -> None:
        """Put code or a table below the line it follows, or below one made for it."""
        if not self.notes or (self.untold and headings):
            self._add(replace(self.model, text=" › ".join(headings) or _label(body)))
        last = self.notes[-1]
        self.notes[-1] = replace(last, body=f"{last.body}\n\n{body}" if last.body else body)

    def _add(self, note: Note) -> None:
        had_hidden = note.had_hidden or strip_hidden(note.text)[1]
        self.notes.append(replace(note, text=visible_line(note.text), had_hidden=had_hidden))
        self.untold = ""


# Titles that our own files have: whoever copies one does not mean the title.
_OURS: Final = re.compile(r"retain|memory|记忆|\d{4}-\d\d-\d\d|", re.IGNORECASE)
_BODIES: Final = frozenset({"fence", "code", "table", "quote"})
_BULLET: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]{1,4}(?=\S)|[ \t]|$)")


def _dedented(source: str, width: int) -> str:
    """The inside of an item: its first line without the bullet, the others moved to the left."""
    lines = markdown.split_lines(source)
    first, rest = lines[0][width:], lines[1:]
    blanks = (len(line) - len(line.lstrip(" \t")) for line in rest if line.strip())
    left = min(width, min(blanks, default=0))
    return first + "".join(line[left:] if line.strip() else line for line in rest)


def _as_body(block: Block, source: str) -> str:
    if block.kind in ("fence", "code"):
        return markdown.fence(block.text, block.info)
    return source.rstrip("\r\n")


def _label(body: str) -> str:
    if body.startswith("`"):
        return "Code:"
    return "Quote:" if body.lstrip().startswith(">") else "Table:"


# ── long lines ──────────────────────────────────────────────────────────────────────────────

_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s)|[。！？；]")


def _parted(note: Note) -> Iterator[Note]:
    """The note in lines that are not too long, split at the ends of sentences."""
    text = note.text
    while len(text) > MAX_LINE:
        ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, MAX_LINE)]
        blank = text.rfind(" ", MAX_LINE // 2, MAX_LINE)
        at = ends[-1] if ends else blank if blank > 0 else len(cut(text, MAX_LINE))
        if not at:
            break  # one character under a heap of marks: there is no place to split it
        yield replace(note, text=text[:at].strip(), body="")
        text = text[at:].strip()
    yield replace(note, text=text)
