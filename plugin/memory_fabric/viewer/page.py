"""One HTML that holds the page, its library and the memory it shows; nothing is fetched for it."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

ASSETS = files("memory_fabric.viewer") / "assets"
NONE, SELF = "'none'", "'self'"
LIBRARY = "vendor/force-graph.min.js"
# The order matters: functions that run while the page loads come before their callers.
SCRIPTS = (
    "dom.js markdown.js looks.js model.js projects.js route.js filters.js filter_panel.js "
    "local_search.js theme.js graph/groups.js graph/scene.js graph/paint.js graph/names.js "
    "graph/graph.js graph/camera.js graph/pointing.js graph/stage.js graph/list.js panel.js "
    "timeline.js knowledge.js search_view.js server_search.js entity.js status.js search_box.js "
    "commands.js dialog.js actions.js change_dialogs.js review_view.js keys.js app.js"
).split()
# Later styles win: those of narrow windows come last.
STYLES = (
    "base.css bar.css filters.css graph.css panel.css timeline.css search.css entity.css "
    "knowledge.css status.css keys.css actions.css narrow.css print.css"
).split()
# The library puts two styles of its own into the page when it starts; they stand in it as strings.
# Each is put there empty at first.
INJECTED = re.compile(r'"(\.(?:force-graph-container|float-tooltip-kap) (?:[^"\\]|\\.)*)"')
# In the JSON of a page: what could end its element, what old parsers took for ends of lines, and
# halves of surrogate pairs, which no encoding takes.
UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def page(picture: Mapping[str, Any], *, live: bool = False) -> str:
    """The whole page as HTML; a live one holds no memory and asks its server for it.

    `picture` is what viewer.picture gives; `focus`, the name of an entity, opens the page on it.
    """
    slots = {
        "policy": content_security_policy(live),
        "style": _style(),
        "memory": embedded({"live": True} if live else picture),
        "library": _asset(LIBRARY),
        "script": _script(),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: slots[found[1]], _asset("page.html"))


def content_security_policy(live: bool) -> str:
    """Return the policy of the page: its own scripts and styles, by hash; its server only if live.

    The server sends it as a header, and adds frame-ancestors there, which a page cannot say.
    """
    scripts = " ".join(map(_hash, (_asset(LIBRARY), _script())))
    injected = (json.loads(f'"{found[1]}"') for found in INJECTED.finditer(_asset(LIBRARY)))
    styles = " ".join(map(_hash, (_style(), "", *injected)))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {scripts}",
            f"style-src {styles}",
            "img-src data:",
            f"connect-src {SELF if live else NONE}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def embedded(value: Mapping[str, Any]) -> str:
    """Return JSON that can stand in a script element and be encoded, whatever its texts are."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _asset(name: str) -> str:
    return ASSETS.joinpath(name).read_text("utf-8")


@cache
def _script() -> str:
    """The page's own scripts as one, with names of their own."""
    parts = "\n".join(_asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def _style() -> str:
    return "".join(_asset(f"styles/{name}") for name in STYLES)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
