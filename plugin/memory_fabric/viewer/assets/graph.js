// The graph view: force-graph gives the canvas, the camera and the forces; scene and paint the rest.

// So few are laid out before the first frame and get more steps; so many halfway; more are seen to
// move.
const FEW = 120;
const SMALL = 320;
const TICKS = 130;
const TAP_MS = 380;
const STILL_PX = 6;
const STEPS = [1, 2, 3];

const graph = {
  force: null, box: null, scene: null, overview: null, drawn: { spots: [], edges: [], all: 0 }, settled: false,
  opened: [], frames: 0, last: { i: -1, at: 0 }, touched: false, pressed: null,
  // Whether the next place is taken without moving the camera: what is selected stands in view.
  stay: false,
  state: { hovered: -1, selected: -1, cursor: -1, wanted: new Set(), width: 0, height: 0 },
};

/** Show the graph for a place; made once and kept. */
function showGraph(place) {
  const main = byId("main");
  if (!graph.box) graph.box = graphFrame();
  if (graph.box.parentNode !== main) fill(main, graph.box);
  if (!memory.entities.length) return showEmptyGraph();
  graph.box.classList.remove("empty");
  if (!graph.force) startForce();
  graph.force.resumeAnimation();
  resizeGraph();
  const entity = place.name ? entityOf(place.name) : null;
  const steps = entity ? Number(place.params.get("steps")) || 0 : 0;
  if (graph.state.selected !== (entity?.i ?? -1)) graph.opened = [];
  graph.state.selected = entity?.i ?? -1;
  graph.state.hovered = -1;
  return takeScene(entity, STEPS.includes(steps) ? steps : 0, place);
}

function hideGraph() {
  graph.force?.pauseAnimation();
}

function graphFrame() {
  const button = (id, text, label, f) => el("button", { type: "button", id, title: label, "aria-label": label, on: { click: f } }, text);
  return el("div", { class: "graph" },
    el("div", { class: "stage", id: "stage" },
      el("div", { id: "canvas", class: "canvas", role: "img", "aria-label": "Drawing of the graph. The list beside it has the same as links.", tabindex: "0" }),
      el("div", { class: "legend", id: "legend", role: "group", "aria-label": "Types: press to show only these" }),
      el("div", { class: "zooms", role: "group", "aria-label": "Zoom" },
        button("zoom-in", "+", "Zoom in (+)", () => zoomBy(1.5)), button("zoom-out", "\u2212", "Zoom out (-)", () => zoomBy(1 / 1.5)), button("fit", "\u2922", "Fit everything (0)", () => fitScene(true))),
      el("p", { class: "drawn", id: "drawn" }), el("div", { id: "stage-note", hidden: true })),
    el("aside", { class: "panel", id: "panel", "aria-label": "What is selected" }));
}

function startForce() {
  readColours();
  const box = graph.box.querySelector("#canvas");
  graph.force = new ForceGraph(box).enablePointerInteraction(false).enableNodeDrag(false).minZoom(0.02).maxZoom(12)
    .nodeVisibility(false).linkVisibility(false).autoPauseRedraw(true).nodeLabel(() => "").linkLabel(() => "")
    .onRenderFramePost(renderFrame).onEngineStop(settle).onZoom(() => { graph.camera = true; })
    .enablePanInteraction((event) => spotUnder(pointOf(event)) === null);
  graph.force.d3Force("center", null);
  graph.force.d3Force("charge").distanceMax(420);
  listenToPointer(box);
  new ResizeObserver(() => graph.box.isConnected && resizeGraph()).observe(graph.box.querySelector("#stage"));
}

function resizeGraph() {
  const stage = graph.box.querySelector("#stage");
  const { clientWidth: width, clientHeight: height } = stage;
  if (!width || (graph.state.width === width && graph.state.height === height)) return;
  Object.assign(graph.state, { width, height });
  graph.force.width(width).height(height);
  if (!graph.touched && graph.settled) fitScene(false);
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
  const key = steps ? `${entity.i}/${steps}/${graph.opened}/${JSON.stringify(plain(filters))}` : "all";
  const filtered = JSON.stringify(plain(filters));
  if (steps && graph.scene?.key !== key) lay(Object.assign(focusScene(entity, steps, graph.opened), { key }));
  else if (!steps) {
    if (graph.overview?.of !== memory) graph.overview = Object.assign(overviewScene(), { key, of: memory });
    if (graph.scene !== graph.overview) lay(graph.overview);
    else if (graph.filtered !== filtered) fitScene(true);
    if (entity && graph.settled && !graph.stay) bringIntoView(entity.i);
  }
  graph.stay = false;
  graph.filtered = filtered;
  graph.state.wanted = new Set(steps ? [] : [...(entity ? [entity.i] : []), ...graph.opened.flatMap((i) => [i, ...neighbours(i)])]);
  showLegend();
  showPanel(entity, steps, place);
  showStageNote();
  redraw();
}

