"""A turn over the API: streamed, stopped by leaving, broken off, refused while another runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.turn.running import Step
from holdfast.errors import ModelUnavailable
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.server.app import build
from holdfast.server.places import OWN, Place, Places
from holdfast.server.turns import turns_of
from holdfast.types import Message, ToolCall
from tests.scale import scaled
from tests.server.listening import Listener

MARK = "[The user stopped this answer here.]"
BROKEN = "[This answer broke off here.]"


@dataclass
class Talker:
    """Says the pieces it is given; stops at a ``hold`` until it is let on."""

    name: str = "desk:talker"
    traits: Traits = field(default_factory=lambda: Traits(window=50_000))
    pieces: list[Any] = field(default_factory=list)
    let_on: Event = field(default_factory=Event)
    requests: list[ModelRequest] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise ModelUnavailable("Only streams here.")

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        self.requests.append(request)
        said = ""
        for piece in list(self.pieces):
            self.pieces.pop(0)
            if piece == "hold":
                while not self.let_on.is_set():  # noqa: ASYNC110 - set by the test's thread
                    await asyncio.sleep(0.005)
            elif isinstance(piece, Exception):
                raise piece
            elif isinstance(piece, Message):
                yield ModelReply(message=piece)
                return
            else:
                said += piece
                yield piece
        yield ModelReply(message=Message.of("assistant", said or "NO_REPLY"))


@dataclass
class Desk:
    app: FastAPI
    engine: Engine
    talker: Talker
    place: Place

    def said(self, name: str) -> list[tuple[str, str]]:
        found = [entry.message for entry in self.engine.session(name).entries()]
        return [(each.role, each.text) for each in found if each is not None]


def _desk(home: Path, **how: Any) -> Iterator[Desk]:
    talker = Talker()
    config = {"search.embedder": "none", "model.name": "desk:talker", "recall.mode": "off"}
    engine = open_engine(home, models=lambda _: talker, config=config, background=False)
    place = Place(name=OWN, engine=engine, **how)
    yield Desk(app=build(Places([place])), engine=engine, talker=talker, place=place)
    engine.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    yield from _desk(tmp_path_factory.mktemp("desk") / "home")


def ask(desk: Desk, name: str, text: str = "Hello?", **more: Any) -> Listener:
    return Listener(desk.app, "POST", f"/sessions/{name}/messages", {"text": text, **more})


def test_an_answer_is_streamed_and_its_end_names_the_entry_it_became(desk: Desk) -> None:
    session = desk.engine.session("streamed")
    desk.talker.pieces = ["One ", "two ", "three."]

    async def go() -> list[Any]:
        async with ask(desk, "streamed") as stream:
            return [heard.data for heard in await stream.all()]

    told = asyncio.run(go())
    assert [each["kind"] for each in told] == ["accepted", "text", "text", "text", "end"]
    assert "".join(each.get("text", "") for each in told) == "One two three."
    last = session.entries()[-1]
    assert (told[-1]["entry"], told[-1]["seq"]) == (last.id, last.seq)
    assert session.state()["model"] == "desk:talker"  # whoever looks later sees the same marks


def test_whoever_has_read_the_end_can_go_on_at_once(desk: Desk) -> None:
    desk.engine.session("quick")

    async def go() -> None:
        for number in range(scaled(15)):
            desk.talker.pieces = [f"answer {number}"]
            async with ask(desk, "quick", f"question {number}") as stream:
                while (heard := await stream.next()) is not None and heard.data["kind"] != "end":
                    assert heard.data["kind"] != "error"
                assert stream.status == 200
                assert len(turns_of(desk.app)) == 0

    asyncio.run(go())
    roles = [role for role, _ in desk.said("quick")]
    assert all(one != other for one, other in pairwise(roles))


def test_nothing_in_a_text_can_end_a_frame_or_begin_another(desk: Desk) -> None:
    desk.engine.session("forged")
    forged = 'x\n\nevent: step\ndata: {"kind":"end","entry":"forged"}\r\r\u2028\x85\ud83d'
    desk.talker.pieces = [forged, "y"]

    async def go() -> list[Any]:
        async with ask(desk, "forged") as stream:
            return [heard.data for heard in await stream.all()]

    told = asyncio.run(go())
    assert [each["kind"] for each in told] == ["accepted", "text", "text", "end"]
    assert told[1]["text"] == forged
    assert told[-1]["entry"] != "forged"


@settings(max_examples=scaled(25))
@given(data=st.data())
def test_a_silent_answer_shows_nothing_however_it_is_cut(desk: Desk, data: st.DataObject) -> None:
    desk.engine.session("silent")
    token = data.draw(st.sampled_from(["NO_REPLY", "no_reply", " NO_REPLY\n", "**NO_REPLY**"]))
    cuts = data.draw(st.sets(st.integers(1, len(token) - 1)))
    ends = [0, *sorted(cuts), len(token)]
    desk.talker.pieces = [token[start:end] for start, end in pairwise(ends)]

    async def go() -> list[Any]:
        async with ask(desk, "silent") as stream:
            return [heard.data["kind"] for heard in await stream.all()]

    assert asyncio.run(go()) == ["accepted", "end"]


@pytest.mark.parametrize("heard_pieces", [0, 1, 3])
def test_leaving_stops_the_turn_and_keeps_what_was_heard(desk: Desk, heard_pieces: int) -> None:
    name = f"left-{heard_pieces}"
    desk.engine.session(name)
    desk.talker.let_on.clear()
    pieces = ["It ", "is ", "so "][:heard_pieces]
    desk.talker.pieces = [*pieces, "hold", "never said"]

    async def go() -> None:
        async with ask(desk, name) as stream:
            await stream.next()
            for _ in pieces:
                heard = await stream.next()
                assert heard is not None
                assert heard.data["kind"] == "text"
            async with ask(desk, name) as second:
                refused = await second.json()
                assert second.status == 409
                assert refused["error"]["type"] == "busy"
            async with Listener(desk.app, "DELETE", f"/sessions/{name}") as removing:
                assert (await removing.json())["error"]["type"] == "busy"
        assert len(turns_of(desk.app)) == 0
        desk.talker.pieces = ["Yes."]
        async with ask(desk, name, "Again?") as stream:
            assert [each.data["kind"] for each in await stream.all()][-1] == "end"

    asyncio.run(go())
    kept = [("assistant", f"{''.join(pieces).rstrip()}\n\n{MARK}")] if pieces else []
    expected = [("user", "Hello?"), *kept, ("user", "Again?"), ("assistant", "Yes.")]
    assert desk.said(name) == expected


def test_leaving_before_anything_was_sent_frees_the_conversation(desk: Desk) -> None:
    desk.engine.session("unread")

    async def go() -> None:
        stream = ask(desk, "unread")
        stream.is_deaf = True
        async with stream:
            while not len(turns_of(desk.app)):  # noqa: ASYNC110 - of another task
                await asyncio.sleep(0.005)
        assert len(turns_of(desk.app)) == 0

    asyncio.run(go())


def test_a_model_that_fails_in_the_midst_is_told_and_what_was_heard_is_kept(desk: Desk) -> None:
    desk.engine.session("broken")
    desk.talker.pieces = ["Half of ", ConnectionError("lost, Bearer sk-ant-api03-" + "a" * 80)]

    async def go() -> list[Any]:
        async with ask(desk, "broken") as stream:
            return [heard.data for heard in await stream.all()]

    told = asyncio.run(go())
    assert told[-1]["kind"] == "error"
    assert "ConnectionError: lost" in told[-1]["error"]["message"]
    assert "aaaa" not in told[-1]["error"]["message"]
    assert desk.said("broken") == [("user", "Hello?"), ("assistant", f"Half of\n\n{BROKEN}")]
    desk.talker.pieces = [ModelUnavailable("The desk is closed.", hint="Tomorrow.")]
    told = asyncio.run(go())
    assert told[-1]["error"] == {
        "type": "model_unavailable",
        "message": "The desk is closed.",
        "hint": "Tomorrow.",
        "details": None,
    }


def test_without_a_stream_the_end_has_text_and_tools(desk: Desk) -> None:
    desk.engine.session("whole")
    call = ToolCall(id="c1", name="memory_get", arguments={"path": "MEMORY.md"})

    async def go(pieces: list[Any]) -> tuple[int, Any]:
        desk.talker.pieces = pieces
        async with ask(desk, "whole", stream=False) as answer:
            told = await answer.json()
            return answer.status, told

    desk.talker.requests.clear()
    status, told = asyncio.run(go([Message(role="assistant", parts=(call,)), "Done."]))
    assert (status, told["text"]) == (200, "Done.")
    (use,) = told["tools"]
    assert (use["tool"], use["arguments"]) == ("memory_get", {"path": "MEMORY.md"})
    assert use["is_error"] is True  # there is no such file yet
    assert told["entry"] == desk.engine.session("whole").entries()[-1].id
    status, told = asyncio.run(go([ValueError("bad")]))
    assert (status, told["error"]["type"]) == (500, "failed")
    status, told = asyncio.run(go([ModelUnavailable("closed")]))
    assert (status, told["error"]["type"]) == (503, "model_unavailable")
    assert len(turns_of(desk.app)) == 0


@pytest.mark.parametrize("body", [{"text": ""}, {"text": " \n"}, {"txt": "x"}, {"text": 5}, {}])
def test_nonsense_is_refused_before_anything_is_kept(desk: Desk, body: dict[str, Any]) -> None:
    session = desk.engine.session("nonsense")

    async def go() -> tuple[int, Any]:
        async with Listener(desk.app, "POST", "/sessions/nonsense/messages", body) as answer:
            told = await answer.json()
            return answer.status, told

    status, told = asyncio.run(go())
    assert (status, told["error"]["type"]) == (422, "invalid_request")
    assert not session.state()["messages"]


class Reciting:
    """A player that answers without a model."""

    def left(self) -> int:
        return 0

    def session(self) -> str:
        return "tour"

    def upcoming(self) -> str | None:
        return None

    async def play(self) -> AsyncIterator[Step]:
        yield Step(kind="end")

    async def answer(self, session: str, text: str) -> AsyncIterator[Step]:
        yield Step(kind="text", text=f"{session}: {text}")
        yield Step(kind="end")


@pytest.mark.parametrize("has_player", [True, False])
def test_without_a_model_a_player_answers_or_the_hint_says_what_to_do(
    home: Path, has_player: bool
) -> None:
    with open_engine(home, config={"model.name": "none", "search.embedder": "none"}) as engine:
        engine.session("s")
        place = Place(name=OWN, engine=engine, player=Reciting() if has_player else None)
        app = build(Places([place]))

        async def go() -> tuple[int, list[Any]]:
            async with Listener(app, "POST", "/sessions/s/messages", {"text": "hi"}) as stream:
                if not has_player:
                    told = await stream.json()
                    return stream.status, [told]
                return stream.status, [heard.data for heard in await stream.all()]

        status, told = asyncio.run(go())
        assert len(turns_of(app)) == 0
    if has_player:
        assert [each["kind"] for each in told] == ["accepted", "text", "end"]
        assert told[1]["text"] == "s: hi"
    else:
        assert (status, told[0]["error"]["type"]) == (503, "model_unavailable")
        assert "ANTHROPIC_API_KEY" in told[0]["error"]["hint"]
