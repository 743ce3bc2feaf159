// The filter panel: choosing and removing filters.

const MOST_CHOICES = 24;

function showFilters() {
  const count = filterCount();
  byId("filter-count").hidden = !count;
  byId("filter-count").textContent = String(count || "");
  byId("filter").setAttribute("aria-label", count ? `Filters, ${count} in force` : "Filters");
  showChips(count);
  if (!byId("filters").hidden) fillFilters();
}

function showChips(count) {
  const chips = plain(filters).flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value]).filter(Boolean).map((one) => chip(key, one)),
  );
  byId("chips").hidden = !count;
  fill(
    byId("chips"),
    chips,
    count > 1 &&
      el(
        "button",
        { type: "button", class: "plain-button", on: { click: clearFilters } },
        "Clear all",
      ),
  );
}

function chip(key, value) {
  const title =
    { type: "entity", record: "record", trust: "said by", age: "", since: "since", until: "until" }[
      key
    ] ?? key;
  const next = () => applyFilters(DATE_KEYS.includes(key) ? toggled(key, "") : toggled(key, value));
  const text = `${title} ${filterWord(key, value)}`.trim();
  return el(
    "button",
    {
      type: "button",
      class: "chip",
      "data-filter": key,
      "aria-label": `Remove filter: ${short(text, 60)}`,
      on: { click: next },
    },
    title && el("span", { class: "quiet" }, title + " "),
    short(filterWord(key, value), 40),
    el("span", { class: "cross", "aria-hidden": "true" }, "\u00d7"),
  );
}

function fillFilters() {
  const focused = document.activeElement?.id;
  fill(
    byId("filters"),
    el("div", { class: "filter-groups" }, FILTERS.map(filterGroup), dateGroup()),
    el(
      "p",
      { class: "filter-foot" },
      el(
        "span",
        { class: "quiet" },
        `Keeps ${many(kept.entities.length, "entity", "entities")} and `,
        `${many(kept.records.length, "record")}.`,
      ),
      filterCount() > 0 && clearButton(),
      el(
        "button",
        { type: "button", class: "plain-button", on: { click: () => openFilters(false) } },
        "Done",
      ),
    ),
  );
  if (focused) byId(focused)?.focus();
}

function filterGroup({ key, title, of, typed }) {
  const choices = of().slice(0, MOST_CHOICES);
  if (choices.length < 2 && !filters[key].size) return null;
  return el(
    "fieldset",
    {},
    el("legend", {}, title),
    choices.map(([value, count], n) =>
      el(
        "button",
        {
          type: "button",
          class: "choice",
          id: `choice-${key}-${n}`,
          "aria-pressed": String(filters[key].has(value)),
          "data-filter": key,
          "data-value": value,
          on: { click: () => applyFilters(toggled(key, value)) },
        },
        typed && mark(value),
        short(filterWord(key, value), 40),
        count !== null && el("span", { class: "quiet" }, " " + count.toLocaleString("en")),
      ),
    ),
  );
}

function dateGroup() {
  const field = (key, text) =>
    el(
      "label",
      { class: "date" },
      text,
      el("input", {
        type: "date",
        id: `date-${key}`,
        value: filters[key],
        on: { change: (event) => applyFilters(toggled(key, event.target.value)) },
      }),
    );
  return el(
    "fieldset",
    {},
    el("legend", {}, "Time"),
    field("since", "from "),
    field("until", "to "),
  );
}

function openFilters(open) {
  byId("filters").hidden = !open;
  byId("filter").setAttribute("aria-expanded", String(open));
  if (!open) return byId("filter").focus();
  fillFilters();
  return byId("filters").querySelector("button")?.focus();
}

/** The text where filters leave nothing. */
function nothingLeft(what) {
  return el(
    "div",
    { class: "nothing" },
    el("p", {}, `No ${what} pass the filters in force.`),
    clearButton(),
  );
}

function clearButton() {
  return el(
    "button",
    { type: "button", class: "plain-button", on: { click: clearFilters } },
    "Clear the filters",
  );
}

/** The word for a value of a filter. */
function filterWord(key, value) {
  const known = FILTERS.find((f) => f.key === key);
  return known?.words?.[value] ?? value;
}
