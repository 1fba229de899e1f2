// The recent sessions beside the conversation.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { linkTo, when } from "../../format.js";
import { t } from "../../words.js";

const RECENT = 30;

/** {node, refresh() → {sessions, error}, setCurrent(name)}. */
export function sessionList({ current, onNew }) {
  let shown = current;
  let sessions = [];
  let problem = null;
  let isRead = false;
  const body = el("ul", { class: "chat-list-items", aria: { busy: "true" } }, skeleton());
  const node = el("aside", { class: "chat-list", aria: { label: t("chat.sessions") } },
    el("div", { class: "chat-list-head" },
      el("h2", { text: t("chat.sessions") }),
      el("button", { class: "button button-small", type: "button", data: { test: "new-session" }, on: { click: onNew } }, icon("plus"), t("chat.new"))),
    body,
    el("a", { class: "small chat-list-all", href: "#/sessions", text: t("chat.sessions.all") }));

  async function refresh() {
    try {
      sessions = (await api.get("/sessions", { limit: RECENT })).sessions;
      problem = null;
    } catch (error) {
      problem = error; // what was read before stays
    }
    isRead = true;
    body.setAttribute("aria-busy", "false");
    draw();
    return { sessions, error: problem };
  }

  function draw() {
    if (!isRead) return body;
    if (!sessions.length) {
      const text = t(problem ? "chat.sessions.failed" : "chat.sessions.none");
      return clear(body, el("li", { class: "muted small chat-list-none", text }));
    }
    return clear(body, sessions.map((each) => el("li", {},
      el("a", {
        class: "chat-list-row", href: linkTo.chat(each.name), data: { test: "chat-session" }, aria: { current: each.name === shown ? "true" : null },
      }, el("span", { class: "chat-list-name cut", text: each.name }),
      el("span", { class: "muted small cut", title: when(each.last_at).title, text: each.goal || when(each.last_at).text }),
      each.is_incognito ? icon("hidden") : null,
      each.is_closed ? el("span", { class: "badge", text: t("chat.badge.closed") }) : null))));
  }

  return {
    node,
    refresh,
    setCurrent(name) { shown = name; draw(); },
  };
}

function skeleton() {
  return [1, 2, 3, 4].map(() => el("li", { class: "skeleton skeleton-line" }));
}
