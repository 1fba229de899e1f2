"""Every page of the console as a picture: both themes, both languages, a desk and a phone.

    .venv/bin/python -m scripts.screenshots FOLDER [--only chat,memory] [--quick]

The home it shows is the one of the tests: furnished through the engine, in a folder of its own. A
page that breaks its promises while it is looked at (an error, a request elsewhere) is named, and
the command fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser
from tests.server.browser import chromium, hook, visiting
from tests.server.furnishing import LONG, SHORT, furnish

from holdfast.server.places import OWN, Place, Places
from holdfast.server.running import Server

_PAGES: Final = {
    "sign-in": "",
    "chat": f"#/chat/{LONG}",
    "chat-recall": f"#/chat/{SHORT}",
    "memory": "#/memory/MEMORY.md",
    "memory-day": "#/memory",
    "search": "#/search?q=billing",
    "search-empty": "#/search",
    "sessions": "#/sessions",
    "session": f"#/sessions/{LONG}",
    "health": "#/health",
    "nowhere": "#/nowhere",
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Every page of the console as a picture.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="pages, separated by commas")
    parser.add_argument("--quick", action="store_true", help="only light, English, 1280 wide")
    asked = parser.parse_args()
    only = {each for each in asked.only.split(",") if each} or set(_PAGES)
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="holdfast-") as home:
        engine = furnish(Path(home) / "home").engine
        with (
            Server(Places([Place(name=OWN, engine=engine)]), home=engine.home) as server,
            chromium() as browser,
        ):
            wrong = list(_taken(browser, server, asked.folder, only, quick=asked.quick))
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


def _taken(
    browser: Browser, server: Server, folder: Path, only: set[str], *, quick: bool
) -> Iterator[str]:
    """What was wrong, while the pictures are taken."""
    ways = [("light", "en", False)] if quick else product(("light", "dark"), ("en", "zh"), (0, 1))
    for theme, language, phone in ways:
        try:
            with visiting(
                browser, server.url, theme=theme, language=language, phone=bool(phone)
            ) as visit:
                for name, route in _PAGES.items():
                    if name not in only:
                        continue
                    if name == "sign-in":
                        visit.page.goto(server.url)
                        visit.part("sign-in").wait_for()
                    else:
                        if visit.page.locator(hook("nav-chat")).count() == 0:
                            visit.page.goto("about:blank")
                            visit.page.goto(server.new_link())
                            visit.part("nav-chat").wait_for()
                        visit.go(route)
                        visit.settle()
                        visit.page.wait_for_timeout(400)
                    width = "phone" if phone else "desk"
                    file = folder / f"{name}-{theme}-{language}-{width}.png"
                    visit.page.screenshot(path=file, full_page=bool(phone))
        except AssertionError as error:
            yield f"{theme}, {language}: {error}"


if __name__ == "__main__":
    raise SystemExit(main())
