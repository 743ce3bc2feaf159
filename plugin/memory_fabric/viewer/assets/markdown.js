// Markdown of a record as elements. A text becomes text nodes and these few elements, never markup;
// links stay words with their address behind them, so that nothing leads where it does not say.

// Of spans the length is bounded: a text of many marks costs no more than its length.
const INLINE = new RegExp(
  [
    /(?<tick>`{1,3})(?<code>[^`\n]{1,400})\k<tick>/,
    /(?<![\w/*])\*\*(?<strong>[^\s*](?:[^*\n]{0,400}[^\s*])?)\*\*(?![\w/*])/,
    /(?<![\w/*])\*(?<em>[^\s*](?:[^*\n]{0,400}[^\s*])?)\*(?![\w/*])/,
    /!?\[(?<label>[^[\]\n]{1,200})\]\((?<address>[^\s()]{1,500})\)/,
  ]
    .map((part) => part.source)
    .join("|"),
  "gu",
);
// What comes behind so many spans of a line is shown as it is.
const MOST_SPANS = 400;
const FENCE = /^\s{0,3}(?:```|~~~)/;
const HEADING = /^#{1,6}\s+(\S.*)$/;
const QUOTED = /^\s{0,3}>(?![\s=]*\d)\s?/; // not "> 90 %"
const BULLET = /^(\s*)[-*+]\s+(\S.*)$/;
const NUMBER = /^(\s*)\d{1,3}[.)]\s+(\S.*)$/;

/** The spans of Markdown in a text as nodes, with these words marked. */
function inline(text, words = []) {
  const made = [];
  let from = 0;
  for (const found of String(text ?? "").matchAll(INLINE)) {
    made.push(...marked(text.slice(from, found.index), words), spanOf(found.groups, words));
    from = found.index + found[0].length;
    if (made.length > MOST_SPANS) break;
  }
  return [...made, ...marked(String(text ?? "").slice(from), words)];
}

function spanOf({ code, strong, em, label, address }, words) {
  if (code) return el("code", {}, marked(code, words));
  if (strong) return el("strong", {}, inline(strong, words));
  if (em) return el("em", {}, marked(em, words));
  return el("span", {}, inline(label, words), quiet(` (${address})`));
}

/** The blocks of Markdown in a text as nodes; of a text of one paragraph only its spans. */
function prose(text, words = []) {
  const lines = String(text ?? "").split("\n");
  const blocks = [];
  while (lines.length) {
    const take = FENCE.test(lines[0])
      ? fenced
      : BULLET.test(lines[0]) || NUMBER.test(lines[0])
        ? listed
        : paragraph;
    blocks.push(take(lines, words));
  }
  const made = blocks.filter(Boolean);
  return made.length === 1 && made[0].tagName === "P" ? [...made[0].childNodes] : made;
}

function fenced(lines) {
  lines.shift();
  const end = lines.findIndex((line) => FENCE.test(line));
  const inside = lines.splice(0, end < 0 ? lines.length : end);
  lines.shift();
  return el("pre", {}, el("code", {}, inside.join("\n")));
}

/** Items of one kind, numbered as the first one is; what is indented below an item goes on with it. */
function listed(lines, words) {
  const kind = BULLET.test(lines[0]) ? BULLET : NUMBER;
  const start = kind === NUMBER && parseInt(lines[0], 10);
  const items = [];
  while (lines.length) {
    const [, indent, rest] = kind.exec(lines[0]) ?? [];
    if (rest !== undefined) items.push({ deep: indent.length > 1, text: rest });
    else if (/^\s+\S/.test(lines[0]) && !FENCE.test(lines[0])) items.at(-1).text += `\n${lines[0].trim()}`;
    else break;
    lines.shift();
  }
  const item = ({ deep, text }) => el("li", { class: deep && "deep" }, inline(text, words));
  return el(kind === BULLET ? "ul" : "ol", { start }, items.map(item));
}

/** The lines up to an empty one or another block; a heading is a line in bold. */
function paragraph(lines, words) {
  const mine = [lines.shift()];
  const goesOn = (line) => line.trim() && ![FENCE, BULLET, NUMBER, HEADING].some((b) => b.test(line));
  const [, heading] = HEADING.exec(mine[0]) ?? [];
  while (!heading && lines.length && goesOn(lines[0])) mine.push(lines.shift());
  const text = mine.map((line) => line.replace(QUOTED, "")).join("\n");
  if (!text.trim()) return null;
  return el("p", {}, heading ? el("strong", {}, inline(heading, words)) : inline(text, words));
}
