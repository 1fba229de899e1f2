// The top of a conversation: its name, its goal, what can be done with it; the gauge; the last
// save; and the banner when it is nearly full.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { linkTo, tokens, when } from "../../format.js";
import { dialog } from "../../parts/dialog.js";
import { gauge } from "../../parts/gauge.js";
import { savedCard } from "../../parts/saved.js";
import { failure, toast } from "../../parts/toast.js";
import { t } from "../../words.js";

const NEAR_FULL = ["flush", "hard", "compact"];

/** {node, setDetail(detail), setStanding(standing)}; `on`: {follow(name), changed(), renamed(name), busy(text)}. */
export function chatHead({ path, on, toggleList }) {
  const meter = gauge();
  const name = el("h1", { class: "cut", tabindex: "-1" });
  const badges = el("span", { class: "row chat-badges" });
  const goal = el("button", { class: "chat-goal", type: "button", data: { test: "goal" }, on: { click: editGoal } });
  const last = el("button", { class: "chip", type: "button", data: { test: "last-save" }, on: { click: showLast } });
  const banner = el("div", { class: "chat-banner", aria: { live: "polite" } });
  const menu = actionsMenu([
    ["save", "chat.menu.flush", flushNow, "flush-now"],
    ["fold", "chat.menu.compact", compactNow, "compact-now"],
    ["edit", "chat.menu.rename", rename, "rename"],
    ["history", "chat.menu.details", () => on.go(linkTo.session(detail.name)), "details"],
    ["plus", "chat.menu.new", startNew, "follow"],
  ]);
  let detail = null;
  let standing = null;
  meter.head.append(el("span", { class: "grow" }), last);
  const node = el("div", { class: "chat-top" },
    el("div", { class: "chat-head" },
      el("button", { class: "button-icon chat-list-toggle", type: "button", aria: { label: t("chat.sessions.show"), expanded: "false" }, on: { click: () => toggleList() } }, icon("sessions")),
      el("div", { class: "chat-name" }, name, badges), goal, menu.node),
    meter.node, banner);

  function setDetail(value) {
    detail = value;
    name.textContent = value.name;
    name.title = value.name;
    const told = [];
    if (value.is_closed) told.push(["chat.badge.closed", "badge"]);
    if (value.is_incognito) told.push(["chat.badge.incognito", "badge badge-accent"]);
    else if (value.memory_mode === "read") told.push(["chat.badge.memory.read", "badge badge-warn"]);
    else if (value.memory_mode === "off") told.push(["chat.badge.memory.off", "badge badge-warn"]);
    clear(badges, told.map(([key, kind]) => el("span", { class: kind, text: t(key), data: { test: "session-badge" } })),
      value.model ? el("span", { class: "muted small cut", text: value.model }) : null);
    clear(goal, icon("target"), el("span", { class: "cut", text: value.goal || t("chat.goal.set") }));
    goal.title = value.goal ? `${t("chat.goal.edit")}: ${value.goal}` : t("chat.goal.set");
    goal.classList.toggle("is-set", Boolean(value.goal));
  }

  function setStanding(value) {
    standing = value;
    meter.update(value);
    const flushed = value.last_flush;
    const told = flushed ? t("chat.last.chip", { count: flushed.saved, when: when(flushed.at).text }) : t("chat.last.none");
    const short = flushed ? t("chat.last.short", { count: flushed.saved }) : t("chat.last.none.short");
    clear(last, icon("save"), el("span", { class: "on-desk", text: told }), el("span", { class: "on-phone", text: short }));
    drawBanner();
  }

  /** How full it is could not be read: said, and not shown as empty. */
  function setUnmeasured(error, retry) {
    banner.dataset.level = "unmeasured";
    clear(banner, failure(error, { retry }));
  }

  // ── nearly full ───────────────────────────────────────────────────────────────────────────

  function drawBanner() {
    const level = NEAR_FULL.includes(standing.pressure) && !detail?.is_closed ? standing.pressure : null;
    if (banner.dataset.level === String(level)) return; // told once, not at every measurement
    banner.dataset.level = String(level);
    clear(banner, level ? el("div", { class: `banner ${level === "flush" ? "" : "banner-warn"}`, data: { test: "near-full" } },
      icon("warn"), el("span", { class: "grow", text: t(`chat.full.${level}`) }),
      el("button", { class: "button button-small", type: "button", data: { test: "near-full-new" }, text: t("chat.full.action"), on: { click: startNew } })) : null);
  }

  let isStarting = false;

  async function startNew(event) {
    if (isStarting) return;
    isStarting = true;
    const button = event?.currentTarget;
    if (button instanceof HTMLButtonElement && button.closest(".chat-banner")) {
      button.disabled = true;
      button.textContent = t("chat.full.doing");
    }
    on.busy(t("chat.full.doing"));
    try {
      on.follow((await api.post(`${path}/new`, {})).name);
    } catch (error) {
      banner.append(failure(error));
      if (button instanceof HTMLButtonElement && button.closest(".chat-banner")) {
        button.disabled = false;
        button.textContent = t("chat.full.action");
      }
    }
    isStarting = false;
    on.busy(null);
  }

  // ── the last save ─────────────────────────────────────────────────────────────────────────

  function showLast() {
    const flushed = standing?.last_flush;
    const unsaved = standing?.unsaved ? el("p", { class: "muted", text: t("chat.unsaved", { count: standing.unsaved }) }) : null;
    const now = el("button", { class: "button", type: "button", text: t("chat.menu.flush") });
    const shown = dialog({
      title: t("chat.last.title"), wide: true, actions: [now],
      body: flushed
        ? [el("p", { class: "muted", title: when(flushed.at).title, text: when(flushed.at).text }), savedCard(flushed, { open: true, onChange: on.changed }), unsaved]
        : [el("p", { text: t("chat.last.none.text") }), unsaved],
    });
    now.addEventListener("click", () => { shown.close(null); flushNow(); });
    shown.node.addEventListener("click", (event) => { if (event.target.closest("a")) shown.close(null); });
  }

  // ── by hand ───────────────────────────────────────────────────────────────────────────────

  async function flushNow() {
    on.busy(t("chat.saving"), "saving");
    try {
      const done = await api.post(`${path}/flush`);
      if (done.did && done.saved) toast(t("saved.title", { count: done.saved }), { kind: "good" });
      else if (done.did) toast(t("saved.none"));
      else toast(t("chat.flush.nothing", { reason: done.reason }));
    } catch (error) {
      toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
    }
    on.busy(null);
    on.changed();
  }

  async function compactNow() {
    on.busy(t("chat.summarising"));
    try {
      const done = await api.post(`${path}/compact`, {});
      if (done.did) toast(t("chat.compact.done", { before: tokens(done.tokens_before), after: tokens(done.tokens_after) }), { kind: "good" });
      else toast(t("chat.compact.nothing", { reason: done.reason }));
    } catch (error) {
      toast([error.message, error.hint].filter(Boolean).join(" "), { kind: "bad" });
    }
    on.busy(null);
    on.changed();
  }

  function editGoal() {
    askText({ title: t("chat.goal.title"), label: t("chat.goal"), note: t("chat.new.goal.hint"), value: detail?.goal || "", test: "goal-field" },
      async (goalText) => setDetail(await api.patch(path, { goal: goalText || null })));
  }

  function rename() {
    askText({ title: t("chat.rename.title"), label: t("chat.rename.label"), value: detail?.name || "", test: "name-field" },
      async (newName) => {
        if (newName && newName !== detail.name) on.follow((await api.patch(path, { name: newName })).name);
      });
  }

  return { node, setDetail, setStanding, setUnmeasured, focus: () => name.focus({ preventScroll: true }) };
}

