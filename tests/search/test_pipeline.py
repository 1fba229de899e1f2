"""One search from end to end over a real index: what is found, in which order, and what is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.errors import UsageError
from holdfast.search.documents import Chunk, Document
from holdfast.search.query.exactness import identifiers
from holdfast.search.query.tuning import Tuning
from holdfast.testing.embedders import HashingEmbedder
from holdfast.types import Citation
from tests.search.small_index import ME, MINE, NOW, Small, citations, texts


@pytest.fixture
def small(fast_path: Path) -> Iterator[Small]:
    made = Small.at(fast_path / "index")
    yield made
    made.index.close()


MEMORY = """# Drinks

- Alice likes green tea with honey
- Bob drinks black coffee

# Work

- The billing service runs on port 8443
- 张伟喜欢在西湖边喝龙井茶
"""


def test_a_passage_is_found_with_its_lines_and_its_headings(small: Small) -> None:
    small.write("MEMORY.md", MEMORY)
    found = small.find("Who likes green tea?", content=small.content)
    first = found.passages[0]
    assert "Alice likes green tea" in first.text
    assert first.citation == "MEMORY.md#L3"
    assert first.context == "Drinks"
    assert first.source == "memory"
    assert found.degraded == ()
    assert found.why_empty is None


def test_chinese_is_found_by_a_question_a_word_and_a_single_character(small: Small) -> None:
    small.write("MEMORY.md", MEMORY)
    for query in ("张伟喜欢喝什么茶？", "龙井", "湖"):
        assert "龙井茶" in texts(small.find(query))[0]


def test_a_turn_is_cited_by_its_entry_and_tells_who_spoke(small: Small) -> None:
    small.say("s1", ("Alice", "Shall we go to Kyoto?"), ("Bob", "Kyoto in May, yes."))
    first = small.find("When do they go to Kyoto in May?").passages[0]
    assert first.citation == "sessions/s1#s1-1"
    assert (first.speaker, first.kind, first.entries) == ("Bob", "turn", ("s1-1",))


def test_no_more_passages_than_asked_for_and_the_best_first(small: Small) -> None:
    small.write("MEMORY.md", "\n".join(f"- note {n} about tea and cup{n}" for n in range(30)))
    found = small.find("tea cup7", limit=4)
    assert len(found.passages) == 4
    assert "cup7" in found.passages[0].text
    scores = [passage.score for passage in found.passages]
    assert scores == sorted(scores, reverse=True)


def test_an_identifier_stands_before_what_is_only_alike(small: Small) -> None:
    near = HashingEmbedder(same={"failure": "error", "crash": "error", "broken": "error"})
    small.write(
        "MEMORY.md",
        "\n\n".join(
            ["The crash and failure of the broken deploy error, an error of errors in deploying"]
            * 3
            + ["See ERR_4042 in the wiki, long ago and far away, nothing else to say about it"]
        ),
    )
    small.embed(near)
    found = small.find("deploy error crash failure broken ERR_4042", embedders=[near])
    assert "ERR_4042" in found.passages[0].text


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("what is ERR_4042?", ("err_4042",)),
        ("see src/holdfast/scope.py", ("src/holdfast/scope.py",)),
        ("mail alice@example.org", ("alice@example.org",)),
        ("ticket ABC-1234, please", ("abc-1234",)),
        ("the 2nd of May 2026-03-04 at 10:30", ()),
        ("an e-mail and/or a well-known 1990s song", ()),
        ("我的工单是ABC-1234吗", ()),
    ],
)
def test_identifiers_are_what_names_one_thing(query: str, named: tuple[str, ...]) -> None:
    assert identifiers(query) == named


def test_what_holds_every_word_is_found_among_thousands_that_hold_most(small: Small) -> None:
    crowd = [
        Chunk(kind="text", text="alpha beta alpha beta gamma beta alpha gamma " + f"n{n}")
        for n in range(1500)
    ]
    long = "alpha then " + "much else happened on that day, " * 40 + "beta gamma and at last delta"
    place = Document(key="memory/topics/x.md", source="topic", place=MINE)
    small.put(place, [*crowd, Chunk(kind="text", text=long)])
    small.put(replace(place, key="other.md"), [Chunk(kind="text", text="delta")] * 800)
    found = small.find("alpha beta gamma delta", limit=3, snippet_chars=4000)
    assert long in texts(found)


def test_the_same_thing_in_memory_and_in_a_conversation_is_one_passage(small: Small) -> None:
    small.write("MEMORY.md", "- The launch is on 12 May in Berlin\n")
    small.write("memory/topics/launch.md", "- The launch is on 12 May in Berlin\n")
    found = small.find("When is the launch?")
    assert len(found.passages) == 1
    trace = found.passages[0].trace
    assert trace is not None
    assert isinstance(trace["also"], list)
    assert set(map(str, trace["also"])) | set(citations(found)) == {
        "MEMORY.md#L1",
        "memory/topics/launch.md#L1",
    }


def test_of_two_logs_about_as_good_the_newer_comes_first_unless_a_time_is_named(
    small: Small,
) -> None:
    small.write("memory/2024-05-02-standup.md", "- standup about the launch plan\n")
    small.write("memory/2026-03-09-standup.md", "- standup about the launch plans\n")
    assert citations(small.find("standup launch plan"))[0].startswith("memory/2026-03-09")
    named = small.find("standup launch plan in May 2024")
    assert citations(named)[0].startswith("memory/2024-05-02")


def test_passages_fit_into_characters_and_tokens_together(small: Small) -> None:
    small.write("MEMORY.md", "\n\n".join(f"tea {n} " + "word " * 100 for n in range(8)))
    found = small.find("tea", max_chars=900, snippet_chars=300)
    assert sum(map(len, texts(found))) <= 900
    assert len(found.passages) == 3
    few = small.find("tea", max_tokens=30, count_tokens=lambda text: len(text.split()))
    assert sum(len(text.split()) for text in texts(few)) <= 30
    assert len(small.find("tea", max_chars=5).passages) == 1


def test_what_changed_since_it_was_indexed_is_not_shown_and_is_named(small: Small) -> None:
    small.write("MEMORY.md", MEMORY)
    small.files["MEMORY.md"] = "new first line\n\n" + MEMORY.replace("green tea", "oolong")
    found = small.find("green tea coffee", content=small.content)
    assert "Alice" not in "".join(texts(found))
    assert found.degraded == ("stale: MEMORY.md changed since it was indexed",)
    assert citations(found)[0] == "MEMORY.md#L6"


def test_nothing_that_has_no_word_of_the_query_is_a_result(small: Small) -> None:
    small.write("MEMORY.md", MEMORY)
    assert len(small.find("coffee").passages) == 1


def test_a_fact_is_found_by_kind_entity_and_time(small: Small) -> None:
    document = Document(key="bank/alice.md", source="bank", place=MINE)
    year = timedelta(days=365)
    small.put(
        document,
        [
            Chunk(
                kind="fact",
                text="@Alice: lives in Paris",
                fact_kind="W",
                entities=("Alice",),
                at=NOW - 3 * year,
                since=NOW - 3 * year,
                until=NOW - year,
            ),
            Chunk(
                kind="fact",
                text="@Alice: lives in Rome",
                fact_kind="W",
                entities=("Alice",),
                at=NOW - year,
                since=NOW - year,
            ),
            Chunk(kind="fact", text="@Bob: lives in Oslo", fact_kind="O", entities=("Bob",)),
        ],
    )
    assert set(texts(small.find("lives"))) == {"@Alice: lives in Rome", "@Bob: lives in Oslo"}
    assert texts(small.find("lives", kind="W")) == ["@Alice: lives in Rome"]
    assert texts(small.find("lives", entity="alice")) == ["@Alice: lives in Rome"]
    aliases = {"Alice": ["Ally", "爱丽丝"]}
    assert texts(small.find("lives", entity="爱丽丝", aliases=aliases)) == ["@Alice: lives in Rome"]
    then = (NOW - 2 * year).date()
    assert texts(small.find("lives", as_of=then)) == ["@Alice: lives in Paris"]
    explained = small.find("lives", until=date(2024, 1, 1), explain=True)
    assert texts(explained) == []
    assert explained.degraded == ("time: 1 passage without a date was left out",)
    filters = explained.trace["filters"]
    assert isinstance(filters, dict)
    assert filters["left_out_without_date"] == 1


def test_an_alias_is_looked_for_beside_the_name(small: Small) -> None:
    small.write("MEMORY.md", "- Pete prefers oat milk\n\n- The fence is green\n")
    aliases = {"Peter Miller": ["Pete"]}
    assert texts(small.find("Peter Miller")) == []
    assert "oat milk" in texts(small.find("Peter Miller", aliases=aliases))[0]
    off = small.find("Peter Miller", aliases=aliases, tuning=Tuning(expand=False))
    assert texts(off) == []


def test_weights_that_are_set_move_the_balance(small: Small) -> None:
    near = HashingEmbedder(same={"feline": "cat"})
    small.write("MEMORY.md", "- the cat sleeps\n- feline feline\n- the dog barks\n")
    small.embed(near)
    by_words = small.find("cat", embedders=[near], tuning=Tuning(vector_weight=0.0))
    assert "cat sleeps" in by_words.passages[0].text
    by_meaning = small.find("cat", embedders=[near], tuning=Tuning(text_weight=0.0))
    assert "feline" in by_meaning.passages[0].text


def test_the_trace_tells_terms_times_legs_filters_and_every_stage(small: Small) -> None:
    small.write("MEMORY.md", MEMORY)
    small.write("memory/2026-03-04.md", "- tea with Carol\n")
    found = small.find("green tea on 4 March 2026", explain=True)
    assert set(found.trace) >= {"parts", "speakers", "times", "legs", "filters", "stages_ms"}
    legs = found.trace["legs"]
    assert isinstance(legs, dict)
    words = legs["words"]
    assert isinstance(words, dict)
    assert words["tea"] == 2
    trace = found.passages[0].trace
    assert trace is not None
    assert isinstance(trace["stages"], dict)
    assert next(iter(trace["stages"])) == "ranking"
    assert list(trace["stages"])[-1] in ("value", "variety")
    assert small.find("green tea").trace == {}


def test_a_search_without_time_says_what_did_not_run_and_still_answers(small: Small) -> None:
    small.write("MEMORY.md", MEMORY)
    found = small.find("green tea", timeout_ms=0)
    assert "Alice likes green tea" in found.passages[0].text
    assert found.degraded == ("deadline: 0 ms were over before close ranking, variety",)


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"snippet_chars": 0}, {"max_chars": 0}, {"max_tokens": -1}]
)
def test_numbers_that_make_no_sense_are_refused(small: Small, wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        small.find("tea", **wrong)
    with pytest.raises(UsageError):
        small.find("tea", now=datetime(2026, 3, 4))  # noqa: DTZ001 - what is refused


def test_what_did_not_run_before_is_passed_on(small: Small) -> None:
    small.write("MEMORY.md", MEMORY)
    found = small.find("tea", degraded=["catching up: 3 files are not indexed yet"])
    assert found.degraded == ("catching up: 3 files are not indexed yet",)


def test_each_part_of_a_question_is_answered(small: Small) -> None:
    small.write("MEMORY.md", MEMORY + "\n".join(f"- green tea number {n}" for n in range(20)))
    found = small.find("Who likes green tea? Also, which port has the billing service?", limit=4)
    assert any("8443" in text for text in texts(found)[:2])


def test_a_citation_is_asked_for_only_where_a_passage_is_shown(small: Small) -> None:
    small.write("MEMORY.md", "\n".join(f"- tea {n}" for n in range(50)))
    asked: list[str] = []

    def content(citation: Citation) -> str | None:
        asked.append(citation.source)
        return small.files[citation.source]

    assert len(small.find("tea", content=content, limit=3).passages) == 3
    assert asked == ["MEMORY.md"]


def test_the_reader_of_a_group_does_not_see_the_private_folder(small: Small) -> None:
    small.write("MEMORY.md", MEMORY)
    group = replace(ME, chat="team", chat_type="group")
    found = small.find("green tea", reader=group)
    assert found.passages == ()
    assert found.why_empty is not None
    assert "Nothing is remembered here yet" in found.why_empty


def test_now_decides_how_old_something_is(small: Small) -> None:
    small.write("memory/2026-03-04.md", "- yesterday was quiet, tea was served\n")
    early = small.find("tea", now=datetime(2020, 1, 1, tzinfo=UTC), explain=True).passages[0]
    late = small.find("tea", now=datetime(2030, 1, 1, tzinfo=UTC), explain=True).passages[0]
    assert early.score >= late.score
