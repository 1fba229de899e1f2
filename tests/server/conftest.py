"""What the tests of the console share: a served home, a browser, a window that is watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser

from holdfast.engine.facade import Engine
from holdfast.server.places import OWN, Place, Places
from holdfast.server.running import Server
from tests.server.browser import Visit, chromium, hook, visiting
from tests.server.furnishing import furnish, open_home
from tests.server.speaking import Speaker

Enter = Callable[..., Visit]


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A home, its engine, and the server that shows it."""

    engine: Engine
    speaker: Speaker
    server: Server

    @property
    def url(self) -> str:
        return self.server.url

    def link(self) -> str:
        """A way in that works once."""
        return self.server.new_link()


@contextmanager
def serving(engine: Engine, speaker: Speaker, *others: Place) -> Iterator[House]:
    places = Places([Place(name=OWN, engine=engine), *others])
    server = Server(places, home=engine.home)
    server.start()
    try:
        yield House(engine=engine, speaker=speaker, server=server)
    finally:
        speaker.let_speak.set()
        speaker.let_save.set()
        server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home that has been lived in."""
    speaker = Speaker()
    engine = furnish(tmp_path_factory.mktemp("house") / "home", speaker).engine
    with serving(engine, speaker) as served:
        yield served


@pytest.fixture(scope="module")
def empty_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home in which nothing was ever said."""
    speaker = Speaker()
    engine = open_home(tmp_path_factory.mktemp("empty") / "home", speaker)
    with serving(engine, speaker) as served:
        yield served


@pytest.fixture
def enter(browser: Browser) -> Iterator[Enter]:
    """``enter(house, "#/memory", theme="dark")``: a window of its own, signed in, at that page.

    Whatever went wrong in it fails the test when it ends.
    """
    with ExitStack() as open_windows:

        def entered(house: House, route: str = "", *, sign_in: bool = True, **how: Any) -> Visit:
            window: AbstractContextManager[Visit] = visiting(browser, house.url, **how)
            visit = open_windows.enter_context(window)
            if sign_in:
                visit.page.goto(house.link())
                visit.page.locator(hook("nav-chat")).wait_for()
            if route:
                visit.go(route)
                visit.settle()
            return visit

        yield entered
