"""The Health page: index, models, costs, what was saved, events as they happen, the doctor."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.server.conftest import Enter, House


def test_every_card_has_its_figures_and_they_are_the_engine_s(house: House, enter: Enter) -> None:
    visit = enter(house, "#/health")
    spent = sum(each.dollars for each in house.engine.costs("model").values())
    expect(visit.part("costs-card")).to_contain_text(re.compile(re.escape(f"${spent:.2f}"[:4])))
    expect(visit.part("models-card")).to_contain_text("desk:speaker")
    expect(visit.part("index-card")).to_contain_text(re.compile(r"\d+"))
    expect(visit.part("saved-card-total")).to_contain_text(re.compile(r"[\d,]{3,}"))
    for plot in visit.part("plot").all():
        expect(plot.get_by_role("img")).to_have_count(1)
        plot.locator("summary").first.click()
        assert plot.locator("table tbody tr").count() >= 1
    checks = visit.part("check-row")
    expect(checks.first).to_be_visible()
    assert checks.count() == len(house.engine.doctor())


def test_events_appear_as_they_happen_and_stand_still_when_paused(
    house: House, enter: Enter
) -> None:
    visit = enter(house, "#/health", language="zh")
    visit.is_live()
    rows = visit.part("event-row")
    expect(rows.first).to_be_visible()
    house.engine.remember("The gate opens at seven.")
    expect(
        visit.page.locator('[data-test="event-row"][data-kind="memory_written"]').first
    ).to_be_visible()
    visit.part("events-pause").click()
    before = rows.count()
    house.engine.remember("The gate closes at nine.")
    visit.page.wait_for_timeout(600)
    assert rows.count() == before
    visit.part("events-pause").click()
    expect(rows).not_to_have_count(before)


def test_the_index_is_brought_up_to_date_and_built_anew_by_a_button(
    house: House, enter: Enter
) -> None:
    visit = enter(house, "#/health", phone=True)
    buttons = visit.part("index-card").get_by_role("button")
    for number in (0, 1):
        buttons.nth(number).click()
        sure = visit.page.locator('dialog[open] [data-test="confirm"]')
        if sure.count():
            sure.click()
        expect(buttons.nth(number)).to_be_enabled()
    assert house.engine.search("billing").passages
