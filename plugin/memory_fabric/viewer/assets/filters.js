// Filter the memory. A filter of entities keeps the records about them, and vice versa.

const FILTERS = [
  {
    key: "type",
    title: "Entities that are",
    of: () => counted(memory.entities.map((e) => e.type || "unknown")),
    typed: true,
  },
  {
    key: "record",
    title: "Records that are",
    of: () => counted(memory.records.map((r) => r.type)),
    typed: true,
    words: WORDS,
  },
  {
    key: "domain",
    title: "Domain",
    of: () => counted([...memory.entities, ...memory.records].map((x) => x.domain || "general")),
  },
  {
    key: "scope",
    title: "Scope",
    of: () =>
      counted([...memory.entities.flatMap(scopesOf), ...memory.records.map((r) => r.scope)]),
  },
  {
    key: "trust",
    title: "Said by",
    of: () => counted([...memory.entities, ...memory.records].map(trustOf)),
    words: table({
      user: "you",
      assistant: "the assistant",
      tool: "a tool",
      foreign: "elsewhere",
      none: "nobody yet",
    }),
  },
  {
    key: "age",
    title: "Freshness",
    of: () => [
      ["fresh", null],
      ["stale", null],
    ],
  },
];
const CHOICE_KEYS = FILTERS.map((f) => f.key);
const DATE_KEYS = ["since", "until"];
let filters = emptyFilters();
let kept = { entities: [], records: [], entity: new Uint8Array(0) };

function emptyFilters() {
  return {
    ...Object.fromEntries(CHOICE_KEYS.map((key) => [key, new Set()])),
    since: "",
    until: "",
  };
}

function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function trustOf(x) {
  return x.trust || "none";
}

function scopesOf(entity) {
  return entity.scope === "both" ? ["team", "user"] : [entity.scope || "team"];
}

/** Read the filters of a place and find out what they keep. */
function readFilters(params) {
  const found = emptyFilters();
  for (const key of CHOICE_KEYS)
    for (const value of params.getAll(key)) if (value) found[key].add(value);
  for (const key of DATE_KEYS)
    found[key] = dateIn(params, key);
  const same =
    kept.of === memory && JSON.stringify(plain(found)) === JSON.stringify(plain(filters));
  filters = found;
  if (!same) kept = keep();
}

function plain(some) {
  return Object.entries(some).map(([key, value]) => [
    key,
    value instanceof Set ? [...value].sort() : value,
  ]);
}

function filterParams(some = filters) {
  const params = new URLSearchParams();
  for (const [key, value] of plain(some))
    for (const one of Array.isArray(value) ? value : [value]) if (one) params.append(key, one);
  return params;
}

function filterCount() {
  return plain(filters).reduce(
    (sum, [, value]) => sum + (Array.isArray(value) ? value.length : value ? 1 : 0),
    0,
  );
}

function keep() {
  const entities = memory.entities.filter(keepsEntity);
  // By the number of a node: of an entity, or of a record in the graph.
  const entity = new Uint8Array(memory.nodes.length);
  for (const e of entities) entity[e.i] = 1;
  for (const node of memory.nodes) if (node.record && keepsRecord(node.record)) entity[node.i] = 1;
  return { of: memory, entities, entity, records: memory.records.filter(keepsRecord) };
}

function keepsEntity(e) {
  return (
    has("type", e.type || "unknown") &&
    has("domain", e.domain || "general") &&
    has("trust", trustOf(e)) &&
    (!filters.scope.size ||
      [...scopesOf(e), ...e.said.map((r) => r.scope)].some((s) => filters.scope.has(s))) &&
    (!filters.record.size || e.said.some((r) => filters.record.has(r.type))) &&
    inTime(e)
  );
}

function keepsRecord(r) {
  return (
    has("record", r.type) &&
    has("domain", r.domain || "general") &&
    has("trust", trustOf(r)) &&
    has("scope", r.scope) &&
    (!filters.type.size ||
      r.entities.some((i) => filters.type.has(memory.entities[i]?.type || "unknown"))) &&
    inTime(r)
  );
}

function has(key, value) {
  return !filters[key].size || filters[key].has(value);
}

function inTime(x) {
  const date = (x.at || "").slice(0, 10);
  return (
    has("age", x.stale ? "stale" : "fresh") &&
    (!filters.since || (date && date >= filters.since)) &&
    (!filters.until || (date && date <= filters.until))
  );
}

/** Filters with one value turned on or off. */
function toggled(key, value) {
  const next = { ...filters, [key]: DATE_KEYS.includes(key) ? value : new Set(filters[key]) };
  if (next[key] instanceof Set && !next[key].delete(value)) next[key].add(value);
  return next;
}

/** Stay at the place, with other filters. */
function applyFilters(next) {
  const { view, name, params } = placeOf(location.hash);
  const own = [...params].filter(([key]) => !CHOICE_KEYS.includes(key) && !DATE_KEYS.includes(key));
  const question = filterParams(next);
  for (const [key, value] of own) question.append(key, value);
  go(hashWith(view, name, question));
}

function clearFilters() {
  applyFilters(emptyFilters());
}
