// What happens, as it happens, in sentences: the last two hundred events, by kind and session.
//
// Events carry ids and numbers, yet names and reasons in them come from outside: all is text.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { clock, linkTo, when } from "../../format.js";
import { live } from "../../live.js";
import { latest } from "../../parts/keeping.js";
import { failure } from "../../parts/toast.js";
import { language, t } from "../../words.js";
import { SENTENCES as ENGLISH } from "./events-en.js";
import { SENTENCES as CHINESE } from "./events-zh.js";

const KEPT = 200;
const GROUPS = {
  memory: [
    "memory_flush_start", "memory_flush_end", "memory_flush_skipped", "memory_written", "memory_changed",
    "memory_conflict", "memory_forgotten", "memory_erased", "recall_done", "restore_done", "searched", "index_changed",
  ],
  context: [
    "context_measured", "context_pressure", "tool_results_pruned", "compaction_start", "compaction_end",
    "compaction_failed", "memory_flush_start", "memory_flush_end", "memory_flush_skipped",
  ],
  turn: ["message_start", "message_end", "tool_start", "tool_end", "turn_finished"],
  session: ["session_started", "session_closed", "session_renamed", "session_deleted"],
};
const BAD = new Set(["storage_degraded", "transcript_damaged", "compaction_failed"]);
const WARN = new Set(["memory_conflict", "context_pressure", "cost_limit_reached", "command_ran"]);
const GOOD = new Set(["memory_flush_end", "memory_written", "compaction_end"]);

/** {node, refresh(), stop()} */
export function eventsCard() {
  const state = { events: [], waiting: [], isPaused: false, group: "all", session: "" };
  const list = el("ol", { class: "list" });
  // A log that does not speak by itself: it would never be silent.
  const scroller = el("div", { class: "events", tabindex: "0", role: "log", aria: { live: "off", label: t("health.events.list") } }, list);
  const kinds = select(t("health.events.kind"), ["all", ...Object.keys(GROUPS), "trouble"].map((name) => [name, t(`health.events.kind.${name}`)]));
  const sessions = select(t("health.events.session"), [["", t("health.events.session.all")]]);
  const waiting = el("span", { class: "muted small num", role: "status" });
  const pause = el("button", { class: "button button-small", type: "button", data: { test: "events-pause" }, aria: { pressed: "false" } });
  const node = el(
    "section",
    { class: "card", "aria-label": t("health.events"), data: { test: "events-card" } },
    el("div", { class: "card-head" }, el("h2", { text: t("health.events") }), waiting, kinds, sessions, pause),
    scroller,
  );

  kinds.addEventListener("change", () => { state.group = kinds.value; draw(); });
  sessions.addEventListener("change", () => { state.session = sessions.value; draw(); });
  pause.addEventListener("click", () => {
    state.isPaused = !state.isPaused;
    if (!state.isPaused) take(state.waiting.splice(0));
    drawPause();
  });

  function drawPause() {
    pause.textContent = t(state.isPaused ? "health.events.resume" : "health.events.pause");
    pause.setAttribute("aria-pressed", String(state.isPaused));
    waiting.textContent = state.waiting.length ? t("health.events.waiting", { count: state.waiting.length }) : "";
  }

  function take(fresh) {
    const known = new Set(state.events.map((each) => each.id).filter(Boolean));
    const added = fresh.filter((each) => !each.id || !known.has(each.id));
    if (!added.length) return;
    state.events = [...state.events, ...added].slice(-KEPT);
    if (added.length < 8 && list.querySelector(".event-row")) added.forEach(prepend);
    else draw();
    offerSessions();
  }

  // One more row on top, so that a row somebody has opened, or is reading, stays as it is.
  function prepend(told) {
    if (!matches(told, state)) return;
    list.prepend(row(told));
    while (list.childElementCount > KEPT) list.lastElementChild.remove();
  }

  function draw() {
    const shown = state.events.filter((each) => matches(each, state)).reverse();
    if (!state.events.length) clear(list, emptyRow());
    else if (!shown.length) clear(list, el("li", { class: "muted events-none", text: t("health.events.nomatch", { count: state.events.length }) }));
    else clear(list, shown.map(row));
  }

  function offerSessions() {
    const names = [...new Set([state.session, ...state.events.map((each) => each.session)])].filter(Boolean).sort();
    if (names.length === sessions.options.length - 1) return;
    clear(sessions, el("option", { value: "", text: t("health.events.session.all") }), names.map((name) => el("option", { value: name, text: name })));
    sessions.value = state.session;
  }

  const begin = latest();

  async function refresh() {
    const isNewest = begin();
    try {
      const found = await api.get("/events", { limit: KEPT });
      if (!isNewest()) return;
      state.waiting = [];
      state.events = found.events.slice(-KEPT);
      draw();
      offerSessions();
      drawPause();
    } catch (error) {
      if (isNewest()) clear(list, el("li", {}, failure(error, { retry: refresh })));
    }
  }

  const off = live.on((told) => {
    if (told.event === "reset") refresh();
    else if (!state.isPaused) take([told]);
    else {
      state.waiting = [...state.waiting, told].slice(-KEPT);
      drawPause();
    }
  });
  clear(list, Array.from({ length: 6 }, () => el("li", {}, el("div", { class: "skeleton skeleton-line" }))));
  drawPause();
  return { node, refresh, stop: off };
}

