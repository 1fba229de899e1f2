// Plots: a step line with marks and happenings, stacked bars by day, and ranked bars.
//
// No dependency, no inline style; colours come from classes, so both themes hold. Every value can
// be had with the keyboard, as a sentence, and in a table (see plot-frame.js).

import { el, svg } from "../dom.js";
import { t } from "../words.js";
import { frame, legendOf, swatch, text, thinned, ticks } from "./plot-frame.js";

const LEFT = 44;
const TOP = 12;
const LABEL_ROOM = 14;
const GLYPH_ROOM = 13;
const NARROW = 520;
const MOST_DOTS = 90;

const GLYPHS = {
  flush: "M-5.5,-4.5 L5.5,-4.5 L0,5.5 Z",
  compaction: "M0,-6 L6,0 L0,6 L-6,0 Z",
  prune: "M-4.5,-4.5 H4.5 V4.5 H-4.5 Z",
  restore: "M0,-5 A5,5 0 1 1 0,5 A5,5 0 1 1 0,-5 Z",
  reset: "M-5,-5 L5,5 M5,-5 L-5,5",
  closed: "M0,-6 V6 M-4,-6 H4 M-4,6 H4",
};

// The shape that stands for a kind of happening; `at` moves it in a drawing.
export function glyph(kind, at = null) {
  const path = svg("path", { class: `glyph glyph-${kind}`, d: GLYPHS[kind] ?? GLYPHS.restore });
  if (at) {
    path.setAttribute("transform", `translate(${at.x} ${at.y})`);
    return path;
  }
  const box = { class: "plot-swatch", viewBox: "-7 -7 14 14", "aria-hidden": "true" };
  return svg("svg", box, path);
}

// A step line.
//   points      [{x, y, text, pick?}] in order of x; each holds until the next
//   marks       [{name, label, value}] horizontal lines
//   happenings  [{x, kind, text, short?, y?, pick?}] shapes below the line; y: it goes on from there
//   top         the largest value drawn; without it, the largest value or mark
//   format      how a value is said;  tickLabels [{x, label}] along the bottom
export function lines(given) {
  const { label, description, points, marks = [], happenings = [], onPick, legend } = given;
  if (!points.length && !happenings.length) return nothing();
  const stops = [
    ...points.map((each) => ({ ...each, is: "point" })),
    ...happenings.map((each) => ({ ...each, is: "happening" })),
  ].sort((one, other) => one.x - other.x || (one.is === "point" ? -1 : 1));
  const largest = [...points.map((each) => each.y), ...marks.map((each) => each.value)].reduce((one, other) => Math.max(one, other), 1);
  const most = given.top ?? largest;
  return frame({
    label,
    description,
    stops,
    onPick,
    legend: legend && legendOf(legend),
    table: given.table,
    height: given.height ?? 296,
    draw: (width, height) => drawLines(given, { stops, marks, most, width, height }),
  });
}

function drawLines(given, { stops, marks, most, width, height }) {
  const isNarrow = width < NARROW;
  const right = width - (marks.length ? (isNarrow ? 62 : 124) : 16);
  const bottom = height - 70;
  const first = stops[0].x;
  // The last value holds for half a step, so that a single one is a line too.
  const last = stops[stops.length - 1].x + (stops[stops.length - 1].is === "point" ? 0.5 : 0);
  const span = Math.max(last - first, 1e-9);
  const px = (x) => LEFT + 8 + ((x - first) / span) * (right - LEFT - 16);
  const py = (y) => bottom - (Math.min(y, most * 1.02) / (most * 1.02)) * (bottom - TOP);
  const at = stops.map((stop) => px(stop.x));
  const parts = [
    ...axis({ most, py, left: LEFT, right, format: given.short ?? given.format, count: isNarrow ? 3 : 4 }),
    ...markLines(marks.filter((mark) => mark.value <= most), { py, right, bottom, isNarrow, given }),
    ...stepLine(stops, { px, py, bottom, last }),
    ...lane(stops, { at, bottom, right }),
    ...bottomLabels(given.tickLabels ?? [], { px, y: bottom + 64 }),
  ];
  return { parts, at, band: 1, top: TOP, bottom: bottom + 22 };
}

function axis({ most, py, left, right, format, count }) {
  return ticks(most, count).flatMap((value) => [
    svg("line", { class: "plot-grid", x1: left, x2: right, y1: py(value), y2: py(value) }),
    text(left - 6, py(value) + 4, "plot-tick", format(value), "end"),
  ]);
}

function markLines(marks, { py, right, bottom, isNarrow, given }) {
  const sorted = [...marks].sort((one, other) => other.value - one.value);
  const spots = apart(sorted.map((mark) => Math.max(py(mark.value), TOP)), LABEL_ROOM, bottom);
  return sorted.flatMap((mark, index) => {
    const y = py(mark.value);
    const said = isNarrow ? mark.label : `${mark.label} ${given.format(mark.value)}`;
    return [
      svg("line", { class: `plot-mark mark-${mark.name}`, x1: LEFT, x2: right, y1: y, y2: y }),
      svg("path", { class: "plot-leader", d: `M${right},${y} L${right + 6},${spots[index]}` }),
      text(right + 8, spots[index] + 4, `plot-mark-label mark-${mark.name}`, said),
    ];
  });
}

// Places in order, moved on until they stand `room` apart, and back from `end` where they must.
function apart(places, room, end) {
  const found = [];
  places.forEach((place, index) => found.push(index ? Math.max(place, found[index - 1] + room) : place));
  for (let index = found.length - 1; index >= 0; index -= 1) {
    const limit = index === found.length - 1 ? end : found[index + 1] - room;
    found[index] = Math.min(found[index], limit);
  }
  return found;
}

