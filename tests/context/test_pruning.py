"""When pruning happens, what it shortens, and what it leaves alone."""

from __future__ import annotations

import json

import pytest

from holdfast.config.keys import Prune, PruneTools
from holdfast.context.pruning import plan_prune
from holdfast.sessions.view import compute_view
from holdfast.types import Image, Message, Opaque, Text, ToolCall, ToolResult, ViewItem
from tests.context.pruning_talks import Talk, budget_of, lines, price_text

LONG = lines(400)  # about 14,000 characters
EAGER = {"prune_at": 0, "target": 0}
PNG = Image(media_type="image/png", data="iVBORw0KGgo" * 40)


def long_talk(results: int = 6, text: str = LONG) -> tuple[Talk, list[str]]:
    talk = Talk()
    talk.says("system", "You are careful.")
    talk.says("user", "Look at all the files.")
    found = [talk.uses("search", {"query": f"q{n}"}, text) for n in range(results)]
    talk.goes_on()
    return talk, found


# ── when ────────────────────────────────────────────────────────────────────────────────────


def test_below_prune_at_nothing_is_done() -> None:
    talk, _ = long_talk()
    plan = talk.plan(window=200_000)
    assert (plan.shown, plan.reason) == ((), "below prune_at")
    assert plan.tokens_after == plan.tokens_before == talk.tokens


def test_mode_off_never_prunes_unless_the_request_must_fit() -> None:
    talk, _ = long_talk()
    off = Prune(mode="off")
    assert talk.plan(settings=off).reason == "off"
    assert talk.plan(settings=off, force="needed").reason == "off"
    assert talk.plan(settings=off, force="largest").shown


def test_a_cold_cache_lets_pruning_through() -> None:
    talk, _ = long_talk()
    plan = talk.plan(cache_is_cold=True)
    assert plan.shown
    assert plan.saved_cost > 0
    assert "cold" in plan.reason


def test_a_warm_cache_is_kept_when_few_turns_are_left() -> None:
    talk, _ = long_talk()
    asked = {"window": 24_000, "prune_at": 0, "target": 10_000, "cache_is_cold": False}
    plan = talk.plan(expected_turns=12, **asked)
    assert plan.shown
    plan = talk.plan(expected_turns=6, **asked)
    assert plan.shown == ()
    assert plan.reason == "the cache is warm and the saving would not pay for rewriting it"


def test_a_warm_cache_is_rewritten_when_many_turns_profit() -> None:
    talk, _ = long_talk()
    plan = talk.plan(cache_is_cold=False, expected_turns=50)
    assert plan.shown
    assert plan.saved_cost > 0
    assert plan.reason == "the saving pays for rewriting the cache"


def test_without_a_given_number_as_many_turns_are_expected_as_there_were() -> None:
    talk, _ = long_talk(results=3)
    short = talk.plan(window=40_000, prune_at=0, target=6_000, cache_is_cold=False)
    assert short.shown == ()
    talk, _ = long_talk(results=40, text=lines(60))
    long = talk.plan(window=60_000, prune_at=0, target=3_000, cache_is_cold=False)
    assert long.shown


def test_mode_always_does_not_ask_about_the_cache() -> None:
    talk, _ = long_talk()
    plan = talk.plan(settings=Prune(mode="always"), cache_is_cold=False, expected_turns=1)
    assert plan.shown


def test_mode_always_does_not_lose_a_warm_cache_for_crumbs() -> None:
    talk, _ = long_talk(results=1, text=lines(10))
    always = Prune(mode="always", min_clear_chars=0)
    plan = talk.plan(window=30_000, settings=always, cache_is_cold=False, **EAGER)
    assert plan.shown == ()
    assert plan.reason.startswith("the cache is warm and only ")
    assert talk.plan(window=30_000, settings=always, **EAGER).shown


def test_a_full_window_is_no_time_to_ask_what_it_costs() -> None:
    talk, _ = long_talk(results=8, text=lines(8))
    asked = {"cache_is_cold": False, "expected_turns": 1, **EAGER}
    assert talk.plan(**asked).shown == ()
    plan = talk.plan(force="needed", **asked)
    assert {each.how for each in plan.shown} == {"clear"}
    assert plan.reason == "the window is full"


def test_a_full_window_that_already_meets_the_target_is_left_alone() -> None:
    talk, _ = long_talk(results=1)
    assert talk.plan(window=200_000, force="needed").reason == "already within 90,000 tokens"


