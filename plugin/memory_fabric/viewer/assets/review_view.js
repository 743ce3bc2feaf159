// The review view: what waits for a decision, candidates and contradictions first.

const MOST_DUE = 40;
const DUE_WORDS = table({
  candidate: ["candidate", "candidates"],
  contradiction: ["contradiction", "contradictions"],
  stale: ["stale memory", "stale memories"],
  duplicate: ["near duplicate", "near duplicates"],
  imported: ["imported memory", "imported memories"],
});
const DUE_SAYS = table({
  candidate:
    "Heard and not noted: no session is given them until you keep them; after 90 days they go.",
  contradiction: "Both are told to sessions, the newer one first, until you decide.",
  stale: "Old for their kind, and not confirmed since.",
  duplicate: "They say nearly the same.",
  imported: "Another program stated them, and you have not confirmed them.",
});
// What is a debt: sessions are told of it, too.
const DEBT = ["candidate", "contradiction"];

/** "3 candidates and 1 contradiction"; '' without any. */
function dueText(kinds) {
  const total = memory.picture.review?.total ?? {};
  return kinds
    .filter((kind) => total[kind] > 0)
    .map((kind) => many(total[kind], ...DUE_WORDS[kind]))
    .join(" and ");
}

function debtCount() {
  const total = memory.picture.review?.total ?? {};
  return DEBT.reduce((sum, kind) => sum + (total[kind] ?? 0), 0);
}

function showReview() {
  const { total = {}, due = [] } = memory.picture.review ?? {};
  const kinds = Object.keys(DUE_WORDS).filter((kind) => total[kind] > 0);
  fill(
    byId("main"),
    el(
      "section",
      { class: "column review" },
      el("h1", {}, "Review"),
      p("quiet", kinds.length ? "What waits for your decision." : "Nothing is due for review."),
      changeMode() && dialogButton("Undo the last change\u2026", () => openUndo(), ""),
      kinds.map((kind) => dueSection(kind, total[kind], due.filter((one) => one.kind === kind))),
    ),
  );
  ready();
}

function dueSection(kind, total, due) {
  const cards = due.slice(0, MOST_DUE).map(dueCard).filter(Boolean);
  const more = total - cards.length;
  const limit = `memory-fabric review --limit ${Math.min(100, total)} lists them.`;
  return el(
    "section",
    { "aria-labelledby": `due-${kind}` },
    el("h2", { id: `due-${kind}` }, many(total, ...DUE_WORDS[kind])),
    p("quiet small", DUE_SAYS[kind]),
    cards,
    more > 0 && p("quiet", `and ${more.toLocaleString("en")} more. ${limit}`),
  );
}

function dueCard(one) {
  if (one.kind === "candidate") {
    const record = memory.picture.review.candidates.find((c) => c.id === one.record);
    return record ? candidateCard(record) : null;
  }
  const records = [one.record, ...one.others].map((id) => memory.byRecord.get(id)).filter(Boolean);
  if (!records.length || (one.others.length && records.length < 2)) return null;
  return one.others.length ? choiceCard(one.kind, records) : staleCard(records[0]);
}

function candidateCard(record) {
  const context = (word, text) => text && told("why", quiet(`${word}: `), short(text, 320));
  const again = record.again > 0 && `said again in ${many(record.again, "other session")}`;
  const prompt = record.prompt !== record.what && record.prompt;
  return el(
    "article",
    { class: "card" },
    p("over", typeLabel(record.type), quiet(ago(record.at)), again && quiet(again)),
    el("p", { class: "what", dir: "auto" }, record.what),
    record.why && told("why", quiet(leadOf(record.why)), record.why),
    context("prompt", prompt),
    context("before it", record.before),
    el("div", { class: "card-end" }, foot(record), candidateActions(record)),
  );
}

