"""Large payloads leave the transcript and come back whole."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest

from holdfast.errors import NotFound, StorageError
from holdfast.types import Image, Message, Opaque, Text, ToolCall, ToolResult
from tests.sessions.rooms import open_store, open_transcript

CAP = 400


def big(label: str) -> str:
    return f"start of {label} " + "中文 and English " * 200 + f" end of {label}"


PNG = base64.b64encode(random.Random(1).randbytes(5000)).decode()

MESSAGES = {
    "user text": Message.of("user", big("paste")),
    "tool result": Message(
        role="tool", parts=(ToolResult(call_id="c1", content=(Text(text=big("result")),)),)
    ),
    "several results": Message(
        role="user",
        parts=(
            ToolResult(call_id="c1", content=(Text(text=big("one")), Text(text="small"))),
            ToolResult(
                call_id="c2", content=(Text(text="small"), Image(media_type="image/png", data=PNG))
            ),
            Text(text="and a question"),
        ),
        form="parts",
    ),
    "image": Message(role="user", parts=(Image(media_type="image/png", data=PNG),), form="parts"),
    "image that is not base64": Message(
        role="user", parts=(Image(media_type="image/png", data="not base64! " * 200),), form="parts"
    ),
    "call with large arguments": Message(
        role="assistant",
        parts=(ToolCall(id="c1", name="write", arguments=big("file")),),
        form="null",
    ),
    "call with large object": Message(
        role="assistant",
        parts=(ToolCall(id="c1", name="write", arguments={"path": "x", "text": big("file")}),),
    ),
    "opaque": Message(
        role="user",
        parts=(Opaque(format="anthropic", data={"type": "document", "data": big("pdf")}),),
        form="parts",
    ),
    "lone surrogate": Message.of("user", "\ud800" + big("paste")),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_what_was_set_aside_comes_back_to_the_letter(tmp_path: Path, kind: str) -> None:
    message = MESSAGES[kind]
    store = open_store(tmp_path, cap_chars=CAP)
    (entry,) = store.append(open_transcript(store), [message])
    line = (tmp_path / "sessions" / "s1.jsonl").read_bytes().splitlines()[-1]
    assert len(line) < 3000, "the transcript stays small"
    again = open_store(tmp_path, cap_chars=CAP)
    assert again.whole(again.open("s1").find(entry.id)).message == message


@pytest.mark.parametrize("kind", [kind for kind in MESSAGES if "result" not in kind])
def test_only_tool_results_are_shown_shortened(tmp_path: Path, kind: str) -> None:
    store = open_store(tmp_path, cap_chars=CAP)
    transcript = open_transcript(store)
    store.append(transcript, [MESSAGES[kind]])
    assert store.view(transcript).messages == [MESSAGES[kind]]


def test_a_giant_result_is_shown_as_head_note_and_tail_with_its_id(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=CAP)
    transcript = open_transcript(store)
    store.append(transcript, [MESSAGES["tool result"]])
    (item,) = store.view(transcript).items
    text = item.message.text
    assert item.shortened
    assert text.startswith("start of result")
    assert text.endswith("end of result")
    assert len(text) < CAP + 200
    artifact_id = text.split("expand ")[1].split("]")[0]
    assert store.artifacts.get(artifact_id).decode() == big("result")


def test_a_decoded_image_is_an_image_on_disk(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=CAP)
    store.append(open_transcript(store), [MESSAGES["image"]])
    (file,) = (tmp_path / "artifacts").iterdir()
    assert file.read_bytes() == base64.b64decode(PNG)


def test_a_changed_or_missing_artifact_is_an_error_not_other_words(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=CAP)
    (entry,) = store.append(open_transcript(store), [MESSAGES["user text"]])
    (file,) = (tmp_path / "artifacts").iterdir()
    file.write_bytes(b"something else")
    with pytest.raises(StorageError, match="changed"):
        store.whole(entry)
    assert store.verify(store.open("s1")).missing_artifacts == (file.name,)
    file.unlink()
    with pytest.raises(NotFound):
        store.whole(entry)
    assert not store.verify(store.open("s1")).is_intact


def test_messages_under_the_cap_never_touch_the_artifacts(tmp_path: Path) -> None:
    store = open_store(tmp_path, cap_chars=CAP)
    store.append(open_transcript(store), [Message.of("user", "x" * CAP)])
    assert list((tmp_path / "artifacts").iterdir()) == []
    assert not (tmp_path / ".journal/locks/artifacts.lock").exists()
