"""Lines out of a stream of bytes, however it is cut, and none too large."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.mcp_server.frames import Frames, Oversized
from tests.scale import scaled

LIMIT = 40

lines = st.lists(st.binary(max_size=3 * LIMIT).map(lambda each: each.replace(b"\n", b"")))


def fed(data: bytes, cuts: list[int]) -> Iterator[bytes | Oversized]:
    frames = Frames(LIMIT)
    ends = sorted({min(each, len(data)) for each in cuts} | {len(data)})
    start = 0
    for end in ends:
        yield from frames.feed(data[start:end])
        start = end
    yield from frames.end()


@settings(max_examples=scaled(100))
@given(lines=lines, cuts=st.lists(st.integers(0, 600)))
def test_however_the_bytes_are_cut_the_frames_are_the_lines(
    lines: list[bytes], cuts: list[int]
) -> None:
    found = list(fed(b"\n".join(lines), cuts))
    wanted = [each for each in lines if each.strip() or len(each) > LIMIT]
    assert len(found) == len(wanted)
    for frame, line in zip(found, wanted, strict=True):
        if isinstance(frame, Oversized):
            assert len(line) > LIMIT
            assert frame.size == len(line)
            assert line.startswith(frame.head)
            assert line.endswith(frame.tail)
        else:
            assert frame == line


def test_of_a_line_without_an_end_only_little_is_kept() -> None:
    frames = Frames(1000)
    for _ in range(200):
        assert list(frames.feed(b"x" * 65_536)) == []
        assert len(frames._line) + len(frames._tail) <= 2 * 1000
    (found,) = frames.feed(b"\n")
    assert isinstance(found, Oversized)
    assert found.size == 200 * 65_536
    assert list(frames.feed(b'{"a":1}\n')) == [b'{"a":1}'], "the next line is read as usual"


ids = st.one_of(st.integers(-(2**53), 2**53), st.text(st.characters(codec="ascii"), max_size=20))
messages: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "method": st.just("tools/call"),
        "id": ids,
        "params": st.fixed_dictionaries(
            {"id": ids, "filler": st.text(min_size=900, max_size=1200), "arguments": st.just({})}
        ),
    }
)


@settings(max_examples=scaled(60))
@given(message=messages, order=st.permutations(["jsonrpc", "method", "id", "params"]))
def test_the_id_of_a_large_message_is_its_own_or_unknown(
    message: dict[str, object], order: list[str]
) -> None:
    line = json.dumps({key: message[key] for key in order}, ensure_ascii=False).encode()
    (found,) = [*fed(line + b"\n", [])]
    assert isinstance(found, Oversized)
    is_plain = "\\" not in json.dumps(message["id"], ensure_ascii=False)
    assert found.id == (message["id"] if is_plain else None)
