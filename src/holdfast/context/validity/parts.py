"""One part of a message, as the provider takes it: mended, named in a text, or left out.

What our user, or a tool, showed the model is never left out without a word: where it cannot be
sent, a short text says what stood there. What the model itself wrote in a form this provider
does not know (thinking of another vendor, blocks of its server) is left out: a text in its
place would teach the model to write such texts.

Promise: a part that can be sent comes back as the same object (``tests/context/test_repair.py``).
Thinking is sent to the byte or not at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holdfast.context.validity.blocks import (
    is_filled,
    problem_with_anthropic_block,
    problem_with_openai_part,
)
from holdfast.context.validity.fields import (
    mend_call_extra,
    mend_extra,
    mend_name,
    without_shape,
)
from holdfast.context.validity.rules import is_blank, picture_problem
from holdfast.context.validity.strings import is_unicode, mend_json, mend_unicode, within
from holdfast.context.validity.target import (
    EMPTY_RESULT,
    OPENAI_CALL,
    ChangeKind,
    Target,
    left_out_text,
)
from holdfast.text import shorten_json
from holdfast.types import (
    Image,
    Json,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

__all__ = [
    "call_text",
    "image_problem",
    "is_sound_block",
    "is_thinking",
    "mend_call",
    "mend_image",
    "mend_opaque",
    "mend_result",
    "mend_text",
    "mend_thinking",
]

_Notes = list[ChangeKind]

_REFUSALS: Final = ("refusal", "refusal_field")
_REASONING: Final = ("reasoning", "reasoning_content")
_DATA_URL: Final = re.compile(r"data:([\w.+/-]{1,100});base64,", re.ASCII)

_OUR_OWN: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("text", "image", "tool_use", "tool_result", "thinking"),
    "openai": ("text", "refusal", "image_url"),
}
"""Blocks our types know. One that is opaque all the same could not be read: it is malformed."""


def mend_string(text: str, target: Target, notes: _Notes) -> str:
    mended = mend_unicode(text)
    if mended is not text:
        notes.append("unicode")
    short = within(mended, target.caps.max_string)
    if short is not mended:
        notes.append("shortened")
    return short


def mend_text(part: Text, target: Target, notes: _Notes, *, own_words: bool = False) -> Text:
    """``own_words``: the assistant says it, who alone may refuse."""
    text = mend_string(part.text, target, notes)
    extra = mend_extra(part.extra, target, notes)
    if target.format == "openai" and not own_words and extra.get("shape") in _REFUSALS:
        notes.append("field")
        extra = without_shape(extra)
    if text is part.text and extra is part.extra:
        return part
    return replace(part, text=text, extra=extra)


# ── thinking ────────────────────────────────────────────────────────────────────────────────


def is_thinking(part: Part) -> bool:
    if isinstance(part, Opaque):
        return part.format == "anthropic" and part.data.get("type") == "redacted_thinking"
    return isinstance(part, Thinking)


def mend_thinking(part: Thinking, target: Target, notes: _Notes) -> Thinking | None:
    if target.strip_thinking or not _is_readable(part, target):
        notes.append("thinking")
        return None
    if target.format == "openai":
        text = mend_string(part.text, target, notes)
        return part if text is part.text else replace(part, text=text)
    extra = mend_extra(part.extra, target, notes, marked=False)
    return part if extra is part.extra else replace(part, extra=extra)


def _is_readable(part: Thinking, target: Target) -> bool:
    if target.format == "openai":
        return part.extra.get("shape") in _REASONING
    return bool(part.signature) and is_unicode(part.text) and is_unicode(part.signature or "")


# ── calls ───────────────────────────────────────────────────────────────────────────────────


def mend_call(part: ToolCall, target: Target, notes: _Notes) -> ToolCall:
    """The call, but for its id: that must agree with its result's."""
    name = mend_name(part.name, target, notes)
    extra = mend_call_extra(part.extra, target, notes)
    if name is not part.name or extra is not part.extra:
        part = replace(part, name=name, extra=extra)
    arguments = _mend_arguments(part, target, notes)
    return part if arguments is part.arguments else replace(part, arguments=arguments)


