// The dialogs of changes that are written or confirmed: edit, forget, merge, undo.

// Edit

function openEdit(record, item = record.id) {
  const fields = editFields(record);
  const state = { record, item, project: record.project, fields, before: valuesOf(fields) };
  const submit = (event) => {
    event.preventDefault();
    once(() => saveEdit(state));
  };
  const keydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  const save = el("button", { class: "plain-button strong", id: "act-save" }, "Save");
  const note = p("quiet small", "New words are your statement; names in them are read again.");
  const form = { class: "act-form", on: { submit, keydown } };
  openDialog("Edit", [el("form", form, formOf(fields), note, dialogFoot(save))]);
  fields.text.focus();
}

function editFields(record) {
  const values = editValues(record);
  const types = STATED_TYPES.includes(values.type) ? STATED_TYPES : [values.type, ...STATED_TYPES];
  return {
    text: el("textarea", { id: "edit-text", rows: "3", dir: "auto", required: true }, values.text),
    why: el("textarea", { id: "edit-why", rows: "2", dir: "auto" }, values.why),
    type: choiceOf("edit-type", types.map((one) => [one, one]), values.type),
    scope: choiceOf("edit-scope", Object.entries(LASTING_SCOPES), values.scope),
    when: el("input", {
      id: "edit-when",
      value: values.when,
      dir: "auto",
      autocomplete: "off",
      placeholder: "the command, path or activity in which it applies",
    }),
  };
}

function editValues(record) {
  const { what, why, type, scope, when: place } = record;
  return { text: what ?? "", why: why ?? "", type, scope, when: place ?? "" };
}

/** The values of the fields, as the browser has them: the measure of what was changed in them. */
function valuesOf(fields) {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value]));
}

function choiceOf(id, choices, value) {
  const option = ([key, word]) => el("option", { value: key, selected: key === value }, word);
  return el("select", { id }, choices.map(option));
}

function formOf(fields) {
  const words = { text: "What", why: "Why", type: "Type", scope: "Scope", when: "When" };
  return Object.entries(words).map(([name, word]) => fieldRow(word, fields[name]));
}

function fieldRow(word, field, ...more) {
  return el("div", { class: "act-field" }, el("label", { for: field.id }, word), field, more);
}

/** Send the fields that differ; where somebody else was faster, show theirs and keep these. */
async function saveEdit(state) {
  const { record, fields, before, item, project } = state;
  const changed = Object.entries(fields).filter(([name, field]) => field.value !== before[name]);
  if (!changed.length)
    return refuseInDialog({ message: "Nothing was changed.", field: "text" }, fields);
  const values = Object.fromEntries(changed.map(([name, field]) => [name, field.value]));
  const body = { action: "edit", record: shownAs(record), ...values };
  const answer = await requestChange(body, project);
  if (!answer.error) return concludeChange(item, answer);
  const { current: now } = answer.error;
  if (!now) return refuseInDialog(answer.error, fields);
  showNewest(state, now);
  fill(byId("act-save"), "Save mine instead");
  alertInDialog(
    "It was changed while you wrote; nothing was saved yet. It says now: ",
    el("q", { dir: "auto" }, now.what),
    now.why ? ` (${now.why})` : "",
  );
  return fields.text.focus();
}

/** Take over what is new in fields that were not touched; what was written stays. */
function showNewest(state, now) {
  const newest = editValues(now);
  for (const [name, field] of Object.entries(state.fields)) {
    const mine = field.value;
    field.value = newest[name];
    const theirs = field.value;
    if (mine !== state.before[name]) field.value = mine;
    state.before[name] = theirs;
  }
  state.record = now;
}

// Forget

async function openForget(item, what) {
  openDialog("Forget", [p("quiet", "Looking up what goes\u2026"), dialogFoot()]);
  const { preview, error } = await requestChange({ action: "forget", what });
  if (!byId("act").open) return;
  if (error) {
    openDialog("Forget", [dialogFoot()]);
    refuseInDialog(error);
    return;
  }
  const click = () => confirmed(item, { action: "forget", what, code: preview.code });
  const word = preview.count > 1 ? `Forget all ${preview.count}` : "Forget";
  const isId = /^[0-9a-f-]{36}$/.test(what);
  const purge = commandOf("forget", ["--purge"], [isId ? what.slice(-8) : what]);
  openDialog("Forget", [
    p("", "This goes:"),
    el("ul", { class: "act-list" }, goneRows(preview)),
    p("quiet small", preview.stays),
    purge && el("div", { class: "act-copy" }, copiedText("the command that purges it", purge)),
    dialogFoot(dialogButton(word, click, "danger")),
  ]);
}

function goneRows({ records, entities, observations, turns }) {
  const row = (kind, text) => el("li", {}, quiet(`${kind} `), el("span", { dir: "auto" }, text));
  const own = (e) => many(e.observations.length, "observation");
  return [
    ...records.map((r) => row(`${r.type} ${r.short_id}`, r.what)),
    ...entities.map((e) => row(`entity (${e.entityType})`, `${e.name}, ${own(e)} of its own`)),
    ...observations.map((o) => row("observation", `${o.entityName}: ${o.text}`)),
    ...turns.map((t) => row(`turn (${t.role})`, short(t.text, 200))),
  ];
}

