"""The grammar of a memory line: one typed memory, readable as Markdown, exact when read back.

    - W @Peter: In Marrakech until 1 December. <!-- hf {"id":"…","sources":["…"]} -->
    - O(c=0.9) @"Peter Pan": Prefers short replies.
    - S: A line about nobody in particular.

W world, B biography, O opinion with its confidence, S summary. A line written by hand has no
comment and counts as much; what the comment does not say has its default.

Promise: ``parse(render(x)) == x`` for every line that can be made, on one line of a list,
whatever the text holds (``tests/foundation/test_retain.py``). A line can only be made of
visible text on one line: ``visible_line`` makes such text of any other. An id is a name of
letters, digits and ``._:-``, never words: a comment that gives a line another one gives it none.
Not here: where in a file a line stands, and what a newer line does to an older one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from functools import lru_cache
from typing import Final, Literal, cast, get_args

from holdfast.errors import UsageError
from holdfast.text import normalise, strip_hidden
from holdfast.types import Citation, Json

__all__ = [
    "RetainKind",
    "RetainLine",
    "Trust",
    "line_id",
    "parse",
    "render",
    "says_only_provenance",
    "visible_line",
]

RetainKind = Literal["W", "B", "O", "S"]
Trust = Literal["user", "agent", "tool", "import"]
"""Where a line's support stands: said by the user, only by the agent, by a tool, or imported."""

