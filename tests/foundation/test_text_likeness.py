"""Likeness: what must not be confused is never called the same, in English and in Chinese."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text import Marks, marks, same_marks, says_no_more, similarity, terms
from holdfast.text.likeness import true_within
from tests.scale import scaled

_EN = [
    "{name} will fly to {place} on {day} at {time} with flight {code}.",
    "{name} pays {money} a month for the flat in {place} and {no}likes the view.",
    "The database of {name} listens on {ip}:{port} and {no}accepts more than {n} clients.",
    "Since {date} {name} does {no}eat meat, says {other}.",
    "{name} prefers {place} over {city} in {month}, but {no}in winter.",
    "The password file of {other} is {path}; it is {no}encrypted with version {version}.",
    "In the meeting {other} told {name} that {n} of {m} tests {no}pass on {day}.",
    "build {hash} of the project is {no}ready, {percent} of it was written by {name}",
]
_ZH = [
    "{zname}{zno}喜欢{zplace}，{zday}{ztime}坐{code}去。",
    "{zname}每月付{n}元房租，{zno}包括水电，住在{zplace}。",
    "数据库的地址是{ip}，端口{port}，{zname}{zno}能登录。",
    "{zname}和{zother}{zday}{zno}去{zplace}开会，会议在{ztime}开始。",
    "{zother}说{zname}有{zn}个孩子，{zno}住在{zplace}。",
    "版本{version}{zno}可以用，{zname}在{date}安装到{path}。",
]
_NAMES = ["Peter", "Anna", "Wei", "Tomás", "Ngozi", "Иван", "Zoë", "Mark", "Li", "O'Brien"]
_VALUES: dict[str, list[str]] = {
    "name": _NAMES,
    "other": _NAMES,
    "place": ["Rome", "Marrakech", "Oslo", "Kyoto", "Paris", "Lima"],
    "city": ["Bern", "Delhi", "Turin", "Accra"],
    "day": ["Monday", "Tuesday", "Friday", "tomorrow", "Sunday"],
    "month": ["May", "June", "July", "March", "October"],
    "time": ["14:05", "14:50", "9:15", "noon", "3pm", "3am"],
    "money": ["$500", "€500", "$505", "1,200 EUR", "1,210 EUR", "500 USD"],
    "ip": ["10.0.0.1", "10.0.0.2", "10.0.1.1"],
    "port": ["5432", "5433", "8080"],
    "n": ["3", "4", "13", "31", "two", "nineteen", "twelve"],
    "m": ["40", "41", "14"],
    "date": ["2026-03-04", "2026-04-03", "2025-03-04"],
    "path": ["/etc/app.conf", "/etc/App.conf", "~/a_b.txt", "~/a_c.txt", "C:\\x\\y"],
    "version": ["1.2.3", "1.2.4", "v2", "2.1"],
    "hash": ["3e83954", "3e83955", "9cc1e76"],
    "percent": ["3.5k", "50%", "55%", "0.5"],
    "code": ["KL1234", "KL1243", "BA7"],
    "no": ["", "not ", "never ", "no longer "],
    "zname": ["王芳", "李芳", "王方", "小明", "欧阳娜", "老张"],
    "zother": ["陈工", "赵六", "小红", "李雷"],
    "zplace": ["上海", "北京", "成都", "京都"],
    "zday": ["今天", "明天", "后天", "周一", "周二", "三月三日", "三月四日"],
    "ztime": ["三点", "四点", "下午三点", "14点05分", "14点50分"],
    "zn": ["三", "四", "两", "十三"],
    "zno": ["", "不", "没", "从不"],
}
_SLOT = re.compile(r"\{(\w+)\}")


def _mutations(template: str, choose: random.Random) -> list[tuple[str, str]]:
    """The template filled once, next to the same with one slot filled otherwise."""
    slots = _SLOT.findall(template)
    chosen = {slot: choose.choice(_VALUES[slot]) for slot in slots}
    pairs = []
    for slot in slots:
        for other in _VALUES[slot]:
            if other != chosen[slot]:
                pairs.append((template.format(**chosen), template.format(**chosen | {slot: other})))
    return pairs


def test_one_digit_one_negation_or_one_name_is_never_overlooked() -> None:
    choose = random.Random(4)
    pairs = [
        pair
        for template, _ in product([*_EN, *_ZH], range(scaled(8)))
        for pair in _mutations(template, choose)
    ]
    assert len(pairs) >= 2_000
    overlooked = [pair for pair in pairs if same_marks(*pair)]
    assert overlooked == []


@settings(max_examples=scaled(200))
@given(data=st.data())
def test_any_digit_of_any_statement_counts(data: st.DataObject) -> None:
    template = data.draw(st.sampled_from([*_EN, *_ZH]))
    slots = _SLOT.findall(template)
    text = template.format(**{s: data.draw(st.sampled_from(_VALUES[s])) for s in slots})
    digits = [found.start() for found in re.finditer(r"\d", text)]
    if not digits:
        return
    at = data.draw(st.sampled_from(digits))
    changed = text[:at] + str((int(text[at]) + data.draw(st.integers(1, 9))) % 10) + text[at + 1 :]
    assert not same_marks(text, changed)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("flight at 14:05", "flight at 14:50"),
        ("host 10.0.0.1", "host 10.0.0.2"),
        ("喜欢猫", "不喜欢猫"),
        ("喜欢猫", "讨厌猫"),
        ("有孩子", "没有孩子"),
        ("可以进来", "不可以进来"),
        ("价格增加", "价格减少"),
        ("她住在三楼", "她住在四楼"),
        ("likes tea", "dislikes tea"),
        ("enable the cache", "disable the cache"),
        ("lunch before the talk", "lunch after the talk"),
        ("buy the stock", "sell the stock"),
        ("the switch is on", "the switch is off"),
        ("he may come", "he must come"),
        ("he wants to come", "he has to come"),
        ("she can't come", "she can come"),
        ("the key is valid", "the key is invalid"),
        ("he is happy there", "he is unhappy there"),
        ("they live in Rome", "they lived in Rome"),
        ("he is in Rome", "he was in Rome"),
        ("costs 5 km", "costs 5 miles"),
        ("costs 500 dollars", "costs 500 euros"),
        ("Alice owes Bob money", "Bob owes Alice money"),
        ("from 10 to 20", "from 20 to 10"),
        ("run it with --force", "run it with --no-force"),
        ("call getUser first", "call getUsers first"),
        ("see `a b`", "see `a c`"),
        ('the band "blue sky"', 'the band "blue sea"'),
        ("ask @ann", "ask @anna"),
        ("mail a@b.example", "mail a@c.example"),
        ("see https://x.example/A", "see https://x.example/a"),
        ("great 👍", "great 👎"),
        ("a > b", "a < b"),
        ("5 degrees", "-5 degrees"),
        ("he moved to Rome.", "he moved to Rome?"),
        ("数据库用 redis", "数据库用 mysql"),
        ("all tests pass", "some tests pass"),
        ("no longer at Acme", "at Acme"),
        ("서울에 산다", "부산에 산다"),
        ("他在公司", "她在公司"),
    ],
)  # fmt: skip
def test_what_must_not_be_confused_is_not(one: str, other: str) -> None:
    assert not same_marks(one, other)
    assert not same_marks(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Prefers short replies", "prefers short replies."),
        ("He cannot go to Rome", "He can't go to Rome"),
        ("He doesn't like tea", "he does not like the tea"),
        ("two cats on Monday", "2 cats on monday"),
        ("costs 1,000 euros", "costs 1000 euros"),
        ("wi\u200bth Anna in Rome", "with Anna in Rome"),
        ("flight KL1234", "ｆｌｉｇｈｔ KL1234"),
        ("他喜欢安静的地方", "他很喜欢安静的地方。"),
        ("会议在３点", "会议在3点"),
    ],
)
def test_what_only_reads_differently_is_the_same(one: str, other: str) -> None:
    assert same_marks(one, other)


@settings(max_examples=scaled(200))
@given(one=st.text(max_size=60), other=st.text(max_size=60))
def test_similarity_is_symmetric_and_between_nothing_and_all(one: str, other: str) -> None:
    assert similarity(one, other) == similarity(other, one)
    assert 0.0 <= similarity(one, other) <= 1.0
    assert same_marks(one, other) == same_marks(other, one)
    assert same_marks(one, one)
    assert says_no_more(one, one)
    assert similarity(one, one) == (1.0 if one.strip() and terms(one) else similarity(one, one))


def test_equal_texts_are_wholly_alike_whatever_they_are_made_of() -> None:
    for text in ("to be or not to be", "it is", "猫", "👍", "Peter lives in Rome"):
        assert similarity(text, text) == 1.0
    assert similarity("", "") == 0.0
    assert similarity("Peter lives in Rome", "cats and dogs") == 0.0


def test_words_are_compared_by_their_stems_and_chinese_by_pairs() -> None:
    assert terms("The dogs preferred moving houses") == terms("a dog prefers to move the house")
    assert terms("上海很大 a 我") == ("上海", "海很", "很大", "我")
    assert terms("see src/app.py at 10.0.0.1") == ("see", "src/app.py", "10.0.0.1")


def test_marks_are_sorted_by_what_they_mark() -> None:
    found = marks("Meet @bob and Anna on Friday at 15:30, not in `run me`: port 5432, see a/b.py")
    assert found == Marks(
        numbers=frozenset({"15:30", "5432"}),
        dates=frozenset({"fri", "15:30"}),
        identifiers=frozenset({"run me", "a/b.py"}),
        names=frozenset({"bob", "anna", "meet"}),
        negations=1,
    )
    chinese = marks("李雷明天三点不去，叫小明")
    assert (chinese.dates, chinese.negations) == (frozenset({"明天", "三点"}), 1)
    assert "李雷" in chinese.names


def test_a_statement_that_adds_a_word_says_more() -> None:
    assert says_no_more("Prefers short replies", "prefers the really short replies.")
    assert not says_no_more("Prefers short replies with jokes", "Prefers short replies")
    assert not says_no_more("The car home opens", "The caring home opens")
    assert not says_no_more("Anna has a dog", "Anna is a dog")
    assert not says_no_more("man bites dog", "dog bites man")
    assert not says_no_more("他喜欢狗和猫", "他喜欢猫")


def test_a_statement_inside_another_one_is_not_said_by_it() -> None:
    """What is doubted, reported or done by an assistant is another statement."""
    for known, new in (
        ("The doctor doubts the patient tolerates codeine", "The patient tolerates codeine"),
        ("The manager's assistant approves travel", "The manager approves travel"),
        ("Prefers short replies in chats", "Prefers short replies"),
        ("医生怀疑病人能吃青霉素", "病人能吃青霉素"),
    ):
        assert not says_no_more(new, known)
        assert not says_no_more(known, new)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The laser runs at 5 mW", "The laser runs at 5 MW"),
        ("The laser runs at 5mW", "The laser runs at 5MW"),
        ("The link has 100 Mb", "The link has 100 MB"),
        ("The link has 100 Mb/s", "The link has 100 MB/s"),
        ("The factor is 2⁵", "The factor is 25"),
        ("There are 10² items left", "There are 102 items left"),
        ("It is log₂8", "It is log28"),
        ("The key is `aBcD`", "The key is `ABCD`"),
        ('The word is "aBcD"', 'The word is "ABCD"'),
        ("Branch is Fix-A", "Branch is fix-a"),
        ("She has Polish shoes", "She has polish shoes"),
        ("The variable is n", "The variable is N"),
        ("Send it to US", "Send it to us"),
        ("请王芳参加", "王芳参加"),
        ("这是他的", "这是他"),
        ("他很可能来", "他可能来"),
    ],
)
def test_case_and_height_count_where_they_mean_something(one: str, other: str) -> None:
    assert not same_marks(one, other)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("Dentist appointment tomorrow at 9", "day"),
        ("Meets Anna next week", "day"),
        ("Leaves in two hours", "day"),
        ("Meeting on Friday", "day"),
        ("明天下午三点开会", "day"),
        ("下周去上海", "day"),
        ("三天后出发", "day"),
        ("Flies to Lisbon on 3 May", "year"),
        ("五月三日去上海", "year"),
        ("Flies to Lisbon in May 2026", None),
        ("The backup runs every Friday", None),
        ("每周五备份", None),
        ("Drinks tea in the morning", None),
        ("Her last name is Silva", None),
        ("Lives in Rome since 2020-01-01", None),
        ("2026年五月三日去上海", None),
    ],
)
def test_words_that_mean_another_time_on_another_day_are_known(text: str, span: str | None) -> None:
    assert true_within(text) == span


def test_a_megabyte_is_read_in_one_pass() -> None:
    size = scaled(20_000)
    for part in ("a", "a-", "'", '"', "1,", "王", "`", "'a ", "no ", "“"):
        text = part * size
        assert same_marks(text, text + "")
        assert isinstance(terms(text), tuple)
        assert true_within(text) is None
