"""``holdfast demo --proofs``: what is promised, tried on real files, in a temporary home, offline.

It fills a small window until the conversation is read for memory, compacted and continued,
pulls the plug on a writer, damages a file, goes back to originals, forks, remembers, erases and
searches; every number it prints was counted while it ran (``tests/doors/test_demo.py``).
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import holdfast
from holdfast.cli.render import note, say
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.turn.compacting import CompactionDone
from holdfast.testing.corpus import conversation
from holdfast.text import one_line

__all__ = ["run"]

_PLUG_AFTER_SECONDS = 0.4
_WINDOW = 6_000


def run() -> None:
    """Prove it, and say where the files are."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-tour-"))
    say("Holdfast: what is said is kept, whatever happens. A tour on real files.\n")
    # Everything is done where it is shown, and the tour itself says when the window is full.
    config = {"notices.log.enabled": False}
    with holdfast.open(home, background=False, config=config) as engine:
        _converse(engine)
        _fill_the_window(engine, home)
        _pull_the_plug(engine, home)
        _damage(engine, home)
        _go_back(engine)
        _remember(engine, home)
    _find_again(home)
    say(f"Everything is under {home}. Look around:")
    for command in (
        f"context explain agent --window {_WINDOW}",
        "sessions show agent --view",
        "--agent notes search 'what does she like to drink?' --explain",
        "facts list",
        "tasks list",
        "sessions list",
        "status",
        "doctor",
    ):
        say(f"  {_command()} --home {home} {command}")
    note("\nNothing here needs a key or a network. Remove the folder when you are done.")


def _command() -> str:
    """How to call us from this shell: by name if it is on the path, else as we were called."""
    if shutil.which("holdfast") or not Path(sys.argv[0]).name.startswith("holdfast"):
        return "holdfast"
    return os.path.relpath(sys.argv[0])


def _converse(engine: holdfast.Engine) -> None:
    session = engine.session("tour")
    session.set_goal("See what Holdfast does")
    messages = [*conversation(3, 4), *conversation(3, 4, language="zh")[1:]]
    ids = session.append_all(messages)
    say(f"1. A conversation: {len(ids)} messages, each on disk when its id came back.")
    spoken = [each for each in messages if each.role in {"user", "assistant"} and each.text]
    for message in spoken[:2] + spoken[-2:]:
        say(f"   {message.role}: {one_line(message.text, 76)}")
    say()


def _fill_the_window(engine: holdfast.Engine, home: Path) -> None:
    session = engine.session("agent")
    constraint = "Find out why billing fails. Never restart it yourself. 结论请用中文写。"
    task = session.append({"role": "user", "content": constraint})
    prepared = session.prepare(window=_WINDOW)
    calls, largest, compactions = 1, prepared.request.tokens, 0
    read: set[str] = set()
    dropped: set[str] = set()
    for message in (m for seed in range(7, 15) for m in conversation(seed, 8)[1:]):
        if message.role == "assistant":
            prepared = session.prepare(window=_WINDOW)
            calls += 1
            largest = max(largest, prepared.request.tokens)
            made = [done for done in prepared.done if isinstance(done, CompactionDone)]
            compactions += len(made)
            dropped |= {id for done in made for id in done.dropped}
            read |= {
                id for done in prepared.done if isinstance(done, FlushDone) for id in done.covers
            }
        session.append(message)
    said = session.expand(task).text
    kept = any(each.get("content") == said for each in prepared.messages)
    memories = [
        line
        for file in (home / "agents" / "main" / "memory").glob("*.md")
        for line in file.read_text("utf-8").splitlines()
        if line.startswith("- ")
    ]
    say(f"2. A full window: the same agent works on in {_WINDOW:,} tokens, {calls} calls long.")
    times = "time" if compactions == 1 else "times"
    say(
        f"   {compactions} {times} it was full: {len(dropped)} messages left the view, "
        f"{_how_many(dropped, read)} read for memory first."
    )
    say(f"   No request had more than {largest:,} tokens; the task {_still(kept)} in the last one,")
    say(f"   word for word. In memory are {len(memories)} lines of Markdown now, such as:")
    for line in memories[:4]:
        say(f"   {one_line(line.partition(' <!--')[0], 90)}")
    say()


def _how_many(dropped: set[str], read: set[str]) -> str:
    unread = len(dropped - read)
    return f"{len(dropped) - unread} of them" if unread else "all"


def _still(kept: bool) -> str:
    return "is" if kept else "is NOT"


