// One session: its timeline, its transcript, what it was told at its start, how full it is.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { bytes, linkTo, tokens, when } from "../../format.js";
import { live } from "../../live.js";
import { keeping, latest } from "../../parts/keeping.js";
import { failure, toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { askDelete, askRename, pathOf } from "./asking.js";
import { contextTab } from "./context.js";
import { badges, skeleton } from "./list.js";
import { restorePacket } from "./restore.js";
import { timeline } from "./timeline.js";
import { transcript } from "./transcript.js";

const TABS = ["transcript", "restore", "context"];
const QUIET_MS = 600;
const CHANGES = new Set([
  "turn_finished", "message_end", "memory_flush_end", "compaction_end", "tool_results_pruned",
  "session_closed", "context_measured", "reset",
]);

export async function showOne(root, { name, query, go }) {
  const page = el("div", { class: "page session-page" });
  const heading = el("h1", { tabindex: "-1", text: name });
  const back = el("a", { class: "session-back", href: "#/sessions" }, icon("back"), t("sessions.back"));
  clear(root, page);
  clear(page, back, heading, el("div", { "aria-busy": "true" }, skeleton(6)));

  let detail;
  try {
    detail = await api.get(pathOf(name));
  } catch (error) {
    const isGone = error.status === 404 || error.status === 410;
    clear(page, back, heading, isGone ? gone(name, error) : failure(error, { retry: () => go(linkTo.session(name)) }));
    return null;
  }

  const parts = {
    transcript: transcript(name, { go, canFork: !detail.is_incognito }),
    restore: restorePacket(name),
    context: contextTab(name),
  };
  const tabs = tabbed(name, parts, TABS.includes(query.tab) ? query.tab : "transcript");
  const jump = (seq) => {
    tabs.select("transcript");
    history.replaceState(history.state, "", linkTo.session(name, seq));
    parts.transcript.show({ seq });
  };
  const line = timeline(name, { onPick: jump });
  const top = el("div", { class: "session-top" });
  clear(top, head(detail, { go, back, heading }));
  clear(page, top, line.node, tabs.node);

  const wanted = { seq: numberOf(query.seq), entry: query.entry || null };
  line.refresh();
  const first = wanted.seq != null || wanted.entry ? parts.transcript.show(wanted) : parts.transcript.show();
  if (tabs.selected() !== "transcript") parts[tabs.selected()].show();
  await first;

  const begin = latest();
  return follow(name, async () => {
    line.refresh();
    parts.transcript.refresh();
    if (tabs.selected() === "context") parts.context.show();
    const isNewest = begin();
    try {
      const now = await api.get(pathOf(name));
      if (isNewest()) keeping(top, () => clear(top, head(now, { go, back, heading })));
    } catch {
      /* it may be gone by now; what is shown stays readable */
    }
  });
}

function numberOf(text) {
  const found = Number.parseInt(text ?? "", 10);
  return Number.isSafeInteger(found) && found >= 0 ? found : null;
}

// What happens to this session is drawn a moment after it, once for many events.
function follow(name, redraw) {
  let timer = null;
  const off = live.on((told) => {
    if (!CHANGES.has(told.event) || (told.event !== "reset" && told.session !== name)) return;
    clearTimeout(timer);
    timer = setTimeout(redraw, QUIET_MS);
  });
  return () => {
    off();
    clearTimeout(timer);
  };
}

function gone(name, error) {
  return el(
    "div",
    { class: "empty" },
    icon("info"),
    el("h2", { text: t("sessions.gone", { name }) }),
    el("p", { text: error.message || t("sessions.gone.text") }),
    error.hint ? el("p", { class: "small", text: error.hint }) : null,
    el("a", { class: "button", href: "#/sessions", text: t("sessions.back") }),
  );
}

function head(detail, { go, back, heading }) {
  const { name } = detail;
  const rename = async () => {
    const renamed = await askRename(name);
    if (renamed) go(linkTo.session(renamed.name));
  };
  const remove = async () => {
    try {
      if (!(await askDelete(detail))) return;
      toast(t("sessions.deleted", { name }), { kind: "good" });
      go("#/sessions");
    } catch (error) {
      toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
    }
  };
  return [
    back,
    el(
      "div",
      { class: "page-head" },
      el("div", { class: "session-title" }, heading, badges(detail)),
      el("div", { class: "row session-actions" },
        el("a", { class: "button button-primary", href: linkTo.chat(name), data: { key: "open" } }, icon("chat"), t("sessions.open")),
        detail.is_incognito ? null : el("button", { class: "button", type: "button", data: { key: "rename" }, on: { click: rename } }, icon("edit"), t("sessions.rename")),
        el("button", { class: "button button-danger", type: "button", data: { key: "delete" }, on: { click: remove } }, icon("trash"), t("sessions.delete"))),
    ),
    detail.goal ? el("p", { class: "session-goal" }, icon("target"), detail.goal) : null,
    facts(detail),
  ];
}

function facts(detail) {
  const time = (iso) => {
    const said = when(iso);
    return el("time", { datetime: iso ?? "", title: said.title, text: said.text });
  };
  const rows = [
    [t("sessions.fact.messages"), tokens(detail.messages)],
    [t("sessions.fact.compactions"), tokens(detail.compactions)],
    [t("sessions.fact.size"), bytes(detail.bytes)],
    [t("sessions.fact.last"), time(detail.last_at)],
    [t("sessions.fact.created"), time(detail.created_at)],
    detail.model ? [t("sessions.fact.model"), detail.model] : null,
    detail.memory_mode ? [t("sessions.fact.memory"), t(`sessions.memory.${detail.memory_mode}`)] : null,
    detail.forked_from
      ? [t("sessions.fact.forked"), el("a", { href: linkTo.session(detail.forked_from), text: detail.forked_from })]
      : null,
  ];
  const pair = ([term, value]) => el("div", {}, el("dt", { text: term }), el("dd", {}, value));
  return el("dl", { class: "session-facts" }, rows.filter(Boolean).map(pair));
}

// Tabs that the arrow keys go through; each part is read when it is first looked at.
function tabbed(name, parts, chosen) {
  const panels = {};
  const buttons = {};
  let selected = chosen;
  for (const id of TABS) {
    buttons[id] = el("button", {
      id: `tab-${id}`, role: "tab", type: "button", text: t(`sessions.tab.${id}`), data: { test: `tab-${id}` },
      aria: { controls: `panel-${id}` }, on: { click: () => { select(id); address(id); } },
    });
    panels[id] = el("div", { id: `panel-${id}`, role: "tabpanel", aria: { labelledby: `tab-${id}` } }, parts[id].node);
  }
  const list = el("div", { class: "tabs", role: "tablist", aria: { label: t("sessions.tabs") } }, TABS.map((id) => buttons[id]));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(selected) + step + TABS.length) % TABS.length];
    select(next);
    address(next);
    buttons[next].focus();
  });

  const address = (id) => history.replaceState(history.state, "", `${linkTo.session(name)}${id === "transcript" ? "" : `?tab=${id}`}`);

  function mark() {
    for (const id of TABS) {
      buttons[id].setAttribute("aria-selected", String(id === selected));
      buttons[id].tabIndex = id === selected ? 0 : -1;
      panels[id].hidden = id !== selected;
    }
  }

  function select(id) {
    if (id === selected) return;
    selected = id;
    mark();
    if (id !== "transcript") parts[id].show();
  }
  mark();
  return { node: el("div", { class: "session-tabs" }, list, TABS.map((id) => panels[id])), select, selected: () => selected };
}
