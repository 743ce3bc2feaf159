// Start of the page: reads the memory, follows the address, and reports when it is ready.

const SHOW = {
  graph: showGraph,
  timeline: showTimeline,
  knowledge: showKnowledge,
  search: showSearch,
  entity: showEntity,
  status: showStatus,
  review: showReview,
};
const TABS = [
  ["timeline", "Timeline"],
  ["knowledge", "Knowledge"],
  ["review", "Review"],
  ["graph", "Graph"],
  ["search", "Search"],
  ["status", "Status"],
];

let memory = null;
let isReady = false;
// How many steps back stay within the page; the browser keeps it with each of them.
let depth = 0;
let readings = 0;

/** Values of the page that tests and measurements may read. */
Object.defineProperty(window, "memoryFabric", {
  value: Object.freeze({
    get ready() {
      return isReady;
    },
    get view() {
      return placeOf(location.hash).view;
    },
    get drawn() {
      return graph.drawn.spots.length;
    },
    get edges() {
      return graph.drawn.edges.length;
    },
    get frames() {
      return graph.frames;
    },
    get scene() {
      return graph.scene?.kind ?? "";
    },
    get zoom() {
      return graph.force?.zoom() ?? 0;
    },
    /** The place of an entity of the scene in the window, or null. */
    spot(name) {
      const spot = graph.scene?.spots.find(
        (s) => memory.nodes[s.i].name === name && s.x !== undefined,
      );
      if (!spot) return null;
      const box = graph.box.querySelector("#canvas").getBoundingClientRect();
      const { x, y } = graph.force.graph2ScreenCoords(spot.x, spot.y);
      return { x: box.left + x, y: box.top + y };
    },
  }),
});

/** The view stands and can be used; the graph: its forces rest. */
function ready() {
  isReady =
    memory.nodes.length === 0 ||
    placeOf(location.hash).view !== "graph" ||
    Boolean(graph.scene?.settled);
  document.body.toggleAttribute("data-ready", isReady);
}

function arrive() {
  const place = placeOf(location.hash);
  isReady = false;
  document.body.removeAttribute("data-ready");
  if (current.asks && projectIn(place) !== memory.of) return changeProject(place);
  readFilters(place.params);
  for (const [view] of TABS) byId(`tab-${view}`)?.toggleAttribute("aria-current", false);
  byId(`tab-${place.view}`)?.setAttribute("aria-current", "page");
  document.body.dataset.view = place.view;
  if (place.view !== "graph") hideGraph();
  if (place.view !== "search") byId("find").value = "";
  showTabs();
  showFilters();
  SHOW[place.view](place);
  pointToReview();
  if (!place.name && place.view !== "graph") scrollTo(0, 0);
  document.title = titleOf(place);
  if (place.view === "graph") ready();
  return undefined;
}

function titleOf(place) {
  const what = place.name
    ? short((place.view === "graph" && nodeOf(place.name)?.name) || place.name, 60)
    : (TABS.find(([view]) => view === place.view)?.[1] ?? "Memory");
  return `${what} \u00b7 ${memory.project ? short(memory.project, 40) + " \u00b7 " : ""}memory`;
}

function showTabs() {
  for (const [view] of TABS) byId(`tab-${view}`).href = hashOf(view);
  byId("brand").href = hashOf(FIRST_VIEW);
}