function foot(record) {
  return p(
    "foot",
    [record.scope, TRUSTS[record.trust] ?? record.trust, day(record.at), ""].join(" \u00b7 "),
    el("code", {}, record.short_id),
  );
}

/** Records of which one may go, side by side, the newest first. */
function choiceCard(kind, records) {
  const item = `choice:${records[0].id}`;
  const name = records.map((record) => record.what).join(" / ");
  const label = `${DUE_WORDS[kind][0]}: ${name}`;
  const keep = keepAllWord(records);
  const holds = { action: "holds", record: shownAs(records[0]) };
  const isFile = changeMode() === FILE;
  const both = isFile
    ? commandsButton(item, name, choiceCommands(records))
    : actButtonOf(item, keep, name, () => act(item, holds));
  return el(
    "article",
    { class: "card choice-card", "data-item": item, "aria-label": short(label, 160) },
    el(
      "div",
      { class: "sides" },
      records.map((record) => sideOf(record, records, item)),
    ),
    changeMode() && el("div", { class: "actions" }, both),
  );
}

function keepAllWord(records) {
  return records.length > 2 ? "Keep all" : "Keep both";
}

function sideOf(record, records, item) {
  const others = records.filter((other) => other !== record).map(shownAs);
  const body = { action: "edit", record: shownAs(record), instead_of: others };
  const button = actButtonOf(item, "Keep this one", record.what, () => act(item, body), "strong");
  const edit = actButtonOf(item, "Edit\u2026", record.what, () => openEdit(record));
  return el(
    "div",
    { class: "side" },
    p("over", typeLabel(record.type), quiet(`${day(record.at)}, ${ago(record.at)}`)),
    linkedWhat(record),
    record.why && told("why", quiet(leadOf(record.why)), record.why),
    foot(record),
    changeMode() === SERVED &&
      el("div", { class: "actions" }, button, isEditable(record) && edit),
  );
}

function linkedWhat(record) {
  const href = hashOf("timeline", record.short_id);
  return p("what", el("a", { "data-row": true, dir: "auto", href }, record.worded));
}

function staleCard(record) {
  const item = `stale:${record.id}`;
  const body = { action: "holds", record: shownAs(record) };
  const commands = [["Still holds", holdsCommand(record)], ...recordCommands(record)];
  const isFile = changeMode() === FILE;
  return el(
    "article",
    { class: "card" },
    p("over", typeLabel(record.type), staleMark(record)),
    linkedWhat(record),
    record.why && told("why", quiet(leadOf(record.why)), record.why),
    foot(record),
    changeMode() &&
      el(
        "div",
        { class: "actions", role: "group", "aria-label": "Change it", "data-item": item },
        isFile
          ? commandsButton(item, record.what, commands)
          : [
              actButtonOf(item, "Still holds", record.what, () => act(item, body), "strong"),
              actButtonOf(item, "Edit\u2026", record.what, () => openEdit(record)),
              actButtonOf(item, "Forget\u2026", record.what, () => openForget(item, record.id)),
            ],
      ),
  );
}

// What points to it

/** While there is review debt: a sentence that leads to it. */
function reviewNotice() {
  const waits = dueText(DEBT);
  if (!waits) return null;
  const verb = debtCount() === 1 ? "waits" : "wait";
  const link = el("a", { class: "plain-button strong", href: hashOf("review") }, "Review");
  const says = el("span", {}, `${waits} ${verb} for your decision.`);
  return el("p", { class: "notice debt", id: "debt" }, says, link);
}

/** Point to review debt: at the tab always, and first in the view that one begins with. */
function pointToReview() {
  const count = debtCount();
  const tab = byId("tab-review");
  if (tab) tab.hidden = !memory.picture.review;
  tab?.querySelector(".count")?.remove();
  if (count)
    tab?.append(
      el("span", { class: "count" }, String(count), el("span", { class: "unseen" }, " due")),
    );
  byId("main").querySelector(".column.timeline")?.prepend(reviewNotice() ?? "");
}
