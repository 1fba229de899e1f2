"""Logs of other programs as they write them, small."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

from holdfast.types import Json

SESSION = "0b5e7c1a-4f6d-4b7a-9a53-6f1d2c3b4a59"
ROLLOUT = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5"


def claude_line(
    number: int, role: str, content: Json, *, session: str = SESSION, **fields: Json
) -> dict[str, Json]:
    line = {
        "parentUuid": f"{session[:4]}-{number - 1}" if number else None,
        "isSidechain": False,
        "cwd": "/home/me/acme shop",
        "sessionId": session,
        "version": "2.0.1",
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": f"{session[:4]}-{number}",
        "timestamp": f"2025-11-0{1 + number // 60}T10:{number % 60:02}:00.000Z",
    }
    return line | fields


def claude_lines(session: str = SESSION, *, said: str = "") -> list[dict[str, Json]]:
    """One conversation with everything in it that such a log has."""
    call = {"type": "tool_use", "id": f"toolu_{session[:4]}", "name": "Read", "input": {"f": "a"}}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "listen 8443"}
    agent = {"isSidechain": True, "agentId": "a1"}

    def line(number: int, role: str, content: Json, **fields: Json) -> dict[str, Json]:
        return claude_line(number, role, content, session=session, **fields)

    return [
        {"type": "summary", "summary": "Ports of the gateway", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        line(0, "user", f"Which port does the gateway use? {said}"),
        line(1, "user", "Caveat: made by the program", isMeta=True),
        line(2, "assistant", [{"type": "text", "text": "I will look."}]),
        line(3, "assistant", [call]),
        line(4, "assistant", [call], uuid=f"{session[:4]}-again"),
        line(5, "user", [result], toolUseResult={"stdout": "listen 8443"}),
        line(6, "user", "look for ports", **agent),
        line(7, "assistant", [{"type": "text", "text": "API Error"}], isApiErrorMessage=True),
        line(8, "assistant", [{"type": "text", "text": "It listens on port 8443."}]),
        {"type": "a-kind-of-tomorrow", "uuid": "zz", "sessionId": session},
    ]


def codex_lines(id: str = ROLLOUT) -> list[dict[str, Json]]:
    def line(second: int, kind: str, payload: Json) -> dict[str, Json]:
        at = f"2025-12-08T00:37:{second:02}.102Z"
        return {"timestamp": at, "type": kind, "payload": payload}

    def message(role: str, kind: str, text: str) -> Json:
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    arguments = '{"cmd":"cat nginx.conf"}'
    return [
        line(0, "session_meta", {"id": id, "timestamp": "2025-12-08T00:37:00Z", "cwd": "/src/web"}),
        line(1, "response_item", message("developer", "input_text", "Be careful.")),
        line(1, "response_item", message("user", "input_text", "<environment_context>x")),
        line(2, "response_item", message("user", "input_text", "把超时改成 30 秒")),
        line(2, "event_msg", {"type": "user_message", "message": "把超时改成 30 秒"}),
        line(3, "turn_context", {"cwd": "/src/web", "model": "gpt-5-codex"}),
        line(4, "response_item", {"type": "reasoning", "summary": [], "encrypted_content": "…"}),
        line(
            5,
            "response_item",
            {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c1"},
        ),
        line(
            6,
            "response_item",
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": '{"output":"timeout 10;","metadata":{"exit_code":0}}',
            },
        ),
        line(
            7,
            "response_item",
            {"type": "custom_tool_call", "name": "apply_patch", "input": "*** P", "call_id": "c2"},
        ),
        line(
            8,
            "response_item",
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "Success"},
        ),
        line(9, "response_item", message("assistant", "output_text", "超时已改为 30 秒。")),
    ]


def old_codex_lines() -> list[dict[str, Json]]:
    """The shape of 2025: no times, no ids, the same words twice."""

    def message(role: str, kind: str, text: str) -> dict[str, Json]:
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    return [
        {"id": "old-1", "timestamp": "2025-05-01T08:00:00.000Z", "instructions": None},
        {"record_type": "state"},
        message("user", "input_text", "yes"),
        message("assistant", "output_text", "Shall I go on?"),
        message("user", "input_text", "yes"),
    ]


def openclaw_lines(id: str = "5f2d") -> list[dict[str, Json]]:
    def line(number: int, message: Json, parent: int | None = None) -> dict[str, Json]:
        before = number - 1 if parent is None else parent
        return {
            "type": "message",
            "id": f"e{number}",
            "parentId": f"e{before}" if before else None,
            "timestamp": f"2026-02-06T07:4{number}:03.491Z",
            "message": message,
        }

    call = {"type": "toolCall", "id": "t1", "name": "exec", "arguments": {"command": "df"}}
    return [
        {"type": "session", "version": 3, "id": id, "cwd": "/home/me/claw", "timestamp": "2026"},
        {"type": "model_change", "id": "e0", "parentId": None, "modelId": "gpt"},
        line(1, {"role": "user", "content": [{"type": "text", "text": "How full is the disk?"}]}),
        line(2, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, call]}),
        line(
            3,
            {
                "role": "toolResult",
                "toolCallId": "t1",
                "toolName": "exec",
                "content": [{"type": "text", "text": "91% used"}],
                "isError": False,
            },
        ),
        line(4, {"role": "assistant", "content": [{"type": "text", "text": "A wrong branch."}]}),
        line(5, {"role": "assistant", "content": [{"type": "text", "text": "91% full."}]}, 3),
        {"type": "compaction", "id": "e6", "parentId": "e5", "summary": "…"},
    ]


def chatgpt_conversation(id: str = "67e1f0aa-0000-4000-8000-00000000c0de") -> dict[str, Json]:
    def node(name: str, parent: str | None, message: Json) -> tuple[str, Json]:
        return name, {"id": name, "parent": parent, "children": [], "message": message}

    def said(role: str, text: Json, second: int, **more: Json) -> Json:
        return {
            "author": {"role": role, "name": more.pop("name", None)},
            "create_time": 1740000000.5 + second,
            "content": more.pop("content", {"content_type": "text", "parts": [text]}),
            "recipient": more.pop("recipient", "all"),
            "metadata": more,
        }

    image = {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}
    picture = {"content_type": "multimodal_text", "parts": [image, "What is this bird?"]}
    code = {"content_type": "code", "text": "print(2)"}
    return {
        "id": id,
        "conversation_id": id,
        "title": "A bird",
        "create_time": 1740000000.0,
        "current_node": "n6",
        "mapping": dict(
            [
                node("root", None, None),
                node("n1", "root", said("system", "", 0)),
                node("n2", "n1", said("user", "", 1, content=picture)),
                node("n3a", "n2", said("assistant", "A crow, I think.", 2)),
                node("n3", "n2", said("assistant", "", 3, content=code, recipient="python")),
                node("n4", "n3", said("tool", "2", 4, name="python")),
                node(
                    "n5", "n4", said("assistant", "x", 5, is_visually_hidden_from_conversation=True)
                ),
                node("n6", "n5", said("assistant", "It is a hoopoe.", 6)),
            ]
        ),
    }


def asked_to_remember(id: str) -> dict[str, Json]:
    """A conversation of ChatGPT in which the user says what is to be remembered."""
    export = chatgpt_conversation(id)
    said = f"Remember that I always deploy on Tuesdays, never on Fridays, says {id}."
    export["mapping"]["n2"]["message"]["content"] = {"content_type": "text", "parts": [said]}
    return export


def claude_export_conversation(id: str = "c1a0de00-0000-4000-8000-00000000beef") -> dict[str, Json]:
    call = {"type": "tool_use", "name": "web_search", "input": {"q": "hoopoe"}}
    result = {"type": "tool_result", "content": [{"type": "text", "text": "Upupa epops"}]}
    note = {"file_name": "list.txt", "extracted_content": "hoopoe, wryneck"}
    return {
        "uuid": id,
        "name": "Birds",
        "created_at": "2025-08-01T10:00:00.000000Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "Check my list",
                "content": [{"type": "text", "text": "Check my list"}],
                "created_at": "2025-08-01T10:00:01.000000Z",
                "attachments": [note],
                "files": [{"file_name": "bird.png"}],
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "",
                "content": [
                    {"type": "thinking", "thinking": "…"},
                    {"type": "text", "text": "Searching."},
                    call,
                    result,
                    {"type": "text", "text": "Both are birds."},
                ],
                "created_at": "2025-08-01T10:00:02.000000Z",
            },
        ],
    }


def write_lines(path: Path, lines: Iterable[Json], *, at: int = 1_700_000_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    os.utime(path, (at, at))
    return path


def write_zip(path: Path, **members: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(f"{name}.json", json.dumps(value))
    return path


def write_all(folder: Path) -> Path:
    """One of each."""
    write_lines(folder / "claude" / f"{SESSION}.jsonl", claude_lines())
    write_lines(folder / "codex" / f"rollout-2025-12-08T00-37-00-{ROLLOUT}.jsonl", codex_lines())
    write_lines(folder / "codex" / "rollout-2025-05-01-old.jsonl", old_codex_lines())
    write_lines(folder / "claw" / "5f2d.jsonl", openclaw_lines())
    write_zip(folder / "chatgpt.zip", conversations=[chatgpt_conversation()], user={})
    write_zip(folder / "claude.zip", conversations=[claude_export_conversation()], users=[])
    asked = {"role": "user", "content": "When is the ferry?"}
    answer = {"role": "assistant", "content": "At 9:40."}
    write_lines(folder / "plain.jsonl", [{"id": "q1", "messages": [asked, answer]}])
    notes = folder / "notes"
    (notes / "travel").mkdir(parents=True)
    (notes / "travel" / "Kyoto plan.md").write_text("---\ntags: [a]\n---\n# Kyoto\n\nRyokan.\n")
    (notes / "园艺.md").write_text("# 园艺\n\n番茄五月种。\n", "utf-8")
    return folder
