"""Memory lines in documents: found where a person sees them, edited without touching the rest."""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import markdown
from holdfast.markdown import append_to_section, split_lines
from holdfast.retain import RetainLine, line_id, parse, render
from holdfast.retain.documents import Located, _plain_items, lines, replace_line
from holdfast.types import LineSpan
from tests.scale import scaled

NEW = RetainLine(kind="O", entity="Ann Lee", text="is new <!-- here", confidence=0.5, id="n1")

_PLAIN = [
    "- W @Peter: lives in Rome", "- O(c=0.9): likes tea", "* B: fixed it", "+ S @x: half done",
    "  - W: inside", "   - W: three", "- W:", "- W: 上海，很大", "- W：全角", "- buy milk",
    "-    W: four blanks", "# Heading", "## Retain", "text", "  text", "    text", "      text", "",
    "", "", "```", "```sh", "~~~", "  ```", "  ```", "   ~~~~", "`````", "<!-- one line -->",
    "  <!-- one line -->", "> quoted", "  > quoted", "| a | b |", "|---|---|", "  | a | b |",
    "  |---|---|", "  ",
]  # fmt: skip
_PARTS = [
    *_PLAIN,
    "    - W: four", "\t- W: tab", "-\tW: tab after", "-     W: code inside", "- - W: twice",
    "- [ ] W: task", "1. W: ordered", "2) W: other", "- ", "- > W: quoted", "> - W: quoted", ">",
    "    ```", "``` a ` b", "<!--", "-->", "text <!-- open", "<div>", "</div>", "  <p>", "<pre>",
    "</pre>", "- <!-- x", "- ```", "#none", "---", "***", "* * *", "===", "[a]: /url",
    "  [a]: /url", '- W: x <!-- hf {"id":"m1"} -->', "—", "- 1. W: x", "\ufeff- W: bom",
    "\x0c- W: feed", "\u3000- W: wide",
]  # fmt: skip


def _joined(rows: list[tuple[str, str]]) -> str:
    return "".join(text + end for text, end in rows)


_ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r"])
plain_documents = st.lists(st.tuples(st.sampled_from(_PLAIN), st.just("\n")), max_size=16).map(
    _joined
)
documents = plain_documents | st.lists(
    st.tuples(st.sampled_from(_PARTS) | st.text(max_size=12), _ENDS), max_size=14
).map(_joined)


def by_the_parser(text: str) -> list[Located]:
    source = split_lines(text)
    spans = [block.span for block in markdown.parse(text).blocks if block.kind == "list_item"]
    return [
        Located(line=line, number=span.start, span=span)
        for span in spans
        if (line := parse(source[span.start - 1].removeprefix("\ufeff")))
    ]


@settings(max_examples=scaled(500))
@given(text=documents)
def test_the_lines_are_those_a_markdown_parser_sees(text: str) -> None:
    assert list(lines(text)) == by_the_parser(text)


@settings(max_examples=scaled(150))
@given(text=documents, data=st.data())
def test_the_edit_of_one_line_changes_no_other_byte(text: str, data: st.DataObject) -> None:
    found = list(lines(text))
    if not found:
        assert replace_line(text, "m1", NEW) is None
        return
    chosen = data.draw(st.sampled_from(found))
    first = next(each for each in found if line_id(each.line) == line_id(chosen.line))
    after = replace_line(text, line_id(chosen.line), NEW)
    assert after is not None
    was, now = split_lines(text), split_lines(after)
    assert len(was) == len(now)
    assert [n for n, pair in enumerate(zip(was, now, strict=True), 1) if pair[0] != pair[1]] == [
        first.number
    ]
    expected = [NEW if each is first else each.line for each in found]
    assert [each.line for each in lines(after)] == expected


@settings(max_examples=scaled(100))
@given(text=documents)
def test_what_is_read_and_written_again_says_the_same(text: str) -> None:
    for raw in split_lines(text):
        if line := parse(raw):
            assert parse(render(line)) == line


@cache
def _real_documents() -> list[Path]:
    """READMEs and descriptions of the packages that are installed here."""
    packages = Path(sysconfig.get_paths()["purelib"])
    return sorted([*packages.glob("**/*.md"), *packages.glob("*.dist-info/METADATA")])


def test_real_documents_are_read_and_edited_to_the_byte() -> None:
    paths = _real_documents()
    if not paths:
        pytest.skip("no Markdown among the installed packages")
    for path in paths[: scaled(40)]:
        text = path.read_bytes()[:60_000].decode("utf-8", "surrogateescape")
        assert list(lines(text)) == by_the_parser(text)
        ours = [RetainLine(kind="W", text=f"number {n}", id=f"m{n}") for n in range(3)]
        grown = append_to_section(text, "Retain", *map(render, ours))
        assert [each.line for each in lines(grown) if each.line.id] == ours
        after = replace_line(grown, "m1", NEW)
        assert after is not None
        assert after.replace(render(NEW), render(ours[1])) == grown


def test_lines_written_by_hand_are_found_in_any_section() -> None:
    text = (
        "Notes\n=====\n\n* W @Peter：lives in Rome\n  and likes it\n\n+ O（c=0.8）@小明：喜欢茶\n"
        "\n```\n- W: an example\n```\n\n> - W: quoted\n\n<!--\n- W: hidden\n-->\n\n"
        "- [ ] W: a task\n- buy milk\n  - S: nested\n"
    )
    found = list(lines(text))
    assert [each.line.text for each in found] == ["lives in Rome", "喜欢茶", "nested"]
    assert found[0].span == LineSpan(start=4, end=5)
    after = replace_line(text, line_id(found[1].line), NEW)
    assert after == text.replace("O（c=0.8）@小明：喜欢茶", render(NEW)[2:])


def test_code_below_an_item_belongs_to_it() -> None:
    text = "# x\n\n- W: how to start\n  ```sh\n  - W: no\n\n  run\n  ```\n- W: next\n\nEnd\n"
    found = list(lines(text))
    assert [(each.line.text, each.span.start, each.span.end) for each in found] == [
        ("how to start", 3, 8),
        ("next", 9, 9),
    ]


def test_our_own_files_need_no_parser() -> None:
    text = (
        "# 2026-03-04\n\n<!-- Memory of one day. -->\n\n## Retain\n\n- W: a\n- W: b\n"
        "\n  ```\n  x\n  ```\n"
        "- S: c\n\n## Notes\n\nfree text\n"
    )
    assert _plain_items(split_lines(text)) == [
        LineSpan(start=7, end=7),
        LineSpan(start=8, end=12),
        LineSpan(start=13, end=13),
    ]
