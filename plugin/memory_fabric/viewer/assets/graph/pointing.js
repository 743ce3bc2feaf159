// Mouse and touch on the graph: find the element under them in the last frame.

const TAP_MS = 380;
const STILL_PX = 6;

function pointOf(event) {
  const touch = event.touches?.[0] ?? event;
  const box = graph.box.querySelector("#canvas").getBoundingClientRect();
  return {
    x: touch.clientX - box.left,
    y: touch.clientY - box.top,
    coarse: Boolean(event.touches) || event.pointerType === "touch",
  };
}

/** The drawn spot at a point of the canvas, or null; thumbs reach further than a mouse. */
function spotUnder({ x, y, coarse }) {
  let best = null,
    nearest = Infinity;
  for (const spot of graph.drawn.spots) {
    const distance = Math.hypot(spot.sx - x, spot.sy - y) - spot.r;
    if (distance < nearest) [best, nearest] = [spot, distance];
  }
  return nearest <= (coarse ? 14 : 4) ? best : null;
}

function listenToPointer(box) {
  box.addEventListener("pointerdown", (event) => {
    const at = pointOf(event);
    graph.pressed = {
      ...at,
      spot: event.button ? null : spotUnder(at),
      moved: false,
      id: event.pointerId,
    };
  });
  box.addEventListener("pointermove", pointerMoved);
  box.addEventListener("pointerup", pointerUp);
  box.addEventListener("pointercancel", () => {
    graph.pressed = null;
  });
  box.addEventListener("pointerleave", () => hover(-1));
  box.addEventListener(
    "wheel",
    () => {
      graph.touched = true;
    },
    { passive: true },
  );
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
