// Taking a change back: first what it would do, then the doing, then a way to undo the undo.
import { api } from "../../api.js";
import { el } from "../../dom.js";
import { diff } from "../../parts/diff.js";
import { dialog } from "../../parts/dialog.js";
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
  return name.endsWith(" task") ? t("memory.what.task") : name;
}

/** Undo at once, and offer to undo that. */
async function undoNow(operation, onDone) {
  try {
    const done = await api.post("/memory/undo", { operation });
    toast(t("memory.undo.done", { what: whatWord(done.what) }), {
      kind: "good",
      action: done.undo ? { text: t("memory.undo.again"), run: () => undoNow(done.undo, onDone) } : null,
    });
    onDone(done);
  } catch (error) {
    toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
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

/** The id of the change that was just made, if it is the newest one and of that kind. */
export async function justDone(what) {
  try {
    const { operations } = await api.get("/memory/history", { limit: 1 });
    return operations[0]?.what === what && operations[0].can_undo ? operations[0].id : null;
  } catch {
    return null; // it was done all the same; the list of changes has the way back
  }
}

/** The news that something was done, with the way back. */
export function told(text, operation, onDone) {
  toast(text, {
    kind: "good",
    action: operation ? { text: t("action.undo"), run: () => undoNow(operation, onDone) } : null,
  });
}

export function refused(error) {
  toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
}
