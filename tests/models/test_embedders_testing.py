"""The encoder without a model that tests of other parts use."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.testing.embedders import HashingEmbedder


def test_the_same_text_has_the_same_vector_on_every_machine() -> None:
    vector = HashingEmbedder(dimensions=8).embed(["harbour"]).vectors[0]
    assert np.sign(vector).astype(int).tolist() == [-1, 1, -1, 1, 1, -1, 1, -1]


def test_texts_that_share_words_are_near() -> None:
    notes = ["the cat sleeps", "rent is due", "我家的猫在睡觉"]
    near = HashingEmbedder(same={"cat": "猫"})
    scores = near.embed(["our Cat"]).vectors @ near.embed(notes).vectors.T
    assert scores[0].argsort()[::-1][2] == 1


def test_it_remembers_what_it_was_asked() -> None:
    encoder = HashingEmbedder()
    encoder.embed(["a", "b"])
    encoder.embed(["c"])
    assert (encoder.calls, encoder.texts) == (2, ["a", "b", "c"])


@given(st.lists(st.text(), max_size=5))
def test_any_text_has_vectors_of_length_one_and_spans_inside_it(texts: list[str]) -> None:
    made = HashingEmbedder().embed(texts, tokens=True)
    assert made.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-5)
    assert made.tokens is not None
    for text, tokens in zip(texts, made.tokens, strict=True):
        assert tokens.vectors.shape == (len(tokens.spans), 64)
        assert all(text[start:end] for start, end in tokens.spans)
