"""Kinds of values: what they read, what they refuse, and the way back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config import values
from holdfast.config.values import At, Below, Kind, ScopeMatch, ScopeRule, Share
from holdfast.types import ChatType
from tests.scale import scaled

Word = Literal["one", "two"]

_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(
    str.strip
)
_matches = st.builds(
    ScopeMatch,
    tenant=st.none() | _texts,
    agent=st.none() | _texts,
    user=st.none() | _texts,
    chat=st.none() | _texts,
    chat_type=st.none() | st.sampled_from(get_args(ChatType)),
)
_seconds = st.integers(0, 3660 * 86_400).map(lambda seconds: timedelta(seconds=seconds))
_milliseconds = st.integers(0, 10**9).map(lambda amount: timedelta(milliseconds=amount))

ROUND_TRIPS: dict[str, tuple[Kind[Any], st.SearchStrategy[Any]]] = {
    "boolean": (values.boolean, st.booleans()),
    "whole": (values.whole(3, 10**9), st.integers(3, 10**9)),
    "number": (values.number(0, 10), st.floats(0, 10)),
    "text": (values.text, _texts),
    "choice": (values.choice(Word), st.sampled_from(get_args(Word))),
    "optional": (values.optional(values.duration), st.none() | _seconds),
    "strings": (values.strings, st.lists(_texts).map(tuple)),
    "argv": (values.argv, st.lists(_texts).map(tuple)),
    "duration": (values.duration, _seconds | _milliseconds),
    "threshold": (
        values.threshold,
        st.builds(Below, tokens=st.integers(0))
        | st.builds(At, tokens=st.integers(1))
        | st.builds(Share, fraction=st.floats(0, 1, exclude_min=True, exclude_max=True)),
    ),
    "zone": (values.zone, st.sampled_from(["UTC", "Asia/Shanghai", "America/Argentina/Salta"])),
    "chat id": (values.chat_id, st.integers().map(str) | st.just("@my_channel")),
    "rules": (
        values.scope_rules,
        st.lists(
            st.builds(ScopeRule, action=st.sampled_from(["allow", "deny"]), match=_matches),
            max_size=4,
        ).map(tuple),
    ),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
@settings(max_examples=scaled(40))
@given(data=st.data())
def test_a_value_written_back_as_plain_data_reads_as_the_same_value(
    name: str, data: st.DataObject
) -> None:
    kind, strategy = ROUND_TRIPS[name]
    value = data.draw(strategy)
    assert kind.read(kind.plain(value)) == value


REFUSED: list[tuple[Kind[Any], Any]] = [
    (values.boolean, 1),
    (values.boolean, "true"),
    (values.whole(), True),
    (values.whole(), 4000.0),
    (values.whole(), "4000"),
    (values.whole(5), 4),
    (values.whole(5, 9), 10),
    (values.number(), False),
    (values.number(), float("nan")),
    (values.number(), float("inf")),
    (values.number(), 10**400),
    (values.number(0, 1), 1.01),
    (values.text, ""),
    (values.text, "  \n"),
    (values.text, "a\0b"),
    (values.text, "\ud800"),
    (values.text, 5),
    (values.choice(Word), "three"),
    (values.choice(Word), None),
    (values.strings, "one"),
    (values.strings, ["one", 2]),
    (values.argv, "rm -rf /"),
    (values.argv, ["", "x"]),
    (values.argv, ["x", 1]),
    (values.duration, "5"),
    (values.duration, "5 parsecs"),
    (values.duration, "-5m"),
    (values.duration, -1),
    (values.duration, "99999999d"),
    (values.duration, "9" * 400 + "s"),
    (values.duration, True),
    (values.threshold, -1),
    (values.threshold, 0.0),
    (values.threshold, 1.0),
    (values.threshold, {"at": 0}),
    (values.threshold, {"at": 5, "to": 6}),
    (values.threshold, {}),
    (values.threshold, "100000"),
    (values.zone, "Mars/Olympus"),
    (values.zone, "../../etc/passwd"),
    (values.zone, "/etc/localtime"),
    (values.zone, "America"),
    (values.url, "ftp://example.org"),
    (values.url, "https://"),
    (values.url, "example.org"),
    (values.chat_id, "me"),
    (values.chat_id, True),
    (values.scope_rules, {}),
    (values.scope_rules, ["allow"]),
    (values.scope_rules, [{"match": {}}]),
    (values.scope_rules, [{"action": "permit"}]),
    (values.scope_rules, [{"action": "allow", "match": {"chatType": "direct"}}]),
    (values.scope_rules, [{"action": "allow", "match": {"chat_type": "secret"}}]),
    (values.scope_rules, [{"action": "allow", "match": []}]),
    (values.scope_rules, [{"action": "allow", "unless": {}}]),
]


@pytest.mark.parametrize(
    ("kind", "raw"), REFUSED, ids=[f"{kind.name}-{raw!r:.30}" for kind, raw in REFUSED]
)
def test_what_is_not_allowed_is_refused_with_a_reason(kind: Kind[Any], raw: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        kind.read(raw)


@settings(max_examples=scaled(70))
@given(
    raw=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    )
)
def test_no_kind_fails_on_foreign_data_in_any_other_way(raw: Any) -> None:
    for kind, _ in ROUND_TRIPS.values():
        try:
            value = kind.read(raw)
        except ValueError:
            continue
        assert kind.read(kind.plain(value)) == value


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("90s", 90), ("5m", 300), ("1h", 3600), ("2d", 172_800), ("500ms", 0.5), ("1h 30m", 5400),
     ("1H30M", 5400), ("1.5h", 5400), (45, 45), (0.25, 0.25), ("0s", 0)],
)  # fmt: skip
def test_durations_are_read_as_people_write_them(written: Any, seconds: float) -> None:
    assert values.duration.read(written) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "written"), [(300, "5m"), (3600, "1h"), (90, "90s"), (0.5, "500ms"), (0, "0s")]
)
def test_durations_are_shown_in_their_largest_whole_unit(seconds: float, written: str) -> None:
    assert values.duration.plain(timedelta(seconds=seconds)) == written


def test_a_misspelt_word_and_a_misspelt_zone_come_with_the_nearest_one() -> None:
    assert "'two'" in _reason(values.choice(Word), "twoo")
    assert "'Europe/Berlin'" in _reason(values.zone, "Europe/Berln")
    assert "rule 2" in _reason(values.scope_rules, [{"action": "deny"}, {"action": "x"}])


def _reason(kind: Kind[Any], raw: Any) -> str:
    with pytest.raises(ValueError, match=r"\w") as caught:
        kind.read(raw)
    return str(caught.value)
