// The project that the page shows. A live page can show each project of its server's home.

const MANY_PROJECTS = 9;

/**
 * The one statement of the project in use: its id, or "" for the project that is served. It stands
 * in the address (`project=ID`), and every request carries it (`ofProject`). `list` holds the
 * projects as the server listed them, `proposals` the candidates of all of them, `served` the id of
 * the one without `project=`. A page that holds its memory itself, as a file does, has no server to
 * ask (`asks`).
 */
const current = { project: "", list: [], proposals: [], served: "", asks: false };

/** The project that a place names, "" for the one that is served. */
function projectIn(place) {
  return place.params.get("project") ?? "";
}

/** The path of a request, with the project in use. */
function ofProject(path) {
  if (!current.project || path.includes("project=")) return path;
  return `${path}${path.includes("?") ? "&" : "?"}project=${encodeURIComponent(current.project)}`;
}

/** Read the memory of the project that a place names, and show the place. */
async function changeProject(place) {
  current.project = projectIn(place);
  closeProjects();
  closeNote();
  nameProject();
  hideGraph();
  byId("chips").hidden = true;
  fill(byId("main"), el("p", { class: "nothing", role: "status" }, "Reading\u2026"));
  const picture = await newestPicture();
  if (!picture) return undefined;
  if (picture.error) return showUnread(picture.error);
  takeMemory(picture);
  nameProject();
  if (!byId("project").hidden) byId("project").focus();
  return announce(`Project ${memory.project}: ${many(memory.records.length, "record")}.`);
}

/** Say why a project's memory cannot be read, and where to go from here. */
function showUnread(error) {
  const elsewhere = current.project && el("a", { href: `#/${FIRST_VIEW}`, id: "served" });
  if (elsewhere) fill(elsewhere, "Show the project that is served");
  const where = elsewhere && el("p", { class: "quiet" }, elsewhere);
  fill(byId("main"), el("section", { class: "column" }, problem(error), where));
  if (!memory) addEventListener("hashchange", () => location.reload(), { once: true });
}

// The switcher in the bar

/** Show the project's name in the bar, and the list of others behind it if there are any. */
function makeSwitcher() {
  byId("project").addEventListener("click", openProjects);
  byId("projects").addEventListener("keydown", projectKey);
  byId("switcher").addEventListener("focusout", (event) => {
    if (event.relatedTarget && !byId("switcher").contains(event.relatedTarget)) closeProjects();
  });
  addEventListener("pointerdown", (event) => {
    if (!byId("switcher").contains(event.target)) closeProjects();
  });
  nameProject();
  if (current.asks) listProjects();
}

/** Ask the server for its projects; a server without a list shows one project. */
async function listProjects() {
  const shown = JSON.stringify(current.proposals);
  if (!(await readProjects())) return;
  nameProject();
  if (JSON.stringify(current.proposals) !== shown) showProposals();
  if (!byId("projects").hidden) fillProjects(byId("project-filter")?.value ?? "");
}

/** Take the projects and their candidates as they are now; false where there is no list. */
async function readProjects() {
  const { projects: list, proposals = [], served = "" } = await fetched("api/projects");
  if (!Array.isArray(list)) return false;
  Object.assign(current, { list, proposals, served });
  return true;
}

/** Show how much waits in other projects, without taking the focus. */
function showProposals() {
  pointToReview();
  if (!inReview()) return;
  const { item, act: name } = document.activeElement?.dataset ?? {};
  showReview();
  const where = item ? `[data-item="${CSS.escape(item)}"]` : `[data-act="${CSS.escape(name ?? "")}"]`;
  byId("main").querySelector(where)?.focus();
}

function nameProject() {
  const button = byId("project");
  const listed = current.list.find((one) => one.id === (current.project || current.served));
  const name = (memory.of === current.project && memory.project) || listed?.name || "";
  button.hidden = !current.list.some((one) => one.id !== listed?.id);
  fill(byId("brand").querySelector("span"), button.hidden && (short(name, 24) || "memory"));
  button.setAttribute("aria-label", `Project ${short(name, 60)}: change`);
  const path = svg("path", { d: "m2.5 4.5 3.5 3.5 3.5-3.5" });
  fill(
    button,
    el("span", { dir: "auto" }, short(name, 24) || "another project"),
    svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, path),
  );
}

async function openProjects() {
  // A key may come before the server's first answer.
  if (byId("project").hidden && current.asks) await listProjects();
  if (byId("project").hidden) return announce("No other project of this machine has a memory.");
  if (!byId("projects").hidden) return closeProjects();
  byId("projects").hidden = false;
  byId("project").setAttribute("aria-expanded", "true");
  fillProjects("");
  listProjects();
  const first = byId("project-filter") ?? byId("projects").querySelector("[aria-current]");
  return (first ?? byId("projects").querySelector("a"))?.focus();
}

function closeProjects() {
  const box = byId("projects");
  if (box.hidden) return;
  const held = box.contains(document.activeElement);
  box.hidden = true;
  byId("project").setAttribute("aria-expanded", "false");
  if (held) byId("project").focus();
}

/** List the projects whose name or folder holds what was typed. */
function fillProjects(typed) {
  const focused = document.activeElement?.dataset?.project;
  const wanted = typed.trim().toLowerCase();
  const fits = ({ name, folder }) => `${name}\n${folder}`.toLowerCase().includes(wanted);
  const found = current.list.filter(fits);
  const rows = found.length
    ? found.map(projectRow)
    : el("li", { class: "quiet" }, `No project is called ${short(typed, 40)}.`);
  if (!byId("project-rows"))
    fill(
      byId("projects"),
      current.list.length >= MANY_PROJECTS && projectFilter(),
      el("ul", { id: "project-rows", class: "plain-list" }),
    );
  fill(byId("project-rows"), rows);
  if (focused) byId("projects").querySelector(`[data-project="${CSS.escape(focused)}"]`)?.focus();
}

function projectFilter() {
  return el("input", {
    id: "project-filter",
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Find a project",
    "aria-label": "Find a project",
    on: { input: (event) => fillProjects(event.target.value) },
  });
}

function projectRow(one) {
  const isServed = one.id === current.served;
  const isHere = one.id === (current.project || current.served);
  const view = ["graph", "search", "status"].find((v) => v === placeOf(location.hash).view);
  const question = new URLSearchParams(isServed ? {} : { project: one.id });
  const amount = one.readable ? many(one.records, "record") : "cannot be read";
  return el(
    "li",
    {},
    el(
      "a",
      {
        href: hashWith(view ?? FIRST_VIEW, "", question),
        "data-project": one.id,
        "aria-current": isHere && "true",
        on: { click: closeProjects },
      },
      el("strong", { dir: "auto" }, short(one.name, 60)),
      el(
        "span",
        { class: "quiet" },
        `${amount}${one.changed_at ? ` \u00b7 ${ago(one.changed_at)}` : ""}`,
      ),
      one.folder && el("span", { class: "quiet folder" }, short(one.folder, 120)),
    ),
  );
}

/** Arrows, Home and End move in the list; typing goes on in its field. */
function projectKey(event) {
  const rows = [...byId("projects").querySelectorAll("#project-filter, a")];
  const here = rows.indexOf(document.activeElement);
  const next = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: rows.length - 1 }[event.key];
  const isTyping = document.activeElement?.id === "project-filter";
  if (event.key === "Enter" && isTyping) byId("projects").querySelector("a")?.click();
  else if (next === undefined || (isTyping && /Home|End/.test(event.key))) return;
  else rows[Math.min(rows.length - 1, Math.max(0, next))].focus();
  event.preventDefault();
}
