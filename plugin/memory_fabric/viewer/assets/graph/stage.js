// The frame around the graph: the legend, the number of drawn elements, and messages.

let legendOpen;

function graphFrame() {
  const button = (id, text, label, f) =>
    el("button", { type: "button", id, title: label, "aria-label": label, on: { click: f } }, text);
  return el(
    "div",
    { class: "graph" },
    el(
      "div",
      { class: "stage", id: "stage" },
      el("div", {
        id: "canvas",
        class: "canvas",
        role: "img",
        tabindex: "0",
      }),
      el("div", { id: "graph-list", class: "graph-list", hidden: true }),
      el("div", { class: "legend", id: "legend" }),
      el(
        "div",
        { class: "zooms", role: "group", "aria-label": "Zoom" },
        button("zoom-in", "+", "Zoom in (+)", () => zoomBy(1.5)),
        button("zoom-out", "\u2212", "Zoom out (-)", () => zoomBy(1 / 1.5)),
        button("fit", "\u2922", "Fit everything (0)", () => fitScene(true)),
        button("as-list", "\u2630", "As a list (l)", () => toggleDisplay("list")),
      ),
      el("p", { class: "drawn", id: "drawn" }),
      el("div", { id: "stage-note", hidden: true }),
    ),
    el("aside", { class: "panel", id: "panel", "aria-label": "What is selected" }),
  );
}

function sayDrawn() {
  const { spots, all, records, shown: drawable } = graph.drawn;
  const isFocus = graph.scene.kind === "focus";
  const more =
    drawable < all
      ? " \u00b7 zoom in for more"
      : spots.length < drawable
        ? " \u00b7 the rest is outside the view"
        : "";
  const whole = isFocus ? graph.scene.found : all;
  const text = `${amountsDrawn(spots, whole, records)} drawn${more}`;
  const line = graph.box.querySelector("#drawn");
  if (line.textContent !== text) line.textContent = text;
}

/** "20 of 20 entities and 9 of 9 records"; of what was cut from a focus only the sum is known. */
function amountsDrawn(spots, whole, allRecords) {
  const records = spots.filter((s) => memory.nodes[s.i].record).length;
  const allEntities = whole - allRecords;
  const of = (n, all, word) => `${n.toLocaleString("en")} of ${word(all)}`;
  const entities = of(spots.length - records, allEntities, (n) => many(n, "entity", "entities"));
  if (!allRecords) return entities;
  return `${entities} and ${of(records, allRecords, (n) => many(n, "record"))}`;
}

function showLegend() {
  const spots = graph.scene.spots.map((s) => memory.nodes[s.i]);
  const passes = (node) => kept.entity[node.i] || filters.type.size || filters.record.size;
  const shownOnes = spots.filter(passes);
  const types = counted(shownOnes.filter((n) => !n.record).map((n) => n.type || "unknown"));
  const kinds = counted(shownOnes.filter((n) => n.record).map((n) => n.type));
  const alone = graph.scene.spots.filter((s) => s.alone && kept.entity[s.i]).length;
  const { groups } = graph.scene;
  describeCanvas(groups);
  keepingFocus(() =>
    fill(
      graph.box.querySelector("#legend"),
      el(
        "details",
        { open: legendOpen ?? innerWidth > 700, on: { toggle: noteLegend } },
        el("summary", {}, "Legend and filters"),
        types.length > 0 && legendGroup("Entities", "type", types.slice(0, 14), mark),
        graph.scene.kind === "overview" || kinds.length
          ? legendGroup("Records", "record", kinds.slice(0, 11), cardMark, recordsSwitch())
          : null,
        alone > 0 && aloneSwitch(alone),
        signs(),
      ),
    ),
  );
}

function noteLegend(event) {
  legendOpen = event.target.open;
}

/** Types with their numbers, as buttons that filter. */
function legendGroup(title, key, counts, markOf, before = null) {
  const button = ([value, count]) =>
    el(
      "button",
      {
        type: "button",
        class: "choice",
        id: `legend-${key}-${value}`,
        [`data-${key}`]: value,
        "aria-pressed": String(filters[key].has(value)),
        on: { click: () => keepingFocus(() => applyFilters(toggled(key, value))) },
      },
      markOf(value),
      short(WORDS[value] ?? value, 24),
      quiet(` ${count.toLocaleString("en")}`),
    );
  return el(
    "div",
    { class: "legend-group", role: "group", "aria-label": `${title}: press to show only these` },
    before ?? el("span", { class: "legend-title" }, title),
    counts.map(button),
  );
}

function recordsSwitch() {
  const pressed = graph.shows.records;
  return displaySwitch("records", pressed, pressed ? "Records" : "Show records");
}

function aloneSwitch(count) {
  const text = graph.shows.alone
    ? `Hide ${count.toLocaleString("en")} without connections`
    : `Show ${count.toLocaleString("en")} without connections`;
  return el("div", { class: "legend-group" }, displaySwitch("alone", graph.shows.alone, text));
}

function displaySwitch(part, pressed, text) {
  const attributes = { type: "button", class: "switch", id: `show-${part}` };
  const click = () => toggleDisplay(part);
  return el(
    "button",
    { ...attributes, "aria-pressed": String(pressed), on: { click } },
    el("span", { class: "tick", "aria-hidden": "true" }),
    text,
  );
}

function signs() {
  return el(
    "p",
    { class: "signs" },
    sign("u"),
    "you said it ",
    sign("a"),
    "the assistant ",
    sign("h"),
    "others ",
    sign("s"),
    "stale",
  );
}

/** The small card that stands before a kind of record. */
function cardMark(type) {
  const points = CARD.map(([x, y]) => `${x * 4.6},${y * 4.6}`).join(" ");
  const form = svg("polygon", { points });
  const drawing = svg("svg", { viewBox: "-7 -7 14 14", class: "mark", "aria-hidden": "true" }, form);
  drawing.style.setProperty("fill", `var(${look(type).colour})`);
  return drawing;
}

/** Tell what the drawing holds to those who do not see it, and where to read it. */
function describeCanvas(groups) {
  const canvas = graph.box.querySelector("#canvas");
  const what = graph.scene.kind === "focus" ? "A neighbourhood" : many(groups.length, "group");
  const how = "Press l for the same as a list; arrow keys move it, or the selection.";
  canvas.setAttribute("aria-label", `Drawing of the graph: ${what}. ${how}`);
}

function sign(kind) {
  return el("span", { class: `sign sign-${kind}`, "aria-hidden": "true" });
}

function showStageNote() {
  const note = graph.box.querySelector("#stage-note");
  note.hidden = graph.scene.spots.some((s) => isDrawn(graph.scene, s));
  if (!note.hidden) fill(note, nothingLeft("entities"));
}

function showEmptyGraph() {
  graph.box.classList.add("empty");
  fill(graph.box.querySelector("#panel"), emptyMemory());
  ready();
}
