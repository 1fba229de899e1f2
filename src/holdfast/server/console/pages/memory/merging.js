// Two people changed one file: what differs, line by line, and both changes in one text.
// Pure: strings in, strings out. Where both changed the same lines, mine wins and the person sees
// it in the diff before saving. Proved by tests/server/test_console_memory.py.

const TABLE = 4_000_000; // cells; above that the middle is taken as changed as a whole

const linesOf = (text) => text.split("\n");

// Pairs [i, j] of equal lines, in order, as many as there can be.
function matches(one, other) {
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (
    end < one.length - start &&
    end < other.length - start &&
    one[one.length - 1 - end] === other[other.length - 1 - end]
  ) end += 1;
  const pairs = [];
  for (let at = 0; at < start; at += 1) pairs.push([at, at]);
  const a = one.slice(start, one.length - end);
  const b = other.slice(start, other.length - end);
  for (const [i, j] of longest(a, b)) pairs.push([i + start, j + start]);
  for (let at = end; at > 0; at -= 1) pairs.push([one.length - at, other.length - at]);
  return pairs;
}

function longest(a, b) {
  if (!a.length || !b.length || a.length * b.length > TABLE) return [];
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i * width + j] =
        a[i] === b[j]
          ? table[(i + 1) * width + j + 1] + 1
          : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const pairs = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return pairs;
}

// What was replaced by what: [{from, to, lines}], positions in the base.
function changes(base, next) {
  const found = [];
  let i = 0;
  let j = 0;
  for (const [a, b] of [...matches(base, next), [base.length, next.length]]) {
    if (a > i || b > j) found.push({ from: i, to: a, lines: next.slice(j, b) });
    i = a + 1;
    j = b + 1;
  }
  return found;
}

/** A unified diff of two texts, three lines around every change. */
export function unified(before, after, around = 3) {
  const a = linesOf(before);
  const b = linesOf(after);
  const rows = [];
  let i = 0;
  for (const change of [...changes(a, b), { from: a.length, to: a.length, lines: [] }]) {
    while (i < change.from) rows.push(` ${a[i++]}`);
    while (i < change.to) rows.push(`-${a[i++]}`);
    for (const line of change.lines) rows.push(`+${line}`);
  }
  const near = rows.map((_, at) => {
    for (let k = Math.max(0, at - around); k <= Math.min(rows.length - 1, at + around); k += 1) {
      if (rows[k][0] !== " ") return true;
    }
    return false;
  });
  const out = [];
  let at = 0;
  let left = 1;
  let right = 1;
  while (at < rows.length) {
    if (!near[at]) {
      left += 1;
      right += 1;
      at += 1;
      continue;
    }
    const hunk = [];
    while (at < rows.length && near[at]) hunk.push(rows[at++]);
    const olds = hunk.filter((row) => row[0] !== "+").length;
    const news = hunk.filter((row) => row[0] !== "-").length;
    out.push(`@@ -${left},${olds} +${right},${news} @@`, ...hunk);
    left += olds;
    right += news;
  }
  return out.join("\n");
}

/** Mine on top of theirs: `{text, clashes}`; clashes counts the places where both changed. */
export function merge(base, mine, theirs) {
  const lines = linesOf(base);
  const ours = changes(lines, linesOf(mine)).map((each) => ({ ...each, mine: true }));
  const others = changes(lines, linesOf(theirs)).map((each) => ({ ...each, mine: false }));
  const out = [];
  let at = 0;
  let clashes = 0;
  while (ours.length || others.length) {
    const group = gather(ours, others);
    out.push(...lines.slice(at, group.from));
    at = group.to;
    const { text, clash } = settled(lines, group);
    out.push(...text);
    if (clash) clashes += 1;
  }
  out.push(...lines.slice(at));
  return { text: out.join("\n"), clashes };
}

// The next change, with all changes of either side that reach into it.
function gather(ours, others) {
  const first = next(ours, others);
  const group = { from: first.from, to: first.to, mine: [], theirs: [] };
  (first.mine ? group.mine : group.theirs).push(first);
  for (;;) {
    const queue = [ours, others].find((each) => each.length && touches(each[0], group));
    if (!queue) return group;
    const more = queue.shift();
    group.to = Math.max(group.to, more.to);
    (more.mine ? group.mine : group.theirs).push(more);
  }
}

function next(ours, others) {
  if (!others.length || (ours.length && ours[0].from <= others[0].from)) return ours.shift();
  return others.shift();
}

function touches(change, group) {
  if (change.from < group.to) return true;
  return change.from === group.to && (change.from === change.to || group.from === group.to);
}

function settled(lines, group) {
  if (!group.mine.length) return { text: applied(lines, group, group.theirs), clash: false };
  if (!group.theirs.length) return { text: applied(lines, group, group.mine), clash: false };
  const mine = applied(lines, group, group.mine);
  const theirs = applied(lines, group, group.theirs);
  if (mine.join("\n") === theirs.join("\n")) return { text: mine, clash: false };
  const adds = [...group.mine, ...group.theirs].every((each) => each.from === each.to);
  if (adds) return { text: [...theirs, ...mine], clash: false }; // both only added: both stay
  return { text: mine, clash: true };
}

function applied(lines, group, list) {
  const out = [];
  let at = group.from;
  for (const each of list) {
    out.push(...lines.slice(at, each.from), ...each.lines);
    at = each.to;
  }
  out.push(...lines.slice(at, group.to));
  return out;
}
