// What the project knows, on one page that can be printed: what holds, by kind, newest first.

const CHAPTERS = [
  ["decisions", "Decisions", ["decision"]],
  ["rules", "Rules", ["constraint"]],
  ["preferences", "Preferences", ["preference"]],
  ["facts", "Facts", ["note", "pattern"]],
  ["fixes", "Fixes", ["solution"]],
  ["failed", "What failed", ["antipattern"]],
  ["open", "Open points", ["question", "blocker", "problem"]],
];
// So many rows of each chapter are there at once; the others follow, a few at a time, so that the
// page can be used meanwhile. A list without all of its rows has the height that they will take.
const FIRST_ROWS = 40;
const ROWS_AT_ONCE = 200;
const BETWEEN_MS = 40;
const ROW_REM = 5;
const toCome = { lists: [], timer: 0 };

function showKnowledge(place) {
  toCome.lists = [];
  const standing = kept.records.filter((r) => !isOver(r) && r.type !== "session");
  const chapters = chaptersOf(standing);
  const project = short(memory.project, 60) || "this memory";
  const count = `${many(standing.length, "memory", "memories")} ${standing.length === 1 ? "holds" : "hold"}`;
  fill(
    byId("main"),
    el(
      "article",
      { class: "column knowledge" },
      el("div", { class: "card-end" }, el("h1", {}, `What ${project} knows`), printButton(standing)),
      p("quiet", `${count} on ${day(new Date(memory.made).toISOString())}.`),
      standing.length > 0 && contentsOf(chapters),
      chapters.map(chapterOf),
      !standing.length && (kept.records.length < memory.records.length ? nothingLeft("records") : emptyMemory()),
    ),
  );
  ready();
  if (place.name) byId(`chapter-${place.name}`)?.scrollIntoView();
  clearTimeout(toCome.timer);
  toCome.timer = setTimeout(writeOn, BETWEEN_MS);
}

function writeOn() {
  writeRows(ROWS_AT_ONCE);
  if (toCome.lists.length) toCome.timer = setTimeout(writeOn, BETWEEN_MS);
}

/** Write the next rows that are to come, at most so many; none into a view that has gone. */
function writeRows(most) {
  toCome.lists = toCome.lists.filter(({ list }) => list.isConnected);
  while (most > 0 && toCome.lists.length) {
    const { list, records } = toCome.lists[0];
    const some = records.splice(0, most);
    list.append(...some.map(knownRow));
    most -= some.length;
    if (records.length) continue;
    list.style.removeProperty("min-height");
    toCome.lists.shift();
  }
}

addEventListener("beforeprint", () => writeRows(Infinity));

/** The records of each chapter that has some; other kinds stand in the last. */
function chaptersOf(records) {
  const named = new Set(CHAPTERS.flatMap(([, , types]) => types));
  const others = records.filter((r) => !named.has(r.type));
  const chapters = CHAPTERS.map(([key, title, types]) => ({
    ...{ key, title },
    records: records.filter((r) => types.includes(r.type)),
  }));
  return [...chapters, { key: "others", title: "Others", records: others }].filter(
    ({ records: some }) => some.length,
  );
}

function contentsOf(chapters) {
  const link = ({ key, title, records }) =>
    el("a", { href: hashOf("knowledge", key) }, title, quiet(` ${records.length.toLocaleString("en")}`));
  return el("nav", { class: "contents", "aria-label": "Chapters" }, chapters.map(link));
}

function printButton(records) {
  const attributes = { type: "button", class: "plain-button", id: "print" };
  return records.length > 0 && el("button", { ...attributes, on: { click: () => print() } }, "Print");
}

function chapterOf({ key, title, records }) {
  const list = el("ul", { class: "known" }, records.slice(0, FIRST_ROWS).map(knownRow));
  if (records.length > FIRST_ROWS) {
    list.style.minHeight = `${records.length * ROW_REM}rem`;
    toCome.lists.push({ list, records: records.slice(FIRST_ROWS) });
  }
  return el(
    "section",
    { "aria-labelledby": `chapter-${key}` },
    el("h2", { id: `chapter-${key}` }, title),
    list,
  );
}

function knownRow(record) {
  const said = speakerOf(record).replace(/^(said|reported) by /, "");
  const who = (record.trust === "user" && short(record.author, 40)) || said;
  const why = reasonOf(record);
  return el(
    "li",
    {},
    el(
      "div",
      { class: "words", dir: "auto" },
      prose(record.worded),
      why && told("why", quiet(leadOf(why)), inline(why)),
    ),
    el(
      "p",
      { class: "foot" },
      el("a", { href: hashOf("timeline", record.short_id), "data-row": true }, day(record.at)),
      el("span", {}, who),
    ),
  );
}
