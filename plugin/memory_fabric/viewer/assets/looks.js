// The looks of types: each has a colour and a shape, so that neither is needed alone.

const RECORD_LOOKS = table({
  decision: "diamond",
  pattern: "hexagon",
  preference: "drop",
  blocker: "triangle",
  antipattern: "down",
  constraint: "square",
  problem: "triangle",
  solution: "circle",
  question: "drop",
  note: "circle",
  session: "cross",
});
const LOOKS = table({
  ...RECORD_LOOKS,
  project: "star",
  technology: "circle",
  component: "square",
  tool: "cross",
  agent: "pentagon",
  person: "pentagon",
  organisation: "hexagon",
  place: "drop",
  goal: "star",
  unknown: "circle",
});
// The words under which people read a type.
const WORDS = table({ constraint: "rule", note: "fact", solution: "fix" });
const OTHERS = 4;
const strangers = new Map();

/** Colour variable and shape of a type; unknown types share four looks. */
function look(type) {
  const name = String(type || "unknown").toLowerCase();
  if (LOOKS[name]) return { name, colour: `--t-${name}`, shape: LOOKS[name] };
  if (!strangers.has(name)) strangers.set(name, strangers.size % OTHERS);
  const other = strangers.get(name);
  return {
    name,
    colour: `--t-other${other}`,
    shape: ["pentagon", "square", "diamond", "hexagon"][other],
  };
}

/** The corners of a shape around 0,0, in units of its radius; null for a circle. */
const CORNERS = {
  circle: null,
  square: [
    [-0.82, -0.82],
    [0.82, -0.82],
    [0.82, 0.82],
    [-0.82, 0.82],
  ],
  diamond: [
    [0, -1.15],
    [1.15, 0],
    [0, 1.15],
    [-1.15, 0],
  ],
  triangle: [
    [0, -1.1],
    [1.05, 0.8],
    [-1.05, 0.8],
  ],
  down: [
    [0, 1.1],
    [1.05, -0.8],
    [-1.05, -0.8],
  ],
  hexagon: around(6, 1.05, 0),
  pentagon: around(5, 1.08, -Math.PI / 2),
  star: around(10, 1.25, -Math.PI / 2, 0.58),
  drop: [
    [0, -1.2],
    [0.8, 0],
    [0.62, 0.75],
    [0, 1],
    [-0.62, 0.75],
    [-0.8, 0],
  ],
  cross: [
    [-0.42, -1.05],
    [0.42, -1.05],
    [0.42, -0.42],
    [1.05, -0.42],
    [1.05, 0.42],
    [0.42, 0.42],
    [0.42, 1.05],
    [-0.42, 1.05],
    [-0.42, 0.42],
    [-1.05, 0.42],
    [-1.05, -0.42],
    [-0.42, -0.42],
  ],
};

function around(corners, radius, turn, inner = 1) {
  return Array.from({ length: corners }, (_, i) => {
    const r = i % 2 ? radius * inner : radius;
    const angle = turn + (2 * Math.PI * i) / corners;
    return [r * Math.cos(angle), r * Math.sin(angle)];
  });
}

/** The small drawing of a type that stands before its name. */
function mark(type) {
  const { colour, shape } = look(type);
  const corners = CORNERS[shape];
  const form = corners
    ? svg("polygon", {
        points: corners.map(([x, y]) => `${(x * 5).toFixed(2)},${(y * 5).toFixed(2)}`).join(" "),
      })
    : svg("circle", { r: "5" });
  const drawing = svg(
    "svg",
    { viewBox: "-7 -7 14 14", class: "mark", "aria-hidden": "true" },
    form,
  );
  drawing.style.setProperty("fill", `var(${colour})`);
  return drawing;
}

function typeLabel(type) {
  return el("span", { class: "type" }, mark(type), short(WORDS[type] ?? (type || "unknown"), 40));
}