def _mend_arguments(call: ToolCall, target: Target, notes: _Notes) -> str | Mapping[str, Json]:
    if target.format == "anthropic":
        return _mend_input(call, notes)
    if not isinstance(call.arguments, str):
        return _mend_object(call, target, notes)
    text = mend_unicode(call.arguments)
    if text is not call.arguments:
        notes.append("unicode")
    is_free = call.extra.get("shape") == "custom"
    if not is_free and target.caps.arguments == "object" and _parsed(text) is None:
        notes.append("field")
        text = _dumped({"arguments": text} if text.strip() else {})
    return _fitting(text, target, notes, is_free)


def _mend_input(call: ToolCall, notes: _Notes) -> str | Mapping[str, Json]:
    """For Anthropic, whose renderer reads JSON text: also an escaped surrogate in it counts."""
    value: Json = call.arguments
    if isinstance(value, str) and "\\u" in value and call.extra.get("shape") != "custom":
        value = _parsed(value) or value
    mended = mend_json(value)
    if mended is value:
        return call.arguments
    notes.append("unicode")
    return mended  # type: ignore[no-any-return]


def _mend_object(call: ToolCall, target: Target, notes: _Notes) -> str | Mapping[str, Json]:
    mended = mend_json(call.arguments)
    if mended is not call.arguments:
        notes.append("unicode")
    # Without the mark the object is written as text anyway.
    must_be_text = target.caps.arguments != "any" or call.extra.get("shape") == "custom"
    if "openai" in call.extra and must_be_text:
        notes.append("field")
        mended = _dumped(mended)
    if target.caps.max_string is not None:
        text = mended if isinstance(mended, str) else _dumped(mended)
        if len(text) > target.caps.max_string:
            return _fitting(text, target, notes, False)
    return mended  # type: ignore[no-any-return]


def _fitting(text: str, target: Target, notes: _Notes, is_free: bool) -> str:
    limit = target.caps.max_string
    if limit is None or len(text) <= limit:
        return text
    notes.append("shortened")
    if is_free or (parsed := _parsed(text)) is None:
        return within(text, limit)
    short = shorten_json(parsed, limit)
    return short if short.startswith("{") else "{}"


def _parsed(text: str) -> Mapping[str, Json] | None:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _dumped(value: Json) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def call_text(part: ToolCall, target: Target) -> Text:
    """A call where none may stand, as a text."""
    arguments = part.arguments if isinstance(part.arguments, str) else _dumped(part.arguments)
    return mend_text(Text(text=f"[call of the tool {part.name}: {arguments}]"), target, [])


# ── images and opaque parts ─────────────────────────────────────────────────────────────────


def image_problem(image: Image, target: Target, count: int) -> str | None:
    """Why this image, one of ``count``, cannot be sent; None if it can."""
    caps = target.caps
    if image.url is not None:
        if not is_unicode(image.url):
            return "the address is not valid Unicode"
        if image.url[:8].lower().startswith(("https://", "http://")):
            return None
        found = _DATA_URL.match(image.url)
        if found is None or target.format == "anthropic":
            return "the address is not a web address"
        return picture_problem(image.url[found.end() :], found[1], caps, count)
    if image.data is not None:
        if not is_unicode(image.data):
            return "the data is not base64"
        return picture_problem(image.data, image.media_type, caps, count)
    kept = (image.extra.get("anthropic") or {}).get("source")
    match kept:
        case {"type": "file", "file_id": str(file_id)} if file_id and is_unicode(file_id):
            return None if target.format == "anthropic" else "the file is another provider's"
        case _:
            return "there is no image"


def mend_image(
    image: Image, target: Target, notes: _Notes, *, is_hidden: bool, count: int
) -> Image | Text:
    """The image, or a text that says there was one."""
    if is_hidden or image_problem(image, target, count) is not None:
        notes.append("image")
        return Text(text=left_out_text("image"))
    extra = mend_extra(image.extra, target, notes)
    return image if extra is image.extra else replace(image, extra=extra)


