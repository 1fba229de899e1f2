"""Loading: defaults < file < environment < argument, and every problem in one error."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config import (
    KEYS,
    At,
    Below,
    ScopeMatch,
    ScopeRule,
    Settings,
    Share,
    Source,
    default_home,
    load_settings,
    render_toml,
)
from holdfast.errors import ConfigError
from tests.scale import scaled


def load(
    home: Path,
    toml: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    if toml is not None:
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(toml, "utf-8")
    return load_settings(home, environ=environ or {}, overrides=overrides or {})


def problem(home: Path, toml: str | None = None, **how: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(home, toml, **how)
    return str(caught.value)


# ── where values come from ──────────────────────────────────────────────────────────────────


def test_without_a_file_everything_is_default_and_nothing_is_created(home: Path) -> None:
    loaded = load(home, environ={"TZ": "UTC"})
    assert loaded == Settings(sources=loaded.sources)
    assert {loaded.source(name).kind for name in KEYS} == {"default"}
    assert not home.exists()


def test_the_file_wins_over_defaults_the_environment_over_the_file_and_the_caller_over_all(
    home: Path,
) -> None:
    toml = "[flush]\nattempts = 4\nmax_lines = 4\n\n[prune]\nhead = 4\n"
    environ = {"HOLDFAST_FLUSH_MAX_LINES": "5", "HOLDFAST_PRUNE_HEAD": "5"}
    loaded = load(home, toml, environ=environ, overrides={"prune.head": 6})
    assert (loaded.flush.attempts, loaded.flush.max_lines, loaded.prune.head) == (4, 5, 6)
    where = str(home / "config.toml")
    assert loaded.source("flush.attempts") == Source(kind="file", where=where, line=2)
    assert loaded.source("flush.max_lines") == Source(
        kind="environment", where="HOLDFAST_FLUSH_MAX_LINES"
    )
    assert loaded.source("prune.head") == Source(kind="argument")
    assert loaded.source("prune.tail") == Source(kind="default")


def test_every_kind_of_value_can_come_from_the_file(home: Path) -> None:
    loaded = load(
        home,
        """
        [context]
        window = 128_000
        [prune]
        ttl = "1h 30m"
        tools = {deny = ["read*"]}
        [flush]
        enabled = false
        soft_threshold_tokens = {at = 100000}
        hard_threshold_tokens = 0.9
        hard_threshold_command = ["save", "--now"]
        [compaction]
        pins = ["never push to main"]
        [search]
        half_life_days = 7
        rerank = true
        [[scope.rules]]
        action = "deny"
        match = {user = "mallory"}
        [memory]
        time_zone = "Asia/Shanghai"
        language = "zh"
        [notices.telegram]
        chat_id = 5588544200
        """,
    )
    assert loaded.context.window == 128_000
    assert loaded.prune.ttl == timedelta(minutes=90)
    assert loaded.prune.tools.deny == ("read*",)
    assert loaded.prune.tools.allow == ()
    assert loaded.flush.enabled is False
    assert loaded.flush.soft_threshold_tokens == At(tokens=100_000)
    assert loaded.flush.hard_threshold_tokens == Share(fraction=0.9)
    assert loaded.flush.hard_threshold_command == ("save", "--now")
    assert loaded.compaction.pins == ("never push to main",)
    assert loaded.search.half_life_days == 7.0
    assert loaded.search.rerank is True
    assert loaded.scope.rules == (ScopeRule(action="deny", match=ScopeMatch(user="mallory")),)
    assert loaded.memory.time_zone == "Asia/Shanghai"
    assert loaded.memory.language == "zh"
    assert loaded.notices.telegram.chat_id == "5588544200"


@pytest.mark.parametrize(
    ("variable", "written", "name", "value"),
    [
        ("HOLDFAST_FLUSH_ENABLED", "false", "flush.enabled", False),
        ("HOLDFAST_PRUNE_MODE", "off", "prune.mode", "off"),
        ("HOLDFAST_PRUNE_MODE", '"off"', "prune.mode", "off"),
        ("HOLDFAST_PRUNE_TTL", "1h", "prune.ttl", timedelta(hours=1)),
        ("HOLDFAST_PRUNE_TTL", "90", "prune.ttl", timedelta(seconds=90)),
        ("HOLDFAST_FLUSH_SOFT_THRESHOLD_TOKENS", "5000", None, Below(tokens=5000)),
        ("HOLDFAST_FLUSH_SOFT_THRESHOLD_TOKENS", "{at = 9}", None, At(tokens=9)),
        ("HOLDFAST_FLUSH_MODEL", "2024-05-01", "flush.model", "2024-05-01"),
        ("HOLDFAST_FLUSH_PROMPT", "true", "flush.prompt", "true"),
        ("HOLDFAST_FLUSH_PROMPT", "1\n[flush]", "flush.prompt", "1\n[flush]"),
        ("HOLDFAST_COMPACTION_PINS", '["a", "b"]', "compaction.pins", ("a", "b")),
        ("HOLDFAST_PRUNE_TOOLS", '{allow = ["x"]}', "prune.tools.allow", ("x",)),
        ("HOLDFAST_NOTICES_TELEGRAM_TOKEN", "1:a", "notices.telegram.token", "1:a"),
        ("HOLDFAST_NOTICES_TELEGRAM_CHAT_ID", "-100", "notices.telegram.chat_id", "-100"),
    ],
)
def test_variables_are_read_as_toml_and_otherwise_as_text(
    home: Path, variable: str, written: str, name: str | None, value: object
) -> None:
    loaded = load(home, environ={variable: written})
    assert loaded.value(name or "flush.soft_threshold_tokens") == value


def test_a_variable_that_is_empty_counts_as_not_set(home: Path) -> None:
    assert load(home, environ={"HOLDFAST_FLUSH_MODEL": ""}).flush.model is None


def test_variables_that_are_no_settings_are_none_of_our_business(home: Path) -> None:
    others = {"HOLDFAST_HOME": "/x", "HOLDFAST_DATA": "/y", "HOLDFAST_TEST_SCALE": "2", "PATH": "/"}
    load(home, environ={**others, "HOLDFAST_FLUSHING": "1", "holdfast_flush_attempts": "x"})


def test_arguments_are_dotted_names_or_sections_and_none_unsets(home: Path) -> None:
    toml = '[flush]\nmodel = "small"\n'
    overrides = {"flush": {"attempts": 2}, "prune.tools": {"deny": ["x"]}, "flush.model": None}
    loaded = load(home, toml, overrides=overrides)
    assert (loaded.flush.attempts, loaded.prune.tools.deny, loaded.flush.model) == (2, ("x",), None)


def test_keys_of_one_table_may_come_from_different_places(home: Path) -> None:
    loaded = load(
        home,
        "[notices]\ntelegram = {chat_id = '5588544200'}\n",
        environ={"HOLDFAST_NOTICES_TELEGRAM_TOKEN": "123:abc"},
    )
    assert loaded.notices.telegram.chat_id == "5588544200"
    assert loaded.notices.telegram.token == "123:abc"
    assert loaded.source("notices.telegram.chat_id").line == 2
    assert loaded.source("notices.telegram.token").kind == "environment"


def test_the_time_zone_defaults_to_the_systems(home: Path) -> None:
    loaded = load(home, environ={"TZ": "Asia/Tokyo"})
    assert loaded.memory.time_zone == "Asia/Tokyo"
    assert loaded.source("memory.time_zone") == Source(kind="default", where="of TZ")
    given = load(home, environ={"TZ": "Asia/Tokyo", "HOLDFAST_MEMORY_TIME_ZONE": "Europe/Rome"})
    assert given.memory.time_zone == "Europe/Rome"


def test_a_file_with_a_byte_order_mark_and_windows_line_ends_loads(home: Path) -> None:
    loaded = load(home, "\ufeff[flush]\r\nattempts = 2\r\n")
    assert loaded.flush.attempts == 2
    assert loaded.source("flush.attempts").line == 2


def test_the_home_is_named_by_the_environment_or_lies_in_the_users_home() -> None:
    assert default_home({"HOLDFAST_HOME": "/srv/h", "HOME": "/home/u"}) == Path("/srv/h")
    assert default_home({"HOLDFAST_HOME": "~/h", "HOME": "/home/u"}) == Path("/home/u/h")
    assert default_home({"HOLDFAST_HOME": "", "HOME": "/home/u"}) == Path("/home/u/.holdfast")


# ── problems ────────────────────────────────────────────────────────────────────────────────


def test_an_unknown_key_names_file_line_and_the_nearest_key(home: Path) -> None:
    said = problem(home, "[flush]\n\nenabeld = true\n")
    assert f"There is no setting 'flush.enabeld' ({home / 'config.toml'}, line 3)" in said
    assert "Did you mean 'flush.enabled'?" in said


def test_a_key_in_the_wrong_section_is_found_where_it_belongs(home: Path) -> None:
    assert "Did you mean 'prune.ttl'?" in problem(home, '[flush]\nttl = "5m"\n')


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[flsh]\nenabled = true\n", "no section 'flsh'"),
        ("enabled = true\n", "no section 'enabled'"),
        ("flush = true\n", "flush ({file}, line 1) is a section"),
        ("[notices]\ntelegram = '123:abc'\n", "notices.telegram ({file}, line 2) is a section"),
        ("[notices.telegram]\ntokn = 'x'\n", "Did you mean 'notices.telegram.token'?"),
    ],
)
def test_unknown_and_misused_sections_are_named(home: Path, toml: str, said: str) -> None:
    assert said.format(file=home / "config.toml") in problem(home, toml)


def test_an_unknown_variable_of_a_known_section_names_the_nearest(home: Path) -> None:
    said = problem(home, environ={"HOLDFAST_FLUSH_ENABELD": "false"})
    assert "HOLDFAST_FLUSH_ENABELD is no setting" in said
    assert "Did you mean 'HOLDFAST_FLUSH_ENABLED'?" in said


def test_an_unknown_argument_names_the_nearest(home: Path) -> None:
    assert "Did you mean 'flush.enabled'?" in problem(home, overrides={"flush.enable": False})


def test_a_value_out_of_range_names_key_value_source_and_what_is_allowed(home: Path) -> None:
    said = problem(home, "[flush]\nattempts = 0\n")
    assert f"flush.attempts = 0 ({home / 'config.toml'}, line 2): too small" in said
    assert "Allowed: a whole number from 1 to 20." in said
    assert "holdfast config explain flush.attempts" in said
    assert "environment HOLDFAST_PRUNE_MODE" in problem(home, environ={"HOLDFAST_PRUNE_MODE": "on"})


def test_bad_toml_names_file_and_line(home: Path) -> None:
    said = problem(home, "[flush]\nattempts = 3\nenabled = yes\n")
    assert f"{home / 'config.toml'}, line 3: not valid TOML" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[flush]\nmodel = '\xff'\n", "line 2: not UTF-8"),
        (b"[flush]\nmodel = " + b"[" * 100_000, "nested too deeply"),
        (b"[flush]\nattempts = " + b"9" * 5000, "not valid TOML"),
    ],
)
def test_hostile_files_are_refused_with_a_reason(home: Path, content: bytes, said: str) -> None:
    home.mkdir()
    (home / "config.toml").write_bytes(content)
    assert said in problem(home)


def test_a_file_that_cannot_be_read_is_a_problem_and_not_an_empty_file(home: Path) -> None:
    (home / "config.toml").mkdir(parents=True)
    assert "cannot be read" in problem(home)


def test_all_problems_of_one_load_are_reported_together(home: Path) -> None:
    said = problem(
        home,
        "[flush]\nattempts = 0\nenabeld = 1\n[prune]\nhead = -1\n",
        environ={"HOLDFAST_PRUNE_MODE": "sometimes", "HOLDFAST_INDEX_NOPE": "1"},
        overrides={"recall.mode": "loud", "flush.hard_threshold_command": ["x"]},
    )
    assert said.startswith("7 problems in the configuration:\n  1. ")
    for name in ("flush.attempts", "enabeld", "prune.head", "HOLDFAST_PRUNE_MODE",
                 "HOLDFAST_INDEX_NOPE", "recall.mode", "hard_threshold_command"):  # fmt: skip
        assert name in said


def test_an_earlier_layer_is_checked_even_where_a_later_one_wins(home: Path) -> None:
    said = problem(home, "[flush]\nattempts = 0\n", overrides={"flush.attempts": 3})
    assert "flush.attempts = 0" in said


@pytest.mark.parametrize(
    "how",
    [
        {"environ": {"HOLDFAST_FLUSH_HARD_THRESHOLD_COMMAND": '["sh"]'}},
        {"overrides": {"flush.hard_threshold_command": ["sh"]}},
        {"overrides": {"flush": {"hard_threshold_command": ["sh"]}}},
    ],
)
def test_the_command_may_be_set_in_the_file_only(home: Path, how: dict[str, Any]) -> None:
    said = problem(home, **how)
    assert "flush.hard_threshold_command" in said
    assert "may be set in config.toml only: it starts a program" in said


def test_no_message_shows_a_secret(home: Path) -> None:
    said = problem(
        home,
        "[notices]\nwebhook = 'hush1'\n[flush]\nattempts = 0\n",
        environ={"HOLDFAST_NOTICES_TELEGRAM_TOKN": "hush2"},
        overrides={"notices.telegram.token": ["hush3"], "notices.telegram": "hush4"},
    )
    assert "notices.telegram.token = ***" in said
    assert "hush" not in said


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[prune]\nsoft_trim_chars = 1000\n", "longer than the whole one"),
        ("[flush]\ninline_seconds = 90\n", "wait longer than the flush may take"),
        ("[search]\nvector_weight = 0\ntext_weight = 0.0\n", "nothing can be ranked"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_with_their_sources(
    home: Path, toml: str, said: str
) -> None:
    text = problem(home, toml)
    assert said in text
    assert "line 2" in text


def test_a_contradiction_with_a_refused_value_is_not_reported_on_top(home: Path) -> None:
    said = problem(home, "[prune]\nsoft_trim_chars = 1000\nhead = -1\n")
    assert "prune.head = -1" in said
    assert "longer than the whole one" not in said


def test_long_values_are_cut_in_messages(home: Path) -> None:
    assert len(problem(home, overrides={"flush.attempts": "x" * 10_000})) < 400


# ── properties ──────────────────────────────────────────────────────────────────────────────

_plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_names = st.sampled_from([*KEYS, "flush", "notices.telegram", "flush.nope", "nope", ""])


@settings(max_examples=scaled(70))
@given(overrides=st.dictionaries(_names, _plain, max_size=4))
def test_any_argument_loads_or_is_a_config_error(overrides: dict[str, Any]) -> None:
    nowhere = Path("/nonexistent-holdfast-home")
    try:
        loaded = load_settings(nowhere, environ={}, overrides=overrides)
    except ConfigError:
        return
    assert all(loaded.source(name).kind == "argument" for name in overrides if name in KEYS)


@settings(max_examples=scaled(70))
@given(
    environ=st.dictionaries(
        st.sampled_from([key.environment for key in KEYS.values()] + ["HOLDFAST_X"]),
        st.text(max_size=30),
        max_size=4,
    )
)
def test_any_environment_loads_or_is_a_config_error(environ: dict[str, str]) -> None:
    nowhere = Path("/nonexistent-holdfast-home")
    try:
        loaded = load_settings(nowhere, environ=environ, overrides={})
    except ConfigError:
        return
    given = {key.name for key in KEYS.values() if environ.get(key.environment)}
    assert {name for name in KEYS if loaded.source(name).kind == "environment"} == given


def test_settings_written_to_a_file_load_as_the_same_settings(home: Path) -> None:
    changed: dict[str, Any] = {
        "context.window": 32_000,
        "prune.ttl": "1h",
        "flush.soft_threshold_tokens": {"at": 20_000},
        "flush.prompt": 'Save """all"""\n\ttoday\'s 记忆 \\ done',
        "scope.rules": [{"action": "deny", "match": {"chat_type": "group", "user": "x"}}],
        "notices.telegram.chat_id": "-100",
    }
    first = load_settings(home, environ=dict(os.environ), overrides=changed)
    nested: dict[str, dict[str, Any]] = {}
    for name, key in KEYS.items():
        value = key.kind.plain(first.value(name))
        if value is None:
            continue
        section, *path, last = name.split(".")
        table = nested.setdefault(section, {})
        for part in path:
            table = table.setdefault(part, {})
        table[last] = value
    second = load(home, render_toml(nested))
    assert all(second.value(name) == first.value(name) for name in KEYS)
    assert second.source("notices.telegram.chat_id").kind == "file"
