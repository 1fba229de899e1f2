"""A file becomes chunks by its structure, and every line of it is found under its own number."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.markdown import Block, parse, split_lines
from holdfast.memory.tasks import Lesson, Mishap, Task
from holdfast.memory.tasks.record import render as render_task
from holdfast.retain import RetainLine, render
from holdfast.retain.documents import lines as memory_lines
from holdfast.scope import OWNER, Place
from holdfast.search.chunking import (
    chunk_markdown,
    classify,
    embedded_text,
    searched_text,
    storable,
)
from holdfast.search.chunking.files import _is_comment
from holdfast.search.documents import Chunk, Document, SourceKind
from holdfast.text import strip_hidden
from tests.scale import scaled

ZONE = timezone(timedelta(hours=8))
OWN = Place(tenant="local", agent="main")
TEAM = Place(tenant="local", agent="main", chat="team")
REPOSITORY = Path(__file__).parents[2]


def document(
    key: str = "memory/topics/travel.md", *, place: Place = OWN, title: str = ""
) -> Document:
    source, day = classify(key)
    return Document(key=key, source=source, place=place, day=day, title=title)


def chunked(text: str, key: str = "memory/topics/travel.md", place: Place = OWN) -> list[Chunk]:
    return chunk_markdown(document(key, place=place), text, zone=ZONE)


def only(text: str, key: str = "memory/topics/travel.md", place: Place = OWN) -> Chunk:
    (chunk,) = chunked(text, key, place)
    return chunk


# ── what is one chunk ───────────────────────────────────────────────────────────────────────


def test_each_list_item_is_a_chunk_under_its_headings() -> None:
    text = (
        "# Japan\n\n## Food\n\n- ramen in Fukuoka\n- 拉面\n  not too hot\n\n"
        "## Trains\n\n1. buy a pass\n"
    )
    found = chunked(text)
    assert [(c.kind, c.context, c.text, str(c.span)) for c in found] == [
        ("item", "Japan › Food", "- ramen in Fukuoka", "L5"),
        ("item", "Japan › Food", "- 拉面\n  not too hot", "L6-L7"),
        ("item", "Japan › Trains", "1. buy a pass", "L11"),
    ]


def test_short_inner_items_stay_with_theirs_and_long_ones_know_it() -> None:
    short = only("- pack\n  - socks\n  - tea\n")
    assert short.text == "- pack\n  - socks\n  - tea"
    inner = "".join(f"  - {name} {'x' * 90}\n" for name in ("a", "b", "c", "d", "e", "f"))
    outer, *rest = chunked(f"# Trip\n- pack\n{inner}")
    assert outer.text == "- pack"
    assert [c.text[:3] for c in rest] == ["- a", "- b", "- c", "- d", "- e", "- f"]
    assert {c.context for c in rest} == {"Trip › pack"}


def test_what_introduces_a_list_is_context_of_its_items() -> None:
    found = chunked("Still to buy:\n\n- milk\n- eggs\n\nDone.\n\n- nothing\n")
    assert [(c.text, c.context) for c in found] == [
        ("Still to buy:", ""),
        ("- milk", "Still to buy:"),
        ("- eggs", "Still to buy:"),
        ("Done.", ""),
        ("- nothing", ""),
    ]


def test_paragraphs_of_a_section_are_put_together_and_never_across_a_heading() -> None:
    found = chunked("# A\n\none.\n\ntwo.\n\n> three\n\n# B\n\nfour.\n")
    assert [(c.text, c.context) for c in found] == [
        ("one.\n\ntwo.\n\n> three", "A"),
        ("four.", "B"),
    ]
    long = "\n\n".join(f"Paragraph {i} {'says much ' * 20}." for i in range(9))
    assert all(400 < len(c.text) <= 800 for c in chunked(long)[:-1])


@pytest.mark.parametrize("sentence", ["The ferry leaves at nine. ", "渡轮早上九点从老码头出发。"])
def test_a_very_long_paragraph_is_cut_at_sentences_and_nothing_is_said_twice(sentence: str) -> None:
    found = chunked(sentence * 200)
    assert [c.part for c in found] == list(range(len(found)))
    assert all(c.text.endswith(sentence.strip()[-3:]) for c in found)
    assert sum(c.text.count(sentence.strip()) for c in found) == 200


def test_code_is_whole_up_to_a_size_and_then_ends_at_blank_lines() -> None:
    assert only("```python\na = 1\n\n- no item\n```\n").text.startswith("```python\na = 1")
    block = "".join(f"def f{i}():\n    return {i} * {'9' * 60}\n\n" for i in range(40))
    found = chunked(f"# Code\n```python\n{block}```\n")
    assert len(found) > 1
    assert {c.kind for c in found} == {"code"}
    assert all(c.text.startswith(("```python\ndef", "def")) for c in found)
    assert all(len(c.text) <= 1_500 for c in found)


def test_every_part_of_a_table_knows_its_header() -> None:
    rows = "".join(f"| city {i} | {'long ' * 15}|\n" for i in range(30))
    first, *rest = chunked(f"## Trip\n| place | why |\n|---|---|\n{rows}")
    assert first.text.startswith("| place | why |")
    assert first.context == "Trip"
    assert rest
    assert {c.context for c in rest} == {"Trip › place, why"}
    assert not any("place" in c.text for c in rest)
    numbers = [n for c in (first, *rest) if c.span for n in range(c.span.start, c.span.end + 1)]
    assert numbers == list(range(2, 34))


def test_an_empty_section_is_found_by_its_heading_and_rules_and_comments_by_nothing() -> None:
    found = chunked("# Plans\n\n<!-- how to write here -->\n\n---\n\n## Lisbon\n\n## Retain\n")
    assert [(c.text, c.context) for c in found] == [("## Lisbon", "Plans")]
    assert [c.text for c in chunked("<!-- never closed\n\nlost?\n")] == [
        "<!-- never closed\n\nlost?"
    ]


def test_a_heading_too_long_for_a_context_is_a_chunk_itself() -> None:
    title = "why " * 100 + "zanzibar"
    found = chunked(f"# {title}\n\nbecause\n")
    assert found[0].text.endswith("zanzibar")
    assert len(found[1].context) <= 120
    assert found[1].context.endswith("…")


def test_front_matter_is_one_chunk() -> None:
    found = chunked("---\ntags: [tea]\n---\n\n# T\n\ntext\n")
    assert [(c.text, str(c.span)) for c in found] == [
        ("---\ntags: [tea]\n---", "L1-L3"),
        ("text", "L7"),
    ]


def test_a_task_record_is_cut_by_section() -> None:
    task = Task(
        id="t1",
        title="Fix the login crash",
        request="Please fix it",
        progress=("looked", "fixed"),
        result="It works",
        errors=(Mishap(what="timeout", fix="retry", from_tool=True),),
        patterns=(Lesson(text="read the log first"),),
        opened=date(2026, 3, 14),
        trust="agent",
    )
    found = chunked(render_task(task), "tasks/2026-03-14-login.md")
    title = "Fix the login crash"
    assert found[0].text == title
    assert [c.context for c in found] == [
        "",
        *(f"{title} › {name}" for name in ("Request", "Progress", "Result", "Errors", "Patterns")),
    ]
    assert found[2].text == "- looked\n- fixed"
    assert [c.trust for c in found] == ["agent"] * 4 + ["tool", "agent"]
    assert {c.at for c in found} == {datetime(2026, 3, 14, tzinfo=ZONE)}


# ── memory lines ────────────────────────────────────────────────────────────────────────────


def test_a_memory_line_is_a_fact_and_its_comment_is_not_in_the_text() -> None:
    line = RetainLine(
        kind="O",
        entity="Peter Pan",
        text="Prefers short replies.",
        confidence=0.9,
        id="m1",
        sources=("s1#e7",),
        trust="tool",
        observed=datetime(2026, 3, 1, 9, tzinfo=UTC),
        since=date(2026, 2, 1),
        until=date(2026, 3, 31),
    )
    found = only(f"# 2026-03-04\n\n## Retain\n\n{render(line)}\n", "memory/2026-03-04.md")
    assert (found.kind, found.fact_kind, found.entities) == ("fact", "O", ("Peter Pan",))
    assert found.text == "@Peter Pan: Prefers short replies."
    assert found.context == "2026-03-04"
    assert str(found.span) == "L5"
    assert found.at == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert found.since == datetime(2026, 2, 1, tzinfo=ZONE)
    assert found.until == datetime(2026, 4, 1, tzinfo=ZONE), "the last day is still one of its days"
    assert found.trust == "tool"
    assert found.importance == pytest.approx(0.75)


def test_a_fact_is_dated_by_itself_then_its_section_then_its_file() -> None:
    assert only("- W: x\n", "memory/2026-03-04-launch.md").at == datetime(2026, 3, 4, tzinfo=ZONE)
    assert only("## 2026年3月5日\n- W: x\n", "MEMORY.md").at == datetime(2026, 3, 5, tzinfo=ZONE)
    assert only("- W: x\n", "MEMORY.md").at is None
    since = render(RetainLine(kind="W", text="x", since=date(2025, 1, 2)))
    assert only(since, "MEMORY.md").at == datetime(2025, 1, 2, tzinfo=ZONE)


def test_what_was_taken_back_or_replaced_keeps_the_moment() -> None:
    old = RetainLine(
        kind="W", entity="Al", text="lives in Rome", id="m1", observed=date(2026, 1, 1)
    )
    back = RetainLine(kind="W", text="wrong", id="m2", retracted=date(2026, 1, 5))
    new = RetainLine(
        kind="W",
        entity="Al",
        text="lives in Oslo",
        id="m3",
        since=date(2026, 2, 1),
        supersedes=("m1",),
    )
    ends = [c.until for c in chunked("\n".join(map(render, (old, back, new))), "MEMORY.md")]
    assert ends == [
        datetime(2026, 2, 1, tzinfo=ZONE),
        datetime(2026, 1, 6, tzinfo=ZONE),
        None,
    ]


def test_a_narrowed_line_and_all_inside_it_are_for_its_readers_alone() -> None:
    line = render(RetainLine(kind="W", text="the gift", user="bob", id="m1"))
    inside = f"  below it\n  - inside\n    - deeper {'x' * 600}\n\n  indented"
    text = f"{line}\n{inside}\n\n- for all\n\nalso\n"
    narrowed = Place(tenant="local", agent="main", user="bob", chat="team")
    found = chunked(text, place=TEAM)
    places = {c.text[:8]: c.place for c in found}
    assert places.pop("- for al") is None
    assert places.pop("also") is None
    assert set(places.values()) == {narrowed}
    assert any("inside" in c.text for c in found)


def test_a_line_that_nobody_may_read_is_in_no_chunk_nor_what_is_inside() -> None:
    line = render(RetainLine(kind="W", text="the secret gift", chat="other", id="m1"))
    text = f"# T\n{line}\n  secret below\n  - secret inside\n\n  secret indented\n- W: for all\n"
    found = chunked(text, place=TEAM)
    assert [c.text for c in found] == ["for all"]
    assert "secret" not in "".join(c.context for c in found)
    own = render(RetainLine(kind="W", text="mine", user=OWNER))
    assert only(own).text == "mine"


def test_what_stands_below_a_fact_is_part_of_it_or_is_true_as_long_as_it() -> None:
    line = render(RetainLine(kind="W", text="the table", until=date(2026, 1, 1)))
    assert only(f"{line}\n  more of it\n").text == "the table\n  more of it"
    fact, *below = chunked(f"{line}\n  {'much more ' * 200}\n")
    assert fact.text == "the table"
    assert below
    assert {(c.until, c.context) for c in below} == {(fact.until, "the table")}


def test_a_line_of_an_import_is_not_the_users_word() -> None:
    found = chunked("- W: x\n\ntext\n", "memory/imports/notion/a.md")
    assert {c.trust for c in found} == {"import"}


@settings(max_examples=scaled(60))
@given(seed=st.integers(0, 10**9))
def test_the_facts_are_the_memory_lines_of_the_file(seed: int) -> None:
    text = generated(random.Random(seed))
    found = [c for c in chunked(text, "MEMORY.md") if c.kind == "fact"]
    wanted = [(each.number, each.line.text) for each in memory_lines(text)]
    assert [c.span.start for c in found if c.span] == [number for number, _ in wanted]
    assert all(said in c.text for c, (_, said) in zip(found, wanted, strict=True))


# ── any file ────────────────────────────────────────────────────────────────────────────────

LINES = [
    *("", "", "   ", "# Title", "## Retain", "### 2026-03-05", "Setext", "===", "---", "***", "#"),
    *("a paragraph", "with an end.", "下一句。", "- item", "  - nested", "    - deeper", "1. one"),
    *("- - both", "   continued", "```python", "```", "~~~~", "    code", "\tcode", "> quote"),
    *("> - in a quote", "lazy", "| a | b |", "|---|---|", "| 1 | 2 |", "<div>", "<!-- note -->"),
    *("<!-- open", "-->", "[ref]: /url", "\ufeff", "form\ffeed", "\f", "\u200b", "bad \udcff byte"),
    *("- W @Al: likes tea", '- O(c=0.4): hm <!-- hf {"id":"a","until":"2026-01-01"} -->'),
    *('  - B @"Big Co": did it', "Intro:", "word " * 300, "字" * 900, "- " + "long item. " * 150),
    *("def f(): pass", "…", "🎉", "- [ ] todo", "end:"),
]


def generated(rng: random.Random) -> str:
    ending = rng.choice(["\n", "\r\n", "\r", "\n"])
    lines = [rng.choice(LINES) for _ in range(rng.randint(0, 60))]
    text = ending.join(lines) + rng.choice(["", ending])
    return rng.choice(["", "", "\ufeff", f"---{ending}tags: x{ending}---{ending}"]) + text


def check_file(text: str, key: str = "memory/topics/travel.md") -> list[Chunk]:
    found = chunked(text, key)
    source = [storable(line).rstrip("\r\n") for line in split_lines(text)]
    source[:1] = [line.removeprefix("\ufeff") for line in source[:1]]
    owners: dict[int, list[Chunk]] = {}
    for chunk in found:
        assert chunk.span is not None
        assert 1 <= chunk.span.start <= chunk.span.end <= len(source)
        there = "\n".join(source[chunk.span.start - 1 : chunk.span.end])
        if chunk.kind != "fact":
            assert chunk.text.strip() in there
            if not shares(chunk, found):
                assert chunk.text.strip() == there.strip()
        for number in range(chunk.span.start, chunk.span.end + 1):
            owners.setdefault(number, []).append(chunk)
        chunk.text.encode("utf-8")
        assert len(chunk.text) <= (2_000 if chunk.kind == "fact" else 1_500)
        assert "<!-- hf" not in chunk.text or chunk.kind != "fact"
    for number, chunks in owners.items():
        parts = sorted(chunk.part for chunk in chunks)
        assert parts == list(range(len(parts))) or len(chunks) == 1, (number, parts)
    check_covered(text, source, found, owners)
    assert len({chunk.id for chunk in found}) == len(found)
    assert [c.span.start for c in found if c.span] == sorted(c.span.start for c in found if c.span)
    return found


def shares(chunk: Chunk, found: list[Chunk]) -> bool:
    return sum(other.span == chunk.span for other in found) > 1 or chunk.part > 0


def check_covered(
    text: str, source: list[str], found: list[Chunk], owners: dict[int, list[Chunk]]
) -> None:
    contexts = "\n".join(chunk.context for chunk in found)
    kinds: dict[int, Block] = {}
    for block in parse(storable(text)).blocks:
        kinds |= dict.fromkeys(range(block.span.start, block.span.end + 1), block)
    for number, line in enumerate(source, start=1):
        there = kinds.get(number)
        if number in owners or not strip_hidden(line)[0].strip():
            continue
        assert there is not None, (number, line)
        if there.kind == "heading":
            title = " ".join(there.text.split())
            assert title in contexts or title.lower() in ("retain", "memory", "记忆", "")
        else:
            assert there.kind == "rule" or (there.kind == "html" and _is_comment(there.text)), line


@settings(max_examples=scaled(120))
@given(seed=st.integers(0, 10**9), key=st.sampled_from(["MEMORY.md", "tasks/a.md", "notes/b.md"]))
def test_every_line_that_says_something_is_in_one_chunk_of_any_file(seed: int, key: str) -> None:
    check_file(generated(random.Random(seed)), key)


@settings(max_examples=scaled(80))
@given(text=st.text(max_size=200))
def test_any_text_at_all_is_a_file(text: str) -> None:
    check_file(text)


@pytest.mark.parametrize("path", sorted(REPOSITORY.glob("docs/*.md")), ids=lambda path: path.name)
def test_every_line_of_our_own_pages_is_in_one_chunk(path: Path) -> None:
    assert len(check_file(path.read_text("utf-8"), f"docs/{path.name}")) > 3


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "- " + "字" * 300_000,
        "# " + "t" * 300_000,
        "- W @Al: " + "tea. " * 60_000,
        "| a |\n|---|\n| " + "cell " * 60_000 + "|",
        "```\n" + "y" * 300_000,
        "- " * 5_000 + "x",
        "".join("  " * min(i, 30) + f"- {i}\n" for i in range(2_000)),
        "\n".join(f"{'#' * (i % 6 + 1)} h{i}" for i in range(3_000)),
        "<!-- " * 20_000,
    ],
    ids=lambda text: f"{text[:12]!r}",
)
def test_no_shape_of_a_large_file_is_too_much(text: str) -> None:
    found = chunked(text)
    assert sum(len(c.text) + len(c.context) for c in found) < 12 * len(text) + 10_000


def test_line_endings_and_a_byte_order_mark_change_no_chunk() -> None:
    text = "# Trip\n\nOne.\nTwo.\n\n- tea\n  cake\n- W @Al: likes it\n"
    plain = chunked(text)
    for other in (text.replace("\n", "\r\n"), text.replace("\n", "\r"), "\ufeff" + text, text[:-1]):
        assert chunked(other) == plain


# ── ids ─────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=scaled(60))
@given(seed=st.integers(0, 10**9))
def test_an_edit_in_one_section_leaves_the_ids_of_all_others(seed: int) -> None:
    rng = random.Random(seed)
    items = [f"- note {i} about {rng.choice(['tea', '茶', 'trains'])}\n" for i in range(20)]
    sections = [f"# S{i}\n\n" + "".join(rng.sample(items, 4)) + "\n" for i in range(4)]
    at = rng.randrange(4)
    before = {c.id: c for c in chunked("".join(sections))}
    sections[at] = f"# S{at}\n\n- something new\n\n"
    after = {c.id: c for c in chunked("".join(sections))}
    kept = {id for id, c in before.items() if c.context != f"S{at}"}
    assert kept <= after.keys()
    assert len(after) == len(kept) + 1


def test_two_lines_alike_have_two_ids_and_a_file_elsewhere_has_others() -> None:
    one, two = chunked("- tea\n- tea\n")
    assert one.id != two.id
    assert one.id != only("- tea\n", "memory/topics/other.md").id


# ── sources ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "kind", "day"),
    [
        ("MEMORY.md", "memory", None),
        ("memory.md", "memory", None),
        ("USER.md", "memory", None),
        ("chats/team/AGENTS.md", "memory", None),
        ("memory/2026-03-04.md", "daily", date(2026, 3, 4)),
        ("memory/2026-03-04-launch.md", "daily", date(2026, 3, 4)),
        ("memory/2026-13-40.md", "topic", None),
        ("memory/2026-03-041.md", "topic", None),
        ("memory/topics/travel.md", "topic", None),
        ("memory/imports/notion/2024-01-02.md", "daily", date(2024, 1, 2)),
        ("archive/memory/2026-03-04.md", "daily", date(2026, 3, 4)),
        ("users/bob/memory/2026-03-04.md", "daily", date(2026, 3, 4)),
        ("bank/entities/Peter.md", "bank", None),
        ("tasks/2026-03-14-login.md", "task", date(2026, 3, 14)),
        ("chats/team/sessions/s1", "session", None),
        ("notes/2026-03-04.md", "extra", date(2026, 3, 4)),
        ("", "extra", None),
        ("chats/team", "extra", None),
    ],
)
def test_a_path_says_what_kind_of_source_it_is(
    path: str, kind: SourceKind, day: date | None
) -> None:
    assert classify(path) == (kind, day)


@settings(max_examples=scaled(100))
@given(path=st.text(max_size=40))
def test_every_path_has_a_kind(path: str) -> None:
    classify(path)


# ── what is searched and embedded ───────────────────────────────────────────────────────────


def test_headings_title_and_entity_are_searched_and_a_speaker_is_not() -> None:
    item = only("# Japan\n- ramen\n")
    titled = document(title="Travel")
    assert searched_text(titled, item) == "Travel › Japan\n- ramen"
    assert searched_text(document(title="japan"), item) == "Japan\n- ramen"
    assert embedded_text(titled, item) == "Travel › Japan\nramen"
    fact = only("- W @Al: likes tea\n")
    assert searched_text(document(), fact) == "@Al: likes tea"
    assert embedded_text(document(), fact) == "Al: likes tea"
    turn = Chunk(kind="turn", text="hello", entry="e1", speaker="Alice")
    assert searched_text(titled, turn) == "hello"
    assert embedded_text(titled, turn) == "Alice: hello"
    assert (
        embedded_text(titled, Chunk(kind="turn", text="hello", entry="e1", speaker="user"))
        == "hello"
    )
    unsaid = Chunk(kind="turn", text="likes tea", entities=("Al", "tea"))
    assert searched_text(document(), unsaid) == "Al\nlikes tea"


def test_an_encoder_gets_a_bounded_text() -> None:
    for chunk in chunked("# " + "t" * 100 + "\n" + "- W: " + "tea " * 5_000):
        assert len(embedded_text(document(title="x" * 5_000), chunk)) <= 2_000


def test_a_task_record_is_found_by_its_title_not_by_its_fields() -> None:
    text = "# Renew the roof\n\n- id: t1\n- status: done\n\n## Result\n\n> Renewed until June.\n"
    task = Document(key="tasks/2026-03-04-roof.md", source="task", place=OWN)
    found = chunk_markdown(task, text, zone=UTC)
    assert [chunk.text for chunk in found] == ["Renew the roof", "> Renewed until June."]
    assert found[1].context == "Renew the roof › Result"
    assert str(found[0].span) == "L1-L4"
