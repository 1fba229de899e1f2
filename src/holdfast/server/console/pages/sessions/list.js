// All sessions: a table on a wide page, cards on a narrow one.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { bytes, linkTo, tokens, when } from "../../format.js";
import { live } from "../../live.js";
import { failure, toast } from "../../parts/toast.js";
import { locale, t } from "../../words.js";
import { askDelete, askNew, askRename } from "./asking.js";

const PAGE = 50;
const MOST_PAGES = 40;
const QUIET_MS = 700;
const SORTS = ["last_at", "name", "messages", "compactions", "bytes"];
const CHANGES = new Set([
  "session_started", "session_closed", "session_renamed", "session_deleted", "turn_finished",
  "compaction_end", "reset",
]);

export async function showList(root, { go }) {
  const state = { sessions: [], next: null, filter: "", sort: "last_at" };
  const body = el("div", { class: "sessions-body" });
  const count = el("span", { class: "muted sessions-count", role: "status" });
  const tools = toolbar(state, { draw, more });
  const create = el(
    "button",
    { class: "button button-primary", type: "button", data: { test: "new-session" }, on: { click: () => begin(go) } },
    icon("plus"),
    t("sessions.new"),
  );
  clear(
    root,
    el(
      "section",
      { class: "page sessions-page" },
      el(
        "div",
        { class: "page-head" },
        el("div", {}, el("h1", { tabindex: "-1", text: t("sessions.title") }), el("p", { class: "muted", text: t("sessions.lead") })),
        create,
      ),
      el("div", { class: "sessions-bar" }, tools, count),
      body,
    ),
  );

  async function read(pages = 1) {
    const found = [];
    let after = null;
    do {
      const page = await api.get("/sessions", { limit: PAGE, after });
      found.push(...page.sessions);
      after = page.next;
      pages -= 1;
    } while (after && pages > 0);
    state.sessions = found;
    state.next = after;
  }

  async function more(pages = 1) {
    await load(Math.ceil(state.sessions.length / PAGE) + pages);
  }

  async function load(pages) {
    try {
      await read(pages);
      draw();
    } catch (error) {
      clear(body, failure(error, { retry: () => load(pages) }));
    } finally {
      body.removeAttribute("aria-busy");
    }
  }

  function draw() {
    const shown = chosen(state);
    const all = state.sessions.length;
    count.textContent =
      !all ? "" : shown.length < all ? t("sessions.shown.of", { shown: shown.length, count: all }) : t("sessions.shown", { count: all });
    tools.hidden = !all;
    create.hidden = !all; // the empty state has the one thing to do
    if (!all) clear(body, emptyState());
    else if (!shown.length) clear(body, noMatch(state, tools, draw));
    else clear(body, table(shown, { state, draw, go, reload }), moreButton(state, more));
  }

  const reload = () => load(Math.max(1, Math.ceil(state.sessions.length / PAGE)));
  body.setAttribute("aria-busy", "true");
  clear(body, skeleton());
  await load(1);

  let timer = null;
  const off = live.on((told) => {
    if (!CHANGES.has(told.event)) return;
    clearTimeout(timer);
    timer = setTimeout(reload, QUIET_MS);
  });
  return () => {
    off();
    clearTimeout(timer);
  };
}

async function begin(go) {
  const made = await askNew();
  if (made) go(linkTo.chat(made.name));
}

function toolbar(state, { draw, more }) {
  const filter = el("input", {
    class: "input sessions-filter",
    type: "search",
    placeholder: t("sessions.filter"),
    aria: { label: t("sessions.filter") },
    autocomplete: "off",
    on: {
      input: () => {
        state.filter = filter.value;
        draw();
        if (state.next) more(MOST_PAGES);
      },
    },
  });
  const sort = el(
    "select",
    {
      class: "select sessions-sort",
      aria: { label: t("sessions.sort") },
      on: {
        change: () => {
          state.sort = sort.value;
          draw();
          if (state.next) more(MOST_PAGES);
        },
      },
    },
    SORTS.map((each) => el("option", { value: each, text: t(`sessions.sort.${each}`) })),
  );
  return el("div", { class: "sessions-tools" }, filter, sort);
}

function chosen({ sessions, filter, sort }) {
  const wanted = filter.trim().toLowerCase();
  const found = sessions.filter((each) => `${each.name}\n${each.goal ?? ""}`.toLowerCase().includes(wanted));
  const order = {
    name: (one, other) => one.name.localeCompare(other.name, locale(), { numeric: true }),
    last_at: (one, other) => String(other.last_at ?? "").localeCompare(String(one.last_at ?? "")),
  };
  return found.sort(order[sort] ?? ((one, other) => other[sort] - one[sort]));
}

