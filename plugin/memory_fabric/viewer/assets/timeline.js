// The timeline: records, newest first. Only blocks near the viewport have their cards.

const BLOCK = 40;
const CARD_PX = 90;
const MOST_TAGS = 12;
const MOST_KINDS = 12;
const OUTCOMES = table({ success: "\u2713 worked", failed: "\u2717 failed" });
const MARGIN = "1500px 0px";

let blocks = null;
let asOfOpen = false;

function showTimeline(place) {
  const asOf = asOfParam(place.params);
  const session = place.params.get("session") ?? "";
  const records = kept.records.filter(
    (r) => (!asOf || heldAt(r, asOf)) && (!session || r.session === session),
  );
  const list = el("div", { class: "records", id: "records" });
  blocks?.disconnect();
  fill(byId("main"), el("section", { class: "column timeline" }, timelineHead(place), list));
  if (memory.records.length)
    list.before(
      ...[
        sessionLine(session, records),
        onlyYours(),
        kindBar(),
        asOfControl(asOf, records.length),
      ].filter(Boolean),
    );
  if (!memory.records.length) fill(list, emptyMemory());
  else if (!records.length) fill(list, noRecords(asOf, session));
  else layBlocks(list, records, asOf, place.name);
  ready();
}

/** The first words of the page: whose memory it is, how much holds, and how it is. */
function timelineHead() {
  if (!memory.records.length) return null;
  const project = memory.project && ` of ${short(memory.project, 60)}`;
  const standing = kept.records.filter((r) => !isOver(r)).length;
  const holds = `${many(standing, "record")} ${standing === 1 ? "holds" : "hold"}`;
  const head = el("h1", {}, `What is remembered${project}`);
  const how = "Open a memory to see the commands that change it.";
  return [head, healthLine(holds, " \u00b7 "), changeMode() === FILE && p("quiet small", how)];
}

/** Kinds of records as buttons that filter, the most frequent first. */
function kindBar() {
  const kinds = counted(memory.records.map((r) => r.type));
  if (kinds.length < 2) return null;
  const button = ([kind, count]) =>
    el(
      "button",
      {
        type: "button",
        class: "choice",
        id: `kind-${kind}`,
        "data-kind": kind,
        "aria-pressed": String(filters.record.has(kind)),
        on: { click: () => keepingFocus(() => applyFilters(toggled("record", kind))) },
      },
      mark(kind),
      short(WORDS[kind] ?? kind, 24),
      quiet(` ${count.toLocaleString("en")}`),
    );
  const attributes = { class: "kinds", role: "group", "aria-label": "Kinds: press to show only these" };
  return el("div", attributes, kinds.slice(0, MOST_KINDS).map(button));
}

/** Do what rebuilds the view, and leave the focus on the element of the same id. */
function keepingFocus(change) {
  const id = document.activeElement?.id;
  change();
  if (id) byId(id)?.focus();
}

/** Said where a project has no record of its own: what stands here comes from elsewhere. */
function onlyYours() {
  if (!memory.project || memory.records.some((r) => r.scope !== "user" && r.scope !== "global"))
    return null;
  return p(
    "notice",
    `Nothing is remembered of ${short(memory.project, 60)} itself yet. What follows is yours in `,
    "every project. To begin: work in a session, or read in the past ones with ",
    el("code", {}, "memory-fabric learn"),
    ".",
  );
}

/** The line above the records of one session. */
function sessionLine(session, records) {
  if (!session) return null;
  const client = records.find((r) => r.client)?.client;
  const where = client ? ` in ${client}` : "";
  return p(
    "notice",
    `${many(records.length, "record")} of session `,
    el("code", {}, short(session, 40)),
    `${where}. `,
    el("a", { href: hashOf("timeline"), id: "all-sessions" }, "Show all sessions"),
  );
}

