"""Blocks cover a document without overlap, and their lines are the lines an editor shows."""

from __future__ import annotations

import random
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.markdown import Block, Document, parse, section, split_lines
from holdfast.types import LineSpan
from tests.scale import scaled

LINES = [
    "",
    "",
    "   ",
    "\t",
    "# Title",
    "## Retain",
    "  ### Indented ###",
    "Setext",
    "===",
    "---",
    "***",
    "...",
    "a paragraph",
    "  more of it",
    "- item",
    "  - nested",
    "    - deeper",
    "- - both at once",
    "1. one",
    "2) two",
    "   continued",
    "  ```",
    "```python",
    "```",
    "~~~~",
    "    code",
    "\tcode too",
    "> quote",
    "> - item in a quote",
    "> > > deep",
    "lazy",
    "| a | b |",
    "|---|---|",
    "<div>",
    "<!-- comment",
    "-->",
    "<script>",
    "[ref]: /url",
    '"title"',
    "[open",
    "\ufeff",
    "form\ffeed",
    "\f",
    "separator\u2028here",
    "next\x85line\vand\x1ctab",
    "nul\x00",
    "\u00a0",
    "中文段落。",
    "- W @Peter: Prefers tea. <!-- hf id=1 -->",
]
ENDINGS = ["\n", "\n", "\n", "\r\n", "\r"]


def random_document(draw: random.Random) -> str:
    ending = draw.choice(ENDINGS)
    endings = ENDINGS if draw.random() < 0.2 else [ending]
    count = draw.randint(0, 25)
    text = "".join(draw.choice(LINES) + draw.choice(endings) for _ in range(count))
    if draw.random() < 0.15:
        text = "\ufeff" + text
    return text.rstrip("\r\n") if draw.random() < 0.3 else text


def check(text: str) -> Document:
    """What is promised of every document."""
    document = parse(text)
    assert "".join(document.source) == text
    assert document.lines(LineSpan(start=1, end=len(document.source))) == text
    spans = [document.front_matter] if document.front_matter else []
    spans += [block.span for block in document.blocks]
    covered: set[int] = set()
    done = 0
    for span in spans:
        assert done < span.start <= span.end <= len(document.source)
        done = span.end
        covered |= set(range(span.start, span.end + 1))
    for number, line in enumerate(document.source, start=1):
        bare = line.removeprefix("\ufeff") if number == 1 else line
        assert number in covered or not bare.strip(" \t\r\n")
    for block in document.blocks:
        check_block(document, block)
    return document


def check_block(document: Document, block: Block) -> None:
    first, last = document.source[block.span.start - 1], document.source[block.span.end - 1]
    assert first.strip(" \t\r\n")
    assert last.strip(" \t\r\n")
    assert (block.level > 0) == (block.kind in ("heading", "list_item"))
    if block.kind not in ("heading", "fence", "code"):
        source = "".join(document.source[block.span.start - 1 : block.span.end])
        plain = source.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
        assert block.text == (plain.removeprefix("\ufeff") if block.span.start == 1 else plain)


def test_blocks_of_random_documents_cover_every_written_line_once() -> None:
    draw = random.Random(7)
    for _ in range(scaled(3000)):
        check(random_document(draw))


@settings(max_examples=scaled(200))
@given(st.text(st.sampled_from("#->*`~|:[]()<>!=+1.0 \t\n\r\ufeffab\f\u2028\\&_\x00")) | st.text())
def test_blocks_of_any_text_cover_every_written_line_once(text: str) -> None:
    check(text)


def kinds(text: str) -> list[tuple[str, str, int]]:
    return [(block.kind, str(block.span), block.level) for block in check(text).blocks]


def test_every_kind_of_block_is_found_with_its_lines() -> None:
    text = (
        "# Title\n\nA paragraph\nof two lines.\n\n- item\n  - nested\n- last\n\n"
        "```py\ncode()\n```\n\n| a |\n|---|\n| b |\n\n> quoted\n\n"
        "<div>\n</div>\n\n***\n\n    indented\n"
    )
    assert kinds(text) == [
        ("heading", "L1", 1),
        ("paragraph", "L3-L4", 0),
        ("list_item", "L6", 1),
        ("list_item", "L7", 2),
        ("list_item", "L8", 1),
        ("fence", "L10-L12", 0),
        ("table", "L14-L16", 0),
        ("quote", "L18", 0),
        ("html", "L20-L21", 0),
        ("rule", "L23", 0),
        ("code", "L25", 0),
    ]


def test_headings_give_the_path_of_what_stands_below_them() -> None:
    text = "intro\n# A\n## B ##\ntext\n### C\nC text\n## D\n- item\n\nE\n=\nend\n"
    paths = [(block.text, block.headings) for block in check(text).blocks]
    assert paths == [
        ("intro", ()),
        ("A", ()),
        ("B", ("A",)),
        ("text", ("A", "B")),
        ("C", ("A", "B")),
        ("C text", ("A", "B", "C")),
        ("D", ("A",)),
        ("- item", ("A", "D")),
        ("E", ()),
        ("end", ("E",)),
    ]


