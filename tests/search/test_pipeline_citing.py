"""A citation that is given holds: the words are there now, at these lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from holdfast.scope import Place
from holdfast.search.query.candidates import Candidate
from holdfast.search.query.citing import Checked, Verifier
from holdfast.types import Citation, LineSpan

FILE = "# Tea\n\n- Alice likes green tea\n  in the morning\n- Bob drinks coffee\n"


def a_candidate(text: str, start: int, end: int, key: str = "MEMORY.md") -> Candidate:
    return Candidate(
        id="1",
        key=key,
        source="memory",
        place=Place(tenant="local", agent="main"),
        kind="item",
        text=text,
        score=1.0,
        span=LineSpan(start=start, end=end),
    )


def check(candidate: Candidate, present: str | None) -> Checked:
    return Verifier(content=lambda _: present).check(candidate)


def span_of(checked: Checked) -> str:
    assert checked.candidate is not None
    return str(checked.candidate.citation)


def test_words_that_stand_where_they_stood_keep_their_lines() -> None:
    item = a_candidate("- Alice likes green tea\n  in the morning", 3, 4)
    assert span_of(check(item, FILE)) == "MEMORY.md#L3-L4"
    assert span_of(check(item, FILE.replace("\n", "\r\n"))) == "MEMORY.md#L3-L4"


def test_words_that_moved_are_cited_where_they_stand_now() -> None:
    item = a_candidate("- Alice likes green tea\n  in the morning", 3, 4)
    assert span_of(check(item, "new\n\nlines\n" + FILE)) == "MEMORY.md#L6-L7"
    assert span_of(check(a_candidate("Bob drinks coffee", 50, 50), FILE)) == "MEMORY.md#L5"


def test_of_several_places_the_nearest_is_cited() -> None:
    present = "tea\n" + "x\n" * 8 + "tea\n" + "y\n" * 8 + "tea\n"
    assert span_of(check(a_candidate("tea", 12, 12), present)) == "MEMORY.md#L10"
    assert span_of(check(a_candidate("tea", 17, 17), present)) == "MEMORY.md#L19"


def test_words_that_are_gone_are_not_shown_and_it_is_said() -> None:
    found = check(a_candidate("Alice likes black tea", 3, 3), FILE)
    assert found.candidate is None
    assert found.stale == "MEMORY.md changed since it was indexed"
    gone = check(a_candidate("Alice likes green tea", 3, 3), None)
    assert gone.candidate is None
    assert gone.stale == "MEMORY.md is gone since it was indexed"


def test_a_memory_line_is_found_behind_its_marks_and_its_comment() -> None:
    present = '- W(c=0.9) @"Alice Liddell": likes  tea <!-- hf id=x\nuntil=y -->\n- next line\n'
    item = a_candidate("@Alice Liddell: likes tea", 1, 1)
    line = replace(item, kind="fact", entities=("Alice Liddell",))
    assert span_of(check(line, present)) == "MEMORY.md#L1"
    assert span_of(check(a_candidate("- next line", 3, 3), present)) == "MEMORY.md#L3"


def test_an_entry_is_checked_against_its_own_text_and_each_source_is_read_once() -> None:
    asked: list[str] = []

    def content(citation: Citation) -> str | None:
        asked.append(str(citation))
        return "Good morning!\nTea?" if citation.entry == "e1" else None

    said = replace(a_candidate("Tea?", 1, 1), entry="e1", span=None)
    lost = replace(a_candidate("Tea?", 1, 1), entry="e2", span=None)
    verifier = Verifier(content=content)
    assert span_of(verifier.check(said)) == "MEMORY.md#e1"
    assert verifier.check(said).candidate == said
    assert verifier.check(lost).candidate is None
    assert asked == ["MEMORY.md#e1", "MEMORY.md#e2"]


def test_a_document_that_is_known_to_be_as_indexed_is_not_read_again() -> None:
    asked: list[str] = []

    def content(citation: Citation) -> str | None:
        asked.append(citation.source)
        return None

    verifier = Verifier(content=content, is_fresh=lambda key: key == "MEMORY.md")
    item = a_candidate("Alice likes green tea", 3, 3)
    assert verifier.check(item).candidate == item
    assert asked == []
    other = replace(item, key="memory/2026-03-04.md")
    assert verifier.check(other).candidate is None
    assert asked == ["memory/2026-03-04.md"]


def test_without_the_present_text_nothing_is_checked() -> None:
    item = a_candidate("anything", 3, 3)
    assert Verifier(content=None).check(item).candidate == item


LINES = st.lists(st.sampled_from(["", "- tea", "茶", "a  b", "<!-- x -->c", "* Bob", "    code"]))


@given(LINES, LINES, LINES)
def test_what_is_cited_is_there(
    before: Sequence[str], lines: Sequence[str], after: Sequence[str]
) -> None:
    chunk = [line for line in lines if line.strip()]
    if not chunk:
        return
    start = len(before) + 1
    item = a_candidate("\n".join(chunk), start, start + len(chunk) - 1)
    present = "\n".join([*before, *chunk, *after])
    assert span_of(check(item, present)) == f"MEMORY.md#{item.span}"
    found = check(item, "\n".join([*after, *chunk, *before])).candidate
    assert found is not None
    assert found.span is not None
    shown = "\n".join([*after, *chunk, *before]).split("\n")[found.span.start - 1 : found.span.end]
    assert _bare(chunk) in _bare(shown)


def _bare(lines: Sequence[str]) -> str:
    text = "".join(lines).replace("<!-- x -->", "")
    return "".join(char for char in text if char not in " -*")
