// One session's tokens over its turns, with what was saved and what left along the way.

import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { clock, linkTo, percent, tokens } from "../../format.js";
import { glyph, lines } from "../../parts/plots.js";
import { keeping, latest } from "../../parts/keeping.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";
import { pathOf } from "./asking.js";
import { markName } from "./context.js";
import { skeleton } from "./list.js";

const MARKS = ["window", "compact_at", "hard_at", "flush_at", "prune_at"];
const KINDS = ["flush", "compaction", "prune", "restore", "reset", "closed"];
const SMALL_SHARE = 0.25;

/** {node, refresh()}; `onPick(seq)` is told where somebody wants to go. */
export function timeline(name, { onPick }) {
  const body = el("div", { class: "timeline-body", "aria-busy": "true" }, skeleton(4));
  const zoom = el("button", { class: "button button-small", type: "button", hidden: true });
  const state = { told: null, isWhole: null };
  zoom.addEventListener("click", () => {
    state.isWhole = !state.isWhole;
    draw();
  });
  const node = el(
    "section",
    { class: "card timeline", data: { test: "timeline" }, "aria-label": t("sessions.timeline") },
    el("div", { class: "card-head" }, el("h2", { text: t("sessions.timeline") }), zoom),
    body,
  );

  function draw() {
    const { told } = state;
    const most = told.points.reduce((found, each) => Math.max(found, each.tokens), 0);
    const isSmall = most > 0 && most < told.window * SMALL_SHARE;
    state.isWhole ??= !isSmall;
    zoom.hidden = !isSmall;
    zoom.textContent = state.isWhole ? t("sessions.timeline.close") : t("sessions.timeline.whole");
    if (!told.points.length && !told.happenings.length) {
      clear(body, el("p", { class: "muted", text: t("sessions.timeline.empty") }));
      return;
    }
    const top = state.isWhole ? Math.max(told.window, most) : most * 1.15;
    keeping(body, () => clear(body, plot(told, { top, onPick }), happeningsList(told.happenings, onPick)));
  }

  const begin = latest();

  async function refresh() {
    const isNewest = begin();
    try {
      const told = await api.get(`${pathOf(name)}/timeline`);
      if (!isNewest()) return;
      state.told = told;
      draw();
    } catch (error) {
      if (isNewest()) clear(body, failure(error, { retry: refresh }));
    } finally {
      if (isNewest()) body.removeAttribute("aria-busy");
    }
  }
  return { node, refresh };
}

function plot(told, { top, onPick }) {
  const { points, happenings, window: room } = told;
  const spoken = points.map((each, index) => ({ ...each, turn: index + 1, said: pointSaid(each, index + 1, room) }));
  const marks = MARKS.filter((mark) => markAt(told, mark) > 0).map((mark) => ({
    name: mark.replace("_at", ""),
    label: markName(mark),
    value: markAt(told, mark),
  }));
  const kinds = KINDS.filter((kind) => happenings.some((each) => each.kind === kind));
  return lines({
    label: t("sessions.timeline"),
    description: described(told),
    points: spoken.map((each, index) => ({ x: index, y: each.tokens, text: each.said, pick: each.seq })),
    marks,
    happenings: happenings.map((each) => ({
      x: placeOf(each.seq, points),
      y: each.kind === "compaction" ? each.tokens_after : null,
      kind: each.kind,
      text: t("sessions.say.at", { at: clock(each.at), text: happeningSaid(each) }),
      short: shortOf(each),
      pick: each.seq,
    })),
    top,
    format: (value) => tokens(value),
    short: (value) => tokens(value, { short: true }),
    tickLabels: points.map((_, index) => ({ x: index, label: t("sessions.turn.n", { n: index + 1 }) })),
    legend: kinds.map((kind) => ({ mark: glyph(kind), label: t(`sessions.kind.${kind}`) })),
    onPick,
    table: {
      heads: [t("sessions.time"), t("sessions.what"), t("sessions.tokens")],
      rows: () => rowsOf(spoken, happenings),
    },
  });
}

function markAt(told, mark) {
  return mark === "window" ? told.window : told.marks?.[mark];
}

