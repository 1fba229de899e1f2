"""A real Chromium that looks at the console, and notices whatever a page must not do.

A page under test may not write an error to its console, throw, open a dialog or a window, break
its own policy, run what a text wanted run, or ask any address but the server's. Whatever of that
happens fails the test that looked, also where the test did not look for it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    expect,
    sync_playwright,
)

from tests.server.payloads import CANARY

__all__ = ["PHONE", "Visit", "axe_source", "chromium", "find_chromium", "hook", "visiting"]

_PATIENCE: Final = 30_000
"""Milliseconds before what does not come counts as missing: a busy machine is no failure."""
expect.set_options(timeout=_PATIENCE)
PHONE: Final = {"width": 390, "height": 844}
_DESK: Final = {"width": 1280, "height": 800}
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever a page asks of another host fails at once, and was still asked: it is a trouble.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_WATCH: Final = """
addEventListener('securitypolicyviolation', event =>
    console.error('policy broken: ' + event.effectiveDirective + ' ' + event.blockedURI
                  + ' ' + (event.sample || '')));
Object.defineProperty(window, 'CANARY', {
    get: () => undefined, set: () => console.error('a text was executed')});
for (const name of ['alert', 'confirm', 'prompt', 'open', 'print'])
    window[name] = () => { console.error('a text called ' + name); return null; };
""".replace("CANARY", CANARY)
_REFUSED: Final = re.compile(r"Failed to load resource: the server responded with a status of")


def find_chromium() -> str:
    """Where it is. Without one a test fails with what to do: it must not pass unseen."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is not None:
        return found
    if os.environ.get("HOLDFAST_NO_BROWSER") == "1":
        pytest.skip("no Chromium on this machine, and HOLDFAST_NO_BROWSER=1")
    pytest.fail(
        "The console is tested in a real Chromium, and none is installed. `make test` installs it; "
        "by hand: apt-get install chromium fonts-noto-cjk. Without: HOLDFAST_NO_BROWSER=1 make test"
    )


@contextmanager
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def hook(name: str) -> str:
    """The selector of a part of the page that tests know by name."""
    return f'[data-test="{name}"]'


@dataclass(slots=True)
class Visit:
    """One browser window, and what went wrong in it."""

    page: Page
    context: BrowserContext
    url: str
    troubles: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """Every address that was asked."""
    forgiven: list[re.Pattern[str]] = field(default_factory=list)

    def forgive(self, pattern: str) -> None:
        """This trouble is what the test is about."""
        self.forgiven.append(re.compile(pattern))

    def part(self, name: str) -> Locator:
        return self.page.locator(hook(name))

    def go(self, route: str) -> None:
        """To a page of the console, as a link there would; what was shown is gone then."""
        self.page.evaluate(
            """route => {
                const shown = document.querySelector('main').firstElementChild;
                const before = location.hash;
                location.hash = route;
                if (shown && location.hash !== before) shown.setAttribute('data-left', '');
            }""",
            route,
        )
        self.page.wait_for_function("() => !document.querySelector('main > [data-left]')")

    def settle(self) -> None:
        """Until nothing on the page says that it is still loading, for a few frames in a row."""
        self.page.wait_for_function(
            """frames => {
                const main = document.querySelector('main');
                const isBusy = main.querySelector('[aria-busy=true]') || !main.textContent.trim();
                window.__quiet = isBusy ? 0 : (window.__quiet || 0) + 1;
                if (window.__quiet < frames) return false;
                window.__quiet = 0;
                return true;
            }""",
            arg=4,
        )

    def is_live(self) -> None:
        """Until events come in as they happen."""
        self.page.locator(f'{hook("live")}[data-state="live"]').wait_for()

    def text(self) -> str:
        return self.page.locator("body").inner_text()

    def unforgiven(self) -> list[str]:
        return [
            each for each in self.troubles if not any(one.search(each) for one in self.forgiven)
        ]


@contextmanager
def visiting(
    browser: Browser,
    url: str,
    *,
    theme: str = "light",
    language: str = "en",
    phone: bool = False,
    bypass_csp: bool = False,
    **more: Any,
) -> Iterator[Visit]:
    """A window of its own on that server; leaving it fails if anything went wrong in it."""
    context = browser.new_context(
        viewport=PHONE if phone else _DESK,  # type: ignore[arg-type]
        color_scheme="dark" if theme == "dark" else "light",
        locale="zh-CN" if language == "zh" else "en-GB",
        has_touch=phone,
        reduced_motion="reduce",
        service_workers="block",
        bypass_csp=bypass_csp,
        timezone_id="UTC",
        **more,
    )
    context.set_default_timeout(_PATIENCE)
    context.add_init_script(_WATCH)
    page = context.new_page()
    visit = Visit(page=page, context=context, url=url)
    _listen(visit)
    try:
        yield visit
        troubles = visit.unforgiven()
    finally:
        context.close()
    assert not troubles, "the page did what it must not:\n" + "\n".join(troubles)


def _listen(visit: Visit) -> None:
    here = urlsplit(visit.url).netloc

    def said(message: Any) -> None:
        if message.type in {"error", "assert"} and not _REFUSED.search(message.text):
            visit.troubles.append(f"console: {message.text}")

    def requested(request: Any) -> None:
        visit.asked.append(request.url)
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob"} and address.netloc != here:
            visit.troubles.append(f"asked {request.url}")

    def answered(response: Any) -> None:
        if response.status >= 400:
            visit.troubles.append(
                f"{response.status} to {response.request.method} {urlsplit(response.url).path}"
            )

    def opened(dialog: Any) -> None:
        visit.troubles.append(f"dialog: {dialog.type} {dialog.message}")
        dialog.dismiss()

    def windowed(other: Page) -> None:
        if other is not page:
            visit.troubles.append(f"a window: {other.url}")

    page = visit.page
    page.on("console", said)
    page.on("pageerror", lambda error: visit.troubles.append(f"thrown: {error}"))
    page.on("dialog", opened)
    visit.context.on("request", requested)
    visit.context.on("response", answered)
    visit.context.on("page", windowed)


def axe_source() -> str:
    """The rules of accessibility, as the package brings them."""
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
