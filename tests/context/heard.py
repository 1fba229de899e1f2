"""Conversations for the tests of the extractor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.context.extract import Heard
from holdfast.types import Message, Part, Text, ToolCall, ToolResult

START = datetime(2025, 5, 14, 9, 0, tzinfo=UTC)


def talk(*said: tuple[str, str], speakers: dict[str, str] | None = None) -> list[Heard]:
    """Messages of (role, text), a minute apart; entries are e0, e1, …"""
    return [
        Heard(
            entry=f"e{number}",
            at=START + timedelta(minutes=number),
            message=Message.of(role, text),
            speaker=(speakers or {}).get(role),
        )
        for number, (role, text) in enumerate(said)
    ]


def call(number: int, name: str, arguments: dict[str, object], said: str = "") -> Message:
    parts: tuple[Part, ...] = (ToolCall(id=f"c{number}", name=name, arguments=arguments),)
    return Message(role="assistant", parts=((Text(text=said),) if said else ()) + parts)


def result(number: int, text: str, *, is_error: bool | None = None) -> Message:
    answered = ToolResult(call_id=f"c{number}", content=(Text(text=text),), is_error=is_error)
    return Message(role="tool", parts=(answered,))


def heard(*messages: Message) -> list[Heard]:
    return [
        Heard(entry=f"e{number}", at=START + timedelta(minutes=number), message=message)
        for number, message in enumerate(messages)
    ]