function table(shown, { state, draw, go, reload }) {
  const head = (key, className) =>
    el(
      "th",
      { scope: "col", class: className, "aria-sort": state.sort === key ? (key === "name" ? "ascending" : "descending") : null },
      el(
        "button",
        {
          class: "sort-button",
          type: "button",
          on: {
            click: () => {
              state.sort = key;
              const select = document.querySelector(".sessions-sort");
              if (select) select.value = key;
              draw();
              document.querySelector(`[data-sort="${key}"]`)?.focus();
            },
          },
          data: { sort: key },
        },
        t(`sessions.sort.${key}`),
        state.sort === key ? icon(key === "name" ? "up" : "down") : null,
      ),
    );
  return el(
    "table",
    { class: "table sessions-table" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        head("name"),
        head("last_at"),
        head("messages", "num"),
        head("compactions", "num"),
        head("bytes", "num"),
        el("th", { scope: "col" }, el("span", { class: "sr", text: t("sessions.col.actions") })),
      ),
    ),
    el("tbody", {}, shown.map((each) => row(each, { go, reload }))),
  );
}

function row(session, { go, reload }) {
  const last = when(session.last_at ?? session.created_at);
  const cell = (key, text, className = "num") =>
    el("td", { class: className, data: { label: t(`sessions.sort.${key}`) } }, text);
  return el(
    "tr",
    { data: { test: "session-row" } },
    el(
      "td",
      { class: "sessions-name" },
      el("a", { href: linkTo.session(session.name), text: session.name }),
      badges(session),
      session.goal ? el("p", { class: "sessions-goal muted", text: session.goal }) : null,
      session.problem ? el("p", { class: "sessions-problem", text: session.problem }) : null,
    ),
    cell("last_at", el("time", { datetime: session.last_at ?? "", title: last.title, text: last.text }), "sessions-when"),
    cell("messages", tokens(session.messages)),
    cell("compactions", tokens(session.compactions)),
    cell("bytes", bytes(session.bytes)),
    el("td", { class: "sessions-actions" }, actions(session, { go, reload })),
  );
}

export function badges(session) {
  return [
    session.is_closed ? el("span", { class: "badge", text: t("sessions.closed") }) : null,
    session.is_incognito ? el("span", { class: "badge badge-accent", text: t("sessions.incognito") }) : null,
    session.problem ? el("span", { class: "badge badge-bad", text: t("sessions.problem") }) : null,
  ];
}

function actions(session, { reload }) {
  const { name } = session;
  const tool = (picture, label, click) =>
    el("button", { class: "button-icon", type: "button", title: label, aria: { label }, on: { click } }, icon(picture));
  const open = t("sessions.open.named", { name });
  return el(
    "div",
    { class: "row-actions" },
    el("a", { class: "button-icon", href: linkTo.chat(name), title: open, aria: { label: open } }, icon("chat")),
    session.is_incognito ? null : tool("edit", t("sessions.rename.named", { name }), () => rename(name, reload)),
    tool("trash", t("sessions.delete.named", { name }), () => remove(session, reload)),
  );
}

async function rename(name, reload) {
  const renamed = await askRename(name);
  if (!renamed) return;
  toast(t("sessions.renamed", { name: renamed.name }), { kind: "good" });
  await reload();
}

async function remove(session, reload) {
  try {
    if (!(await askDelete(session))) return;
    toast(t("sessions.deleted", { name: session.name }), { kind: "good" });
  } catch (error) {
    toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
  }
  await reload();
}

function moreButton(state, more) {
  if (!state.next) return null;
  return el(
    "div",
    { class: "sessions-more" },
    el("button", { class: "button", type: "button", text: t("sessions.more"), on: { click: () => more() } }),
  );
}

function noMatch(state, tools, draw) {
  const clearFilter = () => {
    state.filter = "";
    const input = tools.querySelector("input");
    input.value = "";
    input.focus();
    draw();
  };
  return el(
    "div",
    { class: "empty" },
    el("p", { text: t("sessions.nomatch", { text: state.filter }) }),
    el("button", { class: "button", type: "button", text: t("sessions.nomatch.clear"), on: { click: clearFilter } }),
  );
}

function emptyState() {
  return el(
    "div",
    { class: "empty", data: { test: "empty" } },
    icon("sessions"),
    el("h2", { text: t("sessions.empty") }),
    el("p", { text: t("sessions.empty.text") }),
    el("a", { class: "button button-primary", href: linkTo.chat(), text: t("sessions.empty.chat") }),
    el("p", { class: "muted" }, t("sessions.empty.terminal"), " ", el("code", { text: "holdfast chat" })),
  );
}

export function skeleton(lines = 5) {
  return el("div", { class: "stack skeleton-lines" }, Array.from({ length: lines }, () => el("div", { class: "skeleton skeleton-line" })));
}
