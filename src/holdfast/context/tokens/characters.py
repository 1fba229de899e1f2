"""Which class each character belongs to, for the token estimate.

Classes are cut where tokenizers treat characters differently: script, frequency inside a
script, and kind of symbol. Frequent Han characters and Hangul syllables are a class of their
own because every vocabulary has a token for them, and only for them. Proved by
``tests/context/test_tokens.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

__all__ = ["CLASSES", "class_codes"]

_OTHER: Final = "other"
_ASTRAL: Final = "astral"

# (first code point, class): a class reaches to the next line's first code point.
_RANGES: Final[tuple[tuple[int, str], ...]] = (
    (0x80, "latin_sign"),
    (0xC0, "accent"),
    (0x250, "phonetic"),
    (0x300, "mark"),
    (0x370, "greek"),
    (0x400, "cyrillic"),
    (0x460, "cyrillic_rare"),
    (0x530, "armenian"),
    (0x590, "hebrew_mark"),
    (0x5D0, "hebrew"),
    (0x600, "arabic_mark"),
    (0x620, "arabic"),
    (0x64B, "arabic_mark"),
    (0x66E, "arabic_more"),
    (0x700, _OTHER),
    (0x900, "devanagari"),
    (0x980, "indic"),
    (0xE00, "thai"),
    (0xE80, "mainland"),
    (0xF00, _OTHER),
    (0x1000, "mainland"),
    (0x10A0, "georgian"),
    (0x1100, "jamo"),
    (0x1200, "ethiopic"),
    (0x1400, _OTHER),
    (0x1780, "mainland"),
    (0x1800, _OTHER),
    (0x1C80, _OTHER),
    (0x1D00, "phonetic"),
    (0x1E00, "viet"),
    (0x1F00, "phonetic"),
    (0x2000, "typography"),
    (0x200C, "joiner"),
    (0x200E, "typography"),
    (0x2070, "script_digit"),
    (0x20A0, "letterlike"),
    (0x2190, "arrow"),
    (0x2200, "operator"),
    (0x2300, "technical"),
    (0x2500, "box"),
    (0x25A0, "shape"),
    (0x2600, "dingbat"),
    (0x27C0, "technical"),
    (0x2E80, "han_rare"),
    (0x3000, "cjk_sign"),
    (0x3041, "hiragana"),
    (0x30A0, "katakana"),
    (0x3100, "cjk_rare"),
    (0x3400, "han_rare"),
    (0x4E00, "han_common"),
    (0xA000, _OTHER),
    (0xAC00, "hangul"),
    (0xD7A4, "jamo"),
    (0xD800, _OTHER),
    (0xF900, "han_rare"),
    (0xFB00, "phonetic"),
    (0xFB50, "arabic_rare"),
    (0xFE00, "selector"),
    (0xFE10, _OTHER),
    (0xFE30, "cjk_rare"),
    (0xFE70, "arabic_rare"),
    (0xFF00, "fullwidth"),
    (0xFF5F, "cjk_rare"),
    (0xFFF0, _OTHER),
    (0x10000, _ASTRAL),
    (0x1D400, "math_letter"),
    (0x1D800, _ASTRAL),
    (0x1F000, "emoji"),
    (0x1F1E6, "flag"),
    (0x1F200, "emoji"),
    (0x1F3FB, "skin"),
    (0x1F400, "emoji"),
    (0x1FB00, _ASTRAL),
    (0x20000, "han_astral"),
    (0x30000, _ASTRAL),
)
_STARTS: Final = tuple(start for start, _ in _RANGES)

# The characters that have a token of their own in the smallest vocabulary we know.
_FREQUENT_HAN: Final = frozenset(
    "一万三上下不与专业东两个中串为主么义之也书了事二于五些交产享京人亿今介从他付代以们件价任份企"
    "优会传但位体何余作你使例供価保信修倍值停像元先入全公共关其具内円册再写出击分列则初利别到制前"
    "力功加务动動包化北区十午华单南即历原去县参及友反发取变口只可台右号司合同名后向否含听启告员周"
    "命和品哈商問器四回因国图土在地场址型城基報場填增声处备复外多大天失头女好如始子字存学安宋完定"
    "实审客家容密对导将小少尔就局展山岁州工左已市布常平年并广序库应店度建开异式引张当录形影径待後"
    "得微心必志态思性总息您情意感成我或户所手打找技投报拉持指按换据排接推提播支收改放政效数整文料"
    "断新方族无日时明易星是時景更最月有服期木未本机权束条来板构析果查标样核格案检模次款止正此步歳"
    "段每比民気水求江汽没治法注活流海消清游源火点無然片版物特率环现球理生用由电男画界番登的监目直"
    "相省看県真知码确示社票私种科秒称移程稍税稿空立站章端笑符第等签简算管箱米类系素索约级线组经结"
    "给络统编网置美老考者而联能自至色节英藏行表装西要見见规视角解言計記話読计认议记论设证评试话询"
    "该详语误说请读调象责败账货购费资起超路身车转软载辑输达过运近还这进连述退送选通速造連道邮部都"
    "配释里重量金钟钮链销错键长開間関门闭问间队阳陆限院除雅集雷需非面音页项预频题额首验高黑"
)
_FREQUENT_HANGUL: Final = frozenset(
    "가간값개거게결경고공과구그글기나내는능니다당대도동되된드든들디라래러력로록료류른를름리만메면"
    "명목문미버번보복부분비사산상색생서성세션소수스습시식신아야어에여열오와요용우운원위으은을음의"
    "이인일임입자작장재적전정제져조주지진째체출치크태터턴트튼하한할함해호화환회"
)

# Marks of ordinary prose, and the punctuation of Chinese and Japanese.
_PROSE_SIGNS: Final = frozenset("–—‘’“”•…")
_CJK_STOPS: Final = frozenset("、。「」，！？：；（）")

_TIERS: Final = (
    "han_frequent",
    "hangul_frequent",
    "prose_sign",
    "cjk_stop",
    "variation",
    "thai_mark",
    "devanagari_mark",
    "greek_capital",
    "cyrillic_capital",
)

CLASSES: Final = tuple(dict.fromkeys([*(name for _, name in _RANGES), *_TIERS]))
"""The names of the classes; a class is written as the byte 0x80 + its place here."""

_CODES: Final = {name: chr(0x80 + place) for place, name in enumerate(CLASSES)}
_MOST_KEPT: Final = 20_000  # of the 1.1 million code points that a hostile text may hold


def class_codes(text: str) -> bytes:
    """The text with every character beyond ASCII replaced by the byte of its class."""
    beyond = len(text.encode("utf-8", "surrogatepass")) - len(text)
    if beyond * 8 < len(text):  # mostly ASCII: only the rest is worth a lookup
        return _BEYOND_ASCII.sub(_in_classes, text).encode("latin-1")
    return text.translate(_TABLE).encode("latin-1")


def _in_classes(found: re.Match[str]) -> str:
    return found[0].translate(_TABLE)


class _Table(dict[int, str]):
    """Classes by code point, worked out when a code point is first seen."""

    def __missing__(self, point: int) -> str:
        code = chr(point) if point < 0x80 else _CODES[_class_of(point)]
        if len(self) < _MOST_KEPT:
            self[point] = code
        return code


_TABLE: Final = _Table()
_BEYOND_ASCII: Final = re.compile("[^\x00-\x7f]+")


def _class_of(point: int) -> str:
    name = _RANGES[bisect_right(_STARTS, point) - 1][1]
    refine = _REFINED.get(name)
    return refine(chr(point), name) if refine else name


def _han(character: str, name: str) -> str:
    if character in _FREQUENT_HAN:
        return "han_frequent"
    return name if _is_common_han(character) else "han_rare"


def _is_common_han(character: str) -> bool:
    """In the first level of the Chinese national sets: some 4 500 characters of daily use."""
    return (
        b"\xb0" <= character.encode("gb2312", "ignore")[:1] <= b"\xd7"
        or b"\xa4" <= character.encode("big5", "ignore")[:1] <= b"\xc6"
    )


def _hangul(character: str, name: str) -> str:
    return "hangul_frequent" if character in _FREQUENT_HANGUL else name


def _typography(character: str, name: str) -> str:
    return "prose_sign" if character in _PROSE_SIGNS else name


def _cjk_sign(character: str, name: str) -> str:
    return "cjk_stop" if character in _CJK_STOPS else name


def _selector(character: str, name: str) -> str:
    return "variation" if character == "\ufe0f" else name


def _thai(character: str, name: str) -> str:
    return "thai_mark" if character in _THAI_MARKS else name


def _devanagari(character: str, name: str) -> str:
    return "devanagari_mark" if character in _DEVANAGARI_MARKS else name


def _bicameral(character: str, name: str) -> str:
    if character.isupper():
        return f"{name}_capital"
    return "cyrillic_rare" if "\u0450" <= character != "ё" else name


_THAI_MARKS: Final = frozenset(map(chr, (0xE31, *range(0xE34, 0xE3B), *range(0xE47, 0xE4F))))
_DEVANAGARI_MARKS: Final = frozenset(map(chr, (*range(0x900, 0x904), *range(0x93A, 0x950))))

_REFINED: Final[dict[str, Callable[[str, str], str]]] = {
    "han_common": _han,
    "hangul": _hangul,
    "typography": _typography,
    "cjk_sign": _cjk_sign,
    "fullwidth": _cjk_sign,
    "selector": _selector,
    "thai": _thai,
    "devanagari": _devanagari,
    "greek": _bicameral,
    "cyrillic": _bicameral,
}
