"""What a model wrote, held against what was said: kept with its sources, or dropped and counted.

A statement is aligned to the turn that holds most of its words. It is dropped if

    words       less than 60 % of its content words stand in that turn and the one before
    figures     a number, date, identifier or capitalised name of it does not stand there
    polarity    it denies what is said there, or says what is denied there
    person      it tells of one speaker what another said of himself, or of a sister what was
                said of a boss
    form        it is a quotation, was cut, is longer than a line, or says nothing

Who said it, when, and how far it is trusted come from the turn: the user's own words are
``user``; what stands in the result of a tool is ``tool``, whoever repeats it; the rest is
``agent``.

Promise: every line that is kept stands on its sources, and no trust is higher than its support
(``tests/context/test_grounding.py``, ``test_flush_redteam.py``). Linear in the conversation. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from holdfast.context.extract.scoring import is_opinion, is_past
from holdfast.context.flush.claims import (
    CJK,
    COUNTED,
    WEEKDAYS,
    WHO,
    Claim,
    Source,
    denies,
    stands_in,
    words_of,
)
from holdfast.context.flush.turns import Role, Turn
from holdfast.retain import RetainKind, RetainLine, Trust, visible_line
from holdfast.text import cut, normalise
from holdfast.text.likeness import same_marks, says_no_more, similarity

__all__ = ["Candidate", "Grounding", "ground", "without_subject"]

_ENOUGH: Final = 0.6
_NEARLY_ALL: Final = 0.8  # of the words must be the user's, to be called the user's word
_MOST_CANDIDATES: Final = 400
_ALIKE: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One statement of a model. ``about`` and ``turn`` are what it claims; both are checked."""

    text: str
    about: str | None = None
    turn: int | None = None


def ground(
    candidates: Iterable[Candidate],
    turns: Sequence[Turn],
    *,
    redact: Callable[[str], str],
    max_lines: int | None = None,
    beside: Sequence[str] = (),
) -> tuple[tuple[RetainLine, ...], int]:
    """The lines that stand in the conversation, in its order, and how many statements do not.

    ``beside`` is what tools said that is in none of the turns.
    """
    grounding = Grounding(turns, beside)
    kept: list[tuple[int, RetainLine]] = []
    ungrounded = 0
    for number, candidate in enumerate(candidates):
        found = grounding.line(candidate) if number < _MOST_CANDIDATES else None
        shown = _shown(found[1], redact) if found is not None else None
        if found is None or shown is None:
            ungrounded += 1
        elif (same := _repeated(shown, kept)) is not None:
            kept[same] = (kept[same][0], _united(kept[same][1], shown))
        elif max_lines is None or len(kept) < max_lines:
            kept.append((found[0], shown))
    kept.sort(key=lambda placed: placed[0])
    return tuple(line for _, line in kept), ungrounded


def _shown(line: RetainLine, redact: Callable[[str], str]) -> RetainLine | None:
    text = visible_line(redact(line.text))
    entity = visible_line(redact(line.entity or ""))
    return replace(line, text=text, entity=entity or None) if text else None


def _repeated(line: RetainLine, kept: Sequence[tuple[int, RetainLine]]) -> int | None:
    for place, (_, known) in enumerate(kept):
        if known.entity == line.entity and (
            says_no_more(line.text, known.text)
            or (similarity(line.text, known.text) >= _ALIKE and same_marks(line.text, known.text))
        ):
            return place
    return None


_WEAKEST: Final[tuple[Trust, ...]] = ("import", "tool", "agent", "user")


def _united(known: RetainLine, again: RetainLine) -> RetainLine:
    return replace(
        known,
        sources=tuple(dict.fromkeys((*known.sources, *again.sources))),
        trust=min(known.trust, again.trust, key=_WEAKEST.index),
    )


def _by_a_tool(text: str, near: Turn) -> Source:
    """A text that no statement is aligned to: it only says where words come from."""
    return Source(replace(near, number=0, entry="", role="tool", speaker="", text=text, own=text))