def test_an_empty_plan_says_that_nothing_is_left() -> None:
    talk = Talk()
    talk.says("user", LONG)
    talk.goes_on()
    assert talk.plan(**EAGER).reason == "nothing left to shorten"
    assert talk.plan(force="needed", **EAGER).reason == "nothing left to shorten"


def test_an_empty_plan_says_how_little_could_be_cleared() -> None:
    talk, _ = long_talk(results=2, text="x" * 500)
    plan = talk.plan(window=8_000, **EAGER)
    assert plan.reason == "only 1,000 characters could be cleared"


# ── soft trim ───────────────────────────────────────────────────────────────────────────────


def test_a_long_result_is_shown_as_head_and_tail_with_its_size_and_entry() -> None:
    talk, (found,) = long_talk(results=1)
    plan = talk.plan(window=200_000, **EAGER)
    (shown,) = plan.shown
    assert (shown.entry, shown.part, shown.how) == (found, 0, "trim")
    talk.prune(plan)
    head, note, tail = talk.text(found).partition(
        f"of {len(LONG):,} characters are not shown; the whole text: expand {found}]\n"
    )
    assert note
    assert LONG.startswith(head.rpartition("\n[… ")[0])
    assert LONG.endswith(tail)
    assert 1_200 < len(head) < 1_600
    assert 1_200 < len(tail) <= 1_500
    assert tail.startswith("line ")  # cut where a line begins


def test_trimming_goes_from_the_oldest_and_stops_at_the_target() -> None:
    talk, found = long_talk(results=6)
    plan = talk.plan(window=200_000, prune_at=0, target=talk.tokens - 4_000)
    assert [each.entry for each in plan.shown] == found[:2]
    assert plan.tokens_after <= talk.tokens - 4_000


def test_the_result_keeps_its_call_and_the_view_its_messages() -> None:
    talk, (found,) = long_talk(results=1)
    before = talk.view
    talk.prune(talk.plan(window=200_000, **EAGER))
    after = talk.view
    assert len(before) == len(after)
    assert talk.shown(found).tool_results[0].call_id == "call1"
    assert [a for a, b in zip(before, after, strict=True) if a != b] == [
        next(m for m in before if m.tool_results)
    ]


@pytest.mark.parametrize(
    "value",
    [
        [{"id": n, "name": f"flight {n}", "stops": ["a", "b"]} for n in range(200)],
        {"total": 200, "results": [{"id": n, "text": "…" * 40} for n in range(200)], "ok": True},
        {"page": "很长的正文。" * 2_000, "title": "标题", "links": ["a"] * 30},
    ],
    ids=["array", "object with a long array", "object with a long text"],
)
def test_a_result_that_is_json_stays_json(value: object) -> None:
    talk, (found,) = long_talk(results=1, text=json.dumps(value, ensure_ascii=False))
    plan = talk.plan(window=200_000, **EAGER)
    (shown,) = plan.shown
    parsed = json.loads(shown.text)
    assert type(parsed) is type(value)
    assert f"expand {found}" in shown.text
    assert 1_000 < len(shown.text) < 3_400


def test_an_array_keeps_its_first_and_last_items() -> None:
    items = [{"id": n, "name": f"flight {n}"} for n in range(300)]
    talk, _ = long_talk(results=1, text=json.dumps(items))
    (shown,) = talk.plan(window=200_000, **EAGER).shown
    note, *parsed = json.loads(shown.text)
    gap = next(n for n, item in enumerate(parsed) if isinstance(item, str))
    assert note.startswith("[shortened] part of ")
    assert parsed[:gap] == items[:gap]
    assert parsed[gap + 1 :] == items[gap + 1 - len(parsed) :]
    assert parsed[gap] == f"… +{300 - len(parsed) + 1} items"


def test_json_of_which_hardly_anything_fits_is_shown_as_text() -> None:
    talk, (found,) = long_talk(results=1, text=json.dumps([[["x" * 30_000]]]))
    (shown,) = talk.plan(window=4_000, **EAGER, force="needed").shown
    assert f"expand {found}" in shown.text


