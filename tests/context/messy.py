"""Conversations as they come out of real agents, and worse: a generator for tests.

``messy_messages(seed, length)`` is plain random and fast; ``messy_entries()`` is the same as a
hypothesis strategy, for shrinking; ``clean_messages`` has the same turns without a fault.
Faults: missing, late, second and orphan results, results in the wrong message, repeated and
foreign ids, empty and broken texts, thinking signed, unsigned, redacted and of other vendors,
halves of server tools, images that cannot be sent, system messages in the middle, runs of one
role, unknown roles, calls by the user, arguments that are no JSON.
"""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from holdfast.types import (
    Form,
    Image,
    Json,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ViewItem,
)

__all__ = ["clean_messages", "items_of", "messy_entries", "messy_messages", "png"]

_SAID = (
    "Please look at the failing test.",
    "Was steht in der Datei?",
    "请把配置文件里的端口改成 8080。",
    "それは違います。もう一度。",
    "ok 👍🏽",
    "The path is /srv/app/config.toml and the port 5432.",
    "Never push to main.",
)
_BROKEN = ("", " ", "\n\t ", "\ud800", "half \udfff a pair", "\u200b", "nul \0 inside")
_NAMES = ("read_file", "search", "run-tests", "weather")
_ODD_NAMES = ("mcp.server/tool", "函数", "", "x" * 80)
_ODD_IDS = ("", "call 1", "函数", "functions.read_file:0", "x" * 70, "call_1\ud800", "toolu_1.2")


