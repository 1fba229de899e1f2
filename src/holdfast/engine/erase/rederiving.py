"""What was made of entries, made again after a text was erased from them.

A summary, a shortened view or a memory line can tell what an entry said without repeating it. So
whatever names a changed entry as its source is judged by what is left of its sources: a line
stays if every word of it still stands there; else the rules write it anew, or a mark takes its
place. The hashes by which a flush record covers entries become those of the changed entries, so
that what was saved stays known to be saved, and no fingerprint of the erased text is kept.

Promise: as many entries come out as went in, with the same ids; what names no changed entry is
untouched (``tests/engine/test_erase_rederiving.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from holdfast.context.extract import Heard, extract
from holdfast.context.flush import entry_hash
from holdfast.retain import RetainLine
from holdfast.sessions.shapes import message_of
from holdfast.text import cut, normalise, shorten
from holdfast.text.likeness import terms
from holdfast.types import Citation, Entry, Json, Message, Part, Text, ToolResult

__all__ = ["LineDerivation", "rederived"]

_SAID: Final = frozenset({"message", "marker", "recall"})
_MOST_LINES: Final = 40
_PIECE: Final = 3
"""Characters of a cut word that tell something."""
_LABEL: Final = 24
"""Characters: how long what stands before a colon may be to be a label of ours."""


def rederived(mark: str, before: Sequence[Entry], after: Sequence[Entry]) -> list[Entry]:
    """The entries after an erasure, with what was made of the changed ones made anew."""
    changed = {
        new.id: (old, new)
        for old, new in zip(before, after, strict=True)
        if new is not old and new.type in _SAID
    }
    by_id = {entry.id: entry for entry in after}
    return [_derived(entry, mark, by_id, changed) for entry in after]


_Changed = Mapping[str, tuple[Entry, Entry]]


def _derived(entry: Entry, mark: str, by_id: Mapping[str, Entry], changed: _Changed) -> Entry:
    match entry.type:
        case "compaction":
            data = _compaction(entry.data, mark, by_id, changed)
        case "prune":
            data = _prune(entry.data, mark, changed)
        case "flush":
            data = _flush(entry.data, changed)
        case _:
            return entry
    return entry if data is entry.data else replace(entry, data=data)


# ── flush records ───────────────────────────────────────────────────────────────────────────


def _flush(data: Mapping[str, Json], changed: _Changed) -> Mapping[str, Json]:
    covers, hashes = data.get("covers"), data.get("hashes")
    if (
        not isinstance(covers, list)
        or not isinstance(hashes, list)
        or changed.keys().isdisjoint(each for each in covers if isinstance(each, str))
    ):
        return data
    new = [_hash(*pair, changed) for pair in zip(covers, hashes, strict=False)]
    return {**data, "hashes": [*new, *hashes[len(new) :]]}


def _hash(covered: Json, known: Json, changed: _Changed) -> Json:
    """The new hash of an entry; one that did not cover the old one does not cover the new one."""
    if not isinstance(covered, str) or covered not in changed:
        return known
    old, new = changed[covered]
    return entry_hash(new) if known == entry_hash(old) else "0" * len(str(known))


# ── shortened views ─────────────────────────────────────────────────────────────────────────


def _prune(data: Mapping[str, Json], mark: str, changed: _Changed) -> Mapping[str, Json]:
    shown = data.get("shown")
    if not isinstance(shown, list):
        return data
    new = [_shown(change, mark, changed) for change in shown]
    return (
        data
        if all(one is two for one, two in zip(shown, new, strict=True))
        else {
            **data,
            "shown": new,
        }
    )


def _shown(change: Json, mark: str, changed: _Changed) -> Json:
    """A cut may have left half of the text: the part is shortened anew from what is left of it."""
    if not isinstance(change, Mapping) or change.get("entry") not in changed:
        return change
    old = change.get("text")
    whole = _text_of_part(changed[change["entry"]][1], change.get("part"))
    if not isinstance(old, str) or whole is None:
        return {**change, "text": mark}
    if len(whole) > len(old):
        whole = shorten(whole, len(old) * 2 // 3, len(old) // 4, "\n[…]\n")
    return {**change, "text": whole}


def _text_of_part(entry: Entry, index: Json) -> str | None:
    message = message_of(entry)
    if message is None or not isinstance(index, int) or not 0 <= index < len(message.parts):
        return None
    part: Part = message.parts[index]
    return part.text if isinstance(part, Text | ToolResult) else None


# ── summaries ───────────────────────────────────────────────────────────────────────────────


def _compaction(
    data: Mapping[str, Json], mark: str, by_id: Mapping[str, Entry], changed: _Changed
) -> Mapping[str, Json]:
    parts = data.get("summary")
    if not isinstance(parts, list):
        return data
    new = [_part(part, mark, by_id, changed) for part in parts]
    if all(one is two for one, two in zip(parts, new, strict=True)):
        return data
    title = {"cut_title": ""} if data.get("cut_title") else {}
    return {**data, "summary": new, **title}


def _part(part: Json, mark: str, by_id: Mapping[str, Entry], changed: _Changed) -> Json:
    sources = part.get("sources") if isinstance(part, Mapping) else None
    if not isinstance(sources, list) or changed.keys().isdisjoint(
        each for each in sources if isinstance(each, str)
    ):
        return part
    entries = [by_id[each] for each in sources if isinstance(each, str) and each in by_id]
    text = str(part.get("text", ""))
    return {**part, "text": _summary_of(text, entries, mark) or mark}


def _summary_of(text: str, entries: Sequence[Entry], mark: str) -> str:
    """The lines that still stand on what is left; if none does, what the rules make of it."""
    words = _words_of(entries, mark)
    kept = [line for line in text.splitlines() if not line.strip() or _stands(line, words, mark)]
    if any(line.strip() for line in kept):
        return "\n".join(kept).strip("\n")
    lines = [line.text for line in _extracted(entries) if mark not in line.text]
    return cut("\n".join(f"- {line}" for line in lines), max(len(text), len(mark)))


def _words_of(entries: Sequence[Entry], mark: str) -> set[str]:
    said = (message for entry in entries if (message := message_of(entry)) is not None)
    return {word for message in said for word in terms(_everything(message).replace(mark, " "))}


def _everything(message: Message) -> str:
    calls = (f"{call.name} {call.arguments}" for call in message.tool_calls)
    inner = (part.text for part in message.parts if isinstance(part, Text | ToolResult))
    return "\n".join((message.role, *calls, *inner))


def _stands(line: str, words: set[str], mark: str) -> bool:
    """Whether every word of the line stands in its sources; a label before a colon is ours."""
    said = line.replace(mark, " ")
    for colon in (":", "："):
        label, found, rest = said.partition(colon)
        if found and len(label.strip()) <= _LABEL:
            said = rest
            break
    return set(terms(said)) <= words


def _is_piece(pieces: set[str], words: set[str]) -> bool:
    ends = tuple(pieces)
    return bool(ends) and any(word.startswith(ends) or word.endswith(ends) for word in words)


def _extracted(entries: Sequence[Entry]) -> tuple[RetainLine, ...]:
    heard = [
        Heard(entry=entry.id, at=entry.at, message=message)
        for entry in entries
        if entry.type != "recall" and (message := message_of(entry)) is not None
    ]
    return extract(heard, max_lines=_MOST_LINES).lines if heard else ()


# ── memory lines ────────────────────────────────────────────────────────────────────────────


class LineDerivation:
    """Which lines the sources of a memory line still give. ``read`` gives the entries of a
    session as an erasure leaves them, or None if there is no such session."""

    def __init__(
        self,
        mark: str,
        read: Callable[[str, Collection[str]], Sequence[Entry] | None],
        pairs: Callable[[str], Sequence[tuple[Entry, Entry]]] = lambda session: (),
    ) -> None:
        """``pairs``: every entry of a session before and after the erasure."""
        self._mark = mark
        self._read = read
        self._pairs = pairs
        self._words_in: dict[str, tuple[set[str], set[str]]] = {}
        self._known: dict[tuple[str, ...], tuple[RetainLine, ...]] = {}

    def tells(self, text: str, sources: Sequence[str]) -> bool:
        """Whether it has a word that these sessions have no more, or a piece of one at a cut.

        For what was cut out of the sources and cut off anywhere. What somebody else wrote there
        has words of its own, and stays.
        """
        said = text.replace(self._mark, " ")
        cuts = [found for part in said.split("…") if (found := terms(part))]
        pieces = {each for part in cuts for each in (part[0], part[-1]) if len(each) >= _PIECE}
        for session in {each.partition("#")[0] for each in sources}:
            gone, left = self._words_of_session(session)
            if gone and (not gone.isdisjoint(terms(said)) or _is_piece(pieces - left, gone)):
                return True
        return False

    def _words_of_session(self, session: str) -> tuple[set[str], set[str]]:
        """The words that were said only in what is erased, and those that are left."""
        if session not in self._words_in:
            pairs = self._pairs(session)
            left = _words_of([after for _, after in pairs], self._mark)
            changed = [before for before, after in pairs if before != after]
            self._words_in[session] = _words_of(changed, self._mark) - left, left
        return self._words_in[session]

    def __call__(self, line: RetainLine) -> Sequence[RetainLine]:
        if line.sources not in self._known:
            self._known[line.sources] = self._lines(line.sources)
        found = self._known[line.sources]
        stands = any(normalise(each.text) == normalise(line.text) for each in found)
        if stands or _stands(line.text, self._words(line.sources), self._mark):
            return [line]
        return found

    def _lines(self, sources: tuple[str, ...]) -> tuple[RetainLine, ...]:
        lines: list[RetainLine] = []
        for session, entries in self._entries(sources):
            for line in _extracted(entries):
                if self._mark not in line.text and self._mark not in (line.entity or ""):
                    cited = (Citation(source=session, entry=each) for each in line.sources)
                    lines.append(replace(line, sources=tuple(map(str, cited))))
        return tuple(lines)

    def _words(self, sources: tuple[str, ...]) -> set[str]:
        entries = [each for _, found in self._entries(sources) for each in found]
        return _words_of(entries, self._mark)

    def _entries(self, sources: tuple[str, ...]) -> list[tuple[str, Sequence[Entry]]]:
        wanted: dict[str, set[str]] = {}
        for each in sources:
            session, _, entry = each.rpartition("#")
            wanted.setdefault(session, set()).add(entry)
        found = [(session, self._read(session, ids)) for session, ids in wanted.items()]
        return [(session, entries) for session, entries in found if entries]
