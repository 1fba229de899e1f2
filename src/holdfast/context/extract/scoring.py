"""How much an English clause is worth keeping: a table of weights.

A clause is worth the share of what somebody will want to know of its turn that it is likely to
hold. The weights were fitted to that share on three long chats, rounded, and checked on two
others. Promise: deterministic, and the order of the weights is that of the measured table: how
much the clause says, and who speaks about himself (``tests/context/test_extract_english.py``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

from holdfast.context.extract.clauses import Clause
from holdfast.context.extract.heard import Turn
from holdfast.context.extract.words import content_words
from holdfast.importance import asks_to_remember, is_constraint, is_correction, is_decision

__all__ = [
    "KEEP",
    "Beside",
    "Statistics",
    "bonuses",
    "is_exact",
    "is_opinion",
    "is_past",
    "is_story",
    "probability",
    "score",
]

KEEP: Final = 4.0
"""A bonus that says: written whatever it costs."""


def _of(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_LEAD: Final = (
    r"(?:(?:and|but|so|also|then|well|yeah|yes|oh|plus|actually|now|recently|lately|today"
    r"|yesterday|since|because|after|when|while|last \w+|this \w+)[, ]+){0,3}"
)
_FIRST_SUBJECT: Final = _of(rf"{_LEAD}(?:i|i'm|i've|i'd|i'll|we|we're|we've|we'll)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cue:
    """Single words, beginnings of words, and phrases; any of them is the cue."""

    weight: float
    words: frozenset[str] = frozenset()
    stems: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    def found(self, words: frozenset[str], lowered: str) -> bool:
        return (
            not self.words.isdisjoint(words)
            or any(phrase in lowered for phrase in self.phrases)
            or (bool(self.stems) and any(word.startswith(self.stems) for word in words))
        )


def _cue(weight: float, words: str, *, stems: str = "", phrases: str = "") -> _Cue:
    return _Cue(
        weight=weight,
        words=frozenset(words.split()),
        stems=tuple(stems.split()),
        phrases=tuple(phrases.split(";")) if phrases else (),
    )


_CUES: Final = (
    _cue(0.3, "i i'm i've i'd i'll my we we're we've we'll our"),  # about oneself
    _cue(-0.3, "you you're you've you'll your"),  # about the other
    _cue(  # time
        0.2,
        """yesterday today tonight tomorrow last next ago since recently weekend week weeks month
        months year years monday tuesday wednesday thursday friday saturday sunday january
        february march april june july august september october november december summer winter
        spring autumn morning""",
        phrases=" am; pm; 19; 20",
    ),
    _cue(  # a life changes, somebody does something
        0.7,
        """started starting began moved moving finished finishing lost won joined joining bought
        visited visiting opened opening quit wrote writing created creating married engaged
        pregnant born died passed hired fired promoted applied applying trip study studied
        studying trained training competition tournament contest concert festival conference
        workshop event changed changing learned learning learnt""",
        stems="""adopt graduat launch publish attend volunteer travel hik camp paint cook bak danc
        play practi perform deploy migrat upgrad install switch""",
        phrases="signed up;worked on;working on;worked at;working at;working as;worked as",
    ),
    _cue(  # number
        0.25,
        """two three four five six seven eight nine ten eleven twelve twenty hundred thousand first
        second third twice couple dozen half""",
        phrases="0;1;2;3;4;5;6;7;8;9;$;€;£",
    ),
    _cue(  # reason
        0.1,
        "because cause 'cause since",
        phrases="so that;in order to;that's why;which is why;so i can;to help;help me;helps me"
        ";due to;inspired by;remind me;reminds me",
    ),
    _cue(-0.4, "", phrases="!"),
    _cue(-0.4, "maybe might perhaps probably", phrases="i guess;not sure;i suppose"),
    _cue(  # courtesy
        -0.5,
        "thanks thank congrats congratulations sorry wow hey glad",
        phrases="proud of you;no worries;sounds ",
    ),
    _cue(  # what is only hoped for
        -0.25,
        "need want wanted hope hoping plan planning gonna will i'll excited",
        phrases="going to;looking forward;can't wait",
    ),
    _cue(  # goodbye, and what is said to say something
        -1.5,
        "bye goodbye",
        phrases="take care;see you;see ya;talk soon;talk later;talk to you;catch you;gotta go"
        ";gotta run;have a great;have a good;have a nice;good night;good luck;chat soon;stay safe"
        ";long time no;on another note;since last chat;since our last;keep it up;keep up the"
        ";keep shining;you got this;you've got this",
    ),
)
_WORD: Final = re.compile(r"[a-z][a-z']*|'cause")
_MY_THING: Final = _of(
    r"\b(?:my|our)(?: \w+)? (?:mom|mother|dad|father|parents?|wife|husband|partner|fiancée?|kids?"
    r"|girlfriend|boyfriend|children|son|daughter|brother|sister|sis|bro|grand\w+|aunt|uncle"
    r"|cousin|friends?|family|dog|cat|puppy|pets?|boss|colleagues?|job|work|career|business|store"
    r"|shop|studio|company|house|home|apartment|place|car|dream|goal|passion|hobby|hobbies|degree"
    r"|class|band|team|book|script|project|garden|birthday|name|email|phone|address|school"
    r"|college|major|hometown|neighbou?r\w*|server|database|repo\w*|account|order|reservation)\b"
)
_NAME: Final = re.compile(r"(?<=[a-z,&] )[A-Z][\w'&-]+|[\"“][^\"”\n]{2,80}[\"”]")
_VAGUE: Final = _of(r"(?:it|it's|that|that's|this|they|they're|there|there's|these|those)\b")
_SERVICE: Final = _of(
    r"(?:let me|i'll|i will|i can|i'd be|i would be|could you|would you"
    r"|please (?:provide|let|confirm)"
    r"|is there anything|here (?:is|are|'s)|sure|certainly|of course|you can|you may|feel free"
    r"|i understand|i'm sorry|i apologi[sz]e|thank you|if you|to proceed|i'm here|how can i"
    r"|do you want|would you like|now let|great|perfect|now i|first,? i|i see|looking at)\b"
)
_OPINIONS: Final = _cue(
    0.0,
    """love loves loved prefer prefers favourite favorite hate hates keen allergic enjoy enjoys like
    likes believe think feel dislike""",
    phrases="can't stand;into ;fan of;means a lot",
)
_PAST: Final = _of(
    r"\b(?:was|were|had|did|went|got|made|took|saw|met|came|found|lost|won|bought|wrote|felt|gave"
    r"|began|ran|told|said|built|left|spent|taught|sang|\w{3,20}ed)\b"
)
_STORY: Final = _of(rf"{_LEAD}(?:i|we|my|our)\b")
_EXACT: Final = re.compile(r"[\d/_@]")
_IDENTIFIER: Final = re.compile(
    r"https?://\S|\b[\w.+-]{1,64}@[\w-]+\.\w|\bv?\d+\.\d+(?:\.\d+)?\b|\b(?:port|version|id|ID|code|PIN)\b.{0,20}\d"
    r"|\b(?=\w*\d)(?=\w*[A-Z])[A-Z0-9]{5,12}\b|\b[a-z]+(?:_[a-z0-9]+){2,}\b|(?:/[\w.-]+){2,}|\b[\w-]+/[\w-]+\.\w{1,5}\b"
    r"|#\d{2,}|\b\d{5,}\b"
)


_LABEL: Final = re.compile(r"[*_]{0,3}[A-Z][\w ()/-]{1,30}:[*_]{0,3}\s")


class Statistics:
    """What the conversation says about words: how rare one is, and what was said just before."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = max(2, len(turns))
        self._in: Counter[str] = Counter()
        self._words: list[frozenset[str]] = []
        for turn in turns:
            words = frozenset(content_words(turn.text))
            self._words.append(words)
            self._in.update(words)

    def rarity(self, words: Sequence[str]) -> float:
        rarest = max((log(self._turns / max(1, self._in[word])) for word in words), default=0.0)
        return min(1.0, rarest / 7)

    def echo(self, words: Sequence[str], place: int) -> float:
        """The share of the words that the turn before already had."""
        if place == 0 or not words:
            return 0.0
        before = self._words[place - 1]
        return sum(1 for word in words if word in before) / len(words)


