"""A transcript in memory that is compacted the way the engine does it: entries, view, blocks.

Prices are a quarter of the characters; what is measured after a compaction is measured on the
view that ``sessions.view`` computes from the entries, not on what the compaction says of itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.config import Settings
from holdfast.context.accounting import Budget, make_budget
from holdfast.context.blocks import Block, blocks_of
from holdfast.context.compaction import (
    Compacted,
    CompactionPlan,
    ModelFailure,
    NoCompaction,
    Pass,
    Previous,
    compact,
    plan_compaction,
)
from holdfast.ports import ModelReply, ModelRequest
from holdfast.sessions.view import compute_view, needed_before
from holdfast.types import Entry, Message, Text, ToolCall, ToolResult, View

STRATEGIES = ("layered", "summary", "selective")
START = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)

Answer = Callable[[ModelRequest], ModelReply | ModelFailure]


def price(what: Message | str) -> int:
    """A quarter of the characters, whole messages with a little for their frame."""
    if isinstance(what, str):
        return len(what) // 4 + 1
    return sum(_chars(part) for part in what.parts) // 4 + 4


def _chars(part: object) -> int:
    if isinstance(part, ToolCall):
        arguments = part.arguments
        text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
        return len(text) + len(part.name)
    if isinstance(part, ToolResult):
        return sum(_chars(inner) for inner in part.content)
    return len(getattr(part, "text", "")) or 400


def budget(window: int) -> Budget:
    return make_budget(Settings(), window=window)


class Transcript:
    """Entries that are only appended, and the view of them."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.entries: list[Entry] = []
        self.compaction: Entry | None = None
        self.passes: list[Pass] = []
        self._after = 0
        self.say(messages)

    def say(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.append("message", message.to_json())

    def append(self, kind: str, data: dict[str, Any]) -> Entry:
        number = len(self.entries)
        entry = Entry(
            id=f"e{number:06d}",
            parent=None,
            seq=number,
            at=START + timedelta(seconds=number),
            type=kind,
            data=data,
        )
        self.entries.append(entry)
        return entry

    @property
    def view(self) -> View:
        if self.compaction is None:
            return compute_view(self.entries)
        by_id = {entry.id: entry for entry in self.entries}
        start = by_id[self.compaction.data["first_kept"]].seq
        earlier = [by_id[each] for each in needed_before(self.compaction)]
        return compute_view(self.entries[start:], compaction=self.compaction, earlier=earlier)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return blocks_of(self.view, price, lambda _: 100)

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)

    @property
    def previous(self) -> Previous | None:
        if self.compaction is None:
            return None
        new = max(0, self.tokens - self._after)
        return Previous.of(self.compaction.id, self.compaction.data, new_tokens=new)

    def plan(self, window: int, **given: Any) -> CompactionPlan | NoCompaction:
        given.setdefault("budget", budget(window))
        return plan_compaction(
            self.blocks,
            given.pop("budget"),
            price=price,
            previous=self.previous,
            passes=self.passes,
            **given,
        )

    def commit(self, done: Compacted) -> None:
        new = self.previous.new_tokens if self.previous is not None else None
        before = self.tokens
        data = json.loads(json.dumps(done.entry_data(watermark=len(self.entries) - 1)))
        self.compaction = self.append("compaction", data)
        self._after = self.tokens
        self.passes.append(Pass(tokens_before=before, tokens_after=self._after, new_tokens=new))


def run(
    steps: Generator[ModelRequest, ModelReply | ModelFailure, Compacted],
    answer: Answer | None = None,
) -> Compacted:
    """The end of a strategy; ``answer`` is the model."""
    try:
        request = next(steps)
        while True:
            assert answer is not None, "nobody may be asked here"
            request = steps.send(answer(request))
    except StopIteration as end:
        result = end.value
        assert isinstance(result, Compacted)
        return result


def done_by(plan: CompactionPlan, answer: Answer | None = None, **given: Any) -> Compacted:
    """The compaction of a plan, by the model that answers, or without one."""
    if answer is not None:
        given.setdefault("summariser_window", 100_000)
    return run(compact(plan, price=price, use_model=answer is not None, **given), answer)


STRINGS = re.compile(r"<strings (\w+)>\n(.*?)\n</strings \1>", re.DOTALL)


def fluent(request: ModelRequest) -> ModelReply:
    """What a capable model answers: sections, and every string it was told to name."""
    (message,) = request.messages
    strings = found[2].split("\n") if (found := STRINGS.search(message.text)) else []
    text = (
        "## Goal\n- Migrate the billing database, ticket OPS-4711 [#7]\n"
        "## State\n- All tests but one pass [#9, #11]\n## Decisions\n- none\n"
        f"## Exact identifiers\n- {' '.join(strings)}\n## Next step\n- Go on with the migration"
    )
    return ModelReply(message=Message.of("assistant", text))


def tool_loop(
    steps: int, *, size: int = 400, task: str = "Fix the bug in src/app/main.py"
) -> list[Message]:
    """One request and then nothing but calls and results, as coding agents work."""
    messages = [Message.of("system", "You are careful."), Message.of("user", task)]
    for step in range(steps):
        messages += used_tool(step, size=size)
    return messages


def used_tool(step: int, *, size: int = 400) -> list[Message]:
    call = ToolCall(
        id=f"call_{step}",
        name="bash",
        arguments=json.dumps({"command": f"pytest tests/test_{step % 7}.py -q"}),
    )
    said = Text(text=f"Let me run step {step}.")
    text = f"<returncode>{step % 3 % 2}</returncode>\nline {step} of output\n" * (size // 40 + 1)
    result = ToolResult(call_id=call.id, content=(Text(text=text),))
    return [
        Message(role="assistant", parts=(said, call)),
        Message(role="tool", parts=(result,)),
    ]


def chat(turns: int, *, words: str = "please look at item", size: int = 1) -> list[Message]:
    """Many user turns with short answers."""
    messages = [Message.of("system", "You are careful.")]
    for turn in range(turns):
        messages.append(Message.of("user", f"{words} {turn} " * size))
        messages.append(Message.of("assistant", f"I looked at item {turn}: it is fine. " * size))
    return messages


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]
