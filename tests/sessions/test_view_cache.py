"""What is kept between looks changes nothing but the time: the view, the prices and the request
are those computed from scratch, whatever happened in between, here or in another process."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final, get_args

import pytest

from holdfast.context.assembly import Desk, Request, WireFormat, assemble
from holdfast.context.blocks import PricedBlocks, blocks_of
from holdfast.context.tokens import Calibration, TokenEstimator
from holdfast.context.validity import (
    Capabilities,
    Judged,
    capabilities_of,
    render,
    repair,
    validate,
    validate_on,
)
from holdfast.sessions.records import Damage
from holdfast.sessions.shapes import references
from holdfast.sessions.store import Look, Store
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.sessions.view import GrowingView, compute_view
from holdfast.types import Image, Json, Message, Text, ToolCall, ToolResult, View, ViewItem
from tests.context.messy import clean_messages, items_of, messy_messages, png
from tests.scale import scaled
from tests.sessions.rooms import open_store, open_transcript, said

ESTIMATOR: Final = TokenEstimator()
MODELS: Final[tuple[tuple[WireFormat, str | None], ...]] = (
    ("openai", None),
    ("openai", "gpt-4o"),
    ("openai", "mistral-large-latest"),
    ("anthropic", None),
    ("anthropic", "claude-3-5-sonnet-latest"),
    ("anthropic", "claude-sonnet-4-5"),
)
TOOLS: Final = ({"name": "search", "input_schema": {"type": "object"}},)


def from_scratch(
    items: Sequence[ViewItem], format: WireFormat, caps: Capabilities, tools: Sequence[Json]
) -> tuple[Json, ...]:
    """What a request must be, by the functions that know nothing of a desk."""
    repaired = repair(items, format=format, caps=caps)
    if repaired.thinking_off:
        caps = replace(caps, thinking=False)
    rendered = render(repaired.items, format=format, caps=caps)
    wrong = validate(
        format, rendered.messages, system=rendered.system, tools=tools or None, caps=caps
    )
    sizes = [ESTIMATOR.message(item.message) for item in repaired.items]
    tokens = ESTIMATOR.tools(tools) + sum(sizes)
    return rendered.messages, rendered.system, tuple(wrong), repaired.changes, tokens


def told(request: Request) -> tuple[Json, ...]:
    return request.messages, request.system, request.violations, request.repairs, request.tokens


def spoil(value: Json) -> None:
    """What a careless host does to a request it was given."""
    for each in list(value.values()) if isinstance(value, dict) else list(value):
        if isinstance(each, dict | list):
            spoil(each)
    if isinstance(value, dict):
        value["cache_control"] = {"type": "ephemeral"}
        value["content"] = "spoilt"
    else:
        value.append("spoilt")


# ── a request that grows ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("format", "model"), MODELS)
def test_a_growing_request_is_the_one_from_scratch_at_every_length(
    format: WireFormat, model: str | None
) -> None:
    for seed in range(scaled(6)):
        chance = random.Random(f"{format} {model} {seed}")
        messages = (messy_messages if seed % 3 else clean_messages)(seed, 24)
        plain = capabilities_of(model, format)
        strict = replace(plain, strict_alternation=True, user_first=True, system_first=True)
        all_caps = (plain, replace(strict, thinking=True, max_images=3))
        caps = all_caps[seed % 2]
        items, desk = items_of(messages), Desk()
        length = 0
        while length < len(items):
            length += chance.choice((1, 1, 1, 2, 5))
            if chance.random() < 0.05:  # an edit of the view
                at = chance.randrange(len(items))
                items[at] = replace(items[at], message=Message.of("user", f"edited {length}"))
            if chance.random() < 0.1:  # another model
                caps = chance.choice(all_caps)
            tools = TOOLS if chance.random() < 0.9 else ()
            given = items[: max(0, length - chance.choice((0, 0, 0, 2)))]
            request = assemble(
                given, format=format, capabilities=caps, estimator=ESTIMATOR, tools=tools, desk=desk
            )
            assert told(request) == from_scratch(given, format, caps, tools), (seed, length)
            spoil(request.messages)


@pytest.mark.parametrize("format", get_args(WireFormat))
def test_a_fault_in_what_is_new_is_named_as_if_all_had_been_judged(format: WireFormat) -> None:
    """``repair`` leaves none, so the rules are asked directly, of wires that were spoilt."""
    found = 0
    for seed in range(scaled(40)):
        chance = random.Random(seed)
        caps = replace(
            capabilities_of(None, format),
            max_images=chance.choice((1, 100)),
            user_first=True,
            strict_alternation=format == "anthropic",
        )
        items = repair(items_of(clean_messages(seed, 16)), format=format, caps=caps).items
        rendered = render(items, format=format, caps=caps)
        wires = rendered.messages
        starts = [
            at
            for at in range(1, len(wires))
            if wires[at]["role"] == "assistant" != wires[at - 1]["role"]
        ]
        if not starts:
            continue
        start = chance.choice(starts)
        clean = validate(format, wires, system=rendered.system, caps=caps)
        if any(each.index is not None and each.index < start for each in clean):
            continue
        for fault in _FAULTS:
            spoilt = [*wires[:start], *fault(wires[:start], wires[start:], chance)]
            if spoilt[start : start + 1] and spoilt[start].get("role") == "assistant":
                judged = Judged(messages=spoilt, system=rendered.system, caps=caps)
                whole = validate(format, spoilt, system=rendered.system, caps=caps)
                assert validate_on(format, replace(judged, at_most=10**6), start) == whole
                found += bool(whole)
    assert found > 20


_Wires = list[dict[str, Json]]


def _without_one(before: _Wires, wires: _Wires, chance: random.Random) -> _Wires:
    at = chance.randrange(len(wires))
    return [*wires[:at], *wires[at + 1 :]]


def _twice(before: _Wires, wires: _Wires, chance: random.Random) -> _Wires:
    at = chance.randrange(len(wires))
    return [*wires[: at + 1], *wires[at:]]


def _said_before(before: _Wires, wires: _Wires, chance: random.Random) -> _Wires:
    """The same calls, images and marks once more."""
    at = next((at for at, each in enumerate(before) if each["role"] == "assistant"), 0)
    return [*wires, *before[at:]]


def _blank(before: _Wires, wires: _Wires, chance: random.Random) -> _Wires:
    at = chance.randrange(len(wires))
    return [{**wire, "content": " "} if i == at else wire for i, wire in enumerate(wires)]


def _odd_role(before: _Wires, wires: _Wires, chance: random.Random) -> _Wires:
    at = chance.randrange(len(wires))
    return [{**wire, "role": "critic"} if i == at else wire for i, wire in enumerate(wires)]


_FAULTS: Final[tuple[Callable[[_Wires, _Wires, random.Random], _Wires], ...]] = (
    _without_one,
    _twice,
    _said_before,
    _blank,
    _odd_role,
)


def test_only_what_is_new_is_repaired_rendered_and_weighed() -> None:
    items = items_of(clean_messages(3, 400))
    for format in get_args(WireFormat):
        desk = Desk()
        caps = capabilities_of(None, format)
        per_turn = []
        for length in range(300, 360, 2):
            before = (desk.taken, desk.rendered, desk.weighed)
            assemble(
                items[:length], format=format, capabilities=caps, estimator=ESTIMATOR, desk=desk
            )
            after = (desk.taken, desk.rendered, desk.weighed)
            per_turn.append([new - old for new, old in zip(after, before, strict=True)])
        assert min(per_turn[0]) >= 300
        assert max(max(turn) for turn in per_turn[1:]) <= 12


def test_another_model_with_other_rules_gets_a_request_by_its_own() -> None:
    texts = (("user", "one"), ("user", "two"), ("assistant", "three"), ("user", "four"))
    items, desk = items_of([Message.of(role, text) for role, text in texts]), Desk()
    plain = capabilities_of("gpt-4o", "openai")
    for caps in (plain, replace(plain, strict_alternation=True), plain):
        request = assemble(
            items, format="openai", capabilities=caps, estimator=ESTIMATOR, desk=desk
        )
        assert told(request) == from_scratch(items, "openai", caps, ())
        assert len(request.messages) == (3 if caps.strict_alternation else 4)


def test_prices_follow_the_calibration_without_weighing_again() -> None:
    view = _a_view(200)
    priced = PricedBlocks()
    for factor in (1.0, 1.25, 1.0, 2.0):
        estimator = ESTIMATOR.calibrated(Calibration(factor=factor))
        assert priced.of(view, estimator) == blocks_of(view, estimator.message, estimator.image)
    assert priced.weighed == len(view.items)
    other = TokenEstimator("cl100k")
    assert priced.of(view, other) == blocks_of(view, other.message, other.image)


def _a_view(length: int) -> View:
    return View(items=tuple(items_of(messy_messages(5, length))))


# ── a session, with everything that can happen to it ────────────────────────────────────────


class _Life:
    """One session that two processes write to, and one of them looks at."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.store = open_store(folder, cap_chars=400)
        self.transcript = open_transcript(self.store)
        self.messages = iter(messy_messages(seed, 400))
        self.format, model = self.chance.choice(MODELS)
        self.caps = capabilities_of(model, self.format)
        self.names = count()

    def step(self) -> None:
        deeds = [self.say] * 12 + [self.other_says] * 2
        deeds += [self.prune, self.prune, self.compact, self.reset, self.fork, self.erase]
        deeds += [self.lose_a_payload, self.close, self.say_much]
        self.chance.choice(deeds)()

    def say(self) -> None:
        self.store.append(self.transcript, [next(self.messages)])

    def say_much(self) -> None:
        call = ToolCall(id=f"big{next(self.names)}", name="read", arguments={})
        text = Text(text=f"{call.id} " * 300)
        image = Image(media_type="image/png", data=png(*self.chance.choices((4, 60), k=2)))
        self.store.append(
            self.transcript,
            [
                Message(role="assistant", parts=(call,)),
                Message(role="tool", parts=(ToolResult(call_id=call.id, content=(text,)),)),
                Message(role="user", parts=(text, image), form="parts"),
            ],
        )

    def other_says(self) -> None:
        store = open_store(self.folder, cap_chars=400)
        store.append(store.open(self.transcript.name), [next(self.messages) for _ in range(2)])

    def prune(self) -> None:
        entries = [entry for entry in self.transcript.entries() if entry.type == "message"]
        if entries:
            shown = [
                {"entry": entry.id, "part": 0, "text": f"short {next(self.names)}"}
                for entry in self.chance.sample(entries, min(2, len(entries)))
            ]
            self.transcript.append([Draft(type="prune", data={"shown": shown})])

    def compact(self) -> None:
        entries = [entry for entry in self.transcript.entries() if entry.type == "message"]
        if len(entries) > 6:
            cut = self.chance.randrange(3, len(entries))
            early = [entry.id for entry in entries[:cut]]
            data = {
                "summary": [{"text": f"so far {next(self.names)}", "sources": early[:2]}],
                "first_kept": entries[cut].id,
                "pins": self.chance.sample(early, 1),
                "kept": sorted(self.chance.sample(early, 2)),
            }
            self.transcript.append([Draft(type="compaction", data=data)])

    def reset(self) -> None:
        if self.chance.random() < 0.3:
            self.transcript.append([Draft(type="marker", data={"kind": "reset"})])

    def fork(self) -> None:
        entries = self.transcript.entries()
        name = f"fork{next(self.names)}"
        self.store.fork(self.transcript, self.chance.choice(entries).id, name)
        self.transcript = self.store.open(name)

    def erase(self) -> None:
        """Another process puts another file in the place of this one."""

        def blackened(found: list[Json]) -> list[bytes]:
            lines = [each.line for each in found if not isinstance(each, Damage)]
            return [line + b"\n" for line in lines[:1] + lines[2:]]

        open_store(self.folder, cap_chars=400).open(self.transcript.name).rewrite(blackened)

    def lose_a_payload(self) -> None:
        names = [
            each["sha256"]
            for entry in self.transcript.entries()
            for each in references(entry.data)
            if not each["short"]
        ]
        if names:
            file = self.folder / "artifacts" / self.chance.choice(names)
            if file.exists() and self.chance.random() < 0.5:
                file.unlink()
            else:
                file.write_bytes(b"something else")

    def close(self) -> None:
        self.transcript.close()

    def check(self) -> None:
        look = self.store.look(self.transcript)
        scratch = open_store(self.folder, cap_chars=400)
        window = scratch.open(self.transcript.name).window()
        view = compute_view(
            [scratch._shown(entry) for entry in window.tail],
            compaction=window.compaction,
            earlier=[scratch._shown(entry) for entry in window.earlier],
        )
        assert look.view == view
        blocks = look.kept.get(PricedBlocks).of(look.view, ESTIMATOR)
        assert blocks == blocks_of(view, ESTIMATOR.message, ESTIMATOR.image)
        request = assemble(
            look.view.items,
            format=self.format,
            capabilities=self.caps,
            estimator=ESTIMATOR,
            desk=look.kept.get(Desk),
        )
        assert told(request) == from_scratch(view.items, self.format, self.caps, ())
        spoil(request.messages)