function noRecords(asOf, session) {
  if (session && !memory.records.some((r) => r.session === session))
    return p("nothing", "This memory has no record of that session.");
  return asOf && kept.records.length
    ? p("nothing", "Nothing held on that day.")
    : nothingLeft("records");
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
    const make = () => cards(some, records[from - 1], asOf, wanted);
    Object.assign(block, { make, filled: false });
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
  const at = Math.floor(n / BLOCK);
  // With those around it, which would move it when they are filled.
  for (const block of places.slice(Math.max(0, at - 1), at + 2)) turn(block, true);
  const card = byId(`record-${records[n].short_id}`);
  card.scrollIntoView({ block: "center" });
  card.querySelector("a").focus({ preventScroll: true });
}

function cards(some, before, asOf, wanted) {
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
          el("span", { class: "quiet" }, ` ${dayAgo(record.at)}`),
        ),
      );
    made.push(recordCard(record, asOf, [record.short_id, record.id].includes(wanted)));
    last = record;
  }
  return made;
}

/** The time since a day in words, seen from the day on which the picture was made. */
function dayAgo(at) {
  const days = Math.floor(memory.made / DAY_MS) - Math.floor(Date.parse(at) / DAY_MS);
  return { 0: "today", 1: "yesterday" }[days] ?? ago(at);
}

/** One record: its words first. One that is open also tells all that is known of it. */
function recordCard(record, asOf = "", isOpen = false) {
  const over = isOver(record) && !asOf;
  const href = hashOf("timeline", record.short_id);
  const text = prose(record.worded);
  const why = reasonOf(record);
  const { alternatives } = record;
  const kinds = ["card", over && "over-now", isOpen && "wanted"].filter(Boolean);
  // Commands, the buttons of a page in a file, stand on the open record alone.
  const acts = (isOpen || changeMode() === SERVED) && recordActions(record);
  return el(
    "article",
    { class: kinds.join(" "), id: `record-${record.short_id}` },
    el(
      "div",
      { class: "what" },
      el("a", { "data-row": true, dir: "auto", href }, over ? el("s", {}, text) : text),
    ),
    why && told("why", quiet(leadOf(why)), inline(why)),
    alternatives.length > 0 && told("why", quiet("instead of "), alternatives.join(", ")),
    chain(record),
    el("div", { class: "card-end" }, recordFoot(record, over), acts),
    isOpen && openFoot(record),
  );
}

/** Parts of a line with dots between them. */
function dotted(parts) {
  return parts.filter(Boolean).flatMap((part, n) => [n ? " \u00b7 " : "", part]);
}

/** What tells a record from the others around it; what is so of most is not said. */
function recordFoot(record, over) {
  const ended = record.superseded_by ? "replaced" : `held until ${day(record.held_until)}`;
  const about = record.entities.map((i) => memory.entities[i]).filter(Boolean);
  const named = about.filter((e) => e.name !== memory.project).slice(0, MOST_TAGS);
  return el(
    "p",
    { class: "foot" },
    dotted([
      typeLabel(record.type),
      record.pinned && el("span", { class: "pin" }, "\u2691 pinned"),
      over && el("span", { class: "ended" }, ended),
      outcomeMark(record),
      record.trust !== "user" && speakerOf(record),
      timeOfDay(record.at),
      record.scope === "user" && "yours everywhere",
      named.length > 0 && named.flatMap((e, n) => [n ? ", " : "", entityLink(e)]),
      staleMark(record),
      filesMark(record),
    ]),
  );
}

/** All that is known of a record besides its words. */
function openFoot(record) {
  const { confidence } = record;
  const parts = [
    speakerOf(record),
    record.author && record.trust !== "foreign" && `by ${short(record.author, 40)}`,
    record.agent && `agent ${short(record.agent, 40)}`,
    record.client && `in ${record.client}`,
    record.session && sessionLink(record.session),
    SCOPES[record.scope] ?? record.scope,
    record.domain !== "general" && record.domain,
    Number.isFinite(confidence) && `${Math.round(confidence * 100)} % sure`,
    el("code", {}, record.short_id),
  ];
  return el("p", { class: "foot more" }, dotted(parts));
}