/** Lay a scene out by forces, unless it has been. */
function lay(scene) {
  graph.scene = scene;
  graph.touched = false;
  if (scene.settled) {
    graph.force.warmupTicks(0).cooldownTicks(0).graphData({ nodes: scene.core, links: scene.links });
    return fitScene(false);
  }
  const ticks = scene.core.length <= FEW ? 2 * TICKS : TICKS;
  const before = ticksBefore(scene.core.length, ticks);
  graph.settled = false;
  graph.force.d3Force("link").distance(scene.kind === "focus" ? Math.max(46, 130 - scene.core.length) : 46);
  graph.force.d3Force("charge").strength(scene.kind === "focus" ? -160 : -70);
  graph.force.d3Force("gravity", gravity(scene.kind === "focus" ? 0.02 : 0.05, Math.min(1.7, Math.max(0.6, graph.state.width / graph.state.height))));
  graph.force.d3AlphaDecay(1 - 0.001 ** (1 / ticks)).warmupTicks(before).cooldownTicks(ticks - before).cooldownTime(60000)
    .graphData({ nodes: scene.core, links: scene.links });
  if (before < ticks) fitWhileMoving(scene);
  return undefined;
}

/** How many steps of the forces come before the first frame: all, or what takes no time to notice. */
function ticksBefore(entities, ticks) {
  if (entities <= FEW || matchMedia("(prefers-reduced-motion: reduce)").matches) return ticks;
  return entities <= SMALL ? Math.round(ticks / 2) : 0;
}

