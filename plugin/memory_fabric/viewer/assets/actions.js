// Actions on what the page shows: buttons where its server takes changes, commands in a file.
// Each change names the version that was shown; what changed since is refused and shown anew.

const SERVED = "served";
const FILE = "file";
// Without the summaries of sessions, which only hooks write.
const STATED_TYPES = Object.keys(RECORD_LOOKS).filter((type) => type !== "session").sort();
const LASTING_SCOPES = table({
  team: "team: this project",
  user: "user: yours, in every project",
  global: "global: every project, without names",
});

/** The way in which this page changes the memory: by its server, by commands, or ("") none. */
function changeMode() {
  if (memory.picture.takes_changes) return SERVED;
  return memory.live ? "" : FILE;
}

/** The actions on a record, a candidate, an entity or a change. */
function recordActions(record) {
  return actions(record.id, record.what, recordCommands, record, () => [
    isEditable(record) && ["Edit\u2026", () => openEdit(record)],
    !isOver(record) && [
      record.pinned ? "Unpin" : "Pin",
      () => act(record.id, { action: record.pinned ? "unpin" : "pin", record: shownAs(record) }),
    ],
    ["Forget\u2026", () => openForget(record.id, record.id)],
  ]);
}

function entityActions(entity) {
  const item = `entity:${entity.name}`;
  return actions(item, entity.name, entityCommands, entity, () => [
    ["Merge\u2026", () => openMerge(entity)],
    ["Forget\u2026", () => openForget(item, entity.name)],
  ]);
}

/** An observation that no record states is forgotten by its words. */
function observationActions(entity, observation) {
  const words = `${entity.name} ${observation.text}`;
  const item = `observation:${words}`;
  const commands = () => [["Show what these words mean", commandOf("forget", [], [words])]];
  return actions(item, observation.text, commands, observation, () => [
    ["Forget\u2026", () => openForget(item, words)],
  ]);
}

function changeActions(change) {
  if (change.undone) return null;
  const item = `change:${change.id}`;
  const named = { short_id: change.id.slice(-8) };
  return actions(item, change.what, changeCommands, named, () => [
    ["Undo\u2026", () => openUndo(change.id)],
  ]);
}

/** The buttons of an item, or the one button with its commands. */
function actions(item, name, commands, of, buttons) {
  const mode = changeMode();
  if (!mode) return null;
  const made =
    mode === FILE
      ? commandsButton(item, name, commands(of))
      : buttons()
          .filter(Boolean)
          .map(([word, click, kind]) => actButtonOf(item, word, name, click, kind));
  const group = { class: "actions", role: "group", "aria-label": "Change it" };
  return el("div", { ...group, "data-item": item }, made);
}

function actButtonOf(item, word, name, click, kind = "") {
  const label = `${word.replace("\u2026", "")}${name && `: ${short(name, 120)}`}`;
  const attributes = { type: "button", class: `act ${kind}`, "data-act": `${item} ${word}` };
  return el("button", { ...attributes, "aria-label": label, on: { click } }, word);
}

/** True if the words of a record are the reader's to change. */
function isEditable(record) {
  const isOthers = record.source === "journal";
  return !record.superseded_by && !record.valid_to && record.type !== "session" && !isOthers;
}

function shownAs(record) {
  return { id: record.id, version: record.version };
}

// Changes

let underWay = false;

/** Do one thing at a time: what is pressed twice is asked for once. */
async function once(work) {
  if (underWay) return;
  underWay = true;
  try {
    await work();
  } finally {
    underWay = false;
  }
}

// The last decision that this page can take back at once: its item, and how.
let lastDone = null;

