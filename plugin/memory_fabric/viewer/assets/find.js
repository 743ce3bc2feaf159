// The search view: hits with what their score is made of.

const PARTS = ["recency", "relevance", "authority"];
let asked = 0;

function showSearch(place) {
  const question = place.params.get("q") ?? "";
  if (byId("find") !== document.activeElement) byId("find").value = question;
  const box = el("div", { id: "hits" });
  fill(byId("main"), el("section", { class: "column search" },
    el("h1", {}, question ? ["Search: ", el("span", { dir: "auto" }, short(question, 120))] : "Search"), box));
  if (!question.trim()) browse(box);
  else if (memory.live) recall(box, question);
  else showFound(box, question);
  ready();
}

/** Without a question: everything by name, best known first. */
function browse(box) {
  const some = memory.byImportance.map((i) => memory.entities[i]).filter((e) => kept.entity[e.i]).slice(0, 60);
  if (!some.length) return fill(box, memory.entities.length ? nothingLeft("entities") : el("p", { class: "nothing" }, "Nothing to search in yet."));
  return fill(box, el("p", { class: "quiet" }, "Type in the field above ", el("kbd", {}, "/"), ". Until then, what is best known:"),
    el("ul", { class: "rows" }, some.map((e) => el("li", {}, entityLink(e, { "data-row": true }), el("span", { class: "quiet" }, ` ${short(e.type, 40)} \u00b7 ${many(e.observations.length, "observation")} \u00b7 ${many(e.degree, "relation")}`)))));
}

function keptHit({ entity, record }) {
  return entity ? Boolean(kept.entity[entity.i]) : keepsRecord(record);
}

function showFound(box, question) {
  const { words, hits, total } = found(question, keptHit);
  announce(many(total, "hit"));
  fill(box,
    el("p", { class: "quiet", id: "search-note" }, `${many(total, "hit")}${total > hits.length ? `, the best ${hits.length} here` : ""}, ranked in this page by the words they hold. `,
      "Live search (", el("code", {}, "memory-fabric serve"), " or ", el("code", {}, "memory-fabric recall"), ") also knows stems, other names and what the graph connects."),
    total === 0 && (filterCount() ? nothingLeft("hits") : el("p", { class: "nothing" }, "Nothing here holds these words.")),
    el("ol", { class: "hits" }, hits.map((h) => foundHit(h, words))));
}

function foundHit({ entity, record, score, parts, factors, matched, trust, at }, words) {
  const title = entity ? el("a", { "data-row": true, dir: "auto", href: hashOf("entity", keyOf(entity)) }, marked(short(entity.name, 160) || "(no name)", words)) : el("a", { "data-row": true, dir: "auto", href: hashOf("timeline", record.short_id) }, marked(short(record.what, 300), words));
  const best = entity ? telling(entity, words) : record.why;
  return el("li", { class: "card hit" },
    el("p", { class: "over" }, typeLabel(entity ? entity.type : record.type), entity ? "" : el("span", { class: "quiet" }, "record"), staleMark(entity ?? record), record && isOver(record) && el("span", { class: "ended" }, "replaced")),
    el("p", { class: "what" }, title),
    best && el("p", { class: "why", dir: "auto" }, marked(short(best, 300), words)),
    scoreBar(score, parts, factors),
    el("p", { class: "foot" }, `holds ${matched.join(", ")} \u00b7 ${TRUSTS[trust ?? ""] ?? trust} \u00b7 ${day(at)}`));
}

/** The observation that holds most of the words. */
function telling(entity, words) {
  const holds = (o) => words.filter((w) => o.text.toLowerCase().includes(w)).length;
  return [...entity.observations].sort((a, b) => holds(b) - holds(a))[0]?.text ?? "";
}

/** A score as a bar of its parts, with the numbers beside it. */
function scoreBar(score, parts, factors) {
  const text = PARTS.map((name) => `${name} ${parts[name].toFixed(2)}`).join(" + ") + factors.map(([f, why]) => `, \u00d7 ${f} (${why})`).join("");
  return el("p", { class: "score" }, el("strong", {}, score.toFixed(2)),
    el("span", { class: "bar", "aria-hidden": "true" }, PARTS.map((name) => el("span", { class: `part ${name}`, style: { width: `${(parts[name] * 100).toFixed(1)}%` } }))),
    el("span", { class: "quiet" }, text));
}

