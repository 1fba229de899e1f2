"""The tour in the console: played by the real engine, step by step, whoever listens."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.speech import Language
from holdfast.cli.tour.playing import _pieces, tour_place
from holdfast.cli.tour.script import WINDOW, Script, script
from holdfast.cli.tour.words import words_in
from holdfast.engine.turn.running import Step
from holdfast.errors import HoldfastError, NotFound
from holdfast.formats import parse_message
from holdfast.server.failing import Busy
from holdfast.server.places import Place, Player
from holdfast.types import Entry, Message

LANGUAGES: tuple[Language, ...] = ("en", "zh")


@dataclass
class Turn:
    """One message of the tour: what was announced, what was heard, what the transcript got."""

    session: str
    said: str
    steps: list[Step]
    entries: list[Entry]

    @property
    def text(self) -> str:
        return "".join(each.text for each in self.steps if each.kind == "text")


@dataclass
class Played:
    place: Place
    script: Script
    before: list[Entry]
    """Of the conversation, when somebody comes."""
    turns: list[Turn] = field(default_factory=list)

    @property
    def player(self) -> Player:
        assert self.place.player is not None
        return self.place.player

    def entries(self, session: str) -> list[Entry]:
        return self.place.session(session).entries()


async def heard(steps: AsyncIterator[Step]) -> list[Step]:
    return [step async for step in steps]


async def told(place: Place) -> None:
    """Wait until it was told what is told beforehand: whoever asks waits for it."""
    assert place.player is not None
    await heard(place.player.answer(place.engine.session("aside").name, "?"))


def played(language: Language) -> Played:
    place = tour_place(language, pace=0)
    asyncio.run(told(place))
    tour = Played(place, script(language), place.session(script(language).session).entries())
    while (said := tour.player.upcoming()) is not None:
        name = tour.player.session()
        seen = len(tour.entries(name))
        steps = asyncio.run(heard(tour.player.play()))
        tour.turns.append(Turn(name, said, steps, tour.entries(name)[seen:]))
    return tour


@pytest.fixture(scope="module", params=LANGUAGES)
def tour(request: pytest.FixtureRequest) -> Iterator[Played]:
    found = played(request.param)
    yield found
    found.place.engine.close()


def messages(entries: list[Entry]) -> list[Message]:
    found = [Message.from_json(each.data) for each in entries if each.type == "message"]
    return [Message(role=each.role, parts=each.parts) for each in found]


def scripted(held: Script) -> list[Message]:
    found = [parse_message(each) for each in held.messages]
    return [Message(role=each.role, parts=each.parts) for each in found]


# ── what there is to see ────────────────────────────────────────────────────────────────────


def test_every_page_has_something_and_the_window_fills_with_the_first_message(
    tour: Played,
) -> None:
    kinds = [each.type for each in tour.before]
    assert {"message", "flush", "prune"} <= set(kinds)
    assert "compaction" not in kinds
    first = tour.turns[0]
    flushed = [each for each in first.entries if each.type == "flush"]
    assert flushed[-1].data["saved"] > 0
    (compacted,) = [each for each in first.entries if each.type == "compaction"]
    assert compacted.data["tokens_after"] < compacted.data["tokens_before"]
    assert any(each.type == "recall" for turn in tour.turns for each in turn.entries)
    session = tour.place.session(tour.script.session)
    assert session.explain_context().budget.window == WINDOW, "the handle is the tour's own"


def test_what_is_heard_is_what_the_script_says_and_what_is_kept(tour: Played) -> None:
    kept = messages(tour.entries(tour.script.session))
    assert kept == scripted(tour.script)
    exchanges = list(tour.script.exchanges())[tour.script.told :]
    for turn, exchange in zip(tour.turns, exchanges, strict=False):
        assert turn.said == exchange.said
        answers = [answer for _, answer in exchange.calls]
        assert turn.text == "".join(each["content"] or "" for each in answers)
        calls = [each.tool for each in turn.steps if each.kind == "tool_call"]
        results = [each for each in turn.steps if each.kind == "tool_result"]
        assert calls == [each.tool for each in results]
        assert set(calls) == set(exchange.tools)
        assert all(each.result for each in results)
        assert [each.kind for each in turn.steps].index("end") == len(turn.steps) - 1
        assert turn.steps[-1].message is not None
        assert turn.steps[-1].message.text == answers[-1]["content"]


def test_behind_the_end_a_new_session_begins_with_memory_and_answers_with_sources(
    tour: Played,
) -> None:
    told, asked = tour.script, tour.turns[-len(tour.script.questions) :]
    first = tour.place.engine.existing_session(told.session)
    assert first.entries()[-1].data.get("kind") == "closed"
    follower = tour.entries(told.next_session)
    (restored,) = [each for each in follower if each.data.get("kind") == "restored"]
    assert restored.data["tokens"] > 0
    assert restored.seq < next(each.seq for each in follower if each.type == "message")
    for turn, question in zip(asked, told.questions, strict=True):
        assert (turn.session, turn.said) == (told.next_session, question.ask)
        assert question.found_if in turn.text
        assert turn.text.startswith(words_in(tour_language(tour)).answerless)
        citations = re.findall(r"^> `([^`]+)`", turn.text, re.MULTILINE)
        assert citations
        for each in citations:
            assert tour.place.engine.get(each).citation == each
    assert [each.role for each in messages(follower)] == ["user", "assistant"] * len(asked)


def tour_language(tour: Played) -> Language:
    return next(each for each in LANGUAGES if script(each).who == tour.script.who)


def test_the_tour_counts_down_and_says_when_it_is_over(tour: Played) -> None:
    said = list(tour.script.exchanges())
    assert len(tour.turns) == len(said) - tour.script.told + len(tour.script.questions)
    assert tour.player.left() == 0
    assert tour.player.upcoming() is None
    with pytest.raises(NotFound, match="over"):
        asyncio.run(heard(tour.player.play()))


# ── typed questions ─────────────────────────────────────────────────────────────────────────


def test_a_typed_question_is_answered_from_memory_or_it_says_that_nothing_is_there(
    tour: Played,
) -> None:
    words = words_in(tour_language(tour))
    question = tour.script.questions[0]

    def answered(session: str, text: str) -> str:
        steps = asyncio.run(heard(tour.player.answer(session, text)))
        said = "".join(each.text for each in steps)
        assert messages(tour.entries(session))[-2:] == [
            Message.of("user", text),
            Message.of("assistant", said),
        ]
        return said

    tour.place.keep(tour.place.engine.session("another"))
    for _ in range(2):  # the second time it is in the view, and the answers of before are about it
        said = answered("another", question.ask)
        assert question.found_if in said
        assert said.count(words.answerless) == 1, "an answer is no source of the next"
    nothing = answered("another", "What does quantum chromodynamics say?")
    assert nothing == words.finds_nothing.format(answerless=words.answerless)
    with pytest.raises(NotFound):
        asyncio.run(heard(tour.player.answer("nobody", "?")))


# ── whoever listens ─────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def fresh() -> Iterator[Place]:
    place = tour_place("en", pace=0)
    yield place
    place.engine.close()


def test_an_exchange_is_kept_whole_whoever_leaves_and_nobody_speaks_twice_at_once(
    fresh: Place,
) -> None:
    player = cast("Player", fresh.player)
    held = script("en")

    async def leave_after(steps: int) -> None:
        async with aclosing(cast("Any", player.play())) as turn:
            for _ in range(steps):
                await anext(turn)
            with pytest.raises(Busy):
                await heard(player.play())
            with pytest.raises(Busy):
                await heard(player.answer(player.session(), "?"))

    async def be_stopped() -> None:
        is_heard = asyncio.Event()

        async def listen() -> None:
            async with aclosing(cast("Any", player.play())) as turn:
                await anext(turn)
                is_heard.set()
                await asyncio.sleep(3600)

        turn = asyncio.ensure_future(listen())
        await is_heard.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    async def all_of_it() -> None:
        await leave_after(1)  # at the call of the tool: its result is not there yet
        await leave_after(3)
        await be_stopped()
        while player.session() == held.session:
            await leave_after(1)

    asyncio.run(all_of_it())
    kept = [each for each in fresh.session(held.session).entries() if each.type == "message"]
    assert messages(kept) == scripted(held)


def test_the_home_is_gone_when_the_engine_is_closed_also_while_it_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HOLDFAST_MEMORY_MODE", "off")
    place = tour_place("zh", pace=0)
    (home,) = tmp_path.iterdir()
    assert home == place.engine.home
    assert home.stat().st_mode & 0o077 == 0
    assert place.session(script("zh").session).memory_mode == "read-write"
    place.engine.close()
    assert not list(tmp_path.iterdir())


def test_what_could_not_be_told_is_said_to_whoever_plays_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> Iterator[object]:
        raise OSError("the disk is full")

    monkeypatch.setattr("holdfast.cli.tour.playing.asked", broken)
    place = tour_place("en", pace=0)
    try:
        with pytest.raises(HoldfastError, match="the disk is full"):
            asyncio.run(heard(cast("Player", place.player).play()))
    finally:
        place.engine.close()


@given(st.text())
def test_the_pieces_of_an_answer_are_the_answer(text: str) -> None:
    pieces = list(_pieces(text * 3))
    assert "".join(pieces) == text * 3
    assert all(pieces)
    assert len(pieces) <= 150
