// Commands of the shell for what a page in a file cannot do itself, quoted for sh, bash, zsh and
// fish.

const PLAIN_WORD = /^[A-Za-z0-9_.,:@/+-]+$/;

/**
 * A word as a shell reads it back; null for what cannot be typed or pasted safely.
 *
 * Quotes and backslashes stand outside the quotes: fish reads `\\` and `\'` as escapes within them.
 */
function quoted(word) {
  const text = String(word);
  if (text.search(UNSEEN) >= 0) return null;
  return PLAIN_WORD.test(text) ? text : `'${text.replace(/['\\]/g, "'\\$&'")}'`;
}

/** `memory-fabric` with these words; names that look like options come behind `--`. */
function commandOf(action, options, names = []) {
  const words = [...action.split(" "), ...options.map(optionWord)];
  if (names.some((name) => String(name).startsWith("-"))) words.push("--");
  words.push(...names.map(quoted));
  return words.includes(null) ? null : ["memory-fabric", ...words].join(" ");
}

/** An option; one with a value as a pair. */
function optionWord(option) {
  if (!Array.isArray(option)) return option;
  const value = quoted(option[1].replace(/\s+/g, " ").trim() || "\u2026");
  return value && `${option[0]}=${value}`;
}

function recordCommands(record) {
  const id = record.short_id;
  const text = [["--text", record.what]];
  return [
    isEditable(record) && ["Edit", commandOf(`edit ${id}`, text) ?? `memory-fabric edit ${id}`],
    !isOver(record) &&
      (record.pinned
        ? ["Unpin", commandOf(`pin ${id}`, ["--off"])]
        : ["Pin", commandOf(`pin ${id}`, [])]),
    ["Show what forgetting it takes away", commandOf(`forget ${id}`, [])],
    ["Forget", commandOf(`forget ${id}`, ["--yes"])],
  ].filter(Boolean);
}

function candidateCommands(record) {
  const id = record.short_id;
  return [
    ["Keep", commandOf("candidates", [["--keep", id]])],
    ["Drop", commandOf("candidates", [["--drop", id]])],
    ["Keep in other words", commandOf(`edit ${id}`, [["--text", record.what]])],
  ];
}

function entityCommands(entity) {
  return [
    ["Show what forgetting it takes away", commandOf("forget", [], [entity.name])],
    ["Forget", commandOf("forget", ["--yes", "--all"], [entity.name])],
    ["Merge another entity into it", commandOf("merge", ["--yes"], [entity.name, "OTHER-NAME"])],
  ];
}

function changeCommands(change) {
  return [["Undo", commandOf(`undo ${change.short_id}`, [])]];
}

/** The commands that decide between records: one is kept, or all of them. */
function choiceCommands(records) {
  const keepOne = records.map((one) => [
    `Keep ${one.short_id}`,
    commandOf(
      `edit ${one.short_id}`,
      records.filter((other) => other !== one).map((other) => ["--instead-of", other.short_id]),
    ),
  ]);
  return [...keepOne, [keepAllWord(records), holdsCommand(records[0])]];
}

function holdsCommand(record) {
  return commandOf("review", [["--holds", record.short_id]]);
}

/** One button that shows the commands for an item. */
function commandsButton(item, name, commands) {
  const click = () => showCommands(name, commands);
  return actButtonOf(item, "Commands", name, click);
}

function showCommands(name, commands) {
  openDialog("Commands", [
    p("quiet", "This page is a file and changes nothing. Run in the project\u2019s folder:"),
    el("p", { dir: "auto", class: "act-about" }, short(name, 200)),
    el("dl", { class: "commands" }, commands.map(commandRow)),
    dialogFoot(),
  ]);
}

function commandRow([word, command]) {
  const without =
    "Its name has characters that a shell cannot be given: open the page with memory-fabric serve.";
  return el(
    "div",
    {},
    el("dt", {}, word),
    el("dd", {}, command ? copiedText(word, command) : quiet(without)),
  );
}

/** A command with the button that copies it. */
function copiedText(word, command) {
  const code = el("code", { tabindex: "0", dir: "ltr" }, command);
  const click = (event) => copy(command, code, event.currentTarget);
  const attributes = { type: "button", class: "plain-button", "aria-label": `Copy: ${word}` };
  return [code, el("button", { ...attributes, on: { click } }, "Copy")];
}

/** Put a text on the clipboard; where the browser refuses, select it for Ctrl+C. */
async function copy(text, code, button) {
  try {
    await navigator.clipboard.writeText(text);
    fill(button, "Copied");
    sayInDialog("Copied.");
  } catch {
    getSelection().selectAllChildren(code);
    sayInDialog("Selected: copy it with Ctrl+C.");
  }
}
