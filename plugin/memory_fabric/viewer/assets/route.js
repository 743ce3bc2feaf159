// The address: #/view/name?query. It contains the filters, so that links carry them.

const VIEWS = ["timeline", "knowledge", "review", "graph", "search", "entity", "status"];
const FIRST_VIEW = "timeline";
const LONGEST_PATH = 300;

/** The place that a hash names. */
function placeOf(hash) {
  const [path, question = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, ...rest] = path.split("/");
  return {
    view: VIEWS.includes(view) ? view : FIRST_VIEW,
    name: decoded(rest.join("/")),
    params: new URLSearchParams(question),
  };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The day that a question names, as 2026-11-21; '' where there is no such day. */
function dateIn(params, key) {
  const date = params.get(key) ?? "";
  const time = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(date) : NaN;
  return !Number.isNaN(time) && dateOf(Math.floor(time / DAY_MS)) === date ? date : "";
}

/** The hash of a place, with the project and the filters; `params` overrides, null removes. */
function hashOf(view, name = "", params = {}) {
  const question = filterParams();
  if (current.project) question.set("project", current.project);
  if (view === "graph") for (const [key, value] of displayParams()) question.set(key, value);
  for (const [key, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === "") question.delete(key);
    else question.set(key, value);
  }
  return hashWith(view, name, question);
}

function hashWith(view, name, question) {
  const text = question.toString();
  return `#/${view}${name === "" ? "" : "/" + encodeURIComponent(name)}${text ? "?" + text : ""}`;
}

/** The name of an entity in a hash, or ~number where the name is too long or no text. */
function keyOf(entity) {
  const fits = entity.name && entity.name.length <= LONGEST_PATH && !/\p{Cs}/u.test(entity.name);
  return fits && !entity.name.startsWith("~") ? entity.name : `~${entity.i}`;
}

/** The entity that a hash names, or null. */
function entityOf(key) {
  if (/^~\d+$/.test(key)) return memory.entities[Number(key.slice(1))] ?? null;
  return memory.entities.find((e) => e.name === key) ?? memory.byName.get(folded(key)) ?? null;
}

/** The name of a node of the graph in a hash: an entity as everywhere, a record by its id. */
function nodeKey(node) {
  return node.record ? `~record-${node.record.short_id}` : keyOf(node);
}

/** The node that a hash names, or null. */
function nodeOf(key) {
  const [, id] = /^~record-(\w+)$/.exec(key) ?? [];
  if (!id) return key ? entityOf(key) : null;
  return memory.nodes.find((node) => node.record?.short_id === id) ?? null;
}

/**
 * Go there at once, so that the next key already finds what it is for; `replace` where going back
 * should not lead here again.
 */
function go(hash, replace = false) {
  closeNote();
  if (hash === location.hash) return arrive();
  if (replace) {
    history.replaceState(history.state, "", hash);
    return arrive();
  }
  noteDepth();
  depth += 1;
  history.pushState({ depth }, "", hash);
  arrive();
  return announce(document.title);
}

function entityLink(entity, attributes = {}) {
  return el(
    "a",
    { class: "entity", dir: "auto", href: hashOf("entity", keyOf(entity)), ...attributes },
    mark(entity.type),
    short(entity.name, 80) || "(no name)",
  );
}

function recordLink(record, text) {
  return el(
    "a",
    { class: "record-link", dir: "auto", href: hashOf("timeline", record.short_id) },
    text,
  );
}
