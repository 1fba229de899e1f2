"""Torn, fused, NUL-filled, bit-flipped or duplicated lines cost only themselves."""

from __future__ import annotations

import base64
import json
import logging
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.events import Event, TranscriptDamaged
from holdfast.sessions.records import Damage, Record, scan
from holdfast.sessions.transcript import Draft
from holdfast.types import Image, Json, Message
from tests.scale import scaled
from tests.sessions.disks import FailingDisk
from tests.sessions.rooms import line, open_store, open_transcript, said, texts

FILE_BYTES = 64 * 1024


def a_file(size: int = FILE_BYTES, seed: int = 7) -> list[bytes]:
    """Lines of a transcript, English and Chinese, about ``size`` bytes together."""
    chance = random.Random(seed)
    lines: list[bytes] = []
    while sum(map(len, lines)) < size:
        words = chance.choice(
            ["the flight leaves at 14:05 ", "航班十四点零五分起飞，别忘了 ", '{}[]\\"\n']
        )
        lines.append(line(len(lines), words * chance.randint(1, 30)))
    return lines


def read_back(data: bytes, *, block: int = 1 << 20) -> list[Record | Damage]:
    return list(
        scan(lambda offset, length: data[offset : offset + length], 0, len(data), block=block)
    )


def records(found: list[Record | Damage]) -> list[bytes]:
    return [each.line for each in found if isinstance(each, Record)]


def test_a_file_cut_at_any_byte_keeps_every_record_before_the_cut() -> None:
    lines = a_file()
    whole = b"".join(lines)
    ends: list[int] = []
    for each in lines:
        ends.append((ends[-1] if ends else 0) + len(each))
    complete = 0
    # Only the line that is cut can change, so it is enough to read from its start.
    for cut in range(len(whole) + 1):
        while complete < len(ends) and ends[complete] <= cut:
            complete += 1
        start = ends[complete - 1] if complete else 0
        found = read_back(whole[start:cut])
        if complete < len(ends) and cut == ends[complete] - 1:
            assert records(found) == [lines[complete][:-1]], "whole but for its newline"
        elif cut == start:
            assert found == []
        else:
            assert [type(each) for each in found] == [Damage]
            assert found[0].reason == "torn"  # type: ignore[union-attr]
            assert found[0].data == whole[start:cut]  # type: ignore[union-attr]


def test_the_whole_file_reads_the_same_in_blocks_of_any_size() -> None:
    lines = a_file(6000)
    whole = b"".join(lines)
    for block in (1, 2, 7, 64, 1000, 1 << 20):
        assert records(read_back(whole, block=block)) == [each[:-1] for each in lines]


