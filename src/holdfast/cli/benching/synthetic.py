"""A made-up past of any size: conversations in English and Chinese, and questions about them.

Words follow Zipf's law, a quarter of the conversations is Chinese, each keeps to a topic, and
lengths are those of chat messages. Vectors lie in clusters by topic, as an encoder's do. Promise:
the same numbers give the same corpus on every machine; nothing in it was ever said by anybody
(``tests/doors/test_bench_figures.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Asked", "Conversation", "Said", "World"]

Floats: TypeAlias = NDArray[np.float32]
Bits: TypeAlias = NDArray[np.uint64]

_SEED: Final = 20_260_304
_START: Final = datetime(2024, 1, 1, 8, tzinfo=UTC)
_CHINESE: Final = 0.25
_TURNS: Final = 24
_TOPICS: Final = 400
_TOPIC_WORDS: Final = 60
_ON_TOPIC: Final = 0.3
_WORDS: Final = 30_000
_HAN_WORDS: Final = 20_000
_PLAIN_WORDS: Final = 24
"""So many words after the commonest are what a question has beside its rare ones."""


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_ONSETS: Final = _listed("b br c ch d dr f fl g gr h j k l m n p pl qu r s sh sl st t tr v w z")
_VOWELS: Final = _listed("a e i o u ai ea ee io ou")
_ENDS: Final = ("", "", "", "n", "r", "s", "t", "l", "m", "nd", "ck", "st")
_COMMON: Final = _listed(
    "the to and a of I you it is in that for was my on with have but we so are this be at not "
    "what just do like about me your they all if can really out one there think when how some"
)
_COMMON_HAN: Final = _listed(
    "的 了 是 我 在 有 不 就 也 都 说 要 去 你 会 这 那 和 很 到 他 她 吗 吧 呢"
)
_ASKING: Final = ("what did we say about", "when was", "who told me about the", "how did")
_ASKING_HAN: Final = ("什么时候说过", "我们怎么谈", "谁告诉我")
_PEOPLE: Final = _listed(
    "Anna Ben Carla David Emma Felix Grace Henry Ines Jonas 小明 晓雨 志强 丽华 国栋 建华"
)

Kind = Literal["question", "words", "zh question", "zh words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    speaker: str
    at: datetime
    text: str
    vector: Floats
    tokens: Bits
    """The signs of one vector for each word, packed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    name: str
    turns: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    kind: Kind
    text: str
    vector: Floats
    tokens: Floats
    """One vector for each word."""


