"""``ranking.neighbours``: what stands before and after a passage."""

from __future__ import annotations

import numpy as np

from holdfast.search.ranking.neighbours import Shares, around, spread, sums, windows
from tests.search.ranked_store import Said, Store

SHARES = Shares(before=0.5, after=0.25, two_before=0.125, two_after=0.0625, asked=0.75)


def scores(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def talk(*texts: str, documents: tuple[int, ...] | None = None) -> Store:
    numbers = documents or (0,) * len(texts)
    return Store([Said(text=t, document=d) for t, d in zip(texts, numbers, strict=True)])


def test_a_share_goes_to_the_passages_beside_it() -> None:
    rows = talk("a", "b", "c", "d", "e").rows
    near = around(rows, np.arange(5))
    assert sums(near, scores(0, 0, 1, 0, 0), SHARES).tolist() == [0.0625, 0.25, 1.0, 0.5, 0.125]
    assert spread(rows, scores(0, 0, 1, 0, 0), SHARES).tolist() == [0, 0.25, 1.0, 0.5, 0]


def test_the_answer_to_a_question_gets_more_of_it() -> None:
    rows = talk("What is it?", "An oak", "Oh").rows
    assert spread(rows, scores(1, 0, 0), SHARES)[1] == 1.25
    near = around(rows, np.arange(3))
    assert sums(near, scores(1, 0, 0), SHARES)[1] == 1.25
    assert windows(near, scores(1, 0, 0)[:, None], SHARES)[1, 0] == 0.75


def test_passages_of_another_document_are_no_neighbours() -> None:
    rows = talk("a", "b", "c", documents=(0, 1, 1)).rows
    near = around(rows, np.arange(3))
    assert sums(near, scores(1, 0, 0), SHARES).tolist() == [1, 0, 0]
    assert spread(rows, scores(1, 0, 0), SHARES).tolist() == [1, 0, 0]


def test_a_neighbour_outside_the_pool_is_silent() -> None:
    rows = talk("a", "b", "c", "d").rows
    near = around(rows, np.array([0, 2, 3]))
    assert sums(near, scores(1, 0, 1), SHARES).tolist() == [1, 0.25, 1]


def test_in_a_window_different_words_add_up_and_the_same_word_counts_once() -> None:
    rows = talk("a", "b").rows
    near = around(rows, np.arange(2))
    table = np.array([[1, 0], [0, 1]], np.float32)
    assert windows(near, table, SHARES).sum(axis=1).tolist() == [1.25, 1.5]
    same = np.array([[1, 0], [1, 0]], np.float32)
    assert windows(near, same, SHARES).sum(axis=1).tolist() == [1, 1]


def test_an_empty_pool_has_no_neighbours() -> None:
    near = around(talk("a").rows, np.zeros(0, np.int64))
    assert len(near.before) == len(near.after) == 0
