"""A record that somebody edited is changed line by line; whatever else is in it stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.markdown import split_lines
from holdfast.memory.tasks import Lesson, Mishap, Task
from holdfast.memory.tasks.editing import rewrite
from holdfast.memory.tasks.record import parse, read, tidy
from tests.memory.test_tasks_record import PIECES, TEXTS
from tests.scale import scaled

ZONE = timezone(timedelta(hours=8))
PATH = "tasks/2026-03-14-x.md"

LINES = st.sampled_from(
    [
        *("# Title", "# Errors", "## Errors", "## 错误", "## Progress", "## Mine", "Title"),
        *("=====", "## Result", "## Request", "## Patterns", "### deeper", "  ## Errors", "1. one"),
        *("- status: open", "- **Status**: 完成", "- id: abc", "* sources: a#1", "- closed:"),
        *("- item", "  more of it", "", "", "> quoted", ">", "text", "```", "~~~", "<!-- open"),
        *("-->", "- worked: x", "- a → b", "| a | b |", "|---|---|", "    code", "---", "- - -"),
        *(
            "status: done",
            "状态：完成",
            "type: x",
            "id: q",
            "---\r",
            "\ttab",
            "</pre>",
            "<pre>",
            "- [ ] box",
            "* star",
            "+ plus",
            "- ",
        ),
    ]
)
DOCUMENTS = st.one_of(
    st.lists(LINES, max_size=25).map("\n".join),
    st.lists(LINES, max_size=12).map("\r\n".join),
    st.lists(PIECES, max_size=25).map("".join),
)


def changed(before: Task, what: str, text: str) -> Task:
    at = datetime(2026, 3, 15, 9, 0, tzinfo=ZONE)
    changes = {
        "close": {"status": "done", "closed": at},
        "reopen": {"status": "open", "closed": None},
        "result": {"result": text},
        "request": {"request": text},
        "title": {"title": text or "x"},
        "note": {"progress": (*before.progress, text)},
        "error": {"errors": (*before.errors, Mishap(what=text, fix="it", from_tool=True))},
        "fixed": {"errors": tuple(replace(each, fix="so") for each in before.errors)},
        "lesson": {"patterns": (*before.patterns, Lesson(text=text, outcome="failed"))},
        "sources": {"sources": (*before.sources, "trip#e9")},
        "fewer": {"progress": before.progress[1:], "patterns": before.patterns[:-1]},
    }
    return tidy(replace(before, **changes[what]), before=before)  # type: ignore[arg-type]


WHAT = st.sampled_from(
    [
        *("close", "reopen", "result", "request", "title", "note", "error", "fixed", "lesson"),
        *("sources", "fewer"),
    ]
)


@given(DOCUMENTS, st.lists(st.tuples(WHAT, TEXTS.map(lambda text: text + "z")), max_size=4))
@settings(max_examples=scaled(100))
def test_what_is_changed_is_read_back_and_nothing_else_changes(
    text: str, changes: list[tuple[str, str]]
) -> None:
    for what, said in changes if text.strip() else ():
        before, layout = read(text, PATH, zone=ZONE)
        after = changed(before, what, said)
        new = rewrite(text, after, zone=ZONE)
        again = parse(new, PATH, zone=ZONE)
        if "type" not in layout.fields:  # it follows the words
            after = replace(after, type=again.type)
        if again.result.startswith(after.result) and what != "result":  # open code is closed
            after = replace(after, result=again.result)
        if again.request.startswith(after.request) and what != "request":
            after = replace(after, request=again.request)
        assert again == after
        ours = {span.start for span in layout.fields.values()}
        spans = [layout.title_at] if layout.title_at else []
        for section in layout.sections:
            spans += [*section.quotes, *section.items]
        for span in spans:
            ours |= set(range(span.start, span.end))
        foreign = [line.rstrip("\r\n") for n, line in enumerate(layout.source) if n not in ours]
        lines = iter(line.rstrip("\r\n") for line in split_lines(new))
        assert all(line in lines for line in foreign)  # each, in this order
        text = new


@given(DOCUMENTS)
@settings(max_examples=scaled(60))
def test_no_change_changes_no_byte(text: str) -> None:
    if text.strip():
        before = parse(text, PATH, zone=ZONE)
        assert rewrite(text, before, zone=ZONE) == text
        assert tidy(before, before=before) == before


def test_a_hand_written_record_keeps_its_own_order_and_words() -> None:
    text = """---
tags: [work]
status: todo
---
# Login

My own remarks.

## Patterns
* worked: coffee

## Mine
- status: not a field
## 错误

prose

* a -> b
* c
""".replace("\n", "\r\n")
    before = parse(text, PATH)
    fixed = (before.errors[0], replace(before.errors[1], fix="d"), Mishap(what="e"))
    after = replace(before, status="done", errors=fixed, result="All good.")
    new = rewrite(text, after)
    assert new == text.replace("status: todo", "status: 已完成").replace(
        "* c\r\n", "- c → d\r\n- e → ?\r\n\r\n## 结果\r\n\r\n> All good.\r\n"
    )
    assert parse(new, PATH) == after


@pytest.mark.parametrize("title", ["Errors", "错误"])
def test_a_title_that_is_also_the_name_of_a_section_stays_a_title(title: str) -> None:
    before = parse(f"# {title}\n", PATH)
    after = replace(before, errors=(Mishap(what="a"),), result="r")
    new = rewrite(f"# {title}\n", after)
    assert parse(new, PATH) == after


def _real_documents() -> list[Path]:
    """Markdown as people write it: the pages of the packages that are installed here."""
    folder = Path(pytest.__file__).parents[1]
    found = [*folder.rglob("*.md"), *folder.glob("*.dist-info/METADATA")]
    return sorted(each for each in found if each.stat().st_size < 60_000)[::7]


def test_any_page_of_markdown_can_be_kept_as_a_record() -> None:
    for file in _real_documents()[: scaled(8)]:
        text = file.read_bytes().decode("utf-8", "surrogateescape")
        before = parse(text, PATH, zone=ZONE)
        assert rewrite(text, before, zone=ZONE) == text
        after = before
        for what in ("close", "note", "error", "lesson", "sources", "result"):
            after = changed(after, what, "what is new")
        again = parse(rewrite(text, after, zone=ZONE), PATH, zone=ZONE)
        assert replace(again, type=after.type, request=after.request) == after


def test_fields_without_a_list_stay_without_one() -> None:
    text = "# Login\n\nstatus: open\n\nprose\n"
    before = parse(text, PATH, zone=ZONE)
    after = replace(before, status="done", closed=datetime(2026, 3, 15, 9, 0, tzinfo=ZONE))
    assert rewrite(text, after, zone=ZONE) == (
        "# Login\n\nstatus: done\nclosed: 2026-03-15 09:00:00+08:00\n\nprose\n"
    )
