// What a search is limited to: kept in the address, so that a search can be kept and shared.
import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { kindWord } from "../../parts/line.js";
import { t } from "../../words.js";

const SOURCES = {
  session: "search.source.session",
  memory: "search.source.memory",
  daily: "search.source.daily",
  topic: "search.source.topic",
  bank: "search.source.bank",
  task: "search.source.task",
  extra: "search.source.extra",
};
const KINDS = ["W", "B", "O", "S"];
const NAMES = ["kind", "source", "entity", "since", "until", "session"];

/** Where a source is, as a word. */
export function sourceWord(source) {
  return Object.hasOwn(SOURCES, source) ? t(SOURCES[source]) : String(source ?? "");
}

/** The filters of an address, checked: an address may say anything. */
export function filtersOf(query) {
  const found = {};
  for (const name of NAMES) if (query[name]) found[name] = String(query[name]).slice(0, 200);
  if (found.kind && !KINDS.includes(found.kind)) delete found.kind;
  if (found.source && !Object.hasOwn(SOURCES, found.source)) delete found.source;
  for (const name of ["since", "until"]) {
    if (found[name] && !/^\d{4}-\d{2}-\d{2}$/.test(found[name])) delete found[name];
  }
  if (query.meaning === "off") found.meaning = "off";
  return found;
}

function field(word, control) {
  return el("label", { class: "field" }, el("span", { text: t(word) }), control);
}

function options(...pairs) {
  return pairs.map(([value, text]) => el("option", { value, text }));
}

/** {node, clear()}: the controls. `onChange(filters)` whenever one changes. */
export function filterBar(start, { onChange }) {
  const kind = el("select", { class: "select", data: { test: "filter-kind" } }, options(["", t("search.any")], ...KINDS.map((each) => [each, kindWord(each)])));
  const source = el("select", { class: "select", data: { test: "filter-source" } }, options(["", t("search.source.any")], ...Object.keys(SOURCES).map((each) => [each, sourceWord(each)])));
  const names = el("datalist", { id: "known-entities" });
  const sessions = el("datalist", { id: "known-sessions" });
  const entity = el("input", { class: "input", type: "text", list: "known-entities", placeholder: t("search.any"), maxlength: "200", data: { test: "filter-entity" } });
  const session = el("input", { class: "input", type: "text", list: "known-sessions", placeholder: t("search.any"), maxlength: "200", data: { test: "filter-session" } });
  const since = el("input", { class: "input", type: "date", data: { test: "filter-since" } });
  const until = el("input", { class: "input", type: "date", data: { test: "filter-until" } });
  const meaning = el("input", { type: "checkbox", data: { test: "filter-meaning" } });
  const controls = { kind, source, entity, since, until, session };

  const reset = el("button", { class: "button button-quiet button-small", type: "button", text: t("search.filters.clear"), on: { click: () => set({}) } });
  const count = el("span", { class: "badge badge-accent num" });
  const more = el(
    "details",
    { class: "filters" },
    el("summary", { class: "filters-summary" }, t("search.filters"), " ", count),
    el(
      "div",
      { class: "filter-fields" },
      field("search.kind", kind),
      field("search.source", source),
      field("search.entity", entity),
      field("search.session", session),
      field("search.since", since),
      field("search.until", until),
      el("label", { class: "check filter-check", title: t("search.meaning.title") }, meaning, el("span", { text: t("search.meaning") })),
      reset,
    ),
    names,
    sessions,
  );

  function read() {
    const found = {};
    for (const [name, control] of Object.entries(controls)) if (control.value.trim()) found[name] = control.value.trim();
    if (!meaning.checked) found.meaning = "off";
    return found;
  }
  function tell() {
    const set = Object.keys(read()).length;
    count.hidden = set === 0;
    count.textContent = String(set);
    reset.hidden = set === 0;
  }
  function set(filters, quietly = false) {
    for (const [name, control] of Object.entries(controls)) control.value = filters[name] ?? "";
    meaning.checked = filters.meaning !== "off";
    tell();
    if (!quietly) onChange(read());
  }
  more.addEventListener("input", () => {
    tell();
    onChange(read());
  });
  let isAsked = false;
  more.addEventListener("toggle", async () => {
    if (!more.open || isAsked) return;
    isAsked = true; // the lists only help to type; without them everything can still be typed
    const [entities, known] = await Promise.allSettled([api.get("/entities"), api.get("/sessions", { limit: 100 })]);
    if (entities.status === "fulfilled") clear(names, entities.value.entities.slice(0, 300).map((each) => el("option", { value: each.name })));
    if (known.status === "fulfilled") clear(sessions, known.value.sessions.map((each) => el("option", { value: each.name })));
  });
  set(start, true);
  more.open = Object.keys(start).length > 0 || window.matchMedia("(min-width: 761px)").matches;
  return { node: more, read, set };
}
