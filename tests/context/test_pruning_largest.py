"""The last resort makes every request fit, and takes no more than it must."""

from __future__ import annotations

import json

import pytest

from holdfast.config.keys import Prune, PruneTools
from holdfast.context.pruning.shorter import shorter_arguments
from holdfast.types import Image, Message, Text, Thinking, ToolCall, ToolResult
from tests.context.pruning_talks import Talk, lines, price

LONG = lines(1_000)


def prune(talk: Talk, limit: int, **asked: object) -> list[str]:
    """Shorten to the limit; the entries that changed."""
    plan = talk.plan(force="largest", limit=limit, **asked)
    talk.prune(plan)
    assert talk.tokens == plan.tokens_after
    return [each.entry for each in plan.shown]


def test_a_giant_result_in_the_protected_tail_is_cut_to_what_is_needed() -> None:
    talk = Talk()
    talk.says("user", "Run it.")
    giant = talk.uses("bash", {"command": "make"}, LONG)
    assert prune(talk, 4_000) == [giant]
    assert 3_500 < talk.tokens <= 4_000
    assert talk.text(giant).startswith("line 0 ")
    assert talk.text(giant).endswith("line 999 of some longer output\n")


def test_the_limit_is_where_the_flush_is_due_unless_another_is_given() -> None:
    talk = Talk()
    talk.says("user", "Run it.")
    talk.uses("bash", {"command": "make"}, LONG)
    plan = talk.plan(force="largest", window=8_000)
    assert 4_000 < plan.tokens_after <= 4_500


def test_a_request_that_fits_is_left_alone() -> None:
    talk = Talk()
    talk.says("user", "Run it.")
    plan = talk.plan(force="largest")
    assert plan.shown == ()
    assert plan.reason.startswith("already within ")


def test_the_largest_are_cut_to_one_level_and_the_others_stay() -> None:
    talk = Talk()
    talk.says("user", "Run it.")
    sizes = [50, 800, 100, 500, 60]
    found = [talk.uses("bash", {"command": f"x{n}"}, lines(n)) for n in sizes]
    changed = prune(talk, 6_000)
    assert changed == [found[1], found[3]]
    first, second = (price(talk.shown(entry)) for entry in changed)
    assert abs(first - second) < 200
    assert first > 1_500


def test_results_give_way_before_what_was_said() -> None:
    talk = Talk()
    talk.says("user", "Begin.")
    asked = talk.says("user", lines(150, "please"))
    said = talk.says("assistant", lines(150, "because"))
    found = talk.uses("bash", {"command": "make"}, lines(150))
    talk.says("user", "And now?")
    changed = [
        [each.entry for each in talk.plan(force="largest", limit=limit).shown]
        for limit in (3_000, 2_000, 800)
    ]
    assert changed == [[found], [said, found], [asked, said, found]]


def test_nothing_is_wiped_out_while_something_else_is_still_large() -> None:
    talk = Talk()
    talk.says("user", "Begin.")
    asked = talk.says("user", LONG)
    found = talk.uses("bash", {"command": "make"}, lines(300))
    talk.says("user", "And now?")
    assert prune(talk, 2_000, window=20_000) == [asked, found]
    assert price(talk.shown(found)) > 50
    assert "\n" in talk.text(found)


def test_the_first_and_the_newest_user_message_and_system_text_stay() -> None:
    talk = Talk()
    talk.says("system", LONG)
    talk.says("user", LONG)
    between = talk.says("user", LONG)
    talk.says("user", LONG)
    before = talk.view.messages
    assert prune(talk, 10) == [between]
    assert [a == b for a, b in zip(before, talk.view, strict=True)] == [True, True, False, True]


def test_a_request_that_cannot_fit_says_how_much_is_too_much() -> None:
    talk = Talk()
    talk.says("system", LONG)
    talk.says("user", "Go.")
    talk.uses("bash", {"command": "make"}, lines(50))
    plan = talk.plan(force="largest", limit=100)
    assert plan.reason == (
        f"{plan.tokens_after - 100:,} tokens above 100: all that is left must stay"
    )


def test_protected_entries_stay() -> None:
    talk = Talk()
    talk.says("user", "Go.")
    found = [talk.uses("bash", {"command": str(n)}, LONG) for n in range(2)]
    assert prune(talk, 10, protected=found[:1]) == found[1:]


def test_a_result_inside_the_newest_user_message_is_no_words_of_the_user() -> None:
    talk = Talk()
    talk.says("user", "Go.")
    talk.add(Message(role="assistant", parts=(ToolCall(id="c", name="bash", arguments={}),)))
    result = ToolResult(call_id="c", content=(Text(text=LONG),))
    words = Text(text="Please hurry: " + "x" * 2_000)
    newest = talk.add(Message(role="user", parts=(result, words), form="parts"))
    assert prune(talk, 2_000) == [newest]
    assert talk.shown(newest).parts[1] == words