class Grounding:
    """One conversation, against which any number of statements is held."""

    def __init__(self, turns: Sequence[Turn], beside: Sequence[str] = ()) -> None:
        self._beside = [_by_a_tool(text, turns[0]) for text in beside if turns]
        self._sources = [Source(turn) for turn in turns]
        self._speakers = {s.turn.speaker: normalise(s.turn.speaker) for s in self._sources}
        self._holding: dict[str, list[int]] = {}
        self._figures: dict[str, list[int]] = {}
        for place, source in enumerate(self._sources):
            for word in source.words:
                self._holding.setdefault(word, []).append(place)
            for figure in source.numbers | source.words:
                self._figures.setdefault(figure, []).append(place)

    def line(self, candidate: Candidate) -> tuple[int, RetainLine] | None:
        """The line, and the place of the turn it stands on; None if it stands on none."""
        claim = Claim(visible_line(candidate.text))
        if not claim.is_sound or (place := self._aligned(claim, candidate.turn)) is None:
            return None
        source = self._sources[place]
        trust, support = self._trust(claim, place)
        about = self._about(candidate, source)
        return place, RetainLine(
            kind=_kind(claim.text, source.turn.role),
            entity=about,
            text=without_subject(claim.text, about),
            sources=tuple(dict.fromkeys(self._sources[n].turn.entry for n in support)),
            trust=trust,
            observed=source.turn.at,
        )

    def stands(self, text: str, entries: Sequence[str]) -> bool:
        """Whether a statement stands in the turns of these entries and those before them."""
        claim = Claim(visible_line(text))
        places = {n for n, source in enumerate(self._sources) if source.turn.entry in entries}
        if not places or not claim.is_sound:
            return False
        window = [self._sources[n] for n in sorted(places | {max(0, min(places) - 1)})]
        return self._holds(claim, window, self._sources[max(places)].turn)

    # Where it stands.

    def _aligned(self, claim: Claim, cited: int | None) -> int | None:
        """The best turn that holds the claim: a user's before a tool's before the assistant's."""
        shared: dict[int, int] = {}
        for word in claim.words:
            for place in self._holding.get(word, ()):
                shared[place] = shared.get(place, 0) + 1
        least = (1 - _ENOUGH) * len(claim.words)  # the turn before may give the rest
        figures = [set(self._figures.get(each, ())) for each in claim.figures]

        def rank(place: int) -> tuple[int, ...]:
            turn = self._sources[place].turn
            return (
                shared[place] < _ENOUGH * len(claim.words),
                -sum(place in having for having in figures),
                _ROLES.index(turn.role),
                -shared[place],
                turn.number != cited,
                -place,
            )

        likely = sorted((n for n, count in shared.items() if count >= least), key=rank)
        return next((n for n in likely[:24] if self._holds(claim, *self._window(n))), None)

    def _window(self, place: int) -> tuple[list[Source], Turn]:
        """The turn with the one before it, which may say what "it" is; and who speaks."""
        return self._sources[max(0, place - 1) : place + 1], self._sources[place].turn

    def _holds(self, claim: Claim, window: Sequence[Source], turn: Turn) -> bool:
        words = frozenset().union(*(source.words for source in window))
        return (
            len(claim.words & words) >= _ENOUGH * len(claim.words)
            and claim.relations <= frozenset().union(*(source.relations for source in window))
            and self._has_figures(claim, window)
            and all(any(mark in s.names(claim) for s in window) for mark in claim.exact)
            and self._agrees(claim, window)
            and not self._is_of_another(claim, turn)
        )

    @staticmethod
    def _has_figures(claim: Claim, window: Sequence[Source]) -> bool:
        if not (claim.numbers or claim.days or claim.weekdays):
            return True
        known = frozenset().union(*(source.numbers for source in window))
        named = [day for source in window for day in source.days]
        meant = [day for source in window for day in source.meant]
        years = {str(day.year) for day in (*named, *meant) if day.year is not None}
        near = {source.turn.at.year + by for source in window for by in (-1, 0, 1)}
        for day in claim.days:
            at_most = [each for each in named if each.year or not day.year or day.year in near]
            if not any(day.fits(each) for each in (*at_most, *meant)):
                return False
        said = {COUNTED.get(w, w) for source in window for w in source.words}
        weekdays = {WEEKDAYS[d.weekday()] for s in window for d in [s.turn.at.date()]}
        return claim.numbers <= known | years and claim.weekdays <= said | weekdays

    @staticmethod
    def _agrees(claim: Claim, window: Sequence[Source]) -> bool:
        """Whether each clause is denied exactly if what it repeats is."""
        clauses = [each for source in window for each in source.clauses]
        for part in claim.clauses:
            words, denied = words_of(part), denies(part)
            most = max((len(words & said) for said, _ in clauses), default=0)
            alike = [no for said, no in clauses if len(words & said) == most] if most else []
            if alike and denied not in alike:
                return False
            if not alike and denied:
                return False
        return True

    def _is_of_another(self, claim: Claim, turn: Turn) -> bool:
        """Whether it begins with the name of another than who spoke of himself."""
        start = normalise(claim.text)
        for name, folded in self._speakers.items():
            if name != turn.speaker and turn.role == "user" and start.startswith(folded):
                return _FIRST_PERSON.search(turn.text) is not None
        return False

    # Whose word it is.

    def _trust(self, claim: Claim, place: int) -> tuple[Trust, list[int]]:
        support = [place]
        here = self._sources[place]
        if place and len(claim.words & here.words) < len(
            claim.words & (here.words | self._sources[place - 1].words)
        ):
            support.insert(0, place - 1)
        taken = [n for n in self._tools if self._covers(claim, self._sources[n].words)]
        spoken = here.turn.role == "user" and self._covers(claim, here.stated_words, _NEARLY_ALL)
        unsaid = claim.words - self._said
        given = [n for n in self._tools if unsaid & self._sources[n].words]
        if taken and (claim.commands or not spoken):
            return "tool", sorted({*support, taken[-1]})
        if self._is_from_beside(claim, unsaid, spoken=spoken):
            return "tool", support
        if given and (spoken or self._figures_of(claim, given)):
            return "tool", sorted({*support, given[-1]})
        if here.turn.role == "tool":
            return "tool", support
        if spoken and self._says_figures(claim) and not (claim.commands and unsaid):
            return "user", support
        return "agent", support

    def _is_from_beside(self, claim: Claim, unsaid: frozenset[str], *, spoken: bool) -> bool:
        """Whether a tool gave it that is not in the turns, by the same rules."""
        for source in self._beside:
            if (claim.commands or not spoken) and self._covers(claim, source.words):
                return True
            if unsaid & source.words and (
                spoken or source.names(claim) or claim.numbers & source.numbers
            ):
                return True
        return False

    @cached_property
    def _tools(self) -> list[int]:
        return [n for n, source in enumerate(self._sources) if source.turn.role == "tool"]

    @cached_property
    def _users(self) -> list[Source]:
        return [source for source in self._sources if source.turn.role == "user"]

    @cached_property
    def _said(self) -> frozenset[str]:
        """Every word that users said in statements of their own."""
        return frozenset().union(*(source.stated_words for source in self._users))

    @cached_property
    def _said_numbers(self) -> frozenset[str]:
        return frozenset().union(*(source.stated_numbers for source in self._users))

    @staticmethod
    def _covers(claim: Claim, words: frozenset[str], share: float = _ENOUGH) -> bool:
        return len(claim.words & words) >= share * len(claim.words)

    def _figures_of(self, claim: Claim, places: Sequence[int]) -> bool:
        """Whether these turns gave the claim one of its exact parts."""
        return any(
            self._sources[n].names(claim) or claim.numbers & self._sources[n].numbers
            for n in places
        )

    def _says_figures(self, claim: Claim) -> bool:
        """Whether users named every number and name of it themselves."""
        speakers = set(self._speakers.values())
        return claim.numbers <= self._said_numbers and all(
            mark in speakers
            or any(stands_in(mark, each.stated_folded, each.stated_words) for each in self._users)
            for mark in claim.exact
        )

    # Of whom.

    def _about(self, candidate: Candidate, source: Source) -> str:
        """Whom it is about: the speaker, or what the model names, if the turn names it too."""
        turn = source.turn
        about = visible_line(candidate.about or "").lstrip("@").strip()
        folded = normalise(about)
        if (
            not 1 < len(folded) <= 40
            or folded in self._speakers.values()
            or folded in WHO
            or folded not in normalise(turn.text)
        ):
            return cut(turn.speaker, 60)
        return about


