// What the project knows, on one page that can be printed: what holds, by kind, newest first.

const CHAPTERS = [
  ["decisions", "Decisions", ["decision"]],
  ["rules", "Rules", ["constraint", "antipattern"]],
  ["preferences", "Preferences", ["preference"]],
  ["facts", "Facts", ["note", "pattern"]],
  ["fixes", "Fixes", ["solution"]],
  ["open", "Open points", ["question", "blocker", "problem"]],
];

function showKnowledge(place) {
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
}

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
  return el(
    "section",
    { "aria-labelledby": `chapter-${key}` },
    el("h2", { id: `chapter-${key}` }, title),
    el("ul", { class: "known" }, records.map(knownRow)),
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
