"""What is shown to anybody: the console's files, and nothing else."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast.server
from holdfast.server.pages import CSP, Pages
from tests.scale import scaled
from tests.server.test_entrance import OURS, House

CONSOLE = Path(holdfast.server.__file__).parent / "console"
PAGES = Pages.installed()


def test_every_file_of_the_console_is_served_as_it_is() -> None:
    pages = Pages.installed()
    found = {each.relative_to(CONSOLE).as_posix() for each in CONSOLE.rglob("*") if each.is_file()}
    assert "index.html" in found
    assert {path for path in pages if path.startswith("/console/")} == {
        f"/console/{name}" for name in found
    }
    for name in found:
        page = pages.get(f"/console/{name}")
        assert page is not None
        assert page.body == (CONSOLE / name).read_bytes()
        if name.endswith(".js"):
            assert page.kind == "text/javascript; charset=utf-8"
    shell = PAGES.get("/")
    assert shell is not None
    assert shell.kind == "text/html; charset=utf-8"


@settings(max_examples=scaled(30))
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(["..", ".", "", "%2e", "pages", "app.js", "\\", "\x00"])).map(
            "/".join
        ),
    )
)
def test_no_name_leads_anywhere_else(name: str) -> None:
    page = PAGES.get(f"/console/{name}")
    assert (page is not None) == ((f"/console/{name}") in set(PAGES))


def test_the_policy_lets_nothing_in_from_elsewhere_and_no_script_of_a_page() -> None:
    rules = dict(each.strip().split(" ", 1) for each in CSP.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == rules["style-src"] == "'self'"
    assert "unsafe" not in CSP
    assert "http" not in CSP


def test_the_shell_links_only_to_what_is_served() -> None:
    shell = PAGES.get("/")
    assert shell is not None
    text = shell.body.decode()
    links = [part.split('"')[0] for part in text.split('src="')[1:] + text.split('href="')[1:]]
    for link in links:
        assert link.startswith("#") or PAGES.get(link) is not None, link
    assert "<script>" not in text
    assert " style=" not in text
    assert not any(f" on{event}=" in text for event in ("click", "load", "error"))


@pytest.mark.parametrize("path", ["/", "/healthz", "/console/app.js"])
def test_a_browser_that_has_it_is_told_so_and_head_is_get_without_a_body(
    home: Path, path: str
) -> None:
    house = House(home)

    async def work() -> None:
        host = ("host", OURS)
        status, headers, body = await house.ask("GET", path, [host])
        assert (status, len(body)) == (200, int(headers["content-length"]))
        status, again, nothing = await house.ask("HEAD", path, [host])
        assert (status, again, nothing) == (200, headers, b"")
        for tag in (headers["etag"], f'"x", W/{headers["etag"]}'):
            status, short, nothing = await house.ask("GET", path, [host, ("if-none-match", tag)])
            assert (status, nothing, short["etag"]) == (304, b"", headers["etag"])
        assert (await house.ask("GET", path, [host, ("if-none-match", '"x"')]))[0] == 200
        assert not house.came

    anyio.run(work)
