// What was said and what happened, one row per entry; used by Chat and by Sessions.
//
// item(item, {session, onExpand, open}): `onExpand(item)` may give the whole entry, or the
// originals of a compaction; without it they are fetched. Everything shown is untrusted: text is
// put in as text, HTML only from `html` fields.

import { api } from "../api.js";
import { clear, el, icon, setHtml } from "../dom.js";
import { clock, linkTo, tokens, when } from "../format.js";
import { t } from "../words.js";
import { savedCard } from "./saved.js";
import { failure } from "./toast.js";
import "./words.js";

const ROLES = ["user", "assistant", "tool", "system"];
const ORIGINALS = 200; // read at once; the rest by a button
const MARKERS = ["reset", "closed", "fork", "renamed", "model", "goal", "command", "memory", "vars"];
const SAYS = { model: "name", goal: "text", memory: "mode", vars: "text", fork: "session" };
const DRAWN = { message, recall, prune, compaction, flush, restored, marker };

export function item(it, { session, onExpand = null, open = false } = {}) {
  const draw = DRAWN[it.kind] || marker;
  const node = draw(it, { session, onExpand, open });
  node.dataset.seq = it.seq;
  node.dataset.kind = it.kind;
  if (it.in_view === false && it.kind === "message") node.classList.add("is-out");
  return node;
}

const path = (session) => `/sessions/${encodeURIComponent(session)}`;

// ── messages ────────────────────────────────────────────────────────────────────────────────

function message(it, about) {
  const role = ROLES.includes(it.role) ? it.role : "system";
  const results = it.tool_results || [];
  const onlyResults = results.length > 0;
  const body = el("div", { class: "message-body" });
  const node = el("article", { class: `message message-${role}`, data: { test: "message", role } },
    onlyResults ? null : head(it, role), body);
  const said = el("div", { class: "message-text" });
  if (!onlyResults) {
    showText(said, it);
    body.append(said);
  }
  for (const call of it.tool_calls || []) body.append(toolCall(call));
  for (const result of results) body.append(toolResult(it, result, about));
  if (!onlyResults && (it.shortened || it.truncated)) body.append(wholeButton(it, about, (whole) => showText(said, { ...it, ...whole })));
  return node;
}

function head(it, role) {
  const time = when(it.at);
  return el("header", { class: "message-head" },
    el("span", { class: "message-role", text: t(`item.${role}`) }),
    it.model ? el("span", { class: "muted small cut", text: it.model }) : null,
    el("time", { class: "muted small", datetime: it.at, title: time.title, text: clock(it.at) }),
    it.trust && it.trust !== "user" && role === "user" ? el("span", { class: "badge badge-warn", text: t(`trust.${it.trust}`) }) : null,
    it.in_view === false ? el("span", { class: "badge", text: t("item.out") }) : null);
}

function showText(said, it) {
  clear(said);
  if (it.html) said.append(setHtml(el("div", { class: "prose", dir: "auto" }), it.html));
  else if (it.text) said.append(el("div", { class: "plain", dir: "auto", text: it.text }));
  else if (!(it.tool_calls || []).length) said.append(el("p", { class: "muted", text: t("item.empty") }));
}

export function toolCall(call) {
  return el("details", { class: "tool", data: { test: "tool-call" } },
    el("summary", {}, icon("tool"), el("span", { text: t("item.call", { name: call.name }) })),
    el("pre", { class: "tool-text", tabindex: "0", text: pretty(call.arguments) }));
}

export function toolResult(it, result, about) {
  const text = el("pre", { class: "tool-text", tabindex: "0", text: result.text });
  const box = el("div", {}, text);
  if (it.shortened || it.truncated) {
    box.append(wholeButton(it, about, (whole) => {
      const found = (whole.tool_results || []).find((each) => each.id === result.id) || whole;
      text.textContent = found.text;
    }));
  }
  return el("details", { class: result.is_error ? "tool is-error" : "tool", data: { test: "tool-result" } },
    el("summary", {}, icon(result.is_error ? "warn" : "check"),
      el("span", { text: t("item.result", { name: result.name || t("item.tool") }) }),
      result.is_error ? el("span", { class: "badge badge-bad", text: t("item.failed") }) : null,
      it.shortened ? el("span", { class: "badge", text: t("item.shortened") }) : null),
    box);
}

function pretty(text) {
  const value = typeof text === "string" ? text : JSON.stringify(text);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

function wholeButton(it, { session, onExpand }, show) {
  const row = el("div", { class: "row" });
  const button = el("button", { class: "link small", type: "button", text: t("item.whole"), data: { test: "show-whole" } });
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const whole = onExpand ? await onExpand(it) : await api.get(`${path(session)}/entries/${encodeURIComponent(it.id)}`);
      show(whole);
      clear(row, whole.truncated ? el("span", { class: "muted small", text: t("item.truncated") }) : null);
    } catch (error) {
      button.disabled = false;
      row.append(failure(error));
    }
  });
  row.append(button);
  return row;
}

// ── what happened ───────────────────────────────────────────────────────────────────────────

