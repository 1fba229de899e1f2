"""Whether a user sets a rule: "Never push to main", "以后都用中文回复".

Promise: precise rather than greedy; a story with "never" in it is no rule, a question is none,
and what is quoted is somebody else's. Proven by the tables of
``tests/foundation/test_importance_rules.py``.
"""

from __future__ import annotations

import re
from typing import Final

from holdfast.importance.samples import CJK, any_of, mentions, own_words, parts, sample, sentences
from holdfast.importance.samples import without_quotations as unquoted

__all__ = ["is_constraint"]

_MAYBE: Final = parts(
    "never;always;n't;n’t;dont;do not;must;should;from now on;going forward;no account;avoid;only"
    ";no circumstances;make sure;be sure;ensure;stop;keep;forbidden;off-limits;off limits;refrain"
    ";prohibited;not allowed;not permitted;mandatory;no more;please;may not;want you;from here on"
    ";不;别;勿;禁;必须;只;以后;今后;往后;从现在;务必;一定;一律;绝;永远;始终;统一;总是;千万要"
)

_CLAUSE_END: Final = re.compile(r"[,;:，；：]\s*|\s[—–-]{1,3}\s|—+|(?<=[\u3400-\u9fff])\s+")
_AND: Final = any_of(
    r"\b(?:and|but|so|or|then)\s+(?=(?:also |please )?(?:never|always|do not|don't|dont|please"
    r"|only|make sure|avoid|ensure|stop)\b)"
)
_PERSONAL: Final = any_of(
    r"(?:i|i'\w+|we|we'\w+|he|she|they|it|my|our|his|her|their|this|that|there"
    r"|you (?:never|always|are|got|have)|you'\w+)\b"
)
_LEAD: Final = any_of(
    r"(?:(?:and|but|so|also|then|please|pls|just|ok|okay|well|oh|hey|hi|no|yes|plus|again|kindly"
    r"|seriously|remember|note|important|rule|reminder|in general|by default|as a rule"
    r"|whatever you do|in future|in the future|one more thing|you (?:should|must|need to|have to)"
    r"|(?:can|could|would|will) you|i(?:'d| would)? (?:like|prefer|want|need|expect) you to"
    r"|[-*•\d.)]{1,4})\s+){1,4}"
)

