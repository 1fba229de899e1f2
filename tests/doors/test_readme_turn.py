"""The README's lines for a host with its own client, run as they stand.

The clients are the real ones; they talk through real sockets to a server on this machine that
answers as the providers do: first that the request is too large, then with a call of a tool,
then with words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import events
from holdfast.config import Settings
from holdfast.config.sections import Section
from holdfast.engine.facade import Engine
from holdfast.engine.session import Session
from holdfast.types import Json
from tests.engine.receivers import Behaviour, Receiver, answer, receiver

README = Path(__file__).resolve().parents[2] / "README.md"
CLIENTS = README.parent / "docs" / "clients.md"
LIMIT = 10_000
"""What the server says its model can read: far less than the model's name says."""

FACT = "My sister Anna lives in Lisbon. 我的妹妹安娜住在里斯本。"


def blocks() -> list[str]:
    """The examples that use a provider's client."""
    text = README.read_text("utf-8") + CLIENTS.read_text("utf-8")
    found: list[str] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return [each for each in found if re.search(r"^import (anthropic|openai)$", each, re.MULTILINE)]


def said(body: object, status: int = 200) -> Behaviour:
    return answer(status, body, Content_Type="application/json", Connection="close")


# ── what the providers say ──────────────────────────────────────────────────────────────────

CALL = {"query": "Anna Lisbon 妹妹"}


def anthropic_answers() -> list[Behaviour]:
    def message(content: list[Mapping[str, Any]], stop: str) -> Behaviour:
        return said(
            {
                "id": "msg_01",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-5",
                "content": content,
                "stop_reason": stop,
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 12,
                    "cache_read_input_tokens": 3_000,
                    "cache_creation_input_tokens": 400,
                    "output_tokens": 9,
                },
            }
        )

    too_long = f"prompt is too long: 13107 tokens > {LIMIT} maximum"
    error = {"type": "invalid_request_error", "message": too_long}
    call = {"type": "tool_use", "id": "toolu_1", "name": "memory_search", "input": CALL}
    return [
        said({"type": "error", "error": error}, 400),
        message([{"type": "text", "text": "I look it up."}, call], "tool_use"),
        message([{"type": "text", "text": "She lives in Lisbon."}], "end_turn"),
    ]


