"""What a model's interface accepts: flags and limits by the name of the model.

A request that one model takes is refused by the next one of the same vendor, so the rules ask
here instead of knowing names. An unknown model gets the careful answer: whatever is legal
under the defaults below is legal everywhere we know of. Hosts that know better use
``dataclasses.replace``; so does whoever knows about this one request (``thinking``, or how many
cache marks the tools already took).

Promise: the table is data, later rows win, and every name is matched without regard to case,
vendor prefix (``anthropic/``, ``us.anthropic.``) or date suffix
(``tests/context/test_validity_capabilities.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

__all__ = ["Capabilities", "Format", "capabilities_of"]

Format = Literal["openai", "anthropic"]
"""The two wire formats: OpenAI Chat Completions (and compatibles), Anthropic Messages."""

Arguments = Literal["any", "text", "object"]
"""How the arguments of a call are written for OpenAI and its compatibles.

``any``: text, or an object where the server sent one; ``text``: text, of whatever kind;
``object``: text that is a JSON object, because the server parses it.
"""

_IMAGE_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What may be sent. None means: no limit that we know of."""

    prefill: bool = False  # may the last message be the assistant's (A7)
    thinking: bool = False  # does this request ask for thinking (A10)
    thinking_bound: bool = True  # is thinking bound to the exact messages before it (A11)
    id_pattern: str = r"[a-zA-Z0-9_-]+"  # of call ids, matched whole
    id_length: int = 40
    name_pattern: str = r"[a-zA-Z0-9_-]+"  # of tool names, matched whole
    name_length: int = 64
    max_images: int | None = 100
    max_image_bytes: int | None = 5 * 1024 * 1024  # of one image, decoded
    max_pixels: int | None = 8000  # of the longer side
    many_images: int | None = 20  # above so many images …
    many_pixels: int | None = 2000  # … the longer side may have no more than this
    image_types: tuple[str, ...] = _IMAGE_TYPES
    max_string: int | None = None  # characters of one string
    max_body: int | None = None  # bytes of the whole request
    cache_marks: int = 4  # blocks with cache_control, over tools, system and messages
    strict_alternation: bool = True  # may no two neighbours have the same role
    user_first: bool = True  # must the first message after the system text be the user's
    system_first: bool = True  # may system messages stand only at the beginning
    empty_text: bool = False  # may a text be empty or only white space
    arguments: Arguments = "object"
    typed_calls: bool = True  # must every tool call name its type


_ANTHROPIC: Final = Capabilities(id_length=64, name_length=128, max_body=32 * 1024 * 1024)

_OPENAI: Final = Capabilities(
    prefill=True,
    thinking_bound=False,
    id_pattern=r"(?s:.+)",
    max_images=500,
    max_image_bytes=20 * 1024 * 1024,
    max_pixels=None,
    many_images=None,
    many_pixels=None,
    max_string=10_485_760,
    strict_alternation=False,
    user_first=False,
    system_first=False,
    empty_text=True,
    arguments="any",
    typed_calls=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """Models whose name contains the pattern, and how they differ from their format's defaults."""

    format: Format
    pattern: str
    changes: dict[str, Any]


_START: Final = r"(?:^|[/.:_-])"  # where a model's name may begin behind a vendor's

_TABLE: Final = (
    # Anthropic: what a version number cannot tell is told by the generation's spelling.
    _Row(
        format="anthropic",
        pattern=_START + r"claude-[123](?:[-.]|$)",  # claude-2.1, claude-3-5-sonnet
        changes={"prefill": True, "thinking_bound": False},
    ),
    # OpenAI's own: checks types, does not look into arguments.
    _Row(
        format="openai",
        pattern=_START + r"(?:gpt-|chatgpt-|o[1345](?:-|$))",
        changes={"arguments": "text", "typed_calls": True},
    ),
    # Compatibles that parse the arguments before the model sees them.
    _Row(
        format="openai",
        pattern=r"gemini|qwen|qwq|glm-|minimax|llama",
        changes={"arguments": "object"},
    ),
    _Row(format="openai", pattern=r"gemini", changes={"empty_text": False}),
    _Row(
        format="openai",
        pattern=r"mistral|mixtral|ministral|magistral|codestral|devstral|pixtral",
        changes={
            "id_pattern": r"[a-zA-Z0-9]{9}",
            "id_length": 9,
            "arguments": "object",
            "prefill": False,
            "max_images": 8,
        },
    ),
    # Servers whose chat template refuses anything but user, assistant, user, …
    _Row(
        format="openai",
        pattern=r"gemma|" + _START + r"sonar",
        changes={"strict_alternation": True, "user_first": True, "system_first": True},
    ),
    # Claude behind an OpenAI-compatible door keeps its own rules for ids, texts and images.
    _Row(
        format="openai",
        pattern=r"claude-",
        changes={
            "id_pattern": _ANTHROPIC.id_pattern,
            "empty_text": False,
            "arguments": "object",
            "max_images": _ANTHROPIC.max_images,
            "max_image_bytes": _ANTHROPIC.max_image_bytes,
            "max_pixels": _ANTHROPIC.max_pixels,
            "many_images": _ANTHROPIC.many_images,
            "many_pixels": _ANTHROPIC.many_pixels,
        },
    ),
)

_CLAUDE: Final = re.compile(
    r"claude-(?P<family>[a-z]{3,12})-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d)"
)

_LAST_PREFILL: Final = {"instant": (1, 2), "haiku": (4, 5), "sonnet": (4, 5), "opus": (4, 5)}
"""The last version of each family that takes an assistant message at the end."""

_FIRST_BOUND: Final = (5, 1)
"""The first version whose thinking is bound to the messages before it."""


def capabilities_of(model: str | None, format: Format) -> Capabilities:
    """What ``model`` takes in ``format``; the format's defaults for None and unknown names."""
    caps = _OPENAI if format == "openai" else _ANTHROPIC
    name = (model or "").lower()[:200]
    for row in _TABLE:
        if row.format == format and re.search(row.pattern, name):
            caps = replace(caps, **row.changes)
    if format == "anthropic" and (found := _CLAUDE.search(name)) is not None:
        version = (int(found["major"]), int(found["minor"] or 0))
        last = _LAST_PREFILL.get(found["family"])
        caps = replace(
            caps,
            prefill=last is not None and version <= last,
            thinking_bound=version >= _FIRST_BOUND,
        )
    return caps
