// A card of the Health page: it reads by itself, and what fails in it leaves the others alone.

import { clear, el } from "../../dom.js";
import { keeping, latest } from "../../parts/keeping.js";
import { failure } from "../../parts/toast.js";

/** {node, body, refresh()}; `load()` asks, `draw(answer)` gives what to show. */
export function card({ title, actions = [], load, draw, lines = 4, test = null, id = null }) {
  const body = el("div", { class: "stack health-body" });
  const node = el(
    "section",
    { class: "card", id, tabindex: id ? "-1" : null, "aria-label": title, data: { test } },
    el("div", { class: "card-head" }, el("h2", { text: title }), actions),
    body,
  );

  const begin = latest();

  async function refresh() {
    const isNewest = begin();
    if (!body.childElementCount) {
      body.setAttribute("aria-busy", "true");
      clear(body, Array.from({ length: lines }, () => el("div", { class: "skeleton skeleton-line" })));
    }
    try {
      const answer = await load();
      if (isNewest()) keeping(body, () => clear(body, draw(answer)));
      return answer;
    } catch (error) {
      if (isNewest()) clear(body, failure(error, { retry: refresh }));
      return null;
    } finally {
      if (isNewest()) body.removeAttribute("aria-busy");
    }
  }
  return { node, body, refresh };
}

/** A button that says what it is doing until it is done. `sure()` is asked first, if there is one. */
export function worker({ text, busy, run, sure = null, quiet = false }) {
  const label = el("span", { text });
  const button = el("button", { class: quiet ? "button button-small button-quiet" : "button button-small", type: "button" }, label);
  button.addEventListener("click", async () => {
    if (sure && !(await sure())) return;
    const spinner = el("span", { class: "spinner", "aria-hidden": "true" });
    button.disabled = true;
    button.prepend(spinner);
    label.textContent = busy;
    try {
      await run();
    } finally {
      spinner.remove();
      label.textContent = text;
      button.disabled = false;
    }
  });
  return button;
}

export function facts(rows) {
  return el("dl", { class: "facts" }, rows.filter(Boolean).map(([term, value]) => [el("dt", { text: term }), el("dd", {}, value)]));
}
