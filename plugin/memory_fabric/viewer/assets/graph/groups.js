// Groups of the graph: what hangs together, the largest first, each with a place of its own.

// Between two groups, and between the columns of what stands alone.
const GROUP_GAP = 18;
const NODE_ROOM = 18;
const ALONE_GAP = 24;
const PACK_STEP = 14;

/** The groups of these spots by the edges between them, the largest first; each is its spots. */
function groupsOf(spots, edges) {
  const parent = new Map(spots.map((spot) => [spot, spot]));
  const top = (spot) => {
    let at = spot;
    while (parent.get(at) !== at) {
      parent.set(at, parent.get(parent.get(at)));
      at = parent.get(at);
    }
    return at;
  };
  for (const { a, b } of edges) parent.set(top(a), top(b));
  const found = new Map();
  for (const spot of spots) {
    const head = top(spot);
    if (!found.has(head)) found.set(head, []);
    found.get(head).push(spot);
  }
  return [...found.values()].sort((a, b) => b.length - a.length);
}

/**
 * Give each group a circle, the largest in the middle of a field `ratio` heights wide, and its
 * spots a first place in it. Each spot keeps the centre of its group as `gx`, `gy`.
 */
function placeGroups(groups, ratio) {
  const placed = [];
  let size = -1,
    step = 0;
  for (const group of groups) {
    // A smaller circle may fit where a larger one did not.
    if (group.length !== size) step = 0;
    size = group.length;
    const radius = NODE_ROOM * Math.sqrt(size) + GROUP_GAP / 2;
    let circle = null;
    for (; !circle; step += 1) {
      const away = PACK_STEP * Math.sqrt(step);
      const x = away * Math.cos(step * GOLDEN) * Math.sqrt(ratio);
      const y = (away * Math.sin(step * GOLDEN)) / Math.sqrt(ratio);
      if (placed.every((p) => Math.hypot(p.x - x, p.y - y) >= p.radius + radius))
        circle = { x, y, radius };
    }
    placed.push(circle);
    group.forEach((spot, n) => {
      const near = (NODE_ROOM / 2) * Math.sqrt(n);
      Object.assign(spot, { gx: circle.x, gy: circle.y, held: Math.min(1, 6 / Math.sqrt(size)) });
      spot.x = circle.x + near * Math.cos(n * GOLDEN);
      spot.y = circle.y + near * Math.sin(n * GOLDEN);
    });
  }
}

/** A force that keeps each node near the centre of its group; a large group is held less. */
function groupGravity(strength, ratio) {
  let nodes = [];
  const force = (alpha) => {
    for (const node of nodes) {
      const hold = strength * alpha * (node.held ?? 1);
      node.vx -= ((node.x - (node.gx ?? 0)) * hold) / ratio;
      node.vy -= (node.y - (node.gy ?? 0)) * hold * ratio;
    }
  };
  force.initialize = (all) => {
    nodes = all;
  };
  return force;
}

/** Place what nothing connects in rows below the rest, so that it covers nothing of it. */
function placeAlone(rest, alone) {
  const [left, right] = rest.length ? spread(rest.map((s) => s.x)) : [0, 0];
  const [, bottom] = rest.length ? spread(rest.map((s) => s.y)) : [0, -ALONE_GAP];
  const width = Math.max(right - left, ALONE_GAP * Math.ceil(Math.sqrt(alone.length * 2)));
  const columns = Math.max(1, Math.floor(width / ALONE_GAP));
  const start = (left + right) / 2 - (Math.min(columns, alone.length) * ALONE_GAP) / 2;
  alone.forEach((spot, n) => {
    spot.x = start + (n % columns) * ALONE_GAP;
    spot.y = bottom + 2 * ALONE_GAP + Math.floor(n / columns) * ALONE_GAP;
  });
}
