// The files of memory, grouped as a person thinks of them, and the other views of it.
import { clear, el, icon } from "../../dom.js";
import { linkTo, when } from "../../format.js";
import { keeping } from "../../parts/keeping.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";
import { hasDraft } from "./drafts.js";

const GROUPS = [
  { kinds: ["memory"], word: "memory.group.memory" },
  { kinds: ["daily"], word: "memory.group.daily", most: 7 },
  { kinds: ["topic"], word: "memory.group.topic", most: 12 },
  { kinds: ["entity", "bank"], word: "memory.group.entity", most: 12 },
  { kinds: ["task"], word: "memory.group.task", most: 6 },
  { kinds: ["other"], word: "memory.group.other", most: 12 },
];

const VIEWS = [
  { id: "overview", word: "memory.overview", icon: "memory" },
  { id: "conflicts", word: "memory.conflicts", icon: "warn" },
  { id: "tasks", word: "memory.tasks", icon: "check" },
  { id: "changes", word: "memory.changes", icon: "history" },
  { id: "archive", word: "memory.archive", icon: "folder" },
];

/** The name of a file without what its group says already. */
function shortName(path, kind) {
  const name = path.split("/").pop();
  if (kind === "memory") return path;
  if (kind === "other") return path;
  return name.replace(/\.md$/i, "");
}

export function viewAddress(id) {
  return id === "overview" ? "#/memory" : `#/memory?view=${id}`;
}

function viewLink(view, current, count) {
  return el(
    "a",
    {
      class: "side-link",
      href: viewAddress(view.id),
      aria: { current: current === view.id ? "page" : null },
      data: { test: `memory-${view.id}`, key: `view:${view.id}` },
    },
    icon(view.icon),
    el("span", { class: "grow", text: t(view.word) }),
    count ? el("span", { class: "badge badge-warn num", text: String(count) }) : null,
  );
}

function fileLink(file, { current, today }) {
  const changed = when(file.changed_at);
  const isToday = file.kind === "daily" && file.path.endsWith(`${today}.md`);
  const about = [];
  if (file.memories) about.push(t("memory.count", { count: file.memories }));
  about.push(changed.text);
  return el(
    "a",
    {
      class: "side-link file-link",
      href: linkTo.file(file.path),
      title: `${file.path}\n${t("memory.changed", { when: changed.text })} (${changed.title})`,
      aria: { current: current === file.path ? "page" : null },
      data: { test: "file-link", path: file.path, key: `file:${file.path}` },
    },
    el(
      "span",
      { class: "grow file-name" },
      el("span", { class: "cut", text: shortName(file.path, file.kind) }),
      el("span", { class: "muted file-about cut", text: about.join(" · ") }),
    ),
    isToday ? el("span", { class: "badge badge-accent", text: t("memory.today") }) : null,
    hasDraft(file.path) ? el("span", { class: "badge badge-warn", text: t("memory.draft") }) : null,
  );
}

function group({ word, most = Infinity }, files, options) {
  if (!files.length) return null;
  const shown = files.slice(0, most);
  const rest = files.slice(most);
  const has = rest.some((file) => file.path === options.current);
  return el(
    "section",
    { class: "side-group" },
    el("h2", { class: "side-title" }, t(word), " ", el("span", { class: "num", text: String(files.length) })),
    shown.map((file) => fileLink(file, options)),
    rest.length
      ? el(
          "details",
          { open: has || options.isFiltered, data: { key: `more:${word}` } },
          el("summary", { class: "side-more", text: t("memory.older", { count: rest.length }) }),
          rest.map((file) => fileLink(file, options)),
        )
      : null,
  );
}

/** The side of the page. `update({files, conflicts})` redraws; the filter keeps what was typed. */
export function side({ view, path, today, onRetry }) {
  const views = el("div", { class: "side-views" });
  const groups = el("div", { class: "side-groups" });
  const filter = el("input", {
    class: "input",
    type: "search",
    placeholder: t("memory.filter"),
    "aria-label": t("memory.filter"),
  });
  let files = [];
  let conflicts = 0;
  let failed = null;
  const draw = () => keeping(node, redraw);
  const redraw = () => {
    clear(
      views,
      VIEWS.map((each) => viewLink(each, path === null ? view : null, each.id === "conflicts" ? conflicts : 0)),
      el(
        "button",
        { class: "side-link side-jump", type: "button", on: { click: () => groups.scrollIntoView({ block: "start" }) } },
        icon("file"),
        el("span", { text: t("memory.side") }),
      ),
    );
    const wanted = filter.value.trim().toLowerCase();
    const found = wanted ? files.filter((file) => file.path.toLowerCase().includes(wanted)) : files;
    const options = { current: path, today: today(), isFiltered: wanted !== "" };
    const known = new Set(GROUPS.flatMap((each) => each.kinds));
    clear(
      groups,
      failed ? failure(failed, { retry: onRetry }) : null,
      GROUPS.map((each) =>
        group(
          each,
          found.filter((file) => each.kinds.includes(file.kind) || (each.kinds[0] === "other" && !known.has(file.kind))),
          options,
        ),
      ),
      wanted && !found.length ? el("p", { class: "muted small side-none", text: t("memory.filter.none") }) : null,
    );
    filter.hidden = files.length < 8;
  };
  // On a phone the views are one row that scrolls: the current one is brought into it.
  requestAnimationFrame(() => {
    const current = views.querySelector("[aria-current]");
    if (current && views.scrollWidth > views.clientWidth) views.scrollLeft = current.offsetLeft - views.offsetLeft - 40;
  });
  filter.addEventListener("input", draw);
  const node = el("nav", { class: "memory-side", aria: { label: t("memory.side") } }, views, filter, groups);
  draw();
  return {
    node,
    update(next) {
      files = next.files ?? files;
      conflicts = next.conflicts ?? conflicts;
      failed = next.failed ?? null;
      draw();
    },
  };
}
