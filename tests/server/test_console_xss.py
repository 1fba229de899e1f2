"""What a memory, a message, a tool or an address says is shown, and never done.

Some two hundred payloads (two thousand in the long run) stand wherever a text may stand, and every
page that shows one is opened, with all that is folded unfolded. The window watches for executions,
dialogs, requests elsewhere and breaches of the page's own policy (a breach means that something got
past the sanitiser, even if the policy then held it): one of them fails the test. And every payload
must still be there to be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Error, expect

from tests.scale import scaled
from tests.server.browser import Visit, hook, visiting
from tests.server.conftest import Enter, House, serving
from tests.server.haunting import FILE, HAUNTED, LINES, haunt
from tests.server.payloads import BASE, HOST, LOCAL_NAMES, Payload, payloads
from tests.server.speaking import Speaker

HOSTILE: Final = payloads(max(len(BASE), scaled(100)))
_SHOWN: Final = """() => {
    const said = [document.body.textContent];
    for (const node of document.querySelectorAll('input, textarea')) said.push(node.value);
    return said.join('\\n');
}"""
_UNFOLD: Final = "() => document.querySelectorAll('main details').forEach(one => one.open = true)"
_FORBIDDEN: Final = """() => [...document.querySelectorAll('main *')].flatMap(node =>
    [...node.attributes]
        .filter(one => /^on/i.test(one.name) || one.name === 'style' && node.closest('.prose')
            || /^(href|src|action|formaction|srcset|poster|data|ping|background|xlink:href)$/i
                .test(one.name) && !/^(#|\\/(?![\\/\\\\]))/.test(one.value))
        .map(one => node.tagName + ' ' + one.name + '=' + one.value)
        .concat(/^(script|style|iframe|object|embed|base|meta|link|form|frame)$/i.test(node.tagName)
            && node.closest('.prose') ? [node.tagName] : []))"""


@pytest.fixture(scope="module")
def haunted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    speaker = Speaker()
    engine = haunt(tmp_path_factory.mktemp("haunted") / "home", HOSTILE, speaker)
    with serving(engine, speaker) as served:
        yield served


def shows(visit: Visit, expected: Sequence[Payload]) -> None:
    """Everything unfolded; nothing that could act is in the page, and every text is readable."""
    visit.settle()
    visit.page.evaluate(_UNFOLD)
    visit.page.wait_for_timeout(50)
    assert visit.page.evaluate(_FORBIDDEN) == []
    shown = visit.page.evaluate(_SHOWN)
    missing = [each for each in expected if each.marker not in shown]
    assert not missing, f"{len(missing)} not to be read, the first: {missing[0]}"


def test_there_are_enough_of_them_and_they_bite_where_nothing_holds_them(
    browser: Browser,
) -> None:
    """Else the tests below would prove nothing."""
    assert len({each.text for each in HOSTILE}) >= 200
    with visiting(browser, "http://127.0.0.1:9") as visit:
        visit.forgive("")
        bitten = 0
        for each in HOSTILE[:60]:
            with suppress(Error):  # it went elsewhere meanwhile
                visit.page.set_content(f"<!doctype html><body>{each.text}", wait_until="commit")
                visit.page.wait_for_timeout(5)
            bitten += bool(visit.troubles)
            visit.troubles.clear()
        assert bitten >= 25, f"only {bitten} of 60 did anything on a page without protection"


def test_a_transcript_shows_every_payload_and_obeys_none(haunted: House, enter: Enter) -> None:
    visit = enter(haunted, f"#/sessions/{HAUNTED}")
    more = visit.page.locator(".entries-more button")
    rows = visit.page.locator(".entries article")
    while (earlier := more.first).count():
        before = rows.count()
        earlier.click()
        visit.page.wait_for_function(
            "count => document.querySelectorAll('.entries article').length !== count", arg=before
        )
    shows(visit, HOSTILE)
    for fold in visit.part("fold-originals").all():
        fold.click()
    visit.settle()
    shows(visit, HOSTILE)
    for tab in ("restore", "context"):
        visit.part(f"tab-{tab}").click()
        shows(visit, ())


def test_a_chat_shows_what_was_said_and_obeys_none_of_it(haunted: House, enter: Enter) -> None:
    visit = enter(haunted, f"#/chat/{HAUNTED}")
    shows(visit, HOSTILE[:1])  # the goal
    for fold in visit.part("fold-originals").all():
        fold.click()
    visit.settle()
    shows(visit, HOSTILE[-4:])


def test_what_is_typed_and_what_a_model_streams_is_text(haunted: House, enter: Enter) -> None:
    batch = HOSTILE[:: max(1, len(HOSTILE) // 40)]
    visit = enter(haunted, "#/chat/toString")
    haunted.speaker.say = ["\n\n".join(each.text for each in batch)]
    visit.part("composer").fill("\n\n".join(each.text for each in batch))
    visit.part("composer").press("Enter")
    expect(visit.part("message").filter(has_text=batch[-1].marker)).to_have_count(2)
    expect(visit.part("stop")).to_be_hidden()
    shows(visit, batch)


def test_a_file_of_hostile_memories_is_read_raw_rendered_and_edited(
    haunted: House, enter: Enter
) -> None:
    visit = enter(haunted, f"#/memory/{quote(LINES, safe='')}")
    shows(visit, HOSTILE)
    visit.part("provenance").first.click()
    shows(visit, HOSTILE)
    visit.go(f"#/memory/{quote(FILE, safe='')}")
    shows(visit, HOSTILE)
    visit.part("file-raw").click()
    shows(visit, HOSTILE)
    visit.part("file-edit").click()
    shows(visit, HOSTILE)


def test_the_other_views_of_memory_obey_nothing(haunted: House, enter: Enter) -> None:
    visit = enter(haunted)
    expected = {"conflicts": HOSTILE[1:2], "tasks": HOSTILE[:1]}
    for view in ("overview", "conflicts", "tasks", "changes", "archive"):
        visit.go(f"#/memory?view={view}")
        shows(visit, expected.get(view, ()))


def test_hits_and_questions_of_a_search_are_text(haunted: House, enter: Enter) -> None:
    visit = enter(haunted, "#/search")
    for each in HOSTILE[:: max(1, len(HOSTILE) // 12)]:
        visit.go(f"#/search?q={quote(each.line)}")
        visit.part("search-hit").first.wait_for()
        explain = visit.part("explain")
        if explain.count():
            explain.first.click()
        shows(visit, [each])


def test_sessions_with_names_of_a_program_are_only_names(haunted: House, enter: Enter) -> None:
    visit = enter(haunted, "#/sessions")
    shows(visit, [HOSTILE[number] for number in range(2, len(LOCAL_NAMES))])
    for name in LOCAL_NAMES:
        expect(visit.part("session-row").filter(has_text=name).first).to_be_visible()
    for name in ("__proto__", "hasOwnProperty", "null"):
        for page in ("sessions", "chat"):
            visit.go(f"#/{page}/{name}")
            visit.settle()
            expect(visit.page.locator("main").get_by_text(name, exact=True).first).to_be_visible()


def test_health_shows_events_models_and_costs_of_hostile_names(
    haunted: House, enter: Enter
) -> None:
    visit = enter(haunted, "#/health")
    visit.part("event-row").first.wait_for()
    shows(visit, ())


def test_an_address_of_the_console_may_say_anything(haunted: House, enter: Enter) -> None:
    """Addresses come from elsewhere: somebody sends a link."""
    visit = enter(haunted)
    visit.forgive(r"^(?:404|403|410|422|400|429|401) to ")
    batch = HOSTILE[:: max(1, len(HOSTILE) // 30)]
    shapes = (
        "#/chat/{}", "#/memory/{}", "#/memory/MEMORY.md?line={}", "#/search?q={}", "#/sessions/{}",
        "#/sessions/constructor?seq={}", "#/sessions/constructor?entry={}", "#/{}", "#{}",
        "#/memory?view={}", "#/health?{}", "#place={}",
    )  # fmt: skip
    for number, each in enumerate(batch):
        written = each.line if number % 3 == 0 else quote(each.line, safe="")
        visit.go(shapes[number % len(shapes)].format(written))
        visit.page.wait_for_timeout(30)
        assert visit.page.evaluate(_FORBIDDEN) == []
    for name in LOCAL_NAMES:
        visit.go(f"#/{name}")
        visit.go(f"#/memory?view={name}")
        visit.go(f"#/sessions/{HAUNTED}?tab={name}")
    visit.settle()


def test_errors_quote_what_was_asked_for_as_text(haunted: House, enter: Enter) -> None:
    """What the server says of a failure may hold anything, too: the name that was not found."""
    visit = enter(haunted)
    visit.forgive(r"^507 to ")
    told = {"type": "storage", "message": HOSTILE[0].text, "hint": HOSTILE[1].text, "details": None}
    visit.page.route(
        "**/api/v1/memory/file?*", lambda route: route.fulfill(status=507, json={"error": told})
    )
    visit.page.route(
        "**/api/v1/sessions?*", lambda route: route.fulfill(status=507, json={"error": told})
    )
    for page in ("memory/MEMORY.md", "sessions"):
        visit.go(f"#/{page}")
        visit.part("failure").first.wait_for()
        shows(visit, HOSTILE[:2])


def test_a_hostile_event_that_comes_while_one_looks_is_text(haunted: House, enter: Enter) -> None:
    """Other programs write events as well; whatever stands in one is only shown."""
    visit = enter(haunted, "#/health")
    visit.part("event-row").first.wait_for()
    visit.is_live()
    batch = HOSTILE[:8]
    with (haunted.engine.home / "events.jsonl").open("a", encoding="utf-8") as log:
        for each in batch:
            told = {"event": "session_renamed", "at": "2026-03-14T09:26:53+00:00"}
            log.write(json.dumps({**told, "session": each.line, "to": each.line}) + "\n")
            log.write(json.dumps({**told, "event": each.line, "session": "x"}) + "\n")
    for each in batch:  # as the name of a session, and as that of an event
        expect(visit.part("event-row").filter(has_text=each.marker)).to_have_count(2)
    shows(visit, batch)
    visit.go("#/chat")
    visit.settle()
    shows(visit, ())


def test_links_of_a_message_lead_nowhere(haunted: House, enter: Enter) -> None:
    visit = enter(haunted, f"#/memory/{quote(FILE, safe='')}")
    before = visit.page.url
    links = visit.page.locator("main .prose a")
    assert links.count() > 10, "there are links, and they say where they would have led"
    for number in range(0, links.count(), max(1, links.count() // 8)):
        links.nth(number).click(force=True, modifiers=["ControlOrMeta"] if number % 2 else None)
    assert visit.page.url == before
    assert HOST in visit.page.locator("main .prose").first.inner_html()
    assert visit.page.locator(hook("sign-in")).count() == 0
