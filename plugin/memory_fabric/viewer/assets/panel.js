// The panel next to the graph: an overview, or the selected entity.

const MOST_NEAR = 40;
const MOST_SAID = 4;
const MOST_RECORDS_NEAR = 5;
const MOST_NEWEST = 4;
const MOST_BEST = 5;

function showPanel(entity, steps) {
  const shownEntity = graph.state.selected >= 0 ? memory.nodes[graph.state.selected] : entity;
  fill(
    byId("panel") ?? graph.box.querySelector("#panel"),
    shownEntity?.record
      ? recordPanel(shownEntity, steps)
      : shownEntity
        ? entityPanel(shownEntity, steps)
        : glance(),
  );
}

/** The first thing that a person sees: what is remembered, what is newest, what needs a look. */
function glance() {
  const standing = kept.records.filter((r) => !isOver(r));
  const project = memory.project && ` of ${short(memory.project, 60)}`;
  return el(
    "div",
    { class: "glance" },
    el("h1", {}, `What is remembered${project}`),
    figures(standing),
    healthLine(),
    newestRecords(standing),
    bestKnown(),
    staleLine(standing),
    leftOutLine(),
  );
}

function figures(standing) {
  const relations = memory.relations.filter((r) => kept.entity[r.from] && kept.entity[r.to]);
  return el(
    "p",
    { class: "figures" },
    figure(kept.entities.length, "entity", "entities", hashOf("search")),
    figure(relations.length, "relation", "relations", null),
    figure(standing.length, "record holds", "records hold", hashOf("timeline")),
  );
}

function newestRecords(standing) {
  const telling = standing.filter((r) => r.type !== "session" && r.type !== "note");
  if (!telling.length) return null;
  const list = telling.slice(0, MOST_NEWEST).map(glanceRecord);
  return [el("h2", {}, "Newest"), el("ul", { class: "plain-list" }, list)];
}

function bestKnown() {
  const best = memory.byImportance.map((i) => memory.entities[i]).filter((e) => kept.entity[e.i]);
  const others = best.filter((e) => e.name !== memory.project).slice(0, MOST_BEST);
  if (!others.length) return null;
  const list = others.map((e) => el("li", {}, graphLink(e)));
  return [el("h2", {}, "Best known"), el("ul", { class: "tags" }, list)];
}

function staleLine(standing) {
  const stale = [...kept.entities, ...standing].filter((x) => x.stale).length;
  if (!stale) return null;
  const view = standing.some((r) => r.stale) ? "timeline" : "graph";
  const href = hashOf(view, "", { age: "stale" });
  const link = el("a", { href }, `${many(stale, "memory", "memories")} old for their kind`);
  return el("p", { class: "quiet" }, link, " may want a second look.");
}

function figure(number, one, several, href) {
  const words = [
    el("strong", {}, number.toLocaleString("en")),
    " " + (number === 1 ? one : several),
  ];
  return href ? el("a", { class: "figure", href }, words) : el("span", { class: "figure" }, words);
}

/** The state of the tiers and the last word, after other words where they are given. */
function healthLine(...before) {
  if (!memory.tiers.length) return before.length ? el("p", { class: "health" }, before[0]) : null;
  const bad = memory.tiers.filter((t) => t.state !== "healthy");
  const last = memory.records[0]?.at ?? memory.changes[0]?.at ?? "";
  return el(
    "p",
    { class: "health" },
    before,
    el(
      "a",
      { href: hashOf("status") },
      stateMark(bad.find((t) => t.state === "unavailable")?.state ?? bad[0]?.state ?? "healthy"),
      bad.length ? bad.map((t) => `${t.tier} ${t.state}`).join(", ") : "All three tiers healthy",
    ),
    last && el("span", { class: "quiet" }, ` \u00b7 last heard ${ago(last)}`),
  );
}

function glanceRecord(record) {
  return el(
    "li",
    {},
    typeLabel(record.type),
    " ",
    recordLink(record, inline(short(record.worded, 500))),
    el("span", { class: "quiet" }, ` ${ago(record.at)}`),
  );
}

/** A link that selects an entity in the graph. */
function graphLink(entity) {
  return el(
    "a",
    { class: "entity", dir: "auto", href: hashOf("graph", keyOf(entity)) },
    mark(entity.type),
    short(entity.name, 60) || "(no name)",
  );
}

/** The entity that is selected: enough to know whether to look further. */
function entityPanel(entity, steps) {
  const href = hashOf("entity", keyOf(entity));
  const more = entity.observations.length - MOST_SAID;
  return el(
    "div",
    { class: "one" },
    el("p", { class: "over" }, typeLabel(entity.type), staleMark(entity), deselectButton()),
    el("h1", { dir: "auto" }, short(entity.name, 160) || "(no name)"),
    alsoCalled(entity),
    el("p", { class: "quiet small" }, TRUSTS[entity.trust] ?? entity.trust, `, ${ago(entity.at)}`),
    panelActs(entity, steps, href),
    entityActions(entity),
    el(
      "ul",
      { class: "plain-list said" },
      entity.observations.slice(0, MOST_SAID).map(saidShortly),
    ),
    more > 0 && el("p", { class: "quiet" }, el("a", { href }, `and ${more} more`)),
    nearList(entity),
    entity.said.length > 0 && [
      el("h2", {}, "Records"),
      el("ul", { class: "plain-list" }, entity.said.slice(0, MOST_RECORDS_NEAR).map(glanceRecord)),
    ],
  );
}

function saidShortly(observation) {
  return el("li", { dir: "auto" }, inline(short(observation.text, 220)));
}

