// The graph as a list: what hangs together, as links, for those who read or listen.

const MOST_LISTED_GROUPS = 40;
const MOST_LISTED = 60;
const MOST_ENDS = 6;

/** Show the list in the place of the drawing, or the drawing. */
function showList() {
  const box = graph.box.querySelector("#graph-list");
  const { list } = graph.shows;
  box.hidden = !list;
  graph.box.querySelector("#stage").classList.toggle("listing", list);
  graph.box.querySelector("#canvas").hidden = list;
  graph.box.querySelector("#drawn").hidden = list;
  graph.box.querySelector("#as-list").setAttribute("aria-pressed", String(list));
  for (const id of ["#zoom-in", "#zoom-out", "#fit"]) graph.box.querySelector(id).hidden = list;
  if (!list) return box.replaceChildren();
  const groups = listedGroups();
  const focused = document.activeElement?.closest("#graph-list a")?.getAttribute("href");
  fill(
    box,
    groups.slice(0, MOST_LISTED_GROUPS).map(listGroup),
    groups.length > MOST_LISTED_GROUPS &&
      p("quiet", `and ${many(groups.length - MOST_LISTED_GROUPS, "smaller group")}`),
  );
  if (focused) box.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  return undefined;
}

/** The groups of what passes the filters, the largest first; what is alone comes last, as one. */
function listedGroups() {
  const drawn = graph.scene.spots.filter((spot) => isDrawn(graph.scene, spot));
  const inDrawn = new Set(drawn);
  const edges = graph.scene.edges.filter(({ a, b }) => inDrawn.has(a) && inDrawn.has(b));
  const groups = groupsOf(drawn, edges);
  const several = groups.filter((group) => group.length > 1);
  const single = groups.filter((group) => group.length === 1).flat();
  return single.length ? [...several, single] : several;
}

function listGroup(group, n) {
  const nodes = group.map((spot) => memory.nodes[spot.i]);
  const entities = nodes.filter((node) => !node.record);
  const counts = [
    entities.length && many(entities.length, "entity", "entities"),
    nodes.length > entities.length && many(nodes.length - entities.length, "record"),
  ];
  const isConnected = nodes.some((node) => neighbours(node.i).length);
  const title = isConnected
    ? `Group ${n + 1}: ${(entities[0] ?? nodes[0]).name}`
    : "Without connections";
  return el(
    "section",
    { "aria-labelledby": `group-${n}` },
    el("h2", { id: `group-${n}` }, short(title, 70), quiet(` ${counts.filter(Boolean).join(", ")}`)),
    el("ul", { class: "rows" }, nodes.slice(0, MOST_LISTED).map(listRow)),
    nodes.length > MOST_LISTED &&
      p("quiet", `and ${(nodes.length - MOST_LISTED).toLocaleString("en")} more: filter, or search`),
  );
}

function listRow(node) {
  const isHere = graph.state.selected === node.i;
  const attributes = { "data-row": true, dir: "auto", href: hashOf("graph", nodeKey(node)) };
  const link = el(
    "a",
    { class: "entity", ...attributes, "aria-current": isHere && "true" },
    node.record ? cardMark(node.type) : mark(node.type),
    short(node.name, 110) || "(no name)",
  );
  const type = quiet(` ${short(WORDS[node.type] ?? (node.type || "unknown"), 30)}`);
  return el("li", {}, link, type, p("quiet small", connections(node)));
}

/** The names of what a node is connected with, in a line. */
function connections(node) {
  const told = node.record
    ? node.links.map(({ to }) => nameOf(to))
    : ends(node).map(({ r, other, out }) => `${out ? verb(r) : `${verb(r)} by`} ${nameOf(other.i)}`);
  const records = node.record || !graph.shows.records ? 0 : node.links.length;
  const more = told.length - MOST_ENDS;
  const line = [
    ...told.slice(0, MOST_ENDS),
    more > 0 && `${more.toLocaleString("en")} more`,
    records > 0 && many(records, "record"),
  ].filter(Boolean);
  return `${node.record && line.length ? "about " : ""}${line.join(", ")}`;
}

/** The record that is selected: what it says, of what, and who said it when and where. */
function recordPanel({ record, ...node }, steps) {
  const about = record.entities.map((i) => memory.entities[i]).filter(Boolean);
  return el(
    "div",
    { class: "one" },
    p("over", cardMark(record.type), quiet(WORDS[record.type] ?? record.type), staleMark(record), deselectButton()),
    el("h1", { dir: "auto", class: "said" }, inline(short(record.what, 400))),
    record.why && told("why", quiet(leadOf(record.why)), inline(short(record.why, 400))),
    panelActs({ ...node, record }, steps, hashOf("timeline", record.short_id)),
    about.length > 0 && [
      el("h2", {}, "About"),
      el(
        "ul",
        { class: "plain-list near", id: "near" },
        about.map((entity) => el("li", {}, graphLink(entity))),
      ),
    ],
    p("quiet small", when(record.at), `, ${ago(record.at)}`),
    openFoot(record),
    recordActions(record),
  );
}

/** The node next to the selected one in a direction, as it is drawn; the best known at first. */
function nodeTowards(dx, dy) {
  const from = graph.drawn.spots.find((spot) => spot.i === graph.state.selected);
  if (!from) return graph.drawn.spots[0] ?? null;
  let best = null,
    least = Infinity;
  for (const spot of graph.drawn.spots) {
    const x = spot.sx - from.sx,
      y = spot.sy - from.sy;
    const ahead = x * dx + y * dy;
    if (spot === from || ahead <= 0) continue;
    const distance = ahead + 2.5 * Math.abs(x * dy - y * dx);
    if (distance < least) [best, least] = [spot, distance];
  }
  return best;
}

/** Arrows in the drawing: move the selection, or the drawing where nothing is selected. */
function arrowInGraph(dx, dy, event) {
  if (event.shiftKey || graph.state.selected < 0) return panBy(dx * 60, dy * 60);
  const spot = nodeTowards(dx, dy);
  return spot ? select(spot.i) : undefined;
}

/** Enter in the drawing: open what is selected, or select what is best known. */
function enterInGraph() {
  const node = memory.nodes[graph.state.selected];
  if (node?.record) return go(hashOf("timeline", node.record.short_id));
  if (node) return go(hashOf("entity", keyOf(node)));
  const spot = nodeTowards(0, 0);
  return spot ? select(spot.i) : undefined;
}
