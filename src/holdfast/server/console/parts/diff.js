// A unified diff as a list of lines: added, removed, unchanged, each told by a sign and a word
// for screen readers, never by colour alone. All of it is text; nothing is read as HTML.
// Also the words of a diff (how many lines came and went). Proved by test_console_memory.py.
import { el } from "../dom.js";
import { addWords, t } from "../words.js";

addWords({
  en: {
    "diff.label": "Changes, line by line",
    "diff.added": "added:",
    "diff.removed": "removed:",
    "diff.none": "No line differs.",
    "diff.rest": { one: "One more line", other: "{count} more lines" },
  },
  zh: {
    "diff.label": "逐行改动",
    "diff.added": "新增：",
    "diff.removed": "删除：",
    "diff.none": "没有任何差别。",
    "diff.rest": "还有 {count} 行",
  },
});

const SHOWN = 400; // lines; the rest opens on demand, so that a huge diff cannot stall the page

const KINDS = {
  "+": { name: "added", word: "diff.added" },
  "-": { name: "removed", word: "diff.removed" },
};

// What a person need not see of a memory line: the comment in which its provenance is kept. What
// only looks like one stays, for it may say anything.
const COMMENT = /\s*<!-- hf (\{[^\n]*\}) -->\s*$/;
const FIELDS = new Set([
  "id", "user", "chat", "observed", "since", "until", "verified", "retracted", "sources",
  "supersedes", "agrees", "trust", "had_hidden",
]);
const WORD = /^[^\s<>]{1,200}$/;

function isProvenance(written) {
  try {
    const told = JSON.parse(written);
    return Object.entries(told).every(
      ([name, value]) => FIELDS.has(name) && [value].flat().every((each) => typeof each === "boolean" || WORD.test(each)),
    );
  } catch {
    return false;
  }
}

function withoutComment(line) {
  const start = line.lastIndexOf("<!-- hf "); // the last one only: looking is linear so
  const found = start < 0 ? null : COMMENT.exec(line.slice(start));
  return found && isProvenance(found[1]) ? line.slice(0, start).trimEnd() : line;
}

/** What came and went: [{sign: "+" | "-", text, written}]; lines that hold a memory come first. */
export function lines(text) {
  const all = parsed(text ?? "").filter(({ sign }) => sign === "+" || sign === "-");
  const told = all.map(({ sign, text: written }) => ({ sign, text: withoutComment(written), written }));
  const isHeld = (each) => each.text !== each.written;
  return [...told.filter(isHeld), ...told.filter((each) => !isHeld(each))];
}

export function counts(text) {
  let added = 0;
  let removed = 0;
  for (const { sign } of parsed(text)) {
    if (sign === "+") added += 1;
    if (sign === "-") removed += 1;
  }
  return { added, removed };
}

function parsed(text) {
  const rows = [];
  let left = 0; // lines that the hunk still has, on either side: a line "--- x" may be content
  let right = 0;
  for (const line of text.split("\n")) {
    const head = left <= 0 && right <= 0 ? /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line) : null;
    if (head) {
      left = Number(head[1] ?? 1);
      right = Number(head[2] ?? 1);
      if (rows.some((row) => row.sign !== "file")) rows.push({ sign: "gap", text: "⋯" });
      continue;
    }
    if (left > 0 || right > 0) {
      const sign = line[0] ?? " ";
      if (sign === "\\") continue; // "\ No newline at end of file"
      if (sign !== "+") left -= 1;
      if (sign !== "-") right -= 1;
      rows.push({ sign: sign === "+" || sign === "-" ? sign : " ", text: line.slice(1) });
      continue;
    }
    if (line.startsWith("+++ ")) rows.push({ sign: "file", text: line.slice(4).replace(/^b\//, "") });
  }
  return rows;
}

function row({ sign, text }) {
  if (sign === "gap") return el("div", { class: "diff-gap", "aria-hidden": "true", text });
  const kind = KINDS[sign];
  return el(
    "div",
    { class: `diff-line${kind ? ` diff-${kind.name}` : ""}` },
    el("span", { class: "diff-sign", "aria-hidden": "true", text: kind ? sign : "" }),
    kind ? el("span", { class: "sr", text: `${t(kind.word)} ` }) : null,
    el("span", { class: "diff-text", text: withoutComment(text) || "\u00a0" }),
  );
}

// Changes that show the same once their comments are hidden (a source was added) would look like
// nothing happened: then the comment is what is shown.
function telling(rows) {
  return rows.map((each, at) => {
    const next = rows[at + 1];
    const previous = rows[at - 1];
    const twin = each.sign === "-" && next?.sign === "+" ? next : each.sign === "+" && previous?.sign === "-" ? previous : null;
    if (!twin || withoutComment(each.text) !== withoutComment(twin.text)) return { ...each, whole: false };
    return { ...each, whole: true };
  });
}

function shown(each) {
  if (!each.whole) return row(each);
  const node = row(each);
  node.querySelector(".diff-text").textContent = each.text;
  return node;
}

/** The node that shows a unified diff; `files: false` leaves the names of files out. */
export function diff(text, { files = true } = {}) {
  const rows = telling(parsed(text ?? ""));
  const body = el("div", { class: "diff-body" });
  const names = new Set(rows.filter((each) => each.sign === "file").map((each) => each.text));
  const told = rows.filter((each) => each.sign !== "file" || (files && names.size > 1));
  if (!told.some((each) => each.sign === "+" || each.sign === "-")) {
    return el("p", { class: "muted", text: t("diff.none") });
  }
  const add = (from, to) => {
    for (const each of told.slice(from, to)) {
      body.append(each.sign === "file" ? el("div", { class: "diff-file", text: each.text }) : shown(each));
    }
  };
  add(0, SHOWN);
  const node = el("div", { class: "diff", role: "group", tabindex: "0", "aria-label": t("diff.label") }, body);
  if (told.length > SHOWN) {
    const more = el("button", {
      class: "button button-small",
      type: "button",
      text: t("diff.rest", { count: told.length - SHOWN }),
      on: {
        click: () => {
          more.remove();
          add(SHOWN, told.length);
        },
      },
    });
    node.append(more);
  }
  return node;
}
