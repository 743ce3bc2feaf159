"""The graph as an HTML page that loads nothing from other sites, or as a Mermaid flowchart."""

import base64
import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from memory_fabric.errors import NotFound
from memory_fabric.text import cut, name_key

ASSETS = files("memory_fabric.viewer") / "assets"
LIBRARY = "vendor/force-graph.min.js"
# Scripts in loading order; a function that runs during loading must be defined before its call.
SCRIPTS = (
    "dom.js markdown.js looks.js model.js projects.js route.js filters.js filter_panel.js "
    "local_search.js theme.js graph/groups.js graph/scene.js graph/paint.js graph/names.js "
    "graph/graph.js graph/camera.js graph/pointing.js graph/stage.js graph/list.js panel.js "
    "timeline.js knowledge.js search_view.js server_search.js entity.js status.js search_box.js "
    "commands.js dialog.js actions.js change_dialogs.js review_view.js keys.js app.js"
).split()
# Later styles override earlier styles, so those for narrow windows and printing come last.
STYLES = (
    "base.css bar.css filters.css graph.css panel.css timeline.css search.css entity.css "
    "knowledge.css status.css keys.css actions.css narrow.css print.css"
).split()
# CSS that the drawing library inserts into two style elements, which it creates empty. The content
# security policy permits these texts by hashes computed from the string literals in the library.
INJECTED = re.compile(r'"(\.(?:force-graph-container|float-tooltip-kap) (?:[^"\\]|\\.)*)"')
# Characters to escape in the page's JSON: `<>&` could end the script element, U+2028 and U+2029 are
# line ends for old parsers, and unpaired surrogates cannot be encoded in UTF-8.
UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
MAX_NAME_CHARS, MAX_TYPE_CHARS = 50, 30
# Replacements for invisible and unassigned characters, by Unicode category.
_SHOWN_AS = {
    **dict.fromkeys(("Cc", "Cs", "Zl", "Zp", "Zs"), " "),
    **dict.fromkeys(("Cn", "Co"), "\ufffd"),
    "Cf": "",
}
MAX_NODES = 60
# By default, Mermaid refuses texts with more than 50,000 characters or 500 edges.
MAX_EDGES, MAX_CHARS = 400, 48_000
_PLAIN = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd"))
MAX_NEAR = 5
# A shorter name is not searched for within other names, because too many contain it.
MIN_PART_CHARS = 3


def page(picture: Mapping[str, Any], *, live: bool = False) -> str:
    """Return the HTML page for a `picture`; if `live`, the page loads its data from its server."""
    slots = {"policy": content_security_policy(live), "style": _style(), "script": _script()}
    slots |= {"memory": embedded({"live": True} if live else picture), "library": _asset(LIBRARY)}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: slots[found[1]], _asset("page.html"))


def content_security_policy(live: bool) -> str:
    """Return the policy: only hashed scripts and styles, and if `live`, requests to the server."""
    scripts = " ".join(map(_hash, (_asset(LIBRARY), _script())))
    injected = (json.loads(f'"{match[1]}"') for match in INJECTED.finditer(_asset(LIBRARY)))
    styles = " ".join(map(_hash, (_style(), "", *injected)))
    server = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; "
        f"connect-src {server}; base-uri 'none'; form-action 'none'"
    )


