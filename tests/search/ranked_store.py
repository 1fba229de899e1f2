"""A store in memory for the tests of ranking: what an index would show of a few passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.ports import Tokens
from holdfast.search.ranking.asked import Question
from holdfast.search.ranking.flags import flags_of
from holdfast.search.ranking.late import signs_of
from holdfast.search.ranking.rows import Details, Form, Postings, Ragged, Rows
from holdfast.search.ranking.stages import Heard, Ranked, chosen, final, first_stage
from holdfast.text.tokens import index_terms, term_hash, words

ENCODER = "letters"
DIMENSIONS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    text: str
    speaker: str = "user"
    document: int = 0
    at: float = float("nan")


def tokens_of(text: str) -> Tokens:
    """One vector for each word, the same for the same stem, random else."""
    found = words(text)
    vectors = np.zeros((len(found), DIMENSIONS), np.float32)
    for number, word in enumerate(found):
        drawn = np.random.default_rng(term_hash(word.stem) % 2**32).normal(size=DIMENSIONS)
        vectors[number] = drawn / np.linalg.norm(drawn)
    return Tokens(vectors=vectors, spans=[(word.start, word.end) for word in found])


def pooled(text: str) -> np.ndarray:
    mean = tokens_of(text).vectors.sum(axis=0) if words(text) else np.ones(DIMENSIONS)
    return (mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32)


def ragged(parts: Sequence[Sequence[int]], counts: Sequence[Sequence[int]]) -> Ragged:
    return Ragged(
        starts=np.cumsum([0, *map(len, parts)]),
        values=np.array([value for part in parts for value in part], np.uint64),
        counts=np.array([count for part in counts for count in part], np.float32),
    )


class Store:
    def __init__(self, said: Sequence[Said]) -> None:
        self.said = list(said)
        count = len(said)
        names = sorted({one.speaker for one in said})
        before = np.full(count, -1, np.int32)
        after = np.full(count, -1, np.int32)
        last: dict[int, int] = {}
        for number, one in enumerate(said):
            if one.document in last:
                before[number] = last[one.document]
                after[last[one.document]] = number
            last[one.document] = number
        speakers: dict[int, set[str]] = {}
        for one in said:
            speakers.setdefault(one.document, set()).add(one.speaker)
        forms = [Form.DIALOGUE if len(speakers[o.document]) > 1 else Form.MESSAGES for o in said]
        self.terms = [Counter(index_terms(one.text)) for one in said]
        none = np.zeros(count, np.uint8)
        self.rows = Rows(
            document=np.array([one.document for one in said], np.int32),
            before=before,
            after=after,
            place=np.zeros(count, np.int32),
            source=none,
            kind=none,
            form=np.array(forms, np.uint8),
            flags=np.array([flags_of(one.text) for one in said], np.uint16),
            speaker=np.array([names.index(one.speaker) for one in said], np.int32),
            at=np.array([one.at for one in said], np.float64),
            length=np.array([sum(terms.values()) for terms in self.terms], np.int32),
            importance=np.full(count, 0.5, np.float32),
            trust=none,
            speakers=names,
        )
        self.vectors = np.array([pooled(one.text) for one in said], np.float32)
        self.vectors = self.vectors.reshape(count, DIMENSIONS)

    def postings(self, terms: Sequence[str]) -> dict[str, Postings]:
        found = {}
        for term in terms:
            standing = [n for n, counted in enumerate(self.terms) if counted[term]]
            if standing:
                counts = np.array([self.terms[n][term] for n in standing], np.float32)
                found[term] = Postings(positions=np.array(standing, np.int64), counts=counts)
        return found

    def details(self, positions: np.ndarray) -> Details:
        kept = [self.terms[n] for n in positions.tolist()]
        signs = [signs_of(self.said[n].text, tokens_of(self.said[n].text)) for n in positions]
        width = DIMENSIONS // 64
        return Details(
            positions=positions,
            terms=ragged(
                [[*map(term_hash, one)] for one in kept], [[*one.values()] for one in kept]
            ),
            tokens={
                ENCODER: Ragged(
                    starts=np.cumsum([0, *map(len, signs)]),
                    values=np.concatenate([np.zeros((0, width), np.uint64), *signs]),
                )
            },
            vectors={ENCODER: self.vectors[positions]},
        )

    def heard(self, question: Question) -> dict[str, Heard]:
        vector = pooled(question.text)
        return {
            ENCODER: Heard(
                similarity=self.vectors @ vector, vector=vector, tokens=tokens_of(question.text)
            )
        }

    def search(
        self,
        question: Question,
        *,
        hear: bool = True,
        readable: np.ndarray | None = None,
        pool: int = 320,
        small: int = 1024,
    ) -> Ranked:
        heard = self.heard(question) if hear else {}
        first = first_stage(self.rows, question, self.postings(question.terms), heard, readable)
        return final(self.rows, first, self.details(chosen(first, pool=pool, small=small)))
