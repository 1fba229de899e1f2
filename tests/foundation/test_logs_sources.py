"""Logs of Codex and OpenClaw, exports of ChatGPT and claude.ai: to be replayed, or line by line."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from holdfast.formats.logs import Recorded, read_logs
from holdfast.formats.logs.chatgpt import read_chatgpt
from holdfast.formats.logs.claude_code_lines import ClaudeCodeLines
from holdfast.formats.logs.claude_export import read_claude_export
from holdfast.formats.logs.codex import Codex
from holdfast.formats.logs.openclaw import OpenClaw
from holdfast.formats.logs.said import LineReader, Said
from holdfast.types import Json
from tests.engine.past_logs import (
    chatgpt_conversation,
    claude_export_conversation,
    claude_lines,
    codex_lines,
    old_codex_lines,
    openclaw_lines,
)


def replayed(*values: Json) -> Recorded:
    [recorded] = read_logs([json.dumps(value) + "\n" for value in values], name="log")
    return recorded


def spoken(recorded: Recorded) -> list[tuple[str, str]]:
    return [
        (each.role, each.text or " ".join(f"→{call.name}" for call in each.tool_calls))
        for each in recorded.messages
    ]


def line_by_line(reader: LineReader, lines: Sequence[dict[str, Json]]) -> list[Said]:
    return [said for line in lines for said in reader.add(line)]


def test_a_rollout_of_codex_is_read_with_calls_and_results() -> None:
    recorded = replayed(*codex_lines())
    assert spoken(recorded) == [
        ("user", "把超时改成 30 秒"),
        ("assistant", "→shell"),
        ("tool", "timeout 10;"),
        ("assistant", "→apply_patch"),
        ("tool", "Success"),
        ("assistant", "超时已改为 30 秒。"),
    ]
    assert str(recorded.at[0]).startswith("2025-12-08 00:37:02")
    assert recorded.problems == (
        "2 messages of the program itself left out",
        "1 reasoning left out",
    )


def test_the_rollouts_of_2025_are_read_too() -> None:
    recorded = replayed(*old_codex_lines())
    assert recorded.id == "old-1"
    assert spoken(recorded) == [("user", "yes"), ("assistant", "Shall I go on?"), ("user", "yes")]


def test_a_session_of_openclaw_is_the_branch_that_leads_to_its_last_message() -> None:
    recorded = replayed(*openclaw_lines())
    assert recorded.id == "5f2d"
    assert spoken(recorded) == [
        ("user", "How full is the disk?"),
        ("assistant", "→exec"),
        ("user", "91% used"),
        ("assistant", "91% full."),
    ]
    assert recorded.problems == (
        "1 compaction left out",
        "1 messages of branches that were abandoned left out",
    )


def test_line_by_line_all_branches_are_there() -> None:
    said = line_by_line(OpenClaw(), openclaw_lines())
    assert [each.id for each in said] == ["e1", "e2", "e3", "e4", "e5"]
    assert all(each.key.startswith(f"{each.id} ") for each in said)


def test_a_chatgpt_conversation_is_the_branch_that_was_shown_last() -> None:
    talk = read_chatgpt(chatgpt_conversation())
    assert (talk.about.title, talk.about.id[-4:]) == ("A bird", "c0de")
    assert [(each.key, each.wire["role"]) for each in talk.said] == [
        ("n2", "user"),
        ("n3", "assistant"),
        ("n4", "tool"),
        ("n6", "assistant"),
    ]
    assert talk.said[2].wire["tool_call_id"] == "n3"
    assert talk.left.counts == {
        "messages of the system": 1,
        "images and files, which are not in the text of an export": 1,
        "hidden messages": 1,
        "messages of branches beside the one that was shown last": 1,
    }
    assert spoken(replayed([chatgpt_conversation()]))[-1] == ("assistant", "It is a hoopoe.")


def test_without_a_current_node_the_newest_leaf_counts() -> None:
    export = chatgpt_conversation()
    del export["current_node"]
    assert read_chatgpt(export).said[-1].key == "n6"


def test_a_claude_export_becomes_messages_that_anthropic_takes() -> None:
    recorded = replayed([claude_export_conversation()])
    assert spoken(recorded) == [
        ("user", "Check my list\n[list.txt]\nhoopoe, wryneck"),
        ("assistant", "Searching."),
        ("user", "Upupa epops"),
        ("assistant", "Both are birds."),
    ]
    [result] = recorded.messages[2].tool_results
    assert result.call_id == recorded.messages[1].tool_calls[0].id
    assert recorded.problems == (
        "1 files, which are not in an export left out",
        "1 thoughts of the model left out",
    )


def test_a_branch_of_a_claude_export_that_was_left_is_counted() -> None:
    export = claude_export_conversation()
    first, second = export["chat_messages"]
    third = {**second, "uuid": "m3", "parent_message_uuid": "m1"}
    export["chat_messages"] = [first, {**second, "parent_message_uuid": "m1"}, third]
    talk = read_claude_export(export)
    assert {each.key.partition(".")[0] for each in talk.said} == {"m1", "m3"}
    assert talk.left.counts["messages of branches beside the one that was written last"] == 1


def test_claude_code_line_by_line_counts_what_it_leaves_out() -> None:
    reader = ClaudeCodeLines()
    said = line_by_line(reader, claude_lines())
    assert said[2].key == said[3].key == "call toolu_0b5e", "whoever keeps keys keeps one"
    assert [each.key.partition(" ")[0] for each in said] == [
        "0b5e-0",
        "0b5e-2",
        "call",
        "call",
        "0b5e-5",
        "0b5e-8",
    ]
    assert (reader.about.title, reader.about.project) == (
        "Ports of the gateway",
        "/home/me/acme shop",
    )
    assert reader.left.counts == {
        "records: summary": 1,
        "records: file-history-snapshot": 1,
        "messages of the program itself": 1,
        "messages of subagents": 1,
        "notes of failed calls": 1,
        "records: a-kind-of-tomorrow": 1,
    }


def test_the_log_of_a_subagent_can_be_asked_for() -> None:
    [line] = [each for each in claude_lines() if each.get("isSidechain")]
    assert line_by_line(ClaudeCodeLines(), [line]) == []
    assert len(line_by_line(ClaudeCodeLines(subagents=True), [line])) == 1


@pytest.mark.parametrize("reader", [Codex, OpenClaw, ClaudeCodeLines])
def test_no_record_however_odd_stops_a_reader(reader: type[LineReader]) -> None:
    odd: list[dict[str, Json]] = [
        {},
        {"type": None},
        {"type": ["message"], "payload": {"type": 7}},
        {"type": "response_item", "payload": {"type": "message", "role": 3, "content": 5}},
        {"type": "response_item", "payload": {"type": "function_call_output", "output": [1]}},
        {"type": "session_meta", "payload": {}},
        {"type": "message", "message": {"role": "user", "content": {"a": 1}}},
        {"type": "message", "message": {"role": "toolResult", "content": None}},
        {"type": "user", "message": {"role": "user", "content": None}, "timestamp": 5},
        {"type": "assistant", "message": "no object"},
    ]
    line_by_line(reader(), odd)


@pytest.mark.parametrize("odd", [None, 5, "x", [], {}, [[]], {"role": []}, {"type": {}}])
def test_no_value_however_odd_stops_the_reading_of_an_export(odd: Json) -> None:
    said = {"author": {"role": odd, "name": odd}, "content": {"parts": odd}, "create_time": odd}
    nodes = {"a": odd, "b": {"message": odd, "parent": "a"}, "c": {"message": said, "parent": "b"}}
    read_chatgpt({"mapping": nodes, "current_node": odd, "id": odd})
    read_chatgpt({"mapping": nodes, "current_node": "c", "title": odd})
    message = {"sender": odd, "content": odd, "attachments": odd, "files": odd, "uuid": odd}
    blocks = {**message, "sender": "human", "content": [{"type": odd}, odd, {"type": "tool_use"}]}
    read_claude_export({"chat_messages": [odd, message, blocks], "name": odd})


def test_kinds_without_end_are_counted_together() -> None:
    reader = OpenClaw()
    line_by_line(reader, [{"type": f"kind{number}", "parentId": None} for number in range(500)])
    assert len(reader.left.counts) == 51
    assert sum(reader.left.counts.values()) == 500
