"""The command of the hard threshold: one program, no shell, bounded, with all it started."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.config import Settings, load_settings
from holdfast.engine.flush.command import CommandDone, run_command
from holdfast.engine.programs import find_program
from tests.scale import scaled

# What the child was given, byte by byte: names of variables, their values, arguments, input.
ECHO = """
import json, os, sys
json.dump({
    "argv": sys.argv[1:],
    "env": {name.decode(): value.hex() for name, value in os.environb.items()},
    "stdin": sys.stdin.buffer.read().decode("ascii"),
    "leads": os.getpid() == os.getpgrp() == os.getsid(0),
    "cwd": os.getcwd(),
}, sys.stdout)
"""
PYTHON = (sys.executable, "-I", "-S", "-c")
ENVIRON = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "LANG": "C.UTF-8", "TZ": "UTC"}


def run(
    folder: Path,
    *argv: str,
    told: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = ENVIRON,
    **more: Any,
) -> CommandDone:
    return run_command(argv, told=told or {}, cwd=folder, environ=environ, **more)


def echoed(folder: Path, told: Mapping[str, Any], *arguments: str) -> dict[str, Any]:
    done = run(folder, *PYTHON, ECHO, *arguments, told=told, cap_bytes=4_000_000)
    assert (done.outcome, done.exit_code, done.reason) == ("ok", 0, None)
    found = json.loads(done.output)
    assert isinstance(found, dict)
    return found


def is_running(pid: int) -> bool:
    """Not gone, and not only waiting to be collected by whoever adopted it."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it ended just now, or this system has no /proc
        return not Path("/proc/self").exists()
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def gone(pids: list[int]) -> bool:
    """A signal is delivered a moment after it was sent."""
    for _ in range(500):
        if not any(map(is_running, pids)):
            return True
        time.sleep(0.01)
    return False


# ── what it is told ─────────────────────────────────────────────────────────────────────────

HOSTILE = [
    "'; touch evil; '",
    '"; touch evil; "',
    "$(touch evil)",
    "`touch evil`",
    "${IFS}touch${IFS}evil",
    "| touch evil",
    "&& touch evil",
    "a\ntouch evil\n",
    "a\0touch evil",
    "-rf /",
    "--help",
    "%s%n",
    "\\",
    "../../etc/passwd",
    "LD_PRELOAD=/evil.so",
    "() { :; }; touch evil",
    "\ud83d",
    "\udcff",
    "会话；触摸 evil",
    "x" * 300_000,
    "",
]
PER_RUN = 50
names = st.lists(
    st.sampled_from(HOSTILE)
    | st.text(max_size=40)
    | st.text(st.sampled_from("$(){}`;&|<>\"'\\\n\r\0 *?~!#=%a/.-"), max_size=20),
    min_size=PER_RUN,
    max_size=PER_RUN,
)


@given(values=names)
@settings(
    max_examples=scaled(500) // PER_RUN + 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.large_base_example],
)
def test_no_value_becomes_an_argument_a_variable_or_a_command(
    tmp_path: Path, values: list[str]
) -> None:
    told = {f"session{number}": value for number, value in enumerate(values)}
    found = echoed(tmp_path, told, "--save", "$HOME; touch evil")
    assert found["argv"] == ["--save", "$HOME; touch evil"]
    assert json.loads(found["stdin"]) == told
    expected = {*ENVIRON, *(f"HOLDFAST_HARD_{name.upper()}" for name in told)}
    assert set(found["env"]) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} == expected
    for name, value in told.items():
        got = bytes.fromhex(found["env"][f"HOLDFAST_HARD_{name.upper()}"])
        assert len(got) <= 4096
        if not any("\ud800" <= char <= "\udfff" for char in value):
            exact = value.replace("\0", "\ufffd").encode()
            assert got == exact or (len(exact) > 4096 and exact.startswith(got))
    assert list(tmp_path.iterdir()) == []


def test_the_program_leads_its_own_group_in_the_given_folder(tmp_path: Path) -> None:
    found = echoed(tmp_path, {"session": "s1"})
    assert found["leads"]
    assert found["cwd"] == os.path.realpath(tmp_path)


