"""``ranking.feedback``: what the best passages say about the others."""

from __future__ import annotations

import numpy as np

from holdfast.search.ranking.asked import Concept
from holdfast.search.ranking.feedback import Feedback, feedback
from holdfast.search.ranking.words import counted
from holdfast.text.tokens import term_hash
from tests.search.ranked_store import Said, Store


def fed(texts: list[str], asked: list[str], *best: int) -> Feedback:
    """``best``: the passages that lead a first ranking, in order and close to each other."""
    store = Store([Said(text=text) for text in texts])
    terms = store.details(np.arange(len(texts))).terms
    columns = counted(terms, [Concept(term=term) for term in asked])
    hashes = np.array(sorted(map(term_hash, asked)), np.uint64)
    scores = np.zeros(len(texts), np.float32)
    for behind, number in enumerate(best):
        scores[number] = 1 - 0.1 * behind
    return feedback(terms, scores, hashes, columns, np.ones(len(texts), np.float32))


def test_what_shares_a_rare_word_with_the_best_passage_is_like_it() -> None:
    found = fed(["boss zhao", "zhao phone", "boss lunch", "tea", "tea lunch"], ["boss"], 0)
    assert found.likeness.argmax() == 0
    assert found.likeness[1] > 0
    assert (found.likeness[2:] < 0.02).all()  # the question's own word is not looked for again


def test_the_second_step_has_the_name_found_and_what_is_still_asked() -> None:
    texts = ["boss zhao", "zhao phone", "zhao lunch", "li phone", "tea"]
    found = fed(texts, ["boss", "phone"], 0)
    assert found.hop.argmax() == 1
    assert (found.hop[[2, 3, 4]] < 0.02).all()


def test_the_second_best_opens_a_path_of_its_own_which_is_worth_less() -> None:
    texts = ["boss zhao", "boss wang", "zhao phone", "wang phone", "tea", "tea", "sun", "sun"]
    both = fed(texts, ["boss", "phone"], 0, 1)
    assert both.hop[2] > both.hop[3] > 0
    assert both.likeness[2] > both.likeness[3] > 0


def test_passages_with_nothing_of_their_own_say_nothing() -> None:
    found = fed(["boss", "boss phone"], ["boss", "phone"], 0)
    assert not found.likeness.any()
    assert not found.hop.any()


def test_every_score_lies_between_0_and_1() -> None:
    found = fed(["a1 b1 c1", "b1 c1 d1", "c1 d1", "d1"], ["a1", "d1"], 0)
    for one in (found.likeness, found.hop):
        assert one.min() >= 0
        assert one.max() <= 1
