"""The rules of Anthropic's Messages API, as a table over the wire.

    A1–A4  calls and results    A5  ids           A6–A8  roles, first and last message
    A9     empty texts          A10 thinking      A12    cache marks
    A13    images               A14 tools         A15    size
    A17    inputs and results   A18 messages      A19    blocks        A20  tool names

Not judged, because one request does not show it: A11 (thinking is bound to the messages it was
written after; ``Capabilities.thinking_bound``), that thinking was not changed (A10), and A16
(too many tokens; ``overflow``). Of two messages in a row with one role the API itself makes
one; here they are a violation of A6, because what counts blocks and results per message
(A1–A3) must see the message that is really sent.

Promise: every rule has an example that breaks it and one that does not, and of single faults in
valid requests at least 99 in 100 are named (``tests/context/test_validity_rules.py``,
``tests/context/test_validity_mutations.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from holdfast.context.validity.anthropic_tools import (
    Block,
    a1,
    a2,
    a3,
    a4,
    a5,
    blocks_of,
    inner_blocks,
    is_paused,
    neighbours,
    of_type,
)
from holdfast.context.validity.blocks import THINKING, problem_with_anthropic_block
from holdfast.context.validity.capabilities import Capabilities
from holdfast.context.validity.rules import (
    UNIVERSAL,
    Found,
    Request,
    Rule,
    Violation,
    dict_messages,
    is_blank,
    judge,
    picture_problem,
)
from holdfast.types import Json

__all__ = ["ANTHROPIC_RULES", "validate_anthropic"]


def validate_anthropic(
    messages: Json,
    *,
    system: Json = None,
    tools: Sequence[Mapping[str, Json]] | None = None,
    caps: Capabilities,
) -> list[Violation]:
    """What is wrong with a Messages request; empty if nothing is."""
    return judge(ANTHROPIC_RULES, Request(messages=messages, system=system, tools=tools, caps=caps))


# ── roles, first and last ───────────────────────────────────────────────────────────────────


def _a6(request: Request) -> Iterator[Found]:
    for index, message, before, _ in neighbours(request):
        role = message.get("role")
        if index == 0 and role != "user":
            yield index, None, 'first message must use the "user" role'
        is_repeat = before is not None and before.get("role") == role
        if request.caps.strict_alternation and is_repeat:
            yield index, None, 'roles must alternate between "user" and "assistant"'


def _last(request: Request) -> tuple[int, Mapping[str, Json]] | None:
    found = list(dict_messages(request))
    return found[-1] if found else None


def _a7(request: Request) -> Iterator[Found]:
    caps = request.caps
    if (last := _last(request)) is None or (caps.prefill and not caps.thinking):
        return
    index, message = last
    if message.get("role") == "assistant" and not is_paused(message):
        yield index, None, "This model does not support assistant message prefill."


def _a8(request: Request) -> Iterator[Found]:
    if (last := _last(request)) is None or last[1].get("role") != "assistant":
        return
    index, message = last
    if blocks := blocks_of(message):
        at, block = blocks[-1]
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str) and text != text.rstrip():
            yield index, at, "final assistant content cannot end with trailing whitespace"


# ── texts, thinking, marks ──────────────────────────────────────────────────────────────────


def _a9(request: Request) -> Iterator[Found]:
    for index, message in dict_messages(request):
        if message.get("content") in ([], ()):
            yield index, None, "content must not be empty"
        for at, block in blocks_of(message):
            for each in (block, *inner_blocks(block)):
                if each.get("type") == "text" and is_blank(each.get("text")):
                    yield index, at, "text content blocks must contain non-whitespace text"
    for at, block in blocks_of({"content": request.system}):
        if block.get("type") == "text" and is_blank(block.get("text")):
            yield None, at, "system: text content blocks must be non-empty"


def _a10(request: Request) -> Iterator[Found]:
    for index, message in dict_messages(request):
        blocks = blocks_of(message)
        if blocks and blocks[-1][1].get("type") in THINKING:
            yield index, blocks[-1][0], "The final block in an assistant message cannot be thinking"
    if request.caps.thinking and (start := _open_loop(request)) is not None:
        index, message = start
        blocks = blocks_of(message)
        if not blocks or blocks[0][1].get("type") not in THINKING:
            yield index, 0, "Expected `thinking` or `redacted_thinking` at the start of the turn"


def _open_loop(request: Request) -> tuple[int, Mapping[str, Json]] | None:
    """The first assistant message of a turn whose last word is a tool result."""
    start = None
    found = list(dict_messages(request))
    if not found or not _is_results(found[-1][1]):
        return None
    for index, message in reversed(found):
        if message.get("role") == "assistant":
            start = index, message
        elif not _is_results(message):
            break
    return start


def _is_results(message: Mapping[str, Json]) -> bool:
    blocks = blocks_of(message)
    return bool(blocks) and all(block.get("type") == "tool_result" for _, block in blocks)


def _a12(request: Request) -> Iterator[Found]:
    count = sum("cache_control" in tool for tool in request.tools or ())
    everything: list[tuple[int | None, Mapping[str, Json]]] = [(None, {"content": request.system})]
    for index, message in [*everything, *dict_messages(request)]:
        for at, block in blocks_of(message):
            for each in (block, *inner_blocks(block)):
                mark = each.get("cache_control")
                if mark is None:
                    continue
                count += 1
                if each.get("type") in THINKING:
                    yield index, at, "thinking.cache_control: Extra inputs are not permitted"
                if not (isinstance(mark, Mapping) and mark.get("type") == "ephemeral"):
                    yield index, at, "cache_control: Input should be an object of type 'ephemeral'"
    if count > request.caps.cache_marks:
        most = request.caps.cache_marks
        yield (
            None,
            None,
            f"A maximum of {most} blocks with cache_control may be provided. Found {count}.",
        )


# ── images, tools, size, shapes ─────────────────────────────────────────────────────────────


def _images(request: Request) -> list[tuple[int, int, Json]]:
    return [
        (index, at, each.get("source"))
        for index, message in dict_messages(request)
        for at, block in blocks_of(message)
        for each in (block, *inner_blocks(block))
        if each.get("type") == "image"
    ]


def _a13(request: Request) -> Iterator[Found]:
    images = _images(request)
    most = request.caps.max_images
    if most is not None and len(images) > most:
        yield images[most][0], images[most][1], f"more than {most} images in one request"
    for index, at, source in images:
        if (problem := _source_problem(source, request.caps, len(images))) is not None:
            yield index, at, f"image.source: {problem}"


def _source_problem(source: Json, caps: Capabilities, count: int) -> str | None:
    match source:
        case {"type": "base64", "media_type": str(media_type), "data": str(data)}:
            return picture_problem(data, media_type, caps, count)
        case {"type": "url", "url": str(url)}:
            is_web = url.lower().startswith(("https://", "http://"))
            return None if is_web else "only http and https addresses are supported"
        case {"type": "file", "file_id": str(file_id)} if file_id:
            return None
        case _:
            return "neither base64 with media_type and data, nor url, nor file"


def _a14(request: Request) -> Iterator[Found]:
    if request.tools is None or request.tools:
        return
    for index, message in dict_messages(request):
        if used := of_type(message, "tool_use", "tool_result"):
            yield index, used[0][0], "tool blocks in the history, but no `tools` in the request"
            return


def _a15(request: Request) -> Iterator[Found]:
    most = request.caps.max_body
    if most is None or (request.at_most is not None and request.at_most * 4 <= most):
        return
    body = request.body
    if body is None or len(body) * 4 <= most:
        return
    if len(body.encode("utf-8", "surrogatepass")) > most:
        yield None, None, "Request exceeds the maximum size"


def _a17(request: Request) -> Iterator[Found]:
    for index, message in dict_messages(request):
        for at, block in of_type(message, "tool_result"):
            if (problem := _result_problem(block)) is not None:
                yield index, at, f"tool_result.{problem}"


def _result_problem(block: Block) -> str | None:
    if "is_error" in block and not isinstance(block["is_error"], bool):
        return "is_error: Input should be a valid boolean"
    if "content" not in block or isinstance(block["content"], str):
        return None
    if not isinstance(block["content"], list | tuple) or not block["content"]:
        return "content: Input should be text or a list of blocks that is not empty"
    problems = (problem_with_anthropic_block(inner, "result") for inner in block["content"])
    return next((f"content: {problem}" for problem in problems if problem is not None), None)


def _a18(request: Request) -> Iterator[Found]:
    if not isinstance(request.messages, list | tuple) or not request.messages:
        yield None, None, "messages: at least one message is required"
        return
    for index, message in enumerate(request.messages):
        if not isinstance(message, Mapping):
            yield index, None, "Input should be a valid dictionary"
        elif message.get("role") not in ("user", "assistant"):
            yield index, None, "role: Input should be 'user' or 'assistant'"
        elif not isinstance(message.get("content"), str | list | tuple):
            yield index, None, "content: Input should be text or a list of blocks"


def _a19(request: Request) -> Iterator[Found]:
    system = request.system
    if not (system is None or isinstance(system, str | list | tuple)):
        yield None, None, "system: Input should be text or a list of blocks"
    places: list[tuple[int | None, str, Json]] = [(None, "system", system)]
    places += [
        (index, str(message.get("role")), message.get("content"))
        for index, message in dict_messages(request)
        if message.get("role") in ("user", "assistant")
    ]
    for index, place, content in places:
        if isinstance(content, list | tuple):
            for at, block in enumerate(content):
                if (problem := problem_with_anthropic_block(block, place)) is not None:
                    yield index, at, problem


def _a20(request: Request) -> Iterator[Found]:
    caps = request.caps
    for index, message in dict_messages(request):
        for at, block in of_type(message, "tool_use"):
            name = block.get("name")
            if isinstance(name, str) and (
                re.fullmatch(caps.name_pattern, name) is None or len(name) > caps.name_length
            ):
                yield index, at, f"tool_use.name: {name[:80]!r} does not match the pattern"


ANTHROPIC_RULES: Final = (
    Rule(
        id="A18",
        says="messages is a list, not empty, of user and assistant messages with content",
        error="messages.0.role: Input should be 'user' or 'assistant'",
        check=_a18,
    ),
    Rule(
        id="A19",
        says="every block has a type this API knows, in its place, with its fields",
        error="messages.0.content.0.type: Input tag 'x' does not match any of the expected tags",
        check=_a19,
    ),
    Rule(
        id="A1",
        says="every tool_use is answered in the very next message, all parallel ones in that one",
        error="`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        check=a1,
    ),
    Rule(
        id="A2",
        says="every tool_result answers one tool_use of the message just before, once",
        error="unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` "
        "block must have a corresponding `tool_use` block in the previous message.",
        check=a2,
    ),
    Rule(
        id="A3",
        says="tool_result blocks come first in a message, texts behind them",
        error="`tool_use` ids were found without `tool_result` blocks immediately after",
        check=a3,
    ),
    Rule(
        id="A4",
        says="a call the provider runs and its result stand in one assistant message",
        error="`tool_use` ids were found without `tool_result` blocks immediately after: srvtoolu_",
        check=a4,
    ),
    Rule(
        id="A5",
        says="ids of calls match the pattern and are unique in the request",
        error="messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        check=a5,
        whole=True,
    ),
    Rule(
        id="A6",
        says="the first message is the user's, and the roles alternate",
        error='messages: roles must alternate between "user" and "assistant"',
        check=_a6,
        whole=True,
    ),
    Rule(
        id="A7",
        says="the last message is the user's, on models that take no prefill",
        error="This model does not support assistant message prefill. The conversation must end "
        "with a user message.",
        check=_a7,
    ),
    Rule(
        id="A8",
        says="a last message of the assistant does not end with white space",
        error="messages: final assistant content cannot end with trailing whitespace",
        check=_a8,
    ),
    Rule(
        id="A9",
        says="no text is empty or only white space, no content is an empty list",
        error="messages: text content blocks must contain non-whitespace text",
        check=_a9,
    ),
    Rule(
        id="A10",
        says="no assistant message ends with thinking; with thinking on, an open turn begins so",
        error="messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`tool_use`.",
        check=_a10,
        whole=True,
    ),
    Rule(
        id="A12",
        says="at most four cache marks over tools, system and messages, none on thinking",
        error="A maximum of 4 blocks with cache_control may be provided. Found 5.",
        check=_a12,
        whole=True,
    ),
    Rule(
        id="A13",
        says="images are of a known type and within the limits of count, bytes and pixels",
        error="At least one of the image dimensions exceed max allowed size for many-image "
        "requests: 2000 pixels",
        check=_a13,
        whole=True,
    ),
    Rule(
        id="A14",
        says="a request whose messages hold tool blocks names its tools",
        error="",
        check=_a14,
        whole=True,
    ),
    Rule(
        id="A15",
        says="the body is not larger than the limit",
        error="Request exceeds the maximum size",
        check=_a15,
        whole=True,
    ),
    Rule(
        id="A17",
        says="a result holds text or a list of text, image, document and search blocks",
        error="messages.2.content.0.tool_result.content: Input should be a valid string",
        check=_a17,
    ),
    Rule(
        id="A20",
        says="the names of tools match the pattern",
        error="messages.1.content.0.tool_use.name: String should match pattern "
        "'^[a-zA-Z0-9_-]{1,128}$'",
        check=_a20,
    ),
    *UNIVERSAL,
)
