// Before the first message: what a session is, its options, and the way to a model if none answers.

import { el, icon } from "../../dom.js";
import { t } from "../../words.js";

const MODES = ["read-write", "read", "off"];

/** {node, wishes()}: the body of POST /sessions. */
export function beginning(extra) {
  const goal = el("input", { class: "input", maxlength: "500", data: { test: "new-goal" } });
  const memory = el("select", { class: "select", data: { test: "new-memory" } },
    MODES.map((mode) => el("option", { value: mode, text: t(`chat.new.memory.${mode}`) })));
  const incognito = el("input", { type: "checkbox", data: { test: "new-incognito" }, on: { change: () => { memory.disabled = incognito.checked; } } });
  const node = el("div", { class: "chat-begin" },
    extra || el("div", { class: "empty" }, icon("chat"),
      el("h1", { tabindex: "-1", text: t("chat.new.title") }),
      el("p", { text: t("chat.new.text") })),
    el("details", { class: "card chat-options", data: { test: "new-options" } }, el("summary", { text: t("chat.new.options") }),
      el("div", { class: "stack" },
        el("label", { class: "field" }, el("span", { text: t("chat.new.goal") }), goal, el("span", { class: "field-note", text: t("chat.new.goal.hint") })),
        el("label", { class: "field" }, el("span", { text: t("chat.new.memory") }), memory),
        el("label", { class: "check" }, incognito, el("span", { text: t("chat.new.incognito") })))));
  return {
    node,
    wishes() {
      const body = {};
      if (goal.value.trim()) body.goal = goal.value.trim();
      if (incognito.checked) body.incognito = true;
      else if (memory.value !== "read-write") body.memory = memory.value;
      return body;
    },
  };
}
