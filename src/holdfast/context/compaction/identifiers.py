"""Exact strings a summary must not lose: paths, addresses, keys, codes, versions, amounts, names.

Ranked by who used them (a user's own words first), how lately, how often, and what they are:
what names one thing (a code, a path, a phone number) comes before bare numbers and money. Years,
names that are only fields of some tool's output, and the ids of our own notes are left out.

Promise: every pattern is bounded, so the work is linear in the text and of a large text only
the beginning and the end are read; what is found stands in the text letter for letter
(``tests/context/test_compaction_identifiers.py``). Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from holdfast.context.blocks import Group, is_user
from holdfast.text import cut, cut_tail
from holdfast.types import Json, Message, Text, ToolCall, ToolResult

__all__ = ["Identifier", "call_text", "identifiers_in", "required_identifiers", "sample"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """An exact string, what it is, how much it matters, and the entries it stood in."""

    text: str
    kind: str
    score: float
    sources: tuple[str, ...]


# ── what counts ─────────────────────────────────────────────────────────────────────────────

# Runs that can be an identifier at all; anything else, also CJK text, ends one.
_RUN: Final = re.compile(r"https?://[^\s\"'<>`\\()，。；、）]{4,300}|[A-Za-z0-9_./:@%+~-]{3,200}")
_WORTH: Final = re.compile(r"[0-9_/@(]|\w\.\w|[a-z][A-Z]", re.ASCII)

_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_EXTENSIONS: Final = (
    "py|pyi|pyx|ipynb|js|jsx|mjs|ts|tsx|vue|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt"
    "|csv|tsv|log|sql|db|sqlite|parquet|proto|sh|bash|zsh|bat|ps1|c|h|cc|cpp|hpp|rs|go|java|kt|rb"
    "|php|cs|swift|lua|pl|html?|css|scss|xml|svg|png|jpe?g|gif|webp|pdf|docx?|xlsx?|pptx?|zip|gz"
    "|tar|tgz|whl|so|dll|exe|bak|backup|diff|patch|in"
)
_CODE: Final = r"(?=[\w-]{0,80}\d)[A-Z][A-Z0-9]{0,11}(?:-[A-Z0-9]{1,20}){1,5}"
_ID: Final = (  # of small letters only with a part that no word has: order-20251103, gpt-4o
    r"(?![A-Za-z]{1,20}-(?:19|20)\d\ds?$)(?=[\w-]{0,80}(?:\d{3}|[A-Za-z]\d|\d[A-Za-z]))(?=[\w-]{0,80}\d)"
    r"[A-Za-z][A-Za-z0-9]{0,30}(?:-[A-Za-z0-9]{1,40}){1,8}"
)
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"

_FORMS: Final[tuple[tuple[str, float, re.Pattern[str]], ...]] = tuple(
    (kind, weight, re.compile(pattern, re.ASCII))
    for kind, weight, pattern in (
        ("url", 1.0, r"https?://.{4,300}"),
        ("email", 1.2, r"[\w.%+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"),
        ("uuid", 1.0, _UUID),
        (
            "date",
            0.6,
            r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?Z?)?|\d{4}/\d\d?/\d\d?",
        ),
        ("address", 1.0, r"(?:\d{1,3}(?:\.\d{1,3}){3}|[A-Za-z][\w.-]{1,80})(?::\d{2,5})/?"),
        ("address", 0.8, r"\d{1,3}(?:\.\d{1,3}){3}"),
        ("ticket", 1.2, _CODE),
        ("version", 0.7, r"v\d{1,4}(?:\.\d{1,6}){0,3}(?:[-+][\w.]{1,20})?"),
        ("version", 0.7, r"\d{1,4}(?:\.\d{1,6}){2,3}(?:[-+][\w.]{1,20})?"),
        ("hash", 0.8, r"(?=\w{0,63}[a-f])(?=\w{0,63}\d)[0-9a-f]{7,64}"),
        ("code", 1.2, r"(?=\w{0,9}[A-Z])(?=\w{0,9}\d)[A-Z0-9]{4,10}"),
        ("phone", 1.2, r"1[3-9]\d{9}"),
        ("path", 0.8, r"(?:~|\.{1,2})?/[\w.@%+~-]{1,80}(?:/[\w.@%+~-]{1,80}){1,20}/?(?::\d{1,7})?"),
        ("path", 0.8, r"(?:~|\.{1,2})?/[\w.@%+~-]{1,80}\.[A-Za-z]\w{0,7}(?::\d{1,7})?"),
        ("path", 0.8, r"[\w.@+-]{2,80}(?:/[\w.@+-]{2,80}){2,20}(?::\d{1,7})?"),
        ("path", 0.8, r"[\w.@+-]{2,80}/[\w.@+-]{1,80}\.[A-Za-z]\w{0,7}(?::\d{1,7})?"),
        (
            "path",
            0.8,
            rf"[\w-]{{1,80}}(?:\.[\w-]{{1,40}}){{0,3}}\.(?:{_EXTENSIONS})(?::\d{{1,7}})?",
        ),
        ("id", 1.0, _ID),
        ("id", 1.0, r"[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){0,6}_\d{2,12}"),
        ("name", 0.5, r"_{0,2}[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,8}_{0,2}"),
        ("name", 0.4, r"[A-Za-z_]\w{1,40}(?:\.[A-Za-z_]\w{1,40}){1,6}"),
        ("name", 0.4, r"(?:[A-Z][a-z0-9]{1,30}){2,6}|[a-z]{1,30}(?:[A-Z][a-z0-9]{1,30}){1,6}"),
        ("number", 0.1, r"(?!(?:19|20)\d\d$)\d{4,18}"),
    )
)

# A telephone number is one thing, however it is grouped: with its country, its area, or as the
# mobile and fixed numbers of some countries are written.
_PHONE: Final = re.compile(
    r"(?<![\w+.-])(?:\+(?=(?:[ ().-]{0,3}\d){7})\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?"
    r"\d{1,12}(?:[ .-]\d{1,8}){0,4}"
    r"|\(\d{2,4}\)[ .-]?\d{3,4}[ .-]\d{3,4}|\d{3}[.-]\d{3}[.-]\d{4}"
    r"|1[3-9]\d[ -]\d{4}[ -]\d{4}|0\d{2,3}-\d{7,8})(?![\w-])",
    re.ASCII,
)

# Forms of several words: looked for only where people and models speak.
_DATE: Final = (
    r"\d{1,4}年\d{1,2}月(?:\d{1,2}[日号])?|\d{1,2}月\d{1,2}[日号]"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?(?!\d)"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?:,? \d{{4}})?(?![\da-z])"
)
_REFERENCE: Final = r"(?:\bport|端口|\bPR|\bissue|#) ?#?\d{1,7}"
_SPOKEN: Final = re.compile(
    rf"(?P<date>{_DATE})|(?P<reference>{_REFERENCE})|(?P<name>`[\w./:@#$-]{{2,60}}(?:\(\))?`)"
    r"|[$€£¥] ?\d{1,15}(?:,\d{3}){0,4}(?:\.\d{1,4})?"
    r"|(?<![\w.])\d[\d,]{0,12}(?:\.\d{1,6})? ?(?:ms|secs?|seconds?|minutes?|mins?|hours?|hrs?"
    r"|days?"
    r"|weeks?|months?|years?|[kMGT]i?B|KB|%|km|kg|cm|mm|kWh|GHz|MHz|euros?|dollars?|USD|EUR|GBP|CNY"
    r"|RMB|JPY)(?!\w)"
    r"|(?<![\d.])\d[\d,]{0,12}(?:\.\d{1,6})? ?(?:元|块|万|亿|美元|欧元|毫秒|秒|分钟|小时|天|周"
    r"|个月|年|公里"
    r"|千米|公斤|人|次|岁|%)"
    r"|(?<!\d)\d{1,2}:\d\d(?!\d)",
)
_SPOKEN_WEIGHTS: Final = {"date": 0.4, "reference": 0.8, "name": 0.5, None: 0.2}
_YEAR: Final = re.compile(r"(?:19|20)\d\d ?(?:年|years?)?")
_AS_FIELD: Final = re.compile(r"\\?[\"']\s{0,4}:")
_OURS: Final = re.compile(r"(?:;|text:) expand ([\w-]{4,80})")  # an id in a note of ours
_GAP: Final = "\n\n\n"  # in place of what was read: nothing reaches across it
_EDGES_LEFT: Final = ":+%-@"
_EDGES_RIGHT: Final = ".:+%-@,;"
_LONGEST: Final = 160
_LONGEST_WHOLE: Final = 100  # a longer one does not take the place of its part
_ABBREVIATIONS: Final = frozenset({"e.g", "i.e", "and/or", "etc", "n/a", "w/o", "a.m", "p.m"})

_SPEECH_HEAD: Final = 8_000
_SPEECH_TAIL: Final = 4_000
_RESULT_HEAD: Final = 1_500
_RESULT_TAIL: Final = 1_500


def identifiers_in(text: str, *, spoken: bool = True) -> list[tuple[str, str, float]]:
    """The identifiers of one text as (string, kind, weight), in order, each once."""
    return list(_Reader().read(text, spoken).values())


class _Reader:
    """Reads texts; remembers what a run of characters is, and which names were fields."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str, float] | None] = {}
        self.fields: set[str] = set()
        self.ours: set[str] = set()

    def read(self, text: str, spoken: bool) -> dict[str, tuple[str, str, float]]:
        found: dict[str, tuple[str, str, float]] = {}
        if "expand" in text:
            self.ours.update(_OURS.findall(text))
            text = _OURS.sub(_GAP, text)
        for phone in _PHONE.findall(text):
            found.setdefault(phone, (phone, "phone", 1.2))
        if found:
            text = _PHONE.sub(_GAP, text)  # its parts are nothing by themselves
        for run in _RUN.finditer(text):
            known = self._classified(run[0])
            if known is None:
                continue
            if known[1] == "name" and _is_field(text, run):
                self.fields.add(known[0])
            else:
                found.setdefault(known[0], known)
        if spoken:
            _add_spoken(text, found)
        return found

    def _classified(self, run: str) -> tuple[str, str, float] | None:
        if run not in self._known:
            self._known[run] = _classified(run)
        return self._known[run]


