"""How values become bytes in the catalogue, and back.

Promise: every string comes back as it was, lone surrogates included; the tokens of a chunk's
postings follow from its stored terms alone, so they can be taken out again whatever became of
the tokenizer (``tests/search/test_index.py``). Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LEVELS",
    "counted",
    "day_of",
    "level_token",
    "names_of",
    "packed_names",
    "place_token",
    "seconds",
    "stored",
    "tokens_of",
    "told",
    "word_token",
    "written",
]

LEVELS: Final = ((2, "x"), (4, "y"))
"""A term that occurs at least so often has a second token: its own and this letter, which is no
digit of a number in base 16. Few levels do, since the best candidates are counted exactly."""

_MOST: Final = 255


def stored(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def told(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def packed_names(names: Sequence[str]) -> bytes | None:
    return json.dumps(list(names), ensure_ascii=False).encode("utf-8", "surrogatepass") or None


def names_of(data: bytes | None) -> tuple[str, ...]:
    if not data or data == b"[]":  # as of nearly every chunk
        return ()
    return tuple(json.loads(data.decode("utf-8", "surrogatepass")))


def written(moment: date | datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def day_of(text: str | None) -> date | datetime | None:
    if text is None:
        return None
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)


def seconds(moment: date | datetime | None) -> float | None:
    """Since 1970 UTC; a day counts from its midnight, and a time without zone as UTC."""
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    elif moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds()


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


# ── terms ───────────────────────────────────────────────────────────────────────────────────


def counted(hashes: Iterable[int]) -> tuple[bytes, bytes, int]:
    """The distinct numbers in ascending order, how often each occurs, and how many in all."""
    counts = Counter(hashes)
    order = sorted(counts)
    values = np.array(order, dtype="<u8")
    often = bytes(min(counts[each], _MOST) for each in order)
    return values.tobytes(), often, counts.total()


def word_token(number: int) -> str:
    return f"{number:x}"


def level_token(number: int, letter: str) -> str:
    return f"{number:x}{letter}"


def place_token(place: int) -> str:
    return f"p{place}"


def tokens_of(values: bytes, often: bytes, place: int) -> str:
    """The tokens of a chunk's postings."""
    numbers: NDArray[np.uint64] = np.frombuffer(values, dtype="<u8")
    tokens = [place_token(place)]
    for number, count in zip(numbers.tolist(), often, strict=True):
        word = f"{number:x}"
        tokens.append(word)
        if count >= 2:
            tokens += [word + letter for least, letter in LEVELS if count >= least]
    return " ".join(tokens)
