"""What was said can be taken out of every file of a session, and nothing else goes with it."""

from __future__ import annotations

import base64
import errno
import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.disk import SYSTEM, Directory, System
from holdfast.errors import StorageError
from holdfast.matching import Match
from holdfast.ports import Erasable
from holdfast.sessions.erasure import SessionErasure
from holdfast.sessions.records import decode
from holdfast.sessions.store import Store
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.testing import SequentialIds
from holdfast.types import Erased, Image, Message, Text, Thinking, ToolCall, ToolResult
from tests.scale import scaled
from tests.sessions.disks import FailingDisk
from tests.sessions.rooms import line, open_store, open_transcript, said, texts

CANARY = "Marrákech 密码 77"
MARK = "[erased r1]"


def erase(
    folder: Path,
    *wanted: str,
    store: Store | None = None,
    system: System = SYSTEM,
    ids: tuple[str, ...] = (),
    dry_run: bool = False,
) -> Erased:
    room: Erasable = SessionErasure(
        Directory.open(folder, system=system),
        store or open_store(folder, system=system, cap_chars=100),
        cap_chars=100,
    )
    return room.erase(Match(wanted, "r1", ids=ids), dry_run=dry_run)


def holds(folder: Path, *wanted: str) -> list[str]:
    """Our own look at the bytes: it shares no code with what is tested."""
    found = []
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        plain = data.decode("utf-8", "replace").casefold()
        unescaped = json.dumps(plain).casefold()
        for each in wanted:
            forms = (each.casefold(), json.dumps(each)[1:-1].casefold())
            if any(form in text for form in forms for text in (plain, unescaped, path.name)):
                found.append(path.name)
            if base64.b64encode(each.encode())[:-4] in data:
                found.append(path.name)
    return found


def parts(*given: object, role: str = "assistant") -> Message:
    return Message(role=role, parts=given, form="parts")  # type: ignore[arg-type]


