// Requests to this server and nowhere else: a token in a header, never in an address, answers as
// JSON, failures as ApiError with the server's message and its hint.

const BASE = "/api/v1";
const TOKEN = "holdfast.token";
const PLACE = "holdfast.place";

export class ApiError extends Error {
  constructor({ status, type, message, hint, details }) {
    super(message);
    this.name = "ApiError";
    Object.assign(this, { status, type, hint: hint || null, details: details || null });
  }
}

function stored(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null; // storage may be switched off
  }
}

function store(key, value) {
  try {
    if (value === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  } catch { /* then it lives as long as the page */ }
}

let token = stored(TOKEN);
let placeName = stored(PLACE) || "own";

function headers(extra) {
  const all = { Accept: "application/json", "Holdfast-Place": placeName, ...extra };
  if (token) all.Authorization = `Bearer ${token}`;
  return all;
}

async function ask(path, options) {
  try {
    return await fetch(path, {
      cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
      ...options,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError({ status: 0, type: "offline", message: "The server does not answer." });
  }
}

async function refuse(response, { isSignIn = false } = {}) {
  let told = null;
  try {
    told = (await response.json()).error;
  } catch { /* not our shape: an intermediary's page, or nothing */ }
  const error = new ApiError({
    status: response.status,
    type: told?.type || "failed",
    message: told?.message || `The server answered ${response.status}.`,
    hint: told?.hint,
    details: told?.details,
  });
  if (response.status === 401 && !isSignIn) api.signOut("expired");
  throw error;
}

async function call(method, path, { query, body, signal } = {}) {
  const kind = body === undefined ? {} : { "Content-Type": "application/json" };
  const response = await ask(address(path, query), {
    method, headers: headers(kind), signal,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) await refuse(response);
  if (response.status === 204) return null;
  return response.json();
}

function address(path, query) {
  const pairs = Object.entries(query || {}).filter(([, v]) => v !== null && v !== undefined && v !== "");
  const search = new URLSearchParams(pairs).toString();
  return BASE + path + (search ? `?${search}` : "");
}

/** Server-sent events out of bytes, however they were cut. */
export class Frames {
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.rest = "";
    this.frame = { id: null, event: "message", data: [] };
  }

  push(text) {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    for (const line of lines) this.line(line);
  }

  line(line) {
    if (line === "") {
      const { id, event, data } = this.frame;
      this.frame = { id: null, event: "message", data: [] };
      if (data.length) this.onEvent({ id, event, data: parsed(data.join("\n")) });
      return;
    }
    if (line.startsWith(":")) return;
    const at = line.indexOf(":");
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (field === "data") this.frame.data.push(value);
    else if (field === "event") this.frame.event = value;
    else if (field === "id") this.frame.id = value;
  }
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

async function stream(path, { method = "GET", body, query, signal, onEvent, onOpen, lastId } = {}) {
  const extra = { Accept: "text/event-stream" };
  if (lastId) extra["Last-Event-ID"] = lastId;
  if (body !== undefined) extra["Content-Type"] = "application/json";
  const response = await ask(address(path, query), {
    method, signal, headers: headers(extra),
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) await refuse(response);
  if (onOpen) onOpen();
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const frames = new Frames(onEvent);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      frames.push(decoder.decode(value, { stream: true }));
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError) {
      throw new ApiError({ status: 0, type: "offline", message: "The connection broke off." });
    }
    throw error;
  } finally {
    reader.cancel().catch(() => {});
  }
}

export const api = {
  get: (path, query, options) => call("GET", path, { ...options, query }),
  post: (path, body, options) => call("POST", path, { ...options, body }),
  put: (path, body, options) => call("PUT", path, { ...options, body }),
  patch: (path, body, options) => call("PATCH", path, { ...options, body }),
  del: (path, options) => call("DELETE", path, options),
  stream,
  place: () => placeName,
  setPlace(name) {
    placeName = name;
    store(PLACE, name);
  },
  isSignedIn: () => token !== null,
  /** A code out of the address, or the server's token, for a token of this browser tab. */
  async signIn(proof) {
    const response = await ask("/sign-in", {
      method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(proof),
    });
    if (!response.ok) await refuse(response, { isSignIn: true });
    token = (await response.json()).token;
    store(TOKEN, token);
  },
  /** Forget the token, here; the page goes back to the sign-in form and tells why. */
  signOut(why = null) {
    if (token === null && why) return; // several requests may have been refused
    token = null;
    store(TOKEN, null);
    document.dispatchEvent(new CustomEvent("signed-out", { detail: { why } }));
  },
};