function askText({ title, label, note = null, value, test }, save) {
  const field = el("input", { class: "input", value, data: { test }, maxlength: "500" });
  const told = el("div", { aria: { live: "polite" } });
  const button = el("button", { class: "button button-primary", type: "submit", text: t("action.save"), data: { test: "save-field" } });
  const form = el("form", { class: "stack" },
    el("label", { class: "field" }, el("span", { text: label }), field, note ? el("span", { class: "field-note", text: note }) : null),
    told, el("div", { class: "row" }, button));
  const shown = dialog({ title, body: form });
  field.select();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    clear(told);
    try {
      await save(field.value.trim());
      shown.close(null);
    } catch (error) {
      button.disabled = false;
      clear(told, failure(error));
    }
  });
}

function actionsMenu(entries) {
  const button = el("button", { class: "button-icon", type: "button", data: { test: "session-menu" }, title: t("chat.menu"), aria: { label: t("chat.menu"), haspopup: "true", expanded: "false" } }, icon("more"));
  const box = el("div", { class: "menu" }, entries.map(([sign, key, run, test]) => el("button", {
    type: "button", data: { test }, on: { click: () => { open(false); button.focus(); run(); } },
  }, icon(sign), t(key))));
  const node = el("div", { class: "menu-wrap" }, button, box);
  box.hidden = true;

  function open(value) {
    box.hidden = !value;
    button.setAttribute("aria-expanded", String(value));
    if (value) box.firstElementChild.focus();
  }
  button.addEventListener("click", () => open(box.hidden));
  node.addEventListener("keydown", (event) => {
    const at = [...box.children].indexOf(document.activeElement);
    if (event.key === "Escape" && !box.hidden) { event.stopPropagation(); open(false); button.focus(); }
    if (box.hidden || at < 0 || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    box.children[(at + (event.key === "ArrowDown" ? 1 : box.children.length - 1)) % box.children.length].focus();
  });
  node.addEventListener("focusout", (event) => { if (!box.hidden && !node.contains(event.relatedTarget)) open(false); });
  return { node };
}
