// Numbers, times and addresses, as people read them, in the language of the page.

import { locale, t } from "./words.js";

/** 845, 12,345, 1.2M: whole up to six digits, unless a short form is asked for. */
export function tokens(n, { short = false } = {}) {
  if (n === null || n === undefined) return "–";
  if (short && n >= 10000) {
    const format = { notation: "compact", maximumFractionDigits: 1 };
    return new Intl.NumberFormat("en-US", format).format(n).replace("K", "k");
  }
  return Math.round(n).toLocaleString(locale());
}

const STEPS = [
  ["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60],
];

/** {text: "3 minutes ago", title: the exact time}. */
export function when(iso, now = Date.now()) {
  if (!iso) return { text: "–", title: "" };
  const then = new Date(iso);
  if (Number.isNaN(then.getTime())) return { text: String(iso), title: String(iso) };
  const seconds = (then.getTime() - now) / 1000;
  const title = then.toLocaleString(locale(), { dateStyle: "medium", timeStyle: "medium" });
  const step = STEPS.find(([, size]) => Math.abs(seconds) >= size);
  if (!step) return { text: t("time.now"), title };
  const ago = new Intl.RelativeTimeFormat(locale(), { numeric: "auto", style: "long" });
  return { text: ago.format(Math.round(seconds / step[1]), step[0]), title };
}

/** 14:05, or with the day when it is another one. */
export function clock(iso) {
  const then = new Date(iso);
  if (Number.isNaN(then.getTime())) return String(iso ?? "");
  const today = new Date().toDateString() === then.toDateString();
  const day = today ? {} : { month: "short", day: "numeric" };
  return then.toLocaleString(locale(), { ...day, hour: "2-digit", minute: "2-digit", hour12: false });
}

export function bytes(n) {
  if (n === null || n === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  let size = n;
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000;
    at += 1;
  }
  return `${size.toLocaleString(locale(), { maximumFractionDigits: at ? 1 : 0 })} ${units[at]}`;
}

export function money(x) {
  if (x === null || x === undefined) return "–";
  const digits = x !== 0 && Math.abs(x) < 0.1 ? 4 : 2;
  return `$${x.toLocaleString(locale(), { minimumFractionDigits: 2, maximumFractionDigits: digits })}`;
}

export function percent(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const most = x > 0 && x < 0.01 ? 1 : 0;
  return x.toLocaleString(locale(), { style: "percent", maximumFractionDigits: most });
}

const at = (page, name, query) => {
  const pairs = Object.entries(query || {}).filter(([, v]) => v !== null && v !== undefined && v !== "");
  const search = new URLSearchParams(pairs).toString();
  const path = name ? `/${encodeURIComponent(name)}` : "";
  return `#/${page}${path}${search ? `?${search}` : ""}`;
};

/** Addresses inside the console. */
export const linkTo = {
  chat: (name) => at("chat", name),
  file: (path, line) => at("memory", path, { line }),
  session: (name, seq) => at("sessions", name, { seq }),
  entry: (name, entry) => at("sessions", name, { entry }),
  search: (q) => at("search", "", { q }),
  /** `path#L10-L14` is in a file, `session#entry` in a transcript. */
  citation(citation) {
    const cut = String(citation).lastIndexOf("#");
    if (cut < 0) return /\.md$/.test(citation) ? at("memory", citation) : at("sessions", citation);
    const source = citation.slice(0, cut);
    const where = citation.slice(cut + 1);
    const lines = /^L(\d+)(?:-L?(\d+))?$/.exec(where);
    if (lines) return at("memory", source, { line: lines[1] });
    return at("sessions", source, { entry: where });
  },
};
