"""An older result goes first when a later one in the view answers the same question."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.config.keys import Prune
from holdfast.context.pruning import PrunePlan
from tests.context.pruning_talks import Talk, lines

FILE = lines(60, "def function")
NOTHING_ELSE = Prune(soft_trim_chars=1_000_000, min_clear_chars=1_000_000)

Call = tuple[str, Any]


def two_calls(
    older: Call, later: Call, *, result: str = FILE, between: str | None = None, **of_later: Any
) -> tuple[PrunePlan, str]:
    talk = Talk()
    talk.says("user", "Read the file.")
    old = talk.uses(*older, FILE)
    if between is not None:
        talk.uses("edit_file", {"path": between, "new_text": "x"}, "ok")
    talk.uses(*later, result, **of_later)
    talk.goes_on()
    return talk.plan(window=200_000, settings=NOTHING_ELSE, prune_at=0, target=0), old


def bash(command: str) -> Call:
    return ("bash", {"command": command})


SAME = [
    (("search", {"q": "spam", "n": 5}), ("search", {"n": 5, "q": "spam"})),
    (("search", '{"q": "spam"}'), ("search", '{ "q":"spam" }')),
    (("run_tests", "not json"), ("run_tests", "not json")),
    (("read_file", {"path": "src/a.py"}), ("read_file", {"path": "./src/a.py"})),
    (("read_file", {"path": "src/a.py", "offset": 10}), ("read_file", {"path": "src/a.py"})),
    (("read_file", {"path": "src/a.py"}), ("view_file", {"file_path": "src//a.py"})),
    (("Read", {"file_path": "/a.py", "limit": None}), ("Read", {"file_path": "/a.py"})),
    (("web_fetch", {"url": "https://a.example/x#top"}), bash("curl -sL https://a.example/x")),
    (("editor", {"command": "view", "path": "a.py"}), bash("cat a.py")),
    (bash("cat src/a.py"), bash("nl -ba src/a.py")),
    (bash("sed -n '1,40p' src/a.py"), bash("cat -n src/a.py")),
    (bash("sed -n '1,40p' src/a.py"), bash('sed -n "1,40p" src/a.py')),
    (bash("nl -ba src/a.py | sed -n '5,9p'"), bash("sed -n 5,9p src/a.py")),
    (bash("head -n 20 src/a.py"), bash("head -20 src/a.py")),
    (bash("cd /repo && cat src/a.py"), bash("cat /repo/src/a.py")),
    (("shell", {"command": ["bash", "-lc", "cat a.py"], "workdir": "/r"}), bash("cat /r/a.py")),
    (bash("cat '文档/说明 书.md'"), ("read_file", {"path": "文档/说明 书.md"})),
]

DIFFERENT = [
    (("search", {"q": "spam"}), ("search", {"q": "eggs"})),
    (("search", {"q": "spam"}), ("grep", {"q": "spam"})),
    (("next_page", {}), ("next_page", {})),
    (("browser_scroll", {"by": 1}), ("browser_scroll", {"by": 1})),
    (("read_file", {"path": "a.py"}), ("read_file", {"path": "b.py"})),
    (("read_file", {"path": "a.py"}), ("read_file", {"path": "a.py", "offset": 10})),
    (("read_file", {"path": "a.py"}), ("write_file", {"path": "a.py"})),
    (("read_file", {"path": "a.py"}), ("list_files", {"path": "a.py"})),
    (("read_file", {"path": "a.py"}), ("editor", {"command": "create", "path": "a.py"})),
    (("grep", {"path": "a.py", "pattern": "x"}), ("read_file", {"path": "a.py"})),
    (bash("cat a.py"), bash("cat a.py b.py")),
    (bash("cat a.py"), bash("cat a.py > b.py")),
    (bash("cat a.py"), bash("cat a.py && rm a.py")),
    (bash("cat a.py"), bash("cat *.py")),
    (bash("cat a.py"), bash("sed -n 1,5p a.py")),
    (bash("sed -n 1,40p a.py"), bash("sed -n 41,80p a.py")),
    (bash("cd /one && cat a.py"), bash("cd /two && cat a.py")),
    (bash("cat a.py"), bash("sed -i s/a/b/ a.py")),
    (bash("head -n 20 a.py"), bash("tail -n 20 a.py")),
]


@pytest.mark.parametrize(("older", "later"), SAME, ids=repr)
def test_a_later_read_of_the_same_makes_the_older_stale(older: Call, later: Call) -> None:
    plan, old = two_calls(older, later)
    (shown,) = plan.shown
    assert (shown.entry, shown.how) == (old, "superseded")
    assert "read again later" in shown.text
    assert f"expand {old}" in shown.text


@pytest.mark.parametrize(("older", "later"), DIFFERENT, ids=repr)
def test_anything_else_does_not(older: Call, later: Call) -> None:
    plan, _ = two_calls(older, later)
    assert plan.shown == ()


def test_an_edit_in_between_makes_the_older_read_only_more_stale() -> None:
    read = ("read_file", {"path": "a.py"})
    plan, old = two_calls(read, read, between="a.py")
    assert [each.entry for each in plan.shown] == [old]


@pytest.mark.parametrize(
    "result",
    [
        "Error: file not found",
        "<returncode>1</returncode>\n<output>\ncat: a.py: No such file or directory\n</output>",
        "cat: a.py: Permission denied",
        '{"error": "timeout"}',
        "Traceback (most recent call last):\n  File",
        "错误：文件不存在",
        "",
        "  \n",
    ],
)
def test_a_later_read_that_failed_supersedes_nothing(result: str) -> None:
    plan, _ = two_calls(bash("cat a.py"), bash("cat a.py"), result=result)
    assert plan.shown == ()


def test_a_later_read_marked_as_an_error_supersedes_nothing() -> None:
    plan, _ = two_calls(bash("cat a.py"), bash("cat a.py"), is_error=True)
    assert plan.shown == ()


def test_a_later_whole_read_that_shows_less_does_not_supersede_some_lines() -> None:
    some, whole = bash("sed -n 900,990p a.py"), bash("cat a.py")
    assert two_calls(some, whole, result="def function():\n    return 1\n")[0].shown == ()
    cut = FILE + FILE + "\n... output truncated"
    assert two_calls(some, whole, result=cut)[0].shown == ()
    assert two_calls(some, whole, result=FILE + FILE)[0].shown


def test_a_later_read_in_the_protected_tail_counts() -> None:
    talk = Talk()
    talk.says("user", "Read the file.")
    old = talk.uses("read_file", {"path": "a.py"}, FILE)
    talk.goes_on()
    talk.uses("read_file", {"path": "a.py"}, FILE)
    plan = talk.plan(window=200_000, settings=NOTHING_ELSE, prune_at=0, target=0)
    assert [each.entry for each in plan.shown] == [old]


def test_a_result_that_was_shortened_supersedes_nothing() -> None:
    talk = Talk()
    talk.says("user", "Read the file.")
    first = talk.uses("read_file", {"path": "a.py"}, FILE)
    second = talk.uses("read_file", {"path": "a.py"}, FILE)
    talk.append(
        "prune", {"shown": [{"entry": second, "part": 0, "text": f"[cleared; expand {second}]"}]}
    )
    talk.goes_on()
    assert talk.plan(window=200_000, settings=NOTHING_ELSE, prune_at=0, target=0).shown == ()
    assert talk.text(first) == FILE


def test_of_many_reads_only_the_newest_stays() -> None:
    talk = Talk()
    talk.says("user", "Read the file.")
    reads = [talk.uses("read_file", {"path": "a.py"}, FILE + str(n)) for n in range(5)]
    talk.goes_on()
    plan = talk.plan(window=200_000, settings=NOTHING_ELSE, prune_at=0, target=0)
    assert [each.entry for each in plan.shown] == reads[:-1]


def test_superseded_reads_go_before_anything_is_trimmed() -> None:
    talk = Talk()
    talk.says("user", "Read the files.")
    talk.uses("search", {"q": "x"}, lines(400))
    old = talk.uses("read_file", {"path": "a.py"}, lines(400))
    talk.uses("read_file", {"path": "a.py"}, lines(400))
    talk.goes_on()
    plan = talk.plan(window=200_000, prune_at=0, target=talk.tokens - 1_000)
    assert [(each.entry, each.how) for each in plan.shown] == [(old, "superseded")]


@pytest.mark.parametrize(
    "command",
    [
        "cat " + "a/" * 100_000,
        "sed -n '" + "1," * 100_000,
        "curl " + "-s " * 100_000 + "x",
        "cd " + "'" * 100_000,
        "cat '" + " " * 300 + "|",
    ],
)
def test_hostile_arguments_cost_no_more_than_reading_them(command: str) -> None:
    """Would take minutes if an expression went back over its input again and again."""
    name = "readRead" * 10_000
    deep = '{"a":' * 5_000 + "1" + "}" * 5_000
    for arguments in (json.dumps({"command": command}), {"path": command}, deep):
        plan, old = two_calls((name, arguments), (name, arguments), result=" " * 100_000 + FILE)
        assert [each.entry for each in plan.shown if each.how == "superseded"] == [old]
