"""The table of keys: the contract of the design, its defaults, and the record that holds them."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from typing import Any

import pytest

from holdfast.config import KEYS, Settings
from holdfast.config.keys import TABLES, Flush, Notices, TelegramNotices, WebhookNotices
from holdfast.config.sections import Key
from holdfast.errors import ConfigError

CONTRACT: dict[str, Any] = {
    "context.window": None,
    "context.context_tokens": None,
    "context.reserve_tokens_floor": 20_000,
    "context.ingest_cap_chars": 65_536,
    "prune.mode": "cache-ttl",
    "prune.ttl": "5m",
    "prune.keep_last_assistants": 3,
    "prune.soft_trim_chars": 4000,
    "prune.head": 1500,
    "prune.tail": 1500,
    "prune.min_clear_chars": 50_000,
    "prune.tools.allow": [],
    "prune.tools.deny": [],
    "flush.enabled": True,
    "flush.mode": "auto",
    "flush.soft_threshold_tokens": 4000,
    "flush.hard_threshold_tokens": 1000,
    "flush.hard_threshold_command": [],
    "flush.hard_when": "unflushed",
    "flush.prompt": None,
    "flush.system_prompt": None,
    "flush.model": None,
    "flush.inline_seconds": 15,
    "flush.total_seconds": 60,
    "flush.attempts": 3,
    "flush.max_lines": 40,
    "flush.share": 0.25,
    "compaction.strategy": "layered",
    "compaction.max_messages": 500,
    "compaction.max_interval_seconds": 3600,
    "compaction.inline_seconds": 30,
    "compaction.pins": [],
    "compaction.model": None,
    "search.embedder": "auto",
    "search.max_results": 6,
    "search.max_snippet_chars": 700,
    "search.max_injected_chars": 20_000,
    "search.timeout_ms": 4000,
    "search.vector_weight": None,
    "search.text_weight": None,
    "search.half_life_days": None,
    "search.mmr": None,
    "search.rerank": None,
    "search.expand": None,
    "search.citations": "auto",
    "index.sessions": True,
    "index.retention_days": 30,
    "index.include_default_memory": True,
    "index.extra_paths": [],
    "index.update_interval": "5m",
    "index.debounce_ms": 15_000,
    "index.embedding_cache": True,
    "scope.default": "deny",
    "scope.rules": [{"action": "allow", "match": {"chat_type": "direct"}}],
    "restore.max_tokens": None,
    "recall.mode": "auto",
    "recall.max_tokens": 800,
    "recall.timeout_ms": 150,
    "memory.mode": "read-write",
    "memory.time_zone": "UTC",
    "memory.language": "auto",
    "memory.git": False,
    "transcripts.redact": "off",
    "forget.after_days": None,
    "forget.below_importance": None,
    "forget.max_bytes": None,
    "notices.allow_hosts": [],
    "notices.telegram.chat_id": None,
    "notices.telegram.token": None,
    "notices.webhook.url": None,
    "notices.webhook.secret": None,
    "notices.desktop.enabled": False,
    "notices.log.enabled": True,
    "cost.daily_limit": None,
    "model.name": None,
    "model.base_url": None,
    "model.api_key": None,
    "model.look_for_servers": True,
    "model.timeout_seconds": 60.0,
    "model.retries": 2,
    "model.threads": None,
}

every_key = pytest.mark.parametrize("key", KEYS.values(), ids=list(KEYS))


def test_the_table_has_exactly_the_keys_and_defaults_of_the_contract() -> None:
    assert {name: key.kind.plain(key.default) for name, key in KEYS.items()} == CONTRACT


@every_key
def test_every_default_is_a_value_its_own_kind_accepts(key: Key) -> None:
    assert key.kind.read(key.kind.plain(key.default)) == key.default
    assert Settings().value(key.name) == key.default


@every_key
def test_every_key_is_documented_in_whole_sentences(key: Key) -> None:
    assert re.fullmatch(r"[A-Z].{20,}\.", key.doc)
    assert key.default is not None or "unset:" in key.doc  # who decides then, and how


def test_every_section_has_a_sentence_of_its_own() -> None:
    sentences = [table.__doc__ for table in TABLES.values()]
    assert all(sentence and sentence.endswith(".") for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_no_two_settings_share_an_environment_variable() -> None:
    variables = [key.environment for key in KEYS.values()]
    assert len(set(variables)) == len(variables)
    assert KEYS["flush.soft_threshold_tokens"].environment == "HOLDFAST_FLUSH_SOFT_THRESHOLD_TOKENS"


def test_the_secrets_are_those_that_give_access_to_something() -> None:
    secrets = {name for name, key in KEYS.items() if key.secret}
    assert secrets == {
        "model.api_key",
        "notices.telegram.token",
        "notices.webhook.secret",
        "notices.webhook.url",
    }


def test_what_starts_a_program_or_opens_an_address_is_reserved_to_the_file() -> None:
    assert [name for name, key in KEYS.items() if key.file_only] == [
        "flush.hard_threshold_command",
        "notices.allow_hosts",
    ]


def test_settings_can_be_built_by_hand_and_are_equal_by_value() -> None:
    assert Settings(flush=Flush(enabled=False)) == Settings(flush=Flush(enabled=False))
    assert Settings(flush=Flush(enabled=False)) != Settings()
    assert Flush() != Notices()


def test_settings_cannot_be_changed() -> None:
    flush = Flush()
    with pytest.raises(AttributeError, match="frozen"):
        flush.enabled = False  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del flush.enabled
    assert flush.enabled is True
    with pytest.raises(TypeError, match="enabeld"):
        Flush(enabeld=False)  # type: ignore[call-arg]


def test_settings_survive_copying_and_pickling() -> None:
    settings = Settings(flush=Flush(attempts=7))
    assert copy.deepcopy(settings) == settings
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_printing_settings_never_shows_a_secret() -> None:
    settings = Settings(
        notices=Notices(
            telegram=TelegramNotices(chat_id="5", token="123:abc"),
            webhook=WebhookNotices(secret="hush"),
        )
    )
    assert "123:abc" not in repr(settings)
    assert "hush" not in repr(settings)
    assert "chat_id='5', token=***" in repr(settings)


def test_asking_for_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'flush\.enabled'"):
        Settings().source("flush.enable")
    with pytest.raises(ConfigError, match="no setting 'flush'"):
        Settings().value("flush")


def test_importing_the_package_loads_none_of_its_modules() -> None:
    program = (
        "import sys, holdfast.config as config;"
        "loaded = [name for name in sys.modules if name.startswith('holdfast.config.')];"
        "assert loaded == [], loaded;"
        "config.Settings, config.load_settings;"
        "assert 'json5' not in sys.modules and 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