class World:
    """What can be said: words, topics, people."""

    def __init__(self, dimensions: int = 384) -> None:
        chance = np.random.default_rng(_SEED)
        self.dimensions = dimensions
        self._words = [*_COMMON, *_made_words(chance, _WORDS)]
        self._han = [*_COMMON_HAN, *_made_han(chance, _HAN_WORDS)]
        self._topics = chance.integers(len(_COMMON), _WORDS, (_TOPICS, _TOPIC_WORDS))
        self._topics_han = chance.integers(len(_COMMON_HAN), _HAN_WORDS, (_TOPICS, _TOPIC_WORDS))
        self._centres = _units(chance, _TOPICS, dimensions)

    def conversations(self, turns: int) -> Iterator[Conversation]:
        """Conversations of that many turns altogether."""
        chance = np.random.default_rng(_SEED + 1)
        at = _START
        for number, first in enumerate(range(0, turns, _TURNS)):
            at += timedelta(hours=float(chance.uniform(0.5, 8)))
            some = min(_TURNS, turns - first)
            yield Conversation(
                name=f"talk-{number:06}", turns=tuple(self._talk(chance, number, at, some))
            )

    def _talk(
        self, chance: np.random.Generator, number: int, at: datetime, turns: int
    ) -> Iterator[Said]:
        is_han = number % 4 == 3  # a quarter, evenly spread
        topic = int(chance.integers(_TOPICS))
        people = chance.choice(len(_PEOPLE), 2, replace=False)
        lengths = np.clip(chance.lognormal(3.1, 0.6, turns), 3, 150).astype(int)
        vectors = self._near(chance, topic, turns)
        for turn, length in enumerate(lengths):
            yield Said(
                speaker=_PEOPLE[people[turn % 2]],
                at=at + timedelta(seconds=40 * turn),
                text=self._text(chance, topic, int(length), is_han=is_han),
                vector=vectors[turn],
                tokens=chance.integers(
                    0, 1 << 64, (int(length), self.dimensions // 64), np.uint64, endpoint=False
                ),
            )

    def _text(self, chance: np.random.Generator, topic: int, length: int, *, is_han: bool) -> str:
        words = self._han if is_han else self._words
        drawn = _zipf(chance, length, len(words))
        on_topic = chance.random(length) < _ON_TOPIC
        own = (self._topics_han if is_han else self._topics)[topic]
        drawn[on_topic] = own[_zipf(chance, int(on_topic.sum()), _TOPIC_WORDS)]
        said = [words[each] for each in drawn]
        if is_han:
            return "".join(said) + "。"
        return " ".join(said).capitalize() + "."

    def _near(self, chance: np.random.Generator, topic: int, count: int) -> Floats:
        scatter = _units(chance, count, self.dimensions)
        near = self._centres[topic] + 0.9 * scatter
        return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True), np.float32)

    def questions(self, count: int) -> list[Asked]:
        """Questions and bare words, one in four of them Chinese, as people ask."""
        chance = np.random.default_rng(_SEED + 2)
        kinds: Sequence[Kind] = ("question", "words", "question", "zh question") * 2
        kinds = (*kinds[:-1], "zh words")
        return [self._question(chance, kinds[at % len(kinds)]) for at in range(count)]

    def _question(self, chance: np.random.Generator, kind: Kind) -> Asked:
        topic = int(chance.integers(_TOPICS))
        is_han, is_long = kind.startswith("zh"), kind.endswith("question")
        own = (self._topics_han if is_han else self._topics)[topic]
        words = self._han if is_han else self._words
        rare = own[_zipf(chance, int(chance.integers(1, 3)), _TOPIC_WORDS)]
        common = len(_COMMON_HAN if is_han else _COMMON)
        plain = common + _zipf(chance, int(chance.integers(5, 9)) if is_long else 0, _PLAIN_WORDS)
        picked = [words[each] for each in (*rare, *plain)]
        asking = str(chance.choice(_ASKING_HAN if is_han else _ASKING)) if is_long else ""
        text = (asking + "".join(picked)) if is_han else f"{asking} {' '.join(picked)}".strip()
        return Asked(
            kind=kind,
            text=text,
            vector=self._near(chance, topic, 1)[0],
            tokens=_units(chance, len(picked), self.dimensions),
        )


def _made_words(chance: np.random.Generator, count: int) -> list[str]:
    """Different words of one to three syllables, the short ones first, as in a language."""
    found: dict[str, None] = dict.fromkeys(_COMMON)
    drawn = iter(chance.integers(0, 1 << 30, (4 * count, 7)).tolist())
    while len(found) < count + len(_COMMON):
        syllables = 1 + (len(found) > 1_500) + (len(found) > 12_000)
        end, *rest = next(drawn)
        parts = [
            _ONSETS[rest[2 * at] % len(_ONSETS)] + _VOWELS[rest[2 * at + 1] % len(_VOWELS)]
            for at in range(syllables)
        ]
        found.setdefault("".join(parts) + _ENDS[end % len(_ENDS)])
    return list(found)[len(_COMMON) :]


def _made_han(chance: np.random.Generator, count: int) -> list[str]:
    """Words of two characters out of the 2,500 first ones of the block."""
    pairs = np.unique(chance.integers(0, 2_500 * 2_500, 2 * count))
    chance.shuffle(pairs)
    return [
        chr(0x4E00 + pair // 2_500) + chr(0x4E00 + pair % 2_500) for pair in pairs[:count].tolist()
    ]


def _zipf(chance: np.random.Generator, count: int, size: int) -> NDArray[np.int64]:
    """Ranks below ``size``, each about as often as one over its rank."""
    ranks: NDArray[np.int64] = (np.exp(chance.random(count) * np.log(size + 1)) - 1).astype(
        np.int64
    )
    return ranks


def _units(chance: np.random.Generator, count: int, dimensions: int) -> Floats:
    drawn = chance.standard_normal((count, dimensions), np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)