function select(label, options) {
  return el("select", { class: "select events-select", aria: { label } }, options.map(([value, text]) => el("option", { value, text })));
}

function matches(told, { group, session }) {
  if (session && told.session !== session) return false;
  if (group === "all") return true;
  if (group === "trouble") return ["bad", "warn"].includes(toneOf(told));
  return GROUPS[group].includes(told.event);
}

/** How it should look: as good, as a warning, as bad, or as nothing special. */
export function toneOf(told) {
  if (told.event === "memory_flush_end" && told.outcome === "failed") return "bad";
  if (told.event === "storage_degraded" && told.state === "resumed") return "good";
  if ((told.event === "tool_end" && told.is_error) || (told.event === "notice_sent" && told.outcome === "failed")) return "warn";
  if (told.event === "memory_flush_end" && !told.saved) return "plain";
  if (BAD.has(told.event)) return "bad";
  if (WARN.has(told.event)) return "warn";
  return GOOD.has(told.event) ? "good" : "plain";
}

/** An event in the language of the page; one of another version by its name and fields. */
export function said(told) {
  const sentences = language() === "zh" ? CHINESE : ENGLISH;
  if (Object.hasOwn(sentences, told.event)) {
    try {
      return sentences[told.event](told);
    } catch { /* its fields are not what they are here: then they are told as they are */ }
  }
  const fields = Object.entries(told).filter(([name]) => !["id", "event", "at", "session"].includes(name));
  return [String(told.event).replaceAll("_", " "), ...fields.map(([name, value]) => `${name} ${shown(value)}`)].join(", ");
}

const shown = (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : String(value));

const PICTURES = { good: "check", warn: "warn", bad: "warn", plain: "dot" };

function row(told) {
  const tone = toneOf(told);
  return el(
    "li",
    { class: `event-row tone-${tone}`, data: { test: "event-row", kind: told.event } },
    icon(PICTURES[tone]),
    el("time", { class: "muted small num", datetime: told.at, title: when(told.at).title, text: clock(told.at) }),
    el("span", { class: "event-said", text: said(told) }),
    told.session ? el("a", { class: "small cut event-session", href: linkTo.session(told.session), text: told.session }) : null,
  );
}

function emptyRow() {
  return el(
    "li",
    { class: "empty health-empty" },
    el("h3", { text: t("health.events.none") }),
    el("p", { text: t("health.events.none.text") }),
  );
}
