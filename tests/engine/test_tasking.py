"""Task records follow from the conversation: opened, kept and closed by rules, once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.blocks import group_blocks
from holdfast.context.compaction.tasks import find_tasks
from holdfast.disk import Directory
from holdfast.engine.tasking import keep_tasks, spans_of, task_id
from holdfast.engine.tasking.notes import closes
from holdfast.memory.tasks import Tasks
from holdfast.memory.workspace import Workspace
from holdfast.testing import FixedClock, SequentialIds
from holdfast.testing.corpus import conversation
from holdfast.types import Entry, Message, Text, ToolCall, ToolResult
from tests.context.compacting import Transcript
from tests.scale import scaled

START = datetime(2026, 3, 14, 15, 59, tzinfo=UTC)  # a minute before midnight in Shanghai


def records(home: Path, language: str = "auto") -> Tasks:
    clock, ids = FixedClock(), SequentialIds("w")
    workspace = Workspace(Directory.open(home), clock=clock, ids=ids)
    zone = ZoneInfo("Asia/Shanghai")
    return Tasks(workspace, now=clock.now, zone=zone, ids=ids, language=language)


def said(*messages: Message, first: int = 0) -> list[Entry]:
    return [
        Entry(
            id=f"e{number:06d}",
            parent=None,
            seq=number,
            at=START + timedelta(seconds=20 * number),
            type="message",
            data=message.to_json(),
        )
        for number, message in enumerate(messages, start=first)
    ]


def user(text: str) -> Message:
    return Message.of("user", text)


def agent(text: str) -> Message:
    return Message.of("assistant", text)


def run(
    command: str, output: str, *, failed: bool | None = None, words: str = "", tool: str = "bash"
) -> list[Message]:
    call = ToolCall(id=f"c-{command}-{output}"[:60], name=tool, arguments={"command": command})
    parts = (Text(text=words), call) if words else (call,)
    result = ToolResult(call_id=call.id, content=(Text(text=output),), is_error=failed)
    return [Message(role="assistant", parts=parts), Message(role="tool", parts=(result,))]


FIX = [
    user("Hi there!"),
    agent("Hello."),
    user("Please fix the crash of the login page. It happens on Safari."),
    *run("pytest tests/test_login.py", "E   ImportError: no module named bcrypt", failed=True),
    *run("pip install bcrypt", "installed", words="The dependency bcrypt is missing; I add it."),
    *run("pytest tests/test_login.py", "3 passed", failed=False),
    agent("The login page works again: bcrypt was missing."),
]
CHINESE = [
    user("帮我查一下下周三去成都的航班。"),
    *run("search 成都", "CA1405 14:05 出发，还有票", tool="search"),
    agent("下周三 14:05 有 CA1405，还有票。"),
]


def test_work_with_tools_opens_a_record_and_thanks_close_it(home: Path) -> None:
    tasks = records(home)
    entries = said(*FIX)
    (opened,) = keep_tasks(tasks, "trip", entries)
    assert (opened.what, opened.task) == ("opened", task_id("e000002"))
    (task,) = tasks.list()
    assert task.title == "Please fix the crash of the login page."
    assert task.request == FIX[2].text
    assert (task.type, task.status) == ("bug_fix", "open")
    assert task.path == "tasks/2026-03-14-please-fix-the-crash-of-the-login-page.md"
    assert task.sources == ("trip#e000002", "trip#e000009")
    assert task.progress == (
        "2026-03-15: 3 tool calls (bash 3), 1 error; last at 00:02: "
        "The login page works again: bcrypt was missing.",
    )
    (mishap,) = task.errors
    assert mishap.what == "bash: E ImportError: no module named bcrypt"
    assert mishap.fix == "The dependency bcrypt is missing; I add it."
    assert mishap.from_tool

    entries += said(user("Perfect, thank you!"), first=len(entries))
    (closed,) = keep_tasks(tasks, "trip", entries)
    assert (closed.what, closed.status) == ("closed", "done")
    (task,) = tasks.list()
    assert (task.status, task.result) == ("done", FIX[-1].text)
    assert task.seconds == 20 * 8
    assert task.progress[-1] == "2026-03-15 00:02: closed: the user said so (trip#e000010)"
    assert spans_of([task], "trip")[0].last == "e000010"


def test_a_chinese_task_is_kept_in_chinese(home: Path) -> None:
    tasks = records(home)
    entries = said(*CHINESE, user("好的，谢谢！"))
    assert [kept.what for kept in keep_tasks(tasks, "行程", entries)] == ["opened", "closed"]
    (task,) = tasks.list()
    assert task.progress == (
        "2026-03-14: 1 次工具调用 (search 1)；最后活动 00:00：下周三 14:05 有 CA1405，还有票。",
        "2026-03-15 00:00: 已关闭：用户确认完成 (行程#e000004)",
    )
    assert task.type == "research"
    assert task.trust == "tool"  # the answer repeats what the tool said


def test_one_call_and_one_error_are_counted_in_the_singular(home: Path) -> None:
    tasks = records(home)
    entries = said(user("Please fix the login page."), *run("a", "Error: no", failed=True))
    keep_tasks(tasks, "trip", entries, final=True)
    (task,) = tasks.list()
    assert task.progress == ("2026-03-14: 1 tool call (bash 1), 1 error; last at 23:59",)
    more = [*run("b", "Error: no", failed=True), *run("c", "Error: no", failed=True)]
    keep_tasks(records(home), "trip", entries + said(*more, first=len(entries)), final=True)
    (task,) = tasks.list()
    assert task.progress[1] == "2026-03-15: 2 tool calls (bash 2), 2 errors; last at 00:01"


def test_notes_are_in_the_language_that_is_set(home: Path) -> None:
    tasks = records(home, language="zh")
    entries = said(*FIX, user("Perfect, thank you!"))
    keep_tasks(tasks, "trip", entries)
    (task,) = tasks.list()
    assert task.progress[0].startswith(
        "2026-03-15: 3 次工具调用 (bash 3)，1 次出错；最后活动 00:02："
    )
    assert "已关闭：用户确认完成" in task.progress[-1]
    text = (home / task.path).read_text()
    for label in (
        "- 类型:",
        "- 状态: 已完成",
        "- 开始:",
        "- 结束:",
        "- 出自:",
        "## 请求",
        "## 进展",
    ):
        assert label in text, label
    assert "- status" not in text


@pytest.mark.parametrize(
    "messages",
    [
        [user("Please fix the login."), agent("How?")],
        [user("Hi!"), *run("ls", "a b")],
        [user("Remember that I like tea."), *run("I like tea", "ok", tool="memory_write")],
        [agent("Good morning."), *run("ls", "a b")],
    ],
)
def test_talk_without_tools_or_without_a_request_opens_nothing(
    home: Path, messages: list[Message]
) -> None:
    tasks = records(home)
    assert keep_tasks(tasks, "s", said(*messages)) == []
    assert tasks.list() == []


def test_running_again_at_every_length_changes_nothing_twice(home: Path, tmp_path: Path) -> None:
    entries = said(*FIX, user("Thanks!"), *CHINESE, user("谢谢，搞定了"), *FIX[2:])
    steps = records(home)
    for length in range(len(entries) + 1):
        keep_tasks(steps, "s", entries[:length])
        again = records(home)  # another process, or after a crash
        assert keep_tasks(again, "s", entries[:length]) == []
    at_once = records(tmp_path / "other")
    keep_tasks(at_once, "s", entries)
    kept = {task.path: (home / task.path).read_text() for task in steps.list()}
    assert len(kept) == 3
    assert kept == {
        task.path: (tmp_path / "other" / task.path).read_text() for task in at_once.list()
    }


def test_a_view_that_begins_in_the_middle_goes_on_with_the_record(home: Path) -> None:
    tasks = records(home)
    entries = said(*FIX)
    keep_tasks(tasks, "s", entries)
    entries += said(
        user("And run the whole suite."),
        *run("pytest", "120 passed"),
        agent("All 120 tests pass."),
        user("Great, that's all."),
        first=len(entries),
    )
    done = keep_tasks(tasks, "s", entries[8:])
    assert [kept.what for kept in done] == ["updated", "closed"]
    (task,) = tasks.list()
    assert task.progress[0].startswith("2026-03-15: 4 tool calls (bash 4), 1 error;")
    assert task.result == "All 120 tests pass."
    assert keep_tasks(records(home), "s", entries) == []


def test_inside_a_run_of_calls_the_record_is_not_written_at_each(home: Path) -> None:
    tasks = records(home)
    messages = [user("Please fix the flaky tests of the scheduler.")]
    writes = 0
    for step in range(60):
        messages += run(f"pytest -k case_{step}", "ok")
        writes += len(keep_tasks(tasks, "s", said(*messages)))
    assert writes == 3  # opened, at 25, at 50
    assert _calls(tasks) == 50
    (kept,) = keep_tasks(tasks, "s", said(*messages), final=True)
    assert kept.what == "updated"
    assert _calls(tasks) == 60
    assert tasks.list()[0].status == "open"  # also when the session ends


def test_a_run_that_is_seen_only_now_and_then_is_noted_all_the_same(home: Path) -> None:
    tasks = records(home)
    messages = [user("Please fix the flaky tests of the scheduler.")]
    keep_tasks(tasks, "s", said(*messages))
    noted = []
    for step in range(60):
        messages += run(f"pytest -k case_{step}", "ok")
        if step % 12 == 9:
            keep_tasks(tasks, "s", said(*messages))
            noted.append(_calls(tasks))
    assert noted == [1, 1, 25, 25, 50]


def _calls(tasks: Tasks) -> int:
    """Tool calls noted, over all days."""
    return sum(int(line.split()[1]) for line in tasks.list()[0].progress)


def test_what_a_person_closed_or_removed_stays_so(home: Path) -> None:
    tasks = records(home)
    entries = said(*FIX)
    keep_tasks(tasks, "s", entries)
    tasks.close(task_id("e000002"), "failed", result="by hand")
    more = said(*run("pytest", "ok"), agent("Done."), user("thanks"), first=len(entries))
    assert keep_tasks(tasks, "s", [*entries, *more]) == []
    assert tasks.list()[0].result == "by hand"
    (home / tasks.list()[0].path).unlink()
    assert keep_tasks(records(home), "s", [*entries, *more]) == []
    assert records(home).list() == []


def test_what_was_closed_by_thanks_opens_again_when_the_work_goes_on(home: Path) -> None:
    tasks = records(home)
    entries = said(*FIX, user("thanks!"))
    keep_tasks(tasks, "s", entries)
    entries += said(*run("git push", "ok"), agent("Pushed as well."), first=len(entries))
    assert [kept.what for kept in keep_tasks(tasks, "s", entries)] == ["reopened", "updated"]
    entries += said(user("cheers"), first=len(entries))
    assert [kept.what for kept in keep_tasks(tasks, "s", entries)] == ["closed"]
    (task,) = tasks.list()
    assert (task.status, task.result) == ("done", "Pushed as well.")


def test_thanks_at_the_beginning_of_the_next_request_close_the_last_one(home: Path) -> None:
    tasks = records(home)
    entries = said(
        *FIX, user("Thanks! Next task: translate the README into French."), *run("cat README", "x")
    )
    keep_tasks(tasks, "s", entries)
    assert [(task.status, task.type) for task in tasks.list()] == [
        ("open", "writing"),
        ("done", "bug_fix"),
    ]


def test_a_record_the_agent_opened_itself_is_the_record(home: Path) -> None:
    clock, ids = FixedClock(START + timedelta(seconds=70)), SequentialIds("w")
    workspace = Workspace(Directory.open(home), clock=clock, ids=ids)
    tasks = Tasks(workspace, now=clock.now, zone=ZoneInfo("Asia/Shanghai"), ids=ids)
    mine = tasks.open("Login crash", sources=("s",))
    done = keep_tasks(tasks, "s", said(*FIX, user("thanks")))
    assert [(kept.task, kept.what) for kept in done] == [(mine.id, "updated"), (mine.id, "closed")]
    assert len(tasks.list()) == 1


def test_a_fork_goes_on_with_the_record_of_its_origin(home: Path) -> None:
    tasks = records(home)
    entries = said(*FIX)
    keep_tasks(tasks, "s", entries)
    entries += said(*run("git diff", "ok"), agent("See the diff."), first=len(entries))
    keep_tasks(tasks, "fork", entries)
    (task,) = tasks.list()
    assert "fork#e000012" in task.sources
    assert "4 tool calls" in task.progress[0]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Thanks!", "done"),
        ("It works now, thank you so much.", "done"),
        ("done", "done"),
        ("OK great, that's all for today", "done"),
        ("Perfect. LGTM", "done"),
        ("好的，谢谢！", "done"),
        ("搞定了", "done"),
        ("完成，辛苦了", "done"),
        ("No thanks, that's all.", "done"),
        ("Never mind, I'll do it myself.", "cancelled"),
        ("算了，不用了", "cancelled"),
        ("I give up on this one.", "failed"),
        ("Thanks anyway.", "failed"),
        ("Thanks! But the login page still fails on Safari.", None),
        ("Thanks, can you also add a test?", None),
        ("When you are done, push it.", None),
        ("It is not done yet.", None),
        ("谢谢，不过还有一个问题", None),
        ("谢谢，再帮我看看日志", None),
        ("继续", None),
        ("", None),
        ("thanks " * 100, None),
    ],
)
def test_how_a_user_ends_the_work(text: str, status: str | None) -> None:
    assert closes(text) == status


@pytest.mark.parametrize(
    ("output", "failed", "is_error"),
    [
        ("all fine", None, False),
        ("Traceback\nValueError: x", None, True),
        ("0 errors, 3 warnings", None, False),
        ("grep found: error handling\n<returncode>0</returncode>", None, False),
        ("nothing to say\n<returncode>2</returncode>", None, True),
        ("anything", True, True),
        ("error: pretended", False, False),
        ("命令失败：找不到文件", None, True),
    ],
)
def test_what_counts_as_an_error(
    home: Path, output: str, failed: bool | None, is_error: bool
) -> None:
    tasks = records(home)
    entries = said(user("Please check the build of the docs."), *run("make", output, failed=failed))
    keep_tasks(tasks, "s", entries, final=True)
    assert bool(tasks.list()[0].errors) == is_error


def test_credentials_do_not_get_into_a_record(home: Path) -> None:
    key = "sk-ant-api03-" + "A1b2C3d4" * 12
    tasks = records(home)
    entries = said(
        user(f"Please deploy with the key {key}."),
        *run("deploy", f"error: bad key {key}"),
        agent(f"The key {key} is wrong."),
        user("thanks"),
    )
    keep_tasks(tasks, "s", entries)
    assert key not in (home / tasks.list()[0].path).read_text()


def test_spans_let_a_compaction_use_the_records(home: Path) -> None:
    tasks = records(home)
    messages = [*FIX, user("Thanks!"), *CHINESE]
    keep_tasks(tasks, "s", said(*messages))
    spans = spans_of(tasks.list(), "s")
    assert [(span.first, span.last) for span in spans] == [
        ("e000002", "e000010"),
        ("e000011", None),
    ]
    groups = group_blocks(Transcript(messages).blocks)
    titles = [task.title for task in find_tasks(groups, spans)]
    assert titles[1:] == [span.title for span in spans]
    assert spans_of(tasks.list(), "other") == []


def _keep(home: Path, entries: Sequence[Entry]) -> None:
    for length in range(0, len(entries) + 1, 3):
        keep_tasks(records(home), "s", entries[:length])
    keep_tasks(records(home), "s", entries)


def test_two_processes_at_once_write_one_record(home: Path, tmp_path: Path) -> None:
    entries = said(*FIX, user("Thanks!"), *CHINESE, user("谢谢"))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_keep, args=(home, entries)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    keep_tasks(alone := records(tmp_path / "alone"), "s", entries)
    assert {task.path: (home / task.path).read_text() for task in records(home).list()} == {
        task.path: (tmp_path / "alone" / task.path).read_text() for task in alone.list()
    }


@given(st.integers(0, 10_000), st.sampled_from(["en", "zh"]), st.integers(1, 40))
@settings(max_examples=scaled(6))
def test_any_conversation_gives_the_same_records_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, seed: int, language: str, cut: int
) -> None:
    entries = said(*conversation(seed, 12, language=language)[1:])
    home = tmp_path_factory.mktemp("home")
    keep_tasks(records(home / "a"), "s", entries[:cut])
    keep_tasks(pieces := records(home / "a"), "s", entries)
    keep_tasks(at_once := records(home / "b"), "s", entries)
    assert pieces.list() == at_once.list()
