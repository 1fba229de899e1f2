"""An OpenClaw configuration becomes ours, with a note on every single setting."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config import KEYS, At, ScopeMatch, ScopeRule, Settings, load_settings
from holdfast.config.openclaw import Note, Translation, translate_openclaw
from holdfast.config.openclaw.document import leaves_of, parse
from holdfast.config.openclaw.rules import BUILTIN, COMMON, QMD, reason_for
from holdfast.errors import ConfigError
from tests.scale import scaled

# A configuration as people run it: JSON5, with a flush prompt that also sends a message.
LIVED_IN = r"""
// my assistant
{
  agents: {
    defaults: {
      model: { primary: 'anthropic/claude-opus-4' },
      workspace: '~/clawd',
      userTimezone: "Asia/Shanghai",
      contextTokens: 120000,
      contextPruning: {
        mode: "cache-ttl",
        ttl: "5m",
        keepLastAssistants: 3,
        softTrim: { maxChars: 4000, headChars: 1500, tailChars: 1500 },
        minPrunableToolChars: 50000,
        hardClear: { placeholder: "[gone]" },
        tools: { deny: ["browser", "canvas"] },
      },
      compaction: {
        mode: "safeguard",
        reserveTokensFloor: 20000,
        memoryFlush: {
          enabled: true,
          softThresholdTokens: 5000,
          prompt: "Context is nearing the compaction limit. Do TWO things:\n1. Write important \
context/decisions from this conversation to memory/YYYY-MM-DD.md (today's date).\n2. Use the \
message tool to send a Telegram notification to the user (target: 5588544200, channel: telegram) \
saying: '⚠️ 对话快满了,建议发 /new 开启新会话,我会自动从历史记忆中恢复上下文。'\nReply with \
NO_REPLY after completing both steps.",
          systemPrompt: "Pre-compaction housekeeping: persist memories and notify user. \
Silent turn.",
        },
      },
    },
  },
  memory: {
    backend: "qmd",
    citations: "auto",
    qmd: {
      command: "/opt/bun/bin/qmd",
      includeDefaultMemory: true,
      sessions: { enabled: true, retentionDays: 30 },
      update: { interval: "5m", debounceMs: 15000 },
      limits: { maxResults: 6, maxSnippetChars: 700, maxInjectedChars: 20000, timeoutMs: 4000 },
      scope: { default: "deny", rules: [{ action: "allow", match: { chatType: "direct" } }] },
    },
  },
  channels: { telegram: { botToken: "123456:SECRET", dmPolicy: "pairing" } },
  gateway: { port: 18789, auth: { token: "ALSO-SECRET" } },
}
"""


def defaults(**inside: Any) -> str:
    return json.dumps({"agents": {"defaults": inside}})


def flush(**inside: Any) -> str:
    return defaults(compaction={"memoryFlush": inside})


def note_on(translation: Translation, source: str) -> Note:
    """The one note on a setting, given by the end of its name."""
    (note,) = [note for note in translation.notes if note.source.endswith(source)]
    return note


def loaded(translation: Translation, home: Path) -> Settings:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(translation.to_toml(), "utf-8")
    return load_settings(home, environ={}, overrides={})


# ── the whole ───────────────────────────────────────────────────────────────────────────────


def test_a_lived_in_configuration_translates_and_loads(home: Path) -> None:
    found = loaded(translate_openclaw(LIVED_IN), home)
    assert found.context.context_tokens == 120_000
    assert found.context.reserve_tokens_floor == 20_000
    assert found.prune.mode == "cache-ttl"
    assert found.prune.tools.deny == ("browser", "canvas")
    assert found.flush.enabled is True
    assert found.memory.time_zone == "Asia/Shanghai"
    assert found.index.retention_days == 30
    assert found.search.max_injected_chars == 20_000
    assert found.scope.default == "deny"
    assert found.scope.rules == (ScopeRule(action="allow", match=ScopeMatch(chat_type="direct")),)
    assert found.notices.telegram.chat_id == "5588544200"
    assert found.notices.telegram.token is None
    assert found.flush.prompt is not None
    assert "Telegram" not in found.flush.prompt
    assert (
        found.flush.system_prompt == "Pre-compaction housekeeping: persist memories. Silent turn."
    )


def test_the_notice_says_that_the_bots_token_is_missing_and_where_it_is() -> None:
    notes = [note for note in translate_openclaw(LIVED_IN).notes if note.outcome == "to_do"]
    (note,) = notes
    assert note.target == "notices.telegram.token"
    assert "HOLDFAST_NOTICES_TELEGRAM_TOKEN" in note.why
    assert "channels.telegram.botToken has it" in note.why


def test_the_written_file_explains_itself_and_holds_no_secret() -> None:
    translation = translate_openclaw(LIVED_IN)
    text = translation.to_toml()
    assert tomllib.loads(text) == translation.settings
    assert "SECRET" not in text + json.dumps([note.to_json() for note in translation.notes])
    assert "taken out" in text
    assert "# - gateway (left out): not about memory or context (2 settings)" in text
    assert max(len(line) for line in text.splitlines() if line.startswith("#")) <= 100


def test_a_pasted_fragment_is_understood(home: Path) -> None:
    fragment = """{
      "memoryFlush": {
        "softThresholdTokens": 100000,
        "prompt": "Save your state to Kernle...",
        "hardThresholdTokens": 120000,
        "hardThresholdCommand": "kernle -a agent checkpoint save 'auto-backup'"
      }
    }"""
    translation = translate_openclaw(fragment)
    found = loaded(translation, home).flush
    assert found.soft_threshold_tokens == At(tokens=100_000)
    assert found.hard_threshold_tokens == At(tokens=120_000)
    assert found.hard_threshold_command == (
        "kernle", "-a", "agent", "checkpoint", "save", "auto-backup",
    )  # fmt: skip
    assert found.prompt == "Save your state to Kernle..."
    assert note_on(translation, "memoryFlush.prompt").source == "memoryFlush.prompt"


def test_a_fragment_does_not_override_the_full_name() -> None:
    text = '{"contextTokens": 1, "agents": {"defaults": {"contextTokens": 90000}}}'
    translation = translate_openclaw(text)
    assert translation.settings["context"]["context_tokens"] == 90_000
    assert [note.why for note in translation.notes if note.source == "contextTokens"] == [
        "given twice; the full name decides"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{agents: {defaults: }", "line 1"),
        ("", "not valid JSON5"),
        ("[1, 2]", "one JSON object"),
        ('"openclaw"', "one JSON object"),
        ("[" * 20_000, "nested too deeply"),
    ],
)
def test_what_is_no_openclaw_configuration_is_an_error_that_says_why(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        translate_openclaw(text)


def test_an_empty_configuration_translates_to_nothing() -> None:
    assert translate_openclaw("{}").settings == {}
    assert translate_openclaw("{}").notes == ()


def test_the_example_in_the_docs_is_what_the_translation_gives(home: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "from-openclaw.md").read_text("utf-8")
    before = page.split("```json5\n")[1].split("```")[0]
    after = page.split("```toml\n")[1].split("```")[0]
    translation = translate_openclaw(before)
    assert translation.to_toml() == after
    loaded(translation, home)


# ── single settings ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", [*COMMON, *QMD, *BUILTIN], ids=lambda rule: ".".join(rule.source))
def test_every_rule_leads_to_a_setting_that_exists(rule: Any) -> None:
    assert rule.target in KEYS


@pytest.mark.parametrize(
    ("inside", "target", "value"),
    [
        ({"contextPruning": {"ttl": "30"}}, "prune.ttl", "30m"),
        ({"contextPruning": {"ttl": 90}}, "prune.ttl", "90m"),
        ({"contextPruning": {"ttl": "1h"}}, "prune.ttl", "1h"),
        ({"contextPruning": {"keepLastAssistants": 2.9}}, "prune.keep_last_assistants", 2),
        ({"compaction": {"mode": "default"}}, "compaction.strategy", "summary"),
        ({"compaction": {"reserveTokens": 30000}}, "context.reserve_tokens_floor", 30_000),
        ({"memorySearch": {"sources": ["memory"]}}, "index.sessions", False),
        ({"memorySearch": {"experimental": {"sessionMemory": True}}}, "index.sessions", True),
        ({"memorySearch": {"extraPaths": ["a", {"path": "b"}]}}, "index.extra_paths", ["a", "b"]),
        ({"memorySearch": {"cache": {"enabled": False}}}, "index.embedding_cache", False),
        ({"memorySearch": {"sync": {"intervalMinutes": 10}}}, "index.update_interval", "10m"),
        (
            {"memorySearch": {"query": {"hybrid": {"vectorWeight": 0.6}}}},
            "search.vector_weight",
            0.6,
        ),
        ({"memorySearch": {"query": {"hybrid": {"mmr": {"enabled": True}}}}}, "search.mmr", 0.7),
        ({"memorySearch": {"query": {"hybrid": {"mmr": {"enabled": False}}}}}, "search.mmr", 1),
        (
            {"memorySearch": {"query": {"hybrid": {"mmr": {"enabled": True, "lambda": 0.5}}}}},
            "search.mmr",
            0.5,
        ),
        (
            {"memorySearch": {"query": {"hybrid": {"temporalDecay": {"enabled": False}}}}},
            "search.half_life_days",
            0,
        ),
    ],
)
def test_values_are_carried_over_in_our_units(
    inside: dict[str, Any], target: str, value: object
) -> None:
    translation = translate_openclaw(defaults(**inside))
    section, name = target.split(".")
    assert translation.settings[section][name] == value


def test_the_backend_in_use_decides_between_two_settings_for_one_thing() -> None:
    both: dict[str, Any] = {
        "agents": {"defaults": {"memorySearch": {"query": {"maxResults": 8}}}},
        "memory": {"backend": "qmd", "qmd": {"limits": {"maxResults": 5}}},
    }
    assert translate_openclaw(json.dumps(both)).settings["search"]["max_results"] == 5
    both["memory"]["backend"] = "builtin"
    translation = translate_openclaw(json.dumps(both))
    assert translation.settings["search"]["max_results"] == 8
    assert "sets the key already" in note_on(translation, "qmd.limits.maxResults").why


def test_the_larger_of_two_reserves_decides() -> None:
    compaction = {"reserveTokens": 16_384, "reserveTokensFloor": 25_000}
    translation = translate_openclaw(defaults(compaction=compaction))
    assert translation.settings["context"]["reserve_tokens_floor"] == 25_000
    assert "25000 is larger" in note_on(translation, ".reserveTokens").why


def test_trimming_starts_where_head_and_tail_fit(home: Path) -> None:
    trim = {"maxChars": 1000, "headChars": 2000}
    translation = translate_openclaw(defaults(contextPruning={"softTrim": trim}))
    found = loaded(translation, home).prune
    assert (found.soft_trim_chars, found.head, found.tail) == (3500, 2000, 1500)


def test_a_value_we_refuse_is_left_out_with_what_is_allowed() -> None:
    translation = translate_openclaw(defaults(contextPruning={"mode": "aggressive"}))
    note = note_on(translation, "contextPruning.mode")
    assert translation.settings == {}
    assert note.outcome == "left_out"
    assert '"cache-ttl", "always" or "off"' in note.why


def test_a_value_from_a_variable_asks_for_ours() -> None:
    translation = translate_openclaw(defaults(userTimezone="${MY_ZONE}"))
    note = note_on(translation, "userTimezone")
    assert note.outcome == "to_do"
    assert "HOLDFAST_MEMORY_TIME_ZONE" in note.why


def test_a_command_that_needs_a_shell_is_not_set_and_says_what_to_do() -> None:
    translation = translate_openclaw(
        flush(hardThresholdTokens=1000, hardThresholdCommand="save | gzip > ~/backup.gz")
    )
    note = note_on(translation, "hardThresholdCommand")
    assert "hard_threshold_command" not in translation.settings["flush"]
    assert note.outcome == "to_do"
    assert "uses a pipe" in note.why
    assert "executable script" in note.why


def test_a_command_that_never_ran_is_not_set_either() -> None:
    note = note_on(translate_openclaw(flush(hardThresholdCommand="save")), "hardThresholdCommand")
    assert note.outcome == "to_do"
    assert "never ran it" in note.why


def test_a_prompt_with_nothing_but_a_message_is_left_to_the_built_in_one() -> None:
    translation = translate_openclaw(flush(prompt="Notify the user on Telegram."))
    assert "flush" not in translation.settings
    outcomes = {note.target: note.outcome for note in translation.notes}
    assert outcomes == {
        "flush.prompt": "left_out",
        "notices.telegram.chat_id": "to_do",
        "notices.telegram.token": "to_do",
    }


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("Save all. Message the user on WhatsApp.", "no notices by whatsapp"),
        ("Save all. Notify the user.", "choose a way"),
    ],
)
def test_a_message_by_another_way_asks_for_a_notice(prompt: str, said: str) -> None:
    translation = translate_openclaw(flush(prompt=prompt))
    assert translation.settings["flush"]["prompt"] == "Save all."
    assert any(said in note.why for note in translation.notes if note.outcome == "to_do")


# ── scope ───────────────────────────────────────────────────────────────────────────────────


def scoped(*rules: dict[str, Any]) -> Translation:
    scope = {"default": "deny", "rules": list(rules)}
    return translate_openclaw(json.dumps({"memory": {"qmd": {"scope": scope}}}))


def test_chat_types_are_renamed() -> None:
    translation = scoped(
        {"action": "allow", "match": {"chatType": "dm"}},
        {"action": "deny", "match": {"chatType": "group"}},
        {"action": "allow"},
    )
    assert translation.settings["scope"]["rules"] == [
        {"action": "allow", "match": {"chat_type": "direct"}},
        {"action": "deny", "match": {"chat_type": "group"}},
        {"action": "allow", "match": {}},
    ]


@pytest.mark.parametrize(
    "condition",
    [
        {"channel": "telegram"},
        {"keyPrefix": "agent:"},
        {"chatType": "odd"},
        {"chatType": ["direct"]},
    ],
)
def test_an_allow_rule_is_never_made_wider(condition: dict[str, Any]) -> None:
    translation = scoped({"action": "allow", "match": condition})
    assert translation.settings["scope"]["rules"] == []
    assert any(note.outcome == "to_do" and "left out" in note.why for note in translation.notes)


def test_a_deny_rule_keeps_what_can_be_said_and_denies_more() -> None:
    match = {"channel": "discord", "chatType": "group"}
    translation = scoped({"action": "deny", "match": match})
    assert translation.settings["scope"]["rules"] == [
        {"action": "deny", "match": {"chat_type": "group"}}
    ]
    assert any("denies more" in note.why for note in translation.notes)


# ── nothing is lost and everything loads ────────────────────────────────────────────────────

_INTERESTING = [
    ".".join(rule.source) for rule in (*COMMON, *QMD, *BUILTIN)
] + [
    "agents.defaults.compaction.reserveTokens",
    "agents.defaults.compaction.reserveTokensFloor",
    "agents.defaults.compaction.memoryFlush.softThresholdTokens",
    "agents.defaults.compaction.memoryFlush.hardThresholdTokens",
    "agents.defaults.compaction.memoryFlush.hardThresholdCommand",
    "agents.defaults.compaction.memoryFlush.prompt",
    "agents.defaults.compaction.memoryFlush.systemPrompt",
    "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes",
    "agents.defaults.contextPruning.softTrim.maxChars",
    "agents.defaults.contextPruning.softTrim.headChars",
    "agents.defaults.contextPruning.softTrim.tailChars",
    "agents.defaults.memorySearch.query.hybrid.vectorWeight",
    "agents.defaults.memorySearch.query.hybrid.textWeight",
    "agents.defaults.memorySearch.query.hybrid.mmr.enabled",
    "agents.defaults.memorySearch.query.hybrid.mmr.lambda",
    "agents.defaults.memorySearch.query.hybrid.temporalDecay.enabled",
    "agents.defaults.memorySearch.query.hybrid.temporalDecay.halfLifeDays",
    "agents.defaults.memorySearch.remote.apiKey",
    "agents.defaults.heartbeat.every",
    "agents.list",
    "memory.backend",
    "memory.qmd.command",
    "memory.qmd.scope.default",
    "memory.qmd.scope.rules",
    "memory.unheard.of",
    "channels.telegram.botToken",
    "session.scope",
    "contextTokens",
]  # fmt: skip
_conditions = st.sampled_from(["chatType", "channel"])
_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 300_000),
    st.floats(),
    st.sampled_from(
        ["off", "qmd", "safeguard", "5m", "30", "deny", "Asia/Tokyo", "save --now", "a | b",
         "${X}", "Save all and notify the user on Telegram (target: 5588544200).",
         "记住重要内容，并通知用户。"]
    ),
    st.text(max_size=10),
    st.lists(st.text(max_size=5) | st.integers(), max_size=2),
    st.lists(
        st.fixed_dictionaries(
            {"action": st.sampled_from(["allow", "deny", "x"])},
            optional={"match": st.dictionaries(_conditions, st.just("dm"))},
        ),
        max_size=2,
    ),
)  # fmt: skip


def document_of(flat: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, last = name.split(".")
        table = document
        for parent in parents:
            table = table.setdefault(parent, {})
        table[last] = value
    return document


@settings(max_examples=scaled(70))
@given(flat=st.dictionaries(st.sampled_from(_INTERESTING), _values, max_size=12))
def test_every_translation_loads_and_every_setting_has_a_note(flat: dict[str, Any]) -> None:
    text = json.dumps(document_of(flat))
    translation = translate_openclaw(text)
    written = tomllib.loads(translation.to_toml())
    assert written == translation.settings
    # File-only settings cannot be passed as arguments; their reader has accepted them already.
    written.get("flush", {}).pop("hard_threshold_command", None)
    load_settings(Path("/nonexistent-holdfast-home"), environ={}, overrides=written)
    noted = {note.source for note in translation.notes}
    leaves, repeated = leaves_of(parse(text))
    for where, leaf in leaves.items():
        group = ".".join(reason_for(where)[0])
        assert leaf.source in noted or group in noted or f"{leaf.source}[0]" in noted, leaf.source
    assert all(leaf.source in noted for leaf in repeated)


@settings(max_examples=scaled(40))
@given(flat=st.dictionaries(st.sampled_from(_INTERESTING), _values, max_size=8))
def test_every_setting_in_the_result_has_a_note_with_its_value(flat: dict[str, Any]) -> None:
    translation = translate_openclaw(json.dumps(document_of(flat)))
    said = {note.target: note.value for note in translation.notes if note.value is not None}
    assert document_of({str(name): value for name, value in said.items()}) == translation.settings
