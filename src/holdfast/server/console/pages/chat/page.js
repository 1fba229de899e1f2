// Chat: talk, and see how full the context is, what was saved, and what was summarised.

import { api, ApiError } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { linkTo } from "../../format.js";
import { live } from "../../live.js";
import { failure, toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { beginning } from "./begin.js";
import { composer } from "./composer.js";
import { keepLastSession, lastSession } from "./drafts.js";
import { flow } from "./flow.js";
import { chatHead } from "./head.js";
import { sessionList } from "./list.js";
import { tourBar } from "./tour.js";
import { startTurn, turnOf } from "./turns.js";
import { ways, waysDialog } from "./ways.js";
import "./words.js";

const SHOWN_AT_LEAST = 900; // ms that "Saving…" stays: a rule-based flush takes a few

const ELSEWHERE = 60000; // ms without a word of an answer that is given elsewhere

let wantsField = null; // the session whose field takes the focus when it is opened

const isNarrow = () => window.matchMedia("(max-width: 760px)").matches;

export default {
  id: "chat",
  async mount(root, about) {
    const page = new ChatPage(root, about);
    try {
      await page.open();
    } catch (error) {
      page.leave();
      throw error;
    }
    return () => page.leave();
  },
};

class ChatPage {
  constructor(root, { args, query, go, server, refreshServer, isCurrent }) {
    Object.assign(this, { root, go, server, refreshServer, isCurrent });
    this.name = args[0] || null;
    this.wantsNew = query.new !== undefined;
    this.turn = null; // the one that is going on here: it outlives this page
    this.unwatch = null;
    this.asked = new Map(); // name of a reading → how often: an older answer never replaces a newer
    this.offs = [];
    this.timers = new Map();
  }

  // ── opening and leaving ───────────────────────────────────────────────────────────────────

  async open() {
    this.root.classList.add("chat-root");
    this.announce = el("div", { class: "sr", aria: { live: "polite" } });
    this.list = sessionList({ current: this.name, onNew: () => this.go("#/chat?new=1") });
    this.column = el("div", { class: "chat-column" });
    this.tour = this.isTour() ? this.makeTour() : null;
    clear(this.root, this.tour?.node, el("div", { class: "chat" }, this.list.node, this.column), this.announce);
    this.offs.push(live.on((told) => this.hear(told))); // before anything is read: nothing falls between
    const [{ sessions, error }] = await Promise.all([this.list.refresh(), this.readTour()]);
    if (!this.isCurrent()) return;
    if (error && !this.name) throw error; // the shell tells it, and offers to try again
    if (!this.name && !this.wantsNew) this.name = this.startingSession(sessions);
    this.list.setCurrent(this.name);
    if (this.name) await this.openSession();
    else this.openNew();
    if (!this.isCurrent()) return;
    const onKey = (event) => this.onEscape(event);
    document.addEventListener("keydown", onKey);
    this.offs.push(() => document.removeEventListener("keydown", onKey));
    if (this.tour?.goesOn()) this.playNext();
  }

  leave() {
    for (const off of this.offs) off();
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.unwatch?.();
    this.flow?.leave();
  }

  isTour() {
    return api.place() === "tour";
  }

  startingSession(sessions) {
    if (this.isTour() && this.server().tour) return this.server().tour.session;
    const last = lastSession();
    if (last && sessions.some((each) => each.name === last)) return last;
    return (sessions.find((each) => !each.is_closed) || {}).name || null;
  }

  get path() {
    return `/sessions/${encodeURIComponent(this.name)}`;
  }

  /** One conversation: the head, what was said, the field. */
  async openSession() {
    this.flow = flow({ session: this.name, empty: () => this.nothingSaid(), onAskAgain: (text) => this.send(text) });
    this.head = chatHead({
      path: this.path, toggleList: () => this.toggleList(),
      on: {
        go: this.go,
        follow: (name) => {
          wantsField = name;
          this.go(linkTo.chat(name));
        },
        changed: () => this.readAnew(),
        busy: (text, test) => this.flow.say(text, test),
      },
    });
    this.field = this.makeField();
    clear(this.column, this.head.node, this.flow.node, this.field.node);
    this.flow.setNotice(this.noModel());
    this.told = null;
    try {
      const [detail] = await Promise.all([api.get(this.path), this.flow.load()]);
      if (!this.isCurrent()) return;
      keepLastSession(this.name);
      this.showDetail(detail);
      this.measure(0);
      this.resume();
      if (wantsField === this.name && !isNarrow()) this.field.focus();
      wantsField = null;
      this.flow.toBottom(true);
      this.field.fit();
    } catch (error) {
      this.showMissing(error);
    }
  }

  showMissing(error) {
    const isGone = error.status === 404 || error.status === 410;
    if (isGone) keepLastSession(null);
    clear(this.column, el("div", { class: "page" },
      el("h1", { tabindex: "-1", text: isGone ? t("chat.gone.title", { name: this.name }) : t("error.page") }),
      failure(error, { retry: isGone ? null : () => { this.list.refresh(); this.openSession(); } }),
      el("div", { class: "row" }, el("button", { class: "button", type: "button", text: t("chat.new"), on: { click: () => this.go("#/chat?new=1") } }))));
  }

  /** None yet: the first message begins one. */
  openNew() {
    this.beginning = beginning(this.noModel(true));
    this.flow = null;
    this.head = null;
    this.field = this.makeField();
    this.told = el("div", { class: "chat-told" });
    clear(this.column,
      el("div", { class: "chat-head chat-head-new" }, el("button", {
        class: "button-icon chat-list-toggle", type: "button", aria: { label: t("chat.sessions.show"), expanded: "false" }, on: { click: () => this.toggleList() },
      }, icon("sessions"))),
      el("div", { class: "flow-wrap" }, el("div", { class: "flow" }, this.beginning.node)), this.told, this.field.node);
    this.field.fit();
    if (!isNarrow() && !this.beginning.node.querySelector(".ways")) this.field.focus();
  }

  makeField() {
    return composer({
      session: this.name,
      placeholder: this.isTour() ? t(isNarrow() ? "chat.composer.tour.short" : "chat.composer.tour") : t(isNarrow() ? "chat.composer.short" : "chat.composer.placeholder"),
      onSend: (text) => this.send(text),
      onStop: () => this.stop(),
      onNew: () => this.go("#/chat?new=1"),
    });
  }

  nothingSaid() {
    return el("div", { class: "empty" }, icon("chat"), el("h2", { text: t("chat.empty.title") }), el("p", { text: t("chat.empty.text") }),
      el("a", { href: linkTo.session(this.name), text: t("chat.empty.link") }));
  }

  /** Before the first message the ways to a model are the page; in a conversation, one line that opens. */
  noModel(isPage = false) {
    const { model, places } = this.server();
    if (this.isTour() || !model || model.name) return null;
    const tour = places.some((place) => place.name === "tour");
    const body = ways({
      model, heading: isPage ? "h1" : null, onFound: async () => {
        await this.refreshServer();
        if (!this.isCurrent()) return;
        if (isPage) this.openNew();
        else this.flow.setNotice(null);
      },
      onTour: tour ? () => document.querySelector('[data-test="place-tour"]')?.click() : null,
    });
    if (isPage) return el("div", { class: "card chat-ways" }, body);
    return el("details", { class: "card chat-ways", data: { test: "no-model" } },
      el("summary", {}, icon("warn"), el("span", { class: "grow", text: t("chat.ways.title") }), icon("down")), body);
  }

  /** On a phone the list lies over the conversation. */
  toggleList(show = !this.root.classList.contains("shows-list")) {
    this.root.classList.toggle("shows-list", show);
    const button = this.column.querySelector(".chat-list-toggle");
    button?.setAttribute("aria-expanded", String(show));
    if (show) this.list.node.querySelector("a, button")?.focus();
    else if (this.list.node.contains(document.activeElement)) button?.focus();
  }

  onEscape(event) {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (this.root.classList.contains("shows-list")) this.toggleList(false);
    else if (this.turn) this.stop();
  }

  showDetail(detail) {
    this.head.setDetail(detail);
    this.field.setClosed(Boolean(detail.is_closed));
    this.field.setPrivate(Boolean(detail.is_incognito));
    this.flow.setClosed(Boolean(detail.is_closed));
    document.title = `${detail.name} · ${t("app.name")}`;
  }

  // ── a turn ────────────────────────────────────────────────────────────────────────────────

  async send(text) {
    if (this.turn) return;
    if (!this.name && !(await this.beginSession(text))) return;
    this.run(text, `${this.path}/messages`, { text });
  }

  async beginSession(text) {
    this.field.setRunning(true);
    clear(this.told);
    try {
      if (!(await this.hasModel())) throw this.modelMissing();
      const detail = await api.post("/sessions", this.beginning.wishes());
      this.field.moveTo(detail.name, Boolean(detail.is_incognito));
      if (!this.isCurrent()) return false;
      this.name = detail.name;
      history.replaceState(null, "", linkTo.chat(detail.name)); // no navigation: the turn goes on here
      await this.openSession();
      if (!this.isCurrent()) return false;
      this.field.holdBack(text);
      this.field.focus();
      this.list.setCurrent(this.name);
      return true;
    } catch (error) {
      if (!this.isCurrent()) return false; // the draft has it
      this.field.setRunning(false);
      this.field.giveBack(text);
      this.field.focus();
      clear(this.told, failure(error));
      return false;
    }
  }

  /** A session in which nobody can answer is not begun. */
  async hasModel() {
    if (this.isTour() || this.server().model?.name) return true;
    return Boolean((await api.post("/models/look")).name);
  }

  modelMissing() {
    return new ApiError({ status: 503, type: "model_unavailable", message: t("chat.ways.title"), hint: t("chat.ways.hint") });
  }

  /** Ask, and show the steps as they come. */
  run(text, path, body) {
    this.follow(startTurn({ session: this.name, text, since: this.flow.newest(), path, body }));
  }

  /** One that was begun before this page was opened, or failed while another was shown. */
  resume() {
    const turn = turnOf(this.name);
    if (!turn) return;
    if (turn.isOver) this.flow.note(failure(turn.problem)); // what it could not send is in the field
    else this.follow(turn);
  }

  follow(turn) {
    this.turn = turn;
    this.field.setRunning(true);
    if (!turn.accepted) this.field.holdBack(turn.text);
    this.tour?.setRunning(true);
    this.flow.begin(turn.text, turn.since);
    this.unwatch = turn.watch({
      accepted: () => { if (turn.text !== null) this.field.accepted(); },
      step: (step) => this.flow.step(step),
      end: () => this.afterTurn(turn),
    });
  }

  async afterTurn(turn) {
    const { problem, accepted } = turn;
    if (problem && !accepted && turn.text !== null) this.field.giveBack(turn.text);
    await this.flow.end(problem, accepted);
    if (!this.isCurrent()) return;
    this.turn = this.unwatch = null;
    this.field.setRunning(false);
    this.announce.textContent = this.ending(turn);
    if (turn.wasStopped) toast(this.ending(turn));
    this.measure(0);
    this.readDetail();
    this.later("list", 300, () => this.list.refresh());
    if (this.tour) await this.afterTold(problem || turn.wasStopped);
  }

  ending(turn) {
    if (turn.wasStopped) return t(turn.wasHeard ? "chat.stopped" : "chat.stopped.early");
    if (!turn.problem) return t("chat.announce.end");
    const message = turn.problem.type === "offline" ? t("error.offline") : turn.problem.message;
    return turn.accepted ? message : `${message} ${t("chat.restored")}`;
  }

  stop() {
    this.tour?.pause();
    this.turn?.stop();
  }

  // ── the tour ──────────────────────────────────────────────────────────────────────────────

  makeTour() {
    const bar = tourBar({
      onNext: () => this.playNext(),
      onStop: () => {},
      onModel: () => waysDialog({ model: this.server().model, onFound: () => this.refreshServer() }),
    });
    bar.update(this.server().tour);
    return bar;
  }

  async playNext() {
    const { tour } = this.server();
    if (this.turn || !tour) return;
    if (tour.session !== this.name) return this.go(linkTo.chat(tour.session));
    this.run(null, "/tour/next", undefined);
  }

  /** How far it is told: it may have gone on while another page was shown. */
  async readTour() {
    if (!this.tour) return;
    try {
      this.tour.update((await this.refreshServer()).tour);
    } catch { /* then what was known before */ }
  }

  async afterTold(isOver) {
    this.tour.setRunning(false);
    try {
      const { tour } = await this.refreshServer();
      if (!this.isCurrent()) return;
      if (isOver) this.tour.pause();
      this.tour.update(tour);
      if (tour && tour.session !== this.name && this.tour.goesOn()) this.go(linkTo.chat(tour.session));
      else if (this.tour.goesOn()) this.later("tour", 700, () => this.playNext());
    } catch (error) {
      this.tour.pause();
      toast(error.message, { kind: "bad" });
    }
  }

  // ── what happens ──────────────────────────────────────────────────────────────────────────

  hear(told) {
    if (told.event === "reset") return this.readAnew();
    if (["session_started", "session_closed", "session_deleted", "session_renamed"].includes(told.event)) {
      this.later("list", 300, () => this.list.refresh());
    }
    if (!this.name || !this.flow || told.session !== this.name) return undefined;
    switch (told.event) {
      case "memory_flush_start":
        this.savingSince = Date.now();
        return this.flow.say(t("chat.saving"), "saving");
      case "memory_flush_end":
        return this.afterSaving(told);
      case "compaction_start":
        return this.flow.say(t("chat.summarising"), "summarising");
      case "compaction_end":
      case "compaction_failed":
        this.flow.say(null);
        return this.readAnew();
      case "tool_results_pruned":
      case "recall_done":
        return this.readSoon();
      case "session_closed":
        return this.readAnew();
      case "context_measured":
      case "context_pressure":
        return this.measure(150);
      case "message_start":
        return this.turn ? undefined : this.answeredElsewhere();
      case "turn_finished":
        this.measure(150);
        return this.turn ? undefined : this.afterOther(); // somebody else talks in it
      default:
        return undefined;
    }
  }

  /** Another window, or a terminal, has asked. */
  answeredElsewhere() {
    this.flow.say(t("chat.elsewhere"), "elsewhere");
    this.later("elsewhere", ELSEWHERE, () => this.flow.say(null)); // it may have been stopped
    this.readSoon();
  }

  afterOther() {
    clearTimeout(this.timers.get("elsewhere"));
    this.flow.say(null);
    this.flow.forgive("busy");
    this.readSoon();
  }

  afterSaving(told) {
    const wait = Math.max(0, SHOWN_AT_LEAST - (Date.now() - (this.savingSince || 0)));
    this.later("saving", wait, () => {
      this.flow.say(null);
      if (told.saved) this.announce.textContent = t("chat.announce.saved", { count: told.saved });
    });
    this.readSoon();
    this.measure(150);
  }

  /** What was said, the details and the measure, all again. */
  readAnew() {
    if (!this.name || !this.flow) return;
    this.readSoon();
    this.measure(50);
    this.readDetail();
  }

  readDetail() {
    this.later("detail", 100, () => this.newest("detail", () => api.get(this.path), (detail) => this.showDetail(detail)).catch(() => {}));
  }

  readSoon() {
    this.later("read", 120, () => this.flow.refresh().catch(() => {}));
  }

  measure(wait) {
    this.later("measure", wait, async () => {
      try {
        await this.newest("measure", () => api.get(`${this.path}/context`), (standing) => this.head.setStanding(standing));
      } catch (error) {
        if (error.status && this.isCurrent()) this.head.setUnmeasured(error, () => this.measure(0));
      }
    });
  }

  /** Use what was read, unless it was read again meanwhile: answers may overtake each other. */
  async newest(name, read, use) {
    const mine = (this.asked.get(name) || 0) + 1;
    this.asked.set(name, mine);
    const found = await read();
    if (this.isCurrent() && this.asked.get(name) === mine) use(found);
  }

  /** Once, after the last call of that name. */
  later(name, ms, fn) {
    clearTimeout(this.timers.get(name));
    this.timers.set(name, setTimeout(() => { if (this.isCurrent()) fn(); }, ms));
  }
}
