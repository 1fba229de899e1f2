"""Memories of service: what a customer wanted, what was done, what was refused, what is open.

An agent that looks up orders and bookings speaks much and tells little: offers, confirmations
and courtesy are over with the call. What remains of a case is the request, the customer's id and
limits, every change with its ids and amounts, and every refusal with its reason. Words are taken
from what the customer said and from what tools were given and answered.

Promise: a case leaves a handful of lines, whatever its length; a chat of people, or with an
assistant that looks up nobody's records, is none (``tests/context/test_extract_service.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from holdfast.context.extract.asking import (
    CODE,
    bare_of,
    compared,
    distinct,
    is_consent,
    is_exact,
    request_in,
    sentences_of,
    special_words,
)
from holdfast.context.extract.changes import (
    changes_of,
    customer_of,
    hands_on,
    known_of,
    matters_of,
)
from holdfast.context.extract.commands import arguments_of, builds
from holdfast.context.extract.heard import UNNAMED, Exchange, Turn, is_chinese
from holdfast.context.extract.packing import Piece
from holdfast.context.extract.steps import ENDED, Records, Step, steps_of
from holdfast.importance import asks_to_remember, is_constraint, is_correction
from holdfast.text import cut

__all__ = ["service_pieces", "stretches"]

_MOST: Final = 10  # lines of a short case
_REQUESTS: Final = 5  # on one line
_LIMITS: Final = 3
_REFUSALS: Final = 2
_LINE: Final = 200


# ── which part of a conversation ────────────────────────────────────────────────────────────

_HELLO: Final = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|bonjour|hola)(?![a-z])"
    r"|你好|您好|喂|请问",
    re.IGNORECASE,
)


def _cases(parts: Sequence[Exchange]) -> list[list[Exchange]]:
    """The conversation in cases: a greeting, another customer or work on files begins one."""
    found: list[list[Exchange]] = []
    whom = ""
    for part in parts:
        opens = part.turns and part.turns[0].role == "user" and _HELLO.match(part.turns[0].text)
        named = "" if _builds(part) else customer_of(steps_of(part.heard))
        another = bool(whom and named and whom != named)
        if not found or opens or another or _builds(part) or _ended(found[-1][-1]):
            found.append([])
            whom = ""
        whom = whom or named
        found[-1].append(part)
    return found


def _ended(part: Exchange) -> bool:
    """Whether the next exchange is another case: after work on files, or when handed on."""
    return _builds(part) or any(hands_on(c) for one in part.heard for c in one.message.tool_calls)


def _builds(part: Exchange) -> bool:
    calls = (call for one in part.heard for call in one.message.tool_calls)
    return part.is_run and any(map(builds, calls))


_RECORD_KEY: Final = re.compile(
    r"(?:user|customer|client|member|guest|patient|passenger|account|order|booking|reservation"
    r"|ticket|case|invoice|policy|subscription|shipment|contract|appointment|membership|loan)"
    r"_?(?:id|ids|no|num|number|code|ref|reference)$",
    re.IGNORECASE,
)
_ASKS_WHO: Final = re.compile(
    r"\b(?:provide|share|confirm|tell|need|have|give)\b[^.?!\n]{0,80}"
    r"\b(?:user|customer|account|order|reservation|booking|confirmation|membership|ticket|policy)"
    r" (?:id|number|code|reference)"
    r"|(?:提供|告诉|告知|报一下|确认|需要)[^。？?\n]{0,24}"
    r"(?:订单号|订单编号|会员号|会员卡号|账号|账户|客户号|预订号|预约号|手机号|工单号|单号|身份证)",
    re.IGNORECASE,
)


_NEAR: Final = 8  # exchanges between two looks into records that belong to one matter
_AROUND: Final = 4  # exchanges before the first and after the last


def stretches(parts: Sequence[Exchange]) -> list[tuple[bool, list[Exchange]]]:
    """The conversation in stretches of service (True) and of anything else.

    A case is service around where somebody's records are looked up or asked for, so that a long
    talk in which one order is looked up stays a talk. A short case in which nothing was looked
    up yet is service among cases that are.
    """
    found = [stretch for case in _cases(parts) for stretch in _stretches(case)]
    return [
        (serves or (_is_short(stretch) and _among(found, number)), stretch)
        for number, (serves, stretch) in enumerate(found)
    ]


def _is_short(stretch: Sequence[Exchange]) -> bool:
    return len(stretch) <= _NEAR and _unnamed(stretch) and not any(part.is_run for part in stretch)


def _among(found: Sequence[tuple[bool, list[Exchange]]], number: int) -> bool:
    return any(serves for serves, _ in found[max(0, number - 1) : number + 2])


def _stretches(case: list[Exchange]) -> list[tuple[bool, list[Exchange]]]:
    """One case, parted where records are near and where they are not."""
    serves = [False] * len(case)
    last = -_NEAR - 1
    for place in range(len(case)) if _unnamed(case) else ():
        if not _looks_up(case[place]):
            continue
        start = last if place - last <= _NEAR else place - _AROUND
        for near in range(max(0, start), min(len(case), place + _AROUND + 1)):
            serves[near] = True
        last = place
    found = [(serves, [part for part, _ in of]) for serves, of in _runs(case, serves)]
    if any(serves for serves, _ in found) and all(s or len(of) <= _NEAR for s, of in found):
        return [(True, case)]  # the little talk between is about the matter
    return found


def _runs(
    case: Sequence[Exchange], serves: Sequence[bool]
) -> Iterator[tuple[bool, Iterator[tuple[Exchange, bool]]]]:
    return groupby(zip(case, serves, strict=True), key=lambda pair: pair[1])


def _looks_up(part: Exchange) -> bool:
    """Whether records of a customer are looked up or asked for."""
    if _builds(part):
        return False
    calls = [call for one in part.heard for call in one.message.tool_calls]
    if any(_RECORD_KEY.search(key) for call in calls for key in arguments_of(call)):
        return True
    return any(t.role != "user" and _ASKS_WHO.search(t.text[:2_000]) for t in part.turns)


def _unnamed(case: Sequence[Exchange]) -> bool:
    """Whether nobody in a case is known by name: people who are talk with each other."""
    return all(turn.speaker in UNNAMED for part in case for turn in part.turns)


# ── what is remembered of it ────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """The labels of a language."""

    customer: str
    asked: str
    refused: str
    nothing: str
    join: str


_ENGLISH: Final = _Words(
    customer="customer", asked="asked: ", refused="refused: ", nothing="nothing changed", join="; "
)
_CHINESE: Final = _Words(
    customer="客户", asked="提出：", refused="拒绝：", nothing="未做变更", join="；"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What was said by whom, and done for whom."""

    customer: str
    said: Sequence[tuple[Turn, str]]
    steps: Sequence[Step]
    words: _Words

    @property
    def asked(self) -> list[tuple[Turn, str]]:
        return [(turn, sentence) for turn, sentence in self.said if turn.role == "user"]


