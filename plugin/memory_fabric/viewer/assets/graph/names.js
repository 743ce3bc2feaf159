// Names and relation types on the canvas: the most important first, without overlaps.

const MOST_LABELS = 50;
const MOST_EDGE_LABELS = 30;
const LABEL_FONT = "12px system-ui, sans-serif";
const EDGE_FONT = "11px system-ui, sans-serif";
const STRONG_FONT = "600 12.5px system-ui, sans-serif";
const widths = new Map();

/** Names, the most important first, each only where no other stands. */
function paintNames(ctx, { spots }, near, state, camera, taken) {
  const first = spots.filter(
    (s) =>
      s.i === state.hovered ||
      s.i === state.selected ||
      (near && near.around.has(s.i)) ||
      state.wanted.has(s.i),
  );
  const most = Math.min(MOST_LABELS, Math.round((camera.width * camera.height) / 9000));
  first.sort((a, b) => (near ? Number(b.i === near.centre) - Number(a.i === near.centre) : 0));
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  let drawn = 0;
  const seen = new Set();
  for (const spot of near ? first : [...first, ...spots]) {
    if (drawn >= most) break;
    if (seen.has(spot)) continue;
    seen.add(spot);
    if (
      paintName(
        ctx,
        spot,
        near?.centre === spot.i || spot.i === state.selected || (!near && spot.rank < 12),
        taken,
        near?.centre === spot.i,
      )
    )
      drawn += 1;
  }
}

function paintName(ctx, spot, strong, taken, forced) {
  const text = nameOf(spot.i);
  const font = strong ? STRONG_FONT : LABEL_FONT;
  const places = namePlaces(spot, widthOf(ctx, text, font) + 6);
  const box =
    places.find(
      (place) =>
        place[0] > 0 &&
        place[0] + place[2] < graph.state.width &&
        !taken.some((other) => meet(place, other)),
    ) ?? (forced ? places[0] : null);
  if (!box) return false;
  taken.push(box);
  ctx.font = font;
  backing(ctx, box);
  ctx.fillStyle = memory.nodes[spot.i].stale && !strong ? colours.quiet : colours.ink;
  ctx.fillText(text, box[0] + box[2] / 2, box[1] + 1.5);
  return true;
}

/** Places where a name may stand, best first: below, above, to the right, to the left. */
function namePlaces({ sx, sy, r }, width) {
  const gap = r + 4;
  return [
    [sx - width / 2, sy + gap, width, 15],
    [sx - width / 2, sy - gap - 15, width, 15],
    [sx + gap, sy - 8, width, 15],
    [sx - gap - width, sy - 8, width, 15],
  ];
}

/** Spots that no name may cover: every entity where there are few, else the most important. */
function obstacles(spots) {
  return spots
    .slice(0, spots.length <= 200 ? 200 : 40)
    .map(({ sx, sy, r }) => [sx - r, sy - r, 2 * r, 2 * r]);
}

function nameOf(i) {
  const entity = memory.nodes[i];
  entity.label ??= short(entity.name, entity.record ? 36 : 28) || "(no name)";
  return entity.label;
}

function widthOf(ctx, text, font) {
  const key = font + text;
  if (!widths.has(key)) {
    ctx.font = font;
    widths.set(key, ctx.measureText(text).width);
  }
  return widths.get(key);
}

function backing(ctx, [x, y, width, height]) {
  ctx.globalAlpha = 0.82;
  ctx.fillStyle = colours.ground;
  ctx.fillRect(x, y, width, height);
  ctx.globalAlpha = 1;
}

function meet([ax, ay, aw, ah], [bx, by, bw, bh]) {
  return ax < bx + bw && bx < ax + aw && ay < by + bh && by < ay + ah;
}

/** Types of relations: of what is pointed at, or of all when few are near. */
function paintEdgeNames(ctx, { edges }, near, camera, taken) {
  const wanted = near
    ? edges.filter(({ relation }) => relation.from === near.centre || relation.to === near.centre)
    : camera.k > 1.1 && edges.length <= 60
      ? edges
      : [];
  ctx.font = EDGE_FONT;
  ctx.textBaseline = "middle";
  const told = wanted.filter(({ relation }) => !relation.isLink);
  for (const { a, b, relation } of told.slice(0, MOST_EDGE_LABELS)) {
    const text = short(relation.type, 24).replaceAll("_", " ");
    const width = widthOf(ctx, text, EDGE_FONT);
    if (Math.hypot(b.sx - a.sx, b.sy - a.sy) < width + 18) continue;
    const x = (a.sx + b.sx) / 2,
      y = (a.sy + b.sy) / 2;
    const box = [x - width / 2 - 3, y - 8, width + 6, 16];
    if (taken.some((other) => meet(box, other))) continue;
    taken.push(box);
    backing(ctx, box);
    ctx.fillStyle = near ? colours.accent : colours.quiet;
    ctx.font = EDGE_FONT;
    ctx.fillText(text, x, y);
  }
}
