"""Pieces of Chinese speech: what is said of whom.

A Chinese message is often one fact of twenty characters, half of them naming its subject. So a
message is parted into (subject, value), and values of one subject share a line:
``- W @叔叔刘宇轩: 61岁；生日9月13号；老家山西太原``. Two people of one relation are two subjects
as soon as their names are known, and values with different figures are never taken for one.

Promise: linear, and every value is made of words of its message
(``tests/context/test_extract_chinese.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from holdfast.context.extract.bearers import Bearers
from holdfast.context.extract.heard import Turn
from holdfast.context.extract.packing import Piece
from holdfast.context.extract.scoring import KEEP, bonuses
from holdfast.importance import asks_to_remember, is_constraint
from holdfast.retain import RetainKind
from holdfast.text import cut

__all__ = ["chinese_pieces"]

_RELATION: Final = (
    r"(?:爸爸|妈妈|父亲|母亲|爷爷|奶奶|外公|外婆|姥姥|姥爷|叔叔|婶婶|舅舅|舅妈|姑姑|姑妈|姑父|姨妈|阿姨"
    r"|伯父|伯母|哥哥|姐姐|弟弟|妹妹|表哥|表姐|表弟|表妹|堂哥|堂姐|堂弟|堂妹|老公|老婆|丈夫|妻子|儿子"
    r"|女儿|孩子|男朋友|女朋友|男友|女友|朋友|同事|上司|下属|老板|领导|室友|同学|老师|邻居|客户|爸|妈)"
)
_NAMED: Final = re.compile(
    rf"(?P<name>[\u3400-\u9fffA-Za-z·]{{1,12}})是我的?(?P<who>{_RELATION})[，,]?(?P<value>.*)"
)
_MINE: Final = re.compile(
    rf"我(?:的|家的?|那个|那位|这个|有个|有位|的?一个|的?一位)?(?P<who>{_RELATION})的?(?P<value>.+)"
)
_CALLED: Final = re.compile(
    r"(?:[他她])?(?:的?(?:名字|全名|大名))?(?:就?是|名)?叫?(?:做|作)?(?P<name>[\u3400-\u9fff·]{2,4}|[A-Z]\w+)$"
)
_SAYS_NAME: Final = re.compile(r"叫|名")
_EVENT: Final = re.compile(
    r"我(?:将要?|要|会|打算|准备|报名)(?:去)?参加(?:的)?(?P<who>[^，,。]{2,30})(?:[，,]它的?(?P<value>.+))?"
)
_THING: Final = re.compile(
    r"(?P<who>(?!我|[你您他她它]们?的)[^，,。！？!?的是]{2,24})的(?P<value>[^，,。是]{1,8}是.+)"
)

_OPENING: Final = re.compile(
    r"^(?:我(?![们国校司方军俩辈等])(?:的|觉得|感觉|认为|发现)?|其(?![他它实次余中])|它(?!们)的?"
    r"|哎呀?|嗯|哦|对了|说起来|那个|就是|而且|然后)[，, ]*"
)
_FILLER: Final = re.compile(
    r"(?<!天)真的是?|真心|特别(?!行政|是)|非常(?![规时])|挺(?![身拔立进])|超级(?!市)|(?<!野)蛮|今年"
    r"|[呢啊呀哦嘛吧了的](?=$|[，,；])"
)
# Not where the word before makes one word of it: 不是, 还是, 但是.
_IS: Final = re.compile(
    r"^(?P<what>[^，,。是]{1,8})(?<![不还可但就要只总或于都也像正才算真先])是(?!做)"
)
_SAYS_ITSELF: Final = re.compile(
    r"^(?:年龄|岁数|规模|时间|邮箱地址|邮箱|学历|教育背景|性格)(?:是|为)"
)
_IS_ONE: Final = re.compile(r"^[他她](?!们)(?:是(?:一?[个名位])?|的)?|^是(?!不)(?:一?[个名位])?")
_SHORTER: Final = (
    (re.compile(r"(?<=身高|生日|年龄)(?:就|只|才|都|大概)?(?:是在|[是有在为才就])?(?=0?\d)"), ""),
    (re.compile(r"^(?:都|已经|现在|刚)(?=\d{1,3}岁)"), ""),
    (re.compile(r"^过(?=生日)"), ""),
    (re.compile(r"联系电话|电话号码?|电话(?=是)"), "电话"),
    (re.compile(r"手机号码"), "手机号"),
    (re.compile(r"^(?:他们|她们)?(?=单位|公司)"), ""),
    (re.compile(r"(?<=^单位)[叫是]|(?<=^工作地)[在是]"), ""),
    (re.compile(r"^学历高，[他她]?是个?"), ""),
    (re.compile(r"^特(?=喜欢|爱)"), ""),
)
_CLAUSE: Final = re.compile(r"[，,；;。！!？?\n]+")
_TURN_OF_MIND: Final = re.compile(r"^(?:就是|但是?|不过|如果|要是|只是|可惜|因为|所以)")
_HOLLOW: Final = re.compile(
    r"^(?:不过|但是?)?(?:总的|总体|整体)(?:来说|而言)?$|不太?完美|美中不足"
    r"|有(?:一?点|个)小?(?:问题|遗憾|缺点|不足)|不太?满意的?$"
)
_SCANT: Final = 10
_LONG: Final = 46
_WIDEST: Final = 110

_FACT: Final = re.compile(
    r"\d|[一二两三四五六七八九十百千万]+(?:个|天|周|年|月|人|岁|点|块|元)|叫|岁|生日|电话|邮箱|单位|学历|老家|家乡"
    r"|身高|时间|地点|规模|型号|价格|地址|工作|上班|职位|公司|毕业|专业|住|用的|主要内容|性格|爱好|名字|密码|版本|端口"
)
_LIKING: Final = re.compile(r"喜欢|最?爱|讨厌|不吃|过敏|习惯|受不了|热衷|偏好|对我来说|迷")
_PLAN: Final = re.compile(
    r"将要|打算|准备|计划|报名|预约|下周|明天|下个?月|要去|参加|开始|换了?|搬|买了|去了|刚刚?|因为|为了|由于"
)
_SOCIAL: Final = re.compile(
    r"^(?:你好|您好|谢谢|多谢|哈哈|哎呀|辛苦|再见|好的|嗯|早上好|晚安|没事|不客气|对不起|抱歉|请问|当然|可以)"
)
_DRIFT: Final = re.compile(
    r"天气|听说|不知道|好像|说起来|突然|真想|散步|不清楚|随便|可能吧|有点无聊"
)
_ASKS: Final = re.compile(r"[？?]\s*$|(?:吗|呢|么)[。！!]?\s*$")
_QUESTION: Final = re.compile(r"[？?]\s*$|吗[。！!]?\s*$")
_GO_ON: Final = re.compile(
    r"^(?:好的?|行|那|请|麻烦|嗯|现在|你|[，, ]){0,4}"
    r"(?:继续|接着|重试|下一[步个]|再[试来跑做]|开始(?:执行|运行|做|吧)|执行|运行)[^，,]{0,12}$"
)
_ASKS_WHAT: Final = re.compile(
    r"什么|怎么|哪[里个些儿]|多少|几[点个]|谁|为什么|能不能|可不可以|是不是|要不要"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A value, of whom it is said, and where."""

    who: str
    called: str  # the word it was said with
    value: str
    turn: Turn
    order: int
    worth: float
    must: bool
    kind: RetainKind


