"""recall, load: what memory has to say."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from memory_fabric import ids
from memory_fabric.cli import here, show
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Answer, Hit
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 400
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def recall(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY",
            help="A question; type: scope: domain: since: before: narrow it. None: the newest.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 10,
    depth: Annotated[
        int, typer.Option(min=0, max=3, help="Walk the graph so many steps from what is named.")
    ] = 0,
    as_json: AsJson = False,
) -> int:
    """Find what is remembered."""
    from memory_fabric.fabric.core import Fabric, answer_as_json
    from memory_fabric.semantic.measure import measure_for

    with here.open_memory() as memory:
        fabric = Fabric(memory, ids.timestamp(), measure_for(memory.settings))
        answer = fabric.recall(" ".join(words or ()), limit=limit, depth=depth)
    if not answer.hits and answer.failures:
        raise StoreUnavailable("", f"Nothing could be searched: {'; '.join(answer.failures)}")
    if as_json:
        show.json_out(answer_as_json(answer))
    else:
        _show(answer)
    return 0 if answer.hits else 3


def load(as_json: AsJson = False) -> int:
    """Show what a session is given at its start.

    Pinned memories, then the last ten decisions, rules, preferences and patterns.
    """
    from memory_fabric.fabric.render import recent_decisions
    from memory_fabric.handlers.load_context import standing

    with here.open_memory() as memory:
        records = standing(memory)
        failures = list(memory.failures)
    text = recent_decisions(
        [r for r in records if not r.pinned], pinned=[r for r in records if r.pinned]
    )
    if as_json:
        show.json_out({"text": text, "failures": failures})
    else:
        show.line(text or "Nothing is remembered here yet.")
    for failure in failures:
        show.complain(failure)
    return 0 if text else 1 if failures else 3


def _show(answer: Answer) -> None:
    if answer.hits:
        show.table(("score", "kind", "date", "id", "memory"), [_row(hit) for hit in answer.hits])
    else:
        show.line("Nothing found.")
    for path in answer.paths:
        show.line("path: " + "; ".join(f"{r.source} {r.type} {r.target}" for r in path), "dim")
    for failure in answer.failures:
        show.complain(f"not searched: {failure}")


def _row(hit: Hit) -> tuple[str | Text, ...]:
    known = hit.metadata
    kind = str(known.get("type") or known.get("entityType") or hit.source)
    marks = [word for word in ("stale", "superseded_by") if known.get(word)]
    text = Text(show.printable(cut(one_line(hit.text), MAX_TEXT_CHARS)))
    why = one_line(str(known.get("why") or ""))
    if why and why not in hit.text:
        text.append(show.printable(f" — because {cut(why, MAX_TEXT_CHARS)}"))
    for mark in marks:
        text.append(f"  [{mark.removesuffix('_by')}]", style="yellow")
    return f"{hit.score:.2f}", kind, hit.timestamp[:10] or "—", _reference(hit), text


def _reference(hit: Hit) -> str:
    """How the hit can be named to why, pin, forget and history."""
    source, _, identifier = hit.id.partition(":")
    if hit.metadata.get("entityType") == "relation":
        return "—"
    return cut(identifier, 40) if source == "graph" else ids.short_id(identifier)
