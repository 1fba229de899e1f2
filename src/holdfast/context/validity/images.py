"""How large a picture is, read from the first bytes of its base64 text.

Providers refuse a whole request for one picture with a side too long, and keep refusing it
with every later turn, so the size must be known before it is sent. Nothing is decoded but the
header. Promise: any input gives a size or None, in time bounded by a constant
(``tests/context/test_validity_images.py``).
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable
from typing import Final

__all__ = ["decoded_bytes", "dimensions"]

_HEADER_CHARS: Final = 512 * 1024  # of base64; a JPEG may carry a long profile before its size

_SHORT: Final = 64  # enough for every format that names its size first


def decoded_bytes(data: str) -> int:
    """How many bytes the base64 text stands for, near enough to compare with a limit."""
    return len(data) * 3 // 4


def dimensions(data: str) -> tuple[int, int] | None:
    """Width and height of the picture in base64 ``data``; None if the header does not say."""
    head = _decode(data[:_SHORT])
    if head[:3] == b"\xff\xd8\xff":
        return _jpeg(_decode(data[:_HEADER_CHARS]))
    for magic, read in _READERS.items():
        if head.startswith(magic):
            try:
                return read(head)
            except (struct.error, IndexError):
                return None
    return None


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text[: len(text) // 4 * 4], validate=True)
    except (binascii.Error, ValueError):
        return b""


def _png(head: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", head, 16)
    return width, height


def _gif(head: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", head, 6)
    return width, height


def _webp(head: bytes) -> tuple[int, int] | None:
    match head[8:16]:
        case b"WEBPVP8X":
            return _uint24(head, 24) + 1, _uint24(head, 27) + 1
        case b"WEBPVP8L":
            (bits,) = struct.unpack_from("<I", head, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"WEBPVP8 ":
            width, height = struct.unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None


def _uint24(head: bytes, at: int) -> int:
    return head[at] | head[at + 1] << 8 | head[at + 2] << 16


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size in the frame header, found by hopping from segment to segment."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        if marker == 0xFF:  # fill
            at += 1
        else:
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


_READERS: Final[dict[bytes, Callable[[bytes], tuple[int, int] | None]]] = {
    b"\x89PNG\r\n\x1a\n": _png,
    b"GIF8": _gif,
    b"RIFF": _webp,
}
