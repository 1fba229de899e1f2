"""The lines that rules write of recorded work and Chinese chats: for a person to judge.

    python -m benchmarks.flush_lines                        counts per source and kind
    python -m benchmarks.flush_lines --sample 150 --seed 7  a random sample, one line per row
    python -m benchmarks.flush_lines --tally FILE           counts of a judged sample
    python -m benchmarks.flush_lines --notes                how much of Chinese notes is kept
    python -m benchmarks.flush_lines --time                 CPU seconds for 2,000 messages

Of each line the judge sees what a reader of the memory file sees: kind, entity and text. A judged
file is the sample with ``+`` (useful) or ``-`` (junk) in place of the ``?`` of each row. The
method and the published counts: ``docs/flush-lines.md``.

Needs HOLDFAST_DATA. Nothing of the conversations is kept in the repository.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from time import process_time
from typing import Any, Final

from benchmarks import extraction
from holdfast.context.extract import Heard, extract
from holdfast.formats.openai import from_openai
from holdfast.retain import RetainLine, render
from holdfast.types import Json, Message, Text, ToolCall, ToolResult

TRANSCRIPTS: Final = ("tau-airline", "mini-swe", "joined")
CHINESE: Final = ("memdaily-zh", "madial-zh")
_NOW: Final = datetime(2025, 5, 14, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A line, and the conversation it is of."""

    source: str
    conversation: str
    line: RetainLine

    @property
    def kind(self) -> str:
        """What the line is about: the word that the counts are kept by."""
        return _kind_of(self.line, chinese=self.source in CHINESE)

    @property
    def shown(self) -> str:
        return render(self.line).split(" <!-- hf")[0].removeprefix("- ")


def _kind_of(line: RetainLine, *, chinese: bool) -> str:
    entity = line.entity or ""
    if chinese:
        return "speaker (zh)" if entity in ("用户", "助手") else "entity (zh)"
    for label, kind in _LABELS.items():
        if line.text.startswith(label):
            return kind
    if entity in ("task", "tests", "env", "assistant"):
        return entity
    if "/" in entity or "." in entity:
        return "file" if line.text.startswith(("changed", "edited")) else "cause"
    return _OTHERS.get((line.kind, line.trust or ""), "talk" if entity == "user" else "change")


_LABELS: Final = {
    "done: ": "done",
    "so far: ": "so far",
    "asked: ": "asked",
    "refused: ": "refused",
    "transfer": "handed on",
}
_OTHERS: Final = {
    ("O", "user"): "limit",
    ("W", "user"): "rule",
    ("W", "tool"): "customer",
    ("B", "tool"): "change",
}


def written(folder: Path) -> Iterator[Written]:
    """All lines of all sources, as a flush of the whole conversation writes them."""
    for source in TRANSCRIPTS:
        for one in _rows(folder / "transcripts" / f"{source}.jsonl.gz"):
            messages = from_openai(one["messages"])
            heard = [Heard(entry=f"e{n}", at=_NOW, message=m) for n, m in enumerate(messages)]
            for line in extract(heard).lines:
                yield Written(source=source, conversation=one["id"], line=line)
    for source in CHINESE:
        for one in _rows(folder / "retrieval" / f"{source}.jsonl.gz"):
            for line in extract([_heard(turn) for turn in one["turns"]]).lines:
                yield Written(source=source, conversation=one["id"], line=line)


def _heard(turn: dict[str, str]) -> Heard:
    at = datetime.fromisoformat(turn["time"]) if turn["time"] else _NOW
    named = turn["speaker"] not in ("user", "assistant")
    role = "assistant" if turn["speaker"] == "assistant" else "user"
    return Heard(
        entry=turn["id"],
        at=at,
        message=Message.of(role, turn["text"]),
        speaker=turn["speaker"] if named else None,
    )


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def main(argv: list[str] | None = None) -> None:
    asked = argparse.ArgumentParser(prog="python -m benchmarks.flush_lines")
    asked.add_argument("--sample", type=int, metavar="N", help="lines to judge, over all sources")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--source", choices=(*TRANSCRIPTS, *CHINESE), help="one source only")
    asked.add_argument("--tally", type=Path, metavar="FILE", help="a judged sample to count")
    asked.add_argument("--notes", action="store_true", help="what is kept of Chinese notes")
    asked.add_argument("--time", action="store_true", help="how long 2,000 messages take")
    given = asked.parse_args(argv)
    if given.tally:
        _tally(given.tally)
        return
    if given.time:
        _time()
        return
    if "HOLDFAST_DATA" not in os.environ:
        sys.exit("HOLDFAST_DATA is not set: name the folder of the data, then run this again")
    if given.notes:
        _notes(Path(os.environ["HOLDFAST_DATA"]))
        return
    lines = [
        one
        for one in written(Path(os.environ["HOLDFAST_DATA"]))
        if given.source in (None, one.source)
    ]
    if given.sample:
        _show(lines, given.sample, given.seed)
    else:
        _count(lines)


