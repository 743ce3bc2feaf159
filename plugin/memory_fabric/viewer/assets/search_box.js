// The search box: suggests names while the user types, and searches on Enter.

const suggestions = { names: [], at: -1 };

function listenToSearchBox() {
  const input = byId("find");
  input.addEventListener("input", () => offer(input.value));
  input.addEventListener("keydown", searchBoxKey);
  input.addEventListener("focus", () => offer(input.value));
  input.addEventListener("blur", closeSuggestions);
}

function offer(typed) {
  suggestions.names = namesLike(typed);
  suggestions.at = -1;
  if (!typed.trim()) return closeSuggestions();
  fill(byId("found"), [
    ...suggestions.names.map((e, n) =>
      option(n, [
        mark(e.type),
        el("bdi", {}, short(e.name, 60)),
        el("span", { class: "quiet" }, " " + short(e.type, 30)),
      ]),
    ),
    option(suggestions.names.length, [
      el("span", { class: "quiet" }, "Search all for "),
      el("bdi", {}, short(typed, 40)),
    ]),
  ]);
  byId("found").hidden = false;
  byId("find").setAttribute("aria-expanded", "true");
  return undefined;
}

function option(n, children) {
  return el(
    "li",
    {
      role: "option",
      id: `found-${n}`,
      "aria-selected": "false",
      on: {
        pointerdown: (event) => {
          event.preventDefault();
          take(n);
        },
      },
    },
    children,
  );
}

function closeSuggestions() {
  byId("found").hidden = true;
  byId("find").setAttribute("aria-expanded", "false");
  byId("find").removeAttribute("aria-activedescendant");
}

function searchBoxKey(event) {
  if (event.key === "ArrowDown" || event.key === "ArrowUp")
    point(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter" && event.target.value.trim())
    take(suggestions.at < 0 ? suggestions.names.length : suggestions.at);
  else return;
  event.preventDefault();
}

function point(by) {
  const options = [...byId("found").children];
  if (!options.length) return;
  suggestions.at =
    (suggestions.at + by + options.length + (suggestions.at < 0 && by < 0 ? 1 : 0)) % options.length;
  options.forEach((o, n) => o.setAttribute("aria-selected", String(n === suggestions.at)));
  byId("find").setAttribute("aria-activedescendant", `found-${suggestions.at}`);
}

/** Take an offer: in the graph the entity is focused, elsewhere its page opens. */
function take(n) {
  const entity = suggestions.names[n];
  const typed = byId("find").value.trim();
  closeSuggestions();
  byId("find").blur();
  if (!entity) return go(hashOf("search", "", { q: typed }));
  byId("find").value = "";
  return placeOf(location.hash).view === "graph"
    ? focusOn(entity.i)
    : go(hashOf("entity", keyOf(entity)));
}
