// Drawing anew without taking anything out of somebody's hands.
//
// Whatever can be opened or focused names itself with data-key, and is opened and focused again
// under that name. Proved by tests/server/test_console_memory.py and test_console_sessions.py.

const keyOf = (node) => node?.closest?.("[data-key]")?.dataset.key ?? null;

/** Runs `draw`, which may replace everything inside `node`. */
export function keeping(node, draw) {
  const opened = new Set(
    [...node.querySelectorAll('[data-key][aria-expanded="true"], details[data-key][open]')].map(keyOf),
  );
  const held = document.activeElement;
  const focused = node.contains(held) ? keyOf(held) : null;
  draw();
  for (const each of node.querySelectorAll("[data-key]")) {
    if (!opened.has(each.dataset.key)) continue;
    if (each.tagName === "DETAILS") each.open = true;
    else if (each.getAttribute("aria-expanded") === "false") each.click();
  }
  if (focused === null || held.isConnected) return;
  const again = [...node.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused);
  (again?.matches("details") ? again.querySelector("summary") : again)?.focus({ preventScroll: true });
}

/** Puts these nodes into `parent`, in this order; those that stay are not moved. */
export function place(parent, nodes) {
  const wanted = new Set(nodes);
  for (const each of [...parent.childNodes]) if (!wanted.has(each)) each.remove();
  nodes.forEach((each, at) => {
    if (parent.childNodes[at] !== each) parent.insertBefore(each, parent.childNodes[at] ?? null);
  });
}

/** Of several questions that are under way, only the newest may draw: `const isNewest = begin();` */
export function latest() {
  let turn = 0;
  return () => {
    turn += 1;
    const mine = turn;
    return () => mine === turn;
  };
}
