"""Nobody reads what is not theirs: the predicate, its SQL twin, narrowing and access rules."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from holdfast.config import ScopeMatch, ScopeRule
from holdfast.errors import PolicyRefused
from holdfast.retain import RetainLine
from holdfast.scope import (
    OWNER,
    Columns,
    Place,
    allowed,
    folder,
    may_read,
    may_read_here,
    may_read_line,
    narrow,
    place_of,
    row,
    sql_condition,
)
from holdfast.types import ChatType, Scope
from tests.scale import scaled

NAMES = [
    "alice",
    "Alice",
    "alicé",
    "bob",
    "user",
    "owner",
    "local",
    "o'brien",
    'say "hi"',
    "100%",
    "a_b",
    "a%",
    "%",
    "_",
    "?",
    "*",
    "' OR 1=1 --",
    "'') OR (''='",
    '"tenant"',
    "[x]",
    "a;b",
    "a\\b",
    "\n",
    " ",
    "NULL",
    "0",
    "小明",
    "😀",
    "@",
]
RESERVED = ["", OWNER]
FEW = NAMES[:3]


def a_reader(draw: random.Random, names: Sequence[str] = NAMES) -> Scope:
    """Any reader a door could make, also those that contradict themselves."""
    kind: ChatType = draw.choice(["direct", "group", "channel"])
    any_name = [*names, *RESERVED]
    return Scope(
        tenant=draw.choice(["local", "local", "o'neil"]),
        agent=draw.choice(["main", "main", '"main"']),
        user=draw.choice(any_name) if draw.random() < 0.6 else None,
        chat=draw.choice(any_name) if draw.random() < (kind != "direct") * 0.8 + 0.1 else None,
        chat_type=kind,
    )


def a_place(draw: random.Random, names: Sequence[str] = NAMES) -> Place:
    user = draw.choice(names) if draw.random() < 0.5 else None
    chat = draw.choice(names) if draw.random() < 0.6 else None
    return Place(
        tenant=draw.choice(["local", "local", "o'neil"]),
        agent=draw.choice(["main", "main", '"main"']),
        user=OWNER if chat and draw.random() < 0.1 else user,
        chat=chat,
    )


def some_chats(draw: random.Random, names: Sequence[str] = NAMES) -> frozenset[str]:
    return frozenset(draw.choices([*names, *RESERVED], k=draw.choice([0, 0, 1, 3, 20])))


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, agent TEXT NOT NULL,"
        ' "user" TEXT NOT NULL, chat TEXT NOT NULL)'
    )
    yield connection
    connection.close()


def test_the_condition_selects_exactly_what_the_predicate_allows(
    database: sqlite3.Connection,
) -> None:
    draw = random.Random(20)
    places = [a_place(draw) for _ in range(1000)]
    database.executemany(
        'INSERT INTO notes (tenant, agent, "user", chat) VALUES (?, ?, ?, ?)', map(row, places)
    )
    readable = 0
    for _ in range(scaled(300)):  # 300 000 pairs
        reader, chats = a_reader(draw), some_chats(draw)
        condition, parameters = sql_condition(reader, chats)
        found = database.execute(f"SELECT id FROM notes WHERE {condition}", parameters)  # noqa: S608
        expected = {
            number
            for number, place in enumerate(places, start=1)
            if may_read(reader, place, memberships=chats)
        }
        assert {number for (number,) in found} == expected, (reader, chats)
        readable += len(expected)
    assert readable > 500  # the two do not merely agree on nothing


def test_what_is_read_is_always_the_readers_own_or_shared_with_them() -> None:
    draw = random.Random(9)
    for _ in range(scaled(20_000)):
        reader, place, chats = a_reader(draw, FEW), a_place(draw, FEW), some_chats(draw, FEW)
        if not may_read(reader, place, memberships=chats):
            continue
        assert (reader.tenant, reader.agent) == (place.tenant, place.agent)
        if reader.chat_type != "direct":
            assert (place.user, place.chat) == (None, reader.chat)
        elif place.chat is None:
            assert place.user == reader.user
        else:
            assert place.chat in chats
            assert place.user in (None, reader.user or OWNER)


OWN = Place(tenant="local", agent="main")
ANNS = Place(tenant="local", agent="main", user="ann")
TEAM = Place(tenant="local", agent="main", chat="team")

owner = Scope(agent="main")
ann = Scope(agent="main", user="ann")
team = Scope(agent="main", chat="team", chat_type="group")
ann_in_team = Scope(agent="main", user="ann", chat="team", chat_type="group")
news = Scope(agent="main", chat="news", chat_type="channel")


@pytest.mark.parametrize(
    ("reader", "chats", "readable"),
    [
        (owner, set(), {OWN}),
        (owner, {"team"}, {OWN, TEAM}),
        (ann, set(), {ANNS}),
        (ann, {"team", "news"}, {ANNS, TEAM}),
        (team, set(), {TEAM}),
        (team, {"team", "news"}, {TEAM}),
        (ann_in_team, {"team"}, {TEAM}),
        (news, {"team"}, set()),
        (Scope(agent="main", tenant="other"), {"team"}, set()),
        (Scope(agent="other"), {"team"}, set()),
        (Scope(agent="main", chat="team"), {"team"}, set()),
        (Scope(agent="main", chat_type="group"), {"team"}, set()),
        (Scope(agent="main", user=""), {"team"}, set()),
        (Scope(agent="main", user=OWNER), {"team"}, set()),
    ],
)
def test_each_reads_their_own_folder_and_the_chats_they_belong_to(
    reader: Scope, chats: set[str], readable: set[Place]
) -> None:
    memberships = frozenset(chats)
    assert {
        place for place in (OWN, ANNS, TEAM) if may_read(reader, place, memberships=memberships)
    } == readable


def test_speakers_write_where_they_can_read() -> None:
    assert [place_of(who) for who in (owner, ann, team, ann_in_team)] == [OWN, ANNS, TEAM, TEAM]
    for who in (owner, ann, team, ann_in_team, news):
        assert may_read(who, place_of(who))


@pytest.mark.parametrize(
    "scope",
    [
        Scope(agent="main", chat="team"),
        Scope(agent="main", chat_type="group"),
        Scope(agent="main", chat="", chat_type="group"),
        Scope(agent="main", user=""),
        Scope(agent="main", user=OWNER),
    ],
)
def test_a_speaker_who_contradicts_himself_has_no_place(scope: Scope) -> None:
    with pytest.raises(PolicyRefused, match="no place of its own"):
        place_of(scope)


def test_a_place_is_a_folder_under_the_agents() -> None:
    assert [folder(place) for place in (OWN, ANNS, TEAM)] == [
        (),
        ("users", "ann"),
        ("chats", "team"),
    ]
    with pytest.raises(PolicyRefused):
        folder(Place(tenant="local", agent="main", user=".."))
    with pytest.raises(PolicyRefused, match="narrowed"):
        folder(Place(tenant="local", agent="main", user="ann", chat="team"))


def test_narrowing_never_adds_a_reader() -> None:
    some = [None, "x", "y"]
    kinds: list[ChatType] = ["direct", "group"]
    readers = [
        Scope(agent="main", user=user, chat=chat, chat_type=kind)
        for user, chat, kind in product(some, some, kinds)
    ]
    places = [
        Place(tenant="local", agent="main", user=user, chat=chat)
        for user, chat in product([*some, OWNER], some)
        if not (user == OWNER and chat is None)
    ]
    memberships = [frozenset(chats) for chats in ("", "x", "y", "xy")]
    read = 0
    for place, user, chat in product(places, [*some, *RESERVED], [*some, *RESERVED]):
        narrower = narrow(place, user=user, chat=chat)
        for reader, chats in product(readers, memberships):
            if narrower is not None and may_read(reader, narrower, memberships=chats):
                assert may_read(reader, place, memberships=chats)
                read += narrower != place
    assert read > 20


def test_a_line_is_for_the_readers_of_its_part_of_the_place() -> None:
    draw = random.Random(7)
    seen = 0
    for _ in range(scaled(500)):
        reader, place, chats = a_reader(draw, FEW), a_place(draw, FEW), some_chats(draw, FEW)
        user, chat = draw.choice([None, *FEW, ""]), draw.choice([None, *FEW])
        part = narrow(place, user=user, chat=chat)
        may = part is not None and may_read(reader, part, memberships=chats)
        assert may_read_line(reader, place, user=user, chat=chat, memberships=chats) == may
        seen += may
    assert seen


def test_what_is_narrowed_in_the_readers_own_folder_is_not_for_everybody_there() -> None:
    for_all, for_ann = RetainLine(kind="W", text="x"), RetainLine(kind="W", text="x", user="ann")
    for who in (owner, ann, team, ann_in_team, None):
        assert may_read_here(who, for_all)
    assert [may_read_here(who, for_ann) for who in (owner, ann, team, ann_in_team, None)] == [
        False, True, False, False, False
    ]  # fmt: skip


def test_a_narrowed_line_is_for_those_who_may_read_both() -> None:
    for_ann = narrow(TEAM, user="ann")
    assert for_ann == narrow(ANNS, chat="team")
    assert for_ann is not None
    chats = frozenset({"team"})
    assert may_read(ann, for_ann, memberships=chats)
    assert not may_read(ann, for_ann)
    for other in (owner, team, ann_in_team):
        assert not may_read(other, for_ann, memberships=chats)

    for_owner = narrow(TEAM, user=OWNER)
    assert for_owner == narrow(OWN, chat="team")
    assert for_owner is not None
    assert may_read(owner, for_owner, memberships=chats)
    assert not may_read(ann, for_owner, memberships=chats)

    assert narrow(OWN, user="ann") is None
    assert narrow(ANNS, user="bob") is None
    assert narrow(TEAM, chat="news") is None
    assert narrow(OWN) == OWN == narrow(OWN, user=OWNER)


@pytest.mark.parametrize(("user", "chat"), [("", None), (None, ""), (OWNER, None), (None, OWNER)])
def test_there_is_no_place_of_nobody(user: str | None, chat: str | None) -> None:
    with pytest.raises(PolicyRefused):
        Place(tenant="local", agent="main", user=user, chat=chat)


def test_a_row_without_scope_is_nobodys(database: sqlite3.Connection) -> None:
    database.execute('CREATE TABLE loose (tenant TEXT, agent TEXT, "user" TEXT, chat TEXT)')
    database.executemany(
        "INSERT INTO loose VALUES (?, ?, ?, ?)",
        [("local", "main", None, None), ("local", "main", "", None), ("local", "main", None, "")],
    )
    for reader in (owner, ann, team):
        condition, parameters = sql_condition(reader, frozenset({"team"}))
        query = f"SELECT count(*) FROM loose WHERE {condition}"  # noqa: S608
        assert database.execute(query, parameters).fetchone() == (0,)


def test_columns_may_have_other_names_and_a_table() -> None:
    columns = Columns(tenant="c.tenant_id", agent="agent", user="c.user", chat="chat_1")
    condition, _ = sql_condition(owner, columns=columns)
    assert '"c"."tenant_id" = ?' in condition
    assert "\"chat_1\" = ''" in condition


@pytest.mark.parametrize(
    "column", ["", "a b", 'a"', "a;--", "a.b.c", ".a", "a.", "1a", "a' OR '1", "ä", "a\n", "x" * 64]
)
def test_a_column_that_is_no_identifier_is_refused(column: str) -> None:
    with pytest.raises(ValueError, match="not the name of a column"):
        sql_condition(owner, columns=Columns(user=column))


def test_values_never_stand_in_the_condition() -> None:
    draw = random.Random(1)
    for _ in range(500):
        condition, parameters = sql_condition(a_reader(draw), some_chats(draw))
        assert condition.count("?") == len(parameters)
        assert "1=1" not in condition
        assert "alice" not in condition


# ── access rules ────────────────────────────────────────────────────────────────────────────


def test_by_default_only_direct_chats_use_memory() -> None:
    rules = [ScopeRule(action="allow", match=ScopeMatch(chat_type="direct"))]
    assert [allowed(who, rules) for who in (owner, ann, team, news)] == [True, True, False, False]


def test_the_first_rule_that_applies_decides() -> None:
    rules = [
        ScopeRule(action="deny", match=ScopeMatch(user="ann", chat_type="group")),
        ScopeRule(action="allow", match=ScopeMatch(chat="team")),
        ScopeRule(action="deny"),
        ScopeRule(action="allow"),
    ]
    assert allowed(team, rules)
    assert not allowed(ann_in_team, rules)
    assert not allowed(owner, rules, default="allow")


def test_without_a_rule_that_applies_the_default_decides() -> None:
    rules = [ScopeRule(action="allow", match=ScopeMatch(agent="other"))]
    assert not allowed(owner, rules)
    assert not allowed(owner, [], default="deny")
    assert allowed(owner, rules, default="allow")


def test_the_owner_can_be_named_in_a_rule() -> None:
    rules = [ScopeRule(action="allow", match=ScopeMatch(user=OWNER))]
    assert [allowed(who, rules) for who in (owner, ann)] == [True, False]


def test_a_chat_that_contradicts_itself_is_never_allowed() -> None:
    assert not allowed(Scope(agent="main", chat="team"), [], default="allow")
    assert not allowed(Scope(agent="main", user=OWNER), [], default="allow")
