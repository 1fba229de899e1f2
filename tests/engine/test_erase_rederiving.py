"""What was made of changed entries is made anew; what was not is not touched."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.flush import covered_by, entry_hash, flush_records
from holdfast.engine.erase.rederiving import LineDerivation, rederived
from holdfast.retain import RetainLine
from holdfast.types import Entry, Json
from tests.scale import scaled
from tests.sessions.rooms import AT

MARK = "[erased r1]"


def entry(number: int, kind: str = "message", **data: Json) -> Entry:
    data = data or {"role": "user", "text": f"text {number}"}
    return Entry(id=f"e{number}", parent=None, seq=number, at=AT, type=kind, data=data)


def said(number: int, text: str, role: str = "user") -> Entry:
    return entry(number, role=role, text=text)


def flush(number: int, *covered: Entry) -> Entry:
    return entry(
        number, "flush", outcome="flushed", cycle="genesis", owner="o", attempt=1, mode="rules",
        covers=[each.id for each in covered], hashes=[entry_hash(each) for each in covered],
    )  # fmt: skip


def test_coverage_stays_true_and_no_old_hash_is_kept() -> None:
    old, other = said(1, "my pin is 9182"), said(2, "hello")
    stale = replace(flush(4, other), data={**flush(4, old).data, "hashes": ["f" * 16]})
    before = [old, other, flush(3, old, other), stale]
    new = said(1, f"my pin is {MARK}")
    after = rederived(MARK, before, [new, other, before[2], stale])
    assert covered_by(flush_records([after[2]]), after) == {"e1", "e2"}
    assert covered_by(flush_records([after[3]]), after) == set(), "what was not covered is not now"
    assert entry_hash(old) not in str(after)
    assert after[:2] == [new, other]


@given(changed=st.sets(st.integers(0, 9)), covered=st.sets(st.integers(0, 9), min_size=1))
@settings(max_examples=scaled(60))
def test_what_was_covered_before_is_covered_after(changed: set[int], covered: set[int]) -> None:
    before = [said(n, f"secret {n}") for n in range(10)]
    record = flush(10, *(before[n] for n in sorted(covered)))
    after = [said(n, f"{MARK} {n}") if n in changed else before[n] for n in range(10)]
    result = rederived(MARK, [*before, record], [*after, record])
    assert covered_by(flush_records(result), result[:10]) == {f"e{n}" for n in covered}
    assert [each.id for each in result] == [each.id for each in [*before, record]]
    assert all(one is two for one, two in zip(result[:10], after, strict=True))


def summary(number: int, *parts: tuple[str, list[str]]) -> Entry:
    told = [{"text": text, "sources": sources, "kind": "text"} for text, sources in parts]
    return entry(number, "compaction", summary=told, first_kept=None, cut_title="The pin")


def test_a_summary_keeps_the_lines_that_still_stand() -> None:
    before = [said(1, "I moved to Oslo and my pin is 9182"), said(2, "The port is 8080")]
    after = [said(1, f"I moved to Oslo and {MARK}"), before[1]]
    made = summary(
        3,
        ("User: I moved to Oslo\nA code of four digits was given.", ["e1"]),
        ("The port is 8080", ["e2"]),
        ("No sources at all", []),
    )
    result = rederived(MARK, [*before, made], [*after, made])[2]
    assert [part["text"] for part in result.data["summary"]] == [
        "User: I moved to Oslo",
        "The port is 8080",
        "No sources at all",
    ]
    assert result.data["cut_title"] == ""
    assert rederived(MARK, [*before, made], [*before, made])[2] is made


def test_a_summary_of_which_nothing_stands_is_written_by_the_rules_or_marked() -> None:
    before = [said(1, "Please remember: I never eat peanuts. My pin is 9182.")]
    after = [said(1, f"Please remember: I never eat peanuts. {MARK}.")]
    made = summary(2, ("Someone gave a code, and has an allergy perhaps.", ["e1"]))
    (part,) = rederived(MARK, [*before, made], [*after, made])[1].data["summary"]
    assert "peanuts" in part["text"]
    assert "code" not in part["text"]
    gone = [said(1, MARK)]
    (part,) = rederived(MARK, [*before, made], [*gone, made])[1].data["summary"]
    assert part["text"] == MARK


def test_a_chinese_summary_is_judged_the_same() -> None:
    before = [said(1, "我住在上海，我的密码是九一八二。")]
    after = [said(1, f"我住在上海，{MARK}。")]
    made = summary(2, ("我住在上海\n他给了一个数字口令", ["e1"]))
    (part,) = rederived(MARK, [*before, made], [*after, made])[1].data["summary"]
    assert part["text"] == "我住在上海"


def test_a_memory_line_stays_only_on_what_is_left() -> None:
    entries = {"s1": [said(1, f"Please remember: I never eat peanuts. {MARK}.")]}
    derive = LineDerivation(
        MARK, lambda name, ids: [e for e in entries.get(name, []) if e.id in ids]
    )
    stands = RetainLine(kind="W", text="I never eat peanuts", sources=("s1#e1",))
    tells = RetainLine(kind="W", text="Has an allergy and a code", sources=("s1#e1",))
    lost = RetainLine(kind="W", text="From a session that is gone", sources=("s9#e1",))
    assert derive(stands) == [stands]
    instead = derive(tells)
    assert instead
    assert all("peanuts" in line.text and line.sources == ("s1#e1",) for line in instead)
    assert list(derive(lost)) == []
