"""Work with tools: what is remembered of it comes from records, and is trusted as such."""

from __future__ import annotations

import pytest

from holdfast.context.extract import extract, key_clauses
from holdfast.context.extract.commands import (
    changes_something,
    diffed_files,
    edited_files,
    failed,
    missing_modules,
)
from holdfast.context.extract.commands import (
    test_result as result_of,
)
from holdfast.context.extract.commands import (
    test_runner as runner_of,
)
from holdfast.retain import RetainLine
from holdfast.types import Message, Text, ToolCall
from tests.context.heard import call, heard, result

DIFF = """diff --git a/app/export.py b/app/export.py
index 1..2 100644
--- a/app/export.py
+++ b/app/export.py
@@ -10,3 +10,4 @@ def write_pages(invoice):
-    for page in pages[:-1]:
+    for page in pages:
+        check(page)
"""


def bash(number: int, command: str, said: str = "") -> Message:
    return call(number, "bash", {"command": command}, said)


RUN = heard(
    Message.of("user", "The export of invoices drops the last page.\nNever change the page size."),
    bash(1, "ls app", "Let me look at the code first."),
    result(1, "export.py\nmodels.py"),
    bash(2, "python -m pytest tests/test_export.py"),
    result(2, "/usr/bin/python: No module named pytest"),
    bash(3, "pip install pytest -q"),
    result(3, ""),
    bash(4, "cat > /tmp/reproduce.py << 'EOF'\nimport app\nEOF"),
    result(4, ""),
    bash(5, "sed -i 's/pages\\[:-1\\]/pages/' app/export.py",
         "The bug is caused by `pages[:-1]` in `write_pages`, which drops the last page."),
    result(5, ""),
    bash(6, "cd /repo && python -m pytest tests/test_export.py 2>&1 | tail -3"),
    result(6, "....\n===== 26 passed in 1.20s ====="),
    bash(7, "git diff"),
    result(7, DIFF),
    Message.of(
        "assistant",
        "Let me sum up. `write_pages` now iterates over all pages of an invoice. "
        "It also removes the slice in `app/export.py` that hid the missing page. "
        "But I might be wrong about `models.py` here, we will see what the reviewers say.",
    ),
)  # fmt: skip


def by_entity(lines: tuple[RetainLine, ...]) -> dict[str, list[RetainLine]]:
    found: dict[str, list[RetainLine]] = {}
    for line in lines:
        found.setdefault(line.entity or "", []).append(line)
    return found


def test_a_run_leaves_its_task_its_files_its_tests_and_its_environment() -> None:
    found = by_entity(extract(RUN).lines)
    assert found["task"][0].text == "The export of invoices drops the last page."
    assert found["task"][0].trust == "user"
    changed = "changed in write_pages (+2 −1): `for page in pages:`"
    assert found["app/export.py"][0].text == changed
    assert found["app/export.py"][0].trust == "tool"
    assert found["app/export.py"][0].sources == ("e13", "e14")
    tests = found["tests"][0]
    assert tests.text == "python -m pytest tests/test_export.py → 26 passed"
    assert (tests.trust, tests.sources) == ("tool", ("e11", "e12"))
    assert found["env"][0].text == "missing: pytest; pip install pytest"


def test_of_the_prose_only_results_and_causes_with_an_edit_are_kept() -> None:
    written = [line.text for line in extract(RUN).lines]
    assert any(text.startswith("done: `write_pages` now iterates") for text in written)
    assert any("it also removes the slice" in text.lower() for text in written)
    assert any("caused by `pages[:-1]`" in text for text in written)
    assert not any("might be wrong" in text or "Let me" in text for text in written)


def test_what_was_done_stands_on_one_line() -> None:
    done = [line for line in extract(RUN).lines if line.text.startswith("done: ")]
    assert len(done) == 1
    assert (done[0].trust, done[0].sources) == ("agent", ("e15",))