function stepLine(stops, { px, py, bottom, last }) {
  const corners = stops.filter((stop) => stop.y != null);
  if (!corners.length) return [];
  const [first, ...rest] = corners;
  let path = `M${px(first.x)},${py(first.y)}`;
  for (const each of rest) path += ` H${px(each.x)} V${py(each.y)}`;
  path += ` H${px(last)}`;
  const dots = corners.filter((each) => each.is === "point");
  return [
    svg("path", { class: "plot-area", d: `${path} V${bottom} H${px(first.x)} Z` }),
    svg("path", { class: "plot-line", d: path }),
    ...(dots.length > MOST_DOTS
      ? []
      : dots.map((each) => svg("circle", { class: "plot-dot", cx: px(each.x), cy: py(each.y), r: 2.5 }))),
  ];
}

function lane(stops, { at, bottom, right }) {
  const happenings = stops.map((stop, index) => ({ stop, x: at[index] })).filter(({ stop }) => stop.is === "happening");
  const places = apart(happenings.map(({ x }) => x), GLYPH_ROOM, right);
  const parts = [];
  const free = [-Infinity, -Infinity];
  happenings.forEach(({ stop, x }, index) => {
    const place = places[index];
    parts.push(svg("line", { class: `plot-when glyph-${stop.kind}`, x1: x, x2: x, y1: TOP, y2: bottom }));
    parts.push(glyph(stop.kind, { x: place, y: bottom + 13 }));
    const row = stop.kind === "flush" ? 0 : 1; // a save often comes just before what it is for
    const half = ((stop.short?.length ?? 0) * 6.4) / 2 + 3;
    if (!stop.short || place - half <= free[row]) return;
    parts.push(text(place, bottom + 33 + row * 14, "plot-tick", stop.short, "middle"));
    free[row] = place + half;
  });
  return parts;
}

function bottomLabels(labels, { px, y }) {
  return thinned(
    labels.map((each) => ({ at: px(each.x), label: each.label })),
    72,
  ).map((each) => text(each.at, y, "plot-tick", each.label, "middle"));
}

// Stacked bars, one for each day or thing.
//   bars    [{label, short, parts: {series name: value}, text?}]
//   series  [{name, label}] from the bottom up;  format  how a value is said
export function bars(given) {
  const { label, description, bars: all, series, format } = given;
  if (!all.length) return nothing();
  const sum = (bar) => series.reduce((total, each) => total + (bar.parts[each.name] ?? 0), 0);
  const most = Math.max(...all.map(sum), 0) || 1;
  const spoken = (bar) =>
    bar.text ??
    t("plots.said", {
      label: bar.label,
      values: series.map((each) => `${each.label} ${format(bar.parts[each.name] ?? 0)}`).join(t("plots.and")),
    });
  const isStacked = series.length > 1;
  return frame({
    label,
    description,
    stops: all.map((bar) => ({ text: spoken(bar) })),
    legend: isStacked
      ? legendOf(series.map((each, index) => ({ mark: swatch(`series-${index + 1}`), label: each.label })))
      : null,
    table: {
      heads: [given.head ?? "", ...series.map((each) => each.label), ...(isStacked ? [t("plots.total")] : [])],
      rows: () =>
        all.map((bar) => [
          bar.label,
          ...series.map((each) => format(bar.parts[each.name] ?? 0)),
          ...(isStacked ? [format(sum(bar))] : []),
        ]),
    },
    height: given.height ?? 190,
    draw: (width, height) => drawBars(given, { most, width, height }),
  });
}

function drawBars({ bars: all, series, format, short }, { most, width, height }) {
  const right = width - 8;
  const bottom = height - 24;
  const slot = (right - LEFT) / all.length;
  const wide = Math.max(1.5, Math.min(slot * 0.72, 36));
  const py = (y) => bottom - (y / most) * (bottom - TOP);
  const at = all.map((_, index) => LEFT + slot * (index + 0.5));
  const parts = axis({ most, py, left: LEFT, right, format: short ?? format, count: 3 });
  all.forEach((bar, index) => {
    let low = 0;
    series.forEach((each, number) => {
      const value = bar.parts[each.name] ?? 0;
      if (!(value > 0)) return;
      const tall = Math.max(py(low) - py(low + value), 1);
      const y = py(low) - tall;
      const box = { x: at[index] - wide / 2, y, width: wide, height: tall, rx: Math.min(2, wide / 4) };
      parts.push(svg("rect", { class: `plot-bar series-${number + 1}`, ...box }));
      low += value;
    });
  });
  const labels = all.map((bar, index) => ({ at: at[index], label: bar.short ?? bar.label }));
  parts.push(...thinned(labels, 56).map((each) => text(each.at, height - 6, "plot-tick", each.label, "middle")));
  return { parts, at, band: Math.min(slot, wide * 1.5), top: TOP - 6, bottom };
}

// Bars that lie: [{label, value, said, note?}], the largest first. A list, so it needs no table.
export function ranks({ label, rows }) {
  const most = Math.max(...rows.map((row) => row.value), 0) || 1;
  return el(
    "ul",
    { class: "ranks", "aria-label": label },
    rows.map((row) => {
      const fill = el("span", { class: "rank-fill" });
      fill.style.setProperty("width", `${Math.max(0, (row.value / most) * 100)}%`);
      return el(
        "li",
        { class: "rank" },
        el("span", { class: "rank-label", text: row.label }),
        el("span", { class: "rank-said", text: row.said }),
        el("span", { class: "rank-track", "aria-hidden": "true" }, fill),
        row.note ? el("span", { class: "rank-note", text: row.note }) : null,
      );
    }),
  );
}

function nothing() {
  return el("p", { class: "plot-none", data: { test: "plot" }, text: t("plots.none") });
}
