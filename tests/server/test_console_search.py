"""The Search page: as one types, narrowed, explained, and one key from the source."""

from __future__ import annotations

import re

from playwright.sync_api import Route, expect

from tests.server.conftest import Enter, House


def test_answers_come_as_one_types_and_only_the_last_question_counts(
    house: House, enter: Enter
) -> None:
    visit = enter(house)
    held: list[Route] = []
    visit.page.route("**/api/v1/entities", lambda route: held.append(route))
    visit.go("#/search")
    busy = visit.page.locator('.search-results[aria-busy="true"]')
    expect(busy).to_have_count(1)  # while examples are awaited
    held[0].continue_()
    expect(visit.part("search-empty")).to_be_visible()
    expect(busy).to_have_count(0)
    visit.part("search-input").press_sequentially("maintenance window", delay=10)
    hit = visit.part("search-hit").first
    expect(hit).to_contain_text("maintenance")
    expect(hit.locator("mark").first).to_have_text(re.compile("maintenance|window", re.I))
    assert "q=maintenance" in visit.page.url, "a search has an address"
    visit.part("search-input").fill("小王")
    expect(visit.part("search-hit").first).to_contain_text("小王")
    visit.page.reload()
    expect(visit.part("search-hit").first).to_contain_text("小王")


def test_arrow_and_enter_lead_to_the_source(house: House, enter: Enter) -> None:
    visit = enter(house, "#/search?q=maintenance+window")
    visit.part("search-hit").first.wait_for()
    visit.part("search-input").focus()
    visit.page.keyboard.press("ArrowDown")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url(re.compile("#/(memory|sessions)/"))
    visit.settle()
    expect(visit.page.locator(".is-target").first).to_contain_text("maintenance")


def test_an_explanation_has_a_bar_for_every_stage(house: House, enter: Enter) -> None:
    visit = enter(house, "#/search?q=billing", language="zh")
    visit.part("search-hit").first.wait_for()
    visit.part("explain").first.click()
    expect(visit.part("search-how")).to_be_visible()
    expect(visit.part("stage-bar").first).to_be_visible()
    expect(visit.part("by-words")).to_be_visible()  # meaning is switched off in this home
    expect(visit.part("degraded")).to_have_count(0)  # and what somebody chose is no trouble
    found = house.engine.search("billing", explain=True)
    assert visit.part("search-hit").count() >= min(2, len(found.passages))


def test_filters_narrow_and_an_empty_result_says_why(house: House, enter: Enter) -> None:
    visit = enter(house, "#/search?q=lives&entity=Peter", phone=True)
    for hit in visit.part("search-hit").all():
        expect(hit).to_contain_text("Peter")
    visit.go("#/search?q=" + "qqxxyyzz")
    none = visit.part("search-none")
    expect(none).to_be_visible()
    assert len(none.inner_text()) > 20
