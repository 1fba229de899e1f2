"""What a provider sent comes back to the byte, through the disk and a restart."""

from __future__ import annotations

import gzip
import itertools
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.formats import from_anthropic, from_openai, to_anthropic, to_openai
from tests.foundation.provider_messages import Wire, anthropic_messages, openai_messages
from tests.scale import SCALE, scaled


def through_the_disk(messages: list[holdfast.Message]) -> list[holdfast.Message]:
    with tempfile.TemporaryDirectory() as folder:
        with holdfast.open(folder, config={"context.ingest_cap_chars": 1000}) as engine:
            ids = engine.session("s1").append_all(messages)
        with holdfast.open(folder) as engine:
            session = engine.session("s1")
            found = [session.expand(entry_id).message for entry_id in ids]
    return [message for message in found if message is not None]


def has_a_known_role(message: Wire) -> bool:
    """Roles that no provider knows are refused at the door."""
    return bool(message["role"] != "critic")


@settings(max_examples=scaled(60))
@given(st.lists(openai_messages.filter(has_a_known_role), min_size=1, max_size=8))
def test_every_openai_message_comes_back_as_it_was_sent(messages: list[Wire]) -> None:
    parsed = from_openai(messages)
    assert to_openai(through_the_disk(parsed)) == to_openai(parsed)


@settings(max_examples=scaled(60))
@given(st.lists(anthropic_messages, min_size=1, max_size=8))
def test_every_anthropic_message_comes_back_as_it_was_sent(messages: list[Wire]) -> None:
    parsed = from_anthropic(messages)
    assert to_anthropic(through_the_disk(parsed)) == to_anthropic(parsed)


@pytest.mark.parametrize(
    "opaque",
    ["\x00binary\x01", "EqQBCgIYAhIM" * 2000, "\ud83d\ude00 apart", "a\ud800b", " spaced\u2028 \t"],
    ids=["nul", "long", "two-surrogates", "lone-surrogate", "odd-spaces"],
)
def test_signatures_and_encrypted_parts_are_kept_to_the_byte(opaque: str) -> None:
    messages = [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": opaque, "signature": opaque},
                {"type": "redacted_thinking", "data": opaque},
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_1",
                    "name": "x",
                    "input": {"q": opaque},
                },
                {"type": "of_the_future", "encrypted_content": opaque},
            ],
        }
    ]
    assert to_anthropic(through_the_disk(from_anthropic(messages))).messages == messages


@pytest.mark.data
@pytest.mark.parametrize("name", ["tau-airline", "joined", "mini-swe"])
def test_real_conversations_come_back_as_they_were(data_dir: Path, home: Path, name: str) -> None:
    most = None if SCALE >= 20 else 10
    with gzip.open(data_dir / "transcripts" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        conversations = [json.loads(line) for line in itertools.islice(lines, most)]
    with holdfast.open(home) as engine:
        for number, conversation in enumerate(conversations):
            engine.session(f"c{number}").append_all(conversation["messages"])
    with holdfast.open(home) as engine:
        for number, conversation in enumerate(conversations):
            exported = json.loads(engine.session(f"c{number}").export("openai"))
            assert exported["messages"] == conversation["messages"]