def test_a_span_becomes_a_mark_in_the_same_record(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    transcript.append([said("before"), said(f"I go to {CANARY}."), said("after")])
    before = transcript.entries()
    file = tmp_path / "sessions" / "s1.jsonl"
    lines = file.read_bytes().splitlines()

    erased = erase(tmp_path, CANARY.upper(), store=store)

    assert erased.entries == (f"s1#{before[2].id}",)
    assert erased.files == ("sessions/s1.jsonl",)
    assert texts(transcript) == ["before", f"I go to {MARK}.", "after"]
    after = transcript.entries()
    assert [(e.id, e.seq, e.at, e.parent) for e in after] == [
        (e.id, e.seq, e.at, e.parent) for e in before
    ]
    new = file.read_bytes().splitlines()
    assert [new[n] for n in (0, 1, 3)] == [lines[n] for n in (0, 1, 3)], "the others to the byte"
    assert store.verify(store.open("s1")).is_intact
    assert holds(tmp_path, CANARY) == []
    assert erase(tmp_path, CANARY).spans == 0


def test_every_field_of_every_kind_of_entry_is_looked_at(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    number = 4155551234
    store.append(
        transcript,
        [
            parts(
                Thinking(text=f"hm {CANARY}", signature="sig"),
                ToolCall(id="c1", name="find", arguments={"q": CANARY, CANARY: [number]}),
                ToolCall(id="c2", name="find", arguments=json.dumps({"q": CANARY})),
            ),
            parts(ToolResult(call_id="c1", content=(Text(text=CANARY),)), role="tool"),
            parts(ToolResult(call_id="c2", content=(Text(text="none"),)), role="tool"),
            Message(
                role="user", parts=(Text(text="x", extra={"note": CANARY}),), extra={CANARY: 1}
            ),
        ],
    )
    told = [
        Draft(type="marker", data={"kind": "goal", "text": f"visit {CANARY}"}),
        Draft(type="marker", data={"kind": "vars", "set": {"city": CANARY, "pin": number}}),
        Draft(
            type="note.custom", data={"deep": [[{"er": CANARY}]]}, extra={"more": {CANARY: CANARY}}
        ),
    ]
    transcript.append(told)
    transcript.close()  # saves the counters, and the goal with them
    assert len(erase(tmp_path, CANARY, str(number)).entries) == 6
    assert holds(tmp_path, CANARY, str(number)) == []
    transcript = store.open("s1")
    assert store.verify(transcript).is_intact
    assert transcript.state().goal == f"visit {MARK}"
    assert transcript.state().vars == {"city": MARK, "pin": MARK}
    view = store.view(transcript)
    calls = [call for message in view for call in message.tool_calls]
    assert [call.name for call in calls] == ["find", "find"]
    assert calls[0].arguments == {"q": MARK, MARK: [MARK]}
    assert json.loads(str(calls[1].arguments)) == {"q": MARK}
    (thinking,) = [part for message in view for part in message.parts if isinstance(part, Thinking)]
    assert (thinking.text, thinking.signature) == (f"hm {MARK}", None)


@pytest.mark.parametrize("word", ["user", "message", "text", "role", "direct", "2026", "main"])
def test_words_of_the_format_stay(tmp_path: Path, word: str) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    transcript.append([said(f"the {word} is here"), said("nothing")])
    erased = erase(tmp_path, word, store=store)
    assert texts(transcript) == [f"the {MARK} is here", "nothing"]
    assert len(erased.entries) == 1 + (word == "main"), "the agent is named in the first entry"
    assert [message.role for message in store.view(transcript)] == ["user", "user"]
    assert erase(tmp_path, word).spans == 0


def test_payloads_become_others_and_are_named_anew(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=100)
    transcript = open_transcript(store)
    long = "word " * 50 + CANARY + " word" * 50
    image = base64.b64encode(b"\x89PNG" + b"x" * 900 + CANARY.encode()).decode()
    store.append(
        transcript,
        [
            Message.of("user", long),
            parts(ToolResult(call_id="c", content=(Text(text=long + CANARY),)), role="tool"),
            parts(Image(media_type="image/png", data=image), role="user"),
            Message.of("user", "other " * 60),
        ],
    )
    first = transcript.entries()[1]
    store.fork(transcript, first.id, "copy")
    (tmp_path / "artifacts" / ("0" * 64)).write_text(f"orphan {CANARY}")
    assert len(list((tmp_path / "artifacts").iterdir())) == 5

    erased = erase(tmp_path, CANARY)

    assert len(erased.entries) == 4
    assert holds(tmp_path, CANARY) == []
    store = open_store(tmp_path, cap_chars=100)
    for name in store.names():
        assert store.verify(store.open(name)).is_intact
    whole = [store.whole(entry).message for entry in store.open("s1").entries()[1:]]
    told = [message.text for message in whole if message is not None]
    assert told[0] == long.replace(CANARY, MARK)
    assert told[1] == long.replace(CANARY, MARK) + MARK
    assert told[2] == MARK, "an image that holds it is none any more"
    assert told[3] == "other " * 60
    shown = store.view(store.open("s1"))[1].text
    assert shown.endswith(MARK)
    assert "expand" in shown
    assert len(list((tmp_path / "artifacts").iterdir())) == 3 + 1, "three new, one untouched"


def test_damage_that_holds_it_goes_with_its_copy_in_quarantine(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    open_transcript(store).append([said("first")])
    file = tmp_path / "sessions" / "s1.jsonl"
    torn = line(7, f"lost {CANARY}")[:-9]
    other = b"\xff\xfe other damage\n"
    binary = b"\xff" + CANARY.encode() + b"\xfe\n"
    file.write_bytes(file.read_bytes() + torn + b"\n" + other + binary + line(8, "last"))
    transcript = store.open("s1")
    assert store.verify(transcript).damaged_regions == 3
    assert len(holds(tmp_path, CANARY)) > 0

    told: list[object] = []
    erase(tmp_path, CANARY)
    assert holds(tmp_path, CANARY) == []
    store = open_store(tmp_path, told=told)  # type: ignore[arg-type]
    found = store.verify(store.open("s1"))
    assert found.damaged_regions == 1
    assert texts(store.open("s1")) == ["first", "last"]
    assert told == [], "what is left of the damage is where the quarantine says, so nothing is new"
    kept = (tmp_path / ".journal" / "quarantine" / "s1.quarantine").read_text("utf-8")
    assert kept.count('"erased"') == 2
    assert "other damage" in base64.b64decode(
        json.loads(next(each for each in kept.splitlines() if '"base64"' in each))["base64"]
    ).decode("utf-8", "replace")


def test_names_and_tombstones_tell_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store, "trip-to-canaryville")
    entry = transcript.append([said("hello")])[0]
    store.fork(transcript, entry.id, "a-copy")
    for name in ("canaryville-old", "gone"):
        open_transcript(store, name).append([said("x")])
    store.rename("gone", "canaryville-new")
    store.delete("canaryville-new")
    erased = erase(tmp_path, "Canaryville")
    assert holds(tmp_path, "canaryville") == []
    assert sorted(open_store(tmp_path).names()) == ["a-copy", "erased-r1-old", "trip-to-erased-r1"]
    assert open_store(tmp_path).open("a-copy").state().forked_from == {
        "session": "trip-to-erased-r1",
        "entry": entry.id,
    }
    assert ".journal/tombstones.jsonl" in erased.files
    stone = open_store(tmp_path).tombstone("gone")
    assert stone is not None
    assert stone.to == "erased-r1-new"
    transcript.append([said("still open")])
    assert texts(open_store(tmp_path).open("trip-to-erased-r1")) == ["hello", "still open"]


def test_an_entry_goes_by_its_id(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=100)
    transcript = open_transcript(store)
    store.append(transcript, [Message.of("user", "keep me"), Message.of("user", "drop " * 60)])
    _, _, last = transcript.entries()
    erase(tmp_path, ids=(f"s1#{last.id}",))
    store = open_store(tmp_path, cap_chars=100)
    assert [message.text for message in store.view(store.open("s1"))] == ["keep me", MARK]
    assert list((tmp_path / "artifacts").iterdir()) == []
    assert store.verify(store.open("s1")).is_intact


def test_what_an_id_tells_is_named_and_stays(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    open_transcript(store).append([replace(said("x canary"), id="canary-1")])
    (left,) = erase(tmp_path, "canary").remaining
    assert left.path == "sessions/s1.jsonl"
    assert "sessions delete s1" in left.hint


def test_looking_changes_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=100)
    transcript = open_transcript(store, f"s-{'canary'}")
    store.append(transcript, [Message.of("user", "canary " * 50)])
    transcript.close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    found = erase(tmp_path, "canary", dry_run=True)
    assert found.spans > 2
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if "lock" not in path.name} == {
        path: data for path, data in before.items() if "lock" not in path.name
    }


def _append_many(folder: str, worker: int, count: int) -> None:
    ids = SequentialIds(f"worker{worker}-")
    transcript = open_transcript(open_store(Path(folder), ids=ids))
    for number in range(count):
        text = f"w{worker} n{number}" + (" canary" if number % 3 == 0 else "")
        transcript.append([said(text)])


def test_what_others_append_meanwhile_is_not_lost(fast_path: Path) -> None:
    workers, count = 3, scaled(60)
    open_transcript(open_store(fast_path)).append([said("w9 n9 canary")])
    context = multiprocessing.get_context("spawn")
    running = [
        context.Process(target=_append_many, args=(str(fast_path), worker, count))
        for worker in range(workers)
    ]
    for process in running:
        process.start()
    rounds = 0
    reader = open_store(fast_path).open("s1")
    while any(process.is_alive() for process in running):
        erase(fast_path, "canary")
        reader.entries()
        rounds += 1
    assert [process.exitcode for process in running] == [0] * workers
    erase(fast_path, "canary")
    assert rounds > 1
    store = open_store(fast_path)
    found = [text.removesuffix(f" {MARK}") for text in texts(store.open("s1"))]
    expected = {f"w{w} n{n}" for w in range(workers) for n in range(count)} | {"w9 n9"}
    assert set(found) == expected
    assert len(found) == len(expected)
    assert store.verify(store.open("s1")).is_intact
    assert holds(fast_path, "canary") == []
    assert texts(reader) == texts(store.open("s1")), "who has it open sees the new file"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
def test_whichever_call_fails_erasing_again_finishes(fast_path: Path, number: int) -> None:
    fail_at, has_failed = 0, True
    while has_failed:
        fail_at += 1
        home = fast_path / f"{number}-{fail_at}"
        home.mkdir(mode=0o700)
        store = open_store(home, cap_chars=100)
        transcript = open_transcript(store, "canary-trip")
        store.append(transcript, [Message.of("user", "the canary " * 20), Message.of("user", "b")])
        store.fork(transcript, transcript.entries()[1].id, "copy")
        transcript.close()
        disk = FailingDisk(fail_at, number=number)
        try:
            erase(home, "canary", system=disk)
        except StorageError:
            assert disk.has_failed
        has_failed = disk.has_failed
        for name in open_store(home).names():  # old or new, never torn
            for raw in (home / "sessions" / f"{name}.jsonl").read_bytes().splitlines():
                decode(raw)
        erase(home, "canary")
        assert holds(home, "canary") == []
        store = open_store(home, cap_chars=100)
        for name in store.names():
            assert store.verify(store.open(name)).is_intact
        assert len(store.names()) == 2
    assert fail_at > 20, "every changing call of the erasure was made to fail once"


def test_a_transcript_can_be_opened_while_it_is_replaced(tmp_path: Path) -> None:
    """The one who erased, and others in the same process, go on with the new file."""
    store = open_store(tmp_path)
    mine: Transcript = open_transcript(store)
    mine.append([said("canary one")])
    other = open_transcript(open_store(tmp_path))
    assert len(texts(other)) == 1
    erase(tmp_path, "canary", store=store)
    other.append([said("two")])
    mine.append([said("three")])
    assert texts(mine) == texts(other) == [f"{MARK} one", "two", "three"]
    mine.close()
    other.close()
    assert holds(tmp_path, "canary") == []


@pytest.mark.parametrize(
    ("wanted", "arguments", "left"),
    [
        ("4915112345678", '{"phone": 4915112345678}', {"phone": MARK}),
        ("12345", '{"n": 1.12345, "id": "x12345"}', {"n": MARK, "id": f"x{MARK}"}),
        ("true", '{"x": true}', {}),
        ('"phone"', '{"phone": 5}', {}),
        ("nZork", r'{"p": "line\nZork"}', {}),
        ("quux", r'{"p": "say \"quux\" \u0071uux"}', {"p": f'say "{MARK}" {MARK}'}),
        ("secret", '{"secret": 1, "SECRET": 2}', {MARK: 1, f"{MARK}'": 2}),
    ],
)
@pytest.mark.parametrize("padding", [0, 200], ids=["inline", "set aside"])
def test_the_arguments_of_a_call_stay_json(
    tmp_path: Path, wanted: str, arguments: str, left: dict[str, object], padding: int
) -> None:
    arguments = " " * padding + arguments
    store = open_store(tmp_path, cap_chars=100)
    transcript = open_transcript(store)
    store.append(transcript, [parts(ToolCall(id="c1", name="dial", arguments=arguments))])
    transcript.close()
    erase(tmp_path, wanted, store=store)
    (message,) = store.view(store.open("s1"))
    (call,) = message.tool_calls
    assert isinstance(call.arguments, str)
    assert json.loads(call.arguments) == left
    assert Match([wanted], "r2").is_in(call.arguments) is False


def test_the_id_of_a_call_stays_one_that_providers_take(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    store.append(
        transcript,
        [
            parts(ToolCall(id="call_Zork99_1", name="dial", arguments={})),
            parts(ToolResult(call_id="call_Zork99_1", content=(Text(text="ok"),)), role="tool"),
        ],
    )
    erase(tmp_path, "zork99", store=store)
    called, answered = store.view(store.open("s1"))
    (call,), (result,) = called.tool_calls, answered.parts
    assert isinstance(result, ToolResult)
    assert call.id == result.call_id == "call_erased-r1_1"


def test_a_dry_run_leaves_no_trace_even_of_damage(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    transcript.append([said(f"one {CANARY}"), said("two"), said(f"three {CANARY}")])
    transcript.close()
    file = tmp_path / "sessions" / "s1.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"two", CANARY.encode())
    file.write_bytes(b"".join(lines))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    erased = erase(tmp_path, CANARY, dry_run=True)
    assert (len(erased.entries), erased.spans) == (2, 3)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
