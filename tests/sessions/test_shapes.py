"""Whatever passes the check of shapes can be folded into the state and shown."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.sessions.records import record_of
from holdfast.sessions.shapes import problem_with
from holdfast.sessions.state import State
from holdfast.sessions.view import compute_view
from holdfast.types import Entry, Json
from tests.scale import scaled
from tests.sessions.rooms import AT

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
NAMES = st.sampled_from(
    [
        *("kind", "set", "unset", "text", "message", "role", "parts", "shown", "entry", "part"),
        *(
            "summary",
            "sources",
            "first_kept",
            "watermark",
            "pins",
            "kept",
            "type",
            "outcome",
            "form",
        ),
        *("content", "call_id", "id", "name", "arguments", "artifacts", "extra"),
    ]
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS | st.sampled_from(["vars", "goal", "reset", "closed", "fork", "text", "tool_result"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
TYPES = st.sampled_from(
    ["message", "recall", "prune", "compaction", "marker", "flush", "session", "x"]
)


@settings(max_examples=scaled(1500))
@given(TYPES, st.dictionaries(NAMES, VALUES, max_size=5))
def test_no_data_whatever_makes_a_session_unreadable(kind: str, data: dict[str, Json]) -> None:
    entry = Entry(id="e1", parent=None, seq=0, at=AT, type=kind, data=data)
    state = State()
    state.advance(record_of(entry, 0))
    view = compute_view([entry])
    assert all(isinstance(message.text, str) for message in view)
    if problem_with(kind, data) is None and kind == "compaction":
        compute_view([], compaction=entry)


def test_types_of_other_versions_are_not_judged() -> None:
    assert problem_with("of.the.future", {"anything": 1}) is None
