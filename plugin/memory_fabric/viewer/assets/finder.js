// The field in the bar: names while one types, everything on Enter.

const finder = { names: [], at: -1 };

function listenToFinder() {
  const input = byId("find");
  input.addEventListener("input", () => offer(input.value));
  input.addEventListener("keydown", finderKey);
  input.addEventListener("focus", () => offer(input.value));
  input.addEventListener("blur", closeFound);
}

function offer(typed) {
  finder.names = namesLike(typed);
  finder.at = -1;
  if (!typed.trim()) return closeFound();
  fill(byId("found"), [
    ...finder.names.map((e, n) =>
      option(n, [
        mark(e.type),
        el("bdi", {}, short(e.name, 60)),
        el("span", { class: "quiet" }, " " + short(e.type, 30)),
      ]),
    ),
    option(finder.names.length, [
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

function closeFound() {
  byId("found").hidden = true;
  byId("find").setAttribute("aria-expanded", "false");
  byId("find").removeAttribute("aria-activedescendant");
}

function finderKey(event) {
  if (event.key === "ArrowDown" || event.key === "ArrowUp")
    point(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter" && event.target.value.trim())
    take(finder.at < 0 ? finder.names.length : finder.at);
  else return;
  event.preventDefault();
}

function point(by) {
  const options = [...byId("found").children];
  if (!options.length) return;
  finder.at =
    (finder.at + by + options.length + (finder.at < 0 && by < 0 ? 1 : 0)) % options.length;
  options.forEach((o, n) => o.setAttribute("aria-selected", String(n === finder.at)));
  byId("find").setAttribute("aria-activedescendant", `found-${finder.at}`);
}

/** Take an offer: in the graph the entity is focused, elsewhere its page opens. */
function take(n) {
  const entity = finder.names[n];
  const typed = byId("find").value.trim();
  closeFound();
  byId("find").blur();
  if (!entity) return go(hashOf("search", "", { q: typed }));
  byId("find").value = "";
  return placeOf(location.hash).view === "graph"
    ? focusOn(entity.i)
    : go(hashOf("entity", keyOf(entity)));
}
