// The review view: everything that waits for a person's decision, in one list.

const MOST_DUE = 40;
// Each kind: its words, why one of it is here, and the word for accepting it (key `a`), by default
// that all of several are kept.
const DUE = table({
  candidate: {
    words: ["candidate", "candidates"],
    why: whyCandidate,
    accept: "Keep",
    says: "Heard and not noted: no session is given them until you keep them; after 90 days they go.",
  },
  contradiction: {
    words: ["contradiction", "contradictions"],
    why: () => "Says otherwise than the older one: sessions are told both, the newer one first.",
  },
  rule: {
    words: ["rule that waits for your word", "rules that wait for your word"],
    why: ({ from }) => `You never typed \u201c${from}\u201d: until you agree, the rule holds nothing back.`,
    accept: "Let it bind",
  },
  stale: {
    words: ["stale memory", "stale memories"],
    why: ({ days }) => `Not said or confirmed for ${many(days, "day")}.`,
    accept: "Still holds",
  },
  duplicate: {
    words: ["near duplicate", "near duplicates"],
    why: () => "Says nearly the same as the older one.",
  },
  imported: {
    words: ["imported memory", "imported memories"],
    why: ({ from }) => `From ${from}; you have not confirmed it.`,
    accept: "Confirm",
  },
  shared: {
    words: ["memory of a colleague", "memories of colleagues"],
    why: ({ from, record: { when } }) =>
      when
        ? `${from}, who owns the team's space, asks before: ${when}. Drop ends that for you.`
        : `${from || "Somebody"} says so; it is told as a claim, below your own.`,
    accept: "Accept",
  },
});

function whyCandidate({ record }) {
  const again = record.again > 0 && `, and again in ${many(record.again, "other session")}`;
  return `Heard ${ago(record.at)}${again || ""}; nobody noted it.`;
}

/** What waits here, as the server found it, each with its records; then candidates elsewhere. */
function dueItems() {
  const { due = [], candidates = [] } = memory.picture.review ?? {};
  const byCandidate = new Map(candidates.map((record) => [record.id, record]));
  const found = due.map((one) => ({
    ...one,
    record: byCandidate.get(one.record) ?? memory.byRecord.get(one.record),
    others: one.others.map((id) => memory.byRecord.get(id)).filter(Boolean),
  }));
  const isWhole = (one, i) => one.record && (one.others.length || !due[i].others.length);
  return [...found.filter(isWhole), ...dueElsewhere()];
}

/** Candidates of other projects; those of the user are shown with the project in use. */
function dueElsewhere() {
  const here = current.project || current.served;
  const own = new Set((memory.picture.review?.candidates ?? []).map((record) => record.id));
  return current.proposals
    .filter((record) => record.project !== here && !own.has(record.id))
    .map((record) => ({ kind: "candidate", record, others: [], elsewhere: record.name }));
}

/** How much waits: the one number in the bar. */
function dueCount() {
  const total = Object.values(memory.picture.review?.total ?? {});
  return total.reduce((sum, count) => sum + count, dueElsewhere().length);
}

function showReview() {
  const items = dueItems();
  const count = dueCount();
  const { total = {} } = memory.picture.review ?? {};
  const ofKind = (kind) => items.filter((one) => one.kind === kind && !one.elsewhere);
  const kinds = Object.keys(DUE).filter((kind) => total[kind] > 0);
  const waits = `${many(count, "thing")} ${count === 1 ? "waits" : "wait"} for your decision.`;
  const keys = [["j", "k"], "move", ["a"], "keeps", ["d"], "drops", ["e"], "changes", ["u"], "undoes"];
  const hint = keys.map((part) =>
    Array.isArray(part) ? part.map((key) => el("kbd", {}, key)) : ` ${part} `,
  );
  fill(
    byId("main"),
    el(
      "section",
      { class: "column review" },
      el("h1", {}, "Review"),
      p("quiet", count ? waits : "Nothing is due for review."),
      count > 0 && changeMode() === SERVED && p("quiet small keys-hint", hint),
      kinds.map((kind) => dueSection(kind, total[kind], ofKind(kind))),
      elsewhereSections(items.filter((one) => one.elsewhere)),
    ),
  );
  ready();
}

