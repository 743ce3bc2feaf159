"""viz: the memory as a page to look at, or its graph as text."""

from __future__ import annotations

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
from memory_fabric.store import saved_pages
from memory_fabric.store.memory import Memory

PAGE, MERMAID, DOT, JSON = "page", "mermaid", "dot", "json"


def viz(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="An entity to begin with, in any spelling."),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="Write it there; `-` is standard output.")
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that exists, in one step.")
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Open no browser, and print only the path.")
    ] = False,
    as_mermaid: Annotated[
        bool,
        typer.Option(
            "--mermaid",
            help="Draw the graph as a Mermaid flowchart instead, to standard output or the file: "
            "the 60 most connected entities, or what is around NAME.",
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
        bool, typer.Option("--json", help="Print what the page shows as JSON, for programs.")
    ] = False,
) -> int:
    """Look at the memory: a page in the browser, or the graph as text.

    The page is one file that needs no network; it lies in `pages/` of the home, readable for you
    only, and shows the memory as it was when it was made; `memory-fabric serve` shows it live.
    Where no terminal or no display is, the path is told instead. docs/viewer.md says what it shows.
    Exit code 3 when nothing is remembered, or no entity has the name; then with those near to it.

        memory-fabric viz
        memory-fabric viz cursor-pagination --mermaid --depth 2
        memory-fabric viz --dot | dot -Tsvg -o memory.svg
    """
    form = _form(as_mermaid, as_dot, as_json)
    if depth and not (name and form in (MERMAID, DOT)):
        raise BadInput(
            "--depth",
            "--depth says how far to draw around an entity.",
            remedy="Name one, with --mermaid or --dot.",
        )
    with environment.open_memory() as memory:
        picture = _picture(memory)
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
            "It takes one form at a time.",
            remedy="Say --mermaid, --dot or --json.",
        )
    return asked[0] if asked else PAGE


def _picture(memory: Memory) -> dict[str, Any]:
    from memory_fabric.viewer.picture import picture  # --help needs no fabric

    found = picture(memory, ids.timestamp())
    if not (found["entities"] or found["records"]):
        if memory.failures:
            raise StoreUnavailable("", f"Nothing can be shown: {'; '.join(memory.failures)}")
        raise NotFound(
            "memory",
            "Nothing is remembered here yet.",
            remedy="memory-fabric remember keeps something; memory-fabric import brings a graph.",
        )
    for failure in memory.failures:
        show.complain(failure)
    return found


def _focus(picture: Mapping[str, Any], name: str | None) -> int | None:
    from memory_fabric.viewer.focus import number_of

    return None if name is None else number_of(picture, name)


def _content(picture: dict[str, Any], focus: int | None, form: str, depth: int) -> str:
    from memory_fabric.viewer.dot import dot
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
