"""Counters, goal and variables are derived from the entries, however they are read."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.sessions.records import Record, encode, scan
from holdfast.sessions.state import State
from holdfast.sessions.transcript import Draft
from holdfast.types import Entry
from tests.scale import scaled
from tests.sessions.rooms import AT, open_store, open_transcript, said

DRAFTS = st.one_of(
    st.text(max_size=20).map(lambda text: ("message", {"role": "user", "text": text})),
    st.sampled_from(["flushing", "flushed", "empty", "failed"]).map(
        lambda outcome: ("flush", {"outcome": outcome, "saved": 2})
    ),
    st.just(("compaction", {"summary": []})),
    st.just(("marker", {"kind": "closed"})),
    st.text(max_size=5).map(lambda text: ("marker", {"kind": "goal", "text": text})),
    st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=2).map(
        lambda values: ("marker", {"kind": "vars", "set": values, "unset": ["a"]})
    ),
    st.just(("of.the.future", {"any": "thing"})),
)


def read(data: bytes, state: State) -> State:
    start = state.end
    for each in scan(lambda offset, length: data[offset : offset + length], start, len(data)):
        assert isinstance(each, Record)
        state.advance(each)
    return state


@settings(max_examples=scaled(100))
@given(st.lists(DRAFTS, max_size=12), st.data())
def test_reading_in_steps_gives_the_state_of_reading_at_once(
    drafts: list[tuple[str, dict[str, object]]], data: st.DataObject
) -> None:
    lines = [
        encode(Entry(id=f"e{n}", parent=None, seq=n, at=AT, type=kind, data=fields))
        for n, (kind, fields) in enumerate(drafts)
    ]
    whole = read(b"".join(lines), State())
    stepwise = State()
    for cut in sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=4))):
        stepwise = read(b"".join(lines[:cut]), stepwise)
        restored = State.from_bytes(stepwise.to_bytes())
        assert restored == stepwise
        assert restored is not None
        stepwise = restored
    assert read(b"".join(lines), stepwise) == whole
    assert whole.entries == len(lines)


def test_goal_and_variables_are_durable(tmp_path: Path) -> None:
    transcript = open_transcript(open_store(tmp_path))
    transcript.append(
        [
            Draft(type="marker", data={"kind": "vars", "set": {"a": 1, "b": [2, "三"]}}),
            Draft(type="marker", data={"kind": "vars", "set": {"c": None}, "unset": ["a"]}),
            Draft(type="marker", data={"kind": "goal", "text": "订机票"}),
        ]
    )
    state = open_store(tmp_path).open("s1").state()
    assert state.vars == {"b": [2, "三"], "c": None}
    assert state.goal == "订机票"


def test_flush_and_compaction_counters_keep_their_well_known_names(tmp_path: Path) -> None:
    transcript = open_transcript(open_store(tmp_path))
    assert transcript.state().memory_flush_compaction_count is None, "none is not zero"
    transcript.append([Draft(type="flush", data={"outcome": "flushing"})])
    assert transcript.state().memory_flushing
    transcript.append([Draft(type="flush", data={"outcome": "flushed", "saved": 3})])
    transcript.append([Draft(type="compaction", data={"summary": []})])
    state = transcript.state()
    assert not state.memory_flushing
    assert state.compaction_count == 1
    assert state.memory_flush_compaction_count == 0
    assert state.last_memory_flush == {"at": state.memory_flush_at, "saved": 3}
    assert state.cycle == transcript.entries()[-1].id


def test_a_message_after_the_end_opens_the_session_again(tmp_path: Path) -> None:
    transcript = open_transcript(open_store(tmp_path))
    transcript.append([Draft(type="marker", data={"kind": "closed"})])
    assert transcript.state().closed
    transcript.append([said("one more thing")])
    assert not transcript.state().closed