/** Ask the server; only the newest question's answer is shown. */
async function recall(box, question) {
  const mine = (asked += 1);
  fill(box, el("p", { class: "quiet" }, "Asking\u2026"));
  const params = new URLSearchParams({ q: question, limit: "30" });
  const answer = await fetched(`api/recall?${params}`);
  if (mine !== asked || !box.isConnected) return;
  if (answer.error) fill(box, problem(answer.error));
  else showRecalled(box, answer);
}

function showRecalled(box, answer) {
  const words = (answer.searched ?? []).map((s) => s.word);
  const results = answer.results ?? [];
  announce(many(results.length, "hit"));
  fill(box,
    el("p", { class: "quiet", id: "search-note" }, `${many(answer.total_results ?? results.length, "hit")}. `, words.length > 0 && ["Searched for ", words.map((w, n) => [n ? ", " : "", el("code", {}, w)]), ". "],
      filterCount() > 0 && "Filters of the page do not confine what the server finds; hits that do not pass are faint."),
    el("p", { class: "verdict" }, el("strong", {}, "A prompt with these words "), answer.silence ? `would be given nothing: ${answer.silence}.` : "would be given what is marked so."),
    [...(answer.notes ?? []), ...(answer.failures ?? [])].map((note) => el("p", { class: "notice" }, typeof note === "string" ? note : JSON.stringify(note))),
    results.length === 0 && el("p", { class: "nothing" }, "Nothing was found."),
    el("ol", { class: "hits" }, results.map((result) => recalledHit(result, words))),
    (answer.paths ?? []).length > 0 && [el("h2", {}, "Paths through the graph"), el("ul", { class: "plain-list" }, answer.paths.map((path) => el("li", { dir: "auto" }, pathText(path))))]);
}

function pathText(path) {
  if (typeof path === "string") return path;
  const steps = Array.isArray(path) ? path : path.steps ?? path.path ?? [path];
  return steps.map((step) => (typeof step === "string" ? step : step.from ? `${step.from} ${step.relation ?? step.type} ${step.to}` : JSON.stringify(step))).join(" \u2192 ");
}

function recalledHit(result, words) {
  const meta = result.metadata ?? {};
  const record = memory.byRecord.get(meta.record || meta.id);
  const entities = (result.entities ?? []).map((name) => memory.byName.get(folded(name))).filter(Boolean);
  const target = result.source === "records" && record ? hashOf("timeline", record.short_id) : entities[0] ? hashOf("entity", keyOf(entities[0])) : null;
  const passes = result.source === "records" && record ? keepsRecord(record) : !entities[0] || Boolean(kept.entity[entities[0].i]);
  const parts = meta.score_parts;
  const factors = parts && parts.times !== 1 ? [[parts.times, "replaced, or less trusted"]] : [];
  return el("li", { class: `card hit${passes ? "" : " faint"}` },
    el("p", { class: "over" }, typeLabel(meta.type || meta.entityType || result.source), el("span", { class: "quiet" }, result.source), (meta.over || meta.superseded_by) && el("span", { class: "ended" }, "replaced")),
    el("p", { class: "what" }, target ? el("a", { "data-row": true, dir: "auto", href: target }, marked(short(result.text, 400), words)) : el("span", { dir: "auto" }, marked(short(result.text, 400), words))),
    meta.why && el("p", { class: "why", dir: "auto" }, el("span", { class: "quiet" }, "because "), marked(short(meta.why, 300), words)),
    parts && scoreBar(result.score, parts, factors),
    meta.parts && el("p", { class: "quiet small" }, "relevance: ", Object.entries(meta.parts).map(([name, value]) => `${name} ${value}`).join(", ")),
    result.prompt && el("p", { class: "verdict small" }, result.prompt === "would be given" ? "\u2713 a prompt would be given it" : `\u2717 not given to a prompt: ${result.prompt}`),
    entities.length > 0 && el("p", { class: "tags" }, entities.slice(0, 8).map((e) => entityLink(e))),
    el("p", { class: "foot" }, `${TRUSTS[meta.trust ?? ""] ?? meta.trust} \u00b7 ${day(result.timestamp)}`));
}

/** JSON of the server; {error} where there is none. */
async function fetched(path) {
  try {
    const answer = await fetch(path, { headers: { Accept: "application/json" } });
    return await answer.json();
  } catch {
    return { error: { message: "The server does not answer.", remedy: "Start it again with memory-fabric serve." } };
  }
}

function problem(error) {
  return el("p", { class: "notice", role: "alert" }, error.message ?? String(error), " ", error.remedy ?? "");
}
