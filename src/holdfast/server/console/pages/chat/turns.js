// Turns that are going on: one per conversation of a place, whichever page is shown.
//
// A page only watches one. Leaving the page, another language or another place does not end an
// answer; the Stop button does, and so does signing out or closing the tab.

import { api, ApiError } from "../../api.js";
import { linkTo } from "../../format.js";
import { toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { draft, keepDraft, without } from "./drafts.js";

const AT_ONCE = 3; // a browser keeps six connections to a server, and one of them hears the events
const KEEPING = 250; // ms in which the server writes down what was heard of a stopped answer

const known = new Map();
const key = (place, session) => `${place}/${session}`;

class Turn {
  constructor({ session, text, since }) {
    Object.assign(this, { session, text, since, place: api.place() });
    this.steps = []; // as they came, pieces of text joined
    this.accepted = false; // the server has what was said
    this.wasStopped = false;
    this.problem = null;
    this.isOver = false;
    this.watcher = null;
    this.asking = new AbortController();
  }

  /** Whether a word of the answer came. */
  get wasHeard() {
    return this.steps.some((step) => step.kind === "text" || step.kind === "tool_call");
  }

  async run(path, body) {
    let isWhole = false;
    try {
      await api.stream(path, {
        method: "POST", body, signal: this.asking.signal,
        onEvent: ({ data }) => {
          if (data.kind === "error") this.problem = { status: 0, ...data.error };
          else this.take(data);
          isWhole = isWhole || data.kind === "end" || data.kind === "error";
        },
      });
      if (!isWhole) throw new ApiError({ status: 0, type: "offline" });
    } catch (error) {
      if (this.asking.signal.aborted) await this.stopped();
      else this.problem = this.accepted && error.type === "offline" ? brokeOff() : error;
    }
    this.over();
  }

  take(step) {
    if (!this.accepted) {
      this.accepted = true;
      if (this.watcher) this.watcher.accepted();
      else if (this.text !== null) keepDraft(this.session, without(draft(this.session, this.place), this.text), this.place);
    }
    const last = this.steps.at(-1);
    if (step.kind === "text" && last?.kind === "text") last.text += step.text || "";
    else this.steps.push({ ...step });
    this.watcher?.step(step);
  }

  async stopped() {
    this.accepted = true; // stopping is a decision, not a failure
    this.wasStopped = true;
    await new Promise((done) => setTimeout(done, KEEPING));
  }

  over() {
    this.isOver = true;
    if (this.watcher || !this.problem) known.delete(key(this.place, this.session)); // else it is told when somebody looks
    if (this.watcher) this.watcher.end(this);
    else this.tellAway();
  }

  /** It ended while another page was shown. */
  tellAway() {
    if (this.wasStopped || !api.isSignedIn()) return;
    if (this.problem) toast(t("chat.away.failed", { name: this.session, why: this.problem.message || t("chat.broken") }), { kind: "bad" });
    else if (api.place() === this.place) {
      const open = { text: t("chat.away.open"), run: () => { location.hash = linkTo.chat(this.session); } };
      toast(t("chat.away.done", { name: this.session }), { kind: "good", action: open });
    }
  }

  /** The steps so far, then those that come. watcher: {accepted(), step(step), end(turn)}. */
  watch(watcher) {
    for (const step of this.steps) watcher.step(step);
    this.watcher = watcher;
    return () => { if (this.watcher === watcher) this.watcher = null; };
  }

  stop() {
    this.asking.abort();
  }
}

function brokeOff() {
  return new ApiError({ status: 0, type: "broken", message: t("chat.broken"), hint: t("error.offline.hint") });
}

/** Begin one. `since`: the newest entry before it; what comes after belongs to it. */
export function startTurn({ session, text, since, path, body }) {
  const turn = new Turn({ session, text, since });
  const going = [...known.values()].filter((each) => !each.isOver).length;
  if (going >= AT_ONCE) {
    turn.problem = new ApiError({ status: 0, type: "too_many", message: t("chat.many"), hint: t("chat.many.hint") });
    queueMicrotask(() => turn.over());
    return turn;
  }
  known.set(key(turn.place, session), turn);
  turn.run(path, body);
  return turn;
}

/** The one that is going on in that conversation, or that failed while nobody looked. */
export function turnOf(session) {
  const found = known.get(key(api.place(), session)) || null;
  if (found?.isOver) known.delete(key(api.place(), session));
  return found;
}

function stopAll() {
  for (const turn of known.values()) turn.stop();
  known.clear();
}

document.addEventListener("signing-out", stopAll);
document.addEventListener("signed-out", stopAll);
