"""What is told without a model: runs, errors, files, decisions, outcomes."""

from __future__ import annotations

import json

import pytest

from holdfast.context.blocks import Group, group_blocks
from holdfast.context.compaction import Judge
from holdfast.context.compaction.facts import finished_task, lines_of_task
from holdfast.context.compaction.runs import changed_files, error_of, is_check, runs_of
from holdfast.context.compaction.sentences import excerpt, is_finding, sentences, spoken
from holdfast.context.compaction.tasks import find_tasks
from holdfast.types import Json, Message, Text, ToolCall, ToolResult
from tests.context.compacting import Transcript


def used(name: str, arguments: dict[str, Json], result: str, said: str = "") -> list[Message]:
    call = ToolCall(id=f"c{len(result)}", name=name, arguments=json.dumps(arguments))
    parts = (Text(text=said), call) if said else (call,)
    answer = ToolResult(call_id=call.id, content=(Text(text=result),))
    return [Message(role="assistant", parts=parts), Message(role="tool", parts=(answer,))]


def groups_of(*said: list[Message]) -> tuple[Group, ...]:
    return group_blocks(Transcript(m for messages in said for m in messages).blocks)


def told(groups: tuple[Group, ...]) -> dict[str, list[str]]:
    (task,) = find_tasks(groups)
    lines = lines_of_task(task, groups, limit=200, judge=Judge(), staying=frozenset())
    kinds: dict[str, list[str]] = {}
    for line in lines:
        kinds.setdefault(line.kind, []).append(line.text)
        assert line.sources
        assert "\n" not in line.text
    return kinds


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("<returncode>1</returncode>\nboom", True),
        ("<returncode>0</returncode>\nerrors: 0, no error at all", False),
        ('Traceback (most recent call last):\n  File "x"\nValueError: bad', True),
        ("3 failed, 20 passed in 2 s", True),
        ("23 passed in 2 s", False),
        ("bash: foo: command not found", True),
        ("def handle_error(error): raise ValueError", False),
        ('{"error": "no such user"}', True),
        ("错误：连接被拒绝", True),
        ("process exited with code 2", True),
    ],
)
def test_a_failure_is_what_the_result_says_it_is(result: str, failed: bool) -> None:
    (run,) = runs_of(groups_of(used("bash", {"command": "x"}, result)))
    assert run.failed is failed


def test_an_error_that_the_same_command_no_longer_has_is_told_as_fixed() -> None:
    kinds = told(
        groups_of(
            [Message.of("user", "Fix it.")],
            used("bash", {"command": "python app.py"}, "ValueError: bad port 1"),
            used("bash", {"command": "python other.py"}, "KeyError: 'name' missing"),
            used("bash", {"command": "python app.py"}, "all good now"),
        )
    )
    assert "`python app.py` → ValueError: bad port 1 → ok" in kinds["error"]
    assert "`python other.py` → KeyError: 'name' missing" in kinds["error"]


def test_a_status_without_a_message_is_no_error_line() -> None:
    assert error_of("<returncode>1</returncode>\n<output>\n</output>") == ""
    assert error_of("<returncode>1</returncode>\n<output>\nno match") == "no match"


def test_files_that_were_written_are_told_and_others_are_not() -> None:
    runs = runs_of(
        groups_of(
            used("bash", {"command": "cat > src/new.py << 'EOF'\nx = 1 > 0\nEOF"}, "a"),
            used("bash", {"command": "sed -i 's/a/b/' src/old.py && python src/old.py"}, "bb"),
            used("bash", {"command": "cat src/read.py 2>/dev/null > /dev/null"}, "ccc"),
            used("str_replace_edit", {"path": "docs/page.md", "new": "x"}, "dddd"),
            used("read_file", {"path": "docs/other.md"}, "eeeee"),
        )
    )
    assert list(changed_files(runs)) == ["src/new.py", "src/old.py", "docs/page.md"]