/** Ask the server for a change or a preview, in the project in use or another one. */
async function requestChange(body, project = current.project) {
  const where = project ? `?project=${encodeURIComponent(project)}` : "";
  const answer = await fetched(`api/changes${where}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.undo) answer.undo.project = project;
  return Object.assign(answer, { project });
}

/** Make a change at once, say what was done, and go on where the item was. */
function act(item, body, project = current.project) {
  return once(async () => {
    const answer = await requestChange(body, project);
    if (!answer.error) return concludeChange(item, answer);
    showProblem(answer.error);
    return showAgain(item, project);
  });
}

/** Say what was done, and show the memory as it is now. */
async function concludeChange(item, answer) {
  closeDialog();
  showOutcome(item, answer);
  lastDone = answer.undo && answer.done !== "undone" ? { item, undo: answer.undo } : null;
  // Candidates of the user are listed with a project, and are decided in any.
  current.proposals = current.proposals.filter(({ id }) => id !== answer.record);
  await showAgain(item, answer.project);
  announce(answer.said);
}

function takeBack(item, { id, code, project }) {
  return act(item, { action: "undo", id, code }, project);
}

/** Read the memory again and put the focus where the item is, or where the next one is now. */
async function showAgain(item, project) {
  const wanted = followers(item);
  const number = buttonNumber(item);
  const isElsewhere = project !== current.project;
  const [picture] = await Promise.all([newestPicture(), isElsewhere && readProjects()]);
  if (!picture) return;
  if (picture.error) {
    showProblem(picture.error);
    return;
  }
  const place = placeOf(location.hash);
  const gone = !picture.records.some((record) => record.id === item);
  if (place.view === "timeline") nameInTimeline(place, gone ? wanted.slice(1) : wanted);
  const top = scrollY;
  takeMemory(picture);
  if (place.view !== "timeline") scrollTo(0, top);
  focusFirst(wanted, item, number);
}

/** The number of the item's button that was used: the same one is used next. */
function buttonNumber(item) {
  const group = groupOf(item);
  const used = document.activeElement?.dataset?.act ?? "";
  const buttons = group ? [...group.querySelectorAll(".act")] : [];
  return buttons.findIndex((button) => button.dataset.act === used);
}

function groupOf(item) {
  return byId("main").querySelector(`[data-item="${CSS.escape(item)}"]`);
}

/** The items to go on with: this one, those behind it, then those before it. */
function followers(item) {
  const found = [...byId("main").querySelectorAll("[data-item]")].map((node) => node.dataset.item);
  // From one thing to the next one, not to what decides on many.
  const all = item.startsWith("all:") ? found : found.filter((one) => !one.startsWith("all:"));
  const here = all.indexOf(item);
  return here < 0 ? [item] : [...all.slice(here), ...all.slice(0, here).reverse()];
}

/** The timeline shows the record that its address names, also one out of sight. */
function nameInTimeline(place, wanted) {
  const record = wanted.map((id) => memory.byRecord.get(id)).find(Boolean);
  if (record)
    history.replaceState(history.state, "", hashWith("timeline", record.short_id, place.params));
}

function focusFirst(wanted, item, number) {
  const found = wanted.find(groupOf);
  if (found && groupOf(found).matches(".due")) {
    groupOf(found).focus();
    groupOf(found).scrollIntoView({ block: "nearest" });
    return;
  }
  const buttons = found ? [...groupOf(found).querySelectorAll(".act")] : [];
  const next = (found === item && buttons[number]) || buttons[0];
  if (next) {
    next.focus();
    return;
  }
  const heading = byId("main").querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  (heading ?? byId("main")).focus();
}

/** An error within a dialog: shown there, with the field that it names. */
function refuseInDialog(error, fields = {}) {
  alertInDialog(error.message ?? String(error), " ", error.remedy ?? "");
  for (const field of Object.values(fields)) field.removeAttribute("aria-invalid");
  const wrong = fields[error.field];
  wrong?.setAttribute("aria-invalid", "true");
  wrong?.focus();
}

/** The button in the bar for the last change. */
function makeUndoButton() {
  if (!changeMode()) return;
  const path = svg("path", { d: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M5.5 3.5l-3 3 3 3" });
  const icon = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, path);
  const click = () => openUndo();
  const title = "Undo the last change";
  const attributes = { type: "button", id: "undo", title, "aria-label": title, on: { click } };
  byId("help").before(el("button", attributes, icon));
}
