// Draw one frame of the graph: the elements, their detail, and the names shown.

const FIRST_DRAWN = 900;
// How the number of drawn entities grows with the zoom: less than the area that leaves the view.
const GROWTH = 1.25;
const MOST_DRAWN = 1200;
const MOST_EDGES = 2500;
// Above so many entities dashes cost too much and cannot be seen.
const MOST_DASHED = 250;
const MOST_HEADS = 160;
const MOST_STRONG_EDGES = 60;
// The shape of a record, whatever its kind: a card. Entities have the shape of their type.
const CARD = [
  [-1.25, -0.85],
  [1.25, -0.85],
  [1.25, 0.85],
  [-1.25, 0.85],
];
let colours = {};

/** Read the colours of the theme for the canvas. */
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  colours = {
    ground: get("--ground"),
    ink: get("--ink"),
    quiet: get("--quiet"),
    line: get("--edge"),
    accent: get("--accent"),
    of: new Map(),
    get,
  };
}

function colourOf(type) {
  const name = look(type).colour;
  if (!colours.of.has(name)) colours.of.set(name, colours.get(name));
  return colours.of.get(name);
}

/** Radius of an entity on the screen, by how much is known of it and by the zoom. */
function radiusOf(i, k) {
  const node = memory.nodes[i];
  const base = node.record ? 4.6 : 3.2 + 1.35 * Math.sqrt(Math.min(80, node.weight));
  return base * Math.min(1.9, Math.max(0.42, Math.sqrt(k)));
}

/** Draw the scene; returns what was drawn: {spots, edges, all}. */
function paint(ctx, scene, state) {
  const ratio = window.devicePixelRatio || 1;
  const m = ctx.getTransform();
  const camera = {
    k: m.a / ratio,
    x: m.e / ratio,
    y: m.f / ratio,
    width: state.width,
    height: state.height,
  };
  ctx.save();
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  const chosen = choose(scene, camera, state);
  const near = lit(scene, state);
  paintEdges(ctx, chosen, near);
  paintSpots(ctx, chosen, near, state);
  const taken = obstacles(chosen.spots);
  paintNames(ctx, chosen, near, state, camera, taken);
  paintEdgeNames(ctx, chosen, near, camera, taken);
  ctx.restore();
  return chosen;
}

/** Spots to draw with their place on the screen: the best known by zoom, and what is pointed at. */
function choose(scene, camera, state) {
  const grown = camera.k / (scene.fit || camera.k);
  const limit = scene.kind === "focus" ? Infinity : FIRST_DRAWN * Math.max(1, grown ** GROWTH);
  const wanted = state.wanted;
  const spots = [];
  const stamp = (scene.stamp = (scene.stamp || 0) + 1);
  let rank = 0,
    all = 0,
    records = 0,
    shown = 0;
  for (const spot of scene.spots) {
    if (!isDrawn(scene, spot)) continue;
    all += 1;
    rank += 1;
    if (memory.nodes[spot.i].record) records += 1;
    if (spot.x === undefined || (rank > limit && !wanted.has(spot.i))) continue;
    shown += 1;
    spot.sx = spot.x * camera.k + camera.x;
    spot.sy = spot.y * camera.k + camera.y;
    spot.stamp = stamp;
    if (
      spot.sx < -20 ||
      spot.sy < -20 ||
      spot.sx > camera.width + 20 ||
      spot.sy > camera.height + 20
    )
      continue;
    if (spots.length >= MOST_DRAWN && !wanted.has(spot.i)) continue;
    spot.r = radiusOf(spot.i, camera.k);
    spots.push(spot);
  }
  return { spots, edges: visibleEdges(scene, stamp, camera), all, records, shown };
}

function visibleEdges(scene, stamp, { width, height }) {
  const edges = [];
  for (const edge of scene.edges) {
    const { a, b } = edge;
    if (a.stamp !== stamp || b.stamp !== stamp) continue;
    if (
      (a.sx < 0 && b.sx < 0) ||
      (a.sy < 0 && b.sy < 0) ||
      (a.sx > width && b.sx > width) ||
      (a.sy > height && b.sy > height)
    )
      continue;
    edges.push(edge);
    if (edges.length >= MOST_EDGES) break;
  }
  return edges;
}

/** The entities that stand out now: what is pointed at or selected, and its neighbours. */
function lit(scene, { hovered, selected }) {
  const centre = hovered >= 0 ? hovered : selected;
  if (centre < 0 || !scene.byEntity.has(centre)) return null;
  return { centre, around: new Set([centre, ...neighbours(centre)]) };
}

/** Lines of relations; dashed where what said it was replaced. */
function paintEdges(ctx, { edges }, near) {
  const bright = [],
    plainOnes = [],
    overOnes = [];
  ctx.lineWidth = edges.length > 1200 ? 0.6 : 1;
  ctx.strokeStyle = colours.line;
  ctx.globalAlpha = near ? 0.3 : edges.length > 1200 ? 0.55 : 0.9;
  ctx.beginPath();
  for (const edge of edges) {
    const { a, b, relation } = edge;
    if (near && (relation.from === near.centre || relation.to === near.centre)) {
      bright.push(edge);
      continue;
    }
    if (relation.over) {
      overOnes.push(edge);
      continue;
    }
    if (!relation.isLink) plainOnes.push(edge);
    ctx.moveTo(a.sx, a.sy);
    ctx.lineTo(b.sx, b.sy);
  }
  ctx.stroke();
  if (overOnes.length) paintOver(ctx, overOnes);
  if (edges.length <= MOST_HEADS) paintHeads(ctx, plainOnes, colours.line);
  ctx.globalAlpha = 1;
  if (bright.length) paintBright(ctx, bright);
}

