// Light or dark: the system's setting, unless the user chose otherwise on this page.

const THEME_KEY = "memory-fabric-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** The choice made here before; pages opened as files may not be allowed to remember. */
function chosenTheme() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null;
  }
}

function rememberTheme(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    announce("The browser does not let this page remember the choice.");
  }
}

function takeTheme(theme = chosenTheme() ?? (dark.matches ? "dark" : "light")) {
  document.documentElement.dataset.theme = theme === "dark" ? "dark" : "light";
  const other = theme === "dark" ? "light" : "dark";
  byId("theme").setAttribute("aria-label", `Change to ${other}`);
  readColours();
  redraw();
}

function switchTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  rememberTheme(next);
  takeTheme(next);
}
