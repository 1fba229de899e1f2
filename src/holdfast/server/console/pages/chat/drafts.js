// What was typed and not sent: kept per place and session, through reloads and page changes.
// Of a conversation that leaves no trace it is kept in this page only.

import { api } from "../../api.js";

const key = (session, place) => `holdfast.chat-draft.${place}.${session || ""}`;
const untraced = new Map();

export function draft(session, place = api.place()) {
  const at = key(session, place);
  if (untraced.has(at)) return untraced.get(at);
  try {
    return sessionStorage.getItem(at) || "";
  } catch {
    return "";
  }
}

export function keepDraft(session, text, place = api.place()) {
  const at = key(session, place);
  if (untraced.has(at)) {
    untraced.set(at, text);
    return;
  }
  try {
    if (text) sessionStorage.setItem(at, text);
    else sessionStorage.removeItem(at);
  } catch { /* then it lives in the field only */ }
}

/** A draft without the message that was sent out of it. */
export function without(text, sent) {
  if (text.trim() === sent) return "";
  return text.startsWith(`${sent}\n`) ? text.slice(sent.length + 1) : text;
}

/** From now on what is typed there is stored nowhere; or stored again. */
export function leaveNoTrace(session, isPrivate, place = api.place()) {
  const at = key(session, place);
  if (isPrivate === untraced.has(at)) return;
  const text = draft(session, place);
  if (isPrivate) {
    keepDraft(session, "", place);
    untraced.set(at, text);
  } else {
    untraced.delete(at);
    keepDraft(session, text, place);
  }
}

const LAST = "holdfast.session";

/** The conversation that was open last in this place: the link to Chat leads back to it. */
export function lastSession() {
  try {
    return sessionStorage.getItem(`${LAST}.${api.place()}`);
  } catch {
    return null;
  }
}

export function keepLastSession(name) {
  try {
    if (name) sessionStorage.setItem(`${LAST}.${api.place()}`, name);
    else sessionStorage.removeItem(`${LAST}.${api.place()}`);
  } catch { /* then the newest is opened */ }
}
