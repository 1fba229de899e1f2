// Chat: talk, and see how full the context is, what was saved, and what was summarised.

import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { linkTo } from "../../format.js";
import { live } from "../../live.js";
import { failure, toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { beginning } from "./begin.js";
import { composer } from "./composer.js";
import { flow } from "./flow.js";
import { chatHead } from "./head.js";
import { sessionList } from "./list.js";
import { tourBar } from "./tour.js";
import { ways, waysDialog } from "./ways.js";
import "./words.js";

const SHOWN_AT_LEAST = 900; // ms that "Saving…" stays: a rule-based flush takes a few

const isNarrow = () => window.matchMedia("(max-width: 760px)").matches;

export default {
  id: "chat",
  async mount(root, about) {
    const page = new ChatPage(root, about);
    await page.open();
    return () => page.leave();
  },
};

class ChatPage {
  constructor(root, { args, query, go, server, refreshServer, isCurrent }) {
    Object.assign(this, { root, go, server, refreshServer, isCurrent });
    this.name = args[0] || null;
    this.wantsNew = query.new !== undefined;
    this.turn = null; // AbortController of the turn that is going on
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
    const { sessions, error } = await this.list.refresh();
    if (!this.isCurrent()) return;
    if (error && !this.name) throw error; // the shell tells it, and offers to try again
    if (!this.name && !this.wantsNew) this.name = this.startingSession(sessions);
    this.list.setCurrent(this.name);
    if (this.name) await this.openSession();
    else this.openNew();
    if (!this.isCurrent()) return;
    this.offs.push(live.on((told) => this.hear(told)));
    const onKey = (event) => this.onEscape(event);
    document.addEventListener("keydown", onKey);
    this.offs.push(() => document.removeEventListener("keydown", onKey));
    if (this.tour?.goesOn()) this.playNext();
  }

  leave() {
    for (const off of this.offs) off();
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.turn?.abort();
    this.flow?.leave();
  }

  isTour() {
    return api.place() === "tour";
  }

  startingSession(sessions) {
    if (this.isTour() && this.server().tour) return this.server().tour.session;
    return (sessions.find((each) => !each.is_closed) || {}).name || null;
  }

  get path() {
    return `/sessions/${encodeURIComponent(this.name)}`;
  }

  /** One conversation: the head, what was said, the field. */
  async openSession() {
    this.flow = flow({ session: this.name, empty: () => this.nothingSaid() });
    this.head = chatHead({
      path: this.path, toggleList: () => this.toggleList(),
      on: {
        go: this.go,
        follow: (name) => this.go(linkTo.chat(name)),
        changed: () => this.readAnew(),
        busy: (text, test) => this.flow.say(text, test),
      },
    });
    this.field = this.makeField();
    clear(this.column, this.head.node, this.noModel(), this.flow.node, this.field.node);
    try {
      const [detail] = await Promise.all([api.get(this.path), this.flow.load()]);
      this.showDetail(detail);
      this.measure(0);
      this.flow.toBottom(true);
      this.field.fit();
    } catch (error) {
      this.showMissing(error);
    }
  }

  showMissing(error) {
    const isGone = error.status === 404 || error.status === 410;
    clear(this.column, el("div", { class: "page" },
      el("h1", { tabindex: "-1", text: isGone ? t("chat.gone.title", { name: this.name }) : t("error.page") }),
      failure(error, { retry: isGone ? null : () => { this.list.refresh(); this.openSession(); } }),
      el("div", { class: "row" }, el("button", { class: "button", type: "button", text: t("chat.new"), on: { click: () => this.go("#/chat?new=1") } }))));
  }

  /** None yet: the first message begins one. */
  openNew() {
    this.beginning = beginning(this.noModel("h1"));
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
      placeholder: this.isTour() ? t("chat.composer.tour") : t(isNarrow() ? "chat.composer.short" : "chat.composer.placeholder"),
      onSend: (text) => this.send(text),
      onStop: () => this.stop(),
    });
  }

  nothingSaid() {
    return el("div", { class: "empty" }, icon("chat"), el("h2", { text: t("chat.empty.title") }), el("p", { text: t("chat.empty.text") }),
      el("a", { href: linkTo.session(this.name), text: t("chat.empty.link") }));
  }

  noModel(heading = "h2") {
    const { model, places } = this.server();
    if (this.isTour() || !model || model.name) return null;
    const tour = places.some((place) => place.name === "tour");
    const node = el("div", { class: "card chat-ways" }, ways({
      model, heading, onFound: async () => {
        await this.refreshServer();
        if (heading === "h1") this.openNew();
        else node.remove();
      },
      onTour: tour ? () => document.querySelector('[data-test="place-tour"]')?.click() : null,
    }));
    return node;
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
  }

  // ── a turn ────────────────────────────────────────────────────────────────────────────────

  async send(text) {
    if (!this.name && !(await this.beginSession(text))) return;
    await this.run(text, `${this.path}/messages`, { text });
  }

  async beginSession(text) {
    this.field.setRunning(true);
    clear(this.told);
    try {
      const detail = await api.post("/sessions", this.beginning.wishes());
      if (!this.isCurrent()) return false;
      this.field.moveTo(detail.name);
      this.name = detail.name;
      history.replaceState(null, "", linkTo.chat(detail.name)); // no navigation: the turn goes on here
      await this.openSession();
      this.list.setCurrent(this.name);
      return true;
    } catch (error) {
      this.field.setRunning(false);
      this.field.giveBack(text);
      clear(this.told, failure(error));
      return false;
    }
  }

  /** Ask, and show the steps as they come. */
  async run(text, path, body) {
    const turn = new AbortController();
    this.turn = turn;
    let accepted = false;
    let problem = null;
    this.field.setRunning(true);
    this.tour?.setRunning(true);
    this.flow.begin(text);
    try {
      await api.stream(path, {
        method: "POST", body, signal: turn.signal,
        onEvent: ({ data }) => {
          if (data.kind === "error") problem = data.error;
          else if (!accepted) {
            accepted = true;
            if (text !== null) this.field.accepted();
          }
          this.flow.step(data);
        },
      });
    } catch (error) {
      if (error.name !== "AbortError") problem = error;
      else accepted = true; // stopping is a decision, not a failure
    }
    const told = problem && { status: 0, ...problem, message: problem.message, hint: problem.hint };
    await this.afterTurn(turn, told, accepted);
    if (problem && !accepted && text !== null && this.isCurrent()) {
      this.field.giveBack(text);
      this.announce.textContent = `${problem.message} ${t("chat.restored")}`;
    }
  }

  async afterTurn(turn, problem, accepted) {
    if (!this.isCurrent()) return;
    if (turn.signal.aborted) await new Promise((done) => setTimeout(done, 250)); // it is being kept
    await this.flow.end(problem, accepted);
    this.turn = null;
    this.field.setRunning(false);
    this.announce.textContent = problem ? problem.message : t("chat.announce.end");
    this.measure(0);
    this.readDetail();
    this.later("list", 300, () => this.list.refresh());
    if (this.tour) await this.afterTold(problem || turn.signal.aborted);
  }

  stop() {
    this.tour?.pause();
    if (!this.turn) return;
    this.turn.abort();
    toast(t("chat.stopped"));
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
    await this.run(null, "/tour/next", undefined);
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
    if (!this.name || told.session !== this.name) return undefined;
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
      case "turn_finished":
        this.measure(150);
        return this.turn ? undefined : this.readSoon(); // somebody else talks in it
      default:
        return undefined;
    }
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
    if (!this.name) return;
    this.readSoon();
    this.measure(50);
    this.readDetail();
  }

  readDetail() {
    this.later("detail", 100, async () => {
      try {
        this.showDetail(await api.get(this.path));
      } catch { /* the next one tells */ }
    });
  }

  readSoon() {
    this.later("read", 120, () => this.flow.refresh().catch(() => {}));
  }

  measure(wait) {
    this.later("measure", wait, async () => {
      try {
        const standing = await api.get(`${this.path}/context`);
        if (this.isCurrent()) this.head.setStanding(standing);
      } catch (error) {
        if (error.status && this.isCurrent()) this.head.setUnmeasured(error, () => this.measure(0));
      }
    });
  }

  /** Once, after the last call of that name. */
  later(name, ms, fn) {
    clearTimeout(this.timers.get(name));
    this.timers.set(name, setTimeout(() => { if (this.isCurrent()) fn(); }, ms));
  }
}
