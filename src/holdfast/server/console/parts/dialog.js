// Questions that stop everything else: a real <dialog>, so focus stays inside, Escape closes it
// and focus goes back to where it was.

import { el, icon } from "../dom.js";
import { t } from "../words.js";

let count = 0;

/** A dialog with a title and what you put in. Returns {node, close(value), done: Promise}. */
export function dialog({ title, body, actions = [], wide = false }) {
  const id = `dialog-${(count += 1)}`;
  const before = document.activeElement;
  let finish;
  const done = new Promise((resolve) => { finish = resolve; });
  const node = el("dialog", { class: wide ? "dialog dialog-wide" : "dialog", aria: { labelledby: id } },
    el("div", { class: "dialog-head" },
      el("h2", { id, text: title }),
      el("button", { class: "button-icon", type: "button", aria: { label: t("action.close") }, on: { click: () => close(null) } }, icon("close"))),
    el("div", { class: "dialog-body" }, body),
    actions.length ? el("div", { class: "dialog-actions" }, actions) : null);

  function close(value) {
    if (!node.isConnected) return;
    node.close();
    const news = node.querySelector("#toasts");
    if (news) document.body.append(news); // they outlive the dialog they came in
    node.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    finish(value);
  }
  node.addEventListener("cancel", (event) => { event.preventDefault(); close(null); });
  node.addEventListener("click", (event) => { if (event.target === node) close(null); });
  document.body.append(node);
  node.showModal();
  return { node, close, done };
}

/** Whether the person says yes. `danger` makes the button say so. */
export async function confirm({ title, text, action, danger = false }) {
  const yes = el("button", {
    class: danger ? "button button-danger" : "button button-primary", type: "button",
    text: action, data: { test: "confirm" },
  });
  const no = el("button", { class: "button", type: "button", text: t("action.cancel") });
  const asked = dialog({ title, body: el("p", { text }), actions: [no, yes] });
  yes.addEventListener("click", () => asked.close(true));
  no.addEventListener("click", () => asked.close(false));
  (danger ? no : yes).focus();
  return (await asked.done) === true;
}
