"""viz: show the memory as a page, or its graph as text."""

import json
import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from memory_fabric import ids
from memory_fabric.cli import browser, environment, show
from memory_fabric.cli.output import STREAM, write
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.store.forget import saved_pages
from memory_fabric.store.memory import Memory

PAGE, MERMAID, DOT, JSON = "page", "mermaid", "dot", "json"


def viz(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The entity to start with, in any spelling."),
    ] = None,
    out: Annotated[
        str,
        typer.Option("--out", metavar="FILE", help="Write to this file; `-` is standard output."),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Only print the path; do not open a browser.")
    ] = False,
    as_mermaid: Annotated[
        bool,
        typer.Option(
            "--mermaid",
            help="Instead write the graph as a Mermaid flowchart to standard output or the file: "
            "the 60 most connected entities, or those around NAME.",
        ),
    ] = False,
    as_dot: Annotated[
        bool,
        typer.Option("--dot", help="The same in Graphviz' DOT language, up to 500 entities."),
    ] = False,
    depth: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=3,
            help="With NAME and a drawing: 1 to 3 steps around the entity (1).",
        ),
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the data of the page as JSON.")
    ] = False,
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
    form = _form(as_mermaid, as_dot, as_json)
    if depth and not (name and form in (MERMAID, DOT)):
        raise BadInput(
            "--depth",
            "--depth needs an entity and a drawing.",
            remedy="Add a NAME and --mermaid or --dot.",
        )
    with environment.open_memory() as memory:
        picture = _picture(memory, form, name or "")
        kept_at = saved_pages.path_of(memory.settings.home, memory.project)
    focus = _focus(picture, name)
    content = _content(picture, focus, form, depth or 1)
    if out == STREAM or (form != PAGE and not out):
        sys.stdout.buffer.write(content.encode("utf-8", "replace"))
        return 0
    if out:
        write(out, content.encode("utf-8", "replace"), force)
    else:
        saved_pages.save(kept_at, content)
    _tell(os.path.abspath(out or kept_at), opens=form == PAGE and not no_open)
    return 0


def _form(as_mermaid: bool, as_dot: bool, as_json: bool) -> str:
    asked = [form for form, said in ((MERMAID, as_mermaid), (DOT, as_dot), (JSON, as_json)) if said]
    if len(asked) > 1:
        raise BadInput(
            f"--{asked[1]}",
            "--mermaid, --dot and --json exclude each other.",
            remedy="Use one of them.",
        )
    return asked[0] if asked else PAGE


def _picture(memory: Memory, form: str, name: str) -> dict[str, Any]:
    from memory_fabric.viewer.picture import graph, picture  # not needed for --help

    read = graph if form in (MERMAID, DOT) else picture
    found = read(memory, ids.timestamp(), name)
    if not (found["entities"] or found["records"] or found["left_out"]["records"]):
        if memory.failures:
            raise StoreUnavailable("", f"Nothing can be shown: {'; '.join(memory.failures)}")
        raise NotFound(
            "memory",
            "Nothing is remembered here yet.",
            remedy="Add memories with memory-fabric remember or memory-fabric import.",
        )
    for failure in memory.failures:
        show.warn(failure)
    return found


def _focus(picture: Mapping[str, Any], name: str | None) -> int | None:
    from memory_fabric.viewer.drawing import number_of

    return None if name is None else number_of(picture, name)


def _content(picture: dict[str, Any], focus: int | None, form: str, depth: int) -> str:
    from memory_fabric.viewer.drawing import dot
    from memory_fabric.viewer.mermaid import mermaid
    from memory_fabric.viewer.page import page

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

    if opens and browser.can_open() and browser.open_page(Path(path).as_uri()):
        show.line(f"Opened in the browser: {path}")
    elif opens:
        show.line(f"Open it in a browser: {path}")
    else:
        show.line(path)
