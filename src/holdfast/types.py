"""The words every room shares: messages, entries, views, scopes, citations.

Promise: everything here is frozen, and ``from_json(to_json(x)) == x`` for every message,
also for parts this version does not know (``tests/foundation/test_types.py``). Nothing here
does I/O, and nothing here knows a provider: that is ``formats``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, overload

__all__ = [
    "GENESIS",
    "ChatType",
    "Citation",
    "Entry",
    "EntryType",
    "Erased",
    "Form",
    "Image",
    "Json",
    "LineSpan",
    "Message",
    "Opaque",
    "Part",
    "Remaining",
    "Scope",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "Usage",
    "View",
    "ViewItem",
    "ViewKind",
]

Json: TypeAlias = Any
"""A value that ``json.dumps`` takes and ``json.loads`` gives back."""

Form = Literal["text", "parts", "null", "absent"]
"""How a provider wrote the content: a plain string, a list of parts, null, or no key at all.

Kept so that a message goes back to its provider exactly as it came.
"""


# ── parts of a message ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    text: str
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """Either ``data`` (base64, as it came) with its ``media_type``, or a ``url``.

    Neither, when it is a file that only its provider holds: then ``extra`` names it.
    """

    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """``arguments`` is a string where the provider sent a string: also when it is not JSON."""

    id: str
    name: str
    arguments: str | Mapping[str, Json]
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    call_id: str
    content: tuple[Part, ...] = ()
    form: Form = "text"
    is_error: bool | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, Text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A model's reasoning. ``signature`` is opaque: replayed byte for byte or not at all."""

    text: str
    signature: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A part we do not understand, kept whole. ``format`` says whose it is."""

    format: str
    data: Mapping[str, Json]


Part: TypeAlias = Text | Image | ToolCall | ToolResult | Thinking | Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation, independent of the provider it came from."""

    role: str
    parts: tuple[Part, ...] = ()
    form: Form = "text"
    extra: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, role: str, text: str) -> Message:
        """A message of plain text: ``Message.of("user", "hi")``."""
        return cls(role=role, parts=(Text(text=text),))

    @property
    def text(self) -> str:
        """What a person would read: the text parts, and the text of tool results."""
        return "\n".join(
            part.text for part in self.parts if isinstance(part, Text | ToolResult) and part.text
        )

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    def to_json(self) -> dict[str, Json]:
        """The stored form; short for the usual message of one text."""
        stored: dict[str, Json] = {"role": self.role}
        if self.form != "text":
            stored["form"] = self.form
        if len(self.parts) == 1 and isinstance(self.parts[0], Text) and not self.parts[0].extra:
            stored["text"] = self.parts[0].text
        else:
            stored["parts"] = [_part_to_json(part) for part in self.parts]
        if self.extra:
            stored["extra"] = dict(self.extra)
        return stored

    @classmethod
    def from_json(cls, stored: Mapping[str, Json]) -> Message:
        """The message that ``to_json`` stored."""
        if "text" in stored:
            parts: tuple[Part, ...] = (Text(text=stored["text"]),)
        else:
            parts = tuple(_part_from_json(part) for part in stored.get("parts", ()))
        return cls(
            role=stored["role"],
            parts=parts,
            form=stored.get("form", "text"),
            extra=stored.get("extra") or {},
        )


def _part_to_json(part: Part) -> dict[str, Json]:
    if isinstance(part, Opaque):
        if part.format == "holdfast":
            return dict(part.data)  # a part of a newer version: as it was written
        return {"type": "opaque", "format": part.format, "data": dict(part.data)}
    stored = _own_fields(part)
    if part.extra:
        stored["extra"] = dict(part.extra)
    return stored


def _own_fields(part: Text | Image | ToolCall | ToolResult | Thinking) -> dict[str, Json]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            given = {"media_type": part.media_type, "data": part.data, "url": part.url}
            return {"type": "image"} | _without_none(given)
        case ToolCall():
            arguments = part.arguments if isinstance(part.arguments, str) else dict(part.arguments)
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": arguments}
        case ToolResult():
            form = part.form if part.form != "text" else None
            content = [_part_to_json(inner) for inner in part.content]
            stored = {"type": "tool_result", "call_id": part.call_id, "content": content}
            return stored | _without_none({"form": form, "is_error": part.is_error})
        case Thinking():
            stored = {"type": "thinking", "text": part.text}
            return stored | _without_none({"signature": part.signature})


def _without_none(fields: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if value is not None}