def probability(score: float) -> float:
    return 1 / (1 + exp(-score))


def score(
    clause: Clause,
    turn: Turn,
    index: int,
    statistics: Statistics,
    after_question: bool,
    beside: Beside | None = None,
) -> float:
    """The weight of a clause; its logistic is how much of its turn it is likely to tell."""
    text, words = clause.text, content_words(clause.text)
    beside = beside or Beside.of([clause])
    lowered = text.replace("’", "'").lower()
    said = frozenset(_WORD.findall(lowered))
    total = -2.6 + _by_length(len(words)) + beside.weight(clause)
    total += sum(cue.weight for cue in _CUES if cue.found(said, lowered))
    total += 0.5 if ("my" in said or "our" in said) and _MY_THING.search(text) else 0.0
    total += sum(weight for weight, cue in _WEIGHTS_AT_START if cue.match(text))
    total += 0.2 * min(2, len(_NAME.findall(text)))
    total += 0.6 * statistics.rarity(words) - 0.3 * statistics.echo(words, index)
    if after_question and clause.sentence < 2:
        total += 0.35
    if clause.is_question:
        total -= 0.6
    if clause.caption:
        total -= 1.9
    return total + _by_role(clause, turn)


_WEIGHTS_AT_START: Final = ((0.45, _FIRST_SUBJECT), (-0.1, _VAGUE))
_FULL: Final = 14  # content words; a clause with more says no more


