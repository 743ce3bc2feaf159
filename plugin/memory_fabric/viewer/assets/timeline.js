// Records through time, newest first. Only blocks near the window have their cards in the page.

const BLOCK = 40;
const CARD_PX = 150;
const OUTCOMES = table({ success: "\u2713 worked", failed: "\u2717 failed" });
const MARGIN = "1500px 0px";

let blocks = null;

function showTimeline(place) {
  const asOf = asOfParam(place.params);
  const records = kept.records.filter((r) => !asOf || heldAt(r, asOf));
  const list = el("div", { class: "records", id: "records" });
  fill(
    byId("main"),
    el(
      "section",
      { class: "column timeline" },
      el("h1", {}, "Timeline"),
      asOfControl(place, asOf, records.length),
      list,
    ),
  );
  blocks?.disconnect();
  if (!memory.records.length)
    fill(
      list,
      el(
        "p",
        { class: "nothing" },
        "No records yet. Decisions, preferences and what was learned will stand here.",
      ),
    );
  else if (!records.length)
    fill(
      list,
      asOf && kept.records.length
        ? el("p", { class: "nothing" }, "Nothing held on that day.")
        : nothingLeft("records"),
    );
  else layBlocks(list, records, asOf, place.name);
  ready();
}

function layBlocks(list, records, asOf, wanted) {
  blocks = new IntersectionObserver(
    (entries) => entries.forEach((entry) => turn(entry.target, entry.isIntersecting)),
    { rootMargin: MARGIN },
  );
  const places = [];
  for (let from = 0; from < records.length; from += BLOCK) {
    const block = el("div", { class: "block" });
    const some = records.slice(from, from + BLOCK);
    Object.assign(block, { make: () => cards(some, records[from - 1], asOf), filled: false });
    block.style.minHeight = `${some.length * CARD_PX}px`;
    places.push(block);
  }
  fill(list, places);
  turn(places[0], true);
  places.forEach((block) => blocks.observe(block));
  if (wanted) showRecord(records, places, wanted);
}

/** Fill a block with its cards, or empty it and keep its height. */
function turn(block, near) {
  if (near === block.filled || (!near && block.contains(document.activeElement))) return;
  block.style.minHeight = near ? "" : `${block.offsetHeight}px`;
  fill(block, near ? block.make() : []);
  block.filled = near;
}

function showRecord(records, places, wanted) {
  const n = records.findIndex((r) => r.short_id === wanted || r.id === wanted);
  if (n < 0) {
    const hiddenOne = memory.records.find((r) => r.short_id === wanted || r.id === wanted);
    byId("records").prepend(
      el(
        "p",
        { class: "notice" },
        hiddenOne
          ? "The record that was asked for does not pass the filters or the day. "
          : `There is no record ${short(wanted, 40)} here. `,
        hiddenOne && clearButton(),
      ),
    );
    return;
  }
  turn(places[Math.floor(n / BLOCK)], true);
  const card = byId(`record-${records[n].short_id}`);
  card.classList.add("wanted");
  card.scrollIntoView({ block: "center" });
  card.querySelector("a").focus({ preventScroll: true });
}

function cards(some, before, asOf) {
  const made = [];
  let last = before;
  for (const record of some) {
    if (!last || month(last.at) !== month(record.at))
      made.push(el("h2", { class: "month" }, month(record.at)));
    if (!last || day(last.at) !== day(record.at))
      made.push(
        el(
          "h3",
          { class: "day" },
          day(record.at),
          el("span", { class: "quiet" }, ` ${ago(record.at)}`),
        ),
      );
    made.push(recordCard(record, asOf));
    last = record;
  }
  return made;
}

