"""Events as sentences: what a person reads in ``holdfast events``.

Each kind of event has clauses. A clause stands if the event has a value for everything that it
names, so an event of an older version, or one with nothing to add, reads well too. ``{n:a/b}``
is a number with its noun, ``{x:?name}`` gives the clause its condition and no words.

Promise: every event the engine writes has words of its own, and a skipped flush or compaction
its reason (``tests/doors/test_cli_events.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Final

from holdfast.types import Json

__all__ = ["WORDS", "in_words"]

WORDS: Final[Mapping[str, Sequence[str]]] = {
    "session_started": (
        "session begins",
        "{resumed:?}, again",
        "{forked_from:?}, forked from {forked_from}",
        ": {entries:entry/entries}",
    ),
    "session_closed": ("session closed", ": {entries:entry/entries}"),
    "session_renamed": ("session renamed", " to {to}"),
    "session_deleted": (
        "session deleted",
        ": {entries:entry/entries}",
        ", {artifacts_freed:artifact/artifacts} freed",
    ),
    "storage_degraded": ("disk {state}", " at {operation}", ": {reason}"),
    "transcript_damaged": (
        "damage found",
        ": {regions:place/places}",
        ", {damaged_bytes:byte/bytes}",
        ", set aside in {quarantine}",
    ),
    "context_measured": (
        "next request: {projected:token/tokens}",
        " of {window}",
        ", {source}",
        ", {messages:message/messages}",
        "; compaction at {compact_at}",
    ),
    "context_pressure": ("{level} mark reached", ": {projected:token/tokens}", ", mark {mark}"),
    "tool_results_pruned": (
        "{shortened:result/results} shown shortened",
        ": {tokens_before} to {tokens_after} tokens",
        ", saves ${saved_cost}",
        ", because {reason}",
    ),
    "memory_flush_start": (
        "flush begins",
        ": {entries:entry/entries}",
        " by {mode}",
        ", attempt {attempt}",
        ", because {reason}",
    ),
    "memory_flush_end": (
        "flush ended, {outcome}",
        ": {saved:line/lines} saved",
        " to {file}",
        ", {duplicates:was/were} known already",
        ", {ungrounded:line/lines} without support left out",
        ", {verified} read back",
        ", {covered:entry/entries} covered",
        ", by {mode}",
        ", {input_tokens} tokens read",
        ", {output_tokens} written",
        ", cost ${cost}",
        ", {took_ms} ms",
        "; {reason}",
    ),
    "memory_flush_skipped": ("no flush", ": {reason}"),
    "memory_written": (
        "memory written",
        ": {added:line/lines} added",
        " to {path}",
        ", {skipped:was/were} known already",
    ),
    "memory_changed": (
        "memory changed",
        ": {what}",
        ", {files:file/files}",
        "; take it back with: holdfast undo {operation}",
    ),
    "memory_conflict": ("memories contradict", " ({kind})", ": {facts}", ", conflict {conflict}"),
    "memory_forgotten": ("{items:memory/memories} moved to the archive", ": {reason}"),
    "memory_erased": (
        "text erased",
        ": {spans:place/places}",
        " in {stores:store/stores}",
        ", {remaining} left",
        ", receipt {receipt}",
    ),
    "searched": ("search", ": {passages:passage/passages}", " in {took_ms} ms", "; {degraded}"),
    "index_changed": (
        "index {what}",
        ": {documents:document/documents}",
        ", {embedded:passage/passages} embedded",
        ", because {reason}",
    ),
    "compaction_start": (
        "compaction begins",
        " by {strategy}",
        ": {leaving:entry leaves/entries leave}",
        ", {tokens_before:token/tokens}",
        ", because {reason}",
    ),
    "compaction_end": (
        "compaction done",
        " by {strategy}",
        ": {dropped:entry/entries} left the view",
        ", {tokens_before} to {tokens_after} tokens",
        ", after {fallbacks}",
        ", {input_tokens} tokens read",
        ", {output_tokens} written",
        ", cost ${cost}",
        ", entry {entry}",
    ),
    "compaction_failed": ("no compaction", ": {reason}"),
    "restore_done": (
        "restore: {tokens:token/tokens}",
        " from {sources}",
        ", no room for {cut}",
        ", {took_ms} ms",
        "; {reason}",
    ),
    "recall_done": (
        "recall: {passages:passage/passages}",
        ", {tokens:token/tokens}",
        ", {took_ms} ms",
        "; {reason}",
    ),
    "message_start": ("the model answers", ", step {step}"),
    "message_end": (
        "answer kept as {entry}",
        ", {tool_calls:tool call/tool calls}",
        ", {input_tokens} tokens read",
        ", {output_tokens} written",
    ),
    "tool_start": ("tool {tool} called", " ({call})"),
    "tool_end": (
        "tool {tool} answered",
        " ({call})",
        "{is_error:?} with an error",
        ", {took_ms} ms",
    ),
    "turn_finished": (
        "turn finished",
        ": {steps:step/steps}",
        ", {projected:token/tokens}",
        ", {input_tokens} read",
        ", {output_tokens} written",
        ", {took_ms} ms",
    ),
    "notice_sent": (
        "notice {kind} by {channel}: {outcome}",
        ", {attempts:attempt/attempts}",
        ", because {reason}",
    ),
    "command_ran": (
        "command of the hard threshold: {outcome}",
        ", exit code {exit_code}",
        ", {seconds} s",
        ", cycle {cycle}",
        "; {reason}",
    ),
    "cost_limit_reached": (
        "cost limit reached: ${spent} of ${limit} today",
        ", {what} goes on without a model",
    ),
}


def in_words(told: Mapping[str, Json]) -> str:
    """One event as a sentence; the caller makes it harmless for a terminal."""
    first, *more = WORDS.get(told["event"], (told["event"].replace("_", " "),))
    said = _WORDING.vformat(first, (), _Lenient(told))
    said += "".join(_WORDING.vformat(each, (), told) for each in more if _applies(each, told))
    if told["event"] not in WORDS:
        known = {"event", "at", "session"}
        said += "".join(f", {name} {_shown(told[name])}" for name in told if name not in known)
    return said


def _applies(clause: str, told: Mapping[str, Json]) -> bool:
    """Whether the event has something to say for everything that the clause names."""
    return all(told.get(name) for _, name, _, _ in _WORDING.parse(clause) if name)


class _Lenient(dict[str, Json]):
    """The first clause stands in any case."""

    def __missing__(self, name: str) -> str:
        return "?"


class _Wording(Formatter):
    def format_field(self, value: Json, spec: str) -> str:
        if spec == "?":
            return ""
        if "/" not in spec:
            return _shown(value)
        one, many = spec.split("/")
        return f"{_shown(value)} {one if value == 1 else many}"


_WORDING: Final = _Wording()


def _shown(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return str(value)
