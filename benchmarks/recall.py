"""What is recalled unasked: for questions that memory answers, and for messages that it does not.

Each corpus gets a home; its turns are appended as earlier conversations. In a new session three
kinds of messages are said, and ``recall`` decides:

    asked      questions of the corpus, sampled; *shown* if a gold turn is among what is attached
    foreign    questions about another corpus: the same kind of talk about other people
    requests   things people ask an assistant that no memory can answer, and small talk

The bar, the exponent and the list of courtesies were made while looking at the first corpora of
each set and at ``REQUESTS``; the others, and ``FRESH``, were written or run once, afterwards.
``curve`` gives the shares for other bars, by words alone.

python -m benchmarks.recall [--words] [--curve]      needs HOLDFAST_DATA
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from holdfast.cli.benching.corpora import Corpus, Query, Turn
from holdfast.cli.benching.retrieval import read
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.restore import NotRecalled, Recalled, recall
from holdfast.engine.restore.bar import WORDS_BAR
from holdfast.types import Message

__all__ = ["Measured", "measure", "run"]

SETS: Final = {"locomo": (3, 2, 60), "memdaily-zh": (16, 16, 12)}
"""Corpora that were looked at, those that were not, and questions of each kind about every one."""
BARS: Final = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)
NEW: Final = "now"
REQUESTS: Final = (
    "ok thanks",
    "thank you so much!",
    "great, go on",
    "yes please",
    "hello",
    "good morning, how are you?",
    "Write a haiku about the sea.",
    "What is the capital of France?",
    "Translate 'good night' into Spanish.",
    "Explain how quicksort works.",
    "Refactor this function so that it has no side effects.",
    "Give me three names for a cat.",
    "Please fix the failing test in tests/test_parser.py",
    "What does HTTP 404 mean?",
    "Summarise the following text in two sentences.",
    "How many ounces are in a pound?",
    "Tell me a joke about programmers.",
    "Write a regex that matches an email address.",
    "Compare PostgreSQL and MySQL for a small web shop.",
    "What's the weather like?",
    "Can you make it shorter?",
    "Continue where you stopped.",
    "What is the square root of 144?",
    "Who wrote Pride and Prejudice?",
    "List the planets in order of size.",
    "你好",
    "谢谢",
    "好的，继续",
    "帮我写一首关于大海的诗",
    "法国的首都是哪里？",
    "解释一下快速排序",
    "把这句话翻译成英文",
    "写一个匹配邮箱的正则表达式",
    "给我讲个笑话",
    "一磅等于多少盎司？",
    "总结一下下面的内容",
    "今天天气怎么样？",
    "修复测试里的错误",
    "再短一点",
    "谁写了《红楼梦》？",
)


FRESH: Final = (
    "Rename the variable x to total in this file.",
    "Convert 30 degrees Celsius to Fahrenheit.",
    "Which sorting algorithm is stable?",
    "Draft an out-of-office reply.",
    "What's the plural of octopus?",
    "Plot sin(x) with matplotlib.",
    "sounds good, let's do it",
    "Hmm, not sure about that.",
    "Why does my Docker build fail with exit code 137?",
    "Suggest a title for a blog post on caching.",
    "Proofread this paragraph.",
    "How tall is Mount Everest?",
    "把这个函数改成异步的",
    "光速是多少？",
    "写一封请假邮件",
    "嗯，可以",
    "推荐三本科幻小说",
    "为什么天空是蓝色的？",
    "把这个表格转成CSV",
    "太好了，谢谢你！",
)


class _Clock:
    def __init__(self) -> None:
        self.at = datetime.now(UTC)

    def now(self) -> datetime:
        return self.at


@dataclass(slots=True, kw_only=True)
class Measured:
    """What became of the messages of one kind."""

    fired: list[bool] = field(default_factory=list)
    shown: list[bool] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)

    def add(self, found: Recalled | NotRecalled, *, gold: frozenset[str]) -> None:
        self.fired.append(isinstance(found, Recalled))
        self.best.append(found.best)
        self.took_ms.append(found.took_ms)
        if isinstance(found, Recalled):
            self.tokens.append(found.tokens)
        entries = {each.rpartition("#")[2] for each in getattr(found, "passages", ())}
        self.shown.append(bool(entries & gold))

    def to_json(self) -> dict[str, Any]:
        return {
            "messages": len(self.fired),
            "fired": round(_share(self.fired), 3),
            "shown": round(_share(self.shown), 3),
            "tokens": round(statistics.fmean(self.tokens)) if self.tokens else 0,
            "p50_ms": round(statistics.median(self.took_ms), 1) if self.took_ms else 0.0,
        }


Kinds = dict[str, Measured]


def run(name: str, folder: Path, *, unseen: bool, vectors: bool = True) -> Kinds:
    """One set of corpora: those that were looked at when the bar was set, or the others."""
    first, others, questions = SETS[name]
    held = list(read(folder / "retrieval" / f"{name}.jsonl.gz", limit=first + others))
    held = held[first:] if unseen else held[:first]
    chance = random.Random(7)
    kinds: Kinds = {"asked": Measured(), "foreign": Measured(), "requests": Measured()}
    for number, corpus in enumerate(held):
        other = held[(number + 1) % len(held)]
        said = _Said(
            asked=_some(corpus.queries, questions, chance),
            foreign=_some(other.queries, questions, chance),
            requests=FRESH if unseen else REQUESTS,
        )
        _corpus(corpus, said, kinds, vectors=vectors)
    return kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    asked: Sequence[Query]
    foreign: Sequence[Query]
    requests: Sequence[str]


def _some(queries: Sequence[Query], many: int, chance: random.Random) -> list[Query]:
    answerable = [query for query in queries if query.gold]
    return chance.sample(answerable, min(many, len(answerable)))


def _corpus(corpus: Corpus, said: _Said, kinds: Kinds, *, vectors: bool) -> None:
    clock = _Clock()
    config = {"index.retention_days": 0, "memory.time_zone": "UTC"}
    if not vectors:
        config["search.embedder"] = "none"
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-recall-") as home,
        open_engine(Path(home), config=config, clock=clock, background=False) as engine,
    ):
        ids = dict(_taken(engine, corpus, clock))
        clock.at = corpus.now or clock.at
        engine.index.sync()
        engine.search("warm 热身")
        engine.session(NEW)
        for query in said.asked:
            gold = frozenset(ids[turn] for turn in query.gold)
            kinds["asked"].add(_recalled(engine, query.text), gold=gold)
        for query in said.foreign:
            kinds["foreign"].add(_recalled(engine, query.text), gold=frozenset())
        for text in said.requests:
            kinds["requests"].add(_recalled(engine, text), gold=frozenset())


def _taken(engine: Engine, corpus: Corpus, clock: _Clock) -> Iterator[tuple[str, str]]:
    for name, at, turns in corpus.batches():
        clock.at = at or clock.at
        entries = engine.session(f"s{name}").append_all([_message(turn) for turn in turns])
        yield from zip((turn.id for turn in turns), entries, strict=True)


def _message(turn: Turn) -> dict[str, Any]:
    if turn.speaker in ("user", "assistant"):
        return {"role": turn.speaker, "content": turn.text}
    return {"role": "user", "name": turn.speaker, "content": turn.text}


def _recalled(engine: Engine, text: str) -> Recalled | NotRecalled:
    rooms = engine._rooms
    settings = rooms.settings.recall
    return recall(
        rooms,
        NEW,
        rooms.store.look(rooms.transcript(NEW)),
        Message.of("user", text),
        price=rooms.estimator(None).text,
        language=None,
        limit_tokens=settings.max_tokens,
        timeout_ms=settings.timeout_ms,
    )


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


def curve(kinds: Kinds) -> Iterator[dict[str, float]]:
    """The share of messages above each bar, by kind."""
    for bar in BARS:
        yield {"bar": bar} | {
            kind: round(_share([each >= bar for each in found.best]), 3)
            for kind, found in kinds.items()
        }


def measure(*, vectors: bool = False) -> list[dict[str, Any]]:
    """What was not looked at when the bar was set, by words alone; bounds to notice a loss by."""
    folder = Path(os.environ["HOLDFAST_DATA"])
    figures = []
    for name, shown in (("locomo", 0.65), ("memdaily-zh", 0.70)):
        kinds = run(name, folder, unseen=True, vectors=vectors)
        value = _share(kinds["asked"].shown)
        figures.append(_figure(f"{name}: a gold turn is attached", value, f"≥ {shown}", shown))
        value = _share(kinds["requests"].fired)
        figures.append(_figure(f"{name}: recalled for nothing", value, "≤ 0.15", -0.15))
    return figures


def _figure(what: str, value: float, goal: str, bound: float) -> dict[str, Any]:
    met = value >= bound if bound > 0 else value <= -bound
    return {"what": what, "value": round(value, 3), "unit": "of all", "goal": goal, "met": met}


def main() -> None:
    folder = Path(os.environ["HOLDFAST_DATA"])
    vectors = "--words" not in sys.argv
    for name in SETS:
        for unseen in (False, True):
            what = "unseen" if unseen else "looked at"
            kinds = run(name, folder, unseen=unseen, vectors=vectors)
            for kind, found in kinds.items():
                line = {"set": name, "corpora": what, "kind": kind, "bar": WORDS_BAR}
                print(json.dumps(line | found.to_json(), ensure_ascii=False), flush=True)
            if "--curve" in sys.argv:
                for point in curve(kinds):
                    print(json.dumps({"set": name, "corpora": what} | point), flush=True)


if __name__ == "__main__":
    main()
