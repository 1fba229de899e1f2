"""The Sessions page: the list, one session over time, its transcript, what it was told."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from holdfast.engine.chronicle import page_of
from tests.server.conftest import Enter, House
from tests.server.furnishing import DECISION, LONG, SHORT


def test_the_list_finds_sorts_renames_and_deletes(house: House, enter: Enter) -> None:
    house.engine.session("to-delete").append({"role": "user", "content": "hi"})
    house.engine.session("to-rename").append({"role": "user", "content": "hi"})
    visit = enter(house, "#/sessions")
    rows = visit.part("session-row")
    expect(rows.filter(has_text=LONG)).to_contain_text("Move the billing service")
    expect(rows.filter(has_text="closed-one")).to_contain_text("Closed")
    visit.page.locator("main input[type=search]").fill("搬家")
    expect(rows).to_have_count(1)
    visit.page.locator("main input[type=search]").fill("")

    row = rows.filter(has_text="to-rename")
    row.get_by_role("button", name=re.compile("Rename")).click()
    visit.page.locator("dialog input").first.fill("renamed")
    visit.part("confirm").click()
    expect(rows.filter(has_text="renamed")).to_have_count(1)

    row = rows.filter(has_text="to-delete")
    row.get_by_role("button", name=re.compile("Delete")).click()
    visit.page.keyboard.press("Escape")
    assert "to-delete" in {each.name for each in house.engine.sessions()}, "Escape means no"
    row.get_by_role("button", name=re.compile("Delete")).click()
    visit.part("confirm").click()
    expect(rows.filter(has_text="to-delete")).to_have_count(0)
    assert {"renamed", "to-delete"} & {each.name for each in house.engine.sessions()} == {"renamed"}


def test_the_timeline_tells_every_turn_flush_and_compaction_also_without_eyes(
    house: House, enter: Enter
) -> None:
    visit = enter(house, f"#/sessions/{LONG}")
    line = visit.part("timeline")
    kinds = [each.type for each in house.engine.existing_session(LONG).entries()]
    assert "compaction" in kinds
    expect(line).to_contain_text(re.compile(r"\d+ messages? .*summ", re.IGNORECASE))
    expect(line).to_contain_text(re.compile(r"[Ss]aved \d+"))
    slider = line.get_by_role("slider")
    slider.focus()
    last = slider.get_attribute("aria-valuetext")
    visit.page.keyboard.press("ArrowLeft")
    before = slider.get_attribute("aria-valuetext")
    assert before
    assert before != last, "the arrow keys go from turn to turn, each a sentence"
    visit.page.keyboard.press("Home")
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator(".is-target")).to_be_visible()
    line.locator("summary").first.click()
    assert line.locator("table tbody tr").count() >= kinds.count("compaction") + 5
    assert line.locator("svg [style]").count() == 0


def test_an_address_leads_to_one_message_and_the_fold_to_all(house: House, enter: Enter) -> None:
    session = house.engine.existing_session(LONG)
    entry = next(each for each in session.entries() if each.data.get("text") == DECISION)
    visit = enter(house, f"#/sessions/{LONG}?seq={entry.seq}")
    expect(visit.page.locator(".is-target")).to_contain_text(DECISION)
    visit.go(f"#/sessions/{LONG}?entry={entry.id}")
    visit.settle()
    expect(visit.page.locator(".is-target")).to_contain_text(DECISION)
    visit.go(f"#/sessions/{LONG}")
    visit.settle()
    fold = visit.part("fold").first
    fold.locator("summary").first.click()
    fold.locator('[data-test="fold-originals"]').click()
    expect(fold.locator('[data-test="message"]').first).to_be_visible()
    expect(fold).to_contain_text(DECISION)


def test_what_a_session_was_told_at_its_start_names_its_sources(house: House, enter: Enter) -> None:
    visit = enter(house, f"#/sessions/{SHORT}", language="zh")
    visit.part("tab-restore").click()
    packet = visit.part("restore-packet")
    expect(packet).to_contain_text("Peter lives in")
    expect(packet.get_by_role("link").first).to_be_visible()
    visit.part("tab-context").click()
    visit.settle()
    expect(visit.page.locator("#panel-context")).to_contain_text(re.compile(r"\d"))


def test_a_session_that_is_not_there_says_what_became_of_it(house: House, enter: Enter) -> None:
    house.engine.session("was-here")
    house.engine.delete_session("was-here")
    visit = enter(house)
    visit.forgive("404|410")
    visit.go("#/sessions/was-here")
    visit.settle()
    expect(visit.page.locator("main")).to_contain_text(re.compile("deleted", re.IGNORECASE))


def test_what_happens_while_one_looks_appears_by_itself(house: House, enter: Enter) -> None:
    """Also when another program did it: events are read from the log, not from this process."""
    visit = enter(house, "#/sessions")
    visit.is_live()
    session = house.engine.session("appears", model=house.speaker)
    for _ in session.run("hello"):
        pass
    expect(visit.part("session-row").filter(has_text="appears")).to_have_count(1)


def test_a_filter_reads_what_is_missing_once_and_focus_outlives_a_redraw(
    house: House, enter: Enter
) -> None:
    for number in range(60):
        house.engine.session(f"many-{number}").append({"role": "user", "content": "hi"})
    house.engine.session("oldest-of-all")
    visit = enter(house, "#/sessions")
    visit.is_live()
    rows = visit.part("session-row")
    expect(rows).to_have_count(50)
    visit.asked.clear()
    visit.page.locator("main input[type=search]").press_sequentially("billing-mo", delay=15)
    expect(rows).to_have_count(1)
    asked = [each for each in visit.asked if "/sessions?" in each]
    assert len(asked) <= 1, asked

    link = rows.first.get_by_role("link").first
    link.focus()
    for _ in house.engine.session("billing-mode", model=house.speaker).run("hello"):
        pass
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text=LONG).get_by_role("link").first).to_be_focused()


def test_what_a_compaction_takes_out_is_marked_also_far_up(house: House, enter: Enter) -> None:
    session = house.engine.session("watched", model=house.speaker)
    session.append_all(
        {"role": role, "content": f"{role} says {number}: " + "words " * 60}
        for number in range(45)
        for role in ("user", "assistant")
    )
    visit = enter(house, "#/sessions/watched")
    visit.is_live()
    rows = visit.page.locator(".entry[data-seq]")
    before = rows.count()
    visit.page.locator(".entries-more button").first.click()
    expect(visit.page.locator('.entry[data-seq="3"]')).to_have_count(1)
    assert rows.count() > before
    visit.page.locator('.entry[data-seq="80"] a').first.focus()
    session.compact()
    (done,) = [each for each in session.entries() if each.type == "compaction"]
    expect(visit.page.locator(f'.entry[data-seq="{done.seq}"]')).to_have_count(1)
    told = page_of(session, limit=200).items
    gone = [each.seq for each in told if each.kind == "message" and not each.in_view]
    assert len(gone) > 30
    for seq in (gone[0], gone[len(gone) // 2], gone[-1]):
        expect(visit.page.locator(f'.entry[data-seq="{seq}"] .is-out')).to_have_count(1)
    expect(visit.page.locator('.entry[data-seq="80"] a').first).to_be_focused()
    last = max(each.seq for each in session.entries())
    expect(visit.page.locator(".entries-range")).to_contain_text(f"–{last} of {last}")
