// The dialog of an action, and the note that says what was done.

/** Open the dialog with this content; Escape closes it, and the focus goes back. */
function openDialog(title, content) {
  const dialog = byId("act") ?? makeDialog();
  const said = el("p", { id: "act-said", role: "status", class: "quiet" });
  const alert = el("div", { id: "act-alert", role: "alert" });
  const heading = el("h2", { id: "act-title", tabindex: "-1" }, title);
  fill(dialog, heading, alert, content, said);
  if (!dialog.open) dialog.showModal();
  (dialog.querySelector("[autofocus]") ?? heading).focus();
  return dialog;
}

function makeDialog() {
  const dialog = el("dialog", { id: "act", "aria-labelledby": "act-title" });
  // Keys of the page do not work behind it.
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  // The event comes later than the closing: the dialog may be open again.
  dialog.addEventListener("close", () => dialog.open || fill(dialog));
  document.body.append(dialog);
  return dialog;
}

function closeDialog() {
  byId("act")?.close();
}

function sayInDialog(text) {
  if (byId("act-said")) byId("act-said").textContent = text;
}

/** Show an error in the dialog, and mark the field that it names. */
function alertInDialog(...content) {
  if (byId("act-alert")) fill(byId("act-alert"), p("notice", ...content));
}

/** The buttons at the end of a dialog: the action, if there is one, and the way out. */
function dialogFoot(action = null) {
  const attributes = { type: "button", class: "plain-button", on: { click: closeDialog } };
  return el(
    "div",
    { class: "act-foot" },
    action,
    el("button", attributes, action ? "Cancel" : "Close"),
  );
}

function dialogButton(word, click, kind = "strong") {
  return el("button", { type: "button", class: `plain-button ${kind}`, on: { click } }, word);
}

/** Show what was done, with a way to take it back. */
function showOutcome(item, answer) {
  const { undo } = answer;
  const back = undo && (() => takeBack(item, undo));
  const failures = (answer.failures ?? []).join(" ");
  const word = answer.done === "undone" ? "Redo" : "Undo";
  const said = `${answer.said}.`.replace(/\.\.$/, ".");
  const button = { type: "button", class: "plain-button", id: "outcome-undo", on: { click: back } };
  showNote("", [
    el("span", { class: "says", dir: "auto" }, said, failures && ` ${failures}`),
    back && el("button", button, word),
  ]);
}

function showProblem(error) {
  showNote("bad", el("span", { dir: "auto" }, `${error.message ?? error} ${error.remedy ?? ""}`));
}

// So long a note stays, or longer: a problem, and while the pointer or the focus is on it.
const NOTE_MS = 6000;
let noteEnd = 0;

function showNote(kind, content) {
  closeNote();
  const label = "Close this note";
  const close = { type: "button", class: "close", "aria-label": label, on: { click: closeNote } };
  const keydown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    closeNote();
    byId("main").focus();
  };
  // What was done is announced once the view stands again (`concludeChange`), not twice.
  const role = kind ? { role: "alert" } : { role: "status", "aria-live": "off" };
  const attributes = { id: "outcome", class: kind, "aria-label": "Last change", ...role, on: { keydown } };
  const note = el("div", attributes, content, el("button", close, "\u00d7"));
  document.body.append(note);
  const end = () => (note.matches(":hover, :focus-within") ? goSoon() : closeNote());
  const goSoon = () => (noteEnd = setTimeout(end, NOTE_MS));
  if (!kind) goSoon();
}

/** Take the note away: its time is over, or the view is another one. */
function closeNote() {
  clearTimeout(noteEnd);
  byId("outcome")?.remove();
}
