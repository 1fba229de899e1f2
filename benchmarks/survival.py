"""Which facts of long chats outlive five compactions: ours, and what others leave of them.

python -m benchmarks survival            figures and the table beside others; needs HOLDFAST_DATA
python -m benchmarks.survival --curve    how much is kept at other shares of the text, words alone

Beside ours, over the same chats with the same window: LangChain's ``SummarizationMiddleware``
(its own hook, its own cut and trimming), plain trimming, and SQLite's full-text search over the
raw chat. LangChain is asked for its view at the end of the conversation, because it carries
nothing into a new one; the summary is written by a stand-in that picks statements with our rules,
a tenth of the window long, as good a choice as ours; whatever it was shown of an earlier summary
competes with the new. A turn is in a view if all of it is, or a statement of the summary cites it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from langchain.agents.middleware import AgentState, SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime

from benchmarks.extraction import _Search
from holdfast.cli.benching.corpora import Corpus, Turn
from holdfast.cli.benching.survival import measure as measure_ours
from holdfast.cli.benching.survival import read, summary
from holdfast.cli.benching.survival_judging import Asked, Fact, Survived, figures
from holdfast.cli.benching.survival_replay import Plan
from holdfast.context.extract import Heard, KeyClause, key_clauses
from holdfast.context.tokens import TokenEstimator
from holdfast.types import Message

PLAN: Final = Plan()
SHARES: Final = (0.10, 0.15, 0.25, 0.35, 0.50)
GOALS: Final = (
    ("reachable", 0.97),
    ("memory_only", 0.80),
    ("memory_content", 0.60),
    ("grounded", 1.0),
)
COLUMNS: Final = ("compactions", "reachable", "memory_only", "memory_content", "in_view")
_ALL: Final = 1_000


def measure() -> list[dict[str, Any]]:
    file = _file()
    ours = list(measure_ours(file, PLAN))
    total = summary(ours, PLAN)
    for each in ours:
        print(_row(each.corpus.id, each.to_json()))
    print(_row("holdfast", total))
    found = [_figure(f"facts: {name}", total[name], goal) for name, goal in GOALS]
    share = total["written_share"]
    found.append(_figure("written by read", share, 0.35, is_most=True))
    for name, way in PEERS.items():
        asked = figures([way(corpus, facts) for corpus, facts in read(file)])
        print(_row(name, asked))
        reached = asked["reachable"]
        what = f"facts reachable by {name}"
        found.append(_figure(what, reached, total["reachable"], is_most=True))
    return found


def curve() -> None:
    """What is kept when more or less may be written; found by words alone, for speed."""
    print("share written  memory_only  memory_content  reachable  lines")
    for share in SHARES:
        plan = replace(PLAN, share=share, vectors=False)
        all_of = summary(list(measure_ours(_file(), plan)), plan)
        kept = f"{all_of['memory_only']:11.3f} {all_of['memory_content']:14.3f}"
        print(
            f"{share:5.2f} {all_of['written_share']:7.3f} {kept} "
            f"{all_of['reachable']:11.3f} {all_of['lines']:6}",
            flush=True,
        )


def _file() -> Path:
    return Path(os.environ["HOLDFAST_DATA"]) / "retrieval" / "locomo.jsonl.gz"


def _figure(what: str, value: Any, goal: Any, *, is_most: bool = False) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 4),
        "unit": "of all",
        "goal": f"{'≤' if is_most else '≥'} {round(goal, 4)}",
        "met": value <= goal if is_most else value >= goal,
    }


def _row(name: str, shown: dict[str, Any]) -> str:
    cells = [shown[column] for column in COLUMNS]
    values = [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells]
    return f"{name:26}" + "".join(f"{value:>16}" for value in values)


# ── others ──────────────────────────────────────────────────────────────────────────────────


def _asked(corpus: Corpus, facts: Sequence[Fact], shown: Iterable[str], passes: int) -> Survived:
    """What a view alone gives: nothing was written, and there is nothing to search."""
    seen = frozenset(shown)
    asked = [Asked(fact=fact, reachable=seen, in_view=seen) for fact in facts]
    return Survived(corpus=corpus, asked=asked, compactions=passes)


def trimming(corpus: Corpus, facts: Sequence[Fact]) -> Survived:
    """The newest turns that fit below the mark; each turn that goes is a compaction of its own."""
    count, left, shown = TokenEstimator(), _mark(), []
    for turn in reversed(corpus.turns):
        left -= count.text(turn.text)
        if left < 0:
            break
        shown.append(turn.id)
    return _asked(corpus, facts, shown, len(corpus.turns) - len(shown))


def raw_search(corpus: Corpus, facts: Sequence[Fact]) -> Survived:
    """FTS5 over every turn as it was said: nothing is lost, and nothing is shorter."""
    search = _Search([f"{turn.speaker}: {turn.text}" for turn in corpus.turns])
    found = Survived(corpus=corpus)
    for fact in facts:
        ids = frozenset(corpus.turns[number].id for number in search.find(fact.text))
        found.asked.append(Asked(fact=fact, reachable=ids))
    return found


def langchain(corpus: Corpus, facts: Sequence[Fact], *, trim: int | None = 4_000) -> Survived:
    writer = _StandIn(turns={turn.id: turn for turn in corpus.turns})
    given: dict[str, Any] = {"summarizer": writer.write, "trim_tokens_to_summarize": trim}
    model = FakeListChatModel(responses=["unused"])
    of_itself = SummarizationMiddleware(model, trigger=("tokens", _mark()), **given)
    asked_for = SummarizationMiddleware(model, trigger=("messages", 1), **given)
    messages: list[AnyMessage] = []
    for number, turn in enumerate(corpus.turns, 1):
        said = HumanMessage(turn.text, id=turn.id, name=turn.speaker)
        messages = _added(messages, [said])
        messages = _before_model(of_itself, messages)
        due = number * (PLAN.compactions + 1) // (len(corpus.turns) + 1)
        if writer.calls < min(due, PLAN.compactions):
            messages = _before_model(asked_for, messages)
    shown = {message.id for message in messages} & writer.turns.keys()
    summaries = "\n".join(message.text for message in messages if message.id not in writer.turns)
    cited = {s for each in writer.known.values() if each.text in summaries for s in each.sources}
    return _asked(corpus, facts, cast("set[str]", shown) | cited, writer.calls)


def _before_model(
    middleware: SummarizationMiddleware[Any, Any], messages: list[AnyMessage]
) -> list[AnyMessage]:
    state: AgentState[Any] = {"messages": messages}
    changed = middleware.before_model(state, Runtime())
    return messages if changed is None else _added(messages, changed["messages"])


def _added(messages: list[AnyMessage], new: Sequence[AnyMessage]) -> list[AnyMessage]:
    return cast("list[AnyMessage]", add_messages(cast("Any", messages), cast("Any", list(new))))


@dataclass(slots=True, kw_only=True)
class _StandIn:
    """Writes the summary: the best statements of what it is shown, by our own rules."""

    turns: dict[str, Turn]
    known: dict[str, KeyClause] = field(default_factory=dict)
    calls: int = 0

    def write(self, messages: list[AnyMessage]) -> str:
        self.calls += 1
        said = [self.turns[m.id] for m in messages if m.id in self.turns]
        earlier = "\n".join(m.text for m in messages if m.id not in self.turns)
        kept = [each for each in self.known.values() if each.text in earlier]
        new = key_clauses([_heard(turn) for turn in said], _ALL)
        self.known |= {each.text: each for each in new}
        left, lines = PLAN.window * 4 // 10, []
        for each in sorted([*kept, *new], key=lambda one: -one.score / len(one.text) ** 0.75):
            line = f"- {each.entity}: {each.text}"
            if len(line) < left:
                left -= len(line) + 1
                lines.append(line)
        return "\n".join(lines)


def _heard(turn: Turn) -> Heard:
    message = Message.of("user", turn.text)
    assert turn.at is not None
    return Heard(entry=turn.id, at=turn.at, message=message, speaker=turn.speaker)


def _mark() -> int:
    return PLAN.window * 3 // 4


def _untrimmed(corpus: Corpus, facts: Sequence[Fact]) -> Survived:
    return langchain(corpus, facts, trim=None)


PEERS: Final[dict[str, Callable[[Corpus, Sequence[Fact]], Survived]]] = {
    "LangChain summaries": langchain,
    "… nothing trimmed": _untrimmed,
    "trimming": trimming,
    "FTS5 over the raw chat": raw_search,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Facts that outlive compactions.")
    parser.add_argument("--curve", action="store_true", help="at other shares of the text")
    if parser.parse_args().curve:
        curve()
        return
    for figure in measure():
        print(f"{figure['what']}: {figure['value']:.3f} (goal {figure['goal']})")


if __name__ == "__main__":
    main()
