// The graph view. force-graph provides the canvas, the camera and the forces.

// So few are laid out before the first frame and get more steps; so many halfway; more are seen to
// move.
const FEW = 120;
const SMALL = 320;
const TICKS = 130;
const STEPS = [1, 2, 3];

const graph = {
  force: null,
  box: null,
  scene: null,
  overview: null,
  drawn: { spots: [], edges: [], all: 0 },
  settled: false,
  opened: [],
  frames: 0,
  last: { i: -1, at: 0 },
  touched: false,
  // Height of the legend when the camera was fitted above it.
  foot: 0,
  pressed: null,
  // Whether the next place is taken without moving the camera: what is selected stands in view.
  stay: false,
  // What the view shows besides entities: records, what stands alone, and a list in its place.
  shows: { records: true, alone: false, list: false },
  state: { hovered: -1, selected: -1, wanted: new Set(), width: 0, height: 0 },
};

/** The choices of the view, for its address: `records=off`, `alone=on`, `as=list`. */
function displayParams() {
  const { records, alone, list } = graph.shows;
  return [
    ["records", records ? "" : "off"],
    ["alone", alone ? "on" : ""],
    ["as", list ? "list" : ""],
  ].filter(([, value]) => value);
}

function readDisplay(params) {
  graph.shows = {
    records: params.get("records") !== "off",
    alone: params.get("alone") === "on",
    list: params.get("as") === "list",
  };
}

/** Show more or less of the graph, at the same place and with the focus where it was. */
function toggleDisplay(part) {
  const { name, params } = placeOf(location.hash);
  graph.shows[part] = !graph.shows[part];
  keepingFocus(() => go(hashOf("graph", name, { steps: params.get("steps") })));
}

/** Show the graph for a place; made once and kept. */
function showGraph(place) {
  const main = byId("main");
  readDisplay(place.params);
  if (!graph.box) graph.box = graphFrame();
  if (graph.box.parentNode !== main) fill(main, graph.box);
  if (!memory.nodes.length) return showEmptyGraph();
  graph.box.classList.remove("empty");
  if (!graph.force) startForce();
  graph.force.resumeAnimation();
  resizeGraph();
  const entity = place.name ? nodeOf(place.name) : null;
  const steps = entity ? Number(place.params.get("steps")) || 0 : 0;
  if (graph.state.selected !== (entity?.i ?? -1)) graph.opened = [];
  graph.state.selected = entity?.i ?? -1;
  graph.state.hovered = -1;
  return takeScene(entity, STEPS.includes(steps) ? steps : 0, place);
}

function hideGraph() {
  graph.force?.pauseAnimation();
}

function startForce() {
  readColours();
  const box = graph.box.querySelector("#canvas");
  graph.force = new ForceGraph(box)
    .enablePointerInteraction(false)
    .enableNodeDrag(false)
    .minZoom(0.02)
    .maxZoom(12)
    .nodeVisibility(false)
    .linkVisibility(false)
    .autoPauseRedraw(true)
    .nodeLabel(() => "")
    .linkLabel(() => "")
    .onRenderFramePost(renderFrame)
    .onEngineStop(settle)
    .enablePanInteraction((event) => spotUnder(pointOf(event)) === null);
  graph.force.d3Force("center", null);
  listenToPointer(box);
  new ResizeObserver(() => graph.box.isConnected && resizeGraph()).observe(
    graph.box.querySelector("#stage"),
  );
}

function redraw() {
  graph.force?.nodeRelSize(4);
}

function renderFrame(ctx) {
  if (!graph.scene) return;
  graph.frames += 1;
  graph.drawn = paint(ctx, graph.scene, graph.state);
  sayDrawn();
}

/** Take the scene for what is focused: the neighbourhood, or everything. */
function takeScene(entity, steps, place) {
  const key = steps
    ? `${entity.i}/${steps}/${graph.opened}/${JSON.stringify(plain(filters))}`
    : `all/${graph.shows.records}`;
  const filtered = JSON.stringify([plain(filters), graph.shows]);
  if (steps && graph.scene?.key !== key)
    lay(Object.assign(focusScene(entity, steps, graph.opened), { key }));
  else if (!steps) {
    if (graph.overview?.of !== memory || graph.overview.key !== key)
      graph.overview = Object.assign(overviewScene(), { key, of: memory });
    if (graph.scene !== graph.overview) lay(graph.overview);
    else if (graph.filtered !== filtered) fitScene(true);
    if (entity && graph.settled && !graph.stay) bringIntoView(entity.i);
  }
  graph.stay = false;
  graph.filtered = filtered;
  graph.state.wanted = new Set(
    steps
      ? []
      : [...(entity ? [entity.i] : []), ...graph.opened.flatMap((i) => [i, ...neighbours(i)])],
  );
  showLegend();
  const foot = graph.box.querySelector("#legend").offsetHeight;
  if (foot !== graph.foot && graph.scene.settled && !graph.touched) fitScene(false);
  showList();
  showPanel(entity, steps);
  showStageNote();
  redraw();
}

