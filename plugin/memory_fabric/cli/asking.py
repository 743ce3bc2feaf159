"""recall, load: what memory has to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from memory_fabric import ids
from memory_fabric.cli import here, named, show
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.models import Answer, Hit, as_reason
from memory_fabric.store import sessions
from memory_fabric.suspicion import without_secrets
from memory_fabric.text import cut, one_line

if TYPE_CHECKING:
    from memory_fabric.fabric.core import Fabric

MAX_TEXT_CHARS = 400
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def recall(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY",
            help="A question; type: scope: domain: since: before: as_of: narrow it. "
            "None: the newest.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 10,
    depth: Annotated[
        int, typer.Option(min=0, max=3, help="Walk the graph so many steps from what is named.")
    ] = 0,
    as_of: Annotated[
        str, typer.Option(metavar="TIME", help='As memory stood then: 2026-01-15, "last month".')
    ] = "",
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Say what each score is made of, and why a prompt is silent."
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Find what is remembered."""
    from memory_fabric.fabric.core import Fabric, answer_as_json
    from memory_fabric.semantic.measure import measure_for

    now, text = ids.timestamp(), " ".join(words or ())
    then = _moment(as_of, now) if as_of else ""
    with here.open_memory() as memory:
        fabric = Fabric(memory, now, measure_for(memory.settings))
        if explain and text:
            return _explained(fabric, text, limit, depth, then, as_json)
        answer = fabric.recall(text, limit=limit, depth=depth, as_of=then)
    # An unreadable note beside MEMORY.md is told below; memory itself was searched.
    failed = [name for name in answer.failures if not name.startswith("native")]
    if not answer.hits and failed:
        raise StoreUnavailable("", f"Nothing could be searched: {'; '.join(answer.failures)}")
    if as_json:
        show.json_out(answer_as_json(answer))
    else:
        _show(answer)
    return 0 if answer.hits else 3


def _explained(fabric: Fabric, text: str, limit: int, depth: int, as_of: str, as_json: bool) -> int:
    from memory_fabric.cli import explaining
    from memory_fabric.fabric.core import answer_as_json
    from memory_fabric.fabric.explain import as_json as explained_as_json
    from memory_fabric.fabric.explain import explain

    memory = fabric.memory
    session = memory.settings.session
    seen = sessions.injected(memory.session_database(), session, "") if session else frozenset()
    told = explain(
        fabric,
        text,
        limit=limit,
        depth=depth,
        as_of=as_of,
        session=session,
        seen=seen,
        shown=memory.native_ids(fabric.now),
    )
    if as_json:
        show.json_out(explained_as_json(told, answer_as_json(told.answer)))
    else:
        explaining.show_explanation(told)
        _show_beside(told.answer)
    return 0 if told.answer.hits else 3


def load(as_json: AsJson = False) -> int:
    """Show what a session is given at its start.

    Pinned memories, then the last ten decisions, rules, preferences and patterns, then open
    questions and blockers.
    """
    from memory_fabric.fabric.render import recent_decisions
    from memory_fabric.handlers.load_context import open_points, standing

    with here.open_memory() as memory:
        records, asked = standing(memory), open_points(memory)
        failures = list(memory.failures)
    text = recent_decisions(
        [r for r in records if not r.pinned], pinned=[r for r in records if r.pinned], asked=asked
    )
    text = without_secrets(text)
    if as_json:
        show.json_out({"text": text, "failures": failures})
    else:
        show.line(text or "Nothing is remembered here yet.")
    for failure in failures:
        show.complain(failure)
    return 0 if text else 1 if failures else 3


def _moment(text: str, now: str) -> str:
    from memory_fabric.fabric import times  # only for this option

    found = times.moment(text, now)
    if not found:
        raise BadInput(
            "--as-of",
            f"{text!r} names no time.",
            remedy='Say 2026-01-15, 2026-01, 30d, "last month" or a time in ISO 8601.',
        )
    return found


def _show(answer: Answer) -> None:
    if answer.query.filters.as_of:
        show.line(f"As memory stood on {named.when(answer.query.filters.as_of)}:", "dim")
    if answer.hits:
        show.table(("score", "kind", "date", "id", "memory"), [_row(hit) for hit in answer.hits])
    else:
        show.line("Nothing found.")
    _show_beside(answer)


def _show_beside(answer: Answer) -> None:
    """The walked paths, how the question was read, and what could not be searched."""
    for path in answer.paths:
        show.line("path: " + "; ".join(f"{r.source} {r.type} {r.target}" for r in path), "dim")
    for note in answer.notes:
        show.line(note, "dim")
    for failure in answer.failures:
        show.complain(f"not searched: {failure}")


def _row(hit: Hit) -> tuple[str | Text, ...]:
    from memory_fabric.fabric.render import low_trust, replaced_by  # --help needs no fabric

    known = hit.metadata
    kind = str(known.get("type") or known.get("entityType") or hit.source)
    marks = ["stale" if known.get("stale") else "", replaced_by(known)]
    if known.get("trust") == "foreign":
        marks.insert(0, low_trust("foreign", str(known.get("author") or "")))
    marks = [mark for mark in marks if mark]
    text = Text(show.printable(cut(one_line(hit.text), MAX_TEXT_CHARS)))
    why = one_line(str(known.get("why") or ""))
    if why and why not in hit.text:
        text.append(show.printable(f" — {as_reason(cut(why, MAX_TEXT_CHARS))}"))
    for mark in marks:
        text.append(f"  [{mark}]", style="yellow")
    return f"{hit.score:.2f}", kind, hit.timestamp[:10] or "—", _reference(hit), text


def _reference(hit: Hit) -> str:
    """How the hit can be named to why, pin, forget and history; a note by its file."""
    source, _, identifier = hit.id.partition(":")
    if hit.metadata.get("entityType") == "relation":
        return "—"
    return cut(identifier, 40) if source in ("graph", "native") else ids.short_id(identifier)
