// The search view: the list of hits, with the parts of their scores.

const PARTS = ["recency", "relevance", "authority"];
let asked = 0;

function showSearch(place) {
  const question = place.params.get("q") ?? "";
  if (byId("find") !== document.activeElement) byId("find").value = question;
  const box = el("div", { id: "hits" });
  fill(
    byId("main"),
    el(
      "section",
      { class: "column search" },
      el(
        "h1",
        {},
        question ? ["Search: ", el("span", { dir: "auto" }, short(question, 120))] : "Search",
      ),
      box,
    ),
  );
  if (!question.trim()) browse(box);
  else if (memory.live) recall(box, question);
  else showLocalHits(box, question);
  ready();
}

/** Without a question: everything by name, best known first. */
function browse(box) {
  const some = memory.byImportance
    .map((i) => memory.entities[i])
    .filter((e) => kept.entity[e.i])
    .slice(0, 60);
  if (!some.length)
    return fill(
      box,
      memory.entities.length
        ? nothingLeft("entities")
        : el("p", { class: "nothing" }, "Nothing to search in yet."),
    );
  return fill(
    box,
    el(
      "p",
      { class: "quiet" },
      "Type in the field above ",
      el("kbd", {}, "/"),
      ". Until then, what is best known:",
    ),
    el(
      "ul",
      { class: "rows" },
      some.map((e) =>
        el(
          "li",
          {},
          entityLink(e, { "data-row": true }),
          el(
            "span",
            { class: "quiet" },
            ` ${short(e.type, 40)} \u00b7 ${many(e.observations.length, "observation")}`,
            ` \u00b7 ${many(e.degree, "relation")}`,
          ),
        ),
      ),
    ),
  );
}

function keptHit({ entity, record }) {
  return entity ? Boolean(kept.entity[entity.i]) : keepsRecord(record);
}

function showLocalHits(box, question) {
  const { words, hits, total } = found(question, keptHit);
  announce(many(total, "hit"));
  fill(
    box,
    el(
      "p",
      { class: "quiet", id: "search-note" },
      `${many(total, "hit")}${total > hits.length ? `, the best ${hits.length} here` : ""}, `,
      "ranked in this page by the words they hold. ",
      "Live search (",
      el("code", {}, "memory-fabric serve"),
      " or ",
      el("code", {}, "memory-fabric recall"),
      ") also knows stems, other names and what the graph connects.",
    ),
    total === 0 &&
      (filterCount()
        ? nothingLeft("hits")
        : el("p", { class: "nothing" }, "Nothing here holds these words.")),
    el(
      "ol",
      { class: "hits" },
      hits.map((h) => foundHit(h, words)),
    ),
  );
}

function foundHit({ entity, record, score, parts, factors, matched, trust, at }, words) {
  const title = entity
    ? el(
        "a",
        { "data-row": true, dir: "auto", href: hashOf("entity", keyOf(entity)) },
        marked(short(entity.name, 160) || "(no name)", words),
      )
    : el(
        "a",
        { "data-row": true, dir: "auto", href: hashOf("timeline", record.short_id) },
        marked(short(record.worded, 2000), words),
      );
  const best = entity ? telling(entity, words) : record.why;
  return el(
    "li",
    { class: "card hit" },
    el(
      "p",
      { class: "over" },
      typeLabel(entity ? entity.type : record.type),
      entity ? "" : el("span", { class: "quiet" }, "record"),
      staleMark(entity ?? record),
      record && isOver(record) && el("span", { class: "ended" }, "replaced"),
    ),
    el("p", { class: "what" }, title),
    best && el("p", { class: "why", dir: "auto" }, marked(short(best, 300), words)),
    scoreBar(score, parts, factors),
    el(
      "p",
      { class: "foot" },
      `holds ${matched.join(", ")} \u00b7 ${TRUSTS[trust ?? ""] ?? trust} \u00b7 ${day(at)}`,
    ),
  );
}

/** The observation that holds most of the words. */
function telling(entity, words) {
  const holds = (o) => words.filter((w) => o.text.toLowerCase().includes(w)).length;
  return [...entity.observations].sort((a, b) => holds(b) - holds(a))[0]?.text ?? "";
}

/** A score as a bar of its parts, with the numbers beside it. */
function scoreBar(score, parts, factors) {
  const text =
    PARTS.map((name) => `${name} ${parts[name].toFixed(2)}`).join(" + ") +
    factors.map(([f, why]) => `, \u00d7 ${f} (${why})`).join("");
  return el(
    "p",
    { class: "score" },
    el("strong", {}, score.toFixed(2)),
    el(
      "span",
      { class: "bar", "aria-hidden": "true" },
      PARTS.map((name) =>
        el("span", {
          class: `part ${name}`,
          style: { width: `${(parts[name] * 100).toFixed(1)}%` },
        }),
      ),
    ),
    el("span", { class: "quiet" }, text),
  );
}
