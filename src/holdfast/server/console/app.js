// The shell: boot, sign-in, header, pages by their address, theme, language, place, keys.
//
// Pages are loaded when they are first opened; one that fails says so in its place and takes
// nothing else down.

import { api, ApiError } from "./api.js";
import { clear, el, icon } from "./dom.js";
import { live } from "./live.js";
import { dialog } from "./parts/dialog.js";
import { dropToasts, failure } from "./parts/toast.js";
import { signInForm, takeCode } from "./sign-in.js";
import { language, setLanguage, t } from "./words.js";

const PAGES = ["chat", "memory", "search", "sessions", "health"];
const KEYS = { c: "chat", m: "memory", s: "search", e: "sessions", h: "health" };
const THEME = "holdfast.theme";

const app = document.getElementById("app");
const top = document.getElementById("top");
const rail = document.getElementById("rail");
const main = document.getElementById("main");
const news = document.getElementById("news");

let server = null; // GET /server
let unmount = null;
let signingIn = {}; // what the form tells
let visit = 0; // of the page that is being shown; an older one that finishes late is not

// ── theme ───────────────────────────────────────────────────────────────────────────────────

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

function keptTheme() {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null;
  }
}

function applyTheme(name) {
  document.documentElement.dataset.theme = name || (prefersDark.matches ? "dark" : "light");
}

function toggleTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(THEME, next);
  } catch { /* then for this page only */ }
  applyTheme(next);
  drawTop();
  document.querySelector('[data-test="theme"]')?.focus();
}

// ── header and rail ─────────────────────────────────────────────────────────────────────────

function drawTop() {
  const dark = document.documentElement.dataset.theme === "dark";
  clear(top,
    el("a", { class: "brand", href: "#/chat" }, el("img", { src: "/console/icon.svg", alt: "" }), el("span", { text: t("app.name") })),
    server && server.places.length > 1 ? placeSwitch() : null,
    el("span", { class: "top-space" }),
    server ? liveDot() : null,
    el("button", {
      class: "button-icon", type: "button", data: { test: "theme" }, title: t(dark ? "theme.to.light" : "theme.to.dark"),
      aria: { label: t(dark ? "theme.to.light" : "theme.to.dark") }, on: { click: toggleTheme },
    }, icon(dark ? "sun" : "moon")),
    el("button", {
      class: "button button-quiet button-small", type: "button", data: { test: "language" }, lang: language() === "zh" ? "en" : "zh-Hans",
      title: t("language.label"), aria: { label: t("language.label") }, text: t("language.to"), on: { click: toggleLanguage },
    }),
    server ? el("button", {
      class: "button-icon", type: "button", data: { test: "sign-out" }, title: t("signout.label"),
      aria: { label: t("signout.label") }, on: { click: signOut },
    }, icon("out")) : null);
}

function liveDot() {
  const node = el("span", { class: "live", role: "status", data: { test: "live" } });
  const draw = () => {
    node.dataset.state = live.state;
    node.title = t(`live.title.${live.state}`);
    clear(node, el("span", { class: "live-dot" }), el("span", { text: t(`live.${live.state}`) }));
  };
  draw();
  return node;
}

let downFor = null;

/** Above the page while the server does not answer. */
function drawDown() {
  clear(news, live.state === "live" || !server ? null : el("p", { class: "down banner banner-bad", data: { test: "down" } },
    icon("warn"), el("span", { class: "grow", text: t("live.banner") })));
}

function placeSwitch() {
  const button = ({ name }) => el("button", {
    type: "button", text: t(`place.${name}`), aria: { pressed: api.place() === name },
    data: { test: `place-${name}` }, on: { click: () => moveTo(name) },
  });
  return el("div", { class: "segments", role: "group", aria: { label: t("place.label") } }, server.places.map(button));
}

function drawRail(current) {
  rail.setAttribute("aria-label", t("app.nav"));
  const link = (id) => el("a", {
    href: `#/${id}`, title: t(`nav.${id}`), data: { test: `nav-${id}` }, aria: { current: id === current ? "page" : null },
  }, icon(id), el("span", { text: t(`nav.${id}`) }));
  clear(rail, PAGES.map(link),
    el("div", { class: "rail-foot" },
      el("button", { class: "link small", type: "button", text: t("keys.open"), on: { click: showKeys } }),
      server ? el("span", { text: `v${server.version}` }) : null));
}