function makeBar() {
  const icons = {
    graph: "M3.5 12 8 4l4.5 8zM8 4v0",
    knowledge: "M8 3.5C6.5 2.6 4.5 2.4 2 2.6v10c2.5-.2 4.5 0 6 .9 1.5-.9 3.5-1.1 6-.9v-10c-2.5-.2-4.5 0-6 .9v10",
    timeline: "M3 2.5v11M3 4h9M3 8h7M3 12h10",
    search: "M7 2.6a4.4 4.4 0 1 0 0 8.8 4.4 4.4 0 0 0 0-8.8M10.4 10.4l3.4 3.4",
    status: "M1.5 8.5h3l2-5 3 9 2-4h3",
    review: "M2 4.5 3.5 6 6 3M2 11l1.5 1.5L6 9.5M8.5 4.5H14M8.5 11H14",
  };
  fill(
    byId("tabs"),
    TABS.map(([view, word]) =>
      el(
        "a",
        { id: `tab-${view}`, href: `#/${view}` },
        svg(
          "svg",
          { viewBox: "0 0 16 16", "aria-hidden": "true" },
          svg("path", { d: icons[view] }),
        ),
        el("span", {}, word),
      ),
    ),
  );
  fill(
    byId("brand"),
    svg(
      "svg",
      { viewBox: "0 0 32 32", "aria-hidden": "true" },
      svg("path", { d: "M8 22 16 8l9 13M8 22h17" }),
      svg("circle", { cx: "16", cy: "8", r: "4.5" }),
      svg("circle", { cx: "8", cy: "22", r: "4.5" }),
      svg("circle", { cx: "25", cy: "21.5", r: "4.5" }),
    ),
    el("span", {}),
  );
  makeUndoButton();
  makeSwitcher();
  byId("bar").hidden = false;
  if (memory.live)
    byId("help").before(
      el(
        "button",
        {
          type: "button",
          id: "again",
          title: "Read memory again",
          "aria-label": "Read memory again",
          on: { click: readAgain },
        },
        svg(
          "svg",
          { viewBox: "0 0 16 16", "aria-hidden": "true" },
          svg("path", { d: "M13.5 8a5.5 5.5 0 1 1-1.6-3.9M13.5 1.5v3h-3" }),
        ),
      ),
    );
}

/** Take the memory as it is now; of several readings under way the newest counts. */
async function readAgain() {
  const picture = await newestPicture();
  if (!picture) return undefined;
  byId("unread")?.remove();
  if (picture.error) {
    byId("main").prepend(el("div", { id: "unread" }, problem(picture.error)));
    return undefined;
  }
  takeMemory(picture);
  return announce("Memory was read again.");
}

/** The memory of the project in use; null if another reading began meanwhile. */
async function newestPicture() {
  const mine = (readings += 1);
  const picture = await fetchedPicture();
  return mine === readings ? picture : null;
}

/** Show the place with this memory. */
function takeMemory(picture) {
  memory = Object.assign(modelled(picture), { of: current.project });
  Object.assign(graph, { scene: null, overview: null, opened: [] });
  arrive();
}

/** A place that is new has no depth yet: it is one step further. */
function noteDepth() {
  if (typeof history.state?.depth !== "number")
    history.replaceState({ depth: depth + 1 }, "", location.hash);
  depth = history.state.depth;
}

function listen() {
  addEventListener("hashchange", () => {
    noteDepth();
    closeNote();
    arrive();
    announce(document.title);
  });
  addEventListener("keydown", keyPressed);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("main").focus();
  });
  byId("theme").addEventListener("click", switchTheme);
  byId("help").addEventListener("click", showKeys);
  byId("filter").addEventListener("click", () => openFilters(byId("filters").hidden));
  dark.addEventListener("change", () => chosenTheme() ?? takeTheme());
  listenToSearchBox();
}

async function begin() {
  const embedded = JSON.parse(byId("memory").textContent);
  takeTheme();
  current.asks = Boolean(embedded.live && !embedded.entities);
  if (current.asks) current.project = projectIn(placeOf(location.hash));
  const picture = current.asks ? await fetchedPicture() : embedded;
  if (picture.error) return showUnread(picture.error);
  memory = Object.assign(modelled(picture), { of: current.project });
  makeBar();
  listen();
  depth = history.state?.depth ?? 0;
  history.replaceState({ depth }, "");
  const focus = !location.hash && memory.entities.find((e) => e.name === picture.focus);
  if (focus) history.replaceState({ depth }, "", hashOf("graph", keyOf(focus), { steps: 1 }));
  return arrive();
}

begin();
