"""Some texts to be found in others, and the mark that takes their place.

Promises are those of ``holdfast.matching``, proven by ``tests/foundation/test_matching.py``. Pure.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from holdfast.errors import UsageError
from holdfast.matching.byteforms import SHORTEST_BASE64, ByteForms, encoded
from holdfast.matching.folding import (
    Folding,
    Span,
    folded_form,
    merged,
    safe_cut,
    with_marks,
)
from holdfast.matching.spelling import OF_BACKSLASHES, SPELLINGS, Spelling
from holdfast.text import normalise
from holdfast.text.likeness import similarity, terms
from holdfast.types import Json

__all__ = ["SHORTEST", "Match"]

SHORTEST: Final = 2
"""Characters of a normal form. One alone stands in every file there is."""

_NEAR: Final = 0.6
_SHORTEST_NUMBER: Final = 4

Keeps: TypeAlias = Callable[[str | None, Json], bool]
"""Whether the value of a key is a word of the format, not something that was said."""


class Match:
    """Some texts to be found, and the mark that takes their place."""

    def __init__(self, texts: Sequence[str], receipt: str, *, ids: Collection[str] = ()) -> None:
        self.receipt = receipt
        self.ids = frozenset(ids)
        """What goes as a whole: lines, tasks and artifacts by their id, ``session#entry``."""
        self.normal = tuple(dict.fromkeys(map(_checked, texts)))
        self._given = tuple(texts)
        self._longest = max(map(len, self.normal), default=0)
        self._byte_forms: ByteForms | None = None
        has_backslash = any("\\" in text for text in self.normal)
        self._spellings = (*SPELLINGS, *OF_BACKSLASHES) if has_backslash else SPELLINGS
        self.mark = self._free_of_texts(
            f"[erased {receipt}]", f"[gone {receipt}]", "[gone]", "[■]", "█"
        )
        self.name_mark = self._free_of_texts(f"erased-{receipt}", f"gone-{receipt}", "gone", "__")

    def also(self, texts: Sequence[str]) -> Match:
        """The same for more texts."""
        return Match((*self._given, *texts), self.receipt, ids=self.ids)

    def _free_of_texts(self, *marks: str) -> str:
        """The first mark in which none of the texts stands: it must not be found again."""
        return next((mark for mark in marks if not self.is_in(mark)), "")

    def is_in(self, text: str) -> bool:
        """Whether any of the texts stands there, in any spelling."""
        return any(self._is_in_folded(folded_form(view)) for _, view in self._views(text))

    def _views(self, text: str) -> Iterator[tuple[Spelling | None, str]]:
        """The text as it stands, and as each spelling reads it that occurs in it."""
        yield None, text
        for spelling in self._spellings:
            if spelling.is_used_in(text):
                yield spelling, spelling.unescaped(text)

    def _is_in_folded(self, folded: str) -> bool:
        return any(text in folded for text in self.normal)

    def spans(self, text: str) -> tuple[Span, ...]:
        """Where they stand, in order, as whole characters of ``text``; none overlap."""
        found: list[Span] = []
        known: dict[str, dict[str, int]] = {}
        for spelling, view in self._views(text):
            folded = folded_form(view)
            counts = {each: folded.count(each) for each in self.normal if each in folded}
            # Where a spelling finds as many as the one it extends, it finds the same ones.
            base = known.get(spelling.extends, known[""]) if spelling is not None else {}
            wanted = [each for each, count in counts.items() if count != base.get(each)]
            found += Folding(text, spelling).spans(wanted) if wanted else ()
            known["" if spelling is None else spelling.name] = counts
        return merged(with_marks(text, span) for span in found)

    def erased(self, text: str) -> tuple[str, int]:
        """The text with the mark in place of each span, and how many there were."""
        return self._erased(text, self.mark)

    def erased_name(self, name: str) -> tuple[str, int]:
        """The same for a name of a file: the mark is one that a name can hold."""
        return self._erased(name, self.name_mark)

    def _erased(self, text: str, mark: str) -> tuple[str, int]:
        count = 0
        for _ in range(4):  # a mark and its neighbours may spell the text once more
            if not (spans := self.spans(text)):
                return text, count
            count += len(spans)
            kept = [text[one.end : two.start] for one, two in _gaps(spans, len(text))]
            text = mark.join(kept)
        return (mark, count) if self.is_in(text) else (text, count)

    def is_near(self, text: str) -> bool:
        """Whether it reads like one of the texts without holding it: to be shown, not touched."""
        if self.is_in(text):
            return False
        there = set(terms(text))
        for given in self._given:
            wanted = set(terms(given))
            if len(wanted) > 1 and len(wanted & there) >= 0.8 * len(wanted):
                return True
            if there and similarity(text, given) >= _NEAR:
                return True
        return False

    # ── JSON ────────────────────────────────────────────────────────────────────────────────

    def erased_json(
        self, value: Json, *, keeps: Keeps = lambda key, value: False
    ) -> tuple[Json, int]:
        """The value with every string, key and number that holds a text changed."""
        return self._erased_value(None, value, keeps)

    def is_in_json(self, value: Json, *, keeps: Keeps = lambda key, value: False) -> bool:
        """Whether ``erased_json`` would change anything; much cheaper."""
        return self._is_in_value(None, value, keeps)

    def _is_in_value(self, key: str | None, value: Json, keeps: Keeps) -> bool:
        if isinstance(value, dict):
            return any(
                (not keeps(None, name) and self._is_in_string(name))
                or self._is_in_value(name, inner, keeps)
                for name, inner in value.items()
            )
        if isinstance(value, list | tuple):
            return any(self._is_in_value(key, each, keeps) for each in value)
        if isinstance(value, str):
            return not keeps(key, value) and self._is_in_string(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and not keeps(key, value) and self._is_number(str(value))

    def _is_in_string(self, text: str) -> bool:
        return self.is_in(text) or self._is_in_base64(text)

    def _is_in_base64(self, text: str) -> bool:
        return len(text) >= SHORTEST_BASE64 and self._bytes.is_in_base64(encoded(text))

    def _erased_value(self, key: str | None, value: Json, keeps: Keeps) -> tuple[Json, int]:
        if isinstance(value, dict):
            return self._erased_object(value, keeps)
        if isinstance(value, list | tuple):
            changed = [self._erased_value(key, each, keeps) for each in value]
            return [each for each, _ in changed], sum(count for _, count in changed)
        if isinstance(value, str):
            return (value, 0) if keeps(key, value) else self.erased_string(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and not keeps(key, value) and self._is_number(str(value)):
            return self.mark, 1
        return value, 0

    def _erased_object(self, value: dict[str, Json], keeps: Keeps) -> tuple[Json, int]:
        total = 0
        changed: dict[str, Json] = {}
        for key, inner in value.items():
            new_key, count = (key, 0) if keeps(None, key) else self.erased_string(key)
            while new_key != key and (new_key in changed or new_key in value):
                new_key += "'"
            new, inside = self._erased_value(key, inner, keeps)
            changed[new_key] = new
            total += count + inside
        return (changed if total else value), total

    def _is_number(self, written: str) -> bool:
        return any(len(text) >= _SHORTEST_NUMBER and text in written for text in self.normal)

    def erased_string(self, text: str) -> tuple[str, int]:
        """Like ``erased``; if it still holds a text as base64, the mark takes all its place."""
        text, count = self.erased(text)
        return (self.mark, count + 1) if self._is_in_base64(text) else (text, count)

    # ── bytes ───────────────────────────────────────────────────────────────────────────────

    @property
    def _bytes(self) -> ByteForms:
        if self._byte_forms is None:
            self._byte_forms = ByteForms(self._given)
        return self._byte_forms

    def is_in_bytes(self, data: bytes) -> bool:
        """Whether they hold a text: as UTF-8, UTF-16, base64, or escaped in any of the ways."""
        return self.is_in_blocks([data])

    def is_in_blocks(self, blocks: Iterable[bytes]) -> bool:
        """The same for the blocks of a stream, wherever it is cut."""
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        carried: dict[str, str] = {}
        tail, held = b"", ""
        for block in blocks:
            if self._bytes.is_in(tail + block):
                return True
            tail = (tail + block)[-self._bytes.held_back :]
            held += decoder.decode(block)
            cut = safe_cut(held)
            if self._is_in_next(held[:cut], carried):
                return True
            held = held[cut:]
        return self._is_in_next(held + decoder.decode(b"", final=True), carried)

    def _is_in_next(self, text: str, carried: dict[str, str]) -> bool:
        """Whether a text stands in what was carried over and this; carries over its end."""
        if not text:
            return False
        plain = carried.get("", "")
        folded = folded_form(text)
        found = self._carry("", plain, folded, carried)
        for spelling in self._spellings:
            name, is_spelt = spelling.name, spelling.is_used_in(text)
            if is_spelt or name in carried:
                now = folded_form(spelling.unescaped(text)) if is_spelt else folded
                found = self._carry(name, carried.get(name, plain), now, carried) or found
        return found

    def _carry(self, name: str, before: str, now: str, carried: dict[str, str]) -> bool:
        now = before + (now.lstrip(" ") if before.endswith(" ") else now)
        carried[name] = now[-self._longest :]
        return self._is_in_folded(now)


def _checked(text: str) -> str:
    normal = normalise(text)
    if len(normal) < SHORTEST:
        raise UsageError(
            f"{text!r} is too short to be erased: it stands nearly everywhere.",
            hint=f"Give at least {SHORTEST} characters that can be seen.",
        )
    return normal


def _gaps(spans: Sequence[Span], end: int) -> Iterator[tuple[Span, Span]]:
    """Each pair of neighbours between which text is kept, both ends of the text included."""
    return zip((Span(0, 0), *spans), (*spans, Span(end, end)), strict=True)
