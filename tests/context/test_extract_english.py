"""English speech: where clauses end, what they weigh, and what may be left out of them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.extract.clauses import clauses
from holdfast.context.extract.compression import compress, dated
from holdfast.context.extract.heard import Turn
from holdfast.context.extract.scoring import KEEP, Beside, Statistics, bonuses, probability, score
from holdfast.context.extract.words import content_words
from tests.context.heard import START
from tests.scale import scaled

TODAY = date(2023, 5, 8)  # a Monday


def turn(text: str, *, place: int = 0, role: str = "user", speaker: str = "Ann") -> Turn:
    return Turn(
        place=place,
        entry=f"e{place}",
        at=START,
        speaker=speaker,
        role=role,
        text=text,
        in_run=False,
    )


def weight(text: str, *, role: str = "user", speaker: str = "Ann", asked: bool = False) -> float:
    said = turn(text, role=role, speaker=speaker)
    return score(clauses(text)[0], said, 0, Statistics([said, turn("Something else.")]), asked)


def test_sentences_end_at_clauses_that_can_stand_alone() -> None:
    text = "I moved to Boston, and my sister joined a choir - we love the city."
    assert [clause.text for clause in clauses(text)] == [
        "I moved to Boston",
        "and my sister joined a choir",
        "we love the city.",
    ]


def test_a_clause_that_says_too_little_stays_with_its_neighbour() -> None:
    assert [clause.text for clause in clauses("Well, I think the parser is too slow.")] == [
        "Well, I think the parser is too slow."
    ]


def test_a_caption_is_a_clause_of_its_own() -> None:
    found = clauses("Here is my desk. [shares a photo: a photo of a desk]")
    assert [clause.caption for clause in found] == [False, True]


@settings(max_examples=scaled(150))
@given(text=st.text(alphabet=st.sampled_from(list("ab I,.!?;-—\n[]'")), max_size=80))
def test_every_letter_of_a_turn_is_in_exactly_one_clause(text: str) -> None:
    letters = [char for char in text if char.isalpha()]
    found = [char for clause in clauses(text) for char in clause.text if char.isalpha()]
    assert found == letters


def test_content_words_leave_out_what_says_nothing() -> None:
    assert content_words("I really went to the 3 cities with my sisters") == (
        "went", "3", "city", "sister",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I adopted a dog named Rex in March", "That is so nice to hear from you"),
        ("My sister works at a bakery in Lyon", "What does your sister do in Lyon?"),
        ("We moved to Boston last week", "Maybe we might move to Boston"),
        ("I signed up for a pottery class", "See you soon, take care"),
    ],
)
def test_a_fact_about_the_speaker_outweighs_talk(more: str, less: str) -> None:
    assert weight(more) > weight(less)


def test_an_answer_outweighs_the_same_words_unasked() -> None:
    text = "A small bakery in Lyon"
    assert weight(text, asked=True) > weight(text)


def test_of_a_turn_that_says_much_each_clause_tells_less() -> None:
    alone = clauses("I moved to Boston.")
    among = clauses(
        "I moved to Boston. " + "My sister Clara opened a bakery in Lyon in March. " * 4
    )
    said = turn("I moved to Boston.")
    statistics = Statistics([said, turn("Something else.")])
    heard = [score(c[0], said, 0, statistics, False, Beside.of(c)) for c in (alone, among)]
    assert heard[0] > heard[1]


def test_an_assistants_courtesy_is_worth_little() -> None:
    polite = weight("I can help you with the booking today", role="assistant", speaker="assistant")
    assert probability(polite) < probability(weight("I booked the flight HAT136 today"))


def test_an_identifier_of_the_user_counts() -> None:
    assert weight("the reservation is M05KNL") > weight("the reservation is mine now")


def test_rules_requests_and_corrections_are_kept_in_any_case() -> None:
    said = ["Never push to main.", "Remember that I am vegetarian.", "No, that's wrong: it's 5433."]
    assert bonuses(said, turn("")) == [KEEP, KEEP, KEEP]
    assert 0 < bonuses(["We decided to use Postgres."], turn(""))[0] < KEEP
    assert bonuses(["Never push to main."], turn("", role="assistant")) == [0]
    assert bonuses(["The river was calm."], turn("")) == [0]


def test_remember_this_keeps_what_it_points_at() -> None:
    assert bonuses(["Please remember this:", "My code is 4711."], turn("")) == [0, KEEP]
    assert bonuses(["My code is 4711.", "Remember that."], turn("")) == [KEEP, 0]
    assert bonuses(["我的车牌是A123。", "请记住。"], turn("")) == [KEEP, 0]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Hey Mel! I went to a support group.", "went to a support group"),
        ("Thanks, Mel! I'm really swamped with work!", "swamped with work"),
        ("and I just adopted my second dog 🐶!", "adopted second dog"),
        ("I'll visit my aunt", "will visit aunt"),
        ("I was so happy about it", "was happy about it"),
        ("I am not really happy", "not really happy"),
        ("Lots of hiking club friends came", "Lots of hiking club friends came"),
        ("That was all we needed, Melanie.", "That was all we needed"),
        ("I'll let you know how it goes", "will let you know how it goes"),
        ("Let me know what you think", "Let me know what you think"),
        ("wife and I left for our vacation", "wife and I left for our vacation"),
        ("It's pretty much my favorite", "It's pretty much favorite"),
        ("I sent your letter", "sent Melanie's letter"),
    ],
)
def test_what_says_nothing_is_left_out_and_the_rest_still_reads(said: str, written: str) -> None:
    assert compress(said, others=["Melanie"], today=TODAY) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("I adopted a dog and the cat of an uncle", "adopted dog & cat of uncle"),
        ("It was a wonderful day at the lake", "wonderful day at lake"),
        ("That's why I quit the band", "That's why I quit band"),
        ("It was great", "It was great"),
        ("I ran a charity race, it was rewarding", "ran charity race, rewarding"),
        ("I saw a few of the deer twice a week", "saw a few of deer twice a week"),
        ("We saw Simon and Garfunkel in The Hague", "We saw Simon and Garfunkel in The Hague"),
        ('I read "The Old Man and the Sea"', 'read "The Old Man and the Sea"'),
        ("I love dancing with you all so much", "love dancing with you all"),
        ("Plan A and vitamin b", "Plan A and vitamin b"),
    ],
)  # fmt: skip
def test_notes_go_without_articles_but_quotations_names_and_amounts_stay(
    said: str, written: str
) -> None:
    assert compress(said, others=["Melanie"], today=TODAY, terse=True) == written


def test_you_stays_you_where_more_than_two_speak() -> None:
    assert compress("I like you", others=["Ann", "Bob"], today=TODAY) == "like you"


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("went yesterday", "went 7 May 2023"),
        ("saw it last night", "saw it 7 May 2023"),
        ("met today", "met 8 May 2023"),
        ("leave tomorrow", "leave 9 May 2023"),
        ("met last Friday", "met 5 May 2023"),
        ("met last Monday", "met 1 May 2023"),
        ("started last month", "started April 2023"),
        ("starts next month", "starts June 2023"),
        ("moved last year", "moved 2022"),
        ("moved three years ago", "moved in 2020"),
        ("came two days ago", "came 6 May 2023"),
        ("hiked last weekend", "hiked weekend before 8 May 2023"),
        ("would get two turtles today if I could", "would get two turtles today if I could"),
        ("see you next Friday", "see you next Friday"),
        ("read today's paper", "read today's paper"),
    ],
)
def test_days_named_from_today_become_dates(said: str, written: str) -> None:
    assert dated(said, TODAY) == written


@settings(max_examples=scaled(100))
@given(
    words=st.lists(
        st.sampled_from(
            ["I'm", "I", "my", "you", "your", "so", "really", "just", "hey", "Mel", "Melanie", ",",
             ".", "!", "and", "but", "went", "was", "dog", "not", "very", "a", "the", "it's", "too"]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_compression_makes_nothing_longer_and_invents_no_word(words: list[str]) -> None:
    said = " ".join(words)
    written = compress(said, others=["Bo"], today=TODAY)
    known = set(said.lower().replace(",", " ").split()) | {"bo", "bo's", "will", "&"}
    assert set(written.lower().replace(",", " ").split()) <= known
    noted = compress(said, others=["Bo"], today=TODAY, terse=True)
    assert set(noted.lower().replace(",", " ").split()) <= known
    assert len(noted) <= len(written)
    assert compress(said, others=[], today=TODAY).count(" ") <= said.count(" ")
