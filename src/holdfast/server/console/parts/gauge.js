// How full the window is, where the marks are, and what fills it.

import { clear, el } from "../dom.js";
import { percent, tokens } from "../format.js";
import { t } from "../words.js";
import "./words.js";

const MARKS = ["prune", "flush", "hard", "compact"];
const COLOURS = { messages: 1, tool_results: 2, memory: 3, summary: 4, system: 5, tools: 6, images: 7, rest: "rest" };
const ORDER = ["system", "tools", "memory", "summary", "messages", "tool_results", "images", "rest"];

let count = 0;

/** {node, update(standing)}: nothing is drawn before the first standing. */
export function gauge() {
  const used = el("strong", { class: "gauge-used num", data: { test: "gauge-used" } });
  const source = el("span", { class: "muted small gauge-source cut" });
  const track = el("div", {
    class: "gauge-track", role: "meter", aria: { valuemin: "0", label: t("gauge.label") },
  });
  const marks = el("ul", { class: "gauge-marks" });
  const list = el("ul", { class: "gauge-fills" });
  const fills = el("details", { class: "gauge-details" }, el("summary", { text: t("gauge.fills") }), list);
  const head = el("div", { class: "gauge-head" }, used, source);
  const node = el("section", { class: "gauge", aria: { label: t("gauge.label") }, data: { test: "gauge" } },
    head, track, el("div", { class: "gauge-foot" }, marks, fills));
  node.hidden = true;

  function update(standing) {
    const window = standing.marks?.window || 0;
    if (!window) {
      node.hidden = true;
      return;
    }
    const now = standing.projected;
    const text = t("gauge.used", { used: tokens(now), window: tokens(window), share: percent(now / window) });
    if (used.textContent !== text) used.textContent = text;
    source.textContent = t(standing.source === "reported" ? "gauge.reported" : "gauge.estimated");
    node.dataset.pressure = standing.pressure || "none";
    drawTrack(track, standing, window);
    track.setAttribute("aria-valuemax", String(window));
    track.setAttribute("aria-valuenow", String(Math.min(now, window)));
    track.setAttribute("aria-valuetext", text);
    drawMarks(marks, standing);
    drawFills(list, standing, window);
    node.hidden = false;
  }
  return { node, head, update };
}

/** What the estimate knows, always in the same order, and what the provider counted beyond it. */
function fillsOf(standing) {
  const known = standing.fills.reduce((sum, fill) => sum + fill.tokens, 0);
  const rest = { name: "rest", tokens: standing.projected - known };
  const place = (fill) => (ORDER.includes(fill.name) ? ORDER.indexOf(fill.name) : ORDER.length);
  return [...standing.fills, ...(rest.tokens > 0 ? [rest] : [])].sort((a, b) => place(a) - place(b));
}

function drawTrack(track, standing, window) {
  const fills = fillsOf(standing);
  const total = fills.reduce((sum, fill) => sum + fill.tokens, 0) || 1;
  const parts = fills.map((fill) => {
    const part = el("span", { class: "gauge-part", data: { fill: COLOURS[fill.name] || 5 } });
    part.style.setProperty("width", `${(fill.tokens / total) * Math.min(1, standing.projected / window) * 100}%`);
    part.title = `${nameOf(fill.name)}: ${tokens(fill.tokens)}`;
    return part;
  });
  const known = MARKS.filter((name) => standing.marks[`${name}_at`]);
  const ticks = known.map((name) => {
    const at = standing.marks[`${name}_at`];
    const tick = el("span", { class: "gauge-tick", data: { mark: name } });
    tick.style.setProperty("left", `${Math.min(100, (at / window) * 100)}%`);
    const same = known.filter((other) => standing.marks[`${other}_at`] === at);
    if (same.length > 1) { // marks at the same place share the height
      tick.style.setProperty("top", `${-4 + (20 / same.length) * same.indexOf(name)}px`);
      tick.style.setProperty("bottom", "auto");
      tick.style.setProperty("height", `${20 / same.length}px`);
    }
    return tick;
  });
  clear(track, el("span", { class: "gauge-filled" }, parts), ticks);
}

function drawMarks(node, standing) {
  if (node.contains(document.activeElement)) return; // somebody is reading one
  clear(node, MARKS.filter((name) => standing.marks[`${name}_at`]).map((name) => {
    const at = standing.marks[`${name}_at`];
    const away = at - standing.projected;
    const id = `mark-${(count += 1)}`;
    const tip = el("span", { class: "tip", role: "tooltip", id },
      t(`gauge.what.${name}`, { at: tokens(at) }), " ",
      el("strong", { text: away > 0 ? t("gauge.away", { away: tokens(away) }) : t("gauge.passed") }));
    const button = el("button", {
      type: "button", class: away > 0 ? "gauge-mark" : "gauge-mark is-reached", data: { mark: name, test: `mark-${name}` }, aria: { describedby: id },
      on: {
        keydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); button.blur(); } },
      },
    }, el("span", { class: "gauge-swatch" }), el("span", { text: t(`gauge.mark.${name}`) }), el("span", { class: "num muted gauge-at", text: tokens(at) }));
    return el("li", { class: "tip-wrap" }, button, tip);
  }));
}

function drawFills(node, standing, window) {
  const row = (colour, name, n) => el("li", {},
    el("span", { class: "gauge-swatch", data: { fill: colour } }), el("span", { class: "grow", text: name }),
    el("span", { class: "num", text: tokens(n) }), el("span", { class: "num muted gauge-share", text: percent(n / window) }));
  clear(node,
    fillsOf(standing).map((fill) => row(COLOURS[fill.name] || 5, nameOf(fill.name), fill.tokens)),
    row("free", t("gauge.free"), Math.max(0, window - standing.projected)));
}

function nameOf(fill) {
  return fill in COLOURS ? t(`gauge.fill.${fill}`) : fill;
}
