"""What ``holdfast config show`` and ``explain`` have to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.config import KEYS, Settings, describe, explain, load_settings
from holdfast.errors import ConfigError


def test_every_key_is_reported_with_its_value_and_source(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[flush]\nattempts = 5\n")
    settings = load_settings(home, environ={"HOLDFAST_PRUNE_TTL": "1h"}, overrides={})
    reports = {report.key: report for report in describe(settings)}
    assert list(reports) == list(KEYS)
    assert reports["flush.attempts"].value == 5
    assert str(reports["flush.attempts"].source) == f"{home / 'config.toml'}, line 2"
    assert reports["prune.ttl"].value == "1h"
    assert str(reports["prune.ttl"].source) == "environment HOLDFAST_PRUNE_TTL"
    assert str(reports["flush.enabled"].source) == "default"


def test_one_section_can_be_reported_alone() -> None:
    names = [report.key for report in describe(Settings(), "notices")]
    assert names == [name for name in KEYS if name.startswith("notices.")]
    with pytest.raises(ConfigError, match="Did you mean 'notices'"):
        describe(Settings(), "notice")


def test_explain_says_all_there_is_to_know_about_a_key() -> None:
    report = explain(Settings(), "prune.mode")
    assert report.to_json() == {
        "key": "prune.mode",
        "value": "cache-ttl",
        "source": {"kind": "default"},
        "default": "cache-ttl",
        "type": "choice",
        "allowed": '"cache-ttl", "always" or "off"',
        "choices": ["cache-ttl", "always", "off"],
        "doc": KEYS["prune.mode"].doc,
        "environment": "HOLDFAST_PRUNE_MODE",
        "secret": False,
        "in_effect": True,
    }
    assert explain(Settings(), "flush.hard_threshold_command").environment is None
    assert explain(Settings(), "memory.time_zone").default == "this system's zone"


def test_explaining_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'prune\.mode'"):
        explain(Settings(), "prune.mod")


def test_reports_are_json_and_show_that_a_secret_is_set_but_not_the_secret(home: Path) -> None:
    environ = {"HOLDFAST_NOTICES_TELEGRAM_TOKEN": "123:abc"}
    settings = load_settings(home, environ=environ, overrides={"notices.webhook.secret": "hush"})
    printed = json.dumps([report.to_json() for report in describe(settings)])
    assert "123:abc" not in printed
    assert "hush" not in printed
    assert explain(settings, "notices.telegram.token").value == "***"
    assert explain(Settings(), "notices.telegram.token").value is None
    assert settings.notices.telegram.token == "123:abc"
