"""The console on a machine without a model: the tour is played to its end, and asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import expect

from holdfast.cli.speech import Language
from holdfast.cli.tour.playing import tour_place
from holdfast.engine.facade import open_engine
from tests.scale import scaled
from tests.server.conftest import Enter, House, serving
from tests.server.furnishing import CONFIG
from tests.server.speaking import Speaker


@pytest.fixture
def toured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    language: Language = request.param
    engine = open_engine(
        tmp_path_factory.mktemp("toured") / "home", config={**CONFIG, "model.name": "none"}
    )
    with serving(engine, Speaker(), tour_place(language, pace=0)) as served:
        yield served


# The Chinese tour on a phone belongs to the long run: it says the same, and takes as long.
_WAYS: Final = (("en", "en", False), ("zh", "zh", True))[: scaled(1)]


@pytest.mark.parametrize(("toured", "language", "phone"), _WAYS, indirect=["toured"])
def test_the_tour_shows_a_flush_a_fold_and_an_answer_from_memory(
    toured: House, enter: Enter, language: str, phone: bool
) -> None:
    visit = enter(toured, sign_in=False, language=language, phone=phone)
    visit.page.goto(toured.server.new_link(place="tour"))
    bar = visit.part("tour-bar")
    expect(bar).to_be_visible()
    assert "place" not in visit.page.url.partition("#/")[0]
    before = visit.part("tour-left").inner_text()
    visit.part("tour-next").click()
    expect(visit.part("stop")).to_be_hidden()
    expect(visit.part("tour-left")).not_to_have_text(before, timeout=120_000)
    expect(visit.part("fold").first).to_be_visible()
    expect(visit.part("saved-card").last).to_be_visible()
    first = visit.page.url
    visit.part("tour-all").click()
    expect(visit.part("tour-left")).to_have_text("", timeout=120_000)
    assert visit.page.url != first, "the conversation went on in a new session"
    expect(visit.part("restored").or_(visit.part("recall-card")).first).to_be_visible()
    heard = visit.part("message").count()
    visit.part("composer").fill("数据库迁移在什么时候？" if language == "zh" else "When do we fly?")
    visit.part("composer").press("Enter")
    expect(visit.part("message")).to_have_count(heard + 2)

    visit.part("place-own").click()
    expect(visit.part("ways").first).to_contain_text("holdfast model get")
    assert toured.engine.sessions() == [], "the tour touched nothing of one's own"
    visit.go("#/memory")
    visit.settle()
    assert not re.search("tour", visit.page.locator("main").inner_text())
