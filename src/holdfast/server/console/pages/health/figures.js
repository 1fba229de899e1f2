// Sizes, costs and what was spared: one answer of the server, drawn in three cards.

import { el } from "../../dom.js";
import { bytes, linkTo, money, tokens } from "../../format.js";
import { bars, ranks } from "../../parts/plots.js";
import { locale, t } from "../../words.js";

const MOST_DAYS = 30;
const DAY_MS = 86400000;
const short = (value) => tokens(value, { short: true });

// ── three tiers ─────────────────────────────────────────────────────────────────────────────

export function tiers({ status }) {
  const isOff = status.memory_mode === "off";
  return el(
    "div",
    { class: "tiers" },
    tier({
      name: t("health.tier.immediate"),
      what: t("health.tier.immediate.what"),
      value: status.newest_session ? t("health.tier.immediate.n", { count: status.view_messages }) : "–",
      more: status.newest_session ? t("health.tier.immediate.more", { count: status.view_chars }) : t("health.tier.immediate.none"),
      href: status.newest_session ? linkTo.session(status.newest_session) : null,
      label: status.newest_session,
    }),
    tier({
      name: t("health.tier.short"),
      what: t("health.tier.short.what"),
      value: t("health.tier.short.n", { count: status.sessions }),
      more: t("health.tier.short.more", { count: status.session_entries, bytes: bytes(status.session_bytes + status.artifact_bytes) }),
      href: "#/sessions",
    }),
    tier({
      name: t("health.tier.long"),
      what: t("health.tier.long.what"),
      value: isOff ? "–" : t("health.tier.long.n", { count: status.memories }),
      more: isOff
        ? t("health.tier.off")
        : [
            t("health.tier.long.more", { count: status.memory_files, bytes: bytes(status.memory_bytes) }),
            status.open_tasks ? ` · ${t("health.tier.tasks", { count: status.open_tasks })}` : "",
          ].join(""),
      href: "#/memory",
    }),
  );
}

function tier({ name, what, value, more, href, label }) {
  return el(
    "div",
    { class: "tier" },
    el("h3", {}, href ? el("a", { href, text: name }) : name),
    el("p", { class: "tier-value num", text: value }),
    el("p", { class: "num", text: more }),
    el("p", { class: "muted small" }, what, label ? [": ", el("span", { class: "mono", text: label })] : null),
  );
}

// ── costs ───────────────────────────────────────────────────────────────────────────────────

export function costs({ costs: found }) {
  const sum = (name) => found.days.reduce((total, day) => total + (day[name] ?? 0), 0);
  const calls = sum("calls");
  if (!calls) return nothing(t("health.costs.none"), t("health.costs.none.text"), "holdfast chat");
  const total = sum("cost");
  const unpriced = sum("unpriced");
  return [
    el("p", { class: "health-total", text: t("health.costs.total", { cost: money(total), calls: callsSaid(calls) }) }),
    total > 0 ? costPlot(found.days, total) : tokenPlot(found.days, calls),
    unpriced && total > 0 ? el("p", { class: "muted small", text: t("health.costs.unpriced", { count: unpriced }) }) : null,
    total > 0 ? null : el("p", { class: "muted small", text: t("health.costs.free") }),
    el(
      "div",
      { class: "grid-2" },
      ranked(t("health.costs.models"), found.models, (each) => each.name, total),
      ranked(t("health.costs.what"), found.what, (each) => whatSaid(each.name), total),
    ),
  ];
}

const callsSaid = (count) => t("health.costs.calls", { count });

function whatSaid(name) {
  const key = `health.what.${name}`;
  const found = t(key);
  return found === key ? name : found;
}

function daySaid(day) {
  return t("health.costs.day", {
    day: dayName(day.day, "long"),
    cost: money(day.cost ?? 0),
    calls: callsSaid(day.calls ?? 0),
    input: tokens(day.input_tokens ?? 0),
    output: tokens(day.output_tokens ?? 0),
  });
}

function costPlot(days, total) {
  const all = withGaps(days);
  return bars({
    label: t("health.costs.plot"),
    description: t("health.costs.desc", { total: money(total), count: days.length }),
    head: t("health.day"),
    bars: all.map((day) => ({ label: dayName(day.day, "long"), short: dayName(day.day), parts: { cost: day.cost ?? 0 }, text: daySaid(day) })),
    series: [{ name: "cost", label: t("health.costs.cost") }],
    format: money,
  });
}