/** Lay a scene out by forces, unless it has been. */
function lay(scene) {
  graph.scene = scene;
  graph.touched = false;
  if (scene.settled) {
    graph.force
      .warmupTicks(0)
      .cooldownTicks(0)
      .graphData({ nodes: scene.core, links: scene.links });
    return fitScene(false);
  }
  const ticks = scene.core.length <= FEW ? 2 * TICKS : TICKS;
  const before = ticksBefore(scene.core.length, ticks);
  graph.settled = false;
  const isFocus = scene.kind === "focus";
  const free = graph.state.height - graph.box.querySelector("#legend").offsetHeight;
  const ratio = Math.min(1.7, Math.max(0.6, graph.state.width / free || 1));
  if (!isFocus) placeGroups(coreGroups(scene), ratio);
  graph.force.d3Force("link").distance(isFocus ? Math.max(46, 130 - scene.core.length) : 40);
  graph.force
    .d3Force("charge")
    .strength(isFocus ? -160 : -70)
    .distanceMax(isFocus ? 420 : 260);
  graph.force.d3Force("gravity", groupGravity(isFocus ? 0.02 : 0.07, ratio));
  graph.force
    .d3AlphaDecay(1 - 0.001 ** (1 / ticks))
    .warmupTicks(before)
    .cooldownTicks(ticks - before)
    .cooldownTime(60000)
    .graphData({ nodes: scene.core, links: scene.links });
  if (before < ticks) fitWhileMoving(scene);
  return undefined;
}

/** The parts of the groups that the forces lay out. */
function coreGroups(scene) {
  const core = new Set(scene.core);
  const parts = scene.groups.map((group) => group.filter((spot) => core.has(spot)));
  return parts.filter((part) => part.length).sort((a, b) => b.length - a.length);
}

/** The number of the forces' steps before the first frame: all, half or none. */
function ticksBefore(entities, ticks) {
  if (entities <= FEW || matchMedia("(prefers-reduced-motion: reduce)").matches) return ticks;
  return entities <= SMALL ? Math.round(ticks / 2) : 0;
}

function settle() {
  const scene = graph.scene;
  if (!scene || scene.settled) return;
  scene.settled = graph.settled = true;
  if (scene.kind === "overview") placeRest(scene);
  if (!graph.touched) fitScene(false);
  if (graph.state.selected >= 0 && scene.kind === "overview") bringIntoView(graph.state.selected);
  ready();
}

/** Select an entity of the scene; -1 for none. A focus stays. */
function select(i) {
  if (graph.scene.kind === "focus") return i < 0 ? undefined : peek(i);
  graph.stay = true;
  return go(hashOf("graph", i < 0 ? "" : nodeKey(memory.nodes[i])));
}

/** Show an entity in the panel without leaving the focus. */
function peek(i) {
  graph.state.selected = i;
  showPanel(memory.nodes[i], Number(placeOf(location.hash).params.get("steps")) || 1);
  redraw();
}

function focusOn(i, steps = 1) {
  graph.opened = [];
  go(hashOf("graph", nodeKey(memory.nodes[i]), { steps }));
}

/** Bring an entity's neighbours onto the stage, whatever the zoom. */
function expand(i) {
  if (!graph.opened.includes(i)) graph.opened.push(i);
  const place = placeOf(location.hash);
  const entity = place.name ? nodeOf(place.name) : null;
  const steps = Number(place.params.get("steps")) || 0;
  if (!steps) graph.stay = true;
  takeScene(entity, steps, place);
  if (steps) peek(i);
  announce(`${nameOf(i)}: ${many(memory.nodes[i].degree, "neighbour")} shown`);
}

/** One step back: what was expanded last, the focus, the selection. False when nothing is left. */
function backOut() {
  const place = placeOf(location.hash);
  if (graph.opened.length) {
    graph.opened.pop();
    graph.stay = true;
    takeScene(
      place.name ? nodeOf(place.name) : null,
      Number(place.params.get("steps")) || 0,
      place,
    );
    return true;
  }
  if (place.params.get("steps")) go(hashOf("graph", place.name));
  else if (place.name) go(hashOf("graph"));
  else return false;
  return true;
}