def test_what_was_set_aside_on_arrival_is_trimmed_with_its_true_size() -> None:
    talk = Talk()
    talk.says("user", "Read it.")
    note = "\n[… 950,000 of 999,999 characters are not shown; the whole text: expand 0123abcd]\n"
    text = lines(300) + note + lines(300, "end")
    data = Message(
        role="tool", parts=(ToolResult(call_id="c", content=(Text(text=text),)),)
    ).to_json()
    path = ["parts", 0, "content", 0, "text"]
    reference = {"path": path, "sha256": "0123abcd", "encoding": "utf-8", "short": True}
    found = talk.append("message", {**data, "artifacts": [reference]})
    talk.goes_on()
    (shown,) = talk.plan(window=200_000, **EAGER).shown
    assert f"of 999,999 characters are not shown; the whole text: expand {found}]" in shown.text
    assert "0123abcd" not in shown.text
    assert shown.text.startswith("line 0 ")
    assert shown.text.endswith(text[-100:])


# ── where ───────────────────────────────────────────────────────────────────────────────────


def test_results_before_the_first_user_message_stay() -> None:
    talk = Talk()
    early = talk.uses("read_file", {"path": "AGENTS.md"}, LONG)
    talk.says("user", "Begin.")
    late = talk.uses("read_file", {"path": "b.md"}, LONG)
    talk.goes_on()
    assert [each.entry for each in talk.plan(**EAGER).shown] == [late]
    assert early not in json.dumps(talk.plan(**EAGER, force="needed").entry_data())


def test_without_a_user_message_nothing_is_pruned_by_age() -> None:
    talk = Talk()
    talk.uses("read_file", {"path": "a"}, LONG)
    talk.goes_on()
    assert talk.plan(**EAGER).shown == ()


@pytest.mark.parametrize(("keep", "pruned"), [(0, 4), (1, 3), (3, 1), (4, 0), (9, 0)])
def test_results_after_the_last_assistant_messages_stay(keep: int, pruned: int) -> None:
    talk = Talk()
    talk.says("user", "Go.")
    found = [talk.uses("search", {"query": str(n)}, LONG) for n in range(4)]
    plan = talk.plan(settings=Prune(keep_last_assistants=keep), **EAGER)
    assert [each.entry for each in plan.shown] == found[:pruned]


def test_pins_and_protected_entries_stay() -> None:
    talk, found = long_talk(results=3)
    assert [e.entry for e in talk.plan(**EAGER, protected=found[:2]).shown] == found[2:]
    blocks = talk.blocks
    cut = talk.append("compaction", {"summary": [{"text": LONG}], "pins": [found[0]]})
    view = compute_view(talk.entries[-1:], compaction=talk.entries[-1], earlier=talk.entries[:-1])
    assert [item.kind for item in view.items] == ["pin", "summary"]
    assert cut == view.items[1].stands_for[0]
    pinned = next(block for block in blocks if block.entry == found[0])
    item = ViewItem(message=pinned.message, stands_for=(found[0],), kind="pin")
    changed = [type(pinned)(item=item, tokens=b.tokens) if b is pinned else b for b in blocks]
    plan = plan_prune(
        changed,
        budget_of(8_000, **EAGER),
        Prune(),
        projected=talk.tokens,
        price_text=price_text,
        cache_is_cold=True,
    )
    assert [each.entry for each in plan.shown] == found[1:]


def test_only_results_of_allowed_tools_are_shortened() -> None:
    talk = Talk()
    talk.says("user", "Go.")
    web = talk.uses("Web_Fetch", {"url": "https://a.example"}, LONG)
    read = talk.uses("read_file", {"path": "a.txt"}, LONG)
    denied = talk.uses("web_secret", {"q": 1}, LONG)
    talk.goes_on()
    allow = Prune(tools=PruneTools(allow=("web_*",), deny=("*secret*",)))
    assert [each.entry for each in talk.plan(settings=allow, **EAGER).shown] == [web]
    deny = Prune(tools=PruneTools(deny=("web_*",)))
    assert [each.entry for each in talk.plan(settings=deny, **EAGER).shown] == [read]
    assert denied not in {each.entry for each in talk.plan(settings=deny, **EAGER).shown}


def test_a_call_id_that_is_used_again_means_the_nearest_call() -> None:
    talk = Talk()
    talk.says("user", "Go.")
    first = talk.uses("search", {"q": 1}, LONG, call_id="same")
    second = talk.uses("read_file", {"path": "b"}, LONG, call_id="same")
    talk.goes_on()
    deny = Prune(tools=PruneTools(deny=("read*",)))
    assert [each.entry for each in talk.plan(settings=deny, **EAGER).shown] == [first]
    assert second