def chinese_pieces(turns: Sequence[Turn], *, open_from: int = 0) -> list[Piece]:
    """What could be written of these turns; a repetition adds its source to the first.

    A question to the assistant counts only in turns from the place ``open_from`` on.
    """
    known = _names_of(turns)
    answered = any(turn.role != "user" for turn in turns)  # else these are notes: packed densely
    pieces: list[Piece] = []
    seen: dict[tuple[str, frozenset[str], bool], list[tuple[int, frozenset[str]]]] = {}
    bearers = Bearers()
    named: list[_Said] = []
    for turn in turns:
        for said in _said(turn, known, is_open=turn.place >= open_from):
            if said.who != turn.speaker and _only_names(said):
                named.append(said)  # the line of its bearer says it already
                continue
            alike = seen.setdefault((said.who, *_decisive(said.value)), [])
            same = _same(said.value, alike)
            if same is None:
                alike.append((len(pieces), _pairs(said.value)))
                pieces.append(
                    _piece(said, topical=answered, bearer=bearers.of(said.who, said.value))
                )
            elif turn.entry not in pieces[same].sources:
                pieces[same] = _said_again(pieces[same], said)
    return _with_names(pieces, named, topical=answered)


def _only_names(said: _Said) -> bool:
    """Whether a value is nothing but the name that its subject is called by."""
    name = _name_in(said.value)
    return bool(name) and not said.must and said.who.endswith(name)