# What follows "never" or "always" in a story instead of a rule.
_STORY: Final = (
    r"(?:mind|again|ever|seen|heard|been|had|has|have i|did|do i|does|knew|know|was|were|is|are"
    r"|am|got|thought|went|gone|met|felt|said|found|came|took|made|seems?|works?|fails?|a|an"
    r"|the|so|in|on|at|there|here|nice|good|great|happy|fun|glad|welcome|wonderful|hard|easy"
    r"|interesting|better|enough|too|more|less|easier|dull|give up|lose hope|my|his|her|their"
    r"|our|i|we|he|she|they|it|that|this|gets?|\w{2,20}(?:ed|ing)|up|saw|say"
    r"|forget (?:how|when|the))"
)
# What follows "don't" in a sentence that only lost its subject, or in a kind word.
_KIND: Final = (
    r"(?:worry|bother|sweat|know|think|care|mind|see|have|need|get|understand|remember|like|you"
    r"|we|they|i|feel|believe|want|wanna|even|really|laugh|cry|panic|sorry|be (?:sorry|silly|shy"
    r"|afraid|scared|sad|mad|so|too|hard|a stranger)|give up|lose|hate|blame|forget|judge|say that"
    r"|tell me|work|agree|miss|deserve|exist|seem|matter|quit|stop|hesitate"
    r"|let (?:it|that|them|him|her|any\w*|the|your|life))"
)
_STARTS: Final = any_of(
    rf"(?:don't|do not|dont)\s+(?:ever\s+|you (?:dare|ever)\s+)?(?!{_KIND}\b)[a-z]{{2,}}",
    r"only (?:use|reply|respond|answer|write|edit|modify|touch|change|run|commit|push|call|send"
    r"|show|return|include|read|speak|work|deploy|install|import|ask|suggest)\b",
    r"(?:make sure|be sure|ensure)\b"
    r"(?! (?:to|you) (?:don't|have|get|enjoy|rest|try|visit|take care))",
    r"avoid (?!him\b|her\b|them\b|it\b)\w{2,30}|refrain from\b",
    r"stop (?:using|adding|writing|sending|asking|making|calling|changing|committing|pushing"
    r"|creating|touching|editing|replying|apologi[sz]ing|suggesting|running|installing|deleting"
    r"|removing)\b",
    r"keep (?:[\w']{1,15} ){1,4}(?:short|brief|under|below|concise|private|secret|confidential"
    r"|unchanged|as (?:is|they are)|in sync|backwards?[- ]compatible)\b",
    r"no (?:[\w-]{2,20} ){0,3}[\w-]{2,20},? please\b",
    r"no more [a-z]{3,20}s\b(?! (?:for|to) (?:me|us|him|her))",
)
_NEVER: Final = any_of(rf"(?:never ever|never|always|only ever)\s+(?!{_STORY}\b)[a-z]{{2,}}")
_PLEASE_NO: Final = any_of(r"\bno (?:[\w-]{2,20} ){0,3}[\w-]{2,20},? please[.!]?$")
_THING: Final = (
    r"(?:answers?|replies|reply|output|code|commits?|tests?|responses?|files?|functions?|api"
    r"|names?|messages?|dates?|comments?|docs|branch(?:es)?)"
)
_INSIDE: Final = any_of(
    r"\b(?:under no circumstances|on no account|at no point may)\b",
    r"\b(?:is|are|'s|'re) (?:strictly |absolutely |completely )?"
    r"(?:forbidden|off[- ]limits|prohibited|mandatory|not allowed|not permitted)\b(?! in\b)",
    r"(?<!\bi )(?<!\bwe )(?<!\bhe )(?<!\bshe )(?<!\bthey )"
    r"\bmust (?:not|never|always|only)\b(?! (?:have|be (?:a|so|easy|nice))\b)",
    r"\bmust be (?:in\b|at least|at most|under|below|above|less|no|written|json|valid|unique|utf"
    r"|\d|\w{3,20}ed\b(?! (?:by now|about|with|of|at|out)))(?<!tired)(?<!excited)(?<!exhausted)",
    rf"^(?:all|every|each|any|your|(?:the )?{_THING})\b[^,.;]{{0,60}}\bmust (?!be\b|have\b)\w\w",
    r"\byou must (?!be\b|have\b|feel\b|miss\b|love\b|know\b|see\b|admit\b|try\b|think\b|really\b"
    r"|visit\b|come\b|watch\b|enjoy\b)[a-z]{2,}|\byou may (?:not|only)\b",
    r"\byou should(?:n't| not| never| always| only)\b"
    r"(?! (?:have|be (?:so|sorry|proud)|worry|feel|try|visit|trust yourself))",
    r"\bi (?:don't|do not|never) want you to\b|\bi never want to see\b",
    r"\bi(?:'d| would)? (?:like|want|need|prefer|expect) you to (?:always|never|not|only)\b",
)
_FROM_NOW_ON: Final = any_of(
    r"(?:from now on|going forward|from here on)\b[, ]*(?!(?:i|i'\w+|we|we'\w+|it|it's|he|she"
    r"|they|things|life|my|our|his|her|the|there|that|this|everything)\b)[a-z]{2,}",
)
_ENDS_FROM_NOW_ON: Final = any_of(r"\b(?:from now on|going forward)[.! ]{0,4}$")
_SUBJECT: Final = any_of(r"(?:the|things|life|everything|work)\b")
_ASKS_YOU: Final = any_of(r"(?:please )?(?:can|could|would|will) you\b")

