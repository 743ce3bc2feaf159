// The layout of entities. A scene has a spot for each of them: {i, x, y, rank}.
// The best known are laid out by forces; the rest lie beside their neighbours.

const CORE = 1000;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const LEAF_GAP = 9;
const MOST_IN_FOCUS = 300;

/**
 * The scene of the whole memory: spots by importance, the `core` of them for the forces, and the
 * `groups` that hang together, the largest first. A spot without any edge is `alone`.
 */
function overviewScene() {
  const shown = graph.shows.records
    ? memory.nodesByImportance
    : memory.nodesByImportance.filter((i) => !memory.nodes[i].record);
  const spots = shown.map((i, rank) => ({ i, rank, x: undefined, y: undefined, alone: false }));
  const byEntity = new Map(spots.map((spot) => [spot.i, spot]));
  const edges = edgesAmong(byEntity);
  const groups = groupsOf(spots, edges);
  const several = groups.filter((group) => group.length > 1);
  if (several.length) for (const [spot] of groups.slice(several.length)) spot.alone = true;
  const core = spots.filter((spot) => !spot.alone).slice(0, CORE);
  return {
    kind: "overview",
    spots,
    byEntity,
    core,
    links: linksAmong(core, edges),
    edges,
    groups: several.length ? several : groups,
    steps: null,
  };
}

/** True if a spot is drawn: it passes the filters, and single nodes are shown or it is none. */
function isDrawn(scene, spot) {
  if (spot.i === scene.of || (spot.alone && spot.i === graph.state.selected)) return true;
  return kept.entity[spot.i] && (!spot.alone || graph.shows.alone);
}

/** The scene of a neighbourhood: the nearest first, in each step the best known. */
function focusScene(entity, steps, opened) {
  const distances = neighbourhood(entity.i, steps, (i) => kept.entity[i] || i === entity.i);
  for (const i of opened)
    for (const j of [i, ...neighbours(i)])
      if (!distances.has(j) && (kept.entity[j] || j === i)) distances.set(j, steps + 1);
  const rank = new Map(memory.nodesByImportance.map((i, n) => [i, n]));
  const all = [...distances.keys()].sort(
    (a, b) => distances.get(a) - distances.get(b) || rank.get(a) - rank.get(b),
  );
  const spots = all
    .slice(0, MOST_IN_FOCUS)
    .map((i, n) => ({ i, rank: n, ...firstPlace(i, distances.get(i), n) }));
  spots[0].fx = spots[0].fy = 0;
  const byEntity = new Map(spots.map((spot) => [spot.i, spot]));
  const edges = edgesAmong(byEntity);
  return {
    kind: "focus",
    of: entity.i,
    spots,
    byEntity,
    core: spots,
    links: linksAmong(spots, edges),
    edges,
    groups: [spots],
    steps: distances,
    found: all.length,
  };
}

function firstPlace(i, distance, n) {
  return { x: distance * 70 * Math.cos(n * GOLDEN), y: distance * 70 * Math.sin(n * GOLDEN) };
}

function linksAmong(spots, edges) {
  const inside = new Set(spots);
  return edges
    .filter(({ a, b }) => inside.has(a) && inside.has(b))
    .map(({ a, b }) => ({ source: a, target: b }));
}

/** Relations, and what records name, as pairs of spots, for drawing. */
function edgesAmong(byEntity) {
  const edges = [];
  for (const relation of [...memory.relations, ...(graph.shows.records ? memory.links : [])]) {
    const a = byEntity.get(relation.from);
    const b = byEntity.get(relation.to);
    if (a && b && a !== b) edges.push({ a, b, relation });
  }
  return edges;
}

/** Give a place to every spot that the forces did not place. */
function placeRest(scene) {
  const crowd = new Map();
  const inCore = new Set(scene.core);
  const waiting = scene.spots.filter((spot) => !inCore.has(spot));
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
  const left = waiting.filter((spot) => !placed.has(spot));
  outside(
    scene.core,
    left.filter((spot) => !spot.alone),
  );
  placeAlone(
    scene.spots.filter((spot) => spot.x !== undefined),
    left.filter((spot) => spot.alone),
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

/** Groups without a part in the core lie in rings around the rest. */
function outside(core, lone) {
  const reach = core.reduce((most, s) => Math.max(most, Math.hypot(s.x, s.y)), 0) + 40;
  lone.forEach((spot, n) => {
    const radius = Math.sqrt(reach * reach + (n + 1) * 160);
    spot.x = radius * Math.cos(n * GOLDEN);
    spot.y = radius * Math.sin(n * GOLDEN);
  });
}