def test_tests_and_builds_are_checks() -> None:
    runs = runs_of(
        groups_of(
            used("bash", {"command": "python -m pytest -q"}, "1 passed"),
            used("bash", {"command": "ls -la"}, "files"),
            used("bash", {"command": "npm run build"}, "built it"),
        )
    )
    assert [is_check(run) for run in runs] == [True, False, True]


def test_decisions_findings_state_and_next_step_are_quoted() -> None:
    kinds = told(
        groups_of(
            [Message.of("user", "Why does the importer crash every night?")],
            [Message.of("assistant", "The cause is a timeout in the nightly importer job.")],
            [Message.of("assistant", "We decided to use a queue instead of the cron job.")],
            [Message.of("user", "Keep the old table until Friday, Wei still needs it.")],
            [Message.of("assistant", "The queue is running in staging. Next I will switch over.")],
        )
    )
    assert kinds["goal"] == ["Why does the importer crash every night?"]
    assert kinds["finding"] == ["The cause is a timeout in the nightly importer job."]
    assert kinds["decision"] == ["We decided to use a queue instead of the cron job."]
    assert kinds["next"] == ["Next I will switch over."]
    assert "running in staging" in kinds["state"][0]
    assert any(
        "Keep the old table" in text
        for text in [*kinds.get("said", []), *kinds.get("constraint", [])]
    )


def test_chinese_is_read_like_english() -> None:
    kinds = told(
        groups_of(
            [Message.of("user", "看一下网关为什么每天晚上报错。")],
            [Message.of("assistant", "原因是网关的超时时间太短了。我们决定把网关改到端口九千。")],
            [Message.of("user", "以后都不要动生产库。")],
        )
    )
    assert any("超时时间太短" in text for text in kinds["finding"])
    assert any("端口九千" in text for text in kinds["decision"])
    assert kinds["constraint"] == ["以后都不要动生产库。"]


def test_a_finished_task_takes_at_most_three_lines() -> None:
    groups = groups_of(
        [Message.of("user", "Book Amira a flight to Oslo.\nWindow seat.\n" * 20)],
        used("book_flight", {"to": "Oslo", "name": "Amira"}, "booked SK4711"),
        [Message.of("assistant", "Done: booked SK4711 for 220 euros.")],
        [Message.of("user", "Great!"), Message.of("assistant", "You are welcome!")],
    )
    (task,) = find_tasks(groups)
    entries = frozenset(group.first.entry for group in groups)
    line = finished_task(task, entries, limit=120, rank=0, order=0)
    assert line is not None
    rows = line.text.split("\n")
    assert len(rows) == 3
    assert "SK4711" in rows[1]
    assert "book_flight(to=Oslo, name=Amira)" in rows[2]
    assert all(len(row) < 200 for row in rows)


def test_pasted_code_and_logs_are_not_taken_for_what_somebody_says() -> None:
    message = Message.of(
        "assistant", "```\nThe cause is fake news of some log line\n```\nAll fine."
    )
    assert not list(sentences(spoken(message), is_finding))


def test_an_excerpt_is_one_line_without_hidden_characters_and_not_too_long() -> None:
    assert excerpt("a\n\tb\u200b\u202ec", 50) == "a bc"
    assert len(excerpt("word " * 1_000, 80)) <= 80
    assert excerpt("word " * 1_000, 80).endswith("…")
    family = "👨‍👩‍👧‍👦"
    shown = excerpt(family * 40, 50)
    assert shown.rstrip("…") == family * (len(shown.rstrip("…")) // len(family))


@pytest.mark.parametrize("piece", ["a.Error: ", "sed -i ", "> ", "x\n", "E   ", "-", "`", "exit "])
def test_megabytes_of_one_pattern_are_read_in_bounded_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    groups = groups_of([Message.of("user", text)], used("bash", {"command": text}, text, said=text))
    told(groups)
