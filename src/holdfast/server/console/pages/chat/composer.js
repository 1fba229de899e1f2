// The field a message is typed in. Typed text is cleared only once the server has it.

import { el, icon } from "../../dom.js";
import { t } from "../../words.js";
import { draft, keepDraft, leaveNoTrace, without } from "./drafts.js";

const TALLEST = 220;

/** {node, setRunning(bool), setClosed(bool), giveBack(text), focus(), moveTo(session)}; `onNew`: the way on. */
export function composer({ session, placeholder, onSend, onStop, onNew = null }) {
  let name = session;
  let running = false;
  let closed = false;
  let sent = null; // on its way: still in the draft, no longer in the field
  const field = el("textarea", {
    class: "composer-field", rows: "1", placeholder, data: { test: "composer" }, aria: { label: t("chat.composer") }, dir: "auto",
    on: { input: typed, keydown: pressed },
  });
  const send = el("button", { class: "button button-primary composer-send", type: "submit", data: { test: "send" } }, icon("send"), el("span", { text: t("chat.send") }));
  const stop = el("button", { class: "button composer-send", type: "button", data: { test: "stop" }, on: { click: () => onStop() } }, icon("stop"), el("span", { text: t("chat.stop") }));
  const next = el("button", { class: "button button-primary composer-next", type: "button", data: { test: "closed-new" }, on: { click: () => onNew?.() } }, icon("plus"), t("chat.new"));
  const node = el("form", { class: "composer", on: { submit: (event) => { event.preventDefault(); submit(); } } }, field, send, stop, next);

  function typed() {
    keepDraft(name, unsent());
    fit();
  }

  /** What the server does not have yet. */
  const unsent = () => [sent, field.value].filter(Boolean).join("\n");

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
    take(text, "");
    field.focus({ preventScroll: true }); // the button that was pressed goes away
    onSend(text); // the draft stays stored until the server has the message
  }

  function take(text, rest) {
    sent = text;
    field.value = rest;
    fit();
  }

  function draw() {
    send.hidden = running || closed;
    stop.hidden = !running;
    next.hidden = !closed || running || !onNew;
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
    accepted() { sent = null; keepDraft(name, field.value); },
    /** A message is on its way that was sent before this field was made. */
    holdBack(text) { if (text !== null) take(text, without(field.value, text)); },
    giveBack(text) {
      sent = null;
      field.value = field.value.trim() ? `${text}\n${field.value}` : text;
      keepDraft(name, field.value);
      fit();
    },
    focus: () => field.focus({ preventScroll: true }),
    fit,
    /** The message that is on its way goes along: it is not lost with this page. */
    moveTo(other, isPrivate) {
      keepDraft(name, "");
      leaveNoTrace(name, false);
      name = other;
      leaveNoTrace(name, isPrivate);
      keepDraft(name, unsent());
    },
    setPrivate(value) { leaveNoTrace(name, value); },
  };
}
