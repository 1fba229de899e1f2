"""LongMemEval's own JSON: a list of questions, each with the sessions it is asked after.

Its authors count a session as found when any of its turns is, ask at ``question_date``, and
leave out the questions whose id says ``_abs``, which no session answers. Promise: the published
fields are read as published, and what is missing is named (``tests/doors/test_bench.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from holdfast.cli.benching.corpora import Corpus, Query, Turn, malformed, text_field

__all__ = ["is_question", "question_of"]

_DATE: Final = re.compile(
    r"(\d{4})/(\d{1,2})/(\d{1,2})(?: *\([^)]{1,12}\))?(?: +(\d{1,2}):(\d{2}))?"
)


def is_question(item: Mapping[str, Any]) -> bool:
    return "haystack_sessions" in item


def question_of(item: Mapping[str, Any], where: str) -> Corpus:
    """One question with its sessions; none of its queries has gold if it is an abstention."""
    id = text_field(item, "question_id", where)
    sessions = _list(item, "haystack_sessions", where)
    names = [str(name) for name in _list(item, "haystack_session_ids", where)]
    dates = [_date(date, where) for date in _list(item, "haystack_dates", where)]
    if not len(sessions) == len(names) == len(dates):
        raise malformed(where, "sessions, their ids and their dates are not equally many")
    gold = frozenset(map(str, _list(item, "answer_session_ids", where)))
    if unknown := sorted(gold - set(names)):
        raise malformed(where, f"the answer is in a session {unknown[0]!r} that is not there")
    query = Query(
        id=id,
        text=text_field(item, "question", where),
        gold=frozenset() if "_abs" in id else gold,
        category=str(item.get("question_type") or ""),
    )
    turns = [
        turn
        for session, name, at in zip(sessions, names, dates, strict=True)
        for turn in _turns(session, name, at, where)
    ]
    asked = _date(text_field(item, "question_date", where), where)
    return Corpus(id=id, turns=_numbered(turns), queries=(query,), unit="session", asked_at=asked)


def _turns(session: object, name: str, at: datetime, where: str) -> Iterator[Turn]:
    if not isinstance(session, list):
        raise malformed(where, f"session {name!r} is not a list of turns")
    for turn in session:
        if not isinstance(turn, dict):
            raise malformed(where, f"a turn of session {name!r} is not an object")
        text = text_field(turn, "content", where)
        if text.strip():  # a few published turns are empty: nobody said anything
            yield Turn(
                id="", session=name, speaker=text_field(turn, "role", where), text=text, at=at
            )


def _numbered(turns: list[Turn]) -> tuple[Turn, ...]:
    """Ids for turns, which have none: a session may stand in a haystack twice."""
    return tuple(
        Turn(
            id=str(number),
            session=turn.session,
            speaker=turn.speaker,
            text=turn.text,
            at=turn.at,
        )
        for number, turn in enumerate(turns)
    )


def _list(item: Mapping[str, Any], name: str, where: str) -> list[Any]:
    found = item.get(name)
    if not isinstance(found, list):
        raise malformed(where, f"there is no list {name!r}")
    return found


def _date(value: object, where: str) -> datetime:
    """``2023/05/30 (Tue) 23:40``."""
    if found := _DATE.fullmatch(str(value).strip()):
        try:
            year, month, day, hour, minute = (int(part or 0) for part in found.groups())
            return datetime(year, month, day, hour, minute, tzinfo=UTC)
        except ValueError:
            pass
    raise malformed(where, f"{value!r} is no date such as '2023/05/30 (Tue) 23:40'")
