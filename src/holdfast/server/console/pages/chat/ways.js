// No model: the three ways to one, as commands; and looking again.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { dialog } from "../../parts/dialog.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";

const WAYS = [
  ["key", "export ANTHROPIC_API_KEY=…   # OPENAI_API_KEY, GEMINI_API_KEY, …"],
  ["local", "ollama serve   # ollama pull qwen3"],
  ["own", "holdfast model get qwen2.5-coder-1.5b"],
];

/** The explanation; `onFound(model)` when looking again found one; `onTour` if there is a tour. */
export function ways({ model, onFound, onTour = null, heading = "h2" }) {
  const told = el("div", { class: "stack", aria: { live: "polite" } }, model && heading ? considered(model) : null);
  const look = el("button", { class: "button button-primary", type: "button", data: { test: "look-again" } }, icon("refresh"), t("chat.ways.look"));
  look.addEventListener("click", async () => {
    look.disabled = true;
    clear(told, el("p", { class: "muted", text: t("chat.ways.looking") }));
    try {
      const found = await api.post("/models/look");
      if (found.name) {
        clear(told, el("p", { class: "banner banner-accent", text: t("chat.ways.found", { model: found.name }) }));
        onFound(found);
      } else clear(told, el("p", { class: "banner", text: t("chat.ways.none", { why: found.why }) }), considered(found));
    } catch (error) {
      clear(told, failure(error));
    }
    look.disabled = false;
  });
  return el("section", { class: "ways", data: { test: "ways" } },
    heading ? el(heading, { text: t("chat.ways.title"), tabindex: "-1" }) : null,
    el("p", { class: "muted", text: t("chat.ways.text") }),
    el("ol", { class: "ways-list" }, WAYS.map(([name, command]) => el("li", {},
      el("span", { text: t(`chat.ways.${name}`) }), el("pre", { class: "command", tabindex: "0", text: command })))),
    el("p", { class: "muted small", text: t("chat.ways.restart") }),
    el("div", { class: "row" }, look,
      onTour ? el("button", { class: "button", type: "button", text: t("chat.ways.tour"), on: { click: onTour } }) : null),
    told);
}

function considered(model) {
  const rows = model.considered || [];
  if (!rows.length) return null;
  return el("details", { class: "small" }, el("summary", { text: t("chat.ways.considered") }),
    el("ul", { class: "ways-considered" }, rows.map((row) => el("li", {}, el("strong", { text: row.place }), ` ${row.model || ""} `, el("span", { class: "muted", text: row.why })))));
}

export function waysDialog(about) {
  dialog({ title: t("chat.ways.title"), body: ways({ ...about, heading: null }), wide: true });
}
