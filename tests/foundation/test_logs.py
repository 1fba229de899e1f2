"""Logs of other programs: every format, every damage, one conversation at a time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import InvalidMessage
from holdfast.formats import to_anthropic, to_openai
from holdfast.formats.logs import Recorded, read_logs
from holdfast.types import Json, Message
from tests.foundation.provider_messages import Wire, anthropic_messages, openai_messages
from tests.scale import scaled

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}

CHAT: list[Wire] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "几点了？"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "10:00\u2028UTC"},
    {"role": "assistant", "content": "Ten. 🕙"},
]

BLOCKS: list[Wire] = [
    {"role": "user", "content": "what time is it?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "10"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Ten."}]},
]

TOOL = {"name": "f", "input_schema": {"type": "object"}}


def read(*lines: str, name: str = "log") -> list[Recorded]:
    return list(read_logs(lines, name=name))


def read_one(*lines: str) -> Recorded:
    [recorded] = read(*lines)
    return recorded


def dump(value: Json, **options: Json) -> str:
    return json.dumps(value, ensure_ascii=False, **options)


def ndjson(*values: Json) -> list[str]:
    return [dump(value) + "\n" for value in values]


def texts(recorded: Recorded) -> list[str]:
    return [message.text for message in recorded.messages]


# ── conversations in one value ──────────────────────────────────────────────────────────────


def test_a_conversation_per_line_comes_back_as_it_was() -> None:
    found = read(
        *ndjson(
            {"id": "a", "messages": CHAT, "tools": [TOOL | {"x": 1}]},
            {"id": 7} | {"messages": CHAT},
        )
    )
    assert [each.id for each in found] == ["a", "7"]
    assert to_openai(found[1].messages) == CHAT
    assert found[0].tools == (TOOL | {"x": 1},)
    assert found[1].format == "openai"
    assert found[1].at == ()
    assert found[1].problems == ()


@pytest.mark.parametrize("indent", [None, 0, 1, 4])
@pytest.mark.parametrize(
    "document",
    [CHAT, {"model": "m", "messages": CHAT}, {"request": {"messages": CHAT}, "status": 200}],
)
def test_a_document_is_read_however_it_is_laid_out(document: Json, indent: int | None) -> None:
    recorded = read_one(*dump(document, indent=indent).split("\n"))
    assert to_openai(recorded.messages) == CHAT
    assert recorded.id == "log"
    assert recorded.problems == ()


def test_documents_over_many_lines_may_follow_each_other() -> None:
    document = dump({"messages": CHAT}, indent=2).split("\n")
    found = read(*document, *document, "", *document)
    assert [each.id for each in found] == ["log", "log-2", "log-3"]
    assert all(to_openai(each.messages) == CHAT for each in found)


def test_an_array_of_conversations_is_many() -> None:
    found = read(dump([{"id": "a", "messages": CHAT}, CHAT, {"messages": BLOCKS}], indent=1))
    assert [each.id for each in found] == ["a", "log", "log-2"]
    assert [each.format for each in found] == ["openai", "openai", "anthropic"]


def test_a_message_per_line_is_one_conversation_with_its_times() -> None:
    lines = ndjson(*CHAT[:3], CHAT[3] | {"timestamp": "2026-01-02T03:04:05"}, CHAT[4])
    recorded = read_one(*lines)
    assert len(recorded.messages) == 5
    assert recorded.at[2:] == (None, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None)


def test_a_request_with_its_answer_ends_with_the_answer() -> None:
    completion = {"id": "chatcmpl-1", "choices": [{"index": 0, "message": CHAT[4]}]}
    batch = {
        "custom_id": "b1",
        "body": {"messages": CHAT[:4]},
        "response": {"status_code": 200, "body": completion},
    }
    pair = {"request": {"messages": CHAT[:4]}, "response": completion}
    found = read(*ndjson(batch, pair, completion))
    assert [each.id for each in found] == ["b1", "log", "log-2"]
    assert [to_openai(each.messages) for each in found] == [CHAT, CHAT, CHAT[4:]]


def test_an_answer_of_anthropic_is_the_message_that_repeats_it() -> None:
    response = {**BLOCKS[3], "id": "msg_1", "type": "message", "model": "m", "usage": {}}
    recorded = read_one(dump({"request": {"messages": BLOCKS[:3]}, "response": response}))
    assert recorded.format == "anthropic"
    assert to_anthropic(recorded.messages).messages == BLOCKS


@pytest.mark.parametrize("system", ["Be brief.", [{"type": "text", "text": "Be brief."}]])
def test_an_anthropic_request_comes_back_with_its_system(system: Json) -> None:
    recorded = read_one(dump({"system": system, "messages": BLOCKS, "tools": [TOOL]}, indent=2))
    request = to_anthropic(recorded.messages)
    assert (request.system, request.messages) == (system, BLOCKS)
    assert recorded.tools == (TOOL,)
    assert recorded.format == "anthropic"


@pytest.mark.parametrize(
    ("value", "format"),
    [
        ({"messages": [{"role": "user", "content": "hi"}]}, "openai"),
        ({"messages": [{"role": "user", "content": "hi"}], "tools": [TOOL]}, "anthropic"),
        ({"messages": BLOCKS}, "anthropic"),
        (BLOCKS, "anthropic"),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
            "openai",
        ),
    ],
)
def test_the_provider_is_seen_from_the_messages(value: Json, format: str) -> None:
    assert read_one(dump(value)).format == format


@settings(max_examples=scaled(60))
@given(st.lists(openai_messages, max_size=4))
def test_whatever_openai_writes_goes_back_as_it_was(messages: list[Wire]) -> None:
    # Content of an unknown type alone could be anybody's: the call says whose it is.
    messages = [CHAT[2], *messages]
    recorded = read_one(json.dumps({"messages": messages}))
    unreadable = {problem.split()[2].split(".")[0] for problem in recorded.problems}
    kept = [each for at, each in enumerate(messages) if f"messages[{at}]" not in unreadable]
    assert json.dumps(to_openai(recorded.messages), sort_keys=True) == json.dumps(
        kept, sort_keys=True
    )


@settings(max_examples=scaled(60))
@given(st.lists(anthropic_messages, max_size=4))
def test_whatever_anthropic_writes_goes_back_as_it_was(messages: list[Wire]) -> None:
    document = {"messages": messages, "tools": [TOOL]}
    recorded = read_one(json.dumps(document))
    kept = [
        {key: value for key, value in each.items() if key in ("role", "content")}
        if each.get("type") == "message" and each["role"] == "assistant"
        else each
        for each in messages
    ]
    assert recorded.problems == ()
    assert to_anthropic(recorded.messages).messages == kept


# ── ids, layout, damage ─────────────────────────────────────────────────────────────────────


def test_ids_are_unique_whatever_the_data_says() -> None:
    given = ["a", "log", "a", None, "a-2", "a", " ", True, "x" * 5000, "é" * 5000]
    found = read(*ndjson(*({"id": each, "messages": CHAT} for each in given)))
    ids = [each.id for each in found]
    assert ids[:6] == ["a", "log", "a-2", "log-2", "a-2-2", "a-3"]
    assert len(set(ids)) == len(given)
    assert max(map(len, ids)) <= 200


@settings(max_examples=scaled(60))
@given(st.lists(st.sampled_from(["", "a", "a-2", "a-2-2", "log", "log-2"]), min_size=1))
def test_no_two_conversations_share_an_id(given_ids: list[str]) -> None:
    found = read(*ndjson(*({"id": each, "messages": CHAT[:1]} for each in given_ids)))
    assert len({each.id for each in found}) == len(given_ids)


def test_byte_order_marks_carriage_returns_and_blank_lines_do_not_matter() -> None:
    line = dump({"id": "a", "messages": CHAT})
    lines = ["\ufeff" + line + "\r\n", "\r\n", "  \t\n", "\n", "\ufeff" + line, ""]
    found = read(*lines)
    assert [to_openai(each.messages) for each in found] == [CHAT, CHAT]
    pretty = "\ufeff" + dump({"messages": CHAT}, indent=2).replace("\n", "\r\n\r\n")
    assert to_openai(read_one(*pretty.split("\n")).messages) == CHAT


def test_a_damaged_line_is_named_and_costs_only_itself() -> None:
    good = dump({"id": "good", "messages": CHAT})
    found = read(
        good, "\0\0\0", good[: good.index("brief")], '"text"', '{"level": "info", "x": 1}', good
    )
    assert [each.id for each in found] == ["good", "good-2"]
    assert [to_openai(each.messages) for each in found] == [CHAT, CHAT]
    told = [problem for each in found for problem in each.problems]
    assert [problem.split(":")[0] for problem in told] == ["line 2", "line 3", "line 4", "line 5"]
    assert "level, x" in told[3]


def test_problems_behind_the_last_conversation_are_told_by_it() -> None:
    recorded = read_one(dump({"id": "a", "messages": CHAT}), "garbage")
    assert recorded.problems[0].startswith("line 2: not JSON")


def test_a_message_that_cannot_be_read_is_named_and_the_rest_is_used() -> None:
    bad: list[Json] = [
        "text",
        {"content": "no role"},
        {"role": "user", "content": 5},
        {"role": "bot", "content": "hi"},
        {"role": "user", "text": "elsewhere"},
        {"role": "user", "content": [1]},
    ]
    document = {"messages": [CHAT[0], *bad, *CHAT[1:]], "tools": [{"type": "function"}, 5]}
    recorded = read_one("", dump(document))
    assert to_openai(recorded.messages) == CHAT
    assert recorded.tools == ({"type": "function"},)
    told = [problem.split("]")[0] for problem in recorded.problems]
    assert told[:-1] == [f"line 2: messages[{index}" for index in range(1, 7)]
    assert told[-1] == "line 2: tools holds something that is no tool"


@pytest.mark.parametrize("cut_at", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("indent", [None, 0, 2])
def test_the_whole_messages_of_a_document_that_ends_early_are_used(
    indent: int | None, cut_at: float
) -> None:
    text = dump({"id": "a", "messages": CHAT * 5}, indent=indent)
    recorded = read_one(*text[: int(len(text) * cut_at)].split("\n"))
    count = len(recorded.messages)
    assert 0 < count < 25
    assert to_openai(recorded.messages) == (CHAT * 5)[:count]
    assert f"{count} whole messages of it are used" in recorded.problems[0]


def test_reading_goes_on_behind_damage_inside_a_conversation() -> None:
    text = dump({"messages": CHAT * 3}).replace('"Be brief."', '"Be \x00 brief', 2)
    recorded = read_one(text)
    assert [message.role for message in recorded.messages].count("tool") == 3
    assert len(recorded.problems) == 1


def test_a_torn_line_does_not_swallow_the_lines_behind_it() -> None:
    good = dump({"id": "good", "messages": CHAT})
    for torn in ('{"id": "x", "messages": [', '[{"role": "user", "content": "a"},', '{"id": [1,'):
        found = [each for each in read(torn, good, good, good) if each.id.startswith("good")]
        assert [to_openai(each.messages) for each in found] == [CHAT] * 3
    found = [each for each in read('{"id": {', good) if each.id == "good"]
    assert to_openai(found[0].messages) == CHAT


@settings(max_examples=scaled(80))
@given(st.data())
def test_any_damage_costs_only_the_lines_it_is_in(data: st.DataObject) -> None:
    lines = [dump({"id": f"id{number}", "messages": CHAT}) for number in range(4)]
    hit = data.draw(st.sets(st.integers(0, 3), min_size=1, max_size=3))
    for number in hit:
        at = data.draw(st.integers(0, len(lines[number]) - 1))
        junk = data.draw(st.text(st.sampled_from('{}[]",:\\ax\0é'), max_size=4))
        keep = data.draw(st.integers(at, len(lines[number])))
        lines[number] = lines[number][:at] + junk + lines[number][keep:]
    try:
        found = {each.id: each for each in read(*lines)}
    except InvalidMessage:
        pytest.fail("intact conversations were not found")
    for number in {0, 1, 2, 3} - hit:
        assert to_openai(found[f"id{number}"].messages) == CHAT


@settings(max_examples=scaled(80))
@given(st.lists(st.text(st.sampled_from('{}[]",:\\ \nroletypmsga1'), max_size=30), max_size=6))
def test_hostile_lines_give_conversations_or_an_error_that_says_why(lines: list[str]) -> None:
    found: list[Recorded] = []
    try:
        found = read(*lines)
    except InvalidMessage as error:
        told = str(error)
    else:
        told = ""
        assert found
    assert not told or ("log holds no conversation" in told and "Claude Code" in told)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"messages":' * 5000,
        '{"role":"user","content":' + "[" * 900 + "]" * 900 + "}",
        "9" * 10_000,
        '[{"role":"' + '\\"' * 200_000,
        "[" + '{"role" ' * 100_000,
        '[{"messages":[]},' * 300 + "1" + "]" * 300,
    ],
)
def test_deep_and_endless_values_are_told_and_do_no_harm(line: str) -> None:
    good = dump({"id": "good", "messages": CHAT})
    found = read(line, good, good)
    assert [to_openai(each.messages) for each in found if each.id.startswith("good")] == [CHAT] * 2
    assert any(each.problems for each in found)


def test_many_open_brackets_over_many_lines_are_read_once() -> None:
    lines = ["["] * 50_000
    with pytest.raises(InvalidMessage, match="ends early"):
        read(*lines)


def test_a_huge_line_is_one_conversation() -> None:
    messages = [
        {"role": "user", "content": "很长 " * 700_000},
        {"role": "assistant", "content": "ok"},
    ]
    recorded = read_one(dump({"id": "huge", "messages": messages}))
    assert to_openai(recorded.messages) == messages


def test_a_log_of_a_conversation_per_line_is_never_held_whole() -> None:
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield dump({"id": str(number), "messages": CHAT}) if number != 500 else '{"messages": ['

    for count, recorded in enumerate(read_logs(lines(), name="log"), start=1):
        assert recorded.messages
        assert taken <= count + 4


@pytest.mark.parametrize(
    "lines", [[], [""], ["\ufeff\r\n", "\n"], ['{"type": "summary", "leafUuid": "u"}']]
)
def test_a_log_without_a_word_is_an_error_that_names_the_formats(lines: list[str]) -> None:
    with pytest.raises(InvalidMessage, match="holds no conversation") as raised:
        read(*lines, name="run.jsonl")
    assert raised.value.message.startswith("run.jsonl")
    assert "one per line" in str(raised.value)


def test_a_log_of_something_else_is_an_error_that_says_what_was_found() -> None:
    with pytest.raises(InvalidMessage) as raised:
        read("2026-01-01 INFO started", '{"level": "info"}', "[1, 2]", "[]", "{}", "7")
    assert "line 1: not JSON" in raised.value.message
    assert "an object with the keys level" in raised.value.message
    assert "(and 3 more)" in raised.value.message


def test_endless_problems_are_counted_not_kept() -> None:
    recorded = read_one(*["garbage"] * 5000, dump({"messages": CHAT}))
    assert len(recorded.problems) == 101
    assert recorded.problems[-1] == "and 4,900 more problems"


# ── Holdfast's own ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("messages", [CHAT, BLOCKS])
def test_transcripts_and_exports_of_holdfast_are_read(home: Path, messages: list[Wire]) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        for message in messages:
            session.append(message)
        session.close()
        stored = [entry.at for entry in session.entries() if entry.type == "message"]
        exports = [session.export("openai"), session.export("anthropic")]
        expected = list(session.view())
    [path] = home.rglob("s1.jsonl")
    with path.open(encoding="utf-8") as lines:
        [transcript] = read_logs(lines, name="s1")
    assert list(transcript.messages) == expected
    assert transcript.at == tuple(stored)
    assert transcript.id == "s1"
    assert transcript.problems == ()
    assert transcript.format == ("openai" if messages is CHAT else "anthropic")
    as_openai, as_anthropic = (read_one(*text.split("\n")) for text in exports)
    assert to_openai(as_openai.messages) == to_openai(expected)
    assert to_anthropic(as_anthropic.messages) == to_anthropic(expected)
    assert as_anthropic.format == "anthropic"


def test_payloads_stored_beside_a_transcript_are_told(home: Path) -> None:
    with holdfast.open(home, config={"context.ingest_cap_chars": 1000}) as engine:
        session = engine.session("s1")
        session.append(CHAT[2])
        session.append({**CHAT[3], "content": "x" * 50_000})
    [path] = home.rglob("s1.jsonl")
    recorded = read_one(*path.read_text(encoding="utf-8").split("\n"))
    assert len(recorded.messages) == 2
    assert "1 large payloads are stored beside the transcript" in recorded.problems[0]


def test_joined_transcripts_are_told_apart_and_bad_entries_named() -> None:
    def entry(kind: str, data: Json, seq: int = 0) -> Wire:
        at = "2026-01-01T00:00:00Z"
        return {
            "hf": 1,
            "seq": seq,
            "id": "e",
            "parent": None,
            "at": at,
            "type": kind,
            "data": data,
        }

    stored = Message.of("user", "hi").to_json()
    broken: list[Json] = [
        {"role": "user", "text": 5},
        {"text": "no role"},
        None,
        {"role": "bot", "text": "x"},
    ]
    lines = [entry("session", {}), entry("message", stored), entry("marker", {"kind": "closed"})]
    lines += [entry("session", {}), *(entry("message", each) for each in broken)]
    lines += [entry("message", stored)]
    found = read(*ndjson(*lines))
    assert [each.id for each in found] == ["log", "log-2"]
    assert [texts(each) for each in found] == [["hi"], ["hi"]]
    named = [problem.split(":")[0] for problem in found[1].problems]
    assert named == ["line 5", "line 6", "line 7", "line 8"]


# ── public conversations ────────────────────────────────────────────────────────────────────


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "count"), [("tau-airline", 100), ("mini-swe", 102), ("joined", 10)]
)
def test_the_public_transcripts_are_read_to_the_letter(
    data_dir: Path, name: str, count: int
) -> None:
    path = data_dir / "transcripts" / f"{name}.jsonl.gz"
    sizes: list[int] = []
    with (
        gzip.open(path, "rt", encoding="utf-8") as lines,
        gzip.open(path, "rt", encoding="utf-8") as originals,
    ):
        for recorded, line in zip(read_logs(lines, name=name), originals, strict=True):
            original = json.loads(line)
            assert recorded.id == original["id"]
            assert recorded.format == "openai"
            assert recorded.problems == ()
            assert to_openai(recorded.messages) == original["messages"]
            sizes.append(len(recorded.messages))
    assert len(sizes) == count
    if name == "tau-airline":
        assert 22 <= sum(sizes) / count <= 26