def test_sizes_shrink_with_the_window() -> None:
    talk, _ = long_talk(results=1, text="x" * 900)
    assert talk.plan(window=128_000, **EAGER).shown == ()
    (shown,) = talk.plan(window=8_000, **EAGER).shown  # 2 % of 8,000 tokens are 640 characters
    assert shown.how == "trim"
    assert shown.text.startswith("x" * 240 + "\n[… 420 of 900 ")  # 1,500 of 4,000, as of 640


# ── hard clear ──────────────────────────────────────────────────────────────────────────────


def test_whole_results_go_only_if_enough_can_be_cleared() -> None:
    talk, _ = long_talk(results=14, text=lines(90))  # none of them too long
    least = 14 * len(lines(90))
    assert (
        talk.plan(window=200_000, **EAGER).reason == f"only {least:,} characters could be cleared"
    )
    talk, found = long_talk(results=20, text=lines(90))
    plan = talk.plan(window=200_000, prune_at=0, target=talk.tokens - 1_900)
    assert [(each.entry, each.how) for each in plan.shown] == [
        (found[0], "clear"),
        (found[1], "clear"),
        (found[2], "clear"),
    ]


def test_a_placeholder_is_one_line_that_says_what_it_was() -> None:
    talk = Talk()
    talk.says("user", "Go.")
    output = "<returncode>1</returncode>\n<output>\nImportError: no module named spam\n" + LONG
    found = talk.uses("bash", {"command": "python -m pytest"}, output)
    talk.goes_on()
    (shown,) = talk.plan(force="needed", **EAGER).shown
    assert shown.text == (
        f"[tool result cleared: bash, {len(output):,} characters; expand {found}; "
        "exit status 1, began: ImportError: no module named spam]"
    )


@pytest.mark.parametrize(
    ("text", "clue"),
    [
        ("\n\n  total 144\ndrwx", "; began: total 144]"),
        ('{"name": "Mia"}', '; began: {"name": "Mia"}]'),
        ('{\n  "name": "Mia"\n}', '; began: "name": "Mia"]'),
        ("第一行内容\n正文", "; began: 第一行内容]"),
        ("退出码：2\n出错了\n正文", "; exit status 2, began: 出错了]"),
        ("------\n=====\nafter a rule", "; began: after a rule]"),
        ("some text\nExit code: 3", "; exit status 3, began: some text]"),
        ("", "]"),
    ],
)
def test_the_clue_is_the_first_line_that_says_something(text: str, clue: str) -> None:
    start, end = (text, "") if "Exit" not in text else text.split("\n")
    whole = f"{start}\n{' ' * 900}\n{end}"
    talk, (found,) = long_talk(results=1, text=whole)
    (shown,) = talk.plan(window=200_000, force="needed", **EAGER).shown
    assert shown.text == (
        f"[tool result cleared: search, {len(whole)} characters; expand {found}{clue}"
    )


def test_a_clue_is_short_and_cannot_break_the_line() -> None:
    hostile = "\x1b[31m" + "a\u2028b\rc" * 400
    talk, _ = long_talk(results=1, text=hostile)
    (shown,) = talk.plan(force="needed", **EAGER).shown
    assert len(shown.text.splitlines()) == 1
    assert "\x1b" not in shown.text
    assert len(shown.text) < 200


def test_a_result_with_parts_we_do_not_know_is_only_cleared_whole() -> None:
    talk = Talk()
    talk.says("user", "Go.")
    unknown = Opaque(format="anthropic", data={"type": "document", "source": "y" * 9_000})
    found = talk.uses("read_pdf", {"path": "a.pdf"}, (Text(text=LONG), unknown))
    talk.goes_on()
    assert talk.plan(window=200_000, **EAGER).shown == ()
    (shown,) = talk.plan(window=200_000, force="needed", **EAGER).shown
    assert (shown.entry, shown.how) == (found, "clear")


# ── images ──────────────────────────────────────────────────────────────────────────────────


