"""What tools changed for somebody: the action, of what, for how much, and how it ended.

Read from the arguments of the call and from its result, never from what was said about it.

Promise: only what the call was given and answered; private fields (birth dates, secrets) are
left out (``tests/context/test_extract_service.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from holdfast.context.extract.commands import arguments_of, changes_something
from holdfast.context.extract.steps import ENDED, WIDEST, Records, Step, first_line
from holdfast.text import cut
from holdfast.types import Json, ToolCall

__all__ = ["changes_of", "customer_of", "hands_on", "known_of", "matters_of"]

_MOST: Final = 6  # of few calls
_WHO: Final = re.compile(
    r"^(?:user|customer|client|member|guest|patient|account)_?(?:id|no|number|code|name)$", re.I
)
_OF: Final = re.compile(r"(?:^|_)(?:id|no|number|code|ref)$|Id$")
_PRIVATE: Final = re.compile(
    r"dob|birth|passw|secret|token|cvv|cvc|ssn|pin$|card_number|api_key|address", re.I
)
_AMOUNT: Final = re.compile(
    r"amount|price|cost|(?:^|_)fee|refund|balance|paid|charge|^total$|total_(?:due|paid)|金额|退款|费用",
    re.I,
)
_PAID: Final = re.compile(r"pay|refund|charge|transaction", re.I)
_NOTHING: Final = frozenset(("", "0", "no", "none", "false", "null", "n/a", "[]"))
_HANDS_ON: Final = re.compile(r"transfer|escalat|handoff|hand_off|human", re.I)
_SUMMARY: Final = re.compile(r"summary|reason|note|message|description|subject", re.I)


def customer_of(steps: Sequence[Step]) -> str:
    """The id of the one whose records are worked on; empty if no call names one."""
    for given in (*map(_arguments, steps), *map(_answered, steps)):
        for key, value in given.items():
            if _WHO.match(key) and isinstance(value, str | int) and 0 < len(str(value)) <= 60:
                return str(value)
    return ""


def changes_of(records: Records, steps: Sequence[Step], entity: str | None = None) -> bool:
    """Adds what was changed, of one thing only how it ended; whether anything was."""
    last: dict[tuple[str, str], tuple[Step, Mapping[str, Json]]] = {}
    known: dict[str, Mapping[str, Json]] = {}  # what was last answered of a thing
    for step in steps:
        matter = _matter(step)
        if changes_something(step.call.name):
            last.pop((step.call.name, matter), None)  # tried again: only how it ended counts
            last[step.call.name, matter] = (step, known.get(matter, {}))
        if matter and (answered := _answered(step)):
            known[matter] = answered
    done = {step.call.name for step, _ in last.values() if step.ok}
    told = [one for one in last.values() if one[0].ok or one[0].call.name not in done]
    for step, before in told[-_MOST - len(steps) // 10 :]:
        whom = entity or _matter(step) or step.call.name
        text = _told(step, whom, before)
        records.add("B", whom, text, sources=step.sources, at=step.heard.at, worth=0.9)
    return any(step.ok for step, _ in told)


def hands_on(call: ToolCall) -> bool:
    """Whether a call gives the case to somebody else."""
    return _HANDS_ON.search(call.name) is not None


def matters_of(steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    """The things that calls were about, by their ids, with where they were first looked up."""
    found: dict[str, tuple[str, ...]] = {}
    for step in steps:
        if matter := _matter(step):
            found.setdefault(matter, step.sources)
    return found


def known_of(records: Records, steps: Sequence[Step], customer: str) -> None:
    """Who the customer is, as the records say."""
    for step in steps:
        answered = _answered(step) if step.ok else {}
        if customer not in map(str, [*_arguments(step).values(), *answered.values()]):
            continue
        name = _name(answered)
        if not name:
            continue
        status = [
            f"{key} {answered[key]}" for key in _STANDING if isinstance(answered.get(key), str)
        ]
        records.add(
            "W", customer, ", ".join([name, *status]),
            sources=step.sources, at=step.heard.at, worth=0.6,
        )  # fmt: skip
        return


_STANDING: Final = ("membership", "tier", "level", "plan", "会员等级")


def _name(answered: Mapping[str, Json]) -> str:
    given = answered.get("name") or answered.get("full_name") or answered.get("姓名")
    if isinstance(given, Mapping):
        return " ".join(str(value) for value in given.values() if isinstance(value, str))
    return given if isinstance(given, str) and len(given) <= 60 else ""


def _arguments(step: Step) -> Mapping[str, Json]:
    return arguments_of(step.call)


def _answered(step: Step) -> Mapping[str, Json]:
    """The result as an object; nothing when it is none."""
    text = step.output.strip()
    if not text.startswith("{") or len(text) > 100_000:
        return {}
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _matter(step: Step) -> str:
    """The id of the thing a call is about."""
    found = [
        str(value)
        for key, value in _arguments(step).items()
        if _OF.search(key) and isinstance(value, str | int) and not _WHO.match(key)
    ]
    return cut(found[0], 60) if found else ""


def _told(step: Step, whom: str, before: Mapping[str, Json]) -> str:
    name = re.sub(r"[_-]+", " ", step.call.name)
    if hands_on(step.call):
        summary = next((v for k, v in _arguments(step).items() if _SUMMARY.search(k) and v), "")
        return f"{name}: {cut(str(summary), 190)}" if summary else name
    given = list(_given(_arguments(step), whom))
    if step.ok:
        ended = cut(", ".join(_news(step, " ".join(given), before)), 90) or "done"
    else:
        ended = f"failed: {first_line(step.output)}"
    room = WIDEST - len(name) - len(ENDED) - len(ended) - 4
    told = ""
    for item in given:
        if len(told) + len(item) + 2 <= room:
            told = f"{told}, {item}" if told else item
    return f"{name}: {told}{ENDED}{ended}" if told else f"{name}{ENDED}{ended}"


def _given(arguments: Mapping[str, Json], whom: str) -> Iterator[str]:
    """The arguments as words; ids first, then what was paid, then the rest."""
    items = [(k, v) for k, v in arguments.items() if not _PRIVATE.search(k)]
    items.sort(key=lambda item: _rank(*item))
    for key, value in items:
        shown = _shown(value)
        if shown and shown != whom and shown.lower() not in _NOTHING:
            yield f"{key} {shown}"


def _rank(key: str, value: Json) -> int:
    if _OF.search(key):
        return 0
    return 1 if _PAID.search(key) or _AMOUNT.search(key) else 3 if isinstance(value, list) else 2


def _shown(value: Json, depth: int = 0) -> str:
    if isinstance(value, str | int | float):
        text = " ".join(str(value).split())
        return text if len(text) <= 120 else ""
    if depth > 2 or value is None:
        return ""
    if isinstance(value, list):
        return " + ".join(filter(None, (_shown(one, depth + 1) for one in value[:6])))
    kept = [_shown(one, depth + 1) for key, one in value.items() if not _PRIVATE.search(key)]
    return " ".join(filter(None, kept[:6]))


def _news(step: Step, told: str, before: Mapping[str, Json]) -> Iterator[str]:
    """What the result says that the call did not, nor an earlier result: ids, amounts, payments."""
    for key, value in list(_answered(step).items())[:60]:
        if before.get(key) == value:
            continue
        if isinstance(value, list):
            if value and _PAID.search(key) and (paid := _last_paid(value, told)):
                yield f"{key.removesuffix('_history')} {paid}"
        elif isinstance(value, str | int | float) and _is_news(key, str(value), told):
            yield f"{key} {cut(str(value), 60)}"


def _is_news(key: str, value: str, told: str) -> bool:
    if _PRIVATE.search(key) or _WHO.match(key) or not (_OF.search(key) or _AMOUNT.search(key)):
        return False
    return value not in told and value.lower() not in (*_NOTHING, "true")


def _last_paid(payments: Sequence[Json], told: str) -> str:
    """The last of these payments, if the call made it: not when it was to be paid otherwise."""
    words = (shown := _shown(payments[-1])).split()
    ours = "payment" not in told or any(word in told for word in words)
    return shown if ours and not all(word in told for word in words) else ""
