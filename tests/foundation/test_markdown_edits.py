"""An appended line is one insertion; what is fenced, quoted or escaped stays inside."""

from __future__ import annotations

import html
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from holdfast.errors import UsageError
from holdfast.markdown import (
    Block,
    append_to_section,
    escape_inline,
    fence,
    parse,
    quote,
    section,
    split_lines,
)
from tests.foundation.test_markdown_blocks import random_document
from tests.scale import scaled

RENDER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
ANY_TEXT = st.text() | st.text(st.sampled_from("`~> -#*_[]()<>!|&;=+.)1a \\\t\n\r\f\ufeff"))
APPENDED = ["- W @Peter: Likes tea.", "* other bullet", "1. first", "2. second", "A sentence."]


def is_same(old: Block, new: Block) -> bool:
    if (old.kind, old.headings, old.level) != (new.kind, new.headings, new.level):
        return False
    # What was left open has no last line until it is closed.
    may_be_closed = old.kind in ("fence", "html") and new.text.startswith(old.text.rstrip())
    return old.text == new.text or may_be_closed


def inserted(before: str, after: str) -> str:
    """What was inserted into ``before``, which must be all that is different."""
    start = next(
        (index for index, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
        min(len(before), len(after)),
    )
    length = len(after) - len(before)
    for index in range(start, -1, -1):
        if after[:index] + after[index + length :] == before:
            return after[index : index + length]
    pytest.fail("something else changed")


def check_appended(before: str, heading: str, line: str) -> str:
    after = append_to_section(before, heading, line)
    added = inserted(before, after)
    assert line in added
    endings = {ending for ending in map(ending_of, split_lines(before)) if ending}
    if len(endings) == 1:
        assert {ending_of(each) for each in split_lines(added)} == endings
    old, new = parse(before), parse(after)
    assert new.front_matter == old.front_matter
    mine = [block for block in new.blocks if block.text == line and block.headings]
    kept = iter(new.blocks)
    for block in old.blocks:  # in order, each as it was
        assert any(is_same(block, other) for other in kept), f"{block} is gone"
    assert any(block.headings[-1].casefold() == heading.casefold() for block in mine)
    assert section(new, heading) is not None
    return after


def ending_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def test_appending_to_random_documents_inserts_the_line_and_changes_nothing_else() -> None:
    draw = random.Random(29)
    for _ in range(scaled(1200)):
        text = random_document(draw)
        for _ in range(2):
            text = check_appended(text, "Retain", draw.choice(APPENDED))


@settings(max_examples=scaled(100))
@given(ANY_TEXT, st.sampled_from(APPENDED))
def test_appending_to_any_text_inserts_the_line_and_changes_nothing_else(
    text: str, line: str
) -> None:
    check_appended(text, "Notes", line)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "## Retain\n\n- x\n"),
        ("\ufeff", "\ufeff## Retain\n\n- x\n"),
        ("# Day\n", "# Day\n\n## Retain\n\n- x\n"),
        ("# Day", "# Day\n\n## Retain\n\n- x\n"),
        ("# Day\r\ntext\r\n", "# Day\r\ntext\r\n\r\n## Retain\r\n\r\n- x\r\n"),
        ("## Retain\n", "## Retain\n\n- x\n"),
        ("## Retain\n\n- a\n", "## Retain\n\n- a\n- x\n"),
        ("## Retain\n- a", "## Retain\n- a\n- x\n"),
        ("## retain\n- a\n\n\n## Next\n", "## retain\n- a\n- x\n\n\n## Next\n"),
        ("## Retain\ntext\n## Next\n", "## Retain\ntext\n\n- x\n\n## Next\n"),
        ("## Retain\n- a\n### Sub\n- b\n", "## Retain\n- a\n- x\n\n### Sub\n- b\n"),
        ("## Retain\n- a\n  more\n", "## Retain\n- a\n  more\n- x\n"),
        ("## Retain\n```\nopen\n", "## Retain\n```\nopen\n```\n\n- x\n"),
        ("## Retain\n<!-- open\n", "## Retain\n<!-- open\n-->\n\n- x\n"),
        ("~~~~\nopen", "~~~~\nopen\n~~~~\n\n## Retain\n\n- x\n"),
        ("## Retain\n\n  Next\n===\n", "## Retain\n\n- x\n\n<!-- -->\n\n\n  Next\n===\n"),
    ],
)
def test_a_line_is_appended_where_a_person_would_write_it(before: str, after: str) -> None:
    assert append_to_section(before, "Retain", "- x") == after


def test_a_new_section_has_the_level_that_was_asked_for() -> None:
    assert append_to_section("text\n", "Log", "- x", level=1) == "text\n\n# Log\n\n- x\n"


@pytest.mark.parametrize("line", ["", "   ", "two\nlines", "two\rlines", "end\n"])
def test_what_is_not_one_line_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="not one line"):
        append_to_section("", "Retain", line)


@pytest.mark.parametrize("heading", ["", "two\nlines", "closed ##", "  spaced  "])
def test_a_heading_that_would_not_be_found_again_is_refused(heading: str) -> None:
    with pytest.raises(UsageError, match="does not read as a heading"):
        append_to_section("text\n", heading, "- x")


@given(ANY_TEXT)
def test_a_fence_holds_any_text(text: str) -> None:
    fenced = fence(text, "te`xt\n")
    document = parse(f"before\n\n{fenced}\n\n# after\n")
    assert [block.kind for block in document.blocks] == ["paragraph", "fence", "heading"]
    block = document.blocks[1]
    assert block.info == "te xt"
    assert "".join(document.source[block.span.start : block.span.end - 1]).removesuffix(
        "\n"
    ) == text.removesuffix("\n")


@given(ANY_TEXT)
def test_a_quote_holds_any_text(text: str) -> None:
    document = parse(f"before\n\n{quote(text)}\n\n# after\n")
    assert [block.kind for block in document.blocks] == ["paragraph", "quote", "heading"]
    assert [line[1:].removeprefix(" ") for line in split_lines(quote(text))] in (
        [line.removeprefix(" ") for line in split_lines(text)],
        split_lines(text) or [""],
    )


def test_quoting_marks_every_line() -> None:
    assert quote("a\n\nb\r\n> c") == "> a\n>\n> b\r\n> > c"
    assert quote("") == ">"


@settings(max_examples=scaled(500))
@given(ANY_TEXT)
def test_escaped_text_reads_as_it_was_written(text: str) -> None:
    shown = html.escape(" ".join(text.replace("\x00", "\ufffd").split())).replace("&#x27;", "'")
    escaped = escape_inline(text)
    assert "\n" not in escaped
    assert RENDER.render(f"# {escaped}\n") == f"<h1>{shown}</h1>\n"
    assert RENDER.render(f"- {escaped}\n") == f"<ul>\n<li>{shown}</li>\n</ul>\n"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("snake_case stays, AT&T too", "snake_case stays, AT&T too"),
        ("*bold* [link](x) `code`", "\\*bold\\* \\[link\\](x) \\`code\\`"),
        ("# no\nheading #", "\\# no heading \\#"),
        ("1. no list", "1\\. no list"),
        ("- no item", "\\- no item"),
        ("-5 degrees", "-5 degrees"),
        ("&amp; <b>", "\\&amp; \\<b>"),
        ("", ""),
    ],
)
def test_only_what_markdown_would_read_is_escaped(text: str, escaped: str) -> None:
    assert escape_inline(text) == escaped
