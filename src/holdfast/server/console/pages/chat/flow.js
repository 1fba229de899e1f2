// The conversation as it is on disk, and the turn that is going on below it.
//
// What is on disk is drawn from the transcript, row by row, and only rows that changed are drawn
// again: an opened fold stays open. The turn that is going on is drawn from its steps, as plain
// text; once it ends its place is taken by what the transcript has.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { item, toolCall, toolResult } from "../../parts/transcript.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";

const PAGE = 60;
const TOLD = ["reset", "closed", "fork", "forked", "new"];
const CHANGES_VIEW = ["compaction", "prune"]; // of what was said before
const PACE = 60; // ms between two additions to an answer that is being heard
const LOW = window.matchMedia("(max-height: 560px)");
const NEAR = 120; // px from the bottom that count as reading the newest

/** Whether it is part of the story; which model was chosen, or a goal, stands in the head. */
function isTold(it) {
  return it.kind !== "marker" || TOLD.includes(it.marker?.kind);
}

function isOpen(node) {
  return Boolean(node && (node.matches("details") ? node : node.querySelector("details"))?.open);
}

/** A fold stands where the view begins now; what was told at the start, before the first message. */
function here(it) {
  if (it.kind === "compaction" && it.compaction?.to_seq) return it.compaction.to_seq + 0.5;
  return it.kind === "restored" ? it.seq - 1.5 : it.seq;
}

