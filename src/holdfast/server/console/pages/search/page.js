// The Search page: answers as you type, the newest question wins, and the address holds all of
// it, so that a search can be gone back to. Proved by tests/server/test_console_search.py.
import { api } from "../../api.js";
import { clear, el, icon } from "../../dom.js";
import { phrase } from "../../parts/phrases.js";
import { failure } from "../../parts/toast.js";
import { t } from "../../words.js";
import { whatItDid } from "./explain.js";
import { filterBar, filtersOf } from "./filters.js";
import { hitList } from "./hits.js";
import "./words.js";

const WAIT = 150; // ms after the last key
const FIRST = 12;
const MOST = 100;

function mount(root, { query, go }) {
  let filters = filtersOf(query);
  let isExplained = query.explain === "1";
  let limit = FIRST;
  let timer = null;
  let running = null;
  let hits = null;
  let examples = null;
  let shownFor = null; // the query whose results are on the page

  const input = el("input", {
    class: "input search-box",
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "2000",
    placeholder: t("search.placeholder"),
    "aria-label": t("search.label"),
    data: { test: "search-input" },
  });
  input.value = String(query.q ?? "").slice(0, 2000);
  const explain = el("button", {
    class: "chip",
    type: "button",
    title: t("search.explain.title"),
    text: t("search.explain"),
    aria: { pressed: String(isExplained) },
    data: { test: "explain" },
  });
  const status = el("p", { class: "muted small search-status", role: "status", "aria-live": "polite" });
  const results = el("div", { class: "stack search-results" });
  const bar = filterBar(filters, {
    onChange(next) {
      filters = next;
      limit = FIRST;
      soon();
    },
  });
  root.append(
    el(
      "div",
      { class: "page search" },
      el("div", { class: "page-head" }, el("h1", { text: t("search.title") })),
      el("div", { class: "search-top" }, el("span", { class: "search-field" }, icon("search"), input), explain),
      bar.node,
      el("div", { class: "row-between" }, status, el("span", { class: "muted small search-keys", text: t("search.keys") })),
      results,
    ),
  );

  function address() {
    const pairs = { ...(input.value ? { q: input.value } : {}), ...filters, ...(isExplained ? { explain: "1" } : {}) };
    const search = new URLSearchParams(pairs).toString();
    return `#/search${search ? `?${search}` : ""}`;
  }

  function soon(wait = WAIT) {
    clearTimeout(timer);
    window.history.replaceState(null, "", address());
    timer = setTimeout(ask, wait);
  }

  async function ask() {
    running?.abort();
    const asked = input.value.trim();
    if (!asked) {
      running = null;
      clear(status);
      hits = null;
      results.setAttribute("aria-busy", "true");
      try {
        await showExamples();
      } finally {
        if (!running) results.removeAttribute("aria-busy");
      }
      return;
    }
    const mine = new AbortController();
    running = mine;
    results.setAttribute("aria-busy", "true");
    if (!hits) clear(results, skeleton());
    const { meaning, ...limits } = filters;
    const body = { query: asked, limit, ...limits, vectors: meaning !== "off", explain: isExplained };
    try {
      const found = await api.post("/search", body, { signal: mine.signal });
      if (running === mine) show(found, asked);
    } catch (error) {
      if (running !== mine || error.name === "AbortError") return;
      hits = null;
      clear(status);
      clear(results, failure(error, { retry: ask }));
    } finally {
      if (running === mine) results.removeAttribute("aria-busy");
    }
  }

  function show(found, asked) {
    const count = found.passages.length;
    shownFor = asked;
    clear(status, count ? `${t("search.count", { count })} · ${t("search.took", { ms: Math.round(found.took_ms) })}` : t("search.none"));
    hits = count ? hitList(found, { query: asked, isExplained, onLeave: () => input.focus() }) : null;
    clear(
      results,
      found.degraded.length ? degraded(found.degraded) : null,
      isExplained && found.trace ? whatItDid(found) : null,
      count ? hits.node : nothing(found),
      count >= limit && limit < MOST ? moreButton() : null,
    );
  }

  function moreButton() {
    return el("button", {
      class: "button",
      type: "button",
      text: t("search.more"),
      on: {
        click: () => {
          limit = Math.min(MOST, limit * 2);
          ask();
        },
      },
    });
  }

  function nothing(found) {
    const narrowed = Object.keys(filters).some((name) => name !== "meaning");
    const [first, ...rest] = String(found.why_empty ?? "").split("\n");
    return el(
      "div",
      { class: "empty", data: { test: "search-none" } },
      icon("search"),
      el("h2", { text: t("search.none") }),
      first ? el("p", { text: first }) : null,
      rest.map((line) => el("p", { class: "small", text: line })),
      narrowed ? el("p", {}, t("search.none.filters"), " ", el("button", { class: "link", type: "button", text: t("search.filters.clear"), on: { click: () => bar.set({}) } })) : null,
      filters.meaning === "off"
        ? el("p", {}, t("search.none.meaning"), " ", el("button", { class: "link", type: "button", text: t("search.none.meaning.on"), on: { click: () => bar.set({ ...filters, meaning: undefined }) } }))
        : null,
    );
  }

  async function showExamples() {
    if (!examples) {
      clear(results, skeleton());
      const answer = await api.get("/entities").catch((error) => error);
      if (answer instanceof Error) {
        if (!input.value) clear(results, failure(answer, { retry: showExamples }));
        return;
      }
      const names = answer.entities.filter((each) => each.facts && each.name !== "user" && each.name !== "assistant").sort((one, other) => other.facts - one.facts);
      const there = names.length ? true : (await api.get("/memory/files").catch(() => ({ files: [] }))).files.length > 0;
      examples = { names: names.slice(0, 4).map((each) => each.name), there };
    }
    if (input.value.trim()) return; // typed meanwhile
    clear(results, emptyState(examples));
  }

  function emptyState({ names, there }) {
    const asks = there ? [...names.map((name) => t("search.empty.about", { name })), t("search.empty.recent"), t("search.empty.prefer")] : [];
    return el(
      "div",
      { class: "empty", data: { test: "search-empty" } },
      icon("search"),
      el("h2", { text: t("search.empty.title") }),
      el("p", { text: t(there ? "search.empty.text" : "search.empty.none") }),
      asks.length ? el("p", { class: "small", text: t("search.empty.try") }) : el("a", { class: "button", href: "#/memory", text: t("search.empty.memory") }),
      el(
        "div",
        { class: "row examples" },
        asks.map((text) =>
          el("button", {
            class: "chip",
            type: "button",
            text,
            on: {
              click: () => {
                input.value = text;
                input.focus();
                soon(0);
              },
            },
          }),
        ),
      ),
    );
  }

  input.addEventListener("input", () => {
    limit = FIRST;
    soon();
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return; // the keys belong to the input method
    if (event.key === "ArrowDown" && hits) {
      event.preventDefault();
      hits.focusFirst();
    } else if (event.key === "Enter") {
      const first = results.querySelector(".hit-link");
      if (first && shownFor === input.value.trim()) go(first.getAttribute("href"));
      else soon(0);
    }
  });
  explain.addEventListener("click", () => {
    isExplained = !isExplained;
    explain.setAttribute("aria-pressed", String(isExplained));
    soon(0);
  });
  if (query.focus === "1" || !input.value) input.focus();
  document.getElementById("main")?.scrollTo(0, 0);
  ask();
  return () => {
    clearTimeout(timer);
    running?.abort();
  };
}

// What somebody has chosen so is said, and is no trouble.
const CHOSEN = /^meaning: switched off/;

function degraded(list) {
  const troubles = list.filter((each) => !CHOSEN.test(each));
  const chosen = list.filter((each) => CHOSEN.test(each));
  return [
    troubles.length
      ? el(
          "div",
          { class: "banner banner-warn degraded", data: { test: "degraded" } },
          icon("warn"),
          el("div", {}, el("p", { text: t("search.degraded") }), el("ul", {}, troubles.map((each) => el("li", { class: "small", text: phrase(each) })))),
        )
      : null,
    chosen.map((each) => el("p", { class: "muted small", data: { test: "by-words" }, text: t("search.by_words", { why: phrase(each.replace(/^meaning: /, "")) }) })),
  ];
}

function skeleton() {
  return el(
    "div",
    { class: "stack-tight", "aria-hidden": "true" },
    [0, 1, 2].map(() => el("div", { class: "skeleton skeleton-block" })),
  );
}

export default { id: "search", mount };