_ZH_LEAD: Final = (
    r"(?:(?:请|麻烦|另外|还有|并且|而且|同时|但是?|不过|所以|那|就|也|都|记住|注意|重要|切记|你们?|您"
    r"|大家|以后|今后|希望你们?|我(?:希望|要求|要|需要)你们?|回复时|代码里)[，,：: ]*){0,4}"
)
_ZH_SOFT: Final = (
    r"紧|担心|客气|着?急|钱|谢|怕|生气|难过|放弃|脸|太|错过"
    r"|灰心|想太多|这样说|见外|勉强|哭|闹|伤心|误会我"
)
_ZH_STARTS: Final = re.compile(
    _ZH_LEAD
    + "(?:"
    + "|".join(
        (
            rf"不要(?!{_ZH_SOFT})",
            rf"别(?!人|的|墅|扭|致|名|说|提|样|处|开|逗|笑|离|无|看[他她它我]|忘|{_ZH_SOFT})",
            r"不(?:得|准|许)(?!不|已|了|而知)|始终(?:用|使用|保持)|总是用",
            r"只(?:能|准|许)(?:用|在|由|读|改|写|使用|访问|修改|运行|提交|回复|输出|动)",
            r"只(?:用|回复|改|修改|输出)(?!了)|一律|统一(?:用|使用)",
            r"一定(?:要|不要|不能|别)(?!来|去|幸福|加油|开心|好好|会|有|是|保重|注意身体)",
            r"永远(?:不要|别)|务必",
        )
    )
    + ")"
)
_ZH_INSIDE: Final = any_of(
    rf"千万(?:不要|别|不能|要)(?!{_ZH_SOFT})|绝对(?:不要|不能|不可以?|禁止)(?!想|相信|错过)",
    r"(?<![我他她们])绝不(?:能|可以?|允许|要)|切勿|严禁|请勿|(?<![被没])禁止(?!了)|不允许你?|务必|一律(?!平等)",
    r"我不(?:希望|想让?|想要)你",
    r"从现在(?:开始|起)[，,]?(?!我|他|她|天气|一切|生活)",
    r"(?:^|[，,。；;])(?:以后|今后|往后)[，,]?(?:请|都|只|不要|别|一律|统一|每次|不能|必须|用)"
    r"(?!不会|会|想|可能|没|是|去|有|好|要去)",
    r"(?<![我他她们不无])必须(?!的|承认|走了|得)",
)
_ZH_SELF: Final = re.compile(
    r"[我他她](?:们)?(?:今天|明天|现在|也|都|还|就|又|真的|家|妈|爸|姐|哥){0,3}"
    r"(?:必须|不得不|一定要|只能|不要|绝不)"
)
_ZH_ASKS: Final = re.compile(r"[？?]\s*$|(?:吗|呢|么)[。！!]?\s*$|要不要|是不是|可不可以")


def is_constraint(text: str) -> bool:
    """Whether a user sets a rule for the work: what must, may not, or shall from now on be done."""
    text = sample(text)
    if not mentions(text, _MAYBE):
        return False
    return any(
        3 <= len(sentence) <= 1_000 and _rules(sentence)
        for sentence in sentences(unquoted(own_words(text)))
    )


def _rules(sentence: str) -> bool:
    if CJK.search(sentence) and _rules_in_chinese(sentence):
        return True
    return sentence[:1].isascii() and _rules_in_english(sentence.lstrip("-*•# \t"))


def _rules_in_english(sentence: str) -> bool:
    if sentence.endswith("?") and _ASKS_YOU.match(sentence) is None:
        return False
    if any(sets.search(sentence) for sets in (_INSIDE, _PLEASE_NO)) or _FROM_NOW_ON.match(sentence):
        return True
    personal = _PERSONAL.match(sentence) is not None
    if _ENDS_FROM_NOW_ON.search(sentence) and not personal and _SUBJECT.match(sentence) is None:
        return True
    for place, clause in enumerate(_clauses(sentence, personal)):
        bare = clause[found.end() :] if (found := _LEAD.match(clause)) else clause
        if _STARTS.match(bare) or (_NEVER.match(bare) and not (personal and place)):
            return True
    return False


def _clauses(sentence: str, personal: bool) -> list[str]:
    clauses = [part.strip() for part in _CLAUSE_END.split(sentence) if part]
    if personal:  # "I work late and don't sleep": what follows "and" still has its subject
        return clauses
    return [part.strip() for clause in clauses for part in _AND.split(clause)]


def _rules_in_chinese(sentence: str) -> bool:
    if _ZH_ASKS.search(sentence):
        return False
    if _ZH_INSIDE.search(sentence) and not _ZH_SELF.search(sentence):
        return True
    clauses = [part.strip() for part in _CLAUSE_END.split(sentence) if part]
    return any(_ZH_STARTS.match(clause) and not _ZH_SELF.match(clause) for clause in clauses)