def _with_names(pieces: list[Piece], named: Sequence[_Said], *, topical: bool) -> list[Piece]:
    """The pieces, where a name was told cited by the best of its bearer; alone it is one."""
    best: dict[str, int] = {}
    for place, piece in enumerate(pieces):
        if piece.entity not in best or piece.worth > pieces[best[piece.entity]].worth:
            best[piece.entity] = place
    for said in named:
        bearer = best.get(said.who)
        if bearer is None and said.who == said.called:
            continue  # "刘宇轩的名字是刘宇轩"
        if bearer is None:
            best[said.who] = len(pieces)
            pieces.append(_piece(said, topical=topical))
        elif said.turn.entry not in pieces[bearer].sources:
            sources = (*pieces[bearer].sources, said.turn.entry)
            pieces[bearer] = replace(pieces[bearer], sources=sources)
    return pieces


def _said_again(piece: Piece, said: _Said) -> Piece:
    return replace(
        piece,
        sources=(*piece.sources, said.turn.entry),
        worth=min(1.0, piece.worth * 1.3),
        must=piece.must or said.must,
    )


def _piece(said: _Said, *, topical: bool, bearer: int = 0) -> Piece:
    turn = said.turn
    topic: frozenset[str] | None = frozenset((f"{said.who}#{bearer}",))
    if said.who == turn.speaker:
        # What is said of somebody belongs together; what a speaker says on his own does not.
        topic = _topic(said.value) if topical else None
    return Piece(
        text=said.value,
        entity=said.called if bearer else said.who,  # the name is that of the first
        kind=said.kind,
        trust="user" if turn.role == "user" else "agent",
        worth=said.worth,
        sources=(turn.entry,),
        place=turn.place,
        order=said.order,
        at=turn.at,
        must=said.must,
        topic=topic,
    )


_TOPIC: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{2,30}|(?=([\u3400-\u9fff]{2}))")
_COMMON: Final = frozenset("的了是我你他她在和有不就都也一个这那们要会")


def _topic(value: str) -> frozenset[str]:
    """Words that say what a value is about: names, and pairs of characters."""
    found = (one[1] or one[0].lower() for one in _TOPIC.finditer(value))
    return frozenset(word for word in found if word and _COMMON.isdisjoint(word))


# ── of whom ─────────────────────────────────────────────────────────────────────────────────


def _names_of(turns: Sequence[Turn]) -> dict[str, str]:
    """Whom a relation or a name means: ``叔叔`` and ``刘宇轩`` are both ``叔叔刘宇轩``."""
    names: dict[str, set[str]] = {}
    for turn in turns:
        for sentence in _sentences(turn.text):
            who, name = _introduced(sentence)
            if name:
                names.setdefault(who, set()).add(name)
    known: dict[str, str] = {}
    for who, called in names.items():
        for name in called:
            known[name] = f"{who}{name}"
        if len(called) == 1:
            known[who] = f"{who}{next(iter(called))}"
    return known


def _introduced(sentence: str) -> tuple[str, str]:
    if found := _NAMED.match(sentence):
        return found["who"], found["name"]
    if (found := _MINE.match(sentence)) and (name := _name_in(found["value"])):
        return found["who"], name
    return "", ""


def _name_in(value: str) -> str:
    """The name, where a value says nothing but how somebody is called."""
    called = _CALLED.fullmatch(value) if _SAYS_NAME.search(value[:8]) else None
    return called["name"] if called else ""


def _whom(sentence: str, turn: Turn, known: dict[str, str]) -> tuple[str, str]:
    """The word for the subject of a sentence, and what is said of it."""
    if turn.role != "user":
        return turn.speaker, sentence
    if found := _NAMED.match(sentence):
        return found["name"], found["value"] or f"我的{found['who']}"
    if found := _MINE.match(sentence):
        return found["who"], found["value"]
    if found := _EVENT.match(sentence):
        return found["who"], found["value"] or "将参加"
    if found := _THING.match(sentence):
        return found["who"], found["value"]
    for length in (4, 3, 2):  # "刘宇轩在上海工作", once somebody of that name is known
        if sentence[:length] in known and len(sentence) >= length + 3:
            return sentence[:length], sentence[length:].lstrip("的，,")
    return turn.speaker, sentence


