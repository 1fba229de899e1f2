// One file: read it, see its source, edit it, see how it came to be.
import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { linkTo } from "../../format.js";
import { keeping } from "../../parts/keeping.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";
import { dropDraft, hasDraft } from "./drafts.js";
import { appendBox, editor } from "./editing.js";
import { history } from "./history.js";
import { skeleton } from "./loading.js";
import { reading } from "./reading.js";

const TABS = [
  { id: "read", word: "memory.tab.read", test: "file-read" },
  { id: "raw", word: "memory.tab.raw", test: "file-raw" },
  { id: "edit", word: "memory.tab.edit", test: "file-edit" },
  { id: "history", word: "memory.tab.history", test: "file-history" },
];

function rawView(file) {
  const rows = file.text.split("\n");
  if (rows.at(-1) === "") rows.pop();
  const width = String(rows.length).length;
  return el(
    "div",
    { class: "stack-tight" },
    el("p", { class: "muted small", text: t("memory.raw.note") }),
    el(
      "pre",
      { class: "raw", tabindex: "0", role: "region", "aria-label": t("memory.raw.label", { path: file.path }), data: { test: "raw-text" } },
      rows.map((row, at) => [
        el("span", { class: "raw-number", "aria-hidden": "true", text: String(at + 1).padStart(width) }),
        el("span", { class: "raw-line", text: `${row}\n` }),
      ]),
    ),
  );
}

/** {node, reload, close}: everything about the file at `path`. */
export function fileView(path, { tab, line, onChanged }) {
  const wanted = Number(line) || null;
  let chosen = TABS.some((each) => each.id === tab) ? tab : hasDraft(path) ? "edit" : "read";
  let file = null;
  let editing = null;
  let changes = null;
  let appending = null; // stays while the file changes around it, with what is typed in it
  let article = null;
  let isFirst = true;
  let isClosed = false;
  let turn = 0;

  const body = el("div", { class: "file-body", id: "file-body", role: "tabpanel" });
  const tabs = el("div", { class: "tabs", role: "tablist", aria: { label: t("memory.file.views") } });
  const slash = path.lastIndexOf("/");
  const node = el(
    "div",
    { class: "stack file-view" },
    el(
      "div",
      { class: "page-head" },
      el("h1", { class: "file-title" }, slash < 0 ? null : el("span", { class: "muted", text: path.slice(0, slash + 1) }), path.slice(slash + 1)),
    ),
    tabs,
    body,
  );

  function drawTabs() {
    clear(
      tabs,
      TABS.map((each) => {
        const isChosen = each.id === chosen;
        return el("button", {
          role: "tab",
          type: "button",
          id: `tab-${each.id}`,
          tabindex: isChosen ? "0" : "-1",
          text: t(each.word),
          aria: { selected: String(isChosen), controls: "file-body" },
          data: { test: each.test },
          on: { click: () => choose(each.id), keydown: moveTab },
        });
      }),
    );
    body.setAttribute("aria-labelledby", `tab-${chosen}`);
  }

  function moveTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = TABS.findIndex((each) => each.id === chosen);
    choose(TABS[(at + step + TABS.length) % TABS.length].id);
    tabs.querySelector('[aria-selected="true"]')?.focus();
  }

  function choose(id) {
    chosen = id;
    const address = `${linkTo.file(path)}${id === "read" ? "" : `?tab=${id}`}`;
    window.history.replaceState(null, "", address); // the address says it; nothing is loaded anew
    drawTabs();
    draw();
  }

  function changed() {
    load();
    onChanged();
  }

  function drawReading() {
    const read = reading(file, { wanted: isFirst ? wanted : null, onChanged: changed });
    appending ??= appendBox(path, { onSaved: saved });
    keeping(body, () => {
      if (article?.parentElement === body && appending.parentElement === body) article.replaceWith(read.node);
      else clear(body, read.node, appending);
    });
    article = read.node;
    if (isFirst) read.goTo();
    isFirst = false;
  }

  function draw() {
    editing?.close();
    editing = null;
    changes = null;
    if (chosen === "history") {
      changes = history(path, { onDone: changed });
      clear(body, changes.node);
      return;
    }
    if (!file) return;
    if (chosen === "read") drawReading();
    else if (chosen === "raw") clear(body, rawView(file));
    else if (file.locked) clear(body, el("p", { class: "banner", text: file.locked }), rawView(file));
    else {
      editing = editor(file, { onSaved: saved });
      clear(body, editing.node);
      editing.focus();
    }
  }

  function saved(next) {
    file = next;
    onChanged();
    if (chosen !== "edit") draw();
  }

  function gone() {
    clear(
      body,
      el(
        "div",
        { class: "empty" },
        el("h2", { text: t("memory.file.gone", { path }) }),
        el("p", { text: t("memory.file.gone.hint") }),
        el("button", { class: "button", type: "button", text: t("memory.tab.history"), on: { click: () => choose("history") } }),
      ),
    );
  }

  async function load() {
    turn += 1;
    const mine = turn;
    if (!file && chosen !== "history") clear(body, skeleton(8));
    try {
      const next = await api.get("/memory/file", { path });
      if (mine !== turn || isClosed) return;
      const isSame = file?.version === next.version;
      file = next;
      if (chosen === "history") changes?.reload();
      else if (chosen === "edit" && editing) {
        if (!isSame && !editing.isDirty()) draw(); // what is being typed is never replaced under the hands
      } else if (!isSame || isFirst || !body.childElementCount) draw();
    } catch (error) {
      if (mine !== turn || isClosed) return;
      if (error.status === 404) {
        file = null;
        if (chosen === "history") changes?.reload();
        else if (chosen !== "edit" || !hasDraft(path)) gone();
        else if (!editing) {
          file = { path, text: "", html: "", version: null, lines: [], locked: null }; // typed here
          draw();
        }
      } else if (!file) clear(body, failure(error, { retry: load }));
    }
  }

  drawTabs();
  if (chosen === "history") draw();
  load();
  return {
    node,
    reload: load,
    close() {
      isClosed = true;
      if (editing && !editing.isDirty()) dropDraft(path);
      editing?.close();
    },
  };
}