function alsoCalled(entity) {
  const names = entity.aliases.slice(0, 6).map((alias) => short(alias, 40));
  return names.length ? el("p", { class: "quiet", dir: "auto" }, `also ${names.join(", ")}`) : null;
}

function deselectButton() {
  const click = () => {
    graph.opened = [];
    go(hashOf("graph"));
  };
  const attributes = { type: "button", class: "close", id: "deselect", on: { click } };
  return el("button", { ...attributes, "aria-label": "Back to the overview" }, "\u00d7");
}

/** Open, focus, expand; in a focus also how many steps it reaches. */
function panelActs(entity, steps, href) {
  const focused = graph.scene?.kind === "focus" && graph.scene.of === entity.i;
  const here = (n) => hashOf("graph", nodeKey(entity), { steps: n });
  return el(
    "div",
    { class: "acts" },
    el("a", { class: "plain-button strong", href }, "Open"),
    focused
      ? actButton("focus", "Leave focus", () => go(here(null)), true)
      : actButton("focus", "Focus", () => focusOn(entity.i), false),
    actButton("expand", "Expand", () => expand(entity.i)),
    focused &&
      el(
        "span",
        { class: "steps", role: "group", "aria-label": "Steps around it" },
        STEPS.map((n) => actButton(`steps-${n}`, String(n), () => go(here(n)), n === steps)),
        el("span", { class: "quiet" }, "steps"),
      ),
  );
}

function actButton(id, text, click, pressed) {
  const attributes = { type: "button", id, class: "plain-button", on: { click } };
  const state = pressed === undefined ? {} : { "aria-pressed": String(pressed) };
  return el("button", { ...attributes, ...state }, text);
}

/** The neighbours as links: the same as the drawing, for those who read or listen. */
function nearList(entity) {
  const near = ends(entity);
  if (!near.length) return el("p", { class: "quiet" }, "Nothing is connected with it yet.");
  return [
    el("h2", {}, `Connected with ${near.length.toLocaleString("en")}`),
    el(
      "ul",
      { class: "plain-list near", id: "near" },
      near
        .slice(0, MOST_NEAR)
        .map(({ r, other, out }) =>
          el(
            "li",
            {},
            el("span", { class: "relation" }, out ? `${verb(r)} ` : ""),
            graphLink(other),
            el("span", { class: "relation" }, out ? "" : ` ${verb(r)} it`),
          ),
        ),
    ),
    near.length > MOST_NEAR &&
      el(
        "p",
        { class: "quiet" },
        el(
          "a",
          { href: hashOf("entity", keyOf(entity)) },
          `and ${(near.length - MOST_NEAR).toLocaleString("en")} more`,
        ),
      ),
  ];
}

/** The relations of an entity with their other ends: those from it first, the best known first. */
function ends(entity) {
  const known = (a, b) => b.other.weight - a.other.weight;
  return [
    ...entity.out.map((r) => ({ r, other: memory.entities[r.to], out: true })).sort(known),
    ...entity.into.map((r) => ({ r, other: memory.entities[r.from], out: false })).sort(known),
  ];
}

function verb(relation) {
  return short(relation.type, 40).replaceAll("_", " ");
}

function staleMark(x) {
  return x.stale
    ? el(
        "span",
        { class: "stale", title: "Old for its kind; look whether it still holds" },
        svg(
          "svg",
          { viewBox: "0 0 16 16", "aria-hidden": "true" },
          svg("circle", { cx: "8", cy: "8", r: "6" }),
          svg("path", { d: "M8 4.5V8l2.5 1.5" }),
        ),
        ` ${x.days ?? "many"} days old`,
      )
    : null;
}

function leftOutLine() {
  const left = Object.entries(memory.leftOut).filter(([, n]) => n > 0);
  if (!left.length) return null;
  const text = `Left out of this picture, to keep it quick: ${amounts(left)}.`;
  return el("p", { class: "quiet left-out" }, text);
}

/** Shown where there are records, and none of them stands or names an entity. */
function nothingDrawn() {
  const project = memory.project && ` of ${short(memory.project, 60)}`;
  const timeline = el("a", { href: hashOf("timeline") }, "timeline");
  return el(
    "div",
    { class: "nothing" },
    el("h1", {}, "Nothing stands now"),
    p("", `${many(memory.records.length, "record")}${project} tell of the past: replaced, over, or of a session. `),
    p("", "They are in the ", timeline, "."),
  );
}

/** Shown where nothing is remembered: that it is so, and what to do. */
function emptyMemory() {
  if (memory.records.length) return nothingDrawn();
  const known = memory.entities.length;
  const project = memory.project && ` of ${short(memory.project, 60)}`;
  const ways = [
    ["Just work: what you decide, prefer and find out in a session is noted at its end.", ""],
    ["Say it: \u201cremember that we use PostgreSQL because \u2026\u201d, or in a shell", 'memory-fabric remember "We use PostgreSQL because \u2026"'],
    ["Read in the past sessions that your clients still have", "memory-fabric learn"],
    ["Bring in notes from elsewhere", "memory-fabric import FILE"],
  ];
  return el(
    "div",
    { class: "nothing welcome" },
    el("h1", {}, known ? `No records${project} yet` : `Nothing is remembered${project} yet`),
    known > 0 &&
      el("p", {}, el("a", { href: hashOf("graph") }, many(known, "entity", "entities")), " are in the graph."),
    el("p", {}, "Decisions, rules and fixes with their reasons will stand here, newest first. To begin:"),
    el("ul", { class: "ways" }, ways.map(([text, code]) => el("li", {}, text, code && el("code", {}, code)))),
    healthLine(),
  );
}
