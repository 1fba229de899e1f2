// Why a result is where it is, as bars; and what the whole search did, in words and numbers.
import { el } from "../../dom.js";
import { t } from "../../words.js";

const STAGES = {
  words: "search.stage.words",
  words_window: "search.stage.words_window",
  meaning: "search.stage.meaning",
  late: "search.stage.late",
  late_window: "search.stage.late_window",
  session: "search.stage.session",
  speaker: "search.stage.speaker",
  present: "search.stage.present",
  date: "search.stage.date",
  when: "search.stage.when",
  feedback: "search.stage.feedback",
  hop: "search.stage.hop",
  beside: "search.stage.beside",
  length: "search.stage.length",
  asking: "search.stage.asking",
  first_person: "search.stage.first_person",
};
const TIMES = {
  "scope and query": "search.time.query",
  words: "search.time.words",
  meaning: "search.time.meaning",
  ranking: "search.time.ranking",
  weighing: "search.time.weighing",
  variety: "search.time.variety",
  "citing and packing": "search.time.packing",
};
const STEPS = {
  ranking: "search.step.ranking",
  age: "search.step.age",
  value: "search.step.value",
  variety: "search.step.variety",
};

const word = (table, name) => (Object.hasOwn(table, name) ? t(table[name]) : name.replaceAll("_", " "));
const number = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));

function bar(label, shown, share, { title = null, negative = false } = {}) {
  const fill = el("span", { class: `bar-fill${negative ? " is-negative" : ""}` });
  fill.style.setProperty("width", `${Math.round(Math.max(0, Math.min(1, share)) * 1000) / 10}%`);
  return el(
    "li",
    { class: "bar-row", title, data: { test: "stage-bar" } },
    el("span", { class: "bar-label", text: label }),
    el("span", { class: "bar-track", "aria-hidden": "true" }, fill),
    el("span", { class: "bar-value num", text: shown }),
  );
}

/** The bars of one passage. */
export function whyHere(passage) {
  const stages = passage.stages ?? [];
  const steps = passage.steps ?? [];
  return el(
    "div",
    { class: "why" },
    el("h3", { class: "why-title", text: t("search.why") }),
    stages.length
      ? el(
          "ul",
          { class: "bars" },
          stages.map((each) =>
            bar(word(STAGES, each.name), number(each.value), each.share, {
              title: each.by ? `${each.name} · ${each.by}` : each.name,
              negative: each.value < 0,
            }),
          ),
        )
      : el("p", { class: "muted small", text: t("search.why.none") }),
    steps.length
      ? el(
          "p",
          { class: "small muted steps" },
          `${t("search.steps")}: `,
          steps.map((each, at) => [
            at ? " → " : null,
            el("span", { class: "num", text: number(each.value) }),
            ` ${word(STEPS, each.name)}`,
          ]),
        )
      : null,
  );
}

const sum = (table) => Object.values(table ?? {}).reduce((all, each) => all + (Number(each) || 0), 0);
const list = (values) => (values.length ? values.join(", ") : t("search.how.none"));

function row(key, ...value) {
  return [el("dt", { text: t(key) }), el("dd", {}, value)];
}

function times(trace) {
  const found = trace.times ?? [];
  return list(found.map((each) => `${each.text} (${String(each.start).slice(0, 10)} – ${String(each.end).slice(0, 10)})`));
}

/** What the whole search did. */
export function whatItDid(found) {
  const trace = found.trace ?? {};
  const terms = (trace.parts ?? []).flatMap((part) => part.terms ?? []);
  const legs = trace.legs ?? {};
  const left = trace.filters?.left_out ?? {};
  const spent = Object.entries(trace.stages_ms ?? {});
  const longest = Math.max(0.001, ...spent.map(([, ms]) => ms));
  const counted = legs.words ?? {};
  return el(
    "section",
    { class: "card how", data: { test: "search-how" } },
    el("h2", { class: "section-title", text: t("search.how") }),
    el(
      "div",
      { class: "how-columns" },
      el(
        "dl",
        { class: "facts small" },
        row("search.how.terms", list([...new Set([...terms, ...Object.keys(counted)])].map((term) => (Object.hasOwn(counted, term) ? `${term} (${counted[term]})` : term)))),
        row("search.how.times", times(trace)),
        (trace.speakers ?? []).length ? row("search.how.speakers", list(trace.speakers)) : null,
        row("search.how.near", el("span", { class: "num", title: Object.keys(legs.meaning ?? {}).join("\n"), text: String(sum(legs.meaning)) })),
        legs.pool === undefined ? null : row("search.how.pool", el("span", { class: "num", text: String(legs.pool) })),
        sum(left) ? row("search.how.left", list(Object.entries(left).map(([why, count]) => `${why}: ${count}`))) : null,
      ),
      spent.length
        ? el(
            "div",
            {},
            el("h3", { class: "why-title", text: t("search.how.stages") }),
            el("ul", { class: "bars" }, spent.map(([name, ms]) => bar(word(TIMES, name), t("search.took", { ms: number(ms) }), ms / longest))),
          )
        : null,
    ),
  );
}
