"""Conversations: what is written of them, with which sources and trust, and within which bounds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.extract import extract, key_clauses
from holdfast.context.extract.packing import Packing, Piece, pack
from holdfast.retain import parse, render
from holdfast.types import Image, Message
from tests.context.heard import START, call, heard, result, talk
from tests.scale import scaled

FRIENDS = talk(
    ("user", "Hey Bob! Good to see you! How have you been?"),
    ("assistant", "Hi Ann! I lost my job at the bank yesterday, so I'm starting a dance studio."),
    ("user", "Oh no, sorry to hear that. I adopted a dog named Rex last month."),
    ("assistant", "Wow, that's great!"),
    ("user", "My sister Clara moved to Boston because she works at a bakery there. Bye!"),
    speakers={"user": "Ann", "assistant": "Bob"},
)


def test_facts_are_written_by_speaker_with_their_sources() -> None:
    lines = extract(FRIENDS, share=0.6).lines
    ann = " ".join(line.text for line in lines if line.entity == "Ann")
    bob = " ".join(line.text for line in lines if line.entity == "Bob")
    assert "adopted dog named Rex April 2025" in ann
    assert "sister Clara moved to Boston" in ann
    assert "lost job at bank 13 May 2025" in bob
    assert {s for line in lines if line.entity == "Ann" for s in line.sources} == {"e2", "e4"}
    assert all(line.observed is not None for line in lines)


def test_greetings_are_not_written() -> None:
    text = " ".join(line.text for line in extract(FRIENDS, share=0.6).lines).lower()
    for greeting in ("good to see", "how have you", "wow", "bye", "hey", "sorry"):
        assert greeting not in text


def test_small_talk_alone_gives_nothing_and_is_read() -> None:
    found = extract(talk(("user", "Hi!"), ("assistant", "Hello! How can I help?"), ("user", "ok")))
    assert found.lines == ()
    assert found.read == ("e0", "e1", "e2")


@pytest.mark.parametrize(
    "said",
    ["Remember that my locker code is 4711.", "Never deploy on a Friday.",
     "No, that's wrong: the port is 5433.", "Please don't use tabs in this project."],
)  # fmt: skip
def test_rules_corrections_and_requests_are_written_whatever_the_share(said: str) -> None:
    chatter = [("assistant", "The river was calm and the weather mild in those days.")] * 3
    found = extract(talk(*chatter, ("user", said), *chatter), share=0.01).lines
    assert any("e3" in line.sources for line in found)


def test_a_long_request_to_remember_is_kept_too() -> None:
    for long in ("Remember that " + "the locker of the blue team near the river is open and " * 8,
                 "记住" + "蓝队靠河边的储物柜一直是开着的而且钥匙在前台" * 8):  # fmt: skip
        found = extract(talk(("user", long))).lines
        assert len(found) == 1
        assert found[0].text.endswith("…")


def test_a_word_said_to_say_something_is_no_memory() -> None:
    said = talk(
        ("user", "I adopted a dog named Rex in March. His vet is in Lyon."),
        ("assistant", "Woohoo! Great news, Ann!"),
        ("user", "Agreed, Bob! Long time no see. Take care!"),
        ("assistant", "No worries, Ann. Stay safe!"),
        speakers={"user": "Ann", "assistant": "Bob"},
    )
    assert {source for line in extract(said, share=1.0).lines for source in line.sources} == {"e0"}


def test_what_must_be_kept_is_kept_as_it_was_said() -> None:
    said = talk(("user", "Never use the old key in an export and a backup."))
    assert [line.text for line in extract(said).lines] == [
        "Never use the old key in an export and a backup"
    ]


def test_the_question_left_open_at_the_end_is_kept() -> None:
    said = talk(
        ("user", "I moved the billing service to Frankfurt in March."),
        ("assistant", "Noted, the billing service is in Frankfurt."),
        ("user", "Which subnet should the payments database use?"),
    )
    assert any("subnet" in clause.text for clause in key_clauses(said, 5))


@pytest.mark.parametrize(
    "asked",
    [
        "What did Joanna say about Kyoto?",
        "What did Joanna say about Kyoto, and when did she visit the old temple there?",
        "Can you tell me more about Kyoto?",
    ],
)
def test_a_question_that_was_answered_is_no_memory(asked: str) -> None:
    said = talk(
        ("user", "I moved the billing service to Frankfurt in March."),
        ("assistant", "Noted."),
        ("user", asked),
        ("assistant", "I do not know yet."),
    )
    assert {source for line in extract(said, share=1.0).lines for source in line.sources} == {"e0"}
    assert any("e2" in line.sources for line in extract(said[:3], share=1.0).lines)


def test_what_is_told_beside_a_question_and_what_a_request_names_is_kept() -> None:
    said = talk(
        ("user", "I live in Boston with my sister Clara, which gym is near us?"),
        ("assistant", "There are several."),
        ("user", "Could you cancel reservation M05KNL for me?"),
        ("assistant", "Done."),
    )
    text = " ".join(line.text for line in extract(said, share=1.0).lines)
    assert "live in Boston with sister Clara" in text
    assert "M05KNL" in text
    assert "gym" not in text


def test_unrelated_facts_told_to_an_assistant_stand_on_their_own_lines() -> None:
    facts = (
        "My daughter's birthday is 14 March 2019.",
        "The order number is SO-20251103-778.",
        "The API endpoint moved to https://api.acme.dev/v3.",
        "My daughter's school is in Pune.",
    )
    said = [turn for fact in facts for turn in (("user", fact), ("assistant", "OK, noted."))]
    said += [("user", f"Continue with step {n}.") for n in range(5)]
    texts = [line.text for line in extract(talk(*said)).lines]
    assert "order number is SO-20251103-778" in texts
    assert "The API endpoint moved to https://api.acme.dev/v3" in texts
    assert "daughter's birthday is 14 March 2019; daughter's school is in Pune" in texts
    assert not any("Continue" in text for text in texts)


def test_the_share_bounds_what_is_written() -> None:
    rng = random.Random(4)
    words = ["I", "my", "sister", "moved", "Boston", "bakery", "March", "dog", "server", "tea"]
    said = [("user", " ".join(rng.choices(words, k=14)) + ".") for _ in range(60)]
    total = sum(len(text) for _, text in said)
    sizes = []
    for share in (0.1, 0.25, 0.5):
        lines = extract(talk(*said), share=share, max_lines=500).lines
        sizes.append(sum(len(render(line).split(" <!--")[0]) + 1 for line in lines))
        assert sizes[-1] <= share * total
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


def test_never_more_lines_than_allowed() -> None:
    rules = [("user", f"Never touch module number{n} without asking Ann first.") for n in range(30)]
    for limit in (1, 3, 10):
        assert len(extract(talk(*rules), max_lines=limit).lines) <= limit


def test_trust_follows_the_support() -> None:
    found = extract(
        heard(
            Message.of("user", "My user id is ann_lee_77 and I want to change my flight."),
            call(1, "get_booking", {"id": "M05KNL"}),
            result(1, '{"booking": "M05KNL", "from": "ATL", "to": "PHL", "seat": "14C"}'),
            Message.of("assistant", "Booking M05KNL goes from ATL to PHL, seat 14C."),
            Message.of("assistant", "Airports in Philadelphia close early during winter storms."),
        ),
        share=1.0,
    )
    trust = {source: line.trust for line in found.lines for source in line.sources}
    assert trust == {"e0": "user", "e3": "tool", "e4": "agent"}


def test_repeated_templates_are_no_memories() -> None:
    template = (
        "Your transfer of funds has been processed by our banking department in Lyon, reference A."
    )
    said = [("assistant", template), ("user", "I sold my old car to Clara in March."),
            ("assistant", template)]  # fmt: skip
    text = " ".join(line.text for line in extract(talk(*said), share=1.0).lines)
    assert "banking department" not in text
    assert "Clara" in text


def test_what_the_user_repeats_is_one_memory_with_both_sources() -> None:
    found = extract(talk(("user", "Never push to main."), ("user", "Never push to main.")))
    assert [line.sources for line in found.lines] == [("e0", "e1")]


def test_redaction_sees_every_line() -> None:
    said = talk(("user", "Remember that my password is hunter2. I live in Boston with Clara."))
    hidden = extract(said, redact=lambda text: text.replace("hunter2", "[secret]"))
    assert any("[secret]" in line.text for line in hidden.lines)
    assert not any("hunter2" in line.text for line in hidden.lines)
    assert extract(said, redact=lambda _: "").lines == ()


def test_a_picture_nobody_can_read_is_not_called_read() -> None:
    picture = Message(role="user", parts=(Image(url="https://example.com/a.png"),))
    assert extract(heard(picture, Message.of("user", "hello"))).read == ("e1",)


def test_mixed_languages_are_read_each_in_its_own_way() -> None:
    found = extract(
        talk(("user", "我叔叔的生日是9月13号。"), ("user", "I adopted a dog named Rex in March.")),
        share=1.0,
    )
    assert {line.text for line in found.lines} == {
        "生日9月13号",
        "adopted dog named Rex in March",
    }


def test_key_clauses_are_ranked_and_limited() -> None:
    said = talk(
        ("user", "I live in Boston with my sister Clara."),
        ("user", "Never deploy on a Friday."),
        ("user", "We decided to use Postgres for the billing service."),
    )
    found = key_clauses(said, 2)
    assert len(found) == 2
    assert found[0].text == "Never deploy on a Friday"
    assert found[0].sources == ("e1",)
    assert [clause.score for clause in found] == sorted((c.score for c in found), reverse=True)


def _piece(n: int, text: str, *, entity: str = "Ann", must: bool = False) -> Piece:
    return Piece(
        text=text, entity=entity, kind="W", trust="user", worth=0.5, sources=(f"e{n}",), place=n,
        order=0, at=START, must=must,
    )  # fmt: skip


def test_a_line_holds_one_speaker_and_near_turns_only() -> None:
    pieces = [
        _piece(0, "a" * 20), _piece(3, "b" * 20), _piece(4, "c" * 20, entity="Bob"),
        _piece(30, "d" * 20),
    ]  # fmt: skip
    lines = pack(pieces, allowed=1000, max_lines=10, packing=Packing())
    assert [[piece.text[0] for piece in line.pieces] for line in lines] == [
        ["a", "b"],
        ["c"],
        ["d"],
    ]


texts = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant", "system", "tool"]),
        st.one_of(
            st.text(max_size=60),
            st.sampled_from(
                ["Never push to main -->", "记住，我叔叔\u202e的生日是9月13号。",
                 "I moved to Rome | x", "# I like\n- W @x: fake <!-- hf {} -->",
                 "I \ud800 won two prizes in May", "```\nx"]
            ),
        ),
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=scaled(80))
@given(said=texts, share=st.floats(0, 1), limit=st.integers(0, 12))
def test_lines_are_single_visible_short_and_cited(
    said: list[tuple[str, str]], share: float, limit: int
) -> None:
    messages = talk(*said)
    found = extract(messages, share=share, max_lines=limit)
    assert found == extract(messages, share=share, max_lines=limit)
    assert len(found.lines) <= limit
    entries = [one.entry for one in messages]
    for line in found.lines:
        written = render(line)
        assert parse(written) == line
        assert len(written.splitlines()) == 1
        assert len(line.text) <= 240
        assert line.sources
        assert set(line.sources) <= set(entries)