function dueSection(kind, total, items) {
  const { words, says } = DUE[kind];
  const heading = many(total, ...words);
  const groups = kind === "imported" || kind === "shared" ? bySource(items) : [["", items]];
  const parts = groups.map(([from, some]) => [from && broughtBar(kind, from), dueCards(some)]);
  const left = total - items.length;
  const more = left > 0 && p("quiet", `and ${left.toLocaleString("en")} more, once these are done.`);
  return dueGroup(`due-${kind}`, heading, says && p("quiet small", says), parts, more);
}

function dueGroup(id, heading, ...content) {
  return el("section", { "aria-labelledby": id }, el("h2", { id }, heading), content.flat(Infinity));
}

function elsewhereSections(items) {
  return [...bySource(items, (one) => one.elsewhere)].map(([name, some], n) =>
    dueGroup(
      `due-elsewhere-${n}`,
      `${many(some.length, ...DUE.candidate.words)} in ${short(name, 60)}`,
      dueCards(some),
    ),
  );
}

function bySource(items, sourceOf = (one) => one.from) {
  const groups = new Map();
  for (const one of items) groups.set(sourceOf(one), [...(groups.get(sourceOf(one)) ?? []), one]);
  return [...groups];
}

function dueCards(items) {
  const left = items.length - MOST_DUE;
  const more = left > 0 && p("quiet", `and ${left.toLocaleString("en")} more, once these are done.`);
  return [items.slice(0, MOST_DUE).map(dueCard), more];
}

/** All that a program or colleague brought, decided at once. */
function broughtBar(kind, from) {
  const count = memory.picture.review.brought.find((one) => one.from === from)?.count ?? 0;
  const item = `all:${from}`;
  const { accept } = DUE[kind];
  const all = `all ${count.toLocaleString("en")} from ${short(from, 60)}`;
  const button = (word, action, look) =>
    actButtonOf(item, `${word} ${all}\u2026`, "", () => openAll(item, from, action, word), look);
  const commands = [
    [`${accept} ${all}`, commandOf("review", [["--holds", from]])],
    [`Drop ${all}`, commandOf("review", [["--drop", from]])],
  ];
  const made =
    changeMode() === FILE
      ? commandsButton(item, all, commands)
      : [button(accept, "holds_all", "strong"), button("Drop", "drop_all", "")];
  return el(
    "div",
    { class: "bulk", "data-item": item },
    el("h3", { dir: "auto" }, short(from, 60), quiet(` ${count.toLocaleString("en")}`)),
    changeMode() && el("div", { class: "actions" }, made),
  );
}

/** One thing to decide on: it takes the focus, and the keys `a`, `d` and `e` press its buttons. */
function dueCard(one) {
  const { kind, record, others } = one;
  const item = `due:${record.id}`;
  const records = [record, ...others];
  const why = `why-${record.short_id}`;
  const said = records.map((r) => short(r.worded ?? r.what, 160)).join(" / ");
  const label = `${others.length ? `${DUE[kind].words[0]}: ` : ""}${said}`;
  const attributes = { class: "card due", tabindex: "0", "data-row": true, "data-item": item };
  const names = { "aria-label": label, "aria-describedby": why, "aria-keyshortcuts": "a d e" };
  return el(
    "article",
    { ...attributes, ...names },
    others.length
      ? el("div", { class: "sides" }, records.map((r) => dueSide(r, records, item)))
      : dueText(record, kind === "candidate"),
    el("p", { class: "due-why", id: why, dir: "auto" }, DUE[kind].why(one)),
    changeMode() && el("div", { class: "actions" }, dueActions(one, item, said)),
  );
}

