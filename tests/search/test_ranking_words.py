"""``ranking.words``: BM25 of passages and documents, with other forms of a word and its kin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.search.ranking.asked import Concept
from holdfast.search.ranking.hashes import among
from holdfast.search.ranking.words import counted, keywords, rarity
from tests.scale import scaled
from tests.search.ranked_store import Said, Store

WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), min_size=1, max_size=12)


def concept(term: str, forms: tuple[str, ...] = (), kin: tuple[str, ...] = ()) -> Concept:
    return Concept(term=term, forms=forms, kin=kin)


@given(TEXTS, WORDS)
@settings(max_examples=scaled(80), deadline=None)
def test_exactly_the_passages_with_the_term_score(texts: list[str], word: str) -> None:
    store = Store([Said(text=text) for text in texts])
    term = next(iter(Store([Said(text=word)]).terms[0]))
    found = keywords(store.rows, [concept(term)], store.postings([term]))
    assert ((found.scores > 0) == [word in text.split() for text in texts]).all()
    assert found.found == (sum(word in text.split() for text in texts),)


@given(st.integers(1, 10_000), st.integers(0, 10_000))
def test_rarity_falls_with_how_often_a_term_stands_and_is_never_negative(
    passages: int, found: int
) -> None:
    assert rarity(passages, found) >= rarity(passages, found + 1) >= 0


def test_a_rarer_word_and_a_shorter_text_count_more() -> None:
    store = Store(
        [Said(text=t) for t in ("oak elm", "oak", "oak ash ash birch pine", "elm oak fir")]
    )
    found = keywords(store.rows, [concept("oak")], store.postings(["oak"]))
    assert found.scores.argmax() == 1
    both = keywords(store.rows, [concept("oak"), concept("fir")], store.postings(["oak", "fir"]))
    assert both.scores.argmax() == 3


def test_a_form_of_a_word_counts_as_the_word_and_makes_it_no_rarer() -> None:
    store = Store([Said(text=t) for t in ("buy milk", "bought milk", "milk", "tea")])
    terms = store.postings(["buy", "bought"])
    found = keywords(store.rows, [concept("buy", forms=("bought",))], terms)
    assert found.found == (2,)
    assert found.scores[0] == found.scores[1] > 0


def test_kin_counts_in_the_pool_and_less_than_the_word() -> None:
    store = Store([Said(text=t) for t in ("guitar", "instrument", "instrument guitar", "tea")])
    details = store.details(np.arange(4))
    table = counted(details.terms, [concept("instrument", kin=("guitar",))])
    assert table[:, 0].tolist() == [0.5, 1.0, 1.0, 0.0]


def test_a_word_that_is_asked_for_itself_is_nobodys_kin() -> None:
    store = Store([Said(text="guitar")])
    asked = [concept("instrument", kin=("guitar",)), concept("guitar")]
    assert counted(store.details(np.arange(1)).terms, asked).tolist() == [[0.0, 1.0]]


def test_passages_outside_the_mask_do_not_make_a_term_common() -> None:
    store = Store([Said(text=t) for t in ("fir", "oak", "fir", "fir")])
    readable = np.array([True, True, False, False])
    inside = {"fir": store.postings(["fir"])["fir"]}
    inside["fir"] = type(inside["fir"])(
        positions=inside["fir"].positions[:1], counts=inside["fir"].counts[:1]
    )
    alone = Store([Said(text=t) for t in ("fir", "oak")])
    masked = keywords(store.rows, [concept("fir")], inside, readable)
    apart = keywords(alone.rows, [concept("fir")], alone.postings(["fir"]))
    assert masked.scores[0] == apart.scores[0]
    assert (masked.passages, masked.average) == (apart.passages, apart.average)


def test_every_passage_of_a_document_gets_the_documents_score() -> None:
    said = [
        Said(text="oak", document=0),
        Said(text="fir", document=0),
        Said(text="elm", document=1),
    ]
    store = Store(said)
    found = keywords(store.rows, [concept("oak")], store.postings(["oak"]))
    assert found.documents[0] == found.documents[1] > found.documents[2] == 0


@given(
    st.sets(st.integers(0, 2**64 - 1), min_size=1, max_size=20),
    st.lists(st.integers(0, 2**64 - 1), max_size=40),
)
@settings(max_examples=scaled(80), deadline=None)
def test_exactly_the_hashes_that_are_sought_are_found(sought: set[int], others: list[int]) -> None:
    few = np.array(sorted(sought), np.uint64)
    near = [*others, *sought, *(one ^ 1 for one in sought)]  # the same first bits
    many = np.array(near, np.uint64)
    where, which = among(few, many)
    assert where.tolist() == [n for n, one in enumerate(near) if one in sought]
    assert (few[which] == many[where]).all()


def test_an_empty_store_has_no_scores() -> None:
    found = keywords(Store([]).rows, [concept("oak")], {})
    assert len(found.scores) == len(found.documents) == 0