_ROLES: Final[tuple[Role, ...]] = ("user", "tool", "assistant")
_FIRST_PERSON: Final = re.compile(r"\b(?:I|I'm|I've|my|we|our)\b|我", re.IGNORECASE)


def _kind(text: str, role: Role) -> RetainKind:
    """An opinion or a wish is O, what was done by who is not the user is B, all else a fact."""
    if role == "user" and (is_opinion(text) or _LIKING.search(text)):
        return "O"
    return "B" if role != "user" and (is_past(text) or "了" in text) else "W"


_LIKING: Final = re.compile(r"喜欢|最爱|讨厌|偏好|受不了|热衷|不爱")
_SUBJECT: Final = re.compile(
    r"(?:the )?(?P<name>user|assistant|用户|助手)(?![\w'’]|的)\s*", re.IGNORECASE
)


def without_subject(text: str, about: str) -> str:
    """The statement without the name it begins with: the line has it before the colon."""
    found = _SUBJECT.match(text)
    if found is None and text.startswith(about):
        rest = text[len(about) :]
        is_whole = rest[:1] == " " or CJK.match(rest[:1]) is not None
        return rest.strip() if is_whole and rest[:1] != "的" and rest.strip() else text
    if found is not None and normalise(found["name"]) == normalise(about):
        return text[found.end() :] or text
    return text
