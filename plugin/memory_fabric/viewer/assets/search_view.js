// The search view: what was found, its words first; why it was found stands behind one disclosure.

const PARTS = ["recency", "relevance", "authority"];
let asked = 0;

function showSearch(place) {
  const question = place.params.get("q") ?? "";
  if (byId("find") !== document.activeElement) byId("find").value = question;
  const title = question ? ["Search: ", el("span", { dir: "auto" }, short(question, 120))] : "Search";
  const box = el("div", { id: "hits" });
  fill(byId("main"), el("section", { class: "column search" }, el("h1", {}, title), box));
  if (!question.trim()) browse(box);
  else if (memory.live) recall(box, question);
  else showLocalHits(box, question);
  ready();
}

/** Without a question: everything by name, best known first. */
function browse(box) {
  const best = memory.byImportance.map((i) => memory.entities[i]).filter((e) => kept.entity[e.i]);
  const counts = (e) =>
    [
      short(e.type, 40),
      e.observations.length && many(e.observations.length, "observation"),
      e.degree && many(e.degree, "relation"),
    ].filter(Boolean);
  const row = (e) =>
    el("li", {}, entityLink(e, { "data-row": true }), quiet(counts(e).join(" \u00b7 ")));
  if (!memory.entities.length && !memory.records.length)
    fill(box, el("p", { class: "nothing" }, "Nothing to search in yet."));
  else if (!best.length && filterCount()) fill(box, nothingLeft("entities"));
  else
    fill(
      box,
      p("quiet", "Type in the field above ", el("kbd", {}, "/"), best.length > 0 && ". Best known:"),
      el("ul", { class: "rows browse" }, best.slice(0, 60).map(row)),
    );
}

function keptHit({ entity, record }) {
  return entity ? Boolean(kept.entity[entity.i]) : keepsRecord(record);
}

function showLocalHits(box, question) {
  const { words, hits, total } = found(question, keptHit);
  announce(many(total, "hit"));
  const first = total > hits.length && `, the best ${hits.length} here`;
  if (!total) return fill(box, filterCount() ? nothingLeft("hits") : noHits(question, words));
  return fill(
    box,
    p("quiet", `${many(total, "hit")}${first || ""}`),
    whyBox(
      "This page ranks by the words that a memory holds. ",
      el("code", {}, "memory-fabric serve"),
      " and ",
      el("code", {}, "memory-fabric recall"),
      " also know stems, other names and what the graph connects.",
    ),
    el("ol", { class: "hits" }, hits.map((h) => foundHit(h, words))),
  );
}

/** Said where nothing was found: what was looked for, and what to try. */
function noHits(question, words) {
  const command = commandOf("recall", [], [question.trim()]);
  const sought = words.length ? words : [short(question.trim(), 120)];
  return el(
    "div",
    { class: "nothing", id: "no-hits" },
    el("p", {}, "Nothing here holds ", sought.flatMap((w, n) => [n ? " or " : "", el("q", {}, w)]), "."),
    el(
      "p",
      {},
      memory.live
        ? "Try fewer words, or the name of what it is about; "
        : "This page finds words as they are written. Try the beginning of a word, or ask the memory itself:",
      memory.live && el("a", { href: hashOf("knowledge") }, "everything that is known"),
      memory.live && " stands on one page.",
    ),
    !memory.live && command && p("", el("code", {}, command)),
  );
}

/** The one place that tells why: opened, it also shows the reasons below each hit. */
function whyBox(...says) {
  const summary = el("summary", {}, "Why these, in this order");
  return el("details", { class: "disclosure", id: "why" }, summary, p("quiet", ...says));
}

/** A hit: its words, the reason, then who said it and when; `reasons` are shown on demand. */
function hitCard(lead, href, { why, foot, reasons, faint }) {
  const link = { "data-row": Boolean(href), dir: "auto", href };
  return el(
    "li",
    { class: `card hit${faint ? " faint" : ""}` },
    el("div", { class: "what" }, el(href ? "a" : "span", link, lead)),
    why && told("why", why),
    el("p", { class: "foot" }, dotted(foot)),
    p("foot reasons", reasons),
  );
}

function foundHit({ entity, record, score, parts, factors, matched }, words) {
  const one = entity ?? record;
  const text = entity ? entity.name || "(no name)" : record.worded;
  const second = entity ? telling(entity, words) : reasonOf(record);
  const href = entity ? hashOf("entity", keyOf(entity)) : hashOf("timeline", record.short_id);
  return hitCard(entity ? marked(short(text, 160), words) : prose(cut(text), words), href, {
    why: second && [!entity && quiet(leadOf(second)), inline(short(second, 300), words)],
    foot: [
      typeLabel(one.type),
      record && isOver(record) && el("span", { class: "ended" }, "replaced"),
      one.trust && one.trust !== "user" && speakerOf(one),
      day(one.at),
      staleMark(one),
    ],
    reasons: `holds ${matched.join(", ")} \u00b7 ${scoreText(score, parts, factors)}`,
  });
}

/** The beginning of a long text, with its lines. */
function cut(text, most = 1200) {
  return text.length > most ? `${text.slice(0, most)}\u2026` : text;
}

/** The observation that holds most of the words. */
function telling(entity, words) {
  const holds = (o) => words.filter((w) => o.text.toLowerCase().includes(w)).length;
  return [...entity.observations].sort((a, b) => holds(b) - holds(a))[0]?.text ?? "";
}

/** A score and its parts in words. */
function scoreText(score, parts, factors) {
  const sum = PARTS.map((name) => `${name} ${parts[name].toFixed(2)}`).join(" + ");
  const times = factors.map(([f, why]) => `, \u00d7 ${f} (${why})`).join("");
  return `score ${score.toFixed(2)}: ${sum}${times}`;
}
