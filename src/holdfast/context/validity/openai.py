"""The rules of OpenAI's Chat Completions and its compatibles, as a table over the wire.

    O1, O2  calls and results     O3, O7  ids            O4   length of strings
    O5      contents per role     O8      messages       O9   tool calls
    O10     images                O11     names          O12  order of roles
    O13     empty texts           O14     last message

O6 (too many tokens) is not seen in the request: ``overflow``. O12–O14 and parts of O9 are
judged only where the model's capabilities ask for it. The function calls of before 2023-11 are
judged like tool calls: OpenAI itself is lenient there, its compatibles are not.

Promise: every rule has an example that breaks it and one that does not, and of single faults in
valid requests at least 99 in 100 are named (``tests/context/test_validity_rules.py``,
``tests/context/test_validity_mutations.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from holdfast.context.validity.blocks import is_filled, problem_with_openai_part
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
    strings_in,
)
from holdfast.types import Json

__all__ = ["OPENAI_RULES", "validate_openai"]

_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_SYSTEM: Final = ("system", "developer")
_DATA_URL: Final = re.compile(r"data:([\w.+/-]{1,100});base64,", re.ASCII)
_NAME: Final = re.compile(r"[^\s<|\\/>]{1,64}")


def validate_openai(
    messages: Json,
    *,
    tools: Sequence[Mapping[str, Json]] | None = None,
    caps: Capabilities,
) -> list[Violation]:
    """What is wrong with the messages of a Chat Completions request; empty if nothing is."""
    return judge(OPENAI_RULES, Request(messages=messages, tools=tools, caps=caps))


# ── reading the wire ────────────────────────────────────────────────────────────────────────


def _calls(message: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    calls = message.get("tool_calls")
    if message.get("role") != "assistant" or not isinstance(calls, list | tuple):
        return []
    return [call for call in calls if isinstance(call, Mapping)]


def _called(message: Mapping[str, Json]) -> list[str]:
    """What must be answered: ids of tool calls, and the name of a legacy function call."""
    called = [call["id"] for call in _calls(message) if isinstance(call.get("id"), str)]
    legacy = message.get("function_call")
    if message.get("role") == "assistant" and isinstance(legacy, Mapping):
        called.append(f"function {legacy.get('name')}")
    return called


def _answered(message: Mapping[str, Json]) -> str | None:
    """What a tool or function message answers."""
    match message:
        case {"role": "tool", "tool_call_id": str(call_id)}:
            return call_id
        case {"role": "function", "name": name}:
            return f"function {name}"
        case _:
            return None


def _parts(message: Mapping[str, Json]) -> list[tuple[int, Mapping[str, Json]]]:
    content = message.get("content")
    if isinstance(content, str):
        return [(0, {"type": "text", "text": content})]
    if not isinstance(content, list | tuple):
        return []
    return [(at, part) for at, part in enumerate(content) if isinstance(part, Mapping)]


# ── calls and results ───────────────────────────────────────────────────────────────────────


def _o1(request: Request) -> Iterator[Found]:
    caller, waiting = 0, list[str]()
    missing = "tool_call_ids did not have response messages: "
    for index, message in dict_messages(request):
        if message.get("role") in ("tool", "function"):
            if (answered := _answered(message)) in waiting:
                waiting.remove(answered)
            continue
        if waiting:
            yield caller, None, missing + ", ".join(waiting)
        caller, waiting = index, _called(message)
    if waiting:
        yield caller, None, missing + ", ".join(waiting)


def _o2(request: Request) -> Iterator[Found]:
    called: list[str] = []
    for index, message in dict_messages(request):
        if message.get("role") not in ("tool", "function"):
            called = _called(message)
        elif (answered := _answered(message)) in called:
            called.remove(answered)
        elif answered is not None:
            yield (
                index,
                None,
                f"a {message['role']} message must answer a preceding call: {answered}",
            )


def _o3(request: Request) -> Iterator[Found]:
    for index, at, value in _wire_ids(request):
        if not value or len(value) > request.caps.id_length:
            most = request.caps.id_length
            yield index, at, f"an id has {len(value)} characters; 1 to {most} are expected"


def _o7(request: Request) -> Iterator[Found]:
    for index, at, value in _wire_ids(request):
        if re.fullmatch(request.caps.id_pattern, value) is None:
            yield index, at, f"Tool call id was {value[:80]!r} but must match the pattern"


def _wire_ids(request: Request) -> Iterator[tuple[int, int, str]]:
    for index, message in dict_messages(request):
        values = [call.get("id") for call in _calls(message)]
        if message.get("role") == "tool":
            values.append(message.get("tool_call_id"))
        for at, value in enumerate(values):
            if isinstance(value, str):
                yield index, at, value


# ── contents ────────────────────────────────────────────────────────────────────────────────


def _o4(request: Request) -> Iterator[Found]:
    most, body = request.caps.max_string, request.body
    if most is None or (body is not None and len(body) <= most):
        return
    for index, message in dict_messages(request):
        said = [value for key, value in message.items() if key != "content"]
        said += [part for _, part in _parts(message) if part.get("type") != "image_url"]
        if any(len(text) > most for text in strings_in(said)):
            yield index, None, f"string too long. Expected a string with maximum length {most}"


def _o5(request: Request) -> Iterator[Found]:
    for index, message in dict_messages(request):
        role = message.get("role")
        content = message.get("content")
        if content is None:
            if not _may_be_silent(message):
                yield index, None, f"content: expected text or parts in a {role} message"
        elif isinstance(content, list | tuple):
            if not content:
                yield index, None, "[] is too short - 'content'"
            for at, part in enumerate(content):
                if (problem := problem_with_openai_part(part, str(role))) is not None:
                    yield index, at, problem
        elif not isinstance(content, str):
            yield index, None, f"content is a {type(content).__name__}"


def _may_be_silent(message: Mapping[str, Json]) -> bool:
    role = message.get("role")
    if role == "function":
        return "content" in message
    says = ("tool_calls", "function_call", "refusal", "audio")
    return role == "assistant" and any(message.get(field) for field in says)


def _o8(request: Request) -> Iterator[Found]:
    if not isinstance(request.messages, list | tuple) or not request.messages:
        yield None, None, "[] is too short - 'messages'"
        return
    for index, message in enumerate(request.messages):
        if not isinstance(message, Mapping):
            yield index, None, "expected an object"
        elif message.get("role") not in _ROLES:
            yield index, None, f"role: {str(message.get('role'))[:80]!r} is not one of {_ROLES}"
        elif (problem := _field_problem(message)) is not None:
            yield index, None, problem


def _field_problem(message: Mapping[str, Json]) -> str | None:
    """Whether the fields beside the content fit the role."""
    role = message["role"]
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        return "Missing required parameter: 'tool_call_id'"
    if role != "tool" and "tool_call_id" in message:
        return "'tool_call_id' is only allowed for role 'tool'"
    if role != "assistant":
        own = ("tool_calls", "function_call", "audio", "refusal")
        strays = [field for field in own if field in message]
        return f"{strays[0]!r} is only allowed for role 'assistant'" if strays else None
    if not (message.get("refusal") is None or isinstance(message["refusal"], str)):
        return "refusal: expected text or null"
    audio = message.get("audio")
    if not (audio is None or (isinstance(audio, Mapping) and is_filled(audio.get("id")))):
        return "audio: expected an object with an id"
    return None


# ── calls ───────────────────────────────────────────────────────────────────────────────────


def _o9(request: Request) -> Iterator[Found]:
    for index, message in dict_messages(request):
        if message.get("role") != "assistant":
            continue
        yield from ((index, at, text) for at, text in _calls_problems(message, request.caps))
        if message.get("function_call") is not None:
            call = message["function_call"]
            if (problem := _function_problem(call, request.caps)) is not None:
                yield index, None, f"function_call: {problem}"
        elif "function_call" in message:
            yield index, None, "function_call: expected an object"


def _calls_problems(
    message: Mapping[str, Json], caps: Capabilities
) -> Iterator[tuple[int | None, str]]:
    if "tool_calls" not in message:
        return
    calls = message["tool_calls"]
    if not isinstance(calls, list | tuple) or not calls:
        yield None, "[] is too short - 'tool_calls'"
        return
    seen: set[str] = set()
    for at, call in enumerate(calls):
        if (problem := _call_problem(call, caps)) is not None:
            yield at, f"tool_calls[{at}]: {problem}"
        elif call["id"] in seen:
            yield at, f"tool_calls[{at}]: duplicate id {call['id'][:80]!r}"
        else:
            seen.add(call["id"])


def _call_problem(call: Json, caps: Capabilities) -> str | None:
    if not isinstance(call, Mapping):
        return "expected an object"
    if not is_filled(call.get("id")):
        return "missing required parameter 'id'"
    if "type" not in call and caps.typed_calls:
        return "missing required parameter 'type'"
    match call.get("type", "function"):
        case "function":
            return _function_problem(call.get("function"), caps)
        case "custom":
            custom = call.get("custom")
            if isinstance(custom, Mapping) and isinstance(custom.get("input"), str):
                return _name_problem(custom.get("name"), caps)
            return "custom: expected an object with name and input"
        case str(kind) if kind:
            return None  # of a later day
        case other:
            return f"type: {other!r}"


def _function_problem(function: Json, caps: Capabilities) -> str | None:
    if not isinstance(function, Mapping):
        return "function: expected an object"
    arguments = function.get("arguments")
    if isinstance(arguments, Mapping) and caps.arguments == "any":
        return _name_problem(function.get("name"), caps)
    if not isinstance(arguments, str):
        return "arguments: expected text"
    if caps.arguments == "object" and not _is_object_text(arguments):
        return "arguments: expected a JSON object"
    return _name_problem(function.get("name"), caps)


def _is_object_text(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _name_problem(name: Json, caps: Capabilities) -> str | None:
    is_short = isinstance(name, str) and len(name) <= caps.name_length
    if is_short and re.fullmatch(caps.name_pattern, name) is not None:
        return None
    return f"name: {str(name)[:80]!r} does not match the pattern '^{caps.name_pattern}$'"


# ── images, names, order ────────────────────────────────────────────────────────────────────


def _o10(request: Request) -> Iterator[Found]:
    images = [
        (index, at, part["image_url"])
        for index, message in dict_messages(request)
        if not isinstance(message.get("content"), str)  # most messages, in every request
        for at, part in _parts(message)
        if part.get("type") == "image_url" and isinstance(part.get("image_url"), Mapping)
    ]
    most = request.caps.max_images
    if most is not None and len(images) > most:
        yield images[most][0], images[most][1], f"more than {most} images in one request"
    for index, at, image in images:
        problem = _url_problem(image.get("url"), request.caps, len(images))
        if problem is not None:
            yield index, at, f"image_url: {problem}"


def _url_problem(url: Json, caps: Capabilities, count: int) -> str | None:
    if not isinstance(url, str):
        return "expected an address"
    if (found := _DATA_URL.match(url)) is not None:
        return picture_problem(url[found.end() :], found[1], caps, count)
    is_web = url[:8].lower().startswith(("https://", "http://"))
    return None if is_web else "expected a web address or a data URL with base64"


def _o11(request: Request) -> Iterator[Found]:
    for index, message in dict_messages(request):
        if "name" not in message:
            continue
        name = message["name"]
        if message.get("role") == "function":
            if not is_filled(name):
                yield index, None, "name: a function message must name its function"
        elif not isinstance(name, str) or _NAME.fullmatch(name) is None:
            yield index, None, r"name: expected text that matches the pattern '^[^\s<|\\/>]+$'"


def _o12(request: Request) -> Iterator[Found]:
    caps = request.caps
    before: Json = None
    started = False
    for index, message in dict_messages(request):
        role = message.get("role")
        is_system = role in _SYSTEM
        if caps.system_first and is_system and started:
            yield index, None, "system messages must be at the beginning"
        if caps.user_first and not is_system and not started and role != "user":
            yield index, None, "the first message after the system message must be the user's"
        if caps.strict_alternation and role == before and role in ("user", "assistant"):
            yield index, None, "roles must alternate user/assistant/user/assistant"
        started = started or not is_system
        before = role


def _o13(request: Request) -> Iterator[Found]:
    if request.caps.empty_text:
        return
    for index, message in dict_messages(request):
        has_calls = bool(_called(message))
        for at, part in _parts(message):
            is_silent_call = has_calls and message.get("content") == ""
            if part.get("type") == "text" and is_blank(part.get("text")) and not is_silent_call:
                yield index, at, "text must not be empty"


def _o14(request: Request) -> Iterator[Found]:
    found = list(dict_messages(request))
    if found and not request.caps.prefill and found[-1][1].get("role") == "assistant":
        yield found[-1][0], None, "Expected last role User or Tool but got assistant"


OPENAI_RULES: Final = (
    Rule(
        id="O8",
        says="messages is a list, not empty, of known roles with the fields of their role",
        error="Invalid value: 'critic'. Supported values are: 'system', 'assistant', 'user', …",
        check=_o8,
    ),
    Rule(
        id="O1",
        says="every call is answered by tool messages directly behind it",
        error="An assistant message with 'tool_calls' must be followed by tool messages responding "
        "to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_",
        check=_o1,
    ),
    Rule(
        id="O2",
        says="every tool message answers one call of the assistant message before it, once",
        error="Invalid parameter: messages with role 'tool' must be a response to a preceeding "
        "message with 'tool_calls'.",
        check=_o2,
    ),
    Rule(
        id="O3",
        says="ids of calls are not longer than the limit",
        error="Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with "
        "maximum length 40, but got a string with length 53 instead.",
        check=_o3,
    ),
    Rule(
        id="O4",
        says="no string is longer than the limit",
        error="string too long. Expected a string with maximum length 10485760",
        check=_o4,
    ),
    Rule(
        id="O5",
        says="content is text or parts of a kind the role may hold; null only beside calls",
        error="Invalid value: 'image_url'. Supported values are: 'text' and 'refusal'.",
        check=_o5,
    ),
    Rule(
        id="O7",
        says="ids of calls match the server's pattern",
        error="Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
        check=_o7,
    ),
    Rule(
        id="O9",
        says="tool_calls is absent or a list of calls with id, type, name and arguments",
        error="[] is too short - 'messages.1.tool_calls'",
        check=_o9,
    ),
    Rule(
        id="O10",
        says="images are web addresses or base64 of a known type, within the limits",
        error="You uploaded an unsupported image.",
        check=_o10,
        whole=True,
    ),
    Rule(
        id="O11",
        says="a name has no white space and none of < | \\ / >",
        error="Invalid 'messages[0].name': string does not match pattern.",
        check=_o11,
    ),
    Rule(
        id="O12",
        says="where the server's template asks for it: system first, then user, then alternating",
        error="Conversation roles must alternate user/assistant/user/assistant/...",
        check=_o12,
        hard=False,
        whole=True,
    ),
    Rule(
        id="O13",
        says="no text is empty, on servers that refuse it",
        error="",
        check=_o13,
        hard=False,
    ),
    Rule(
        id="O14",
        says="the last message is not the assistant's, on servers that take no prefill",
        error="Expected last role User or Tool (or Assistant with prefix True) for serving but "
        "got assistant",
        check=_o14,
        hard=False,
    ),
    *UNIVERSAL,
)
