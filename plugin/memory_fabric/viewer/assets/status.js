// The status view: the three tiers, their places, states and remedies.

const STATES = table({
  healthy: ["\u2713", "healthy"],
  degraded: ["!", "degraded"],
  unavailable: ["\u2717", "unavailable"],
});
const SOUND = table({ true: "sound", false: "cannot be read" });
const TIER_WORDS = table({
  graph: "What everything is answered from.",
  local: "The journal in the project, from which the graph can be made again.",
  native: "What Claude reads at the start of each session.",
});

/** "3 entities, 20 changes". */
function amounts(counts) {
  return counts.map(([what, n]) => `${Number(n).toLocaleString("en")} ${what}`).join(", ");
}

function showStatus() {
  const left = Object.entries(memory.leftOut).filter(([, n]) => n > 0);
  fill(
    byId("main"),
    el(
      "section",
      { class: "column status" },
      el("h1", {}, "Status"),
      el(
        "p",
        { class: "quiet" },
        memory.project && `Project ${short(memory.project, 60)} \u00b7 `,
        `memory-fabric ${memory.picture.version ?? ""} \u00b7 `,
        memory.live ? "live" : "a picture",
        " of ",
        memory.picture.made_at
          ? `${day(memory.picture.made_at)}, ${memory.picture.made_at.slice(11, 16)} UTC`
          : "an unknown time",
      ),
      el("div", { class: "tiers", id: "tiers" }, tierCards()),
      worthTable(memory.picture.worth),
      el("h2", {}, "In this picture"),
      el(
        "p",
        {},
        `${many(memory.entities.length, "entity", "entities")}, `,
        `${many(memory.relations.length, "relation")}, ${many(memory.records.length, "record")}, `,
        `${many(memory.changes.length, "change")}.`,
      ),
      el(
        "p",
        { id: "left-out" },
        left.length ? `Left out, to keep it quick: ${amounts(left)}.` : "Nothing was left out.",
      ),
    ),
  );
  if (memory.live) askTiers();
  ready();
}

/** What came of memory in the last weeks; nothing where that is not counted, as for a team. */
function worthTable(worth) {
  if (!worth?.weeks?.length) return null;
  const figures = Object.entries(worth.figures);
  const cell = (week, name) => {
    const { yes = 0, n = 0 } = week[name] ?? {};
    return el("td", {}, n ? `${yes} of ${n}` : "\u2013");
  };
  return el(
    "section",
    // On a phone the table is wider than the screen: the keyboard scrolls it, too.
    { class: "worth", id: "worth", tabindex: 0, "aria-label": "What came of memory, by week" },
    el("h2", {}, "What came of memory, by week"),
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["week of", "sessions", "tokens", ...figures.map(([, [column]]) => column)].map((name) =>
            el("th", { scope: "col" }, name),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        worth.weeks.map((week) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, week.week),
            [week.sessions, week.tokens].map((n) => el("td", {}, Number(n).toLocaleString("en"))),
            figures.map(([name]) => cell(week, name)),
          ),
        ),
      ),
    ),
    el(
      "dl",
      { class: "facts" },
      figures.map(([, [column, counts]]) => fact(column, counts)),
    ),
    el("p", {}, worth.limits),
  );
}

function tierCards() {
  return memory.tiers.length
    ? memory.tiers.map(tierCard)
    : el("p", { class: "nothing" }, "This picture says nothing about the tiers.");
}

/** Ask the server how the tiers are now. */
async function askTiers() {
  const answer = await fetched("api/status");
  if (Array.isArray(answer.tiers)) memory.tiers = answer.tiers;
  const box = byId("tiers");
  if (box) fill(box, answer.error && problem(answer.error), tierCards());
}

function stateMark(state) {
  const [icon, word] = STATES[state] ?? ["?", state];
  return el(
    "span",
    { class: `state ${STATES[state] ? state : ""}` },
    el("span", { class: "icon", "aria-hidden": "true" }, icon),
    el("span", { class: "unseen" }, word + " "),
  );
}

function tierCard(tier) {
  const [, word] = STATES[tier.state] ?? ["", tier.state];
  const queue = tier.queue?.count ?? 0;
  return el(
    "article",
    { class: "card tier" },
    el(
      "h2",
      {},
      stateMark(tier.state),
      short(tier.tier, 30),
      el("span", { class: `word ${tier.state}` }, word),
    ),
    el("p", { class: "quiet" }, TIER_WORDS[tier.tier] ?? ""),
    (tier.findings ?? []).map((f) =>
      el(
        "div",
        { class: "finding" },
        el("p", { dir: "auto" }, f.reason),
        f.remedy && el("p", { class: "remedy", dir: "auto" }, "\u2192 ", f.remedy),
      ),
    ),
    el(
      "dl",
      { class: "facts" },
      fact(
        "Holds",
        amounts(Object.entries(tier.counts ?? {}).filter(([, n]) => n > 0)) || "nothing",
      ),
      fact(
        "Waiting",
        queue ? `${many(queue, "change")}, the oldest for ${span(tier.queue.oldest_s)}` : "nothing",
      ),
      fact(
        "Written",
        tier.written_at ? `${day(tier.written_at)}, ${ago(tier.written_at)}` : "never",
      ),
      tier.tier === "graph" &&
        fact(
          "Backup",
          tier.backup
            ? `${span(tier.backup.age_s)} old, ${SOUND[tier.backup.sound] ?? "not read through"}`
            : "none yet",
        ),
      fact("Lies in", tier.where && el("code", { dir: "auto" }, tier.where)),
    ),
  );
}

function fact(name, value) {
  return value ? el("div", {}, el("dt", {}, name), el("dd", {}, value)) : null;
}

function span(seconds) {
  const s = Number(seconds) || 0;
  if (s < 90) return many(Math.round(s), "second");
  if (s < 5400) return many(Math.round(s / 60), "minute");
  if (s < 129600) return many(Math.round(s / 3600), "hour");
  return many(Math.round(s / 86400), "day");
}