/** One record, with everything that is known of it. */
function recordCard(record, asOf = "") {
  const over = isOver(record) && !asOf;
  const successor = memory.byRecord.get(record.superseded_by);
  return el(
    "article",
    {
      class: `card${over ? " over-now" : ""}${record.stale ? " is-stale" : ""}`,
      id: `record-${record.short_id}`,
    },
    el(
      "p",
      { class: "over" },
      typeLabel(record.type),
      record.pinned && el("span", { class: "pin" }, "\u2691 pinned"),
      staleMark(record),
      outcomeMark(record),
      over &&
        el(
          "span",
          { class: "ended" },
          record.superseded_by ? "replaced" : `held until ${day(record.held_until)}`,
        ),
    ),
    el(
      "p",
      { class: "what" },
      el(
        "a",
        { "data-row": true, dir: "auto", href: hashOf("timeline", record.short_id) },
        over ? el("s", {}, record.what) : record.what,
      ),
    ),
    record.why &&
      el(
        "p",
        { class: "why", dir: "auto" },
        el("span", { class: "quiet" }, "because "),
        record.why,
      ),
    record.alternatives.length > 0 &&
      el(
        "p",
        { class: "why", dir: "auto" },
        el("span", { class: "quiet" }, "instead of "),
        record.alternatives.join(", "),
      ),
    record.superseded_by &&
      el(
        "p",
        { class: "chain" },
        "\u2192 replaced by ",
        successor
          ? recordLink(successor, short(successor.what, 140))
          : "a record that is not in this picture",
      ),
    record.replaces.map((older) =>
      el(
        "p",
        { class: "chain" },
        "\u2190 replaces ",
        recordLink(older, el("s", {}, short(older.what, 140))),
      ),
    ),
    record.entities.length > 0 &&
      el(
        "p",
        { class: "tags" },
        record.entities
          .map((i) => memory.entities[i])
          .filter(Boolean)
          .slice(0, 12)
          .map((e) => entityLink(e)),
      ),
    recordFoot(record),
  );
}

function outcomeMark(record) {
  const word = OUTCOMES[record.outcome];
  return word ? el("span", { class: "outcome" }, word) : null;
}

function recordFoot(record) {
  const parts = [
    record.scope,
    record.domain !== "general" && record.domain,
    TRUSTS[record.trust] ?? record.trust,
    record.author && `by ${short(record.author, 40)}`,
    record.agent && `agent ${short(record.agent, 40)}`,
    record.confidence !== undefined &&
      record.confidence !== null &&
      `${Math.round(record.confidence * 100)} % sure`,
    record.generalizable && "holds elsewhere, too",
  ];
  return el(
    "p",
    { class: "foot" },
    parts.filter(Boolean).flatMap((part, n) => [n ? " \u00b7 " : "", part]),
    " \u00b7 ",
    el("code", {}, record.short_id),
  );
}

// As of

function asOfParam(params) {
  const date = params.get("asof") ?? "";
  return /^\d{4}-\d\d-\d\d$/.test(date) ? `${date}T23:59:59.999Z` : "";
}

function asOfControl(place, asOf, count) {
  const times = memory.records.map((r) => Date.parse(r.at)).filter((t) => !Number.isNaN(t));
  if (!times.length) return null;
  const first = Math.floor(times.reduce((a, b) => Math.min(a, b)) / DAY_MS),
    last = Math.floor(memory.made / DAY_MS);
  if (first >= last && !asOf) return el("p", { class: "quiet" }, many(count, "record"));
  const move = (date) => go(hashOf("timeline", "", { asof: date }), true);
  const chosen = asOf ? Math.floor(Date.parse(asOf) / DAY_MS) : last;
  const text = asOf
    ? `What held on ${day(asOf)}: ${many(count, "record")}`
    : `Everything, also what was replaced: ${many(count, "record")}`;
  const slider = el("input", {
    type: "range",
    id: "asof-slider",
    min: first,
    max: last,
    value: chosen,
    "aria-valuetext": text,
    on: {
      change: (event) => moveTo(Number(event.target.value)),
      input: (event) => {
        byId("asof-text").textContent = `As of ${day(dateOf(Number(event.target.value)))}`;
      },
    },
  });
  const moveTo = (n) => {
    move(n >= last ? null : dateOf(n));
    byId("asof-slider")?.focus();
  };
  return el(
    "div",
    { class: "asof", role: "group", "aria-label": "As of" },
    el("label", { for: "asof-slider" }, "As of"),
    slider,
    el("input", {
      type: "date",
      id: "asof-date",
      "aria-label": "As of the day",
      value: asOf.slice(0, 10),
      min: dateOf(first),
      max: dateOf(last),
      on: { change: (event) => move(event.target.value) },
    }),
    el("span", { id: "asof-text", class: "quiet", role: "status" }, text),
    asOf &&
      el(
        "button",
        { type: "button", class: "plain-button", id: "asof-now", on: { click: () => move(null) } },
        "Show everything",
      ),
  );
}

function dateOf(days) {
  return new Date(days * DAY_MS).toISOString().slice(0, 10);
}
