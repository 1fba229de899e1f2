"""Large payloads, stored once by their content beside the transcripts.

A string above the ingest cap, or the bytes of an image, leaves its entry and becomes a file
``artifacts/<sha256>``; the entry keeps where it was (``data["artifacts"]``). A giant tool
result is shown as head, note and tail from then on; everything else is put back whenever it
is shown.

Promise: what comes back is what went in, or an error, never something else
(``tests/sessions/test_artifacts.py``). Freed only when no transcript names it any more.
"""

from __future__ import annotations

import base64
import binascii
import copy
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from holdfast.disk import Directory, Seen
from holdfast.errors import NotFound, StorageError
from holdfast.sessions.shapes import references
from holdfast.text import shorten
from holdfast.types import Json

__all__ = [
    "Artifacts",
    "Large",
    "find_large",
    "inline",
    "reference_ids",
    "replace_at",
    "set_aside",
    "shown_instead",
]

log = logging.getLogger("holdfast.sessions")

IMAGE_INLINE_CHARS: Final = 1024
SHORTEST_ID: Final = 8
_ID: Final = re.compile(r"[0-9a-f]{8,64}")

Path = tuple[str | int, ...]


class Artifacts:
    """The folder of payloads: put, get, free."""

    def __init__(self, folder: Directory) -> None:
        self._folder = folder

    def put(self, payload: bytes) -> str:
        """The id of the payload, which is on disk when this returns."""
        artifact_id = sha256(payload).hexdigest()
        if self._folder.read(artifact_id) != payload:  # missing, or damaged since
            self._folder.replace(artifact_id, payload)
        else:
            self._folder.sync()  # whoever stored it may have died before its name was durable
        self._folder.sync_way()
        return artifact_id

    def get(self, artifact_id: str) -> bytes:
        """The payload, checked against its id. A unique beginning of the id is enough."""
        artifact_id = self.resolve(artifact_id)
        payload = self._folder.read(artifact_id)
        if payload is None:
            raise NotFound(f"There is no artifact {artifact_id!r}.")
        if sha256(payload).hexdigest() != artifact_id:
            raise StorageError(
                f"Artifact {artifact_id!r} was changed on disk: its content is not what was saved.",
                hint="Restore the file from a backup.",
            )
        return payload

    def resolve(self, beginning: str) -> str:
        """The full id that starts with ``beginning``."""
        if _ID.fullmatch(beginning):
            if len(beginning) == 64:
                return beginning
            matches = [name for name in self._folder.names() if name.startswith(beginning)]
            if len(matches) == 1:
                return matches[0]
        raise NotFound(
            f"No artifact has the id {beginning!r}.",
            hint=f"Give at least the first {SHORTEST_ID} hexadecimal digits of the id.",
        )

    def free(self, artifact_ids: set[str]) -> int:
        """Remove payloads that nobody names any more, durably; how many there were."""
        freed = sum(self._folder.remove(artifact_id) for artifact_id in sorted(artifact_ids))
        self._folder.sync()
        return freed

    def names(self) -> list[str]:
        return self._folder.names()

    def raw(self, name: str) -> bytes | None:
        """The bytes of a file in the folder, whatever its name says of them."""
        return self._folder.read(name)

    def glances(self, artifact_ids: Sequence[str]) -> Mapping[str, Seen]:
        """Which file each of the payloads is now, as far as there is one; nothing is read."""
        return self._folder.glances(filter(_ID.fullmatch, artifact_ids))

    def total_bytes(self) -> int:
        found = (self._folder.stat(name) for name in self._folder.names())
        return sum(each.size for each in found if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """A string of a stored message that will be set aside."""

    path: Path
    text: str
    is_result: bool
    is_image: bool


def find_large(stored: Mapping[str, Json], *, cap_chars: int) -> list[Large]:
    """The payloads of a stored message that are too large to stay in it; usually none."""
    if "parts" not in stored and "extra" not in stored and len(stored["text"]) <= cap_chars:
        return []
    return list(_large_strings(stored, cap_chars))


def set_aside(
    stored: Mapping[str, Json], large: list[Large], artifacts: Artifacts, *, cap_chars: int
) -> Mapping[str, Json]:
    """The stored message with those payloads moved to artifacts."""
    if not large:
        return stored
    slim = copy.deepcopy(dict(stored))
    named = []
    for each in large:
        payload, encoding = _payload(each)
        artifact_id = artifacts.put(payload)
        shown = shown_instead(each.text, artifact_id, cap_chars) if each.is_result else ""
        replace_at(slim, each.path, shown)
        named.append(
            {
                "path": list(each.path),
                "sha256": artifact_id,
                "chars": len(each.text),
                "encoding": encoding,
                "short": each.is_result,
            }
        )
    slim["artifacts"] = named
    return slim


def inline(
    data: Mapping[str, Json], artifacts: Artifacts, *, whole: bool, strict: bool = False
) -> Mapping[str, Json]:
    """The stored message with its payloads put back: all of them, or those shown in full.

    A note stands in place of a payload that is gone or changed, because one lost file must not
    cost the conversation; if ``strict``, that is an error.
    """
    wanted = [each for each in references(data) if whole or not each["short"]]
    if not wanted:
        return data
    full = copy.deepcopy(dict(data))
    for each in wanted:
        path = tuple(each["path"])
        try:
            replace_at(full, path, _decoded(artifacts.get(each["sha256"]), each["encoding"]))
        except (NotFound, StorageError) as error:
            if strict:
                raise
            log.warning("%s", error.message)
            with suppress(StorageError):
                _replace_by_note(full, path, each["sha256"])
    if whole:
        del full["artifacts"]
    return full


def reference_ids(data: Mapping[str, Json]) -> set[str]:
    """The artifacts an entry names."""
    return {each["sha256"] for each in references(data)}


def _large_strings(
    value: Json, cap_chars: int, path: Path = (), *, in_result: bool = False, image: bool = False
) -> Iterator[Large]:
    if isinstance(value, str):
        if len(value) > (min(IMAGE_INLINE_CHARS, cap_chars) if image else cap_chars):
            is_result = in_result and path[-1] == "text"
            yield Large(path=path, text=value, is_result=is_result, is_image=image)
    elif isinstance(value, Mapping):
        kind = value.get("type") if path else None
        in_result = in_result or kind == "tool_result" or value.get("role") == "tool"
        for key, inner in value.items():
            is_image = kind == "image" and key == "data"
            yield from _large_strings(
                inner, cap_chars, (*path, key), in_result=in_result, image=is_image
            )
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _large_strings(inner, cap_chars, (*path, index), in_result=in_result)


def _payload(large: Large) -> tuple[bytes, str]:
    """The bytes to store: an image as the image it is, if its text can be made from it again."""
    if large.is_image:
        try:
            decoded = base64.b64decode(large.text, validate=True)
        except (binascii.Error, ValueError):
            pass
        else:
            if base64.b64encode(decoded).decode() == large.text:
                return decoded, "base64"
    return large.text.encode("utf-8", "surrogatepass"), "utf-8"


def _decoded(payload: bytes, encoding: str) -> str:
    if encoding == "base64":
        return base64.b64encode(payload).decode()
    return payload.decode("utf-8", "surrogatepass")


def shown_instead(text: str, artifact_id: str, cap_chars: int) -> str:
    """Head, note and tail of a result that is too large to be shown whole."""
    head, tail = cap_chars // 2, cap_chars // 4
    note = (
        f"\n[… {len(text) - head - tail:,} of {len(text):,} characters are not shown; "
        f"the whole text: expand {artifact_id[:16]}]\n"
    )
    return shorten(text, head, tail, note)


def replace_at(value: Json, path: Path, new: str) -> None:
    """Put a string where the path leads, in place."""
    try:
        *steps, last = path
        for step in steps:
            value = value[step]
        value[last] = new
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise StorageError(f"An artifact belongs at {path!r}, where nothing is.") from error


def _replace_by_note(value: Json, path: Path, artifact_id: str) -> None:
    note = f"[This was stored as artifact {artifact_id[:16]}, which is missing or damaged.]"
    replace_at(value, path, note)
    part = value
    for step in path[:-1]:
        part = part[step]
    if isinstance(part, dict) and part.get("type") == "image":  # a note is no image
        part.clear()
        part.update({"type": "text", "text": note})
