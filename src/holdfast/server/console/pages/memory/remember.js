// The box in which a person writes a memory by hand: one line of text, and options nobody needs.
import { api } from "../../api.js";
import { el } from "../../dom.js";
import { kindWord } from "../../parts/line.js";
import { t } from "../../words.js";
import { draftOf, dropDraft, keepDraft } from "./drafts.js";
import { refused, told } from "./undoing.js";

const DRAFT = "+remember"; // what was typed survives leaving the page

function option(value, text) {
  return el("option", { value, text });
}

function field(label, input, extra = "") {
  return el("label", { class: `field ${extra}` }, el("span", { text: label }), input);
}

function sayWhat(done, onDone) {
  const count = done.added.length;
  if (count) {
    const more = [];
    if (done.updates?.length) more.push(t("memory.remember.updates", { count: done.updates.length }));
    if (done.conflicts?.length) more.push(t("memory.remember.conflict", { text: done.conflicts[0].known }));
    if (done.redirected) more.push(done.redirected);
    told([t("memory.remember.done", { count, path: done.path }), ...more].join(" "), done.operation, onDone);
    return;
  }
  const repeat = done.skipped[0];
  told(repeat ? t("memory.remember.known", { text: repeat.kept }) : t("memory.remember.done", { count, path: done.path }), null, onDone);
}

/** The form. `onDone(remembered)` after something was written. */
export function rememberBox({ onDone }) {
  const text = el("textarea", {
    class: "textarea remember-text",
    rows: "2",
    maxlength: "4000",
    placeholder: t("memory.remember.placeholder"),
    "aria-label": t("memory.remember.label"),
    data: { test: "remember-text" },
  });
  text.value = draftOf(DRAFT)?.text ?? "";
  const kind = el("select", { class: "select" }, option("", t("memory.remember.kind.auto")), ["W", "B", "O", "S"].map((each) => option(each, kindWord(each))));
  const entity = el("input", { class: "input", type: "text", maxlength: "120", placeholder: t("memory.remember.entity.placeholder") });
  const target = el(
    "select",
    { class: "select" },
    option("daily", t("memory.remember.target.daily")),
    option("memory", t("memory.remember.target.memory")),
    option("topic", t("memory.remember.target.topic")),
  );
  const topic = el("input", { class: "input", type: "text", maxlength: "80" });
  const sure = el("input", { class: "input", type: "number", min: "0", max: "1", step: "0.05" });
  const topicField = field(t("memory.remember.topic"), topic);
  const sureField = field(t("memory.remember.sure"), sure);
  const fit = () => {
    topicField.hidden = target.value !== "topic";
    sureField.hidden = kind.value !== "O";
    send.disabled = !text.value.trim();
  };
  const send = el("button", { class: "button button-primary", type: "submit", text: t("memory.remember.action"), data: { test: "remember" } });
  const form = el(
    "form",
    { class: "card remember" },
    el("h2", { class: "section-title", text: t("memory.remember.label") }),
    text,
    el(
      "div",
      { class: "remember-foot" },
      el(
        "details",
        { class: "remember-more" },
        el("summary", { text: t("memory.remember.more") }),
        el(
          "div",
          { class: "fields" },
          field(t("memory.remember.kind"), kind),
          sureField,
          field(t("memory.remember.entity"), entity),
          field(t("memory.remember.target"), target),
          topicField,
        ),
      ),
      send,
    ),
  );
  form.addEventListener("input", () => {
    if (text.value) keepDraft(DRAFT, { text: text.value });
    else dropDraft(DRAFT);
    fit();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!text.value.trim() || send.disabled) return;
    send.disabled = true;
    const body = { text: text.value, target: target.value === "topic" ? `topic:${topic.value.trim()}` : target.value };
    if (kind.value) body.kind = kind.value;
    if (entity.value.trim()) body.entity = entity.value.trim();
    if (kind.value === "O" && sure.value !== "") body.confidence = Number(sure.value);
    try {
      const done = await api.post("/memory/remember", body);
      text.value = "";
      dropDraft(DRAFT);
      sayWhat(done, onDone);
      onDone(done);
    } catch (error) {
      refused(error); // what was typed stays
    } finally {
      fit();
    }
  });
  fit();
  return form;
}
