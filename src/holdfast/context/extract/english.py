"""Pieces of English speech: clauses, weighed and shortened.

Promise: one piece per clause at most, each with the entry it was said in
(``tests/context/test_extract_dialogue.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from holdfast.context.extract.clauses import Clause, clauses
from holdfast.context.extract.compression import compress
from holdfast.context.extract.heard import UNNAMED, Turn
from holdfast.context.extract.packing import Piece
from holdfast.context.extract.scoring import (
    KEEP,
    Beside,
    Statistics,
    bonuses,
    is_exact,
    is_opinion,
    is_past,
    is_story,
    probability,
    score,
)
from holdfast.context.extract.words import content_words
from holdfast.importance import is_constraint
from holdfast.retain import RetainKind
from holdfast.text import cut

__all__ = ["english_pieces"]

_WORTHLESS: Final = -2.4  # below this a clause is a greeting or an empty phrase
_LONGEST: Final = 220
_MOST_CLAUSES: Final = 60  # of one turn
_UNREAD: Final = 1_000


def english_pieces(turns: Sequence[Turn], *, open_from: int = 0) -> list[Piece]:
    """What could be written of these turns, in their order.

    A question to the assistant counts only in turns from the place ``open_from`` on.
    """
    statistics = Statistics(turns)
    speakers = list(dict.fromkeys(turn.speaker for turn in turns))
    found: list[Piece] = []
    asked = False
    for index, turn in enumerate(turns):
        others = [name for name in speakers if name != turn.speaker]
        said = clauses(turn.text)
        if turn.role == "user" and turn.place < open_from:
            said = _without_questions(said)
        last = index >= len(turns) - 2
        found += _pieces_of(turn, said, index, statistics, others, asked=asked, last=last)
        asked = any(clause.is_question for clause in said)
    return found


def _without_questions(said: Sequence[Clause]) -> list[Clause]:
    """The clauses that tell something; a request with exact figures in it does, however put."""
    asking = {clause.sentence for clause in said if clause.is_question}
    return [
        clause
        for clause in said
        if clause.sentence not in asking
        or not (clause.is_question or _ASKS.match(clause.text))
        or (_REQUESTS.match(clause.text) and is_exact(clause.text))
        or is_constraint(clause.text)
    ]


_ASKS: Final = re.compile(
    r"(?:(?:and|but|so|or|then|also|hey|hi|ok|okay|well|now)[, ]+){0,3}(?:what|who|whom|whose|when"
    r"|where|why|how|which|do|does|did|is|are|was|were|has|have|can|could|would|will|should)\b",
    re.IGNORECASE,
)
_REQUESTS: Final = re.compile(r"(?:please )?(?:can|could|would|will) you\b", re.IGNORECASE)


def _pieces_of(
    turn: Turn,
    said: Sequence[Clause],
    index: int,
    statistics: Statistics,
    others: Sequence[str],
    *,
    asked: bool,
    last: bool,
) -> list[Piece]:
    found = []
    bonus_of, beside = _bonus_of(turn, said), Beside.of(said)
    for order, clause in enumerate(said[:_MOST_CLAUSES]):
        if len(clause.text) > _UNREAD:
            continue  # nobody speaks so long without a stop: data
        bonus = bonus_of.get(clause.sentence, 0.0)
        if turn.in_run and not bonus:
            continue
        weight = score(clause, turn, index, statistics, asked, beside) + bonus
        if last and clause.is_question and turn.role == "user":
            weight += 2.0  # what is still open
        if weight < _WORTHLESS:
            continue
        if piece := _piece(turn, clause, order, weight, others, must=bonus >= KEEP):
            found.append(piece)
    return found


def _bonus_of(turn: Turn, said: Sequence[Clause]) -> dict[int, float]:
    """By sentence: a rule holds for the whole of the sentence it is said in."""
    sentences: dict[int, list[str]] = {}
    for clause in said[:_MOST_CLAUSES]:
        sentences.setdefault(clause.sentence, []).append(clause.text)
    whole = [", ".join(parts) for parts in sentences.values()]
    return dict(zip(sentences, bonuses(whole, turn), strict=True))


def _piece(
    turn: Turn, clause: Clause, order: int, weight: float, others: Sequence[str], *, must: bool
) -> Piece | None:
    own = is_story(clause.text) or turn.role == "user"
    text = compress(clause.text, others=others, today=turn.at.date(), own=own, terse=not must)
    if clause.caption:
        text = _CAPTION.sub("photo: ", text)
    if len(text) > _LONGEST and must:
        text = cut(text, _LONGEST - 1) + "…"
    if not text or len(text) > _LONGEST or not (must or _tells(text, others)):
        return None
    return Piece(
        text=text,
        entity=turn.speaker,
        kind=_kind(clause.text, turn),
        trust="user" if turn.role == "user" else "agent",
        worth=probability(weight),
        sources=(turn.entry,),
        place=turn.place,
        order=order,
        at=turn.at,
        must=must,
        topic=frozenset(content_words(text)) if turn.speaker in UNNAMED else None,
    )


def _tells(text: str, others: Sequence[str]) -> bool:
    """Whether a clause says more than one word and whom it is said to, or something exact."""
    called = {word for name in others for word in content_words(name)}
    told = [word for word in content_words(text) if word not in called]
    return len(told) > 1 or (bool(told) and is_exact(text))


_CAPTION: Final = re.compile(r"^(?:shares? a photo: )?(?:a photo(?:graph)? of )?", re.IGNORECASE)


def _kind(text: str, turn: Turn) -> RetainKind:
    if is_opinion(text):
        return "O"
    if is_story(text) and is_past(text):
        return "B"
    return "W" if turn.role == "user" else "S"