@pytest.mark.parametrize(
    "said",
    [
        "The simplest fix would be to convert `value` to a string first, I believe.",
        "`read_all` returns a list, and `read_one` returns a single page of it.",
        "I can see that `write_pages` was called twice in `app/export.py` by the page.",
        "Only `print_pages` has this pattern in the whole of the project, as far as I see.",
        "By default `allow_pages` is True for every invoice unless a router says otherwise.",
    ],
)
def test_thinking_aloud_at_the_end_is_not_what_was_done(said: str) -> None:
    before = [one.message for one in RUN[:-1]]
    run = heard(*before, Message.of("assistant", f"{said} " * 3))
    assert not any(line.text.startswith("done: ") for line in extract(run).lines)


def test_a_cause_counts_only_for_a_file_that_stays_changed() -> None:
    told = "The issue is that `parse_row` reads one row too few, caused by `rows[1:]`."
    edit = "cat > /tmp/work/notes.py << 'EOF'\nx = 1\nEOF"
    run = heard(
        Message.of("user", "The import of rows drops the first one of them."),
        *(m for n in range(4) for m in (bash(n, edit, told), result(n, ""))),
    )
    assert not any("one row too few" in line.text for line in extract(run).lines)


def test_a_rule_in_the_request_is_kept_and_scratch_files_are_not() -> None:
    lines = extract(RUN).lines
    assert any(line.text == "Never change the page size" for line in lines)
    assert not any("reproduce" in (line.entity or "") + line.text for line in lines)


def test_a_long_run_is_remembered_in_few_lines() -> None:
    steps = [Message.of("user", "Rework the whole module of exports for the new format.")]
    for n in range(400):
        steps += [bash(n, f"sed -i s/a/b/ app/file_{n}.py"), result(n, f"line {n}\n" * 50)]
    assert len(extract(heard(*steps)).lines) <= 22


def test_what_other_tools_changed_is_remembered_with_how_it_ended() -> None:
    messages = heard(
        Message.of("user", "Please cancel my booking M05KNL."),
        call(1, "get_booking", {"id": "M05KNL"}),
        result(1, '{"id": "M05KNL"}'),
        call(2, "cancel_booking", {"id": "M05KNL", "reason": "ill"}),
        result(2, "Error: already departed"),
        call(3, "send_email", {"to": "ann@example.com"}),
        result(3, "sent"),
    )
    found = by_entity(extract(messages).lines)
    failed = "cancel booking: reason ill → failed: Error: already departed"
    assert found["M05KNL"][0].text == failed
    assert found["send_email"][0].text == "send email: to ann@example.com → done"
    assert "get_booking" not in found
    assert found["send_email"][0].trust == "tool"


def test_tried_again_counts_how_it_ended() -> None:
    messages = heard(
        Message.of("user", "Please cancel my booking M05KNL."),
        call(1, "cancel_booking", {"id": "M05KNL"}),
        result(1, "Error: try later"),
        call(2, "cancel_booking", {"id": "M05KNL"}),
        result(2, "ok"),
    )
    assert [line.text for line in by_entity(extract(messages).lines)["M05KNL"]] == [
        "cancel booking → done"
    ]


def test_key_clauses_of_a_run_begin_with_its_records() -> None:
    found = key_clauses(RUN, 4)
    assert [clause.entity for clause in found] == ["user", "task", "app/export.py", "tests"]


