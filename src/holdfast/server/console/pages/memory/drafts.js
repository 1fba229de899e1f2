// What was typed and not saved, by file: it survives going to another page, another language, or
// a reload of the tab, and it is never sent anywhere by itself.
import { api } from "../../api.js";

const PREFIX = "holdfast.file-draft.";
const memory = new Map(); // where storage is switched off

const keyOf = (path) => `${PREFIX}${api.place()}:${path}`;

/** {text, base, version}: what was typed, on top of which text. */
export function draftOf(path) {
  const key = keyOf(path);
  try {
    const kept = sessionStorage.getItem(key);
    if (kept !== null) return JSON.parse(kept);
  } catch { /* unreadable or switched off */ }
  return memory.get(key) ?? null;
}

export function keepDraft(path, draft) {
  memory.set(keyOf(path), draft);
  try {
    sessionStorage.setItem(keyOf(path), JSON.stringify(draft));
  } catch { /* full: it lives as long as the page */ }
}

export function dropDraft(path) {
  memory.delete(keyOf(path));
  try {
    sessionStorage.removeItem(keyOf(path));
  } catch { /* nothing there */ }
}

export const hasDraft = (path) => draftOf(path) !== null;