def _is_field(text: str, run: re.Match[str]) -> bool:
    """Whether a name stands where JSON has the name of a field."""
    before = text[run.start() - 1 : run.start()]
    return before in ("'", '"') and _AS_FIELD.match(text, run.end()) is not None


def _add_spoken(text: str, found: dict[str, tuple[str, str, float]]) -> None:
    for match in _SPOKEN.finditer(text):
        said = match[0].strip("`").strip()
        if len(said) < 2 or _YEAR.fullmatch(said):
            continue
        if match.lastgroup != "name" or _WORTH.search(said):
            kind, weight = match.lastgroup or "amount", _SPOKEN_WEIGHTS[match.lastgroup]
            found.setdefault(said, (said, kind, weight))


def _classified(run: str) -> tuple[str, str, float] | None:
    if _WORTH.search(run) is None:
        return None
    run = run.lstrip(_EDGES_LEFT).rstrip(_EDGES_RIGHT)
    if not 3 <= len(run) <= _LONGEST or run.lower() in _ABBREVIATIONS:
        return None
    for kind, weight, form in _FORMS:
        if form.fullmatch(run):
            return run, kind, weight
    return None


# ── which of them matter ────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Seen:
    kind: str
    weight: float
    count: int = 0
    by_user: bool = False
    spoken: bool = False
    given: bool = False  # to a tool
    returned: bool = False  # by one
    last: int = 0
    sources: list[str] = field(default_factory=list)


