// The check-up: every finding with a word for its result, and what to do about it.

import { api } from "../../api.js";
import { el, icon } from "../../dom.js";
import { phrase } from "../../parts/phrases.js";
import { toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { card, worker } from "./cards.js";

const LOOKS = {
  ok: { picture: "check", badge: "badge badge-good" },
  warning: { picture: "warn", badge: "badge badge-warn" },
  failed: { picture: "close", badge: "badge badge-bad" },
};

/** `onChecks(checks)` hears every result. */
export function doctorCard({ onChecks }) {
  const again = worker({ text: t("health.doctor.again"), busy: t("health.doctor.checking"), quiet: true, run: () => mine.refresh() });
  const fix = worker({
    text: t("health.doctor.fix"),
    busy: t("health.doctor.fixing"),
    run: async () => {
      try {
        await api.post("/doctor/fix");
        toast(t("health.doctor.fixed"), { kind: "good" });
      } catch (error) {
        toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
      }
      await mine.refresh();
    },
  });
  const mine = card({
    title: t("health.doctor"),
    actions: [fix, again],
    id: "doctor",
    lines: 8,
    load: () => api.get("/doctor"),
    draw: ({ checks }) => {
      onChecks(checks);
      fix.hidden = !checks.some((check) => check.hint?.includes("--fix")); // the rest is for a person
      return el("ul", { class: "list checks" }, [...checks].sort(byWorst).map(row));
    },
  });
  fix.hidden = true;
  return mine;
}

const PAGES = new Map([["sessions", "#/sessions"], ["memory", "#/memory"], ["search", "#/search"]]);

const byWorst = (one, other) => rank(other) - rank(one);
const rank = (check) => ["ok", "warning", "failed"].indexOf(check.result);

// What a command would do is done here, where there is a page for it.
function settles(hint) {
  if (!hint.includes("holdfast conflicts")) return null;
  return [" ", el("a", { href: "#/memory?view=conflicts", text: t("health.doctor.conflicts") })];
}

function row(check) {
  const look = LOOKS[check.result] ?? LOOKS.warning;
  const key = `health.check.${check.name}`;
  const name = t(key) === key ? check.name : t(key);
  const page = PAGES.get(check.name);
  return el(
    "li",
    { class: "check-row", data: { test: "check-row", result: check.result } },
    el("span", { class: look.badge }, icon(look.picture), t(`health.check.${check.result}`)),
    el("strong", { class: "check-name" }, page ? el("a", { href: page, text: name }) : name),
    el(
      "div",
      { class: "check-text" },
      el("p", { text: phrase(check.text) }),
      check.hint ? el("p", { class: "muted small" }, phrase(check.hint), settles(check.hint)) : null,
    ),
  );
}
