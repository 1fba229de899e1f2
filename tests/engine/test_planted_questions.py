"""Fifty questions about what was said long ago: the same answers before and after compactions.

The reader is a model that knows nothing. It answers from the request it is given, or asks for
``memory_search`` and ``context_expand`` as an agent would; what it is not shown it cannot say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.ports import ModelReply, ModelRequest
from holdfast.testing import FixedClock, SequentialIds
from holdfast.testing.corpus import conversation
from holdfast.types import Message, ToolCall
from tests.engine.losing import audit

SMALL: Final = 8_000
LARGE: Final = 200_000
UNKNOWN: Final = "I do not know."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that is said once, and asked for much later."""

    name: str
    what: str
    value: str
    chinese: bool = False
    in_a_file: bool = False

    @property
    def sentence(self) -> str:
        if self.chinese:
            return f"{self.name}的{self.what}是 {self.value}。"
        return f"The {self.what} of {self.name} is {self.value}."

    @property
    def question(self) -> str:
        if self.chinese:
            return f"{self.name}的{self.what}是什么？"
        return f"What is the {self.what} of {self.name}?"

    def said_in(self, text: str) -> str | None:
        """The value, where the text says it of this name and this thing, in either order."""
        for one, other in ((self.what, self.name), (self.name, self.what)):
            near = re.escape(one) + r"[^\n]{0,40}?" + re.escape(other)
            if found := re.search(near + r"[^\n]{0,24}?\b([A-Z]{2}-\d{4})\b", text):
                return found[1]
        return None


NAMES: Final = (
    *("Falcon", "Juniper", "Marrakesh", "Obsidian", "Pelican", "Quartz", "Riverside", "Sequoia"),
    *("Tundra", "Umbria", "Vesper", "Willow", "Xenon", "Yarrow", "Zephyr", "Alpine"),
)
THINGS: Final = ("door code", "invoice number")
CHINESE_NAMES: Final = ("青松", "北斗", "长江", "飞鹰", "玉兰", "白鹭", "昆仑", "海棠")
CHINESE_THINGS: Final = ("门禁码", "发票号")
FILES: Final = ("billing.toml", "search.toml")


def planted() -> list[Fact]:
    facts = [(name, what, False) for what in THINGS for name in NAMES]
    facts += [(name, what, True) for what in CHINESE_THINGS for name in CHINESE_NAMES]
    found = [
        Fact(
            name=name,
            what=what,
            value=f"{'QK' if chinese else 'XV'}-{2117 + 37 * n}",
            chinese=chinese,
        )
        for n, (name, what, chinese) in enumerate(facts)
    ]
    found += [
        Fact(name=file, what="release tag", value=f"RT-{6001 + 13 * n}", in_a_file=True)
        for n, file in enumerate(FILES)
    ]
    return found


FACTS: Final = planted()
assert len(FACTS) == 50


def talk() -> Iterator[list[Message]]:
    """The conversation, turn by turn: each fact once, among much that has nothing to do with it."""
    asides = [each for each in conversation(7, 60) if each.role in {"user", "assistant"}]
    plain = [each.text for each in asides if each.text and not each.tool_calls]
    for number, fact in enumerate(FACTS):
        if fact.in_a_file:
            yield from _read(fact, number)
            continue
        lead = "顺便说一下，" if fact.chinese else "By the way: "
        yield [Message.of("user", f"{plain[number % len(plain)]}\n{lead}{fact.sentence}")]
        answer = "好的，记下了。" if fact.chinese else "All right."
        yield [Message.of("assistant", f"{answer} {plain[(number * 7 + 3) % len(plain)]}" * 8)]


def _read(fact: Fact, number: int) -> Iterator[list[Message]]:
    call = ToolCall(id=f"read{number}", name="read", arguments={"file": fact.name})
    lines = [f"option_{n} = {n * n}  # of {fact.name}" for n in range(160)]
    lines.insert(80, f"# {fact.sentence}")
    yield [Message.of("user", f"Read {fact.name}, please.")]
    yield [Message(role="assistant", parts=(call,))]
    yield [
        Message.from_json(
            {
                "role": "tool",
                "parts": [
                    {
                        "type": "tool_result",
                        "call_id": call.id,
                        "content": [{"type": "text", "text": "\n".join(lines)}],
                    }
                ],
            }
        )
    ]
    yield [Message.of("assistant", f"I have read {fact.name}.")]


