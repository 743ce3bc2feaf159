// The camera of the graph: show everything, zoom, move, or show one entity.

function resizeGraph() {
  const stage = graph.box.querySelector("#stage");
  const { clientWidth: width, clientHeight: height } = stage;
  if (!width || (graph.state.width === width && graph.state.height === height)) return;
  Object.assign(graph.state, { width, height });
  graph.force.width(width).height(height);
  if (!graph.touched && graph.settled) fitScene(false);
}

/** Until the forces rest, keep everything in view. */
function fitWhileMoving(scene) {
  if (graph.settled || graph.scene !== scene) return;
  if (!graph.touched) fitScene(false);
  requestAnimationFrame(() => fitWhileMoving(scene));
}

/** Everything that passes the filters, in view. The zoom at which this is so measures detail. */
function fitScene(smooth) {
  const scene = graph.scene;
  if (!scene) return;
  const spots = scene.spots.filter((s) => s.x !== undefined && isDrawn(scene, s));
  if (!spots.length) return;
  const [left, right] = spread(spots.map((s) => s.x)),
    [top, bottom] = spread(spots.map((s) => s.y));
  const { width } = graph.state;
  const foot = (graph.foot = graph.box.querySelector("#legend").offsetHeight);
  const height = graph.state.height - foot;
  const pad = Math.min(60, width / 8);
  const k = Math.min(
    2.2,
    (width - 2 * pad) / Math.max(1, right - left),
    (height - 2 * pad) / Math.max(1, bottom - top),
  );
  scene.fit = k;
  graph.force.minZoom(Math.min(0.3, k * 0.5)).maxZoom(Math.max(8, k * 24));
  moveCamera((left + right) / 2, (top + bottom) / 2 + foot / 2 / k, k, smooth);
  graph.touched = false;
}

function spread(values) {
  let least = Infinity,
    most = -Infinity;
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
  graph.force.zoom(
    graph.force.zoom() * factor,
    matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 180,
  );
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
