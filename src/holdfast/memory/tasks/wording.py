"""The words of a task record in English and Chinese: the first is written, all are read.

Proved by ``tests/memory/test_tasks_record.py``. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = [
    "HEADINGS",
    "NOTES",
    "SECTIONS",
    "field_named",
    "language_for",
    "language_of",
    "section_named",
]

SECTIONS: Final = ("request", "progress", "result", "errors", "patterns")
FIELDS: Final = ("id", "type", "status", "opened", "closed", "sources", "trust")

# Two names of a section at least: a title may have taken the first.
HEADINGS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "en": {
        "request": ("Request", "Asked", "Task", "Goal"),
        "progress": ("Progress", "Steps", "Log", "Notes on progress"),
        "result": ("Result", "Outcome", "Results"),
        "errors": ("Errors", "Problems", "Error", "What went wrong"),
        "patterns": ("Patterns", "Lessons", "Lessons learned", "Lessons learnt", "What worked"),
        "id": ("id",),
        "type": ("type", "kind"),
        "status": ("status", "state"),
        "opened": ("opened", "started", "created", "date"),
        "closed": ("closed", "finished", "ended", "completed"),
        "sources": ("sources", "source"),
        "trust": ("trust",),
        "is_open": ("open", "in progress", "doing", "todo", "active", "pending", "started"),
        "is_done": ("done", "completed", "complete", "finished", "closed", "success", "resolved"),
        "is_failed": ("failed", "failure", "error"),
        "is_cancelled": ("cancelled", "canceled", "abandoned", "dropped"),
        "worked": ("worked", "works", "do", "+", "good", "success"),
        "failed": ("failed", "did not work", "didn't work", "avoid", "don't", "-", "bad"),
    },
    "zh": {
        "request": ("请求", "需求", "任务", "目标", "要求"),
        "progress": ("进展", "进度", "过程", "步骤"),
        "result": ("结果", "成果", "结论"),
        "errors": ("错误", "问题", "报错"),
        "patterns": ("经验", "教训", "模式", "规律"),
        "id": ("id", "编号"),
        "type": ("类型", "类别"),
        "status": ("状态",),
        "opened": ("开始", "创建", "开始时间", "日期"),
        "closed": ("结束", "完成时间", "结束时间", "关闭"),
        "sources": ("来源", "出处"),
        "trust": ("出自", "可信度"),
        "is_open": ("进行中", "未完成", "打开", "待办", "处理中"),
        "is_done": ("已完成", "完成", "成功", "搞定", "已解决"),
        "is_failed": ("失败", "未成功"),
        "is_cancelled": ("已取消", "取消", "放弃"),
        "worked": ("有效", "管用", "成功", "可行"),
        "failed": ("无效", "不管用", "失败", "不可行", "避免"),
    },
}

NOTES: Final[Mapping[str, str]] = {
    "en": "You may edit all of this. status is open, done, failed or cancelled; an error is "
    "written as: what went wrong → what fixed it (? if nothing has yet); a pattern as: "
    "worked: … or failed: …; [tool] marks the words of a tool, which nobody has checked",
    "zh": "本文件可以随意编辑。状态：进行中、已完成、失败、已取消；错误写作："
    "出了什么问题 → 怎么解决的（? 表示尚未解决）；经验写作：有效: … 或 无效: …；"
    "[tool] 表示内容出自工具，未经核实",
}

_HAN: Final = re.compile(r"[\u3400-\u9fff]")


def language_of(text: str) -> str:
    """``zh`` if there is a Chinese character in the text."""
    return "zh" if _HAN.search(text) else "en"


def language_for(setting: str, text: str) -> str:
    """The language to write in: ``en`` or ``zh`` if that is the setting, else that of the text."""
    return setting if setting in HEADINGS else language_of(text)


def _by_name(keys: tuple[str, ...]) -> dict[str, str]:
    return {
        name.casefold(): key for words in HEADINGS.values() for key in keys for name in words[key]
    }


_SECTIONS: Final = _by_name(SECTIONS)
_FIELDS: Final = _by_name(FIELDS)


def section_named(title: str) -> str | None:
    """The section that a heading opens, if it is one of a record's."""
    return _SECTIONS.get(" ".join(title.split()).casefold().strip(" :：*_"))


def field_named(name: str) -> str | None:
    return _FIELDS.get(" ".join(name.split()).casefold().strip(" *_"))
