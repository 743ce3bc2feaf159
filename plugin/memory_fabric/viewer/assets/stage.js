// The frame around the graph: the legend, the number of drawn elements, and messages.

function graphFrame() {
  const button = (id, text, label, f) =>
    el("button", { type: "button", id, title: label, "aria-label": label, on: { click: f } }, text);
  return el(
    "div",
    { class: "graph" },
    el(
      "div",
      { class: "stage", id: "stage" },
      el("div", {
        id: "canvas",
        class: "canvas",
        role: "img",
        "aria-label": "Drawing of the graph. The list beside it has the same as links.",
        tabindex: "0",
      }),
      el("div", {
        class: "legend",
        id: "legend",
        role: "group",
        "aria-label": "Types: press to show only these",
      }),
      el(
        "div",
        { class: "zooms", role: "group", "aria-label": "Zoom" },
        button("zoom-in", "+", "Zoom in (+)", () => zoomBy(1.5)),
        button("zoom-out", "\u2212", "Zoom out (-)", () => zoomBy(1 / 1.5)),
        button("fit", "\u2922", "Fit everything (0)", () => fitScene(true)),
      ),
      el("p", { class: "drawn", id: "drawn" }),
      el("div", { id: "stage-note", hidden: true }),
    ),
    el("aside", { class: "panel", id: "panel", "aria-label": "What is selected" }),
  );
}

function sayDrawn() {
  const { spots, all, shown: drawable } = graph.drawn;
  const whole = graph.scene.kind === "focus" ? graph.scene.found : all;
  const more =
    drawable < all
      ? " \u00b7 zoom in for more"
      : spots.length < drawable
        ? " \u00b7 the rest is outside the view"
        : "";
  const entities = many(whole, "entity", "entities");
  const text = `${spots.length.toLocaleString("en")} of ${entities} drawn${more}`;
  const line = graph.box.querySelector("#drawn");
  if (line.textContent !== text) line.textContent = text;
}

function showLegend() {
  const counts = counted(
    graph.scene.spots
      .filter((s) => kept.entity[s.i] || filters.type.size)
      .map((s) => memory.entities[s.i].type || "unknown"),
  );
  const types = counts.slice(0, 14);
  fill(
    graph.box.querySelector("#legend"),
    el(
      "details",
      { open: innerWidth > 700 },
      el("summary", {}, "Legend"),
      types.map(([type, count]) =>
        el(
          "button",
          {
            type: "button",
            class: "choice",
            "data-type": type,
            "aria-pressed": String(filters.type.has(type)),
            on: { click: () => applyFilters(toggled("type", type)) },
          },
          mark(type),
          short(type, 24),
          el("span", { class: "quiet" }, " " + count.toLocaleString("en")),
        ),
      ),
      el(
        "p",
        { class: "signs" },
        sign("u"),
        "you said it ",
        sign("a"),
        "the assistant ",
        sign("h"),
        "others ",
        sign("s"),
        "stale",
      ),
    ),
  );
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