def _show(lines: list[Written], count: int, seed: int) -> None:
    """A sample: of each source as many lines as the root of all it has, so that none drowns."""
    chance = random.Random(seed)
    by_source: dict[str, list[Written]] = {}
    for one in lines:
        by_source.setdefault(one.source, []).append(one)
    roots = sum(sqrt(len(found)) for found in by_source.values())
    for found in by_source.values():
        share = round(count * sqrt(len(found)) / roots)
        for one in chance.sample(found, min(share, len(found))):
            print(f"? | {one.source} | {one.kind} | {one.conversation} | {one.shown}")


def _count(lines: list[Written]) -> None:
    conversations = {(one.source, one.conversation) for one in lines}
    for (source, kind), count in sorted(Counter((one.source, one.kind) for one in lines).items()):
        print(f"{source:12} {kind:14} {count:6}")
    print(f"{len(lines)} lines of {len(conversations)} conversations")


def _tally(file: Path) -> None:
    """Per kind: judged, useful, junk."""
    judged: Counter[str] = Counter()
    useful: Counter[str] = Counter()
    for row in file.read_text(encoding="utf-8").splitlines():
        verdict, *rest = (part.strip() for part in row.split("|", 4))
        if verdict not in ("+", "-") or len(rest) < 2:
            sys.exit(f"not judged: {row[:80]!r}; write + or - in front of every row")
        for name in (rest[1], f"of {rest[0]}", "all"):
            judged[name] += 1
            useful[name] += verdict == "+"
    for name, count in sorted(judged.items()):
        junk = count - useful[name]
        print(f"{name:16} judged {count:4}  useful {useful[name]:4}  junk {junk:4}")


def _notes(folder: Path) -> None:
    """Turns asked about that a line cites; and lines of nothing but chit-chat strewn in between:
    the sentences around the questions of the set's sixth kind."""
    corpora = list(_rows(folder / "retrieval" / "memdaily-zh.jsonl.gz"))[25:]
    for share in (0.15, 0.25, 0.35):
        kept = extraction.chinese(folder, share=share)
        chance = random.Random(1)
        lines = [line for corpus in corpora for line in _with_chat(corpus, share, chance)]
        idle = sum(all(source.startswith("C") for source in line.sources) for line in lines)
        print(
            f"share {share}: retained {kept.found:.3f}, with content {kept.content:.3f}, "
            f"written {kept.written:.3f}; of chit-chat {idle} of {len(lines)} lines"
        )


def _with_chat(corpus: dict[str, Any], share: float, chance: random.Random) -> list[RetainLine]:
    turns = [_heard(turn) for turn in corpus["turns"]]
    asked = [query["text"] for query in corpus["queries"] if query["category"] == "06"]
    chat = [part for text in asked for part in _SENTENCE.findall(text)[:-1]]
    for number, text in enumerate(chat):
        said = Heard(entry=f"C{number}", at=_NOW, message=Message.of("user", text))
        turns.insert(chance.randrange(len(turns) + 1), said)
    return list(extract(turns, share=share, max_lines=extraction.ALL_LINES).lines)


_SENTENCE: Final = re.compile(r"[^。！？]+[。！？]?")


def _time() -> None:
    for name, messages in {"service": _service(), "code": _code(), "Chinese talk": _talk()}.items():
        heard = [Heard(entry=f"e{n}", at=_NOW, message=m) for n, m in enumerate(messages)]
        start = process_time()
        found = extract(heard)
        took = process_time() - start
        print(f"{name}: {len(heard)} messages, {len(found.lines)} lines, {took:.2f} s")


def _step(number: int, name: str, arguments: dict[str, Json], output: str) -> list[Message]:
    call = ToolCall(id=f"c{number}", name=name, arguments=arguments)
    result = ToolResult(call_id=call.id, content=(Text(text=output),))
    return [
        Message(role="assistant", parts=(call,)),
        Message(role="tool", parts=(result,)),
    ]


def _service() -> list[Message]:
    found = []
    for n in range(500):
        order = f"ORD{n:05d}"
        answered = json.dumps({"order_id": order, "refund_amount": n, "rows": list(range(300))})
        found += [
            Message.of("user", f"I'd like to cancel order {order} and get {n} dollars back."),
            *_step(n, "cancel_order", {"order_id": order, "user_id": "ann_1"}, answered),
            Message.of(
                "assistant", f"Order {order} is cancelled, but shipping cannot be refunded."
            ),
        ]
    return found


def _code() -> list[Message]:
    diff = "diff --git a/x b/x\n+++ b/app/f.py\n@@ -1 +1 @@ def f(a):\n+x = 1\n" * 30
    steps = (
        _step(n, "bash", {"command": f"sed -i s/a/b/ app/file_{n}.py; pytest"}, f"{diff}3 passed")
        for n in range(1_000)
    )
    return [Message.of("user", "Fix the export."), *(m for step in steps for m in step)]


def _talk() -> list[Message]:
    told = (f"我叔叔今年{n % 90}岁了，我同事{n}喜欢吃海鲜{n}。" for n in range(1_000))
    return [
        m for text in told for m in (Message.of("user", text), Message.of("assistant", "好的。"))
    ]


if __name__ == "__main__":
    main()
