// The layout of entities. A scene has a spot for each of them: {i, x, y, rank}.
// The best known are laid out by forces; the rest lie beside their neighbours.

const CORE = 1000;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const LEAF_GAP = 9;
const MOST_IN_FOCUS = 300;

/** The scene of the whole memory: spots by importance, the `core` of them for the forces. */
function overviewScene() {
  const spots = memory.byImportance.map((i, rank) => ({ i, rank, x: undefined, y: undefined }));
  const byEntity = new Map(spots.map((spot) => [spot.i, spot]));
  const core = spots.slice(0, CORE);
  return {
    kind: "overview",
    spots,
    byEntity,
    core,
    links: linksAmong(core, byEntity),
    edges: edgesAmong(byEntity),
    steps: null,
  };
}

/** The scene of a neighbourhood: the nearest first, in each step the best known. */
function focusScene(entity, steps, opened) {
  const distances = neighbourhood(entity.i, steps, (i) => kept.entity[i] || i === entity.i);
  for (const i of opened)
    for (const j of [i, ...neighbours(i)])
      if (!distances.has(j) && (kept.entity[j] || j === i)) distances.set(j, steps + 1);
  const rank = new Map(memory.byImportance.map((i, n) => [i, n]));
  const all = [...distances.keys()].sort(
    (a, b) => distances.get(a) - distances.get(b) || rank.get(a) - rank.get(b),
  );
  const spots = all
    .slice(0, MOST_IN_FOCUS)
    .map((i, n) => ({ i, rank: n, ...firstPlace(i, distances.get(i), n) }));
  spots[0].fx = spots[0].fy = 0;
  const byEntity = new Map(spots.map((spot) => [spot.i, spot]));
  return {
    kind: "focus",
    of: entity.i,
    spots,
    byEntity,
    core: spots,
    links: linksAmong(spots, byEntity),
    edges: edgesAmong(byEntity),
    steps: distances,
    found: all.length,
  };
}

function firstPlace(i, distance, n) {
  return { x: distance * 70 * Math.cos(n * GOLDEN), y: distance * 70 * Math.sin(n * GOLDEN) };
}

function linksAmong(spots, byEntity) {
  const inside = new Set(spots);
  const links = [];
  for (const spot of spots)
    for (const relation of memory.entities[spot.i].out) {
      const other = byEntity.get(relation.to);
      if (other && other !== spot && inside.has(other)) links.push({ source: spot, target: other });
    }
  return links;
}

/** Relations as pairs of spots, for drawing. */
function edgesAmong(byEntity) {
  const edges = [];
  for (const relation of memory.relations) {
    const a = byEntity.get(relation.from);
    const b = byEntity.get(relation.to);
    if (a && b && a !== b) edges.push({ a, b, relation });
  }
  return edges;
}

/** Give a place to every spot that the forces did not place. */
function placeRest(scene) {
  const crowd = new Map();
  const waiting = scene.spots.slice(scene.core.length);
  let edge = scene.core;
  const placed = new Set(scene.core);
  while (edge.length) {
    const next = [];
    for (const spot of edge)
      for (const j of neighbours(spot.i)) {
        const other = scene.byEntity.get(j);
        if (!other || placed.has(other)) continue;
        beside(spot, other, crowd);
        placed.add(other);
        next.push(other);
      }
    edge = next;
  }
  outside(
    scene.core,
    waiting.filter((spot) => !placed.has(spot)),
  );
}

function beside(spot, other, crowd) {
  const n = (crowd.get(spot) ?? 0) + 1;
  crowd.set(spot, n);
  const away = Math.hypot(spot.x, spot.y) || 1;
  const turn = Math.atan2(spot.y, spot.x) + n * GOLDEN;
  const radius = 8 + LEAF_GAP * Math.sqrt(n);
  other.x = spot.x + radius * Math.cos(turn) + (4 * spot.x) / away;
  other.y = spot.y + radius * Math.sin(turn) + (4 * spot.y) / away;
}

/** Those that nothing connects lie in rings around the rest. */
function outside(core, lone) {
  const reach = core.reduce((most, s) => Math.max(most, Math.hypot(s.x, s.y)), 0) + 40;
  lone.forEach((spot, n) => {
    const radius = Math.sqrt(reach * reach + (n + 1) * 160);
    spot.x = radius * Math.cos(n * GOLDEN);
    spot.y = radius * Math.sin(n * GOLDEN);
  });
}

/** A force that keeps what is not connected near the rest, in a field `ratio` heights wide. */
function gravity(strength, ratio) {
  let nodes = [];
  const force = (alpha) => {
    for (const node of nodes) {
      node.vx -= (node.x * strength * alpha) / ratio;
      node.vy -= node.y * strength * alpha * ratio;
    }
  };
  force.initialize = (all) => {
    nodes = all;
  };
  return force;
}
