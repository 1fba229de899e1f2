"""A task record is Markdown anybody can write, and what we write is read back exactly."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import UsageError
from holdfast.memory.tasks import Lesson, Mishap, Task
from holdfast.memory.tasks.record import parse, render, tidy
from tests.scale import scaled

ZONE = timezone(timedelta(hours=8))

# What Markdown could take for something else, and what people really write.
PIECES = st.sampled_from(
    [
        *("# ", "## Result", "- ", "* ", "1. ", "> ", "```", "~~~", "---", "- - -", "===", "    "),
        *("→", " -> ", " => ", "?", "[tool] ", "worked: ", "failed:", "有效: ", "：", ":", "#"),
        *(
            "##",
            "<!--",
            "-->",
            "<div>",
            "</pre>",
            "|",
            "\n",
            "\n\n",
            "\r\n",
            "\t",
            "\u2028",
            "\x0b",
        ),
        *("login", "修复登录", "é", "👩‍👩‍👧", "\u200b", "\ud800", "- id: x", "status: done", "…"),
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=12).map("".join), st.text(max_size=60), st.just("Fix the login")
)
TIMES = st.one_of(
    st.none(),
    st.dates(min_value=date(1970, 1, 1)),
    st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.sampled_from([UTC, ZONE])),  # noqa: DTZ001
)
TASKS = st.builds(
    Task,
    id=st.from_regex(r"[0-9a-z][0-9a-z-]{0,20}", fullmatch=True),
    title=TEXTS.map(lambda text: text + "x"),
    type=st.sampled_from(["bug_fix", "other", "Code review", "修复", "my own", "!"]),
    status=st.sampled_from(["open", "done", "failed", "cancelled"]),
    opened=TIMES,
    closed=TIMES,
    request=TEXTS,
    progress=st.lists(TEXTS, max_size=3).map(tuple),
    result=TEXTS,
    errors=st.lists(
        st.builds(Mishap, what=TEXTS, fix=st.none() | TEXTS, from_tool=st.booleans()), max_size=3
    ).map(tuple),
    patterns=st.lists(
        st.builds(
            Lesson,
            text=TEXTS,
            outcome=st.sampled_from(["worked", "failed"]),
            from_tool=st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    sources=st.lists(st.sampled_from(["trip#e1", "会话#e2", "a, b#c", " "]), max_size=3).map(tuple),
    trust=st.sampled_from([None, "tool", "agent", "odd"]),
)


@given(TASKS)
@settings(max_examples=scaled(80))
def test_what_is_written_is_read_back(task: Task) -> None:
    clean = tidy(task)
    assert parse(render(clean)) == clean
    assert tidy(clean) == clean


def test_a_record_reads_without_any_explanation() -> None:
    task = Task(
        id="t1",
        title="Fix the login crash",
        type="bug_fix",
        status="done",
        opened=datetime(2026, 3, 14, 10, 26, 53, tzinfo=ZONE),
        closed=datetime(2026, 3, 14, 11, 0, tzinfo=ZONE),
        request="Please fix the login.\nIt crashes.",
        progress=("2026-03-14 10:30: 4 tool calls",),
        result="Fixed.",
        errors=(Mishap(what="bash: no such file", fix="cd src first", from_tool=True),),
        patterns=(Lesson(text="run the failing test first"),),
        sources=("trip#e1", "trip#e9"),
    )
    text = render(task)
    assert text.startswith(
        "# Fix the login crash\n\n"
        "- id: t1\n- type: bug_fix\n- status: done\n- opened: 2026-03-14 10:26:53+08:00\n"
        "- closed: 2026-03-14 11:00:00+08:00\n- sources: trip#e1, trip#e9\n\n<!-- You may edit"
    )
    assert text.endswith(
        "## Request\n\n> Please fix the login.\n> It crashes.\n\n"
        "## Progress\n\n- 2026-03-14 10:30: 4 tool calls\n\n"
        "## Result\n\n> Fixed.\n\n"
        "## Errors\n\n- [tool] bash: no such file → cd src first\n\n"
        "## Patterns\n\n- worked: run the failing test first\n"
    )
    assert parse(text) == task
    assert task.seconds == 33 * 60 + 7


def test_a_chinese_task_has_a_chinese_record() -> None:
    lesson = Lesson(text="先跑测试")
    task = tidy(Task(id="t1", title="修复登录崩溃", type="bug_fix", patterns=(lesson,)))
    text = render(task)
    assert "- 状态: 进行中\n" in text
    assert "## 经验\n\n- 有效: 先跑测试\n" in text
    assert parse(text) == task


def test_a_bare_title_is_an_open_task() -> None:
    task = parse("# Fix the login page\n", "tasks/2026-03-14-login.md")
    assert (task.title, task.status, task.type) == ("Fix the login page", "open", "bug_fix")
    assert task.opened == date(2026, 3, 14)
    assert task.id == parse("# Other\n", "archive/tasks/2026-03-14-login.md").id


@pytest.mark.parametrize(
    "text",
    [
        "---\nstatus: completed\ntype: 'Bug fix'\nsources: [a#1, b#2]\nid: x7\n---\n# Login\n",
        "# Login\n\n* **Status**: Done\n* **Type**: bugfix\n* id: x7\n* Sources: a#1，b#2\n",
        "# Login\n\n- 状态：完成\n- 类型：修复\n- 编号：x7\n- 来源：a#1、b#2\n",
        "Login\n\n- sources: a#1; b#2\n- id: x7\n- state: finished\n- kind: fix\n",
        "# Login\nstatus: done\ntype: fix\nid: x7\nsources: a#1, b#2\n\nprose\n",
        "# Login\n\n状态：完成\n类型：修复\n\n编号：x7\n来源：a#1、b#2\n",
        "Login\nstatus: done\nid: x7\ntype: fix\nsources: a#1，b#2\n",
        "status: done\nid: x7\ntype: fix\nsources: a#1，b#2\n\nLogin\n",
    ],
)
def test_fields_are_found_however_they_are_written(text: str) -> None:
    task = parse(text, "tasks/2026-03-14-login.md")
    assert (task.title, task.status, task.type, task.id) == ("Login", "done", "bug_fix", "x7")
    assert task.sources == ("a#1", "b#2")


def test_a_sentence_is_no_field() -> None:
    text = "# Login\n\nStatus: done is what Bob says,\nbut I am not sure.\n\nstatus: open\n"
    assert parse(text).status == "open"
    assert parse("# Login\n\nas Bob said,\nstatus: done\n").status == "open"


def test_the_comment_explains_every_sign_of_a_record() -> None:
    for title in ("Login", "登录"):
        errors = (Mishap(what="x", from_tool=True),)
        text = render(tidy(Task(id="t1", title=title, errors=errors, trust="tool")))
        assert "- [tool] x → ?\n" in text
        comment = text[text.index("<!--") : text.index("-->")]
        assert "[tool]" in comment
        assert "?" in comment
    assert "- 出自: tool\n" in text
    assert parse(text.replace("出自", "可信度")).trust == "tool"


def test_sections_by_hand_in_any_order_and_language() -> None:
    text = """# 登录