# ── what ────────────────────────────────────────────────────────────────────────────────────


def _said(turn: Turn, known: dict[str, str], *, is_open: bool) -> list[_Said]:
    parts = _parts(turn.text)
    bonus_of = bonuses([sentence for sentence, _ in parts], turn)
    found = []
    for order, ((sentence, ending), bonus) in enumerate(zip(parts, bonus_of, strict=True)):
        if turn.in_run and not bonus:
            continue
        must = bonus >= KEEP
        called, said = _whom(sentence, turn, known)
        who = known.get(called, called)
        value = _as_said(sentence) if must else _shorter(said, turn.at.date())
        if who != turn.speaker and not must:
            value = _IS_ONE.sub("", value)
        worth = _worth(sentence + ending, turn, is_open=is_open) + min(0.6, bonus / 5)
        if value and len(value) <= _WIDEST and (must or worth > 0):
            found.append(
                _Said(
                    who=turn.speaker if must else who,
                    called=turn.speaker if must else called,
                    value=value,
                    turn=turn,
                    order=order,
                    worth=max(0.1, min(1.0, worth)),
                    must=must,
                    kind=_kind(sentence, turn),
                )
            )
    return found


def _as_said(sentence: str) -> str:
    return sentence if len(sentence) <= _WIDEST else cut(sentence, _WIDEST - 1) + "…"


_SENTENCE: Final = re.compile(r"([^。！？!?\n]+)([。！？!?]*)")


def _parts(text: str) -> list[tuple[str, str]]:
    """Sentences with their endings; a long telling stays whole, it is shortened as one."""
    found = [(one[1].strip(), one[2]) for one in _SENTENCE.finditer(text) if one[1].strip()]
    if len(text) > 300 or len(found) == 1 or len(text) <= _LONG:
        return found[:60]
    if any(asks_to_remember(one) or is_constraint(one) for one, _ in found):
        return found
    if any(ending[:1] in ("？", "?") for _, ending in found):
        return found
    return [("，".join(one for one, _ in found), "")]


def _sentences(text: str) -> list[str]:
    return [one for one, _ in _parts(text)]


def _shorter(said: str, today: date) -> str:
    said = _OPENING.sub("", said.strip(" 　，,"))
    if len(said) > _LONG:
        said = _first_clauses(said)
    said = _SAYS_ITSELF.sub("", said, count=1) if _SAYS_ITSELF.match(said) else said
    said = _IS.sub(lambda found: found["what"], said, count=1)
    said = _FILLER.sub("", said)
    for longer, shorter in _SHORTER:
        said = longer.sub(shorter, said)
    return _dated(said, today).strip(" 　，,；;、。")


def _first_clauses(said: str) -> str:
    """Of a long telling its first clause, and the one that turns it."""
    clauses = [clause for part in _CLAUSE.split(said) if (clause := part.strip())]
    if not clauses:
        return ""
    first = clauses[0]
    if len(clauses) > 1 and (len(first) < _SCANT or first.endswith("之余")):
        first = f"{first}，{clauses.pop(1)}"
    place = next(
        (n for n, c in enumerate(clauses) if n and len(c) > 5 and _TURN_OF_MIND.match(c)), 0
    )
    turning = clauses[place] if place else ""
    if place and _HOLLOW.search(turning) and place + 1 < len(clauses):
        turning = clauses[place + 1]
    elif place and len(turning) < _SCANT and place + 1 < len(clauses):
        turning = f"{turning}，{clauses[place + 1]}"
    kept = first if not turning else f"{first}，{turning}"
    return kept if len(kept) <= _WIDEST else ""


_DAY: Final = re.compile(
    r"昨天|昨晚|今天|今晚|今早|明天|后天|前天|去年|明年|上个?月|下个?月"
    r"|(?:上上?|下下?|这|本)个?(?:周|星期|礼拜)[一二三四五六日天]"
)
_OFFSETS: Final = {
    "昨天": -1, "昨晚": -1, "今天": 0, "今晚": 0, "今早": 0, "明天": 1, "后天": 2, "前天": -2,
}  # fmt: skip


def _dated(said: str, today: date) -> str:
    return _DAY.sub(lambda found: _date_of(found[0], today), said)


