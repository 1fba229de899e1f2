// Editing a file as text: what is typed is kept until it is saved or discarded, saving replaces
// only the version that was read, and if somebody was faster both changes are shown and joined.
import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { diff } from "../../parts/diff.js";
import { confirm } from "../../parts/dialog.js";
import { failure, toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { draftOf, dropDraft, keepDraft } from "./drafts.js";
import { merge, unified } from "./merging.js";
import { refused } from "./undoing.js";

const fileQuery = (path) => `/memory/file?${new URLSearchParams({ path })}`;

function clashPanel({ base, mine, theirs, onBoth, onTake, onKeep }) {
  const joined = theirs.isGone ? { text: mine, clashes: 0 } : merge(base, mine, theirs.text);
  const button = (text, run, kind = "") =>
    el("button", { class: `button ${kind}`, type: "button", text, on: { click: () => run(joined.text) } });
  const both = button(t("memory.clash.both"), onBoth, "button-primary");
  both.dataset.test = "clash-both";
  const take = button(t("memory.clash.take"), onTake);
  take.dataset.test = "clash-take";
  return el(
    "section",
    { class: "card clash stack", role: "alert", data: { test: "clash" } },
    el("h2", { text: t("memory.clash.title") }),
    el("p", { text: t("memory.clash.text") }),
    el(
      "div",
      { class: "grid-2" },
      el("div", { class: "stack-tight" }, el("h3", { text: t("memory.clash.theirs") }), diff(unified(base, theirs.text))),
      el("div", { class: "stack-tight" }, el("h3", { text: t("memory.clash.mine") }), diff(unified(base, mine))),
    ),
    joined.clashes ? el("p", { class: "banner banner-warn", text: t("memory.clash.overlap", { count: joined.clashes }) }) : null,
    el("details", {}, el("summary", { text: t("memory.clash.result") }), diff(unified(theirs.text, joined.text))),
    el("div", { class: "row" }, both, take, button(t("memory.clash.on"), onKeep)),
  );
}

/** {node, close()}: the editor of a file. `onSaved(file)` gets the file as it is now. */
export function editor(file, { onSaved, onDirty }) {
  const path = file.path;
  const kept = draftOf(path);
  let base = kept?.base ?? file.text;
  let version = kept?.version ?? file.version;
  let isSaving = false;

  const area = el("textarea", {
    class: "textarea mono edit-area",
    spellcheck: "false",
    "aria-label": t("memory.edit.label", { path }),
    data: { test: "file-area" },
  });
  area.value = kept?.text ?? file.text;
  const state = el("span", { class: "muted small", role: "status" });
  const save = el("button", { class: "button button-primary", type: "button", text: t("memory.edit.save"), data: { test: "file-save" }, on: { click: () => store() } });
  const discard = el("button", { class: "button", type: "button", text: t("memory.edit.discard"), on: { click: giveUp } });
  const below = el("div", {});
  const node = el(
    "div",
    { class: "stack edit" },
    kept ? el("p", { class: "banner", text: t("memory.edit.kept") }) : null,
    below,
    area,
    el("div", { class: "row" }, save, discard, state, el("span", { class: "muted small edit-keys", text: t("memory.edit.keys") })),
  );

  const isDirty = () => area.value !== base;

  function fit() {
    const dirty = isDirty();
    save.disabled = !dirty || isSaving;
    discard.disabled = !dirty || isSaving;
    clear(state, t(isSaving ? "memory.edit.saving" : dirty ? "memory.edit.unsaved" : "memory.edit.clean"));
    onDirty?.(dirty);
  }

  function typed() {
    if (isDirty()) keepDraft(path, { text: area.value, base, version });
    else dropDraft(path);
    fit();
  }

  function settle(next) {
    base = next.text;
    version = next.version;
    area.value = next.text;
    dropDraft(path);
    clear(below);
    fit();
  }

  async function store(text = area.value, on = version) {
    if (isSaving) return;
    isSaving = true;
    fit();
    try {
      const next = await api.put(fileQuery(path), { text, version: on });
      settle(next);
      toast(t("memory.edit.saved", { path }), { kind: "good" });
      onSaved(next);
    } catch (error) {
      if (error.type === "changed") await compare();
      else clear(below, failure(error, { retry: () => store(text, on) }));
    } finally {
      isSaving = false;
      fit();
    }
  }

  async function compare() {
    let theirs;
    try {
      theirs = await api.get("/memory/file", { path });
    } catch (error) {
      if (error.status !== 404) {
        clear(below, failure(error, { retry: () => store() }));
        return;
      }
      theirs = { text: "", version: null, isGone: true }; // mine would make it again
    }
    if (theirs.text === area.value) {
      settle(theirs); // they saved the very same
      return;
    }
    clear(
      below,
      clashPanel({
        base,
        mine: area.value,
        theirs,
        onBoth: (joined) => store(joined, theirs.version),
        onTake: () => {
          settle(theirs);
          onSaved(theirs);
        },
        onKeep: () => {
          clear(below);
          area.focus();
        },
      }),
    );
    below.scrollIntoView({ block: "nearest" });
  }

  async function giveUp() {
    const yes = await confirm({
      title: t("memory.edit.discard.ask"),
      text: t("memory.edit.discard.text"),
      action: t("memory.edit.discard"),
      danger: true,
    });
    if (!yes) return;
    dropDraft(path);
    try {
      settle(await api.get("/memory/file", { path }));
    } catch (error) {
      refused(error);
    }
  }

  function onKey(event) {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (isDirty()) store();
  }
  function onLeave(event) {
    if (isDirty()) event.preventDefault(); // the browser asks
  }
  area.addEventListener("input", typed);
  document.addEventListener("keydown", onKey);
  window.addEventListener("beforeunload", onLeave);
  fit();
  return {
    node,
    isDirty,
    focus: () => area.focus(),
    close() {
      document.removeEventListener("keydown", onKey);
      window.removeEventListener("beforeunload", onLeave);
    },
  };
}

/** Lines at the end of a file, without touching the others. */
export function appendBox(path, { onSaved }) {
  const key = `+${path}`; // a draft of its own
  const area = el("textarea", {
    class: "textarea mono",
    rows: "2",
    placeholder: t("memory.edit.append.placeholder"),
    "aria-label": t("memory.edit.append.label", { path }),
  });
  area.value = draftOf(key)?.text ?? "";
  const add = el("button", { class: "button", type: "submit", text: t("memory.edit.append") });
  const fit = () => {
    add.disabled = !area.value.trim();
  };
  area.addEventListener("input", () => {
    if (area.value) keepDraft(key, { text: area.value });
    else dropDraft(key);
    fit();
  });
  const form = el("form", { class: "append stack-tight" }, area, el("div", { class: "row" }, add));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    add.disabled = true;
    try {
      const next = await api.post("/memory/append", { path, text: area.value });
      area.value = "";
      dropDraft(key);
      toast(t("memory.edit.append.done", { path }), { kind: "good" });
      onSaved(next);
    } catch (error) {
      refused(error);
    } finally {
      fit();
    }
  });
  fit();
  return el("details", { class: "append-more", open: area.value !== "" }, el("summary", { class: "small", text: t("memory.edit.append.label", { path }) }), form);
}