## 经验
+ 不要直接改生成的文件
+ ✓ 先跑测试
- 不管用：清缓存

## 错误

- 超时 -> 把超时改成 30 秒
  （网关和后端都要改）
- 还没找到原因
```
- 这不是条目 → x
```

## 请求
修一下登录。
## 别的
- foreign
"""
    task = parse(text)
    assert task.request == "修一下登录。"
    assert task.errors == (
        Mishap(what="超时", fix="把超时改成 30 秒 （网关和后端都要改）"),
        Mishap(what="还没找到原因"),
    )
    assert [(each.outcome, each.text) for each in task.patterns] == [
        ("failed", "不要直接改生成的文件"),
        ("worked", "先跑测试"),
        ("failed", "清缓存"),
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-03-14", date(2026, 3, 14)),
        ("2026-03-14 10:30", datetime(2026, 3, 14, 10, 30, tzinfo=ZONE)),
        ("2026-03-14T10:30:05Z", datetime(2026, 3, 14, 10, 30, 5, tzinfo=UTC)),
        ("2026年3月14日", date(2026, 3, 14)),
        ("2026/3/14 9:05", datetime(2026, 3, 14, 9, 5, tzinfo=ZONE)),
        ("some day", None),
        ("2026-13-40", None),
    ],
)
def test_times_by_hand_are_the_users(written: str, read: date | datetime | None) -> None:
    assert parse(f"# x\n- opened: {written}\n", zone=ZONE).opened == read


@given(st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)))
@settings(max_examples=scaled(80))
def test_any_text_is_a_record(text: str) -> None:
    task = parse(text, "tasks/2026-03-14-x.md")
    assert task.id
    assert task.title


def test_a_task_needs_a_title_and_an_id_of_one_word() -> None:
    with pytest.raises(UsageError, match="title"):
        tidy(Task(id="a", title=" \u200b## "))
    with pytest.raises(UsageError, match="id"):
        tidy(Task(id="a b", title="x"))
