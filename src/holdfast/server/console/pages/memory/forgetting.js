// Forgetting one memory: what would go is shown first; the archive is the default, erasing for
// good is a second, deliberate choice. The id goes as an id: whoever wrote the line wrote it too,
// and it must never be taken for words that stand in others.
import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { dialog } from "../../parts/dialog.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";
import { skeleton } from "./loading.js";
import { refused, told } from "./undoing.js";

const SHOWN = 8;

function affected(preview) {
  const items = preview.items ?? [];
  if (!items.length) return el("p", { class: "muted", text: t("memory.forget.nothing") });
  return [
    el("p", { class: "small muted", text: t("memory.forget.preview") }),
    el(
      "ul",
      { class: "affected" },
      items.slice(0, SHOWN).map((item) =>
        el(
          "li",
          {},
          el("span", { class: "mono small muted", text: item.where ?? "" }),
          item.text ? el("span", { class: "affected-text", text: item.text }) : null,
          item.count > 1 ? el("span", { class: "badge", text: t("memory.forget.places", { count: item.count }) }) : null,
        ),
      ),
      items.length > SHOWN ? el("li", { class: "muted small", text: `+${items.length - SHOWN}` }) : null,
    ),
  ];
}

function choice(name, value, title, text, checked) {
  const input = el("input", { type: "radio", name, value, checked });
  return { input, node: el("label", { class: "check" }, input, el("span", {}, el("strong", { text: title }), el("br"), el("span", { class: "muted small", text }))) };
}

/** Ask, show, do. */
export async function askForget(line, onChanged) {
  const archive = choice("forget", "archive", t("memory.forget.archive"), t("memory.forget.archive.text"), true);
  const erase = choice("forget", "erase", t("memory.forget.erase"), t("memory.forget.erase.text"), false);
  const preview = el("div", { class: "preview stack-tight" }, skeleton(2));
  const yes = el("button", { class: "button button-danger", type: "button", disabled: true, text: t("memory.forget"), data: { test: "confirm" } });
  const no = el("button", { class: "button", type: "button", text: t("action.cancel") });
  const asked = dialog({
    title: t("memory.forget.ask"),
    body: [el("p", { class: "quoted-line", text: line.text }), el("div", { class: "stack-tight" }, archive.node, erase.node), preview],
    actions: [no, yes],
  });
  let turn = 0;
  const look = async () => {
    turn += 1;
    const mine = turn;
    yes.disabled = true;
    clear(yes, t(erase.input.checked ? "memory.forget.erase.action" : "memory.forget"));
    clear(preview, skeleton(2));
    try {
      const found = await api.post("/memory/forget", { ids: [line.id], erase: erase.input.checked, dry_run: true });
      if (mine !== turn) return;
      clear(preview, affected(found));
      yes.disabled = !(found.items ?? []).length;
    } catch (error) {
      if (mine === turn) clear(preview, failure(error));
    }
  };
  archive.input.addEventListener("change", look);
  erase.input.addEventListener("change", look);
  no.addEventListener("click", () => asked.close(false));
  yes.addEventListener("click", () => asked.close(true));
  look();
  no.focus();
  if ((await asked.done) !== true) return;
  const isErased = erase.input.checked;
  try {
    const done = await api.post("/memory/forget", { ids: [line.id], erase: isErased });
    const text = isErased ? t("memory.forget.erased", { receipt: done.receipt ?? "–" }) : t("memory.forget.done", { count: (done.items ?? []).length });
    told(text, isErased ? null : done.operation, onChanged);
    onChanged();
  } catch (error) {
    refused(error);
  }
}
