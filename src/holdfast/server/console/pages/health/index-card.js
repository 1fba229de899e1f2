// How the search index stands, and the two things one may do to it.

import { api } from "../../api.js";
import { el, icon } from "../../dom.js";
import { bytes, tokens } from "../../format.js";
import { confirm } from "../../parts/dialog.js";
import { phrase } from "../../parts/phrases.js";
import { toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { card, facts, worker } from "./cards.js";

export function indexCard() {
  const sync = worker({
    text: t("health.index.sync"),
    busy: t("health.index.syncing"),
    run: () => work("/index/sync", "health.index.synced"),
  });
  const rebuild = worker({
    text: t("health.index.rebuild"),
    busy: t("health.index.rebuilding"),
    quiet: true,
    sure: () =>
      confirm({
        title: t("health.index.rebuild.title"),
        text: t("health.index.rebuild.text"),
        action: t("health.index.rebuild"),
      }),
    run: () => work("/index/rebuild", "health.index.rebuilt"),
  });

  async function work(path, said) {
    try {
      const done = await api.post(path);
      const problem = done.problems[0];
      const made = { documents: t("health.index.n.documents", { count: done.documents }), embedded: t("health.index.n.passages", { count: done.embedded }) };
      toast(problem ? phrase(problem) : t(said, made), { kind: problem ? "plain" : "good" });
    } catch (error) {
      toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
    }
    await mine.refresh();
  }

  const mine = card({
    title: t("health.index"),
    actions: [sync, rebuild],
    test: "index-card",
    load: () => api.get("/index"),
    draw,
  });
  return mine;
}

const MEANING = /^meaning: /; // why there is no encoder: said in its row

function draw(found) {
  const why = found.problems.find((problem) => MEANING.test(problem))?.replace(MEANING, "");
  const isBehind = found.changed > 0 || found.encoders.some((each) => each.embedded < each.wanted);
  return [
    el(
      "p",
      {},
      isBehind
        ? el("span", { class: "badge badge-warn" }, icon("warn"), t("health.index.behind", { count: Math.max(found.changed, 1) }))
        : el("span", { class: "badge badge-good" }, icon("check"), t("health.index.fresh")),
    ),
    facts([
      [t("health.index.documents"), t("health.index.documents.n", { documents: found.documents, conversations: found.conversations })],
      [t("health.index.passages"), tokens(found.chunks)],
      found.resting ? [t("health.index.resting"), t("health.index.resting.n", { count: found.resting })] : null,
      [t("health.index.size"), bytes(found.bytes)],
      [t("health.index.encoders"), found.encoders.length ? found.encoders.map(encoder) : noEncoder(why)],
    ]),
    found.problems.filter((problem) => !MEANING.test(problem)).map((problem) => el("p", { class: "health-problem small" }, icon("warn"), el("span", { text: phrase(problem) }))),
  ];
}

function encoder(each) {
  return el("p", { text: t("health.index.encoder", each) });
}

function noEncoder(why) {
  return [el("p", { text: t("health.index.encoders.none") }), why ? el("p", { class: "muted small", text: phrase(why) }) : null];
}
