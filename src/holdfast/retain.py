"""The grammar of a memory line: one typed memory, readable as Markdown, exact when read back.

    - W @Peter: In Marrakech until 1 December. <!-- hf {"id":"…","sources":["…"]} -->
    - O(c=0.9) @"Peter Pan": Prefers short replies.
    - S: A line about nobody in particular.

W world, B biography, O opinion with its confidence, S summary. A line written by hand has no
comment and counts as much; what the comment does not say has its default.

Promise: ``parse(render(x)) == x`` for every line that can be made, on one line of a list,
whatever the text holds (``tests/foundation/test_retain.py``). A line can only be made of
visible text on one line: ``visible_line`` makes such text of any other. Not here: files, and
what a newer line does to an older one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, Literal, cast, get_args

from holdfast.errors import UsageError
from holdfast.text import strip_hidden
from holdfast.types import Json

__all__ = ["RetainKind", "RetainLine", "Trust", "parse", "render", "visible_line"]

RetainKind = Literal["W", "B", "O", "S"]
Trust = Literal["user", "agent", "tool", "import"]
"""Where a line's support stands: said by the user, only by the agent, by a tool, or imported."""

_KNOWN: Final = ("id", "sources", "trust", "observed", "since", "until", "supersedes")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainLine:
    """One memory. ``sources`` are citations such as ``session#entry``.

    ``observed`` is when it was said, ``since`` and ``until`` when it is true. ``extra`` holds
    what a newer version wrote into the comment: it is kept as it came.
    """

    kind: RetainKind
    text: str
    entity: str | None = None
    confidence: float | None = None
    id: str | None = None
    sources: tuple[str, ...] = ()
    trust: Trust = "user"
    observed: date | datetime | None = None
    since: date | datetime | None = None
    until: date | datetime | None = None
    supersedes: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(RetainKind):
            raise UsageError(f"{self.kind!r} is no kind of memory line", hint="use W, B, O or S")
        if self.trust not in get_args(Trust):
            raise UsageError(f"{self.trust!r} is no trust", hint=f"use {get_args(Trust)}")
        _check_visible("text", self.text)
        if self.entity is not None:
            _check_visible("entity", self.entity)
        if self.confidence is not None and not (self.kind == "O" and 0 <= self.confidence <= 1):
            raise UsageError("only an opinion (O) has a confidence, from 0 to 1")
        _check_comment(self)


def visible_line(text: str) -> str:
    """The text as a memory line may hold it: on one line, nothing hidden, no blanks around it."""
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written
    return " ".join(strip_hidden(" ".join(text.split()))[0].split())


def render(line: RetainLine) -> str:
    """The line of Markdown that ``parse`` reads back."""
    confidence = f"(c={float(line.confidence)!r})" if line.confidence is not None else ""
    entity = f" @{_written_entity(line.entity)}" if line.entity is not None else ""
    shown = f"- {line.kind}{confidence}{entity}: {line.text}"
    comment = _comment(line)
    return _without_comment_marks(shown) + (f" <!-- hf {comment} -->" if comment else "")


def parse(line: str) -> RetainLine | None:
    """The memory that a line holds, or None if it is not a memory line.

    Lenient to hands: other bullets, a full-width colon, a comment that is damaged or missing.
    """
    shown, comment = _split_comment(line.strip())
    found = _LINE.fullmatch(shown)
    if found is None or not (text := visible_line(_with_comment_marks(found["text"]))):
        return None
    kind = cast(RetainKind, found["kind"].upper())
    entity = _read_entity(found)
    if entity == "":
        return None
    confidence = _read_confidence(found["confidence"]) if kind == "O" else None
    try:
        return RetainLine(
            kind=kind, text=text, entity=entity, confidence=confidence, **_read_comment(comment)
        )
    except (UsageError, TypeError):
        return RetainLine(kind=kind, text=text, entity=entity, confidence=confidence)


# ── the visible part ────────────────────────────────────────────────────────────────────────

_BARE: Final = r"[^\s\"@:：<>,;，；。!?！？()（）\[\]{}]+"
_LINE: Final = re.compile(
    r"[-*+]\s+(?P<kind>[WBOS])(?:\((?:c\s*=\s*)?(?P<confidence>[0-9.eE+-]{1,24})\))?"
    rf"(?:\s+@(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<bare>{_BARE})))?\s*[:：]\s*(?P<text>.+)",
    re.DOTALL,
)
_NAME: Final = re.compile(_BARE)