def required_identifiers(
    dropped: Sequence[Group],
    cap: int,
    *,
    visible: Callable[[str], bool] = lambda _: False,
    known: Iterable[tuple[str, tuple[str, ...]]] = (),
) -> tuple[Identifier, ...]:
    """The ``cap`` identifiers of what is dropped that matter most, the most important first.

    ``visible`` says whether a string still stands in what stays: then it is not at risk.
    ``known`` are identifiers an earlier summary carried, with their sources: they count as seen
    once, before everything else.
    """
    seen: dict[str, _Seen] = {}
    reader = _Reader()
    for place, (text, sources) in enumerate(known):
        # In the order in which they stood: what mattered most then fades last.
        weight = 0.9 - min(0.6, 0.01 * place) + max(0.0, 1 - place / 10)
        plain = any(kind in _PLAIN for _, kind, _ in reader.read(text, spoken=True).values())
        seen[text] = _Seen(
            kind="amount" if plain else "carried",
            weight=weight * (0.3 if plain else 1.0),
            count=1,
            sources=[*sources],
        )
    for position, group in enumerate(dropped):
        for block in group.blocks:
            reader.ours.add(block.entry)
            if block.item.kind not in ("summary", "recall"):
                _look(block.message, block.entry, position, reader, seen)
    ranked = sorted(
        (
            Identifier(
                text=text,
                kind=each.kind,
                score=_score(each, len(dropped)),
                sources=tuple(each.sources),
            )
            for text, each in seen.items()
            if _names_something(text, each, reader)
        ),
        key=lambda each: (-each.score, each.text),
    )
    return _first(ranked, cap, visible)


