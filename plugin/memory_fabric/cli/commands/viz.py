"""viz: show the memory as a page, or its graph as text."""

import json
import os
import sys
from typing import Any

from memory_fabric import ids
from memory_fabric.cli import environment, show
from memory_fabric.cli.options import argument, flag, option
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.store.forget import saved_pages
from memory_fabric.store.memory import Memory

PAGE, MERMAID, DOT, JSON = "page", "mermaid", "dot", "json"


def viz(
    name: str | None = argument(None, "NAME", "The entity to start with, in any spelling."),
    out: str = option("", "FILE", "Write to this file; `-` is standard output."),
    force: bool = flag("--force", "Replace an existing file."),
    no_open: bool = flag("--no-open", "Only print the path; do not open a browser."),
    as_mermaid: bool = flag(
        "--mermaid",
        "Instead write the graph as a Mermaid flowchart to standard output or the file: the 60 "
        "most connected entities, or those around NAME.",
    ),
    as_dot: bool = flag("--dot", "The same in Graphviz' DOT language, up to 500 entities."),
    depth: int = option(
        0, "N", "With NAME and a drawing: 1 to 3 steps around the entity (1).", min=0, max=3
    ),
    as_json: bool = flag("--json", "Print the data of the page as JSON."),
) -> int:
    """Show the memory as a page in the browser, or its graph as text.

    The page is one file in `pages/` of the home that needs no network and that only you can read.
    It shows the memory as it was when it was made; `memory-fabric serve` shows it live. Without a
    terminal or display, the path is printed instead. docs/viewer.md describes the page. Exit code
    3 when nothing is remembered, or no entity has the name; similar names are then shown.

        memory-fabric viz
        memory-fabric viz cursor-pagination --mermaid --depth 2
        memory-fabric viz --dot | dot -Tsvg -o memory.svg
    """
    flags = ((MERMAID, as_mermaid), (DOT, as_dot), (JSON, as_json))
    forms = [form for form, is_set in flags if is_set]
    if len(forms) > 1:
        text = "--mermaid, --dot and --json exclude each other."
        raise BadInput(f"--{forms[1]}", text, remedy="Use one of them.")
    form = forms[0] if forms else PAGE
    if depth and not (name and form in (MERMAID, DOT)):
        text = "--depth needs an entity and a drawing."
        raise BadInput("--depth", text, remedy="Add a NAME and --mermaid or --dot.")
    with environment.open_memory() as memory:
        picture = _picture(memory, form, name or "")
        kept_at = saved_pages.path_of(memory.settings.home, memory.project)
    content = _content(picture, name, form, depth or 1)
    if out == show.STREAM or (form != PAGE and not out):
        sys.stdout.buffer.write(content.encode("utf-8", "replace"))
        return 0
    if out:
        show.write_file(out, content.encode("utf-8", "replace"), force)
    else:
        saved_pages.save(kept_at, content)
    path = os.path.abspath(out or kept_at)
    _tell(path, opens=form == PAGE and not no_open)
    return 0


def _picture(memory: Memory, form: str, name: str) -> dict[str, Any]:
    from memory_fabric.viewer.picture import graph, picture  # not needed for --help

    draw = graph if form in (MERMAID, DOT) else picture
    drawn = draw(memory, ids.timestamp(), name)
    if not (drawn["entities"] or drawn["records"] or drawn["left_out"]["records"]):
        if memory.failures:
            raise StoreUnavailable("", f"Nothing can be shown: {'; '.join(memory.failures)}")
        raise NotFound(
            "memory",
            "Nothing is remembered here yet.",
            remedy="Add memories with memory-fabric remember or memory-fabric import.",
        )
    show.warn_all(memory.failures)
    return drawn


def _content(picture: dict[str, Any], name: str | None, form: str, depth: int) -> str:
    from memory_fabric.viewer.drawing import dot, mermaid, number_of
    from memory_fabric.viewer.page import page

    focus = None if name is None else number_of(picture, name)
    if form == MERMAID:
        return mermaid(picture, focus=focus, depth=depth)
    if form == DOT:
        return dot(picture, focus=focus, depth=depth)
    if focus is not None:
        picture = picture | {"focus": picture["entities"][focus]["name"]}
    if form == JSON:
        return json.dumps(picture, indent=2, ensure_ascii=False) + "\n"
    return page(picture)


def _tell(path: str, *, opens: bool) -> None:
    from pathlib import Path

    if opens and show.can_open_page() and show.open_page(Path(path).as_uri()):
        show.line(f"Opened in the browser: {path}")
    else:
        show.line(f"Open it in a browser: {path}" if opens else path)