def service_pieces(case: Sequence[Exchange], place: int) -> list[Piece]:
    """The memories of one case, the weightiest first."""
    turns = [turn for part in case for turn in part.turns]
    steps = steps_of([one for part in case for one in part.heard])
    spoken = " ".join(turn.text[:200] for turn in turns[:20] if turn.role == "user")
    words = _CHINESE if is_chinese(spoken) else _ENGLISH
    one = _Case(
        customer=customer_of(steps) or words.customer,
        said=[(turn, sentence) for turn in turns for sentence in sentences_of(turn.text)],
        steps=steps,
        words=words,
    )
    records = Records(place=place, most=_MOST + len(case) // 4)
    _ruled(records, one)
    changed = changes_of(records, steps, one.customer)
    _requests(records, one, changed=changed)
    _refused(records, one)
    _limits(records, one)
    known_of(records, steps, one.customer)
    return records.pieces


def _requests(records: Records, case: _Case, *, changed: bool) -> None:
    """The requests of the case, several on a line; and that nothing came of them, if so."""
    found = [(turn, text) for turn, sentence in case.asked if (text := request_in(sentence))]
    kept = distinct(found, _REQUESTS + len(case.asked) // 8)
    ended = "" if changed or not case.steps else f"{ENDED}{case.words.nothing}"
    lines: list[list[tuple[Turn, str]]] = []
    for turn, text in kept:
        if lines and len(case.words.join.join([*(t for _, t in lines[-1]), text])) <= _LINE:
            lines[-1].append((turn, text))
        elif not lines or len(kept) > _REQUESTS:
            lines.append([(turn, text)])
    for line in lines:
        text = case.words.asked + case.words.join.join(text for _, text in line)
        records.add(
            "S", case.customer, cut(text, _LINE) + ended,
            sources=[turn.entry for turn, _ in line], at=line[0][0].at, trust="user", worth=0.95,
        )  # fmt: skip


def _ruled(records: Records, case: _Case) -> None:
    """What the customer asked to remember, ruled or corrected: as it was said."""
    for turn, sentence in case.asked:
        if not (asks_to_remember(sentence) or is_constraint(sentence) or is_correction(sentence)):
            continue
        if special_words(sentence) >= 2 and not _is_told(records, sentence):
            records.add(
                "W", case.customer, sentence.rstrip(".。"),
                sources=(turn.entry,), at=turn.at, trust="user", worth=1.0, must=True,
            )  # fmt: skip


_LIMIT: Final = re.compile(
    r"\b(?:prefer|don't want|do not want|won't be able|no more than|up to|at most|under \$"
    r"|budget|willing|avoid|only if|as long as|unless|rather than|allergic|wheelchair|vegetarian)\b"
    r"|预算|最多|不超过|至少|不想|不要|只(?:要|能|接受)|过敏|宁愿|尽量|除非|之前|以内|以后",
    re.IGNORECASE,
)
_VAGUE: Final = re.compile(
    r"\b(?:that|those|these) (?:time|option|flight|upgrade|cost|case|price|amount)|\bif needed$"
    r"|\b(?:pay with|(?:for|the) payment|to pay|card|certificate)\b(?![^.]{0,80}[$€£¥])",
    re.IGNORECASE,
)


def _limits(records: Records, case: _Case) -> None:
    """Within what the customer will have it: budgets, times, dislikes."""
    found = []
    for turn, sentence in case.asked:
        bare = bare_of(sentence).rstrip(" .。！!")
        if not _LIMIT.search(bare) or sentence.endswith(("?", "？")) or _VAGUE.search(bare):
            continue
        enough = special_words(bare) >= (2 if is_exact(bare) else 5)
        if enough and not is_consent(bare) and not _is_told(records, bare):
            found.append((turn, bare))
    for turn, bare in distinct(found, _LIMITS):
        records.add(
            "O", case.customer, bare, sources=(turn.entry,), at=turn.at, trust="user", worth=0.7
        )


def _is_told(records: Records, text: str) -> bool:
    words = compared(text)
    return bool(words) and any(words <= compared(piece.text) for piece in records.pieces)


# ── what was refused ────────────────────────────────────────────────────────────────────────

_REFUSES: Final = re.compile(
    r"\b(?:cannot|can't|can not|unable to|isn't (?:possible|eligible|allowed)"
    r"|not (?:possible|eligible|allowed|permitted|able to|refundable|covered|qualify)"
    r"|do(?:es)? not (?:cover|allow|qualify|meet|offer|include)|don't (?:offer|allow|cover)"
    r"|no (?:refund|compensation))\b"
    r"|无法|不能|不支持|不可以?|不符合|不予|超过了?[^，。]{1,12}(?:期限|时限|天)",
    re.IGNORECASE,
)
_NOT_A_REFUSAL: Final = re.compile(
    r"\b(?:if you|would you|let me|could you|please|once|you can|find|locate|until|verify|access"
    r"|without (?:your|the|a)|note that|search|look up|real-time|information|typically|recommend"
    r"|options? (?:is|are))\b"
    r"|请您?提供|如果|查不到|找不到|[?？]$",
    re.IGNORECASE,
)
_POINTS_BACK: Final = re.compile(
    r"(?:it|this|that|they|these|those|there|(?:since|as) neither)\b|[它这那]", re.IGNORECASE
)
_SORRY: Final = re.compile(
    r"(?:(?:i(?:'m| am) )?(?:sorry|afraid|unfortunately|however|but|therefore"
    r"|i understand[^,]{0,60}(?=,)|i apologi[sz]e[^,]{0,60}(?=,)"
    r"|抱歉|很抱歉|不好意思|非常抱歉|对不起)[,，: ]{1,2}(?:but )?){1,3}",
    re.IGNORECASE,
)


def _refused(records: Records, case: _Case) -> None:
    """Refusals of the agent that name their matter: at most two, the fullest."""
    found = []
    before: tuple[Turn, str] | None = None
    for turn, sentence in case.said:
        if turn.role != "user" and (bare := _refusal(sentence, turn, before)):
            found.append((turn, bare))
        before = (turn, sentence)
    found.sort(key=lambda one: (CODE.search(one[1]) is None, -special_words(one[1]), one[0].place))
    matters = matters_of(case.steps)
    for turn, bare in distinct(found, _REFUSALS):
        named = "" if len(matters) != 1 or CODE.search(bare) else next(iter(matters))
        if not named and not CODE.search(bare) and not _concerns(bare):
            continue  # a policy, restated to anybody
        text = case.words.refused + bare
        records.add(
            "B", case.customer, f"{text} ({named})" if named else text,
            sources=(turn.entry, *matters[named]) if named else (turn.entry,),
            at=turn.at, trust="agent", worth=0.75,
        )  # fmt: skip


def _concerns(bare: str) -> bool:
    """Whether a refusal is about this customer's matter."""
    return _YOURS.search(bare) is not None and special_words(bare) >= 4


_YOURS: Final = re.compile(r"\b(?:you|your|i|i'm|this)\b|您|我们", re.IGNORECASE)


def _refusal(sentence: str, turn: Turn, before: tuple[Turn, str] | None) -> str:
    """What a sentence refuses, with the one before when it only points at it; or nothing."""
    if not _REFUSES.search(sentence) or _NOT_A_REFUSAL.search(sentence):
        return ""
    bare = sentence[found.end() :] if (found := _SORRY.match(sentence)) else sentence
    bare = bare.rstrip(" .。！!")
    if _POINTS_BACK.match(bare):
        if before is None or before[0] is not turn or _POINTS_BACK.match(before[1]):
            return ""
        bare = f"{before[1].rstrip(' .。:：')}; {bare}"
    return bare if special_words(bare) >= 3 and len(bare) <= _LINE else ""
