"""What a search says about itself beside its passages: what was asked, and what is not as asked.

Promise: nothing is said that is not so of the passages shown
(``tests/search/test_pipeline_telling.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from holdfast.search.query.analysis import Analysed
from holdfast.search.query.candidates import Candidate
from holdfast.search.query.meaning import scripts_of
from holdfast.search.query.times import TimeMention
from holdfast.search.query.times_calendar import FIRST_DAY, LAST_DAY
from holdfast.text import one_line
from holdfast.text.tokens import term_hash
from holdfast.types import Json

__all__ = ["NO_WORD", "asked_for", "left_out_undated", "limits_of", "not_then", "only_by_meaning"]

NO_WORD: Final = "words: none of them occurs; shown is what is nearest in meaning"


def asked_for(asked: Analysed) -> dict[str, Json]:
    """What ``explain`` shows of the query."""
    return {
        "parts": [
            {"text": one_line(part.text, 200), "terms": list(part.terms), "shape": part.shape.name}
            for part in asked.parts
        ],
        "speakers": sorted(asked.speakers),
        "times": [
            {"text": time.text, "start": time.start.isoformat(), "end": time.end.isoformat()}
            for time in asked.times
        ],
    }


def left_out_undated(count: int) -> str:
    what = "1 passage without a date was" if count == 1 else f"{count} passages without a date were"
    return f"time: {what} left out"


def limits_of(asked: Analysed) -> list[TimeMention]:
    """The times a query limits itself to, with words such as "since" or "between"."""
    return [one for one in asked.times if one.strength == "constraint" and one.year_known]


def not_then(limits: Sequence[TimeMention]) -> str:
    """Of limits that left nothing."""
    first = max(one.start for one in limits).date()
    last = (min(one.end for one in limits) - timedelta(days=1)).date()
    if first > last:  # "before March and after May": no day is both
        when = "of all of these times"
    elif first <= FIRST_DAY:
        when = f"from {last.isoformat()} or before"
    elif last >= LAST_DAY - timedelta(days=1):
        when = f"from {first.isoformat()} or later"
    elif first == last:
        when = f"from {first.isoformat()}"
    else:
        when = f"from {first.isoformat()} to {last.isoformat()}"
    return f"time: nothing is {when}; shown is what is nearest"


def only_by_meaning(asked: Analysed, shown: Sequence[Candidate]) -> bool:
    """Whether no word of the query stands in what is shown, and it could: a text in another
    script has other words for the same, and a time or a name finds what was said then or by
    whom."""
    if not shown or asked.times or asked.speakers or not all(one.terms for one in shown):
        return False
    sought = {
        term_hash(term)
        for part in asked.parts
        for concept in part.concepts
        for term in (concept.term, *concept.forms, *concept.kin)
    }
    if not sought or any(sought & one.terms for one in shown):
        return False
    return bool(scripts_of(asked.query) & scripts_of(shown[0].text))
