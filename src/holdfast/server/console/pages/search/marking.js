// The words of a query where they stand in a text, as text nodes and <mark>: never as HTML.
// Latin words match by their beginning ("ship" in "ships"), Chinese, Japanese and Korean by runs
// of at least two signs. Linear in the text. Proved by tests/server/test_console_search.py.
import { el } from "../../dom.js";

const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}_'’]*/gu;
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const ENDINGS = /(?:ing|ied|ies|ed|es|s|['’]s)$/;
const LITTLE = new Set(
  "a an and are as at be been by can could did do does for from had has have how i in is it its me my of on or our so that the their them then there they this to was we were what when where which who whom why will with would you your".split(" "),
);
const MOST = 64; // terms

function stem(word) {
  const short = word.length > 4 ? word.replace(ENDINGS, "") : word;
  return short.length >= 3 ? short : word;
}

/** What to look for: beginnings of words, and pairs of signs. */
function sought(query) {
  const words = new Set();
  const pairs = new Set();
  for (const [found] of query.toLowerCase().matchAll(WORD)) {
    if (words.size + pairs.size >= MOST) break;
    const signs = [...found];
    if (!signs.some((sign) => CJK.test(sign))) {
      if (!LITTLE.has(found)) words.add(stem(found));
      continue;
    }
    const only = signs.filter((sign) => CJK.test(sign));
    const latin = found.split(CJK).filter((each) => each.length > 1);
    for (const each of latin) words.add(stem(each));
    if (only.length === 1) pairs.add(only[0]);
    for (let at = 0; at + 1 < signs.length; at += 1) {
      if (CJK.test(signs[at]) && CJK.test(signs[at + 1])) pairs.add(signs[at] + signs[at + 1]);
    }
  }
  return { words: [...words], pairs };
}

function spansOf(text, query) {
  const { words, pairs } = sought(query);
  const spans = [];
  if (!words.length && !pairs.size) return spans;
  const lower = text.toLowerCase();
  if (lower.length !== text.length) return spans; // a letter that changes its length: no marks
  for (const found of lower.matchAll(WORD)) {
    const word = found[0];
    if (CJK.test(word)) {
      let at = found.index;
      const signs = [...word];
      signs.forEach((sign, nth) => {
        const next = signs[nth + 1] ?? "";
        if (pairs.has(sign)) spans.push([at, at + sign.length]);
        if (next && pairs.has(sign + next)) spans.push([at, at + sign.length + next.length]);
        at += sign.length;
      });
      let from = found.index;
      for (const part of word.split(CJK)) {
        if (part.length > 1 && words.some((each) => part.startsWith(each))) spans.push([from, from + part.length]);
        from += part.length + 1;
      }
    } else if (words.some((each) => matches(word, each))) spans.push([found.index, found.index + word.length]);
  }
  return spans;
}

// "ship" marks "ships" and "shipping", not "shipwreckers".
function matches(word, begins) {
  return word.startsWith(begins) && word.length - begins.length <= Math.max(3, Math.floor(begins.length / 2));
}

/** Nodes for `text`, the words of `query` marked. */
export function marked(text, query) {
  const spans = spansOf(text, query).sort((one, other) => one[0] - other[0]);
  const nodes = [];
  let at = 0;
  let open = null;
  const close = () => {
    if (!open) return;
    nodes.push(text.slice(at, open[0]), el("mark", { text: text.slice(open[0], open[1]) }));
    at = open[1];
    open = null;
  };
  for (const span of spans) {
    if (open && span[0] <= open[1]) open[1] = Math.max(open[1], span[1]);
    else {
      close();
      open = [...span];
    }
  }
  close();
  nodes.push(text.slice(at));
  return nodes.filter((each) => each !== "");
}
