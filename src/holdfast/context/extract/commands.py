"""What calls of tools did: commands run, files edited, tests and their results, things changed.

Read from the records of a run (arguments and results), never from what somebody said about
them. Bounded: of a long command or result the beginning and the end are read. Proven by
``tests/context/test_extract_records.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from holdfast.text import cut, cut_tail
from holdfast.types import Json, ToolCall

__all__ = [
    "Diffed",
    "arguments_of",
    "builds",
    "changes_something",
    "command_of",
    "diffed_files",
    "edited_files",
    "failed",
    "installed",
    "may_test",
    "missing_modules",
    "runs_scratch",
    "sampled",
    "test_result",
    "test_runner",
]

_SAMPLE: Final = 12_000


def sampled(text: str) -> str:
    """The beginning and, where results stand, the end of a text."""
    if len(text) <= _SAMPLE:
        return text
    return cut(text, _SAMPLE // 2) + "\n" + cut_tail(text, _SAMPLE // 2)


def arguments_of(call: ToolCall) -> Mapping[str, Json]:
    """The arguments of a call; nothing when they are no object."""
    if not isinstance(call.arguments, str):
        return call.arguments
    if len(call.arguments) > 200_000:
        return {}
    try:
        read = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def command_of(arguments: Mapping[str, Json]) -> str:
    """The shell command of a call, if it runs one."""
    for name in ("command", "cmd", "script"):
        given = arguments.get(name)
        if isinstance(given, str):
            return sampled(given)
        if isinstance(given, list) and all(isinstance(word, str) for word in given):
            return sampled(" ".join(given))
    return ""


def builds(call: ToolCall) -> bool:
    """Whether a call works on files or runs a command, as a programmer would."""
    return _EDIT_TOOL.search(call.name) is not None or bool(command_of(arguments_of(call)))


# ── files ───────────────────────────────────────────────────────────────────────────────────

_EDIT_TOOL: Final = re.compile(r"edit|write|replace|patch|create_file|insert|notebook", re.I)
_PATH_KEYS: Final = ("path", "file_path", "filename", "file", "filepath", "target_file")
_PATH: Final = r"[\w./@+-]{1,200}\.\w{1,8}"
_SHELL_EDIT: Final = re.compile(
    rf"(?:\bcat\s*>>?|\btee(?:\s-a)?)\s*['\"]?({_PATH})|open\(\s*['\"]({_PATH})['\"]\s*,\s*['\"][wa]"
)
_SED: Final = re.compile(r"\bsed\s+-i\b[^\n;|]{0,400}")
_PATHS: Final = re.compile(rf"(?<![\w./-]){_PATH}(?![\w/])")
_SCRATCH: Final = re.compile(
    r"(?:^|/)(?:repro\w*|test_(?:fix|issue|bug|simple|final|edge|debug|comprehensive|script)\w*"
    r"|debug\w*|patch\w*|fix\w*|verify\w*|check_\w*|final_\w*|demo\w*|simple_\w*|tmp\w*|temp\w*"
    r"|scratch\w*|run_\w*|analyz\w*|integration_test\w*|edge_\w*)\.\w+$"
    r"|\.(?:log|patch|diff|orig|bak|txt|new|old|copy|backup|fixed\d*)$"
    r"|^/tmp/|site-packages|/dev/|^/\w+/[\w.-]+$",
    re.IGNORECASE,
)


_ROOT_SCRIPT: Final = re.compile(r"(?:\./)?\w{0,80}test\w{0,80}\.(?:py|js|ts|sh)", re.I)


def edited_files(call: ToolCall) -> list[str]:
    """The project's files that a call writes; scratch files and scripts of the run are none."""
    arguments = arguments_of(call)
    found: list[str] = []
    if _EDIT_TOOL.search(call.name):
        found += [value for key in _PATH_KEYS if isinstance(value := arguments.get(key), str)]
    command = command_of(arguments)
    for edit in _SHELL_EDIT.finditer(command):
        found.append(edit[1] or edit[2])
    for edit in _SED.finditer(command):
        found += _PATHS.findall(edit[0])[-1:]
    return [path for path in dict.fromkeys(map(_tidy, found)) if _is_kept(path)]


def runs_scratch(command: str) -> bool:
    """Whether a command runs a script that its run wrote for itself."""
    paths = _PATHS.findall(command[:2_000])
    return any(_SCRATCH.search(path) or _ROOT_SCRIPT.fullmatch(path) for path in paths)


def _tidy(path: str) -> str:
    return path.strip().removeprefix("./")


def _is_kept(path: str) -> bool:
    return "/" in path and len(path) <= 160 and _SCRATCH.search(path) is None


