// The page's model: finds names, and joins relations and records to their entities.

const TRUSTS = table({
  user: "said by you",
  assistant: "said by the assistant",
  tool: "reported by a tool",
  foreign: "from elsewhere",
  "": "nothing said yet",
});

/** Who said it: of others' words the colleague, of unconfirmed imports the program they are from. */
function speakerOf({ trust, imported, author }) {
  const from = { tool: imported, foreign: author }[trust];
  if (from) return `from ${short(from, 40)}`;
  return TRUSTS[trust ?? ""] ?? trust;
}

const DAY_MS = 86400000;
const dayFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});
const monthFormat = new Intl.DateTimeFormat("en-GB", {
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});

// Beginnings of reasons that need no "because", as in models.py.
const LED_IN = /^(instead: |because |to |so |in order |due to |since |for )/i;

/** The memory of a picture. Entities carry their number `i`, `out`, `into`, `records`, `weight`. */
function modelled(picture) {
  const entities = (picture.entities ?? []).map((entity, i) => ({
    aliases: [],
    observations: [],
    ...entity,
    i,
    out: [],
    into: [],
    said: [],
  }));
  const relations = (picture.relations ?? []).filter((r) => entities[r.from] && entities[r.to]);
  for (const relation of relations) {
    entities[relation.from].out.push(relation);
    // What is said of itself is one relation, not two.
    if (relation.to !== relation.from) entities[relation.to].into.push(relation);
  }
  const records = (picture.records ?? []).map((record) => ({
    alternatives: [],
    entities: [],
    worded: record.what,
    ...record,
    replaces: [],
  }));
  const byRecord = new Map(records.map((record) => [record.id, record]));
  for (const record of records) {
    byRecord.get(record.superseded_by)?.replaces.push(record);
    for (const i of record.entities) entities[i]?.said.push(record);
  }
  for (const record of records) record.held_until = heldUntil(record, byRecord);
  for (const relation of relations)
    relation.over = Boolean(byRecord.get(relation.record)?.superseded_by);
  for (const entity of entities) {
    entity.degree = entity.out.length + entity.into.length;
    entity.weight = entity.degree + entity.observations.length + 2 * entity.said.length;
  }
  const made = Date.parse(picture.made_at) || Date.now();
  const { nodes, links } = withRecords(entities, records, made);
  return {
    picture,
    entities,
    nodes,
    links,
    relations,
    records,
    byRecord,
    made,
    changes: picture.changes ?? [],
    tiers: picture.tiers ?? [],
    leftOut: picture.left_out ?? {},
    project: picture.project?.name || "",
    byName: named(entities),
    byImportance: byImportance(entities, made),
    nodesByImportance: byImportance(nodes, made),
    live: Boolean(picture.live),
  };
}

/**
 * The nodes of the graph: the entities, then the records that stand, numbered on. `links` lead from
 * a record to the entities that it names, in the form of relations; each node has its own.
 */
function withRecords(entities, records, made) {
  const nodes = [...entities];
  const links = [];
  for (const entity of entities) entity.links = [];
  for (const record of records) {
    const isPast = record.superseded_by || Date.parse(record.held_until) <= made;
    if (record.type === "session" || isPast) continue;
    const i = nodes.length;
    const ends = record.entities.filter((to) => entities[to]);
    const mine = ends.map((to) => ({ from: i, to, type: "about", isLink: true }));
    for (const link of mine) entities[link.to].links.push(link);
    links.push(...mine);
    nodes.push({
      ...{ i, record, name: record.what, type: record.type, trust: record.trust, at: record.at },
      ...{ stale: record.stale, out: [], into: [], links: mine },
      ...{ degree: mine.length, weight: 1 + mine.length + (record.pinned ? 4 : 0) },
    });
  }
  return { nodes, links };
}

/** When a record stopped holding: its own end, else the birth of what replaced it, else ''. */
function heldUntil(record, byRecord) {
  if (record.valid_to) return record.valid_to;
  return record.superseded_by ? (byRecord.get(record.superseded_by)?.at ?? record.at) : "";
}

/** True if a record held at a moment. */
function heldAt(record, at) {
  return (record.valid_from || record.at) <= at && (!record.held_until || record.held_until > at);
}

/** The word before a reason: a lesson says itself what it is. */
function leadOf(why) {
  return LED_IN.test(why) ? "" : "because ";
}

/** The reason of a record; '' where its words hold it already. */
function reasonOf({ worded, why }) {
  const plainly = (text) => String(text ?? "").toLowerCase().replace(/[\s.]+/g, " ").trim();
  return plainly(worded).includes(plainly(why)) ? "" : why;
}

/** True if a newer record has taken its place, or its time is over. */
function isOver(record) {
  return (
    Boolean(record.superseded_by) ||
    (Boolean(record.held_until) && Date.parse(record.held_until) <= memory.made)
  );
}

function named(entities) {
  const names = new Map();
  for (const entity of entities)
    for (const alias of entity.aliases) names.set(folded(alias), entity);
  for (const entity of entities) names.set(folded(entity.name), entity);
  return names;
}

/** Numbers of entities or nodes, what is best known and newest first. */
function byImportance(entities, made) {
  const worth = entities.map((e) => {
    const age = (made - Date.parse(e.at)) / DAY_MS;
    return (
      e.weight + (e.type === "project" ? 5 : 0) + (age >= 0 ? 3 * Math.max(0, 1 - age / 60) : 0)
    );
  });
  return entities.map((e) => e.i).sort((a, b) => worth[b] - worth[a] || a - b);
}

/** The key under which variants of a name meet: case, `-`, `_` and spaces do not count. */
function folded(text) {
  const name = String(text);
  return name.toLowerCase().replace(/[ \t\n\r_-]/g, "") || name;
}

/** Nodes of a neighbourhood: number to how many steps away it is. */
function neighbourhood(start, steps, wanted = () => true) {
  const found = new Map([[start, 0]]);
  let edge = [start];
  for (let step = 1; step <= steps; step += 1) {
    const next = [];
    for (const i of edge)
      for (const j of neighbours(i)) {
        if (found.has(j) || !wanted(j)) continue;
        found.set(j, step);
        next.push(j);
      }
    edge = next;
  }
  return found;
}

/** The nodes that one is connected with: entities by relations, records and entities by naming. */
function neighbours(i) {
  const { out, into, links } = memory.nodes[i];
  const near = [...out.map((r) => r.to), ...into.map((r) => r.from)];
  if (graph.shows.records)
    for (const link of links) near.push(link.from === i ? link.to : link.from);
  return near;
}

function day(at) {
  const time = Date.parse(at);
  return Number.isNaN(time) ? "no date" : dayFormat.format(time);
}

function month(at) {
  const time = Date.parse(at);
  return Number.isNaN(time) ? "Without a date" : monthFormat.format(time);
}

/** The time since then in words, seen from when the picture was made. */
function ago(at) {
  const days = (memory.made - Date.parse(at)) / DAY_MS;
  if (Number.isNaN(days)) return "at an unknown time";
  if (days < -1) return "dated in the future";
  if (days < 1 / 24) return "within the hour";
  if (days < 1) return `${many(Math.floor(days * 24), "hour")} ago`;
  if (days < 45) return `${many(Math.floor(days), "day")} ago`;
  if (days < 730) return `${many(Math.round(days / 30.44), "month")} ago`;
  return `${many(Math.round(days / 365.25), "year")} ago`;
}

function when(at) {
  return at ? el("time", { datetime: at, title: at }, day(at)) : el("span", {}, "no date");
}
