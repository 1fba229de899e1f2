// All sessions: a table on a wide page, cards on a narrow one.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { bytes, linkTo, tokens, when } from "../../format.js";
import { live } from "../../live.js";
import { keeping } from "../../parts/keeping.js";
import { failure, toast } from "../../parts/toast.js";
import { locale, t } from "../../words.js";
import { askDelete, askNew, askRename } from "./asking.js";

const PAGE = 50;
const AT_ONCE = 500; // what the server tells at most
const MOST = 5000; // a filter looks through no more
const TYPING_MS = 250;
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
  const tools = toolbar(state, { draw, all: () => later(readAll, TYPING_MS) });
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

  let turn = 0; // of the reading that counts; one that was overtaken is not shown
  let wantsAll = false; // somebody looks for, or sorts by, what is not read yet
  const timers = new Map(); // by what they do

  function later(run, wait) {
    clearTimeout(timers.get(run));
    timers.set(run, setTimeout(run, wait));
  }

  /** Read anew, at least so many. */
  async function load(count) {
    turn += 1;
    const mine = turn;
    try {
      const found = [];
      let after = null;
      do {
        const page = await api.get("/sessions", { limit: Math.min(AT_ONCE, Math.max(PAGE, count - found.length)), after });
        if (mine !== turn) return;
        found.push(...page.sessions);
        after = page.next;
      } while (after && found.length < count);
      Object.assign(state, { sessions: found, next: after });
      draw();
    } catch (error) {
      if (mine !== turn || (error.type === "offline" && state.sessions.length)) return; // the last known stays
      clear(body, failure(error, { retry: () => load(count) }));
    } finally {
      if (mine === turn) body.removeAttribute("aria-busy");
    }
  }

  const more = () => load(state.sessions.length + PAGE);
  const reload = () => load(wantsAll ? MOST : Math.max(PAGE, state.sessions.length));

  function readAll() {
    if (wantsAll || !state.next) return;
    wantsAll = true;
    reload();
  }

  function draw() {
    const shown = chosen(state);
    const all = state.sessions.length;
    count.textContent = counted(shown.length, all, state.filter);
    tools.hidden = !all;
    create.hidden = !all; // the empty state has the one thing to do
    if (!all) clear(body, emptyState());
    else if (!shown.length) clear(body, noMatch(state, tools, draw));
    else keeping(body, () => clear(body, table(shown, { state, draw, all: readAll, go, reload }), moreButton(state, more)));
  }

  body.setAttribute("aria-busy", "true");
  clear(body, skeleton());
  await load(PAGE);

  const off = live.on((told) => {
    if (CHANGES.has(told.event)) later(reload, QUIET_MS);
  });
  return () => {
    off();
    turn += 1;
    for (const each of timers.values()) clearTimeout(each);
  };
}

function counted(shown, all, filter) {
  if (!all) return "";
  return filter.trim() ? t("sessions.shown.of", { shown, count: all }) : t("sessions.shown", { count: all });
}

async function begin(go) {
  const made = await askNew();
  if (made) go(linkTo.chat(made.name));
}

function toolbar(state, { draw, all }) {
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
        all();
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
          all();
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

function table(shown, { state, draw, all, go, reload }) {
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
              all();
            },
          },
          data: { sort: key, key: `sort:${key}` },
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
      el("a", { href: linkTo.session(session.name), text: session.name, data: { key: `name:${session.name}` } }),
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
    el("button", { class: "button-icon", type: "button", title: label, aria: { label }, data: { key: `${picture}:${name}` }, on: { click } }, icon(picture));
  const open = t("sessions.open.named", { name });
  return el(
    "div",
    { class: "row-actions" },
    el("a", { class: "button-icon", href: linkTo.chat(name), title: open, aria: { label: open }, data: { key: `chat:${name}` } }, icon("chat")),
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
    el("button", { class: "button", type: "button", text: t("sessions.more"), data: { key: "more" }, on: { click: () => more() } }),
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
