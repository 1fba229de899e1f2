"""Nobody finds what is not theirs, and everybody finds what is: random readers over one index."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import pytest

from holdfast.errors import PolicyRefused
from holdfast.scope import OWNER, Place, may_read
from holdfast.search.documents import Chunk, Document
from holdfast.search.index.snapshot import Snapshot
from holdfast.search.query.pipeline import search
from holdfast.search.request import SearchRequest
from holdfast.testing.embedders import HashingEmbedder
from holdfast.types import ChatType, Scope
from tests.scale import scaled
from tests.search.small_index import NOW, Small

USERS = ["alice", "Alice", "bob", "小明", "o'brien", "a%", OWNER, ""]
CHATS = ["team", "Team", "家人", "' OR 1=1 --", "*", OWNER, ""]
CALLS = 2_000  # 20 000 at HOLDFAST_TEST_SCALE=10
SECRETS = ["cobalt", "saffron", "琥珀", "plan_7X"]


@dataclass(frozen=True)
class Stored:
    place: Place
    id: str
    secret: str


def places() -> list[Place]:
    """Every place there can be, also those of other tenants and agents, and narrowed ones."""
    made = []
    for tenant, agent in (("local", "main"), ("local", "other"), ("acme", "main")):
        for user in (None, *USERS):
            for chat in (None, *CHATS):
                try:
                    made.append(Place(tenant=tenant, agent=agent, user=user, chat=chat))
                except PolicyRefused:
                    continue
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Small, list[Stored]]]:
    small = Small.at(tmp_path_factory.mktemp("scope") / "index")
    stored = []
    draw = random.Random(5)
    every = places()
    draw.shuffle(every)
    # Half as documents of their own, half as narrowed lines of documents that others may read.
    for number in range(0, len(every), 2):
        pair = every[number : number + 2]
        document = Document(key=f"memory/topics/t{number}.md", source="topic", place=pair[0])
        chunks = []
        for n, place in enumerate(pair):
            secret = draw.choice(SECRETS)
            text = f"the colour {secret} of line x{number}n{n} is secret"
            chunks.append(Chunk(kind="text", text=text, place=place if n else None))
            stored.append(Stored(place=place, id=f"x{number}n{n}", secret=secret))
        small.put(document, chunks)
    yield small, stored
    small.index.close()


def a_reader(draw: random.Random) -> tuple[Scope, frozenset[str]]:
    kind: ChatType = draw.choice(["direct", "direct", "group", "channel"])
    reader = Scope(
        tenant=draw.choice(["local", "local", "acme"]),
        agent=draw.choice(["main", "main", "other"]),
        user=draw.choice([None, *USERS]),
        chat=draw.choice(CHATS) if draw.random() < (0.9 if kind != "direct" else 0.1) else None,
        chat_type=kind,
    )
    return reader, frozenset(draw.sample(CHATS, draw.randint(0, 3)))


def test_random_readers_find_their_own_and_nothing_else(
    filled: tuple[Small, list[Stored]],
) -> None:
    small, stored = filled
    draw = random.Random(6)
    foreign = found = 0
    for _ in range(scaled(CALLS)):
        reader, memberships = a_reader(draw)
        readable = [one for one in stored if may_read(reader, one.place, memberships=memberships)]
        secret = draw.choice(SECRETS)
        wanted = {one.id for one in readable if one.secret == secret}
        request = SearchRequest(
            query=secret,
            reader=reader,
            memberships=memberships,
            now=NOW,
            limit=len(stored),
            vectors=False,
        )
        result = search(request, small.index, zone=UTC)
        shown = {passage.text.split()[5] for passage in result.passages}
        foreign += len(shown - {one.id for one in readable})
        assert wanted <= shown
        assert bool(shown) == (result.why_empty is None)
        found += len(shown)
    assert foreign == 0
    assert found > scaled(CALLS) / 20


def test_vectors_and_filters_stay_inside_the_scope(filled: tuple[Small, list[Stored]]) -> None:
    small, stored = filled
    near = HashingEmbedder(same={"crimson": "cobalt"})
    small.embed(near)
    draw = random.Random(7)
    found = 0
    for _ in range(scaled(200)):
        reader, memberships = a_reader(draw)
        readable = {o.id for o in stored if may_read(reader, o.place, memberships=memberships)}
        request = SearchRequest(
            query=draw.choice(["crimson", "line", "秘密", "colour of plan_7X"]),
            reader=reader,
            memberships=memberships,
            now=NOW,
            limit=draw.choice([1, 6, 200]),
            source=draw.choice([None, "topic"]),
            explain=True,
        )
        result = search(request, small.index, zone=UTC, embedders=[near])
        shown = {passage.text.split()[5] for passage in result.passages}
        assert shown <= readable
        assert len(shown) == min(request.limit, len(readable))
        found += len(shown)
    assert found > 0


def test_a_foreign_row_that_an_index_returns_stops_the_search(
    filled: tuple[Small, list[Stored]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second lock: were a damaged index to mix up its places, nothing would be shown."""
    small, _ = filled
    right = Snapshot.places.fget  # type: ignore[attr-defined]

    def all_mine(snapshot: Snapshot) -> list[Place]:
        return [Place(tenant="local", agent="main") for _ in right(snapshot)]

    monkeypatch.setattr(Snapshot, "places", property(all_mine))
    request = SearchRequest(query="cobalt", reader=Scope(agent="main"), now=NOW, vectors=False)
    with pytest.raises(PolicyRefused, match="may not read"):
        search(request, small.index, zone=UTC)


def test_other_readers_words_do_not_change_a_score(fast_path: Path) -> None:
    mine = Place(tenant="local", agent="main")
    theirs = Place(tenant="local", agent="main", chat="team")
    small = Small.at(fast_path / "index")
    small.write("MEMORY.md", "- cobalt is a colour\n- saffron is a spice\n", place=mine)
    alone = small.find("cobalt spice")
    small.write("chats/team/MEMORY.md", "- cobalt cobalt spice\n" * 40, place=theirs)
    assert [p.score for p in small.find("cobalt spice").passages] == [
        p.score for p in alone.passages
    ]
    small.index.close()