def test_a_heading_inside_a_quote_or_an_item_opens_no_section() -> None:
    document = check("# A\n> # quoted\n\n- # in an item\n\ntext\n")
    assert document.blocks[-1].headings == ("A",)


def test_what_an_item_holds_beside_items_is_part_of_it() -> None:
    text = "- run:\n  ```\n  make\n  ```\n  > quoted\n  - nested\n\n  after the list\n- next\n"
    assert kinds(text) == [
        ("list_item", "L1-L5", 1),
        ("list_item", "L6", 2),
        ("paragraph", "L8", 0),
        ("list_item", "L9", 1),
    ]


def test_link_definitions_are_not_lost() -> None:
    assert kinds("[a]: /x\n[b]: /y\n\ntext\n") == [
        ("paragraph", "L1-L2", 0),
        ("paragraph", "L4", 0),
    ]


def test_a_fence_has_its_inside_and_its_info() -> None:
    (block,) = check("~~~ python title\r\na\r\n\r\nb\r\n~~~\r\n").blocks
    assert (block.info, block.text) == ("python title", "a\n\nb\n")


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("---\ntitle: x\n---\n# H\n", LineSpan(start=1, end=3)),
        ("\ufeff---\r\ntitle: x\r\n...\r\ntext", LineSpan(start=1, end=3)),
        ("---\n---\n", LineSpan(start=1, end=2)),
        ("---\ntitle: x\n", None),
        ("---\n\ntext\n\n---\n", None),
        ("text\n---\na: b\n---\n", None),
        ("", None),
    ],
)
def test_front_matter_is_what_two_marks_at_the_top_enclose(
    text: str, span: LineSpan | None
) -> None:
    assert check(text).front_matter == span


def test_only_real_line_breaks_end_a_line() -> None:
    text = "a\u2028b\x85c\x0bd\x0ce\x1cf\n# H\r## I\r\n"
    assert split_lines(text) == ["a\u2028b\x85c\x0bd\x0ce\x1cf\n", "# H\r", "## I\r\n"]
    assert [str(block.span) for block in check(text).blocks] == ["L1", "L2", "L3"]


def test_a_byte_order_mark_does_not_hide_the_first_heading() -> None:
    document = check("\ufeff# Title\ntext\n")
    assert document.blocks[0].text == "Title"
    assert document.lines(document.blocks[0].span) == "\ufeff# Title\n"


def test_a_section_reaches_to_the_next_heading_of_its_level() -> None:
    document = check(
        "# Day\n\n## Retain\n- a\n\n### Sub\n- b\n\n## Other\n- c\n\n# Two\n## Retain\n"
    )
    assert section(document, "retain") == LineSpan(start=3, end=7)
    assert section(document, ["Day", "Retain"]) == LineSpan(start=3, end=7)
    assert section(document, ["Two", "RETAIN"]) == LineSpan(start=13, end=13)
    assert section(document, ["Day"]) == LineSpan(start=1, end=10)
    assert section(document, ["Retain", "Day"]) is None
    assert section(document, "missing") is None
    assert section(document, []) is None


SIZE = 1_000_000
HOSTILE = {
    "brackets": "[" * SIZE,
    "quotes": "> " * (SIZE // 2),
    "quotes then text": "> " * (SIZE // 2) + "x",
    "items": "- " * (SIZE // 2) + "x",
    "numbers": "1. " * (SIZE // 3),
    "backticks": "`" * SIZE,
    "angles": "<" * SIZE,
    "hashes": "#" * SIZE,
    "stars": "*" * SIZE,
    "links": "[a](" * (SIZE // 4),
    "blanks": " " * SIZE + "x",
    "tabs": "\t" * SIZE + "x",
    "newlines": "\n" * (SIZE // 4),
    "cells": "|a" * (SIZE // 2) + "\n" + "|-" * 9,
    "escapes": "[\\" * (SIZE // 2),
    "quoted lines": ("> " * 200 + "x\n") * (SIZE // 402),
    "falling lines": "".join("> " * (n % 200) + "x\n" for n in range(SIZE // 202)),
    "deeper and deeper": "".join(" " * n + "- x\n" for n in range(1400)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_hostile_text_does_not_stall(name: str) -> None:
    text = HOSTILE[name]
    before = time.process_time()
    document = parse(text)
    assert time.process_time() - before < 2
    assert "".join(document.source) == text


@pytest.mark.parametrize(
    "line", ["b\n", "> b\n", "- b\n", "[a]: b\n", "[a\n", "<!--\n", "a|b\n-|\n"]
)
@pytest.mark.parametrize("opening", ["", "> " * 30 + "a\n", "- " * 30 + "a\n"])
def test_work_grows_with_the_number_of_lines_and_not_faster(opening: str, line: str) -> None:
    def calls(count: int) -> int:
        seen = 0

        def count_call(_frame: object, event: str, _argument: object) -> None:
            nonlocal seen
            seen += event in ("call", "c_call")

        text = opening + line * count
        sys.setprofile(count_call)
        try:
            parse(text)
        finally:
            sys.setprofile(None)
        return seen

    assert calls(2000) < 4.4 * calls(500)
