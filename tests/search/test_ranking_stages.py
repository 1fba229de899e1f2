"""``ranking.stages`` and ``ranking.weights``: everything roughly, then the pool closely."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.search.query.analysis import analyse
from holdfast.search.ranking.asked import Question, Shape
from holdfast.search.ranking.rows import Form
from holdfast.search.ranking.stages import Heard, Ranked, chosen, final, first_stage, merged
from holdfast.search.ranking.weights import Weights, weights_for
from tests.scale import scaled
from tests.search.ranked_store import DIMENSIONS, ENCODER, Said, Store

NOW = datetime(2026, 3, 4, tzinfo=UTC)
WORDS = st.sampled_from(["oak", "elm", "fir", "pine", "bought", "buy", "guitar", "橡树", "在", "?"])
TEXTS = st.lists(st.lists(WORDS, max_size=7).map(" ".join), max_size=14)


def ask(query: str, *speakers: str) -> Question:
    return analyse(query, speakers=speakers, now=NOW, zone=UTC).parts[0]


def talk(*lines: tuple[str, str]) -> Store:
    return Store([Said(text=text, speaker=speaker) for speaker, text in lines])


@given(TEXTS, st.lists(WORDS, max_size=5).map(" ".join), st.booleans(), st.booleans())
@settings(max_examples=scaled(80), deadline=None)
def test_the_channels_add_up_to_the_score_and_the_order_is_by_it(
    texts: list[str], query: str, hear: bool, two: bool
) -> None:
    said = [Said(text=t, speaker="ab"[n % 2] if two else "a") for n, t in enumerate(texts)]
    ranked = Store(said).search(ask(query), hear=hear)
    assert sorted(ranked.positions.tolist()) == list(range(len(texts)))
    total = sum(ranked.channels.values(), np.zeros(len(texts), np.float32))
    assert np.allclose(total, ranked.scores, atol=1e-4)
    pairs = list(zip((-ranked.scores).tolist(), ranked.positions.tolist(), strict=True))
    assert pairs == sorted(pairs)
    assert np.isfinite(ranked.scores).all()


@given(TEXTS.filter(len), st.lists(WORDS, max_size=5).map(" ".join), st.data())
@settings(max_examples=scaled(60), deadline=None)
def test_nothing_outside_the_mask_is_ever_chosen(
    texts: list[str], query: str, data: st.DataObject
) -> None:
    store = Store([Said(text=text) for text in texts])
    readable = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
    )
    ranked = store.search(ask(query), readable=readable)
    assert set(ranked.positions.tolist()) == set(np.flatnonzero(readable).tolist())


def test_the_pool_is_the_best_of_a_large_store_and_all_of_a_small_one() -> None:
    store = Store([Said(text="oak" if n == 7 else f"w{n}", document=n) for n in range(40)])
    question = ask("oak")
    first = first_stage(store.rows, question, store.postings(question.terms))
    assert chosen(first, pool=3, small=40).tolist() == list(range(40))
    pool = chosen(first, pool=3, small=10)
    assert len(pool) == 3
    assert 7 in pool
    assert pool.tolist() == sorted(pool.tolist())


@given(st.integers(0, 2**31), st.sampled_from([40, 700, 3000]), st.integers(1, 60), st.booleans())
@settings(max_examples=scaled(40), deadline=None)
def test_the_pool_holds_the_best_and_of_equals_the_earlier(
    seed: int, count: int, pool: int, coarse: bool
) -> None:
    drawn = np.random.default_rng(seed).random(count).astype(np.float32)
    scores = np.round(drawn, 1) if coarse else drawn
    scores[::7] = -np.inf
    store = Store([])
    empty = first_stage(store.rows, ask("oak"), {})
    found = chosen(replace(empty, scores=scores), pool=pool, small=0)
    there = np.flatnonzero(np.isfinite(scores))
    best = there[np.argsort(-scores[there], kind="stable")[:pool]]
    assert found.tolist() == sorted(best.tolist())


def test_the_one_speaker_a_question_names_is_preferred_and_two_are_not() -> None:
    store = talk(("Ann", "I love oak"), ("Bob", "I love oak"))
    assert store.search(ask("What does Bob love?", "Ann", "Bob")).positions[0] == 1
    assert store.search(ask("What does Ann love?", "Ann", "Bob")).positions[0] == 0
    both = store.search(ask("What do Ann and Bob love?", "Ann", "Bob"))
    assert "speaker" not in both.channels


def test_the_answer_below_a_question_is_found_by_the_questions_words() -> None:
    store = talk(
        ("Ann", "The weather is fine"),
        ("Bob", "Which trees stand in the garden?"),
        ("Ann", "Two tall birches"),
        ("Bob", "Nice"),
        ("Ann", "Lunch was late"),
    )
    ranked = store.search(ask("trees in the garden", "Ann", "Bob"), hear=False)
    assert ranked.positions[:2].tolist() == [1, 2]


def test_a_time_the_question_names_is_preferred_and_an_undated_passage_is_not_dropped() -> None:
    may = datetime(2023, 5, 10, tzinfo=UTC).timestamp()
    june = datetime(2023, 6, 20, tzinfo=UTC).timestamp()
    store = Store([Said(text="oak", at=june), Said(text="oak", at=may), Said(text="oak")])
    for query in ("oak in May 2023", "oak in May", "oak on 10 May 2023", "2023年5月 oak"):
        ranked = store.search(ask(query))
        assert ranked.positions[0] == 1, query
        assert len(ranked.positions) == 3


def test_a_day_of_any_year_prefers_that_day_over_its_month() -> None:
    days = [datetime(2021, 5, day, tzinfo=UTC).timestamp() for day in (25, 10)]
    store = Store([Said(text="oak", at=at) for at in days])
    assert store.search(ask("oak on May 10")).positions[0] == 1


def test_a_question_for_a_time_prefers_what_tells_one() -> None:
    texts = ("planted the oak here", "planted the oak yesterday", "lunch", "a new bicycle")
    store = Store([Said(text=text) for text in texts])
    assert store.search(ask("When was the oak planted?"), hear=False).positions[0] == 1


def test_a_passage_in_another_language_is_judged_by_the_encoder_that_knows_it() -> None:
    store = Store([Said(text="the weather is fine"), Said(text="花园里有橡树")])
    question = ask("oak in the garden")
    own = np.array([0.1, np.nan], np.float32)
    both = np.array([0.1, 0.9], np.float32)
    heard = {"own": Heard(similarity=own), "all": Heard(similarity=both, native=False)}
    first = first_stage(store.rows, question, store.postings(question.terms), heard)
    assert first.scores.argmax() == 1
    assert final(store.rows, first, store.details(np.arange(2))).positions[0] == 1


def test_what_its_own_encoder_made_of_a_passage_in_another_script_does_not_count() -> None:
    store = Store([Said(text="the weather is fine"), Said(text="花园里有橡树"), Said(text="tea")])
    own = np.array([0.3, 0.0, 0.1], np.float32)
    both = np.array([0.1, 0.9, 0.0], np.float32)
    heard = {"own": Heard(similarity=own), "all": Heard(similarity=both, native=False)}
    question = ask("oak in the garden")
    first = first_stage(store.rows, question, store.postings(question.terms), heard)
    ranked = final(store.rows, first, store.details(np.arange(3)))
    assert first.scores.argmax() == ranked.positions[0] == 1
    alone = first_stage(store.rows, question, store.postings(question.terms), {"own": heard["own"]})
    assert alone.scores.argmax() == 0  # nobody else is there to judge it


def test_a_near_passage_in_the_questions_own_script_stays_before_a_far_one_in_another() -> None:
    store = Store([Said(text="tall oak"), Said(text="花园里有橡树"), Said(text="tea")])
    own = np.array([0.8, np.nan, 0.1], np.float32)
    both = np.array([0.7, 0.4, 0.0], np.float32)
    heard = {"own": Heard(similarity=own), "all": Heard(similarity=both, native=False)}
    question = ask("which tree is big")
    first = first_stage(store.rows, question, store.postings(question.terms), heard)
    ranked = final(store.rows, first, store.details(np.arange(3)))
    assert ranked.positions.tolist() == [0, 1, 2]


@pytest.mark.parametrize("hear", [True, False])
def test_an_exact_hit_scores_clearly_in_a_store_of_one_passage(hear: bool) -> None:
    store = Store([Said(text="the oak fell")])
    hit = store.search(ask("oak fell"), hear=hear)
    miss = store.search(ask("pine burned"), hear=hear)
    assert hit.scores[0] > 1
    assert hit.scores[0] > miss.scores[0] + 0.9


def test_a_poor_match_by_words_does_not_count_as_a_full_one() -> None:
    texts = ["oak", "elm", "fir", "ash", "yew"]
    store = Store([Said(text=text, document=n) for n, text in enumerate(texts)])
    full = store.search(ask("oak"), hear=False)
    poor = store.search(ask("oak piano ferry lemon castle violin"), hear=False)
    assert full.channels["words"][0] > 0
    assert poor.positions[0] == full.positions[0] == 0
    heard = store.search(ask("oak piano ferry lemon castle violin"))
    assert heard.channels["words"][0] < 0.5 * store.search(ask("oak")).channels["words"][0]


def test_a_conversation_in_which_the_person_named_took_part_is_preferred() -> None:
    said = [
        Said(text="Nice trip?", speaker="Ann", document=0),
        Said(text="The ferry was late", speaker="Bob", document=0),
        Said(text="Nice trip?", speaker="Cyd", document=1),
        Said(text="The ferry was late", speaker="Dee", document=1),
    ]
    ranked = Store(said).search(ask("Which ferry did Cyd hear of?", "Ann", "Bob", "Cyd", "Dee"))
    order = ranked.positions.tolist()
    assert order.index(3) < order.index(1)
    both = Store(said).search(ask("What do Cyd and Dee say of the ferry?", "Cyd", "Dee"))
    assert both.positions[0] == 3
    assert "speaker" not in both.channels


def test_what_stands_beside_an_answer_is_part_of_a_list_and_of_nothing_else() -> None:
    texts = ["tea", "fir", "went to the oak fair", "nut", "sun", "air", "sea", "ice", "fog"]
    store = Store([Said(text=text) for text in texts])
    listed = store.search(ask("How many went to the oak fair?"))
    assert set(listed.positions[:3].tolist()) == {1, 2, 3}
    assert "beside" in listed.channels
    assert "beside" not in store.search(ask("Who went to the oak fair?")).channels


def test_passages_without_vectors_are_still_ranked_by_words() -> None:
    store = Store([Said(text="elm"), Said(text="oak"), Said(text="fir")])
    question = ask("oak")
    unknown = np.full(3, np.nan, np.float32)
    heard = {ENCODER: Heard(similarity=unknown, vector=np.ones(DIMENSIONS, np.float32))}
    first = first_stage(store.rows, question, store.postings(question.terms), heard)
    bare = store.details(np.arange(3))
    details = replace(
        bare, vectors={ENCODER: np.full((3, DIMENSIONS), np.nan, np.float32)}, tokens={}
    )
    ranked = final(store.rows, first, details)
    assert ranked.positions[0] == 1
    assert np.isfinite(ranked.scores).all()


def test_an_empty_store_ranks_nothing() -> None:
    assert len(Store([]).search(ask("oak"), hear=False).positions) == 0


def test_parts_are_merged_by_best_rank_and_keep_their_channels() -> None:
    def ranked(*positions: int) -> Ranked:
        scores = np.linspace(1, 0, len(positions)).astype(np.float32)
        return Ranked(
            positions=np.array(positions, np.int64), scores=scores, channels={"words": scores}
        )

    both = merged([ranked(5, 1, 2), ranked(7, 2, 1)])
    assert both.positions.tolist()[:2] == [5, 7]
    assert set(both.positions.tolist()) == {1, 2, 5, 7}
    assert (np.diff(both.scores) <= 0).all()
    assert both.channels["words"][:2].tolist() == [1, 1]
    one = ranked(3, 4)
    assert merged([one]) is one


def test_a_passage_found_by_two_parts_comes_before_one_found_by_one_at_the_same_rank() -> None:
    def ranked(*positions: int) -> Ranked:
        return Ranked(
            positions=np.array(positions, np.int64),
            scores=np.ones(len(positions), np.float32),
            channels={},
        )

    assert merged([ranked(1, 2, 9), ranked(3, 9, 2)]).positions.tolist()[:4] == [1, 3, 2, 9]
    assert merged([ranked(1, 4), ranked(2, 9), ranked(3, 9)]).positions.tolist()[3] == 9
    assert merged([ranked(1), ranked(2, 3, 4)]).positions.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("shape", list(Shape))
@pytest.mark.parametrize("form", list(Form))
def test_there_are_weights_for_every_form_and_shape(form: Form, shape: Shape, heard: bool) -> None:
    weights = weights_for(form, shape, heard=heard)
    assert weights.words > 0
    spoken = [weights.meaning, weights.late, weights.late_window]
    assert any(spoken) is heard
    assert all(getattr(weights, one.name) >= 0 for one in fields(Weights))