function toggleLanguage() {
  setLanguage(language() === "zh" ? "en" : "zh");
  document.getElementById("skip").textContent = t("app.skip");
  drawTop();
  drawDown();
  if (server) show();
  else askToSignIn(signingIn);
  document.querySelector('[data-test="language"]')?.focus();
}

/** What is shown is left before the place changes: nothing it does may reach the other one. */
async function moveTo(place) {
  if (api.place() === place) return;
  const mine = (visit += 1);
  leave();
  clear(main, waiting());
  const { id } = parse(location.hash);
  history.pushState(null, "", `#/${PAGES.includes(id) ? id : "chat"}`); // what was open is not there
  api.setPlace(place);
  drawTop();
  document.querySelector(`[data-test="place-${place}"]`)?.focus();
  live.start();
  try {
    await refreshServer();
  } catch (error) {
    if (mine === visit && error.status !== 401) clear(main, notShown(error, enter));
    return;
  }
  drawTop();
  await show();
}

// ── pages ───────────────────────────────────────────────────────────────────────────────────

/** {id, args, query} of an address like #/memory/notes%2Fa.md?line=3. */
function parse(hash) {
  const [path, search] = hash.replace(/^#\/?/, "").split("?", 2);
  const [id, ...args] = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { id: id || "chat", args: args.filter(Boolean), query: Object.fromEntries(new URLSearchParams(search || "")) };
}

function go(hash) {
  if (location.hash === hash) show();
  else location.hash = hash;
}

/** A page's code. All are fetched early: one must open also while the server does not answer. */
const load = (id) => import(`./pages/${id}/page.js`);

function fetchPages() {
  for (const id of PAGES) load(id).catch(() => {}); // told when it is opened
}

async function pageOf(id) {
  try {
    return (await load(id)).default;
  } catch (error) {
    if (error instanceof TypeError && /import/i.test(error.message)) throw new ApiError({ status: 0, type: "offline", details: { isCode: true } });
    throw error; // it came, and is wrong
  }
}

async function show() {
  if (!server) return;
  const { id, args, query } = parse(location.hash);
  const mine = (visit += 1);
  leave();
  drawRail(id);
  document.title = `${PAGES.includes(id) ? t(`nav.${id}`) : t("notfound.title")} · ${t("app.name")}`;
  if (!PAGES.includes(id)) return clear(main, noSuchPage());
  const root = el("div", { class: "page-root" });
  clear(main, root);
  main.scrollTop = 0;
  try {
    const page = await pageOf(id);
    if (mine !== visit) return;
    const left = await page.mount(root, { args, query, go, server: () => server, refreshServer, isCurrent: () => mine === visit });
    if (mine === visit) unmount = left || null;
    else if (left) left();
    if (mine === visit) focusHeading();
  } catch (error) {
    if (mine !== visit) return;
    // A browser does not ask again for code that did not come; what was typed survives a reload.
    clear(main, notShown(error, error.details?.isCode ? () => location.reload() : show));
  }
}

function notShown(error, retry) {
  return el("div", { class: "page" }, el("h1", { tabindex: "-1", text: t("error.page") }), failure(error, { retry }));
}

function waiting() {
  return el("div", { class: "page", aria: { busy: "true" } }, el("p", { class: "muted", text: t("loading") }));
}

function leave() {
  const fn = unmount;
  unmount = null;
  dropToasts();
  if (!fn) return;
  try {
    fn();
  } catch (error) {
    console.error(error);
  }
}

let booted = false;

function focusHeading() {
  if (!booted) {
    booted = true; // the first page is not a navigation: focus stays where the browser put it
    return;
  }
  const inside = document.activeElement;
  if (inside && main.contains(inside) && inside !== main) return;
  const heading = main.querySelector("h1");
  if (heading) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  } else main.focus({ preventScroll: true });
}

function noSuchPage() {
  return el("div", { class: "page" }, el("div", { class: "empty" },
    icon("info"), el("h1", { tabindex: "-1", text: t("notfound.title") }), el("p", { text: t("notfound.text") }),
    el("a", { class: "button", href: "#/chat", text: t("notfound.action") })));
}

// ── keys ────────────────────────────────────────────────────────────────────────────────────

