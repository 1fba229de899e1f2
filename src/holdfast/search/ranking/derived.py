"""What follows from the rows of a snapshot, worked out once and kept for the next query.

Promise: the same rows give the same arrays; one snapshot's are kept, the last one's
(``tests/search/test_ranking_words.py``, ``test_ranking_stages.py``).
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.search.ranking.rows import Flag, Floats, Form, Rows

__all__ = ["Derived", "derived"]

_SATURATION: Final = {
    Form.DIALOGUE: (0.9, 0.75),
    Form.MESSAGES: (1.2, 0.75),
    Form.NOTES: (1.2, 0.75),
}
"""k1 and b of BM25. In turns of a conversation repetition says little."""
_DOCUMENT_K1: Final = 1.2
_DOCUMENT_B: Final = 0.75
_DAY: Final = 86_400
_NO_DAY: Final = np.int32(-(2**31))
_MOST_SPEAKERS: Final = 16


class Derived:
    """Arrays over all passages, each made when it is first asked for."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._floors: tuple[float, Floats] | None = None
        self._present: dict[int, Floats] = {}

    def is_of(self, rows: Rows) -> bool:
        mine = self._rows
        return mine is rows or (
            mine.length is rows.length
            and mine.document is rows.document
            and mine.form is rows.form
            and mine.flags is rows.flags
            and mine.speaker is rows.speaker
            and mine.at is rows.at
            and mine.zone_seconds == rows.zone_seconds
        )

    # ── lengths ─────────────────────────────────────────────────────────────────────────────

    @cached_property
    def lengths(self) -> Floats:
        return self._rows.length.astype(np.float32)

    @cached_property
    def total(self) -> float:
        """Of all lengths."""
        return float(self.lengths.sum(dtype=np.float64))

    @cached_property
    def _k1(self) -> Floats:
        return np.array([_SATURATION[form][0] for form in Form], np.float32)[self._rows.form]

    @cached_property
    def gains(self) -> Floats:
        """The most that a repeated word can count."""
        return self._k1 + 1

    @cached_property
    def _sloped(self) -> Floats:
        return np.array([_SATURATION[form][1] for form in Form], np.float32)[self._rows.form]

    def floors(self, average: float) -> Floats:
        """What a count is held against, which grows with the length of its passage.

        For readers of the same passages they are the same, query after query.
        """
        known = self._floors
        if known is None or known[0] != average:
            relative = self.lengths * np.float32(1 / average)
            known = average, self._k1 * (1 - self._sloped + self._sloped * relative)
            self._floors = known
        return known[1]

    @cached_property
    def document_floors(self) -> Floats:
        """The same of whole documents; 0 where there is none of that number."""
        long = np.bincount(self._rows.document, weights=self.lengths).astype(np.float32)
        average = max(float(long.sum()) / (int(np.count_nonzero(long)) or 1), 1.0)
        relative = long * np.float32(1 / average)
        floors = np.float32(_DOCUMENT_K1) * (1 - _DOCUMENT_B + _DOCUMENT_B * relative)
        return np.asarray(floors * (long > 0), np.float32)

    # ── forms and scripts ───────────────────────────────────────────────────────────────────

    @cached_property
    def forms(self) -> NDArray[np.int64]:
        """Those that there are."""
        return np.flatnonzero(np.bincount(self._rows.form, minlength=len(Form)))

    @cached_property
    def _dense(self) -> NDArray[np.bool_]:
        return (self._rows.flags & np.uint16(Flag.DENSE)) > 0

    @cached_property
    def _spaced(self) -> NDArray[np.bool_]:
        return ~self._dense

    def foreign(self, *, dense: bool) -> NDArray[np.bool_]:
        """Which passages are written in another script than a question, dense or not."""
        return self._spaced if dense else self._dense

    # ── people and times ────────────────────────────────────────────────────────────────────

    def present(self, speaker: int) -> Floats:
        """1 for the passages of documents in which that speaker says something."""
        if speaker not in self._present:
            document = self._rows.document
            there = np.zeros(int(document.max(initial=0)) + 1, np.float32)
            there[document[self._rows.speaker == speaker]] = 1
            if len(self._present) >= _MOST_SPEAKERS:
                self._present.clear()
            self._present[speaker] = there[document]
        return self._present[speaker]

    @cached_property
    def days(self) -> NDArray[np.int32]:
        """Days since 1970 on the user's clock; far in the past where no time is known."""
        days = np.floor((self._rows.at + self._rows.zone_seconds) / _DAY)
        return np.where(np.isfinite(days), days, _NO_DAY).astype(np.int32)

    @cached_property
    def months(self) -> NDArray[np.int8]:
        """1 to 12; 0 where no time is known."""
        known = self.days != _NO_DAY
        months = np.where(known, self.days, 0).astype("datetime64[D]").astype("datetime64[M]")
        return np.where(known, months.astype(np.int64) % 12 + 1, 0).astype(np.int8)

    @cached_property
    def years(self) -> range:
        """From the first that is known to the last."""
        known = self.days[self.days != _NO_DAY]
        if not len(known):
            return range(0)
        ends = np.array([known.min(), known.max()]).astype("datetime64[D]").astype("datetime64[Y]")
        first, last = (1970 + int(year) for year in ends.astype(np.int64))
        return range(first, last + 1)


_lately: list[Derived] = []


def derived(rows: Rows) -> Derived:
    for known in _lately[-1:]:
        if known.is_of(rows):
            return known
    found = Derived(rows)
    _lately[:] = [found]
    return found
