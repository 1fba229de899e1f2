// Elements without markup: text is text, attributes are listed, nothing is parsed but the one
// kind of HTML the server has made safe. Everything on these pages is untrusted: memories, names,
// messages, results of tools.
//
// Promise: no value that reaches `el` becomes a handler, a style, or an address elsewhere; there
// is one place where HTML is parsed, `setHtml`, and it takes `html` fields of answers only
// (tests/server/test_console_files.py).

import { ICONS } from "./icons.js";

const SVG = "http://www.w3.org/2000/svg";
const AS_PROPERTY = new Set(["value", "checked", "selected", "indeterminate"]);
const ADDRESSES = new Set(["href", "src", "action", "formaction", "xlink:href", "srcset", "poster"]);

const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("holdfast", { createHTML: (html) => html })
  : { createHTML: (html) => html };

/** An element. props: class, text, on: {event: fn}, data: {}, aria: {}, else attributes. */
export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) set(node, name, value);
  append(node, children);
  return node;
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "text") node.append(String(value));
  else if (name === "class") node.setAttribute("class", value);
  else if (name === "on") {
    for (const [event, fn] of Object.entries(value)) if (fn) node.addEventListener(event, fn);
  } else if (name === "data") {
    for (const [key, each] of Object.entries(value)) {
      if (each !== null && each !== undefined) node.setAttribute(`data-${key}`, String(each));
    }
  } else if (name === "aria") {
    for (const [key, each] of Object.entries(value)) {
      if (each !== null && each !== undefined) node.setAttribute(`aria-${key}`, String(each));
    }
  } else if (/^on/i.test(name) || /^(style|srcdoc)$/i.test(name)) {
    throw new Error(`el: ${name} is not an attribute of ours`);
  } else if (ADDRESSES.has(name.toLowerCase()) && !/^(#|\/(?![\/\\]))/.test(String(value))) {
    throw new Error("el: an address must be on this page or this server");
  } else if (AS_PROPERTY.has(name)) node[name] = value;
  else node.setAttribute(name, value === true ? "" : String(value));
}

function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child instanceof Node ? child : String(child));
  }
}

/** Take everything out, and put these in. */
export function clear(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** What the server has rendered and sanitised: an `html` field, nothing else. */
export function setHtml(node, safeHtml) {
  node.innerHTML = policy.createHTML(safeHtml || "");
  return node;
}

/** One of icons.js, drawn with the colour of the text; hidden from screen readers. */
export function icon(name) {
  const node = svg("svg", {
    class: "icon", viewBox: "0 0 24 24", width: "18", height: "18", fill: "none",
    stroke: "currentColor", "stroke-width": "1.75", "stroke-linecap": "round",
    "stroke-linejoin": "round", aria: { hidden: "true" }, focusable: "false",
  });
  for (const d of ICONS[name] || ICONS.dot) node.append(svg("path", { d }));
  return node;
}