class Diffed:
    """What a diff changes in one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.added = self.removed = 0
        self.places: list[str] = []
        self.code = ""

    def __str__(self) -> str:
        places = f" in {', '.join(self.places[:3])}" if self.places else ""
        # What a change of few lines does is told best by its first line of code.
        code = f": `{self.code}`" if self.code and self.added <= _SMALL else ""
        return f"changed{places} (+{self.added} −{self.removed}){code}"


_SMALL: Final = 8
_NO_CODE: Final = re.compile(r"#|//|/\*|\*|import |from |\"\"\"|[^\w\n]{0,8}$|@|else|try|return$")


_HUNK: Final = re.compile(r"^@@[^@\n]{0,80}@@ *(?:async )?(?:def|class|func|fn|function) +(\w+)")
_NEW_PLACE: Final = re.compile(r"^[+-]\s{0,40}(?:async )?(?:def|class|func|fn|function) +(\w+)")


def diffed_files(output: str) -> list[Diffed]:
    """The files of a ``git diff`` in a tool's output."""
    if "diff --git " not in output and "\n+++ " not in output:
        return []
    found: list[Diffed] = []
    for line in sampled(output).splitlines():
        if line.startswith("+++ "):
            found.append(Diffed(_tidy(line[4:].split("\t")[0].removeprefix("b/"))))
        elif found and not line.startswith(("---", "diff --git", "index ")):
            _count(found[-1], line)
    return [one for one in found if _is_kept(one.path) or "/" not in one.path != "dev/null"]


def _count(diffed: Diffed, line: str) -> None:
    if (place := _NEW_PLACE.match(line) or _HUNK.match(line)) and place[1] not in diffed.places:
        diffed.places.append(place[1])
    if line.startswith("+") and not diffed.code and len(line) <= 400:
        code = " ".join(line[1:].split())
        diffed.code = code if len(code) <= 90 and "`" not in code and _says(code) else ""
    diffed.added += line.startswith("+")
    diffed.removed += line.startswith("-")


def _says(code: str) -> bool:
    return _NO_CODE.match(code) is None


# ── tests and environment ───────────────────────────────────────────────────────────────────

_RUNNERS: Final = re.compile(
    r"(?:python[\d.]* -m )?(?:pytest|unittest|tox|nox)(?=\s|$)[^\n;&|]{0,160}"
    r"|(?<![\w./-])(?:python[\d.]* )?[\w./-]{0,80}"
    r"(?:runtests\.py|manage\.py test|bin/test|setup\.py test)[^\n;&|]{0,160}"
    r"|(?:npm|yarn|pnpm|bun) (?:run )?test[^\n;&|]{0,120}"
    r"|(?:npx )?(?:jest|vitest|mocha)\b[^\n;&|]{0,120}"
    r"|(?<!\w)(?:go|cargo|mvn|gradle|\./gradlew|dotnet|mix|swift|make) (?:-q )?(?:test|check)\b"
    r"[^\n;&|]{0,120}"
    r"|(?:ctest|rspec|bundle exec rspec|phpunit)\b[^\n;&|]{0,120}"
)
_IS_TEST: Final = re.compile(r"test|tox|nox|jest|mocha|rspec|phpunit")
_RUNNER_NAME: Final = re.compile(
    r"pytest|unittest|tox|nox|runtests|manage|jest|vitest|mocha|npm|yarn|go|cargo|mvn|gradle|make"
)
_RESULTS: Final = re.compile(
    r"={2,} ?((?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|warnings?|deselected)"
    r"(?:, )?)+[^\n=]{0,30}?) ?={2,}"
    r"|^[ \t]{0,8}((?:Tests {1,4})?(?:\d{1,9} (?:passed|failed|errors?|skipped|passing|failing"
    r"|pending|warnings?|deselected|xfailed|xpassed)(?:, | \| )?){1,8}"
    r"(?: in [\d.]{1,12} ?s(?:econds)?| \([^\n()]{1,20}\))?)[ \t.]{0,4}$"
    r"|^(\d{1,9} examples?, \d{1,9} failures?[^\n]{0,40})"
    r"|^(?:\[\w{1,8}\] )?(Tests run: \d{1,9}, Failures: \d{1,9}[^\n]{0,60})"
    r"|((?:通过|失败|跳过)[:： ]{0,3}\d{1,9} ?个?[，,；; ]{1,3}"
    r"(?:通过|失败|跳过)[:： ]{0,3}\d{1,9})"
    r"|(\d{1,9} ?[个项条]?(?:测试)?(?:通过|失败)[，,；; ]{1,3}"
    r"\d{1,9} ?[个项条]?(?:测试)?(?:通过|失败))"
    r"|^(FAILED \([^\n)]{1,80}\))|^(Ran \d+ tests? in [\d.]+s)|^(test result: [^\n]{1,120})"
    r"|^(Tests: +[^\n]{1,100})|^(ok\s+\S+\s+[\d.]+s)|^(FAIL\s+\S+)",
    re.MULTILINE,
)
_READS_ONLY: Final = re.compile(
    r"\s{0,9}(?:cd [^\n;&|]{1,200}&&\s{0,4})?"
    r"(?:cat|less|more|head|tail|grep|rg|git|sed|awk|find|ls|echo|curl)\b"
)
_PIPE: Final = re.compile(r"(?:\s{0,4}\d?>{1,2}\s?(?:&\d|/dev/null)?|\s{1,4}\d){1,4}\s*$")