function compaction(it, about) {
  const made = it.compaction;
  const originals = el("div", { class: "fold-originals" });
  const button = el("button", { class: "button button-small", type: "button", data: { test: "fold-originals" }, aria: { expanded: "false" }, text: t("fold.originals") });
  const node = el("details", { class: "fold", data: { test: "fold" }, open: about.open },
    el("summary", {}, icon("fold"),
      el("span", { class: "fold-title", text: t("fold.title", { count: made.dropped }) }),
      el("span", { class: "muted num", text: t("fold.tokens", { before: tokens(made.tokens_before), after: tokens(made.tokens_after) }) }),
      icon("down")),
    el("div", { class: "fold-body" },
      el("h3", { text: t("fold.summary") }),
      el("ul", { class: "fold-summary" }, (made.summary || []).map((part) => summaryPart(part, about))),
      el("div", { class: "row" }, button), originals));
  let loaded = false;
  button.addEventListener("click", async () => {
    const expand = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(expand));
    button.textContent = t(expand ? "fold.originals.hide" : "fold.originals");
    originals.hidden = !expand;
    if (!expand || loaded) return;
    loaded = await showOriginals(originals, it, about);
    if (!loaded) {
      button.setAttribute("aria-expanded", "false");
      button.textContent = t("fold.originals");
    }
  });
  return node;
}

async function showOriginals(node, it, { session, onExpand }) {
  clear(node, el("div", { class: "skeleton skeleton-block", aria: { busy: "true" } }));
  try {
    const { from_seq: from, to_seq: to } = it.compaction;
    const page = onExpand ? { items: await onExpand(it) } : await api.get(`${path(session)}/transcript`, { from, to, limit: ORIGINALS });
    const group = el("div", { class: "originals", role: "group", aria: { label: t("fold.originals.label") } });
    clear(node, group);
    addOriginals(group, page, it, session);
    return true;
  } catch (error) {
    clear(node, failure(error));
    return false;
  }
}

/** A page of them, on top of the later ones; and the way to the earlier, while there are any. */
function addOriginals(group, page, it, session) {
  const { from_seq: from, to_seq: to } = it.compaction;
  const shown = page.items.filter((each) => each.seq !== it.seq);
  group.prepend(...shown.map((each) => item({ ...each, in_view: true }, { session })));
  const first = page.items[0]?.seq;
  if (page.earlier === null || page.earlier === undefined || first === undefined || first <= from) return;
  const more = el("button", { class: "button button-small", type: "button", data: { test: "more-originals" }, text: t("fold.originals.more") });
  more.addEventListener("click", async () => {
    more.disabled = true;
    try {
      const earlier = await api.get(`${path(session)}/transcript`, { from, to, before: page.earlier, limit: ORIGINALS });
      more.remove();
      addOriginals(group, earlier, it, session);
    } catch (error) {
      more.disabled = false;
      more.after(failure(error));
    }
  });
  group.prepend(more);
}

function summaryPart(part, { session }) {
  const body = el("div", { class: "grow", dir: "auto" });
  if (part.html) setHtml(body, part.html).classList.add("prose");
  else body.append(part.text);
  const sources = (part.sources || []).slice(0, 6);
  return el("li", {}, body, sources.map((id, at) => el("a", {
    class: "cite", href: linkTo.entry(session, id), title: t("fold.original"), aria: { label: `${t("fold.original")} ${at + 1}` }, text: String(at + 1),
  })));
}

function flush(it, about) {
  return el("div", { class: "happening" }, savedCard(it.flush, { open: about.open }));
}

function recall(it) {
  const passages = it.recall?.passages || [];
  return el("details", { class: "recall", data: { test: "recall-card" } },
    el("summary", {}, icon("memory"), el("span", { text: t("recall.title", { count: passages.length }) }), icon("down")),
    el("ul", { class: "recall-list" }, passages.map((passage) => el("li", {},
      el("div", { class: "plain", dir: "auto", text: passage.text }),
      el("div", { class: "row" },
        el("a", { class: "cite", data: { test: "recall-source" }, href: linkTo.citation(passage.citation) }, icon("link"), el("span", { text: passage.citation })),
        passage.trust && passage.trust !== "user" ? el("span", { class: "badge badge-warn", text: t(`trust.${passage.trust}`) }) : null)))));
}

function prune(it) {
  const made = it.prune || {};
  return el("p", { class: "line-note" }, icon("fold"),
    el("span", { text: t("prune.title", { count: made.shortened || 0 }) }),
    el("span", { class: "muted num", text: t("fold.tokens", { before: tokens(made.tokens_before), after: tokens(made.tokens_after) }) }));
}

function restored(it) {
  const body = el("div", { class: "fold-body" });
  if (it.html) setHtml(body, it.html).classList.add("prose");
  else body.append(el("div", { class: "plain", text: it.text }));
  return el("details", { class: "fold fold-restored", data: { test: "restored" } },
    el("summary", {}, icon("history"), el("span", { class: "fold-title", text: t("restored.title") }), icon("down")), body);
}

function marker(it) {
  const kind = it.marker?.kind || it.kind;
  const value = it.marker?.[SAYS[kind]] || "";
  const text = MARKERS.includes(kind) ? t(`marker.${kind}`) : t("marker.other", { kind });
  return el("p", { class: "line-note line-marker" }, el("span", { text: value ? t("marker.says", { text, value }) : text }), el("time", { class: "muted", datetime: it.at, title: when(it.at).title, text: clock(it.at) }));
}
