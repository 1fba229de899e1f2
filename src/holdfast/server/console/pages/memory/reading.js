// A memory file as it reads, with a margin: every memory says who said it, and opens to where it
// came from. The text is the server's rendering; the margin is added to its lines by their number.
import { el, setHtml } from "../../dom.js";
import { entityName, kindWord, readLine, stateBadge, trustWhy, trustWord } from "../../parts/line.js";
import { t } from "../../words.js";
import { details } from "./details.js";

const LOOSE = 200; // at once

function firstText(node) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let each = walker.nextNode(); each; each = walker.nextNode()) {
    if (each.data.trim()) return each;
  }
  return null;
}

// What the margin says (its kind, whom it is about) is not said twice.
function withoutHead(node) {
  const text = firstText(node);
  const told = text ? readLine(text.data) : null;
  if (!told) return false;
  text.data = told.text;
  return true;
}

/** The button in the margin, and the panel it opens. */
export function mark(line, { onChanged, host }) {
  let panel = null;
  const button = el(
    "button",
    {
      class: `mark trust trust-${["user", "agent", "tool", "import"].includes(line.trust) ? line.trust : "unknown"}`,
      type: "button",
      title: trustWhy(line.trust),
      aria: { expanded: "false", label: t("memory.mark", { trust: trustWord(line.trust) }) },
      data: { test: "provenance", line: line.number, key: `mark:${line.id}:${line.path ?? ""}:${line.number}` },
    },
    el("span", { class: "mark-dot", "aria-hidden": "true" }),
    trustWord(line.trust),
  );
  const toggle = (open) => {
    if (open === (panel !== null)) return;
    button.setAttribute("aria-expanded", String(open));
    host.classList.toggle("is-open", open);
    if (open) {
      panel = details(line, { onChanged });
      host.append(panel);
    } else {
      panel.remove();
      panel = null;
    }
  };
  button.addEventListener("click", () => toggle(panel === null));
  host.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel === null) return;
    event.stopPropagation();
    toggle(false);
    button.focus();
  });
  return { button, open: () => toggle(true) };
}

function decorate(host, line, onChanged) {
  const body = el("div", { class: "line-body" });
  body.append(...host.childNodes);
  const told = withoutHead(body);
  if (told && line.entity) body.prepend(el("strong", { class: "entity", text: entityName(line) }), " ");
  const state = stateBadge(line);
  if (state) body.append(" ", state);
  host.classList.add("memory-line");
  host.parentElement?.classList.add("memory-lines");
  if (line.holds === false || line.retracted) host.classList.add("is-past");
  const { button, open } = mark(line, { onChanged, host });
  host.append(el("div", { class: "line-row" }, el("span", { class: "line-kind", text: kindWord(line.kind) }), body, button));
  return open;
}

/** A memory that stands alone, out of its file: in lists of our own. */
export function lineItem(line, { onChanged, extra = null }) {
  const host = el("li", { class: `memory-line${line.holds === false || line.retracted ? " is-past" : ""}` });
  const { button } = mark(line, { onChanged, host });
  host.append(
    el(
      "div",
      { class: "line-row" },
      el("span", { class: "line-kind", text: kindWord(line.kind) }),
      el(
        "div",
        { class: "line-body" },
        line.entity ? [el("strong", { class: "entity", text: entityName(line) }), " "] : null,
        el("span", { text: line.text }),
        " ",
        stateBadge(line),
        " ",
        extra,
      ),
      button,
    ),
  );
  return host;
}

// The block that holds a line of the file: the list item if there is one, else what begins there.
function hostsOf(article) {
  const hosts = new Map();
  for (const node of article.querySelectorAll("[data-line]")) {
    const number = Number(node.dataset.line);
    const known = hosts.get(number);
    if (!known || (node.tagName === "LI" && known.tagName !== "LI")) hosts.set(number, node);
  }
  return hosts;
}

function nearest(hosts, wanted) {
  let best = null;
  for (const [number, node] of hosts) {
    if (number <= wanted && (best === null || number >= best.number)) best = { number, node };
  }
  return best?.node ?? null;
}

// Those that the text could not be joined with: a file too large to be rendered is one of them.
function looseLines(lines, onChanged) {
  const list = el("ul", { class: "memory-lines card" });
  let shown = 0;
  const more = el("button", { class: "button", type: "button", on: { click: add } });
  function add() {
    list.append(...lines.slice(shown, shown + LOOSE).map((line) => lineItem(line, { onChanged })));
    shown = Math.min(lines.length, shown + LOOSE);
    more.textContent = t("memory.lines.more", { count: lines.length - shown });
    more.hidden = shown === lines.length;
  }
  add();
  return el("div", { class: "stack" }, list, more);
}

/** The article. `wanted` is a line to show: call `goTo()` once it is in the page. */
export function reading(file, { wanted, onChanged }) {
  const article = el("article", { class: "prose memory-text", data: { test: "file-text" } });
  setHtml(article, file.html);
  const hosts = hostsOf(article);
  const openers = new Map();
  const loose = [];
  for (const line of file.lines ?? []) {
    const told = { ...line, path: file.path, citation: line.citation ?? `${file.path}#L${line.number}` };
    const host = hosts.get(line.number);
    if (host?.tagName === "LI") openers.set(line.number, decorate(host, told, onChanged));
    else loose.push(told);
  }
  const node = el("div", { class: "stack" }, article);
  if (openers.size) node.prepend(el("p", { class: "muted small", text: t("memory.hint") }));
  if (!file.text.trim()) node.prepend(el("p", { class: "muted", text: t("memory.file.empty") }));
  if (loose.length) {
    node.append(el("h2", { class: "section-title", text: t("memory.file.lines") }), looseLines(loose, onChanged));
  }
  const goTo = () => {
    if (!wanted) return;
    const target = nearest(hosts, wanted);
    if (!target) return;
    openers.get(wanted)?.();
    target.classList.add("is-target");
    target.scrollIntoView({ block: "center" });
    (target.querySelector(".mark") ?? target).focus?.({ preventScroll: true });
  };
  return { node, goTo };
}
