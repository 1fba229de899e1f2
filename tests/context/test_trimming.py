"""The yardstick: trimming as well as it can be done, and no better."""

from __future__ import annotations

from holdfast.context.trimming import plain_trim
from holdfast.types import Message
from tests.context.test_blocks import blocks, call, result


def test_everything_stays_while_it_fits() -> None:
    view = blocks(Message.of("system", "s"), Message.of("user", "task"), call("a"), result("a"))
    assert plain_trim(view, 40) == tuple(view)


def test_the_oldest_go_first_and_the_system_text_stays() -> None:
    view = blocks(
        Message.of("system", "s"), Message.of("user", "task"), call("a"), result("a"), call("b")
    )
    assert [block.entry for block in plain_trim(view, 40)] == ["e0", "e2", "e3", "e4"]


def test_a_call_is_not_parted_from_its_result() -> None:
    view = blocks(Message.of("user", "task"), call("a"), result("a"), Message.of("user", "next"))
    assert [block.entry for block in plain_trim(view, 20)] == ["e3"]


def test_the_last_group_stays_even_if_it_does_not_fit() -> None:
    view = blocks(Message.of("user", "task"), call("a"), result("a"))
    assert [block.entry for block in plain_trim(view, 5)] == ["e1", "e2"]
