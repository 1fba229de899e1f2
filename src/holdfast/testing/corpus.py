"""Made-up conversations, English and Chinese, the same for the same seed.

For tests, benchmarks and the tour, where no public data set is at hand. They have what real
ones have: plans that change, tools that fail, long results, images, thinking, decisions,
names, numbers and dates to remember. Proved by ``tests/foundation/test_testing.py``.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from holdfast.types import Image, Message, Text, Thinking, ToolCall, ToolResult

__all__ = ["conversation"]


@dataclass(frozen=True, kw_only=True)
class _Words:
    system: str
    people: tuple[str, ...]
    places: tuple[str, ...]
    services: tuple[str, ...]
    exchanges: tuple[tuple[str, str], ...]
    result: str
    thinking: str


_EN: Final = _Words(
    system="You are a careful assistant.",
    people=("Peter", "Amira", "Wei", "Joanna", "Tomás", "Ngozi"),
    places=("Marrakech", "Lisbon", "Chengdu", "Oslo", "Kyoto", "Nairobi"),
    services=("billing", "search-api", "ingest", "gateway", "scheduler"),
    exchanges=(
        (
            "Please book {person} a flight to {place} on {date}, under {number} euros.",
            "I found one on {date} for {number} euros and booked it for {person}.",
        ),
        (
            "Can you look at why {service} fails? It started at {time}.",
            "The cause is a timeout: {service} waits {small} s and then gives up.",
        ),
        (
            "Remember that {person} takes the train when it is less than {small} hours.",
            "Noted: under {small} hours, {person} goes by train.",
        ),
        (
            "We decided to move {service} to port {port}. Update the notes.",
            "Done: {service} now listens on port {port}.",
        ),
        (
            "No, that is wrong: the meeting is at {time}, not before.",
            "You are right, I have corrected it to {time}.",
        ),
        (
            "What did {person} say about {place}?",
            "{person} liked {place} but found {number} euros too much.",
        ),
    ),
    result="2026-03-14 {time} {service} status={port} took={number}ms path=/v1/{small}\n",
    thinking="The user speaks of {place}; {person} was there on {date}. Check that first.",
)
_ZH: Final = _Words(
    system="你是一个细心的助手。",
    people=("小王", "李雷", "韩梅梅", "阿米", "陈工", "老张"),
    places=("成都", "杭州", "里斯本", "西安", "京都", "哈尔滨"),
    services=("计费服务", "搜索接口", "网关", "调度器", "导入任务"),
    exchanges=(
        (
            "帮{person}订{date}去{place}的机票，不要超过{number}元。",
            "找到{date}的航班，{number}元，已经帮{person}订好了。",
        ),
        (
            "看一下{service}为什么报错，{time}开始的。",
            "原因是超时：{service}等{small}秒就放弃了。",
        ),
        (
            "记住：{person}不喜欢坐飞机，{small}小时以内都坐高铁。",
            "好的，{small}小时以内给{person}订高铁。",
        ),
        (
            "我们决定把{service}改到端口{port}，更新一下笔记。",
            "完成：{service}现在监听端口{port}。",
        ),
        (
            "不对，会议是{time}，不是更早。",
            "您说得对，已改为{time}。",
        ),
        (
            "{person}上次怎么说{place}的？",
            "{person}喜欢{place}，但是觉得{number}元太贵。",
        ),
    ),
    result="2026-03-14 {time} {service} 状态={port} 耗时={number}毫秒 路径=/v1/{small}\n",
    thinking="用户提到{place}，{person}在{date}去过，先确认一下。",
)


def conversation(seed: int, turns: int = 20, *, language: str = "en") -> list[Message]:
    """``turns`` exchanges between a user and an assistant that uses tools now and then."""
    chance = random.Random(f"{language}-{seed}")
    words = _ZH if language == "zh" else _EN
    messages = [Message.of("system", words.system)]
    for turn in range(turns):
        asked, answered = chance.choice(words.exchanges)
        facts = _facts(chance, words)
        messages.append(_asks(chance, asked.format(**facts), turn))
        if chance.random() < 0.5:
            messages += _uses_a_tool(chance, words, turn)
        messages.append(_answers(chance, answered.format(**facts), words.thinking.format(**facts)))
    return messages


def _asks(chance: random.Random, asked: str, turn: int) -> Message:
    text = Text(text=asked)
    if turn and chance.random() < 0.1:
        pixels = base64.b64encode(chance.randbytes(chance.randint(200, 4000))).decode()
        image = Image(media_type="image/png", data=pixels)
        return Message(role="user", parts=(text, image), form="parts")
    return Message(role="user", parts=(text,))


def _uses_a_tool(chance: random.Random, words: _Words, turn: int) -> Iterator[Message]:
    call_id = f"call_{turn}_{chance.randrange(16**6):06x}"
    tool = chance.choice(["search", "read_file", "shell"])
    arguments = json.dumps({"query": chance.choice(words.services), "limit": chance.randint(1, 50)})
    call = ToolCall(id=call_id, name=tool, arguments=arguments)
    yield Message(role="assistant", parts=(call,), form="null")
    lines = chance.choice([1, 5, 40, 400])
    text = "".join(words.result.format(**_facts(chance, words)) for _ in range(lines))
    if chance.random() < 0.15:
        text = "Error: connection refused (ECONNREFUSED 10.0.0.1:5432)"
    yield Message(role="tool", parts=(ToolResult(call_id=call_id, content=(Text(text=text),)),))


def _answers(chance: random.Random, answered: str, thought: str) -> Message:
    text = Text(text=answered)
    if chance.random() < 0.2:
        thinking = Thinking(text=thought, signature=chance.randbytes(24).hex())
        return Message(role="assistant", parts=(thinking, text), form="parts")
    return Message(role="assistant", parts=(text,))


def _facts(chance: random.Random, words: _Words) -> dict[str, object]:
    return {
        "person": chance.choice(words.people),
        "place": chance.choice(words.places),
        "service": chance.choice(words.services),
        "date": f"2026-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}",
        "time": f"{chance.randint(0, 23):02d}:{chance.randint(0, 59):02d}",
        "number": chance.randint(20, 3000),
        "port": chance.randint(1024, 65535),
        "small": chance.randint(2, 12),
    }
