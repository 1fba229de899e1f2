"""The console for everybody: rules of accessibility, keys, a phone, two languages, bad days.

Every page is looked at in both themes, in both languages and at both widths; what holds for all of
them is said once.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from playwright.sync_api import expect

from tests.server.browser import Visit, axe_source, hook
from tests.server.conftest import Enter, House
from tests.server.furnishing import LONG, SHORT

ROUTES: Final = {
    "chat": f"#/chat/{LONG}",
    "chat with a recalled passage": f"#/chat/{SHORT}",
    "memory": "#/memory",
    "a memory file": "#/memory/MEMORY.md",
    "conflicts": "#/memory?view=conflicts",
    "changes": "#/memory?view=changes",
    "search": "#/search?q=billing",
    "sessions": "#/sessions",
    "a session": f"#/sessions/{LONG}",
    "health": "#/health",
    "no page": "#/nowhere",
}
PAGES: Final = ("chat", "memory", "search", "sessions", "health")
_GRAVE: Final = {"serious", "critical"}
# A key of the console's words that no language knows is shown as itself.
_UNTRANSLATED: Final = re.compile(
    r"\b(?:app|nav|chat|memory|search|sessions|health|plot|plots|gauge|line|diff|trust|item|fold"
    r"|saved|marker|recall|restored|prune|tour|keys|action|error)\.[a-z_]+(?:\.[a-z_]+)*\b"
)
_MEANT: Final = re.compile(r"\.(?:md|json|jsonl|toml|name|embedder)$")
"""Names of files and of settings, which look like keys."""


def axe(visit: Visit, *rules: str) -> list[str]:
    """What breaks one of these rules, or any."""
    how: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        how["runOnly"] = {"type": "rule", "values": list(rules)}
    found: dict[str, Any] = visit.page.evaluate("how => axe.run(document, how)", how)
    return [
        f"{each['id']} ({each['impact']}): {node['html'][:160]} {node['failureSummary'][:300]}"
        for each in found["violations"]
        if each["impact"] in _GRAVE
        for node in each["nodes"]
    ]


def test_no_page_breaks_a_serious_rule_of_accessibility(house: House, enter: Enter) -> None:
    """The rules are put into the page past its policy, which would refuse them as it should. In
    the other theme only the colours are others."""
    broken: dict[str, list[str]] = {}
    for theme, language, rules in (("light", "en", ()), ("dark", "zh", ("color-contrast",))):
        visit = enter(house, theme=theme, language=language, bypass_csp=True)
        visit.page.evaluate(axe_source())
        for name, route in ROUTES.items():
            visit.go(route)
            visit.settle()
            broken[f"{name}, {theme}"] = axe(visit, *rules)
        visit.page.keyboard.press("?")
        visit.page.locator("dialog[open]").wait_for()
        broken[f"a dialog, {theme}"] = axe(visit, *rules)
    assert not any(broken.values()), json.dumps(
        {name: each for name, each in broken.items() if each}, indent=1, ensure_ascii=False
    )


def test_on_a_phone_nothing_runs_out_of_the_page_and_everything_can_be_hit(
    house: House, enter: Enter
) -> None:
    visit = enter(house, phone=True, language="zh")
    problems: list[str] = []
    for name, route in ROUTES.items():
        visit.go(route)
        visit.settle()
        wide = visit.page.evaluate(
            """() => { const main = document.querySelector('main');
            return [document.documentElement.scrollWidth - innerWidth,
                    main.scrollWidth - main.clientWidth] }"""
        )
        if max(wide) > 0:
            problems.append(f"{name}: {wide} px too wide")
        problems += [f"{name}: {each}" for each in visit.page.evaluate(_SMALL)]
    assert not problems, "\n".join(problems)


_SMALL: Final = """() => [...document.querySelectorAll(
    'button, a.button, nav#rail a, select, input:not([type=checkbox]):not([type=radio]), summary')]
  .filter(node => node.checkVisibility() && !node.closest('.sr') && !node.closest('svg'))
  .map(node => [node, node.getBoundingClientRect()])
  .filter(([node, box]) => box.width && box.height < 40 && !node.closest('.prose'))
  .map(([node, box]) => Math.round(box.height) + ' px high: ' + node.outerHTML.slice(0, 120))"""


def test_every_page_speaks_both_languages(house: House, enter: Enter) -> None:
    for language, words in (("en", "Memory"), ("zh", "记忆")):
        visit = enter(house, language=language)
        expect(visit.part("nav-memory")).to_contain_text(words)
        assert visit.page.evaluate("() => document.documentElement.lang")[:2] == language
        for name, route in ROUTES.items():
            visit.go(route)
            visit.settle()
            left = [each for each in _UNTRANSLATED.findall(visit.text()) if not _MEANT.search(each)]
            assert not left, f"{name} in {language} has words that are not there: {left}"


def test_language_and_theme_are_switched_in_place_and_kept(house: House, enter: Enter) -> None:
    visit = enter(house, "#/memory")
    root = visit.page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    visit.part("theme").click()
    expect(root).to_have_attribute("data-theme", "dark")
    visit.part("language").click()
    expect(visit.part("nav-memory")).to_contain_text("记忆")
    visit.page.reload()
    expect(visit.part("nav-memory")).to_contain_text("记忆")
    expect(root).to_have_attribute("data-theme", "dark")


def test_the_keyboard_is_enough(house: House, enter: Enter) -> None:
    visit = enter(house, "#/health")
    keys = visit.page.keyboard
    for key, page in zip("mseh", ("memory", "search", "sessions", "health"), strict=True):
        visit.page.evaluate("() => document.activeElement.blur()")
        keys.press("g")
        keys.press(key)
        expect(visit.part(f"nav-{page}")).to_have_attribute("aria-current", "page")
        visit.settle()
    inside = "() => document.querySelector('main').contains(document.activeElement)"
    visit.page.wait_for_function(inside)
    keys.press("?")
    expect(visit.page.locator("dialog[open]")).to_be_visible()
    keys.press("Escape")
    expect(visit.page.locator("dialog[open]")).to_have_count(0)
    keys.press("/")
    expect(visit.part("search-input")).to_be_focused()
    keys.type("billing")
    visit.part("search-hit").first.wait_for()
    visit.page.reload()
    visit.part("nav-chat").wait_for()
    visit.settle()
    visit.page.evaluate("() => document.activeElement.blur()")
    keys.press("Tab")
    skip = visit.page.locator("#skip")
    expect(skip).to_be_focused()
    assert skip.evaluate("node => getComputedStyle(node).outlineStyle") != "none"
    keys.press("Enter")
    expect(visit.page.locator("main")).to_be_focused()


def test_a_home_in_which_nothing_was_said_says_what_will_be_there(
    empty_house: House, enter: Enter
) -> None:
    visit = enter(empty_house, phone=True)
    for page in PAGES:
        visit.go(f"#/{page}")
        visit.settle()
        visit.page.wait_for_function(
            "() => document.querySelector('main').innerText.length > 80"  # not left alone
        )
        shown = visit.page.locator("main").inner_text()
        assert "undefined" not in shown
        assert "NaN" not in shown
        assert "null" not in shown
    assert empty_house.engine.sessions() == [], "looking makes nothing"


def test_a_server_that_fails_is_told_with_what_to_do_and_tried_again(
    house: House, enter: Enter
) -> None:
    visit = enter(house)
    visit.forgive("507")
    told = {"type": "storage", "message": "The disk is full.", "hint": "df -h", "details": None}
    is_broken = True

    def answer(route: Any) -> None:
        if is_broken and "/events/stream" not in route.request.url:
            route.fulfill(status=507, json={"error": told})
        else:
            route.continue_()

    visit.page.route("**/api/v1/**", answer)
    for page in ("memory", "sessions", "health", "search", "chat"):
        is_broken = True
        visit.go(f"#/{page}?again={page}")
        if page == "search":
            visit.part("search-input").fill("billing")
        visit.page.locator("main").get_by_text("The disk is full.").first.wait_for()
        assert "df -h" in visit.page.locator("main").inner_text(), page
        is_broken = False
        visit.page.evaluate(_RETRY)
        expect(visit.page.locator("main").get_by_text("The disk is full.")).to_have_count(0)


# Each part that failed has its own button.
_RETRY: Final = (
    "() => document.querySelectorAll('main .failure button').forEach(one => one.click())"
)


def test_each_of_four_questions_is_answered_within_two_steps(house: House, enter: Enter) -> None:
    """How full is the context, what did the last flush save, where is a fact from, how is it
    undone: seen from the page one lands on, with at most two clicks each."""
    visit = enter(house)
    expect(visit.part("gauge-used")).to_contain_text(re.compile(r"[\d,]+ of [\d,]+.*%"))  # none

    visit.part("chat-session").filter(has_text=LONG).click()  # one
    expect(visit.page.locator(".chat-name h1")).to_have_text(LONG)
    expect(visit.part("last-save")).to_contain_text(re.compile(r"\d"))
    visit.part("last-save").click()  # two
    card = visit.part("saved-card").last
    expect(card).to_be_visible()
    for line in _last_saved(house):
        expect(card).to_contain_text(line)
    expect(card.locator('[data-test="undo-save"]')).to_be_visible()  # and how to undo it
    visit.page.keyboard.press("Escape")

    visit.part("nav-memory").click()  # one
    visit.settle()
    if not visit.part("provenance").first.is_visible():
        visit.part("file-link").first.click()  # two
        visit.settle()
    expect(visit.part("provenance").first).to_be_visible()

    visit.part("nav-memory").click()
    visit.settle()
    if not visit.part("undo").first.is_visible():
        visit.part("memory-changes").click()
        visit.settle()
    expect(visit.part("undo").first).to_be_visible()
    assert visit.page.locator(hook("history-item")).count() > 0


def _last_saved(house: House) -> list[str]:
    """What the last flush wrote, as the files have it."""
    flushes = [
        each for each in house.engine.existing_session(LONG).entries() if each.type == "flush"
    ]
    ids = next(each.data["lines"] for each in reversed(flushes) if each.data.get("saved"))
    return [each.line.text for each in house.engine.facts.list() if each.id in ids]
