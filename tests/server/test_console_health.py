"""The Health page: index, models, costs, what was saved, events as they happen, the doctor."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Route, expect

from tests.server.conftest import Enter, House
from tests.server.furnishing import LONG


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


def test_an_event_of_another_version_is_told_and_breaks_nothing(house: House, enter: Enter) -> None:
    log = house.engine.home / "events.jsonl"
    at = house.engine.today().isoformat() + "T00:00:00+00:00"
    odd = [
        {"event": "searched", "at": at, "passages": 1, "degraded": "a word, no list"},
        {"event": "restore_done", "at": at, "tokens": 5, "sources": 7, "cut": {"a": 1}},
        {"event": "memory_written", "at": at, "added": "three", "path": ["x"]},
        {"event": "from_the_future", "at": at, "deep": {"er": [1]}},
    ]
    with log.open("a") as file:
        file.writelines(json.dumps(each) + "\n" for each in odd)
    visit = enter(house, "#/health")
    expect(visit.part("event-row").filter(has_text="a word, no list")).to_have_count(1)
    expect(visit.part("event-row").filter(has_text="from the future")).to_have_count(1)
    assert visit.part("event-row").count() > len(odd)


def test_an_answer_that_comes_late_does_not_replace_a_newer_one(house: House, enter: Enter) -> None:
    visit = enter(house)
    held: list[Route] = []
    visit.page.route("**/api/v1/doctor", lambda route: held.append(route))
    visit.go("#/health")
    again = visit.page.locator("#doctor").get_by_role("button").last
    again.click()
    expect(again).to_be_disabled()
    assert len(held) == 2
    told = {"name": "python", "result": "ok", "hint": None}
    held[1].fulfill(json={"checks": [{**told, "text": "the newer answer"}]})
    expect(visit.part("check-row")).to_contain_text("the newer answer")
    held[0].fulfill(json={"checks": [{**told, "text": "the older answer"}]})
    visit.page.wait_for_timeout(200)
    expect(visit.part("check-row")).to_contain_text("the newer answer")


def test_the_check_up_and_counts_of_one_speak_the_language_of_the_page(
    house: House, enter: Enter
) -> None:
    visit = enter(house, "#/health", language="zh")
    for text in visit.page.locator("#doctor .check-text p").all_inner_texts():
        assert not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", text.replace("holdfast", "")), text
    compactions = sum(
        each.type == "compaction" for each in house.engine.existing_session(LONG).entries()
    )
    assert compactions == 1
    visit.part("language").click()
    visit.settle()
    expect(visit.part("saved-card-total")).to_contain_text("1 compaction.")
    expect(visit.page.locator("#doctor a[href='#/memory?view=conflicts']")).to_have_count(1)