def mend_opaque(part: Opaque, place: str, target: Target, notes: _Notes) -> Opaque | None:
    """The opaque part if it can stand in ``place``; None if it cannot be sent."""
    if is_thinking(part) and target.strip_thinking:
        notes.append("thinking")
        return None
    if part.format == OPENAI_CALL:
        if target.format == "openai" and place == "assistant" and _is_sound_call(part):
            return part
    elif part.format == target.format and is_sound_block(part, place):
        fields: Mapping[str, Json] = {part.format: part.data}
        extra = mend_extra(fields, target, notes, marked=not is_thinking(part))
        return part if extra is fields else replace(part, data=extra[part.format])
    notes.append("opaque")
    return None


def is_sound_block(part: Opaque, place: str) -> bool:
    if part.data.get("type") in _OUR_OWN[part.format]:
        return False
    if mend_json(part.data) is not part.data:
        return False
    if part.format == "anthropic":
        return problem_with_anthropic_block(part.data, place) is None
    return problem_with_openai_part(part.data, place) is None


def _is_sound_call(part: Opaque) -> bool:
    """A call of a type of a later day; of the types we know only malformed ones are opaque."""
    call_id, kind = part.data.get("id"), part.data.get("type")
    if not (is_filled(call_id) and is_filled(kind)) or kind in ("function", "custom"):
        return False
    return mend_json(part.data) is part.data


# ── results ─────────────────────────────────────────────────────────────────────────────────


def mend_result(
    result: ToolResult, target: Target, notes: _Notes, hidden: frozenset[int], count: int
) -> ToolResult:
    """The result, but for its id. ``hidden``: which of its images are too many."""
    content: list[Part] = []
    for at, part in enumerate(result.content):
        mended = _mend_inner(part, target, notes, at in hidden, count)
        if mended is not None:
            content.append(mended)
    changed = len(content) != len(result.content) or any(
        new is not old for new, old in zip(content, result.content, strict=False)
    )
    extra = mend_extra(result.extra, target, notes)
    mended_result = result
    if changed or extra is not result.extra:
        mended_result = replace(result, content=tuple(content), extra=extra)
    if target.format == "anthropic":
        return _written_for_anthropic(mended_result, notes)
    return _written_for_openai(mended_result, target, notes)


def _mend_inner(
    part: Part, target: Target, notes: _Notes, is_hidden: bool, count: int
) -> Part | None:
    match part:
        case Text():
            return mend_text(part, target, notes)
        case Image():
            return mend_image(part, target, notes, is_hidden=is_hidden, count=count)
        case Opaque():
            place = "result" if target.format == "anthropic" else "tool"
            if (kept := mend_opaque(part, place, target, notes)) is not None:
                return kept
            return Text(text=left_out_text("part of the result"))
        case Thinking():
            notes.append("thinking")
            return None
        case _:
            notes.append("opaque")
            return Text(text=left_out_text("part of the result"))


def _written_for_anthropic(result: ToolResult, notes: _Notes) -> ToolResult:
    is_bare = result.form == "text" and len(result.content) == 1
    if is_bare and isinstance(only := result.content[0], Text) and not only.extra.get("anthropic"):
        return result  # a plain string, which may be empty
    said = tuple(
        part for part in result.content if not (isinstance(part, Text) and is_blank(part.text))
    )
    if len(said) < len(result.content):
        notes.append("blank")
        result = replace(result, content=said)
    if not said and result.form != "absent":
        notes.append("field")
        result = replace(result, form="absent")
    return result


def _written_for_openai(result: ToolResult, target: Target, notes: _Notes) -> ToolResult:
    if not result.content and result.form != "text":
        notes.append("field")
        result = replace(result, form="text")
    if target.caps.empty_text:
        return result
    said = tuple(
        part for part in result.content if not (isinstance(part, Text) and is_blank(part.text))
    )
    if not any(isinstance(part, Text) for part in said):
        notes.append("blank")
        return replace(result, content=(Text(text=EMPTY_RESULT), *said))
    if len(said) == len(result.content):
        return result
    notes.append("blank")
    return replace(result, content=said)
