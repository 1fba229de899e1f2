"""Exact strings are found, ranked and read in linear time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.blocks import group_blocks
from holdfast.context.compaction.identifiers import identifiers_in, required_identifiers
from holdfast.types import Message, Text, ToolCall, ToolResult
from tests.context.compacting import Transcript, chat, used_tool
from tests.scale import scaled


@pytest.mark.parametrize(
    ("text", "kind", "wanted"),
    [
        ("see https://example.com/a?b=c#d, please", "url", "https://example.com/a?b=c#d"),
        ("write to amira.k@example.org.", "email", "amira.k@example.org"),
        (
            "id 123e4567-e89b-12d3-a456-426614174000 ok",
            "uuid",
            "123e4567-e89b-12d3-a456-426614174000",
        ),
        (
            "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "hash",
            "9fceb02d0ae598e95dc970b74767f19372d61af8",
        ),
        ("fix OPS-4711 first", "ticket", "OPS-4711"),
        ("reservation M05KNL and", "code", "M05KNL"),
        ("use v2.20.0 now", "version", "v2.20.0"),
        ("from 2.19.5 to", "version", "2.19.5"),
        ("at 10.0.0.1:5432!", "address", "10.0.0.1:5432"),
        ("open localhost:8080/", "address", "localhost:8080/"),
        ("edit src/app/main.py:12", "path", "src/app/main.py:12"),
        ("in /etc/hosts.allow.", "path", "/etc/hosts.allow"),
        ("~/notes/today.md", "path", "~/notes/today.md"),
        ("call parse_all_names now", "name", "parse_all_names"),
        ("a NullPointerException", "name", "NullPointerException"),
        ("os.path.join is", "name", "os.path.join"),
        ("run `make-all`", None, None),
        ("run `load()`", "name", "load()"),
        ("on 2026-05-01", "date", "2026-05-01"),
        ("on May 20th, 2024", "date", "May 20th, 2024"),
        ("under 1,250 euros", "amount", "1,250 euros"),
        ("costs $99.50.", "amount", "$99.50"),
        ("waits 30 ms", "amount", "30 ms"),
        ("改到端口5432，更新", "reference", "端口5432"),
        ("不要超过800元。", "amount", "800元"),
        ("订5月20日的票", "date", "5月20日"),
        ("等3小时", "amount", "3小时"),
        ("order SO-20251103-778.", "ticket", "SO-20251103-778"),
        ("订单号是 SO-20251103-778，请跟进", "ticket", "SO-20251103-778"),
        ("with gpt-4o today", "id", "gpt-4o"),
        ("user amelia_rossi_1297", "id", "amelia_rossi_1297"),
        ("call +351 21 1000013 now", "phone", "+351 21 1000013"),
        ("ring +1 (415) 555-0199.", "phone", "+1 (415) 555-0199"),
        ("ring (415) 555-0199 or", "phone", "(415) 555-0199"),
        ("电话138 1234 5678，谢谢", "phone", "138 1234 5678"),
        ("座机021-12345678。", "phone", "021-12345678"),
        ("born on 14 March 2019", "date", "14 March 2019"),
        ("生日是2019年3月14日。", "date", "2019年3月14日"),
        ("看一下src/网关/main.py的日志在/var/log/app.log里", "path", "/var/log/app.log"),
    ],
)
def test_identifiers_of_every_kind_are_found(
    text: str, kind: str | None, wanted: str | None
) -> None:
    found = {string: named for string, named, _ in identifiers_in(text)}
    if wanted is None:
        assert not found
    else:
        assert found.get(wanted) == kind


@pytest.mark.parametrize(
    "text",
    [
        "and/or",
        "e.g. this",
        "Hello there.",
        "it's 3 o'clock",
        "yes/no",
        "你好，世界",
        "…",
        "a.m. or p.m.",
        "in 2019",
        "2019年的事",
        "the issue\n3 times",
        "a mid-1990s song, 20-year-old",
        "[result cleared: 4,000 characters; expand e000047]",
        "[… 9,000 of 9,500 characters are not shown; the whole text: expand 0a1b2c3d4e5f6071]",
    ],
)
def test_ordinary_words_are_no_identifiers(text: str) -> None:
    assert identifiers_in(text) == []


@given(st.text(max_size=400))
@settings(max_examples=scaled(150))
def test_what_is_found_stands_in_the_text(text: str) -> None:
    for string, _, _ in identifiers_in(text):
        assert string in text


@pytest.mark.parametrize(
    "piece",
    ["a/", "a.", "A1", "_a", "1,", "a@", "-", "http://", "a.b/", "`a", "+1", "+111 1(", "A-1-"],
)
def test_a_long_text_of_one_pattern_is_read_in_linear_time(piece: str) -> None:
    assert len(identifiers_in(piece * (200_000 // len(piece)))) < 20_000


def test_the_users_own_come_first_then_the_assistants_then_those_of_tools() -> None:
    result = ToolResult(call_id="x", content=(Text(text="AAA-1 DDD-4 " * 9),))
    transcript = Transcript(
        [
            Message.of("user", "Take CCC-3."),
            Message.of("assistant", "I take BBB-2."),
            Message(role="tool", parts=(result,)),
        ]
    )
    found = required_identifiers(group_blocks(transcript.blocks), 3)
    assert [each.text for each in found] == ["CCC-3", "BBB-2", "DDD-4"] or [
        each.text for each in found
    ] == ["CCC-3", "BBB-2", "AAA-1"]
    assert found[0].sources == ("e000000",)


def test_recent_ones_come_before_old_ones_and_frequent_before_rare() -> None:
    transcript = Transcript([Message.of("assistant", f"Now at OPS-{n}.") for n in range(100, 150)])
    newest = required_identifiers(group_blocks(transcript.blocks), 1)
    assert newest[0].text == "OPS-149"
    transcript.say([Message.of("assistant", "OPS-7.")] * 5)
    transcript.say([Message.of("assistant", "OPS-8.")])
    most = required_identifiers(group_blocks(transcript.blocks), 1)
    assert most[0].text == "OPS-7"


def test_what_is_still_visible_is_not_at_risk() -> None:
    groups = group_blocks(Transcript([Message.of("user", "See OPS-1 and OPS-2.")]).blocks)
    found = required_identifiers(groups, 5, visible=lambda text: text == "OPS-1")
    assert [each.text for each in found] == ["OPS-2"]


def test_carried_identifiers_fade_when_new_ones_come() -> None:
    carried = [(f"OLD-{n}", ("c1",)) for n in range(100)]
    groups = group_blocks(Transcript(chat(3)).blocks)
    kept = required_identifiers(groups, 20, known=carried)
    assert [each.text for each in kept][:3] == ["OLD-0", "OLD-1", "OLD-2"]
    said = [Message.of("assistant", f"NEW-{n} is done.") for n in range(30)]
    kept = required_identifiers(group_blocks(Transcript(said).blocks), 20, known=carried)
    assert sum(each.text.startswith("NEW") for each in kept) > 10


def test_the_cap_is_kept() -> None:
    transcript = Transcript(m for step in range(50) for m in used_tool(step))
    assert len(required_identifiers(group_blocks(transcript.blocks), 4)) <= 4


def found_in(*messages: Message, cap: int = 20) -> list[str]:
    groups = group_blocks(Transcript(messages).blocks)
    return [each.text for each in required_identifiers(groups, cap)]


def returned(text: str) -> Message:
    return Message(role="tool", parts=(ToolResult(call_id="x", content=(Text(text=text),)),))


def test_a_phone_number_is_whole_or_not_at_all() -> None:
    assert found_in(Message.of("user", "Call +351 21 1000013 or 1000013.")) == ["+351 21 1000013"]
    assert found_in(returned('{"phone": "+351 21 1000013"}')) == ["+351 21 1000013"]


def test_codes_come_before_money_and_counts_whoever_said_these() -> None:
    found = found_in(
        returned("reservation HAT041 at /srv/data/book.csv"),
        Message.of("assistant", "That is $136 and $174 for 3 days, 10% off."),
    )
    assert set(found[:2]) == {"HAT041", "/srv/data/book.csv"}
    said = Message.of("user", "我2019年下的订单号是 SO-20251103-778，花了 800元，2019年的。")
    assert found_in(said) == ["SO-20251103-778", "800元"]


def test_names_of_json_fields_are_left_out_unless_somebody_uses_them() -> None:
    output = returned('{"first_name": "Amelia", "payment_id": "credit_card_4421"}')
    assert found_in(output) == ["credit_card_4421"]
    call = ToolCall(id="c", name="get_user", arguments={"payment_id": "credit_card_4421"})
    calling = Message(role="assistant", parts=(call,))
    assert found_in(output, calling) == ["credit_card_4421"]
    assert "payment_id" in found_in(output, Message.of("user", "What is the payment_id?"))
    assert "first_name" in found_in(output, returned("def greet(first_name): ..."))


def test_our_own_ids_are_no_identifiers() -> None:
    noted = returned("[result cleared: 900 characters; expand e000047]")
    said = Message.of("assistant", "I look at e000047 and at e000000 again, then at OPS-12.")
    assert found_in(noted, said) == ["OPS-12"]


def test_of_two_that_hold_one_another_the_longer_is_told() -> None:
    short = Message.of("user", "Look at src/project/main and at commit e36b4388.")
    long = returned("src/project/main.py e36b4388aebb892c10ed779bafc9c1a07a325b8d")
    assert found_in(short, long) == [
        "e36b4388aebb892c10ed779bafc9c1a07a325b8d",
        "src/project/main.py",
    ]


def test_a_longer_number_does_not_hold_a_shorter_one() -> None:
    assert set(found_in(Message.of("user", "OPS-1 and OPS-12 are open."))) == {"OPS-1", "OPS-12"}


def test_carried_money_fades_before_carried_codes() -> None:
    groups = group_blocks(Transcript(chat(2)).blocks)
    known = [("$136", ("c1",)), ("2019", ("c1",)), ("SO-20251103-778", ("c1",))]
    found = required_identifiers(groups, 20, known=known)
    assert [each.text for each in found][:1] == ["SO-20251103-778"]
    assert "2019" not in [each.text for each in found]
