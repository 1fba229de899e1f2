"""What was said while memory was off is told apart, whatever part of a transcript is looked at."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from holdfast.sessions.private import openly_said, said_in_private
from holdfast.types import Entry

AT = datetime(2026, 3, 1, tzinfo=UTC)
MODES = ("read-write", "read", "off")


def told(steps: list[str]) -> tuple[list[Entry], list[str], set[str]]:
    """A transcript, the mode behind each entry, and what was said while memory was off."""
    entries: list[Entry] = []
    modes: list[str] = []
    private: set[str] = set()
    mode = "read-write"
    for number, step in enumerate(steps):
        entry_type, data = "message", {"role": "user"}
        if step in MODES:
            entry_type, data = "marker", {"kind": "memory", "mode": step, "before": mode}
            mode = step
        elif mode == "off":
            private.add(f"e{number}")
        modes.append(mode)
        entries.append(
            Entry(id=f"e{number}", parent=None, seq=number, at=AT, type=entry_type, data=data)
        )
    return entries, modes, private


@given(steps=st.lists(st.sampled_from([*MODES, "said", "said"]), max_size=12), data=st.data())
def test_any_stretch_tells_what_was_said_in_private(steps: list[str], data: st.DataObject) -> None:
    entries, modes, private = told(steps)
    start = data.draw(st.integers(0, len(entries)))
    end = data.draw(st.integers(start, len(entries)))
    stretch = entries[start:end]
    mode = modes[end - 1] if end else None
    found = said_in_private(stretch, mode)
    assert found == private & {entry.id for entry in stretch}
    assert [e for e in openly_said(stretch, mode) if e.id in private] == []


def test_a_marker_that_does_not_say_what_held_before_is_read_by_the_one_before_it() -> None:
    entries, _, private = told(["said", "off", "said", "read-write", "said"])
    bare = [
        Entry(
            id=each.id,
            parent=None,
            seq=each.seq,
            at=AT,
            type=each.type,
            data={key: value for key, value in each.data.items() if key != "before"},
        )
        for each in entries
    ]
    assert said_in_private(bare, "read-write") == private == {"e2"}