def test_numbers_and_the_home_are_told_and_what_is_nested_only_as_json(tmp_path: Path) -> None:
    told = {
        "session": "s1",
        "home": "/data/holdfast",
        "projected": 180_000,
        "share": 0.9,
        "forced": True,
        "none": None,
        "marks": {"flush_at": 1},
        "Bad Name": "x",
        "at": datetime(2026, 3, 14, tzinfo=UTC),
    }
    found = echoed(tmp_path, told)
    env = {name: bytes.fromhex(value).decode() for name, value in found["env"].items()}
    ours = {name: value for name, value in env.items() if name.startswith("HOLDFAST_")}
    assert ours == {
        "HOLDFAST_HARD_SESSION": "s1",
        "HOLDFAST_HARD_HOME": "/data/holdfast",
        "HOLDFAST_HOME": "/data/holdfast",
        "HOLDFAST_HARD_PROJECTED": "180000",
        "HOLDFAST_HARD_SHARE": "0.9",
        "HOLDFAST_HARD_FORCED": "true",
    }
    assert json.loads(found["stdin"])["marks"] == {"flush_at": 1}
    assert json.loads(found["stdin"])["at"].startswith("2026-03-14")


def test_nothing_told_is_read_as_a_setting_by_a_holdfast_that_the_command_calls(
    tmp_path: Path,
) -> None:
    sections = [name for name in Settings().__class__._defaults if name != "sources"]
    told = {f"{section}_window": "1" for section in sections} | {"context_tokens": 5, "mode": "x"}
    found = echoed(tmp_path, told)
    env = {name: bytes.fromhex(value).decode() for name, value in found["env"].items()}
    assert len([name for name in env if name.startswith("HOLDFAST_")]) == len(told)
    plain = load_settings(tmp_path, environ=ENVIRON)
    assert load_settings(tmp_path, environ=env) == plain


def test_the_engines_own_environment_stays_with_the_engine(tmp_path: Path) -> None:
    own = {**ENVIRON, "HOLDFAST_NOTICES_TELEGRAM_TOKEN": "1:secret", "OPENAI_API_KEY": "sk-x"}
    own |= {"LD_PRELOAD": "/evil.so", "PYTHONPATH": "/evil", "BASH_ENV": "/evil"}
    done = run(tmp_path, *PYTHON, ECHO, environ=own)
    assert set(json.loads(done.output)["env"]) - {"LC_CTYPE"} == set(ENVIRON)


# ── which program ───────────────────────────────────────────────────────────────────────────


def script(path: Path, text: str = "#!/bin/sh\necho ran\n", mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_program_is_found_on_the_path_and_never_by_the_present_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "here" / "saver", "#!/bin/sh\necho wrong\n")
    right = script(tmp_path / "bin" / "saver")
    monkeypatch.chdir(tmp_path / "here")
    assert find_program("saver", f".::here:{tmp_path / 'bin'}") == right
    assert find_program("saver", "") is None
    assert find_program("saver", ".:") is None
    environ = {"PATH": f".::{tmp_path / 'bin'}"}
    assert run(tmp_path / "here", "saver", environ=environ).output == "ran\n"


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("no-such-program", "missing"),
        ("/no/such/program", "missing"),
        ("{folder}", "missing"),
        ("{folder}/plain", "missing"),
        ("{folder}/garbage", "missing"),
        ("{folder}/lost", "missing"),
        ("./saver", "refused"),
        ("bin/saver", "refused"),
        ("../saver", "refused"),
        ("", "refused"),
        ("  ", "refused"),
        ("/bin/echo\0", "refused"),
    ],
)
def test_what_cannot_be_run_is_told_with_a_reason(tmp_path: Path, name: str, outcome: str) -> None:
    script(tmp_path / "plain", mode=0o644)
    script(tmp_path / "garbage", "\x7fELF nothing")
    script(tmp_path / "lost", "#!/no/such/interpreter\n")
    done = run(tmp_path, name.format(folder=tmp_path))
    assert done.outcome == outcome
    assert done.reason
    assert done.exit_code is None


def test_no_command_and_no_folder_are_refused(tmp_path: Path) -> None:
    assert run(tmp_path).outcome == "refused"
    assert run(tmp_path / "gone", "/bin/echo").outcome == "refused"


@pytest.mark.parametrize(
    ("line", "code", "reason"),
    [("exit 3", 3, "ended with 3"), ("kill -9 $$", -9, "ended by signal 9")],
)
def test_a_failure_is_told_with_how_it_ended(
    tmp_path: Path, line: str, code: int, reason: str
) -> None:
    done = run(tmp_path, "/bin/sh", "-c", f"echo out; echo err >&2; {line}")
    assert (done.outcome, done.exit_code, done.reason) == ("failed", code, reason)
    assert done.output == "out\nerr\n"


# ── bounded ─────────────────────────────────────────────────────────────────────────────────

TREE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
depth = 0
while depth < 4:
    os.fork() or os.fork()
    depth += 1
with open("pids", "a") as out:
    print(os.getpid(), file=out, flush=True)
