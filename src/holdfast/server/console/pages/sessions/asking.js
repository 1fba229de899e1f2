// The questions of the Sessions page: a name, what a new session should be, whether to delete.
//
// A dialog that fails keeps what was typed and says what is wrong beside it.

import { api } from "../../api.js";
import { el } from "../../dom.js";
import { confirm, dialog } from "../../parts/dialog.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";

const MODES = ["read-write", "read", "off"];

export const pathOf = (name) => `/sessions/${encodeURIComponent(name)}`;

/** A form in a dialog. `send()` does it and gives the answer; null when the person leaves. */
function form({ title, fields, action, send }) {
  const wrong = el("div", { class: "dialog-wrong" });
  const yes = el("button", { class: "button button-primary", type: "submit", text: action, data: { test: "confirm" } });
  const no = el("button", { class: "button", type: "button", text: t("action.cancel") });
  const node = el("form", { class: "stack" }, fields, wrong, el("div", { class: "row sessions-form-actions" }, no, yes));
  const asked = dialog({ title, body: node });
  no.addEventListener("click", () => asked.close(null));
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    yes.disabled = true;
    try {
      asked.close(await send());
    } catch (error) {
      wrong.replaceChildren(failure(error));
    } finally {
      yes.disabled = false;
    }
  });
  node.querySelector("input")?.focus();
  return asked.done;
}

function field(label, input, hint) {
  return el(
    "label",
    { class: "field" },
    el("span", { class: "field-label", text: label }),
    input,
    hint ? el("span", { class: "field-note", text: hint }) : null,
  );
}

function nameInput(value) {
  return el("input", { class: "input", type: "text", value, maxlength: "200", autocomplete: "off", spellcheck: "false" });
}

/** The session under its new name, or null. */
export function askRename(name) {
  const input = nameInput(name);
  return form({
    title: t("sessions.rename.named", { name }),
    fields: field(t("sessions.name"), input),
    action: t("sessions.rename"),
    send: async () => {
      const wanted = input.value.trim();
      return wanted && wanted !== name ? api.patch(pathOf(name), { name: wanted }) : null;
    },
  });
}

/** The new session, or null. */
export function askNew() {
  const name = nameInput("");
  const goal = el("input", { class: "input", type: "text", maxlength: "500", autocomplete: "off" });
  const mode = el("select", { class: "select" }, MODES.map((each) => el("option", { value: each, text: t(`sessions.memory.${each}`) })));
  const incognito = el("input", { type: "checkbox" });
  return form({
    title: t("sessions.new"),
    fields: [
      field(t("sessions.name"), name, t("sessions.name.hint")),
      field(t("sessions.goal"), goal, t("sessions.goal.hint")),
      field(t("sessions.memory"), mode),
      el("label", { class: "check" }, incognito, el("span", { text: t("sessions.incognito.label") })),
    ],
    action: t("sessions.create"),
    send: () => {
      const wanted = { memory: mode.value, incognito: incognito.checked };
      if (name.value.trim()) wanted.name = name.value.trim();
      if (goal.value.trim()) wanted.goal = goal.value.trim();
      return api.post("/sessions", wanted);
    },
  });
}

/** The session that begins with everything up to this entry, or null. */
export function askFork(name, item) {
  const input = nameInput(`${name}-${item.seq}`);
  return form({
    title: t("sessions.fork.title", { name, seq: item.seq }),
    fields: [el("p", { class: "muted", text: t("sessions.fork.text", { name }) }), field(t("sessions.name"), input)],
    action: t("sessions.fork.do"),
    send: () => api.post(`${pathOf(name)}/fork`, { entry: item.id, name: input.value.trim() }),
  });
}

/** Whether it was deleted. */
export async function askDelete({ name, messages }) {
  const isSure = await confirm({
    title: t("sessions.delete.title", { name }),
    text: t("sessions.delete.text", { count: messages }),
    action: t("sessions.delete.yes"),
    danger: true,
  });
  if (isSure) await api.del(pathOf(name));
  return isSure;
}