_TEXTS: Final = ("id", "user", "chat")
_TIMES: Final = ("observed", "since", "until", "verified", "retracted")
_LISTS: Final = ("sources", "supersedes", "agrees")
_KNOWN: Final = (*_TEXTS, *_TIMES, *_LISTS, "trust", "had_hidden")
_TRUSTS: Final = get_args(Trust)
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
_SOMEBODY: Final = re.compile(r"[\w.@:+-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainLine:
    """One memory. ``sources`` are citations such as ``session#entry``.

    ``observed`` is when it was said, ``since`` and ``until`` when it is true, ``verified`` when
    it was last found so, ``retracted`` when somebody took it back. ``supersedes`` and ``agrees``
    name other lines: those it replaces, and those a person found not to contradict it. ``user``
    and ``chat`` are for whom it is, if for fewer than the folder is. ``had_hidden``: the text it
    was made of hid characters from the reader. ``extra`` holds what a newer version wrote into
    the comment: it is kept as it came.
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
    verified: date | datetime | None = None
    retracted: date | datetime | None = None
    agrees: tuple[str, ...] = ()
    user: str | None = None
    chat: str | None = None
    had_hidden: bool = False
    extra: Mapping[str, Json] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(RetainKind):
            raise UsageError(f"{self.kind!r} is no kind of memory line", hint="use W, B, O or S")
        if self.trust not in _TRUSTS:
            raise UsageError(f"{self.trust!r} is no trust", hint=f"use {_TRUSTS}")
        _check_visible("text", self.text)
        if self.entity is not None:
            _check_visible("entity", self.entity)
        if self.confidence is not None and not (self.kind == "O" and 0 <= self.confidence <= 1):
            raise UsageError("only an opinion (O) has a confidence, from 0 to 1")
        _check_comment(self)


def line_id(line: RetainLine) -> str:
    """The id of a line; one written by hand has an id made of what it says.

    So every line can be named without being edited. Case and white space make no difference.
    """
    if line.id is not None:
        return line.id
    said = "\x1f".join((line.kind, normalise(line.entity or ""), normalise(line.text)))
    return "h-" + hashlib.sha256(said.encode()).hexdigest()[:12]


def visible_line(text: str) -> str:
    """The text as a memory line may hold it: on one line, nothing hidden, no blanks around it."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written
    return " ".join(strip_hidden(" ".join(text.split()))[0].split())


def render(line: RetainLine) -> str:
    """The line of Markdown that ``parse`` reads back."""
    confidence = f"(c={float(line.confidence)!r})" if line.confidence is not None else ""
    entity = f" @{_written_entity(line.entity)}" if line.entity is not None else ""
    shown = f"- {line.kind}{confidence}{entity}: {line.text}"
    comment = _comment(line)
    return _without_comment_marks(shown) + (f" <!-- hf {comment} -->" if comment else "")


_REMEMBERED: Final = 16_384
"""Lines: files are read again at every change, and all but a few of their lines are the same."""


@lru_cache(maxsize=_REMEMBERED)
def parse(line: str) -> RetainLine | None:
    """The memory that a line holds, or None if it is not a memory line.

    Lenient to hands: other bullets, full-width brackets and colon, a comment that is damaged or
    missing.
    """
    shown, comment = _split_comment(line.strip())
    found = _LINE.fullmatch(shown)
    if found is None or not (text := visible_line(_with_comment_marks(found["text"]))):
        return None
    kind = cast(RetainKind, found["kind"])
    entity = _read_entity(found)
    if entity == "":
        return None
    confidence = _read_confidence(found["confidence"]) if kind == "O" else None
    said = _read_comment(comment)
    try:
        # Only what a newer version wrote may be what JSON reads and cannot write.
        make = RetainLine if said.get("extra") else _made
        return make(kind=kind, text=text, entity=entity, confidence=confidence, **said)
    except (UsageError, TypeError):
        return _made(kind=kind, text=text, entity=entity, confidence=confidence)


def _made(**said: Json) -> RetainLine:
    """A line of fields that were read a moment ago: making sure that they come back is done."""
    line = object.__new__(RetainLine)
    for name, default in _DEFAULTS.items():
        object.__setattr__(line, name, said.get(name, default))
    if line.extra is None:
        object.__setattr__(line, "extra", {})
    return line


_DEFAULTS: Final[Mapping[str, Json]] = {
    each.name: each.default if each.name not in ("kind", "text", "extra") else None
    for each in fields(RetainLine)
}


# ── the visible part ────────────────────────────────────────────────────────────────────────

_BARE: Final = r"[^\s\"“”@＠:：<>,;，；。!?！？()（）\[\]{}]+"
_LINE: Final = re.compile(
    r"[-*+]\s+(?P<kind>[WBOS])"
    r"(?:\s{0,4}[(（]\s{0,4}(?:c\s{0,4}[=＝]\s{0,4})?(?P<confidence>[0-9.eE+-]{1,24})\s{0,4}[)）])?"
    r"(?:\s{0,99}[@＠](?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|“(?P<curly>[^“”]+)”"
    rf"|(?P<bare>{_BARE})))?\s*[:：]\s*(?P<text>.+)",
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
    if found["curly"] is not None:
        return visible_line(_with_comment_marks(found["curly"]))
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
    said: dict[str, Json] = {}
    for name in _ORDER:
        value = getattr(line, name)
        if name in _LISTS:
            value = list(value)
        elif name in _TIMES and value is not None:
            value = value.isoformat()
        if value not in _ABSENT and (name, value) != ("trust", "user"):
            said[name] = value
    said |= line.extra
    if not said:
        return ""
    written = json.dumps(said, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace(">", "\\u003e")


_ABSENT: Final[tuple[Json, ...]] = (None, [], False)
_ORDER: Final = ("id", "sources", "trust", *_TIMES, *_LISTS[1:], *_TEXTS[1:], "had_hidden")


def _split_comment(line: str) -> tuple[str, str]:
    at = line.rfind("<!-- hf ")
    if at < 0 or (found := _COMMENT.fullmatch(line, at)) is None:
        return line, ""
    return line[:at].rstrip(), found[1]


def _read_comment(comment: str) -> dict[str, Json]:
    try:
        held = json.loads(comment) if comment else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(held, dict):
        return {}
    said: dict[str, Json] = {}
    for name, value in held.items():
        if name in _TEXTS:
            is_read = isinstance(value, str) and (name != "id" or _ID.fullmatch(value))
            said |= {name: value} if is_read else {}
        elif name in _LISTS:
            said |= {name: tuple(map(str, value))} if isinstance(value, list) else {}
        elif name in _TIMES:
            said[name] = _read_time(value)
        elif name == "trust":  # one that is not known is the least
            said |= (
                {name: value if value in _TRUSTS else "import"} if isinstance(value, str) else {}
            )
        elif name == "had_hidden":
            said[name] = value is True
        else:
            said.setdefault("extra", {})[name] = value
    return said


def says_only_provenance(comment: str) -> bool:
    """Whether the inside of a comment says where a line came from, and nothing besides.

    For whoever leaves comments out of what people read: nothing else may hide in one.
    """
    try:
        held = json.loads(comment, object_pairs_hook=_each_once)
        return isinstance(held, dict) and all(
            _is_provenance(name, value, held) for name, value in held.items()
        )
    except (ValueError, RecursionError):
        return False


def _each_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands there twice: readers take one and leave the other")
    return dict(pairs)


def _is_provenance(name: str, value: Json, held: Mapping[str, Json]) -> bool:
    if name in _LISTS:
        known = Citation.parse if name == "sources" else _ID.fullmatch
        return isinstance(value, list) and all(
            isinstance(each, str) and known(each) is not None for each in value
        )
    if name in _TIMES:
        return _read_time(value) is not None
    if name == "had_hidden":
        return isinstance(value, bool)
    if not isinstance(value, str):
        return False
    if name == "trust":
        return value in _TRUSTS
    if name == "reason":  # of a line that was taken back: shown with it
        return "retracted" in held
    return name in _TEXTS and (_ID if name == "id" else _SOMEBODY).fullmatch(value) is not None


def _read_time(written: Json) -> date | datetime | None:
    try:
        if len(written) > len("2025-01-01"):
            return datetime.fromisoformat(written)
        return date.fromisoformat(written)
    except (TypeError, ValueError):
        return None


def _check_comment(line: RetainLine) -> None:
    try:
        read = _made(**_read_comment(_comment(line)))
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"a memory line holds what JSON cannot: {error}") from error
    for name in _KNOWN:
        if getattr(line, name) != getattr(read, name):
            raise UsageError(f"the {name} of a memory line cannot be written and read back")
    if dict(line.extra) != read.extra:
        raise UsageError("the extra fields of a memory line cannot be written and read back")
