// A part of a page that is asked for: a skeleton while it is awaited, what went wrong if it does,
// and never an answer that came too late for what is shown now.
import { clear, el } from "../../dom.js";
import { when } from "../../format.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";

/** Bars where the answer will be. */
export function skeleton(lines = 4) {
  return el(
    "div",
    { class: "skeleton-lines", "aria-busy": "true", role: "status" },
    el("span", { class: "sr", text: t("loading") }),
    Array.from({ length: lines }, () => el("div", { class: "skeleton skeleton-line", "aria-hidden": "true" })),
  );
}

/** Asks, and shows the answer in `node`. Returns a function that asks again, quietly. */
export function into(node, ask, show, { lines = 4 } = {}) {
  let turn = 0;
  async function load(quietly) {
    turn += 1;
    const mine = turn;
    if (!quietly) clear(node, skeleton(lines));
    try {
      const answer = await ask();
      if (mine === turn) show(answer, node);
    } catch (error) {
      if (mine !== turn || error.name === "AbortError") return;
      if (quietly && error.type === "offline") return; // what is shown is still the last known
      clear(node, failure(error, { retry: () => load(false) }));
    }
  }
  const again = () => load(true);
  again.first = load(false);
  return again;
}

/** A time in words, with the exact one as its title. */
export function moment(iso) {
  const { text, title } = when(iso);
  return el("time", { datetime: iso ?? "", title, text });
}

/** A day stays a day: 2026-03-14 has no hour that could be shifted. */
export function day(value) {
  const text = String(value ?? "");
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? el("time", { datetime: text, text }) : moment(text);
}

export function emptyState(title, text, ...more) {
  return el("div", { class: "empty" }, el("h2", { text: title }), text ? el("p", { text }) : null, more);
}

/** A button that is off while what it does is under way, and says what failed. */
export function actionButton({ text, run, kind = "", title = null, test = null, key = null, label = null, onError }) {
  const node = el("button", {
    class: `button button-small${kind ? ` button-${kind}` : ""}`,
    type: "button",
    title,
    text,
    aria: { label },
    data: { test, key },
    on: {
      click: async () => {
        node.disabled = true;
        try {
          await run();
        } catch (error) {
          onError(error);
        } finally {
          node.disabled = false;
        }
      },
    },
  });
  return node;
}
