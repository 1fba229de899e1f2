// How full one session is now, what fills it, and what its next message would do.

import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { percent, tokens } from "../../format.js";
import { gauge } from "../../parts/gauge.js";
import { ranks } from "../../parts/plots.js";
import { latest } from "../../parts/keeping.js";
import { failure } from "../../parts/toast.js";
import "../../parts/words.js";
import { language, t } from "../../words.js";
import { pathOf } from "./asking.js";
import { skeleton } from "./list.js";

/** {node, show()} */
export function contextTab(name) {
  const node = el("div", { class: "stack context-tab" });
  const meter = gauge();

  const begin = latest();

  async function show() {
    const isNewest = begin();
    if (!node.childElementCount) {
      node.setAttribute("aria-busy", "true");
      clear(node, skeleton(5));
    }
    try {
      const standing = await api.get(`${pathOf(name)}/context`);
      if (!isNewest()) return;
      meter.update(standing);
      clear(node, meter.node, details(standing));
    } catch (error) {
      if (isNewest()) clear(node, failure(error, { retry: show }));
    } finally {
      if (isNewest()) node.removeAttribute("aria-busy");
    }
  }
  return { node, show };
}

/** The word for something an answer names; its own name where there is none. */
function wordFor(prefix, name) {
  const key = `${prefix}.${name}`;
  const found = t(key);
  return found === key ? String(name).replaceAll("_", " ") : found;
}

export function markName(mark) {
  return mark === "window" ? t("sessions.mark.window") : wordFor("gauge.mark", mark.replace("_at", ""));
}

function details(standing) {
  const all = Math.max(1, standing.projected);
  const fills = standing.fills.filter((each) => each.tokens > 0);
  // What the provider counted is more than what is counted here: tools, and how it writes them.
  const rest = standing.projected - fills.reduce((sum, each) => sum + each.tokens, 0);
  const parts = rest > 0 ? [...fills, { name: "rest", tokens: rest }] : fills;
  const rows = parts.map((each) => ({
    label: each.name === "rest" ? t("sessions.fill.rest") : wordFor("gauge.fill", each.name),
    value: each.tokens,
    said: `${tokens(each.tokens)} · ${percent(each.tokens / all)}`,
  }));
  return el(
    "div",
    { class: "grid-2" },
    el(
      "section",
      { class: "card" },
      el("div", { class: "card-head" }, el("h2", { text: t("sessions.context.fills") })),
      rows.length
        ? ranks({ label: t("sessions.context.fills"), rows })
        : el("p", { class: "muted", text: t("sessions.fill.nothing") }),
    ),
    el(
      "section",
      { class: "card stack" },
      el("h2", { text: t("sessions.context.would") }),
      el("p", { text: t(`sessions.would.${standing.would_do}`) }),
      // The server's own sentence has the numbers; it is English.
      language() === "en" && standing.would ? el("p", { class: "muted small", text: standing.would }) : null,
      el("h2", { text: t("sessions.context.next") }),
      standing.next_marks.length
        ? el("ul", { class: "stack-tight" }, standing.next_marks.map(nextMark))
        : el("p", { text: t("sessions.context.full") }),
      el("p", {
        class: "muted",
        text: standing.unsaved ? t("sessions.context.unsaved", { count: standing.unsaved }) : t("sessions.context.saved"),
      }),
    ),
  );
}

function nextMark(mark) {
  return el("li", {
    class: "num",
    text: t("sessions.context.away", {
      name: markName(mark.name),
      away: tokens(mark.away),
      at: tokens(mark.at),
    }),
  });
}
