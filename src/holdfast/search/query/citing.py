"""Citations that hold: what a passage cites is there now, in these words.

A file may have been edited since it was indexed. A passage whose words moved is cited where they
stand now; one whose words are gone is not shown, and the search says so.

``content`` gives what stands at a source at present: for a file its whole text, for an entry of
a conversation the text its chunks are cut from; None when it is gone. ``is_fresh`` tells which
documents are known to be as they were indexed, because catching up has just compared them: those
are not read again.

Promise: a citation that is given was found in the present text, or stands in a document that is
fresh (``tests/search/test_pipeline_citing.py``). Blanks, bullets and comments do not count: a
memory line is shown without them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from holdfast.search.query.candidates import Candidate
from holdfast.text import strip_hidden
from holdfast.text.late import late
from holdfast.types import Citation, LineSpan

__all__ = ["Checked", "Content", "Fresh", "Verifier"]

Content: TypeAlias = Callable[[Citation], str | None]
Fresh: TypeAlias = Callable[[str], bool]

_BULLET: Final = late(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_LINE_ENDS: Final = late(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A candidate as it may be cited, or None and what became of it."""

    candidate: Candidate | None
    stale: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A file as it is compared: its lines without bullets and blanks, and where each begins."""

    plain: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> _Text:
        lines = _lines(text)
        starts = []
        at = 0
        for line in lines:
            starts.append(at)
            at += len(line) + 1
        return cls(plain="\n".join(lines), starts=tuple(starts))

    def line_at(self, offset: int) -> int:
        return bisect_right(self.starts, offset)

    def find(self, wanted: str, near: LineSpan) -> LineSpan | None:
        """Where the words stand: at the lines named, else the occurrence next to them."""
        first = self.starts[min(near.start, len(self.starts)) - 1]
        at = self.plain.find(wanted, first)
        before = self.plain.rfind(wanted, 0, first + len(wanted))
        if at < 0 or (before >= 0 and first - before < at - first):
            at = before
        if at < 0:
            return None
        return LineSpan(start=self.line_at(at), end=self.line_at(at + len(wanted) - 1))


@dataclass(slots=True, kw_only=True)
class Verifier:
    """Checks passages against the present; reads each source once."""

    content: Content | None
    is_fresh: Fresh | None = None
    """By the key of a document."""
    _texts: dict[str, _Text | None] = field(default_factory=dict)

    def check(self, candidate: Candidate) -> Checked:
        if self.content is None or (self.is_fresh is not None and self.is_fresh(candidate.key)):
            return Checked(candidate=candidate)
        present = self._present(candidate)
        if present is None:
            return Checked(candidate=None, stale=f"{candidate.key} is gone since it was indexed")
        wanted = "\n".join(_lines(_in_the_file(candidate))).strip("\n")
        near = candidate.span or LineSpan(start=1, end=1)
        if not wanted:
            return Checked(candidate=candidate)
        found = present.find(wanted, near)
        if found is None:
            return Checked(candidate=None, stale=f"{candidate.key} changed since it was indexed")
        if candidate.span is None or found.start == candidate.span.start:
            return Checked(candidate=candidate)
        if candidate.span.start <= found.start <= found.end <= candidate.span.end:
            return Checked(candidate=candidate)
        length = candidate.span.end - candidate.span.start
        moved = LineSpan(start=found.start, end=max(found.end, found.start + length))
        last = len(present.starts)
        moved = LineSpan(start=moved.start, end=max(found.end, min(moved.end, last)))
        return Checked(candidate=replace(candidate, span=moved))

    def _present(self, candidate: Candidate) -> _Text | None:
        assert self.content is not None
        name = candidate.key if candidate.entry is None else str(candidate.citation)
        if name not in self._texts:
            text = self.content(candidate.citation)
            self._texts[name] = None if text is None else _Text.of(text)
        return self._texts[name]


def _in_the_file(candidate: Candidate) -> str:
    """A memory line is shown as ``@Alice: likes tea``; in the file her name may be quoted."""
    if candidate.kind == "fact" and candidate.text.startswith("@"):
        for entity in candidate.entities:
            if candidate.text.startswith(f"@{entity}: "):
                return candidate.text[len(entity) + 3 :]
    return candidate.text


def _lines(text: str) -> list[str]:
    shown = _without_comments(strip_hidden(text)[0])
    return [" ".join(_BULLET.sub("", line, count=1).split()) for line in _LINE_ENDS.split(shown)]


def _without_comments(text: str) -> str:
    """Keeps the line ends of a comment: the lines below keep their numbers."""
    kept = []
    at = 0
    while (opens := text.find("<!--", at)) >= 0 and (closes := text.find("-->", opens + 4)) >= 0:
        kept.append(text[at:opens])
        kept.append("\n" * len(_LINE_ENDS.findall(text, opens, closes)))
        at = closes + 3
    kept.append(text[at:])
    return "".join(kept)
