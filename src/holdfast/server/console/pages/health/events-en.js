// Events as English sentences, one for each kind the engine tells. `e` is the event as it was
// told: any field may be missing, in an event of another version.

import { money, tokens } from "../../format.js";

const many = (count, one, other) => `${tokens(count ?? 0)} ${count === 1 ? one : other}`;
const because = (e) => (e.reason ? `: ${e.reason}` : "");
const fromTo = (e) => (e.tokens_before == null ? "" : `, ${tokens(e.tokens_before)} → ${tokens(e.tokens_after)} tokens`);
const ms = (e) => (e.took_ms == null ? "" : `, ${tokens(e.took_ms)} ms`);
const cost = (e) => (e.cost ? `, ${money(e.cost)}` : "");
const listed = (all) => [all ?? []].flat().join(", ");

const LEVELS = { prune: "pruning", flush: "saving", hard: "the hard threshold", compact: "compaction" };

const INDEXED = { synced: "brought up to date", rebuilt: "rebuilt", "given up": "given up, to be rebuilt" };

function flushed(e) {
  if (e.outcome === "failed") return `Saving failed${because(e)}`;
  const known = e.duplicates ? `, ${tokens(e.duplicates)} known already` : "";
  const end = `${known}, by ${e.mode ?? "rules"}${cost(e)}${ms(e)}`;
  if (!e.saved) return `Looked for memories in ${many(e.covered, "entry", "entries")}: nothing new${end}`;
  return `Saved ${many(e.saved, "memory", "memories")}${e.file ? ` to ${e.file}` : ""}${end}`;
}

export const SENTENCES = {
  session_started: (e) =>
    `${e.resumed ? "Session opened again" : "Session begun"}${e.forked_from ? `, forked from ${e.forked_from}` : ""}, ${many(e.entries, "entry", "entries")}`,
  session_closed: (e) => `Session closed, ${many(e.entries, "entry", "entries")}`,
  session_renamed: (e) => `Session renamed to ${e.to ?? "?"}`,
  session_deleted: (e) => `Session deleted, ${many(e.entries, "entry", "entries")}`,
  storage_degraded: (e) =>
    e.state === "resumed" ? `The disk takes writes again${because(e)}` : `The disk refuses writes at ${e.operation ?? "?"}${because(e)}`,
  transcript_damaged: (e) =>
    `Damage found in ${many(e.regions, "place", "places")}; ${many(e.damaged_bytes, "byte", "bytes")} set aside in ${e.quarantine ?? "?"}`,
  context_measured: (e) =>
    `Next request: ${tokens(e.projected)} of ${tokens(e.window)} tokens, ${many(e.messages, "message", "messages")}; compaction at ${tokens(e.compact_at)}`,
  context_pressure: (e) => `The mark of ${LEVELS[e.level] ?? e.level} is reached: ${tokens(e.projected)} tokens, mark ${tokens(e.mark)}`,
  tool_results_pruned: (e) =>
    `${many(e.shortened, "long result is", "long results are")} shown shortened${fromTo(e)}${e.saved_cost ? `, spares ${money(e.saved_cost)}` : ""}`,
  memory_flush_start: (e) => `Saving important memories from ${many(e.entries, "entry", "entries")}, by ${e.mode ?? "rules"}${because(e)}`,
  memory_flush_end: flushed,
  memory_flush_skipped: (e) => `Nothing saved${because(e)}`,
  memory_written: (e) =>
    `${many(e.added, "memory", "memories")} written${e.path ? ` to ${e.path}` : ""}${e.skipped ? `, ${tokens(e.skipped)} known already` : ""}`,
  memory_changed: (e) => `Memory changed: ${e.what ?? "?"}, ${many(e.files, "file", "files")}`,
  memory_conflict: (e) => `Two memories contradict each other${e.kind ? ` (${e.kind})` : ""}: settle it on the Memory page`,
  memory_forgotten: (e) => `${many(e.items, "memory", "memories")} moved to the archive`,
  memory_erased: (e) =>
    `A text was erased from ${many(e.spans, "place", "places")} in ${many(e.stores, "store", "stores")}${e.remaining ? `; ${tokens(e.remaining)} left` : ""}`,
  searched: (e) => `Search found ${many(e.passages, "passage", "passages")}${ms(e)}${e.degraded?.length ? `; ${listed(e.degraded)}` : ""}`,
  index_changed: (e) =>
    `Search index ${INDEXED[e.what] ?? e.what ?? "changed"}: ${many(e.documents, "document", "documents")}, ${many(e.embedded, "passage", "passages")} embedded${because(e)}`,
  compaction_start: (e) =>
    `Compaction begins: ${many(e.leaving, "entry leaves", "entries leave")} the view, ${tokens(e.tokens_before)} tokens${because(e)}`,
  compaction_end: (e) => `Compacted: ${many(e.dropped, "entry", "entries")} left the view${fromTo(e)}, by ${e.strategy ?? "?"}${cost(e)}`,
  compaction_failed: (e) => `Not compacted${because(e)}; nothing left the view`,
  restore_done: (e) =>
    e.tokens
      ? `Memory restored: ${tokens(e.tokens)} tokens${e.sources?.length ? ` from ${listed(e.sources)}` : ""}${e.cut?.length ? `; no room for ${listed(e.cut)}` : ""}`
      : `Nothing restored${because(e)}`,
  recall_done: (e) =>
    (e.passages ? `Recalled ${many(e.passages, "passage", "passages")}, ${tokens(e.tokens)} tokens${ms(e)}` : `Nothing recalled${because(e)}${ms(e)}`),
  message_start: (e) => `The model answers${e.step > 1 ? `, step ${e.step}` : ""}`,
  message_end: (e) =>
    `Answer kept${e.tool_calls ? `, ${many(e.tool_calls, "tool call", "tool calls")}` : ""}${
      e.input_tokens == null ? "" : `, ${tokens(e.input_tokens)} tokens read, ${tokens(e.output_tokens)} written`
    }`,
  tool_start: (e) => `Tool ${e.tool ?? "?"} called`,
  tool_end: (e) => `Tool ${e.tool ?? "?"} ${e.is_error ? "failed" : "answered"}${ms(e)}`,
  turn_finished: (e) => `Turn finished: ${many(e.steps, "step", "steps")}, ${tokens(e.projected)} tokens${ms(e)}`,
  notice_sent: (e) => `Notice ${e.kind ?? "?"} by ${e.channel ?? "?"}: ${e.outcome ?? "?"}${because(e)}`,
  command_ran: (e) => `Command of the hard threshold: ${e.outcome ?? "?"}${e.exit_code == null ? "" : `, exit code ${e.exit_code}`}${because(e)}`,
  cost_limit_reached: (e) => `The day's limit is reached: ${money(e.spent)} of ${money(e.limit)}; ${e.what ?? "background work"} goes on by rules`,
};
