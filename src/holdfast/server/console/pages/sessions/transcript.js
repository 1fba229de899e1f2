// One session's transcript: pages of it, from the end or around one entry, read on both ways.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { linkTo, tokens } from "../../format.js";
import { latest, place } from "../../parts/keeping.js";
import { failure } from "../../parts/toast.js";
import { item as itemNode } from "../../parts/transcript.js";
import { t } from "../../words.js";
import { askFork, pathOf } from "./asking.js";
import { skeleton } from "./list.js";

const PAGE = 60;
const BEHIND = 20;
const AT_ONCE = 500; // what the server tells at most
const VIEW = new Set(["compaction", "prune", "marker"]); // may change what earlier rows say

/** {node, show({seq?, entry?}), refresh()} */
export function transcript(name, { go, canFork }) {
  const path = `${pathOf(name)}/transcript`;
  const rows = el("div", { class: "entries" });
  const above = el("div", { class: "entries-more" });
  const below = el("div", { class: "entries-more" });
  const note = el("p", { class: "muted small entries-range", role: "status" });
  const node = el("div", { class: "entries-wrap", "aria-busy": "true" }, note, above, rows, below);
  const state = { items: [], earlier: null, total: 0, isAtEnd: true };

  function keep(page) {
    state.items = page.items;
    state.earlier = page.earlier;
    state.total = page.total;
  }

  async function read(target) {
    if (target == null) {
      keep(await api.get(path, { limit: PAGE }));
      state.isAtEnd = true;
      return;
    }
    keep(await api.get(path, { before: target + BEHIND, limit: PAGE }));
    state.isAtEnd = target + BEHIND >= state.total;
  }

  /** Read until an entry is there, and put it in sight. Without one: the end. */
  async function show({ seq = null, entry = null } = {}) {
    node.setAttribute("aria-busy", "true");
    if (!state.items.length) clear(rows, skeleton(6));
    try {
      let target = seq;
      if (entry) target = (await api.get(`${pathOf(name)}/entries/${encodeURIComponent(entry)}`)).seq;
      if (target == null || !state.items.some((each) => each.seq === target)) await read(target);
      draw();
      if (target != null) putInSight(target);
    } catch (error) {
      clear(rows, failure(error, { retry: () => show({ seq, entry }) }));
    } finally {
      node.removeAttribute("aria-busy");
    }
  }

  async function readEarlier() {
    const first = state.items[0]?.seq;
    const page = await api.get(path, { before: state.earlier, limit: PAGE });
    const held = rows.firstElementChild;
    const from = held?.getBoundingClientRect().top ?? 0;
    state.items = [...page.items.filter((each) => each.seq < first), ...state.items];
    state.earlier = page.earlier;
    draw();
    // What was being read stays where it was on the screen.
    const again = rowOf(first);
    if (again) again.closest(".main")?.scrollBy(0, again.getBoundingClientRect().top - from);
  }

  async function readLater() {
    const last = state.items.at(-1).seq;
    const page = await api.get(path, { before: last + PAGE + 1, limit: PAGE });
    const fresh = page.items.filter((each) => each.seq > last);
    state.items = [...state.items, ...fresh];
    state.total = page.total;
    state.isAtEnd = last + PAGE + 1 >= page.total;
    draw();
    rowOf(fresh[0]?.seq)?.focus({ preventScroll: true });
  }

  const begin = latest();

  /** New entries at the end; not while somebody reads further up. */
  async function refresh() {
    if (!state.isAtEnd) return;
    if (!state.items.length) {
      await show();
      return;
    }
    const isNewest = begin();
    try {
      const last = state.items.at(-1).seq;
      let page = await api.get(path, { limit: PAGE });
      const isNew = (each) => each.seq > last && VIEW.has(each.kind);
      const missing = (page.items[0]?.seq ?? 0) - state.items[0].seq;
      if (missing > 0 && page.items.some(isNew)) page = await api.get(path, { limit: Math.min(AT_ONCE, PAGE + missing) });
      if (!isNewest() || state.items.at(-1)?.seq !== last) return;
      const first = page.items[0]?.seq ?? 0;
      if (first > last + 1) {
        await show();
        return;
      }
      state.items = [...state.items.filter((each) => each.seq < first).map(seenAfter(page.items.filter(isNew))), ...page.items];
      state.total = page.total;
      draw();
    } catch {
      /* the next event tries again; what is shown stays */
    }
  }

  const rowOf = (seq) => rows.querySelector(`.entry[data-seq="${Number(seq)}"]`);

  function putInSight(seq) {
    for (const each of rows.querySelectorAll(".is-target")) each.classList.remove("is-target");
    const row = rowOf(seq);
    if (!row) {
      note.textContent = t("sessions.entry.none", { seq });
      return;
    }
    row.classList.add("is-target");
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "center" });
  }

  const drawn = new Map();

  // A row that was drawn stays as it is, with what somebody has unfolded in it.
  function rowFor(each) {
    const known = drawn.get(each.seq);
    if (known && known.inView === each.in_view && known.shortened === each.shortened) return known.row;
    const row = entryRow(each);
    drawn.set(each.seq, { row, inView: each.in_view, shortened: each.shortened });
    return row;
  }

  function entryRow(each) {
    const link = t("sessions.entry.link", { seq: each.seq });
    return el(
      "article",
      { class: "entry", tabindex: "-1", data: { seq: each.seq }, "aria-label": t("sessions.entry", { seq: each.seq }) },
      el(
        "div",
        { class: "entry-side" },
        el("a", {
          class: "entry-number",
          href: linkTo.session(name, each.seq),
          title: link,
          aria: { label: link },
          text: `#${tokens(each.seq)}`,
        }),
        canFork && each.kind === "message" ? forkButton(each) : null,
      ),
      el("div", { class: "entry-item" }, itemNode(each, { session: name })),
    );
  }

  function forkButton(each) {
    const label = t("sessions.fork");
    const click = async () => {
      const made = await askFork(name, each);
      if (made) go(linkTo.session(made.name));
    };
    return el(
      "button",
      { class: "button-icon entry-fork", type: "button", title: label, aria: { label: `${label} (#${each.seq})` }, on: { click } },
      icon("fork"),
    );
  }

  function draw() {
    if (!state.items.length) {
      clear(rows, emptyState(name));
      clear(above);
      clear(below);
      note.textContent = "";
      return;
    }
    place(rows, state.items.map(rowFor));
    const last = state.items.at(-1).seq;
    // The first line of the file is its head: no entry of the conversation, and not shown as one.
    note.textContent = t("sessions.range", { from: state.items[0].seq, to: last, total: Math.max(last, state.total - 1) });
    const action = (text, run) => el("button", { class: "button button-small", type: "button", text, on: { click: guarded(run) } });
    const before = state.items[0].seq;
    clear(
      above,
      state.earlier == null
        ? el("p", { class: "muted small", text: t("sessions.beginning") })
        : action(t("sessions.earlier", { count: Math.min(PAGE, before) }), readEarlier),
    );
    clear(below, state.isAtEnd ? null : [action(t("sessions.later"), readLater), action(t("sessions.toend"), () => show())]);
  }

  function guarded(run) {
    return async (event) => {
      const button = event.currentTarget;
      button.disabled = true;
      try {
        await run();
      } catch (error) {
        button.after(failure(error));
      } finally {
        button.disabled = false;
      }
    };
  }

  return { node, show, refresh };
}

// Rows too far up to be asked for again: what a compaction took out of the view is out of it.
function seenAfter(happened) {
  const gone = happened.filter((each) => each.compaction?.from_seq != null).map((each) => each.compaction);
  return (each) => {
    const isOut = gone.some((range) => range.from_seq <= each.seq && each.seq <= range.to_seq);
    return isOut ? { ...each, in_view: false } : each;
  };
}

function emptyState(name) {
  return el(
    "div",
    { class: "empty" },
    el("p", { text: t("sessions.transcript.empty") }),
    el("a", { class: "button", href: linkTo.chat(name), text: t("sessions.transcript.say") }),
  );
}
