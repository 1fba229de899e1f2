// The results: what was found, where it stands, who said it, and the way there.
import { el, icon } from "../../dom.js";
import { linkTo, when } from "../../format.js";
import { entityName, kindWord, readLine, trustBadge } from "../../parts/line.js";
import { t } from "../../words.js";
import { whyHere } from "./explain.js";
import { sourceWord } from "./filters.js";
import { marked } from "./marking.js";

const TALKING = new Set(["user", "assistant", "tool"]); // whose word it is says the badge

/** The address of what a passage was taken from. */
function addressOf(passage) {
  if (passage.session && passage.seq !== null && passage.seq !== undefined) return linkTo.session(passage.session, passage.seq);
  if (passage.path) return linkTo.file(passage.path, passage.lines?.[0]);
  return linkTo.citation(passage.citation);
}

function placeOf(passage) {
  if (passage.session) return passage.session;
  if (passage.path) return passage.lines ? `${passage.path} · ${t("search.line", { line: passage.lines[0] })}` : passage.path;
  return passage.citation;
}

function timeOf(passage) {
  if (!passage.time) return null;
  const whole = /^(\d{4}-\d{2}-\d{2})T00:00:00(?:\.0+)?(?:Z|[+-]\d{2}:\d{2})$/.exec(passage.time);
  const { text, title } = whole ? { text: whole[1], title: whole[1] } : when(passage.time); // a day has no hour
  return el("time", { datetime: passage.time, title, text });
}

const inQuiet = (parts) => parts.filter(Boolean).flatMap((each, at) => (at ? [el("span", { class: "dot", "aria-hidden": "true", text: "·" }), each] : [each]));

// "@Lena: …" is how a memory is kept, not how it is read.
function textOf(passage, query) {
  const told = passage.text.startsWith("@") ? readLine(passage.text) : null;
  if (!told?.entity) return marked(passage.text, query);
  return [el("strong", { class: "entity" }, marked(entityName(told), query)), " ", marked(told.text, query)];
}

function hit(passage, query, isExplained) {
  const isSession = passage.source === "session";
  const kind = kindWord(passage.kind);
  const place = placeOf(passage);
  return el(
    "li",
    { class: "hit", data: { test: "search-hit" } },
    el(
      "a",
      { class: "hit-link", href: addressOf(passage), title: t(isSession ? "search.open.session" : "search.open.file") },
      el(
        "span",
        { class: "hit-head small" },
        icon(isSession ? "chat" : "file"),
        el("span", { class: "hit-place cut", text: place }),
      ),
      el("span", { class: "hit-text plain" }, textOf(passage, query)),
    ),
    el(
      "p",
      { class: "hit-about muted small" },
      inQuiet([
        el("span", { text: sourceWord(passage.source) }),
        kind && kind !== sourceWord(passage.source) ? el("span", { text: kind }) : null,
        passage.speaker && !TALKING.has(passage.speaker) ? el("span", { text: passage.speaker }) : null,
        timeOf(passage),
        passage.trust ? trustBadge(passage.trust) : null,
        passage.also?.length ? el("span", { title: passage.also.join("\n"), text: t("search.also", { count: passage.also.length }) }) : null,
        passage.exact ? el("span", { class: "badge badge-good", text: t("search.exact") }) : null,
      ]),
    ),
    isExplained ? whyHere(passage) : null,
  );
}

/** The list. Arrow keys move between its links; `onLeave` when they move above the first. */
export function hitList(found, { query, isExplained, onLeave }) {
  const node = el("ol", { class: "hits" }, found.passages.map((each) => hit(each, query, isExplained)));
  const links = () => [...node.querySelectorAll(".hit-link")];
  node.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = links();
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    if (next < 0) onLeave();
    else all[Math.min(next, all.length - 1)].focus();
  });
  return { node, focusFirst: () => links()[0]?.focus() };
}
