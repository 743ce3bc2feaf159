// Search with a server: its hits, what a prompt would be given, and why.

// What `recall --explain` says of a result that a prompt would bring.
const GIVEN = "would be given";

/** Ask the server; only the newest question's answer is shown. */
async function recall(box, question) {
  const mine = (asked += 1);
  fill(box, el("p", { class: "quiet" }, "Asking\u2026"));
  const params = new URLSearchParams({ q: question, limit: "30" });
  const answer = await fetched(`api/recall?${params}`);
  if (mine !== asked || !box.isConnected) return;
  if (answer.error) fill(box, problem(answer.error));
  else showServerHits(box, answer);
}

function showServerHits(box, answer) {
  const words = (answer.searched ?? []).map((s) => s.word);
  const results = answer.results ?? [];
  announce(many(results.length, "hit"));
  fill(
    box,
    el(
      "p",
      { class: "quiet", id: "search-note" },
      `${many(answer.total_results ?? results.length, "hit")}. `,
      words.length > 0 && [
        "Searched for ",
        words.map((w, n) => [n ? ", " : "", el("code", {}, w)]),
        ". ",
      ],
      filterCount() > 0 &&
        "Filters of the page do not confine what the server finds; what does not pass is faint.",
    ),
    el(
      "p",
      { class: "verdict" },
      el("strong", {}, "A prompt with these words "),
      answer.silence
        ? `would be given nothing: ${answer.silence}.`
        : "would be given what is marked so.",
    ),
    [...(answer.notes ?? []), ...(answer.failures ?? [])].map((note) =>
      el("p", { class: "notice" }, note),
    ),
    results.length === 0 && el("p", { class: "nothing" }, "Nothing was found."),
    el(
      "ol",
      { class: "hits" },
      results.map((result) => recalledHit(result, words)),
    ),
    (answer.paths ?? []).length > 0 && [
      el("h2", {}, "Paths through the graph"),
      el(
        "ul",
        { class: "plain-list" },
        answer.paths.map((path) => el("li", { dir: "auto" }, pathText(path))),
      ),
    ],
  );
}

function pathText(path) {
  return path.map((step) => `${step.from} ${step.relation} ${step.to}`).join("; ");
}

function recalledHit(result, words) {
  const meta = result.metadata ?? {};
  const { entities, href, passes } = meant(result, meta);
  const said = meta.trust === "user" && meta.quotation;
  const whole = [result.text, ...(meta.also_observed ?? [])].join("; ");
  const worded = said ? `“${said}” (noted as: ${result.text})` : whole;
  const text = marked(short(worded, said ? 2000 : 400), words);
  const trust = TRUSTS[meta.trust ?? ""] ?? meta.trust;
  const replaced = meta.over || meta.superseded_by;
  return el(
    "li",
    { class: `card hit${passes ? "" : " faint"}` },
    p(
      "over",
      typeLabel(meta.type || meta.entityType || result.source),
      quiet(result.source),
      replaced && el("span", { class: "ended" }, "replaced"),
    ),
    p("what", el(href ? "a" : "span", { "data-row": Boolean(href), dir: "auto", href }, text)),
    meta.why && told("why", quiet(leadOf(meta.why)), marked(short(meta.why, 300), words)),
    explained(result, meta),
    entityTags(entities),
    p("foot", `${trust} \u00b7 ${day(result.timestamp)}`),
  );
}

/** Parts of this page for a result: its entities, where it leads, whether filters keep it. */
function meant(result, meta) {
  const named = (result.entities ?? []).map((name) => memory.byName.get(folded(name)));
  const entities = named.filter(Boolean);
  const record = memory.byRecord.get(meta.record || meta.id);
  if (result.source === "records" && record) {
    return { entities, href: hashOf("timeline", record.short_id), passes: keepsRecord(record) };
  }
  const first = entities[0];
  if (!first) return { entities, href: null, passes: true };
  return { entities, href: hashOf("entity", keyOf(first)), passes: Boolean(kept.entity[first.i]) };
}

/** Why a result stands where it stands, and whether a prompt would be given it. */
function explained(result, meta) {
  const parts = meta.score_parts;
  const factors = parts && parts.times !== 1 ? [[parts.times, "replaced, or less trusted"]] : [];
  const relevance = Object.entries(meta.parts ?? {}).map(([name, value]) => `${name} ${value}`);
  const given = result.prompt === GIVEN;
  const verdict = given
    ? "\u2713 a prompt would be given it"
    : `\u2717 not given to a prompt: ${result.prompt}`;
  return [
    parts && scoreBar(result.score, parts, factors),
    relevance.length > 0 && p("quiet small", `relevance: ${relevance.join(", ")}`),
    result.prompt && p("verdict small", verdict),
  ];
}

// A large memory takes a while; a server that hangs has no answer at all.
const PATIENCE_MS = 60000;

/**
 * JSON of the server about the project in use; {error} where there is none. `options` are those of
 * fetch.
 */
async function fetched(path, options = {}) {
  try {
    const answer = await fetch(ofProject(path), {
      ...options,
      headers: { Accept: "application/json", ...options.headers },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return (await answer.json()) ?? {};
  } catch {
    return {
      error: {
        message: "The server does not answer.",
        remedy: "Start it again with memory-fabric serve.",
      },
    };
  }
}

/** The memory as the server has it; {error} also where another program answers. */
async function fetchedPicture() {
  const picture = await fetched("api/picture");
  if (picture.error || Array.isArray(picture.entities)) return picture;
  return {
    error: {
      message: "What answers here is no memory.",
      remedy: "Open the address that memory-fabric serve printed.",
    },
  };
}

function problem(error) {
  return el(
    "p",
    { class: "notice", role: "alert" },
    error.message ?? String(error),
    " ",
    error.remedy ?? "",
  );
}
