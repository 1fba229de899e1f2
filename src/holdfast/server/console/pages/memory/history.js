// Changes of the memory files, of one or of all: what, when, the diff, and the way back.
import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { linkTo } from "../../format.js";
import { counts, diff, lines } from "../../parts/diff.js";
import { keeping } from "../../parts/keeping.js";
import { entityName, readLine } from "../../parts/line.js";
import { t } from "../../words.js";
import { emptyState, into, moment } from "./loading.js";
import { askUndo, whatWord } from "./undoing.js";

const STEP = 30;
const MOST = 200; // what the server tells at once

// What a change says at first sight: the first line that came, or that went.
function summary(text) {
  const shown = lines(text);
  const line = shown.find((each) => each.sign === "+" && each.text.trim()) ?? shown.find((each) => each.sign === "-" && each.text.trim());
  if (!line) return "";
  const told = readLine(line.text);
  if (!told) return line.text.replace(/^\s*[-*+#]+\s+/, "");
  return told.entity ? `${entityName(told)}: ${told.text}` : told.text;
}

function undoButton(operation, onDone) {
  if (operation.undone_by) {
    return el("span", { class: "badge", text: t("memory.history.undone") });
  }
  if (!operation.can_undo) {
    return el("button", {
      class: "link small",
      type: "button",
      title: t("memory.history.cannot.title"),
      text: t("memory.history.cannot"),
      data: { test: "cannot-undo", key: `undo:${operation.id}` },
      on: { click: () => askUndo(operation.id, onDone) }, // says why
    });
  }
  return el("button", {
    class: "button button-small",
    type: "button",
    text: operation.undoes ? t("memory.history.redo") : t("memory.history.undo"),
    data: { test: "undo", key: `undo:${operation.id}` },
    on: { click: () => askUndo(operation.id, onDone) },
  });
}

/** One change, with its diff folded unless `open`. */
export function operationRow(operation, { onDone, open = false, files = true }) {
  const { added, removed } = counts(operation.diff ?? "");
  const paths = operation.paths ?? [];
  return el(
    "li",
    { class: `change${operation.undone_by ? " is-undone" : ""}`, data: { test: "history-item" } },
    el(
      "div",
      { class: "change-head" },
      el("strong", { class: "change-what", text: whatWord(operation.what) }),
      el(
        "span",
        { class: "change-counts" },
        added ? el("span", { class: "plus", text: `+${added}` }) : null,
        removed ? el("span", { class: "minus", text: `−${removed}` }) : null,
      ),
      el("span", { class: "muted small change-when" }, moment(operation.at)),
      el("span", { class: "change-act" }, undoButton(operation, onDone)),
    ),
    files
      ? el(
          "p",
          { class: "change-paths small" },
          paths.map((path) => el("a", { href: linkTo.file(path), text: path })),
        )
      : null,
    !open && summary(operation.diff) ? el("p", { class: "change-summary cut", text: summary(operation.diff) }) : null,
    operation.undoes ? el("p", { class: "muted small", text: t("memory.history.is_undo") }) : null,
    el("details", { open, data: { key: `diff:${operation.id}` } }, el("summary", { text: t("memory.history.diff") }), diff(operation.diff)),
  );
}

/** The list of changes; `path` null: of all files. Returns {node, reload}. */
export function history(path, { onDone }) {
  const node = el("div", { class: "changes" });
  let limit = STEP;
  const reload = into(
    node,
    () => api.get("/memory/history", { path, limit }),
    ({ operations }) => {
      if (!operations.length) {
        clear(node, emptyState(t("memory.history.empty"), t("memory.history.empty.text")));
        return;
      }
      const opened = new Set(
        [...node.querySelectorAll("details[open]")].map((each) => each.closest("[data-id]")?.dataset.id),
      );
      const done = () => {
        reload();
        onDone?.();
      };
      const list = el("ol", { class: "change-list" });
      operations.forEach((each, at) => {
        const open = opened.has(each.id) || (at === 0 && !opened.size);
        const row = operationRow(each, { onDone: done, open, files: path === null });
        row.dataset.id = each.id;
        list.append(row);
      });
      const more = el("button", {
        class: "button",
        type: "button",
        text: t("memory.history.more"),
        on: {
          click: () => {
            limit = Math.min(MOST, limit * 2);
            reload();
          },
        },
      });
      keeping(node, () => clear(node, list, operations.length >= limit && limit < MOST ? more : null));
    },
  );
  return { node, reload };
}
