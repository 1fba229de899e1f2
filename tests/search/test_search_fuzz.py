"""No query is an error: any text, any syntax, any length is answered or told why not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import pytest

from holdfast.scope import Place
from holdfast.testing.embedders import HashingEmbedder
from tests.scale import scaled
from tests.search.small_index import Small

QUERIES = 2_000  # 20 000 at HOLDFAST_TEST_SCALE=10, 200 000 at 100

SYNTAX: Final = [
    *('"', "'", '""', "*", "^", "(", ")", "NEAR(", "NEAR/3", " AND ", " OR ", " NOT ", "-", "+"),
    *("{", "}", ":", "tokens:", "rank:", "\\", "%", "_", ";", "--", "/*", "\x00", "\x01p1", "?"),
    *(
        "SELECT * FROM body",
        "'; DROP TABLE chunk; --",
        "p1",
        "\ufeff",
        "\u202e",
        "\u200d",
        "\ud800",
    ),
    *(
        "last week",
        "上个月",
        "since",
        "before 0000-00-00",
        "between 9999-99-99 and",
        "99999999 ago",
    ),
    *(
        "tea",
        "茶",
        "Alice",
        "ERR_4042",
        "e\u0301",
        "👨‍👩‍👧",
        "İ",
        "ß",
        "\u0345",
        "ﷺ",
        "٣",
        "①",
        "한국",
        "กำ",
    ),
]
RANGES: Final = [(0, 0x7F), (0x80, 0x2FF), (0x300, 0x36F), (0x4E00, 0x9FFF), (0, 0x10FFFF)]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    made = Small.at(tmp_path_factory.mktemp("fuzz") / "index")
    made.write("MEMORY.md", "# Drinks\n\n- Alice likes tea\n- 张伟喜欢喝茶\n- See ERR_4042\n")
    made.write("memory/2026-03-04.md", "- last week Alice was away, e\u0301clair \u202e 👨‍👩‍👧\n")
    made.say("s1", ("Alice", "tea?"), ("Bob", "一起喝茶吗"), ("user", "\x00 NEAR( \ud800"))
    made.write("chats/x/MEMORY.md", "- foreign tea 茶 ERR_4042\n", place=THEIRS)
    yield made
    made.index.close()


THEIRS: Final = Place(tenant="local", agent="main", chat="x")


def a_character(draw: random.Random) -> str:
    return chr(draw.randint(*draw.choice(RANGES)))


def a_query(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.5:
        return "".join(draw.choice(SYNTAX) for _ in range(draw.randint(1, 8)))
    if kind < 0.9:
        return "".join(a_character(draw) for _ in range(draw.randint(0, 40)))
    return " ".join(
        draw.choice([draw.choice(SYNTAX), a_character(draw)]) for _ in range(draw.randint(1, 40))
    )


def test_random_queries_are_answered_or_told_why_not(small: Small) -> None:
    draw = random.Random(11)
    answered = 0
    for _ in range(scaled(QUERIES)):
        query = a_query(draw)
        result = small.find(query, limit=draw.choice([1, 6, 50]))
        assert bool(result.passages) == (result.why_empty is None), repr(query)
        assert not any("foreign" in passage.text for passage in result.passages), repr(query)
        answered += bool(result.passages)
    assert answered > scaled(QUERIES) / 4


def test_random_queries_with_vectors_filters_and_explanations(small: Small) -> None:
    near = HashingEmbedder()
    small.embed(near)
    draw = random.Random(12)
    for _ in range(scaled(150)):
        query = a_query(draw)
        result = small.find(
            query,
            embedders=[near],
            explain=True,
            entity=draw.choice([None, None, None, a_query(draw).strip() or None]),
            session=draw.choice([None, None, None, "s1", a_query(draw).strip() or None]),
            snippet_chars=draw.choice([1, 20, 700]),
            max_chars=draw.choice([None, 1, 40]),
            content=draw.choice([None, small.content]),
        )
        assert bool(result.passages) == (result.why_empty is None), repr(query)
        result.to_json()


@pytest.mark.parametrize("piece", ["tea ", "茶", '"', "a_b.c/d@e ", "\u0301", "<!--", "1月", "?"])
def test_a_hundred_kilobytes_are_a_query_too(small: Small, piece: str) -> None:
    result = small.find(piece * (100_000 // len(piece.encode("utf-8"))))
    assert result.degraded[0].startswith("query: only the first")
    assert bool(result.passages) == (result.why_empty is None)
