"""Entries with a text taken out of them: same id, same number, same shape.

What the format itself says (keys, types, roles, ids of entries, hashes, times) is not something
that was said and stays. Everything else that holds the text is changed: values, keys, numbers,
names of sessions, and what an entry shows of a payload that was set aside.

Promise: an entry that could be read before can be read after (``tests/sessions/test_erasure.py``).
Pure: payloads are given.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from holdfast.matching import Match
from holdfast.sessions.artifacts import replace_at, shown_instead
from holdfast.sessions.records import Record
from holdfast.sessions.shapes import references
from holdfast.types import GENESIS, Entry, Json

__all__ = ["FORMAT_WORDS", "Blanking", "erased_name", "json_without", "stone_without"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYS: Final = _words(
    "hf seq id parent at type data crc role text form parts extra arguments content call_id name "
    "is_error media_type url signature format artifacts path sha256 chars encoding short summary "
    "sources kind first_kept watermark pins kept front tokens_before tokens_after strategy reason "
    "task cut_title history audit fallbacks covered passes shown entry part how saved_cost outcome "
    "cycle owner attempt mode covers hashes deadline file lines saved skipped message set unset "
    "session agent chat_type user chat"
)
_WORDS: Final = _words(
    "text image tool_call tool_result thinking opaque parts null absent user assistant system tool "
    "developer function goal vars closed fork reset utf-8 base64 flushing flushed empty failed "
    "rules model direct group channel summary layered selective threshold overflow messages "
    "interval manual holdfast openai anthropic lead head tail message marker prune compaction "
    "flush recall session"
)
_WORD_KEYS: Final = _words(
    "type role form kind encoding outcome chat_type mode strategy reason format how"
)
_ID_KEYS: Final = _words(
    "sha256 hashes covers cycle owner entry first_kept pins kept covered front sources lines "
    "stands_for parent id"
)
FORMAT_WORDS: Final = _KEYS | _WORDS
"""What stands in a transcript without having been said."""

_COUNTED: Final = frozenset({"session", "flush", "compaction", "prune"})
_COUNTS: Final = frozenset({"chars", "path", "part"})
_HEX: Final = re.compile(r"[0-9a-f]{16}|[0-9a-f]{64}")
_SESSION_KEYS: Final = frozenset({"session", "to"})


def erased_name(match: Match, name: str) -> str:
    """A name of a session without the text: one that ``check_name`` takes, if it took the old."""
    erased, count = match.erased_name(name)
    if not count:
        return name
    return erased if len(erased) <= 64 else match.erased_name(match.normal[0])[0][:64]


def json_without(match: Match, written: str) -> str:
    """A text that is JSON without the text, and JSON still; ``{}`` if nothing else will do.

    What stands there is what was said: not the escapes, numbers and quotes of the spelling.
    """
    if not match.is_in_json(written):
        return written
    try:
        value = json.loads(written)
    except ValueError:
        return match.erased_string(written)[0]  # never was JSON
    except RecursionError:
        return "{}"
    changed, count = match.erased_json(value)
    try:
        new = json.dumps(changed, ensure_ascii=False, allow_nan=False) if count else written
    except (ValueError, RecursionError):
        return "{}"
    return "{}" if match.is_in_json(new) else new


@dataclass(frozen=True, slots=True, kw_only=True)
class Blanking:
    """How the entries of one session are changed."""

    match: Match
    ids: Collection[str]
    """Of all its entries: where one is named, it stays."""
    whole: frozenset[str]
    """Entries of which nothing that was said may stay."""
    payloads: Mapping[str, str | None]
    """For each artifact that held the text, its text now; None if it is gone."""
    new_ids: Mapping[str, str]
    cap_chars: int

    def holds(self, entry: Entry) -> bool:
        """Whether there is anything to take out of the entry."""
        if entry.id in self.whole:
            return self.blank(entry) != entry
        if any(each["sha256"] in self.payloads for each in references(entry.data)):
            return True

        def keeps(key: str | None, value: Json) -> bool:
            return self._keeps(key, value, entry.type)

        return self.match.is_in_json([entry.data, dict(entry.extra)], keeps=keeps)

    def blank(self, entry: Entry) -> Entry:
        """The entry as it may stay."""
        data = self._with_new_payloads(entry.data, all_gone=entry.id in self.whole)
        entry = entry if data is entry.data else replace(entry, data=data)
        if entry.id in self.whole:
            return replace(entry, data=self._emptied(None, data, entry.type))
        (data, extra), count = self._fields(entry)
        return replace(entry, data=data, extra=extra) if count else entry

    def unreadable(self, record: Record) -> Entry:
        """In place of a record of which only the envelope makes sense."""
        return Entry(
            id=record.id,
            parent=record.parent,
            seq=record.seq,
            at=datetime.fromisoformat(record.at_text),
            type=record.type,
            data={"erased": self.match.receipt},
        )

    def _fields(self, entry: Entry) -> tuple[tuple[Json, Json], int]:
        def keeps(key: str | None, value: Json) -> bool:
            return self._keeps(key, value, entry.type)

        named, of_names = self._with_new_names(entry.data)
        data, in_data = self.match.erased_json(named, keeps=keeps)
        if of_names + in_data:
            _unsign(entry.data, data)
        extra, in_extra = self.match.erased_json(dict(entry.extra), keeps=keeps)
        return (data, extra), of_names + in_data + in_extra

    def _keeps(self, key: str | None, value: Json, kind: str) -> bool:
        if not isinstance(value, str):
            return kind in _COUNTED or key in _COUNTS
        if key is None:
            return value in _KEYS
        if key in _WORD_KEYS:
            return value in _WORDS
        if key == "deadline":
            return _is_time(value)
        return key in _ID_KEYS and (
            value in self.ids or value == GENESIS or _HEX.fullmatch(value) is not None
        )

    def _with_new_names(self, data: Mapping[str, Json]) -> tuple[Mapping[str, Json], int]:
        """Names must stay names: of the session a fork came from, of tools and their calls; and
        the arguments of a call must stay JSON."""
        count = 0
        session = data.get("session")
        if isinstance(session, str) and (new := erased_name(self.match, session)) != session:
            data, count = {**data, "session": new}, 1
        parts = data.get("parts")
        if isinstance(parts, list):
            renamed = [self._called(part) for part in parts]
            if changed := sum(one != two for one, two in zip(parts, renamed, strict=True)):
                data, count = {**data, "parts": renamed}, count + changed
        return data, count

    def _called(self, part: Json) -> Json:
        if not isinstance(part, Mapping) or part.get("type") not in {"tool_call", "tool_result"}:
            return part
        is_call = part["type"] == "tool_call"
        new = dict(part)
        name, arguments, call = part.get("name"), part.get("arguments"), part.get("call_id")
        if is_call and isinstance(name, str):
            new["name"] = erased_name(self.match, name)
        if is_call and isinstance(arguments, str):
            new["arguments"] = json_without(self.match, arguments)
        if is_call:
            call = part.get("id")
        key = "id" if is_call else "call_id"
        if isinstance(call, str) and not self._keeps(key, call, "message"):
            new[key] = self.match.erased_name(call)[0]
        return new

    def _with_new_payloads(self, data: Mapping[str, Json], *, all_gone: bool) -> Mapping[str, Json]:
        named = references(data)
        gone = {each["sha256"] for each in named} if all_gone else self.payloads.keys()
        if not any(each["sha256"] in gone for each in named):
            return data
        changed = copy.deepcopy(dict(data))
        kept: list[Json] = []
        for each in references(changed):
            text = self.payloads.get(each["sha256"])
            if each["sha256"] not in gone:
                kept.append(each)
            elif all_gone or text is None or each["encoding"] != "utf-8":
                replace_at(changed, tuple(each["path"]), self.match.mark)
                _without_image(changed, each["path"][:-1], self.match.mark)
            else:
                new_id = self.new_ids[each["sha256"]]
                if each["short"]:
                    shown = shown_instead(text, new_id, self.cap_chars)
                    replace_at(changed, tuple(each["path"]), shown)
                kept.append({**each, "sha256": new_id, "chars": len(text)})
        changed["artifacts"] = kept
        if not kept:
            del changed["artifacts"]
        return changed

    def _emptied(self, key: str | None, value: Json, kind: str) -> Json:
        if isinstance(value, Mapping):
            return {name: self._emptied(name, inner, kind) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._emptied(key, inner, kind) for inner in value]
        if isinstance(value, str) and value:
            if self._keeps(key, value, kind) or key in {"id", "call_id", "name"}:
                return value
            return "{}" if key == "arguments" else self.match.mark
        if isinstance(value, bool) or value is None or self._keeps(key, value, kind):
            return value
        return value if value == "" else self.match.mark


def _unsign(before: Mapping[str, Json], after: Json) -> None:
    """Reasoning is replayed as it was signed or not at all: changed, it has no signature."""
    one, two = before.get("parts"), after.get("parts")
    if not isinstance(one, list) or not isinstance(two, list):
        return
    for old, new in zip(one, two, strict=True):
        if isinstance(new, dict) and new.get("type") == "thinking" and new != old:
            new.pop("signature", None)


def _is_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _without_image(data: Json, path: list[Json], mark: str) -> None:
    """A mark is no image: the part becomes one of text."""
    part = data
    for step in path:
        part = part[step]
    if isinstance(part, dict) and part.get("type") == "image":
        part.clear()
        part.update({"type": "text", "text": mark})


def stone_without(match: Match, line: bytes) -> bytes | None:
    """The line of a tombstone without the text; None if it cannot be read and holds it."""
    try:
        stone = json.loads(line)
        if not isinstance(stone, dict):
            raise TypeError
    except (ValueError, TypeError):
        return None if match.is_in_bytes(line) else line
    changed = {
        key: erased_name(match, value) if key in _SESSION_KEYS and isinstance(value, str) else value
        for key, value in stone.items()
    }
    if changed == stone:
        return line
    return json.dumps(changed, ensure_ascii=False).encode()
