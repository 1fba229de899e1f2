// Everything about one memory: who said it, where (with the words themselves), since when it
// holds, and what can be done about it. Opened beside the line it belongs to.
import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { linkTo, percent } from "../../format.js";
import { dialog } from "../../parts/dialog.js";
import { entityName, stateBadge, trustBadge, trustWhy } from "../../parts/line.js";
import { failure, toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { askForget } from "./forgetting.js";
import { actionButton, day } from "./loading.js";
import { askUndoOf, refused, told } from "./undoing.js";

const QUOTED = 600;
const SOURCES = 3;

function row(word, ...value) {
  return value.some((each) => each !== null) ? [el("dt", { text: t(word) }), el("dd", {}, value)] : null;
}

// ── the words it came from ──────────────────────────────────────────────────────────────────

function quote(text) {
  const chars = [...text];
  const body = el("blockquote", { class: "source-quote plain", text: chars.length > QUOTED ? `${chars.slice(0, QUOTED).join("")}…` : text });
  if (chars.length <= QUOTED) return body;
  const more = el("button", {
    class: "link small",
    type: "button",
    text: t("memory.source.more"),
    on: {
      click: () => {
        body.textContent = text;
        more.remove();
      },
    },
  });
  return [body, more];
}

function leading(found) {
  if (found.session) {
    return {
      where: t("memory.source.session", { name: found.session }),
      href: found.seq === null || found.seq === undefined ? linkTo.citation(found.citation) : linkTo.session(found.session, found.seq),
      open: found.entry ? t("memory.source.open") : t("memory.source.open_session"),
    };
  }
  if (found.path) {
    const line = Array.isArray(found.lines) ? found.lines[0] : found.lines?.start ?? null;
    return { where: t("memory.source.file", { name: found.path }), href: line ? linkTo.file(found.path, line) : linkTo.citation(found.citation), open: t("memory.source.open_file") };
  }
  return { where: found.citation, href: linkTo.citation(found.citation), open: t("memory.source.open_session") };
}

function sourceCard(source) {
  const node = el("div", { class: "source", "aria-busy": "true" }, el("p", { class: "muted small", text: t("memory.source.loading") }));
  api.get("/memory/source", { citation: source.citation }).then(
    (found) => {
      const { where, href, open } = leading(found);
      node.removeAttribute("aria-busy");
      clear(
        node,
        el(
          "p",
          { class: "source-head small" },
          el("span", { class: "muted", text: where }),
          el("a", { href, text: open, data: { test: "source-link" } }),
        ),
        quote(found.text ?? ""),
      );
    },
    (error) => {
      node.removeAttribute("aria-busy");
      const gone = error.status === 404 || error.status === 410;
      clear(
        node,
        gone ? el("p", { class: "muted small", text: `${t("memory.source.gone")} ${source.citation}` }) : null,
        failure(error),
      );
    },
  );
  return node;
}

function sources(line) {
  const all = line.sources ?? [];
  if (!all.length) return el("p", { class: "muted small", text: t("memory.source.none") });
  const rest = all.slice(SOURCES);
  const node = el("div", { class: "sources" }, all.slice(0, SOURCES).map(sourceCard));
  if (rest.length) {
    const more = el("button", {
      class: "link small",
      type: "button",
      text: t("memory.sources.rest", { count: rest.length }),
      on: {
        click: () => {
          more.remove();
          node.append(...rest.map(sourceCard));
        },
      },
    });
    node.append(more);
  }
  return node;
}

// ── what it says of itself ──────────────────────────────────────────────────────────────────

function facts(line) {
  return el(
    "dl",
    { class: "facts small" },
    row("memory.said_by", trustBadge(line.trust), " ", el("span", { class: "muted", text: trustWhy(line.trust) })),
    line.entity ? row("memory.about_entity", el("a", { href: linkTo.search(line.entity), text: entityName(line) })) : null,
    line.observed ? row("memory.said_on", day(line.observed)) : null,
    typeof line.confidence === "number" ? row("memory.confidence", confidence(line.confidence)) : null,
    line.since ? row("memory.holds_from", day(line.since)) : null,
    line.until ? row("memory.holds_until", day(line.until)) : null,
    line.verified ? row("memory.verified", day(line.verified)) : null,
    line.retracted ? row("memory.retracted", day(line.retracted), line.reason ? ` · ${line.reason}` : null) : null,
    line.superseded_by ? row("memory.superseded", replacedBy(line.superseded_by)) : null,
    line.citation ? row("memory.cited", el("code", { text: line.citation })) : null,
  );
}

function confidence(value) {
  const bar = el("span", { class: "sure-fill" });
  bar.style.setProperty("width", `${Math.round(Math.max(0, Math.min(1, value)) * 100)}%`);
  return el("span", { class: "sure" }, el("span", { class: "sure-bar", "aria-hidden": "true" }, bar), el("span", { class: "num", text: percent(value) }));
}

// The newer line, as a link: asked for, because a line knows only its id.
function replacedBy(id) {
  const node = el("span", {}, el("code", { text: id }));
  api.get(`/facts/${encodeURIComponent(id)}`).then(
    (fact) => clear(node, el("a", { href: linkTo.file(fact.path, fact.number), text: fact.text })),
    () => {}, // its id still names it
  );
  return node;
}

function versions(line) {
  const body = el("div", { class: "versions" });
  const node = el("details", {}, el("summary", { class: "small", text: t("memory.versions") }), body);
  node.addEventListener("toggle", async () => {
    if (!node.open || body.childElementCount) return;
    body.append(el("p", { class: "muted small", text: t("loading") }));
    try {
      const answer = await api.get(`/facts/${encodeURIComponent(line.id)}/history`);
      const others = answer.facts.filter((each) => each.id !== line.id);
      clear(
        body,
        others.length
          ? el("ul", { class: "plain-list small" }, others.map((each) => el("li", {}, el("a", { href: linkTo.file(each.path, each.number), text: each.text }), " ", each.observed ? day(each.observed) : null, " ", stateBadge(each))))
          : el("p", { class: "muted small", text: t("memory.versions.none") }),
      );
    } catch (error) {
      clear(body, failure(error));
    }
  });
  return node;
}

// ── what can be done ────────────────────────────────────────────────────────────────────────

const factPath = (line, what) => `/facts/${encodeURIComponent(line.id)}/${what}`;

async function confirmLine(line, onChanged) {
  const done = await api.post(factPath(line, "confirm"));
  told(t("memory.confirm.done"), done.operation, onChanged);
  onChanged();
}

async function retractLine(line, onChanged) {
  const reason = el("input", { class: "input", type: "text", maxlength: "500" });
  const yes = el("button", { class: "button button-danger", type: "button", text: t("memory.retract"), data: { test: "confirm" } });
  const no = el("button", { class: "button", type: "button", text: t("action.cancel") });
  const asked = dialog({
    title: t("memory.retract.ask"),
    body: [
      el("p", { class: "quoted-line", text: line.text }),
      el("p", { class: "muted", text: t("memory.retract.text") }),
      el("label", { class: "field" }, el("span", { text: t("memory.retract.reason") }), reason),
    ],
    actions: [no, yes],
  });
  no.addEventListener("click", () => asked.close(false));
  yes.addEventListener("click", () => asked.close(true));
  if ((await asked.done) !== true) return;
  const done = await api.post(factPath(line, "retract"), reason.value.trim() ? { reason: reason.value.trim() } : {});
  told(t("memory.retract.done"), done.operation, onChanged);
  onChanged();
}

async function copyCitation(citation) {
  try {
    await navigator.clipboard.writeText(citation);
    toast(t("memory.copied", { citation }), { kind: "good" });
  } catch {
    toast(t("memory.copy.failed", { citation }));
  }
}

function actions(line, onChanged) {
  const button = (text, title, run, test) => actionButton({ text, title, run, test, onError: refused });
  const mayConfirm = line.trust !== "user" || line.kind === "O";
  return el(
    "div",
    { class: "line-actions row" },
    line.id && mayConfirm && !line.retracted ? button(t("memory.confirm"), t("memory.confirm.title"), () => confirmLine(line, onChanged), "line-confirm") : null,
    line.id && !line.retracted ? button(t("memory.retract"), t("memory.retract.title"), () => retractLine(line, onChanged), "line-retract") : null,
    line.id ? button(t("memory.forget"), t("memory.forget.title"), () => askForget(line, onChanged), "line-forget") : null,
    line.path ? button(t("memory.unwrite"), t("memory.unwrite.title"), () => askUndoOf(line, onChanged), "line-unwrite") : null,
    line.citation ? button(t("memory.copy"), line.citation, () => copyCitation(line.citation), "line-copy") : null,
  );
}

/** The whole panel. `onChanged` after the line was confirmed, retracted or forgotten. */
export function details(line, { onChanged }) {
  return el(
    "div",
    { class: "line-details", data: { test: "line-details" } },
    sources(line),
    facts(line),
    versions(line),
    actions(line, onChanged),
  );
}
