"""What our files say about themselves, in English and Chinese.

Promise: whoever opens a memory folder with an editor understands it without a manual
(``tests/memory/test_notes_files.py``).
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["README", "is_chinese", "new_file"]

_ABOUT: Final = {
    "en": {
        "daily": "Memories of one day, one per line.",
        "memory": "What should be remembered in every conversation, one memory per line.",
        "topic": "Memories about one topic, one per line.",
        "legend": (
            "W: a fact, B: something that was done, O: an opinion (c = how sure, 0 to 1), "
            "S: a summary; @ names whom or what it is about. "
            "Edit this file as you like; README.md, at the top of the folder, explains the rest."
        ),
    },
    "zh": {
        "daily": "这一天的记忆，每行一条。",
        "memory": "每次对话都应记得的事，每行一条。",
        "topic": "关于一个主题的记忆，每行一条。",
        "legend": (
            "W：事实，B：做过的事，O：看法（c 是把握，0 到 1），S：小结；@ 后面是所说的人或物。"
            "可以随意修改本文件；其余说明见本文件夹最上层的 README.md。"
        ),
    },
}
_TITLES: Final = {"en": {"memory": "Memory"}, "zh": {"memory": "记忆"}}

_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")


def is_chinese(language: str, sample: str = "") -> bool:
    """Whether to write Chinese: by the setting, or by the text if the setting leaves it open."""
    if language == "auto":
        return 5 * len(_CHINESE.findall(sample)) >= len(sample) > 0
    return language.lower().startswith("zh")


def new_file(target: str, title: str, *, chinese: bool) -> str:
    """The beginning of a new file: ``target`` is daily, memory or topic."""
    words = _ABOUT["zh" if chinese else "en"]
    title = _TITLES["zh" if chinese else "en"].get(target, title)
    gap = "" if chinese else " "
    return f"# {title}\n\n<!-- {words[target]}{gap}{words['legend']} -->\n"


README: Final = """\
# What is in this folder

These files are the memory of an agent that runs with Holdfast. They are plain Markdown, and they
are the only truth: read them, edit them, delete from them with any editor, at any time.

| where | what |
|---|---|
| `MEMORY.md` | long-term memory, short and curated |
| `memory/2026-03-04.md` | what was noted on that day |
| `memory/topics/` | notes by topic |
| `bank/` | pages about people, things and opinions |
| `tasks/` | one file per task: what was asked, what came of it |
| `archive/` | what was forgotten; it can be restored |
| `sessions/`, `artifacts/` | the conversations, word for word |
| `.journal/`, `.index/` | to undo changes, to search; leave them alone |

A memory is one item of a list:

    - O(c=0.9) @Peter: Prefers short replies. <!-- hf {"id":"…","sources":["s1#e7"]} -->

- `W` is a fact, `B` something that was done, `O` an opinion, `S` a summary.
- `(c=0.9)` says how sure that is, from 0 to 1. `@Peter` is whom or what it is about; a name with
  blanks is written `@"…"`.
- The comment `<!-- hf … -->` is not shown by Markdown viewers. `id` names the memory, `sources`
  are the messages it comes from, `observed` is when it was said. `trust` says who said it, if not
  the user: `agent`, `tool` or `import`. You may leave it out: `- W: I moved to Rome.` is as good.

Take the last change back: `holdfast undo`. Forget something: `holdfast forget "text"`, or for good,
from everywhere: `holdfast forget "text" --erase`.

# 这个文件夹里有什么

这些文件是用 Holdfast 运行的助手的记忆。它们是普通的 Markdown，一切以它们为准：可以随时用任何编辑器
阅读、修改、删除。

| 位置 | 内容 |
|---|---|
| `MEMORY.md` | 长期记忆，精选而简短 |
| `memory/2026-03-04.md` | 那一天记下的事 |
| `memory/topics/` | 按主题的笔记 |
| `bank/` | 关于人、事物和看法的页面 |
| `tasks/` | 每个任务一个文件：要求是什么，结果如何 |
| `archive/` | 已忘记的内容，可以恢复 |
| `sessions/`、`artifacts/` | 对话原文 |
| `.journal/`、`.index/` | 用于撤销和搜索，请不要动 |

一条记忆是列表中的一项，如上例：

- `W` 是事实，`B` 是做过的事，`O` 是看法，`S` 是小结。
- `(c=0.9)` 是把握，从 0 到 1。`@Peter` 是所说的人或物；名字里有空格时写成 `@"…"`。
- 注释 `<!-- hf … -->` 在 Markdown 阅读器里看不到。`id` 是记忆的编号，`sources` 是它所依据的消息，
  `observed` 是说这话的时间。`trust` 是谁说的（如果不是用户）：`agent` 助手，`tool` 工具，
  `import` 导入。手写时可以不写：`- W: 我搬到了上海。` 同样有效。

撤销上一次改动：`holdfast undo`。忘记：`holdfast forget "文字"`；彻底从各处删除：
`holdfast forget "文字" --erase`。
"""