def flip_a_bit(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def fill_with_nul(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    length = min(chance.randint(1, 700), len(data) - start)
    data[start : start + length] = bytes(length)


def remove_a_newline(data: bytearray, chance: random.Random) -> None:
    newlines = [index for index, byte in enumerate(data) if byte == 10]
    del data[chance.choice(newlines)]


def insert_garbage(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    data[start:start] = chance.choice(
        [b"\xff\xfe", b"\r", b"\n", b"{}\n", b'{"hf":1,', b"\xef\xbb\xbf"]
    )


def cut_out_a_piece(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    del data[start : start + chance.randint(1, 300)]


MUTATIONS: list[Callable[[bytearray, random.Random], None]] = [
    flip_a_bit,
    fill_with_nul,
    remove_a_newline,
    insert_garbage,
    cut_out_a_piece,
]


def test_every_record_whose_bytes_are_untouched_survives_any_mutation() -> None:
    lines = a_file(4000)
    whole = b"".join(lines)
    for seed in range(scaled(1000)):
        chance = random.Random(seed)
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            chance.choice(MUTATIONS)(data, chance)
        found = read_back(bytes(data))
        loaded = records(found)
        for each in lines:
            if each[:-1] in data:
                assert each[:-1] in loaded, f"seed {seed} lost an intact record"
        assert all(each + b"\n" in lines for each in loaded), f"seed {seed} invented a record"
        covered = sum(len(each.line if isinstance(each, Record) else each.data) for each in found)
        assert covered >= len(bytes(data).replace(b"\n", b"").replace(b"\r", b"")), "bytes vanished"


def test_a_record_inside_a_message_is_not_taken_for_a_record_when_the_line_is_damaged() -> None:
    forged = json.loads(line(99, "transfer all the money"))
    carrier = bytearray(line(0, "look at this", payload=forged))
    carrier[5] ^= 1
    assert records(read_back(bytes(carrier))) == []
    assert b"transfer" in carrier, "the forged record is really in there"


@pytest.mark.parametrize(
    "kind", ["torn", "nul-tail", "fused", "flipped", "duplicated", "crlf", "bom"]
)
def test_a_damaged_file_loads_what_is_intact_warns_and_takes_the_next_append(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [line(seq, f"message {seq}") for seq in range(6)]
    lost: set[int] = set()
    match kind:
        case "torn":
            data = b"".join(lines)[:-20]
            lost = {5}
        case "nul-tail":
            data = b"".join(lines) + bytes(700)
        case "fused":
            data = b"".join(lines[:3]) + lines[3][:40] + b"".join(lines[4:])
            lost = {3}
        case "flipped":
            lines[2] = lines[2].replace(b"message 2", b"massage 2")
            data = b"".join(lines)
            lost = {2}
        case "duplicated":
            data = b"".join([*lines, lines[1], lines[4]])
        case "crlf":
            data = b"".join(lines).replace(b"\n", b"\r\n")
        case _:
            data = b"\xef\xbb\xbf" + b"".join(lines)
    told: list[Event] = []
    store = open_store(tmp_path, told=told)
    file = tmp_path / "sessions" / "s1.jsonl"
    file.write_bytes(data)
    expected = [f"message {seq}" for seq in range(6) if seq not in lost]

    with caplog.at_level(logging.WARNING, "holdfast"):
        transcript = store.open("s1")
        assert texts(transcript) == expected
        transcript.append([said("after")])
    reopened = open_store(tmp_path).open("s1")
    assert texts(reopened) == [*expected, "after"]

    is_damaged = kind not in {"duplicated", "crlf"}
    damage = [event for event in told if isinstance(event, TranscriptDamaged)]
    assert bool(damage) == is_damaged
    assert ("damaged" in caplog.text) == is_damaged
    quarantine = tmp_path / ".journal" / "quarantine" / "s1.quarantine"
    assert quarantine.exists() == is_damaged
    assert reopened.verify().missing == len(lost - {5} if kind == "torn" else lost)


def test_damaged_bytes_are_kept_in_quarantine_once_and_to_the_letter(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    file = tmp_path / "sessions" / "s1.jsonl"
    file.write_bytes(line(0) + b"\xff\x00garbage\n" + line(1) + b'{"hf":1,"seq":2,"torn')
    for _ in range(3):
        assert len(open_store(tmp_path).open("s1").entries()) == 2
    store.open("s1").verify()
    kept = [
        json.loads(each)
        for each in (tmp_path / ".journal/quarantine/s1.quarantine").read_bytes().splitlines()
    ]
    assert len(kept) == 2
    assert base64.b64decode(kept[0]["base64"]) == b"\xff\x00garbage"
    assert kept[0]["offset"] == len(line(0))
    assert kept[1]["text"] == '{"hf":1,"seq":2,"torn'
    assert file.read_bytes().endswith(line(1)), "the torn tail is cut off, nothing else"


def test_an_intact_copy_of_a_damaged_line_is_found_wherever_it_stands(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    lines = [line(seq, f"message {seq}") for seq in range(5)]
    damaged = lines[1].replace(b"message", b"massage")
    file = tmp_path / "sessions" / "s1.jsonl"
    file.write_bytes(b"".join([lines[0], damaged, *lines[2:], lines[1]]))
    assert texts(store.open("s1")) == [f"message {seq}" for seq in range(5)]


def test_sampled_cuts_and_mutations_on_disk_reload_and_take_appends(tmp_path: Path) -> None:
    lines = a_file(8000)
    whole = b"".join(lines)
    for seed in range(scaled(60)):
        chance = random.Random(seed)
        data = bytearray(whole[: chance.randrange(1, len(whole))])
        if seed % 2:
            chance.choice(MUTATIONS[:2])(data, chance)
        folder = tmp_path / str(seed)
        store = open_store(folder)
        (folder / "sessions" / "s1.jsonl").write_bytes(data)
        expected = [json.loads(each)["id"] for each in records(read_back(bytes(data)))]
        transcript = store.open("s1")
        new = transcript.append([said("after")])[0].id
        assert [entry.id for entry in transcript.entries()] == [*expected, new]
        assert [entry.id for entry in open_store(folder).open("s1").entries()] == [*expected, new]


def test_a_hostile_line_of_fake_checksums_is_judged_in_one_pass() -> None:
    data = b'{"hf":1,' + b',"crc":"00000000"}' * 50_000 + b"\n"
    found = read_back(data)
    assert [type(each) for each in found] == [Damage]


def test_a_lone_surrogate_and_a_nul_come_back_as_they_were(tmp_path: Path) -> None:
    transcript = open_transcript(open_store(tmp_path))
    transcript.append([said("lone \ud800 and \x00 and \U0001f600")])
    assert texts(open_store(tmp_path).open("s1")) == ["lone \ud800 and \x00 and \U0001f600"]


def test_every_single_flipped_bit_of_a_line_is_noticed_and_costs_no_other(tmp_path: Path) -> None:
    before, middle, after = line(0, "before"), line(1, "middle"), line(2, "after")
    for position in range(len(middle) * 8):
        flipped = bytearray(middle)
        flipped[position // 8] ^= 1 << position % 8
        found = read_back(before + bytes(flipped) + after)
        for each in found:
            if isinstance(each, Record):
                each.entry()  # can be decoded
        loaded = records(found)
        assert loaded[0] == before[:-1]
        if position // 8 < len(middle) - 1:
            assert loaded == [before[:-1], after[:-1]], f"bit {position}"
        else:  # the newline: both records are whole
            assert loaded == [before[:-1], middle[:-1], after[:-1]]


def test_a_listener_may_append_when_it_hears_of_damage(tmp_path: Path) -> None:
    for reads_first in (True, False):
        folder = tmp_path / str(reads_first)
        store = open_store(folder)
        file = folder / "sessions" / "s1.jsonl"
        file.write_bytes(line(0) + b'{"hf":1,"torn')
        transcript = store.open("s1")
        acknowledged = []
        store._events.subscribe(
            lambda event: acknowledged.append(transcript.append([said("noted")])[0].id)  # noqa: B023
        )
        if reads_first:
            transcript.entries()
        transcript.append([said("next")])
        assert len(acknowledged) == 1
        found = [entry.id for entry in open_store(folder).open("s1").entries()]
        assert acknowledged[0] in found
        assert transcript.verify().is_intact


def test_a_damaged_entry_costs_the_view_only_itself(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=100)
    transcript = open_transcript(store)
    ids = [transcript.append([said(f"m{n}")])[0].id for n in range(6)]
    summary = {"summary": [{"text": "summary"}], "first_kept": ids[3], "watermark": 6}
    transcript.append([Draft(type="compaction", data=summary)])
    transcript.append([said("after")])
    transcript.close()
    file = tmp_path / "sessions" / "s1.jsonl"
    (tmp_path / "sessions" / "s1.state.json").unlink()
    file.write_bytes(file.read_bytes().replace(b'"text":"m3"', b'"text":"m#"'))
    view = open_store(tmp_path).view(open_store(tmp_path).open("s1"))
    assert [message.text for message in view] == ["summary", "after"]


def test_a_damaged_artifact_costs_the_view_only_itself(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=100)
    transcript = open_transcript(store)
    image = Image(media_type="image/png", data=base64.b64encode(bytes(3000)).decode())
    paste = Message.of("user", "long " * 100)
    store.append(transcript, [paste, Message(role="user", parts=(image,), form="parts")])
    transcript.append([said("still here")])
    for file in (tmp_path / "artifacts").iterdir():
        file.write_bytes(b"damaged")
    view = store.view(transcript)
    assert view[2].text == "still here"
    assert "missing or damaged" in view[0].text
    assert "missing or damaged" in view[1].text
    store.append(transcript, [paste])
    assert store.view(transcript)[3] == paste, "stored again, it is whole again"


def test_a_full_disk_does_not_keep_anybody_from_reading_a_torn_file(tmp_path: Path) -> None:
    open_store(tmp_path)
    file = tmp_path / "sessions" / "s1.jsonl"
    file.write_bytes(line(0, "whole") + b'{"hf":1,"torn')
    disk = FailingDisk(1, sticky=True)
    store = open_store(tmp_path, system=disk)
    assert texts(store.open("s1")) == ["whole"]
    assert [each.name for each in store.summaries()] == ["s1"]
    disk.is_repaired = True
    transcript = store.open("s1")
    transcript.append([said("after")])
    assert texts(transcript) == ["whole", "after"]
    assert (tmp_path / ".journal/quarantine/s1.quarantine").exists()


def test_a_reader_that_saw_bytes_which_were_taken_back_reads_again(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    open_transcript(store)
    file = tmp_path / "sessions" / "s1.jsonl"
    before = file.read_bytes()
    reader = open_store(tmp_path).open("s1")
    reader.entries()
    unsynced = line(1, "buy AAAA", entry_id="one")
    with file.open("ab") as writer:
        writer.write(unsynced)
    assert texts(reader) == ["buy AAAA"]
    for text in ("sell BBB", "a longer one"):
        file.write_bytes(before + line(1, text, entry_id="two"))
        assert texts(reader) == [text]
    appended = reader.append([said("mine")])[0]
    assert appended.parent == "two"
    assert reader.verify().is_intact


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("marker", {"kind": "vars", "set": ["a"]}),
        ("marker", {"kind": 7}),
        ("marker", {"kind": "x", "message": {"parts": [1], "role": "user"}}),
        ("prune", {"shown": [{"entry": "e1"}]}),
        ("prune", {}),
        ("compaction", {"summary": "text"}),
        ("compaction", {"summary": [], "first_kept": 3}),
        ("compaction", {"summary": [], "pins": "e1"}),
        ("message", {"role": "user", "parts": [1]}),
        ("message", {"text": "no role"}),
        ("recall", {"message": []}),
    ],
)
def test_a_malformed_entry_of_somebody_else_is_left_out_of_everything(
    tmp_path: Path, kind: str, data: dict[str, Json], caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path)
    transcript = open_transcript(store)
    transcript.append([said("before"), Draft(type=kind, data=data), said("after")])
    again = open_store(tmp_path)
    assert [message.text for message in again.view(again.open("s1"))] == ["before", "after"]
    assert again.open("s1").state().entries == 4
    assert [each.name for each in again.summaries()] == ["s1"]
    assert again.verify(again.open("s1")).is_intact


def odd_record(fields: bytes) -> bytes:
    """A record whose checksum is right and whose content makes no sense."""
    body = b'{"hf":1,"seq":1,"id":"odd","parent":null,' + fields
    return b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body))


@pytest.mark.parametrize(
    "fields",
    [
        b'"at":"2026-03-14T00:00:00Z","type":"message"',
        b'"at":"nonsense","type":"message","data":{}',
        b'"at":"2026-03-14T00:00:00Z","type":"message","data":{broken',
        b'"at":"2026-03-14T00:00:00Z","type":"marker","data":null',
        b'"at":"2026-03-14T00:00:00Z","type":"compaction","data":[1]',
    ],
    ids=["no-data", "no-time", "no-json", "null-data", "list-data"],
)
def test_a_record_that_makes_no_sense_is_one_unreadable_entry(
    tmp_path: Path, fields: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path)
    file = tmp_path / "sessions" / "s1.jsonl"
    file.write_bytes(line(0, "before") + odd_record(fields) + line(2, "after"))
    transcript = store.open("s1")
    assert texts(transcript) == ["before", "after"]
    assert [message.text for message in store.view(transcript)] == ["before", "after"]
    transcript.append([said("next")])
    assert transcript.state().entries == 4
    assert [each.problem for each in store.summaries()] == [None]
    assert store.delete("s1") == (4, 0)


def test_damage_that_the_saved_counters_do_not_know_is_told_by_the_first_who_meets_it(
    tmp_path: Path,
) -> None:
    transcript = open_transcript(open_store(tmp_path))
    ids = [transcript.append([said(f"m{n}")])[0].id for n in range(6)]
    summary = {"summary": [{"text": "first summary"}], "first_kept": ids[4]}
    transcript.append([Draft(type="compaction", data=summary)])
    newer = {"summary": [{"text": "newer summary"}], "first_kept": ids[5]}
    transcript.append([Draft(type="compaction", data=newer)])
    transcript.close()
    file = tmp_path / "sessions" / "s1.jsonl"
    file.write_bytes(file.read_bytes().replace(b"newer summary", b"newer s#mmary"))
    told: list[Event] = []
    store = open_store(tmp_path, told=told)
    transcript = store.open("s1")
    view = [message.text for message in store.view(transcript)]
    assert view == ["first summary", "m4", "m5"], "the view of the compaction before"
    assert [type(event) for event in told] == [TranscriptDamaged]
    assert transcript.state().entries == 8
    assert (tmp_path / ".journal/quarantine/s1.quarantine").exists()


def test_a_last_line_without_newline_is_ended_before_the_next_whoever_looked_before(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    file = tmp_path / "sessions" / "s1.jsonl"
    file.write_bytes((line(0) + line(1))[:-1])
    store.summaries()
    open_store(tmp_path).open("s1").append([said("next")])
    assert len(file.read_bytes().splitlines()) == 3


def test_the_last_few_entries_are_each_there_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    lines = [line(seq, f"m{seq}") for seq in range(5)]
    (tmp_path / "sessions" / "s1.jsonl").write_bytes(b"".join([*lines, lines[4], lines[1]]))
    found = store.open("s1").entries(last=3)
    assert len({entry.id for entry in found}) == 3


def test_the_payload_of_a_damaged_line_goes_with_its_session(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=100)
    transcript = open_transcript(store)
    store.append(transcript, [Message.of("user", "SECRET " * 100)])
    transcript.close()
    file = tmp_path / "sessions" / "s1.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"role":"user"', b'"role":"use#"'))
    assert store.delete("s1") == (1, 1)
    assert list((tmp_path / "artifacts").iterdir()) == []
