"""Forget means gone: from every store, in every spelling, proved by the bytes that are left."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from holdfast.context.flush import covered_by, flush_records
from holdfast.disk import Directory
from holdfast.engine.erase import forget, receipts
from holdfast.engine.eventlog import EventLog
from holdfast.engine.facade import Engine
from holdfast.errors import UsageError
from holdfast.events import Event, SessionRenamed
from holdfast.matching import Match
from holdfast.memory.workspace import Workspace
from holdfast.retain import RetainLine, parse, render
from holdfast.testing import FixedClock, SequentialIds
from holdfast.types import Erased, Json, Message
from tests.engine.canaries import canaries, left, open_engine, plant
from tests.scale import SCALE, scaled

_spaces = count()


def workspace(base: Path) -> Workspace:
    ids = SequentialIds(f"undo{next(_spaces)}-")
    return Workspace(Directory.open(base), clock=FixedClock(), ids=ids)


def say(engine: Engine, *texts: str, session: str = "s1") -> list[str]:
    return engine.session(session).append_all({"role": "user", "content": text} for text in texts)


def write(base: Path, path: str, text: str) -> Path:
    file = base / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


MANY = 30 if SCALE <= 1 else 100
"""Texts in a home: thirty are each shape of them once, in every place there is for it."""


@pytest.mark.parametrize("batch", range(-(-scaled(MANY) // MANY)))
def test_nothing_is_left_of_any_canary_anywhere(fast_path: Path, batch: int) -> None:
    home = fast_path / "home"
    texts = canaries(MANY, seed=batch)
    plant(home, texts)
    assert len(left(home, texts[:30])) > 10 * 30
    with open_engine(home) as engine:
        told: list[Event] = []
        engine.subscribe(told.append)
        store, base = engine._rooms.store, engine._rooms.base.path
        before = {
            name: [(e.id, e.seq, e.at, e.type) for e in store.open(name).entries()]
            for name in ("s1", "fork")
        }
        done = engine.forget(*texts, erase=True)
        assert done.remaining == ()
        assert done.receipt
        assert [event.name for event in told] == ["memory_erased"]
        for name, entries in before.items():
            transcript = store.open(name)
            assert [(e.id, e.seq, e.at, e.type) for e in transcript.entries()] == entries
            found = store.verify(transcript)
            assert (found.missing_artifacts, found.damaged_regions) == ((), 0)
            assert len(store.view(transcript)) > 0
        entries_now = store.open("s1").entries()
        covered = covered_by(flush_records(entries_now), entries_now)
        assert covered == {e.id for e in entries_now if e.type == "message"} - {entries_now[1].id}
        assert entries_now[1].data["text"] == "This stays as it is."
        _other_lines_are_there(base, len(texts))
    space = workspace(base)
    for operation in space.operations():
        with suppress(UsageError):
            space.undo(operation.id)
    assert left(home, texts) == []


def _other_lines_are_there(base: Path, number: int) -> None:
    assert (base / "MEMORY.md").read_text("utf-8") == (
        "# Page\n\n" + "".join(f"- W: stays {n}\n" for n in range(number)) + "- W: and one more\n"
    )
    daily = (base / "memory" / "2026-03-14.md").read_text("utf-8")
    assert [line for line in daily.splitlines() if line.startswith("- ")] == [
        f"- stays {n}" for n in range(number)
    ]
    assert (base / "bank" / "world.md").read_text("utf-8") == "# World\n\n- W: stays\n"


def test_a_receipt_tells_everything_but_the_text(home: Path) -> None:
    with open_engine(home) as engine:
        say(engine, "my secret-canary", "other")
        write(engine._rooms.base.path, "MEMORY.md", "- W: SECRET-CANARY\n")
        done = engine.forget("secret-canary", erase=True)
        assert done.receipt_path is not None
        text = Path(done.receipt_path).read_text("utf-8")
        receipt = json.loads(text)
    assert "canary" not in text.casefold()
    assert receipt["receipt"] == done.receipt
    assert {each["store"]: each["spans"] for each in receipt["stores"]} == {
        "memory": 2,
        "sessions": 1,
    }
    assert receipt["remaining"] == []
    assert receipt["scanned"]["files"] > 3
    assert Path(done.receipt_path).stat().st_mode & 0o077 == 0
    events = (home / "events.jsonl").read_text("utf-8")
    assert f'"receipt":"{done.receipt}"' in events


def test_a_second_time_there_is_nothing_to_do(home: Path) -> None:
    with open_engine(home) as engine:
        say(engine, "a canary")
        assert engine.forget("canary", erase=True).spans
        again = engine.forget("canary", erase=True)
        assert (again.spans, again.items, again.remaining, again.receipt) == (0, (), (), None)
        files = list((engine._rooms.base.path / ".journal" / "receipts").iterdir())
        assert len(files) == 1


def test_a_dry_run_shows_and_changes_nothing(home: Path) -> None:
    with open_engine(home) as engine:
        say(engine, "the canary sings", "the canary again")
        base = engine._rooms.base.path
        write(base, "MEMORY.md", "# x\n\n- W: A canary.\n- W: The canary sings. Not.\n- W: Dog.\n")
        write(home, "config.toml", "# canary\n")
        before = _files(home)
        done = engine.forget("canary", erase=True, dry_run=True)
        assert _files(home) == before
    assert [(item.kind, item.where, item.count) for item in done.items] == [
        ("line", "agents/main/MEMORY.md#L3", 1),
        ("line", "agents/main/MEMORY.md#L4", 1),
        ("entries", "agents/main/sessions/s1", 2),
    ]
    assert [each.path for each in done.remaining] == ["config.toml"]
    assert done.receipt is None


def _files(home: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and "locks" not in path.parts
    }


def test_what_is_near_is_listed_and_stays(home: Path) -> None:
    with open_engine(home) as engine:
        base = engine._rooms.base.path
        file = write(base, "MEMORY.md", "- W: Peter flies to Lisbon on Tuesday.\n- W: Other.\n")
        done = engine.forget("Peter flies to Lisbon on Monday", erase=True)
    assert [item.where for item in done.near] == ["agents/main/MEMORY.md#L1"]
    assert done.spans == 0
    assert file.read_text("utf-8").count("\n") == 2


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("config.toml", "configuration"),
        ("agents/main/notes.txt", "no file of Holdfast"),
        ("agents/main/memory/scan.pdf", "no file of Holdfast"),
        ("models/readme", "no file of Holdfast"),
    ],
)
def test_what_is_not_ours_remains_and_is_named(home: Path, path: str, why: str) -> None:
    with open_engine(home) as engine:
        say(engine, "the canary sings")
        file = write(home, path, "note: canary")
        done = engine.forget("canary", erase=True)
        assert [(each.path, why in each.why) for each in done.remaining] == [(path, True)]
        assert done.remaining[0].hint
        assert not done.is_clean
        assert file.read_text("utf-8") == "note: canary"
        file.unlink()
        assert engine.forget("canary", erase=True).is_clean
    assert left(home, ["canary"]) == []


def test_links_are_not_followed_and_not_taken_for_clean(home: Path, tmp_path: Path) -> None:
    outside = write(tmp_path, "outside.md", "canary")
    with open_engine(home) as engine:
        say(engine, "the canary sings")
        base = engine._rooms.base.path
        (base / "memory").mkdir(exist_ok=True)
        (base / "memory" / "link.md").symlink_to(outside)
        os.mkfifo(base / "memory" / "pipe.md")
        done = engine.forget("canary", erase=True)
    assert [each.path for each in done.remaining] == [
        "agents/main/memory/link.md",
        "agents/main/memory/pipe.md",
    ]
    assert outside.read_text("utf-8") == "canary"


def test_folders_of_people_are_not_renamed_but_named(home: Path) -> None:
    with open_engine(home, user="canary") as engine:
        say(engine, "hello")
    with open_engine(home) as engine:
        done = engine.forget("canary", erase=True)
    assert [each.path for each in done.remaining] == ["agents/main/users/canary"]
    assert "Rename" in done.remaining[0].hint


def test_the_owner_erases_everywhere_and_a_guest_at_home(home: Path) -> None:
    places: list[dict[str, Json]] = [
        {},
        {"agent": "other"},
        {"user": "bob"},
        {"user": "eve"},
        {"chat": "t", "chat_type": "group"},
    ]
    for options in places:
        with open_engine(home, **options) as engine:
            say(engine, "the canary sings")
            write(engine._rooms.base.path, "MEMORY.md", "- W: canary\n")
    with open_engine(home, user="bob") as engine:
        done = engine.forget("canary", erase=True)
        assert done.is_clean
        assert {place for place, _ in done.stores} == {"agents/main/users/bob"}
    assert len(left(home, ["canary"])) == 2 * (len(places) - 1)
    with open_engine(home) as engine:
        assert engine.forget("canary", erase=True).is_clean
    assert left(home, ["canary"]) == []


def test_summaries_and_lines_are_judged_by_what_is_left_of_their_sources(home: Path) -> None:
    with open_engine(home) as engine:
        first, second = say(
            engine,
            "I have lung cancer. I live in Porto with my two cats.",
            "Please deploy version 4.2 on Friday.",
        )
        session = engine.session("s1")
        summary = [
            {"text": "User: I live in Porto\nThe user is seriously ill.", "sources": [first]},
            {"text": "User: deploy version 4.2 on Friday", "sources": [second]},
        ]
        session.append_entry("compaction", {"summary": summary, "first_kept": None, "watermark": 2})
        stays = RetainLine(kind="W", text="I live in Porto", id="m1", sources=(f"s1#{first}",))
        goes = RetainLine(kind="W", text="Seriously ill", id="m2", sources=(f"s1#{first}",))
        other = RetainLine(kind="W", text="Seriously busy", id="m3", sources=(f"s1#{second}",))
        base = engine._rooms.base.path
        file = write(base, "MEMORY.md", "".join(f"{render(x)}\n" for x in (stays, goes, other)))
        done = engine.forget("lung cancer", erase=True)
        mark = f"[erased {done.receipt}]"
        compaction = engine._rooms.store.open("s1").entries()[-1]
        assert [part["text"] for part in compaction.data["summary"]] == [
            "User: I live in Porto",
            "User: deploy version 4.2 on Friday",
        ]
        view = engine.session("s1").view()
    lines = [parse(line) for line in file.read_text("utf-8").splitlines()]
    assert {line.id for line in lines if line is not None and line.id} == {"m1", "m3"}
    assert all(line is not None and "ill" not in line.text for line in lines)
    assert mark not in file.read_text("utf-8")
    assert "ill." not in view[0].text


def test_a_long_result_shown_in_part_is_cut_anew(home: Path) -> None:
    with open_engine(home) as engine:
        session = engine.session("s1")
        result = "line of output\n" * 40 + "the canary sings loud\n" + "more\n" * 40
        called = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        session.append({"role": "assistant", "content": None, "tool_calls": [called]})
        entry = session.append({"role": "tool", "tool_call_id": "c", "content": result})
        half = result[: result.index("canary") + 4]
        shown = [{"entry": entry, "part": 0, "text": half + "\n[…]", "how": "head"}]
        session.append_entry("prune", {"shown": shown})
        done = engine.forget("canary sings", erase=True)
        text = session.view()[1].text
        assert "cana" not in text
        assert f"[erased {done.receipt}]" in text or "[…]" in text


def test_an_entry_an_artifact_and_a_line_go_by_their_id(home: Path) -> None:
    with open_engine(home) as engine:
        long = "A sentence that is long enough to be looked for everywhere else too."
        first, second = say(engine, long, "keep this one")
        base = engine._rooms.base.path
        line = RetainLine(kind="W", text="Something about nothing", id="m-123456")
        file = write(base, "MEMORY.md", f"{render(line)}\n- {long}\n- b\n")
        store, transcript = engine._rooms.store, engine._rooms.transcript("s1")
        store.append(transcript, [Message.of("user", "blob " * 20_000)])
        (artifact,) = store.artifacts.names()
        engine.forget(f"s1#{first}", "m-123456", artifact[:12], erase=True)
        texts = [message.text for message in engine.session("s1").view()]
    assert texts[0].startswith("[erased ")
    assert texts[1] == "keep this one"
    assert texts[2] == texts[0]
    assert file.read_text("utf-8") == "- b\n"
    assert list((home / "agents/main/artifacts").iterdir()) == []
    assert second


@pytest.mark.parametrize("target", ["", " ", "x", "\u200b"])
def test_a_text_too_short_is_refused_before_anything_is_touched(home: Path, target: str) -> None:
    with open_engine(home) as engine:
        say(engine, "x y")
        before = _files(home)
        with pytest.raises(UsageError, match="too short"):
            engine.forget(target, erase=True)
        assert _files(home) == before


def test_other_stores_can_be_registered(home: Path) -> None:
    class Index:
        def __init__(self) -> None:
            self.texts = {"a canary", "a dog"}

        def erase(self, match: Json, *, dry_run: bool = False) -> Erased:
            held = {text for text in self.texts if match.is_in(text)}
            self.texts -= set() if dry_run else held
            return Erased(store="search", spans=len(held))

    index = Index()
    with open_engine(home) as engine:
        done = forget(engine._rooms, ["CANARY"], erase=True, extra=[index])
    assert index.texts == {"a dog"}
    assert ("", Erased(store="search", spans=1)) in done.stores


def test_whoever_has_a_session_open_goes_on_under_its_new_name(home: Path) -> None:
    with open_engine(home) as engine:
        session = engine.session("canary-trip")
        session.append({"role": "user", "content": "one canary"})
        done = engine.forget("canary", erase=True)
        session.append({"role": "user", "content": "two"})
        (summary,) = engine.sessions()
        assert summary.name == f"erased-{done.receipt}-trip"
        assert len(engine.session(summary.name).view()) == 2
    assert left(home, ["canary"]) == []


def test_without_erasing_lines_move_to_the_archive_and_come_back(home: Path) -> None:
    with open_engine(home) as engine:
        say(engine, "the canary sings")
        base = engine._rooms.base.path
        text = "# x\n\n- W: A canary.\n- W: Dog.\n\nProse about the canary.\n"
        file = write(base, "memory/2026-03-14.md", text)
        planned = engine.forget("CANARY", dry_run=True)
        assert file.read_text("utf-8") == text
        done = engine.forget("CANARY")
        assert [item.where for item in done.items] == ["memory/2026-03-14.md#L3"]
        assert planned.items == done.items
        assert "A canary" not in file.read_text("utf-8")
        assert "Prose about the canary." in file.read_text("utf-8")
        assert engine.session("s1").view()[0].text == "the canary sings"
        assert len(engine.archive.list()) == 1
        engine.undo(done.operation)
        assert file.read_text("utf-8") == text


def test_what_was_archived_can_be_erased_by_its_id(home: Path) -> None:
    with open_engine(home) as engine:
        task = engine.tasks.open("Visa for the canary", request="Get the visa stamped")
        assert task.id
        done = engine.remember("Birds are singing in the morning sun.")
        (kept,) = done.added
        engine.forget(kept.id)
        assert left(home, ["morning sun"]) != []
        assert engine.forget(kept.id, task.id, erase=True).is_clean
        assert engine.tasks.list() == []
    assert left(home, ["Birds are singing", "visa stamped"]) == []


def test_an_event_that_comes_during_an_erasure_is_not_lost(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_engine(home) as engine:
        say(engine, "hi", session="canary-chat")
    without = receipts._report_without
    calls = count()

    def slowly(*given: Any, **named: Any) -> bytes:
        if next(calls) == 0:
            with open_engine(home) as other:
                say(other, "hi", session="another")
        return without(*given, **named)

    monkeypatch.setattr(receipts, "_report_without", slowly)
    changed = receipts.erase_events(
        Directory.open(home), Match(["canary-chat"], "r1"), None, dry_run=False
    )
    told = (home / "events.jsonl").read_text("utf-8")
    assert changed
    assert "canary" not in told
    assert '"session":"another"' in told


def test_events_of_several_writers_outlast_a_log_that_is_replaced(home: Path) -> None:
    folder = Directory.open(home)
    log = EventLog(folder)

    def tell(number: int) -> None:
        for each in range(60):
            log(SessionRenamed(at=FixedClock().now(), session=f"s{number}-{each}", to="canary"))

    threads = [Thread(target=tell, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        receipts.erase_events(folder, Match(["canary"], "r1"), None, dry_run=False)
    receipts.erase_events(folder, Match(["canary"], "r1"), None, dry_run=False)
    told = [json.loads(line) for line in (home / "events.jsonl").read_text("utf-8").splitlines()]
    assert {each["session"] for each in told} == {f"s{n}-{m}" for n in range(3) for m in range(60)}
    assert {each["to"] for each in told} == {"erased-r1"}


def test_names_made_of_the_text_go_with_it_wherever_they_stand(home: Path) -> None:
    with open_engine(home) as engine:
        engine.remember("Anna Zabriskie moved", target="topic:anna-zabriskie")
        engine.tasks.open("Call Anna Zabriskie back")
        say(engine, "hi", session="anna-zabriskie")
        say(engine, "hi", session="trip-anna-zabriskie-2")
        done = engine.forget("Anna Zabriskie", erase=True)
    assert done.remaining == ()
    for path in home.rglob("*"):
        assert "zabriskie" not in path.name.casefold()
        assert not path.is_file() or b"zabriskie" not in path.read_bytes().lower(), path
    assert sorted(path.name for path in home.rglob("*.jsonl") if "sessions" in path.parts) == [
        f"erased-{done.receipt}.jsonl",
        f"trip-erased-{done.receipt}-2.jsonl",
    ]


def test_a_task_that_goes_by_its_id_leaves_its_title_nowhere(home: Path) -> None:
    with open_engine(home) as engine:
        task = engine.tasks.open("Secret surgery plan", request="book the surgery")
        engine.tasks.update(task.id, note="called")
        done = engine.forget(task.id, erase=True)
    assert done.receipt_path is not None
    assert "surgery" not in Path(done.receipt_path).read_text("utf-8")
    assert not [path for path in home.rglob("*") if "surgery" in path.name]
    files = [path for path in home.rglob("*") if path.is_file()]
    assert not [path for path in files if b"surgery" in path.read_bytes().lower()]


def test_a_record_keeps_no_piece_of_what_was_erased(home: Path) -> None:
    with open_engine(home) as engine:
        secret = "KQZWXYVUTSRQPONMLKJIHGFEDCBA43210QWERTYUIOPASDFGHJKLZXCVBNMabc"
        (asked,) = say(engine, f"Please fix the login page for {secret}, thanks")
        task = engine.tasks.open(
            f"Please fix the login page for {secret[:20]}…",
            request=f"Please fix the login page for {secret}, thanks",
            sources=(f"s1#{asked}",),
        )
        engine.tasks.update(task.id, note="Working on the page, by hand")
        engine.tasks.update(task.id, note=f"said: …{secret[-20:]}, thanks")
        done = engine.forget(secret, erase=True)
        (left,) = engine.tasks.list()
    mark = f"[erased {done.receipt}]"
    assert (left.title, left.request) == (mark, f"Please fix the login page for {mark}, thanks")
    assert [note.rpartition(": ")[2] for note in left.progress] == ["Working on the page, by hand"]
    files = [path for path in home.rglob("*") if path.is_file()]
    assert not [path for path in files if secret[:9].lower() in path.name]
    assert not [path for path in files if secret[:9].lower().encode() in path.read_bytes().lower()]


def test_an_erasure_is_on_the_audit_record(home: Path) -> None:
    with open_engine(home) as engine:
        say(engine, "a canary")
        engine.forget("no such thing", erase=True)
        assert not (home / "audit.jsonl").exists()
        done = engine.forget("canary", erase=True)
        assert engine._rooms.memory.audit.verify().intact
    (line,) = [json.loads(each) for each in (home / "audit.jsonl").read_text().splitlines()]
    assert (line["what"], line["operation"], line["spans"]) == ("erase", done.receipt, done.spans)
    assert "canary" not in json.dumps(line)


@pytest.mark.parametrize("wanted", ["Rome", "Peter", "done", "status"])
def test_what_our_files_say_of_themselves_is_not_told_as_remaining(home: Path, wanted: str) -> None:
    with open_engine(home) as engine:
        engine.remember("The sky is blue.")
        task = engine.tasks.open("Paint it", request="in red")
        engine.tasks.close(task.id, result="painted")
        readme = engine._rooms.base.path / "README.md"
        before = readme.read_bytes()
        done = engine.forget(wanted, erase=True)
        assert readme.read_bytes() == before
        assert engine.tasks.list()[0].status == "done"
    assert (done.spans, done.remaining) == (0, ())