def _pull_the_plug(engine: holdfast.Engine, home: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "holdfast.cli.tour.proofs", str(home)], stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    first = writer.stdout.readline()
    time.sleep(_PLUG_AFTER_SECONDS)
    writer.kill()
    told = first + writer.stdout.read()
    writer.wait()
    acknowledged = [line.decode() for line in told.split(b"\n")[:-1]]
    found = {entry.id for entry in engine.session("plug").entries()}
    lost = [entry_id for entry_id in acknowledged if entry_id not in found]
    say("3. The plug: another process wrote as fast as it could and was killed (kill -9).")
    say(f"   {len(acknowledged)} messages were acknowledged, {len(lost)} of them are lost.\n")


def _damage(engine: holdfast.Engine, home: Path) -> None:
    engine.close()
    file = home / "agents" / "main" / "sessions" / "plug.jsonl"
    data = bytearray(file.read_bytes())
    data[random.Random(len(data)).randrange(len(data) // 2)] ^= 0x01
    file.write_bytes(data)
    logging.getLogger("holdfast").setLevel(logging.ERROR)  # the next line says it better
    found = engine.session("plug").verify()
    say("4. A flipped bit on disk costs the record it is in, and you are told.")
    say(f"   {found.entries} entries are intact, {found.damaged_regions} damaged region of")
    say(f"   {found.damaged_bytes} bytes is set aside in .journal/quarantine.\n")


def _go_back(engine: holdfast.Engine) -> None:
    session = engine.session("tour")
    log = "".join(f"line {n}: ok\n" for n in range(20_000))
    call = {"id": "c1", "type": "function", "function": {"name": "logs", "arguments": "{}"}}
    session.append({"role": "assistant", "content": None, "tool_calls": [call]})
    entry_id = session.append({"role": "tool", "tool_call_id": "c1", "content": log})
    shown = session.view()[-1].text
    whole = session.expand(entry_id).text
    fork = session.fork(session.entries()[3].id, "another-way")
    say("5. A giant tool result is shown short and kept whole; and any moment can be forked.")
    say(f"   the model sees {len(shown):,} characters; expand gives {len(whole):,} back.")
    say(f"   'another-way' goes on from the first {len(fork.view())} messages of 'tour'.\n")


def _remember(engine: holdfast.Engine, home: Path) -> None:
    engine.remember("Prefers short replies.", kind="O", entity="Amira", confidence=0.8)
    port = engine.remember("The staging API listens on port 8080.", entity="staging")
    other = engine.remember("The staging API listens on port 9090.", entity="staging")
    again = engine.remember("the staging API listens on port 9090", entity="staging")
    say("6. Memory is Markdown: write it, edit it, contradict it, take it back, erase it.")
    say(f"   {_count(other.conflicts, 'contradiction')} found and shown, never overwritten;")
    say(f"   {_count(again.skipped, 'repeat')} not written again.")
    engine.facts.resolve(other.conflicts[0].id, keep="new")
    ended = engine.facts.show(port.added[0].id).line.until
    say(f"   You decided for the newer; the older stays readable, until {ended:%Y-%m-%d}.")
    secret = "blue-heron-42"
    engine.session("tour").append({"role": "user", "content": f"The door code is {secret}."})
    engine.remember(f"The door code is {secret}.")
    gone = engine.forget(secret, erase=True)
    left = sum(secret.encode() in file.read_bytes() for file in home.rglob("*") if file.is_file())
    say(f"   A door code was erased from transcript and memory: receipt {gone.receipt}, still in")
    say(f"   {left} of {sum(1 for file in home.rglob('*') if file.is_file())} files.\n")


_NOTES = (
    "Ana moved from Lisbon to Porto on 3 May and works at the harbour office.",
    "Peter drinks green tea in the morning, never coffee.",
    "女儿的生日是五月三号，她最喜欢恐龙。",
    "The release of billing 2.4 is planned for Thursday; rollback is `make rollback`.",
    "部署使用Docker，数据库是PostgreSQL 16。",
)
_QUESTIONS = (
    "what does he like to drink?",
    "生日",
    "when is the daughter's birthday?",
    "安娜住在哪里？",
)


def _find_again(home: Path) -> None:
    with holdfast.open(home, agent="notes", background=False) as engine:
        for note_text in _NOTES:
            engine.remember(note_text)
        engine.index.sync()
        say("7. Find it again: by words, by meaning, in English and Chinese, and it says why.")
        for question in _QUESTIONS:
            found = engine.search(question, limit=1)
            best = found.passages[0] if found.passages else None
            shown = "nothing" if best is None else f"{one_line(best.text, 60)}  ({best.citation})"
            say(f"   {question}\n     → {shown}")
        for each in found.degraded:
            say(f"   ({each})")
    say()


def _count(what: tuple[object, ...], name: str) -> str:
    return f"{len(what)} {name}{'' if len(what) == 1 else 's'}"


def _write_until_killed(home: str) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("plug")
        for number in range(1_000_000):
            entry_id = session.append({"role": "user", "content": f"message {number} " * 5})
            sys.stdout.write(entry_id + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _write_until_killed(sys.argv[1])
