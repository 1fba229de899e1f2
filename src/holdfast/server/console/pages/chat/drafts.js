// What was typed and not sent: kept per place and session, through reloads and page changes.

import { api } from "../../api.js";

const key = (session) => `holdfast.draft.${api.place()}.${session || ""}`;

export function draft(session) {
  try {
    return sessionStorage.getItem(key(session)) || "";
  } catch {
    return "";
  }
}

export function keepDraft(session, text) {
  try {
    if (text) sessionStorage.setItem(key(session), text);
    else sessionStorage.removeItem(key(session));
  } catch { /* then it lives in the field only */ }
}
