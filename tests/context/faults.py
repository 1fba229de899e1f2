"""Single faults of Anthropic requests, and those of both formats: for mutation tests.

A fault changes the messages of a request in place, and says whether there was anything to do
it to.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

from holdfast.types import Json

__all__ = ["ANTHROPIC_FAULTS", "BOTH", "PICTURE", "Fault", "Wire", "pick"]

Wire = dict[str, Json]
Fault = Callable[[list[Json], random.Random], bool]
"""Changes the messages in place; False if there is nothing here to do it to."""

MARK = {"type": "ephemeral"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "EqQB"}
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


def pick(chance: random.Random, found: list[Json]) -> Json:
    return chance.choice(found) if found else None


# ── both formats ────────────────────────────────────────────────────────────────────────────


def break_a_surrogate(messages: list[Json], chance: random.Random) -> bool:
    message = chance.choice(messages)
    if isinstance(message.get("content"), str):
        message["content"] += "\ud83d"
        return True
    message["x_note"] = "\udc00"
    return True


def put_nan(messages: list[Json], chance: random.Random) -> bool:
    chance.choice(messages)["x_score"] = float("nan")
    return True


def unknown_role(messages: list[Json], chance: random.Random) -> bool:
    chance.choice(messages)["role"] = chance.choice(["critic", "", None, "model", "human"])
    return True


def no_role(messages: list[Json], chance: random.Random) -> bool:
    del chance.choice(messages)["role"]
    return True


def content_of_a_wrong_type(messages: list[Json], chance: random.Random) -> bool:
    chance.choice(messages)["content"] = chance.choice([5, {"text": "x"}, True, [3], ["text"]])
    return True


def empty_list(messages: list[Json], chance: random.Random) -> bool:
    chance.choice(messages)["content"] = []
    return True


def not_an_object(messages: list[Json], chance: random.Random) -> bool:
    messages[chance.randrange(len(messages))] = "hello"
    return True


def nothing_left(messages: list[Json], chance: random.Random) -> bool:
    messages.clear()
    return True


def typeless_part(messages: list[Json], chance: random.Random) -> bool:
    message = pick(chance, [each for each in messages if isinstance(each.get("content"), list)])
    if message is None:
        return False
    message["content"].append({"text": "x"})
    return True


BOTH: list[Fault] = [
    break_a_surrogate,
    put_nan,
    unknown_role,
    no_role,
    content_of_a_wrong_type,
    empty_list,
    not_an_object,
    nothing_left,
    typeless_part,
]


# ── Anthropic ───────────────────────────────────────────────────────────────────────────────


def blocks(messages: list[Json], *kinds: str) -> list[tuple[int, int, Wire]]:
    return [
        (index, at, block)
        for index, message in enumerate(messages)
        if isinstance(message["content"], list)
        for at, block in enumerate(message["content"])
        if block["type"] in kinds
    ]


def with_block(kind: str) -> Callable[[Callable[..., None]], Fault]:
    """A fault done to one block of this kind: change(messages, index, at, block, chance)."""

    def made(change: Callable[..., None]) -> Fault:
        def fault(messages: list[Json], chance: random.Random) -> bool:
            found = pick(chance, blocks(messages, kind))
            if found is not None:
                change(messages, *found, chance)
            return found is not None

        fault.__name__ = change.__name__
        return fault

    return made


@with_block("tool_result")
def drop_a_result(messages: list[Json], index: int, at: int, *rest: Json) -> None:
    del messages[index]["content"][at]


@with_block("tool_result")
def drop_the_results(messages: list[Json], index: int, *rest: Json) -> None:
    del messages[index]


@with_block("tool_use")
def drop_the_callers(messages: list[Json], index: int, *rest: Json) -> None:
    del messages[index]


@with_block("tool_use")
def swap_call_and_result(messages: list[Json], index: int, *rest: Json) -> None:
    messages[index], messages[index + 1] = messages[index + 1], messages[index]


@with_block("tool_use")
def rename_a_call(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    block["id"] += "_x"


@with_block("tool_result")
def rename_a_result(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    block["tool_use_id"] = "toolu_unheard_of"


@with_block("tool_result")
def answer_twice(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    messages[index]["content"].insert(at, copy.deepcopy(block))


@with_block("tool_result")
def answer_too_late(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    del messages[index]["content"][at]
    messages += [
        {"role": "assistant", "content": "waiting"},
        {"role": "user", "content": [block]},
    ]


@with_block("tool_result")
def text_before_results(messages: list[Json], index: int, *rest: Json) -> None:
    messages[index]["content"].insert(0, {"type": "text", "text": "first"})


@with_block("tool_use")
def call_without_id(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    del block["id"]


@with_block("tool_result")
def result_without_id(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    del block["tool_use_id"]


@with_block("tool_use")
def id_too_long(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    _rename_pair(messages, block["id"], "x" * 65)


@with_block("tool_use")
def id_of_another_vendor(
    messages: list[Json], index: int, at: int, block: Wire, *rest: Json
) -> None:
    _rename_pair(messages, block["id"], "functions.search:0")


def _rename_pair(messages: list[Json], old: str, new: str) -> None:
    for _, _, block in blocks(messages, "tool_use", "tool_result"):
        field = "id" if block["type"] == "tool_use" else "tool_use_id"
        if block[field] == old:
            block[field] = new


@with_block("tool_use")
def same_id_twice(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    messages[index]["content"].append(copy.deepcopy(block))


@with_block("tool_use")
def input_as_text(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    block["input"] = "{}"


@with_block("tool_use")
def call_by_the_user(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    messages[0]["content"] = [{"type": "text", "text": "x"}, copy.deepcopy(block)]


@with_block("tool_use")
def name_with_a_space(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    block["name"] = "read file"


@with_block("tool_result")
def result_of_null(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    block["content"] = None


@with_block("tool_result")
def call_inside_a_result(
    messages: list[Json], index: int, at: int, block: Wire, *rest: Json
) -> None:
    block["content"] = [{"type": "tool_use", "id": "a", "name": "b", "input": {}}]


@with_block("tool_result")
def error_as_text(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    block["is_error"] = "true"


@with_block("thinking")
def drop_a_signature(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    del block["signature"]


@with_block("thinking")
def mark_thinking(messages: list[Json], index: int, at: int, block: Wire, *rest: Json) -> None:
    block["cache_control"] = MARK


@with_block("image")
def image_of_a_strange_type(
    messages: list[Json], index: int, at: int, block: Wire, *rest: Json
) -> None:
    block["source"] = {"type": "base64", "media_type": "image/x-icon", "data": "AAAA"}


@with_block("server_tool_use")
def half_a_server_tool(messages: list[Json], index: int, at: int, *rest: Json) -> None:
    del messages[index]["content"][at]


def change_a_role(messages: list[Json], chance: random.Random) -> bool:
    message = chance.choice(messages)
    message["role"] = "assistant" if message["role"] == "user" else "user"
    return True


def role_of_the_other_format(messages: list[Json], chance: random.Random) -> bool:
    chance.choice(messages)["role"] = chance.choice(["tool", "system", "developer"])
    return True


def empty_a_text(messages: list[Json], chance: random.Random) -> bool:
    message = chance.choice(messages)
    blank = chance.choice(["", " ", "\n\n", "\u3000"])
    if isinstance(message["content"], str):
        message["content"] = blank
    else:
        message["content"].append({"type": "text", "text": blank})
    return True


def swap_neighbours(messages: list[Json], chance: random.Random) -> bool:
    if len(messages) < 2:
        return False
    at = chance.randrange(len(messages) - 1)
    messages[at], messages[at + 1] = messages[at + 1], messages[at]
    return True


def end_with_the_assistant(messages: list[Json], chance: random.Random) -> bool:
    messages.append({"role": "assistant", "content": "so"})
    return True


def begin_with_the_assistant(messages: list[Json], chance: random.Random) -> bool:
    messages.insert(0, {"role": "assistant", "content": "so"})
    return True


def say_it_twice(messages: list[Json], chance: random.Random) -> bool:
    at = chance.randrange(len(messages))
    messages.insert(at, copy.deepcopy(messages[at]))
    return True


def thinking_last(messages: list[Json], chance: random.Random) -> bool:
    message = pick(chance, [each for each in messages if each["role"] == "assistant"])
    if message is None:
        return False
    if isinstance(message["content"], str):
        message["content"] = [{"type": "text", "text": message["content"]}]
    message["content"].append(THOUGHT)
    return True


def five_marks(messages: list[Json], chance: random.Random) -> bool:
    messages[-1]["content"] = [
        {"type": "text", "text": str(number), "cache_control": MARK} for number in range(5)
    ]
    return True


def block_of_the_other_format(messages: list[Json], chance: random.Random) -> bool:
    messages[-1]["content"] = [{"type": "text", "text": "x"}, PICTURE]
    return True


ANTHROPIC_FAULTS: list[Fault] = [
    drop_a_result,
    drop_the_results,
    drop_the_callers,
    swap_call_and_result,
    rename_a_call,
    rename_a_result,
    answer_twice,
    answer_too_late,
    text_before_results,
    call_without_id,
    result_without_id,
    id_too_long,
    id_of_another_vendor,
    same_id_twice,
    input_as_text,
    call_by_the_user,
    name_with_a_space,
    result_of_null,
    call_inside_a_result,
    error_as_text,
    drop_a_signature,
    mark_thinking,
    image_of_a_strange_type,
    half_a_server_tool,
    change_a_role,
    role_of_the_other_format,
    empty_a_text,
    swap_neighbours,
    end_with_the_assistant,
    begin_with_the_assistant,
    say_it_twice,
    thinking_last,
    five_marks,
    block_of_the_other_format,
    *BOTH,
]
