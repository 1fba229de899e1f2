"""``holdfast events``: what the engine told, for people and for programs, then and now."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast as library
from holdfast.cli.event_words import WORDS, in_words
from holdfast.engine.eventreading import EventReader
from holdfast.events import Event
from tests.doors.inside import inside
from tests.scale import scaled

AT = "2026-03-04T10:00:00+00:00"
ENVIRON = {"HOLDFAST_MEMORY_TIME_ZONE": "Asia/Shanghai"}


def line(event: str = "memory_flush_skipped", **told: Any) -> str:
    return json.dumps({"event": event, "at": AT, **told}, ensure_ascii=False)


def write(home: Path, *lines: str, end: str = "\n") -> Path:
    home.mkdir(exist_ok=True)
    path = home / "events.jsonl"
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    return path


def test_what_the_engine_told_is_shown_in_words_the_newest_last(home: Path) -> None:
    with library.open(home) as engine:
        engine.session("旅行").append({"role": "user", "content": "hi"})
        engine.remember("Prefers tea.")
    run = inside(home, "events")
    first, *_, last = run.out.splitlines()
    assert "旅行" in first
    assert "session begins: 1 entry" in first
    assert "memory written: 1 line added to memory/" in last
    *told, summary = inside(home, "events", "--json").lines
    assert told[0]["event"] == "session_started"
    assert told[-1]["event"] == "memory_written"
    assert summary == {"summary": True, "events": len(told), "unreadable": 0}


def test_a_skipped_flush_or_compaction_is_shown_with_its_reason(home: Path) -> None:
    write(
        home,
        line(session="s1", reason="all 3 entries that leave are covered"),
        line("compaction_failed", session="s1", reason="two passes gained nothing"),
    )
    out = inside(home, "events", environ=ENVIRON).out.splitlines()
    assert out[0].startswith("2026-03-04 18:00:00  s1 ")
    assert out[0].endswith("no flush: all 3 entries that leave are covered")
    assert out[1].endswith("no compaction: two passes gained nothing")


def test_every_event_has_words_of_its_own(home: Path) -> None:
    kinds = [kind for kind in Event.__subclasses__() if kind.is_kept]
    assert {kind.name for kind in kinds} == set(WORDS)
    for kind in kinds:
        told = {each.name: 3 for each in fields(kind)}
        said = in_words({**told, "event": kind.name, "reason": "it rained"})
        assert "?" not in said
        if "reason" in told:
            assert "it rained" in said
        assert in_words({"event": kind.name}), "of an older version, with no figures"


def test_an_event_of_a_newer_version_is_told_with_its_fields() -> None:
    assert in_words({"event": "moon_rose", "at": AT, "phase": 2}) == "moon rose, phase 2"


def test_filters_and_the_last_few(home: Path) -> None:
    write(
        home,
        *(line(session=f"s{number % 2}", reason=str(number)) for number in range(200)),
        line("compaction_end", session="s1", entry="e1", dropped=2),
    )

    def reasons(*options: str) -> list[str | None]:
        *told, _ = inside(home, "events", "--json", *options).lines
        return [each.get("reason") for each in told]

    assert len(reasons()) == 50
    assert len(reasons("--last", "0")) == 201
    assert reasons("--last", "2") == ["199", None]
    assert reasons("--session", "s0", "--last", "2") == ["196", "198"]
    assert reasons("--kind", "compaction") == [None]
    assert reasons("--kind", "flush", "--kind", "compaction", "--last", "2") == ["199", None]


def test_an_empty_answer_says_what_makes_events(home: Path) -> None:
    run = inside(home, "events")
    assert (run.code, run.out) == (0, "")
    assert "No events yet" in run.err
    assert not home.exists(), "looking makes no home"
    write(home, line(session="travel"))
    assert "Did you mean 'travel'?" in inside(home, "events", "--session", "travle").err
    wrong = inside(home, "events", "--kind", "flsh")
    assert wrong.code == 2
    assert "Did you mean 'flush'?" in wrong.err


def test_torn_lines_and_foreign_text_cost_only_themselves(home: Path) -> None:
    path = write(
        home,
        line(reason="one"),
        '{"event":"memory_flu{"event":"memory_flush_skipped","at":"x","reason":"two"}',
        "no json \x1b[31m",
        "[1, 2]",
        "",
        line("moon\x1b[31m_rose", session="\u202e\x07", reason="three\x1b]0;x\x07"),
    )
    path.write_bytes(path.read_bytes() + b'{"event":"half')
    run = inside(home, "events")
    assert [words in run.out for words in ("one", "two", "three")] == [True, True, True]
    assert not {"\x1b", "\x07", "\u202e"} & set(run.out)
    assert "no whole event: 3" in run.err
    *told, summary = inside(home, "events", "--json").lines
    assert (len(told), summary["unreadable"]) == (3, 3)


def test_it_opens_no_room(home: Path) -> None:
    write(home, line(reason="one"))
    program = (
        f"import sys; sys.argv = ['holdfast', '--home', {str(home)!r}, 'events']\n"
        "import holdfast.cli\n"
        "try: holdfast.cli.main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.splitlines()[-1].split())
    rooms = ("context", "memory", "sessions", "search", "models")
    assert not loaded & {f"holdfast.{room}" for room in rooms}
    assert not loaded & {"numpy", "sqlite3", "markdown_it", "asyncio"}


# ── following ───────────────────────────────────────────────────────────────────────────────


@contextmanager
def interruptible() -> Iterator[None]:
    """What is started here hears Ctrl-C, also where these tests run in the background of a shell:
    such a shell has its programs ignore it, and who is started by them inherits that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


