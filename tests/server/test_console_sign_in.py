"""The way into the console: a link that works once, a token, and what happens without either."""

from __future__ import annotations

from tests.server.browser import hook
from tests.server.conftest import Enter, House


def test_the_link_signs_in_once_and_leaves_no_code_behind(house: House, enter: Enter) -> None:
    link = house.link()
    visit = enter(house, sign_in=False)
    visit.page.goto(link)
    visit.part("nav-chat").wait_for()
    code = link.partition("#code=")[2]
    assert code not in visit.page.url
    assert "code" not in visit.page.url
    assert not any(code in asked for asked in visit.asked), "the code was sent in an address"
    kept = visit.page.evaluate("() => JSON.stringify({...sessionStorage, ...localStorage})")
    assert "hfb_" in kept
    assert code not in kept
    assert visit.page.evaluate("() => document.cookie") == ""

    again = enter(house, sign_in=False)
    again.forgive("401")
    again.page.goto(link)
    again.part("link-used").wait_for()
    assert not again.part("nav-chat").is_visible()
    assert "hfb_" not in again.page.evaluate("() => JSON.stringify({...sessionStorage})")


def test_without_a_link_the_token_in_the_file_signs_in_and_a_wrong_one_says_so(
    house: House, enter: Enter
) -> None:
    visit = enter(house, sign_in=False, phone=True)
    visit.forgive("401")
    visit.page.goto(house.url)
    form = visit.part("sign-in")
    form.wait_for()
    box = form.locator("input")
    box.fill("hfs_" + "x" * 43)
    box.press("Enter")
    form.locator(".failure").wait_for()
    box.fill(house.server.token)
    box.press("Enter")
    visit.part("nav-chat").wait_for()
    assert house.server.token not in visit.page.evaluate(
        "() => JSON.stringify({...sessionStorage, ...localStorage})"
    ), "the master token is exchanged, never kept"


def test_a_tab_of_its_own_must_sign_in_itself_and_a_reload_need_not(
    house: House, enter: Enter
) -> None:
    visit = enter(house, "#/health")
    visit.page.reload()
    visit.part("nav-health").wait_for()
    assert visit.page.locator(hook("sign-in")).count() == 0
    other = enter(house, sign_in=False)
    other.page.goto(house.url)
    other.part("sign-in").wait_for()


def test_a_rotated_token_ends_every_browser_at_once(empty_house: House, enter: Enter) -> None:
    visit = enter(empty_house)
    visit.forgive("401")
    empty_house.server._file.rotate()
    visit.go("#/sessions")
    visit.part("signed-out-why").wait_for()


def test_a_link_that_could_not_be_tried_is_not_called_used_and_works_when_tried_again(
    house: House, enter: Enter
) -> None:
    visit = enter(house, sign_in=False)
    visit.forgive("ERR_FAILED|console: ")
    visit.page.route("**/sign-in", lambda route: route.abort())
    visit.page.goto(house.link())
    failed = visit.part("failure")
    failed.wait_for()
    assert visit.part("link-used").count() == 0
    visit.page.unroute("**/sign-in")
    failed.locator("button").click()
    visit.part("nav-chat").wait_for()