class Reader:
    """Answers the one question it is asked, from what stands in the request."""

    name = "reader"

    def __init__(self, fact: Fact) -> None:
        self._fact = fact
        self.tools: list[tuple[str, str]] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        if not request.tools:  # a summary is asked for, which is not its work: rules write it
            return ModelReply(message=Message.of("assistant", UNKNOWN))
        shown = "\n".join([request.system or "", *(_text(each) for each in request.messages)])
        if (value := self._fact.said_in(shown)) is not None:
            return ModelReply(message=Message.of("assistant", value))
        for name, arguments in self._looking(shown):
            if (name, str(arguments)) not in self.tools:
                self.tools.append((name, str(arguments)))
                id = f"{self._fact.value}-{len(self.tools)}"
                call = ToolCall(id=id, name=name, arguments=arguments)
                return ModelReply(message=Message(role="assistant", parts=(call,)))
        return ModelReply(message=Message.of("assistant", UNKNOWN))

    def _looking(self, shown: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """What an agent would try: a search, then the originals of what it cites, page by page."""
        yield "memory_search", {"query": self._fact.question}
        for id, more in re.findall(r'"id": "(s#[\w-]+)".{0,9000}?"more": (\d+)', shown):
            yield "context_expand", {"id": id, "from": int(more)}
        for id in re.findall(r"\] (s#[\w-]+) · from a tool", shown):
            yield "context_expand", {"id": id}


def _text(message: Message) -> str:
    results = "\n".join(part.text for part in message.tool_results)
    return f"{message.text}\n{results}"


@dataclass(slots=True)
class Asked:
    """The answers, and how they were found."""

    answers: dict[str, str]
    how: Counter[str]


def ask(engine: Engine, session: str, facts: list[Fact], window: int) -> Asked:
    answers: dict[str, str] = {}
    how: Counter[str] = Counter()
    for fact in facts:
        reader = Reader(fact)
        steps = list(engine.session(session, model=reader, window=window).run(fact.question))
        assert steps[-1].message is not None
        answers[fact.question] = steps[-1].message.text
        last = reader.tools[-1][0] if reader.tools else "request"
        how[last if answers[fact.question] != UNKNOWN else "unknown"] += 1
    return Asked(answers=answers, how=how)


def hold(engine: Engine, window: int) -> Session:
    """The whole conversation, each answer of it prepared and committed."""
    session = engine.session("s", window=window)
    for turn in talk():
        if turn[0].role == "assistant":
            session.prepare()
            session.commit(turn[0])
        else:
            session.append_all(turn)
    return session


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The answers of a reader who sees all that was said."""
    home = tmp_path_factory.mktemp("before")
    config = {"prune.mode": "off", "recall.mode": "off", "search.embedder": "none"}
    with open_engine(home, config=config, clock=FixedClock(), ids=SequentialIds()) as engine:
        hold(engine, LARGE)
        assert engine.session("s").state()["compaction_count"] == 0
        asked = ask(engine, "s", FACTS, LARGE)
        assert asked.how == {"request": 50}
        return asked.answers


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home = tmp_path_factory.mktemp("after")
    config = {"context.window": SMALL, "search.embedder": "none", "flush.mode": "rules"}
    with open_engine(home, config=config, background=False, ids=SequentialIds()) as engine:
        session = hold(engine, SMALL)
        session.compact()
        assert session.state()["compaction_count"] >= 3
        assert audit(session.entries()).uncovered == []
        yield engine


def test_a_reader_of_everything_knows_every_answer(before: dict[str, str]) -> None:
    assert before == {fact.question: fact.value for fact in FACTS}


def test_most_of_what_was_asked_has_left_the_view(compacted: Engine) -> None:
    view = "\n".join(_text(each) for each in compacted.session("s").view())
    gone = [fact for fact in FACTS if fact.said_in(view) is None]
    assert len(gone) >= 25, "else nothing is proved"


def test_the_same_answers_after_compactions(before: dict[str, str], compacted: Engine) -> None:
    asked = ask(compacted, "s", FACTS, SMALL)
    assert asked.answers == before
    assert asked.how["unknown"] == 0
    assert asked.how["context_expand"] >= 2, "the midst of a long file is nowhere else"
    assert audit(compacted.session("s").entries()).uncovered == []


def test_the_next_conversation_knows_the_same(before: dict[str, str], compacted: Engine) -> None:
    compacted.session("s").close()
    asked = ask(compacted, "later", FACTS, SMALL)
    assert asked.answers == before
