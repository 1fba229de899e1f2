"""The words that decide whether two statements are one: English lists, and Chinese patterns.

Data of ``likeness``, and tested with it. A word that stands here must be in both texts, so a
word too many costs a memory written twice; a word too few could cost a memory.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ANY_DAY",
    "ANY_YEAR",
    "CHINESE_DATES",
    "CHINESE_DENIALS",
    "CHINESE_FILLERS",
    "CHINESE_NAMES",
    "CHINESE_NUMBERS",
    "CONTRACTIONS",
    "DATE_WORDS",
    "DENIALS",
    "LEFT_OUT",
    "NUMBER_WORDS",
    "OPENERS",
    "STOP_WORDS",
    "TURNING_PREFIX",
    "TURNING_WORDS",
]


def _listed(*lines: str) -> list[str]:
    return " ".join(lines).split()


def _words(*lines: str) -> frozenset[str]:
    return frozenset(_listed(*lines))


STOP_WORDS: Final = _words(
    "a an the and or of to in on at for with by from as is are was were be been being am it its",
    "this that these those there here he she they we you i me him her them us my your his their",
    "our mine yours hers theirs ours do does did have has had having will would shall can could",
    "should may might must about into than then so too very just also s t d ll ve re m",
)

# What a reader can leave out and loses nothing. Not here: "has", for who has a dog is none.
LEFT_OUT: Final = _words("a an the is are am be that those these also very really please so")

# Not here: what a reader can leave out ("a", "the", "is", "that", "also", "very", "please").
TURNING_WORDS: Final = _words(
    # who
    "i me my mine we us our ours you your yours he him his she her hers they them their theirs it",
    "its who whose everyone everybody someone somebody anyone anybody one other another self",
    # how surely, how often, how much
    "may might must should shall will would can could ought need want wish hope plan intend try",
    "maybe perhaps probably possibly certainly definitely surely apparently allegedly supposedly",
    "likely always often usually sometimes occasionally seldom rarely hardly barely scarcely",
    "almost nearly only merely just even still already yet anymore again once twice all every",
    "each any some both either most least more less fewer enough too mostly mainly partly fully",
    "entirely exactly about around approximately roughly if unless whether except instead rather",
    "than but although though because however and or nor per total max min maximum minimum",
    "average",
    # where to, on which side
    "in out on off up down to from into onto with without within for against by at of over under",
    "above below between through across along toward towards away back forward inside outside",
    "near far left right top bottom front behind beside here there north south east west northern",
    "southern eastern western as like via upon",
    # when it was
    "was were been had did done used ago gone went got bought sold lost found won left came",
    "became began broke brought built caught chose cut drew drove ate fell felt flew forgot froze",
    "gave grew hid hit held hurt kept knew laid led lent let lay made meant met paid put quit",
    "rode rose ran said saw sought sent set shook shot shut sang sat slept spoke spent stood",
    "stole struck swore swam took taught told thought threw understood woke wore wrote going",
    "gonna former formerly previously currently originally initially finally eventually",
    "temporarily permanently",
    # and its opposite
    "yes true false like love loves hate prefer avoid enjoy loathe detest despise adore allow",
    "permit forbid ban deny grant accept reject refuse decline approve agree confirm cancel keep",
    "remove add delete create destroy enable disable activate start stop begin end finish",
    "continue pause resume open close lock buy sell rent lend borrow give take send receive get",
    "lose win fail pass succeed push pull import export read write upload download install login",
    "logout join leave arrive depart come go enter exit raise lower increase decrease grow shrink",
    "rise fall gain drop improve worsen merge split attach detach connect public private internal",
    "external active passive good bad best worse worst better great poor high low higher lower",
    "highest lowest big bigger small smaller large larger little tall short shorter long longer",
    "fast faster slow slower quick hot cold warm cool old older new newer young younger early",
    "late earlier later cheap cheaper expensive easy hard simple strong weak heavy light rich",
    "full empty wet dry safe dangerous clean dirty alive dead male female man woman boy girl",
    "husband wife father mother son daughter brother sister married divorced single vegan",
    "vegetarian positive negative plus same different similar opposite sync async input output",
    "server client source target sender receiver parent child master main dev development staging",
    "production prod test beta stable sweet sour black white red green blue yellow",
    # units
    "percent pct km m cm mm mile meter metre kilometer inch foot feet ft yard kg g mg lb lbs",
    "pound gram kilo kilogram ton tonne ounce oz liter litre l ml gallon ms s sec kb mb gb tb kib",
    "mib gib byte bit token usd eur gbp cny rmb jpy dollar euro yuan yen cent buck k bn mn",
    "celsius fahrenheit degree watt kw kwh mbps gbps hz khz mhz ghz px pt em rem",
)

DENIALS: Final = _words(
    "not no never none nothing nobody nowhere neither nor without cannot hardly barely scarcely",
    "seldom rarely non nope nay",
)

# "dont" as well as "don't": what a hand types in a hurry.
CONTRACTIONS: Final = {
    f"{verb}nt": verb
    for verb in _words("do does did is are was were has have had would could should must need")
} | {"cant": "can", "wont": "will", "aint": "is", "cannot": "can"}

# Happy and unhappy, active and inactive: a word that may be the opposite of another one, and the
# endings that turn one round or put it into the past.
TURNING_PREFIX: Final = re.compile(
    r"(?:un|dis|non|mis|anti|in|im|il|ir|de|ex|pre|post|re|over|under|out|up|down)[a-z]{3,40}$"
    r"|[a-z]{2,40}(?:less|free|able|ible|ed|er|est)$"
)

DATE_WORDS: Final = {
    **{
        form: day[:3]
        for day in _words("monday tuesday wednesday thursday friday saturday sunday")
        for form in (day, day[:3])
    },
    **{
        form: month[:3]
        for month in _words(
            "january february march april may june july august september october november december"
        )
        for form in (month, month[:3])
    },
    **dict.fromkeys(("tues",), "tue"),
    **dict.fromkeys(("thur", "thurs"), "thu"),
    **dict.fromkeys(("sept",), "sep"),
    **{
        word: word
        for word in _words(
            "today tomorrow yesterday tonight morning noon afternoon evening night midnight dawn",
            "dusk weekend weekends weekday weekdays mondays tuesdays wednesdays thursdays fridays",
            "saturdays sundays second minute hour day week fortnight month quarter year decade",
            "century daily weekly monthly yearly annually hourly nightly quarterly biweekly next",
            "last this previous following coming past ago since until till before after during",
            "while when whenever now soon later earlier am pm spring summer autumn fall winter",
            "annual semester eve birthday easter christmas breakfast lunch dinner start end",
            "beginning mid",
        )
    },
}

NUMBER_WORDS: Final = {
    **{
        word: str(number)
        for number, word in enumerate(
            _listed(
                "zero one two three four five six seven eight nine ten eleven twelve thirteen",
                "fourteen fifteen sixteen seventeen eighteen nineteen twenty",
            )
        )
    },
    **{
        word: str(10 * number)
        for number, word in enumerate(_listed("thirty forty fifty sixty seventy eighty ninety"), 3)
    },
    **{
        word: word
        for word in _words(
            "hundred thousand million billion trillion dozen couple pair few several many much",
            "half third thirds quarter quarters fifth double triple twice thrice once first",
            "fourth sixth seventh eighth ninth tenth eleventh twelfth hundreds thousands millions",
            "dozens quadruple",
        )
    },
}

# Words that open a sentence with a capital letter and are no names.
OPENERS: Final = _words(
    "a an the this that these those there here it is are was be been have has had do does did and",
    "but or so if when while since although because also please note remember prefers prefer",
    "likes like loves dislikes hates uses use used lives live lived works work worked wants want",
    "wanted needs need needed plans plan planned moved moves bought sold fixed decided decides",
    "agreed thinks believes says said asked asks told knows has owns runs ran went goes going",
    "takes took gave gives makes made gets got keeps kept always never usually often sometimes",
    "today tomorrow yesterday now currently recently later then next last first second finally",
    "after before during until from to in on at by with without for about as of user users team",
    "meeting project task server service deploy deployed deployment release released build built",
    "test tests tested error errors bug bugs fix added add removed remove updated update changed",
    "change created create deleted delete set sets wrote write reads read started starts start",
    "stopped stop finished done still already every each all some any most many few no not yes",
    "what why how who where which whose my your his her their our its we they you he she i me us",
    "them him one two three four five six seven eight nine ten both new old good bad long short",
    "big small call email send sent see check checked ask use using born visit visited met meets",
    "drinks drink eats eat ate reply replies answer answers avoid avoids enjoys enjoy speaks",
    "speak learn learned studies studied study teaches taught flight flights birthday address",
    "phone number name names address password port version file files path command config",
    "database",
)

# ── words whose meaning depends on the day they are said ─────────────────────────────────────

_DAYS: Final = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTHS: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_SPANS: Final = (
    "second|minute|hour|day|night|morning|afternoon|evening|week|weekend|fortnight|month|quarter|"
    "year|semester|spring|summer|autumn|fall|winter"
)
_FEW: Final = r"(?:\d{1,4}|an?|two|three|four|five|six|seven|eight|nine|ten|a few|a couple of)"
ANY_DAY: Final = re.compile(
    r"\b(?:today|tomorrow|yesterday|tonight|ago|soon|recently|lately)\b"
    r"|\b(?:this|next|last|past|coming|previous|following) (?:\w{1,12} )?"
    rf"(?:{_SPANS}|{_DAYS}|time|one)s?\b"
    rf"|\b(?:in|within) {_FEW} (?:{_SPANS})s?\b"
    rf"|(?<!every )(?<!each )\b{_DAYS}\b"
    r"|大?(?:前|昨|今|明|后)(?:天|日|年|早|晚|晨|夜)|去年|刚刚|刚才|最近|马上|待会|一会儿"
    r"|(?:上|下|本|这)(?:个|一)?(?:周|星期|礼拜|月|季度|半年|次|学期)"
    r"|(?:[0-9]|[一二三四五六七八九十两几半])个?(?:天|日|周|星期|礼拜|月|年|小时|钟头|分钟)之?以?(?:前|后|内)"
    r"|(?<!每)(?<!每个)(?:周|星期|礼拜)[一二三四五六日天末]"
)
# A day or a month without its year.
ANY_YEAR: Final = re.compile(
    rf"\b(?:{_MONTHS})\b(?! (?:\d{{1,2}}(?:st|nd|rd|th)?,? )?\d{{4}}\b)"
    r"|(?<![年0-9])(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})月"
)

# ── Chinese ─────────────────────────────────────────────────────────────────────────────────

# A Chinese statement is compared by all its characters but these, which only colour it.
CHINESE_FILLERS: Final = re.compile(
    r"的(?=[\u4e00-\u9fff])|[啊哦嗯呀啦噢喔唉哎]|(?:很|挺|非常|真的|十分)(?!可能|有可能)"
)

CHINESE_DENIALS: Final = re.compile(
    "不(?!过|仅|但|只|管|论|断)|没|未(?!来)|勿|莫(?!名)|无(?!论|锡|线)|别(?!人|墅|名|处|扭)|非(?!常|洲)"
)

_NUMERAL: Final = "[零〇一二三四五六七八九十百千万亿两半]"
CHINESE_NUMBERS: Final = re.compile(
    rf"第?{_NUMERAL}{{2,12}}|第{_NUMERAL}"
    rf"|{_NUMERAL}(?=[个只条张件本台辆次岁年月日号天周点分秒元块毛斤里人位口名家层楼倍成万亿种套份])"
)

CHINESE_DATES: Final = re.compile(
    r"大?(?:前|昨|今|明|后)(?:天|日|年|早|晚)|去年|(?:上|下|本|这)(?:个)?(?:周|星期|礼拜|月|季度|半年)"
    r"|(?:周|星期|礼拜)[一二三四五六日天末]"
    r"|(?:[0-9]{1,4}|[零〇一二三四五六七八九十]{1,5})(?:年|月|日|号|点半?|时|分|秒|天|周|小时|分钟)"
    r"|凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|半夜|深夜|午夜|春节|中秋|国庆|元旦|清明|端午"
    r"|春天|夏天|秋天|冬天|每天|每周|每月|每年|之前|之后|以前|以后|现在|目前|刚才|将来"
)

_SURNAMES: Final = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏"
    "魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵"
)
_TITLES: Final = (
    "先生|女士|小姐|老师|医生|总|经理|同学|律师|教授|主任|工程师|师傅|阿姨|叔叔|姐|哥|工"
)
CHINESE_NAMES: Final = re.compile(
    rf"(?:叫做?|名叫|名字是|姓名[::]?)[\u4e00-\u9fff]{{1,4}}"
    rf"|[{_SURNAMES}][\u4e00-\u9fff]{{0,2}}(?:{_TITLES})|[小老阿][{_SURNAMES}]"
    rf"|(?:^|(?<=[,。;:、 @]))[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}?"
    r"(?=说|在|是|和|的|喜欢|不|住|有|去|要|想|认为|觉得|今|明|昨|,|、)"
)
