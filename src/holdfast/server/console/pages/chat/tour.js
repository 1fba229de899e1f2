// The bar of the tour: what this is, the next message, all of them, and the way to a model.

import { clear, el, icon } from "../../dom.js";
import { t } from "../../words.js";

let playingAll = false; // goes on when the told conversation moves to its next session

/** {node, update(tour), setRunning(bool), goesOn()}. */
export function tourBar({ onNext, onStop, onModel }) {
  let tour = null;
  let running = false;
  const what = el("span", { class: "tour-what", text: t("tour.text") });
  const upcoming = el("span", { class: "tour-upcoming cut muted" });
  const next = el("button", { class: "button button-primary button-small", type: "button", data: { test: "tour-next" }, on: { click: () => onNext() } }, icon("play"), t("tour.next"));
  const all = el("button", { class: "button button-small", type: "button", data: { test: "tour-all" }, on: { click: toggle } });
  const left = el("span", { class: "muted small num", data: { test: "tour-left" } });
  const node = el("section", { class: "tour-bar", aria: { label: t("tour.label") }, data: { test: "tour-bar" } },
    el("div", { class: "tour-text" }, el("p", { class: "tour-line" }, el("strong", { text: t("tour.label") }), what), upcoming),
    el("div", { class: "row tour-actions" }, left, next, all,
      el("button", { class: "button button-small button-quiet", type: "button", text: t("tour.model"), on: { click: onModel } })));

  function toggle() {
    playingAll = !playingAll;
    draw();
    if (playingAll && !running) onNext();
    if (!playingAll && running) onStop();
  }

  function draw() {
    const count = tour?.left || 0;
    left.textContent = count ? t("tour.left", { count }) : "";
    what.textContent = t(count ? "tour.text" : "tour.done");
    what.title = what.textContent;
    upcoming.textContent = count && tour.upcoming ? t("tour.upcoming", { text: tour.upcoming }) : "";
    upcoming.title = upcoming.textContent;
    next.disabled = running || !count;
    next.hidden = !count; // a question of one's own after the end is no part of it
    all.hidden = !count;
    clear(all, icon(playingAll ? "stop" : "playall"), t(playingAll ? "tour.pause" : "tour.all"));
  }

  draw();
  return {
    node,
    update(value) { tour = value; if (!tour?.left) playingAll = false; draw(); },
    setRunning(value) { running = value; draw(); },
    goesOn: () => playingAll && (tour?.left || 0) > 0,
    pause() { playingAll = false; draw(); },
  };
}
