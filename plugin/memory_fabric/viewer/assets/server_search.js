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
  const paths = answer.paths ?? [];
  announce(many(results.length, "hit"));
  const notes = [...(answer.notes ?? []), ...(answer.failures ?? [])];
  const asked = words.length ? words : [placeOf(location.hash).params.get("q") ?? ""];
  fill(
    box,
    results.length > 0 && p("quiet", many(answer.total_results ?? results.length, "hit")),
    results.length > 0 && filterCount() > 0 && p("quiet", "What does not pass the filters is faint."),
    notes.map((note) => el("p", { class: "notice" }, note)),
    results.length ? whyBox(verdictOf(answer), searchedFor(words)) : noHits(asked.join(" "), asked),
    el("ol", { class: "hits" }, results.map((result) => recalledHit(result, words))),
    paths.length > 0 && [
      el("h2", {}, "Paths through the graph"),
      el("ul", { class: "plain-list" }, paths.map((path) => el("li", { dir: "auto" }, pathText(path)))),
    ],
  );
}

function verdictOf({ silence }) {
  return silence
    ? `A prompt with these words would be given nothing: ${silence}. `
    : "A prompt with these words would be given what is marked so. ";
}

function searchedFor(words) {
  const each = words.map((word, n) => [n ? ", " : "", el("code", {}, word)]);
  return words.length > 0 && el("span", {}, "Searched for ", each, ".");
}

function pathText(path) {
  return path.map((step) => `${step.from} ${step.relation} ${step.to}`).join("; ");
}

function recalledHit(result, words) {
  const meta = result.metadata ?? {};
  const { href, passes } = meant(result, meta);
  const said = meta.trust === "user" && meta.quotation;
  const whole = [result.text, ...(meta.also_observed ?? [])].join("; ");
  const worded = said ? `\u201c${said}\u201d (noted as: ${result.text})` : whole;
  const why = reasonOf({ worded, why: meta.why });
  const isTurn = result.source === "episodes";
  return hitCard(isTurn ? inline(short(worded, 400), words) : prose(cut(worded), words), href, {
    why: why && [quiet(leadOf(why)), inline(short(why, 300), words)],
    foot: [
      isTurn ? "said in a session" : typeLabel(meta.type || meta.entityType),
      (meta.over || meta.superseded_by) && el("span", { class: "ended" }, "replaced"),
      meta.trust !== "user" && meta.trust && speakerOf(meta),
      result.timestamp && day(result.timestamp),
    ],
    reasons: reasonsOf(result, meta),
    faint: !passes,
  });
}

/** Where a result leads on this page, and whether the filters keep it. */
function meant(result, meta) {
  const named = (result.entities ?? []).map((name) => memory.byName.get(folded(name)));
  const record = memory.byRecord.get(meta.record || meta.id);
  if (result.source === "records" && record)
    return { href: hashOf("timeline", record.short_id), passes: keepsRecord(record) };
  const first = named.find(Boolean);
  if (!first) return { href: null, passes: true };
  return { href: hashOf("entity", keyOf(first)), passes: Boolean(kept.entity[first.i]) };
}

/** Why a result stands where it stands, and whether a prompt would be given it. */
function reasonsOf(result, meta) {
  const parts = meta.score_parts;
  const factors = parts && parts.times !== 1 ? [[parts.times, "replaced, or less trusted"]] : [];
  const relevance = Object.entries(meta.parts ?? {}).map(([name, value]) => `${name} ${value}`);
  const given = result.prompt === GIVEN;
  return dotted([
    result.prompt && (given ? "\u2713 a prompt would be given it" : `not given to a prompt: ${result.prompt}`),
    parts && scoreText(result.score, parts, factors),
    relevance.length > 0 && `relevance: ${relevance.join(", ")}`,
  ]);
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
