"""``holdfast bench survival``: every figure against what a person works out from the same texts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.cli.benching import survival
from holdfast.cli.benching.corpora import Corpus, Turn
from holdfast.cli.benching.survival import Plan, run
from holdfast.cli.benching.survival_judging import (
    Asked,
    Fact,
    Survived,
    Wrote,
    figures,
    is_grounded,
    visible,
)
from holdfast.cli.benching.survival_replay import survive
from holdfast.errors import HoldfastError, UsageError
from holdfast.retain import RetainLine
from tests.doors.inside import inside
from tests.scale import SCALE, scaled

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
FIGURES = [
    "reachable",
    "memory_only",
    "memory_content",
    "in_view",
    "written_share",
    "lines",
    "duplicates",
    "grounded",
    "tokens_spent",
]


def turn(id: str, speaker: str, text: str) -> Turn:
    return Turn(id=id, session="1", speaker=speaker, text=text, at=AT)


def line(text: str, *sources: str, entity: str = "Ann") -> RetainLine:
    return RetainLine(kind="W", entity=entity, text=text, sources=sources, trust="user")


# ── what a figure is ────────────────────────────────────────────────────────────────────────

TURNS = (
    turn("T1", "Ann", "I adopted a dog named Rex at the old shelter yesterday."),
    turn("T2", "Bob", "Sounds lovely!"),
    turn("T3", "Bob", "My violin quartet plays in Lyon."),
)
CORPUS = Corpus(id="made-up", turns=TURNS, queries=())
REX = Fact(text="Ann adopted a dog named Rex at a shelter.", sources=frozenset({"T1"}))
BOTH = Fact(text="Rex and the quartet in Lyon.", sources=frozenset({"T1", "T3"}))


def asked(fact: Fact, found: Sequence[str], *lines: str) -> Asked:
    ids = frozenset(found)
    return Asked(fact=fact, reachable=ids, memory_only=ids, in_view=frozenset(), lines=lines)


def told(each: Asked) -> bool:
    return bool(figures([Survived(corpus=CORPUS, asked=[each])])["memory_content"])


def test_a_fact_counts_only_when_every_one_of_its_turns_was_found() -> None:
    half = Survived(corpus=CORPUS, asked=[asked(BOTH, ["T1", "T2"]), asked(BOTH, ["T1", "T3"])])
    assert figures([half])["reachable"] == figures([half])["memory_only"] == 0.5
    assert figures([half])["in_view"] == 0.0


def test_content_is_six_tenths_of_the_words_that_source_and_fact_share() -> None:
    # Of the fact the source holds five words: adopt, dog, name, rex, shelter. Three are enough.
    assert told(asked(REX, ["T1"], "- W @Ann: adopted dog Rex"))
    assert not told(asked(REX, ["T1"], "- W @Ann: adopted dog"))
    assert told(asked(REX, ["T1"], "- W @Ann: adopted", "- W @Ann: Rex from shelter"))
    assert not told(asked(REX, ["T2"], "- W @Ann: adopted dog named Rex"))


def test_written_are_the_characters_that_a_person_reads() -> None:
    kept = line("adopted dog named Rex 7 May 2023", "talk#e1")
    assert visible(kept) == "- W @Ann: adopted dog named Rex 7 May 2023"
    shown = figures([Survived(corpus=CORPUS, wrote=Wrote(lines=(kept,), cited=((TURNS[0],),)))])
    said = sum(len(each.text) for each in TURNS)
    assert said == 55 + 14 + 32
    assert shown["written_share"] == round(43 / 101, 4)


@pytest.mark.parametrize(
    ("text", "grounded"),
    [
        ("adopted dog named Rex", True),
        ("adopted dog named Rex 7 May 2023", True),  # said the day after
        ("adopted dog named Rex 8 May 2023", False),
        ("adopted cat named Rex", False),
        ("adopted 2 dogs", False),
        ("Bob's dog", True),  # whom "you" means
        ("Clara's dog", False),
    ],
)
def test_a_line_is_grounded_if_every_word_and_number_was_said(text: str, grounded: bool) -> None:
    assert is_grounded(line(text, "talk#e1"), [TURNS[0]], ["Ann", "Bob"]) is grounded


def test_a_line_that_cites_nothing_that_was_said_is_not_grounded() -> None:
    assert not is_grounded(line("adopted dog", "talk#gone"), [], ["Ann"])


def test_a_repeat_is_a_text_that_another_of_the_same_name_holds() -> None:
    texts = ["adopted dog", "Adopted Dog", "adopted dog; lives in Lyon", "plays violin"]
    lines = (*(line(text, "talk#e1") for text in texts), line("plays violin", "t#e", entity="Bob"))
    assert Wrote(lines=lines, cited=((),) * 5).repeats == 2


def test_figures_are_over_facts_not_corpora() -> None:
    one = Survived(corpus=CORPUS, asked=[asked(REX, ["T1"])], compactions=7, tokens_spent=3)
    three = Survived(corpus=CORPUS, asked=[asked(REX, [])] * 3, compactions=5, tokens_spent=4)
    total = figures([one, three])
    assert (total["facts"], total["reachable"]) == (4, 0.25)
    assert (total["compactions"], total["tokens_spent"], total["turns"]) == (5, 7, 6)


def test_of_nothing_there_is_no_share() -> None:
    empty = figures([Survived(corpus=Corpus(id="e", turns=(), queries=()))])
    assert [empty[name] for name in ("reachable", "grounded", "written_share")] == [None] * 3


@settings(max_examples=scaled(60))
@given(
    words=st.lists(st.sampled_from(["rex", "dog", "shelter", "lyon", "一百人"]), max_size=5),
    more=st.lists(st.sampled_from(["rex", "dog", "shelter", "violin"]), max_size=5),
)
def test_more_lines_never_tell_less(words: list[str], more: list[str]) -> None:
    fewer, all_of = " ".join(words), " ".join([*words, *more])
    assert told(asked(REX, ["T1"], fewer)) <= told(asked(REX, ["T1"], all_of))


# ── through the real command ────────────────────────────────────────────────────────────────


def corpus(name: str = "made-up/群", **changes: Any) -> dict[str, Any]:
    said = [
        ("T1", "Ann", "I adopted a dog named Rex at the old shelter yesterday."),
        ("T2", "Bob", "Wow, that's great!"),
        ("T3", "Ann", "Thanks, Bob!"),
        ("T4", "Bob", "My violin quartet plays in Lyon next month."),
    ]
    return {
        "id": name,
        "turns": [
            {"id": id, "session": "1", "time": "2023-05-08T13:56:00", "speaker": who, "text": text}
            for id, who, text in said
        ],
        "facts": [
            {"text": "Ann adopted a dog named Rex.", "sources": ["T1"]},
            {"text": "Bob finds it great.", "sources": ["T2"]},
            {"text": "Ann has the dog Rex and Bob a violin quartet.", "sources": ["T1", "T4"]},
            {"text": "Ann thanks Bob for the violin.", "sources": ["T3", "T4"]},
        ],
        **changes,
    }


def write(file: Path, *values: Mapping[str, Any]) -> Path:
    text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in values)
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_text(text, encoding="utf-8")
    return file


def test_the_command_tells_each_corpus_and_the_summary_last(tmp_path: Path) -> None:
    file = write(tmp_path / "two.jsonl.gz", corpus(), corpus("second"))
    dump = tmp_path / "facts.jsonl"
    ran = inside(
        tmp_path / "home", "bench", "survival", str(file), "--strategy", "layered", "--window",
        "8000", "--compactions", "1", "--model", "rules", "--no-vector", "--dump", str(dump),
        "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    first, second, total = ran.lines

    # Two lines: "- B @Ann: adopted dog named Rex at old shelter 7 May 2023" and
    # "- W @Bob: violin quartet plays in Lyon June 2023", of 128 characters that were said.
    assert (first["corpus"], second["corpus"]) == ("made-up/群", "second")
    assert first["written_share"] == round((57 + 1 + 48 + 1) / (55 + 18 + 12 + 43), 4)
    assert (first["lines"], first["duplicates"], first["grounded"]) == (2, 0, 1.0)
    # T2 and T3 are in no line: of four facts the first and the third are left in memory.
    assert (first["memory_only"], first["memory_content"]) == (0.5, 0.5)
    assert first["reachable"] == 1.0
    assert total["summary"] is True
    assert (total["corpora"], total["facts"], total["turns"]) == (2, 8, 8)
    assert list(total)[-len(FIGURES) :] == FIGURES
    assert total["tokens_spent"] == 0
    assert not (tmp_path / "home").exists()

    facts = [json.loads(each) for each in dump.read_text(encoding="utf-8").splitlines()]
    assert [set(each) for each in facts] == [
        {"corpus", "fact", "sources", "reachable", "memory_only", "in_view", "lines"}
    ] * 8
    rex, great, both, _ = facts[:4]
    assert rex["lines"] == ["- B @Ann: adopted dog named Rex at old shelter 7 May 2023"]
    assert (rex["corpus"], rex["sources"]) == ("made-up/群", ["T1"])
    assert great["lines"] == []
    assert "T2" not in great["memory_only"]
    assert set(both["memory_only"]) == {"T1", "T4"}
    assert all(set(each["sources"]) <= set(each["reachable"]) for each in facts)


def long_corpus(turns: int) -> dict[str, Any]:
    places = ["Lyon", "Kyoto", "Boston", "Pune", "Oslo", "Lima", "Cairo"]
    things = ["violin", "garden", "bakery", "boat", "stove", "kite"]
    return corpus(
        turns=[
            {
                "id": f"T{n}",
                "time": f"2023-05-{1 + n // 10:02}T10:00:00",
                "speaker": "Ann" if n % 2 else "Bob",
                "text": f"I sold my {things[n % 6]} in {places[n % 7]} for {100 + n} dollars, and"
                f" my cousin {places[n % 7]}{n} bought the {things[(n + 1) % 6]} from me.",
            }
            for n in range(turns)
        ],
        facts=[
            {"text": f"A {things[n % 6]} was sold for {100 + n} dollars.", "sources": [f"T{n}"]}
            for n in range(0, turns, 4)
        ],
    )


def test_a_conversation_is_compacted_as_often_as_asked_at_least(tmp_path: Path) -> None:
    file = write(tmp_path / "long.jsonl", long_corpus(24))
    [(chat, facts)] = survival.read(file)
    done = survive(chat, facts, Plan(window=100_000, compactions=3, vectors=False))
    shown = done.to_json()
    assert shown["compactions"] == 3  # nothing forced it but the plan
    assert shown["flushes"] == 4  # and what was left when the session closed
    assert shown["reachable"] == shown["grounded"] == 1.0
    assert 0 < shown["memory_only"] <= 1
    assert 0 < shown["written_share"] < 1


def test_a_smaller_share_writes_less_and_keeps_less(tmp_path: Path) -> None:
    [(chat, facts)] = survival.read(write(tmp_path / "long.jsonl", long_corpus(30)))
    sizes, kept = [], []
    for share in (0.15, 0.6):
        plan = Plan(window=100_000, compactions=1, share=share, vectors=False)
        shown = survive(chat, facts, plan).to_json()
        sizes.append(shown["written_share"])
        kept.append(shown["memory_only"])
    assert sizes[0] < sizes[1]
    assert kept[0] < kept[1]


def test_recall_is_counted_apart(tmp_path: Path) -> None:
    [(chat, facts)] = survival.read(write(tmp_path / "one.jsonl", corpus()))
    shown = survive(chat, facts, Plan(recall=True, compactions=1, vectors=False)).to_json()
    assert shown["recalled"] >= shown["in_view"]


# ── what is refused ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"facts": []}, "no list 'facts'"),
        ({"facts": [{"text": "x"}]}, "no list 'sources'"),
        ({"facts": [{"sources": ["T1"]}]}, "no text 'text'"),
        ({"facts": [{"text": "x", "sources": ["T9"]}]}, "names a turn 'T9'"),
        ({"facts": ["x"]}, "no list 'sources'"),
    ],
)
def test_a_file_without_facts_is_refused(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    file = write(tmp_path / "bad.jsonl", corpus(**changes))
    with pytest.raises(HoldfastError) as refused:
        run(file, Plan(compactions=1, vectors=False))
    assert said in refused.value.message
    assert "line 1" in refused.value.message


def test_a_model_that_nobody_gave_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No model 'gpt-9'"):
        run(tmp_path / "missing.jsonl", Plan(model="gpt-9"))


def test_a_strategy_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no strategy 'layerd'") as refused:
        survival.strategy("layerd")
    assert "layered" in str(refused.value.hint)


def test_an_empty_file_has_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no corpus"):
        run(write(tmp_path / "empty.jsonl"), Plan())


def test_without_json_a_table_is_shown(tmp_path: Path) -> None:
    file, out = write(tmp_path / "one.jsonl", corpus("chat")), StringIO()
    with patch("sys.stdout", out):
        run(file, Plan(compactions=1, vectors=False))
    heading, *rows = out.getvalue().splitlines()
    assert heading.split()[:4] == ["corpus", "facts", "reachable", "memory_only"]
    assert [row.split()[0] for row in rows if row.strip()][-2:] == ["chat", "all"]


# ── public chats ────────────────────────────────────────────────────────────────────────────


@pytest.mark.data
def test_most_facts_of_a_public_chat_outlive_five_compactions(data_dir: Path) -> None:
    file = data_dir / "retrieval" / "locomo.jsonl.gz"
    [(chat, facts)] = survival.read(file, limit=1)
    asked = facts if SCALE > 1 else facts[::2]  # each is searched for twice
    shown = survive(chat, asked, Plan(vectors=False)).to_json()
    assert shown["facts"] == len(asked) > 50
    assert shown["compactions"] >= 5
    assert shown["reachable"] >= 0.97
    assert shown["memory_only"] >= 0.80
    assert shown["memory_content"] >= 0.60
    assert shown["written_share"] <= 0.35
    assert shown["grounded"] == 1.0
    assert shown["duplicates"] == 0
