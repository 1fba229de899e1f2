"""The shorter texts: a beginning and an end, a placeholder, JSON that is still JSON.

Every one of them names its entry (``expand ENTRY``), so that the model can ask for the whole
and a later plan can see that this part was shortened before.

Promise: no text is cut inside a character, no JSON inside a value; a placeholder is one line
(``tests/context/test_pruning.py``, ``test_pruning_properties.py``). Pure.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from holdfast.text import cut, cut_tail, one_line, shorten_json
from holdfast.types import Image, Json

__all__ = [
    "Source",
    "exit_status",
    "image_note",
    "placeholder",
    "shorter_arguments",
    "shorter_text",
    "source_of",
    "trimmed",
]

_CLUE_COLUMNS: Final = 80
_NAME_COLUMNS: Final = 60
_URL_COLUMNS: Final = 120
_MARK: Final = "[shortened]"  # the key, or the beginning of the item, that says so inside JSON
_NEAR: Final = 80  # further inside, "exit code 1" is what some text says, not how it came about
_COUNT_CHARS: Final = 24  # of the item that says how many are not shown
_REACH: Final = 600  # how far into a text the first word is looked for
_VALUE_CHARS: Final = 64  # of each argument that finds no room for more

# The note of this module, and that of a result which was set aside as an artifact on arrival.
_NOTE: Final = re.compile(r"\n?\[… [^\]\n]{1,120}; the whole text: expand [\w-]{1,80}\]\n?")
_TOTAL: Final = re.compile(
    r"of ([\d,]{1,20}) characters(?: are not shown)?; the whole text: expand "
)
_STATUS: Final = re.compile(
    r"(?i)(?:\b(?:return_?code|exit[_ ]?(?:code|status)|exited with (?:code|status))\b"
    r"|退出码|返回码|退出状态)[\"'>:：= ]{0,4}(-?\d{1,5})\b"
)
# Tags, and lines that are only brackets or blanks, before the first that says something.
_WRAPPING: Final = re.compile(r"(?:</?[\w:-]{1,40}>|[^\w\n<]{0,80}\n|\s)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What can still be shown of a text: its beginning, its end, and how long it was."""

    head: str
    tail: str
    total: int
    is_one: bool = True  # head and tail are the same text, not what stood around a note


def source_of(text: str, *, shortened: bool) -> Source:
    """The text as a source. One that was shortened before is taken apart at its note."""
    if not shortened:
        return Source(head=text, tail=text, total=len(text))
    told = _TOTAL.search(text)
    total = max(len(text), int(told[1].replace(",", "") or 0)) if told else len(text)
    if (note := _NOTE.search(text)) is None:
        return Source(head=text, tail=text, total=total)
    return Source(head=text[: note.start()], tail=text[note.end() :], total=total, is_one=False)


def trimmed(source: Source, entry: str, head: int, tail: int) -> str | None:
    """Beginning and end with a note between them; None when nothing would be left out."""
    if source.is_one and len(source.head) <= head + tail:
        return None
    if not source.is_one and len(source.head) <= head and len(source.tail) <= tail:
        return None
    beginning, end = _beginning(source.head, head), _end(source.tail, tail)
    hidden = source.total - len(beginning) - len(end)
    note = (
        f"\n[… {hidden:,} of {source.total:,} characters are not shown; "
        f"the whole text: expand {entry}]\n"
    )
    return beginning + note + end


def shorter_text(source: Source, entry: str, head: int, tail: int) -> str | None:
    """The same, but a text that is JSON as a whole stays JSON where enough of it fits."""
    if source.is_one and (value := _container(source.head)) is not None:
        fits = len(source.head) <= head + tail
        if not fits and (text := _json_with_note(value, source, entry, head, tail)):
            return text
    return trimmed(source, entry, head, tail)