# ``<!--`` in a text would open a comment and ``-->`` close one: they are written as HTML
# entities, which Markdown shows as the characters. What already looks so gets one more layer.
_MARKS: Final = re.compile(r"<!--|-->|&(?:amp;)*lt;!--|--&(?:amp;)*gt;")
_WRITTEN_MARKS: Final = re.compile(r"&((?:amp;)*)lt;!--|--&((?:amp;)*)gt;")


def _written_entity(entity: str) -> str:
    if _NAME.fullmatch(entity):
        return entity
    return '"' + entity.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _read_entity(found: re.Match[str]) -> str | None:
    if found["bare"] is not None:
        return visible_line(_with_comment_marks(found["bare"]))
    if found["quoted"] is None:
        return None
    return visible_line(re.sub(r"\\(.)", r"\1", _with_comment_marks(found["quoted"])))


def _without_comment_marks(text: str) -> str:
    return _MARKS.sub(lambda found: _MARK_AS_WRITTEN.get(found[0]) or _deeper(found[0]), text)


_MARK_AS_WRITTEN: Final = {"<!--": "&lt;!--", "-->": "--&gt;"}


def _deeper(mark: str) -> str:
    return mark.replace("&", "&amp;", 1)


def _with_comment_marks(text: str) -> str:
    return _WRITTEN_MARKS.sub(_mark, text)


def _mark(found: re.Match[str]) -> str:
    opens = found[1] is not None
    layers = (found[1] if opens else found[2])[len("amp;") :]
    if found[1] or found[2]:
        return f"&{layers}lt;!--" if opens else f"--&{layers}gt;"
    return "<!--" if opens else "-->"


def _read_confidence(written: str | None) -> float | None:
    try:
        confidence = float(written or "")
    except ValueError:
        return None
    return confidence if 0 <= confidence <= 1 else None


def _check_visible(name: str, text: str) -> None:
    if not text or visible_line(text) != text:
        raise UsageError(
            f"the {name} of a memory line is empty, hidden or on several lines",
            hint="holdfast.retain.visible_line makes one line of any text",
        )


# ── the comment ─────────────────────────────────────────────────────────────────────────────

_COMMENT: Final = re.compile(r"\s*<!-- hf (.*?) -->$", re.DOTALL)


def _comment(line: RetainLine) -> str:
    held: dict[str, Json] = {
        "id": line.id,
        "sources": list(line.sources),
        "trust": line.trust if line.trust != "user" else None,
        "observed": line.observed.isoformat() if line.observed else None,
        "since": line.since.isoformat() if line.since else None,
        "until": line.until.isoformat() if line.until else None,
        "supersedes": list(line.supersedes),
    }
    said = {key: value for key, value in held.items() if value not in (None, [])}
    said |= line.extra
    if not said:
        return ""
    written = json.dumps(said, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace(">", "\\u003e")


def _split_comment(line: str) -> tuple[str, str]:
    at = line.rfind("<!-- hf ")
    if at < 0 or (found := _COMMENT.fullmatch(line, at)) is None:
        return line, ""
    return line[:at].rstrip(), found[1]


def _read_comment(comment: str) -> dict[str, Json]:
    try:
        held = json.loads(comment) if comment else {}
    except ValueError:
        return {}
    if not isinstance(held, dict):
        return {}
    fields: dict[str, Json] = {}
    for name in ("id", "trust"):
        if isinstance(held.get(name), str):
            fields[name] = held[name]
    for name in ("sources", "supersedes"):
        if isinstance(held.get(name), list):
            fields[name] = tuple(str(value) for value in held[name])
    for name in ("observed", "since", "until"):
        fields[name] = _read_time(held.get(name))
    fields["extra"] = {key: value for key, value in held.items() if key not in _KNOWN}
    return fields


def _read_time(written: Json) -> date | datetime | None:
    try:
        if len(written) > len("2025-01-01"):
            return datetime.fromisoformat(written)
        return date.fromisoformat(written)
    except (TypeError, ValueError):
        return None


def _check_comment(line: RetainLine) -> None:
    try:
        read = _read_comment(_comment(line))
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"a memory line holds what JSON cannot: {error}") from error
    for name in _KNOWN:
        if name == "trust" or getattr(line, name) == read.get(name, () if name in _LISTS else None):
            continue
        raise UsageError(f"the {name} of a memory line cannot be written and read back")
    if dict(line.extra) != read.get("extra", {}):
        raise UsageError("the extra fields of a memory line cannot be written and read back")


_LISTS: Final = ("sources", "supersedes")