def test_results_of_denied_tools_go_last() -> None:
    talk = Talk()
    talk.says("user", "Begin.")
    found = talk.uses("read_secret", {"path": "a"}, lines(200))
    said = talk.says("assistant", lines(200, "because"))
    talk.says("user", "And now?")
    deny = Prune(mode="off", tools=PruneTools(deny=("read*",)))
    assert prune(talk, 2_500, settings=deny) == [said]
    assert prune(talk, 500, settings=deny) == [found, said]


@pytest.mark.parametrize("as_text", [True, False])
def test_arguments_stay_an_object_with_their_keys(as_text: bool) -> None:
    talk = Talk()
    talk.says("user", "Write it.")
    given = {"path": "说明.md", "content": "很长的内容😀" * 2_000, "mode": 420, "tags": ["a", "b"]}
    arguments = json.dumps(given, ensure_ascii=False) if as_text else given
    talk.uses("write_file", arguments, "ok")
    (entry,) = prune(talk, 1_000)
    call = talk.shown(entry).tool_calls[0]
    assert isinstance(call.arguments, str) == as_text
    shown = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
    assert list(shown)[:4] == list(given)
    assert {key: shown[key] for key in ("path", "mode", "tags")} == {
        key: given[key] for key in ("path", "mode", "tags")
    }
    assert str(shown["content"]).startswith("很长的内容😀")
    assert f"expand {entry}" in shown["[shortened]"]
    assert 700 < talk.tokens <= 1_000


def test_arguments_that_are_no_object_are_shown_as_beginning_and_end() -> None:
    talk = Talk()
    talk.says("user", "Write it.")
    talk.uses("apply_patch", "*** Begin Patch\n" + LONG + "*** End Patch", "ok")
    (entry,) = prune(talk, 1_000)
    shown = talk.shown(entry).tool_calls[0].arguments
    assert isinstance(shown, str)
    assert shown.startswith("*** Begin Patch\n")
    assert shown.endswith("*** End Patch")


def test_images_go_when_they_must() -> None:
    talk = Talk()
    talk.says("user", "Begin.")
    picture = Image(media_type="image/png", data="AAAA" * 10)
    asked = talk.add(Message(role="user", parts=(Text(text="This?"), picture), form="parts"))
    found = talk.uses("screenshot", {}, (picture, picture))
    newest = talk.add(Message(role="user", parts=(picture,), form="parts"))
    assert prune(talk, 700) == [asked, found]
    assert talk.shown(newest).parts == (picture,)


def test_a_text_beside_images_that_go_keeps_its_first_line_break() -> None:
    talk = Talk()
    talk.says("user", "Begin.")
    picture = Image(media_type="image/png", data="AAAA" * 10)
    found = talk.uses("screenshot", {}, (Text(text="\n$ ls\n"), picture))
    talk.goes_on()
    assert prune(talk, 400) == [found]
    assert talk.text(found).startswith("\n$ ls\n\n[image cleared: ")


def test_thinking_is_never_changed() -> None:
    talk = Talk()
    talk.says("user", "Begin.")
    thinking = Thinking(text=LONG, signature="abc")
    said = Message(role="assistant", parts=(thinking, Text(text=LONG)), form="parts")
    entry = talk.add(said)
    assert prune(talk, 10) == [entry]
    assert talk.shown(entry).parts[0] == thinking


def test_what_was_shortened_is_shortened_again_only_by_much() -> None:
    talk = Talk()
    talk.says("user", "Run it.")
    found = talk.uses("bash", {"command": "make"}, LONG)
    prune(talk, 4_000)
    first = talk.tokens
    assert prune(talk, first - 10) == [found]
    assert price(talk.shown(found)) <= first * 0.75
    text = talk.text(found)
    assert f"of {len(LONG):,} characters are not shown; the whole text: expand {found}]" in text
    assert text.count("[… ") == 1
    assert prune(talk, 10) == [found]
    assert talk.text(found).startswith(f"[tool result cleared: bash, {len(LONG):,} characters")
    again = talk.plan(force="largest", limit=10)
    assert (again.shown, again.reason) == ((), "nothing left to shorten")


def test_a_shortened_json_result_that_is_shortened_again_is_still_json() -> None:
    talk = Talk()
    talk.says("user", "Search.")
    items = [{"id": n, "name": f"flight {n}"} for n in range(500)]
    found = talk.uses("search", {"q": "x"}, json.dumps(items))
    size = len(json.dumps(items))
    for limit in (2_000, 800):
        assert prune(talk, limit) == [found]
        note, *shown = json.loads(talk.text(found))
        assert note == f"[shortened] part of {size:,} characters; the whole text: expand {found}"
        assert shown[0] == items[0]
        assert shown[-1] == items[-1]


def test_many_small_arguments_shrink_to_a_note_when_nothing_else_is_left() -> None:
    given = {f"field_{number}": f"value {number}" for number in range(25)}
    keyed = shorter_arguments(given, "e7", 0)
    bare = shorter_arguments(given, "e7", -1)
    assert keyed is not None
    assert bare is not None
    assert set(json.loads(keyed)) >= set(given)
    assert list(json.loads(bare)) == ["[shortened]"]
    assert "expand e7" in bare
    assert len(bare) < len(keyed)
