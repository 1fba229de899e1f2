"""The Chat page: streaming, stopping, tools, the gauge, the full window, bad days, a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from holdfast.engine.facade import open_engine
from holdfast.server.places import Place
from holdfast.types import Message, Text, ToolCall
from tests.server.conftest import Enter, House, serving
from tests.server.furnishing import CONFIG, LONG, SHORT, open_home
from tests.server.speaking import CHATTY, Speaker


@pytest.fixture(autouse=True)
def open_gates(house: House) -> Iterator[None]:
    """Whatever a test held back is let go, also when it fails."""
    yield
    house.speaker.let_speak.set()
    house.speaker.let_save.set()
    house.speaker.say.clear()


def test_an_answer_is_read_while_it_comes_and_rendered_when_it_is_there(
    house: House, enter: Enter
) -> None:
    visit = enter(house, "#/chat?new=1")
    house.speaker.say = ["**Bold** words, then `code`."]
    house.speaker.let_speak.clear()
    visit.part("composer").fill("Say something bold")
    visit.part("send").click()
    expect(visit.part("stop")).to_be_visible()
    expect(visit.part("message").filter(has_text="Say something bold")).to_have_count(1)
    expect(visit.part("composer")).to_be_focused()
    visit.page.keyboard.type("get it?")  # typed on: these are keys of the console elsewhere
    expect(visit.part("composer")).to_have_value("get it?")
    house.speaker.let_speak.set()
    answer = visit.page.locator('[data-test="message"][data-role="assistant"] .prose')
    expect(answer.locator("strong")).to_have_text("Bold")
    expect(answer.locator("code")).to_have_text("code")
    expect(visit.part("stop")).to_be_hidden()
    assert re.search(r"#/chat/chat-\d{8}-\d{4}", visit.page.url), "the session has an address"
    expect(visit.part("gauge-used")).to_contain_text("12,000")


def test_a_stopped_answer_keeps_what_was_heard(house: House, enter: Enter) -> None:
    house.engine.session("stopping", model=house.speaker)
    visit = enter(house, "#/chat/stopping")
    visit.part("composer").fill(f"{CHATTY} everything.")
    gate = house.speaker.let_speak
    house.speaker.say = [" ".join(f"word{number}" for number in range(20_000))]
    visit.part("composer").press("Enter")
    expect(visit.part("streaming")).to_contain_text("word5")
    visit.part("composer").press("Escape")
    expect(visit.part("stop")).to_be_hidden()
    gate.set()
    kept = visit.page.locator('[data-test="message"][data-role="assistant"]')
    expect(kept.first).to_contain_text("word5")
    said = [each.text for each in house.engine.existing_session("stopping").view()]
    assert said[0] == f"{CHATTY} everything."
    assert "word5" in said[1]
    assert "word19999" not in said[1]
    visit.part("composer").fill("And now?")
    visit.part("composer").press("Enter")
    expect(visit.part("message").filter(has_text="Understood: And now?")).to_have_count(1)


def test_an_answer_goes_on_while_other_pages_and_languages_are_looked_at(
    house: House, enter: Enter
) -> None:
    house.engine.session("patient", model=house.speaker)
    visit = enter(house, "#/chat/patient")
    visit.page.wait_for_function(
        "() => performance.getEntriesByType('resource').some(e => /health.page/.test(e.name))"
    )
    house.speaker.let_speak.clear()
    house.speaker.say = ["First words. " + "And more words. " * 40]
    visit.part("composer").fill("Take your time")
    visit.part("composer").press("Enter")
    expect(visit.part("stop")).to_be_visible()
    for page in ("memory", "health", "search", "sessions"):
        visit.part(f"nav-{page}").click()
        expect(visit.page.locator("main h1").first).to_be_visible()
    visit.part("language").click()
    visit.part("nav-chat").click()
    expect(visit.page).to_have_url(re.compile("#/chat$"))
    expect(visit.part("stop")).to_be_visible()  # the same session, and the answer still comes
    expect(visit.part("message").filter(has_text="Take your time")).to_have_count(1)
    expect(visit.part("composer")).to_have_value("")
    house.speaker.let_speak.set()
    expect(visit.part("stop")).to_be_hidden()
    expect(visit.part("message").filter(has_text="And more words.")).to_have_count(1)
    kept = [each.text for each in house.engine.existing_session("patient").view()]
    assert len(kept) == 2
    assert "stopped" not in kept[1]

    house.speaker.let_speak.clear()
    visit.part("composer").fill("And while I am away?")
    visit.part("composer").press("Enter")
    expect(visit.part("stop")).to_be_visible()
    visit.part("nav-memory").click()
    house.speaker.let_speak.set()
    expect(visit.part("toast")).to_contain_text("patient")


def test_a_message_that_was_stopped_before_the_first_word_can_be_asked_again(
    house: House, enter: Enter
) -> None:
    house.engine.session("hasty", model=house.speaker)
    visit = enter(house, "#/chat/hasty")
    house.speaker.let_speak.clear()
    before = house.speaker.requests
    visit.part("composer").fill("What is new?")
    visit.part("composer").press("Enter")
    while house.speaker.requests == before:
        visit.page.wait_for_timeout(20)
    visit.part("composer").press("Escape")
    expect(visit.part("toast")).to_contain_text("before the answer began")
    house.speaker.let_speak.set()
    visit.part("ask-again").click()
    expect(visit.part("message").filter(has_text="Understood: What is new?")).to_have_count(1)
    expect(visit.part("ask-again")).to_have_count(0)


def test_a_stream_that_breaks_off_is_no_complete_answer(house: House, enter: Enter) -> None:
    house.engine.session("torn", model=house.speaker)
    visit = enter(house, "#/chat/torn")
    steps = ({"kind": "accepted"}, {"kind": "text", "text": "Half an ans"})
    frames = "".join(f"event: step\ndata: {json.dumps(step)}\n\n" for step in steps)
    visit.page.route(
        "**/messages",
        lambda route: route.fulfill(content_type="text/event-stream", body=frames),
    )
    visit.part("composer").fill("Whole, please")
    visit.part("composer").press("Enter")
    expect(visit.part("failure").first).to_contain_text("broke off before the answer was complete")
    assert "The answer is complete" not in visit.page.locator("main").inner_text()
    expect(visit.part("composer")).to_have_value("")


def test_a_fold_takes_the_place_of_rows_that_were_loaded_before_it(
    house: House, enter: Enter
) -> None:
    session = house.engine.session("folding", model=house.speaker)
    for number in range(40):
        session.append({"role": "user", "content": f"line {number}: " + "so it was. " * 20})
        session.append({"role": "assistant", "content": f"noted {number}"})
    visit = enter(house, "#/chat/folding")
    visit.page.locator(".chat-earlier").click()
    expect(visit.part("message").filter(has_text="line 1:")).to_have_count(1)
    visit.part("session-menu").click()
    visit.part("compact-now").click()
    fold = visit.part("fold")
    expect(fold).to_have_count(1)
    expect(visit.part("message").filter(has_text="line 1:")).to_have_count(0)
    kept = {each.text for each in session.view()}
    shown = visit.page.locator(".flow-list > .message-user").all_inner_texts()
    assert shown
    assert all(any(said.split("\n")[-1].strip() in each for each in kept) for said in shown)
    fold.locator("summary").click()
    visit.part("fold-originals").click()
    expect(fold.locator(".originals")).to_contain_text("line 1:")


def test_the_whole_of_a_long_answer_keeps_what_it_called(house: House, enter: Enter) -> None:
    house.engine.session("lengthy", model=house.speaker)
    call = ToolCall(id="look", name="memory_search", arguments={"query": "train"})
    long = "A long thought. " * 2_000 + "The very end."
    house.speaker.say = [Message(role="assistant", parts=(Text(text=long), call)), "Done."]
    for _ in house.engine.existing_session("lengthy").run("Think aloud"):
        pass
    visit = enter(house, "#/chat/lengthy")
    answer = visit.part("message").filter(has_text="A long thought.")
    expect(answer).not_to_contain_text("The very end.")
    answer.locator('[data-test="show-whole"]').click()
    expect(answer).to_contain_text("The very end.")
    expect(answer.locator('[data-test="tool-call"]')).to_have_count(1)


def test_another_place_is_entered_only_after_the_page_of_this_one_is_left(
    tmp_path_factory: pytest.TempPathFactory, enter: Enter
) -> None:
    speaker = Speaker()
    own, other = (open_home(tmp_path_factory.mktemp(name) / "home", speaker) for name in "ab")
    own.session("ours", model=speaker)
    other.session("theirs", model=speaker)
    with serving(own, speaker, Place(name="tour", engine=other)) as two:
        visit = enter(two, "#/chat/ours")
        visit.forgive("ERR_FAILED|console: ")
        visit.page.route("**/api/v1/server", lambda route: route.abort())
        visit.part("place-tour").click()
        expect(visit.part("failure")).to_be_visible()
        expect(visit.part("composer")).to_have_count(0)  # nothing can be said into the wrong place
        visit.page.unroute("**/api/v1/server")
        visit.part("failure").locator("button").click()
        expect(visit.part("chat-session").filter(has_text="theirs")).to_have_count(1)
        expect(visit.part("chat-session").filter(has_text="ours")).to_have_count(0)
        visit.page.goto("about:blank")


def test_a_tool_is_shown_with_what_it_was_asked_and_what_it_said(
    house: House, enter: Enter
) -> None:
    house.engine.session("tools", model=house.speaker)
    visit = enter(house, "#/chat/tools")
    visit.part("composer").fill("Look up the train")
    visit.part("composer").press("Enter")
    expect(visit.part("message").filter(has_text="I looked it up")).to_have_count(1)
    call = visit.part("tool-call").first
    call.locator("summary").click()
    expect(call).to_contain_text("the train")
    result = visit.part("tool-result").first
    result.locator("summary").click()
    expect(result).to_contain_text("Anna prefers the train")


def test_a_model_that_fails_is_told_with_what_to_do_and_no_word_is_lost(
    house: House, enter: Enter
) -> None:
    house.engine.session("failing", model=house.speaker)
    visit = enter(house, "#/chat/failing", phone=True)
    visit.part("composer").fill("Fail please, dear desk")
    visit.part("send").click()
    expect(visit.part("failure").first).to_contain_text("The desk is closed.")
    expect(visit.part("failure").first).to_contain_text("Try again tomorrow.")
    shown = visit.page.locator("main").inner_text() + visit.part("composer").input_value()
    assert "Fail please, dear desk" in shown
    visit.part("composer").fill("Are you back?")
    visit.part("send").click()
    expect(visit.part("message").filter(has_text="Understood: Are you back?")).to_have_count(1)


def test_what_is_typed_survives_pages_languages_reloads_and_a_server_that_is_gone(
    house: House, enter: Enter
) -> None:
    house.engine.session("typing", model=house.speaker)
    visit = enter(house, "#/chat/typing")
    visit.part("composer").fill("half a thou")
    visit.part("nav-memory").click()
    visit.settle()
    visit.go("#/chat/typing")
    expect(visit.part("composer")).to_have_value("half a thou")
    visit.part("language").click()
    expect(visit.part("composer")).to_have_value("half a thou")
    visit.page.reload()
    expect(visit.part("composer")).to_have_value("half a thou")
    visit.forgive("ERR_FAILED|ERR_INTERNET|Failed to fetch|console: ")
    visit.page.route("**/messages", lambda route: route.abort())
    visit.part("composer").press("Enter")
    expect(visit.part("failure").first).to_be_visible()
    expect(visit.part("composer")).to_have_value("half a thou")


def test_the_gauge_says_how_full_what_fills_it_and_what_the_marks_mean(
    house: House, enter: Enter
) -> None:
    visit = enter(house, f"#/chat/{LONG}")
    standing = house.engine.existing_session(LONG).explain_context()
    used = visit.part("gauge-used")
    expect(used).to_contain_text(f"{standing.budget.window:,}")
    expect(used).to_contain_text("%")
    for mark in ("prune", "flush", "hard", "compact"):
        button = visit.part(f"mark-{mark}")
        expect(button).to_contain_text(f"{getattr(standing.budget, mark + '_at'):,}")
        button.focus()
        tip = visit.page.locator(f"#{button.get_attribute('aria-describedby')}")
        expect(tip).to_be_visible()
        assert len(tip.inner_text()) > 20
    fills = visit.part("gauge").locator("details")
    fills.locator("summary").click()
    assert fills.locator("li").count() >= 3


def test_a_window_that_is_nearly_full_offers_a_new_session_that_knows(
    house: House, enter: Enter
) -> None:
    full = house.engine.session("nearly-full", model=house.speaker)
    for number in range(30):
        if full.explain_context().pressure not in ("none", "prune"):
            break
        full.append({"role": "user", "content": f"step {number}: " + "words of the user " * 60})
        full.append({"role": "assistant", "content": "noted " * 100})
    visit = enter(house, "#/chat/nearly-full", language="zh")
    expect(visit.part("near-full")).to_be_visible()
    visit.part("near-full-new").click()
    visit.page.wait_for_url(re.compile(r"#/chat/(?!nearly-full$)"), timeout=20_000)
    visit.settle()
    (left,) = [each for each in house.engine.sessions() if each.name == "nearly-full"]
    assert left.is_closed


def test_goal_save_and_summary_by_hand(house: House, enter: Enter) -> None:
    session = house.engine.session("by-hand", model=house.speaker)
    session.append({"role": "user", "content": "My dentist is Dr. Okafor in Hill Street."})
    visit = enter(house, "#/chat/by-hand")
    visit.part("goal").click()
    visit.part("goal-field").fill("Arrange the dentist")
    visit.part("save-field").click()
    expect(visit.part("goal")).to_contain_text("Arrange the dentist")
    visit.part("session-menu").click()
    visit.part("flush-now").click()
    expect(visit.part("saved-card").last).to_contain_text("Okafor")
    visit.part("last-save").click()
    expect(visit.page.locator("dialog[open]")).to_contain_text("Okafor")
    visit.page.keyboard.press("Escape")
    visit.part("session-menu").click()
    visit.part("compact-now").click()
    expect(visit.part("toast").last).to_contain_text(re.compile("[Ss]ummarise"))


def test_an_incognito_session_leaves_nothing(house: House, enter: Enter) -> None:
    visit = enter(house, "#/chat?new=1")
    visit.part("new-options").locator("summary").click()
    visit.part("new-incognito").check()
    visit.part("composer").fill("My secret word is xylophone.")
    visit.part("composer").press("Enter")
    expect(visit.part("session-badge").first).to_be_visible()
    expect(visit.part("message").filter(has_text="Understood: My secret")).to_have_count(1)
    visit.part("composer").fill("and my other word is marimba")
    stored = visit.page.evaluate("() => JSON.stringify({...sessionStorage, ...localStorage})")
    assert "xylophone" not in stored
    assert "marimba" not in stored
    for file in house.engine.home.rglob("*"):
        if file.is_file():
            assert b"xylophone" not in file.read_bytes(), file


def test_recalled_passages_lead_to_their_source(house: House, enter: Enter) -> None:
    visit = enter(house, f"#/chat/{SHORT}")
    card = visit.part("recall-card").first
    card.locator("summary").click()
    expect(card).to_contain_text("PostgreSQL 16")
    card.locator('[data-test="recall-source"]').first.click()
    visit.settle()
    expect(visit.page.locator(".is-target")).to_be_visible()


def test_two_windows_see_the_same_conversation(house: House, enter: Enter) -> None:
    house.engine.session("shared", model=house.speaker)
    one = enter(house, "#/chat/shared")
    other = enter(house, "#/chat/shared")
    one.part("composer").fill("Hello from the first window")
    one.part("composer").press("Enter")
    expect(other.part("message").filter(has_text="Understood: Hello")).to_have_count(1)

    other.is_live()
    expect(one.part("stop")).to_be_hidden()
    house.speaker.let_speak.clear()
    one.part("composer").fill("And again")
    one.part("composer").press("Enter")
    expect(other.part("elsewhere")).to_be_visible()
    other.forgive("^409 to POST")
    other.part("composer").fill("Me too")
    other.part("composer").press("Enter")
    expect(other.part("failure")).to_be_visible()
    expect(other.part("composer")).to_have_value("Me too")
    house.speaker.let_speak.set()
    expect(other.part("message").filter(has_text="Understood: And again")).to_have_count(1)
    expect(other.part("failure")).to_have_count(0)
    expect(other.part("elsewhere")).to_have_count(0)


def test_without_a_model_three_ways_to_one_are_shown(
    tmp_path_factory: pytest.TempPathFactory, enter: Enter
) -> None:
    config = {**CONFIG, "model.name": "none"}
    engine = open_engine(tmp_path_factory.mktemp("mute") / "home", config=config)
    with serving(engine, Speaker()) as mute:
        visit = enter(mute, "#/chat", phone=True)
        ways = visit.part("ways").first
        expect(ways).to_contain_text("holdfast model get")
        expect(ways).to_contain_text("API_KEY")
        visit.part("look-again").first.click()
        expect(ways.locator("[aria-live] .banner")).to_be_visible()
        visit.part("composer").fill("Is anybody there?")
        visit.part("send").click()
        expect(visit.part("failure").first).to_be_visible()
        shown = visit.page.locator("main").inner_text() + visit.part("composer").input_value()
        assert "Is anybody there?" in shown
        assert mute.engine.sessions() == [], "a session was begun in which nobody can answer"
        visit.page.goto("about:blank")
