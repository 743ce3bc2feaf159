// The entity view: its type, observations, relations and their sources.

const MOST_CHANGES = 60;
const MOST_RELATIONS = 500;
const MOST_RECORDS = 200;
const SCOPES = table({
  both: "this project and yours everywhere",
  team: "this project",
  user: "yours, in every project",
});

function showEntity(place) {
  const entity = entityOf(place.name);
  if (!entity) return showMissing(place.name);
  const history = el("ul", { class: "plain-list", id: "history" });
  const href = hashOf("graph", keyOf(entity), { steps: 1 });
  const inGraph = { class: "plain-button strong", id: "show-in-graph", href };
  const page = el(
    "article",
    { class: "column entity-page" },
    p("over", typeLabel(entity.type), staleMark(entity)),
    el("h1", { dir: "auto", class: "full-name" }, entity.name || "(no name)"),
    entityFacts(entity),
    el("div", { class: "acts" }, el("a", inGraph, "Show in the graph"), entityActions(entity)),
    !kept.entity[entity.i] &&
      p("notice", "This entity does not pass the filters in force. ", clearButton()),
    observationsOf(entity),
    relationsOf(entity),
    recordsOf(entity),
    el("h2", {}, "History"),
    history,
  );
  fill(byId("main"), page);
  showHistory(entity, history);
  ready();
  return undefined;
}

function observationsOf(entity) {
  const { observations } = entity;
  const rows = observations.map((observation) => observationRow(observation, entity));
  const list = el("ul", { class: "rows observations" }, rows);
  return section("What is known", observations.length, list, "Nothing has been said of it yet.");
}

function recordsOf({ said }) {
  const more = said.length - MOST_RECORDS;
  const list = el(
    "div",
    {},
    said.slice(0, MOST_RECORDS).map((record) => recordCard(record)),
    more > 0 && p("quiet", `and ${more.toLocaleString("en")} more`),
  );
  return section("Records", said.length, list, "No record names it.");
}

function showMissing(name) {
  fill(
    byId("main"),
    el(
      "section",
      { class: "column" },
      el(
        "div",
        { class: "nothing" },
        el("h1", {}, "Not here"),
        el(
          "p",
          { dir: "auto" },
          `Nothing in this picture is called \u201c${short(name, 120)}\u201d.`,
        ),
        el("p", {}, el("a", { href: hashOf("search", "", { q: name }) }, "Search for it")),
      ),
    ),
  );
  ready();
}

function section(title, count, body, without) {
  return [
    el(
      "h2",
      {},
      title,
      " ",
      count > 0 && el("span", { class: "quiet" }, count.toLocaleString("en")),
    ),
    count > 0 ? body : el("p", { class: "quiet" }, without),
  ];
}

function entityFacts(entity) {
  const facts = [
    [
      "Also called",
      entity.aliases.length > 0 && entity.aliases.map((a) => short(a, 80)).join(", "),
    ],
    ["Domain", entity.domain],
    ["Scope", SCOPES[entity.scope] ?? entity.scope],
    ["Trust", TRUSTS[entity.trust] ?? entity.trust],
    ["Last heard", entity.at && `${day(entity.at)}, ${ago(entity.at)}`],
  ];
  return el(
    "dl",
    { class: "facts" },
    facts
      .filter(([, value]) => value)
      .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { dir: "auto" }, value))),
  );
}

function observationRow(o, entity) {
  const record = memory.byRecord.get(o.record);
  const parts = [
    speakerOf({ trust: o.trust, imported: record?.imported }),
    o.source && o.source !== "import" && `through ${short(o.source, 40)}`,
    record?.client && `in ${record.client}`,
    o.agent && `agent ${short(o.agent, 40)}`,
    SCOPES[o.scope] ?? o.scope,
    o.domain !== "general" && o.domain,
  ].filter(Boolean);
  return el(
    "li",
    {},
    el("div", { dir: "auto", class: "said-text" }, prose(o.text)),
    el(
      "div",
      { class: "card-end" },
      p(
        "foot",
        when(o.at),
        parts.map((part) => ` \u00b7 ${part}`),
        record && [" \u00b7 ", recordLink(record, `from record ${record.short_id}`)],
      ),
      !o.record && observationActions(entity, o),
    ),
  );
}

function relationsOf(entity) {
  const row = ({ r, other, out }) =>
    el(
      "li",
      {},
      el("span", { class: "relation" }, out ? `${verb(r)} ` : ""),
      entityLink(other, { "data-row": true }),
      el("span", { class: "relation" }, out ? "" : ` ${verb(r)} it`),
      el("span", { class: "quiet small" }, r.at ? ` ${day(r.at)}` : ""),
      r.over && el("span", { class: "ended" }, " replaced"),
    );
  const all = ends(entity);
  const more = all.length - MOST_RELATIONS;
  const list = [
    el("ul", { class: "rows relations", id: "relations" }, all.slice(0, MOST_RELATIONS).map(row)),
    more > 0 && el("p", { class: "quiet" }, `and ${more.toLocaleString("en")} more`),
  ];
  return section("Connected with", all.length, list, "Nothing is connected with it yet.");
}

async function showHistory(entity, list) {
  const changes = memory.live
    ? await lived(entity)
    : memory.changes.filter((c) => c.entities.includes(entity.i));
  if (!list.isConnected) return;
  if (changes.error) fill(list, el("li", {}, problem(changes.error)));
  else if (!changes.length)
    fill(list, el("li", { class: "quiet" }, "No change of it is in this picture."));
  else fill(list, changes.slice(0, MOST_CHANGES).map(changeRow));
}

/** The server's history as changes; {error} where it has none. */
async function lived(entity) {
  const answer = await fetched(
    `api/history?${new URLSearchParams({ name: entity.name, limit: String(MOST_CHANGES) })}`,
  );
  if (!Array.isArray(answer)) return answer;
  return answer.map((c) => ({
    ...c,
    by:
      typeof c.by === "string"
        ? c.by
        : [c.by?.author, c.by?.agent, c.by?.source].filter(Boolean).join(" "),
  }));
}

function changeRow(change) {
  const what = change.undone ? el("s", {}, change.what) : change.what;
  return el(
    "li",
    { dir: "auto" },
    when(change.at),
    " ",
    what,
    el(
      "span",
      { class: "quiet small" },
      change.by ? ` \u00b7 ${short(change.by, 60)}` : "",
      change.undone ? " \u00b7 undone" : "",
    ),
    changeActions(change),
  );
}
