"""Single faults of OpenAI requests: for mutation tests.

A fault changes the messages of a request in place, and says whether there was anything to do
it to.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

from holdfast.types import Json
from tests.context.faults import BOTH, PICTURE, Fault, Wire, pick

__all__ = ["OPENAI_FAULTS"]


def of_role(messages: list[Json], role: str) -> list[int]:
    return [index for index, message in enumerate(messages) if message["role"] == role]


def callers(messages: list[Json]) -> list[int]:
    """Messages whose calls are all of functions."""
    return [
        index
        for index, message in enumerate(messages)
        if message.get("tool_calls")
        and all(each["type"] == "function" for each in message["tool_calls"])
    ]


def on_tool(change: Callable[[list[Json], int], None]) -> Fault:
    def fault(messages: list[Json], chance: random.Random) -> bool:
        index = pick(chance, of_role(messages, "tool"))
        if index is not None:
            change(messages, index)
        return index is not None

    fault.__name__ = change.__name__
    return fault


def on_call(change: Callable[[list[Json], int, Wire], None]) -> Fault:
    def fault(messages: list[Json], chance: random.Random) -> bool:
        index = pick(chance, callers(messages))
        if index is not None:
            change(messages, index, chance.choice(messages[index]["tool_calls"]))
        return index is not None

    fault.__name__ = change.__name__
    return fault


@on_tool
def drop_a_tool_message(messages: list[Json], index: int) -> None:
    del messages[index]


@on_tool
def rename_an_answer(messages: list[Json], index: int) -> None:
    messages[index]["tool_call_id"] = "call_unheard_of"


@on_tool
def answer_it_twice(messages: list[Json], index: int) -> None:
    messages.insert(index, copy.deepcopy(messages[index]))


@on_tool
def answer_at_the_end(messages: list[Json], index: int) -> None:
    late = messages.pop(index)
    messages += [{"role": "user", "content": "well?"}, late]


@on_tool
def talk_before_the_answer(messages: list[Json], index: int) -> None:
    messages.insert(index, {"role": "user", "content": "hurry"})


@on_tool
def system_before_the_answer(messages: list[Json], index: int) -> None:
    messages.insert(index, {"role": "system", "content": "a note"})


@on_tool
def answer_without_id(messages: list[Json], index: int) -> None:
    del messages[index]["tool_call_id"]


@on_tool
def answer_of_null(messages: list[Json], index: int) -> None:
    messages[index]["content"] = None


@on_tool
def answer_without_content(messages: list[Json], index: int) -> None:
    del messages[index]["content"]


@on_tool
def image_in_an_answer(messages: list[Json], index: int) -> None:
    messages[index]["content"] = [PICTURE]


@on_tool
def answer_as_user(messages: list[Json], index: int) -> None:
    messages[index] = {"role": "user", "content": messages[index]["content"]}


@on_call
def drop_the_caller(messages: list[Json], index: int, call: Wire) -> None:
    del messages[index]


@on_call
def rename_the_call(messages: list[Json], index: int, call: Wire) -> None:
    call["id"] += "_x"


@on_call
def call_has_no_id(messages: list[Json], index: int, call: Wire) -> None:
    del call["id"]


@on_call
def call_has_no_type(messages: list[Json], index: int, call: Wire) -> None:
    del call["type"]


@on_call
def call_has_no_name(messages: list[Json], index: int, call: Wire) -> None:
    del call["function"]["name"]


@on_call
def call_of_a_spaced_name(messages: list[Json], index: int, call: Wire) -> None:
    call["function"]["name"] = "read file"


@on_call
def arguments_as_object(messages: list[Json], index: int, call: Wire) -> None:
    call["function"]["arguments"] = {"a": 1}


@on_call
def no_function(messages: list[Json], index: int, call: Wire) -> None:
    del call["function"]


@on_call
def long_id(messages: list[Json], index: int, call: Wire) -> None:
    old, call["id"] = call["id"], "x" * 41
    for message in messages[index + 1 :]:
        if message.get("tool_call_id") == old:
            message["tool_call_id"] = call["id"]
            return


@on_call
def one_id_for_two(messages: list[Json], index: int, call: Wire) -> None:
    messages[index]["tool_calls"].append(copy.deepcopy(call))
    again = next(each for each in messages if each.get("tool_call_id") == call["id"])
    messages.insert(messages.index(again), copy.deepcopy(again))


@on_call
def swap_caller_and_answer(messages: list[Json], index: int, call: Wire) -> None:
    messages[index], messages[index + 1] = messages[index + 1], messages[index]


@on_call
def calls_by_the_user(messages: list[Json], index: int, call: Wire) -> None:
    messages[index]["role"] = "user"


def empty_tool_calls(messages: list[Json], chance: random.Random) -> bool:
    index = pick(chance, of_role(messages, "assistant"))
    if index is None:
        return False
    messages[index]["tool_calls"] = chance.choice([[], None])
    return True


def null_content(messages: list[Json], chance: random.Random) -> bool:
    index = pick(chance, of_role(messages, "user"))
    if index is None:
        return False
    messages[index]["content"] = None
    return True


def image_by_the_assistant(messages: list[Json], chance: random.Random) -> bool:
    messages.append({"role": "assistant", "content": [PICTURE]})
    return True


def anthropic_block(messages: list[Json], chance: random.Random) -> bool:
    kind = chance.choice(["tool_use", "tool_result", "thinking", "image"])
    messages.append({"role": "user", "content": [{"type": kind}]})
    return True


def odd_image(messages: list[Json], chance: random.Random) -> bool:
    url = chance.choice(["", "ftp://x", "data:text/plain,x", "data:image/bmp;base64,AAAA", 7])
    messages.append({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})
    return True


def spaced_name(messages: list[Json], chance: random.Random) -> bool:
    chance.choice(messages)["name"] = chance.choice(["two words", "<a>", 7, None])
    return True


def tool_role(messages: list[Json], chance: random.Random) -> bool:
    index = pick(chance, of_role(messages, "user"))
    if index is None:
        return False
    messages[index]["role"] = "tool"
    return True


OPENAI_FAULTS: list[Fault] = [
    drop_a_tool_message,
    rename_an_answer,
    answer_it_twice,
    answer_at_the_end,
    talk_before_the_answer,
    system_before_the_answer,
    answer_without_id,
    answer_of_null,
    answer_without_content,
    image_in_an_answer,
    answer_as_user,
    drop_the_caller,
    rename_the_call,
    call_has_no_id,
    call_has_no_type,
    call_has_no_name,
    call_of_a_spaced_name,
    arguments_as_object,
    no_function,
    long_id,
    one_id_for_two,
    swap_caller_and_answer,
    calls_by_the_user,
    empty_tool_calls,
    null_content,
    image_by_the_assistant,
    anthropic_block,
    odd_image,
    spaced_name,
    tool_role,
    *BOTH,
]
