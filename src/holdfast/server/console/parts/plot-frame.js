// What every plot has around its drawing: a name, a reading in words, a table of the same values.
//
// The drawing is one image for a screen reader. Over it lies one slider: the arrow keys, a pointer
// or a finger go from stop to stop, and each stop is a sentence. Nothing is told by colour alone.

import { clear, el, svg } from "../dom.js";
import { addWords, t } from "../words.js";

addWords({
  en: {
    "plots.table": "As a table",
    "plots.along": "{label}: read value by value",
    "plots.go": "Go there",
    "plots.none": "Nothing to draw yet.",
    "plots.total": "Total",
    "plots.said": "{label}: {values}",
    "plots.and": ", ",
  },
  zh: {
    "plots.table": "以表格显示",
    "plots.along": "{label}：逐个读数",
    "plots.go": "跳到这里",
    "plots.none": "还没有可画的数据。",
    "plots.total": "合计",
    "plots.said": "{label}：{values}",
    "plots.and": "，",
  },
});

const FIRST_WIDTH = 640;
let numbered = 0;

// A plot. `stops` are in the order of their place: {text, pick?}. `draw(width, height)` gives
// {parts, at: [px of each stop], band, top, bottom}: `band` is how wide a stop is. It is asked again
// whenever the width changes.
export function frame({ label, description, stops, draw, onPick, legend, table, height = 220 }) {
  const id = `plot-${++numbered}`;
  const image = svg("svg", { role: "img", "aria-labelledby": `${id}-title ${id}-desc` });
  const cursor = el("div", {
    class: "plot-cursor",
    role: "slider",
    tabindex: "0",
    "aria-label": t("plots.along", { label }),
    "aria-valuemin": "0",
    "aria-valuemax": String(stops.length - 1),
  });
  const canvas = el("div", { class: "plot-canvas" }, image, cursor);
  canvas.style.setProperty("height", `${height}px`);
  const said = el("span", { class: "plot-said" });
  const reading = el("p", { class: "plot-reading" }, said);
  const go = el("button", { type: "button", class: "button button-small plot-go", text: t("plots.go") });
  if (onPick) reading.append(go);

  const state = { at: stops.length - 1, width: 0, drawn: null, now: null };

  function show(at) {
    state.at = Math.max(0, Math.min(stops.length - 1, at));
    const stop = stops[state.at];
    said.textContent = stop.text;
    go.hidden = stop.pick == null;
    cursor.setAttribute("aria-valuenow", String(state.at));
    cursor.setAttribute("aria-valuetext", stop.text);
    state.now.setAttribute("x", state.drawn.at[state.at] - state.drawn.band / 2);
  }

  function redraw(width) {
    state.width = width;
    state.drawn = draw(width, height);
    const { parts, top, bottom, band } = state.drawn;
    const kind = band > 1 ? "plot-now plot-now-band" : "plot-now";
    state.now = svg("rect", { class: kind, y: top, width: band, height: bottom - top });
    clear(image);
    image.setAttribute("viewBox", `0 0 ${width} ${height}`);
    image.append(
      svg("title", { id: `${id}-title` }, label),
      svg("desc", { id: `${id}-desc` }, description ?? ""),
      state.now,
      ...parts,
    );
    show(state.at);
  }

  const pick = () => {
    const stop = stops[state.at];
    if (onPick && stop.pick != null) onPick(stop.pick);
  };
  go.addEventListener("click", pick);
  listen(cursor, { state, stops, show, pick });
  follow(canvas, state, redraw);
  redraw(FIRST_WIDTH);

  return el(
    "figure",
    { class: "plot", data: { test: "plot" } },
    legend,
    canvas,
    reading,
    table && tabled(table, label),
  );
}

function listen(cursor, { state, stops, show, pick }) {
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
  cursor.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) show(state.at + steps[event.key]);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(stops.length - 1);
    else if (event.key === "Enter" || event.key === " ") pick();
    else return;
    event.preventDefault();
  });
  const look = (event) => show(nearest(state.drawn.at, placeOf(event, cursor, state.width)));
  cursor.addEventListener("pointermove", look);
  // A finger only reads: it has the button beside the reading to go there.
  let isMouse = true;
  cursor.addEventListener("pointerdown", (event) => {
    isMouse = event.pointerType === "mouse";
    look(event);
  });
  cursor.addEventListener("click", () => isMouse && pick());
}

function placeOf(event, cursor, width) {
  const box = cursor.getBoundingClientRect();
  return box.width ? ((event.clientX - box.left) / box.width) * width : 0;
}

function nearest(places, x) {
  let best = 0;
  places.forEach((place, index) => {
    if (Math.abs(place - x) < Math.abs(places[best] - x)) best = index;
  });
  return best;
}

// Draws anew for another width, in a frame of its own: a redraw inside the observer would be
// reported as a loop.
function follow(canvas, state, redraw) {
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width < 1 || width === state.width) return;
    requestAnimationFrame(() => width !== state.width && redraw(width));
  });
  observer.observe(canvas);
}

// {heads: [text], rows: () => [[text]]}: filled when it is opened, for it may be long.
function tabled({ heads, rows }, label) {
  const body = el("tbody");
  const details = el(
    "details",
    { class: "plot-table", data: { key: `table:${label}` } },
    el("summary", { text: t("plots.table") }),
    el(
      "div",
      { class: "table-wrap plot-table-wrap", tabindex: "0", role: "region", "aria-label": label },
      el(
        "table",
        { class: "table" },
        el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col", text: head })))),
        body,
      ),
    ),
  );
  details.addEventListener("toggle", () => {
    if (!details.open || body.childElementCount) return;
    for (const row of rows()) body.append(el("tr", {}, row.map((cell) => el("td", { text: cell }))));
  });
  return details;
}

// Round steps from 0 to at least `most`, about `count` of them.
export function ticks(most, count) {
  if (!(most > 0)) return [0];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const found = [];
  for (let value = 0; value <= most * 1.0001; value += step) found.push(value);
  return found;
}

// Those labels that stand at least `room` pixels apart; the last one always stands.
export function thinned(labels, room) {
  const kept = [];
  for (const each of [...labels].reverse()) {
    if (!kept.length || kept[kept.length - 1].at - each.at >= room) kept.push(each);
  }
  return kept.reverse();
}

export function legendOf(entries) {
  return el(
    "ul",
    { class: "plot-legend" },
    entries.map(({ mark, label }) => el("li", {}, mark, el("span", { text: label }))),
  );
}

export function swatch(className) {
  return svg(
    "svg",
    { class: "plot-swatch", viewBox: "0 0 12 12", "aria-hidden": "true" },
    svg("rect", { class: className, x: 1, y: 1, width: 10, height: 10, rx: 2 }),
  );
}

export function text(x, y, className, said, anchor = "start") {
  return svg("text", { x, y, class: className, "text-anchor": anchor }, said);
}
