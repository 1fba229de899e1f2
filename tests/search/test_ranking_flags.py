"""``ranking.flags``: what a chunk's words say about it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.search.ranking.flags import flags_of
from holdfast.search.ranking.rows import Flag
from tests.scale import scaled


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("Where is it?", Flag.ASKS | Flag.ENDS_ASKING),
        ("Is it? Yes.", Flag.ASKS),
        ("在哪里？”", Flag.ASKS | Flag.ENDS_ASKING | Flag.DENSE),
        ("We met yesterday", Flag.FIRST_PERSON | Flag.TELLS_WHEN),
        ("I’ve been there", Flag.FIRST_PERSON),
        ("我上周去了", Flag.FIRST_PERSON | Flag.TELLS_WHEN | Flag.DENSE),
        ("会议在3月5号", Flag.TELLS_WHEN | Flag.DENSE),
        ("用 Docker 部署", Flag.DENSE),
        ("the office in 北京 was closed", Flag(0)),
        ("built in 2019", Flag.TELLS_WHEN),
        ("oak", Flag(0)),
        ("", Flag(0)),
    ],
)
def test_flags_are_found_in_both_languages(text: str, flags: Flag) -> None:
    assert flags_of(text) == flags


@given(st.text(max_size=400))
@settings(max_examples=scaled(100), deadline=None)
def test_only_what_asks_ends_asking(text: str) -> None:
    found = flags_of(text)
    assert Flag.ASKS in found or Flag.ENDS_ASKING not in found


@pytest.mark.parametrize("piece", ["1", "?", "i'", "一", " ", "20"])
def test_a_very_long_text_is_read_in_linear_time(piece: str) -> None:
    flags_of(piece * scaled(50_000))
