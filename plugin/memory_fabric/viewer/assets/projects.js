// The project that the page shows. A live page can show each project of its server's home.

/**
 * The one statement of the project in use: its id, or "" for the project that is served. It stands
 * in the address (`project=ID`), and every request carries it (`ofProject`).
 */
const current = { project: "" };

/** The project that a place names, "" for the one that is served. */
function projectIn(place) {
  return place.params.get("project") ?? "";
}

/** The path of a request, with the project in use. */
function ofProject(path) {
  if (!current.project) return path;
  return `${path}${path.includes("?") ? "&" : "?"}project=${encodeURIComponent(current.project)}`;
}

/** Read the memory of the project that a place names, and show the place. */
async function changeProject(place) {
  current.project = projectIn(place);
  fill(byId("main"), el("p", { class: "nothing", role: "status" }, "Reading\u2026"));
  await readAgain();
}
