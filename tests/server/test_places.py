"""The engines that are served, and who gets which."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import holdfast
from holdfast.cli.tour.telling import rooms_at
from holdfast.engine.facade import Engine
from holdfast.engine.turn.leaving import described
from holdfast.errors import ModelUnavailable, NotFound
from holdfast.server.places import OWN, TOUR, Place, Places


@pytest.fixture
def place(home: Path) -> Iterator[Place]:
    with holdfast.open(home, background=False) as engine:
        yield Place(name=OWN, engine=engine)


def test_a_place_that_is_not_served_is_named_with_those_that_are(place: Place) -> None:
    places = Places([place])
    assert places.get(OWN) is place
    with pytest.raises(NotFound) as error:
        places.get(TOUR)
    assert error.value.hint == "Places: own"


def test_a_conversation_has_one_handle_however_many_ask(place: Place) -> None:
    place.engine.session("talk")
    with ThreadPoolExecutor(8) as pool:
        handles = list(pool.map(lambda _: place.session("talk"), range(32)))
    assert len({id(handle) for handle in handles}) == 1
    assert place.open_sessions() == [handles[0]]


def test_asking_for_a_conversation_makes_none(place: Place) -> None:
    with pytest.raises(NotFound):
        place.session("never")
    assert place.engine.sessions() == []


def test_one_that_was_let_go_is_opened_anew(place: Place) -> None:
    kept = place.keep(place.engine.session("talk"))
    assert place.session("talk") is kept
    place.let_go("talk")
    assert place.open_sessions() == []
    assert place.session("talk") is not kept


def test_no_model_of_the_person_answers_on_the_tour(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key in the environment costs money; what is typed on the tour costs none."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-nobodys")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobodys")
    with Engine(rooms_at(home)) as engine:
        place = Place(name=TOUR, engine=engine)
        assert place.choice().model is None
        session = engine.session("talk")
        for wanted in (None, "anthropic:claude-sonnet-4-5", "openai:gpt-5"):
            with pytest.raises(ModelUnavailable):
                described(session, wanted)
