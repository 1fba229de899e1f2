"""Which OpenClaw setting becomes which of ours, and why the others become none.

``RULES`` are settings that mean the same on both sides, perhaps in another unit;
``REASONS`` explain what has no counterpart, by the longest prefix that fits. What needs more
than one value to decide is in ``__init__``. Both tables are checked against the key table by
``tests/foundation/test_config_openclaw.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from holdfast.config.openclaw.draft import DEFAULTS, Path, path
from holdfast.types import Json

__all__ = ["BUILTIN", "COMMON", "QMD", "Rule", "count", "reason_for"]

Converted = tuple[Json, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One setting and its counterpart; ``convert`` returns the value and why it changed."""

    source: Path
    target: str
    convert: Callable[[Json], Converted]


# ── conversions ─────────────────────────────────────────────────────────────────────────────


def _same(value: Json) -> Converted:
    return value, ""


def count(value: Json) -> Converted:
    """OpenClaw rounds its whole numbers down."""
    if isinstance(value, float) and math.isfinite(value):
        whole = math.floor(value)
        return whole, "" if whole == value else "rounded down, as OpenClaw does"
    return value, ""


def _minutes(value: Json) -> Converted:
    """A bare number is minutes there; here it would be seconds."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number or (isinstance(value, str) and re.fullmatch(r"\s*\d+(\.\d+)?\s*", value)):
        return f"{str(value).strip()}m", "a bare number means minutes there and seconds here"
    return value, ""


def _strategy(value: Json) -> Converted:
    if value == "safeguard":
        return "layered", "every strategy is guarded and has a fallback here; this is the default"
    if value == "default":
        return "summary", "one model summary"
    return value, ""


def _pruning_starts(value: Json) -> Converted:
    tokens, why = count(value)
    meaning = "the mark from which pruning may start; the model's own limit is context.window"
    return tokens, f"{why}; {meaning}" if why else meaning


def _has_sessions(value: Json) -> Converted:
    if isinstance(value, list):
        return "sessions" in value, "a switch here"
    return value, ""


def _paths(value: Json) -> Converted:
    """Paths may be texts or tables with a path."""
    if not isinstance(value, list):
        return value, ""
    paths = [item.get("path") if isinstance(item, dict) else item for item in value]
    if paths == value:
        return value, ""
    return paths, "names and patterns of collections have no counterpart: Markdown files are read"


def _rule(source: str, target: str, convert: Callable[[Json], Converted] = _same) -> Rule:
    return Rule(source=path(source), target=target, convert=convert)


def _agent(source: str, target: str, convert: Callable[[Json], Converted] = _same) -> Rule:
    return Rule(source=(*DEFAULTS, *path(source)), target=target, convert=convert)


# ── what has a counterpart ──────────────────────────────────────────────────────────────────

COMMON: Final = (
    _agent("contextTokens", "context.context_tokens", _pruning_starts),
    _agent("userTimezone", "memory.time_zone"),
    _agent("contextPruning.mode", "prune.mode"),
    _agent("contextPruning.ttl", "prune.ttl", _minutes),
    _agent("contextPruning.keepLastAssistants", "prune.keep_last_assistants", count),
    _agent("contextPruning.minPrunableToolChars", "prune.min_clear_chars", count),
    _agent("contextPruning.tools.allow", "prune.tools.allow"),
    _agent("contextPruning.tools.deny", "prune.tools.deny"),
    _agent("compaction.mode", "compaction.strategy", _strategy),
    _agent("compaction.model", "compaction.model"),
    _agent("compaction.memoryFlush.enabled", "flush.enabled"),
    _agent("compaction.memoryFlush.model", "flush.model"),
    _rule("memory.citations", "search.citations"),
)

QMD: Final = (
    _rule("memory.qmd.includeDefaultMemory", "index.include_default_memory"),
    _rule("memory.qmd.paths", "index.extra_paths", _paths),
    _rule("memory.qmd.sessions.enabled", "index.sessions"),
    _rule("memory.qmd.sessions.retentionDays", "index.retention_days", count),
    _rule("memory.qmd.update.interval", "index.update_interval", _minutes),
    _rule("memory.qmd.update.debounceMs", "index.debounce_ms", count),
    _rule("memory.qmd.limits.maxResults", "search.max_results", count),
    _rule("memory.qmd.limits.maxSnippetChars", "search.max_snippet_chars", count),
    _rule("memory.qmd.limits.maxInjectedChars", "search.max_injected_chars", count),
    _rule("memory.qmd.limits.timeoutMs", "search.timeout_ms", count),
)

BUILTIN: Final = (
    _agent("memorySearch.extraPaths", "index.extra_paths", _paths),
    _agent("memorySearch.sources", "index.sessions", _has_sessions),
    _agent("memorySearch.experimental.sessionMemory", "index.sessions"),
    _agent("memorySearch.sync.watchDebounceMs", "index.debounce_ms", count),
    _agent("memorySearch.sync.intervalMinutes", "index.update_interval", _minutes),
    _agent("memorySearch.query.maxResults", "search.max_results", count),
    _agent("memorySearch.cache.enabled", "index.embedding_cache"),
    _agent("memorySearch.store.cache.enabled", "index.embedding_cache"),
)

# ── what has none ───────────────────────────────────────────────────────────────────────────

_EMBEDDER = "Holdfast chooses its embedder itself and needs no key"
_ALWAYS = "always done here"
_MARKS = "when pruning and compaction start and stop follows from the budget"
_AUDIT = "summaries are always audited: identifiers and the latest request must survive"
_INDEX = "the index is kept up to date by itself"

_AGENT_REASONS: Final = {
    "bootstrapMaxChars": "what a session starts with is bounded by restore.max_tokens",
    "bootstrapTotalMaxChars": "what a session starts with is bounded by restore.max_tokens",
    "startupContext": "what a session starts with is bounded by restore.max_tokens",
    "workspace": "memory files live under the Holdfast home; they are imported, not pointed at",
    "model": "the model of the conversation belongs to the host, not to this file",
    "models": "the model of the conversation belongs to the host, not to this file",
    "contextPruning.softTrimRatio": _MARKS,
    "contextPruning.hardClearRatio": _MARKS,
    "contextPruning.hardClear.enabled": "a cleared result can be expanded again; to clear less, "
    "raise prune.min_clear_chars",
    "contextPruning.hardClear.placeholder": "the placeholder carries the id to expand the result",
    "compaction.keepRecentTokens": _MARKS,
    "compaction.maxHistoryShare": _MARKS,
    "compaction.recentTurnsPreserve": "recent messages stay verbatim as far as the target allows",
    "compaction.customInstructions": "summaries have fixed sections; use compaction.pins for what "
    "must survive word for word",
    "compaction.identifierPolicy": _AUDIT,
    "compaction.identifierInstructions": _AUDIT,
    "compaction.qualityGuard": _AUDIT,
    "compaction.postIndexSync": _INDEX,
    "compaction.postCompactionSections": "AGENTS.md is part of what a session starts with",
    "compaction.timeoutSeconds": "a turn waits compaction.inline_seconds, no longer",
    "compaction.truncateAfterCompaction": "transcripts are append-only",
    "compaction.maxActiveTranscriptBytes": _MARKS,
    "compaction.midTurnPrecheck": _ALWAYS,
    "compaction.notifyUser": "the engine sends notices: see the notices section",
    "compaction.memoryFlush.forceFlushTranscriptBytes": "nothing is dropped without a flush here, "
    "whatever the size of the transcript",
    "memorySearch.enabled": 'search needs no key here and stays on; recall.mode = "off" stops '
    "the automatic part",
    "memorySearch.chunking": "passages follow headings, list items and turns",
    "memorySearch.query.minScore": "exact hits are never cut by a score",
    "memorySearch.query.hybrid.enabled": "search is always hybrid",
    "memorySearch.query.hybrid.candidateMultiplier": "the engine chooses its candidates",
    "memorySearch.cache.maxEntries": "the cache is bounded by the index it belongs to",
    "memorySearch.store": "the index lives in the workspace and can be deleted at any time",
    "memorySearch.sync": _INDEX,
    **{
        f"memorySearch.{name}": _EMBEDDER
        for name in ("provider", "model", "remote", "fallback", "local", "dimensions")
    },
}

_OTHER_REASONS: Final = {
    "$include": "included files are not read; translate them one by one",
    "agents.list": "settings of single agents: Holdfast has one configuration per home",
    "memory.backend": "the local search engine is built in",
    "memory.qmd.command": "nothing to install: the local search engine is built in",
    "memory.qmd.mcporter": "nothing to install: the local search engine is built in",
    "memory.qmd.searchMode": "search is always hybrid",
    "memory.qmd.sessions.exportDir": "transcripts are indexed where they are",
    "memory.qmd.update": _INDEX,
    "memory.isolation": "further users have folders of their own by themselves",
}

_REASONS: Final[dict[Path, str]] = {
    **{(*DEFAULTS, *path(name)): why for name, why in _AGENT_REASONS.items()},
    **{path(name): why for name, why in _OTHER_REASONS.items()},
}


_ABOUT_CONTEXT: Final = tuple(
    (*DEFAULTS, name) for name in ("contextPruning", "compaction", "memorySearch")
)


def reason_for(where: Path) -> tuple[Path, str]:
    """The longest prefix of a path that has a reason, and the reason.

    What lies outside memory and context is named by its first part, so a whole gateway
    configuration is one line.
    """
    for length in range(len(where), 0, -1):
        if where[:length] in _REASONS:
            return where[:length], _REASONS[where[:length]]
    if where[:1] == ("memory",) or where[:3] in _ABOUT_CONTEXT:
        return where, "Holdfast has no such setting"
    return where[:3] if where[:2] == DEFAULTS else where[:1], "not about memory or context"
