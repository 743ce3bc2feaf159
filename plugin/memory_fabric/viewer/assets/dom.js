// DOM elements and texts. Text from memory reaches the page as text nodes, never as markup.

// What a reader cannot see, or what would turn the text around it: controls, bidirectional marks,
// zero-width spaces, halves of surrogate pairs. The joiner of emoji (U+200D) stays.
const UNSEEN =
  /[\p{Cc}\p{Cs}\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/gu;
const LONGEST_NAME = 200;

/** The text with visible marks in the place of what could not be seen; lines and tabs stay. */
function shown(text) {
  return String(text ?? "").replace(UNSEEN, (found) => {
    if (found === "\n" || found === "\t") return found;
    const code = found.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `\u27E8${code.toString(16).toUpperCase().padStart(4, "0")}\u27E9`;
  });
}

/** A name on one line, cut by whole characters. */
function short(text, most = LONGEST_NAME) {
  const start = String(text ?? "").slice(0, most * 4);
  const letters = Array.from(shown(start).replace(/\s+/g, " "));
  return letters.length > most ? letters.slice(0, most - 1).join("") + "\u2026" : letters.join("");
}

/** A table without what objects inherit: a name from memory finds only what was written here. */
function table(rows) {
  return Object.assign(Object.create(null), rows);
}

/** An element. `on` holds listeners, `style` properties; texts among children are shown(). */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on")
      for (const [type, f] of Object.entries(value)) node.addEventListener(type, f);
    else if (name === "style")
      for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else node.setAttribute(name, value === true ? "" : value);
  }
  return fill(node, ...children);
}

/** A paragraph of a class. */
function p(kind, ...children) {
  return el("p", { class: kind }, ...children);
}

/** A paragraph that somebody said, in whichever direction its language is written. */
function told(kind, ...children) {
  return el("p", { class: kind, dir: "auto" }, ...children);
}

function quiet(...children) {
  return el("span", { class: "quiet" }, ...children);
}

/** The node with these children in the place of those it had. */
function fill(node, ...children) {
  node.replaceChildren(
    ...children
      .flat(3)
      .filter((c) => c !== null && c !== undefined && c !== false && c !== "")
      .map((child) => (child instanceof Node ? child : document.createTextNode(shown(child)))),
  );
  return node;
}

/** A piece of SVG. */
function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function byId(id) {
  return document.getElementById(id);
}

/** Tell those who listen instead of look. */
function announce(text) {
  byId("said").textContent = shown(text);
}

/** "1 entity", "2 entities", "1,200 records". */
function many(number, one, several = one + "s") {
  return `${number.toLocaleString("en")} ${number === 1 ? one : several}`;
}

/** Text with each of the words in it marked. */
function marked(text, words) {
  const wanted = words
    .filter((word) => word.length > 1)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return [text];
  return String(text)
    .split(new RegExp(`(${wanted.join("|")})`, "giu"))
    .map((part, i) => (i % 2 ? el("mark", {}, part) : part));
}
