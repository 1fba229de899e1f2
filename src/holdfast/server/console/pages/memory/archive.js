// What was forgotten and can come back.
import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { when } from "../../format.js";
import { t } from "../../words.js";
import { actionButton, emptyState, into } from "./loading.js";
import { refused, told } from "./undoing.js";

function itemRow(item, onDone) {
  const isTask = item.kind === "task";
  return el(
    "li",
    { class: "list-row archived", data: { test: "archived" } },
    el(
      "span",
      { class: "grow stack-tight" },
      el("span", { text: item.text }),
      el(
        "span",
        { class: "muted small row" },
        isTask ? el("span", { class: "badge", text: t("memory.group.task") }) : null,
        item.source ? el("span", { text: t("memory.archive.from", { path: item.source }) }) : null,
        item.archived ? el("span", { title: when(item.archived).title, text: t("memory.archive.when", { when: when(item.archived).text }) }) : null,
      ),
    ),
    actionButton({
      text: t("memory.archive.restore"),
      label: `${t("memory.archive.restore")}: ${item.text}`,
      test: "restore",
      onError: refused,
      run: async () => {
        const done = await api.post("/memory/archive/restore", { ids: [item.id] });
        const path = (done.paths ?? [])[0];
        told(path ? t("memory.archive.restored", { path }) : t("memory.archive.back"), done.operation, onDone);
        onDone();
      },
    }),
  );
}

/** {node, reload} */
export function archiveView({ onDone }) {
  const list = el("div", {});
  const reload = into(
    list,
    () => api.get("/memory/archive"),
    (answer) => {
      const items = answer.items;
      const done = () => {
        reload();
        onDone();
      };
      clear(
        list,
        items.length
          ? el("ul", { class: "card card-flush list" }, items.map((each) => itemRow(each, done)))
          : emptyState(t("memory.archive.empty"), t("memory.archive.empty.text")),
      );
    },
  );
  const node = el(
    "div",
    { class: "stack" },
    el("div", { class: "page-head" }, el("h1", { text: t("memory.archive") })),
    el("p", { class: "muted", text: t("memory.archive.about") }),
    list,
  );
  return { node, reload };
}