@pytest.mark.parametrize(
    ("name", "arguments", "files"),
    [
        ("bash", {"command": "sed -i 's/a/b/' src/app/x.py"}, ["src/app/x.py"]),
        ("bash", {"command": "cat > src/new.py << 'EOF'\nx\nEOF"}, ["src/new.py"]),
        ("bash", {"command": "python - <<E\nopen('src/y.py', 'w').write('')\nE"}, ["src/y.py"]),
        ("write_file", {"path": "./docs/a.md"}, ["docs/a.md"]),
        ("str_replace_editor", {"path": "lib/z.rs", "old_str": "a"}, ["lib/z.rs"]),
        ("bash", {"command": "cat > reproduce_issue.py << 'EOF'"}, []),
        ("bash", {"command": "cat > /tmp/a/b.py << 'EOF'"}, []),
        ("bash", {"command": "cat src/app/x.py"}, []),
        ("read_file", {"path": "docs/a.md"}, []),
    ],
)
def test_edited_files_are_those_of_the_project(
    name: str, arguments: dict[str, object], files: list[str]
) -> None:
    assert edited_files(ToolCall(id="c", name=name, arguments=arguments)) == files


@pytest.mark.parametrize(
    ("command", "started"),
    [
        ("cd x && python -m pytest tests -q 2>&1 | tail", "python -m pytest tests -q"),
        ("npm test -- --watch=false", "npm test -- --watch=false"),
        ("cargo test --all; echo done", "cargo test --all"),
        ("go test ./...", "go test ./..."),
        ("./tests/runtests.py forms_tests", "./tests/runtests.py forms_tests"),
        ("pip install pytest", None),
        ("cat > t.py << 'EOF'\nimport pytest\nEOF", None),
        ("ls tests", None),
        ("django test app.tests", None),
    ],
)
def test_test_runners_are_recognised(command: str, started: str | None) -> None:
    run = runner_of(command)
    assert (run[1] if run else None) == started


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("x\n=== 1 failed, 25 passed, 2 warnings in 3.1s ===", "1 failed, 25 passed, 2 warnings"),
        ("Ran 12 tests in 0.2s\n\nOK\n", "Ran 12 tests: OK"),
        ("Ran 12 tests in 0.2s\n\nFAILED (errors=1)", "FAILED (errors=1)"),
        ("test result: ok. 5 passed; 0 failed;", "test result: ok. 5 passed; 0 failed;"),
        ("ok  \tpkg/a\t0.3s", "ok pkg/a 0.3s"),
        ("hello", ""),
        ("E  AssertionError\n3 failed, 20 passed", "3 failed, 20 passed"),
        ("  20 passing (2s)\n  3 failing", "3 failing"),
        (" Tests  3 failed | 20 passed (23)", "Tests 3 failed | 20 passed (23)"),
        ("23 examples, 3 failures", "23 examples, 3 failures"),
        ("[INFO] Tests run: 23, Failures: 3, Errors: 0", "Tests run: 23, Failures: 3, Errors: 0"),
        ("测试结束：26个通过，2个失败", "26个通过，2个失败"),
        ("I said 3 failed, 20 passed yesterday", ""),
    ],
)
def test_the_result_of_a_test_run_is_its_own_word(output: str, said: str) -> None:
    assert result_of(output) == said


def test_a_diff_names_its_files_and_places() -> None:
    found = diffed_files(DIFF)
    assert [(one.path, one.places, one.added, one.removed) for one in found] == [
        ("app/export.py", ["write_pages"], 2, 1)
    ]


def test_what_is_missing_is_named_once() -> None:
    output = (
        "ModuleNotFoundError: No module named 'yaml.loader'\nbash: line 1: rg: command not found"
    )
    assert missing_modules(output) == ["yaml", "rg"]


@pytest.mark.parametrize("name", ["cancel_order", "sendEmail", "update-user", "book"])
def test_tools_that_change_something_are_known_by_their_names(name: str) -> None:
    assert changes_something(name)


@pytest.mark.parametrize("name", ["get_order", "list_updates", "bash", "search", "read_orders"])
def test_tools_that_only_read_are_not(name: str) -> None:
    assert not changes_something(name)


