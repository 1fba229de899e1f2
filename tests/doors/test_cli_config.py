"""``holdfast config``: settings with their sources, and OpenClaw's brought along."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.doors.inside import inside

OPENCLAW = """{
  // JSON5, as people write it
  agents: {defaults: {compaction: {memoryFlush: {
    enabled: true,
    softThresholdTokens: 100000,
    hardThresholdTokens: 120000,
    hardThresholdCommand: "kernle -a agent checkpoint save 'auto-backup'",
    prompt: "Do TWO things:\\n1. Write important context to memory/YYYY-MM-DD.md.\\n\
2. Use the message tool to send a Telegram notification to the user \
(target: 5588544200, channel: telegram).\\nReply with NO_REPLY.",
  }}}},
}"""


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_SEARCH_EMBEDDER")  # what every test sets, but not a user


def test_a_value_shows_where_it_came_from(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_MODEL_LOOK_FOR_SERVERS")  # set for every test, as the embedder is
    home.mkdir()
    (home / "config.toml").write_text('[prune]\nmode = "off"\n')
    environ = {"HOLDFAST_FLUSH_ENABLED": "false"}
    *keys, summary = inside(home, "config", "show", "--changed", "--json", environ=environ).lines
    sources = {key["key"]: (key["value"], key["source"]["kind"]) for key in keys}
    assert sources == {"prune.mode": ("off", "file"), "flush.enabled": (False, "environment")}
    assert summary["keys"] == 2
    told = inside(home, "config", "explain", "prune.mode").out
    assert "config.toml" in told
    assert "cache-ttl" in told


def test_a_misspelt_key_stops_every_command_and_names_the_right_one(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[flush]\nenabeld = true\n")
    for command in (["status"], ["config", "show"], ["sessions", "list"]):
        run = inside(home, *command)
        assert run.code == 2
        assert "enabeld" in run.err
        assert "enabled" in run.err
    doctor = inside(home, "doctor")
    assert doctor.code == 1
    assert "enabled" in doctor.out


def test_the_path_is_told_whether_or_not_there_is_a_file(home: Path) -> None:
    assert inside(home, "config", "path").out == f"{home / 'config.toml'}\n"
    assert inside(home, "config", "path", "--json").lines == [
        {"path": str(home / "config.toml"), "exists": False}
    ]


def test_an_openclaw_config_is_translated_and_explained(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text(OPENCLAW)
    run = inside(home, "config", "import", str(file))
    settings = tomllib.loads(run.out)
    assert settings["flush"]["soft_threshold_tokens"] == {"at": 100000}
    assert settings["flush"]["hard_threshold_tokens"] == {"at": 120000}
    assert settings["flush"]["hard_threshold_command"] == [
        *("kernle", "-a", "agent", "checkpoint", "save", "auto-backup")
    ]
    assert settings["notices"]["telegram"]["chat_id"] == "5588544200"
    assert "telegram" not in settings["flush"].get("prompt", "").lower()
    for key in ("softThresholdTokens", "hardThresholdCommand", "prompt"):
        assert key in run.out, "what became of it stands as a comment beside the setting"
    assert "for you to do" in run.err
    assert "token" in run.err
    assert not (home / "config.toml").exists(), "nothing is written unless asked"

    written = inside(home, "config", "import", str(file), "--write", "--json")
    assert written.code == 0, written.err
    assert written.lines[-1]["written"] == str(home / "config.toml")
    assert inside(home, "config", "explain", "flush.hard_threshold_tokens", "--json").code == 0
    again = inside(home, "config", "import", str(file), "--write")
    assert again.code == 2
    assert "not overwritten" in again.err


def test_what_is_not_an_openclaw_config_is_refused(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("[1, 2")
    assert inside(home, "config", "import", str(file)).code == 2
    assert inside(home, "config", "import", str(tmp_path / "none.json")).code == 3


def test_a_key_can_be_explained_while_its_value_is_wrong(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text('[prune]\nttl = "abc"\n')
    run = inside(home, "config", "explain", "prune.ttl")
    assert run.code == 0
    assert "5m" in run.out
    assert "abc" in run.err


def test_settings_that_steer_nothing_yet_are_said_to(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[search]\nrerank = true\n")
    assert "not yet" in inside(home, "config", "explain", "search.rerank").out
    assert "search.rerank" in inside(home, "doctor").out