/** Until the forces rest, keep everything in view. */
function fitWhileMoving(scene) {
  if (graph.settled || graph.scene !== scene) return;
  if (!graph.touched) fitScene(false);
  requestAnimationFrame(() => fitWhileMoving(scene));
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

/** Everything that passes the filters, in view. The zoom at which this is so measures detail. */
function fitScene(smooth) {
  const scene = graph.scene;
  if (!scene) return;
  const spots = scene.spots.filter((s) => s.x !== undefined && (kept.entity[s.i] || s.i === scene.of));
  if (!spots.length) return;
  const [left, right] = spread(spots.map((s) => s.x)), [top, bottom] = spread(spots.map((s) => s.y));
  const { width } = graph.state;
  const foot = graph.box.querySelector("#legend").offsetHeight;
  const height = graph.state.height - foot;
  const pad = Math.min(60, width / 8);
  const k = Math.min(2.2, (width - 2 * pad) / Math.max(1, right - left), (height - 2 * pad) / Math.max(1, bottom - top));
  scene.fit = k;
  graph.force.minZoom(Math.min(0.3, k * 0.5)).maxZoom(Math.max(8, k * 24));
  moveCamera((left + right) / 2, (top + bottom) / 2 + foot / 2 / k, k, smooth);
  graph.touched = false;
}

function spread(values) {
  let least = Infinity, most = -Infinity;
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return [least, most];
}

function moveCamera(x, y, k, smooth) {
  const ms = smooth && !matchMedia("(prefers-reduced-motion: reduce)").matches ? 260 : 0;
  graph.force.centerAt(x, y, ms).zoom(k, ms);
  redraw();
}

function zoomBy(factor) {
  if (!graph.force) return;
  graph.touched = true;
  graph.force.zoom(graph.force.zoom() * factor, matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 180);
}

function panBy(dx, dy) {
  const { x, y } = graph.force.centerAt();
  const k = graph.force.zoom();
  graph.touched = true;
  graph.force.centerAt(x + dx / k, y + dy / k);
}

function inView(spot) {
  const { x, y } = graph.force.graph2ScreenCoords(spot.x, spot.y);
  return x > 20 && y > 20 && x < graph.state.width - 20 && y < graph.state.height - 20;
}

function bringIntoView(i) {
  const spot = graph.scene?.byEntity.get(i);
  if (!spot || spot.x === undefined) return;
  if (graph.scene.spots.length <= FIRST_DRAWN && inView(spot)) return;
  const k = Math.max(graph.force.zoom(), (graph.scene.fit || 1) * 1.8, 0.8);
  moveCamera(spot.x, spot.y, k, true);
  graph.touched = true;
}

// Pointing

function pointOf(event) {
  const touch = event.touches?.[0] ?? event;
  const box = graph.box.querySelector("#canvas").getBoundingClientRect();
  return { x: touch.clientX - box.left, y: touch.clientY - box.top, coarse: Boolean(event.touches) || event.pointerType === "touch" };
}

/** The drawn spot at a point of the canvas, or null; thumbs reach further than a mouse. */
function spotUnder({ x, y, coarse }) {
  let best = null, nearest = Infinity;
  for (const spot of graph.drawn.spots) {
    const distance = Math.hypot(spot.sx - x, spot.sy - y) - spot.r;
    if (distance < nearest) [best, nearest] = [spot, distance];
  }
  return nearest <= (coarse ? 14 : 4) ? best : null;
}

function listenToPointer(box) {
  box.addEventListener("pointerdown", (event) => {
    const at = pointOf(event);
    graph.pressed = { ...at, spot: event.button ? null : spotUnder(at), moved: false, id: event.pointerId };
  });
  box.addEventListener("pointermove", pointerMoved);
  box.addEventListener("pointerup", pointerUp);
  box.addEventListener("pointercancel", () => { graph.pressed = null; });
  box.addEventListener("pointerleave", () => hover(-1));
  box.addEventListener("wheel", () => { graph.touched = true; }, { passive: true });
}

function pointerMoved(event) {
  const at = pointOf(event);
  const pressed = graph.pressed;
  if (!pressed) return at.coarse ? undefined : hover(spotUnder(at)?.i ?? -1);
  pressed.moved ||= Math.hypot(at.x - pressed.x, at.y - pressed.y) > STILL_PX;
  if (pressed.moved) graph.touched = true;
  if (!pressed.moved || !pressed.spot) return undefined;
  const place = graph.force.screen2GraphCoords(at.x, at.y);
  Object.assign(pressed.spot, { x: place.x, y: place.y, fx: place.x, fy: place.y, pinned: true });
  return redraw();
}

function pointerUp(event) {
  const pressed = graph.pressed;
  graph.pressed = null;
  if (!pressed || pressed.moved || event.button) return;
  const i = pressed.spot?.i ?? -1;
  const again = i >= 0 && i === graph.last.i && event.timeStamp - graph.last.at < TAP_MS;
  graph.last = { i, at: event.timeStamp };
  if (again) expand(i);
  else if (i !== graph.state.selected) select(i);
}

function hover(i) {
  if (i === graph.state.hovered) return;
  graph.state.hovered = i;
  graph.box.querySelector("#canvas").style.cursor = i < 0 ? "grab" : "pointer";
  redraw();
}

/** Select an entity of the scene; -1 for none. A focus stays. */
function select(i) {
  if (graph.scene.kind === "focus") return i < 0 ? undefined : peek(i);
  graph.stay = true;
  return go(hashOf("graph", i < 0 ? "" : keyOf(memory.entities[i])));
}

/** Show an entity in the panel without leaving the focus. */
function peek(i) {
  graph.state.selected = i;
  showPanel(memory.entities[i], Number(placeOf(location.hash).params.get("steps")) || 1, placeOf(location.hash));
  redraw();
}

function focusOn(i, steps = 1) {
  graph.opened = [];
  go(hashOf("graph", keyOf(memory.entities[i]), { steps }));
}

/** Bring an entity's neighbours onto the stage, whatever the zoom. */
function expand(i) {
  if (!graph.opened.includes(i)) graph.opened.push(i);
  const place = placeOf(location.hash);
  const entity = place.name ? entityOf(place.name) : null;
  const steps = Number(place.params.get("steps")) || 0;
  if (!steps) graph.stay = true;
  takeScene(entity, steps, place);
  if (steps) peek(i);
  announce(`${nameOf(i)}: ${many(memory.entities[i].degree, "neighbour")} shown`);
}

/** One step back: what was expanded last, the focus, the selection. False when nothing is left. */
function backOut() {
  const place = placeOf(location.hash);
  if (graph.opened.length) {
    graph.opened.pop();
    graph.stay = true;
    takeScene(place.name ? entityOf(place.name) : null, Number(place.params.get("steps")) || 0, place);
    return true;
  }
  if (place.params.get("steps")) go(hashOf("graph", place.name));
  else if (place.name) go(hashOf("graph"));
  else return false;
  return true;
}

// What stands around the drawing

function sayDrawn() {
  const { spots, all, shown: drawable } = graph.drawn;
  const whole = graph.scene.kind === "focus" ? graph.scene.found : all;
  const more = drawable < all ? " \u00b7 zoom in for more" : spots.length < drawable ? " \u00b7 the rest is outside the view" : "";
  const text = `${spots.length.toLocaleString("en")} of ${many(whole, "entity", "entities")} drawn${more}`;
  const line = graph.box.querySelector("#drawn");
  if (line.textContent !== text) line.textContent = text;
}

function showLegend() {
  const counts = counted(graph.scene.spots.filter((s) => kept.entity[s.i] || filters.type.size).map((s) => memory.entities[s.i].type || "unknown"));
  const types = counts.slice(0, 14);
  fill(graph.box.querySelector("#legend"), el("details", { open: innerWidth > 700 }, el("summary", {}, "Legend"), types.map(([type, count]) =>
    el("button", { type: "button", class: "choice", "data-type": type, "aria-pressed": String(filters.type.has(type)), on: { click: () => applyFilters(toggled("type", type)) } },
      mark(type), short(type, 24), el("span", { class: "quiet" }, " " + count.toLocaleString("en")))),
  el("p", { class: "signs" }, sign("u"), "you said it ", sign("a"), "the assistant ", sign("h"), "others ", sign("s"), "stale")));
}

function sign(kind) {
  return el("span", { class: `sign sign-${kind}`, "aria-hidden": "true" });
}

function showStageNote() {
  const note = graph.box.querySelector("#stage-note");
  note.hidden = kept.entities.length > 0;
  if (!note.hidden) fill(note, nothingLeft("entities"));
}

function showEmptyGraph() {
  graph.box.classList.add("empty");
  fill(graph.box.querySelector("#panel"), emptyMemory());
  ready();
}