/** {node, load(), refresh(), begin(text, since), step(step), end(error), say(text), …} of a session. */
export function flow({ session, empty, onAskAgain }) {
  const path = `/sessions/${encodeURIComponent(session)}`;
  const rows = new Map(); // seq → {item, node, drawn}
  let earlier = null;
  let turn = null;
  let isClosed = false;
  let isRead = false;

  const more = el("button", { class: "button button-small chat-earlier", type: "button", text: t("chat.earlier"), on: { click: loadEarlier } });
  const list = el("div", { class: "flow-list" });
  const tail = el("div", { class: "flow-tail" });
  const status = el("div", { class: "flow-status", role: "status" });
  const unanswered = el("div", { class: "flow-unanswered" });
  const notice = el("div", { class: "flow-notice" });
  const inner = el("div", { class: "flow-inner" }, more, list, unanswered, tail, status, notice);
  const down = el("button", { class: "button button-small flow-down", type: "button", hidden: true, on: { click: () => toBottom(true) } }, icon("down"), t("chat.bottom"));
  const scroller = el("div", { class: "flow", tabindex: "0", role: "region", aria: { label: t("chat.messages") }, on: { scroll: scrolled } }, inner);
  const node = el("div", { class: "flow-wrap" }, scroller, down);
  more.hidden = true;
  const resized = new ResizeObserver(() => toBottom(false));
  resized.observe(scroller);
  resized.observe(inner);

  // ── scrolling ─────────────────────────────────────────────────────────────────────────────

  let stick = true;

  /** On a low screen the head scrolls away with the messages: then the column is what scrolls. */
  const box = () => (LOW.matches && node.parentElement) || scroller;

  function scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = box();
    stick = scrollHeight - scrollTop - clientHeight < NEAR;
    down.hidden = stick;
  }

  function toBottom(force) {
    if (!force && !stick) return;
    box().scrollTop = box().scrollHeight;
    stick = true;
    down.hidden = true;
  }

  // ── what is on disk ───────────────────────────────────────────────────────────────────────

  async function load() {
    node.parentElement?.addEventListener("scroll", scrolled);
    clear(list, [1, 2, 3].map(() => el("div", { class: "skeleton skeleton-block", aria: { busy: "true" } })));
    const page = await api.get(`${path}/transcript`, { limit: PAGE });
    clear(list);
    take(page, true);
    toBottom(true);
  }

  async function loadEarlier() {
    more.disabled = true;
    const height = box().scrollHeight;
    try {
      take(await api.get(`${path}/transcript`, { before: earlier, limit: PAGE }), true);
      box().scrollTop += box().scrollHeight - height;
    } catch (error) {
      more.after(failure(error));
    }
    more.disabled = false;
  }

  let reading = null;

  /** Read the newest page again; calls that come meanwhile share one more reading. */
  function refresh() {
    if (reading) {
      reading.again = true;
      return reading.done;
    }
    const mine = { again: false };
    reading = mine;
    mine.done = (async () => {
      do {
        mine.again = false;
        take(await api.get(`${path}/transcript`, { limit: PAGE }), rows.size === 0);
      } while (mine.again);
    })().finally(() => { reading = null; });
    return mine.done;
  }

  function take(page, isEdge) {
    isRead = true;
    if (isEdge) earlier = page.earlier;
    else if (isOutdated(page)) {
      for (const seq of [...rows.keys()]) if (seq < page.items[0].seq) rows.delete(seq);
      earlier = page.earlier;
    }
    for (const it of page.items) {
      const drawn = JSON.stringify(it);
      const old = rows.get(it.seq);
      if (!old || old.drawn !== drawn) rows.set(it.seq, { item: it, node: null, drawn, wasOpen: isOpen(old?.node) });
    }
    draw();
  }

  /** Whether the rows above a page that was read anew can no longer be shown as they are: more
      happened than one page holds, or something in it changed what the model sees of them. */
  function isOutdated(page) {
    const first = page.items[0];
    const last = newest();
    if (!first || last < 0 || page.earlier === null) return false;
    if (first.seq > last + 1 && page.earlier > last) return true;
    return page.items.some((it) => it.seq > last && (CHANGES_VIEW.includes(it.kind) || it.marker?.kind === "reset"));
  }

  const newest = () => Math.max(-1, ...rows.keys());

  function draw() {
    if (!isRead) return;
    const all = [...rows.values()].map((row) => row.item);
    const folds = all.filter((it) => it.kind === "compaction" && it.compaction);
    const folded = (it) => it.in_view === false && !["compaction", "flush"].includes(it.kind)
      && folds.some(({ compaction: made }) => it.seq >= made.from_seq && it.seq <= made.to_seq);
    const shown = all.filter((it) => isTold(it) && !folded(it) && !(turn && turn.covers(it))).sort((a, b) => here(a) - here(b) || a.seq - b.seq);
    const lastFlush = shown.findLast((it) => it.kind === "flush" && it.flush?.saved);
    const nodes = shown.map((it) => {
      const row = rows.get(it.seq);
      row.node = row.node || item(it, { session, open: it === lastFlush || row.wasOpen });
      return row.node;
    });
    place(nodes);
    more.hidden = earlier === null || earlier === undefined || onlyFolded();
    if (!nodes.length && !turn) clear(list, empty());
    drawUnanswered(all);
    toBottom(false);
  }

  /** The last question has no answer: it was stopped before the first word, or the model failed. */
  function drawUnanswered(all) {
    const last = all.filter((it) => it.kind === "message").sort((a, b) => a.seq - b.seq).at(-1);
    const isWaiting = last?.role === "user" && last.text && !turn && !isClosed && !status.childElementCount;
    if (!isWaiting) return clear(unanswered);
    if (unanswered.dataset.seq === String(last.seq) && unanswered.childElementCount) return unanswered;
    unanswered.dataset.seq = last.seq;
    return clear(unanswered, el("p", { class: "line-note", data: { test: "unanswered" } }, el("span", { text: t("chat.unanswered") }),
      el("button", { class: "button button-small", type: "button", data: { test: "ask-again" }, text: t("chat.again"), on: { click: () => askAgain(last) } })));
  }

  async function askAgain(it) {
    for (const button of unanswered.querySelectorAll("button")) button.disabled = true;
    try {
      const whole = it.truncated ? await api.get(`${path}/entries/${encodeURIComponent(it.id)}`) : it;
      onAskAgain(whole.text);
    } catch (error) {
      clear(unanswered, failure(error));
    }
  }

  /** Whether everything earlier lies behind a fold that is shown: then the fold is the way in. */
  function onlyFolded() {
    const first = Math.min(...rows.keys());
    return [...rows.values()].some(({ item: it }) => it.compaction && it.compaction.from_seq <= 1 && it.compaction.to_seq >= first);
  }

  function place(nodes) {
    const wanted = new Set(nodes);
    for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
    nodes.forEach((each, at) => {
      if (list.children[at] !== each) list.insertBefore(each, list.children[at] || null);
    });
  }

  // ── the turn that is going on ─────────────────────────────────────────────────────────────

  let heard = ""; // of the answer, and not put in yet
  let writing = null;

  /** `since`: the newest entry before it; what stands behind that belongs to the turn. */
  function begin(text, since = newest()) {
    heard = "";
    turn = {
      text: null,
      said: text === null ? null : saidNode(text),
      // While it goes on, its answer and results are drawn from the steps; what was said is too,
      // until the transcript has it: then it stands there, before what was recalled for it.
      covers(it) {
        if (it.seq <= since || it.kind !== "message") return false;
        if (it.role === "user") {
          this.said?.remove();
          return false;
        }
        return true;
      },
    };
    clear(tail, turn.said, el("p", { class: "flow-wait muted" }, el("span", { class: "spinner" }), t("chat.thinking")));
    if (!rows.size) clear(list);
    else draw();
    toBottom(true);
  }

  function saidNode(text) {
    return el("article", { class: "message message-user is-pending", data: { test: "message", role: "user" } },
      el("header", { class: "message-head" }, el("span", { class: "message-role", text: t("item.user") })),
      el("div", { class: "message-body" }, el("div", { class: "plain", dir: "auto", text })));
  }

  function step(it) {
    if (!turn) return;
    if (it.kind === "text") {
      heard += it.text || "";
      writing = writing || setTimeout(write, PACE);
      return;
    }
    write();
    if (it.kind === "said") {
      tail.prepend(turn.said = saidNode(it.text));
      draw(); // the transcript may have it already
    }
    else if (it.kind === "tool_call") addTool(toolCall({ name: it.tool, arguments: it.arguments }));
    else if (it.kind === "tool_result") addTool(toolResult({}, { name: it.tool, text: it.result || "", is_error: it.is_error }, { session }));
    toBottom(false);
  }

  /** Words come faster than a page can be laid out: they are put in a few times a second. */
  function write() {
    clearTimeout(writing);
    writing = null;
    if (!heard || !turn) return;
    addText(heard);
    heard = "";
    toBottom(false);
  }

  function answer() {
    tail.querySelector(".flow-wait")?.remove();
    let node = tail.querySelector(".message-assistant");
    if (!node) {
      node = el("article", { class: "message message-assistant is-streaming", data: { test: "message", role: "assistant" } },
        el("header", { class: "message-head" }, el("span", { class: "message-role", text: t("item.assistant") }), el("span", { class: "spinner" })),
        el("div", { class: "message-body" }));
      tail.append(node);
    }
    return node.querySelector(".message-body");
  }

  function addText(text) {
    if (!turn.text) {
      turn.text = document.createTextNode("");
      answer().append(el("div", { class: "plain", dir: "auto", data: { test: "streaming" } }, turn.text));
    }
    turn.text.appendData(text);
  }

  function addTool(node) {
    turn.text = null; // what is said after a tool is a paragraph of its own
    answer().append(node);
  }

  /** The turn is over: what the transcript has takes its place; a failure stays below it. */
  async function end(error, wasAccepted = true) {
    write();
    if (!wasAccepted) turn?.said?.remove(); // it goes back into the field
    tail.querySelector(".flow-wait")?.remove();
    for (const spinner of tail.querySelectorAll(".spinner")) spinner.remove();
    try {
      const page = await api.get(`${path}/transcript`, { limit: PAGE });
      turn = null;
      clear(tail);
      take(page, rows.size === 0);
    } catch (other) {
      turn = null;
      if (!error) error = other;
    }
    if (error) tail.append(told(error));
    toBottom(false);
  }

  function told(error) {
    const shown = failure(error);
    shown.dataset.type = error.type || "";
    return shown;
  }

  /** What was told to have failed for that reason can be done now. */
  function forgive(type) {
    for (const shown of [...tail.children]) if (shown.dataset.type === type) shown.remove();
  }

  function say(text, test) {
    clear(status, text ? el("p", { class: "flow-doing", data: { test } }, el("span", { class: "spinner" }), el("span", { text })) : null);
    draw();
  }

  function leave() {
    resized.disconnect();
    node.parentElement?.removeEventListener("scroll", scrolled);
  }

  /** Below everything: what stands in the way of an answer. */
  function setNotice(child) {
    clear(notice, child);
  }

  function setClosed(value) {
    isClosed = value;
    draw();
  }

  function note(child) {
    clear(tail, child);
    toBottom(true);
  }

  return { node, load, refresh, newest, begin, step, end, say, note, forgive, setNotice, setClosed, toBottom, leave };
}
