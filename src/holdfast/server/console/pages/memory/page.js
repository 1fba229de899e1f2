// The Memory page: files on the side, one of them or one of the other views beside it. What
// others change meanwhile (a flush, another program) appears by itself; what is being typed is
// never replaced. Proved by tests/server/test_console_memory.py.
import { api } from "../../api.js";
import { el, icon } from "../../dom.js";
import { live } from "../../live.js";
import { t } from "../../words.js";
import { archiveView } from "./archive.js";
import { conflictsView } from "./conflicts.js";
import { fileView } from "./file.js";
import { history } from "./history.js";
import { side } from "./list.js";
import { overview } from "./overview.js";
import { tasksView } from "./tasks.js";
import "./words.js";

const QUIET = 300; // ms: a flush writes several lines, and one redraw is enough
const TELLING = /^(memory_|task|session_deleted|reset$)/;

let known = { place: null, files: [], conflicts: 0 }; // what was there a moment ago: no flicker

async function refreshFiles(place) {
  try {
    place.files = (await api.get("/memory/files")).files;
    place.failed = null;
  } catch (error) {
    place.failed = error; // the list stays as it was, and says that it is not the newest
  }
}

// Comparing all memories with each other takes a while in a large home: one question at a time,
// and a pause after it that is longer than it took. What changes meanwhile is asked about when
// the pause is over.
async function countConflicts(place) {
  if (place.isCounting) {
    place.isStale = true;
    return;
  }
  Object.assign(place, { isCounting: true, isStale: false });
  const began = Date.now();
  try {
    place.conflicts = (await api.get("/conflicts")).conflicts.length;
    place.tell?.();
  } catch { /* unknown: the number stays */ }
  const pause = Math.min(60_000, (Date.now() - began) * 3);
  setTimeout(() => {
    place.isCounting = false;
    if (place.isStale && place.tell) countConflicts(place);
  }, pause);
}

function changesView({ onDone }) {
  const all = history(null, { onDone });
  const node = el(
    "div",
    { class: "stack" },
    el("div", { class: "page-head" }, el("h1", { text: t("memory.history.title") })),
    el("p", { class: "muted", text: t("memory.history.about") }),
    all.node,
  );
  return { node, reload: all.reload };
}

const VIEWS = { overview, conflicts: conflictsView, tasks: tasksView, changes: changesView, archive: archiveView };

function mount(root, { args, query, server }) {
  const path = args.length ? args.join("/") : null;
  const name = Object.hasOwn(VIEWS, query.view ?? "") ? query.view : "overview";
  if (known.place !== api.place()) known = { place: api.place(), files: [], conflicts: 0 };
  let isLeft = false;

  const left = side({ view: name, path, today: () => server()?.today ?? "", onRetry: () => refreshSide() });
  left.update(known);
  const place = known;
  const refreshSide = () => {
    refreshFiles(place).then(() => isLeft || left.update(place));
    countConflicts(place);
  };
  place.tell = () => {
    left.update(place);
    shown.showConflicts?.(place.conflicts);
  };

  const shown = path === null
    ? VIEWS[name]({ onDone: refreshSide })
    : fileView(path, { tab: query.tab, line: query.line, onChanged: refreshSide });
  shown.showConflicts?.(known.conflicts);
  root.append(
    el(
      "div",
      { class: `page page-wide memory${path === null ? " has-view" : ""}` },
      path === null ? null : el("a", { class: "memory-back", href: "#/memory" }, icon("back"), t("memory.back")),
      el("div", { class: "split memory-split" }, left.node, el("div", { class: "memory-main" }, shown.node)),
    ),
  );

  let timer = null;
  const off = live.on((told) => {
    if (!TELLING.test(told.event ?? "")) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      refreshSide();
      shown.reload();
    }, QUIET);
  });
  refreshSide();
  if (!query.line) document.getElementById("main")?.scrollTo(0, 0);
  return () => {
    isLeft = true;
    place.tell = null;
    clearTimeout(timer);
    off();
    shown.close?.();
  };
}

export default { id: "memory", mount };