def _beginning(text: str, limit: int) -> str:
    """At most ``limit`` characters, up to the end of a line if one ends near the limit."""
    piece = cut(text, limit)
    if len(piece) == len(text):
        return piece
    at = piece.rfind("\n", len(piece) * 4 // 5)
    if at <= 0:
        return piece
    return piece[: at - 1] if piece[at - 1] == "\r" else piece[:at]


def _end(text: str, limit: int) -> str:
    piece = cut_tail(text, limit)
    if len(piece) == len(text):
        return piece
    return piece[piece.find("\n", 0, len(piece) // 5) + 1 :]


# ── JSON ────────────────────────────────────────────────────────────────────────────────────


def _container(text: str) -> dict[str, Json] | list[Json] | None:
    """The object or array that the whole text is."""
    ends = text[:1] + text[-1:]
    if ends not in ("{}", "[]"):
        ends = text[:64].lstrip()[:1] + text[-64:].rstrip()[-1:]
    if ends not in ("{}", "[]"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _json_with_note(
    value: dict[str, Json] | list[Json], source: Source, entry: str, head: int, tail: int
) -> str | None:
    """The value in ``head + tail`` characters, with its note as the first member; None if hardly
    any of it fits, when a beginning and an end say more."""
    if isinstance(value, dict):
        value.pop(_MARK, None)
    elif value and isinstance(value[0], str) and value[0].startswith(_MARK):
        del value[0]
    body = _fewer(value, head, tail) or shorten_json(value, head + tail)
    if len(body) < (head + tail) // 3 or body[0] not in "{[":
        return None
    said = f"part of {source.total:,} characters; the whole text: expand {entry}"
    if body[0] == "{":
        return f"{{{_quoted(_MARK)}:{_quoted(said)},{body[1:]}"
    return f"[{_quoted(f'{_MARK} {said}')},{body[1:]}"


def _fewer(value: dict[str, Json] | list[Json], head: int, tail: int) -> str | None:
    """The first and the last items of a list, or of the list that an object is all about.

    None if this is no such value, or less than two whole items fit: then it must be shortened
    from the inside, which takes a hundred times as long.
    """
    if isinstance(value, list):
        return _fewer_items(value, head, tail)
    lists = [key for key, member in value.items() if isinstance(member, list)]
    longest = max(lists, key=lambda key: len(value[key]), default=None)
    if longest is None:
        return None
    rest = _quoted({key: member for key, member in value.items() if key != longest})
    room = head + tail - len(rest) - len(longest) - 8
    if room < (head + tail) // 2:
        return None
    share = head * room // max(1, head + tail)
    if (items := _fewer_items(value[longest], share, room - share)) is None:
        return None
    members = [
        f"{_quoted(key)}:{items if key == longest else _quoted(member)}"
        for key, member in value.items()
    ]
    return "{" + ",".join(members) + "}"


def _fewer_items(items: list[Json], head: int, tail: int) -> str | None:
    first = _that_fit(items, head - _COUNT_CHARS)
    last = _that_fit(items[: len(first) - 1 : -1], tail)
    left_out = len(items) - len(first) - len(last)
    if left_out <= 0 or len(first) + len(last) < 2:
        return None
    count = _quoted(f"… +{left_out} item{'s' * (left_out != 1)}")
    return f"[{','.join([*first, count, *reversed(last)])}]"


def _that_fit(items: Iterable[Json], room: int) -> list[str]:
    fitting: list[str] = []
    for item in items:
        text = _quoted(item)
        room -= len(text) + 1
        if room < 0:
            break
        fitting.append(text)
    return fitting


def shorter_arguments(arguments: str | Mapping[str, Json], entry: str, limit: int) -> str | None:
    """The arguments of a call in about ``limit`` characters: an object stays an object with its
    keys, as long as ``limit`` is not negative: then only the note is left of it. Text that is
    no object (free-form input, broken JSON) becomes beginning and end.
    """
    given = _container(arguments) if isinstance(arguments, str) else dict(arguments)
    if not isinstance(given, dict):
        half = max(0, limit) // 2
        return trimmed(source_of(str(arguments), shortened=False), entry, half, half)
    told = _TOTAL.search(str(given.pop(_MARK, "")))
    total = int(told[1].replace(",", "") or 0) if told else len(_quoted(given))
    note = f"part of {total:,} characters; the whole text: expand {entry}"
    if limit < 0:
        return f"{{{_quoted(_MARK)}:{_quoted(note)}}}"
    keys = sum(len(_quoted(key)) + 4 + _VALUE_CHARS for key in given)
    body = shorten_json(given, max(limit, 2 + keys) if keys <= 40 * _VALUE_CHARS else limit)
    members = [body[1:-1]] if body[0] == "{" and body != "{}" else []
    return "{" + ",".join([*members, f"{_quoted(_MARK)}:{_quoted(note)}"]) + "}"


def _quoted(value: Json) -> str:
    """The whole value as JSON."""
    return shorten_json(value, sys.maxsize)


# ── placeholders ────────────────────────────────────────────────────────────────────────────


def placeholder(
    what: str,
    source: Source,
    entry: str,
    *,
    tool: str = "",
    images: Sequence[Image] = (),
    why: str = "",
    clue: bool = True,
) -> str:
    """One line in place of a text: what it was, how long, how to get it back, how it began."""
    about = [_shown_name(tool)] if tool else []
    about.append(f"{source.total:,} characters")
    if images:
        about.append(f"{len(images)} image{'s' * (len(images) != 1)}")
    if why:
        about.append(why)
    began = _clue(source.head) if clue else ""
    return f"[{what} cleared: {', '.join(about)}; expand {entry}{began and f'; {began}'}]"


@lru_cache(maxsize=256)
def _shown_name(tool: str) -> str:
    return one_line(tool, _NAME_COLUMNS)


def image_note(image: Image, entry: str) -> str:
    """One line in place of an image."""
    about = [one_line(image.media_type or "unknown type", _NAME_COLUMNS)]
    if image.data is not None:
        about.append(f"{len(image.data) * 3 // 4:,} bytes")
    elif image.url is not None:
        about.append(one_line(image.url, _URL_COLUMNS))
    return f"[image cleared: {', '.join(about)}; expand {entry}]"


def _clue(text: str) -> str:
    """How a program ended and the first line that says something, in a few words."""
    told = _status_at_the_beginning(text)
    start = told.end() if told else 0
    told = told or _status_at_the_end(text)
    clue = f"exit status {told[1]}" if told else ""
    wrapping = _WRAPPING.match(text, start, start + _REACH)
    start = wrapping.end() if wrapping else start
    line = cut(text[start : start + 4 * _CLUE_COLUMNS], 3 * _CLUE_COLUMNS).partition("\n")[0]
    if not line.strip():
        return clue
    clue += ", began: " if clue else "began: "
    return clue + _fitted(line, _CLUE_COLUMNS - len(clue))


def _fitted(line: str, width: int) -> str:
    """``one_line``, by a short way for what is plain: there may be hundreds of clues to write."""
    if not (line.isascii() and line.isprintable()):
        return one_line(line, width)
    line = " ".join(line.split())
    return line if len(line) <= width else f"{cut(line, width - 1)}…"


def exit_status(text: str) -> int | None:
    """The exit status that the output of a program tells right at its beginning or its end."""
    told = _status_at_the_beginning(text) or _status_at_the_end(text)
    return int(told[1]) if told else None


def _status_at_the_beginning(text: str) -> re.Match[str] | None:
    return _STATUS.search(text, 0, _NEAR) if _may_tell(text[:_NEAR]) else None


def _status_at_the_end(text: str) -> re.Match[str] | None:
    return _STATUS.search(text, max(0, len(text) - _NEAR)) if _may_tell(text[-_NEAR:]) else None


def _may_tell(text: str) -> bool:
    """A quick look: most texts say nothing of the kind."""
    lower = text.lower()
    return "code" in lower or "status" in lower or "退出" in lower or "返回码" in lower
