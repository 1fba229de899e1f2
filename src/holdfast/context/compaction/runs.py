"""What was done with tools: runs and their outcome, errors and whether they went away, files.

Promise: a failure is what its result says it is, not any text with the word in it; the work is
linear and of a large result the beginning and the end are read
(``tests/context/test_compaction_facts.py``). Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.context.blocks import Group
from holdfast.context.compaction.identifiers import call_text, sample
from holdfast.types import Json, ToolCall, ToolResult

__all__ = ["Run", "changed_files", "error_of", "is_action", "is_check", "runs_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One call with its outcome. ``what`` is the command, or the tool with its arguments."""

    tool: str
    what: str
    arguments: Mapping[str, Json]
    failed: bool
    error: str
    entry: str
    result_entry: str


_HEAD: Final = 1_500
_TAIL: Final = 1_500
_COMMANDS: Final = ("command", "cmd", "script", "code", "input")

_FAILED: Final = re.compile(
    r"<returncode>\s{0,3}-?[1-9]|\bexit(?:ed)?(?: with)?(?: code| status)?[:= ]{1,3}[1-9]"
    r"|^Traceback \(most recent|^(?:\w{1,60}\.){0,6}\w{0,60}(?:Error|Exception)\b\s{0,2}:"
    r"|^(?:fatal|error|Error|ERROR)\b\s{0,2}:"
    r"|command not found|No such file or directory|\b[1-9]\d{0,6} (?:tests? )?failed\b|^FAILED\b"
    r"|\"error\"\s{0,2}:\s{0,2}[\"{]"
    r"|^(?:错误|报错|失败)\s{0,2}[:：]",
    re.MULTILINE,
)
_ERROR_LINE: Final = re.compile(
    r"^[ \t]{0,40}(?:E[ \t]{1,8})?((?:\w{1,60}\.){0,6}\w{0,60}(?:Error|Exception"
    r"|Warning)\b\s{0,2}:[^\n]{0,300}"
    r"|(?:fatal|error|Error|ERROR)\b\s{0,2}:[^\n]{0,300}|[^\n]{0,120}(?:command not found"
    r"|No such file or directory)[^\n]{0,120}"
    r"|FAILED [^\n]{0,300}|(?:错误|报错|失败)\s{0,2}[:：][^\n]{0,300})",
    re.MULTILINE,
)
_STATUS: Final = re.compile(
    r"</?(?:returncode|output|stdout|stderr)>|<returncode>.{0,12}</returncode>|exit.{0,24}"
)
_CHECK: Final = re.compile(
    r"\b(?:pytest|unittest|tox|nox|ctest|jest|vitest|mocha|rspec|phpunit|ruff|mypy|eslint|tsc|make"
    r"|ninja|cmake"
    r"|(?:npm|yarn|pnpm) (?:run )?(?:test|build|lint)|cargo (?:test|build|check|clippy)|go (?:test"
    r"|build|vet)"
    r"|mvn|gradlew?|dotnet (?:test|build)|manage\.py test|runtests)\b"
)
_ACTION: Final = re.compile(
    r"(?:^|_|\b)(?:book|update|cancel|create|send|delete|remove|add|set|write|edit|modify|insert"
    r"|apply|transfer|pay|submit"
    r"|deploy|move|rename|replace|save|post|publish|commit|merge|schedule|patch)(?:_|\b|$)",
    re.IGNORECASE,
)
_WRITES: Final = re.compile(
    r"(?:(?<![0-9&>=-])>{1,2}|\btee(?: -a)?)[ \t]{0,4}(?P<to>[\w./~+-]{1,200})"
    r"|\bsed[ \t]{1,4}-i[^\n"
    r"|;&]{0,400}?[ \t](?P<sed>[\w.~+-]{0,80}/?[\w./~+-]{1,160})[ \t]{0,4}(?=$|[\n|;&])"
    r"|\b(?:git (?:add|rm|mv)|rm(?: -\w{1,4})?|touch|mv)[ \t]{1,4}(?P<other>[\w./~+-]{1,200})",
    re.MULTILINE,
)
_PATHS: Final = (
    "path",
    "file_path",
    "filepath",
    "file",
    "filename",
    "target_file",
    "notebook_path",
)
_IS_FILE: Final = re.compile(
    r"[\w./~+-]{0,180}[\w~+-]\.[A-Za-z]\w{0,8}|[\w./~+-]{0,180}/[\w.+-]{2,80}"
)