function dueText(record, isCandidate = false) {
  const href = hashOf("timeline", record.short_id);
  const text = prose(record.worded ?? record.what);
  const context = (word, text) => text && told("why", quiet(`${word}: `), short(text, 320));
  const prompt = record.prompt !== record.what && record.prompt;
  const id = el("code", {}, record.short_id);
  const everywhere = record.scope === "user" && "yours everywhere";
  const foot = [typeLabel(record.type), everywhere, speakerOf(record), day(record.at), id];
  const why = reasonOf({ worded: record.worded ?? record.what, why: record.why });
  const what = el(isCandidate ? "div" : "a", { dir: "auto", href: isCandidate ? null : href }, text);
  return [
    el("div", { class: "what" }, what),
    why && told("why", quiet(leadOf(why)), inline(why)),
    record.when && told("why", quiet("when "), record.when),
    context("prompt", prompt),
    context("before it", record.before),
    p("foot", dotted(foot)),
  ];
}

/** One of several records of which one may go, the newest first. */
function dueSide(record, records, item) {
  const others = records.filter((other) => other !== record).map(shownAs);
  const body = { action: "edit", record: shownAs(record), instead_of: others };
  const keep = actButtonOf(item, "Keep this one", record.what, () => act(item, body));
  return el(
    "div",
    { class: "side" },
    dueText(record),
    changeMode() === SERVED && el("div", { class: "actions" }, keep),
  );
}

function dueActions(one, item, said) {
  const { kind, record, others } = one;
  if (changeMode() === FILE) return commandsButton(item, said, dueCommands(one));
  const decide = (action) => () => act(item, { action, record: shownAs(record) }, record.project);
  const drop = others.length ? "Drop the newer" : "Drop";
  const edit = () => openEdit(record, item);
  return [
    keyButton("a", DUE[kind].accept ?? keepAllWord([record, ...others]), decide(kind === "candidate" ? "keep" : "holds"), "strong"),
    keyButton("d", drop, decide("drop")),
    isEditable(record) && keyButton("e", "Edit\u2026", edit),
  ];

  function keyButton(key, word, click, look = "") {
    const button = actButtonOf(item, word, said, click, look);
    button.dataset.key = key;
    return button;
  }
}

function keepAllWord(records) {
  return records.length > 2 ? "Keep all" : "Keep both";
}

function dueCommands({ kind, record, others }) {
  if (kind === "candidate") return candidateCommands(record);
  if (others.length) return choiceCommands([record, ...others]);
  return [[DUE[kind].accept, holdsCommand(record)], ...recordCommands(record)];
}

/** Ask once, with the number, before all that a program or colleague brought is decided. */
async function openAll(item, from, action, word) {
  const { preview, error } = await requestChange({ action, of: from });
  if (error) return showProblem(error);
  const all = `${word} all ${preview.count.toLocaleString("en")}`;
  const click = () => confirmed(item, { action, of: from, code: preview.code });
  const says = {
    holds_all: "Sessions are told them without the mark \u201cunverified\u201d, or as a claim that you know.",
    drop_all: "They are forgotten. Undo brings all of them back.",
  };
  return openDialog(`${all} from ${short(from, 60)}?`, [
    p("", says[action]),
    dialogFoot(dialogButton(all, click, action === "drop_all" ? "danger" : "strong")),
  ]);
}

// Keys

/** Press the button of a key on the item that has the focus; in a file, show its commands. */
function reviewKey(key) {
  const card = document.activeElement?.closest?.(".due");
  if (!card) return announce("Move to one first, by j or k.");
  const button = card.querySelector(changeMode() === FILE ? ".act" : `[data-key="${key}"]`);
  if (button) return button.click();
  return announce(changeMode() ? "Only its author can change it." : "This page changes nothing.");
}

function inReview() {
  return placeOf(location.hash).view === "review";
}

/** Take back what was just decided; else show the last change. */
function undoKey() {
  if (!inReview() || !lastDone) return openUndo();
  return takeBack(lastDone.item, lastDone.undo);
}

/** Show at the tab how much waits. */
function pointToReview() {
  const count = dueCount();
  const tab = byId("tab-review");
  if (tab) tab.hidden = !memory.picture.review;
  tab?.querySelector(".count")?.remove();
  if (count)
    tab?.append(
      el("span", { class: "count" }, count.toLocaleString("en"), el("span", { class: "unseen" }, " due")),
    );
}