time.sleep(30)
"""


def test_at_the_timeout_the_whole_tree_ends_also_what_ignores_the_first_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.engine.programs._GRACE_SECONDS", 0.2)
    done = run(tmp_path, *PYTHON, TREE, seconds=1.0)
    assert (done.outcome, done.exit_code) == ("timeout", -signal.SIGKILL)
    assert done.reason == "not done within 1 s"
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) > 3
    assert gone(pids)


def test_a_program_may_end_in_order_when_its_time_is_over(tmp_path: Path) -> None:
    ending = "trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.01; done"
    done = run(tmp_path, "/bin/sh", "-c", ending, seconds=0.5)
    assert (done.outcome, done.exit_code) == ("timeout", 0)
    assert done.output.startswith("begun\n")
    assert done.output.endswith("saved\n")


def test_children_that_hold_the_pipe_open_end_with_the_program(tmp_path: Path) -> None:
    done = run(tmp_path, "/bin/sh", "-c", "sleep 300 & echo $! $$; exit 0", seconds=60)
    assert done.outcome == "ok"
    assert gone([int(each) for each in done.output.split()])


def test_one_that_left_the_group_with_the_pipe_in_its_hands_is_not_waited_for(
    tmp_path: Path,
) -> None:
    leaving = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(300)\n"
        "time.sleep(0.2)\n"
    )
    done = run(tmp_path, *PYTHON, leaving, seconds=60)
    left = int(done.output)
    try:
        assert done.outcome == "ok"
        assert is_running(left)
    finally:
        os.kill(left, signal.SIGKILL)


def test_a_flood_of_output_neither_blocks_nor_fills_memory(tmp_path: Path) -> None:
    flood = f"head -c {scaled(64)}000000 /dev/zero | tr '\\0' 'x'; echo end"
    done = run(tmp_path, "/bin/sh", "-c", flood, seconds=120, cap_bytes=1000)
    assert done.outcome == "ok"
    assert done.output == "x" * 1000


def test_endless_output_ends_at_the_timeout(tmp_path: Path) -> None:
    done = run(tmp_path, "/bin/sh", "-c", "while :; do echo y; done", seconds=0.3, cap_bytes=10)
    assert done.outcome == "timeout"
    assert done.output == "y\n" * 5


@pytest.mark.parametrize("line", ["sleep 0.1", "exec <&-; sleep 0.1", "head -c 10 > /dev/null"])
def test_input_that_nobody_reads_does_not_block(tmp_path: Path, line: str) -> None:
    told = {"text": "x" * 2_000_000}
    assert run(tmp_path, "/bin/sh", "-c", line, told=told, seconds=60).outcome == "ok"


def test_a_large_input_arrives_whole(tmp_path: Path) -> None:
    told = {"text": "x" * 2_000_000}
    done = run(tmp_path, "/bin/sh", "-c", "wc -c", told=told, seconds=60)
    assert int(done.output) == len(json.dumps(told)) + 1


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process: Linux only")
def test_the_program_has_no_core_dump_and_bounded_processor_time(tmp_path: Path) -> None:
    asking = (
        "import resource, time\n"
        "time.sleep(0.2)\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE)[1], "
        "resource.getrlimit(resource.RLIMIT_CPU)[1])"
    )
    core, processor = map(int, run(tmp_path, *PYTHON, asking, seconds=7).output.split())
    assert core == 0
    assert 7 < processor <= 7 * (os.cpu_count() or 1) + 1


# ── what it says ────────────────────────────────────────────────────────────────────────────

KEY = "ghp_" + "a1B2c3D4e5F6" * 3


def test_credentials_in_the_output_are_blacked_out(tmp_path: Path) -> None:
    done = run(tmp_path, "/bin/echo", f"pushed with {KEY}")
    assert KEY not in done.output
    assert done.output.startswith("pushed with [secret: github token")
    assert KEY not in repr(done)


@given(before=st.integers(0, 5200))
@settings(max_examples=scaled(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_credential_that_the_cap_cuts_in_two_is_not_shown_in_part(
    tmp_path: Path, before: int
) -> None:
    line = f'head -c {before} /dev/zero | tr "\\0" "-"; printf " %s " "$0"; head -c 9000 /dev/zero'
    done = run(tmp_path, "/bin/sh", "-c", line, KEY, cap_bytes=1000)
    assert "a1B2c3" not in done.output
    assert len(done.output.encode()) <= 1000


def test_output_that_is_no_text_is_shown_as_far_as_it_is(tmp_path: Path) -> None:
    done = run(tmp_path, "/bin/sh", "-c", r"printf 'a\377\000b'")
    assert done.output == "a\ufffd\0b"
