"""The words by which statements are compared: English and Chinese, data only.

Promise: every entry is in the form in which ``statements`` compares words (lower case, without
English endings), so that a lookup is one set or dictionary access
(``tests/memory/test_conflicts.py``).
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ATTRIBUTES",
    "CHINESE_WORDS",
    "COUNTRIES",
    "GROUPS",
    "LIGHT",
    "MANY_VALUED",
    "NEGATIONS",
    "PAST_FORMS",
    "SAME",
    "SIGNED",
    "stem",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IRREGULAR: Final = {
    "children": "child", "kids": "child", "kid": "child", "people": "person", "men": "man",
    "women": "woman", "lives": "live", "living": "live", "lived": "live", "goes": "go",
    "does": "do", "has": "have", "had": "have", "having": "have", "is": "be", "are": "be",
    "was": "be", "were": "be", "been": "be", "being": "be", "wives": "wife", "ran": "run",
    "running": "run", "ate": "eat", "drank": "drink", "paid": "pay", "bought": "buy",
    "met": "meet", "left": "left", "using": "use", "used": "use", "based": "based",
    "married": "married", "data": "data", "status": "status", "series": "series",
    "address": "address", "class": "class", "process": "process", "business": "business",
    "always": "always", "news": "news", "aws": "aws", "bus": "bus", "gas": "gas",
    "tabs": "tab", "taking": "take", "driving": "drive", "writing": "write", "moving": "move",
    "made": "make", "making": "make", "smoking": "smoke", "smoked": "smoke",
}  # fmt: skip
_VOWEL: Final = re.compile("[aeiouy]")


def stem(word: str) -> str:
    """An English word without its ending: enough that two forms of one word are equal."""
    if not word.isascii() or len(word) < 4:
        return _IRREGULAR.get(word, word)
    return _without_ending(_IRREGULAR.get(word, word))


def _without_ending(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ches", "shes", "sses", "xes", "zes"):
        if word.endswith(ending):
            return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        body = word[: -len(ending)]
        if word.endswith(ending) and len(body) > 2 and _VOWEL.search(body):
            return _body(body)
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _body(body: str) -> str:
    """What stands before -ing or -ed: plann → plan, encrypt → encrypt."""
    if len(body) > 3 and body[-1] == body[-2] and body[-1] not in "lsz":
        return body[:-1]
    return body[:-1] if body.endswith("e") and len(body) > 3 else body


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split()) | _words(text)


# ── words that make no difference ───────────────────────────────────────────────────────────

LIGHT: Final = _stems(
    "a an the this that these those my your his her its our their i you he she it we they who "
    "me him them us be am do have will shall to of in on at by for with from as into and or "
    "than then so too also just only really very quite much still already currently presently "
    "usually normally generally nowadays now right all some any there here which "
    "'s s about around approximately roughly month year day week hour minute second per "
    "each euro dollar pound service server system user person live listen run set use "
    "name call total exactly both been being get got new gets anymore ever even "
    "s3cr3t-none time place hold take go scheduled happen planned longer more "
    "definitely surely yeah wow hey thanks okay ok actually oh "
    "yes please well way sure totally absolutely gonna"
) | _words(
    "的 了 是 为 在 于 着 地 得 也 都 就 还 又 很 我 你 他 她 它 们 这 那 和 与 被 把 由 已 已经 "
    "目前 当前 现在 如今 今年 一直 非常 特别 真的 比较 大约 大概 约 左右 举行 召开 定在 定于 安排 "
    "进行 个 位 只 条 台 次 元 块 公里 小时 分钟 秒 呢 啊 吧 等 对 共 总共 一共 通常 平时 仍然 "
    "仍 依然 将 会在 名 号 用 使用 采用 叫 住 这个 那个 时间 时候 再 并"
)

NEGATIONS: Final = _words(
    "not never no none nobody nothing neither nor without cannot hardly "
    "不 没 没有 无 未 别 非 勿 从不 从未 从来不 从来没 不再 并非 绝不 决不 并不 并没有"
)

# What a word says, and whether it says the opposite of it.
SIGNED: Final[dict[str, tuple[str, int]]] = {
    **dict.fromkeys(_stems("like love enjoy adore fond likes"), ("like", 1)),
    **dict.fromkeys(_stems("dislike hate detest loathe dislikes"), ("like", -1)),
    **dict.fromkeys(_stems("enable enabled activate activated"), ("enable", 1)),
    **dict.fromkeys(_stems("disable disabled deactivate deactivated"), ("enable", -1)),
    **dict.fromkeys(_stems("allow permit allowed permitted"), ("allow", 1)),
    **dict.fromkeys(_stems("forbid forbidden prohibit ban banned disallow"), ("allow", -1)),
    **dict.fromkeys(_stems("succeed pass succeeded succeeds passed"), ("succeed", 1)),
    **dict.fromkeys(_stems("fail failed"), ("succeed", -1)),
    **dict.fromkeys(_stems("accept agree approve accepted approved"), ("accept", 1)),
    **dict.fromkeys(_stems("reject refuse decline disagree oppose rejected"), ("accept", -1)),
    **dict.fromkeys(_stems("trust"), ("trust", 1)),
    **dict.fromkeys(_stems("distrust mistrust"), ("trust", -1)),
    **dict.fromkeys(_stems("can able"), ("can", 1)),
    **dict.fromkeys(_stems("unable cannot"), ("can", -1)),
    "lack": ("have-it", -1), "unavailable": ("available", -1), "available": ("available", 1),
    "unsafe": ("safe", -1), "safe": ("safe", 1), "incorrect": ("correct", -1),
    "correct": ("correct", 1), "invalid": ("valid", -1), "valid": ("valid", 1),
    "false": ("true", -1), "true": ("true", 1), "impossible": ("possible", -1),
    "possible": ("possible", 1), "unhappy": ("happy", -1), "happy": ("happy", 1),
    "switched-on": ("switched", 1), "switched-off": ("switched", -1),
    "喜欢": ("喜欢", 1), "喜爱": ("喜欢", 1), "热爱": ("喜欢", 1), "爱": ("喜欢", 1),
    "讨厌": ("喜欢", -1), "反感": ("喜欢", -1), "厌恶": ("喜欢", -1),
    "启用": ("启用", 1), "开启": ("启用", 1), "打开": ("启用", 1),
    "禁用": ("启用", -1), "关闭": ("启用", -1), "停用": ("启用", -1),
    "允许": ("允许", 1), "可以": ("允许", 1), "禁止": ("允许", -1), "严禁": ("允许", -1),
    "成功": ("成功", 1), "失败": ("成功", -1), "同意": ("同意", 1), "赞成": ("同意", 1),
    "支持": ("支持", 1), "接受": ("接受", 1), "拒绝": ("接受", -1), "反对": ("同意", -1),
    "相信": ("相信", 1), "信任": ("相信", 1), "怀疑": ("相信", -1),
    "能": ("能", 1), "能够": ("能", 1), "无法": ("能", -1), "有": ("有", 1), "缺少": ("有", -1),
    "正确": ("正确", 1), "错误": ("正确", -1), "安全": ("安全", 1), "危险": ("安全", -1),
}  # fmt: skip

# Of each group only one can be true of the same thing.
_GROUPS: Final = (
    "single married divorced engaged widowed", "left-handed right-handed ambidextrous",
    "dark light", "open closed", "public private", "remote onsite on-site hybrid",
    "done finished completed pending blocked cancelled unstarted in-progress", "alive dead",
    "online offline", "active inactive", "tab space", "short long detailed brief lengthy",
    "formal informal casual", "early late", "hot cold", "high low", "fast slow", "big small",
    "large small", "cheap expensive", "free paid", "vegetarian carnivore", "smoker non-smoker",
    "introvert extrovert", "window aisle", "morning evening", "full empty", "strict lenient",
    "internal external", "manual automatic automated", "required optional mandatory", "hard soft",
    "healthy unhealthy sick", "rented owned", "tall short", "sync async",
    "metric imperial", "permanent temporary", "north south", "left right", "male female",
    "已婚 未婚 单身 离异 离婚 订婚 丧偶",
    "左手 右手", "左撇子 右撇子", "深色 浅色", "公开 私有 私密",
    "完成 进行中 未开始 阻塞 取消", "在线 离线", "早上 晚上", "手动 自动", "必填 选填 可选",
    "免费 收费 付费",
    "远程 现场", "靠窗 靠过道", "简短 详细 冗长", "正式 随意", "同步 异步", "男 女", "素食 荤食",
    "内向 外向", "早起 晚睡", "制表符 空格", "永久 临时", "满员 空缺", "单数 双数", "内部 外部",
)  # fmt: skip
GROUPS: Final[dict[str, frozenset[int]]] = {}
for _number, _group in enumerate(_GROUPS):
    for _word in _group.split():
        for _form in {_word, stem(_word)}:
            GROUPS[_form] = GROUPS.get(_form, frozenset()) | {_number}

# Of which a subject can have many at once: another value says nothing against the first.
MANY_VALUED: Final = _stems(
    "like have own know speak visit want need buy read watch play eat drink include contain "
    "support depend require import met meet see hear learn collect cook follow wear attend "
    "mention recommend help teach can enjoy love hate"
) | _words("喜欢 有 会 养 去 吃 喝 看 玩 学 买 支持 需要 想 包含 依赖 认识 说 读 穿 同意 能 允许")

# Of which there is one at a time, when it is said of something that it *is* one.
ATTRIBUTES: Final = _stems(
    "colour color name deadline owner manager boss lead leader port database db language "
    "framework editor address email mail phone number mobile city capital size budget price cost "
    "rent salary version branch license licence timezone zone format password birthday birthplace "
    "hometown nationality citizenship employer job occupation profession title role position team "
    "wife husband spouse partner fiance girlfriend boyfriend mother father president ceo cto "
    "director chair contact maintainer reviewer assignee on-call oncall host provider region "
    "environment target destination origin location headquarters venue room floor desk seat "
    "backend frontend queue broker cache store engine stack shell terminal browser system os "
    "default setting mode theme level priority severity stage phase state goal aim theme type "
    "kind model brand size height weight age blood gender pronoun religion diet favourite favorite "
    "airline hotel gate terminal platform bank currency unit country doctor dentist therapist "
    "lawyer landlord school university major subject method approach algorithm protocol encoding "
    "charset compiler interpreter runtime registry repository repo url domain endpoint hostname "
    "ip key token plan tier subscription vendor supplier client customer topic theme codename "
    "nickname username handle login id sponsor mentor supervisor advisor coach captain"
)

# A country and a town in it can both be where somebody lives: no contradiction of that alone.
COUNTRIES: Final = _stems(
    "germany france spain portugal italy switzerland austria england scotland wales britain uk "
    "ireland usa america us canada mexico brazil chile peru argentina colombia china japan korea "
    "india australia russia poland sweden norway finland denmark netherlands belgium greece "
    "turkey egypt morocco nigeria kenya ghana ethiopia israel iran iraq vietnam thailand indonesia "
    "philippines malaysia singapore ukraine czechia hungary romania bulgaria serbia croatia "
    "iceland europe asia africa bavaria california texas eu"
) | _words(
    "中国 日本 韩国 美国 英国 法国 德国 意大利 西班牙 葡萄牙 瑞士 俄罗斯 加拿大 澳大利亚 印度 泰国 "
    "越南 巴西 欧洲 亚洲 非洲 四川 广东 浙江 江苏 湖南 湖北 山东 河南 河北 福建 云南 台湾 海南 陕西"
)

# Forms of the past that -ed does not show.
PAST_FORMS: Final = _words(
    "was were had ran paid bought met ate went sent wrote took saw flew drove spent slept got gave "
    "made came felt kept lost won sold taught told thought said found began broke brought built "
    "caught chose did drew drank fell forgot grew heard held hit hurt knew led lent rode rose sang "
    "spoke stood stole swam threw understood woke wore"
)

_SAME: Final = {
    "colour": "color", "favourite": "favorite", "mobile": "phone", "wage": "salary",
    "pay": "salary", "cost": "price", "begin": "start", "depart": "leave", "db": "database",
    "os": "system", "movie": "film", "husband": "spouse", "wife": "spouse", "boss": "manager",
    "on-call": "oncall", "licence": "license", "mail": "email", "e-mail": "email",
    "finish": "end", "薪水": "工资", "月薪": "工资", "电影院": "影院",
    "上司": "经理", "老板": "经理",
    "电话": "手机", "没有": "没", "喝酒": "饮酒",
}  # fmt: skip
SAME: Final = {stem(word): stem(other) for word, other in _SAME.items()}
"""One word for several that mean the same here."""


# Words of several characters that are kept whole where Chinese is taken apart.
CHINESE_WORDS: Final = frozenset(
    word
    for words in (SIGNED, GROUPS, LIGHT, NEGATIONS, COUNTRIES, SAME)
    for word in words
    if len(word) > 1 and not word.isascii()
) | _words(
    "不错 不久 不断 不仅 不但 不管 不同 无锡 无线 无论 非常 特别 别墅 别人 没错 未来 有时 有点 "
    "有关 没关系 没问题 没事 不好意思 爱好 爱人 可爱 只有 所有 有限 有效 能力 可能 功能 "
    "智能 性能 工资 经理 手机 影院 "
    "饮酒 左右手 无人机 未婚妻 未婚夫 非洲 别名 分别 区别 级别 性别 类别 上午 下午 中午 "
    "凌晨 周末 平日 白天 夜里"
)
