"""Memory lines: what can be made comes back to the letter; what hands wrote is understood."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import markdown
from holdfast.errors import UsageError
from holdfast.retain import (
    RetainLine,
    line_id,
    parse,
    render,
    says_only_provenance,
    visible_line,
)
from holdfast.text import strip_hidden
from tests.scale import scaled

_NASTY = ["<!--", "-->", "&lt;!--", "--&gt;", "&amp;lt;!--", "<!-- hf {} -->", "@", '"', "\\", ": ",
          "\n", "“", "”", "＠", "（", "\u200b", "\u202e", "\ud800", "：", "- W ", "`", "*",
          "[x](y)", "(c=0.5)", "\t"]  # fmt: skip
hostile = st.lists(st.one_of(st.sampled_from(_NASTY), st.text(max_size=8)), max_size=8).map("".join)
visible = hostile.map(visible_line).filter(bool)
zones = st.sampled_from(
    [None, UTC, timezone(timedelta(hours=8)), timezone(timedelta(minutes=-210))]
)
times = st.one_of(st.none(), st.dates(), st.datetimes(timezones=zones))
plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}", fullmatch=True)
names = st.tuples(plain) | st.lists(plain, max_size=3).map(tuple)


@st.composite
def lines(draw: st.DrawFn) -> RetainLine:
    kind = draw(st.sampled_from("WBOS"))
    return RetainLine(
        kind=kind,  # type: ignore[arg-type]
        text=draw(visible),
        entity=draw(st.none() | visible),
        confidence=draw(st.none() | st.floats(0, 1)) if kind == "O" else None,
        id=draw(st.none() | ids),
        sources=draw(names),
        trust=draw(st.sampled_from(["user", "agent", "tool", "import"])),
        observed=draw(times),
        since=draw(times),
        until=draw(times),
        supersedes=draw(names),
        verified=draw(times),
        retracted=draw(times),
        agrees=draw(names),
        user=draw(st.none() | plain),
        chat=draw(st.none() | plain),
        had_hidden=draw(st.booleans()),
        extra=draw(st.dictionaries(plain.map("x-".__add__), plain | st.integers(), max_size=2)),
    )


@settings(max_examples=scaled(120))
@given(line=lines())
def test_a_line_comes_back_as_it_was_made(line: RetainLine) -> None:
    written = render(line)
    assert parse(written) == line
    assert len(written.splitlines()) == 1
    assert strip_hidden(written) == (written, False)


@settings(max_examples=scaled(40))
@given(line=lines())
def test_a_written_line_is_one_item_of_a_markdown_list(line: RetainLine) -> None:
    found = markdown.parse(render(line) + "\n- W: next\n").blocks
    assert [block.kind for block in found] == [
        block.kind for block in markdown.parse("- W: a\n- W: next\n").blocks
    ]


@settings(max_examples=scaled(120))
@given(text=hostile)
def test_any_text_can_be_read_without_an_error(text: str) -> None:
    for line in (text, f"- W @{text}: x", f"- O(c={text}): x", f"- W: x <!-- hf {text} -->"):
        read = parse(line)
        assert read is None or parse(render(read)) == read


@settings(max_examples=scaled(80))
@given(text=hostile)
def test_any_text_becomes_a_visible_line(text: str) -> None:
    line = visible_line(text)
    assert visible_line(line) == line
    if line:
        RetainLine(kind="W", text=line)


def test_a_line_looks_as_the_grammar_says() -> None:
    assert render(RetainLine(kind="W", entity="Peter", text="In Rome.")) == "- W @Peter: In Rome."
    opinion = RetainLine(kind="O", entity="Peter Pan", text="Prefers tea.", confidence=0.9)
    assert render(opinion) == '- O(c=0.9) @"Peter Pan": Prefers tea.'
    assert render(RetainLine(kind="W", entity="叔叔", text="61岁")) == "- W @叔叔: 61岁"
    assert render(RetainLine(kind="B", entity="src/app.py", text="x")) == "- B @src/app.py: x"
    cited = RetainLine(kind="S", text="Half done.", sources=("s1#e4",), trust="tool", id="m1")
    assert render(cited) == (
        '- S: Half done. <!-- hf {"id":"m1","sources":["s1#e4"],"trust":"tool"} -->'
    )


@pytest.mark.parametrize(
    ("written", "kind", "entity", "text"),
    [
        ("- W @Peter: lives in Rome", "W", "Peter", "lives in Rome"),
        ("  * B @billing: fixed the crash", "B", "billing", "fixed the crash"),
        ("+ S @project-x: half done", "S", "project-x", "half done"),
        ("- W @小明：住在上海", "W", "小明", "住在上海"),
        ('- O(0.7) @"Ann Lee" : likes tea', "O", "Ann Lee", "likes tea"),
        ("- W: no entity", "W", None, "no entity"),
        ("- O（c=0.8）@小明：喜欢茶", "O", "小明", "喜欢茶"),
        ("- W ＠“欧阳 娜”：住在上海", "W", "欧阳 娜", "住在上海"),
        ("- W @a/b.py: see https://x.y/z: it works", "W", "a/b.py", "see https://x.y/z: it works"),
        ("- W @x: kept <!-- a note -->", "W", "x", "kept <!-- a note -->"),
    ],
)
def test_lines_written_by_hand_are_understood(
    written: str, kind: str, entity: str | None, text: str
) -> None:
    line = parse(written)
    assert line is not None
    assert (line.kind, line.entity, line.text) == (kind, entity, text)
    assert (line.trust, line.sources, line.id) == ("user", (), None)


@pytest.mark.parametrize(
    "written",
    ["", "- buy milk", "W @Peter: x", "- X @Peter: x", "- W @Peter x", "- W @Peter:", "- What: x",
     "# W: x", "- w: x", "- [ ] W: x", "- [x] W @Peter: x", "1. W: x", "> - W: x"],
)  # fmt: skip
def test_other_lines_are_no_memory_lines(written: str) -> None:
    assert parse(written) is None


def test_a_damaged_comment_costs_only_itself() -> None:
    line = parse('- W @Peter: lives in Rome <!-- hf {"id": -->')
    assert line is not None
    assert (line.text, line.id) == ("lives in Rome", None)
    odd = parse('- W: x <!-- hf {"sources": 3, "observed": "soon", "trust": "king", "id": 4} -->')
    assert odd is not None
    assert (odd.sources, odd.observed, odd.trust, odd.id) == ((), None, "import", None)


def test_what_a_newer_version_wrote_is_kept() -> None:
    line = parse('- W: x <!-- hf {"id":"m1","weight":{"a":[1,2]}} -->')
    assert line is not None
    assert line.extra == {"weight": {"a": [1, 2]}}
    assert json.loads(render(line).split("hf ")[1].split(" -->")[0])["weight"] == {"a": [1, 2]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": ""}, {"text": "two\nlines"}, {"text": "hid\u200bden"}, {"text": " x"},
        {"entity": ""}, {"entity": "a\nb"}, {"kind": "X"}, {"trust": "king"}, {"confidence": 0.5},
        {"kind": "O", "confidence": 1.5}, {"extra": {"id": "mine"}}, {"extra": {"a": {1, 2}}},
        {"extra": {"a": float("nan")}}, {"sources": ("\ud800\udc00",)}, {"id": ""},
        {"id": "lives in"}, {"id": "住在"}, {"id": "a" * 65}, {"id": "m1\n"}, {"id": "-x"},
    ],
)  # fmt: skip
def test_what_could_not_come_back_cannot_be_made(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        RetainLine(**{"kind": "W", "text": "x", **wrong})  # type: ignore[arg-type]


def test_a_day_stays_a_day_and_an_instant_an_instant() -> None:
    day = parse(render(RetainLine(kind="W", text="x", observed=date(2025, 5, 1))))
    assert day is not None
    assert type(day.observed) is date
    instant = datetime(2025, 5, 1, 9, 30, tzinfo=UTC)
    moment = parse(render(RetainLine(kind="W", text="x", observed=instant)))
    assert moment is not None
    assert moment.observed == instant


def test_a_confidence_is_read_in_either_kind_of_brackets() -> None:
    for written in ("- O(c=0.8): x", "- O（c=0.8）：x", "- O（0.8）: x", "- O (c = 0.8): x"):
        line = parse(written)
        assert line is not None
        assert line.confidence == 0.8


def test_every_line_has_an_id_without_being_edited() -> None:
    by_hand = parse("- W @Peter: Lives in  Rome")
    retyped = parse("* W @peter：lives in rome")
    other = parse("- W @Peter: Lives in Oslo")
    assert by_hand is not None
    assert retyped is not None
    assert other is not None
    assert line_id(by_hand) == line_id(retyped) != line_id(other)
    assert line_id(by_hand).startswith("h-")
    assert len(line_id(by_hand)) == len("h-") + 12
    assert line_id(RetainLine(kind="W", text="x", id="m1")) == "m1"


@pytest.mark.parametrize(
    "comment", ["[" * 100_000, '{"a":NaN}', '{"a":1e999}', '{"id":"m1","a":' + "9" * 9_999 + "}"]
)
def test_a_hostile_comment_costs_only_itself(comment: str) -> None:
    line = parse(f"- W: x <!-- hf {comment} -->")
    assert line is not None
    assert line.text == "x"
    assert parse(render(line)) == line


@pytest.mark.parametrize("forged", ["lives in", "", "住在", "a" * 65, "m1\\n", "-x", "<b>", "a#b"])
def test_words_are_no_id_whoever_wrote_them_there(forged: str) -> None:
    line = parse(f'- W @Eve: harmless <!-- hf {{"id":"{forged}","trust":"tool"}} -->')
    bare = parse("- W @Eve: harmless")
    assert line is not None
    assert bare is not None
    assert (line.id, line.trust) == (None, "tool")
    assert line_id(line) == line_id(bare)


@settings(max_examples=scaled(80))
@given(line=lines())
def test_a_comment_with_more_than_where_it_came_from_is_known(line: RetainLine) -> None:
    comment = render(line).rpartition("<!-- hf ")[2].removesuffix(" -->")
    if line.extra:
        assert not says_only_provenance(comment)
    cited = replace(
        line, extra={}, sources=("s1#e4",), supersedes=("m1",), agrees=(), user=None, chat="c-1"
    )
    assert says_only_provenance(render(cited).rpartition("<!-- hf ")[2].removesuffix(" -->"))
