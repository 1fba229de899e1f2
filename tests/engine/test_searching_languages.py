"""A question in one language finds the note in the other, with the encoders that are bundled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.engine.facade import Engine

NOTES = (
    "我女儿的生日是五月三号，她最喜欢恐龙。",
    "房东每个月一号收房租，押金两个月。",
    "我对花生过敏，吃了会起疹子。",
    "下周五下午三点在会议室讨论预算。",
    "爷爷住院了，在做心脏手术。",
    "猫昨天打碎了厨房的花瓶。",
    "Our production database runs on PostgreSQL 16 in Frankfurt.",
    "The car needs new winter tyres before November.",
    "Peter is vegetarian and drinks no alcohol.",
    "The wedding is in a small church near Lake Como.",
    "My bicycle was stolen in front of the station.",
    "The piano lesson moved from Monday to Thursday.",
)
ACROSS = (
    ("When is my daughter's birthday?", 0),
    ("How much deposit does the landlord want?", 1),
    ("What food am I allergic to?", 2),
    ("Who is in hospital for an operation?", 4),
    ("What did the cat break?", 5),
    ("数据库在哪里运行？", 6),
    ("冬天的轮胎什么时候换？", 7),
    ("谁不吃肉？", 8),
    ("婚礼在哪里举行？", 9),
    ("我的自行车怎么了？", 10),
    ("钢琴课改到哪一天？", 11),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home = tmp_path_factory.mktemp("languages")
    config = {"search.embedder": "auto"}
    with holdfast.open(home, config=config, background=False) as engine:
        for text in NOTES:
            engine.remember(text, target="memory")
        assert engine.index.sync().problems == ()
        yield engine


def found(engine: Engine, question: str, count: int) -> list[str]:
    return [passage.text for passage in engine.search(question, limit=count).passages]


def test_a_question_finds_the_note_in_the_other_language(engine: Engine) -> None:
    missed = [ask for ask, note in ACROSS if NOTES[note] not in found(engine, ask, 3)]
    assert len(missed) <= 1, missed
    first = [ask for ask, note in ACROSS if found(engine, ask, 1) == [NOTES[note]]]
    assert len(first) >= 8


@pytest.mark.parametrize(
    ("ask", "note"),
    [
        ("孩子哪天过生日？", 0),
        ("what must I not eat", 2),
        ("who eats no meat?", 8),
        ("开会是什么时候", 3),
        ("what happened to my bike?", 10),
    ],
)
def test_a_paraphrase_finds_the_note_in_either_language(
    engine: Engine, ask: str, note: int
) -> None:
    assert NOTES[note] in found(engine, ask, 3)


def test_nothing_is_degraded_once_everything_is_embedded(engine: Engine) -> None:
    assert engine.search("piano lesson").degraded == ()


def test_words_alone_work_fully_without_encoders(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, config={"search.embedder": "none"}) as engine:
        for text in NOTES:
            engine.remember(text, target="memory")
        for ask, note in (("花生", 2), ("房东", 1), ("tyres", 7), ("Lake Como", 9), ("猫", 5)):
            assert found(engine, ask, 1) == [NOTES[note]]
