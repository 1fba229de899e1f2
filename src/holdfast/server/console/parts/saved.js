// What a flush saved: the lines, where each stands, and the way back.

import { api } from "../api.js";
import { clear, el, icon } from "../dom.js";
import { linkTo } from "../format.js";
import { t } from "../words.js";
import { confirm } from "./dialog.js";
import { failure } from "./toast.js";
import "./words.js";

const FEW = 5;

/** The card. flush: {outcome, saved, file, operation, lines, reason, duplicates?}; `open` shows the lines. */
export function savedCard(flush, { open = true, onChange = null } = {}) {
  if (!flush.saved) return nothingSaved(flush);
  const told = el("div", { aria: { live: "polite" } });
  const lines = (flush.lines || []).filter((line) => line.text); // one that is gone has none
  const card = el("details", { class: "saved-card", data: { test: "saved-card" }, open },
    el("summary", {}, icon("check"),
      el("span", { class: "saved-title", text: t("saved.title", { count: flush.saved }) }),
      flush.file ? el("span", { class: "muted small cut", text: t("saved.in", { file: flush.file }) }) : null,
      icon("down")),
    el("div", { class: "saved-body" },
      el("p", { class: "muted small", text: t("saved.why") }),
      lines.length ? savedLines(lines) : el("p", { class: "muted", text: t("saved.lines.gone") }),
      flush.file ? el("div", { class: "row" },
        lines.length ? el("button", {
          class: "button button-small", type: "button", data: { test: "undo-save" },
          on: { click: (event) => undo(event.currentTarget, flush, told, onChange) },
        }, icon("undo"), t("saved.undo")) : null,
        el("a", { class: "button button-small button-quiet", href: linkTo.file(flush.file) }, icon("file"), flush.file)) : null,
      told));
  return card;
}

function nothingSaved(flush) {
  const known = flush.duplicates ? ` · ${t("saved.known", { count: flush.duplicates })}` : "";
  return el("p", { class: "line-note", data: { test: "saved-none" } }, icon("check"),
    el("span", { text: t("saved.none") + known }),
    flush.reason ? el("span", { class: "muted", text: ` (${flush.reason})` }) : null);
}

/** The first few, and the others when asked for; two more are no reason to ask. */
function savedLines(lines) {
  const shown = lines.length <= FEW + 2 ? lines.length : FEW;
  const list = el("ul", { class: "saved-lines" }, lines.slice(0, shown).map(savedLine));
  const others = lines.slice(shown);
  if (!others.length) return list;
  const more = el("button", { class: "link small", type: "button", data: { test: "saved-more" }, text: t("saved.more", { count: others.length }) });
  more.addEventListener("click", () => {
    const added = others.map(savedLine);
    list.append(...added);
    more.remove();
    added[0].querySelector("a")?.focus();
  });
  return [list, el("div", { class: "row" }, more)];
}

function savedLine(line) {
  const trusted = !line.trust || line.trust === "user";
  return el("li", { class: "saved-line" },
    el("span", { class: "grow", dir: "auto", text: line.text }),
    trusted ? null : el("span", { class: "badge badge-warn", text: t(`trust.${line.trust}`) }),
    el("a", {
      class: "cite", data: { test: "saved-source" }, title: t("saved.source"),
      href: line.path ? linkTo.file(line.path, line.number) : linkTo.citation(line.citation),
    }, icon("link"), el("span", { text: line.citation || line.path })));
}

async function undo(button, flush, told, onChange) {
  const file = flush.file;
  const sure = await confirm({
    title: t("saved.undo.title"), text: t("saved.undo.text", { count: flush.saved, file }), action: t("saved.undo"), danger: true,
  });
  if (!sure) return;
  button.disabled = true;
  clear(told);
  try {
    const id = await operationOf(flush);
    if (id === null) {
      clear(told, el("p", { class: "banner" }, t("saved.undo.gone", { file }), " ", el("a", { href: linkTo.file(file), text: t("saved.history") })));
      return;
    }
    const done = await api.post("/memory/undo", { operation: id });
    const card = button.closest(".saved-card");
    card?.classList.add("is-undone");
    const again = done.undo ? el("button", { class: "button button-small", type: "button", text: t("saved.redo"), data: { test: "redo-save" } }) : null;
    again?.addEventListener("click", () => redo({ operation: done.undo, file, again, told, card, button, onChange }));
    clear(told, el("p", { class: "banner", data: { test: "save-undone" } }, icon("check"), el("span", { class: "grow", text: t("saved.undone", { file }) }), again));
    if (onChange) onChange();
  } catch (error) {
    button.disabled = false;
    clear(told, failure(error));
  }
}

/** An undo is an operation too: undoing it brings the lines back. */
async function redo({ operation, file, again, told, card, button, onChange }) {
  again.disabled = true;
  try {
    await api.post("/memory/undo", { operation });
    card?.classList.remove("is-undone");
    button.disabled = false;
    clear(told, el("p", { class: "banner" }, icon("check"), t("saved.redone", { file })));
    if (onChange) onChange();
  } catch (error) {
    clear(told, failure(error));
  }
}

/** The operation that wrote these lines. Records from before it was noted: the one whose diff adds them. */
async function operationOf(flush) {
  if (flush.operation) return flush.operation;
  const { operations } = await api.get("/memory/history", { path: flush.file, limit: 50 });
  const wanted = flush.lines.map((line) => line.id || line.text);
  const adds = (operation) => operation.diff.split("\n").some((row) => row.startsWith("+") && wanted.some((each) => row.includes(each)));
  const found = operations.find((each) => each.can_undo && !each.undoes && adds(each));
  return found ? found.id : null;
}
