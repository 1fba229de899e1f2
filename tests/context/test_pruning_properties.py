"""What holds for every conversation: nothing dearer, nothing split, nothing changed twice."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.keys import Prune
from holdfast.context.pruning import PrunePlan, Shown
from holdfast.formats import from_openai
from holdfast.testing.corpus import conversation
from holdfast.text import clusters
from holdfast.types import Image, Message, Part, Text, ToolCall, ToolResult, View
from tests.context.pruning_talks import Talk, price
from tests.scale import scaled

HOSTILE = (
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "e\u0301",
    "각",
    "क्षि",
    "\r\n",
    "中文，",
    "word ",
    '"quote" ',
    "\ud83d",
    "\n",
    "[… 5 of 7 characters are not shown; the whole text: expand x]",
    "expand entry00003",
)
TEXTS = st.builds(
    lambda seed, size: "".join(random.Random(seed).choices(HOSTILE, k=size)),
    st.integers(0, 10**6),
    st.sampled_from([0, 1, 40, 400, 3_000]),
)
JSONS = st.builds(
    lambda text, count: json.dumps([{"text": text, "n": n} for n in range(count)]),
    TEXTS.map(lambda text: text[:600]),
    st.integers(0, 15),
)
PICTURE = Image(media_type="image/png", data="iVBORw0KGgo=" * 5)
WINDOWS = st.sampled_from([2_000, 8_000, 32_000, 128_000])


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    """Users, answers, parallel calls, results of every kind; any of them may be huge."""
    talk = Talk()
    if draw(st.booleans()):
        talk.says("system", draw(TEXTS))
    talk.says("user", draw(TEXTS) or "Begin.")
    for number in range(draw(st.integers(1, 8))):
        match draw(st.sampled_from(["user", "assistant", "tool", "tool", "parallel", "picture"])):
            case "tool":
                arguments = {"query": draw(st.sampled_from("ab")), "text": draw(TEXTS)}
                talk.uses("search", arguments, draw(TEXTS | JSONS))
            case "parallel":
                add_parallel(talk, number, [draw(TEXTS | JSONS), draw(TEXTS)])
            case "picture":
                talk.uses("screenshot", {}, (Text(text=draw(TEXTS)), PICTURE))
            case role:
                talk.says(role, draw(TEXTS) or "…")
    return talk


def add_parallel(talk: Talk, number: int, texts: list[str]) -> None:
    calls = tuple(
        ToolCall(id=f"p{number}_{n}", name="read_file", arguments={"path": str(n), "x": text})
        for n, text in enumerate(texts)
    )
    talk.add(Message(role="assistant", parts=(Text(text="Both."), *calls), form="parts"))
    results = tuple(
        ToolResult(call_id=f"p{number}_{n}", content=(Text(text=text),))
        for n, text in enumerate(texts)
    )
    talk.add(Message(role="user", parts=results, form="parts"))


def check(talk: Talk, plan: PrunePlan) -> None:
    """Apply the plan and look at what changed."""
    before = talk.view
    changes = {(each.entry, each.part): each for each in plan.shown}
    assert len(changes) == len(plan.shown)
    assert plan.tokens_before == talk.tokens
    if plan.shown:
        talk.prune(plan)
    assert talk.tokens == plan.tokens_after
    assert sum(e.tokens_before - e.tokens_after for e in plan.shown) == plan.saved
    assert len(talk.view) == len(before)
    for old, new in zip(before.items, talk.view.items, strict=True):
        assert (old.stands_for, old.message.role) == (new.stands_for, new.message.role)
        pairs = zip(old.message.parts, new.message.parts, strict=True)
        for number, (part, shown) in enumerate(pairs):
            change = changes.get((old.stands_for[0], number))
            if change is None:
                assert part == shown
            else:
                assert change.tokens_after < change.tokens_before
                check_part(part, shown, change, first=not old.shortened)


def check_part(part: Part, shown: Part, change: Shown, *, first: bool) -> None:
    assert f"expand {change.entry}" in change.text
    match part:
        case ToolResult():
            assert isinstance(shown, ToolResult)
            assert (shown.call_id, shown.text) == (part.call_id, change.text)
            check_cut(part.text, change.text, change.entry, first=first)
        case ToolCall(arguments=dict() as arguments):
            assert isinstance(shown, ToolCall)
            assert isinstance(shown.arguments, dict)
            keys = [key for key in arguments if key != "[shortened]"]
            assert list(shown.arguments)[:-1] in (keys, []), "all the keys, or only the note"
        case Text():
            check_cut(part.text, change.text, change.entry, first=first)


def check_cut(text: str, shown: str, entry: str, *, first: bool) -> None:
    """Head and tail begin and end where characters do; JSON is still JSON."""
    if shown.startswith(('["[shortened]', '{"[shortened]')):
        assert json.loads(shown)
        return
    marker = f"the whole text: expand {entry}]\n"
    head, found, tail = shown.partition(marker)
    if not found:
        assert "\n" not in shown.partition("\n[image cleared: ")[0] or shown.startswith(text)
        return
    ends = {0, *accumulate(len(cluster) for cluster in clusters(text))}
    head = head.rpartition("\n[… ")[0]
    tail = tail.partition("\n[image cleared: ")[0]
    if first:  # what was shortened before is taken apart at its note
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) in ends
        assert len(text) - len(tail) in ends


def untouchable_before(view: View, plan: PrunePlan) -> None:
    """No system text, not the first and not the newest words of the user."""
    changed = {(each.entry, each.part) for each in plan.shown}
    users = [
        item
        for item in view.items
        if item.message.role == "user"
        and any(isinstance(part, Text) and part.text.strip() for part in item.message.parts)
    ]
    fixed = [item for item in view.items if item.message.role == "system"]
    for item in (*fixed, *users[:1], *users[-1:]):
        for number, part in enumerate(item.message.parts):
            if not isinstance(part, ToolResult):
                assert (item.stands_for[0], number) not in changed


@settings(max_examples=scaled(60))
@given(
    talk=talks(), window=WINDOWS, keep=st.integers(0, 3), force=st.sampled_from(["no", "needed"])
)
def test_pruning_by_age_is_exact_and_sticky(talk: Talk, window: int, keep: int, force: str) -> None:
    asked: dict[str, Any] = {
        "window": window,
        "settings": Prune(keep_last_assistants=keep),
        "force": force,
        "prune_at": 0,
        "target": 0,
    }
    plan = talk.plan(**asked)
    assert plan == talk.plan(**asked)
    untouchable_before(talk.view, plan)
    check(talk, plan)
    again = talk.plan(**asked)
    assert again.shown == ()
    assert again.reason
    # What is shown stays as it is, whatever arrives.
    texts = {each.entry: talk.shown(each.entry) for each in plan.shown}
    for number in range(3):
        talk.uses("search", {"query": f"later {number}"}, "found\n" * 400)
    talk.goes_on()
    later = talk.plan(**asked)
    assert not {(e.entry, e.part) for e in later.shown} & {(e.entry, e.part) for e in plan.shown}
    check(talk, later)
    if not {each.entry for each in later.shown} & texts.keys():
        assert {entry: talk.shown(entry) for entry in texts} == texts


@settings(max_examples=scaled(60))
@given(talk=talks(), window=WINDOWS, share=st.floats(0, 1))
def test_the_last_resort_reaches_the_limit_or_leaves_nothing_to_take(
    talk: Talk, window: int, share: float
) -> None:
    limit = int(talk.tokens * share)
    asked: dict[str, Any] = {"window": window, "force": "largest", "limit": limit}
    plan = talk.plan(**asked)
    assert plan == talk.plan(**asked)
    untouchable_before(talk.view, plan)
    check(talk, plan)
    if talk.tokens > limit:
        assert talk.plan(**asked).shown == ()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_made_up_conversations_are_pruned_to_the_target(language: str) -> None:
    pruned = 0
    for seed in range(scaled(6)):
        talk = Talk(conversation(seed, 40, language=language))
        for window in (4_000, 16_000, 64_000):
            plan = talk.plan(window=window)
            pruned += bool(plan.shown)
            untouchable_before(talk.view, plan)
            check(talk, plan)
            fitting = {"window": window, "force": "largest", "limit": window // 2}
            check(talk, talk.plan(**fitting))
            assert talk.tokens <= window // 2 or talk.plan(**fitting).shown == ()
    assert pruned


def test_a_session_is_pruned_rarely_and_in_batches() -> None:
    """A long tool loop with a warm cache: a few rewrites, not one per request."""
    talk = Talk()
    talk.says("user", "Find the bug.")
    chance = random.Random(7)
    prunes, requests = 0, 120
    for number in range(requests):
        talk.uses(
            "bash", {"command": f"grep {number}"}, "some line of output\n" * chance.randint(5, 60)
        )
        plan = talk.plan(window=16_000, cache_is_cold=False)
        if plan.shown:
            prunes += 1
            check(talk, plan)
    assert 2 <= prunes <= requests // 12
    assert talk.tokens < 16_000


def recorded(data_dir: Path, name: str, count: int) -> Iterator[list[Message]]:
    with gzip.open(data_dir / "transcripts" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in islice(file, count):
            yield from_openai(json.loads(line)["messages"])


@pytest.mark.data
@pytest.mark.parametrize(("name", "count"), [("mini-swe", 3), ("joined", 1), ("tau-airline", 5)])
def test_recorded_conversations_are_pruned_exactly(data_dir: Path, name: str, count: int) -> None:
    for messages in recorded(data_dir, name, scaled(count)):
        whole = sum(map(price, messages))
        for share in (4, 2):
            talk = Talk(messages)
            window = max(2_000, whole // share)
            for asked in ({}, {"force": "needed"}, {"force": "largest", "limit": window // 2}):
                plan = talk.plan(window=window, **asked)
                untouchable_before(talk.view, plan)
                check(talk, plan)
            assert (
                talk.tokens <= window // 2
                or talk.plan(window=window, force="largest", limit=window // 2).shown == ()
            )
