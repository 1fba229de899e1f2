// What a session was told at its start, and from where; or what one that starts now would be told.

import { api } from "../../api.js";
import { clear, el, setHtml } from "../../dom.js";
import { linkTo, tokens } from "../../format.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";
import { pathOf } from "./asking.js";
import { skeleton } from "./list.js";

/** {node, show()}: read when it is first looked at. */
export function restorePacket(name) {
  const node = el("div", { class: "restore", data: { test: "restore-packet" } });

  async function show() {
    node.setAttribute("aria-busy", "true");
    clear(node, skeleton(6));
    try {
      const packet = await api.get(`${pathOf(name)}/restore`);
      clear(node, packet.text ? told(packet) : nothing());
    } catch (error) {
      clear(node, failure(error, { retry: show }));
    } finally {
      node.removeAttribute("aria-busy");
    }
  }
  return { node, show };
}

function told(packet) {
  const text = el("div", { class: "prose restore-text" });
  const raw = el("pre", { class: "plain restore-raw", tabindex: "0", text: packet.text, hidden: true });
  withoutFences(setHtml(text, packet.html));
  const button = (label, isRaw) =>
    el("button", {
      type: "button",
      text: label,
      aria: { pressed: !isRaw },
      on: {
        click: (event) => {
          raw.hidden = !isRaw;
          text.hidden = isRaw;
          for (const each of event.currentTarget.parentElement.children) {
            each.setAttribute("aria-pressed", String(each === event.currentTarget));
          }
        },
      },
    });
  return [
    el(
      "div",
      { class: "row-between" },
      el("p", { class: "restore-lead", text: t(packet.preview ? "sessions.restore.preview" : "sessions.restore.told") }),
      el("div", { class: "segments" }, button(t("sessions.restore.rendered"), false), button(t("sessions.restore.raw"), true)),
    ),
    el(
      "p",
      { class: "restore-sources muted" },
      t("sessions.restore.tokens", { tokens: tokens(packet.tokens) }),
      packet.sources.length ? ` · ${t("sessions.restore.sources")} ` : null,
      packet.sources.map((source, index) => [index ? ", " : null, sourceLink(source)]),
    ),
    el("div", { class: "card" }, text, raw),
  ];
}

// The marks that tell a model where a quotation begins and ends; "As sent" shows them.
const FENCE = /⟦\/?recalled:[\w-]{1,64}⟧ ?/g;

function withoutFences(node) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let each = walker.nextNode(); each; each = walker.nextNode()) each.data = each.data.replace(FENCE, "");
}

function sourceLink(source) {
  if (!/\.md(#L\d+(-L?\d+)?)?$/.test(source)) return el("span", { text: source });
  return el("a", { href: linkTo.citation(source), text: source });
}

function nothing() {
  return el(
    "div",
    { class: "empty" },
    el("h3", { text: t("sessions.restore.empty") }),
    el("p", { text: t("sessions.restore.empty.text") }),
    el("pre", { class: "command", text: "holdfast remember \"…\"" }),
  );
}