function paintOver(ctx, edges) {
  ctx.setLineDash([2, 4]);
  ctx.beginPath();
  for (const { a, b } of edges) {
    ctx.moveTo(a.sx, a.sy);
    ctx.lineTo(b.sx, b.sy);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

function paintBright(ctx, edges) {
  const few = edges.length <= MOST_STRONG_EDGES;
  ctx.lineWidth = few ? 1.6 : 0.8;
  ctx.globalAlpha = few ? 1 : 0.4;
  ctx.strokeStyle = colours.accent;
  ctx.beginPath();
  for (const { a, b } of edges) {
    ctx.moveTo(a.sx, a.sy);
    ctx.lineTo(b.sx, b.sy);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
  if (few)
    paintHeads(
      ctx,
      edges.filter(({ relation }) => !relation.isLink),
      colours.accent,
    );
}

/** Heads of arrows at the border of the entity that a relation leads to. */
function paintHeads(ctx, edges, colour) {
  ctx.fillStyle = colour;
  ctx.beginPath();
  for (const { a, b } of edges) {
    const length = Math.hypot(b.sx - a.sx, b.sy - a.sy);
    const r = (b.r ?? 5) + 2;
    if (length < r + 14) continue;
    const ux = (b.sx - a.sx) / length,
      uy = (b.sy - a.sy) / length;
    const x = b.sx - ux * r,
      y = b.sy - uy * r;
    ctx.moveTo(x, y);
    ctx.lineTo(x - ux * 7 - uy * 3.2, y - uy * 7 + ux * 3.2);
    ctx.lineTo(x - ux * 7 + uy * 3.2, y - uy * 7 - ux * 3.2);
  }
  ctx.fill();
}

function paintSpots(ctx, { spots }, near, state) {
  const batches = new Map();
  for (let n = spots.length - 1; n >= 0; n -= 1) {
    const spot = spots[n];
    const entity = memory.nodes[spot.i];
    const faint = near ? !near.around.has(spot.i) : false;
    const said = entity.trust === "user" ? "u" : entity.trust === "assistant" ? "a" : "h";
    const isRecord = Boolean(entity.record);
    const key = [look(entity.type).name, said, faint, entity.stale, isRecord].join(" ");
    if (!batches.has(key))
      batches.set(key, { type: entity.type, stale: entity.stale, isRecord, said, faint, spots: [] });
    batches.get(key).spots.push(spot);
  }
  const dashed = spots.length <= MOST_DASHED;
  for (const batch of [...batches.values()].sort((a, b) => Number(b.faint) - Number(a.faint)))
    paintBatch(ctx, batch, dashed);
  ctx.globalAlpha = 1;
  paintRings(ctx, spots, state);
}

function paintBatch(ctx, { type, isRecord, said, faint, stale, spots }, dashed) {
  const colour = colourOf(type);
  const corners = isRecord ? CARD : CORNERS[look(type).shape];
  ctx.beginPath();
  for (const spot of spots) outline(ctx, spot, corners, said === "h" ? 0.85 : 1);
  ctx.fillStyle = colours.ground;
  ctx.globalAlpha = 1;
  ctx.fill();
  ctx.globalAlpha = faint ? 0.18 : stale ? 0.45 : 1;
  ctx.fillStyle = ctx.strokeStyle = colour;
  if (said !== "h") ctx.fill();
  ctx.lineWidth = 1.8;
  if (stale && dashed) ctx.setLineDash([3, 2.5]);
  if (said === "h" || (stale && dashed)) ctx.stroke();
  ctx.setLineDash([]);
  if (said === "a") dots(ctx, spots);
}

function outline(ctx, { sx, sy, r }, corners, size) {
  const s = r * size;
  if (!corners || s < 2.2) {
    ctx.moveTo(sx + s, sy);
    ctx.arc(sx, sy, s, 0, 2 * Math.PI);
    return;
  }
  ctx.moveTo(sx + corners[0][0] * s, sy + corners[0][1] * s);
  for (let n = 1; n < corners.length; n += 1)
    ctx.lineTo(sx + corners[n][0] * s, sy + corners[n][1] * s);
  ctx.closePath();
}

/** The light point in what the assistant said. */
function dots(ctx, spots) {
  ctx.fillStyle = colours.ground;
  ctx.beginPath();
  for (const { sx, sy, r } of spots) {
    if (r < 4) continue;
    ctx.moveTo(sx + r * 0.34, sy);
    ctx.arc(sx, sy, r * 0.34, 0, 2 * Math.PI);
  }
  ctx.fill();
}

function paintRings(ctx, spots, { hovered, selected }) {
  ctx.strokeStyle = colours.accent;
  ctx.lineWidth = 2;
  for (const spot of spots) {
    if (spot.i === hovered || spot.i === selected) ring(ctx, spot, 4);
    if (spot.pinned) ring(ctx, spot, 1.5);
  }
}

function ring(ctx, { sx, sy, r }, gap) {
  ctx.beginPath();
  ctx.arc(sx, sy, r + gap, 0, 2 * Math.PI);
  ctx.stroke();
}