def _names_something(text: str, seen: _Seen, reader: _Reader) -> bool:
    if text in reader.ours or _YEAR.fullmatch(text):
        return False
    if seen.kind == "number":
        return seen.spoken
    if seen.kind == "name" and text in reader.fields:
        return seen.by_user or seen.given or seen.returned
    return True


def _first(
    ranked: Iterable[Identifier], cap: int, visible: Callable[[str], bool]
) -> tuple[Identifier, ...]:
    """The first ones; of two that hold one another the longer, in the place of the first."""
    chosen: list[Identifier] = []
    for each in ranked:
        if len(chosen) >= cap:
            break
        if any(_holds(other, each) for other in chosen) or visible(each.text):
            continue
        parts = [other for other in chosen if _holds(each, other)]
        if parts and len(each.text) <= _LONGEST_WHOLE:
            chosen[chosen.index(parts[0])] = each
            chosen = [other for other in chosen if other not in parts[1:]]
        else:
            chosen.append(each)
    return tuple(chosen)


def _holds(whole: Identifier, part: Identifier) -> bool:
    """Whether one has the other in it as a whole: OPS-12 does not have OPS-1."""
    at = whole.text.find(part.text)
    if at < 0:
        return False
    if part.kind == whole.kind == "hash":
        return at == 0
    before, after = whole.text[at - 1 : at], whole.text[at + len(part.text) :][:1]
    return not (_in_word(before) or _in_word(after))


def _in_word(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _look(
    message: Message, entry: str, position: int, reader: _Reader, seen: dict[str, _Seen]
) -> None:
    by_user = is_user(message)
    for text, spoken, given in _texts(message):
        for string, kind, weight in reader.read(text, spoken).values():
            each = seen.setdefault(string, _Seen(kind=kind, weight=weight))
            each.count += 1
            each.by_user = each.by_user or (by_user and spoken)
            each.spoken = each.spoken or spoken
            each.given = each.given or given
            each.returned = each.returned or not (spoken or given)
            each.last = position
            if entry not in each.sources:
                each.sources = [*each.sources[-2:], entry]


def _texts(message: Message) -> Iterable[tuple[str, bool, bool]]:
    """The texts of a message; whether somebody speaks there, and whether a tool is given it."""
    for part in message.parts:
        if isinstance(part, Text):
            yield sample(part.text, _SPEECH_HEAD, _SPEECH_TAIL), message.role != "tool", False
        elif isinstance(part, ToolCall) and part.name != "expand":
            yield sample(_values(part), _RESULT_HEAD, 500), False, True
        elif isinstance(part, ToolResult):
            yield sample(part.text, _RESULT_HEAD, _RESULT_TAIL), False, False


def _values(call: ToolCall) -> str:
    """What a call was given, without the names of its parameters."""
    if isinstance(call.arguments, str):
        return call_text(call)
    return "\n".join(_flat(call.arguments, 4, keys=False))


_PLAIN: Final = frozenset({"amount", "number"})


def _score(seen: _Seen, length: int) -> float:
    recency = seen.last / max(1, length)
    said = 3.0 * seen.by_user + 1.0 * seen.spoken
    often = 0.7 * math.log2(1 + seen.count)
    if seen.kind in _PLAIN:  # money and counts: many are said, few are asked for again
        return round(0.25 * said + 0.5 * (often + recency) + seen.weight, 4)
    if seen.kind == "name" and not (seen.spoken or seen.given):
        said -= 0.8  # the field names of some tool's output
    return round(said + often + recency + seen.weight, 4)


def sample(text: str, head: int, tail: int) -> str:
    """The text, or of a large one its beginning and its end."""
    if len(text) <= head + tail:
        return text
    return cut(text, head) + "\n" + cut_tail(text, tail)


def call_text(call: ToolCall) -> str:
    """What a call was given, as text; a command stands for itself."""
    arguments = call.arguments
    if isinstance(arguments, str):
        # The escapes of JSON would glue letters to names: \nfoo is not nfoo.
        return arguments.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    return "\n".join(_flat(arguments, 4))


def _flat(value: Json, depth: int, *, keys: bool = True) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and depth:
        for key, inner in value.items():
            for text in _flat(inner, depth - 1, keys=keys):
                yield f"{key}: {text}" if keys else text
    elif isinstance(value, list | tuple) and depth:
        for inner in value[:50]:
            yield from _flat(inner, depth - 1, keys=keys)
    elif value is not None:
        yield str(value)[:200]