def _part_from_json(stored: Mapping[str, Json]) -> Part:
    extra = stored.get("extra") or {}
    match stored.get("type"):
        case "text":
            return Text(text=stored["text"], extra=extra)
        case "image":
            return Image(
                media_type=stored.get("media_type"),
                data=stored.get("data"),
                url=stored.get("url"),
                extra=extra,
            )
        case "tool_call":
            return ToolCall(
                id=stored["id"], name=stored["name"], arguments=stored["arguments"], extra=extra
            )
        case "tool_result":
            return ToolResult(
                call_id=stored["call_id"],
                content=tuple(_part_from_json(inner) for inner in stored.get("content", ())),
                form=stored.get("form", "text"),
                is_error=stored.get("is_error"),
                extra=extra,
            )
        case "thinking":
            return Thinking(text=stored["text"], signature=stored.get("signature"), extra=extra)
        case "opaque":
            return Opaque(format=stored["format"], data=stored["data"])
        case _:
            return Opaque(format="holdfast", data=stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one model call as the provider reported them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def context_tokens(self) -> int:
        """What the model had read: cached or not, it fills the window all the same."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens


# ── the transcript ──────────────────────────────────────────────────────────────────────────

EntryType = Literal["session", "message", "flush", "compaction", "prune", "recall", "marker"]
"""The entry types this version writes. Others are kept as they are."""

GENESIS: Final = "genesis"
"""The id of the first cycle: before any compaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One appended record of a transcript."""

    id: str
    parent: str | None
    seq: int
    at: datetime
    type: str
    data: Mapping[str, Json] = field(default_factory=dict)
    version: int = 1
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def message(self) -> Message | None:
        """The message this entry shows the model, if it shows one."""
        stored = self.data if self.type == "message" else self.data.get("message")
        return Message.from_json(stored) if stored and "role" in stored else None

    @property
    def is_foreign(self) -> bool:
        """Whether it was brought in from a file that somebody else may have written."""
        return self.extra.get("trust") == "import"


ViewKind = Literal["message", "pin", "summary", "recall", "marker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewItem:
    """One message of a view, with the entries it stands for."""

    message: Message
    stands_for: tuple[str, ...]
    kind: ViewKind = "message"
    shortened: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Sequence[Message]):
    """The messages the model would see now; a sequence of them, computed from the entries."""

    items: tuple[ViewItem, ...]
    cycle: str = GENESIS

    @property
    def messages(self) -> list[Message]:
        return [item.message for item in self.items]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Message]:
        return (item.message for item in self.items)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [item.message for item in self.items[index]]
        return self.items[index].message


# ── who and where ───────────────────────────────────────────────────────────────────────────

ChatType = Literal["direct", "group", "channel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who speaks, where. Comes from the door, never from the model.

    ``user`` is None for the agent's owner; ``chat`` is None in a direct chat.
    """

    agent: str
    tenant: str = "local"
    user: str | None = None
    chat: str | None = None
    chat_type: ChatType = "direct"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSpan:
    """Lines of a file, 1-based, both ends included."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"L{self.start}" if self.start == self.end else f"L{self.start}-L{self.end}"


_CITATION = re.compile(r"(?P<source>[^#]+)#(?:L(?P<start>\d+)(?:-L(?P<end>\d+))?|(?P<entry>\S+))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Where a passage stands: ``path#L10-L14`` in a file, ``session#entry`` in a transcript."""

    source: str
    span: LineSpan | None = None
    entry: str | None = None

    def __str__(self) -> str:
        return f"{self.source}#{self.span if self.span is not None else self.entry}"

    @classmethod
    def parse(cls, text: str) -> Citation | None:
        """The citation that ``str()`` wrote, or None if this is not one."""
        if (found := _CITATION.fullmatch(text)) is None:
            return None
        if found["entry"] is not None:
            return cls(source=found["source"], entry=found["entry"])
        start = int(found["start"])
        return cls(
            source=found["source"], span=LineSpan(start=start, end=int(found["end"] or start))
        )


# ── erasure ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """Where a text that was to be erased still stands, why, and what to do about it."""

    path: str
    why: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What one store erased, or would erase. Nothing in it says what the text was."""

    store: str
    spans: int = 0
    files: tuple[str, ...] = ()
    """From the folder of the place."""
    entries: tuple[str, ...] = ()
    """``session#entry`` of each entry that held the text."""
    remaining: tuple[Remaining, ...] = ()