def _by_length(count: int) -> float:
    """Long clauses say more than in proportion; one word alone says next to nothing."""
    filled = min(_FULL, count) / _FULL
    return 1.7 * filled + 0.8 * filled**2 - (1.2 if count <= 1 else 0.55 if count == 2 else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The turn around a clause: the more it says, the less of it is in any one clause."""

    count: int
    words: int
    asking: frozenset[int]

    @classmethod
    def of(cls, said: Sequence[Clause]) -> Beside:
        telling = (clause for clause in said if not (clause.caption or clause.is_question))
        return cls(
            count=len(said),
            words=sum(len(content_words(clause.text)) for clause in telling),
            asking=frozenset(clause.sentence for clause in said if clause.is_question),
        )

    def weight(self, clause: Clause) -> float:
        """What comes later in a turn is more often its point than what opens it."""
        total = 0.5 * min(5, clause.sentence) / 5 + (0.25 if clause.sentence == 0 else 0.0)
        total += 0.25 * min(1.0, self.words / 12) - 0.8 * min(1.0, self.words / 30)
        total -= 0.35 if clause.sentence in self.asking else 0.0
        return total + (0.35 if self.count == 1 else 0.0)


def _by_role(clause: Clause, turn: Turn) -> float:
    """What is said to get work done: an assistant's courtesy is no memory, a user's figures are."""
    if turn.role == "assistant":
        named = turn.speaker not in ("assistant", "助手")
        if named:
            return 0.0
        return (
            -0.7 - 2.0 * bool(_SERVICE.match(clause.text)) - 0.8 * bool(_LABEL.match(clause.text))
        )
    if clause.opens and _GO_ON.match(clause.text):
        return -2.0
    return 0.8 if not clause.is_question and is_exact(clause.text) else 0.0


_GO_ON: Final = _of(
    r"(?:(?:ok|okay|please|now|then|great|good|yes|thanks)[,.! ]+){0,3}"
    r"(?:continue|go on|go ahead|proceed|carry on|keep going|next(?: step)?|try again|retry)\b"
    r".{0,30}$"
)


_AT_ONCE: Final = 6_000


def bonuses(sentences: Sequence[str], turn: Turn) -> list[float]:
    """The bonus of each sentence of a turn; "remember this" lends it to what it points at."""
    together = "\n".join(sentences)
    if len(together) < _AT_ONCE and not _bonus(together, turn):
        return [0.0] * len(sentences)  # most turns: asked once instead of for each sentence
    found = [_bonus(sentence, turn) for sentence in sentences]
    for place, sentence in enumerate(sentences):
        if turn.role != "user" or not (asks_to_remember(sentence) and _only_asks(sentence)):
            continue
        found[place] = 0.0
        points_ahead = place == 0 or sentence.rstrip().endswith((":", "："))
        for meant in range(place + 1, place + 9) if points_ahead else (place - 1,):
            if meant < len(found):
                found[meant] = max(found[meant], KEEP)
    return found


_REQUEST: Final = re.compile(
    r"remember|keep|mind|memorize|note|forget|please|following|记住|记下|记得|牢记|记一下|别忘了?|请|以下|一下|这些|这个|了",
    re.IGNORECASE,
)


def _only_asks(sentence: str) -> bool:
    """Whether a request to remember says nothing itself: what is meant stands beside it."""
    rest = _REQUEST.sub(" ", sentence)
    return not content_words(rest) and len(re.findall(r"[\u3400-\u9fff]", rest)) <= 2


def _bonus(text: str, turn: Turn) -> float:
    """The bonus of a sentence that is a memory by what it is; 0 for all others."""
    if turn.role != "user":
        return 1.0 if is_decision(text) and not turn.in_run else 0.0
    if asks_to_remember(text) or is_constraint(text) or is_correction(text):
        return KEEP
    return 1.5 if is_decision(text) else 0.0


def is_exact(text: str) -> bool:
    """Whether a text names something letter for letter: a code, an address, a path."""
    return _EXACT.search(text) is not None and _IDENTIFIER.search(text) is not None


def is_opinion(text: str) -> bool:
    lowered = text.replace("’", "'").lower()
    return _OPINIONS.found(frozenset(_WORD.findall(lowered)), lowered)


def is_past(text: str) -> bool:
    return _PAST.search(text) is not None


def is_story(text: str) -> bool:
    """Whether a clause tells what its speaker did or is."""
    return _STORY.match(text) is not None
