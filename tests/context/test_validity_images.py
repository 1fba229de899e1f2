"""The size of a picture, from its header."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.validity.images import decoded_bytes, dimensions
from tests.context.messy import png
from tests.scale import scaled


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def jpeg(width: int, height: int, before: int = 0) -> bytes:
    profile = b"\xff\xe2" + struct.pack(">H", before + 2) + b"\0" * before if before else b""
    frame = b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + b"\x03" + b"\0" * 9
    tables = b"\xff\xc4" + struct.pack(">H", 4) + b"\0\0"
    return (
        b"\xff\xd8\xff\xe0"
        + struct.pack(">H", 16)
        + b"JFIF\0"
        + b"\0" * 9
        + tables
        + (profile + frame + b"\0" * 20)
    )


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + body + b"\0" * 20


@pytest.mark.parametrize(
    "data",
    [
        base64.b64decode(png(640, 480)),
        b"GIF89a" + struct.pack("<HH", 640, 480) + b"\0" * 20,
        jpeg(640, 480),
        jpeg(640, 480, before=40_000),
        webp(b"VP8X", b"\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
        webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14)),
        webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)),
    ],
    ids=["png", "gif", "jpeg", "jpeg-with-profile", "webp-x", "webp-lossless", "webp"],
)
def test_the_size_is_read_from_the_header(data: bytes) -> None:
    assert dimensions(encoded(data)) == (640, 480)


@pytest.mark.parametrize("data", ["", "!!!!", encoded(b"BM" + b"\0" * 60), encoded(b"\x89PNG")])
def test_what_is_no_picture_has_no_size(data: str) -> None:
    assert dimensions(data) is None


def test_bytes_are_counted_without_decoding() -> None:
    assert decoded_bytes(encoded(b"x" * 3000)) == 3000


@settings(max_examples=scaled(100))
@given(
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF8", b"RIFF\0\0\0\0WEBPVP8X", b"\xff\xd8\xff", b""]),
    st.binary(max_size=80),
)
def test_any_header_is_read_without_an_error(magic: bytes, rest: bytes) -> None:
    size = dimensions(encoded(magic + rest))
    assert size is None or len(size) == 2
