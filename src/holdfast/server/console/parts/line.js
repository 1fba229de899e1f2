// Where one memory line comes from, in words a person understands: who said it, how sure it is,
// whether it still holds, and a link to the place it was said. Used by the Memory, Search and Chat
// pages. Everything is text. Proved by tests/server/test_console_memory.py.
import { el } from "../dom.js";
import { linkTo, percent } from "../format.js";
import { addWords, t } from "../words.js";

addWords({
  en: {
    "line.trust.user": "You",
    "line.trust.agent": "Agent",
    "line.trust.tool": "Tool",
    "line.trust.import": "Imported",
    "line.trust.unknown": "Unknown",
    "line.why.user": "You said or wrote this.",
    "line.why.agent": "Only the agent said this. You have not confirmed it.",
    "line.why.tool": "A tool's output said this. It is not shown to new sessions until you confirm it.",
    "line.why.import": "This was imported. It is not shown to new sessions until you confirm it.",
    "line.why.unknown": "Nothing is known about who said this.",
    "line.kind.W": "Fact",
    "line.kind.B": "Event",
    "line.kind.O": "Opinion",
    "line.kind.S": "Summary",
    "line.kind.turn": "Message",
    "line.kind.tool": "Tool output",
    "line.kind.text": "Text",
    "line.kind.item": "List item",
    "line.kind.code": "Code",
    "line.kind.table": "Table",
    "line.kind.fact": "Fact",
    "line.entity.user": "You",
    "line.entity.assistant": "Agent",
    "line.sure": "{share} sure",
    "line.source": "Source",
    "line.by_hand": "Written by hand",
    "line.retracted": "Taken back",
    "line.replaced": "Replaced",
    "line.past": "No longer holds",
  },
  zh: {
    "line.trust.user": "你",
    "line.trust.agent": "助手",
    "line.trust.tool": "工具",
    "line.trust.import": "导入",
    "line.trust.unknown": "不明",
    "line.why.user": "这是你说过或写下的。",
    "line.why.agent": "只有助手这样说过，你还没有确认。",
    "line.why.tool": "来自工具的输出。在你确认之前，不会带入新会话。",
    "line.why.import": "来自导入的内容。在你确认之前，不会带入新会话。",
    "line.why.unknown": "不清楚这句话是谁说的。",
    "line.kind.W": "事实",
    "line.kind.B": "经历",
    "line.kind.O": "看法",
    "line.kind.S": "小结",
    "line.kind.turn": "消息",
    "line.kind.tool": "工具输出",
    "line.kind.text": "文字",
    "line.kind.item": "列表项",
    "line.kind.code": "代码",
    "line.kind.table": "表格",
    "line.kind.fact": "事实",
    "line.entity.user": "你",
    "line.entity.assistant": "助手",
    "line.sure": "把握 {share}",
    "line.source": "出处",
    "line.by_hand": "手写",
    "line.retracted": "已撤回",
    "line.replaced": "已被取代",
    "line.past": "已不成立",
  },
});

const TRUST = {
  user: { word: "line.trust.user", why: "line.why.user" },
  agent: { word: "line.trust.agent", why: "line.why.agent" },
  tool: { word: "line.trust.tool", why: "line.why.tool" },
  import: { word: "line.trust.import", why: "line.why.import" },
};
const UNKNOWN = { word: "line.trust.unknown", why: "line.why.unknown" };

const KINDS = {
  W: "line.kind.W",
  B: "line.kind.B",
  O: "line.kind.O",
  S: "line.kind.S",
  turn: "line.kind.turn",
  tool: "line.kind.tool",
  text: "line.kind.text",
  item: "line.kind.item",
  code: "line.kind.code",
  table: "line.kind.table",
  fact: "line.kind.fact",
};

const known = (table, name) => (Object.hasOwn(table, name ?? "") ? table[name] : null);

/** What kind of memory it is, as a word. */
export function kindWord(kind) {
  const key = known(KINDS, kind);
  return key ? t(key) : String(kind ?? "");
}

/** Who said it, as a word, and the sentence that says what follows from it. */
export function trustWord(trust) {
  return t((known(TRUST, trust) ?? UNKNOWN).word);
}
export function trustWhy(trust) {
  return t((known(TRUST, trust) ?? UNKNOWN).why);
}

export function trustBadge(trust) {
  const name = known(TRUST, trust) ? trust : "unknown";
  return el("span", { class: `badge trust trust-${name}`, title: trustWhy(trust), text: trustWord(trust) });
}

/** Whom it is about, or null; the two who talk are called as they are elsewhere on the page. */
export function entityName(line) {
  if (!line.entity) return null;
  if (line.entity === "user") return t("line.entity.user");
  if (line.entity === "assistant") return t("line.entity.assistant");
  return line.entity;
}

// "- W @Lena: ", "O(c=0.9) @\"Peter Pan\": ": the grammar of a memory line in front of its words.
const HEAD = /^\s*(?:[-*+]\s+)?[WBOS](?:\s*[(（]c=[^)）]{0,24}[)）])?(?:\s*@(?:"([^"\n]{1,200})"|([^:：\n"]{1,200})))?\s*[:：]\s*/;
const ABOUT = /^@(?:"([^"\n]{1,200})"|([^:：\n"]{1,200}))[:：]\s*/;

/** {entity, text} of a line as it is written, or null if it does not begin like a memory. */
export function readLine(written) {
  const head = HEAD.exec(written) ?? ABOUT.exec(written);
  if (!head) return null;
  return { entity: head[1] ?? head[2]?.trim() ?? null, text: written.slice(head[0].length) };
}

export function kindBadge(kind) {
  return el("span", { class: "badge kind", text: kindWord(kind) });
}

/** The state of a line that does not hold any more, or null. */
export function stateBadge(line) {
  if (line.retracted) return el("span", { class: "badge state", text: t("line.retracted") });
  if (line.superseded_by) return el("span", { class: "badge state", text: t("line.replaced") });
  if (line.holds === false) return el("span", { class: "badge state", text: t("line.past") });
  return null;
}

/** Where it leads: the first source, else the line of its own file, else nothing. */
function sourceLink(line) {
  const source = line.sources?.[0];
  const citation = source?.citation ?? null;
  if (citation) return el("a", { class: "source-link", href: linkTo.citation(citation), title: citation, text: t("line.source") });
  if (line.path) {
    const place = line.number ? `${line.path}:${line.number}` : line.path;
    return el("a", { class: "source-link", href: linkTo.file(line.path, line.number), title: place, text: place });
  }
  return line.sources ? el("span", { class: "muted", text: t("line.by_hand") }) : null;
}

/** Trust, how sure, whether it holds, and the link to where it was said. */
export function provenance(line) {
  return el(
    "span",
    { class: "provenance", data: { test: "provenance" } },
    trustBadge(line.trust),
    typeof line.confidence === "number"
      ? el("span", { class: "muted", text: t("line.sure", { share: percent(line.confidence) }) })
      : null,
    stateBadge(line),
    sourceLink(line),
  );
}