def test_after_anything_a_session_looks_as_if_it_were_read_for_the_first_time(
    fast_path: Path,
) -> None:
    for seed in range(scaled(4)):
        life = _Life(fast_path / str(seed), seed)
        for _ in range(50):
            life.step()
            if life.chance.random() < 0.7:
                life.check()
        life.check()


# ── how much is done, and how long it is kept ───────────────────────────────────────────────


def looked(store: Store, transcript: Transcript) -> tuple[Look, int]:
    """A look, and how many entries had to be parsed for it."""
    before = transcript.window().kept.get(GrowingView).parsed
    look = store.look(transcript)
    return look, look.kept.get(GrowingView).parsed - before


def test_an_entry_is_parsed_once_and_shown_as_the_same_object(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    transcript.append([said(f"m{n}") for n in range(200)])
    first, parsed = looked(store, transcript)
    assert parsed == 200
    entry = transcript.append([said("one more")])[0]
    second, parsed = looked(store, transcript)
    assert parsed == 1
    assert all(a is b for a, b in zip(first.view.items, second.view.items, strict=False))
    shown = [{"entry": entry.id, "part": 0, "text": "shorter"}]
    transcript.append([Draft(type="prune", data={"shown": shown})])
    third, parsed = looked(store, transcript)
    assert parsed == 1
    assert all(a is b for a, b in zip(second.view.items[:-1], third.view.items, strict=False))
    assert third.view[-1].text == "shorter"
    assert store.look(transcript).view is third.view


@pytest.mark.parametrize("by_another", [True, False])
def test_nothing_that_is_kept_survives_an_erasure(tmp_path: Path, by_another: bool) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    transcript.append([said("the secret is 4711"), said("and something else")])
    before = store.look(transcript)
    before.kept.get(Desk)
    changing = open_store(tmp_path).open("s1") if by_another else transcript
    changing.rewrite(
        lambda found: [
            each.line + b"\n"
            for each in found
            if not isinstance(each, Damage) and b"4711" not in each.line
        ]
    )
    after = store.look(transcript)
    assert [message.text for message in after.view] == ["and something else"]
    assert after.kept is not before.kept
    assert after.kept.get(Desk) is not before.kept.get(Desk)


def test_nothing_is_kept_of_a_session_that_was_closed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    transcript.append([said("hello")])
    before = store.look(transcript).kept
    transcript.close()
    assert transcript._window is None
    assert store.look(transcript).kept is not before


def test_payloads_beyond_the_limit_are_shown_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GrowingView, "MOST_CHARACTERS", 3_000)
    store = open_store(tmp_path, cap_chars=400)
    transcript = open_transcript(store)
    for n in range(4):
        store.append(transcript, [Message.of("user", f"{n} " * 500)])
    expected = [f"{n} " * 500 for n in range(4)]
    assert [message.text for message in store.look(transcript).view] == expected
    again, parsed = looked(store, transcript)
    assert [message.text for message in again.view] == expected
    assert parsed == 1
    kept = again.kept.get(GrowingView)._made.values()
    assert sum(len(item.message.text) for made in kept for item in made.items) <= 3_000
