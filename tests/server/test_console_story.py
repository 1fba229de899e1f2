"""The whole story in a browser: from the link to a memory, where it came from, and its undoing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.server.browser import Visit
from tests.server.conftest import Enter, House, serving
from tests.server.furnishing import DECISION, open_home
from tests.server.speaking import CHATTY, Speaker

SEEN = ['[data-test="message"][data-role="assistant"]', '[data-test="fold"]']


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    speaker = Speaker()
    engine = open_home(tmp_path_factory.mktemp("story") / "home", speaker)
    with serving(engine, speaker) as served:
        yield served


def say(visit: Visit, text: str) -> None:
    """As a person does: type, Enter, wait for the end of the answer. Where a fold takes rows away
    there may be fewer answers than before."""
    before = [visit.page.locator(each).count() for each in SEEN]
    visit.part("composer").fill(text)
    visit.part("composer").press("Enter")
    expect(visit.part("composer")).to_have_value("")
    visit.page.wait_for_function(
        """([seen, before]) => seen.some(
            (each, at) => document.querySelectorAll(each).length !== before[at])""",
        arg=[SEEN, before],
    )
    expect(visit.part("stop")).to_be_hidden()


def test_what_was_said_is_saved_folded_recalled_traced_and_undone(
    fresh: House, enter: Enter
) -> None:
    speaker = fresh.speaker
    visit = enter(fresh, "#/chat")
    if not visit.part("composer").is_visible():
        visit.part("new-session").first.click()
    say(visit, DECISION)
    (first,) = fresh.engine.sessions()

    # The window fills until what was said is saved; the page says so while it happens.
    speaker.let_save.clear()
    for number in range(16):
        say(visit, f"{CHATTY} step {number}.")
        if speaker.saving.wait(0.2):
            break
    else:
        pytest.fail("nothing was ever saved")
    expect(visit.part("saving")).to_be_visible()
    speaker.let_save.set()
    expect(visit.part("saving")).to_be_hidden()
    card = visit.part("saved-card").last
    expect(card).to_be_visible()
    expect(card).to_contain_text("PostgreSQL 16")

    # It fills further until the oldest messages are folded; folded is not lost.
    for number in range(16, 32):
        if visit.part("fold").count():
            break
        say(visit, f"{CHATTY} step {number}.")
    fold = visit.part("fold").first
    expect(fold).to_be_visible()
    expect(fold).to_contain_text(re.compile(r"\d+ earlier messages"))
    if fold.get_attribute("open") is None:
        fold.locator("summary").first.click()
    fold.locator('[data-test="fold-originals"]').click()
    expect(fold.locator('[data-test="message"]').first).to_be_visible()
    expect(fold).to_contain_text(DECISION)

    # In a new session the memory comes back with its source.
    visit.go("#/chat")
    visit.settle()
    visit.part("new-session").first.click()
    begin = visit.page.locator("dialog[open] button[type=submit], dialog[open] .button-primary")
    if begin.count():
        begin.first.click()
    visit.settle()
    say(visit, "When did we decide to move the billing service to PostgreSQL?")
    recalled = visit.part("recall-card").last
    expect(recalled).to_be_visible()
    recalled.locator("summary").click()
    expect(recalled).to_contain_text("PostgreSQL 16")
    recalled.locator('[data-test="recall-source"]').first.click()
    visit.settle()
    assert re.search(r"#/(memory|sessions)/", visit.page.url), "its source is one click away"

    # The memory page shows the line, who said it, and the message it comes from.
    visit.part("nav-memory").click()
    visit.settle()
    today = fresh.engine.today().isoformat()
    visit.page.locator(f'[data-test="file-link"][data-path="memory/{today}.md"]').click()
    visit.settle()
    text = visit.page.locator("main")
    expect(text).to_contain_text("PostgreSQL 16")
    visit.part("provenance").first.click()
    source = visit.part("source-link").first
    expect(source).to_be_visible()
    address = source.get_attribute("href") or ""
    assert address.startswith(f"#/sessions/{first.name}")
    source.click()
    visit.settle()
    expect(visit.page.locator(".is-target")).to_contain_text("PostgreSQL 16")

    # Undoing takes it back, and the history shows both.
    visit.go(f"#/memory/memory%2F{today}.md")
    visit.settle()
    before = (fresh.engine.home / "agents/main/memory" / f"{today}.md").read_text("utf-8")
    assert "PostgreSQL 16" in before
    visit.go("#/memory?view=changes")
    visit.settle()
    count = visit.part("history-item").count()
    saved = visit.part("history-item").filter(has_text="PostgreSQL 16")
    saved.locator('[data-test="undo"]').last.click()
    visit.part("undo-yes").click()
    expect(visit.part("toast").last).to_be_visible()
    expect(visit.part("history-item")).to_have_count(count + 1)
    after = (fresh.engine.home / "agents/main/memory" / f"{today}.md").read_text("utf-8")
    assert "PostgreSQL 16" not in after