def runs_of(groups: Sequence[Group]) -> list[Run]:
    """Every call of the groups that has a result, in order."""
    return [run for group in groups for run in _runs_in(group)]


def _runs_in(group: Group) -> Iterator[Run]:
    calls: dict[str, tuple[ToolCall, str]] = {}
    for block in group.blocks:
        for part in block.message.parts:
            if isinstance(part, ToolCall):
                calls[part.id] = (part, block.entry)
            elif isinstance(part, ToolResult) and part.call_id in calls:
                call, entry = calls[part.call_id]
                yield _run(call, entry, part, block.entry)


def _run(call: ToolCall, entry: str, result: ToolResult, result_entry: str) -> Run:
    arguments = _arguments(call)
    text = sample(result.text, _HEAD, _TAIL)
    failed = bool(result.is_error) or _FAILED.search(text) is not None
    return Run(
        tool=call.name,
        what=_what(call, arguments),
        arguments=arguments,
        failed=failed,
        error=error_of(text) if failed else "",
        entry=entry,
        result_entry=result_entry,
    )


def _arguments(call: ToolCall) -> Mapping[str, Json]:
    if not isinstance(call.arguments, str):
        return call.arguments
    if len(call.arguments) > 100_000:
        return {}
    try:
        parsed = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _what(call: ToolCall, arguments: Mapping[str, Json]) -> str:
    for name in _COMMANDS:
        command = arguments.get(name)
        if isinstance(command, str) and command.strip():
            return command.strip()
        if isinstance(command, list) and command and all(isinstance(c, str) for c in command):
            return " ".join(command)
    said = call_text(call) if not arguments else ", ".join(_said(arguments))
    return f"{call.name}({sample(said, 300, 0)})"


def _said(arguments: Mapping[str, Json]) -> Iterator[str]:
    for name, value in arguments.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{name}={sample(shown, 120, 0)}"


def error_of(text: str) -> str:
    """The line that says what went wrong: the last of its kind, else the first that says anything.

    Empty where there is only an exit status: a search that finds nothing ends with one too.
    """
    lines = _ERROR_LINE.findall(text)
    if lines:
        return str(lines[-1]).strip()
    rows = (line.strip() for line in text.splitlines())
    return next((row for row in rows if row and _STATUS.fullmatch(row) is None), "")


def is_check(run: Run) -> bool:
    """Whether this run tries out what was made: tests, a build, a linter."""
    return _CHECK.search(run.what[:400]) is not None


def is_action(run: Run) -> bool:
    """Whether the tool changes something, by its name."""
    return _ACTION.search(run.tool) is not None


def changed_files(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Files that were written, with the entries of the calls, the latest last."""
    changed: dict[str, list[str]] = {}
    for run in runs:
        for path in _written(run):
            changed[path] = [*changed.pop(path, []), run.entry]
    return changed


def _written(run: Run) -> Iterator[str]:
    if is_action(run):
        for name in _PATHS:
            path = run.arguments.get(name)
            if isinstance(path, str) and 0 < len(path) <= 200:
                yield path
    if any(isinstance(run.arguments.get(name), str) for name in _COMMANDS):
        command = sample(run.what, 2_000, 500)
        for found in _WRITES.finditer(command):
            path = found["to"] or found["sed"] or found["other"]
            if path and not path.startswith("/dev/") and _IS_FILE.fullmatch(path):
                yield path