def openai_answers(error: Mapping[str, Any]) -> list[Behaviour]:
    def completion(message: Mapping[str, Any], finish: str) -> Behaviour:
        return said(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1_770_000_000,
                "model": "whatever",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {
                    "prompt_tokens": 3_412,
                    "completion_tokens": 9,
                    "total_tokens": 3_421,
                    "prompt_tokens_details": {"cached_tokens": 3_000},
                },
            }
        )

    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "memory_search", "arguments": json.dumps(CALL, ensure_ascii=False)},
    }
    return [
        said({"error": error}, 400),
        completion({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"),
        completion({"role": "assistant", "content": "She lives in Lisbon."}, "stop"),
    ]


OPENAI_ERROR = {
    "message": f"This model's maximum context length is {LIMIT} tokens. However, your messages "
    "resulted in 13107 tokens. Please reduce the length of the messages.",
    "type": "invalid_request_error",
    "param": "messages",
    "code": "context_length_exceeded",
}
LLAMA_CPP_ERROR = {
    "code": 400,
    "message": f"request (13107 tokens) exceeds the available context size ({LIMIT} tokens), try "
    "increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 13107,
    "n_ctx": LIMIT,
}

CASES: dict[str, tuple[str, list[Behaviour]]] = {
    "trip": ("/v1/messages", anthropic_answers()),
    "list": ("/v1/chat/completions", openai_answers(OPENAI_ERROR)),
    "local": ("/v1/chat/completions", openai_answers(LLAMA_CPP_ERROR)),
}


# ── running them ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: Receiver, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    return tmp_path / ".holdfast"


def block_of(session: str, server: Receiver) -> str:
    (block,) = (each for each in blocks() if f'session("{session}"' in each)
    return block.replace("http://localhost:11434", server.url)


def talk_for_long(home: Path, session: str) -> list[str]:
    """A conversation of some 13,000 tokens; the ids of what was said."""
    with holdfast.open(home) as engine:
        talk = engine.session(session)
        said: list[Json] = [{"role": "user", "content": FACT}]
        for number in range(60):
            told = f"Stop {number} of the way is village {number}. " * 12
            said.append({"role": "assistant", "content": told})
            said.append({"role": "user", "content": f"And what comes after {number}?"})
        return talk.append_all(said)


def test_there_are_three_of_them_and_each_is_short() -> None:
    assert len(blocks()) == len(CASES)
    for block in blocks():
        assert len(block.splitlines()) <= 35


@pytest.mark.parametrize("session", CASES)
def test_they_run_recover_and_answer_calls_of_tools(
    session: str, home: Path, server: Receiver
) -> None:
    path, answers = CASES[session]
    ids = talk_for_long(home, session)
    server.script = [*answers]
    shown = StringIO()
    with redirect_stdout(shown):
        exec(compile(block_of(session, server), "README.md", "exec"), {"__name__": "__main__"})

    assert shown.getvalue() == "She lives in Lisbon.\n"
    assert [each.line.split()[1] for each in server.requests] == [path] * 3
    refused, again, last = (each.json for each in server.requests)
    assert len(again["messages"]) < len(refused["messages"]), "it was made smaller"
    assert again["messages"][-1] == refused["messages"][-1], "what the user asks for is in it"
    assert last["messages"][: len(again["messages"])] == again["messages"], "the prefix is kept"
    assert "Lisbon" in _result(last["messages"][-1])
    assert all(each["tools"] for each in (refused, again, last))

    with holdfast.open(home) as engine:
        talk = engine.existing_session(session)
        state = talk.state()
        assert state["observed_window"] == LIMIT
        assert state["compaction_count"] == 1
        assert state["memory_flush_compaction_count"] is not None
        assert len(talk.originals(ids)) == len(ids), "everything that was said is there"
        assert talk.view()[-1].text == "She lives in Lisbon."


def _result(message: Mapping[str, Any]) -> str:
    if message["role"] == "tool":
        assert message["tool_call_id"] == "call_1"
        return str(message["content"])
    (block,) = message["content"]
    assert block["tool_use_id"] == "toolu_1"
    return json.dumps(block["content"], ensure_ascii=False)


@pytest.mark.parametrize("session", CASES)
def test_an_error_of_another_kind_is_the_host_s(session: str, home: Path, server: Receiver) -> None:
    server.script = [said({"error": {"type": "permission_error", "message": "no"}}, 403)]
    with pytest.raises(Exception, match="no") as failed:
        exec(compile(block_of(session, server), "README.md", "exec"), {"__name__": "__main__"})
    assert getattr(failed.value, "status_code", None) == 403
    with holdfast.open(home) as engine:
        talk = engine.existing_session(session)
        assert talk.view()[-1].role == "user", "what was asked is on disk"
        assert talk.state()["compaction_count"] == 0


# ── the page about the turn ─────────────────────────────────────────────────────────────────

PAGE = README.parent / "docs" / "turn.md"

NAMED = """
resolveMemoryFlushSettings MemoryFlushSettings normalizeNonNegativeInt softThresholdTokens
systemPrompt reserveTokensFloor hardThresholdTokens hardThresholdCommand ensureNoReplyHint
DEFAULT_MEMORY_FLUSH_SOFT_TOKENS DEFAULT_MEMORY_FLUSH_PROMPT DEFAULT_MEMORY_FLUSH_SYSTEM_PROMPT
SILENT_REPLY_TOKEN NO_REPLY [SILENT] _SILENT_ resolveMemoryFlushContextWindowTokens
lookupContextTokens shouldRunMemoryFlush shouldRunHardThresholdCommand totalTokens compactionCount
memoryFlushCompactionCount memoryFlushAt contextTokens contextPruning.mode keepLastAssistants
safeguard qmd memory_search includeDefaultMemory retentionDays debounceMs maxResults
maxSnippetChars maxInjectedChars timeoutMs citations vectorWeight textWeight sessionMemory chatType
SOUL.md USER.md MEMORY.md /new Telegram enableMemoryFlush memoryFlushSoftTokens
DEFAULT_MEMORY_FLUSH_SETTINGS maybeCompact needsCompaction runMemoryFlush executeMemoryFlushTurn
countMemoryWriteCalls memory_flush_start memory_flush_end compaction_start compaction_end
memoryFlushing lastMemoryFlush memory_write resolveMemoryPath memory.md identity.md memory/topics/
MemoryFlush _check_and_flush _should_flush should_run_memory_flush
MemoryExtractor.extract_from_messages _flush_memories _run_flush_turn FLUSH_SYSTEM_PROMPT
extraSystemPrompt memory_retain file_write compaction_count memory_flush_compaction_count
MemoryManager SessionManager MemoryManager.retrieve build_context agent_loop should_compact
update_after_task add_message save_to_long_term COMPACTING ACTIVE token_count message_count
time_since_last_compact importance is_duplicate task_id task_type patterns errors variables
"""
"""What the notes call things that Holdfast grew from."""


def rows(title: str) -> list[tuple[str, str]]:
    """The rows of the table under a heading of the page."""
    text = PAGE.read_text("utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [(cells[1], cells[2]) for line in lines if len(cells := line.split("|")) >= 4]


@pytest.mark.parametrize("page", ["turn.md", "turn.zh.md"])
def test_the_page_s_own_examples_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    text = (PAGE.parent / page).read_text("utf-8")
    found: list[str] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(found) == 2
    names: dict[str, object] = {}
    shown = StringIO()
    with redirect_stdout(shown):
        for block in found:
            exec(compile(block, page, "exec"), names)
    assert ("Book the flight" if page == "turn.md" else "里斯本") in shown.getvalue()


def test_every_name_of_the_notes_has_its_row() -> None:
    there = " ".join(left for left, _ in rows("Names you may know"))
    assert [name for name in NAMED.split() if name not in there] == []


def test_the_page_names_only_settings_that_exist() -> None:
    before = PAGE.read_text("utf-8").partition("\n## Names you may know\n")[0]
    ours = before + " ".join(right for _, right in rows("Names you may know"))
    defaults, named = Settings(), 0
    for section, key in re.findall(r"`([a-z]+)\.([a-z_]+)", ours):
        if isinstance(found := getattr(defaults, section, None), Section) and key != "md":
            assert hasattr(found, key), f"{section}.{key}"
            named += 1
    assert named > 30


def test_the_page_names_only_calls_that_exist() -> None:
    text = PAGE.read_text("utf-8")
    for owner, kind in (("session", Session), ("engine", Engine)):
        named = set(re.findall(rf"`{owner}\.([a-z_]+)", text))
        assert named
        assert [name for name in named if not hasattr(kind, name) and name != "settings"] == []


def test_the_page_s_table_has_the_events_of_a_turn_and_only_events() -> None:
    told = {name for left, _ in rows("Events") for name in re.findall(r"`([a-z_]+)`", left)}
    known = {
        each.name
        for each in vars(events).values()
        if isinstance(each, type) and issubclass(each, events.Event)
    }
    assert told <= known
    assert {
        each
        for each in known
        if each.startswith(("message_", "tool_", "memory_flush", "compaction_", "context_"))
    } <= told
