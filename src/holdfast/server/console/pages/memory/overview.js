// The first look at memory: write one, the last change with its way back, what was learned lately.
import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { linkTo } from "../../format.js";
import { keeping } from "../../parts/keeping.js";
import { t } from "../../words.js";
import { operationRow } from "./history.js";
import { viewAddress } from "./list.js";
import { emptyState, into } from "./loading.js";
import { lineItem } from "./reading.js";
import { rememberBox } from "./remember.js";

const LATEST = 12;

// Newest first: by the day it was said, and within a day by the id, which tells when it was
// written; one that was written by hand has none of its own.
function latest(facts) {
  const key = ({ observed, id }) => [String(observed ?? "").slice(0, 10), id.startsWith("h-") ? "" : id];
  return facts
    .map((line) => ({ line, key: key(line) }))
    .sort((one, other) => compare(other.key[0], one.key[0]) || compare(other.key[1], one.key[1]))
    .slice(0, LATEST)
    .map(({ line }) => line);
}

const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

function lastChange(operations, onDone) {
  if (!operations.length) return null;
  return el(
    "section",
    { class: "stack-tight" },
    el("div", { class: "row-between" }, el("h2", { class: "section-title", text: t("memory.last") }), el("a", { class: "small", href: viewAddress("changes"), text: t("memory.last.all") })),
    el("ol", { class: "change-list" }, operationRow(operations[0], { onDone })),
  );
}

function teaching() {
  return emptyState(
    t("memory.empty.title"),
    t("memory.empty.text"),
    el(
      "ul",
      { class: "teach" },
      el("li", { text: t("memory.empty.chat") }),
      el("li", { text: t("memory.empty.remember") }),
      el("li", { text: t("memory.empty.files") }),
    ),
    el("a", { class: "button button-primary", href: "#/chat", text: t("memory.empty.go") }),
  );
}

function latestLines(facts, onChanged) {
  const lines = latest(facts);
  return el(
    "section",
    { class: "stack-tight" },
    el("div", { class: "row-between" }, el("h2", { class: "section-title", text: t("memory.latest") }), el("a", { class: "small", href: "#/search?focus=1", text: t("memory.latest.all") })),
    el(
      "ul",
      { class: "memory-lines card" },
      lines.map((line) =>
        lineItem(line, {
          onChanged,
          extra: el("a", { class: "muted small line-where", href: linkTo.file(line.path, line.number), text: line.path }),
        }),
      ),
    ),
  );
}

/** {node, reload} */
export function overview({ onDone }) {
  const body = el("div", { class: "stack overview-body" });
  const done = () => {
    reload();
    onDone();
  };
  const reload = into(
    body,
    async () => {
      const [facts, history] = await Promise.all([api.get("/facts", { limit: 200 }), api.get("/memory/history", { limit: 1 })]);
      return { facts: facts.facts, operations: history.operations };
    },
    ({ facts, operations }) => {
      const below = facts.length ? latestLines(facts, done) : operations.length ? null : teaching();
      keeping(body, () => clear(body, lastChange(operations, done), below));
    },
  );
  const banner = el("div", { hidden: true });
  const node = el(
    "div",
    { class: "stack" },
    el("div", { class: "page-head" }, el("h1", { text: t("memory.title") })),
    el("p", { class: "muted", text: t("memory.about") }),
    banner,
    rememberBox({ onDone: done }),
    body,
  );
  return {
    node,
    reload,
    showConflicts(count) {
      banner.hidden = count === 0;
      if (!count) return;
      banner.className = "banner banner-warn";
      clear(
        banner,
        icon("warn"),
        el("span", { class: "grow", text: t("memory.conflict.banner", { count }) }),
        el("a", { class: "button button-small", href: viewAddress("conflicts"), text: t("memory.conflict.settle") }),
      );
    },
  };
}
