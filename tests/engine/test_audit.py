"""Who changed the memory is on record, and the record cannot be edited unnoticed."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.disk import Directory, System
from holdfast.engine.audit import Audit
from holdfast.errors import StorageError
from holdfast.testing import FixedClock
from tests.scale import scaled


@dataclass(frozen=True)
class Changed:
    path: str
    before: str | bytes | None
    after: str | bytes | None


@pytest.fixture
def audit(home: Path, clock: FixedClock) -> Audit:
    return Audit(Directory.open(home), clock)


def log_of(home: Path) -> Path:
    return home / "audit.jsonl"


def lines_of(home: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log_of(home).read_text().splitlines()]


def fill(audit: Audit, count: int) -> None:
    for number in range(count):
        audit.record("write", agent="main", door="cli", operation=f"op-{number}", lines=number)


def test_a_record_says_who_did_what_from_what(audit: Audit, home: Path) -> None:
    audit.record(
        "write",
        agent="main",
        door="cli",
        operation="op-1",
        changes=[Changed("memory/2026-03-14.md", "before", "after")],
        sources=["s1#e000003"],
    )
    (line,) = lines_of(home)
    assert {key: line[key] for key in ("what", "agent", "door", "operation", "sources")} == {
        "what": "write",
        "agent": "main",
        "door": "cli",
        "operation": "op-1",
        "sources": ["s1#e000003"],
    }
    assert line["at"] == "2026-03-14T09:26:53.000+00:00"
    assert line["changes"] == [
        {
            "path": "memory/2026-03-14.md",
            "before": audit.keyed("before"),
            "after": audit.keyed("after"),
        }
    ]
    assert audit.verify().intact


def test_no_text_is_in_it_and_other_paths_are_only_hashes(audit: Audit, home: Path) -> None:
    audit.record(
        "forget",
        agent="main",
        changes=[
            Changed("memory/topics/divorce-lawyer.md", "Anna Karenina", None),
            Changed("MEMORY.md", None, "我的密码"),
        ],
        sources=["what Anna said about the lawyer"],
        reason="she asked me to",
    )
    text = log_of(home).read_text()
    for word in ("divorce", "lawyer", "Anna", "密码", "\\u5bc6", "asked"):
        assert word not in text
    assert '"path":"MEMORY.md"' in text
    first = audit.keyed("Anna Karenina")
    assert first in text
    (home / ".audit.key").write_text("0" * 64)
    assert audit.keyed("Anna Karenina") != first, "nobody can guess a text without the key"


def test_the_log_and_its_key_are_private(audit: Audit, home: Path, any_umask: None) -> None:
    fill(audit, 1)
    for name in ("audit.jsonl", ".audit.key"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600


def test_an_empty_log_is_intact(audit: Audit, home: Path) -> None:
    assert audit.verify() == audit.verify()
    assert audit.verify().lines == 0
    assert not log_of(home).exists(), "looking makes no file"


def test_any_changed_byte_is_found_in_its_line(audit: Audit, home: Path) -> None:
    fill(audit, 12)
    whole = log_of(home).read_bytes()
    assert audit.verify().intact
    picked = random.Random(7).sample(range(len(whole)), min(scaled(60), len(whole)))
    for at in picked:
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 7)
        log_of(home).write_bytes(changed)
        found = audit.verify()
        line = whole[:at].count(b"\n") + 1
        if at == len(whole) - 1:
            continue  # the end of the last line: as if a crash had cut it off
        assert not found.intact, at
        assert found.first_bad in (line, line + 1), at


def test_a_line_taken_out_moved_or_put_in_is_found(audit: Audit, home: Path) -> None:
    fill(audit, 6)
    lines = log_of(home).read_bytes().splitlines(keepends=True)
    for changed, first_bad in (
        (lines[:2] + lines[3:], 3),
        (lines[1:], 1),
        ([lines[0], lines[2], lines[1], *lines[3:]], 2),
        ([*lines[:3], lines[2], *lines[3:]], 4),
        ([*lines[:3], b'{"what":"write"}\n', *lines[3:]], 4),
        ([*lines, b'{"what":"write","mac":"00"}\n'], 7),
    ):
        log_of(home).write_bytes(b"".join(changed))
        found = audit.verify()
        assert (found.intact, found.first_bad) == (False, first_bad)


def test_lines_cut_off_at_the_end_are_noticed_by_whoever_kept_the_head(
    audit: Audit, home: Path
) -> None:
    fill(audit, 4)
    head = audit.verify().head
    lines = log_of(home).read_bytes().splitlines(keepends=True)
    log_of(home).write_bytes(b"".join(lines[:3]))
    assert audit.verify().intact
    assert audit.verify().head != head


def test_a_torn_last_line_is_told_and_the_chain_goes_on(audit: Audit, home: Path) -> None:
    fill(audit, 4)
    whole = log_of(home).read_bytes()
    end_of_third = len(b"".join(whole.splitlines(keepends=True)[:3]))
    for cut in range(end_of_third + 1, len(whole)):
        log_of(home).write_bytes(whole[:cut])
        found = audit.verify()
        assert found.intact, cut
        is_whole = cut == len(whole) - 1  # only its line feed is missing
        assert found.torn == (0 if is_whole else 1)
        if cut % 40 and not is_whole:
            continue
        fill(audit, 2)
        after = audit.verify()
        assert (after.intact, after.torn, after.lines) == (True, found.torn, 6)
        torn = bytearray(log_of(home).read_bytes())
        torn[end_of_third] ^= 1
        log_of(home).write_bytes(torn)
        assert audit.verify().first_bad == 4, "what was torn is part of the chain"


def test_without_its_key_nobody_can_say_that_the_log_is_intact(audit: Audit, home: Path) -> None:
    fill(audit, 2)
    (home / ".audit.key").unlink()
    with pytest.raises(StorageError, match="missing"):
        audit.verify()


def test_a_very_long_line_is_followed_like_any_other(audit: Audit) -> None:
    audit.record("write", sources=[f"s1#e{number:06d}" for number in range(20_000)])
    fill(audit, 2)
    assert audit.verify().lines == 3
    assert audit.verify().intact


APPENDER = """
import sys
from pathlib import Path
from holdfast.disk import Directory
from holdfast.engine.audit import Audit
from holdfast.testing import FixedClock
audit = Audit(Directory.open(Path(sys.argv[1])), FixedClock())
for number in range(int(sys.argv[3])):
    audit.record("write", agent=sys.argv[2], number=number)
"""


def test_several_processes_append_to_one_chain(audit: Audit, home: Path) -> None:
    count = scaled(20)
    running = [
        subprocess.Popen([sys.executable, "-c", APPENDER, str(home), f"a{n}", str(count)])
        for n in range(3)
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    found = audit.verify()
    assert (found.intact, found.lines, found.torn) == (True, 3 * count, 0)
    by_agent = [(line["agent"], line["number"]) for line in lines_of(home)]
    assert sorted(by_agent) == [(f"a{n}", number) for n in range(3) for number in range(count)]


class Counting(System):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.calls.append("write")
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self.calls.append("sync")
        super().sync(fd)

    def sync_folder(self, fd: int) -> None:
        self.calls.append("sync_folder")
        os.fsync(fd)


def test_a_record_is_one_write_and_one_sync(home: Path, clock: FixedClock) -> None:
    system = Counting()
    audit = Audit(Directory.open(home, system=system), clock)
    fill(audit, 1)
    system.calls.clear()
    fill(audit, 1)
    assert system.calls == ["write", "sync"]