def _date_of(said: str, today: date) -> str:
    if said in _OFFSETS:
        day = today + timedelta(days=_OFFSETS[said])
        part = {"昨晚": "晚上", "今晚": "晚上", "今早": "早上"}.get(said, "")
        return f"{day.year}年{day.month}月{day.day}日{part}"
    if said[-1] in _WEEKDAYS and said[0] in "上下这本":
        return _weekday(said, today)
    if said in ("去年", "明年"):
        return f"{today.year + (1 if said == '明年' else -1)}年"
    month = today.month - 1 + (1 if said.startswith("下") else -1)
    return f"{today.year + month // 12}年{month % 12 + 1}月"


_WEEKDAYS: Final = "一二三四五六日天"


def _weekday(said: str, today: date) -> str:
    """The day of a week counted from this one, which begins on Monday."""
    weeks = said.count("下") - said.count("上")
    place = min(_WEEKDAYS.index(said[-1]), 6)
    day = today + timedelta(days=7 * weeks + place - today.weekday())
    year = f"{day.year}年" if day.year != today.year else ""
    return f"{year}{day.month}月{day.day}日"


# ── how much ────────────────────────────────────────────────────────────────────────────────


def _worth(said: str, turn: Turn, *, is_open: bool) -> float:
    asks = turn.role == "user" and _QUESTION.search(said) is not None
    if (asks and not is_open) or _GO_ON.match(said.rstrip("。！!")):
        return -1.0
    worth = 0.3
    worth += 0.35 if _FACT.search(said) else 0.0
    worth += 0.3 if _LIKING.search(said) else 0.0
    worth += 0.25 if _PLAN.search(said) else 0.0
    worth += 0.1 if "我" in said else 0.0
    if _SOCIAL.match(said):
        worth -= 0.7
    if _DRIFT.search(said):
        worth -= 0.5
    if not asks and (_ASKS.search(said) or _ASKS_WHAT.search(said)):
        worth -= 0.6
    if len(said) < 5:
        worth -= 0.3
    if "规模" in said:
        worth *= 0.8  # says little alone
    if turn.role != "user":
        worth -= 0.2
    return worth


def _kind(said: str, turn: Turn) -> RetainKind:
    if _LIKING.search(said):
        return "O"
    return "W" if turn.role == "user" else "S"


# ── the same again ──────────────────────────────────────────────────────────────────────────

_FIGURES: Final = re.compile(r"[0-9][0-9.:\-]*|[一二两三四五六七八九十百千万]+")
_COMPARED: Final = 400
_DENIES: Final = re.compile(r"不(?!错)|没|别|未|无")
_NUMERALS: Final = str.maketrans("〇零一二两三四五六七八九", "001223456789")


_UNITS: Final = (
    (re.compile(r"厘米|公分|CM"), "cm"),
    (re.compile(r"(?<=\d)号(?!码|楼|线)"), "日"),
    (re.compile(r"(?<!\d)0(?=\d[月日])"), ""),
    (re.compile(r"电话号码?|手机号码?|联系电话|手机"), "电话"),
    (re.compile(r"(?<=[高日龄话址乡])[有在是才为都](?=\d|[a-z]|[\u3400-\u9fff]{2})"), ""),
)


def _plain(value: str) -> str:
    """One spelling of units, dates and what they are said with: for comparison only."""
    for spelt, plainly in _UNITS:
        value = spelt.sub(plainly, value)
    return value


def _same(value: str, alike: Sequence[tuple[int, frozenset[str]]]) -> int | None:
    """The piece that says the same already, among those with the same subject and figures."""
    mine = _pairs(value)
    for place, theirs in alike[:_COMPARED]:
        shared = len(mine & theirs)
        if shared >= 0.75 * len(mine) or shared >= 0.6 * max(len(mine), len(theirs)):
            return place
    return None


def _pairs(value: str) -> frozenset[str]:
    value = _plain(value)
    return frozenset(value[n : n + 2] for n in range(max(1, len(value) - 1)))


def _decisive(value: str) -> tuple[frozenset[str], bool]:
    """What makes two values different however alike they look: a figure, a denial."""
    value = _plain(value)
    figures = frozenset(found.translate(_NUMERALS) for found in _FIGURES.findall(value))
    return figures, _DENIES.search(value) is not None