@pytest.mark.parametrize(
    ("name", "arguments", "started"),
    [
        ("Bash", {"command": "pytest -k t1"}, "pytest -k t1"),
        ("run_tests", {"suite": "unit"}, "run_tests unit"),
        ("terminal", {"command": "./check.sh --fast"}, "./check.sh --fast"),
        ("python", {"code": "main()"}, "python main()"),
    ],
)
def test_the_last_test_result_is_kept_whatever_the_tool_is_called(
    name: str, arguments: dict[str, object], started: str
) -> None:
    messages = [Message.of("user", "Fix the flaky test.")]
    for n in (1, 2):  # results as one provider sends them: by the user, with words of a harness
        answer = result(n, f"E   AssertionError\n{n} failed, 20 passed").parts
        reminder = Text(text="<system-reminder>The todo list is empty.</system-reminder>")
        messages += [call(n, name, arguments), Message(role="user", parts=(*answer, reminder))]
    (tests,) = by_entity(extract(heard(*messages)).lines)["tests"]
    assert tests.text == f"{started} → 2 failed, 20 passed"
    assert (tests.trust, tests.sources) == ("tool", ("e3", "e4"))


def test_of_one_command_in_several_requests_only_the_last_result_is_kept() -> None:
    messages = []
    for n in range(6):
        messages += [Message.of("user", f"Continue with step {n}."), bash(n, "pytest -q"),
                     result(n, f"{n} failed, 26 passed in 1.2s")]  # fmt: skip
    (tests,) = by_entity(extract(heard(*messages)).lines)["tests"]
    assert tests.text == "pytest -q → 5 failed, 26 passed"


@pytest.mark.parametrize("command", ["cat old.log", "cd x && grep -r passed .", "git log -3"])
def test_a_result_that_is_only_read_again_is_no_test_run(command: str) -> None:
    messages = heard(
        Message.of("user", "Look at it."), bash(1, command), result(1, "3 failed, 20 passed")
    )
    assert "tests" not in by_entity(extract(messages).lines)


@pytest.mark.parametrize(
    ("last", "label"),
    [("cat app/export.py", "so far: "), ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "done: ")],
)
def test_in_the_middle_of_the_work_nothing_is_said_to_be_done(last: str, label: str) -> None:
    said = (
        "`write_pages` now goes over all pages of an invoice again, as it was meant to. "
        "Another caller is `print_pages`, which has a slice of its own for the cover sheet."
    )
    before = [one.message for one in RUN[:13]]
    run = heard(*before, bash(8, last, said), result(8, "..."))
    told = [line.text for line in extract(run).lines if "goes over" in line.text]
    assert told
    assert all(text.startswith(label) for text in told)


@pytest.mark.parametrize(
    ("command", "output", "kept"),
    [
        ("python -m pytest tests/a.py", "2 warnings, 1 error", False),
        ("python -m pytest tests/a.py", "no tests ran", False),
        ("python -m pytest tests/a.py", "3 passed", True),
        ("python /tmp/check_all.py", "3 passed", False),
        ("python reproduce_issue.py", "3 passed", False),
        ("python - <<'E'\nimport app\nE", "3 passed", False),
        ("./scripts/suite.sh", "3 passed", True),
    ],
)
def test_a_test_run_is_told_when_it_says_how_it_went(command: str, output: str, kept: bool) -> None:
    messages = heard(Message.of("user", "Look at it."), bash(1, command), result(1, output))
    assert ("tests" in by_entity(extract(messages).lines)) is kept


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        (["pip install a -q", "pip install b > /dev/null 2>&1"], "pip install a b"),
        (["pip install -e .", "pip install yaml"], "pip install -e . yaml"),
        (["npm install --quiet left-pad"], "npm install left-pad"),
        (["pip install -e ."], None),
        (["cat > x.sh <<E\npip install a\nE"], None),
    ],
)
def test_installations_are_told_as_one_command(commands: list[str], told: str | None) -> None:
    steps = [m for n, c in enumerate(commands) for m in (bash(n, c), result(n, "done"))]
    found = by_entity(extract(heard(Message.of("user", "Look at it."), *steps)).lines)
    assert [line.text for line in found.get("env", [])] == ([told] if told else [])


