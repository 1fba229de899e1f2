// Memories that contradict each other, side by side with where they came from: a person decides.
import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { keeping } from "../../parts/keeping.js";
import { entityName, kindBadge, provenance } from "../../parts/line.js";
import { t } from "../../words.js";
import { details } from "./details.js";
import { actionButton, day, emptyState, into } from "./loading.js";
import { refused, told } from "./undoing.js";

const KINDS = {
  number: "memory.conflicts.kind.number",
  date: "memory.conflicts.kind.date",
  value: "memory.conflicts.kind.value",
  polarity: "memory.conflicts.kind.polarity",
};

function kindOf(conflict) {
  return t(Object.hasOwn(KINDS, conflict.kind) ? KINDS[conflict.kind] : "memory.conflicts.kind.other");
}

async function settle(conflict, keep, onDone) {
  const done = await api.post(`/conflicts/${encodeURIComponent(conflict.id)}/resolve`, { keep });
  told(t(keep === "both" ? "memory.conflicts.done.both" : "memory.conflicts.done"), done.operation, onDone);
  onDone();
}

function oneSide(conflict, fact, word, onDone) {
  const key = `${conflict.id}:${fact.id}`;
  const more = el("details", { data: { key: `more:${key}` } }, el("summary", { class: "small", text: t("memory.details") }));
  more.addEventListener("toggle", () => {
    if (more.open && more.childElementCount === 1) more.append(details(fact, { onChanged: onDone }));
  });
  return el(
    "div",
    { class: "conflict-side card stack-tight" },
    el(
      "p",
      { class: "row small muted" },
      el("span", { text: t(word) }),
      fact.observed ? day(fact.observed) : null,
    ),
    el("p", { class: "conflict-text" }, kindBadge(fact.kind), " ", fact.entity ? [el("strong", { class: "entity", text: entityName(fact) }), " "] : null, fact.text),
    provenance(fact),
    more,
    actionButton({
      text: t("memory.conflicts.keep"),
      label: t("memory.conflicts.keep.label", { text: fact.text }),
      test: "keep",
      key: `keep:${key}`,
      kind: "primary",
      onError: refused,
      run: async () => {
        await settle(conflict, fact.id, onDone);
      },
    }),
  );
}

function pair(conflict, onDone) {
  return el(
    "section",
    { class: "conflict stack-tight", data: { test: "conflict" } },
    el("h2", { class: "section-title" }, kindOf(conflict), conflict.doubtful ? [" ", el("span", { class: "badge", text: t("memory.conflicts.doubtful") })] : null),
    el(
      "div",
      { class: "conflict-pair" },
      oneSide(conflict, conflict.old, "memory.conflicts.old", onDone),
      oneSide(conflict, conflict.new, "memory.conflicts.new", onDone),
    ),
    el(
      "p",
      { class: "row" },
      actionButton({
        text: t("memory.conflicts.both"),
        title: t("memory.conflicts.both.title"),
        test: "keep-both",
        key: `both:${conflict.id}`,
        kind: "quiet",
        onError: refused,
        run: () => settle(conflict, "both", onDone),
      }),
    ),
  );
}

/** {node, reload}: all of them. */
export function conflictsView({ onDone }) {
  const list = el("div", { class: "stack" });
  const reload = into(
    list,
    () => api.get("/conflicts"),
    ({ conflicts }) => {
      if (!conflicts.length) {
        clear(list, emptyState(t("memory.conflicts.empty"), t("memory.conflicts.empty.text")));
        return;
      }
      const done = () => {
        reload();
        onDone();
      };
      keeping(list, () => clear(list, conflicts.map((each) => pair(each, done))));
    },
  );
  const node = el(
    "div",
    { class: "stack" },
    el("div", { class: "page-head" }, el("h1", { text: t("memory.conflicts") })),
    el("p", { class: "muted", text: t("memory.conflicts.about") }),
    list,
  );
  return { node, reload };
}
