"""What an image weighs in tokens: by its size, which the first bytes of a picture name.

Promise: never by its base64 text, and never more than a little of it is decoded. An image
that cannot be read weighs as much as the largest. Proved by ``tests/context/test_tokens.py``.
"""

from __future__ import annotations

import binascii
from typing import Final

from holdfast.types import Image

__all__ = ["image_tokens"]

_MOST: Final = 1600  # providers scale larger pictures down to about this
_LEAST: Final = 85
_PIXELS_PER_TOKEN: Final = 750
_HEAD: Final = 64  # characters of base64: enough for PNG, GIF and WebP
_LONG_HEAD: Final = 131_072  # a JPEG may carry a preview before it says its size
_MOST_SEGMENTS: Final = 64
_DATA_URL: Final = "data:"


def image_tokens(image: Image) -> int:
    """About width x height / 750, at least 85 and at most 1,600; 1,600 if the size is unknown."""
    size = _size(_base64(image))
    if size is None:
        return _MOST
    width, height = size
    return min(max(width * height // _PIXELS_PER_TOKEN, _LEAST), _MOST)


def _base64(image: Image) -> str:
    if image.data is not None:
        return image.data
    if image.url is not None and image.url.startswith(_DATA_URL):
        start = image.url.find(",", 0, 256) + 1
        return image.url[start : start + _LONG_HEAD]
    return ""


def _size(data: str) -> tuple[int, int] | None:
    head = _decoded(data[:_HEAD])
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _sides(head[16:20], head[20:24], "big")
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _sides(head[6:8], head[8:10], "little")
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp(head)
    if head.startswith(b"\xff\xd8"):
        return _jpeg(_decoded(data[:_LONG_HEAD]))
    return None


def _decoded(base64: str) -> bytes:
    text = "".join(base64.split())
    try:
        return binascii.a2b_base64(text[: len(text) // 4 * 4])
    except ValueError:
        return b""


def _sides(first: bytes, second: bytes, order: str) -> tuple[int, int] | None:
    little = order == "little"
    width = int.from_bytes(first, "little" if little else "big")
    height = int.from_bytes(second, "little" if little else "big")
    return (width, height) if width and height else None


def _webp(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8X" and len(head) >= 30:
        return (
            int.from_bytes(head[24:27], "little") + 1,
            int.from_bytes(head[27:30], "little") + 1,
        )
    if kind == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and len(head) >= 30:
        width = int.from_bytes(head[26:28], "little") & 0x3FFF
        height = int.from_bytes(head[28:30], "little") & 0x3FFF
        return (width, height) if width and height else None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size stands in the frame header, behind any number of other segments."""
    at = 2
    for _ in range(_MOST_SEGMENTS):
        if at + 9 > len(data) or data[at] != 0xFF:
            return None
        kind = data[at + 1]
        if 0xC0 <= kind <= 0xCF and kind not in {0xC4, 0xC8, 0xCC}:
            return _sides(data[at + 7 : at + 9], data[at + 5 : at + 7], "big")
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