function tokenPlot(days, calls) {
  const all = withGaps(days);
  return bars({
    label: t("health.costs.plot.tokens"),
    description: t("health.costs.desc", { total: callsSaid(calls), count: days.length }),
    head: t("health.day"),
    bars: all.map((day) => ({
      label: dayName(day.day, "long"),
      short: dayName(day.day),
      parts: { input: day.input_tokens ?? 0, output: day.output_tokens ?? 0 },
      text: daySaid(day),
    })),
    series: [
      { name: "input", label: t("health.costs.input") },
      { name: "output", label: t("health.costs.output") },
    ],
    format: (value) => tokens(value),
    short,
  });
}

function ranked(title, rows, nameOf, total) {
  const size = (each) => (total > 0 ? each.cost : each.input_tokens + each.output_tokens);
  return el(
    "div",
    { class: "stack-tight" },
    el("h3", { text: title }),
    ranks({
      label: title,
      rows: [...rows]
        .sort((one, other) => size(other) - size(one))
        .slice(0, 8)
        .map((each) => ({
          label: nameOf(each),
          value: size(each),
          said: total > 0 ? money(each.cost) : callsSaid(each.calls),
          note: t("health.costs.in", { input: short(each.input_tokens), output: short(each.output_tokens) }),
        })),
    }),
  );
}

// ── what was spared ─────────────────────────────────────────────────────────────────────────

export function saved({ saved: found }) {
  const sum = (name) => found.days.reduce((total, day) => total + (day[name] ?? 0), 0);
  if (!found.total_tokens && !sum("flushes")) return nothing(t("health.saved.none"), t("health.saved.none.text"));
  return [
    el("p", { class: "health-total", text: t("health.saved.total", { tokens: tokens(found.total_tokens) }) }),
    bars({
      label: t("health.saved.plot"),
      description: t("health.saved.total", { tokens: tokens(found.total_tokens) }),
      head: t("health.day"),
      bars: withGaps(found.days).map((day) => ({
        label: dayName(day.day, "long"),
        short: dayName(day.day),
        parts: { compacted: day.compacted_tokens ?? 0, pruned: day.pruned_tokens ?? 0 },
      })),
      series: [
        { name: "compacted", label: t("health.saved.compacted") },
        { name: "pruned", label: t("health.saved.pruned") },
      ],
      format: (value) => tokens(value),
      short,
    }),
    el("p", { class: "muted", text: t("health.saved.more", {
      flushes: t("health.saved.n.saves", { count: sum("flushes") }),
      lines: t("health.tier.long.n", { count: sum("flushed_lines") }),
      compactions: t("health.saved.n.compactions", { count: sum("compactions") }),
    }) }),
    found.truncated ? el("p", { class: "muted small", text: t("health.saved.cut") }) : null,
  ];
}

// ── days ────────────────────────────────────────────────────────────────────────────────────

// The last days with nothing left out between them: a day on which nothing happened is a fact too.
function withGaps(days) {
  if (!days.length) return [];
  const known = new Map(days.map((day) => [day.day, day]));
  const last = Date.parse(`${days.at(-1).day}T00:00:00Z`);
  const first = Math.max(Date.parse(`${days[0].day}T00:00:00Z`), last - (MOST_DAYS - 1) * DAY_MS);
  if (Number.isNaN(first)) return days.slice(-MOST_DAYS);
  const all = [];
  for (let at = first; at <= last; at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    all.push(known.get(day) ?? { day });
  }
  return all;
}

function dayName(day, style = "short") {
  const at = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return day;
  const parts = style === "long" ? { dateStyle: "medium" } : { month: "numeric", day: "numeric" };
  return at.toLocaleDateString(locale(), { ...parts, timeZone: "UTC" });
}

function nothing(title, text, command = null) {
  return el(
    "div",
    { class: "empty health-empty" },
    el("h3", { text: title }),
    el("p", { text }),
    command ? el("pre", { class: "command", text: command }) : null,
  );
}
