"""Lines → the parts of a summary that fits.

Some room is kept for exact identifiers, the rest goes to the lines that matter most; then the
chosen ones are put in a fixed order. The line of figures carries every dropped entry that no
other line names.

Promise: the summary message costs no more than the plan allows (at least its first line, which
always stands), and the sources of its parts together are every dropped entry
(``tests/context/test_compaction_contract.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from holdfast.context.blocks import Group
from holdfast.context.compaction.facts import Line, history_text
from holdfast.context.compaction.identifiers import (
    Identifier,
    call_text,
    required_identifiers,
)
from holdfast.context.compaction.shapes import (
    CompactionPlan,
    History,
    Kind,
    Previous,
    Price,
    SummaryPart,
    joined,
)
from holdfast.context.compaction.wording import body_of, labelled, lead, pins_text
from holdfast.types import Message, ToolCall

__all__ = [
    "Names",
    "assemble",
    "carried_identifiers",
    "line_limit",
    "message_tokens",
    "names_of",
    "still_visible",
]

_BETWEEN: Final = " · "
_LINES_SHARE: Final = 0.85  # of what the demanded identifiers leave
_NAMES_SHARE: Final = 0.25  # of the cap, for the identifiers that are demanded
_MOST_NAMES: Final = 120
_MOST_REQUIRED: Final = 60
_LABEL: Final = 8  # tokens of a label
_ORDER: Final = {kind: place for place, kind in enumerate(get_args(Kind))}
_LONGEST_IDENTIFIER: Final = 120


def message_tokens(parts: Sequence[SummaryPart], price: Price) -> int:
    """What the summary costs as the message it will be."""
    return price(Message.of("user", joined(parts)))


def line_limit(plan: CompactionPlan) -> int:
    """How long one line may be, in characters, so that a small summary still has several."""
    wide = plan.summary_cap // 2 if plan.language == "en" else plan.summary_cap // 6
    return max(40, min(wide, 320 if plan.language == "en" else 160))


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Identifiers to tell, the most important first; the first ``required`` of them must stay."""

    found: tuple[Identifier, ...] = ()
    required: int = 0

    @property
    def demanded(self) -> tuple[str, ...]:
        return tuple(each.text for each in self.found[: self.required])


def carried_identifiers(previous: Previous | None) -> list[tuple[str, tuple[str, ...]]]:
    """The identifiers the previous summary had saved. That compaction is where they came from."""
    if previous is None:
        return []
    texts = [body_of(part.text) for part in previous.parts if part.kind == "identifiers"]
    named = [each.strip() for text in texts for each in text.split(_BETWEEN.strip())]
    return [(each, (previous.entry,)) for each in named if each]


def still_visible(plan: CompactionPlan, kept: Sequence[Group] = ()) -> Callable[[str], bool]:
    """Whether a string still stands in what stays."""
    texts: list[str] = list(plan.config_pins)
    for group in (*plan.pins, *plan.kept, *kept, *plan.tail):
        for block in group.blocks:
            texts.append(block.message.text)
            texts += [call_text(part) for part in block.message.parts if isinstance(part, ToolCall)]
    whole = "\n".join(texts)
    return lambda string: string in whole


def names_of(
    plan: CompactionPlan, dropped: Sequence[Group], price: Price, kept: Sequence[Group] = ()
) -> Names:
    """The identifiers of what is dropped; as many are required as a share of the cap can hold."""
    found = required_identifiers(
        dropped,
        _MOST_NAMES,
        visible=still_visible(plan, kept),
        known=carried_identifiers(plan.previous),
    )
    usable = tuple(
        each
        for each in found
        if len(each.text) <= _LONGEST_IDENTIFIER and _BETWEEN.strip() not in each.text
    )
    room = int(plan.summary_cap * _NAMES_SHARE) - _LABEL
    required = 0
    for each in usable[:_MOST_REQUIRED]:
        room -= price(each.text) + 2
        if room < 0:
            break
        required += 1
    return Names(found=usable, required=required)


