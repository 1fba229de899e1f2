// The field a message is typed in. Typed text is cleared only once the server has it.

import { el, icon } from "../../dom.js";
import { t } from "../../words.js";
import { draft, keepDraft } from "./drafts.js";

const TALLEST = 220;

/** {node, setRunning(bool), setClosed(bool), giveBack(text), focus(), moveTo(session)}. */
export function composer({ session, placeholder, onSend, onStop }) {
  let name = session;
  let running = false;
  let closed = false;
  const field = el("textarea", {
    class: "composer-field", rows: "1", placeholder, data: { test: "composer" }, aria: { label: t("chat.composer") }, dir: "auto",
    on: { input: typed, keydown: pressed },
  });
  const send = el("button", { class: "button button-primary composer-send", type: "submit", data: { test: "send" } }, icon("send"), el("span", { text: t("chat.send") }));
  const stop = el("button", { class: "button composer-send", type: "button", data: { test: "stop" }, on: { click: () => onStop() } }, icon("stop"), el("span", { text: t("chat.stop") }));
  const node = el("form", { class: "composer", on: { submit: (event) => { event.preventDefault(); submit(); } } }, field, send, stop);

  function typed() {
    keepDraft(name, field.value);
    fit();
  }

  function fit() {
    field.style.setProperty("height", "auto");
    field.style.setProperty("height", `${Math.min(field.scrollHeight + 2, TALLEST)}px`);
    send.disabled = closed || !field.value.trim();
  }

  function pressed(event) {
    if (event.isComposing || event.keyCode === 229) return; // an input method is still choosing
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && running) {
      event.preventDefault();
      onStop();
    }
  }

  function submit() {
    const text = field.value.trim();
    if (!text || running || closed) return;
    field.value = "";
    fit();
    onSend(text); // the draft stays stored until the server has the message
  }

  function draw() {
    send.hidden = running;
    stop.hidden = !running;
    field.disabled = closed;
    field.placeholder = closed ? t("chat.composer.closed") : placeholder;
    fit();
  }

  field.value = draft(name);
  draw();
  return {
    node,
    setRunning(value) { running = value; draw(); },
    setClosed(value) { closed = value; draw(); },
    /** The server has it: what is stored now is only what was typed since. */
    accepted() { keepDraft(name, field.value); },
    giveBack(text) {
      field.value = field.value.trim() ? `${text}\n${field.value}` : text;
      keepDraft(name, field.value);
      fit();
    },
    focus: () => field.focus({ preventScroll: true }),
    fit,
    moveTo(other) { keepDraft(name, ""); name = other; },
  };
}