/** Carry out what a preview showed; if that has changed, the dialog says so. */
function confirmed(item, body) {
  return once(async () => {
    const answer = await requestChange(body);
    if (answer.error) refuseInDialog(answer.error);
    else await concludeChange(item, answer);
  });
}

// Merge

function openMerge(entity) {
  const names = el("datalist", { id: "merge-names" });
  const typed = { id: "merge-other", list: "merge-names", autocomplete: "off", dir: "auto" };
  const other = el("input", { ...typed, required: true });
  const kept = [
    ["this", entity.name],
    ["other", "the other\u2019s name"],
  ];
  const keep = choiceOf("merge-keep", kept, "this");
  const box = el("div", { id: "merge-preview" });
  const state = { code: "", names: [] };
  const go = el("button", { class: "plain-button strong", id: "act-save" }, "Show what is merged");
  const restart = () => {
    state.code = "";
    fill(box);
    fill(go, "Show what is merged");
    fill(names, suggestedNames(entity, other.value));
  };
  other.addEventListener("input", restart);
  keep.addEventListener("change", restart);
  const submit = (event) => {
    event.preventDefault();
    const pair = [entity.name, other.value.trim()];
    const [into, from] = keep.value === "this" ? pair : pair.reverse();
    once(() => mergeStep(state, { into, names: [from] }, { box, go, other, entity }));
  };
  openDialog("Merge", [
    el(
      "form",
      { class: "act-form", on: { submit } },
      p("quiet", "One takes over the observations and relations of both, and the other name."),
      fieldRow("Other entity", other, names),
      fieldRow("Keep", keep),
      box,
      dialogFoot(go),
    ),
  ]);
  restart();
  other.focus();
}

function suggestedNames(entity, typed) {
  const wanted = folded(typed);
  const fits = memory.byImportance
    .map((i) => memory.entities[i])
    .filter((e) => e.i !== entity.i && folded(e.name).includes(wanted));
  return fits.slice(0, 30).map((e) => el("option", { value: e.name }));
}

/** First show what a merge takes together, then do exactly that. */
async function mergeStep(state, pair, { box, go, other, entity }) {
  const code = state.code ? { code: state.code } : {};
  const answer = await requestChange({ action: "merge", ...pair, ...code });
  if (answer.error) return refuseInDialog({ ...answer.error, field: "names" }, { names: other });
  if (!answer.preview) {
    const place = placeOf(location.hash);
    const next = hashWith("entity", answer.into, place.params);
    if (place.view === "entity") history.replaceState(history.state, "", next);
    return concludeChange(`entity:${entity.name}`, answer);
  }
  state.code = answer.preview.code;
  fill(byId("act-alert"));
  fill(box, mergeTable(answer.preview));
  fill(go, "Merge");
  return sayInDialog(`${pair.names[0]} would become ${pair.into}.`);
}

function mergeTable({ entities }) {
  const columns = ["entity", "type", "observations", "relations"];
  const row = (e) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", dir: "auto" }, short(e.name, 80)),
      [e.type, e.observations, e.relations].map((value) => el("td", {}, String(value))),
    );
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, columns.map((word) => el("th", { scope: "col" }, word)))),
    el("tbody", {}, entities.map(row)),
  );
}

// Undo

/** Show a change, by default the last one, and take it back if that is confirmed. */
async function openUndo(id = "") {
  if (changeMode() === FILE) {
    const last = commandOf("undo", ["--last"]);
    const commands = [
      ["Show the last change", commandOf("undo", [])],
      ["Undo the last change", last],
    ];
    return showCommands("The last change", commands);
  }
  if (!changeMode()) return announce("This page changes nothing.");
  openDialog("Undo", [p("quiet", "Looking up the change\u2026"), dialogFoot()]);
  const { preview, error } = await requestChange({ action: "undo", ...(id ? { id } : {}) });
  if (!byId("act").open) return undefined;
  if (error) {
    openDialog("Undo", [dialogFoot()]);
    return refuseInDialog(error);
  }
  const body = { action: "undo", id: preview.id, code: preview.code };
  const button = dialogButton("Undo", () => confirmed(`change:${preview.id}`, body));
  const possible = preview.changes.some((change) => !change.because);
  return openDialog(id ? "Undo" : "Undo the last change", [
    el("ul", { class: "act-list" }, preview.changes.map(undoneRow)),
    p("quiet small", "What others added or forgot since then stays."),
    dialogFoot(possible ? button : null),
  ]);
}

function undoneRow(change) {
  const by = [change.by.author, change.by.agent, change.by.source].filter(Boolean).join(" ");
  const stays = change.because && ` \u00b7 stays: ${change.because}`;
  const foot = quiet(` \u00b7 ${ago(change.at)}`, by && ` \u00b7 ${by}`, stays);
  return el("li", {}, el("span", { dir: "auto" }, change.what), foot);
}