let awaitingPage = 0;

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const at = event.target;
  if (at instanceof HTMLElement && (at.closest("dialog") || at.matches("input, textarea, select, [contenteditable]"))) return;
  if (!server) return;
  if (Date.now() - awaitingPage < 1500 && KEYS[event.key]) {
    awaitingPage = 0;
    event.preventDefault();
    go(`#/${KEYS[event.key]}`);
  } else if (event.key === "g") awaitingPage = Date.now();
  else if (event.key === "/") {
    event.preventDefault();
    const input = main.querySelector('[data-test="search-input"]');
    if (input) input.focus();
    else go("#/search?focus=1");
  } else if (event.key === "?") {
    event.preventDefault();
    showKeys();
  }
}

function showKeys() {
  const key = (name) => el("kbd", { class: "kbd", text: name });
  const rows = Object.entries(KEYS).map(([name, page]) => [
    [key("g"), ` ${t("keys.then")} `, key(name)], t("keys.go", { page: t(`nav.${page}`) }),
  ]);
  rows.push([[key("/")], t("keys.search")], [[key("Enter")], t("keys.send")],
    [[key("Shift"), "+", key("Enter")], t("keys.newline")], [[key("Esc")], t("keys.stop")], [[key("?")], t("keys.help")]);
  dialog({
    title: t("keys.title"),
    body: el("dl", { class: "key-list" }, rows.map(([keys, text]) => [el("dt", {}, keys), el("dd", { text })])),
  });
}

// ── signing in and out ──────────────────────────────────────────────────────────────────────

async function refreshServer() {
  const found = await api.get("/server");
  if (!api.isSignedIn()) throw new ApiError({ status: 401, type: "unauthorized" }); // meanwhile
  server = found;
  if (!server.places.some((place) => place.name === api.place())) api.setPlace(server.places[0].name);
  return server;
}

async function signOut() {
  visit += 1;
  leave();
  live.stop(); // what ends with the token is not told as a failure
  document.dispatchEvent(new CustomEvent("signing-out"));
  try {
    await api.post("/sign-out");
  } catch { /* it is gone from here either way */ }
  api.signOut();
}

/** `about`: {why: "expired"}, or {error, again} of a link that did not work. */
function askToSignIn(about = {}) {
  signingIn = about;
  visit += 1;
  leave();
  server = null;
  live.stop();
  clearTimeout(downFor);
  drawDown();
  app.classList.add("is-out");
  clear(rail);
  rail.hidden = true;
  drawTop();
  document.title = `${t("signin.title")} · ${t("app.name")}`;
  signInForm(main, { ...about, done: enter });
}

async function enter() {
  app.classList.remove("is-out");
  rail.hidden = false;
  drawRail(parse(location.hash).id);
  clear(main, waiting());
  try {
    await refreshServer();
  } catch (error) {
    if (error.status === 401) return;
    clear(main, notShown(error, enter));
    return;
  }
  drawTop();
  live.start();
  await show();
  fetchPages();
}

/** With the code of a link. One that could not be tried is kept, and tried again when asked. */
async function enterWith(code) {
  try {
    await api.signIn({ code });
  } catch (error) {
    if (!api.isSignedIn()) return askToSignIn({ error, again: error.status === 401 ? null : () => enterWith(code) });
  }
  return enter();
}

async function boot() {
  applyTheme(keptTheme());
  prefersDark.addEventListener("change", () => { applyTheme(keptTheme()); drawTop(); });
  document.getElementById("skip").textContent = t("app.skip");
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment is the address of the page
    main.focus();
  });
  document.addEventListener("keydown", onKey);
  document.addEventListener("signed-out", (event) => askToSignIn({ why: event.detail?.why }));
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#code=")) location.reload();
    else show();
  });
  live.onState(() => {
    const dot = top.querySelector('[data-test="live"]');
    if (dot) dot.replaceWith(liveDot());
    clearTimeout(downFor);
    if (live.state === "down") downFor = setTimeout(drawDown, 1500); // a moment is nobody's business
    else if (live.state === "live") drawDown();
  });
  drawTop();
  const link = takeCode();
  if (link?.place) api.setPlace(link.place);
  if (link?.code) await enterWith(link.code);
  else if (api.isSignedIn()) await enter();
  else askToSignIn();
}

boot();