def png(width: int = 4, height: int = 4) -> str:
    """The base64 text of the head of a PNG of this size: all that anybody looks at here."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
    return base64.b64encode(head + b"\0" * 9).decode()


def clean_messages(seed: int, length: int) -> list[Message]:
    """A conversation without a fault, of about ``length`` messages."""
    return _Teller(random.Random(seed), mess=0.0).tell(length)


def messy_messages(seed: int, length: int) -> list[Message]:
    """A conversation of about ``length`` messages with many faults."""
    chance = random.Random(seed)
    return _Teller(chance, mess=chance.choice((0.05, 0.2, 0.5))).tell(length)


def messy_entries(most: int = 14) -> st.SearchStrategy[list[Message]]:
    """Messy conversations for hypothesis."""
    return st.builds(
        lambda chance, mess, length: _Teller(chance, mess=mess).tell(length),
        st.randoms(use_true_random=False),
        st.sampled_from([0.05, 0.2, 0.5]),
        st.integers(0, most),
    )


def items_of(messages: Sequence[Message]) -> list[ViewItem]:
    """The messages as a view has them: each stands for an entry of its own."""
    return [
        ViewItem(message=message, stands_for=(f"e{at}",)) for at, message in enumerate(messages)
    ]


@dataclass
class _Teller:
    chance: random.Random
    mess: float
    told: list[Message] = field(default_factory=list)
    late: list[ToolResult] = field(default_factory=list)
    serial: int = 0

    def tell(self, length: int) -> list[Message]:
        if length and self.flip(0.4):
            self.say("system", Text(text=self.text()))
        while len(self.told) < length:
            self.user_turn()
            self.assistant_turn()
        return self.told[:length] if self.mess else self._until_settled(length)

    def _until_settled(self, length: int) -> list[Message]:
        """The last word is the user's, so that no call is open."""
        told = self.told[:length]
        while told and (told[-1].role != "user" or told[-1].tool_results):
            told.pop()
        return told

    # ── turns ───────────────────────────────────────────────────────────────────────────────

    def user_turn(self) -> None:
        if self.fault():
            self.surprise()
        parts: list[Part] = [Text(text=self.text())]
        if self.flip(0.2):
            parts.append(self.image())
        if self.fault():
            parts.append(self.chance.choice(self.odd_parts()))
        if self.late and self.fault():
            parts.insert(self.chance.randrange(len(parts) + 1), self.late.pop())
        self.say("user", *parts)

    def assistant_turn(self) -> None:
        for _ in range(self.chance.choice((0, 0, 1, 1, 2))):
            self.tool_round()
        self.say("assistant", *self.thoughts(), Text(text=self.text()), *self.server_tool())
        if self.fault():
            self.say("assistant", *self.thoughts())

    def tool_round(self) -> None:
        calls = [self.call() for _ in range(self.chance.choice((1, 1, 2, 3)))]
        if self.fault():
            calls.append(calls[0])
        said: list[Part] = [Text(text=self.text())] if self.flip(0.4) else []
        self.say("assistant", *self.thoughts(), *said, *calls)
        results = [self.result(call) for call in calls]
        if self.fault():
            self.chance.shuffle(results)
        if self.fault():
            self.late.append(results.pop())
        if self.fault():
            results.append(self.result(calls[0]))
        if self.fault() and results:
            results.append(results[0])
        if self.fault():
            results.append(ToolResult(call_id=self.new_id(), content=(Text(text="whose?"),)))
        self.tell_results(results)

    def tell_results(self, results: list[ToolResult]) -> None:
        if self.flip(0.4):
            self.say("user", *results, *([Text(text=self.text())] if self.fault() else []))
            return
        for result in results:
            if self.fault():
                self.surprise()
            self.say("tool", result)

    def surprise(self) -> None:
        """Something that does not belong here."""
        match self.chance.randrange(7):
            case 0:
                self.say(self.chance.choice(("system", "developer")), Text(text=self.text()))
            case 1:
                self.say("user", Text(text=self.text()))
            case 2:
                self.say("assistant", Text(text=self.text()))
            case 3:
                self.say(self.chance.choice(("critic", "tool")), Text(text=self.text()))
            case 4:
                self.say(self.chance.choice(("user", "assistant", "tool")))
            case 5 if self.late:
                self.say("tool", self.late.pop())
            case _:
                odd = self.chance.choice(self.odd_parts())
                self.say(self.chance.choice(("user", "assistant", "system")), odd)

    def say(self, role: str, *parts: Part) -> None:
        form: Form = "text" if len(parts) == 1 else "parts"
        if self.mess and self.flip(0.1):
            form = self.chance.choice(("text", "parts", "null", "absent"))
        extra: dict[str, Json] = {}
        if self.fault():
            extra = self.chance.choice(_ODD_EXTRAS)
        self.told.append(Message(role=role, parts=parts, form=form, extra=extra))

    # ── parts ───────────────────────────────────────────────────────────────────────────────

    def text(self) -> str:
        return self.chance.choice(_BROKEN if self.fault() else _SAID)

    def thoughts(self) -> list[Part]:
        if not self.flip(0.3):
            return []
        signed = Thinking(text="Let me see.", signature="EqQBCgIYAhIM")
        if not self.fault():
            return [signed]
        return [
            self.chance.choice(
                (
                    Thinking(text="unsigned", extra={"shape": "unsigned"}),
                    Thinking(text="reasoned", extra={"shape": "reasoning_content"}),
                    Thinking(text="bad \ud800", signature="EqQB"),
                    Thinking(
                        text="marked",
                        signature="EqQB",
                        extra={"anthropic": {"cache_control": {"type": "ephemeral"}}},
                    ),
                    _block(type="redacted_thinking", data="EmwKAhgB"),
                    signed,
                )
            )
        ]

    def server_tool(self) -> list[Part]:
        if not self.flip(0.1):
            return []
        self.serial += 1
        call_id = f"srvtoolu_{self.serial}"
        pair: list[Part] = [
            _block(type="server_tool_use", id=call_id, name="web_search", input={"query": "x"}),
            _block(type="web_search_tool_result", tool_use_id=call_id, content=[]),
        ]
        if self.fault():
            return [self.chance.choice(pair)]
        return [*pair, Text(text="Found it.")]

    def call(self) -> ToolCall:
        arguments: str | dict[str, Json] = self.chance.choice(
            ('{"path": "/srv/a.py"}', "{}", {"query": "端口", "limit": 3})
        )
        name = self.chance.choice(_NAMES)
        if self.fault():
            arguments = self.chance.choice(
                ('{"path": ', "", "[1]", '{"a": "\\ud800"}', {"k\ud800": ["\udfff"]}, "null")
            )
        if self.fault():
            name = self.chance.choice(_ODD_NAMES)
        extra: dict[str, Json] = {}
        if self.fault():
            shapes = ("function_call", "custom", "untyped")
            extra = {"shape": self.chance.choice(shapes), "openai": {}}
        return ToolCall(id=self.new_id(), name=name, arguments=arguments, extra=extra)

    def new_id(self) -> str:
        if self.fault():
            return self.chance.choice(_ODD_IDS)
        self.serial += 1
        styles = ("call_{:024d}", "toolu_01{:020d}", "call_{}")
        # Some servers begin again with every turn.
        number = self.serial % 3 if self.mess and self.flip(0.2) else self.serial
        return self.chance.choice(styles).format(number)

    def result(self, call: ToolCall) -> ToolResult:
        content: list[Part] = [Text(text=self.text())]
        if self.flip(0.1):
            content.append(self.image())
        if self.fault():
            odd: tuple[list[Part], ...] = (
                [],
                [*content, _block(type="document", source={"type": "text", "data": "d"})],
                [Opaque(format="openai", data={"type": "input_audio"}), *content],
                [*content, Text(text=" ")],
                [call],
            )
            content = self.chance.choice(odd)
        form: Form = "text" if len(content) == 1 and self.flip(0.7) else "parts"
        if self.fault():
            form = self.chance.choice(("null", "absent", "text", "parts"))
        is_error = self.chance.choice((None, None, True, False))
        return ToolResult(call_id=call.id, content=tuple(content), form=form, is_error=is_error)

    def image(self) -> Image:
        good = (
            Image(media_type="image/png", data=png()),
            Image(url="https://example.org/a.png"),
        )
        if not self.fault():
            return self.chance.choice(good)
        return self.chance.choice(
            (
                Image(media_type="image/svg+xml", data=png()),
                Image(media_type="image/png", data=""),
                Image(media_type="image/png", data=png(9000, 10)),
                Image(url="data:text/plain,x"),
                Image(url="ftp://example.org/a.png"),
                Image(),
                Image(extra={"anthropic": {"source": {"type": "file", "file_id": "file_1"}}}),
            )
        )

    def odd_parts(self) -> list[Part]:
        return [
            Opaque(
                format="openai",
                data={"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            ),
            Opaque(format="openai", data={"type": "text"}),
            Opaque(format="openai tool_call", data={"id": "call_9", "type": "novel"}),
            Opaque(format="openai tool_call", data={"id": 9}),
            _block(type="document", source={"type": "text", "media_type": "text/plain"}),
            _block(type="tool_use", id="broken"),
            _block(type="hologram", data="\ud800"),
            _block(cache_control="yes"),
            ToolCall(id="stray", name="search", arguments="{}"),
            ToolResult(call_id="stray", content=(Text(text="stray"),)),
            Thinking(text="whose thought?", signature="EqQB"),
            self.image(),
            Text(text="marked", extra={"anthropic": {"cache_control": {"type": "ephemeral"}}}),
            Text(text="marked", extra={"anthropic": {"cache_control": 1}}),
            Text(text="no", extra={"shape": "refusal"}),
            Text(text="no", extra={"shape": "refusal_field"}),
        ]

    def flip(self, share: float) -> bool:
        return self.chance.random() < share

    def fault(self) -> bool:
        return self.mess > 0 and self.flip(self.mess)


def _block(**data: Json) -> Opaque:
    return Opaque(format="anthropic", data=data)


_ODD_EXTRAS: tuple[dict[str, Json], ...] = (
    {"openai": {"tool_calls": []}},
    {"openai": {"tool_calls": None, "refusal": None}},
    {"openai": {"function_call": 3, "audio": {"id": "audio_1"}}},
    {"openai": {"name": "two words", "x_new": "\ud800"}},
    {"openai": {"name": 7, "tool_call_id": "call_1"}},
    {"shape": "empty_list"},
    {"shape": "listed"},
    {"anthropic": {"x_new": ["\udc00"]}},
)
