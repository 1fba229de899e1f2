// What happens, as it happens: one stream of events for the whole app, resumed where it broke off.
//
// Read with fetch, because the token goes in a header. A page that was away for long is told
// {event: "reset"}: it should read anew what it shows.

import { api, ApiError } from "./api.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;

const listeners = new Set();
const watchers = new Set();
let running = null;
let lastId = null;

function become(state) {
  if (live.state === state) return;
  live.state = state;
  for (const fn of watchers) fn(state);
}

function tell(told) {
  for (const fn of [...listeners]) {
    try {
      fn(told);
    } catch (error) {
      console.error(error); // one listener's mistake is not the others'
    }
  }
}

function hear({ id, event, data }) {
  if (event === "hello") {
    const isFirst = lastId === null;
    lastId = lastId || id || data?.last_id || null;
    // What happened between a page's first reading and now, nobody has told it.
    if (isFirst) tell({ event: "reset" });
    return;
  }
  if (id) lastId = id;
  if (event === "reset") {
    lastId = data?.last_id || id || null;
    tell({ event: "reset" });
  } else if (data && typeof data === "object") tell({ id, event, ...data });
}

async function follow(signal) {
  let wait = FIRST_WAIT;
  while (!signal.aborted) {
    become("connecting");
    try {
      await api.stream("/events/stream", {
        signal, lastId, onEvent: hear,
        onOpen() {
          wait = FIRST_WAIT;
          become("live");
        },
      });
    } catch (error) {
      if (signal.aborted || error.name === "AbortError") return;
      if (error instanceof ApiError && error.status === 401) return become("down");
      become("down");
    }
    await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

function pause(ms, signal) {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, ms);
    window.addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}

export const live = {
  state: "connecting",
  /** Begin, or begin anew: in another place, or after signing in. */
  start() {
    live.stop();
    lastId = null;
    running = new AbortController();
    follow(running.signal);
  },
  stop() {
    if (running) running.abort();
    running = null;
    become("connecting");
  },
  on(fn) {
    listeners.add(fn);
    return () => listeners.delete(fn);
  },
  onState(fn) {
    watchers.add(fn);
    return () => watchers.delete(fn);
  },
};