def test_old_images_become_a_line_with_type_size_and_entry() -> None:
    talk = Talk()
    talk.says("user", "Begin.")
    asked = talk.add(Message(role="user", parts=(Text(text="See:"), PNG), form="parts"))
    found = talk.uses("screenshot", {}, (Text(text="taken"), PNG, PNG))
    talk.goes_on()
    newest = talk.add(Message(role="user", parts=(Text(text="And this?"), PNG), form="parts"))
    talk.goes_on()
    plan = talk.plan(window=200_000, **EAGER)
    assert [(each.entry, each.part, each.how) for each in plan.shown] == [
        (asked, 1, "image"),
        (found, 0, "image"),
    ]
    line = "[image cleared: image/png, 330 bytes; expand "
    assert plan.shown[0].text == f"{line}{asked}]"
    assert plan.shown[1].text == f"taken\n{line}{found}]\n{line}{found}]"
    talk.prune(plan)
    assert talk.tokens == plan.tokens_after
    assert PNG in talk.shown(newest).parts
    assert talk.plan(window=200_000, **EAGER).shown == ()


def test_an_image_that_is_only_an_address_keeps_it() -> None:
    talk = Talk()
    talk.says("user", "Begin.")
    picture = Image(url="https://pictures.example/cat.png")
    asked = talk.add(Message(role="user", parts=(picture,), form="parts"))
    talk.goes_on()
    talk.says("user", "Thanks.")
    (shown,) = talk.plan(window=200_000, **EAGER).shown
    assert shown.text == (
        f"[image cleared: unknown type, https://pictures.example/cat.png; expand {asked}]"
    )


def test_images_of_denied_tools_stay() -> None:
    talk = Talk()
    talk.says("user", "Begin.")
    talk.uses("screenshot", {}, (PNG,))
    talk.goes_on()
    deny = Prune(tools=PruneTools(deny=("screen*",)))
    assert talk.plan(window=200_000, settings=deny, **EAGER).shown == ()


# ── sticky ──────────────────────────────────────────────────────────────────────────────────


def test_what_was_shortened_keeps_its_bytes_when_more_arrives() -> None:
    talk, found = long_talk(results=6)
    first = talk.plan(window=200_000, **EAGER)
    talk.prune(first)
    before = {entry: talk.text(entry) for entry in found}
    more = [talk.uses("search", {"query": f"more{n}"}, LONG) for n in range(3)]
    talk.goes_on()
    second = talk.plan(window=200_000, **EAGER)
    assert [each.entry for each in second.shown] == more
    talk.prune(second)
    assert {entry: talk.text(entry) for entry in found} == before
    assert talk.plan(window=200_000, force="needed", **EAGER).shown == ()


def test_another_part_of_a_shortened_message_can_still_be_shortened() -> None:
    talk = Talk()
    talk.says("user", "Go.")
    calls = tuple(ToolCall(id=f"c{n}", name="search", arguments=f'{{"q":{n}}}') for n in range(2))
    talk.add(Message(role="assistant", parts=calls, form="null"))
    results = tuple(ToolResult(call_id=f"c{n}", content=(Text(text=LONG),)) for n in range(2))
    found = talk.add(Message(role="user", parts=results, form="parts"))
    talk.goes_on()
    first = talk.plan(window=200_000, prune_at=0, target=talk.tokens - 100)
    assert [(each.entry, each.part) for each in first.shown] == [(found, 0)]
    talk.prune(first)
    assert talk.tokens == first.tokens_after
    second = talk.plan(window=200_000, **EAGER)
    assert [(each.entry, each.part) for each in second.shown] == [(found, 1)]


def test_the_entry_says_what_was_done_and_what_it_saved() -> None:
    talk, (found,) = long_talk(results=1)
    plan = talk.plan(window=200_000, **EAGER)
    data = plan.entry_data()
    assert json.loads(json.dumps(data)) == data
    assert data["shown"] == [{"entry": found, "part": 0, "text": plan.shown[0].text, "how": "trim"}]
    assert data["tokens_before"] - data["tokens_after"] == plan.saved > 0
    assert data["saved_cost"] == plan.saved_cost


def test_only_short_texts_are_counted_however_large_the_view_is() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return price_text(text)

    talk, _ = long_talk(results=60)
    plan = talk.plan(window=100_000, prune_at=0, price_text=count)
    written = sum(len(each.text) for each in plan.shown)
    assert len(plan.shown) > 20
    assert sorted(counted)[-2] < 4_000  # one whole result shows what a message costs besides
    assert sum(counted) < 60 * 3_400 + written + len(LONG)
