// Health: how the memory stands, what it costs and spares, what it is doing, and whether all is well.

import "./words.js";
import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { live } from "../../live.js";
import { t } from "../../words.js";
import { card } from "./cards.js";
import { doctorCard } from "./doctor.js";
import { eventsCard } from "./events.js";
import { costs, saved, tiers } from "./figures.js";
import { indexCard } from "./index-card.js";
import { modelsCard } from "./models-card.js";

const QUIET_MS = 1500;
const FIGURES = new Set(["turn_finished", "memory_flush_end", "compaction_end", "tool_results_pruned", "memory_changed", "session_deleted", "reset"]);

export default {
  id: "health",
  async mount(root, { refreshServer }) {
    const verdict = el("div", { class: "verdict", role: "status" });
    const figures = shared(() => api.get("/stats"));
    const cards = {
      tiers: card({ title: t("health.tiers"), load: figures.get, draw: tiers, lines: 3, test: "tiers-card" }),
      costs: card({ title: t("health.costs"), load: figures.get, draw: costs, lines: 6, test: "costs-card" }),
      saved: card({ title: t("health.saved"), load: figures.get, draw: saved, lines: 6, test: "saved-card-total" }),
      index: indexCard(),
      models: modelsCard({ refreshServer }),
      doctor: doctorCard({ onChecks: (checks) => clear(verdict, verdictOf(checks)) }),
      events: eventsCard(),
    };
    clear(
      root,
      el(
        "div",
        { class: "page health-page" },
        el(
          "div",
          { class: "page-head" },
          el("div", { class: "health-title" }, el("h1", { tabindex: "-1", text: t("health.title") }), el("p", { class: "muted", text: t("health.lead") })),
          verdict,
        ),
        cards.tiers.node,
        el(
          "div",
          { class: "grid-2" },
          el("div", { class: "health-column" }, cards.costs.node, cards.index.node),
          el("div", { class: "health-column" }, cards.saved.node, cards.models.node),
        ),
        cards.events.node,
        cards.doctor.node,
      ),
    );

    const drawFigures = () => {
      figures.forget();
      return Promise.all([cards.tiers.refresh(), cards.costs.refresh(), cards.saved.refresh()]);
    };
    drawFigures();
    cards.index.refresh();
    cards.models.refresh();
    cards.events.refresh();
    cards.doctor.refresh();

    let timer = null;
    const off = live.on((told) => {
      if (told.event === "index_changed") cards.index.refresh();
      if (!FIGURES.has(told.event)) return;
      clearTimeout(timer);
      timer = setTimeout(drawFigures, QUIET_MS);
    });
    return () => {
      off();
      clearTimeout(timer);
      cards.events.stop();
    };
  },
};

// Three cards, one question: whoever asks first asks for all of them.
function shared(ask) {
  let asked = null;
  return {
    get: () =>
      (asked ??= ask().catch((error) => {
        asked = null; // whoever asks again asks anew
        throw error;
      })),
    forget: () => {
      asked = null;
    },
  };
}

function verdictOf(checks) {
  const count = (result) => checks.filter((check) => check.result === result).length;
  const [broken, doubtful] = [count("failed"), count("warning")];
  const look = broken ? "bad" : doubtful ? "warn" : "good";
  const text = broken ? t("health.broken", { count: broken }) : doubtful ? t("health.look", { count: doubtful }) : t("health.good");
  const jump = () => {
    const target = document.getElementById("doctor");
    target?.scrollIntoView({ block: "start" });
    target?.focus({ preventScroll: true });
  };
  return [
    el("span", { class: `badge badge-${look}` }, icon(look === "good" ? "check" : "warn"), text),
    look === "good" ? null : el("button", { class: "link small", type: "button", text: t("health.see"), on: { click: jump } }),
  ];
}
