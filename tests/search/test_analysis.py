"""``query.analysis``: questions, terms, people and times of a query, without a model."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.search.query.analysis import Analysed, analyse
from holdfast.search.ranking.asked import Question, Shape
from holdfast.text.tokens import query_terms
from tests.scale import scaled

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def asked(query: str, *speakers: str) -> Analysed:
    return analyse(query, speakers=speakers, now=NOW, zone=UTC)


def only(query: str, *speakers: str) -> Question:
    (part,) = asked(query, *speakers).parts
    return part


@given(st.text(max_size=300), st.lists(st.text(max_size=12), max_size=4))
@settings(max_examples=scaled(150), deadline=None)
def test_any_text_gives_at_least_one_part_whose_terms_are_its_own(
    query: str, speakers: list[str]
) -> None:
    found = asked(query, *speakers)
    assert found.parts
    for part in found.parts:
        assert part.text in query
        own = {term.text for term in query_terms(part.text)}
        assert {concept.term for concept in part.concepts} <= own
        for word in part.content:
            assert 0 <= word.start < word.end <= len(part.text)


@pytest.mark.parametrize(
    "piece", ["？另外，", "等等，", '"', "我想问的是：", "Also, ", "a. ", "\n", " ", "?  "]
)
def test_a_long_query_of_one_marker_is_read_in_linear_time(piece: str) -> None:
    assert 1 <= len(asked(piece * scaled(3_000)).parts) <= 4


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("我的鞋是什么牌子？另外，论坛在哪里？", ["我的鞋是什么牌子？", "论坛在哪里？"]),
        ("Where is the key? Also, who has the car?", ["Where is the key?", "who has the car?"]),
        ("今天好热。等等，我真正想问的问题是：会议几点开始？", ["会议几点开始？"]),
        ("天气不错。实际上，我想问的是：谁来了？", ["谁来了？"]),
        ("Nice day. What I really wanted to ask is who came?", ["who came?"]),
        ('标题是"等等，另外"的书在哪？', ['标题是"等等，另外"的书在哪？']),
        ("苹果、梨等等都行吗", ["苹果、梨等等都行吗"]),
        ("房东是谁？押金多少？", ["房东是谁？", "押金多少？"]),
        ("Who owns the flat? What is the rent?", ["Who owns the flat?", "What is the rent?"]),
        ("Where is the flat? And why?", ["Where is the flat? And why?"]),
        ("I moved. Where is the key?", ["I moved. Where is the key?"]),
    ],
)
def test_a_query_is_split_into_its_questions(query: str, parts: list[str]) -> None:
    assert [part.text for part in asked(query).parts] == parts


def test_a_speaker_is_known_by_name_by_part_of_it_and_in_short() -> None:
    for query in ("What did Melanie paint?", "What did Mel paint?", "Melanie's painting?"):
        part = only(query, "Melanie", "Caroline")
        assert part.speakers == {"Melanie"}
        assert [concept.term for concept in part.concepts] == ["paint"]
    assert only("What did Chen buy?", "Li Chen").speakers == {"Li Chen"}
    assert only("王芳喜欢什么？", "王芳", "李雷").speakers == {"王芳"}


def test_roles_are_no_names_and_a_word_is_no_short_form() -> None:
    part = only("which user bought a car", "user", "assistant", "Carmen")
    assert part.speakers == frozenset()
    assert {"user", "car"} <= {concept.term for concept in part.concepts}


def test_a_query_of_nothing_but_a_name_keeps_it() -> None:
    part = only("Melanie", "Melanie")
    assert [concept.term for concept in part.concepts] == ["melani"]


def test_a_word_brings_its_other_forms_and_its_kin() -> None:
    (buy,) = only("buy").concepts
    assert "bought" in buy.forms
    (bought,) = only("bought").concepts
    assert "buy" in bought.forms
    (instrument,) = only("instruments").concepts
    assert "guitar" in instrument.kin
    (guitar,) = only("guitar").concepts
    assert "instrument" in guitar.kin
    assert "violin" not in guitar.kin  # kin of kin is none


def test_the_terms_to_look_up_hold_the_forms_but_not_the_kin() -> None:
    part = only("When did she buy instruments?")
    assert {"buy", "bought", "instrument"} <= set(part.terms)
    assert "guitar" not in part.terms


@pytest.mark.parametrize(
    "query",
    [
        "When did we meet?",
        "How long did it take?",
        "what year was it",
        "什么时候开会？",
        "他哪年毕业",
    ],
)
def test_a_question_for_a_time_is_known(query: str) -> None:
    assert only(query).asks_when


def test_a_question_for_something_else_is_no_question_for_a_time() -> None:
    assert not only("Who came when it rained?").asks_when


def test_several_sentences_are_there_to_bring_something_to_mind() -> None:
    assert only("I went out. It rained. I was wet.").shape is Shape.ASSOCIATIVE
    assert only("我出去了。下雨了。全湿了！").shape is Shape.ASSOCIATIVE
    assert only("Where is it?").shape is Shape.QUESTION
    assert only('The note "A. B. C. D." is where?').shape is Shape.QUESTION
    assert only("What changed in v1.2.3 of app.py since 3.5?").shape is Shape.QUESTION


def test_of_several_sentences_the_last_counts_most_and_words_stand_for_themselves() -> None:
    weights = {one.term: one for one in only("I buy oak. I saw elm. I like fir.").concepts}
    assert weights["fir"].weight > weights["elm"].weight > weights["oak"].weight
    assert weights["buy"].forms == weights["buy"].kin == ()
    again = {one.term: one.weight for one in only("My oak. An elm. That oak!").concepts}
    assert again["oak"] == 1.0


def test_of_a_long_story_its_end_is_kept() -> None:
    story = ". ".join(f"word{n}" for n in range(300)) + "."
    kept = {one.term for one in only(story).concepts}
    assert "word299" in kept
    assert "word0" not in kept


@pytest.mark.parametrize(
    "query", ["How many cousins came?", "List the trips", "我去过哪些城市？", "有几个人来了？"]
)
def test_a_question_with_several_answers_asks_for_a_list(query: str) -> None:
    assert only(query).shape is Shape.LIST


def test_a_list_beside_another_question_is_no_list() -> None:
    found = asked("我去过哪些城市？另外，会议几点开始？")
    assert {part.shape for part in found.parts} == {Shape.QUESTION}


def test_times_come_as_seconds_and_a_month_without_year_as_that_month() -> None:
    (when,) = only("What happened in May 2023?").times
    assert when.month is None
    assert datetime.fromtimestamp(when.start, UTC).month == 5
    (when,) = only("What happened in May?").times
    assert when.month == 5


def test_the_script_of_a_question_is_known() -> None:
    assert only("用Docker部署在哪里").dense
    assert not only("where is 北京 mentioned in the travel plan").dense
