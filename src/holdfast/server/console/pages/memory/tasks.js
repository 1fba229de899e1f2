// The tasks: what was asked for, how it stands, the record behind it; new ones, and closing them.
import { api } from "../../api.js";
import { clear, el } from "../../dom.js";
import { linkTo, when } from "../../format.js";
import { dialog } from "../../parts/dialog.js";
import { keeping } from "../../parts/keeping.js";
import { toast } from "../../parts/toast.js";
import { t } from "../../words.js";
import { draftOf, dropDraft, keepDraft } from "./drafts.js";
import { actionButton, emptyState, into } from "./loading.js";
import { refused } from "./undoing.js";

const STATUS = {
  open: { word: "memory.tasks.open", kind: "accent" },
  done: { word: "memory.tasks.done", kind: "good" },
  failed: { word: "memory.tasks.failed", kind: "bad" },
  cancelled: { word: "memory.tasks.cancelled", kind: "" },
};
const DRAFT = "+task";
const ENDS = ["done", "failed", "cancelled"];

function statusBadge(status) {
  const known = Object.hasOwn(STATUS, status) ? STATUS[status] : null;
  return el("span", { class: `badge${known?.kind ? ` badge-${known.kind}` : ""}`, text: known ? t(known.word) : status });
}

async function closeTask(task, onDone) {
  const select = el("select", { class: "select" }, ENDS.map((each) => el("option", { value: each, text: t(STATUS[each].word) })));
  const result = el("textarea", { class: "textarea", rows: "3", maxlength: "4000" });
  const yes = el("button", { class: "button button-primary", type: "button", text: t("memory.tasks.close"), data: { test: "confirm" } });
  const no = el("button", { class: "button", type: "button", text: t("action.cancel") });
  const asked = dialog({
    title: t("memory.tasks.close.ask"),
    body: [
      el("p", { class: "quoted-line", text: task.title }),
      el("label", { class: "field" }, el("span", { text: t("memory.tasks.status") }), select),
      el("label", { class: "field" }, el("span", { text: t("memory.tasks.close.result") }), result),
    ],
    actions: [no, yes],
  });
  no.addEventListener("click", () => asked.close(false));
  yes.addEventListener("click", () => asked.close(true));
  if ((await asked.done) !== true) return;
  const body = { status: select.value };
  if (result.value.trim()) body.result = result.value.trim();
  await api.post(`/tasks/${encodeURIComponent(task.id)}/close`, body);
  toast(t("memory.tasks.close.done", { title: task.title }), { kind: "good" });
  onDone();
}

function taskRow(task, onDone) {
  const at = task.closed ?? task.opened;
  return el(
    "li",
    { class: "list-row task-row", data: { test: "task" } },
    statusBadge(task.status),
    el(
      "span",
      { class: "grow stack-tight" },
      el("a", { class: "task-title", href: linkTo.file(task.path), title: t("memory.tasks.file"), text: task.title, data: { key: `task:${task.id}` } }),
      el(
        "span",
        { class: "muted small row" },
        task.type ? el("span", { text: task.type }) : null,
        at ? el("span", { title: when(at).title, text: t(task.closed ? "memory.tasks.closed" : "memory.tasks.opened", { when: when(at).text }) }) : null,
        task.result ? el("span", { class: "cut task-result", text: task.result }) : null,
      ),
    ),
    task.status === "open"
      ? actionButton({ text: t("memory.tasks.close"), key: `close:${task.id}`, label: `${t("memory.tasks.close")}: ${task.title}`, run: () => closeTask(task, onDone), onError: refused })
      : null,
  );
}

function newTask(onDone) {
  const title = el("input", { class: "input", type: "text", maxlength: "120", placeholder: t("memory.tasks.new.title"), "aria-label": t("memory.tasks.new.title") });
  title.value = draftOf(DRAFT)?.text ?? "";
  title.addEventListener("input", () => (title.value ? keepDraft(DRAFT, { text: title.value }) : dropDraft(DRAFT)));
  const add = el("button", { class: "button", type: "submit", text: t("memory.tasks.new.action") });
  const form = el("form", { class: "row new-task" }, title, add);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!title.value.trim()) return;
    add.disabled = true;
    try {
      const made = await api.post("/tasks", { title: title.value.trim() });
      title.value = "";
      dropDraft(DRAFT);
      toast(t("memory.tasks.new.done", { title: made.title }), { kind: "good" });
      onDone();
    } catch (error) {
      refused(error);
    } finally {
      add.disabled = false;
    }
  });
  return form;
}

/** {node, reload} */
export function tasksView({ onDone }) {
  let status = "";
  const list = el("div", {});
  const choices = el("div", { class: "segments", role: "group", aria: { label: t("memory.tasks.status") } });
  const drawChoices = () => {
    clear(
      choices,
      ["", ...Object.keys(STATUS)].map((each) =>
        el("button", {
          type: "button",
          text: each ? t(STATUS[each].word) : t("memory.tasks.all"),
          aria: { pressed: String(each === status) },
          on: {
            click: () => {
              status = each;
              drawChoices();
              reload();
            },
          },
        }),
      ),
    );
  };
  const done = () => {
    reload();
    onDone();
  };
  const reload = into(
    list,
    () => api.get("/tasks", { status }),
    ({ tasks }) => {
      if (tasks.length) keeping(list, () => clear(list, el("ul", { class: "card card-flush list" }, tasks.map((each) => taskRow(each, done)))));
      else if (status) clear(list, el("p", { class: "muted", text: t("memory.tasks.none") }));
      else clear(list, emptyState(t("memory.tasks.empty"), t("memory.tasks.empty.text")));
    },
  );
  drawChoices();
  const node = el(
    "div",
    { class: "stack" },
    el("div", { class: "page-head" }, el("h1", { text: t("memory.tasks") }), choices),
    el("p", { class: "muted", text: t("memory.tasks.about") }),
    newTask(done),
    list,
  );
  return { node, reload };
}
