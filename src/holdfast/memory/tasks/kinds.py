"""What type of work a request is, by its words: English and Chinese, without a model.

Promise: the same text always has the same type, one of ``TYPES``; a megabyte costs what its
beginning costs (``tests/memory/test_tasks_kinds.py``). A hint, not a judgement: whoever knows
better says so, and any other word may be a type too. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from holdfast.redact import has_secret
from holdfast.text import cut, normalise

__all__ = ["TYPES", "infer_type", "type_name"]

TYPES: Final = (
    "bug_fix",
    "code_review",
    "refactor",
    "booking",
    "ops",
    "analysis",
    "research",
    "writing",
    "feature",
    "question",
    "other",
)
"""From the most telling to the least: where the words are even, the first one is meant."""

_READ: Final = 600
_NAME: Final = 40


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_TEXTS: Final = (
    r"(?:e-?mail|letter|post|article|blog|essay|report|readme|poem|speech|story|paragraph|text"
    r"|paper|newsletter|announcement|message|toast|cover letter|press release|tweet|abstract)"
)
_CODE_CHANGE: Final = r"(?:prs?|pull requests?|merge requests?|code|diffs?|patch(?:es)?|commits?)"

# What each says for its type: a sure sign counts 3, a good one 2, a weak one 1.
_SIGNS: Final[Mapping[str, tuple[tuple[int, re.Pattern[str]], ...]]] = {
    "bug_fix": (
        (
            3,
            _any(
                r"\b(?:fix|fixing|debug|hotfix)\b",
                r"\bbugs?\b",
                r"修复|修好|修一下|修掉|修bug|调试|排查|解决.{0,12}(?:报错|错误|问题|bug|崩溃)",
            ),
        ),
        (
            2,
            _any(
                r"\b(?:crash(?:es|ed|ing)?|regression|traceback|stack ?trace|broken|segfault)\b",
                r"\b(?:does(?: not|n't)|is(?: not|n't)|not|never|stopped) work(?:ing)?\b",
                r"\bfail(?:s|ed|ing)?\b|\b\w{1,40}(?:Error|Exception)\b",
                r"报错|崩溃|出错|故障|坏了|不工作|不能用|打不开|闪退|异常",
            ),
        ),
        (1, _any(r"\b(?:error|issue|wrong|leak)s?\b|失败|错误")),
    ),
    "code_review": (
        (
            4,
            _any(
                rf"\breview(?:ing)?\b[^.?!\n]{{0,40}}\b{_CODE_CHANGE}\b",
                rf"\b{_CODE_CHANGE}\b[^.?!\n]{{0,20}}\breview\b",
                r"代码(?:审查|评审|走查)|(?:审查|评审|审一下|过一遍|review).{0,16}(?:代码|pr|提交|改动|合并)",
                r"(?:看看?|看一下|检查).{0,12}(?:\bpr\b|pull request|合并请求)",
            ),
        ),
        (1, _any(r"\breview\b|审查|评审")),
    ),
    "refactor": (
        (
            4,
            _any(
                r"\brefactor(?:ing)?\b|\brestructure\b",
                r"\bclean(?:ing)? up\b[^.?!\n]{0,30}\b(?:code|module|class|function|tests?|file)",
                r"\b(?:extract|split|rename|inline|dedupe|deduplicate)\b[^.?!\n]{0,40}"
                r"\b(?:method|class|function|module|helper|file|variable|package)s?\b",
                r"重构|(?:拆分|抽取|抽成|重命名|合并|简化|整理|清理).{0,16}"
                r"(?:函数|(?<![各种分一两几这那])类(?![型别似])|模块|代码|源文件|变量)",
                r"(?:拆分|抽取|抽成|简化).{0,16}(?:方法|文件)",
            ),
        ),
    ),
    "booking": (
        (
            3,
            _any(
                r"\b(?:book|reserve|rebook)\b(?! (?:review|report|club|about|by)\b)",
                r"\b(?:reservation|booking|itinerary)s?\b",
                r"预订|预定|预约|(?<![修装])订(?:一?[张间个份]|机票|酒店|票|房|餐|位|座|桌|去|明|后|下|[0-9])|改签|退票",
            ),
        ),
        (
            2,
            _any(
                r"\b(?:flights?|hotels?|train tickets?|table for|appointments?|check-?in|seats?)\b",
                r"机票|酒店|车票|高铁票|航班|民宿|餐厅.{0,8}位|挂号",
            ),
        ),
        (1, _any(r"\b(?:reschedule|cancel|trip|travel)\b|行程|出差|旅行")),
    ),
    "ops": (
        (
            3,
            _any(
                r"\b(?:deploy(?:ment|ing)?|roll ?back|provision|redeploy|kubernetes|k8s|helm)\b",
                r"\b(?:restart|reboot)\b",
                r"\bset up\b[^.?!\n]{0,30}\b(?:server|cluster|vm|ci|proxy)\b",
                r"部署|上线|回滚|重启|运维|扩容|发版|发布.{0,8}(?:版本|新版|到|上)",
            ),
        ),
        (
            2,
            _any(
                r"\b(?:docker|nginx|systemd|terraform|ansible|certificate|dns|cron|backups?)\b",
                r"\b(?:install|upgrade|configure|migrate|monitor(?:ing)?|release|pipeline)\b",
                r"服务器|配置|安装|升级|备份|监控|证书|迁移|流水线|集群",
            ),
        ),
        (1, _any(r"\b(?:server|cluster|production|staging)\b|生产环境|机房")),
    ),
    "analysis": (
        (
            3,
            _any(
                r"\banaly[sz](?:e|es|ing)\b|\banalysis\b|\b(?:plot|chart|benchmark)\b",
                r"\bprofile (?:the|our|my)\b",
                r"分析|统计|画.{0,6}图|图表|跑.{0,4}基准",
            ),
        ),
        (
            2,
            _any(
                r"\b(?:csv|spreadsheet|data ?set|metrics|statistics|trends?|correlat\w{1,8})\b",
                r"\b(?:calculate|compute|measure|how (?:many|much))\b",
                r"数据|指标|趋势|占比|测量|计算",
            ),
        ),
    ),
    "research": (
        (
            3,
            _any(
                r"\bresearch\b|\b(?:find out|look up|look into|investigate|survey)\b",
                r"\bcompare\b|\b(?:pros and cons|state of the art|alternatives (?:to|for))\b",
                r"调研|研究|查一查|查一下|查查|查找|搜集|对比|比较一?下?|了解一下|资料",
            ),
        ),
        (
            2,
            _any(
                r"\b(?:search for|find (?:me )?(?:a|some|the best|all))\b",
                r"\bwhich (?:is|are) (?:the )?best\b",
                r"\b(?:recommend|options for|learn about)\b",
                r"搜索|找一下|找找|找几|推荐|哪个(?:更|最)?好",
            ),
        ),
    ),
    "writing": (
        (
            3,
            _any(
                rf"\b(?:write|draft|compose|rewrite|edit)\b[^.?!\n]{{0,40}}\b{_TEXTS}s?\b",
                r"\b(?:proofread|translate|translation|summari[sz]e|rephrase|paraphrase)\b",
                r"(?:写|起草|撰写|拟).{0,12}(?:邮件|文章|信|周报|日报|报告|诗|文案|稿|博客|总结|介绍|通知|说明)",
                r"润色|翻译|改写|校对|缩写成|总结一下|概括",
            ),
        ),
        (1, _any(r"\b(?:draft|wording|tone|write)\b|文案|措辞|写")),
    ),
    "feature": (
        (
            3,
            _any(
                r"\b(?:implement|develop|new feature)\b",
                r"\badd(?:ing)?\b[^.?!\n]{0,50}\b(?:support|endpoint|button|page|option|field|feature"
                r"|command|flag|api|test|method|column|form|mode|parameter|login|dark|cache)s?\b",
                r"\b(?:build|create|write)\b[^.?!\n]{0,40}\b(?:app|site|website|script|tool|bot|module"
                r"|class|function|service|parser|page|game|cli|api|component|tests?)\b",
                r"(?:实现|开发|新增|添加|增加|加上|加一?个).{0,20}|做一?个|写一?个.{0,12}(?:脚本|程序|工具|函数|页面|接口|类|测试)",
            ),
        ),
        (1, _any(r"\b(?:add|build|create|make|support|extend)\b|功能|支持|接口")),
    ),
    "question": (
        (
            2,
            _any(
                r"^(?:so |and |but |hey,? |hi,? )?(?:what|why|when|who|where|which|how|is|are|does"
                r"|do|did|can i|should i)\b[^\n]{0,400}\?",
                r"\b(?:explain|tell me (?:about|what|why|how))\b",
                r"为什么|是什么|什么是|什么意思|怎么回事|解释|讲讲|请问",
            ),
        ),
        (1, _any(r"\?|？|吗[。\s]?$|怎么|如何|哪里|几点|多少")),
    ),
}

_NAMES: Final[Mapping[str, str]] = {
    "修复": "bug_fix",
    "缺陷": "bug_fix",
    "bug": "bug_fix",
    "bugfix": "bug_fix",
    "fix": "bug_fix",
    "代码审查": "code_review",
    "评审": "code_review",
    "审查": "code_review",
    "review": "code_review",
    "功能": "feature",
    "开发": "feature",
    "重构": "refactor",
    "调研": "research",
    "研究": "research",
    "预订": "booking",
    "预约": "booking",
    "写作": "writing",
    "翻译": "writing",
    "分析": "analysis",
    "运维": "ops",
    "部署": "ops",
    "问题": "question",
    "提问": "question",
    "其他": "other",
    "其它": "other",
}
_NOT_IN_A_NAME: Final = re.compile(r"[^\w]+")


def infer_type(text: str) -> str:
    """The type of work that a request asks for; ``other`` when no word says."""
    beginning = cut(text, _READ)
    scores = {
        name: sum(weight for weight, sign in signs if sign.search(beginning))
        for name, signs in _SIGNS.items()
    }
    best = max(scores.values())
    return "other" if best == 0 else next(name for name in TYPES if scores.get(name) == best)


def type_name(written: str) -> str:
    """A type as somebody wrote it in its one spelling: ``Bug fix`` and 修复 are ``bug_fix``.

    Empty if it says nothing, or holds a credential, which no part of would be a word.
    """
    if has_secret(written):
        return ""
    name = _NOT_IN_A_NAME.sub("_", normalise(cut(written, _NAME))).strip("_")
    return _NAMES.get(name, name)