def test_modules_of_the_project_itself_are_not_missing() -> None:
    messages = heard(
        Message.of("user", "Look at it."),
        bash(1, "cat src/shop/cart.py"), result(1, "x = 1"),
        bash(2, "python -c 'import shop'"), result(2, "No module named 'shop'"),
        bash(3, "python -c 'import yaml'"), result(3, "No module named 'yaml'"),
    )  # fmt: skip
    assert by_entity(extract(messages).lines)["env"][0].text == "missing: yaml"


TEMPLATE = (
    "<task>\nThe parser drops rows of the last file.\n" + "It must not drop rows at all. " * 30
    + "\n</task>\n<rules>\nYou MUST use this EXACT command to submit.\n"
    "Your response MUST include one tool call.\n</rules>\n<end>\n</end>"
)  # fmt: skip


def test_what_a_harness_tells_every_run_is_no_rule() -> None:
    steps = [m for n in range(5) for m in (bash(n, "ls src/app"), result(n, "x"))]
    lines = extract(heard(Message.of("user", TEMPLATE), *steps)).lines
    assert [line.text for line in lines] == ["The parser drops rows of the last file."]


def test_orders_in_a_long_request_are_kept() -> None:
    story = "The parser drops the rows of a file when it is the last one of its folder. " * 12
    request = f"{story}\nNever touch the files under migrations.\nDo not rename `read_rows`."
    steps = [m for n in range(5) for m in (bash(n, "ls src/app"), result(n, "x"))]
    rules = by_entity(extract(heard(Message.of("user", request), *steps)).lines)["user"]
    assert [line.text for line in rules] == [
        "Never touch the files under migrations", "Do not rename `read_rows`"
    ]  # fmt: skip
    assert {line.trust for line in rules} == {"user"}


def test_a_run_in_chinese_leaves_the_same_records() -> None:
    run = heard(
        Message.of("user", "导出发票时最后一页丢了。不要改页面大小。"),
        *(m for n in range(4) for m in (bash(n, f"cat app/part_{n}.py"), result(n, "x"))),
        bash(5, "sed -i 's/a/b/' app/export.py", "原因是 `pages[:-1]` 切掉了最后一页。"),
        result(5, ""),
        bash(6, "python -m pytest tests"), result(6, "测试结束：26个通过，2个失败"),
        Message.of("assistant", "现在都好了。" + "`write_pages` 现在遍历所有页，修复了丢页。" * 8),
    )  # fmt: skip
    found = by_entity(extract(run).lines)
    assert found["task"][0].text == "导出发票时最后一页丢了。不要改页面大小。"
    assert found["用户"][0].text == "不要改页面大小"
    assert found["tests"][0].text == "python -m pytest tests → 26个通过，2个失败"
    assert found["app/export.py"][0].text == "edited"
    assert any("切掉了最后一页" in line.text for line in found["app/export.py"])


def test_a_run_of_two_thousand_messages_reads_each_result_once_at_most() -> None:
    steps = [Message.of("user", "Rework the whole module of exports for the new format.")]
    for n in range(1_000):
        steps += [bash(n, "python -m pytest tests"), result(n, f"{n} failed, 3 passed")]
    found = by_entity(extract(heard(*steps)).lines)
    assert found["tests"][0].text == "python -m pytest tests → 999 failed, 3 passed"
    assert len(found["tests"]) == 1


@pytest.mark.parametrize(
    ("output", "is_failure"),
    [
        ("Error: no such booking", True),
        ("错误409：2027年6月11日没有预订。", True),
        ("无法连接到服务器", True),
        ("<returncode>1</returncode>", True),
        ("共 3 条，没有错误", False),
        ("Booked. No errors.", False),
    ],
)
def test_a_result_that_says_it_failed_is_believed_in_both_languages(
    output: str, is_failure: bool
) -> None:
    assert failed(output, None) is is_failure
    assert failed(output, True)
