"""``ranking.late``: every word of a question against every word of a passage, by signs."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.ports import Tokens
from holdfast.search.ranking.asked import ContentWord
from holdfast.search.ranking.late import nearness, packed, probe, signs_of, standing_out
from holdfast.search.ranking.rows import Ragged
from holdfast.text.tokens import words
from tests.scale import scaled
from tests.search.ranked_store import DIMENSIONS, tokens_of


def content(text: str) -> tuple[ContentWord, ...]:
    return tuple(
        ContentWord(start=word.start, end=word.end, term=word.stem)
        for word in words(text)
        if not word.is_stop
    )


def stored(*texts: str) -> Ragged:
    signs = [signs_of(text, tokens_of(text)) for text in texts]
    return Ragged(starts=np.cumsum([0, *map(len, signs)]), values=np.concatenate(signs))


@given(
    st.integers(1, 6),
    st.sampled_from([1, 7, 64, 65, 384]),
    st.integers(0, 2**31),
)
@settings(max_examples=scaled(60), deadline=None)
def test_nearness_is_the_greatest_agreement_of_signs(
    count: int, dimensions: int, seed: int
) -> None:
    drawn = np.random.default_rng(seed)
    asked = drawn.normal(size=(3, dimensions)).astype(np.float32)
    held = drawn.normal(size=(count, dimensions)).astype(np.float32)
    tokens = Tokens(vectors=asked, spans=[(0, 1), (1, 2), (2, 3)])
    found = probe(tokens, (), {})
    assert found is not None
    table = nearness(found, Ragged(starts=np.array([0, count]), values=packed(held)))
    signs = np.where(held > 0, 1, -1) @ np.where(asked > 0, 1, -1).T / dimensions
    assert np.allclose(table[0], signs.max(axis=0), atol=1e-6)


def test_the_same_word_is_as_near_as_can_be_wherever_it_stands() -> None:
    found = probe(tokens_of("the oak"), content("the oak"), {"oak": 2.0})
    assert found is not None
    near = nearness(found, stored("an old oak stands there", "nothing else"))
    assert near[0, 0] == 1.0
    assert near[1, 0] < 0.5


def test_common_words_are_not_stored_unless_there_are_no_others() -> None:
    assert len(signs_of("the oak and the elm", tokens_of("the oak and the elm"))) == 2
    assert len(signs_of("what is it", tokens_of("what is it"))) == 3
    assert signs_of("", tokens_of("")).shape == (0, DIMENSIONS // 64)


def test_a_passage_without_tokens_is_neither_near_nor_far() -> None:
    found = probe(tokens_of("oak"), content("oak"), {})
    assert found is not None
    one = signs_of("oak", tokens_of("oak"))
    near = nearness(found, Ragged(starts=np.array([0, 0, 1, 1]), values=one))
    assert np.isnan(near[[0, 2]]).all()
    assert near[1, 0] == 1.0
    assert (standing_out(near)[[0, 2]] == 0).all()


def test_a_rare_word_of_the_question_weighs_more() -> None:
    text = "common oak"
    found = probe(tokens_of(text), content(text), {"common": 0.5, "oak": 3.0})
    assert found is not None
    assert found.weights.tolist() == [0.5, 3.0]


def test_a_question_without_tokens_probes_nothing() -> None:
    assert probe(tokens_of(""), (), {}) is None


def test_a_word_all_passages_are_equally_near_to_decides_nothing() -> None:
    assert (standing_out(np.full((4, 2), 0.3, np.float32)) == 0).all()