def assemble(
    plan: CompactionPlan,
    lines: Sequence[Line],
    *,
    dropped: Sequence[Group],
    history: History,
    names: Names,
    price: Price,
) -> tuple[SummaryPart, ...]:
    """The parts of the summary of ``dropped``, within the plan's cap."""
    front = _front(plan, history)
    room = plan.summary_cap + plan.pins_cost - message_tokens(front, price)
    figures = Line(
        kind="history", text=history_text(history, dropped, plan.language), sources=(), score=2.0
    )
    ranked = [figures, *sorted(lines, key=lambda line: (-line.score, -line.order))]
    costs = [price(labelled(line.kind, line.text, plan.language)) + 1 for line in ranked]
    reserved = _LABEL + sum(price(text) + 2 for text in names.demanded) if names.required else 0
    chosen: list[int] = []
    left = _choose(range(len(ranked)), costs, chosen, int((room - reserved) * _LINES_SHARE))
    said = "\n".join(ranked[index].text for index in chosen)
    naming = [each for each in names.found if each.text not in said]
    left += room - int((room - reserved) * _LINES_SHARE)
    named, left = _named(naming, price, left)
    _choose([i for i in range(len(ranked)) if i not in set(chosen)], costs, chosen, left)
    return _within(
        plan,
        [ranked[index] for index in sorted(chosen)],
        named,
        least=names.required,
        price=price,
        make=lambda keep, tell: _parts(plan, front, keep, tell, dropped),
    )


def _within(
    plan: CompactionPlan,
    lines: list[Line],
    named: list[Identifier],
    *,
    least: int,
    price: Price,
    make: Callable[[Sequence[Line], Sequence[Identifier]], tuple[SummaryPart, ...]],
) -> tuple[SummaryPart, ...]:
    """The parts; the least important go, should the whole cost more than its lines did."""
    while True:
        parts = make(lines, named)
        if message_tokens(parts, price) <= plan.summary_cap + plan.pins_cost:
            return parts
        if len(named) > least or (named and not lines):
            named = named[:-1]
        elif lines:
            lines = lines[:-1]
        else:
            return parts


def _choose(places: Iterable[int], costs: Sequence[int], chosen: list[int], room: int) -> int:
    for place in places:
        if costs[place] <= room:
            chosen.append(place)
            room -= costs[place]
    return room


def _named(
    identifiers: Sequence[Identifier], price: Price, room: int
) -> tuple[list[Identifier], int]:
    named: list[Identifier] = []
    left = room - _LABEL
    for each in identifiers:
        cost = price(each.text) + 2
        if cost <= left:
            named.append(each)
            left -= cost
    return named, left if named else room


def _front(plan: CompactionPlan, history: History) -> list[SummaryPart]:
    front = [SummaryPart(text=lead(history.messages, plan.language), kind="lead")]
    if plan.config_pins:
        pinned = pins_text(plan.config_pins, plan.language)
        front.append(SummaryPart(text=pinned, kind="pins"))
    return front


def _parts(
    plan: CompactionPlan,
    front: Sequence[SummaryPart],
    lines: Sequence[Line],
    named: Sequence[Identifier],
    dropped: Sequence[Group],
) -> tuple[SummaryPart, ...]:
    ordered = sorted(lines, key=lambda line: (_ORDER[line.kind], line.order))
    parts = [
        SummaryPart(
            text=labelled(line.kind, line.text, plan.language),
            sources=line.sources,
            kind=line.kind,
        )
        for line in ordered
    ]
    if named:
        sources = dict.fromkeys(source for each in named for source in each.sources[-1:])
        text = _BETWEEN.join(each.text for each in named)
        parts.append(
            SummaryPart(
                text=labelled("identifiers", text, plan.language),
                sources=tuple(sources),
                kind="identifiers",
            )
        )
    return _with_the_rest(plan, [*front, *parts], dropped)


def _with_the_rest(
    plan: CompactionPlan, parts: Sequence[SummaryPart], dropped: Sequence[Group]
) -> tuple[SummaryPart, ...]:
    """Every dropped entry is somebody's source: of the figures, else of the first line."""
    named = {source for part in parts for source in part.sources}
    rest = [entry for group in dropped for entry in group.entries if entry not in named]
    if plan.previous is not None and plan.previous.entry not in named:
        rest.insert(0, plan.previous.entry)
    carrier = next((i for i, part in enumerate(parts) if part.kind == "history"), 0)
    return tuple(
        SummaryPart(text=part.text, sources=(*part.sources, *rest), kind=part.kind)
        if index == carrier
        else part
        for index, part in enumerate(parts)
    )