function described({ points, window: room, happenings }) {
  const count = (kind) => happenings.filter((each) => each.kind === kind).length;
  return t("sessions.timeline.desc", {
    count: points.length,
    last: tokens(points.at(-1)?.tokens ?? 0),
    window: tokens(room),
    happenings: t("sessions.timeline.events", {
      flushes: t("sessions.timeline.saves", { count: count("flush") }),
      compactions: t("sessions.timeline.compactions", { count: count("compaction") }),
    }),
  });
}

function pointSaid(point, turn, room) {
  const said = {
    turn,
    at: clock(point.at),
    tokens: tokens(point.tokens),
    source: point.source === "reported" ? t("sessions.reported") : t("sessions.estimated"),
  };
  return room ? t("sessions.point", { ...said, share: percent(point.tokens / room) }) : t("sessions.point.plain", said);
}

// A happening lies between two turns, nearer to the one whose entries it is nearer to.
function placeOf(seq, points) {
  const before = points.findLastIndex((each) => each.seq <= seq);
  if (before < 0) return points.length ? -0.25 : seq;
  const [here, next] = [points[before], points[before + 1]];
  return next ? before + (seq - here.seq) / (next.seq - here.seq) : before + (seq > here.seq ? 0.5 : 0);
}

export function happeningSaid(each) {
  const because = (text) => (each.reason ? t("sessions.say.reason", { text, reason: each.reason }) : text);
  if (each.kind === "flush") {
    if (each.outcome === "failed") return because(t("sessions.say.flush.failed"));
    if (!each.saved) return t("sessions.say.flush.none");
    const text = t("sessions.say.flush", { count: each.saved });
    return each.file ? t("sessions.say.to", { text, file: each.file }) : text;
  }
  const size = { before: tokens(each.tokens_before), after: tokens(each.tokens_after) };
  if (each.kind === "compaction") return t("sessions.say.compaction", { count: each.dropped ?? 0, ...size });
  if (each.kind === "prune") {
    return each.tokens_before == null ? t("sessions.say.prune.plain") : t("sessions.say.prune", size);
  }
  if (each.kind === "restore") return t("sessions.say.restore");
  if (each.kind === "reset") return because(t("sessions.say.reset"));
  return each.kind === "closed" ? t("sessions.say.closed") : because(each.kind);
}

function shortOf(each) {
  if (each.kind === "flush") return each.saved ? `+${each.saved}` : null;
  if (each.kind !== "compaction" || each.tokens_before == null) return null;
  return `−${tokens(each.tokens_before - each.tokens_after, { short: true })}`;
}

function rowsOf(spoken, happenings) {
  const rows = [
    ...spoken.map((each) => ({ seq: each.seq, cells: [clock(each.at), t("sessions.turn.n", { n: each.turn }), tokens(each.tokens)] })),
    ...happenings.map((each) => ({ seq: each.seq, cells: [clock(each.at), happeningSaid(each), tokens(each.tokens_after)] })),
  ];
  return rows.sort((one, other) => one.seq - other.seq).map((row) => row.cells);
}

function happeningsList(happenings, onPick) {
  const items = [...happenings].reverse().map((each) =>
    el(
      "li",
      { class: "context-event" },
      glyph(each.kind),
      el(
        "div",
        {},
        el("button", {
          class: "context-event-said",
          type: "button",
          title: t("sessions.jump"),
          text: happeningSaid({ ...each, file: null }),
          data: { key: `happening:${each.kind}:${each.seq}` },
          on: { click: () => onPick(each.seq) },
        }),
        el(
          "p",
          { class: "muted context-event-when" },
          el("time", { datetime: each.at, text: clock(each.at) }),
          each.kind === "flush" && each.saved && each.file
            ? [" · ", el("a", { href: linkTo.file(each.file), text: each.file })]
            : null,
        ),
      ),
    ),
  );
  return el(
    "div",
    { class: "happenings" },
    el("h3", { text: t("sessions.happenings") }),
    items.length
      ? el("ol", { class: "happenings-list", tabindex: "0", "aria-label": t("sessions.happenings") }, items)
      : el("p", { class: "muted", text: t("sessions.happenings.none") }),
  );
}