/** Links to what a record replaced and to what replaced it. */
function chain(record) {
  const successor = memory.byRecord.get(record.superseded_by);
  const shortly = (other) => inline(short(other.worded, 500));
  const to = successor
    ? recordLink(successor, shortly(successor))
    : "a record that is not in this picture";
  return [
    record.superseded_by && p("chain", "\u2192 replaced by ", to),
    ...record.replaces.map((older) =>
      p("chain", "\u2190 replaces ", recordLink(older, el("s", {}, shortly(older)))),
    ),
  ];
}

/** The files that a record names and that are no longer as they were. */
function filesMark(record) {
  const said = Object.entries(record.changed_files ?? {}).map(
    ([path, how]) => `${short(path, 80)} ${how === "gone" ? "is gone" : "has changed since"}`,
  );
  return said.length ? el("span", { class: "files" }, said.join("; ")) : null;
}

function outcomeMark(record) {
  const word = OUTCOMES[record.outcome];
  return word ? el("span", { class: "outcome" }, word) : null;
}

function timeOfDay(at) {
  return /T\d\d:\d\d/.test(at) && el("time", { datetime: at, title: at }, `${at.slice(11, 16)} UTC`);
}

/** A link to what was said in the same session. */
function sessionLink(session) {
  const href = hashOf("timeline", "", { session });
  return el("a", { class: "session", href }, `session ${short(session).slice(0, 8)}`);
}

// As of

function asOfParam(params) {
  const date = dateIn(params, "asof");
  return date && `${date}T23:59:59.999Z`;
}

function asOfControl(asOf, count) {
  const times = memory.records.map((r) => Date.parse(r.at)).filter((t) => !Number.isNaN(t));
  if (!times.length) return null;
  const [first] = spread(times).map((time) => Math.floor(time / DAY_MS));
  const last = Math.floor(memory.made / DAY_MS);
  const held = asOf ? `What held on ${day(asOf)}` : "Everything, also what was replaced";
  const text = `${held}: ${many(count, "record")}`;
  if (first >= last && !asOf) return p("quiet", many(count, "record"));
  const all = { type: "button", class: "plain-button", id: "asof-now" };
  return el(
    "details",
    { class: "disclosure", id: "asof", open: Boolean(asOf) || asOfOpen, on: { toggle: noteAsOf } },
    el("summary", {}, "What held on a day"),
    el(
      "div",
      { class: "asof", role: "group", "aria-label": "As of" },
      el("label", { for: "asof-slider" }, "As of"),
      asOfSlider(asOf, first, last, text),
      asOfDate(asOf, first, last),
      el("span", { id: "asof-text", class: "quiet", role: "status" }, text),
      asOf && el("button", { ...all, on: { click: () => moveTo(null) } }, "Show everything"),
    ),
  );
}

/** Moving the slider makes the view anew: it stays open. */
function noteAsOf(event) {
  asOfOpen = event.target.open;
}

function asOfSlider(asOf, min, max, text) {
  const value = asOf ? Math.floor(Date.parse(asOf) / DAY_MS) : max;
  const chosen = (event) => Number(event.target.value);
  const change = (event) => {
    moveTo(chosen(event) >= max ? null : dateOf(chosen(event)));
    byId("asof-slider")?.focus();
  };
  const input = (event) => {
    byId("asof-text").textContent = `As of ${day(dateOf(chosen(event)))}`;
  };
  const range = { type: "range", id: "asof-slider", min, max, value };
  return el("input", { ...range, "aria-valuetext": text, on: { change, input } });
}

function asOfDate(asOf, first, last) {
  return el("input", {
    type: "date",
    id: "asof-date",
    "aria-label": "As of the day",
    value: asOf.slice(0, 10),
    min: dateOf(first),
    max: dateOf(last),
    on: { change: (event) => moveTo(event.target.value) },
  });
}

/** Show what held on a day; null: everything. */
function moveTo(date) {
  go(hashOf("timeline", "", { asof: date }), true);
}

function dateOf(days) {
  return new Date(days * DAY_MS).toISOString().slice(0, 10);
}
