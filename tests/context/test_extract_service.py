"""Service with tools: of a case its request, changes, refusals and limits; of the talk nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.context.extract import extract
from holdfast.context.extract.asking import request_in
from holdfast.retain import RetainLine, parse, render
from holdfast.types import Message
from tests.context.heard import call, heard, result, talk

CASE = [
    Message.of("user", "Hi there! I need some help with an order."),
    Message.of("assistant", "Of course! Could you please provide your order number?"),
    Message.of("user", "My order number is ORD7731. I'd like to return the blue lamp, please."),
    call(1, "get_order", {"order_id": "ORD7731"}),
    result(1, json.dumps({"order_id": "ORD7731", "user_id": "ann_lee_42", "status": "delivered"})),
    call(2, "get_user", {"user_id": "ann_lee_42"}),
    result(2, json.dumps({"user_id": "ann_lee_42", "name": "Ann Lee", "tier": "gold",
                          "dob": "1990-04-05", "address": "1 Mill Lane"})),
    Message.of("assistant", "I see the blue lamp and the oak table. Shall I return the lamp?"),
    Message.of("user", "Yes, please go ahead. Could you also refund the shipping of $12?"),
    call(3, "return_item", {"order_id": "ORD7731", "user_id": "ann_lee_42",
                            "items": [{"sku": "LAMP-9", "quantity": 1}], "notify": "no"}),
    result(3, json.dumps({"return_id": "RT5580", "refund_amount": 49, "dob": "1990-04-05"})),
    Message.of("assistant", "The return RT5580 is set. Unfortunately, I cannot refund the shipping "
                            "of order ORD7731 because express delivery is not refundable."),
    Message.of("user", "I'm not willing to wait more than 5 days for the money."),
    Message.of("assistant", "You're welcome! Have a great day!"),
    Message.of("user", "Thank you so much for your help!"),
]  # fmt: skip


def of(*messages: Message) -> list[RetainLine]:
    return list(extract(heard(*messages)).lines)


def texts(*messages: Message) -> list[str]:
    return [line.text for line in of(*messages)]


def test_a_case_leaves_request_change_refusal_limit_and_who_it_was() -> None:
    found = {(line.kind, line.trust, line.text) for line in of(*CASE)}
    assert found == {
        ("S", "user", "asked: return the blue lamp; refund the shipping of $12"),
        ("B", "tool", "return item: order_id ORD7731, items LAMP-9 1 "
                      "→ return_id RT5580, refund_amount 49"),
        ("B", "tool", "refused: I cannot refund the shipping of order ORD7731 because express "
                      "delivery is not refundable"),
        ("O", "user", "I'm not willing to wait more than 5 days for the money"),
        ("W", "tool", "Ann Lee, tier gold"),
    }  # fmt: skip
    assert {line.entity for line in of(*CASE)} == {"ann_lee_42"}


def test_every_line_cites_where_it_was_said_or_done() -> None:
    by_text = {line.text.split(":")[0]: line.sources for line in of(*CASE)}
    assert by_text["asked"] == ("e2", "e8")
    assert by_text["return item"] == ("e9", "e10")
    assert by_text["refused"] == ("e11",)


def test_private_fields_of_records_are_left_out() -> None:
    written = " ".join(texts(*CASE))
    assert "1990" not in written
    assert "Mill Lane" not in written


def test_a_payment_made_before_is_not_told_of_what_came_after() -> None:
    paid = json.dumps({"booking_id": "BK2201", "payments": [{"id": "card_9", "amount": 300}]})
    lines = texts(
        Message.of("user", "Please move booking BK2201 to business class and add two bags."),
        call(1, "update_cabin", {"booking_id": "BK2201", "payment_id": "card_9"}),
        result(1, paid),
        call(2, "update_bags", {"booking_id": "BK2201", "payment_id": "card_9", "bags": 2}),
        result(2, paid),
    )
    ended = " → payments card_9 300"
    assert f"update cabin: booking_id BK2201, payment_id card_9{ended}" in lines
    assert "update bags: booking_id BK2201, payment_id card_9, bags 2 → done" in lines


def test_a_refusal_is_not_shortened_in_its_middle() -> None:
    said = "The warranty covers the lamp but it does not cover the broken shade of order ORD7731."
    assert f"refused: {said[:-1]}" in texts(*CASE[:5], Message.of("assistant", said))


def test_that_nothing_was_changed_is_told() -> None:
    lines = texts(
        Message.of("user", "I'd like to move my appointment AP1234 to Friday."),
        call(1, "get_appointment", {"appointment_id": "AP1234"}),
        result(1, "{}"),
        Message.of("assistant", "There is nothing free on Friday."),
        Message.of("user", "Okay, thanks."),
    )
    assert lines == ["asked: move my appointment AP1234 to Friday → nothing changed"]


def test_a_refusal_that_points_back_brings_what_it_points_at() -> None:
    lines = texts(
        Message.of("user", "Please cancel booking BK2201."),
        call(1, "get_booking", {"booking_id": "BK2201"}),
        result(1, "{}"),
        Message.of("assistant", "Booking BK2201 is a saver fare. It cannot be cancelled online."),
    )
    assert "refused: Booking BK2201 is a saver fare; It cannot be cancelled online" in lines


def test_a_refusal_without_its_matter_gets_the_only_one_looked_up() -> None:
    (refused,) = [
        line
        for line in of(
            Message.of("user", "Please cancel my booking."),
            call(1, "get_booking", {"booking_id": "BK2201"}),
            result(1, "{}"),
            Message.of("assistant", "I'm unable to cancel saver fares after departure."),
        )
        if line.text.startswith("refused")
    ]
    assert refused.text == "refused: I'm unable to cancel saver fares after departure (BK2201)"
    assert refused.sources == ("e3", "e1", "e2")


@pytest.mark.parametrize(
    "said",
    [
        "I'm unable to find your booking without the booking number.",
        "Note that origin and destination cannot be changed.",
        "Saver fares cannot be changed.",
        "If you cannot find it, would you like me to search?",
    ],
)
def test_offers_lookups_and_policies_restated_are_no_refusals(said: str) -> None:
    lines = texts(
        Message.of("user", "Please move my trip to Oslo on 3 June."),
        Message.of("assistant", f"Please provide your booking number. {said}"),
    )
    assert not any(line.startswith("refused") for line in lines)


def test_haggling_after_the_last_lookup_belongs_to_the_case() -> None:
    haggling = [
        message
        for n in range(7)
        for message in (
            Message.of("user", f"I'd like at least {n}0 percent of the price of the lamp back."),
            Message.of("assistant", "I understand your frustration, but our terms are fixed."),
        )
    ]
    lines = of(*CASE[:7], *haggling)
    assert {line.entity for line in lines} == {"ann_lee_42"}
    assert not any("fixed" in line.text or "frustration" in line.text for line in lines)


def test_a_case_that_was_handed_on_says_why() -> None:
    lines = of(
        Message.of("user", "I want a refund for invoice INV-2024-07."),
        call(1, "transfer_to_human", {"customer_id": "c77", "summary": "Wants INV-2024-07 back."}),
        result(1, "ok"),
    )
    assert ("c77", "transfer to human: Wants INV-2024-07 back.") in {
        (line.entity, line.text) for line in lines
    }


def test_another_customer_is_another_case() -> None:
    def case(number: int) -> list[Message]:
        return [
            Message.of("user", f"I'd like to cancel order ORD{number}00."),
            call(number, "cancel_order", {"order_id": f"ORD{number}00", "user_id": f"u{number}"}),
            result(number, "ok"),
            Message.of("assistant", "Done."),
        ]

    found = of(*case(1), *case(2))
    assert {line.entity for line in found} == {"u1", "u2"}
    for line in found:
        assert f"ORD{(line.entity or '')[1:]}00" in line.text


def test_a_long_case_keeps_every_change_within_its_lines() -> None:
    messages = []
    for n in range(60):
        messages += [
            Message.of("user", f"Please cancel order ORD{n:04d} too."),
            call(n, "cancel_order", {"order_id": f"ORD{n:04d}", "user_id": "u1"}),
            result(n, "ok"),
            Message.of("assistant", "It is cancelled. Anything else I can do for you today?"),
        ]
    lines = extract(heard(*messages), max_lines=40).lines
    assert len(lines) <= 40
    assert sum(line.text.startswith("cancel order") for line in lines) >= 10


def test_rules_and_requests_to_remember_are_kept_as_said() -> None:
    lines = texts(*CASE[:3], Message.of("user", "Remember that I am deaf, never call me by phone."))
    assert "Remember that I am deaf, never call me by phone" in lines


def test_a_chat_with_an_assistant_that_looks_up_nothing_is_no_case() -> None:
    said = [("user", "I adopted a dog named Rex in March."), ("assistant", "How lovely!")]
    lines = [line.text for line in extract(talk(*said), share=1.0).lines]
    assert any("Rex" in text for text in lines)
    assert not any(text.startswith("asked") for text in lines)


def test_a_long_talk_in_which_one_order_is_looked_up_stays_a_talk() -> None:
    said = [
        f"I moved to Oslo number {n} in March and adopted a dog named Rex{n}." for n in range(40)
    ]
    talked = [
        m for text in said for m in (Message.of("user", text), Message.of("assistant", "I see."))
    ]
    looked = [
        Message.of("user", "Please cancel order ORD7731."),
        call(1, "cancel_order", {"order_id": "ORD7731"}),
        result(1, "ok"),
    ]
    lines = extract(heard(*talked[:40], *looked, *talked[40:]), share=1.0, max_lines=200).lines
    assert any("cancel order" in line.text for line in lines)
    kept = " ".join(line.text for line in lines)
    assert sum(f"Rex{n} " in f"{kept} ".replace(";", " ") for n in range(40)) >= 25


def test_people_with_names_talk_even_beside_records() -> None:
    names = {"user": "Ann", "assistant": "Ben"}
    said = [("user", "I adopted a dog named Rex in March."),
            ("assistant", "Could you give me your order number?")]  # fmt: skip
    lines = extract(talk(*said, speakers=names), share=1.0).lines
    assert {line.entity for line in lines} <= {"Ann", "Ben"}


ZH_CASE = [
    Message.of("user", "你好，我要退掉昨天买的台灯，订单号是SO20251103。"),
    Message.of("assistant", "您好，请提供您的会员号。"),
    Message.of("user", "会员号是VIP8812。"),
    call(1, "cancel_order", {"order_id": "SO20251103", "user_id": "VIP8812"}),
    result(1, json.dumps({"refund_id": "RF77", "refund_amount": 129}, ensure_ascii=False)),
    Message.of("assistant", "好的，已为您退货。抱歉，订单SO20251103的运费12元无法退还。"),
    Message.of("user", "好的，谢谢。下次预算最多200元，我不要塑料的。"),
    Message.of("assistant", "好的，祝您生活愉快！"),
]


def test_service_in_chinese_leaves_the_same_lines() -> None:
    found = {(line.kind, line.trust, line.entity, line.text) for line in of(*ZH_CASE)}
    assert found >= {
        ("B", "tool", "VIP8812", "cancel order: order_id SO20251103 → refund_id RF77, "
                                 "refund_amount 129"),
        ("B", "agent", "VIP8812", "拒绝：订单SO20251103的运费12元无法退还"),
    }  # fmt: skip
    assert any(kind == "S" and text.startswith("提出：") and "台灯" in text
               for kind, _, _, text in found)  # fmt: skip
    assert any("预算最多200元" in text for _, _, _, text in found)
    assert not any("祝您" in text or "请提供" in text for _, _, _, text in found)


@pytest.mark.parametrize(
    ("sentence", "request_"),
    [
        ("Hi! I'd like to book a flight to Oslo on 3 June, please.",
         "book a flight to Oslo on 3 June"),
        ("Yes, can you help me with changing order A77B2?", "changing order A77B2"),
        ("How much is the upgrade to the Ocean room?", "How much is the upgrade to the Ocean room"),
        ("My parcel PK9917 never arrived.", "My parcel PK9917 never arrived"),
        ("No refund was paid for the broken vase.", "No refund was paid for the broken vase"),
        ("我想把明天的预约改到周五下午。", "明天的预约改到周五下午"),
        ("行李箱在路上被摔坏了", "行李箱在路上被摔坏了"),
        ("东西一直没有发货，我想把订单SO7731退掉。", "订单SO7731退掉"),
        ("Yes, please proceed with that.", ""),
        ("I need some help with my booking.", ""),
        ("My user ID is ann_lee_42.", ""),
        ("Could I speak to a supervisor?", ""),
        ("Thank you so much for your help!", ""),
        ("好的，谢谢。", ""),
    ],
)  # fmt: skip
def test_a_request_is_what_is_left_without_the_asking(sentence: str, request_: str) -> None:
    assert request_in(sentence) == request_


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=80)), max_size=8)
)
def test_whatever_is_said_in_a_case_lines_are_lines_and_requests_are_quoted(
    said: list[tuple[str, str]],
) -> None:
    spoken = [Message.of(role, text) for role, text in said if text]
    found = extract(heard(*CASE[:4], *spoken))
    assert all(parse(render(line)) == line for line in found.lines)
    for role, text in said:
        if role == "user":
            assert request_in(text) in text.replace("’", "'")
