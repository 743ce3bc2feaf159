// The keyboard shortcuts. The help lists exactly these keys.

const KEYS = [
  [
    "/",
    "find",
    () => {
      byId("find").focus();
      byId("find").select();
    },
  ],
  ["t", "timeline", () => go(hashOf("timeline"))],
  ["g", "graph", () => go(hashOf("graph"))],
  ["s", "search", () => go(hashOf("search"))],
  ["i", "status", () => go(hashOf("status"))],
  ["r", "review", () => go(hashOf("review"))],
  ["u", "undo the last change; in the review at once what was just decided", undoKey],
  ["p", "projects", openProjects],
  ["j \u2193", "next in a list", () => step(1)],
  ["k \u2191", "previous in a list", () => step(-1)],
  ["Enter", "open what has the focus", null],
  ["a", "in the review: keep, or confirm, what has the focus; Enter, too", () => inReview() && reviewKey("a")],
  ["f", "focus on the selected entity, or leave the focus", focusKey],
  [
    "e",
    "expand the selected entity; in the review: change",
    () => (inReview() ? reviewKey("e") : expandKey()),
  ],
  ["1 2 3", "steps around the focused entity", null],
  ["+", "zoom in", () => inGraph() && zoomBy(1.5)],
  ["-", "zoom out", () => inGraph() && zoomBy(1 / 1.5)],
  ["0", "fit everything", () => inGraph() && fitScene(true)],
  ["arrows", "in the drawing: move the selection, or without one the drawing", null],
  ["l", "the graph as a list, or as a drawing", () => inGraph() && toggleDisplay("list")],
  ["v", "filters", () => openFilters(byId("filters").hidden)],
  ["d", "light or dark; in the review: drop", () => (inReview() ? reviewKey("d") : switchTheme())],
  ["Esc", "back", null],
  ["?", "these keys", showKeys],
];

function inGraph() {
  return (
    placeOf(location.hash).view === "graph" && Boolean(graph.force) && memory.nodes.length > 0
  );
}

function expandKey() {
  if (graph.state.selected >= 0 && inGraph()) expand(graph.state.selected);
}

function focusKey() {
  const place = placeOf(location.hash);
  const entity =
    place.view === "entity"
      ? entityOf(place.name)
      : inGraph()
        ? memory.nodes[graph.state.selected]
        : null;
  if (!entity) return announce("Select an entity first.");
  const focused = inGraph() && graph.scene.kind === "focus" && graph.scene.of === entity.i;
  return focused ? go(hashOf("graph", nodeKey(entity))) : focusOn(entity.i);
}

function keyPressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape") return escape(event);
  if (/^(input|select|textarea)$/i.test(event.target.tagName) || byId("keys").open) return;
  if (event.key.startsWith("Arrow")) return arrow(event);
  if (event.key === "Enter" && event.target.id === "canvas") return enterInGraph();
  if (event.key === "Enter" && event.target.matches(".due") && !event.repeat) reviewKey("a");
  if (/^[123]$/.test(event.key)) return stepsKey(Number(event.key));
  const wanted = event.key === "=" ? "+" : event.key;
  const row = KEYS.find(([keys, , f]) => f && keys.split(" ").includes(wanted));
  // A key that is held down decides once.
  if (!row || (event.repeat && inReview() && "adeu".includes(wanted))) return;
  event.preventDefault();
  row[2]();
}

function stepsKey(steps) {
  if (inGraph() && graph.state.selected >= 0) focusOn(graph.state.selected, steps);
}

const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

function arrow(event) {
  const [dx, dy] = ARROWS[event.key] ?? [0, 0];
  if (event.target.closest?.("#canvas") && graph.force) arrowInGraph(dx, dy, event);
  else if (dy && rows().length) step(dy);
  else return;
  event.preventDefault();
}

function rows() {
  return [...byId("main").querySelectorAll("[data-row], #panel li a")].filter(
    (row) => row.getClientRects().length,
  );
}

/** Move the focus in the list of the view. */
function step(by) {
  const all = rows();
  if (!all.length) return;
  const here = all.findIndex((row) => row.contains(document.activeElement));
  const next =
    all[
      here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + by))
    ];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function escape(event) {
  if (byId("keys").open) return;
  // The browser tells of a step only after it is made; a key may come between.
  noteDepth();
  if (!byId("projects").hidden) closeProjects();
  else if (!byId("found").hidden) closeSuggestions();
  else if (!byId("filters").hidden) openFilters(false);
  else if (event.target === byId("find")) byId("find").blur();
  else if (placeOf(location.hash).view === "graph") backOut();
  else if (depth > 0) history.back();
  else go(hashOf(FIRST_VIEW));
}

function showKeys() {
  const dialog = byId("keys");
  fill(
    dialog,
    el("h2", { id: "keys-title" }, "Keys"),
    el(
      "dl",
      { class: "keys" },
      KEYS.map(([keys, what]) =>
        el(
          "div",
          {},
          el(
            "dt",
            {},
            keys.split(" ").map((key) => el("kbd", {}, key)),
          ),
          el("dd", {}, what),
        ),
      ),
    ),
    el(
      "p",
      { class: "quiet" },
      "In the drawing: a click selects, a double click expands, dragging an entity pins it, ",
      "the wheel zooms.",
    ),
    el("form", { method: "dialog" }, el("button", { class: "plain-button strong" }, "Close")),
  );
  dialog.showModal();
}