def embedded(value: Mapping[str, Any]) -> str:
    """Return a value as JSON that is safe within a script element and valid in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _asset(name: str) -> str:
    return ASSETS.joinpath(name).read_text("utf-8")


@cache
def _script() -> str:
    parts = "\n".join(_asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def _style() -> str:
    return "".join(_asset(f"styles/{name}") for name in STYLES)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def mermaid(picture: Mapping[str, Any], *, focus: int | None = None, depth: int = 1) -> str:
    """Return a Mermaid flowchart of the graph, or of the entities within `depth` of `focus`."""
    entities, relations = picture["entities"], picture["relations"]
    around: dict[int, set[int]] = {}
    for relation in relations:
        around.setdefault(relation["from"], set()).add(relation["to"])
        around.setdefault(relation["to"], set()).add(relation["from"])
    steps = dict.fromkeys(range(len(entities)), 0)
    if focus is not None:
        steps = _reached(around, focus, depth)
    best = sorted(steps, key=lambda n: (steps[n], -len(around.get(n, ())), n))
    places = {number: place for place, number in enumerate(sorted(best[:MAX_NODES]))}
    near = [r for r in relations if r["from"] in steps and r["to"] in steps]
    nodes = [
        f'  n{place}["{_label(entities[number]["name"], MAX_NAME_CHARS)}<br/>'
        f'{_label(entities[number]["type"], MAX_TYPE_CHARS)}"]'
        for number, place in places.items()
    ]
    edges = [
        f'  n{places[r["from"]]} -->|"{_label(r["type"], MAX_TYPE_CHARS)}"| n{places[r["to"]]}'
        for r in near
        if r["from"] in places and r["to"] in places
    ][:MAX_EDGES]
    left_out = picture["left_out"] if focus is None else {}
    counts = (
        (len(nodes), len(steps) + left_out.get("entities", 0), "entities"),
        (len(edges), len(near) + left_out.get("relations", 0), "relations"),
    )
    return _flowchart(nodes, edges, [f"{n} of {of} {what}" for n, of, what in counts if n < of])


def _flowchart(nodes: list[str], edges: list[str], fewer: list[str]) -> str:
    """Return a flowchart with as many edges as fit, and a note on what was left out."""
    notes = [f"{' and '.join(fewer)} are drawn: the most connected."] if fewer else []
    # Leave 100 characters for the line `flowchart LR` and a note about omitted relations.
    room = MAX_CHARS - len("\n".join([*notes, *nodes])) - 100
    sizes = accumulate(len(edge) + 1 for edge in edges)
    drawn = [edge for edge, size in zip(edges, sizes, strict=True) if size <= room]
    if len(drawn) < len(edges):
        notes.append(f"{len(drawn)} of {len(edges)} relations had room.")
    note = [f"%% {' '.join(notes)}"] if notes else []
    return "\n".join(["flowchart LR", *note, *nodes, *drawn]) + "\n"


def _label(text: str, max_chars: int) -> str:
    """Return a text as an escaped one-line label; an invisible text is shown as code points."""
    visible = "".join(_SHOWN_AS.get(unicodedata.category(c), c) for c in text)
    text_shown = " ".join(visible.split())
    if not text_shown:
        text_shown = " ".join(f"U+{ord(c):04X}" for c in text) or "(empty)"
    text = cut(text_shown, max_chars)
    parts = []
    for before, c, after in zip(f" {text}", text, f"{text} "[1:], strict=False):
        is_joining = c in "-_" and before.isalnum() and after.isalnum()
        is_plain = c == " " or is_joining or unicodedata.category(c) in _PLAIN
        parts.append(c if is_plain else f"#{ord(c)};")
    return "".join(parts)


def _reached(around: Mapping[int, set[int]], start: int, depth: int) -> dict[int, int]:
    steps, edge = {start: 0}, {start}
    for distance in range(1, depth + 1):
        edge = {neighbour for number in edge for neighbour in around.get(number, ())} - steps.keys()
        steps |= dict.fromkeys(edge, distance)
    return steps


def number_of(picture: Mapping[str, Any], name: str) -> int:
    """Return the index of the entity with this name or alias (see `name_key`). Raises NotFound."""
    entities = picture["entities"]
    for spelled in (str, name_key):
        for key in ("name", "aliases"):
            for number, entity in enumerate(entities):
                names = [entity[key]] if key == "name" else entity[key]
                if spelled(name) in map(spelled, names):
                    return number
    wanted, by_folded = name.casefold(), {e["name"].casefold(): e["name"] for e in entities[::-1]}
    holding = [f for f in by_folded if wanted in f] if len(wanted) >= MIN_PART_CHARS else []
    alike = get_close_matches(wanted, by_folded, MAX_NEAR)
    folded = dict.fromkeys((*sorted(holding, key=len)[:MAX_NEAR], *alike))
    near = ", ".join([repr(by_folded[f]) for f in folded][:MAX_NEAR])
    message = f"There is no entity {name!r}." + (f" Near to it: {near}." if near else "")
    raise NotFound(name, message, remedy="memory-fabric recall finds names.")