def test_runner(command: str) -> tuple[str, str] | None:
    """The test runner that a command starts and how it was started, without pipes."""
    if _IS_TEST.search(command) is None:
        return None
    for found in _RUNNERS.finditer(command):
        started = _PIPE.sub("", found[0]).strip()
        if _IS_TEST.search(started) and not _in_heredoc(command, found.start()):
            name = _RUNNER_NAME.search(started)
            return (name[0] if name else started.split()[0]), " ".join(started.split())
    return None


def may_test(command: str) -> bool:
    """Whether a command of an unknown kind can have run tests: not if it only shows something."""
    return _READS_ONLY.match(command) is None


def _in_heredoc(command: str, at: int) -> bool:
    opened = command.find("<<")
    return 0 <= opened < at or command[:at].rstrip().endswith(("install", "import", "from"))


def test_result(output: str) -> str:
    """The last line in which a runner says how it went; empty when it does not."""
    said = ""
    tail = cut_tail(output, 6_000)
    for found in _RESULTS.finditer(tail):
        said = next(group for group in found.groups() if group)
    if said.startswith("Ran "):
        said += ": OK" if re.search(r"^OK\b", tail, re.MULTILINE) else ": not OK"
    return re.sub(r" in [\d.]+s\b", "", " ".join(said.split()))


_MISSING: Final = re.compile(
    r"No module named '?([\w.]{1,60})'?|Cannot find module '([\w@/.-]{1,80})'"
    r"|(?:bash|sh): (?:line \d+: )?([\w.-]{1,40}): command not found"
)
_INSTALL: Final = re.compile(
    r"\b(?:pip3?|python[\d.]* -m pip|uv pip|npm|yarn|pnpm|apt(?:-get)?|brew|conda|cargo|gem)"
    r" (?:-\w+ )?(?:install|add|i)\b[^\n;&|]{0,120}"
)
_QUIETLY: Final = re.compile(
    r" (?:-q{1,3}|-y|--quiet|--yes|--no-\w[\w-]{0,30}|--progress-bar \w+)\b"
)


def missing_modules(output: str) -> list[str]:
    """Modules and commands that an output says are not there."""
    return [
        next(group for group in found.groups() if group).split(".")[0]
        for found in _MISSING.finditer(sampled(output))
    ]


def installed(command: str) -> str:
    """The installation that a command makes; empty if it makes none."""
    found = _INSTALL.search(command)
    if found is None or _in_heredoc(command, found.start()):
        return ""
    return " ".join(_QUIETLY.sub("", _PIPE.sub("", found[0])).split())


# ── other tools ─────────────────────────────────────────────────────────────────────────────

_CHANGES: Final = re.compile(
    r"(?:^|[_.-])(?:create|update|delete|cancel|book|send|add|remove|set|transfer|pay|modify|exchange"
    r"|return|post|submit|schedule|order|close|refund|upgrade|assign|approve|publish|merge|deploy"
    r"|rename|move|change|reserve|subscribe|unsubscribe|invite|grant|revoke)(?:[_.-]|[A-Z]|$)"
)
_READS: Final = re.compile(
    r"^(?:get|list|search|find|read|fetch|lookup|query|calculate|think)", re.I
)
_FAILED: Final = re.compile(
    r"^\s*(?:error|exception|failed|failure|traceback|invalid|not found|denied)\b"
    r"|^\s*(?:错误|失败|异常|出错|無法|无法|找不到|未找到|拒绝)"
    r"|<returncode>(?!0<)|\"error\"\s*:\s*[^nf\s]|exit code:? [1-9]",
    re.IGNORECASE,
)


def changes_something(name: str) -> bool:
    """Whether a tool, by its name, changes the world: then it matters that it was called."""
    return _CHANGES.search(name) is not None and _READS.match(name) is None


def failed(output: str, is_error: bool | None) -> bool:
    """Whether a result says that its call failed."""
    return bool(is_error) or _FAILED.search(cut(output, 400)) is not None
