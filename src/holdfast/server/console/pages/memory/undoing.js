// Taking a change back: first what it would do, then the doing, then a way to undo the undo.
import { api } from "../../api.js";
import { el } from "../../dom.js";
import { diff, lines } from "../../parts/diff.js";
import { readLine } from "../../parts/line.js";
import { dialog } from "../../parts/dialog.js";
import { phrase } from "../../parts/phrases.js";
import { failure, toast } from "../../parts/toast.js";
import { t } from "../../words.js";

const WHAT = {
  remember: "memory.what.remember",
  flush: "memory.what.flush",
  memory_retain: "memory.what.write",
  memory_write: "memory.what.write",
  edit: "memory.what.edit",
  append: "memory.what.append",
  undo: "memory.what.undo",
  forget: "memory.what.forget",
  archive: "memory.what.archive",
  restore: "memory.what.restore",
  confirm: "memory.what.confirm",
  retract: "memory.what.retract",
  resolve: "memory.what.resolve",
  supersede: "memory.what.supersede",
  support: "memory.what.support",
  observe: "memory.what.observe",
  alias: "memory.what.alias",
  erase: "memory.what.erase",
  import: "memory.what.import",
  "late save": "memory.what.late",
};

/** What an operation did, as words; an unknown one by the name it gave itself. */
export function whatWord(what) {
  const name = String(what ?? "");
  if (Object.hasOwn(WHAT, name)) return t(WHAT[name]);
  if (name.startsWith("undo: ")) return t("memory.what.undo_of", { what: whatWord(name.slice(6, 200)) });
  return /(^| )task( |$)/.test(name) ? t("memory.what.task") : phrase(name);
}

const offered = new Map(); // the news that still offers to undo an operation, by its id

function withdraw(operation) {
  offered.get(operation)?.();
  offered.delete(operation);
}

function offer(text, word, operation, onDone) {
  const leave = toast(text, {
    kind: "good",
    action: operation ? { text: t(word), run: () => undoNow(operation, onDone) } : null,
  });
  if (operation) offered.set(operation, leave);
}

/** Undo at once, and offer to undo that. */
async function undoNow(operation, onDone) {
  try {
    const done = await api.post("/memory/undo", { operation });
    withdraw(operation);
    offer(t("memory.undo.done", { what: whatWord(done.what) }), "memory.undo.again", done.undo, onDone);
    onDone(done);
  } catch (error) {
    const isLate = error.type === "usage" || error.type === "not_found"; // undone, or written over
    toast(isLate ? t("memory.undo.late") : [error.message, error.hint].filter(Boolean).join(" "), { kind: isLate ? "plain" : "bad" });
    if (isLate) onDone();
  }
}

/** Show what undoing would change; do it when the person says so. */
export async function askUndo(operation, onDone) {
  let preview;
  try {
    preview = await api.post("/memory/undo", { operation, dry_run: true });
  } catch (error) {
    dialog({ title: t("memory.undo.title"), body: failure(error) });
    return;
  }
  const yes = el("button", { class: "button button-primary", type: "button", text: t("memory.undo.action"), data: { test: "undo-yes" } });
  const no = el("button", { class: "button", type: "button", text: t("action.cancel") });
  const asked = dialog({
    title: t("memory.undo.title"),
    wide: true,
    body: [
      el("p", {}, el("strong", { text: whatWord(preview.what) }), " · ", preview.paths.join(", ")),
      el("p", { class: "muted", text: t("memory.undo.text") }),
      diff(preview.diff),
    ],
    actions: [no, yes],
  });
  no.addEventListener("click", () => asked.close(false));
  yes.addEventListener("click", () => asked.close(true));
  yes.focus();
  if ((await asked.done) === true) await undoNow(operation, onDone);
}

const MOST = 200; // as many changes of one file as the server tells at once

// By its id; by its words only where it has none of its own, as when somebody typed it.
const names = (row, line) => row.written.includes(`"id":"${line.id}"`);
const says = (row, line) => readLine(row.text)?.text === line.text;

/** Undo what wrote this line: the oldest change of its file that put it there. */
export async function askUndoOf(line, onDone) {
  const { operations } = await api.get("/memory/history", { path: line.path, limit: MOST });
  const found = (is) =>
    operations.findLast((each) => {
      const rows = lines(each.diff ?? "").filter((row) => is(row, line));
      return !each.undone_by && rows.some((row) => row.sign === "+") && !rows.some((row) => row.sign === "-");
    });
  const writing = found(names) ?? found(says);
  if (writing) await askUndo(writing.id, onDone);
  else toast(t("memory.unwrite.none"));
}

/** The news that something was done, with the way back. */
export function told(text, operation, onDone) {
  offer(text, "action.undo", operation, onDone);
}

export function refused(error) {
  toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
}
