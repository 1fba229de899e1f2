"""What a new conversation starts with: which lines, how much of each source, in which order.

    identity   25 %   who the agent is, written by its owner
    memory     30 %   MEMORY.md
    resume     25 %   open tasks, where the last conversation stopped, what was done already
    log        20 %   yesterday's and today's notes

What a share does not use goes to the others. The order never changes, so that the part that
changes least comes first and a provider's cache keeps it.

Promise: the text is at most ``budget`` tokens, the same bytes for the same sources, every line
of a source behind a mark of quotation; whatever does not fit is named with how to read it; a
line that a tool or an import brought, or that does not hold any more, is not in it
(``tests/context/test_restoring.py``). Linear in what is read. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final, Literal

from holdfast.fencing import Quoted, fence
from holdfast.markdown import split_lines
from holdfast.redact import redact
from holdfast.retain import RetainLine, render
from holdfast.retain.documents import lines as memory_lines
from holdfast.text import cut, strip_hidden
from holdfast.types import LineSpan

__all__ = [
    "SHARES",
    "Cut",
    "Material",
    "Numbered",
    "RestorePlan",
    "Share",
    "one_line_of",
    "plan_restore",
    "presentable",
    "restore_budget",
    "spoken_in",
]

Share = Literal["identity", "memory", "resume", "log"]
SHARES: Final[dict[Share, float]] = {"identity": 0.25, "memory": 0.30, "resume": 0.25, "log": 0.20}

_OF_WINDOW: Final = 0.10
_MOST: Final = 8_000
_EMBEDDED: Final = 1_000
_EMBEDDED_NAMES: Final = ("embedded", "local:")
_LEAST_CUT: Final = 24
"""Characters: less of a line than this says nothing."""
_TRIES: Final = 6
_MARGIN: Final = 0.985
_FULL: Final = 0.95


def restore_budget(window: int, *, configured: int | None, model: str | None) -> int:
    """The most tokens that may be restored."""
    if configured is not None:
        return configured
    is_embedded = model is not None and model.startswith(_EMBEDDED_NAMES)
    return min(int(window * _OF_WINDOW), _EMBEDDED if is_embedded else _MOST)


# ── sources ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A line as it is shown, and which one of its file it is, if it is one of a file."""

    text: str
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Something to restore. ``keep`` says which end of it matters if it must be cut."""

    share: Share
    source: str
    lines: tuple[Numbered, ...]
    label: str = ""
    observed: date | None = None
    keep: Literal["head", "tail"] = "head"
    how_to_read: str | None = None
    """For what is no file: a file is read by its lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A source of which not everything is shown: ``shown`` of ``of`` lines."""

    source: str
    shown: int
    of: int
    how_to_read: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    text: str
    tokens: int
    sources: tuple[str, ...]
    cut: tuple[Cut, ...]


# ── the lines of a memory file ──────────────────────────────────────────────────────────────

_OURS: Final = "<!-- hf"
_SAFE: Final = ("user", "agent")  # compared, not hashed: a comment may hold anything
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_RETAIN: Final = re.compile(r" {0,3}#{1,6}[ \t]+Retain[ \t#]*", re.IGNORECASE)
_CODE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_OPENS_BLOCK: Final = re.compile(r" {0,3}<!--")


def presentable(
    text: str,
    *,
    holds: Callable[[RetainLine], bool],
    barred: Collection[int] = frozenset(),
    day: date | None = None,
) -> tuple[Numbered, ...]:
    """The lines of a memory file that may be restored, as a reader sees them.

    Left out: memory lines that a tool or an import brought, with all that stands below them in
    their item; those for which ``holds`` is false; lines in ``barred``, which are for others;
    what stands in comments; credentials. A memory line is shown with its date, unless that is
    the ``day`` of the file.
    """
    source = [line.rstrip("\r\n") for line in split_lines(text.removeprefix("\ufeff"))]
    shown: dict[int, str] = dict(enumerate(_without_comments(source), 1))
    for number, raw in enumerate(source, 1):
        if number in barred or not _is_safe_comment(raw):
            shown[number] = ""
    for found in memory_lines(text):
        line = found.line
        is_safe = line.trust in _SAFE and _is_safe_comment(source[found.number - 1])
        if is_safe and holds(line):
            if shown[found.number]:
                shown[found.number] = _memory_line(line, day)
        else:
            shown.update(dict.fromkeys(range(found.span.start, found.span.end + 1), ""))
    kept = [Numbered(text=line, number=at) for at, line in sorted(shown.items()) if line.strip()]
    return _redacted(_without_empty_sections(kept))


def _is_safe_comment(line: str) -> bool:
    """Whether every comment of ours on a line can be read, and none says that a tool wrote it."""
    for piece in line.split(_OURS)[1:]:
        try:
            held = json.loads(piece.partition("-->")[0])
        except (ValueError, RecursionError):
            return False
        if not isinstance(held, dict) or held.get("trust", "user") not in _SAFE:
            return False
    return True


def _memory_line(line: RetainLine, day: date | None) -> str:
    bare = RetainLine(
        kind=line.kind, text=line.text, entity=line.entity, confidence=line.confidence
    )
    seen = line.observed or line.since
    observed = seen.date() if isinstance(seen, datetime) else seen
    return render(bare) + (f" ({observed.isoformat()})" if observed and observed != day else "")


def _without_comments(source: Sequence[str]) -> Iterator[str]:
    """The lines without what HTML hides; a comment that is never closed hides what a reader of
    Markdown would not see: the rest, if it begins a line."""
    closes = [at for at, line in enumerate(source) if "-->" in line]
    last = closes[-1] if closes else -1
    inside = False
    for at, line in enumerate(source):
        shown: list[str] = []
        while line:
            if inside:
                _, closed, line = line.partition("-->")
                inside = not closed
                continue
            before, opened, after = line.partition("<!--")
            is_closed = "-->" in after or at < last
            if opened and not is_closed and not _OPENS_BLOCK.match(line):
                before, opened, after = line, "", ""  # only looks like one
            shown.append(before)
            inside, line = bool(opened), after
        yield "".join(shown).rstrip()


def _without_empty_sections(kept: Sequence[Numbered]) -> list[Numbered]:
    """Without headings below which nothing is left, and those of the format itself."""
    result: list[Numbered] = []
    is_code, below = False, 0  # the level of the heading that follows, read from the end
    coded = []
    for line in kept:
        coded.append(is_code)
        is_code ^= _CODE.match(line.text) is not None
    for line, in_code in zip(reversed(kept), reversed(coded), strict=True):
        heading = None if in_code else _HEADING.match(line.text)
        if heading is None:
            below = 7
        elif _RETAIN.fullmatch(line.text) or below <= len(heading[1]):
            continue  # nothing, or a heading that is not inside of it
        else:
            below = len(heading[1])
        result.append(line)
    return result[::-1]


def _redacted(kept: Sequence[Numbered]) -> tuple[Numbered, ...]:
    """All lines at once: a key may stand on several. Where lines went, the numbers go."""
    clean = redact("\n".join(line.text for line in kept)).split("\n")
    if len(clean) == len(kept):
        return tuple(replace(line, text=text) for line, text in zip(kept, clean, strict=True))
    return tuple(Numbered(text=text) for text in clean if text.strip())


# ── how much of each ────────────────────────────────────────────────────────────────────────

_WORDS: Final = {
    "en": {
        "title": "# Restored from earlier conversations",
        "identity": "From the owner's own files: who the assistant is and how it works.",
        "cut": "[… {left} of {all} lines are not shown: {how}]",
    },
    "zh": {
        "title": "# 从以前的对话中恢复",
        "identity": "引自主人自己写的文件：助手是谁，如何工作。",
        "cut": "［… 共 {all} 行，{left} 行未显示：{how}］",
    },
}
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_LATIN: Final = re.compile(r"[A-Za-z]+")


def spoken_in(texts: Iterable[str]) -> str:
    """``zh`` or ``en``: what most of the texts is written in, by their beginnings."""
    sample = "\n".join(cut(text, 500) for text in texts)
    return "zh" if len(_HAN.findall(sample)) > len(_LATIN.findall(sample)) else "en"


def plan_restore(
    materials: Sequence[Material],
    *,
    budget: int,
    price: Callable[[str], int],
    nonce: str,
    language: str,
) -> RestorePlan | None:
    """What is restored of the materials; None if nothing of them fits."""
    spoken = "zh" if language.casefold().startswith("zh") else "en"
    order = list(SHARES)
    wanted = sorted(
        (each for each in materials if each.lines), key=lambda each: order.index(each.share)
    )
    fitting = _Fitting(price=_remembering(price), nonce=nonce, spoken=spoken)
    while wanted:
        if (plan := fitting.best(wanted, budget)) is not None:
            return plan
        fitting.dropped.append(_cut_of(wanted.pop(), ()))
    return None


def _remembering(price: Callable[[str], int]) -> Callable[[str], int]:
    known: dict[str, int] = {}

    def priced(text: str) -> int:
        if text not in known:
            known[text] = price(text)
        return known[text]

    return priced


class _Fitting:
    """One division of a budget."""

    def __init__(self, *, price: Callable[[str], int], nonce: str, spoken: str) -> None:
        self._price = price
        self._nonce = nonce
        self._spoken = spoken
        self.dropped: list[Cut] = []

    def best(self, materials: Sequence[Material], budget: int) -> RestorePlan | None:
        """The fullest plan within the budget: lines together cost other than one by one."""
        best: RestorePlan | None = None
        room = float(budget)
        for _ in range(_TRIES):
            plan = self._plan(materials, room)
            if plan is None:
                break
            if plan.tokens <= budget:
                best = plan if best is None or plan.tokens > best.tokens else best
                if not plan.cut or plan.tokens >= _FULL * budget:
                    break
            room *= _MARGIN * budget / plan.tokens
        return best

    def _plan(self, materials: Sequence[Material], budget: float) -> RestorePlan | None:
        fences = len({_is_owners(each) for each in materials})
        frame = self._price(self._text([])) + fences * self._price(self._empty)
        room = budget - frame
        if room <= 0:
            return None
        shown: list[tuple[Material, Cut | None]] = []
        for material, allowed in zip(materials, self._allotted(materials, room), strict=True):
            shown.append(self._fitted(material, allowed))
        kept = [material for material, _ in shown if material.lines]
        if not kept:
            return None
        text = self._text(kept)
        cuts = [cut for _, cut in shown if cut is not None]
        return RestorePlan(
            text=text,
            tokens=self._price(text),
            sources=tuple(dict.fromkeys(material.source for material in kept)),
            cut=(*cuts, *reversed(self.dropped)),
        )

    def _allotted(self, materials: Sequence[Material], room: float) -> list[float]:
        """What each may cost: its share, evenly, and then what others left."""
        needs = [self._need(each, room) for each in materials]
        groups: dict[Share, list[int]] = {}
        for place, each in enumerate(materials):
            groups.setdefault(each.share, []).append(place)
        wanted = {share: sum(needs[at] for at in places) for share, places in groups.items()}
        given = {share: min(wanted[share], SHARES[share] * room) for share in groups}
        left = room - sum(given.values())
        for share in groups:
            more = min(left, wanted[share] - given[share])
            given[share] += more
            left -= more
        allotted = [0.0] * len(materials)
        for share, places in groups.items():
            for at, allowed in zip(
                places, _evenly([needs[at] for at in places], given[share]), strict=True
            ):
                allotted[at] = allowed
        return allotted

    def _need(self, material: Material, most: float) -> float:
        """What it costs as a whole; of what is longer than everything only that it is."""
        cost = float(self._heading(material))
        for line in material.lines:
            cost += self._line(line.text)
            if cost > most:
                break
        return cost

    def _heading(self, material: Material) -> int:
        return self._price(f"[1] {material.source} · {material.label} · {material.observed}\n")

    def _line(self, text: str) -> int:
        return self._price(f"> {text}\n")

    def _fitted(self, material: Material, allowed: float) -> tuple[Material, Cut | None]:
        """The material as far as it is allowed, and what was cut from it."""
        if self._need(material, allowed) <= allowed:
            return material, None
        note = self._line(self._note(_cut_of(material, ())))
        room = allowed - self._heading(material) - note
        lines = material.lines if material.keep == "head" else material.lines[::-1]
        taken: list[Numbered] = []
        for line in lines:
            cost = self._line(line.text)
            if cost > room:
                break
            room -= cost
            taken.append(line)
        if not taken and (part := self._part(lines[0].text, room)):
            taken.append(replace(lines[0], text=part))
        cut = _cut_of(material, taken)
        if not taken:
            return replace(material, lines=()), cut
        noted = Numbered(text=self._note(cut))
        shown = (*taken, noted) if material.keep == "head" else (noted, *reversed(taken))
        return replace(material, lines=shown), cut

    def _part(self, text: str, room: float) -> str:
        """As much of one long line as fits, by halves."""
        low, high = 0, min(len(text), max(0, int(room) * 12))
        while low < high:
            middle = (low + high + 1) // 2
            if self._line(cut(text, middle) + "…") <= room:
                low = middle
            else:
                high = middle - 1
        return cut(text, low) + "…" if low >= _LEAST_CUT else ""

    def _note(self, cut: Cut) -> str:
        said = _WORDS[self._spoken]["cut"]
        return said.format(left=cut.of - cut.shown, all=cut.of, how=cut.how_to_read)

    def _text(self, materials: Sequence[Material]) -> str:
        owners = [each for each in materials if _is_owners(each)]
        others = [each for each in materials if not _is_owners(each)]
        blocks = [_WORDS[self._spoken]["title"]]
        if owners:
            blocks.append(self._owners(self._fenced(owners)))
        if others:
            blocks.append(self._fenced(others))
        return "\n\n".join(blocks)

    @property
    def _empty(self) -> str:
        """What a fence costs around whatever is in it."""
        return fence([Quoted(text="", citation="")], nonce=self._nonce, language=self._spoken)

    def _fenced(self, materials: Sequence[Material]) -> str:
        quoted = [
            Quoted(
                text="\n".join(line.text for line in each.lines),
                citation=each.source,
                label=each.label,
                observed=each.observed,
            )
            for each in materials
        ]
        return fence(quoted, nonce=self._nonce, language=self._spoken)

    def _owners(self, fenced: str) -> str:
        """The same fence, but what the owner wrote of the agent is meant to be followed."""
        marker, _, rest = fenced.partition("⟧")
        _, _, quoted = rest.partition("\n")
        return f"{marker}⟧ {_WORDS[self._spoken]['identity']}\n{quoted}"


def _is_owners(material: Material) -> bool:
    return material.share == "identity"


def _evenly(needs: Sequence[float], room: float) -> list[float]:
    """The room for several, so that none gets more while another lacks as much."""
    given = [0.0] * len(needs)
    left = len(needs)
    for at in sorted(range(len(needs)), key=lambda at: (needs[at], at)):
        given[at] = min(needs[at], room / left)
        room -= given[at]
        left -= 1
    return given


def _cut_of(material: Material, taken: Sequence[Numbered]) -> Cut:
    """What is missing if only these are shown. A line that was cut counts as not shown."""
    whole = {id(line) for line in taken}
    missing = [line for line in material.lines if id(line) not in whole]
    how = material.how_to_read
    if how is None:
        numbers = [line.number for line in missing if line.number is not None]
        span = LineSpan(start=min(numbers), end=max(numbers)) if numbers else None
        where = f"{material.source}#{span}" if span is not None else material.source
        how = f"memory_get {where}"
    return Cut(
        source=material.source,
        shown=len(material.lines) - len(missing),
        of=len(material.lines),
        how_to_read=how,
    )


def one_line_of(text: str, limit: int) -> str:
    """Any text as one line of a material: visible, without credentials, bounded."""
    plain = " ".join(strip_hidden(redact(cut(text, 4 * limit)))[0].split())
    return plain if len(plain) <= limit else cut(plain, limit - 1) + "…"
