// Which model answers and why, what was looked at, and what is on this machine.

import { api } from "../../api.js";
import { el, icon } from "../../dom.js";
import { bytes } from "../../format.js";
import { phrase } from "../../parts/phrases.js";
import { toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { card, facts, worker } from "./cards.js";

const WAYS = ["export OPENAI_API_KEY=…", "ollama serve", "holdfast model get qwen2.5-coder-1.5b"];

/** `refreshServer` lets the rest of the console know of a model that was found. */
export function modelsCard({ refreshServer }) {
  const look = worker({
    text: t("health.models.look"),
    busy: t("health.models.looking"),
    run: async () => {
      try {
        const found = await api.post("/models/look");
        toast(found.name ? t("health.models.looked", { name: found.name }) : t("health.models.looked.none"), { kind: found.name ? "good" : "plain" });
        await refreshServer?.();
      } catch (error) {
        toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
      }
      await mine.refresh();
    },
  });
  const mine = card({
    title: t("health.models"),
    actions: [look],
    test: "models-card",
    load: () => api.get("/models"),
    draw,
  });
  return mine;
}

function draw({ chosen, embedders, missing, weights }) {
  return [
    chosen.name ? null : noModel(chosen),
    facts([
      chosen.name
        ? [
            t("health.models.chosen"),
            [
              el("strong", { text: chosen.name }),
              el("p", { class: "muted small", text: t("health.models.because", { why: phrase(chosen.why) }) }),
            ],
          ]
        : null,
      [
        t("health.models.embedders"),
        embedders.length ? embedders.map((each) => el("p", { text: each.name })) : (missing ? phrase(missing) : t("health.models.embedders.none")),
      ],
      weights.length ? [t("health.models.weights"), onMachine(weights)] : null,
    ]),
    chosen.considered.length ? considered(chosen.considered) : null,
  ];
}

function noModel(chosen) {
  return el(
    "div",
    { class: "stack-tight" },
    el("p", {}, el("strong", { text: t("health.models.none") }), chosen.why ? el("span", { class: "muted", text: ` · ${phrase(chosen.why)}` }) : null),
    el("p", { class: "muted", text: t("health.models.none.text") }),
    WAYS.map((command) => el("pre", { class: "command", text: command })),
  );
}

function onMachine(weights) {
  return [
    el("ul", { class: "stack-tight" }, weights.map(weight)),
    weights.every((each) => each.is_here)
      ? null
      : el("p", { class: "small muted" }, t("health.models.get"), " ", el("code", { text: `holdfast model get ${weights.find((each) => !each.is_here).name}` })),
  ];
}

function weight(each) {
  const badge = each.is_here
    ? el("span", { class: "badge badge-good" }, icon("check"), t("health.models.here"))
    : el("span", { class: "badge", text: t("health.models.absent") });
  return el(
    "li",
    { class: "health-weight", title: each.title },
    el("span", { class: "mono cut", text: each.name }),
    el("span", { class: "muted num nowrap", text: bytes(each.bytes) }),
    badge,
  );
}

function considered(all) {
  return el(
    "details",
    { data: { key: "considered" } },
    el("summary", { text: t("health.models.considered") }),
    el(
      "ul",
      { class: "stack-tight health-considered" },
      all.map((each) =>
        el(
          "li",
          {},
          icon(each.model ? "check" : "dot"),
          el("span", {}, el("strong", { text: phrase(each.place) }), each.model ? ` ${each.model}` : null, el("span", { class: "muted", text: ` · ${phrase(each.why)}` })),
        ),
      ),
    ),
  );
}