HANGS_SECONDS = 240
"""Only to end a test that would otherwise never end: a follower is asked, never timed."""


@contextmanager
def following(home: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    with interruptible():
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "--home", str(home), "events", "--follow", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_who_follows_sees_each_event_at_once_also_after_an_erasure(home: Path) -> None:
    with library.open(home) as engine:
        engine.session("Zebra")
        with following(home, "--json") as process:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "session_started"
            engine.session("s2")
            assert json.loads(process.stdout.readline())["session"] == "s2"
            before = (home / "events.jsonl").stat().st_ino
            engine.forget("Zebra", erase=True)
            assert (home / "events.jsonl").stat().st_ino != before, "it was replaced"
            engine.session("s3")
            seen = [json.loads(process.stdout.readline())["event"]]
            while seen[-1] != "session_started":
                seen.append(json.loads(process.stdout.readline())["event"])
            assert seen.count("session_started") == 1, "nothing is told twice"
            process.send_signal(signal.SIGINT)
            rest, told = process.communicate(timeout=HANGS_SECONDS)
            assert process.returncode == 0
            assert json.loads(rest.splitlines()[-1])["events"] == 2 + len(seen)
            assert told == ""


def test_following_ends_when_nobody_reads_any_more(home: Path) -> None:
    write(home, line(reason="one"))
    with following(home) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "one" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=HANGS_SECONDS) == 0
        assert process.stderr.read() == ""


def test_following_a_home_that_is_not_there_yet_waits_for_it(home: Path) -> None:
    reader = EventReader(home / "events.jsonl")
    assert reader.last(None) == []
    assert list(reader.new()) == []
    write(home, line(reason="one"))
    assert [each["reason"] for each in reader.new()] == ["one"]
    reader.close()


@settings(max_examples=scaled(30))
@given(
    steps=st.lists(
        st.sampled_from(["write", "tear", "erase", "rotate", "cut", "look"]),
        min_size=1,
        max_size=25,
    ),
    shown=st.integers(0, 3),
)
def test_whatever_happens_to_the_file_each_event_is_seen_once(
    steps: list[str], shown: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("log")
    path = home / "events.jsonl"
    number = 0

    def told(event: str = "a") -> str:
        nonlocal number
        number += 1
        at = f"2026-03-04T10:00:00.{number:06d}+00:00"
        given = {"event": event, "at": at, "reason": str(number)}
        return json.dumps(given, separators=(",", ":")) + "\n"

    path.write_text(told() + told() + told())
    reader = EventReader(path)
    seen = [each["reason"] for each in reader.last(shown or None)]
    expected = ["1", "2", "3"][-shown:] if shown else ["1", "2", "3"]
    for step in steps:
        if step in {"write", "tear"}:
            with path.open("a") as file:
                file.write(('{"event":"torn' if step == "tear" else "") + told())
            expected.append(str(number))
            continue
        if step != "erase":  # which loses nothing; the others lose what nobody has looked at
            seen += [each["reason"] for each in reader.new()]
        other = home / "new"
        if step == "erase":  # every line stays where it is
            other.write_text(path.read_text().replace("torn", "    "))
            other.replace(path)
        elif step == "rotate":
            other.write_text(told("first"))
            other.replace(path)
            expected.append(str(number))
        elif step == "cut":
            path.write_bytes(b"")
            assert list(reader.new()) == []
    seen += [each["reason"] for each in reader.new()]
    reader.close()
    assert seen == expected


def test_of_a_large_log_only_the_end_is_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(home, *(line(reason=f"{number} {'x' * 200}") for number in range(20_000)))
    read = 0

    class Counting:
        def __init__(self) -> None:
            self._file = path.open("rb")

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def read(self, size: int) -> bytes:
            nonlocal read
            read += size
            return self._file.read(size)

    reader = EventReader(path)
    monkeypatch.setattr(reader, "_open", lambda: setattr(reader, "_file", Counting()))
    assert [each["reason"].split()[0] for each in reader.last(3)] == ["19997", "19998", "19999"]
    assert read < 300_000 < path.stat().st_size
    reader.close()
