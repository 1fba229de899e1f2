// Short news at the edge of the page, and failures where they happened.

import { el, icon } from "../dom.js";
import { t } from "../words.js";

const STAYS = 6000;
const AT_MOST = 3;
const FRESH = 1000; // ms: "deleted", and the list is opened

const born = new WeakMap();

function corner() {
  let node = document.getElementById("toasts");
  if (!node) {
    node = el("div", { id: "toasts", class: "toasts", role: "status", aria: { live: "polite" } });
  }
  const open = [...document.querySelectorAll("dialog[open]")].pop();
  const place = open || document.body; // what lies outside of an open dialog cannot be clicked
  if (node.parentElement !== place) place.append(node);
  return node;
}

/** kind: "good" | "bad" | "plain"; action: {text, run}. With an action it stays longer. */
export function toast(text, { kind = "plain", action = null } = {}) {
  const node = el("div", { class: `toast toast-${kind}`, data: { test: "toast" } },
    icon(kind === "bad" ? "warn" : kind === "good" ? "check" : "info"),
    el("span", { class: "toast-text", text }));
  const leave = () => node.remove();
  if (action) {
    node.append(el("button", {
      class: "button button-small", type: "button", text: action.text,
      on: { click: () => { leave(); action.run(); } },
    }));
  }
  node.append(el("button", {
    class: "button-icon", type: "button", aria: { label: t("action.close") }, on: { click: leave },
  }, icon("close")));
  const place = corner();
  while (place.childElementCount >= AT_MOST) place.firstElementChild.remove();
  place.append(node);
  born.set(node, Date.now());
  let timer = setTimeout(leave, action ? STAYS * 2 : STAYS);
  node.addEventListener("mouseenter", () => clearTimeout(timer));
  node.addEventListener("mouseleave", () => { timer = setTimeout(leave, STAYS); });
  return leave;
}

/** Another page is shown: what was told about the one before is gone, unless it is the reason. */
export function dropToasts() {
  const now = Date.now();
  for (const node of document.querySelectorAll("#toasts > .toast")) {
    if (now - born.get(node) > FRESH) node.remove();
  }
}

/** What went wrong, why, what to do. `retry` adds a button. */
export function failure(error, { retry = null } = {}) {
  const offline = error?.type === "offline";
  const known = offline || typeof error?.status === "number";
  if (!known) console.error(error);
  const message = offline ? t("error.offline") : known ? error.message : t("error.unexpected");
  const hint = offline ? t("error.offline.hint") : known ? error.hint : String(error?.message || error);
  return el("div", { class: "failure", role: "alert", data: { test: "failure" } },
    icon("warn"),
    el("div", { class: "failure-text" },
      el("p", { class: "failure-message", text: message }),
      hint ? el("p", { class: "failure-hint" }, el("span", { class: "muted", text: `${t("error.hint")}: ` }), hint) : null),
    retry ? el("button", { class: "button button-small", type: "button", text: t("action.retry"), on: { click: retry } }) : null);
}
