// Search without a server: the ranking of recall, with a simpler relevance.

const RECENCY = 0.3,
  RELEVANCE = 0.5,
  AUTHORITY = 0.2;
const IN_GRAPH = 1.1,
  MOST_AUTHORITY = 1.3;
const RECENT_DAYS = 30,
  LEAST_RECENCY = 0.1;
const SUPERSEDED = 0.5;
const TRUST_FACTORS = table({ tool: 0.85, foreign: 0.8 });
const MOST_HITS = 50;
// How much a word counts by where it was found.
const WHOLE_NAME = 1,
  PART_OF_NAME = 0.8,
  WHOLE_WORD = 0.7,
  PART_OF_WORD = 0.4;
const COMMON = new Set(
  (
    "a about an and are as at be but by did do does for from had has have how i in is it its not " +
    "of on or our so that the their there they this to was we were what when where which who why " +
    "will with you your"
  ).split(" "),
);

let indexed = null;

/** The words of a question that tell something. */
function wordsOf(question) {
  const all = question.toLowerCase().match(/[\p{L}\p{N}]+(?:[.+#'][\p{L}\p{N}+#]+)*/gu) ?? [];
  const telling = all.filter((word) => !COMMON.has(word));
  return [...new Set(telling.length ? telling : all)].slice(0, 12);
}

function documents() {
  if (indexed?.of === memory) return indexed.list;
  const entities = memory.entities.map((e) => ({
    entity: e,
    at: e.at,
    trust: e.trust,
    name: [e.name, ...e.aliases].join("\n").toLowerCase(),
    text: e.observations
      .map((o) => o.text)
      .join("\n")
      .toLowerCase(),
  }));
  const records = memory.records.map((r) => ({
    record: r,
    at: r.at,
    trust: r.trust,
    name: r.what.toLowerCase(),
    text: [r.worded, r.why, ...r.alternatives, r.category, r.type].join("\n").toLowerCase(),
  }));
  indexed = { of: memory, list: [...records, ...entities] };
  return indexed.list;
}

/** Hits for a question, best first: {entity | record, score, parts, matched, factors}. */
function found(question, keeps = () => true) {
  const words = wordsOf(question);
  if (!words.length) return { words, hits: [], total: 0 };
  const looked = documents()
    .filter(keeps)
    .map((document) => ({ document, strengths: words.map((word) => strength(document, word)) }));
  const weights = words.map(
    (_, n) =>
      1 + Math.log((1 + looked.length) / (1 + looked.filter((l) => l.strengths[n] > 0).length)),
  );
  const hits = looked
    .filter((l) => l.strengths.some((s) => s > 0))
    .map((l) => hit(l, words, weights, question));
  hits.sort(
    (a, b) => b.score - a.score || b.parts.relevance - a.parts.relevance || (b.at > a.at ? 1 : -1),
  );
  return { words, hits: hits.slice(0, MOST_HITS), total: hits.length };
}

function strength(document, word) {
  return Math.max(
    inText(document.name, word, WHOLE_NAME, PART_OF_NAME),
    inText(document.text, word, WHOLE_WORD, PART_OF_WORD),
  );
}

function inText(text, word, whole, part) {
  let from = text.indexOf(word);
  if (from < 0) return 0;
  for (let tries = 0; from >= 0 && tries < 8; tries += 1, from = text.indexOf(word, from + 1)) {
    if (!isLetter(text, from - 1) && !isLetter(text, from + word.length)) return whole;
  }
  return part;
}

function isLetter(text, at) {
  const letter = text[at];
  return letter !== undefined && /[\p{L}\p{N}]/u.test(letter);
}

function hit({ document, strengths }, words, weights, question) {
  const all = weights.reduce((sum, w) => sum + w, 0);
  const asked = [folded(question.trim()), words.join("")];
  const exact =
    document.entity &&
    [document.entity.name, ...document.entity.aliases].some((name) => asked.includes(folded(name)));
  const relevance = exact ? 1 : strengths.reduce((sum, s, n) => sum + s * weights[n], 0) / all;
  const days = (memory.made - Date.parse(document.at)) / DAY_MS;
  const fresh = Number.isNaN(days)
    ? LEAST_RECENCY
    : Math.min(1, Math.max(LEAST_RECENCY, 1 - days / RECENT_DAYS));
  const parts = {
    recency: RECENCY * fresh,
    relevance: RELEVANCE * relevance,
    authority: (AUTHORITY * IN_GRAPH) / MOST_AUTHORITY,
  };
  const factors = [];
  if (document.record && isOver(document.record)) factors.push([SUPERSEDED, "replaced or over"]);
  if (TRUST_FACTORS[document.trust])
    factors.push([TRUST_FACTORS[document.trust], TRUSTS[document.trust]]);
  const sum = parts.recency + parts.relevance + parts.authority;
  return {
    ...document,
    parts,
    factors,
    score: factors.reduce((s, [f]) => s * f, sum),
    matched: words.filter((_, n) => strengths[n] > 0),
  };
}

/** Entities whose name fits what is being typed, best first. */
function namesLike(typed, most = 8) {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return [];
  const fits = [];
  for (const i of memory.byImportance) {
    const e = memory.entities[i];
    const names = [e.name, ...e.aliases].map((n) => n.toLowerCase());
    const place = Math.min(
      ...names.map((n) =>
        n === wanted
          ? 0
          : n.startsWith(wanted)
            ? 1
            : n.includes(wanted) || folded(n).includes(folded(wanted))
              ? 2
              : 9,
      ),
    );
    if (place < 9) fits.push([place, fits.length, e]);
  }
  fits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return fits.slice(0, most).map(([, , e]) => e);
}
